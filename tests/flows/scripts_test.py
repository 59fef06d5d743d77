"""Scripts of chapters, as readers start them with something missing."""
import os
import subprocess
import sys
import unittest

from support import FLOWS, PACKAGES, TOP, Scratch, needs_packages

sys.path.insert(1, PACKAGES)
try:
    import scipy
except ImportError:
    scipy = None

INVERT = os.path.join(TOP, "book", "user", "16-the-rock-itself", "invert.py")


@needs_packages(scipy)
class Inversion(Scratch):
    def told(self, *more):
        """What the script says of its own parameters and these words; it must fail in one sentence."""
        own = "data=data.rsf vp=vp.rsf vs=vs.rsf series=wavelet.rsf bands=2.5 iterations=1 smooth=1.5 out=a.rsf,b.rsf curve=c.rsf"
        paths = os.pathsep.join([os.path.join(FLOWS, "python"), PACKAGES])
        environment = dict(os.environ, PYTHONPATH=paths)
        done = subprocess.run([sys.executable, INVERT, *own.split(), *more], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        return done.stderr

    def test_the_program_and_its_parameters_are_needed(self):
        next_step = "after the parameters of this script come the program and its own, as in sfvsgrad2d-gpu den=den.rsf"
        self.assertIn(f"missing: the program; {next_step}", self.told())
        self.assertIn(f"missing: sou= and nt= of sfvsgrad2d-gpu; {next_step}", self.told("sfvsgrad2d-gpu", "den=den.rsf"))
        self.assertIn("missing: nt= of sfvsgrad2d-gpu", self.told("sfvsgrad2d-gpu", "sou=sou.rsf", "free"))

    def test_missing_files_are_named(self):
        self.assertIn("data.rsf", self.told("sfvsgrad2d-gpu", "sou=sou.rsf", "nt=10"))


if __name__ == "__main__":
    unittest.main()
