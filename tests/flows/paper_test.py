"""The tables of the papers' run times: how they are measured, and whether the pages show the tables."""
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
import unittest.mock

from support import BIN, TOP, Scratch

PAPER = os.path.join(TOP, "book", "paper")
CHAPTERS = ("michea2010", "zhou2012")


def measuring():
    """book/paper/measure.py, imported as a module."""
    about = importlib.util.spec_from_file_location("measure", os.path.join(PAPER, "measure.py"))
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    return module


def rows(path):
    with open(path, encoding="utf-8") as table:
        return [line.split() for line in table if line.strip() and not line.startswith("#")]


class Measuring(Scratch):
    def setUp(self):
        super().setUp()
        self.measure = measuring()

    def run_cases(self, paper, cases, groups, head):
        table = self.measure.Table(self.path("results.txt"), groups, "cpu", head)
        self.measure.measure(paper, cases, "cpu", (BIN, BIN), 1, table)
        return rows(table.path)

    def test_rows_of_small_grids_and_what_is_replaced(self):
        grid = (40, 36, 30)
        awp = [("parts", "coarse", grid, 6, 200, 1, f"{self.measure.AWP} {self.measure.COARSE}")]
        first = self.run_cases("zhou2012", awp, {"parts"}, "# by one")
        self.assertEqual(first[0][:9], "parts coarse 40 36 30 6 200 cpu 1".split())
        loop, whole = (float(seconds) for seconds in first[0][9:])
        self.assertTrue(0 < loop <= whole, first)
        ondes = [("weak", "each", grid, 4, 4, count, self.measure.MICHEA) for count in (1, 2)]
        both = self.run_cases("michea2010", ondes, {"weak"}, "# by two")
        self.assertEqual([row[0] for row in both], ["parts", "weak", "weak"])
        again = self.run_cases("zhou2012", awp, {"parts"}, "# by three")
        self.assertEqual([row[0] for row in again], ["weak", "weak", "parts"])
        with open(self.path("results.txt"), encoding="utf-8") as table:
            self.assertEqual(table.read().splitlines()[:4], ["# by one", "# by two", "# by three", self.measure.COLUMNS])

    def test_rows_of_squares_and_cubes(self):
        squares = [("squares", "isotropic", (60, 1, 50), 8, 40, 1, self.measure.WEISS)]
        cubes = [("cubes", "isotropic", (30, 28, 26), 6, 20, count, self.measure.WEISS) for count in (1, 2)]
        self.assertEqual(len(self.run_cases("weiss2013-2d", squares, {"squares"}, "# by one")), 1)
        both = self.run_cases("weiss2013-3d", cubes, {"cubes"}, "# by two")
        self.assertEqual([row[:9] for row in both][1:], [f"cubes isotropic 30 28 26 6 20 cpu {count}".split() for count in (1, 2)])
        self.assertTrue(all(0 < float(row[9]) <= float(row[10]) for row in both), both)

    def test_rows_of_elements(self):
        boxes = [("weak", "each", (4 * count, 4, 4), 0, 4, count, self.measure.ELEMENTS) for count in (1, 2)]
        both = self.run_cases("komatitsch2010", boxes, {"weak"}, "# by one")
        self.assertEqual([row[:9] for row in both], [f"weak each {4 * count} 4 4 0 4 cpu {count}".split() for count in (1, 2)])
        self.assertTrue(all(0 < float(row[9]) <= float(row[10]) for row in both), both)

    def test_what_the_exchange_costs_comes_from_the_benchmark(self):
        said = "iso degree 4 order Quadratic 892160 elements, 2 ranks, %s: 385.5 M element-steps/s, %s us a step (2265.1 to 2331.2), +0.00 % of overlapped"
        lines = "\n".join(said.replace("%s", manner, 1).replace("%s", str(2000 + k)) for k, manner in enumerate(self.measure.MANNERS))
        self.write("bench", f"#!/bin/sh\ncat <<'END'\n{lines}\nEND\n", 0o755)
        cases = [("exchange", name, (8, 4, 4), 0, 100, 2, self.measure.ELEMENTS) for name in self.measure.MANNERS.values()]
        found = [self.measure.exchanged(self.path("bench"), case)[0] for case in cases]
        for k, seconds in enumerate(found):
            self.assertAlmostEqual(seconds, (2000 + k) * 1e-4)

    def test_ranks_are_started_by_mpirun(self):
        case = ("ranks", "isotropic", (30, 28, 26), 6, 20, 2, self.measure.WEISS)
        with unittest.mock.patch.dict(os.environ, MPIRUN="starter"):
            command = self.measure.command_of(("plain", "with-mpi"), case, "gpu")
        self.assertEqual(command[:3], ["starter", "-n", "2"])
        self.assertIn(os.path.join("with-mpi", "sfewefd3d-gpu"), command)
        self.assertIn("ngpu=1", command)

    def test_every_case_has_room_for_its_frame(self):
        for paper in CHAPTERS:
            for device in ("cpu", "gpu"):
                for _, _, grid, frame, steps, count, _ in self.measure.PAPERS[paper][0](device, [1, 2]):
                    nx, ny, nz = grid
                    self.assertGreaterEqual(min(nz - frame, nx - 2 * frame, ny - 2 * frame), 6, (grid, frame))
                    self.assertTrue(steps > 0 and count > 0)

    def test_what_cannot_be_measured_is_said(self):
        def said(*words):
            done = subprocess.run([sys.executable, os.path.join(PAPER, "measure.py"), *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done)
            return done.stderr

        self.assertIn("give the paper (komatitsch2010, michea2010, weiss2013-2d, weiss2013-3d, zhou2012 or all)", said("weiss2013"))
        self.assertIn("device=tpu", said("all", "device=tpu", f"bin={BIN}"))
        self.assertIn("bin= must contain the program", said("all", f"bin={self.folder}"))
        self.assertIn("groups=depths: there are no such groups", said("all", "groups=depths", f"bin={BIN}", f"out={self.folder}"))
        self.write("nvidia-smi", "#!/bin/sh\nexit 9\n", 0o755)
        with unittest.mock.patch.dict(os.environ, PATH=self.folder + os.pathsep + os.environ["PATH"]):
            self.assertIn("nvidia-smi lists no GPU", said("zhou2012", "device=gpu", f"bin={BIN}", f"out={self.folder}"))
        with self.assertRaises(SystemExit) as ended:
            self.run_cases("zhou2012", [("parts", "x", (40, 36, 30), 6, 4, 1, "colour=red dt=1")], {"parts"}, "#")
        self.assertIn("this run failed", str(ended.exception))


class Tables(Scratch):
    def table(self, paper, *words):
        environment = dict(os.environ, PYTHONPATH=os.path.join(TOP, "book", "flows", "pages"))
        return subprocess.run([sys.executable, "table.py", *words], cwd=self.path(paper), env=environment, capture_output=True, text=True)

    def setUp(self):
        super().setUp()
        for paper in CHAPTERS:
            shutil.copytree(os.path.join(PAPER, paper, "runtimes"), self.path(paper))

    def test_pages_show_what_was_measured(self):
        for paper in CHAPTERS:
            done = self.table(paper, "check")
            self.assertEqual(done.returncode, 0, f"{paper}: {done.stderr}")
            self.assertIn("| CPU core", done.stdout)

    def test_pages_of_the_other_paper_show_what_was_measured(self):
        for folder in ("runtimes2d", "runtimes3d"):
            done = subprocess.run([sys.executable, "table.py", "check"], cwd=os.path.join(PAPER, "weiss2013", folder), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("| 8 cores |", done.stdout)

    def test_new_rows_are_missed_until_they_are_written(self):
        for paper, row, shown in (
            ("michea2010", "table2 small 384 328 52 10 500 gpu 1 0.25 1.25", " 1.50 |"),
            ("zhou2012", "scaling coarse 128 128 960 20 100 gpu 1 0.1 1.0", " 15.73 | 4829 |"),
        ):
            with open(self.path(paper, "results-gpu.txt"), "w", encoding="utf-8") as results:
                results.write(row + "\n")
            self.assertEqual(self.table(paper).returncode, 0, "a flow goes on")
            done = self.table(paper, "check")
            self.assertEqual(done.returncode, 1)
            self.assertIn("python3 table.py write", done.stderr)
            self.assertEqual(self.table(paper, "write").returncode, 0)
            self.assertEqual(self.table(paper, "check").returncode, 0)
            self.assertIn(shown, self.read(f"{paper}/README.md"))


if __name__ == "__main__":
    unittest.main()
