"""The module sifaka: names and order of axes, messages of programs, and other libraries: operators for SciPy and PyLops, and the page of the book from top to bottom."""
import contextlib
import io
import os
import re
import sys
import unittest
import warnings

from python_test import shot
from support import FLOWS, PACKAGES, TOP, Scratch, needs_packages

sys.path.insert(1, PACKAGES)
sys.path.append(os.path.join(FLOWS, "python"))
try:
    import numpy as np
    import rsfdata
    import scipy.sparse.linalg
    import xarray

    import sifaka
except ImportError:
    sifaka = None


@needs_packages(sifaka)
class Messages(Scratch):
    def test_what_programs_say_is_printed_where_it_is_asked_for(self):
        told, before = io.StringIO(), sys.stderr
        sys.stderr = told
        try:
            shot(verb=True)
            box = dict(surfaces=[800, 0], layers=8, nx=12, xmin=0, xmax=1200, rho=2300, vp=3000, vs=1700)
            sifaka.run("sfhexmesh", **box, out=self.path("box.rsf"))
            sifaka.run("sfhexmesh", **box, judge=False, out=self.path("again.rsf"))
            shot()
        finally:
            sys.stderr = before
        self.assertRegex(told.getvalue(), r"sfvsfd2d-gpu: time \d|sfvsfd2d-gpu: .*steps")
        self.assertEqual(told.getvalue().count("sfhexmesh: largest stable step"), 1)
        self.assertNotIn("step 120 of", told.getvalue())


@needs_packages(sifaka)
class Models(Scratch):
    def test_axes_that_are_gone_leave_no_name(self):
        rsfdata.write(self.path("s.rsf"), np.zeros((2, 3, 4, 5), "f4"), [rsfdata.Axis(5, 0, 1, "z"), rsfdata.Axis(4, 0, 1, "x"), rsfdata.Axis(3, 0, 1, "z x y"), rsfdata.Axis(2, 1, 0.1, "Time", "s")])
        one = sifaka.read(self.path("s.rsf")).isel({"Time": 0, "component": 0}, drop=True)
        sifaka.write(self.path("one.rsf"), one)
        found = sifaka.read(self.path("one.rsf"))
        self.assertEqual(found.dims, ("x", "z"))
        self.assertEqual([found.sifaka.header.text(key) for key in ("n4", "label4", "unit4", "label3")], ["1", "", "", ""])

    def test_models_may_have_z_anywhere_and_other_names(self):
        # The model has an interface, so a transposed model would give other records.
        vp = sifaka.grid(3000, z=(0, 10, 61), x=(0, 10, 61))
        vp = vp.where(vp.z < 250, 4000)
        words = lambda vp: dict(vp=vp, vs=vp / 1.8, den=0 * vp + 2200)
        wanted = shot(**words(vp))
        for model in (vp.T, vp.rename(x="lon"), vp.rename(x="lon").T):
            np.testing.assert_array_equal(shot(**words(model)), wanted)


@needs_packages(sifaka)
class Operators(Scratch):
    def test_scipy(self):
        line = sifaka.run("spike", n1=6)
        sums, values = sifaka.linop("causint", line), np.arange(1.0, 7.0)
        self.assertIsInstance(sums, scipy.sparse.linalg.LinearOperator)
        np.testing.assert_array_equal(sums @ values, np.cumsum(values))
        np.testing.assert_array_equal(sums.H @ values, np.cumsum(values[::-1])[::-1])
        # Products are in single precision; the measured error is 2e-5.
        solved = scipy.sparse.linalg.lsqr(sums, sums @ values, iter_lim=30)[0]
        np.testing.assert_allclose(solved, values, rtol=1e-4)
        self.assertEqual(sums.to_model(values).dims, line.dims)
        with self.assertRaisesRegex(ValueError, "sfmath has no adj="):
            sifaka.linop("math", line)

    def test_data_at_other_times_are_named(self):
        line = sifaka.run("spike", n1=6, o1=0, d1=0.01)
        later = sifaka.run("sfput", line, o1=0.005)
        sums = sifaka.linop("causint", line, later)
        with self.assertWarnsRegex(sifaka.ProgramWarning, r"sfcausint with adj=n writes n1=6 o1=0 d1=0.01, but the data of this linop have n1=6 o1=0.005 d1=0.01: .*to_data\(\)$"):
            sums @ np.ones(6)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sifaka.linop("causint", line, line) @ np.ones(6)
            sifaka.linop("causint", line) @ np.ones(6)

    def test_pylops(self):
        import pylops

        vp = sifaka.grid(3000, x=(0, 10, 31), z=(0, 10, 21))
        words = dict(vp=vp, vs=vp / 1.8, den=0 * vp + 2200, sou=sifaka.points(x=150, z=50), rec=sifaka.points(x=[100, 200], z=20))
        words.update(nt=60, dt=0.001, stf="ricker", freq=25, m0=1e12, device="cpu", nb=8)
        # Changes of vp, vs and density, on the axis after the axes of the grid.
        change = xarray.concat([0 * vp] * 3, "component")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sifaka.ProgramWarning)
            born = sifaka.linop("sfvsborn2d-gpu", change, **words)
            operator = pylops.aslinearoperator(born)
            # Products are rounded to single precision; the largest measured error is 6e-7, with three seeds.
            np.random.seed(0)
            self.assertTrue(pylops.utils.dottest(operator, *operator.shape, rtol=5e-6))
            data = operator @ np.ones(operator.shape[1])
            # An axis without a name receives the name that the program uses.
            bare = sifaka.linop("sfvsborn2d-gpu", change.rename(component="axis3"), **words)
            gradient = bare.to_model(bare.H @ data)
            # Parameters of the program may have the names of the arguments.
            pressure = sifaka.linop("sfvsborn2d-gpu", change, data="pressure", **words)
            self.assertTrue(pylops.utils.dottest(pylops.aslinearoperator(pressure), *pressure.shape, rtol=5e-6))
        self.assertEqual(pressure.shape[0], born.shape[0] // 2)
        self.assertEqual((gradient.dims, list(gradient["component"].values)), (("component", "x", "z"), ["vp", "vs", "rho"]))
        self.assertNotIn("Transposed", str(gradient.attrs), "the label of a gradient is not that of any vector")
        self.assertEqual(born.to_data(data).dims[-1], "r")
        self.assertGreater(np.abs(data).max(), 0)


@needs_packages(sifaka)
class Page(Scratch):
    def test_its_code_runs_from_top_to_bottom(self):
        import matplotlib

        matplotlib.use("Agg")
        with open(os.path.join(TOP, "book", "user", "18-python", "README.md"), encoding="utf-8") as text:
            # The rest of the page needs files of seismology: tests/flows/seismology_test.py.
            page = text.read().split("## Earthquakes")[0]
        blocks = re.findall(r"^```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 5)
        before, told, names = os.getcwd(), io.StringIO(), {}
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", sifaka.ProgramWarning)
            os.environ["DATAPATH"] = self.folder + os.sep
            self.addCleanup(os.environ.pop, "DATAPATH")
            for block in blocks:
                exec(compile(block, "18-python", "exec"), names)
        self.assertIn("sfvsfd2d-gpu: time step 1 s is unstable", told.getvalue())
        # Least squares has reduced the misfit: solution[3] is its norm.
        self.assertLess(names["solution"][3], float(np.linalg.norm(0.01 * names["data"])))
        self.assertEqual(names["found"]["wfl"].dims, ("t", "component", "x", "z"))
        back = xarray.load_dataarray("data.nc")
        # RSF files do not contain the positions of receivers; rec= has restored them.
        xarray.testing.assert_allclose(back, names["data"], rtol=1e-8)
        self.assertEqual((back.t.attrs["units"], back.attrs["units"], back.attrs["title"]), ("s", "m/s", "A shot"))


if __name__ == "__main__":
    unittest.main()
