"""The module sifaka: programs as functions, with the real numpy, xarray and matplotlib."""
import io
import os
import re
import subprocess
import sys
import unittest
import warnings
from unittest import mock

from support import FLOWS, PACKAGES, Scratch, needs_packages

sys.path.insert(1, PACKAGES)
sys.path.append(os.path.join(FLOWS, "python"))
try:
    import numpy as np
    import xarray

    import rsfdata
    import sifaka
except ImportError:
    sifaka = None


def shot(**more):
    """Runs a small shot in 2-D."""
    vp = sifaka.grid(3000, x=(0, 10, 61), z=(0, 10, 41))
    words = dict(vp=vp, vs=vp / 1.8, den=0 * vp + 2200, sou=sifaka.points(x=300, z=100), nt=120, dt=0.001)
    words.update(rec=sifaka.points(x=range(100, 500, 100), z=20), stf="ricker", freq=20, m0=1e12, device="cpu")
    words.update(more)
    with warnings.catch_warnings():
        # The wavelet is too short for this grid.
        warnings.simplefilter("ignore", sifaka.ProgramWarning)
        return sifaka.run("sfvsfd2d-gpu", **words)


@needs_packages(sifaka)
class Runs(Scratch):
    def test_named_axes_components_and_units(self):
        data = shot()
        self.assertEqual((data.dims, data.shape), (("t", "component", "r"), (120, 2, 4)))
        self.assertEqual(list(data.component.values), ["z", "x"])
        self.assertEqual((data.attrs["long_name"], data.attrs["units"], data.t.attrs["units"]), ("Velocity", "m/s", "s"))
        self.assertGreater(float(abs(data.sel(component="z")).max()), 0)
        self.assertEqual(data.sifaka.header.text("quantity"), "velocity in m/s")
        pressure = shot(data="pressure")
        self.assertEqual((pressure.dims, list(pressure.component.values)), (("t", "component", "r"), ["pressure"]))

    def test_displacements_have_components(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sifaka.ProgramWarning)
            ccc = sifaka.run("stiffness", vp=sifaka.grid(3, x=(0, 0.01, 41), z=(0, 0.01, 41)), vs=1.7, ro=2, sym="iso")
            rsfdata.write(self.path("ccc.rsf"), sifaka._arrays.dataset(ccc))
            wave = xarray.DataArray(np.ones((20, 2, 1), "f4"), {"t": 0.001 * np.arange(20)}, ["t", "c", "s"])
            points = dict(sou=sifaka.points(x=0.2, z=0.2), rec=sifaka.points(x=[0.1, 0.2, 0.3], z=0.1))
            den = sifaka.grid(2, x=(0, 0.01, 41), z=(0, 0.01, 41))
            data = sifaka.run("sfewefd2d-gpu", wave, ccc=self.path("ccc.rsf"), den=den, device="cpu", **points)
        self.assertEqual((data.dims, list(data.component.values)), (("t", "component", "r"), ["z", "x"]))

    def test_several_results_are_not_one(self):
        found = {"data": sifaka.grid(1, z=(0, 1, 3), x=(0, 1, 2)), "misfit": np.ones(1)}
        told = r"these are several results \(data, misfit\): take one, as found\['data'\]"
        for use in (
            lambda: sifaka.write(self.path("x.rsf"), found),
            lambda: sifaka.run("sfattr", found),
            lambda: sifaka.run("sfvsfd2d-gpu", vp=found),
            lambda: sifaka.run("sfvsfd2d-gpu", nt=found),
        ):
            with self.assertRaisesRegex(ValueError, told):
                use()

    def test_coordinates_by_their_names_are_no_results(self):
        told = r"these are named coordinates: sifaka.points\(x=700, z=200\) makes an array of points"
        with self.assertRaisesRegex(ValueError, told):
            sifaka.run("sfvsfd2d-gpu", sou={"x": 700, "z": 200})

    def test_coordinates_that_four_bytes_round(self):
        with self.assertWarnsRegex(sifaka.ProgramWarning, "y=4728900.3 becomes 4728900.5, because a coordinate has four bytes: subtract a nearby origin") as caught:
            sifaka.points(x=[0, 10], y=4728900.3, z=0)
        self.assertEqual(caught.filename, __file__)
        path = self.path("points.rsf")
        with self.assertWarnsRegex(sifaka.ProgramWarning, "y=4728900.3 becomes 4728900.5") as caught:
            sifaka.write(path, np.array([[5.0, 4728900.3, 0.0]]))
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sifaka.write(path, np.array([[5.0, 900.3, 0.0]]))
            sifaka.points(x=np.arange(0, 300, 12.7), z=0.1)
            sifaka.points(x=[], z=0)

    def test_the_order_of_dimensions_does_not_matter(self):
        vp = sifaka.grid(np.linspace(2500, 3500, 41)[:, None] + np.zeros(61), z=(0, 10), x=(0, 10))
        words = lambda model: dict(vp=model, vs=model / 1.8, den=0 * model + 2200)
        np.testing.assert_array_equal(shot(**words(vp)), shot(**words(vp.T)))

    def test_other_outputs_in_a_dict_or_in_files(self):
        found = shot(snap=True, jsnap=60, wfl=True)
        self.assertEqual(sorted(found), ["data", "wfl"])
        self.assertEqual((found["wfl"].dims, found["wfl"].shape), (("t", "component", "x", "z"), (2, 2, 61, 41)))
        self.assertEqual(found["wfl"].x.attrs["units"], "m")
        kept = self.path("w.rsf")
        before, os.environ["DATAPATH"] = os.environ.get("DATAPATH"), self.folder + os.sep
        self.addCleanup(lambda: os.environ.pop("DATAPATH") if before is None else os.environ.update(DATAPATH=before))
        data = shot(snap=True, jsnap=60, wfl=kept)
        np.testing.assert_array_equal(data, found["data"])
        np.testing.assert_array_equal(sifaka.read(kept), found["wfl"])
        with self.assertRaisesRegex(ValueError, "names for all or True for all"):
            shot(snap=True, wfl=kept, pressure=True)

    def in_folder(self):
        """Files are written to the folder of the test, with data next to headers."""
        before, old = os.getcwd(), os.environ.get("DATAPATH")
        os.chdir(self.folder)
        os.environ["DATAPATH"] = self.folder + os.sep
        self.addCleanup(os.chdir, before)
        self.addCleanup(lambda: os.environ.pop("DATAPATH") if old is None else os.environ.update(DATAPATH=old))

    def test_out_names_a_file_for_standard_output_and_a_mesh_needs_it(self):
        self.in_folder()
        self.assertEqual(shot(out="data.rsf"), "data.rsf")
        np.testing.assert_array_equal(sifaka.read("data.rsf"), shot())
        self.assertEqual(sifaka.run("window", "data.rsf", n3=5).shape, (5, 2, 4))
        with self.assertRaisesRegex(ValueError, "out=data.rsf is a file that sfwindow reads"):
            sifaka.run("window", "data.rsf", out="data.rsf")
        with self.assertRaisesRegex(ValueError, "names for all or True for all"):
            shot(out="data.rsf", pressure=True)
        ground = sifaka.grid(np.linspace(100, 150, 11), x=(0, 100))
        box = dict(surfaces=[1000, ground], layers=4, nx=4, rho=2300, vp=3000, vs=1700, judge=False)
        with self.assertRaisesRegex(ValueError, r"a mesh as several files.*give out='mesh.rsf'"):
            sifaka.run("sfhexmesh", **box)
        mesh = sifaka.run("sfhexmesh", **box, out="hill.rsf")
        self.assertTrue(os.path.exists("hill-nodes.rsf"))
        run = dict(sou=sifaka.points(x=500, z=400), rec=sifaka.points(x=[200, 800], z=200), nt=50, dt=0.004, stf="ricker", freq=3, m0=1e12, device="cpu")
        data = sifaka.run("sfsem2d-gpu", mesh=mesh, **run)
        self.assertEqual(data.dims, ("t", "component", "r"))
        self.assertIn("bin", sifaka.run("sfhexmesh", mesh=mesh).dims)

    def test_transposed_and_plain_arrays_are_told_how_to_turn(self):
        words = dict(vp=sifaka.grid(3000, x=(0, 10, 61), z=(0, 10, 41)))
        words.update(vs=words["vp"] / 1.8, den=0 * words["vp"] + 2200, sou=sifaka.points(x=300, z=100), nt=120, dt=0.001)
        words.update(rec=sifaka.points(x=range(100, 500, 100), z=20), stf="ricker", freq=20, m0=1e12, device="cpu")
        data = shot()
        with self.assertRaisesRegex(sifaka.ProgramError, r'sifaka.run\("sftransp", array, plane=13\) transposes them'):
            sifaka.run("sfvsgrad2d-gpu", data.transpose("r", "component", "t"), **words)
        with self.assertRaisesRegex(sifaka.ProgramError, r'sifaka.run\("sfput", array, o3=0.0005, d3=0.001\) gives them its times'):
            sifaka.run("sfvsgrad2d-gpu", data.values, **words)
        with self.assertRaisesRegex(ValueError, r"the axes of vs have no names: sifaka.grid\(vs, z=\(0, 10\), x=\(0, 10\)\) gives"):
            sifaka.run("sfvsgrad2d-gpu", data, **dict(words, vs=words["vs"].values))
        with self.assertRaisesRegex(ValueError, r"the axes of qp have no names"):
            sifaka.run("sfvsfd2d-gpu", **dict(words, qp=np.full((61, 41), 50.0)))
        with self.assertRaisesRegex(ValueError, r"den=2200 is a number, but den must be an array: .* 0 \* vp \+ 2200 on the axes of vp"):
            sifaka.run("sfvsfd2d-gpu", **dict(words, den=2200))
        self.assertEqual(sifaka.run("sfvsfd2d-gpu", **dict(words, qp=50, qs=30)).shape, data.shape)
        with self.assertRaisesRegex(ValueError, r"vp has the dimensions range, depth, but those of a model are z, x and in 3-D y: rename them, as in vp.rename\(depth='z', distance='x'\)"):
            sifaka.run("sfvsgrad2d-gpu", data, **dict(words, vp=words["vp"].rename(x="range", z="depth")))

    def test_commands_in_messages_are_calls(self):
        for said, told in (
            ("take it by sfwindow n3=380", 'take it by sifaka.run("sfwindow", array, n3=380)'),
            ("(sftransp plane=12 | sfspray axis=2 n=1 turns them)", '(sifaka.run("sfspray", sifaka.run("sftransp", array, plane=12), axis=2, n=1) turns them)'),
            ("as in sfheadermath < h.rsf output=offset | sfdd type=float, or", 'as in sifaka.run("sfdd", sifaka.run("sfheadermath", "h.rsf", output="offset"), type="float"), or'),
            ("sfpoints x=0 z=1 > along.rsf is down (sfput d1= sets it)", 'sifaka.run("sfpoints", x=0, z=1) is down (sifaka.run("sfput", array, d1=...) sets it)'),
            ("device=cpu runs, sfsem3d-gpu mesh=x takes it", "device=cpu runs, sfsem3d-gpu mesh=x takes it"),
            (
                "sfwindow < data.rsf n2=1 | sfscale dscale=-1 > cz.rsf; sfcat cz.rsf cx.rsf axis=2 | sfput label2=\"z x\" > turned.rsf makes them",
                'sifaka.run("sfscale", sifaka.run("sfwindow", "data.rsf", n2=1), dscale=-1, out="cz.rsf"); '
                'sifaka.run("sfput", sifaka.run("sfcat", "cz.rsf", "cx.rsf", axis=2), label2="z x") makes them',
            ),
        ):
            self.assertEqual(sifaka._messages.in_python(said), told)

    def test_components_of_other_directions_are_turned_by_what_the_message_says(self):
        values = np.arange(2 * 3 * 40, dtype="f4").reshape(40, 3, 2)
        up = xarray.DataArray(values, {"t": 0.001 * np.arange(40), "component": ["Z", "N", "E"], "r": [0, 1]}, ("t", "component", "r"))
        model = {key: sifaka.grid(value, z=(0, 10, 20), x=(0, 10, 20), y=(0, 10, 20)) for key, value in (("vp", 3000), ("vs", 1700), ("den", 2000))}
        words = dict(model, sou=sifaka.points(x=100, y=90, z=80), rec=sifaka.points(x=[50, 120], y=60, z=20), nt=40, dt=0.001, tau=0.008, nb=4, device="cpu")
        with self.assertRaisesRegex(sifaka.ProgramError, "has the components Z N E") as caught:
            sifaka.run("sfvsgrad3d-gpu", up, **words)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        sifaka.write("data.rsf", up)
        said = str(caught.exception)
        *before, last = said[said.index("sifaka.run"):].split(" makes them")[0].split("; ")
        for line in before:
            eval(line)
        turned = eval(last)
        np.testing.assert_array_equal(turned.values, values[:, [0, 2, 1]] * np.array([-1, 1, 1], "f4")[:, None])
        self.assertEqual(list(turned.component.values), ["z", "x", "y"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sifaka.run("sfvsgrad3d-gpu", turned.assign_coords(t=up.t), **words)
        with self.assertRaisesRegex(ValueError, "out=True: out= is the name of a file"):
            sifaka.run("math", n1=4, output="x1", out=True)

    def test_warnings_are_at_the_line_that_called(self):
        script = self.write("script.py", """\
            import numpy, sifaka
            sifaka.run("bandpass", numpy.zeros(100), fhi=0.1, fhh=3)
            change = numpy.zeros(5, "f4")
            sifaka.linop("causint", change, change, nothing=1).matvec(change)
            """)
        modules = os.pathsep.join([os.path.join(FLOWS, "python"), PACKAGES])
        done = subprocess.run([sys.executable, script], env=dict(os.environ, PYTHONPATH=modules), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([int(line) for line in re.findall(r"script.py:(\d+): ProgramWarning", done.stderr)], [2, 4])

    def test_receivers_have_their_places(self):
        data = shot()
        np.testing.assert_array_equal(data.x, range(100, 500, 100))
        self.assertEqual((data.z.dims, float(data.z[0]), data.z.attrs["units"]), (("r",), 20, "m"))
        rec = np.stack([sifaka.points(x=[100 + dx, 200 + dx], z=20) for dx in (0, 30)])
        line = shot(sou=np.stack([sifaka.points(x=x, z=100) for x in (200, 300)]), rec=rec, pressure=True)
        for array in line.values():
            self.assertEqual(array.x.dims, (array.dims[0], "r"))
            np.testing.assert_array_equal(array.x, [[100, 200], [130, 230]])
        # Files have no such coordinates; without rec= they are unknown.
        sifaka.write(self.path("data.rsf"), data)
        self.assertEqual(set(sifaka.read(self.path("data.rsf")).coords), {"t", "component", "r"})
        again = sifaka.read(self.path("data.rsf"), rec=sifaka.points(x=range(100, 500, 100), z=20))
        np.testing.assert_array_equal((again.x, again.z), (data.x, data.z))
        with self.assertRaisesRegex(ValueError, "rec= does not have the receivers of these data"):
            sifaka.read(self.path("data.rsf"), rec=sifaka.points(x=[100, 200], z=20))

    def test_data_of_other_receivers_are_refused(self):
        data, earth = shot(), {name: sifaka.grid(value, x=(0, 10, 61), z=(0, 10, 41)) for name, value in (("vp", 3000), ("vs", 1700), ("den", 2200))}
        words = dict(earth, sou=sifaka.points(x=300, z=100), nt=120, dt=0.001, stf="ricker", freq=20, m0=1e12, device="cpu")
        rec = sifaka.points(x=range(100, 500, 100), z=20)
        for given, points, told in (
            (data.sortby("x", ascending=False), rec, "receiver 1 of the data lies at x=400 z=20, but that of rec= at x=100 z=20: these are the same points in another order"),
            (data, rec + np.float32([50, 0]), "but that of rec= at x=150 z=20: give the data of these receivers"),
        ):
            with self.assertRaisesRegex(ValueError, told):
                sifaka.run("sfvsgrad2d-gpu", given, rec=points, **words)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sifaka.ProgramWarning)
            self.assertEqual(sifaka.run("sfvsgrad2d-gpu", data, rec=rec, **words).shape, sifaka.run("sfvsgrad2d-gpu", data.drop_vars(["x", "z"]), rec=rec, **words).shape)

    def test_help_says_where_the_book_is(self):
        self.assertTrue(os.path.exists(os.path.join(sifaka.book(), "user", "18-python", "README.md")))
        self.assertIn(sifaka.book(), sifaka.__doc__)

    def test_streams_lists_of_files_text_and_pictures(self):
        line = sifaka.run("math", n1=5, d1=0.5, output="x1", label1="Time", unit1="s")
        np.testing.assert_array_equal(sifaka.run("sfwindow", line, f1=1, n1=3), [0.5, 1, 1.5])
        np.testing.assert_array_equal(sifaka.run("add", line, line, scale=[3, -1]), 2 * line)
        np.testing.assert_array_equal(sifaka.run("math", x=line, output="2*x"), 2 * line)
        self.assertIn("max", sifaka.run("attr", line, want="max"))
        self.assertIn("nothing was run", shot(plan=True))
        picture = sifaka.run("grey", np.eye(3))
        self.assertTrue(picture._repr_png_().startswith(b"\x89PNG"))
        svg = sifaka.run("grey", np.eye(3), format="svg")
        self.assertIn("<svg", svg._repr_svg_())
        self.assertIn("SYNOPSIS", sifaka.doc("bandpass"))

    def test_failures_are_exceptions_with_the_sentence(self):
        with self.assertRaisesRegex(sifaka.ProgramError, "^sfvsfd2d-gpu: time step 1 s is unstable: the largest stable step") as caught:
            shot(dt=1)
        self.assertEqual((caught.exception.program, caught.exception.status), ("sfvsfd2d-gpu", 1))
        good = self.path("good.rsf")
        shot(out=good)
        with open(good, "rb") as file:
            before = file.read()
        with self.assertRaisesRegex(sifaka.ProgramError, "is unstable"):
            shot(dt=1, out=good)
        with open(good, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertFalse(os.path.exists(good + ".before"))
        with self.assertRaisesRegex(ValueError, "out=.*good.rsf is a file that sfhexmesh reads"):
            sifaka.run("sfhexmesh", surfaces=f"2000,{good}", layers=4, nx=5, out=good)
        for places in (dict(x=[1, 2], y=3), dict(y=1, z=2)):
            with self.assertRaisesRegex(ValueError, "points have x, z or x, y, z"):
                sifaka.points(**places)
        self.assertIsNone(sifaka.run("grey", np.eye(3), format="pdf")._repr_svg_())
        with self.assertWarnsRegex(sifaka.ProgramWarning, r"unknown parameter fhh= \(did you mean fhi= \?\)"):
            sifaka.run("bandpass", np.zeros(100), fhh=3)
        with self.assertRaisesRegex(FileNotFoundError, "nothing: no such program"):
            sifaka.run("nothing")
        with self.assertRaisesRegex(rsfdata.RsfError, "not regular"):
            sifaka.run("window", xarray.DataArray(np.zeros(3), {"t": [0, 1, 5]}, ["t"]))
        with self.assertRaisesRegex(ValueError, "origin, spacing and number"):
            sifaka.grid(1, z=(0, 10))
        with self.assertRaisesRegex(ValueError, r"x=40: an axis has an origin and a spacing"):
            sifaka.grid(1, x=40, z=(0, 10, 11))
        with self.assertRaisesRegex(ValueError, "points have x, z"):
            sifaka.points(x=1)
        with self.assertRaisesRegex(ValueError, "x='0:100:50': a coordinate is a number, a list or an array of numbers"):
            sifaka.points(x="0:100:50", z=3)
        with self.assertRaisesRegex(ValueError, r"z decreases from 100 to 0, but axes of space must increase: array.sortby\('z'\) reverses it, and here z points down"):
            sifaka.run("window", sifaka.grid(1.0, z=(0, 10, 11), x=(0, 10, 5)).isel(z=slice(None, None, -1)))
        self.assertRegex(sifaka.__version__, r"^\d+\.\d+\.\d+$")
        with self.assertRaisesRegex(ValueError, "x has 2 numbers and z has 3 numbers"):
            sifaka.points(x=[1, 2], z=[1, 2, 3])
        with self.assertRaisesRegex(FileNotFoundError, "did you mean sfvsgrad2d-gpu or sfvsgrad3d-gpu"):
            sifaka.run("sfvsgrad")
        # Programs that are only on PATH are found, too.
        with open(self.path("sfonpath2d-gpu"), "w", encoding="ascii"):
            pass
        with mock.patch.dict(os.environ, PATH=self.folder + os.pathsep + os.environ["PATH"]):
            with self.assertRaisesRegex(FileNotFoundError, "sfonpath2d: no such program; did you mean sfonpath2d-gpu"):
                sifaka.run("sfonpath2d")

    def test_which_programs_run(self):
        def program(folder, name, version):
            os.makedirs(self.path(folder), exist_ok=True)
            with open(self.path(folder, name), "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\necho {version}\n")
            os.chmod(self.path(folder, name), 0o755)
            return self.path(folder, name)

        built = sifaka._programs.find("scale")
        foreign = program("foreign", "sfscale", "NAME sfscale")
        newer = program("newer", "sfscale", "sfscale sifaka-9.9")
        wanted = program("wanted", "sfscale", "sfscale sifaka-8.8")
        paths = lambda *names: mock.patch.dict(os.environ, PATH=os.pathsep.join([*map(os.path.dirname, names), os.environ["PATH"]]))
        with paths(foreign):
            # Madagascar has programs with these names.
            self.assertEqual(sifaka._programs.find("scale"), built)
        with paths(newer), self.assertWarnsRegex(sifaka.ProgramWarning, r"using .*newer/sfscale \(sifaka-9.9\); there is also .* \(sifaka-0"):
            self.assertEqual(sifaka._programs.find("sfscale"), newer)
        with paths(newer), mock.patch.dict(os.environ, SIFAKA_BIN=os.path.dirname(wanted)), warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(sifaka._programs.find("scale"), wanted)
            self.assertEqual(sifaka._programs.find("sfclip2"), sifaka._programs.find("clip2"))

    def test_numbers_beyond_single_precision_are_refused(self):
        with self.assertRaisesRegex(ValueError, "too large for single precision"):
            sifaka.run("attr", np.array([1.0, 1e300]))

    def test_whole_numbers_are_taken_where_they_are_exact(self):
        axes = dict(x=(0, 10, 30), z=(0, 10, 20))
        real = {name: sifaka.grid(value, **axes) for name, value in (("vp", 3000), ("vs", 1700), ("den", 2200))}
        words = dict(nt=20, dt=0.001, tau=0.01)
        wanted = sifaka.run("sfvsfd2d-gpu", sou=sifaka.points(x=100, z=50), rec=sifaka.points(x=[60, 80], z=20), qp=real["vp"] / 100, qs=30, **real, **words)
        points = dict(sou=[[100, 50]], rec=np.array([[60, 20], [80, 20]], "i2"), qp=(real["vp"] / 100).astype("i4"), qs=30)
        for kind in ("i4", "i8", "u2"):
            data = sifaka.run("sfvsfd2d-gpu", **points, **{name: value.astype(kind) for name, value in real.items()}, **words)
            np.testing.assert_array_equal(data, wanted)
        with self.assertRaisesRegex(ValueError, "vp: 16777217 cannot be represented in single precision, which holds all whole numbers up to 16777216"):
            sifaka.run("sfvsfd2d-gpu", vp=(0 * real["vp"]).astype("i8") + 2**24 + 1, vs=real["vs"], den=real["den"], **points, **words)
        # Everyday programs accept integers unchanged, and masks remain integers.
        self.assertEqual(sifaka.run("window", np.arange(5), f1=2).dtype, np.int32)
        kept = sifaka.run("headerwindow", np.ones((3, 4), "f4"), mask=np.array([1, 0, 1]))
        self.assertEqual(kept.shape, (2, 4))

    def test_several_shots(self):
        earth = {name: sifaka.grid(value, x=(0, 10, 30), z=(0, 10, 20)) for name, value in (("vp", 3000), ("vs", 1700), ("den", 2200))}
        sou = np.stack([sifaka.points(x=x, z=50) for x in (100, 150, 200)])
        data = sifaka.run("sfvsfd2d-gpu", sou=sou, rec=sifaka.points(x=range(50, 250, 50), z=20), **earth, nt=20, dt=0.001, tau=0.01)
        self.assertEqual(sorted(data.shape), [2, 3, 4, 20])
        # Axes of points from Python have no labels, but the axis of shots has a name.
        self.assertEqual(data.isel(shot=0).dims, ("t", "component", "r"))

    def test_progress(self):
        steps = []
        shot(progress=lambda done, total: steps.append((done, total)))
        self.assertEqual((steps[-1], len(steps)), ((120, 120), len(set(steps))))
        told, before = io.StringIO(), sys.stderr
        sys.stderr = told
        try:
            shot(progress=True)
        finally:
            sys.stderr = before
        self.assertIn("\rsfvsfd2d-gpu: step 120 of 120", told.getvalue())

    def test_nothing_stays_behind(self):
        before, os.environ["TMPDIR"] = os.environ.get("TMPDIR"), self.folder
        import tempfile

        tempfile.tempdir = None
        try:
            shot(snap=True, wfl=True)
            with self.assertRaises(sifaka.ProgramError):
                shot(dt=1)
            self.assertEqual(os.listdir(self.folder), [])
        finally:
            os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)
            tempfile.tempdir = None

    def test_files_both_ways(self):
        data = shot()
        data.sifaka.write(self.path("a.rsf"), title="A shot")
        back = sifaka.read(self.path("a.rsf"))
        # Headers have nine digits, and no receiver positions.
        xarray.testing.assert_allclose(back, data.drop_vars(["x", "z"]), rtol=1e-8)
        self.assertEqual((back.attrs["title"], back.attrs["units"]), ("A shot", "m/s"))
        self.assertIn("sfvsfd2d-gpu", back.attrs["history"])


@needs_packages(sifaka)
class Pictures(Scratch):
    def test_matplotlib(self):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        plane = shot().sel(component="z")
        image = plane.sifaka.image(percent=90)
        self.assertGreater(*image.axes.get_ylim())
        self.assertEqual(image.axes.get_ylabel(), "t [s]")
        low, high = image.get_clim()
        self.assertEqual(low, -high)
        self.assertAlmostEqual(high, float(np.percentile(abs(plane.values), 90)))
        pyplot.close("all")
        axes = plane.sifaka.wiggles()
        self.assertEqual((len(axes.lines), axes.get_ylabel()), (4, "t (s)"))
        pyplot.close("all")
        with self.assertRaisesRegex(ValueError, "an image has two axes"):
            shot().sifaka.image()


@needs_packages(sifaka)
class Typed(unittest.TestCase):
    def test_what_is_public_has_types_and_a_text(self):
        for name in sifaka.__all__:
            self.assertTrue(getattr(sifaka, name).__doc__, name)
        for function in (sifaka.run, sifaka.linop, sifaka.grid, sifaka.points, sifaka.read, sifaka.write, sifaka.doc):
            self.assertIn("return", function.__annotations__, function)
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(sifaka.__file__), "py.typed")))

    def test_without_xarray_it_says_what_to_do(self):
        script = "import sys; sys.modules['xarray'] = None; import sifaka"
        paths = os.pathsep.join([os.path.join(FLOWS, "python"), PACKAGES])
        done = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": paths}, capture_output=True, text=True)
        self.assertIn("sifaka needs xarray: pip install xarray", done.stderr)


if __name__ == "__main__":
    unittest.main()
