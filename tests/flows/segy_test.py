"""SEG-Y and SU files as segyio and ObsPy write and read them."""
import glob
import os
import struct
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
    # Samples that every format can represent, different for each trace.
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
            # ObsPy does not recognise SU files that are called .sgy or have no extension, and neither do we.
            su = path.endswith(".su") or ".su_" in path
            try:
                stream = obspy.read(path, format="SU" if su else "SEGY")
            except Exception:
                continue
            wanted = np.array([trace.data for trace in stream], dtype="f4")
            self.same(path, wanted, stream[0].stats.delta, "sfsuread" if su else "sfsegyread")
            count += 1
        self.assertGreaterEqual(count, 10)

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return bytearray(file.read())

    def store(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def two(self, data, at, value):
        """Sets two bytes of the binary header (byte 3201 is the first) or of the file."""
        data[at : at + 2] = struct.pack(">h", value)

    # Features of the files in segyio, which tests/data/segy/README.md lists by name.

    def test_intervals_and_delays_with_a_sign(self):
        for binary, trace, step, word in ((-2, 4000, 0.004, "is -2, that of the first trace 4000: 4000 micro"), (2000, -25000, 0.002, ""), (-2000, -25000, 0.063536, "63536 micro")):
            data = self.bytes_of(os.path.basename(self.by_segyio("i.sgy", 5)))
            self.two(data, 3216, binary)
            for k in range(3):
                self.two(data, 3600 + 268 * k + 116, trace)
            found, _, said = self.read(self.store("i.sgy", data))
            self.assertAlmostEqual(found.axes[0].d, step, 8)
            self.assertIn(word, said)
            self.assertEqual(bool(word), bool(said))
        # A delay of 10000 with the factor -10 is one second, when read and when written.
        path = self.by_segyio("d.sgy", 5)
        with segyio.open(path, "r+", ignore_geometry=True) as file:
            for k in range(3):
                file.header[k].update({segyio.TraceField.DelayRecordingTime: 10000, segyio.TraceField.ScalarTraceHeader: -10})
        found, _ = self.same(path, VALUES, 0.004)
        self.assertEqual(found.axes[0].o, 1.0)
        with segyio.open(path, ignore_geometry=True) as file:
            self.assertEqual(file.samples[0], 1000.0)
        with open(self.path("d.rsf"), "rb") as source:
            done = self.program("sfsegywrite tape=back.sgy tfile=h.rsf format=5", source)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        with segyio.open(self.path("back.sgy"), ignore_geometry=True) as file:
            self.assertEqual((file.header[2][segyio.TraceField.DelayRecordingTime], file.samples[0]), (10000, 1000.0))

    def test_texts_and_stanzas(self):
        plain = self.bytes_of(os.path.basename(self.by_segyio("p.sgy", 5)))
        block = lambda words: words.encode().ljust(3200)
        end = block("((SEG: EndText))")
        for count, blocks in (
            (3, [block("((SEGYIO: one)) a"), block("b"), block("((SEGYIO: two))")]),
            (-1, [block("((SEGYIO: one)) a"), block("b"), end]),
            (4, [b"\x40" * 3200] * 4),
        ):
            data = plain[:3600] + b"".join(blocks) + plain[3600:]
            data[3500:3502] = b"\2\1"
            self.two(data, 3504, count)
            self.same(self.store("t.sgy", data), VALUES, 0.004)
        # First the file has a zero byte in its text, then also a name in Chinese characters; at last it has no trace
        # at all.
        data = bytearray(plain)
        data[100] = 0
        self.same(self.store("\u5c0f\u6587\u4ef6.sgy", data), VALUES, 0.004)
        done = self.program(f"sfsegyread tape={self.store('text.sgy', plain[:3600])} tfile=h.rsf")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no complete trace", done.stderr.decode())

    def mapped(self, entries, where=0, root="segy-layout", letters="ascii"):
        """A file with a map of its trace header (revision 2.1, appendix D-8); if `where` is not 0, the binary header also gives the byte of the first trace."""
        plain = self.bytes_of(os.path.basename(self.by_segyio("p.sgy", 5)))
        xml = f"<{root}>" + "".join('<entry name="%s" byte="%s" type="%s"/>' % entry for entry in entries) + f"</{root}>"
        text = ("((SEG: Layout:text/xml)) " + xml).ljust(6400).encode(letters) + "((SEG: EndText))".ljust(3200).encode(letters)
        data = plain[:3600] + text + plain[3600:]
        data[3500:3502] = b"\2\1"
        self.two(data, 3504, 3)
        if where:
            data[3520:3528] = struct.pack(">q", 3600 + len(text))
        return data, 3600 + len(text)

    def test_the_map_of_trace_headers_is_obeyed(self):
        entries = [("sht_x", 9, "coor4"), ("sht_y", 13, "ieee64"), ("cdp", 201, "uint2"), ("iline", 211, "int8"), ("xline", 219, "ibmfp"), ("co_scal", 41, "int2"),
                   ("nsamps", 115, "uint2"), ("delay", 43, "time2"), ("trans_const", 51, "scale6"), ("tide", 61, "int4"), ("header_name", 233, "string8")]
        for where, letters in ((0, "ascii"), (1, "cp037")):
            data, first = self.mapped(entries, where, letters=letters)
            for k in range(3):
                at = first + 268 * k
                data[at + 8 : at + 20] = struct.pack(">id", 70000 + k, -12.0 * k)
                data[at + 40 : at + 44] = struct.pack(">hh", -10, 500)
                data[at + 50 : at + 56] = struct.pack(">ih", 77, -3)
                data[at + 200 : at + 202] = struct.pack(">H", 65000 + k)
                data[at + 210 : at + 218] = struct.pack(">q", -9 - k)
                data[at + 218 : at + 222] = b"\x42\x64\0\0"  # 100 of IBM
                data[at + 114 : at + 116] = b"\0\7"
            found, headers, said = self.read(self.store("m.sgy", data))
            np.testing.assert_array_equal(found.array, VALUES)
            self.assertEqual(found.axes[0].o, 0.5)
            self.assertEqual(said.strip().splitlines(), ["sfsegyread: warning: the map of the trace headers (SEG:Layout) has entries that are not among the 91 keys: "
                                                         "tide (key1=tide tide=60 reads it)"])
            keys = {"sx": 21, "sy": 22, "cdp": 5, "iline": 73, "xline": 74, "scalco": 20, "delrt": 35, "tconst4": 78, "tconst2": 79, "ns": 38}
            wanted = {"sx": [70000, 70001, 70002], "sy": [0, -12, -24], "iline": [-9, -10, -11], "xline": [100] * 3, "scalco": [-10] * 3, "delrt": [500] * 3, "tconst4": [77] * 3, "tconst2": [-3] * 3, "ns": [7] * 3}
            for key, values in wanted.items():
                self.assertEqual(list(headers.array[:, keys[key]]), values, key)
            self.assertEqual([x % 65536 for x in headers.array[:, 5]], [65000, 65001, 65002])
            # A key that the map does not list is 0, and a parameter of the user takes precedence over the map.
            self.assertEqual([list(headers.array[:, k]) for k in (0, 23)], [[0] * 3] * 2)
            _, headers, _ = self.read(self.path("m.sgy"), "tracl=0 key1=tide tide=60")
            self.assertEqual(list(headers.array[:, 0]), [1, 2, 3])
            _, headers, said = self.read(self.path("m.sgy"), "layout=n")
            self.assertEqual((list(headers.array[:, 0]), list(headers.array[:, 5]), said), ([1, 2, 3], [100, 101, 102], ""))
            # Positions of sources are read by the map, too.
            self.read(self.path("m.sgy"), "sou=s.rsf rec=r.rsf")
            np.testing.assert_allclose(rsfdata.read(self.path("s.rsf")).array[:, 0, 0], [7000.0, 7000.1, 7000.2], rtol=1e-6)
        data[first + 12 : first + 20] = struct.pack(">d", 0.25)
        _, _, said = self.read(self.store("m.sgy", data))
        self.assertIn("1 values of trace headers (of sht_y, iline, xline in the map SEG:Layout) are fractions or too large", said)

    def test_a_map_that_cannot_be_obeyed_is_refused_with_the_reason(self):
        for entries, root, word in (
            ([("cdp", 238, "int4")], "segy-layout", "entry cdp has byte=238, but its 4 bytes must begin at one of the bytes 1 to 237"),
            ([("cdp", 0, "int4")], "segy-layout", "byte=0"),
            ([("cdp", "x", "int4")], "segy-layout", "byte=x"),
            ([("cdp", 21, "int5")], "segy-layout", "type=int5, which is not one of int2"),
            ([("cdp", 21, "scale6")], "segy-layout", "a type that this key cannot have"),
            ([("cdp", 21, "int4"), ("cdp", 25, "int4")], "segy-layout", "two entries cdp"),
            ([("", 21, "int4")], "segy-layout", "no name="),
            ([], "segy-layout", "no entry with the name of a key"),
            ([("cdp", 21, "int4")], "layout", "begins with <layout>"),
            ([("cdp", 21, "int4")], "a b", "not XML"),
        ):
            path = self.store("bad.sgy", self.mapped(entries, root=root)[0])
            done = self.program(f"sfsegyread tape={path} tfile=h.rsf")
            said = done.stderr.decode()
            self.assertEqual((done.returncode, word in said, "layout=n reads the keys at the bytes of the standard" in said), (1, True, True), said)
            _, headers, said = self.read(path, "layout=n")
            self.assertEqual((list(headers.array[:, 5]), said), ([100, 101, 102], ""))

    def test_further_headers_long_traces_and_extreme_keys(self):
        plain = self.bytes_of(os.path.basename(self.by_segyio("p.sgy", 5)))
        for further in (1, 3):
            data = plain[:3600]
            for k in range(3):
                trace = plain[3600 + 268 * k : 3600 + 268 * (k + 1)]
                data += trace[:240] + b"\1" * 232 + b"SEG00001" + b"\2" * 240 * (further - 1) + trace[240:]
            data[3500:3502] = b"\2\1"
            data[3506:3510] = struct.pack(">i", further)
            self.same(self.store("f.sgy", data), VALUES, 0.004)
        # There are 60000 samples, as an unsigned number of two bytes; then the file ends before them.
        data = plain[:3600] + plain[3600:3840] + np.arange(60000, dtype=">f4").tobytes()
        for at in (3220, 3600 + 114):
            data[at : at + 2] = struct.pack(">H", 60000)
        self.same(self.store("long.sgy", data), np.arange(60000, dtype="f4")[None], 0.004)
        done = self.program(f"sfsegyread tape={self.store('long.sgy', data[:4000])} tfile=h.rsf")
        self.assertEqual(done.returncode, 1, done.stderr)
        # Keys have their smallest and their largest values.
        for low, high in ((-(2**31), -(2**15)), (2**31 - 1, 2**15 - 1)):
            path = self.by_segyio("k.sgy", 5)
            with segyio.open(path, "r+", ignore_geometry=True) as file:
                file.header[1].update({segyio.su.sx: low, segyio.su.iline: low, segyio.su.scalco: high})
            _, headers, _ = self.read(path)
            self.assertEqual([headers.array[1, k] for k in (21, 73, 20)], [low, low, high])

    def test_integers_of_three_bytes_and_what_is_no_format(self):
        plain = self.bytes_of(os.path.basename(self.by_segyio("p.sgy", 5)))
        for code in (7, 15):
            for order in ("big", "little"):
                data = bytearray(self.bytes_of(os.path.basename(self.by_segyio("q.sgy", 5, order)))[:3600])
                data[3224:3226] = code.to_bytes(2, order)
                source = self.bytes_of("q.sgy")
                for k, values in enumerate(VALUES):
                    data += source[3600 + 268 * k : 3840 + 268 * k]
                    data += b"".join(int(x).to_bytes(3, order) for x in values)
                self.same(self.store("three.sgy", data), VALUES, 0.004)
        for code in (4, 13, 14):
            data = bytearray(plain)
            self.two(data, 3224, code)
            done = self.program(f"sfsegyread tape={self.store('no.sgy', data)} tfile=h.rsf")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"format {code}", done.stderr.decode())
        # There are additional bytes in the middle, as on a damaged tape, so the traces after them would be wrong.
        data = plain[: 3600 + 2 * 268] + b"\0\0" + plain[3600 + 2 * 268 :]
        _, _, said = self.read(self.store("damaged.sgy", data))
        self.assertIn("2 bytes", said)

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
        # More samples than two bytes can count require revision 2.1.
        long = np.arange(2 * 70000, dtype="f4").reshape(2, 70000)
        rsfdata.write(self.path("long.rsf"), rsfdata.Dataset(long, [rsfdata.Axis(70000, 0.0, 0.001), rsfdata.Axis(2)]))
        with open(self.path("long.rsf"), "rb") as source:
            self.assertEqual(self.program("sfsegywrite tape=long.sgy format=5", source).returncode, 0)
        self.same(self.path("long.sgy"), long, 0.001)
        with segyio.open(self.path("long.sgy"), ignore_geometry=True) as file:
            np.testing.assert_array_equal(file.trace.raw[:], long)


if __name__ == "__main__":
    unittest.main()
