"""`tests/gpu/run all` on a machine that only pretends to have a GPU: every part runs, and one file contains commit, machine and results."""
import glob
import os
import shutil
import subprocess
import unittest

from support import TOP, Scratch

SMI = """#!/bin/sh
case "$1" in
-L) echo "GPU 0: Played GPU (UUID: x)" ;;
*) echo "0, Played GPU, 580.1, 143000 MiB, 700 W" ;;
esac
"""
TEST = """#!/bin/sh
echo "skipped one: want of a GPU"
echo "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"
"""
BENCH = '#!/bin/sh\necho "$@: 8700 us a step"\n'


class Everything(Scratch):
    def setUp(self):
        super().setUp()
        # The script writes next to the benchmarks of its own checkout, so a copy of the checkout is made.
        os.makedirs(self.path("checkout/tests/gpu"))
        os.makedirs(self.path("checkout/kernels/benches"))
        os.makedirs(self.path("checkout/kernels/fourier"))
        shutil.copy(os.path.join(TOP, "tests", "gpu", "run"), self.path("checkout/tests/gpu/run"))
        self.script("bin/nvidia-smi", SMI)
        self.script("bin/compute-sanitizer", '#!/bin/sh\necho "========= ERROR SUMMARY: 0 errors"\necho "test result: ok. 1 passed"\n')
        self.script("bundle/bin/sfewefd3d-gpu", "#!/bin/sh\n")
        for name in ("gpus", "born"):
            self.script(f"bundle/tests/checks.{name}", TEST)
        # Tests run in the folder of their crate, and this crate is next to kernels.
        self.script("bundle/tests/fourier.unit", '#!/bin/sh\n[ "${PWD##*/kernels/}" = fourier ] || exit 1\n' + TEST)
        for name in ("accelerator", "staggered", "elements", "linearised"):
            self.script(f"bundle/benches/kernels.{name}", BENCH)
        self.write("bundle/about", "commit 0123456789ab\n")

    def script(self, name, text):
        self.write(name, text)
        os.chmod(self.path(name), 0o755)

    def run_part(self, path, *words):
        environment = dict(os.environ, PATH=path + os.pathsep + os.environ["PATH"], OUT=self.path("out"))
        command = [self.path("checkout/tests/gpu/run"), self.path("bundle"), *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout

    def run_all(self, path, *parts):
        return *self.run_part(path, "all", *parts), glob.glob(self.path("checkout/kernels/benches/gpu-*.md"))

    def test_one_file_has_commit_machine_and_results(self):
        status, said, reports = self.run_all(self.path("bin"))
        self.assertEqual((status, len(reports)), (0, 1), said)
        self.assertIn("0123456789ab", os.path.basename(reports[0]))
        with open(reports[0], encoding="utf-8") as report:
            text = report.read()
        for words in ("0123456789ab", "Played GPU, 580.1", "## tests: passed", "3 passed; 0 failed, 1 skips said",
                      "## sanitize: passed", "## bench staggered n=512", "8700 us a step", "## ranks: not run"):
            self.assertIn(words, text)
        self.assertNotIn(self.folder, text, "no path of the machine")

    def test_gradients_on_several_gpus(self):
        self.script("bin/nvidia-smi", SMI.replace("-L) ", '-L) echo "GPU 1: Played GPU (UUID: y)";'))
        self.script("bundle/benches/kernels.linearised", """#!/bin/sh
case "$*" in *gpus=2*) shared=1 ;; *) shared=2 ;; esac
echo "gradient: $((shared * 4)).9 ms a step, of which"
echo "gradient: $((shared * 4)).1 ms a step, of which"
""")
        status, said = self.run_part(self.path("bin"), "scaling", "linearised")
        self.assertEqual(status, 0, said)
        self.assertIn("linearised n=384,384,384 steps=60 keep=boundary : one GPU 8100 us a step", said)
        self.assertIn("the cube in all (strong) 4100 us, 98.8 %", said)

    def test_parts_stand_in_one_file(self):
        self.assertEqual(self.run_all(self.path("bin"), "sanitize")[0], 0)
        status, said, reports = self.run_all(self.path("bin"), "bench")
        self.assertEqual((status, len(reports)), (0, 1), said)
        with open(reports[0], encoding="utf-8") as report:
            text = report.read()
        self.assertEqual(text.count("# What 1 GPUs"), 1)
        self.assertIn("## sanitize: passed", text)
        self.assertIn("## bench elements gpus=1", text)
        self.assertNotIn("## tests", text)
        status, said, _ = self.run_all(self.path("bin"), "bechn")
        self.assertEqual(status, 1)
        self.assertIn("there is no part bechn", said)

    def test_what_fails_is_told_in_file_and_status(self):
        self.script("bundle/tests/checks.gpus", TEST.replace("ok. 3 passed; 0", "FAILED. 2 passed; 1") + "exit 101\n")
        status, said, reports = self.run_all(self.path("bin"))
        self.assertEqual((status, len(reports)), (1, 1), said)
        with open(reports[0], encoding="utf-8") as report:
            self.assertIn("## tests: FAILED", report.read())

    def test_without_a_gpu_there_is_nothing_to_show(self):
        self.script("bin/nvidia-smi", "#!/bin/sh\nexit 9\n")
        status, said, reports = self.run_all(self.path("bin"))
        self.assertEqual((status, reports), (1, []), said)
        self.assertIn("no GPU here", said)


if __name__ == "__main__":
    unittest.main()
