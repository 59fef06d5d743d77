"""Inverts elastic records for the P and S velocities: L-BFGS of scipy with gradients of sfvsgrad2d-gpu, from low frequencies to all of them.

    python3 invert.py data=data.rsf vp=start-vp.rsf vs=start-vs.rsf series=wavelet.rsf bands=2.5,0 iterations=12,28 smooth=1.5,0.7 \
        out=found-vp.rsf,found-vs.rsf curve=curve.rsf sfvsgrad2d-gpu den=den.rsf sou=sou.rsf rec=rec.rsf nt=760 dt=0.0025 jdata=2 ...

Arguments before the program's name are those of this script, and those after it are the program's own. Each band of bands= passes
frequencies up to that many Hz in the data and in the wavelet (0: all), and begins with the model of the previous one. The changes by the
iterations= of a band are smoothed by Gaussians of smooth= cells, and are small within quiet= metres of the sources. The
records may be longer than nt=, so that their end does not enter the compared part through the filter. curve= names the file for the misfit before
and after each iteration, as a fraction of that of the starting model in the same band.
"""
import os
import subprocess
import sys
import tempfile
from dataclasses import replace

import numpy as np
import rsfdata
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

# Warnings of the program that have been shown, because every run repeats them.
WARNED = set()
# The largest relative change of a speed that the first step of a band makes.
FIRST_STEP = 0.03
NAMES = ("vp", "vs")
# Factors of the changes of vp and vs in a step along the gradient: the factor of vp is larger, because the data are more sensitive to vs.
SHARES = np.array([2.0, 1.0])[:, None, None]


def low_pass(values, axis, step, corner):
    """Applies a zero-phase low-pass filter that passes frequencies up to a corner in Hz and stops frequencies above twice that corner; no filter if it is 0."""
    if corner == 0:
        return values
    n = values.shape[axis]
    past = np.clip(np.fft.rfftfreq(2 * n, step) / corner - 1, 0, 1)
    shape = [1] * values.ndim
    shape[axis] = -1
    spectrum = np.fft.rfft(values, 2 * n, axis) * (0.5 + 0.5 * np.cos(np.pi * past)).reshape(shape)
    return np.fft.irfft(spectrum, 2 * n, axis).take(range(n), axis).astype("f4")


class Survey:
    """The records of one frequency band, with the misfit and gradient of a model."""

    def __init__(self, command, folder, data, wavelet, corner):
        self.command, self.folder = command, folder
        words = dict(word.split("=", 1) for word in command[1:])
        records = -(-int(words["nt"]) // int(words.get("jdata", 1)))
        low = low_pass(data.array, -3, data.axes[2].d, corner).take(range(records), -3)
        axes = [*data.axes[:2], replace(data.axes[2], n=records), *data.axes[3:]]
        rsfdata.write(self.path("data"), low, axes)
        low = low_pass(wavelet.array, -1, wavelet.axes[0].d, corner)
        rsfdata.write(self.path("series"), wavelet.like(low))

    def path(self, name):
        return os.path.join(self.folder, name + ".rsf")

    def misfit(self, models):
        """The misfit and its derivatives with respect to vp and vs."""
        for name, model in zip(NAMES, models):
            rsfdata.write(self.path(name), model)
        words = [f"{name}={self.path(name)}" for name in (*NAMES, "series", "misfit")]
        with open(self.path("data"), "rb") as records, open(self.path("gradient"), "wb") as gradient:
            run = subprocess.run([*self.command, *words], stdin=records, stdout=gradient, stderr=subprocess.PIPE)
        if run.returncode:
            sys.exit(f"invert.py: {run.stderr.decode().strip()}")
        for line in run.stderr.decode().splitlines():
            if "warning: " in line and line not in WARNED:
                WARNED.add(line)
                print(line, file=sys.stderr, flush=True)
        gradient = rsfdata.read(self.path("gradient")).array.reshape(3, *models[0].array.shape)[:2]
        return rsfdata.read(self.path("misfit")).array.sum(dtype="f8"), gradient.astype("f8")


class Changes:
    """Models in the form of a starting model and a vector of relative changes, which are smooth, and small near the sources."""

    def __init__(self, start, smooth, quiet):
        self.start, self.smooth, self.quiet, self.scale = start, smooth, quiet, 1.0

    def smoothed(self, both):
        """Smooths by a Gaussian that is mirrored at the edges, which makes the operator symmetric."""
        return np.array([gaussian_filter(x, self.smooth) for x in both.reshape(2, *self.quiet.shape)])

    def models(self, vector):
        """The models of a vector of changes. No speed becomes negative."""
        changes = self.scale * SHARES * self.quiet * self.smoothed(vector)
        return [model.like((model.array * np.exp(change)).astype("f4")) for model, change in zip(self.start, changes)]

    def gathered(self, models, gradient):
        """The gradient with respect to the vector, from the gradient with respect to the models."""
        speeds = np.array([model.array for model in models], dtype="f8")
        return self.smoothed(self.scale * SHARES * self.quiet * speeds * gradient).ravel()


def invert(survey, changes, iterations, told):
    """Inverts one band and returns its models; the misfit before and after each iteration is appended to `told`."""
    first, gradient = survey.misfit(changes.start)
    step = changes.gathered(changes.start, gradient)
    # The first step of L-BFGS has length 1; the scale limits its largest change of a speed.
    largest = np.abs(SHARES * changes.quiet * changes.smoothed(step)).max()
    changes.scale = FIRST_STEP * np.sqrt((step**2).sum()) / largest
    told(first)
    latest = {}

    def evaluate(vector):
        models = changes.models(vector)
        misfit, gradient = survey.misfit(models)
        latest[vector.tobytes()] = misfit
        return misfit / first, changes.gathered(models, gradient) / first

    options = dict(maxiter=iterations, maxcor=12, maxls=8, ftol=1e-6, gtol=0)
    found = minimize(evaluate, np.zeros(step.size), jac=True, method="L-BFGS-B", options=options,
                     callback=lambda vector: told(latest[vector.tobytes()]))
    return changes.models(found.x)


def near_sources(model, path, reach):
    """A weight for every cell: 0 at the sources, and nearly 1 beyond twice `reach` metres."""
    z, x = (axis.coordinates() for axis in model.axes[:2])
    apart = [np.hypot(x[:, None] - at_x, z[None, :] - at_z) for at_x, at_z in rsfdata.read(path).array.reshape(-1, 2)]
    return 1 - np.exp(-((np.min(apart, axis=0) / reach) ** 2))


def main(words):
    own, lists = {"quiet": "80"}, ("bands", "iterations", "smooth")
    known = ["quiet", *lists, "data", "series", *NAMES, "out", "curve"]
    while words and "=" in words[0]:
        key, value = words.pop(0).split("=", 1)
        if key not in known:
            sys.exit(f"{key}= is not a parameter of this script, which has {'=, '.join(known)}=; those of the program follow its name")
        own[key] = value
    missing = [key for key in known if key not in own]
    if missing:
        sys.exit(f"missing: {'=, '.join(missing)}=; the docstring of this script explains them")
    numbers = [[float(x) for x in own[key].split(",")] for key in lists]
    if len(set(map(len, numbers))) > 1:
        sys.exit(f"bands=, iterations= and smooth= have {', '.join(str(len(values)) for values in numbers)} numbers: give one of each for every band")
    if len(own["out"].split(",")) != len(NAMES):
        sys.exit(f"out={own['out']}: give a name for each of {' and '.join(NAMES)}, with a comma between them")
    program = dict(word.partition("=")[::2] for word in words[1:])
    missing = [f"{key}=" for key in ("sou", "nt") if key not in program]
    if missing:
        what = f"{' and '.join(missing)} of {words[0]}" if words else "the program"
        sys.exit(f"missing: {what}; after the parameters of this script come the program and its own, as in sfvsgrad2d-gpu den=den.rsf sou=sou.rsf rec=rec.rsf nt=760 dt=0.0025")
    bands = zip(*numbers)
    try:
        data, wavelet, *start = (rsfdata.read(own[key]) for key in ("data", "series", *NAMES))
        quiet = near_sources(start[0], program["sou"], float(own["quiet"]))
    except (OSError, rsfdata.RsfError) as fault:
        sys.exit(f"invert.py: {fault}")
    models, curve = start, []
    with tempfile.TemporaryDirectory() as folder:
        for corner, iterations, smooth in bands:
            survey = Survey(words, folder, data, wavelet, corner)
            before, _ = survey.misfit(start)
            band = f"up to {corner:g} Hz" if corner else "all frequencies"

            def told(misfit):
                curve.append(misfit / before)
                print(f"{band}: {100 * curve[-1]:.2f} % of the misfit at the start", flush=True)

            models = invert(survey, Changes(models, smooth, quiet), int(iterations), told)
    for path, model in zip(own["out"].split(","), models):
        rsfdata.write(path, model)
    rsfdata.write(own["curve"], np.array(curve, dtype="f4"), [rsfdata.Axis(len(curve), 0, 1, "models")])


if __name__ == "__main__":
    main(sys.argv[1:])
