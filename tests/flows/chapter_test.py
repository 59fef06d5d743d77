"""Chapters as readers use them: copied to another place, with other parameters, and with programs that are only on PATH."""
import os
import re
import shutil
import subprocess
import sys
import unittest

from support import FLOWS, NAMES, TOP, Scratch, clean

USER = os.path.join(TOP, "book", "user")
TABLES = ("04-accuracy", "05-boundaries", "08-gathers-and-moveout", "17-two-methods")
# A table with one measured number, in place of one that takes minutes.
TABLE = '''
    import os
    import sys
    sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 2, "flows", "pages"))
    import page_table
    page_table.main(page_table.lines_of("| n | x |", [["1", f"{page_table.numbers('x.out')[0]:.0f}"]]))
'''


class Chapters(Scratch):
    def chapter(self, value):
        """A chapter whose page says 5. The value is in the header as well: a flow looks at headers, and two of them
        that were written in the same second would otherwise be equal."""
        self.write("README.md", "# A chapter\n\n| n | x |\n| --- | --- |\n| 1 | 5 |\n")
        self.write("table.py", TABLE)
        self.flows(
            f"""
            Flow('x', None, 'spike n1=1 mag={value} o1={value}')
            Flow('x.out', 'x', 'disfil number=n format="%g "')
            Flow('table.out', 'table.py README.md x.out', 'python3 ${{SOURCES[0]}}', stdin=0)
            Flow('later', 'table.out x', 'cp < ${{SOURCES[1]}}', stdin=0)
            """
        )

    def run_flows(self, *words, sconsw=os.path.join(TOP, "sconsw"), **environment):
        return subprocess.run(
            [sconsw, "-Q", *words], cwd=self.folder, env=dict(clean(os.environ), **environment), capture_output=True, text=True
        )

    def check(self):
        return subprocess.run(
            [sys.executable, "table.py", "check"],
            cwd=self.folder,
            env=dict(os.environ, PYTHONPATH=os.path.join(FLOWS, "pages")),
            capture_output=True,
            text=True,
        )

    def test_a_changed_parameter_gives_its_table_and_all_that_follows(self):
        for value, agrees in ((5, True), (7, False)):
            self.chapter(value)
            done = self.run_flows()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.read("table.out").splitlines()[-1], f"| 1 | {value} |")
            self.assertTrue(os.path.exists(self.path("later.rsf")))
            self.assertEqual("the page (README.md) has" in done.stderr, not agrees, done.stderr)
            checked = self.check()
            self.assertEqual(checked.returncode, 0 if agrees else 1, checked.stderr)
        self.assertIn("but the measured line is\n  | 1 | 7 |", checked.stderr)
        self.assertIn("| 1 | 5 |", self.read("README.md"), "only `write` changes the page")

    def test_the_book_holds_pages_to_what_was_run(self):
        sys.path.append(FLOWS)
        from suite import chapters

        self.chapter(7)
        book, built = self.path("book"), self.path("built")
        os.makedirs(os.path.join(book, "user"))
        shutil.copytree(self.folder, os.path.join(book, "user", "01-new"), ignore=shutil.ignore_patterns("book"))
        os.symlink(FLOWS, os.path.join(book, "flows"))
        (chapter,) = chapters.find(book)
        chapters.mirror(chapter, built)
        self.assertEqual(chapters.run(built, ["-s"], dict(os.environ)), 0)
        self.assertEqual(chapters.check_table(chapter, built), 1)
        subprocess.run([sys.executable, "table.py", "write"], cwd=built, check=True, capture_output=True)
        self.assertEqual(chapters.check_table(chapter, built), 0)
        self.assertEqual(chapters.check_table(chapters.Chapter(book, "user"), built), 0, "no table, nothing to compare")

    def test_tables_of_copied_chapters_find_their_module(self):
        for name in TABLES:
            copied = shutil.copytree(os.path.join(USER, name), self.path(name))
            code = "import runpy, sys; sys.argv = ['table.py']; runpy.run_path('table.py', run_name='imported')"
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=copied, env=dict(os.environ, PYTHONPATH=os.path.join(FLOWS, "pages")),
                capture_output=True, text=True,
            )
            self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")

    def test_programs_on_path_serve_a_checkout_without_any(self):
        away = self.path("checkout")
        os.makedirs(os.path.join(away, "book"))
        shutil.copy(os.path.join(TOP, "sconsw"), away)
        shutil.copytree(FLOWS, os.path.join(away, "book", "flows"))
        self.flows("Flow('x', None, 'spike n1=1 mag=3')\n")
        sconsw = os.path.join(away, "sconsw")
        path = os.environ["PATH"]
        without = self.run_flows(sconsw=sconsw, PATH=path)
        self.assertNotEqual(without.returncode, 0)
        self.assertIn("and none on PATH", without.stderr)
        done = self.run_flows(sconsw=sconsw, PATH=path + os.pathsep + NAMES)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(self.path("x.rsf")))

    def test_a_folder_without_flow_builds_nothing(self):
        for folder in (self.folder, os.path.join(USER, "00-install")):
            run = subprocess.run([os.path.join(TOP, "sconsw")], cwd=folder, env=clean(os.environ), capture_output=True, text=True, timeout=60)
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"there is no SConstruct in this folder, {folder}:", run.stderr)
            self.assertIn(f"build the suite in {TOP}: cd to one of them", run.stderr)
            self.assertEqual(run.stdout, "")
        # The help of the suite, and -C with a folder, work everywhere.
        self.assertIn("scons notebooks", self.run_flows("--help").stdout)
        self.assertIn("/flow", self.run_flows("-C", os.path.dirname(self.write("flow/SConstruct", "print(Dir('.').abspath)"))).stdout)

    def test_the_coarse_grid_of_the_first_chapter_has_the_points_that_its_answer_says(self):
        """Answer 2: a grid of half as many cells along each axis keeps the nodes of its frame. Points take more time on
        a small grid, so its share of the time is larger than its share of the points."""
        folder = os.path.join(USER, "01-first-shot")
        with open(os.path.join(folder, "SConstruct"), encoding="utf-8") as flow:
            text = flow.read()
        nz, nx = (int(re.search(rf"\b{name}=(\d+)", text)[1]) for name in ("nz", "nx"))
        frame = re.search(r"dabc=y nb=(\d+)", text)[1]
        points = []
        for n1, n2, d in ((nz, nx, 0.005), (nz // 2 + 1, nx // 2 + 1, 0.01)):
            axes = f"n1={n1} d1={d} n2={n2} d2={d}"
            line = f"""
                set -e; PATH={NAMES}:$PATH
                sfspike {axes} mag=2.2 > den.rsf; sfspike {axes} n3=4 nsp=4 k3=1,2,3,4 mag=8.8,3.168,8.8,2.464 > ccc.rsf
                sfspike n1=2 n2=1 mag=1 > sou.rsf; sfspike n1=1 n2=2 n3=100 d3=0.0005 | sfmath output="sin(0.03*x3/0.0005)" > wave.rsf
                sfewefd2d-gpu ccc=ccc.rsf den=den.rsf sou=sou.rsf rec=sou.rsf ssou=y dabc=y nb={frame} plan=y < wave.rsf > plan.rsf
                """
            done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=clean(os.environ), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            padded = re.search(rf"with the frame of {frame} nodes z (\d+) x x (\d+)", done.stderr)
            points.append(int(padded[1]) * int(padded[2]))
        with open(os.path.join(folder, "README.md"), encoding="utf-8") as page:
            answer = page.read()
        of_points = int(re.search(r"has (\d+) % of the points", answer)[1])
        of_time = int(re.search(r"takes (\d+) % of the time", answer)[1])
        self.assertEqual(of_points, round(100 * points[1] / points[0]))
        self.assertGreater(of_time, of_points)

    def test_letters_of_madagascars_flows(self):
        self.flows("""
            text = ch2uni('\\u00e9') + ch2uni(b'\\xc3\\xa9') + ch2uni(233)
            Flow('x', None, 'spike n1=%d' % len(text))
            """)
        done = self.run_flows()
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("x.rsf"), "rb") as header:
            self.assertIn(b"n1=3", header.read())


if __name__ == "__main__":
    unittest.main()
