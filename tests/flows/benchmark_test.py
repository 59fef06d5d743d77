"""The benchmark of the book: its reference solutions compared with closed forms and with each other, the errors of the suite in small runs, its tables."""
import math
import os
import subprocess
import sys
import unittest
from dataclasses import replace

from support import BIN, FLOWS, PACKAGES, TOP, Scratch, needs_packages

HERE = os.path.join(TOP, "book", "benchmark")
sys.path.insert(1, PACKAGES)
sys.path += [HERE, os.path.join(FLOWS, "python")]
try:
    import numpy as np

    import attenuation
    import cases
    import exact
    import layered
    import run
    from cases import CASES, ROCK
except (ImportError, SystemExit):
    np = None
import table


def misfit(found, right):
    return math.sqrt(((found - right) ** 2).sum() / (right**2).sum())


@needs_packages(np)
class Answers(unittest.TestCase):
    def seismograms(self, case, **words):
        return exact.answer(case, **words).at(0.004 * np.arange(int(case.duration / 0.004)))

    def test_layers_of_one_rock_are_homogeneous(self):
        for place in (2, 3):
            flat = replace(CASES["dip"], rocks=(ROCK, ROCK), margin=4.0)
            if place == 3:
                receivers = ((150.0, 30.0, -90.0), (300.0, -200.0, -100.0), (150.0, 100.0, 430.0))
                flat = replace(flat, dip=0.0, source=(10.0, 20.0, 0.0), receivers=receivers)
            for bell in (0.0, 200.0):
                layers = self.seismograms(flat, bell=bell)
                whole = self.seismograms(replace(flat, interfaces=()), bell=bell)
                self.assertLess(misfit(layers, whole), {2: 2e-6, 3: 5e-5}[place])

    def test_an_interface_below_a_surface_changes_nothing_in_one_rock(self):
        lamb = CASES["lamb"]
        self.assertLess(misfit(self.seismograms(replace(lamb, rocks=(ROCK, ROCK), interfaces=(150.0,))), self.seismograms(lamb)), 1e-9)

    def test_an_explosion_below_a_free_surface_is_garvins(self):
        rock, depth, x = ROCK, 60.0, 300.0
        case = replace(CASES["lamb"], source=(0.0, depth), receivers=((x, 0.0),), explosion=True)
        times = 0.004 * np.arange(int(case.duration / 0.004))
        found = exact.answer(case).at(times)[0]
        # Garvin (1956) by Cagniard's method: t = (r/a) cosh(theta) on the path of slownesses p
        r, a, b = math.hypot(x, depth), rock.vp, rock.vs
        theta = (np.arange(6000) + 0.5) * math.acosh(times[-1] * a / r + 1) / 6000
        p = (x * np.cosh(theta) + 1j * depth * np.sinh(theta)) / (r * a)
        pa, pb, g = np.sqrt(1 / a**2 - p**2), np.sqrt(1 / b**2 - p**2), 1 / b**2 - 2 * p**2
        rayleigh = b**2 * (g**2 + 4 * p**2 * pa * pb)
        q = (math.pi * case.frequency) ** 2
        late = times[:, None] - r / a * np.cosh(theta) - case.delay
        slope = (4 * q * q * late**3 - 6 * q * late) * np.exp(-q * late**2)
        scale = -(theta[1] - theta[0]) / (2 * math.pi * rock.rho * a**2)
        right = scale * np.array([slope @ (2 * pa * g / rayleigh).real, slope @ (-4 * p * pa * pb / rayleigh).real])
        self.assertLess(misfit(found, right), 1e-4)

    def test_an_explosion_in_water_is_sound(self):
        water = cases.Rock(1000.0, 1500.0, 0.0)
        case = replace(CASES["seafloor"], rocks=(water, water), receivers=((300.0, -50.0), (200.0, 150.0)))
        spectra = exact.answer(case)
        for j, (x, z) in enumerate(case.receivers):
            r, s = math.hypot(x, z - case.source[1]), 1j * spectra.frequencies
            away = s / water.vp * exact.bessel(s * r / water.vp)[1] / (2 * math.pi * water.rho * water.vp**2) * exact.ricker(case, spectra.frequencies)
            right = exact.Spectra(spectra.period, away, spectra.frequencies).at(np.arange(0, 0.9, 0.004))
            self.assertLess(misfit(spectra.at(np.arange(0, 0.9, 0.004))[j, 1], right * x / r), 1e-5)

    def test_source_and_receiver_change_places(self):
        # By reciprocity, source and receiver can be exchanged for vertical force and vertical displacement, in layers
        # of any kind
        for name in ("loh1", "loh3", "vti"):
            case = replace(CASES[name], source=(0.0, 1500.0), receivers=((2000.0, 400.0),), frequency=1.5, duration=4.0)
            back = replace(case, source=(0.0, 400.0), receivers=((2000.0, 1500.0),))
            self.assertLess(misfit(self.seismograms(back)[:, 0], self.seismograms(case)[:, 0]), 1e-7, name)
        case = replace(CASES["seafloor"], explosion=False, source=(0.0, 30.0), receivers=((300.0, 100.0),))
        back = replace(case, source=(0.0, 100.0), receivers=((300.0, 30.0),))
        self.assertLess(misfit(self.seismograms(back)[:, 0], self.seismograms(case)[:, 0]), 1e-7)

    def test_turned_frames_agree(self):
        # A slightly different dip gives slightly different records
        case = replace(CASES["dip"], margin=4.0)
        turned = self.seismograms(case)
        steep = self.seismograms(replace(case, dip=24.999))
        self.assertLess(misfit(steep, turned), 1e-3)

    def test_far_waves_lose_what_the_quality_factor_takes(self):
        case = CASES["loh3"]
        for elements in (False, True):
            w = 2 * math.pi * np.array([0.6, 1.5, 3.0])
            _, c33, c55, _ = attenuation.constants(case.rocks[0], case, w, elements)
            for modulus, q in ((c33, 120.0), (c55, 40.0)):
                self.assertLess(abs(modulus.imag / modulus.real * q - 1).max(), 0.04)
            self.assertAlmostEqual(1 / (1 / np.sqrt(c55[1] / 2600)).real, 2000.0, places=2)


@needs_packages(np)
class Runs(Scratch):
    def rows(self, *words):
        command = [sys.executable, os.path.join(HERE, "run.py"), f"bin={BIN}", f"out={self.folder}", "device=cpu", "repeat=1", *words]
        environment = dict(os.environ, PYTHONPATH=PACKAGES)
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {}
        for line in self.read("results-cpu.txt").splitlines():
            if line[0] != "#":
                row = line.split()
                found.setdefault((row[0], row[1]), []).append((float(row[2]), float(row[9]), float(row[10])))
        return found

    def test_errors_in_homogeneous_rock_and_their_order(self):
        found = self.rows("case=homogeneous10", "method=vs4,vs8,vs8-half,displacement,elements4,elements8", "points=4,6")
        # The measured errors are 0.1, 0.01; 0.26, 0.026; 0.3, 0.02; 0.02, 0.002; 2.9 and 0.6 %
        limits = {"vs8": (1e-3, 1e-4), "displacement": (5e-3, 5e-4), "elements4": (5e-3, 4e-4), "elements8": (5e-4, 5e-5), "vs4": (0.05, 0.01)}
        for method, (coarse, fine) in limits.items():
            rows = found["homogeneous10", method]
            self.assertLess(rows[0][1], coarse, (method, rows))
            self.assertLess(rows[1][1], fine, (method, rows))
        order = lambda method: math.log(found["homogeneous10", method][0][1] / found["homogeneous10", method][1][1]) / math.log(6 / 4)
        self.assertGreater(order("vs4"), 3.5)
        self.assertGreater(order("vs8"), 5)
        self.assertGreater(order("elements8"), 5)
        # Without tdc=y the time step has an error of order 2, and waves arrive early
        rows = found["homogeneous10", "vs8-half"]
        self.assertTrue(1.6 < order("vs8-half") < 2.4 and rows[0][1] > 5e-3 and rows[0][2] < 0, rows)

    def test_errors_where_rock_changes(self):
        found = self.rows("case=lamb,vti,loh3,seafloor", "method=elements8", "points=4")
        found.update(self.rows("case=lamb,loh1,dip", "method=vs8", "points=5"))
        limits = {("lamb", "elements8"): 1e-3, ("vti", "elements8"): 2e-3, ("loh3", "elements8"): 2e-4, ("seafloor", "elements8"): 1e-3,
                  ("lamb", "vs8"): 0.02, ("loh1", "vs8"): 0.01, ("dip", "vs8"): 0.005}
        for key, limit in limits.items():
            self.assertLess(found[key][0][1], limit, (key, found[key]))

    def test_rows_are_replaced_and_what_cannot_be_run_is_said(self):
        self.rows("case=homogeneous10", "method=vs8", "points=3,4")
        rows = self.rows("case=homogeneous10", "method=vs8", "points=3")
        self.assertEqual([row[0] for row in rows["homogeneous10", "vs8"]], [3.0])
        self.assertEqual(self.read("results-cpu.txt").count("# by run.py"), 2)
        for words, sentence in ((["case=lamp"], "case=lamp is not known"), (["cases=lamb"], "the parameters are bin=, case="), (["device=tpu"], "device=tpu")):
            command = [sys.executable, os.path.join(HERE, "run.py"), f"bin={BIN}", f"out={self.folder}", *words]
            done = subprocess.run(command, env=dict(os.environ, PYTHONPATH=PACKAGES), capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(sentence, done.stderr)


class Tables(unittest.TestCase):
    def test_seconds_to_a_misfit_are_read_between_two_runs(self):
        points = [(1.0, 10.0, 0.1), (4.0, 40.0, 0.001), (16.0, 160.0, 0.0004)]
        self.assertEqual(table.cost(points, 0.2), ("<", 1.0))
        sign, seconds = table.cost(points, 0.01)
        self.assertEqual((sign, round(seconds, 9)), ("", 2.0))
        self.assertEqual(round(table.cost(points, 0.01, 1)[1], 9), 20.0)
        self.assertIsNone(table.cost(points, 1e-4))

    def test_the_page_shows_what_was_measured(self):
        done = subprocess.run([sys.executable, "table.py", "check"], cwd=HERE, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| one core, s | lamb |", done.stdout)

    def test_peers_say_what_is_missing(self):
        for name, package in (("peer_deepwave.py", "deepwave"), ("peer_devito.py", "devito")):
            done = subprocess.run([sys.executable, "-S", os.path.join(HERE, name)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, rf"{package}\b.* needed")


if __name__ == "__main__":
    unittest.main()
