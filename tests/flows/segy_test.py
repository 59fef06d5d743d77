"""SEG-Y and SU files as segyio and ObsPy write and read them."""
import glob
import os
import subprocess
import sys
import unittest
import warnings

from support import FLOWS, NAMES, PACKAGES, Scratch, needs_packages

sys.path.insert(1, PACKAGES)
sys.path.append(os.path.join(FLOWS, "python"))
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import numpy as np
        import obspy
        import segyio
        from obspy.io.segy.segy import SEGYBinaryFileHeader, SEGYTraceHeader

        import rsfdata
except ImportError:
    obspy = None
else:
    # Samples that every format holds, traces of other values each.
    VALUES = np.arange(21, dtype="f4").reshape(3, 7) % 17 + np.arange(3, dtype="f4")[:, None]


@needs_packages(obspy)
class Segy(Scratch):
    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")

    def program(self, line, stdin=None):
        name, *words = line.split()
        place = dict(cwd=self.folder, env=dict(os.environ, DATAPATH=self.folder + os.sep))
        return subprocess.run([os.path.join(NAMES, name), *words, "out=stdout"], stdin=stdin, capture_output=True, **place)

    def read(self, path, words="", program="sfsegyread"):
        """The data, the trace headers and the warnings."""
        done = self.program(f"{program} tape={path} tfile=h.rsf {words}")
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        with open(self.path("d.rsf"), "wb") as file:
            file.write(done.stdout)
        return rsfdata.read(self.path("d.rsf")), rsfdata.read(self.path("h.rsf")), done.stderr.decode()

    def same(self, path, wanted, dt=None, program="sfsegyread"):
        data, headers, said = self.read(path, program=program)
        self.assertEqual(said, "", path)
        np.testing.assert_array_equal(np.atleast_2d(data.array), wanted, path)
        if dt:
            self.assertAlmostEqual(data.axes[0].d, dt, 9)
        return data, headers

    def by_segyio(self, name, code, endian="big", ext=0):
        spec = segyio.spec()
        spec.format, spec.samples, spec.tracecount, spec.endian, spec.ext_headers = code, np.arange(7) * 4.0, 3, endian, ext
        with segyio.create(self.path(name), spec) as file:
            for k, trace in enumerate(VALUES):
                file.trace[k] = trace.astype(file.dtype)
                file.header[k] = {segyio.su.tracl: k + 1, segyio.su.cdp: 100 + k, segyio.su.sx: -5000 * k}
            for k in range(ext):
                file.text[1 + k] = " " * 3200
        return self.path(name)

    def test_every_format_of_segyio(self):
        for code in (1, 2, 3, 5, 6, 8, 9, 10, 11, 12, 16):
            for endian in ("big", "little"):
                path = self.by_segyio(f"f{code}-{endian}.sgy", code, endian)
                with segyio.open(path, ignore_geometry=True, endian=endian) as file:
                    np.testing.assert_array_equal(file.trace.raw[:], VALUES)
                data, headers = self.same(path, VALUES, 0.004)
                self.assertEqual([list(headers.array[:, k]) for k in (0, 5, 21)], [[1, 2, 3], [100, 101, 102], [0, -5000, -10000]])
        done = self.program(f"sfsegyread tape={self.by_segyio('f4.sgy', 4)} tfile=h.rsf")
        self.assertEqual(done.returncode, 1)
        self.assertIn("format 4 (fixed point with a gain code, which the standard calls obsolete)", done.stderr.decode())

    def test_extended_headers_and_counts_that_are_missing(self):
        for ext in (1, 3):
            path = self.by_segyio(f"ext{ext}.sgy", 5, ext=ext)
            with segyio.open(path, "r+", ignore_geometry=True) as file:
                file.bin.update({segyio.BinField.SEGYRevision: 1})
            self.same(path, VALUES, 0.004)
        path = self.by_segyio("bare.sgy", 1)
        with segyio.open(path, "r+", ignore_geometry=True) as file:
            file.bin.update({segyio.BinField.Samples: 0, segyio.BinField.Interval: 0})
            for k in range(3):
                file.header[k].update({segyio.su.ns: 7, segyio.su.dt: 2000})
        self.same(path, VALUES, 0.002)

    def test_files_of_obspy(self):
        for code in (1, 2, 3, 5):
            for order in ("<", ">"):
                stream = obspy.Stream()
                for k, values in enumerate(VALUES):
                    kind = {1: "f4", 2: "i4", 3: "i2", 5: "f4"}[code]
                    trace = obspy.Trace(np.require(values, kind), {"delta": 0.002})
                    trace.stats.segy = {"trace_header": SEGYTraceHeader()}
                    trace.stats.segy["trace_header"].trace_sequence_number_within_line = k + 1
                    stream.append(trace)
                stream.stats = obspy.core.AttribDict(binary_file_header=SEGYBinaryFileHeader(), textual_file_header=b" " * 3200)
                stream.write(self.path("o.sgy"), "SEGY", data_encoding=code, byteorder=order)
                self.same(self.path("o.sgy"), VALUES, 0.002)
                if code == 5:
                    stream.write(self.path("o.su"), "SU", byteorder=order)
                    self.same(self.path("o.su"), VALUES, 0.002, "sfsuread")

    def test_files_that_obspy_brings(self):
        paths = glob.glob(os.path.join(os.path.dirname(obspy.__file__), "io", "segy", "tests", "data", "*"))
        count = 0
        for path in paths:
            # SU that is called .sgy or has no ending is not known by either.
            su = path.endswith(".su") or ".su_" in path
            try:
                stream = obspy.read(path, format="SU" if su else "SEGY")
            except Exception:
                continue
            wanted = np.array([trace.data for trace in stream], dtype="f4")
            self.same(path, wanted, stream[0].stats.delta, "sfsuread" if su else "sfsegyread")
            count += 1
        self.assertGreaterEqual(count, 10)

    def test_what_is_written_is_read_by_both(self):
        rsfdata.write(self.path("a.rsf"), rsfdata.Dataset(VALUES, [rsfdata.Axis(7, 0.0, 0.004), rsfdata.Axis(3)]))
        for code in (1, 2, 3, 5, 6, 8, 9, 10, 11, 12, 16):
            for order, endian in (("big", ""), ("little", "endian=n")):
                with open(self.path("a.rsf"), "rb") as source:
                    done = self.program(f"sfsegywrite tape=w.sgy format={code} {endian}", source)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                with segyio.open(self.path("w.sgy"), ignore_geometry=True, endian=order) as file:
                    np.testing.assert_array_equal(file.trace.raw[:], VALUES, str(code))
                    self.assertEqual(int(segyio.tools.dt(file)), 4000)
                if code in (1, 2, 3, 5):
                    for trace, values in zip(obspy.read(self.path("w.sgy"), format="SEGY"), VALUES):
                        np.testing.assert_array_equal(trace.data, values)
        # More samples than two bytes count: revision 2.1.
        long = np.arange(2 * 70000, dtype="f4").reshape(2, 70000)
        rsfdata.write(self.path("long.rsf"), rsfdata.Dataset(long, [rsfdata.Axis(70000, 0.0, 0.001), rsfdata.Axis(2)]))
        with open(self.path("long.rsf"), "rb") as source:
            self.assertEqual(self.program("sfsegywrite tape=long.sgy format=5", source).returncode, 0)
        self.same(self.path("long.sgy"), long, 0.001)
        with segyio.open(self.path("long.sgy"), ignore_geometry=True) as file:
            np.testing.assert_array_equal(file.trace.raw[:], long)


if __name__ == "__main__":
    unittest.main()
