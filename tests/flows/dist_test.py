"""scons dist: the distributed files are complete, name their system, and work in an empty prefix."""
import base64
import contextlib
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
import time
import unittest
import zipfile

from support import BIN, FLOWS, MODEL, NAMES, PACKAGES, TOP, Scratch

from suite import dist, install, names

BINARIES = [os.path.join(BIN, name) for name in sorted(os.listdir(BIN))]
FLOW = f"from rsf.proj import *\nFlow('a', None, '{MODEL}')\nResult('a', 'grey frame=0')\nEnd()\n"


def pip():
    """A Python that has pip: this one, or, in a venv without pip, the one outside."""
    for python in dict.fromkeys([sys.executable, shutil.which("python3") or sys.executable]):
        if subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
            return python
    return None


class Handed(Scratch):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.out = os.path.join(TOP, "build", "dist-test")
        shutil.rmtree(cls.out, ignore_errors=True)
        cls.addClassCleanup(shutil.rmtree, cls.out, ignore_errors=True)
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            cls.archive, cls.wheel = dist.make(TOP, BINARIES, cls.out)
        cls.told = told.getvalue()

    def alone(self):
        """An environment in which nothing of this checkout is visible except the SCons that runs the tests."""
        scons = self.write("tools/scons", f'#!/bin/sh\nexec {sys.executable} -m SCons "$@"\n', 0o755)
        environment = {"PATH": f"{os.path.dirname(scons)}:/usr/bin:/bin", "HOME": self.folder}
        if paths := [path for path in sys.path if os.path.isdir(os.path.join(path, "SCons"))]:
            environment["PYTHONPATH"] = paths[0]
        return environment

    def first_notebook(self, prefix):
        """Runs the first chapter as a notebook from the installed book; returns the pictures that it shows."""
        shutil.copytree(os.path.join(prefix, "share/sifaka/book/user/01-first-shot"), self.path("first"))
        environment = self.alone()
        environment["PATH"] = os.path.join(prefix, "bin") + ":" + environment["PATH"]
        words = [sys.executable, os.path.join(TOP, "tests", "flows", "cells.py"), self.path("first", "01-first-shot.ipynb")]
        run = subprocess.run(words, env=environment, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return re.findall(r"^([0-9.]+) s: (\d+) bytes of (Fig/\S+)", run.stdout, re.MULTILINE)

    def first_flow(self, prefix):
        """Runs a flow and a chapter of the book."""
        environment = self.alone()
        self.write("flow/SConstruct", FLOW)
        runner = os.path.join(prefix, "bin", "sifaka-scons")
        run = subprocess.run([runner, "-Q"], cwd=self.path("flow"), env=environment, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn(os.path.join(os.path.realpath(prefix), "bin", "sfstiffness"), run.stdout)
        self.assertEqual(os.listdir(self.path("flow/Fig")), ["a.png"])
        # The book is included.
        self.assertTrue(os.path.exists(os.path.join(prefix, "share/sifaka/book/user/01-first-shot/SConstruct")))
        self.assertTrue(os.path.exists(os.path.join(prefix, "share/sifaka/book/user/01-first-shot/01-first-shot.ipynb")))
        for name in names.OMP:
            told = subprocess.run([os.path.join(prefix, "bin", name)], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertIn("Anisotropic elastic modelling", told.stdout + told.stderr)
        linked = self.path("elsewhere", "sfmath")
        os.makedirs(os.path.dirname(linked))
        os.symlink(os.path.join(prefix, "bin", "sfmath"), linked)
        run = subprocess.run([linked, "n1=3", "output=x1"], env=environment, capture_output=True)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_an_archive_in_an_empty_folder(self):
        with tarfile.open(self.archive) as tar:
            tar.extractall(self.path("unpacked"))
        (top,) = os.listdir(self.path("unpacked"))
        self.assertEqual(top + ".tar.gz", os.path.basename(self.archive))
        # The installation does not depend on its location.
        os.rename(self.path("unpacked", top), self.path("a folder"))
        self.first_flow(self.path("a folder"))
        told = subprocess.run([self.path("a folder/bin/sifaka-scons"), "-h"], cwd=self.folder, env=self.alone(), capture_output=True, text=True).stdout
        self.assertIn(f"  cp -r '{self.path('a folder')}/share/sifaka/book/user/01-first-shot' .\n  cd 01-first-shot && sifaka-scons\n", told)
        self.assertEqual(set(os.listdir(self.path("a folder/bin"))), set(os.listdir(NAMES)) | {"sifaka-scons"})

    def test_a_wheel_in_an_empty_prefix(self):
        python = pip()
        if python is None:
            if os.environ.get("REQUIRE_CC"):
                self.fail("no Python here has pip")
            self.skipTest("no Python here has pip")
        began = time.time()
        words = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--ignore-installed"]
        run = subprocess.run([*words, "--prefix", self.path("root"), self.wheel], capture_output=True, text=True, env=dict(os.environ, PIP_ROOT_USER_ACTION="ignore"))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        prefix = self.path("root")
        # Debian's Python inserts a folder into the path.
        if os.path.exists(os.path.join(prefix, "local", "bin")):
            prefix = os.path.join(prefix, "local")
        installed = time.time() - began
        pictures = self.first_notebook(prefix)
        self.assertEqual([name for _, _, name in pictures], ["Fig/snapshots.png", "Fig/gather.png"])
        self.assertGreater(min(int(size) for _, size, _ in pictures), 10000)
        # The time from pip install to the first picture in a notebook.
        self.assertLess(installed + float(pictures[0][0]), 60)
        print(f"the first picture {installed + float(pictures[0][0]):.1f} s after pip install began", file=sys.stderr)
        self.first_flow(prefix)
        self.assertEqual(set(os.listdir(os.path.join(prefix, "bin"))), set(os.listdir(NAMES)) | {"sifaka-scons"})

    def test_the_wheel_is_what_its_record_says(self):
        with zipfile.ZipFile(self.wheel) as file:
            self.assertIsNone(file.testzip())
            (record,) = [name for name in file.namelist() if name.endswith("RECORD")]
            rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(file.read(record).decode()))}
            self.assertEqual(set(rows), set(file.namelist()))
            for name, (mark, size) in rows.items():
                if name != record:
                    content = file.read(name)
                    wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                    self.assertEqual((mark, int(size)), ("sha256=" + wanted, len(content)), name)
            self.assertLessEqual({"rsfdata.py", "sifaka/__init__.py", "sifaka/py.typed"}, set(rows))
            self.assertIn("Requires-Dist: SCons", file.read(record.replace("RECORD", "METADATA")).decode())

    def test_the_readme_is_for_those_who_install(self):
        """The page differs from that of a checkout: its links lead to files that exist, and its first command and first Python call run."""
        with tarfile.open(self.archive) as tar:
            tar.extractall(self.path("unpacked"))
        (top,) = os.listdir(self.path("unpacked"))
        home = self.path("unpacked", top, "share", "sifaka")
        readme = self.read(os.path.join(home, "README.md"))
        for words in (f"pip install './{os.path.basename(self.wheel)}[arrays]'", "- `user/01-first-shot`: 1. A first shot\n", "sifaka.book()"):
            self.assertIn(words, readme)
        self.assertNotRegex(readme, r"\{|sconsw|[Rr]ust|ARCHITECTURE|CONTRIBUTING")
        pages = [os.path.join(folder, name) for folder, _, files in os.walk(home) for name in files if name.endswith(".md")]
        for page in pages:
            text = re.sub(r"^```.*?^```", "", self.read(page), flags=re.MULTILINE | re.DOTALL)
            for link in re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s#]+)", text):
                self.assertTrue("://" in link or os.path.exists(os.path.join(os.path.dirname(page), link)), f"{page}: {link}")
        with zipfile.ZipFile(self.wheel) as file:
            (metadata,) = [name for name in file.namelist() if name.endswith("METADATA")]
            self.assertTrue(file.read(metadata).decode().endswith("\n\n" + readme))
        command, call = re.findall(r"^```\n((?:sf|import).*?)^```", readme, re.MULTILINE | re.DOTALL)
        environment = dict(self.alone(), MPLBACKEND="Agg")
        environment["PATH"] = self.path("unpacked", top, "bin") + ":" + environment["PATH"]
        run = subprocess.run(["bash", "-e"], input=command, cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(os.path.getsize(self.path("model.png")), 1000)
        if os.path.isdir(PACKAGES):
            environment["PYTHONPATH"] = os.path.join(home, "python") + ":" + PACKAGES
            call += "print(sifaka.book())\n"
            run = subprocess.run([sys.executable, "-"], input=call, cwd=self.folder, env=environment, capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout), (0, os.path.join(home, "book") + "\n"), run.stderr)

    def test_help_of_the_runner_says_what_it_is(self):
        runner = self.write("bin/sifaka-scons", install.RUNNER, 0o755)
        told = subprocess.run([runner, "--help"], cwd=self.folder, env=self.alone(), capture_output=True, text=True)
        self.assertEqual(told.returncode, 0, told.stderr)
        for words in ("sifaka-scons runs the flow of a folder", "of Sifaka's sources\n", "CHECKPAR=y", "usage: scons [OPTIONS]"):
            self.assertIn(words, told.stdout)
        self.assertLess(told.stdout.index("CHECKPAR=y"), told.stdout.index("usage: scons"))
        # It is not an error if the reader stops early.
        cut = subprocess.run(["bash", "-c", f"'{runner}' --help | head -n 1"], cwd=self.folder, env=self.alone(), capture_output=True, text=True)
        self.assertEqual((cut.stdout.count("\n"), cut.stderr), (1, ""))
        # The flow that the help shows works.
        flow = re.search(r"^  from rsf.proj.*?End\(\)$", told.stdout, re.MULTILINE | re.DOTALL).group()
        self.write("flow/SConstruct", textwrap.dedent(flow) + "\n")
        run = subprocess.run([os.path.join(TOP, "sconsw"), "-Q"], cwd=self.path("flow"), env=self.alone(), capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(os.listdir(self.path("flow/Fig")), ["slow.png"])

    def test_the_name_tells_the_oldest_system(self):
        major, minor = dist.needed(BINARIES)
        self.assertIn(f"glibc {major}.{minor} or newer", self.told)
        self.assertIn("manylinux_{}_{}_".format(*max((major, minor), (2, 17))), self.wheel)
        if not shutil.which("objdump"):
            self.skipTest("objdump, which tells versions of symbols, is not on PATH")
        told = subprocess.run(["objdump", "-T", *BINARIES], capture_output=True, text=True, check=True).stdout
        versions = {tuple(map(int, found)) for found in re.findall(r"\(GLIBC_(\d+)\.(\d+)", told)}
        self.assertEqual(max(versions), (major, minor))

    def test_nothing_of_this_machine_is_handed_out(self):
        with tarfile.open(self.archive) as tar:
            for member in tar.getmembers():
                self.assertEqual((member.uid, member.uname), (0, ""))
                if member.isfile() and "/bin/sf" not in member.name:
                    self.assertNotIn(TOP.encode(), tar.extractfile(member).read(), member.name)
        self.assertNotIn("build", {part for name in dist.book_files(TOP) for part in name.split(os.sep)})
        self.assertTrue(set(install.package_files(FLOWS)))


if __name__ == "__main__":
    unittest.main()
