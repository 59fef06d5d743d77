"""RSF_STRICT=1 refuses unknown parameters, and Madagascar's drivers of linear operators pass theirs on to every operator."""
import json
import os
import subprocess
import unittest

from support import NAMES, Scratch, clean

# The parameters of Madagascar's sfdottest and sfconjgrad that remain on the command line of the operator that they
# start.
WORDS = ["mod=m.rsf", "dat=d.rsf", "mwt=w.rsf", "known=k.rsf", "x0=x.rsf", "mod0=x.rsf", "niter=3"]


class Strict(Scratch):
    def run_program(self, name, *words, strict="1", stdin=subprocess.DEVNULL):
        environment = dict(clean(os.environ), RSF_STRICT=strict, DATAPATH=self.folder + os.sep)
        # The timeout is for a driver that would wait for ever for an operator that has refused its parameters.
        return subprocess.run([os.path.join(NAMES, name), *words], cwd=self.folder, env=environment, stdin=stdin, capture_output=True, timeout=120)

    def test_every_operator_takes_the_words_of_drivers(self):
        operators = []
        # sfbasics itself is not a program: the everyday programs are names for it.
        for name in sorted(set(os.listdir(NAMES)) - {"sfbasics"}):
            told = self.run_program(name, "--sfdoc")
            self.assertEqual(told.returncode, 0, name)
            if "adj" in {one["name"] for one in json.loads(told.stdout)["params"]}:
                operators.append(name)
                taken = self.run_program(name, *WORDS, "--help")
                self.assertEqual((taken.returncode, taken.stderr), (0, b""), name)
        self.assertLessEqual({"sfvsborn2d-gpu", "sfvsborn3d-gpu", "sfcausint", "sfsmooth", "sftimedisp"}, set(operators))
        refused = self.run_program("sfvsborn2d-gpu", "no_such_word=1", "--help")
        self.assertIn("unknown parameter no_such_word= (RSF_STRICT is set)", refused.stderr.decode())
        self.assertEqual(refused.returncode, 1)

    def test_a_driver_runs_to_its_end(self):
        def make(name, program, *words):
            with open(self.path(name), "wb") as out:
                out.write(self.run_program(program, *words, "out=stdout").stdout)

        grid = ["n1=30", "d1=10", "n2=40", "d2=10"]
        for name, value in (("vp", 3000), ("vs", 1700), ("den", 2200)):
            make(f"{name}.rsf", "sfspike", *grid, f"mag={value}")
        make("m.rsf", "sfspike", *grid, "n3=3", "k1=15", "k2=20", "mag=10")
        make("sou.rsf", "sfpoints", "x=200", "z=20")
        make("rec.rsf", "sfpoints", "x=50:350:50", "z=20")
        operator = ["vp=vp.rsf", "vs=vs.rsf", "den=den.rsf", "sou=sou.rsf", "rec=rec.rsf", "nt=80", "dt=0.001", "tau=0.008", "nb=8", "device=cpu"]
        # As Madagascar's driver starts it: with all of the driver's parameters, the model through a pipe, and the data
        # read to the end.
        with open(self.path("m.rsf"), "rb") as model:
            done = self.run_program("sfvsborn2d-gpu", *operator, *WORDS, "adj=n", "out=stdout", stdin=model)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("d.rsf"), "wb") as out:
            out.write(done.stdout)
        path = os.path.join(NAMES, "sfvsborn2d-gpu")
        tested = self.run_program("sfdottest", path, "mod=m.rsf", "dat=d.rsf", *operator)
        self.assertEqual(tested.returncode, 0, tested.stderr)
        with open(self.path("d.rsf"), "rb") as data:
            solved = self.run_program("sfconjgrad", path, "mod=m.rsf", "niter=2", *operator, stdin=data)
        self.assertEqual(solved.returncode, 0, solved.stderr)


if __name__ == "__main__":
    unittest.main()
