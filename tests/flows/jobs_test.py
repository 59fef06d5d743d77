"""Twelve jobs (chapters 24 and 25) and a run of chapter 23: the cells of their notebooks, which are the commands of the pages, and the results that they must give."""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest
import warnings

from support import FLOWS, NAMES, PACKAGES, TOP, Scratch, clean, needs_packages

from suite import chapters, handouts

sys.path.insert(1, PACKAGES)
sys.path.append(os.path.join(FLOWS, "python"))
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import netCDF4
        import numpy as np
        import obspy
        import segyio

        import rsfdata
except ImportError:
    obspy = None


@needs_packages(obspy)
class Jobs(Scratch):
    def done(self, chapter, whole=None):
        """Runs the cells of a chapter's notebook in a folder with its files; returns what each job and its programs printed.

        `whole` is the heading that begins the only job of a chapter without numbers.
        """
        source = os.path.join(TOP, "book", "user", chapter)
        shutil.copytree(source, self.folder, dirs_exist_ok=True)
        path = os.pathsep.join([NAMES, os.environ["PATH"]])
        modules = os.pathsep.join([os.path.join(FLOWS, "python"), PACKAGES])
        environment = dict(clean(os.environ), PATH=path, DATAPATH=self.folder + os.sep, PYTHONPATH=modules, MPLBACKEND="Agg")
        said = {}
        for cell in handouts.notebook(chapters.Chapter(os.path.join(TOP, "book"), os.path.join("user", chapter)))["cells"]:
            text = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                for title in re.findall(rf"^## ({re.escape(whole)})" if whole else r"^## \d+\. (.*)", text, re.MULTILINE):
                    said[title] = ""
                continue
            if not said:
                continue
            if picture := re.search(r'^Image\("(.*)"\)$', text, re.MULTILINE):
                self.begins(picture.group(1), b"GIF8" if picture.group(1).endswith(".gif") else b"\x89PNG")
                continue
            # Each cell is a separate process, so that none depends on the imports of another.
            shell = text.startswith("%%bash\n")
            words = ["bash"] if shell else [sys.executable, "-W", "ignore", "-"]
            text = text.split("\n", 1)[1] if shell else text
            run = subprocess.run(words, input=text, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)
            title = list(said)[-1]
            self.assertEqual(run.returncode, 0, f"{title}: {run.stderr}")
            # There must be no warnings except those that the page explains, such as the warning about waves along the
            # sea floor.
            warnings = [line for line in run.stderr.splitlines() if "warning: " in line and "waves along the interface" not in line]
            self.assertEqual(warnings, [], title)
            said[title] += run.stdout + run.stderr
        return said.values()

    def array(self, name):
        return rsfdata.read(self.path(name + ".rsf")).array

    def begins(self, name, mark):
        with open(self.path(name), "rb") as file:
            self.assertEqual(file.read(len(mark)), mark, name)

    def test_six_jobs_of_exploration(self):
        line, image, inversion, tilted, change, movie = self.done("24-six-jobs-of-exploration")
        # The file of the line contains the shots at their positions.
        with segyio.open(self.path("line.sgy"), ignore_geometry=True) as file:
            np.testing.assert_array_equal(file.trace.raw[:].reshape(4, 33, -1), self.array("traces").reshape(4, 33, -1))
            self.assertEqual([file.header[40][key] for key in (segyio.su.fldr, segyio.su.sx, segyio.su.gx)], [2, 200, 475])
        self.assertIn("132 Trace(s)", line)
        # The image of the reflector is at the right depth, 495 m plus a tenth of x, to half a wavelength of 440 m.
        for x in (30, 45):
            below = np.abs(self.array("image").reshape(-1, 151, 81)[0, x, 30:])
            self.assertLess(abs(10 * (30 + below.argmax()) - (495 + x)), 220)
        # The mute has removed all samples before offset/(1500 m/s) + 0.3 s, and kept the later ones.
        back, muted = self.array("back"), self.array("muted")[:, :, 0].transpose(0, 2, 1)
        for trace in (0, 16, 32):
            edge = int(((100 + 25 * trace) / 1500 + 0.3) / 0.004)
            self.assertEqual(np.abs(muted[1, trace, :edge]).max(), 0)
            np.testing.assert_array_equal(muted[1, trace, edge + 40 :], back[1, trace, edge + 40 :])
        share = float(re.search(r"misfit (\S+) of the first", inversion).group(1))
        self.assertLess(share, 0.3)
        self.assertEqual((self.array("tti").shape[0], self.array("tti-data").shape[0]), (6, 175))
        self.assertGreater(np.abs(self.array("tti-data")).max(), 0)
        # Faster rock changes the reflections, which are only a part of the record.
        largest = np.abs(self.array("change")).max() / np.abs(self.array("shots")).max()
        self.assertTrue(1e-3 < largest < 0.2, largest)
        for name, mark in (("image.png", b"\x89PNG"), ("pair.png", b"\x89PNG"), ("figure.png", b"\x89PNG"), ("figure.pdf", b"%PDF"), ("movie.gif", b"GIF8")):
            self.begins(name, mark)

    def test_a_small_run_of_specfem3d(self):
        """The commands of chapter 23, on the files that its program writes."""
        (said,) = self.done("23-from-specfem3d", "One run, step by step")
        self.assertIn("384 elements of 8 nodes, 567 nodes", said)
        self.assertIn("256 absorbing and 64 free faces of 320 outer ones", said)
        self.assertIn("no element uses material 3 of nummaterial_velocity_file", said)
        self.assertIn("nothing was run (plan=y)", said)
        data, moved = rsfdata.read(self.path("data.rsf")), rsfdata.read(self.path("like-specfem.rsf"))
        self.assertEqual(data.array.shape, (700, 3, 4))
        self.assertEqual((moved.axes[2].n, moved.axes[2].o), (700, -1))
        # The waves arrive later at the more distant station, and the mesh is at rest before them.
        first = [np.abs(data.array[:, 0, k]).cumsum().searchsorted(1e-3 * np.abs(data.array[:, 0, k]).sum()) for k in (0, 3)]
        self.assertLess(first[0] + 20, first[1])
        self.begins("station.png", b"\x89PNG")

    def test_six_jobs_on_land_and_with_machines(self):
        land, quake, killed, big, python, _ = self.done("25-six-jobs-on-land")
        names = sorted(os.path.basename(path) for path in glob.glob(self.path("sac", "*")))
        self.assertEqual(len(names), 6)
        traces = [obspy.read(self.path("sac", name))[0] for name in names]
        self.assertEqual({trace.stats.station for trace in traces}, {"TOP", "EDGE"})
        self.assertEqual(len(obspy.read(self.path("hill.mseed"))), 6)
        # Above 4 Hz there is little energy; most of it is below.
        whole, low = (np.abs(np.fft.rfft(self.array(name), axis=0)) for name in ("quake", "filtered"))
        frequency = np.fft.rfftfreq(500, 0.003)
        self.assertLess(low[frequency > 6].max(), 0.05 * whole.max())
        self.assertGreater(np.corrcoef(self.array("quake").ravel(), self.array("filtered").ravel())[0, 1], 0.9)
        # The run that was killed and continued gives the same result as a run without an interruption.
        self.assertIn("continues after step", killed)
        self.assertRegex(killed, r"max = +0 at")
        np.testing.assert_array_equal(self.array("killed"), self.array("quake"))
        self.assertIn("nothing was run (plan=y)", big)
        self.assertRegex(big, r"this run needs [0-9.]+ GB of memory, but [0-9.]+ GB are free: the run was not started; a model of .* fits")
        self.assertIn("refused", big)
        self.assertIn("'XX.TOP'", python)
        with netCDF4.Dataset(self.path("quake.nc")) as file:
            self.assertIn("component", file.dimensions)
        self.assertIn("sfvsfd3d-gpu", quake)
        self.assertIn("XX.TOP..CXZ", land)


if __name__ == "__main__":
    unittest.main()
