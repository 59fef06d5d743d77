"""What the chapter on Komatitsch et al. (2010) draws and counts on a mesh, and the renumbered mesh on which sums are formed in reverse order."""
import importlib.util
import os
import subprocess
import sys
import unittest

from support import NAMES, TOP, Scratch, clean, floats, header

sys.dont_write_bytecode = True  # no files are written to the source tree
CHAPTER = os.path.join(TOP, "book", "paper", "komatitsch2010")


def script(*parts):
    """A Python file of the chapter, imported as a module."""
    spec = importlib.util.spec_from_file_location(parts[-1][:-3], os.path.join(CHAPTER, *parts))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Earth(Scratch):
    def run_program(self, name, *words, to):
        """Runs a program or, for a path in the chapter, a script; returns its messages."""
        start = [sys.executable, os.path.join(CHAPTER, name)] if name.endswith(".py") else [os.path.join(NAMES, name)]
        with open(self.path(to), "wb") as out:
            environment = dict(clean(os.environ), DATAPATH=self.folder + os.sep)
            done = subprocess.run([*start, *words], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_what_is_drawn_and_counted(self):
        self.run_program("sfhexmesh", "sphere=y", "nx=32", "width=11.25", "judge=n", "base=earth", to="earth.rsf")
        section = script("mesh", "section.py")
        _, elements = section.numbers(self.path("earth.rsf"), "i")
        _, nodes = section.numbers(self.path("earth-nodes.rsf"), "f")
        mesh = section.Slices(elements, nodes, 11.25, 2)
        terms = mesh.terms()
        # This is one slice of the paper's mesh; every point of every element is counted once.
        self.assertEqual(sum(terms.values()), 682293)
        self.assertEqual(sum(count * points for count, points in terms.items()), 10240 * 125)
        colour, most = mesh.colours()
        meeting = {}
        for element in range(mesh.count):
            for corner in mesh.corners(element):
                meeting.setdefault((corner, mesh.outer[element]), []).append(colour[element])
        self.assertTrue(all(len(set(colours)) == len(colours) for colours in meeting.values()))
        self.assertEqual(most, [16, 16])
        self.assertEqual(max(map(len, meeting.values())), 16, "no fewer colours would do")
        self.assertEqual(sum(mesh.outer), 2220)
        across = {(mesh.slice_of(e), k) for e in range(mesh.count) for k in mesh.corners(e)}
        shared = {k for _, k in across if sum((s, k) in across for s in ((0, 0), (0, 1), (1, 0), (1, 1))) > 1}
        self.assertEqual(mesh.outer, [any(k in shared for k in mesh.corners(e)) for e in range(mesh.count)])
        for what in ("side", "slices", "outer", "colours", "order"):
            self.run_program("mesh/section.py", what, "earth.rsf", "11.25", "200", "2", to="image.rsf")
            keys = header(self.path("image.rsf"))
            values = floats(self.path("image.rsf"))
            self.assertEqual(len(values), int(keys["n1"]) * int(keys["n2"]))
            self.assertGreater(len(set(values)), 1, what)

    def test_sums_backwards_differ_by_rounding(self):
        self.run_program("sfhexmesh", "sphere=y", "nx=8", "width=30", "skip=15000,24400,80000", "judge=n", "base=earth", to="earth.rsf")
        self.run_program("figure7/backwards.py", "earth.rsf", "turned", to="turned.rsf")
        self.run_program("figure7/backwards.py", "turned.rsf", "again", to="again.rsf")
        section = script("mesh", "section.py")
        for part in (".rsf", "-regions.rsf", "-absorbing.rsf", "-free.rsf"):
            first, turned, again = (section.numbers(self.path(name + part), "i")[1] for name in ("earth", "turned", "again"))
            self.assertEqual(first, again, "twice backwards is forwards")
            self.assertNotEqual(first, turned)
        self.run_program("sfspike", "n1=3", "nsp=3", "k1=1,2,3", "mag=5.9e6,1.2e5,2.3e5", to="sou.rsf")
        self.run_program("sfspike", "n1=3", "nsp=3", "k1=1,2,3", "mag=6.2e6,4e5,-5e5", to="rec.rsf")
        words = ("sou=sou.rsf", "rec=rec.rsf", "model=prem", "src=force", "fx=1e20", "stf=ricker", "freq=0.02", "nt=300", "dt=0.8")
        for mesh in ("earth", "turned"):
            self.run_program("sfsem3d-gpu", f"mesh={mesh}.rsf", *words, "device=cpu", to=f"{mesh}-data.rsf")
        one, other = (floats(self.path(f"{mesh}-data.rsf")) for mesh in ("earth", "turned"))
        difference = max(abs(a - b) for a, b in zip(one, other)) / max(map(abs, one))
        self.assertTrue(0 < difference < 1e-5, difference)


if __name__ == "__main__":
    unittest.main()
