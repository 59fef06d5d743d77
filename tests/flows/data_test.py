"""The module rsfdata: reads Madagascar's files as Madagascar does, and reads back what it wrote."""
import io
import json
import os
import subprocess
import sys
import types
import unittest
import warnings

from support import FLOWS, NAMES, PACKAGES, TOP, Scratch

DATA = os.path.join(TOP, "tests", "data", "rsf")
sys.path.append(os.path.join(FLOWS, "python"))
# ./sconsw test installs numpy there.
sys.path.insert(1, PACKAGES)
try:
    import numpy as np
except ImportError:
    np = None
    print("skipped: the tests of rsfdata, for Python has no numpy here", file=sys.stderr)
else:
    import rsfdata
    from rsfdata import Axis, RsfError


@unittest.skipIf(np is None, "Python has no numpy here")
class Reading(Scratch):
    def setUp(self):
        super().setUp()
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(DATA)
        with open("expected.json", encoding="utf-8") as text:
            self.expected = json.load(text)["files"]

    def test_headers_of_another_folder_have_their_own_numbers(self):
        """The data file next to the header is read even if the current folder has a file of the same name, as by the programs."""
        os.chdir(self.folder)
        os.mkdir("one")
        for folder, n, mag in (("one", 3, 1), (".", 3, 7)):
            with open(os.path.join(folder, "a.rsf"), "wb") as out:
                subprocess.run([os.path.join(NAMES, "sfspike"), f"n1={n}", f"mag={mag}"], cwd=folder, stdout=out, stdin=subprocess.DEVNULL, env=dict(os.environ, DATAPATH="./"), check=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(rsfdata.read("one/a.rsf").array.tolist(), [1, 1, 1])
            self.assertEqual(rsfdata.read("a.rsf").array.tolist(), [7, 7, 7])
            # If it is not known to which header a file belongs, its length decides.
            for folder, n in (("one", 2), (".", 4)):
                with open(os.path.join(folder, "b.rsf"), "w", encoding="utf-8") as out:
                    out.write(f'n1={n} esize=4 data_format="native_float" in="./b.rsf@"\n')
                np.full(n, n, "f4").tofile(os.path.join(folder, "b.rsf@"))
            self.assertEqual(rsfdata.read("one/b.rsf").array.tolist(), [2, 2])
        np.full(2, 4, "f4").tofile("b.rsf@")
        with self.assertWarnsRegex(UserWarning, r"both ./b.rsf@ and one/b.rsf@ exist, .*: ./b.rsf@ is read"):
            self.assertEqual(rsfdata.read("one/b.rsf").array.tolist(), [4, 4])

    def test_files_of_madagascar(self):
        self.assertGreater(len(self.expected), 45)
        for name, wanted in self.expected.items():
            with self.subTest(name):
                found = rsfdata.read(name + ".rsf")
                self.assertEqual(found.header.format(), (wanted["form"], wanted["type"]))
                self.assertEqual(found.array.size, wanted["size"])
                # The expected lengths end at the last axis longer than 1. The expected axes may continue after a gap,
                # at which the axes of the data end.
                lengths = wanted["filedims"] + [1] * (len(found.axes) - len(wanted["filedims"]))
                self.assertEqual([axis.n for axis in found.axes], lengths[: len(found.axes)])
                for axis, told in zip(found.axes, wanted["axes"]):
                    usual = {"o": 0.0, "d": 1.0, "label": "", "unit": ""}
                    for key, value in usual.items():
                        told_value = value if told[key] is None else told[key]
                        same = getattr(axis, key) == told_value
                        self.assertTrue(same or np.float32(getattr(axis, key)) == np.float32(told_value), (key, axis, told))
                values = found.array.ravel()
                if wanted["type"] == "complex":
                    values = np.stack([values.real, values.imag], axis=1)
                # Nine digits represent every float32 exactly.
                np.testing.assert_array_equal(np.array(wanted["values"], values.dtype).reshape(values.shape), values)
                if wanted["form"] != "ascii" and found.array.size:
                    np.testing.assert_array_equal(rsfdata.read(name + ".rsf", mmap=True).array, found.array)

    def test_keys(self):
        header = rsfdata.read("labels.rsf").header
        self.assertEqual((header.integer("myint"), header.number("myfloat"), header.flag("mybool")), (-42, 0.0015, True))
        self.assertEqual((header.text("mystr"), header.text("title")), ("two words", "a=b c=d n1=99"))
        self.assertIsNone(header.text("nothing"))
        lists = rsfdata.Header(b'a=2*1.5,,3 b="1,2" c=0x10 d=2.5km e=word f=-1e3\n')
        self.assertEqual((lists.floats("a"), lists.floats("b")), ([1.5, 1.5, 3.0], [1.0, 2.0]))
        self.assertEqual([lists.number(key) for key in "cdef"], [16.0, 2.5, 0.0, -1000.0])

    def test_numbers_beside_the_header(self):
        os.chdir(self.folder)
        self.assertEqual(rsfdata.read(os.path.join(DATA, "spike1d.rsf")).array.size, 7)

    def test_what_is_refused(self):
        for text, words in (
            (b"n1=2\n", "no data_format="),
            (b'n1=2 data_format="native_float"\n', "no in="),
            (b'n1=2 data_format="native_float" in="stdin"\n', "no data follow"),
            (b'n1=-2 data_format="native_float" in="stdin"\n\x0c\x0c\x04', "negative lengths"),
            (b'n1=2 label1="open\n', "line 1 of the header: a double quote"),
            (b'n1=2 data_format="ascii_float" in="stdin"\n\x0c\x0c\x041 two', "not a number"),
            (b'n1=2 data_format="native_float" in="stdin"\n\x0c\x0c\x04abcd', "before element 2 of 2"),
        ):
            with self.assertRaisesRegex(RsfError, words):
                rsfdata.read(io.BytesIO(text))
        with self.assertRaisesRegex(RsfError, "is empty, an RSF header was expected"):
            rsfdata.read(io.BytesIO())
        with self.assertRaisesRegex(RsfError, "cannot read nothing.rsf: No such file"):
            rsfdata.read("nothing.rsf")


@unittest.skipIf(np is None, "Python has no numpy here")
class Writing(Scratch):
    AXES = [("Time", "s", 4), ("Offset", "km", 3)]

    def axes(self):
        return [Axis(n, 0.5, 0.004, label, unit) for label, unit, n in self.AXES]

    def arrays(self):
        whole = np.arange(12).reshape(3, 4) * 7 - 20
        yield from ((kind, whole) for kind in ("int", "short", "long"))
        yield from ((kind, whole / 3) for kind in ("float", "double"))
        yield "uchar", whole + 20
        yield "complex", whole / 3 + 2j * whole

    def test_there_and_back(self):
        for kind, array in self.arrays():
            for form in ("native", "xdr", "ascii"):
                with self.subTest((kind, form)):
                    if form == "xdr" and kind in ("long", "double"):
                        with self.assertRaisesRegex(RsfError, f"xdr has no type {kind}"):
                            rsfdata.write(self.path("x.rsf"), array, form=form, kind=kind)
                        continue
                    rsfdata.write(self.path("a.rsf"), array, self.axes(), form=form, kind=kind, title='A "shot"', nb=5, far=True)
                    back = rsfdata.read(self.path("a.rsf"))
                    self.assertEqual(back.header.format(), (form, kind))
                    self.assertEqual(back.axes, self.axes())
                    self.assertEqual((back.header.text("title"), back.header.integer("nb")), ("A 'shot'", 5))
                    self.assertTrue(back.header.flag("far"))
                    np.testing.assert_array_equal(back.array, array.astype(rsfdata.TYPES[kind]))
                    stream = io.BytesIO()
                    rsfdata.write(stream, back.like(back.array), form=form, kind=kind)
                    stream.seek(0)
                    np.testing.assert_array_equal(rsfdata.read(stream).array, back.array)

    def test_types_by_themselves_and_what_does_not_fit(self):
        for array, kind in ((np.ones(2), "float"), (np.arange(2), "int"), (np.ones(2) > 0, "uchar"), (np.ones(2) * 1j, "complex")):
            rsfdata.write(self.path("a.rsf"), array)
            self.assertEqual(rsfdata.read(self.path("a.rsf")).header.format(), ("native", kind))
        for array, words, more in (
            (np.array([2**40]), "do not fit into int", {}),
            (np.array([1j]), "complex numbers do not fit", {"kind": "float"}),
            (np.array(["a"]), "has no type", {}),
            (np.ones(2), "forms are native", {"form": "text"}),
            (np.ones((2, 3)), r"lengths \(2, 4\)", {"axes": [Axis(4), Axis(2)]}),
        ):
            with self.assertRaisesRegex(RsfError, words):
                rsfdata.write(self.path("a.rsf"), array, **more)

    def test_history_and_a_file_of_its_own_for_the_numbers(self):
        first = rsfdata.read(os.path.join(DATA, "spike1d.rsf")) if os.path.exists("spike1d.rsf@") else rsfdata.Dataset(np.ones((2, 7)))
        first.header.add(b"sfspike\tsome where\tn3=5 n2=2 title=old\n", 1)
        rsfdata.write(self.path("b.rsf"), first.like(first.array), data=self.path("b.bin"), title="new")
        back = rsfdata.read(self.path("b.rsf"))
        self.assertIn(b"sfspike\tsome where", back.header.history)
        self.assertEqual((back.header.text("title"), back.header.integer("n3")), ("new", 1))
        self.assertEqual(os.path.getsize(self.path("b.bin")), first.array.size * 4)

    def test_with_the_programs(self):
        rsfdata.write(self.path("a.rsf"), np.arange(12.0).reshape(3, 4), self.axes())
        program = os.path.join(NAMES, "sfwindow")
        with open(self.path("a.rsf"), "rb") as source:
            words = [program, "f2=1", "n1=2", "out=stdout"]
            done = subprocess.run(words, stdin=source, capture_output=True, cwd=self.folder, check=True)
        found = rsfdata.read(io.BytesIO(done.stdout))
        np.testing.assert_array_equal(found.array, [[4, 5], [8, 9]])
        self.assertEqual((found.axes[1].label, found.axes[1].o), ("Offset", np.float32(0.504)))
        # Python runs in the middle of a pipe, with only the folder of the module and the packages on its path.
        script = "import sys, rsfdata; a = rsfdata.read(sys.stdin.buffer); rsfdata.write(sys.stdout.buffer, a.like(2 * a.array))"
        paths = [os.path.join(FLOWS, "python"), PACKAGES]
        line = f"{program} n2=1 < a.rsf | {sys.executable} -c '{script}' | {os.path.join(NAMES, 'sfdisfil')} number=n"
        done = subprocess.run(line, shell=True, cwd=self.folder, capture_output=True, text=True, env={"PYTHONPATH": os.pathsep.join(paths)})
        self.assertEqual(done.stdout.split(), ["0", "2", "4", "6"], done.stderr)

    def test_xarray(self):
        dataset = rsfdata.Dataset(np.arange(12.0).reshape(3, 4), self.axes(), rsfdata.Header(b'title="A shot" unit=m\n'))
        try:
            import xarray
        except ImportError:
            # Only the arguments that the module passes to xarray are tested, not the result.
            print("skipped: rsfdata with the real xarray, which is not here; with a stand-in instead", file=sys.stderr)
            made = types.ModuleType("xarray")
            made.DataArray = lambda array, coords, dims, attrs: (array, coords, dims, attrs)
            sys.modules["xarray"] = made
            self.addCleanup(sys.modules.pop, "xarray")
            array, coords, dims, attrs = dataset.to_xarray()
            history = 'title="A shot" unit=m\n'
            self.assertEqual((dims, attrs), (["Offset", "Time"], {"title": "A shot", "units": "m", "history": history}))
            self.assertEqual((coords["Time"][0], coords["Time"][2]), ("Time", {"units": "s"}))
            np.testing.assert_allclose(coords["Time"][1], 0.5 + 0.004 * np.arange(4))
            return
        found = dataset.to_xarray()
        self.assertIsInstance(found, xarray.DataArray)
        self.assertEqual((found.dims, found["Time"].attrs["units"]), (("Offset", "Time"), "s"))
        self.assertEqual(float(found.sel(Time=0.508, Offset=0.504, method="nearest")), 6.0)
        back = rsfdata.from_xarray(found)
        np.testing.assert_array_equal(back.array, dataset.array)
        self.assertEqual([(axis.label, axis.unit, axis.n) for axis in back.axes], self.AXES)
        self.assertEqual((back.header.text("title"), back.header.text("unit")), ("A shot", "m"))
        # Components have names, and keep them.
        parts = rsfdata.Dataset(np.arange(6.0).reshape(2, 3), [Axis(3, label="r"), Axis(2, label="z x")]).to_xarray()
        self.assertEqual((parts.dims, list(parts["component"].values)), (("component", "r"), ["z", "x"]))
        self.assertEqual(rsfdata.from_xarray(parts).axes[1].label, "z x")
        for label, dims in (("Pressure", ("component", "r")), ("Velocity", ("pressure", "r"))):
            one = rsfdata.Dataset(np.arange(3.0).reshape(1, 3), [Axis(3, label="r"), Axis(1, label="pressure")], rsfdata.Header(f"label={label}\n".encode()))
            self.assertEqual(one.to_xarray().dims, dims)
        # The section has a third axis of one sample, which may be a component that was selected from two.
        for label, dims in (("", ("t", "r")), ("z x", ("t", "r")), ("shot", ("shot", "t", "r"))):
            section = rsfdata.Dataset(np.zeros((1, 2, 3)), [Axis(3, label="r"), Axis(2, label="t"), Axis(1, label=label)])
            self.assertEqual(section.to_xarray().dims, dims)
        with self.assertRaisesRegex(RsfError, "not regular"):
            rsfdata.from_xarray(found.assign_coords(Time=[0, 1, 2, 7]))
        # Durations and dates are converted to seconds.
        steps = np.arange(4) * np.timedelta64(4, "ms")
        day = np.datetime64("2026-03-04T07:50:42.5")
        for times, attrs, wanted in (
            (steps + np.timedelta64(1, "s"), {}, (1.0, None)),
            (day + steps, {}, (0.0, "2026-03-04T07:50:42.500000Z")),
            (day + steps, {"origin_time": "2026-03-04T07:50:40.000000Z"}, (2.5, "2026-03-04T07:50:40.000000Z")),
            (day + steps, {"origin_time": "noon"}, (0.0, "2026-03-04T07:50:42.500000Z")),
        ):
            timed = rsfdata.from_xarray(xarray.DataArray(np.zeros(4), {"t": times}, ["t"], attrs=attrs))
            axis = timed.axes[0]
            self.assertEqual((axis.o, timed.header.text("origin_time")), wanted)
            self.assertAlmostEqual(axis.d, 0.004, 12)
            self.assertEqual(axis.unit, "s")
        with self.assertRaisesRegex(RsfError, "not regular"):
            rsfdata.from_xarray(xarray.DataArray(np.zeros(3), {"t": day + np.array([0, 1, 9]) * np.timedelta64(1, "s")}, ["t"]))

    def test_xarray_that_is_missing(self):
        sys.modules["xarray"], before = None, sys.modules.get("xarray")
        try:
            with self.assertRaisesRegex(RsfError, "pip install xarray"):
                rsfdata.Dataset(np.ones(3)).to_xarray()
        finally:
            del sys.modules["xarray"]
            if before is not None:
                sys.modules["xarray"] = before
