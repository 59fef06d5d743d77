"""Shared by the tests of flows: a scratch folder with an SConstruct, run by the checkout's own sconsw."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLOWS = os.path.join(TOP, "book", "flows")
BIN = os.path.join(TOP, "build", "bin")
NAMES = os.path.join(TOP, "build", "rsf", "bin")
STIFF = os.path.join(TOP, "tests", "data", "stiff")
# Makes a small dataset with a program that needs no input.
MODEL = "stiffness vp=2.5 vs=1.5 ro=2.2 epsilon=0.2 delta=0.1 sym=vti dim=2 n1=31 n2=41 d1=0.01 d2=0.01"

sys.path.append(FLOWS)

from suite import packages

# The folder in which ./sconsw test installs packages that are not part of Python: numpy, xarray, ObsPy and others.
PACKAGES = packages.folder(TOP)


def needs_packages(module):
    """Decorates a class of tests that is skipped with a message if `module` is None because packages are missing; CI requires them."""
    if module is None and os.environ.get("REQUIRE_PACKAGES"):
        raise ImportError(f"the packages of tests/flows/packages.txt are missing in {PACKAGES}")
    return unittest.skipIf(module is None, "packages of tests/flows/packages.txt are missing here")


def clean(environment):
    """The environment without the variables of Madagascar, Python, SCons and Sifaka that may be set on a machine."""
    names = ("DATAPATH", "TMPDATAPATH", "PYTHONPATH", "RSFROOT", "SCONSFLAGS")
    return {k: v for k, v in environment.items() if k not in names and not k.startswith("SIFAKA_")}


class Scratch(unittest.TestCase):
    """A test with a scratch folder."""

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="flows"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        os.chmod(path, mode)
        return path

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read().decode("utf-8", "replace")

    def flows(self, text, end=True):
        """Writes the SConstruct, with `text` between the import and End()."""
        self.write("SConstruct", "from rsf.proj import *\n" + textwrap.dedent(text) + ("End()\n" if end else ""))

    def start(self, *words, **environment):
        return subprocess.Popen(
            [os.path.join(TOP, "sconsw"), "-Q", *words],
            cwd=self.folder,
            env=dict(clean(os.environ), **environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def scons(self, *words, **environment):
        """Runs SCons; returns (exit status, output and messages)."""
        process = self.start(*words, **environment)
        out, err = process.communicate(timeout=1200)
        return process.returncode, out + err

    def made(self, *words, **environment):
        """Runs SCons, which must succeed; returns what it printed."""
        status, text = self.scons(*words, **environment)
        self.assertEqual(status, 0, text)
        return text

    def assert_up_to_date(self, *words, **environment):
        self.assertEqual(self.scons("-q", *words, **environment)[0], 0)

    def names(self, folder="."):
        """The names of the files in the folder, without SConstruct and files of SCons."""
        found = os.listdir(self.path(folder))
        return sorted(name for name in found if not name.startswith((".sconsign", ".flows")) and name != "SConstruct")

    def wait_for(self, what, process, seconds=300):
        """Waits until `what()` is true, while the process runs."""
        end = time.time() + seconds
        while not what():
            self.assertIsNone(process.poll(), "the process ended too soon")
            self.assertLess(time.time(), end, "the condition was not met in time")
            time.sleep(0.02)

    def interrupt(self, process, number=signal.SIGINT):
        """Sends a signal to the process's whole group, as Ctrl-C does; returns what it printed."""
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=600)
        return out + err


def header(path):
    """The keys of an RSF header."""
    with open(path, "rb") as file:
        text = file.read().split(b"\x0c\x0c\x04")[0].decode("utf-8", "replace")
    return {key: value.strip('"') for key, value in re.findall(r'(\w+)=("[^"\n]*"|\S*)', text)}


def floats(path):
    """The numbers of an RSF file of native floats, in one file or two."""
    from array import array

    keys, values = header(path), array("f")
    if keys["in"] == "stdin":
        with open(path, "rb") as file:
            values.frombytes(file.read().split(b"\x0c\x0c\x04", 1)[1])
    else:
        name = keys["in"]
        with open(name if os.path.isabs(name) else os.path.join(os.path.dirname(path), name), "rb") as file:
            values.frombytes(file.read())
    return values
