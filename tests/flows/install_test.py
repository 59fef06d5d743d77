"""scons install and uninstall: into a stand-in for Madagascar, and without Madagascar; a real package rsf is never hidden."""
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import standin
from support import BIN, FLOWS, MODEL, NAMES, Scratch

from suite import install, mpi, names, sfdoc

BINARIES = [os.path.join(BIN, name) for name in sorted(os.listdir(BIN))]
DOCUMENT = "import rsf.prog, rsf.doc, sys; print(rsf.doc.progs[sys.argv[1]].document())"


class Prefix(Scratch):
    def setUp(self):
        super().setUp()
        self.root = self.path("root")

    def install(self, **environment):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            install.install(self.root, BINARIES, FLOWS, environment)
        return out.getvalue()

    def uninstall(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            install.uninstall(self.root)
        return out.getvalue()

    def tree(self):
        """Every file below the prefix with its bytes, every link with its target, every folder."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            for name in folders + files:
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    found[path] = os.readlink(path)
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        found[path] = file.read()
                else:
                    found[path] = None
        return found


class Mpi(unittest.TestCase):
    """The names of the installed programs, with or without MPI."""

    def test_what_was_built_is_installed(self):
        for before in (True, False):
            for at_hand in (True, False):
                self.assertEqual(mpi.choice("auto", before, at_hand)[0], before)
                self.assertEqual(mpi.choice("y", before, at_hand)[0], True)
                self.assertEqual(mpi.choice("n", before, at_hand)[0], False)
        self.assertEqual([mpi.choice("auto", None, hand)[0] for hand in (True, False)], [True, False])
        for why in (mpi.choice("auto", False, True)[1], mpi.choice("auto", None, True)[1]):
            self.assertIn("mpi=n", why)

    def test_a_program_tells_whether_mpi_is_inside(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            self.assertIsNone(mpi.is_inside(program))
            for bytes, inside in ((b"\x7fELF MPI_Init_thread", True), (b"\x7fELF", False)):
                with open(program, "wb") as file:
                    file.write(bytes)
                self.assertEqual(mpi.is_inside(program), inside)


class BesideMadagascar(Prefix):
    def setUp(self):
        super().setUp()
        self.packages = standin.build(self.root)
        self.before = self.tree()

    def document(self, name):
        run = subprocess.run(
            [sys.executable, "-B", "-c", DOCUMENT, name], env={"PYTHONPATH": self.packages}, capture_output=True, text=True
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_programs_names_and_documentation(self):
        told = self.install()
        self.assertIn("import rsf.sfsifaka", told)
        module = os.path.join(self.root, "share", "sifaka", "python")
        self.assertIn(f"`import sifaka`, if PYTHONPATH has {module}", told)
        self.assertEqual(sorted(os.listdir(module)), ["rsfdata.py", "sifaka"], "a folder that hides no other module")
        text = self.document("sfewefd3d-gpu")
        for words in ("Anisotropic elastic modelling in 3-D", "ccc", "nqy", "required", "sfewefd3d-gpu < wav.rsf", "sifaka-"):
            self.assertIn(words, text)
        for old in names.OLD:
            self.assertIn(f"\n{old} <", self.document(old))
            for word in PUBLISHED:
                self.assertRegex(self.document(old), rf"\n{word}(bool|int|file|string) =", "CHECKPAR=y refuses words that it does not find")
            self.assertTrue(os.access(os.path.join(self.root, "bin", old), os.X_OK))
        self.assertEqual(self.document("sfspike").count("Spikes"), 1)

    def test_every_parameter_can_be_checked(self):
        self.install()
        code = (
            "import rsf.prog, rsf.doc, json, subprocess, sys\n"
            "for name, prog in rsf.doc.progs.items():\n"
            "    if prog.file.startswith('sifaka/'):\n"
            "        told = json.loads(subprocess.run([sys.argv[1] + name, '--sfdoc'], capture_output=True, text=True).stdout)\n"
            "        keys = {key for p in told['params'] for key in [p['name']] + p['aliases']}\n"
            "        assert keys == set(prog.pars), (name, keys ^ set(prog.pars))\n"
            "        print(name)\n"
        )
        run = subprocess.run(
            [sys.executable, "-B", "-c", code, self.root + "/bin/"], env={"PYTHONPATH": self.packages}, capture_output=True, text=True
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        ours = {os.path.basename(path) for path in BINARIES} - {"sfbasics"}
        self.assertEqual(set(run.stdout.split()), set(names.OLD) | ours)

    def test_every_port_says_which_way_it_goes(self):
        self.install()
        text = self.read("root/lib/python3/dist-packages/rsf/sfsifaka.py")
        ports = [line for line in text.splitlines() if ".rsfpar('file'" in line]
        self.assertGreater(len(ports), 20)
        for line in ports:
            self.assertRegex(line, "auxiliary (input|output) file")

    def test_a_madagascar_whose_list_of_programs_is_not_found_is_left_alone(self):
        away = self.path("away")
        os.rename(self.path("root/lib"), away)
        self.write("root/bin/sfdoc", "#!/bin/sh\n", 0o755)
        before = self.tree()
        with self.assertRaisesRegex(install.Refused, "a Madagascar is there.*source its etc/env.sh"):
            self.install()
        self.assertEqual(self.tree(), before)
        self.install(PYTHONPATH=os.path.join(away, "python3", "dist-packages"))
        self.assertIn("import rsf.sfsifaka", self.read("away/python3/dist-packages/rsf/prog.py"))
        self.uninstall()
        self.assertEqual(self.tree(), before)

    def test_the_everyday_programs_stay_madagascars(self):
        self.install()
        left = os.listdir(os.path.join(self.root, "bin"))
        self.assertFalse({"sfbasics", "sfgrey", "sfewefd2d_omp", "sifaka-scons"} & set(left), left)
        self.assertIn("the spike of Madagascar", self.read("root/bin/sfspike"))

    def test_twice_is_once_and_uninstall_restores_every_byte(self):
        self.install()
        once = self.tree()
        self.install()
        self.assertEqual(once, self.tree())
        self.assertEqual(self.read("root/lib/python3/dist-packages/rsf/prog.py").count("sfsifaka"), 1)
        self.uninstall()
        self.assertEqual(self.tree(), self.before)
        with self.assertRaisesRegex(install.Refused, "nothing of Sifaka is installed"):
            self.uninstall()

    def test_foreign_files_are_left_alone(self):
        foreign = self.write("root/bin/sfewefd2d_gpu", "of someone else", 0o755)
        told = self.install()
        self.assertIn(f"not replaced, because it existed before and is not ours: {foreign}", told)
        self.assertEqual(self.read("root/bin/sfewefd2d_gpu"), "of someone else")
        self.assertNotIn("'sfewefd2d_gpu'", self.read("root/lib/python3/dist-packages/rsf/sfsifaka.py"))
        self.uninstall()
        self.assertEqual(self.read("root/bin/sfewefd2d_gpu"), "of someone else")

    def test_a_program_changed_since_stays(self):
        self.install()
        changed = self.write("root/bin/sfstiffness", "changed")
        self.assertIn(f"not removed, because it was changed since: {changed}", self.uninstall())
        self.assertEqual(self.read("root/bin/sfstiffness"), "changed")

    def test_flows_under_madagascar_run_our_programs(self):
        self.install()
        self.write("stopwatch", "#!/bin/sh\necho timed > $1; shift; exec \"$@\"\n", 0o755)
        self.write("shot.py", SHOT)
        subprocess.run([sys.executable, "shot.py"], cwd=self.folder, check=True)
        self.write("SConstruct", PAPER)
        text = self.made(PYTHONPATH=self.packages, RSFROOT=self.root)
        self.assertIn("stand-in for Madagascar", text)
        self.assertIn(self.root + "/bin/sfewefd2d_gpu", text)
        self.assertIn("warning: in1= has no effect", text)
        threads = [int(number) for number in re.findall(r"CPU, (\d+) thread", text)]
        self.assertEqual(len(threads), 2, text)
        self.assertLessEqual(max(threads), os.cpu_count(), "OMP_NUM_THREADS may be that of a larger machine")
        self.assertEqual(self.read("time.txt"), "timed\n")
        for name in ("d-registered", "d-path"):
            self.assertGreater(os.path.getsize(self.path(name + ".rsf@")), 0)
        with open(self.path("d-registered.rsf@"), "rb") as one, open(self.path("d-path.rsf@"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        self.assert_up_to_date(PYTHONPATH=self.packages, RSFROOT=self.root)
        # The same flow runs with the package of this project.
        shutil.rmtree(self.path("own"), ignore_errors=True)
        self.made("-c", PYTHONPATH=self.packages, RSFROOT=self.root)
        text = self.made(PYTHONPATH=self.packages, SIFAKA_RSF="own")
        self.assertNotIn("stand-in for Madagascar", text)
        self.assertIn(NAMES + "/sfewefd2d_gpu", text)


class WhereMadagascarIs(Scratch):
    """The package that `from rsf.proj import *` finds."""

    def found(self, **environment):
        self.write("SConstruct", "from rsf.proj import *\nimport rsf.proj\nprint('found', rsf.proj.__file__)\n")
        return self.made("-c", **environment)

    def test_a_real_one_is_used_and_nothing_hides_it(self):
        packages = standin.build(self.path("root"))
        self.assertIn("found " + packages, self.found(PYTHONPATH=packages))
        self.assertIn("found " + FLOWS, self.found(PYTHONPATH=packages, SIFAKA_RSF="own"))

    def test_a_package_without_proj_is_none(self):
        self.write("other/rsf/__init__.py", "")
        self.write("other/rsf/api.py", "")
        self.assertIn("found " + FLOWS, self.found(PYTHONPATH=self.path("other")))

    def test_without_one_ours_is_found(self):
        self.assertIn("found " + FLOWS, self.found())


class Alone(Prefix):
    def test_everything_flows_need_and_nothing_else(self):
        os.makedirs(self.path("root/bin"))
        self.write("root/bin/other", "of the user")
        before = self.tree()
        told = self.install()
        self.assertIn("no Madagascar here", told)
        self.assertIn("sifaka-scons", told)
        left = os.listdir(self.path("root/bin"))
        self.assertTrue({"sfbasics", "sfgrey", "sfewefd2d_omp", *names.OLD} <= set(left), left)
        self.flows(f"Flow('a', None, '{MODEL}')\nResult('a', 'grey frame=0')\n")
        text = self.made("--site-dir=" + self.path("root/share/sifaka/flows/start"))
        self.assertIn(self.path("root/bin/sfstiffness"), text)
        self.assertEqual(self.names("Fig"), ["a.png"])
        self.uninstall()
        self.assertEqual(self.tree(), before)

    def test_a_prefix_that_was_made_goes_again(self):
        self.install()
        self.uninstall()
        self.assertEqual(self.names(), [])

    def test_old_files_of_an_earlier_version_go(self):
        self.install()
        there = install.Installation(self.root)
        there.text("old", "bin/sfold")
        there.save()
        self.install()
        self.assertNotIn("sfold", os.listdir(self.path("root/bin")))

    def test_where_it_goes(self):
        home = os.path.expanduser("~")
        cases = [
            ({"prefix": "/a"}, {"RSFROOT": "/b"}, "/a", "prefix="),
            ({}, {"RSFROOT": "/b"}, "/b", "RSFROOT"),
            ({"RSFROOT": "/c"}, {"RSFROOT": "/b"}, "/c", "RSFROOT"),
            ({}, {}, os.path.join(home, ".local"), "neither"),
        ]
        for arguments, environment, prefix, word in cases:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(install.place(arguments, environment), prefix)
            self.assertIn(word, out.getvalue())

    def test_the_line_stands_behind_the_imports(self):
        path = self.write("prog.py", "import rsf.doc\nimport rsf.sfa\n\ntry:\n    import rsf.use\nexcept:\n    pass")
        self.assertTrue(sfdoc.register(path))
        self.assertEqual(self.read("prog.py").splitlines()[1:3], ["import rsf.sfa", "import rsf.sfsifaka"])
        self.assertFalse(sfdoc.register(path))
        self.assertTrue(sfdoc.unregister(path))
        self.assertEqual(self.read("prog.py").count("\n"), 6)


# The parameters that the flows of Weiss and Shragge pass to these programs.
PUBLISHED = "jdata dabc free opot verb snap jsnap ssou nb nbell ngpu ccc den sou rec wfl in1 nt".split()
# The files of a small shot, written without any program; and flows in the style of the published ones.
SHOT = """
from array import array
import math

def write(name, axes, values):
    with open(name + ".rsf", "w") as header:
        for i, (n, d) in enumerate(axes, start=1):
            header.write(f"n{i}={n} o{i}=0 d{i}={d} ")
        header.write(f'data_format="native_float" esize=4 in="./{name}.rsf@"\\n')
    with open(name + ".rsf@", "wb") as data:
        array("f", values).tofile(data)

n, d, nt = 61, 0.01, 120
grid = [(n, d), (n, d)]
c33, c55 = 2.2 * 2.5 ** 2, 2.2 * 1.5 ** 2
write("ccc", grid + [(4, 1)], [c33] * 2 * n * n + [c55] * n * n + [c33 - 2 * c55] * n * n)
write("ro", grid, [2.2] * n * n)
ricker = []
for i in range(nt):
    a = (math.pi * 10 * (i * 0.001 - 0.06)) ** 2
    ricker += 2 * [(1 - 2 * a) * math.exp(-a)]
write("wave", [(1, 1), (2, 1), (nt, 0.001)], ricker)
write("ss", [(2, 1), (1, 1)], [0.3, 0.3])
write("rr", [(2, 1), (3, 1)], [0.2, 0.3, 0.3, 0.2, 0.4, 0.3])
"""
PAPER = """
from rsf.proj import *
from rsf.prog import RSFROOT

par = dict(jdata=5, dabc='y', free='n', snap='y', jsnap=50, ssou='y', nb=20, nbell=5, SDIR=os.path.join(RSFROOT, 'bin'))
words = '''
    jdata=%(jdata)d dabc=%(dabc)s free=%(free)s opot=n verb=y snap=%(snap)s jsnap=%(jsnap)d ssou=%(ssou)s
    nb=%(nb)d nbell=%(nbell)d ccc=${SOURCES[1]} den=${SOURCES[2]} sou=${SOURCES[3]} rec=${SOURCES[4]} wfl=${TARGETS[1]}
    '''
sources = ['wave', 'ccc', 'ro', 'ss', 'rr']
Flow(['d-registered', 'w-registered'], sources, ('ewefd2d_gpu ' + words) % par)
Flow(['d-path', 'w-path', 'time.txt'], sources,
     ('./stopwatch ${TARGETS[2]} %(SDIR)s/sfewefd2d_gpu in1=${SOURCES[0]} ' + words) % par)
End()
"""


if __name__ == "__main__":
    unittest.main()
