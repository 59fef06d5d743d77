"""The handouts of a class: notebooks that run, and pages without answers."""
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import types
import unittest
import warnings
from unittest import mock

from support import FLOWS, NAMES, PACKAGES, TOP, Scratch, clean

from suite import chapters, handouts, page
from suite.record import Record

sys.path.append(os.path.join(FLOWS, "python"))


class Handouts(Scratch):
    def chapter(self, name):
        return next(chapter for chapter in chapters.find(os.path.join(TOP, "book")) if chapter.name == name)

    def run_cells(self, made):
        """Runs the code cells of a notebook as Jupyter does, but without Jupyter; returns the pictures that it shows."""
        shown, before = [], os.getcwd()
        display = types.ModuleType("IPython.display")
        display.Image = lambda name: shown.append(os.path.abspath(name))
        self.addCleanup(os.chdir, before)
        os.chdir(os.path.dirname(made))
        with open(made, encoding="utf-8") as text:
            cells = json.load(text)["cells"]
        names = {}
        scons = self.write("tools/sifaka-scons", f'#!/bin/sh\nexec {TOP}/sconsw "$@"\n', 0o755)
        environment = dict(clean(os.environ), PATH=os.pathsep.join([NAMES, os.path.dirname(scons), os.environ["PATH"]]))
        ipython = types.ModuleType("IPython")
        # matplotlib checks whether it runs in a notebook.
        ipython.get_ipython, ipython.version_info = lambda: None, (9, 0)
        modules = {"IPython": ipython, "IPython.display": display}
        with mock.patch.dict(sys.modules, modules), mock.patch.dict(os.environ, environment, clear=True), contextlib.redirect_stdout(io.StringIO()):
            for cell in (cell for cell in cells if cell["cell_type"] == "code"):
                source = "".join(cell["source"])
                if source.startswith("%%bash\n"):
                    done = subprocess.run(["bash"], input=source.split("\n", 1)[1], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                else:
                    exec(compile(source, made, "exec"), names)
        return shown

    def test_a_notebook_of_every_chapter(self):
        made = handouts.make(TOP, self.folder)
        self.assertGreater(len(made), 17)
        for path in made:
            with open(path, encoding="utf-8") as text:
                book = json.load(text)
            self.assertEqual((book["nbformat"], book["nbformat_minor"]), (4, 5))
            cells = book["cells"]
            self.assertTrue("".join(cells[0]["source"]).startswith("# "), path)
            self.assertEqual(len({cell["id"] for cell in cells}), len(cells))
            self.assertTrue({cell["cell_type"] for cell in cells} <= {"code", "markdown"})

    def test_every_chapter_with_exercises_is_a_lesson(self):
        folder = os.path.join(TOP, "book/user")
        with open(os.path.join(folder, "00-lessons/README.md"), encoding="utf-8") as text:
            minutes = {int(row[0]): int(row[1]) for row in re.findall(r"^\| (\d+) [^|]*\|[^|]*\|[^|]*\| (\d+) \|", text.read(), re.M)}
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name, "README.md")
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as text:
                    self.assertTrue("\n## Exercises" not in text.read() or int(name[:2]) in minutes, name)
        self.assertEqual([minutes[1] + minutes[2], minutes[3]], [120, 60], "the page says what labs of two and three hours take")

    def test_commands_of_every_chapter_are_cells(self):
        """All blocks of a page that are commands run in its notebook, except those that need files of the reader."""
        left_out = {"12-a-mesh": 1, "18-python": 4, "25-six-jobs-on-land": 1}
        total = 0
        for chapter in chapters.find(os.path.join(TOP, "book")):
            name = os.path.basename(chapter.name)
            if not re.match(r"user/(0[1-9]|1|2)", chapter.name) or name == "20-assessment":
                continue
            fences = re.findall(r"^```(\w*)\n(.*?)\n```$", chapter.text(), re.MULTILINE | re.DOTALL)
            blocks = [block for language, block in fences if not language]
            # Output of a program begins with its name and a colon, or with words that are not a command.
            commands = [block for block in blocks if not re.match(r"sf\S+:|tracl |station 1:|misfit: ", block)]
            cells = ["".join(cell["source"]) for cell in handouts.notebook(chapter)["cells"] if cell["cell_type"] == "code"]
            run = [block for block in commands if any(block.strip() in cell for cell in cells)]
            self.assertEqual(len(commands) - len(run), left_out.get(name, 0), name)
            # Commands that read files of the flow run in its folder; all other commands run where they do not overwrite
            # any files.
            apart = any("cd typed" in cell for cell in cells)
            beside = handouts.FLOW_FIRST in chapter.text() or not chapter.runs()
            self.assertEqual(apart, not beside, name)
            total += len(run)
        self.assertGreaterEqual(total, 55)

    def test_folders_of_notebooks_can_be_given_away(self):
        """Files are copies, tables find their module, and cells in a folder without SConstruct end with a message."""
        made = [os.path.dirname(path) for path in handouts.make(TOP, self.folder)]
        links = [name for folder in made for name in os.listdir(folder) if os.path.islink(os.path.join(folder, name))]
        self.assertEqual(links, [])
        code = "import runpy, sys; sys.argv = ['table.py']; runpy.run_path('table.py', run_name='imported'); import page_table"
        tables = [folder for folder in made if os.path.exists(os.path.join(folder, "table.py"))]
        self.assertGreater(len(tables), 3)
        for folder in tables:
            done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=clean(os.environ), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        os.remove(self.path("01-first-shot", "SConstruct"))
        done = subprocess.run(
            [sys.executable, os.path.join(os.path.dirname(__file__), "cells.py"), self.path("01-first-shot", "01-first-shot.ipynb")],
            env=dict(clean(os.environ), PATH=TOP + os.pathsep + os.environ["PATH"]), capture_output=True, text=True, timeout=60,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("there is no SConstruct in this folder", done.stdout)

    def test_the_first_chapter_runs(self):
        handouts.make(TOP, self.folder)
        shown = self.run_cells(self.path("01-first-shot", "01-first-shot.ipynb"))
        self.assertEqual([os.path.basename(name) for name in shown], ["gather.png", "snapshots.png", "gather.png"])
        for name in shown:
            self.assertTrue(os.path.exists(name), name)
        self.assertTrue(os.path.exists(self.path("01-first-shot", "typed", "gather.png")))

    @unittest.skipUnless(os.path.isdir(PACKAGES) or os.environ.get("REQUIRE_PACKAGES"), "packages of tests/flows/packages.txt are missing here")
    def test_the_chapter_of_python_runs(self):
        handouts.make(TOP, self.folder)
        with mock.patch.object(sys, "path", [sys.path[0], PACKAGES, *sys.path[1:]]), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            import matplotlib

            matplotlib.use("Agg")
            self.run_cells(self.path("18-python", "18-python.ipynb"))
        self.assertTrue(os.path.exists(self.path("18-python", "data.nc")))

    def test_answers_apart(self):
        text = "# T\n\n## Exercises\n1. why\n\n## Answers\n\n1. because\n\n### more\n\n## After\nx\n"
        page_, answers = handouts.without_answers(text)
        self.assertEqual(page_, "# T\n\n## Exercises\n1. why\n## After\nx\n")
        self.assertEqual(answers, "## Answers\n\n1. because\n\n### more\n\n")
        self.assertEqual(handouts.without_answers("# T\nx"), ("# T\nx", ""))
        handouts.make(TOP, self.folder, answers=False)
        for name in ("01-first-shot/01-first-shot.ipynb", "01-first-shot/README.md"):
            self.assertIn("Exercises", self.read(name))
            self.assertNotIn("## Answers", self.read(name))
            self.assertNotIn("2.013 km/s", self.read(name))
        self.assertIn("2.013 km/s", self.read("answers/01-first-shot.md"))
        # If answers are kept, their cells have a tag, by which nbconvert can leave them out.
        cells = handouts.notebook(self.chapter("user/01-first-shot"))["cells"]
        tagged = {bool(cell["metadata"].get("tags")) for cell in cells if "2.013 km/s" in "".join(cell["source"])}
        self.assertEqual(tagged, {True})
        self.assertIn("## Exercises", "".join("".join(cell["source"]) for cell in cells if not cell["metadata"].get("tags")))
        # The book's own page has not changed.
        self.assertIn("2.013 km/s", self.chapter("user/01-first-shot").text())

    def test_the_page_of_the_book_without_answers(self):
        entries = [(self.chapter("user/01-first-shot"), Record(self.folder), "x", self.folder)]
        for answers in (True, False):
            page.write(self.path("index.html"), "v", entries, answers)
            self.assertEqual("2.013 km/s" in self.read("index.html"), answers)


if __name__ == "__main__":
    unittest.main()
