"""Run times of whole programs for the chapters that draw them: measured here, and read from the tables of measure.py.

A chapter has links to this file and to clock.py in its own folder, and uses `from runtimes import ...` after `from rsf.proj import *`.
"""
import glob

from rsf.proj import Flow, Plot
from SCons.Script import Depends

_last = []


def clocked(target, sources, command):
    """Declares the file `target` with the wall-clock seconds of the command `RUNS PROGRAM WORDS...`. Runs wait for each other, even with scons -j."""
    done = Flow(target, sources, "python3 clock.py " + command, stdin=0)
    if _last:
        Depends(done, _last.pop())
    _last.append(done)


def measured():
    """The rows of all results-*.txt of this folder, as lists of words; the list is empty if nothing was measured."""
    rows = []
    for path in sorted(glob.glob("results-*.txt")):
        with open(path) as table:
            rows += [line.split() for line in table if line.strip() and not line.startswith("#")]
    return rows


def thousand(row):
    """The seconds of 1000 steps, including files and start, extrapolated if the row has fewer steps."""
    steps, loop, whole = int(row[6]), float(row[9]), float(row[10])
    return whole + loop * (1000 / steps - 1)


def curves(name, named, words):
    """Plots the curves [(legend, [(x, y), ...]), ...] in one frame, without curves that have no points.

    Returns a list with the plot's name, or an empty list if there are no points at all.
    """
    named = [(legend, points) for legend, points in named if points]
    if not named:
        return []
    most = max(len(points) for _, points in named)
    files = []
    for k, (_, points) in enumerate(named):
        points = points + points[-1:] * (most - len(points))  # a repeated point draws nothing
        files.append("%s-%d" % (name, k))
        places = ",".join(str(i + 1) for i in range(most))
        for part, values in zip("xy", zip(*points)):
            magnitudes = ",".join("%.6g" % value for value in values)
            Flow(files[-1] + part, None, "spike n1=%d nsp=%d k1=%s mag=%s" % (most, most, places, magnitudes))
        Flow(files[-1], [files[-1] + "x", files[-1] + "y"], "cmplx ${SOURCES[1]}")
    Flow(name, files, "cat axis=2 space=n ${SOURCES[1:%d]}" % len(files))
    Plot(name, 'graph plotfat=3 legend="%s" %s' % (":".join(legend for legend, _ in named), words))
    return [name]
