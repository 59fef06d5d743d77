#!/usr/bin/env python3
"""Measures the seconds to a given accuracy on this machine: runs the cases of the benchmark by the suite's methods, and writes a table.

    python3 book/benchmark/run.py [case=lamb,dip] [method=vs8,elements4] [device=cpu] [threads=1] [minutes=30] [quick=y]
                                  [points=4,6] [repeat=2] [bin=FOLDER] [out=FOLDER] [keep=FOLDER]

Without arguments, all cases (except those for GPUs) and all methods run on one core, from coarse to fine. minutes= is the time for each method and case (10): runs that would
take longer are left out, and so are runs finer than one with a misfit below 0.02 %. quick=y takes two coarse resolutions of the small cases, and ends within a minute. device=gpu uses a GPU.
bin= is the folder of the programs (build/bin). Rows are written to results-DEVICE.txt next to this file or in out=; rows of the same case, method and
device are replaced. points= gives other resolutions, and keep= is a folder for the records and the reference solutions. Afterwards `python3 table.py
write` in this folder puts the numbers on the page. Needs numpy.

A row: case, method, points per wavelength (for vs-error the allowed error), millions of points, steps, device, threads, seconds,
joules (nan where there is no GPU), misfit (the root of the summed squares of the differences of all records over that of the reference), and
how late the records are, in periods of the peak frequency. The time is the smallest of repeat= runs of the whole program,
input and output included; for one thread it is processor time, which other work on the machine lengthens less than wall-clock time.
"""
import ctypes
import math
import os
import platform
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = ("bin", "case", "device", "keep", "method", "minutes", "out", "points", "quick", "repeat", "threads")
COLUMNS = "# case method points Mpoints steps device threads seconds joules misfit late"
# Runs stop at the first one with a misfit below this
ENOUGH = 2e-4
# The phase errors after the longest path, in periods, that vs-error allows
ERRORS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
QUICK = ("homogeneous10", "lamb", "dip", "seafloor")
sys.path.append(os.path.join(HERE, "..", "flows", "python"))


def stop(sentence):
    sys.exit(f"run.py: {sentence}")


try:
    import numpy as np
    import rsfdata

    import exact
    import methods
    from cases import CASES
except ImportError as missing:
    stop(f"{missing}; the benchmark needs Python 3.8 or newer with numpy")


class Joules:
    """The energy that the first GPU has used, from NVIDIA's management library; NaN without one."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
            self.gpu = ctypes.c_void_p()
            if self.library.nvmlInit_v2() or self.library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.gpu)):
                self.library = None
        except OSError:
            self.library = None

    def now(self):
        """Joules since the driver was loaded."""
        total = ctypes.c_ulonglong()
        if self.library is None or self.library.nvmlDeviceGetTotalEnergyConsumption(self.gpu, ctypes.byref(total)):
            return math.nan
        return total.value / 1000


def timed(place, command, joules):
    """The seconds and joules of a run, which writes its records to the file `data`."""
    before, began, energy = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), joules.now()
    place.call([*command, "out=data@"], "data")
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if place.device == "cpu" and place.threads == 1:
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, joules.now() - energy if place.device == "gpu" else math.nan


def compared(case, place, spectra, late):
    """The misfit between the records in `data`, shifted by the delay of the run, and the reference, and their remaining delay in periods (least squares)."""
    data = rsfdata.read(os.path.join(place.folder, "data"))
    times = data.axes[2].o + late + data.axes[2].d * np.arange(data.axes[2].n)
    times = times[times <= case.duration]
    # time, component z, x, receiver -> receiver, component, time
    records = np.transpose(data.array[: len(times)], (2, 1, 0)).astype("f8")
    answer, rate = spectra.at(times), spectra.at(times, derivative=1)
    apart = records - answer
    misfit = math.sqrt((apart**2).sum() / (answer**2).sum())
    return misfit, -(apart * rate).sum() / (rate**2).sum() * case.frequency


def resolutions(case, kind, words):
    """The points per wavelength (or errors) of a method on a case, from coarse to fine."""
    if "points" in words and kind != "error":
        return [float(points) for points in words["points"].split(",")]
    found = ERRORS if kind == "error" else case.points[kind]
    return found[1:4:2] if words.get("quick") == "y" else found


def measured(case, method, place, words):
    """The rows of a method on a case, one by one, until the next run would exceed the time."""
    function, extra, kind = methods.METHODS[method]
    if function is methods.displacement and case.band:
        return  # This method has no attenuation
    joules, left, last, spectra = Joules(), 60 * float(words.get("minutes", 10)), None, {}
    repeat = int(words.get("repeat", 1 if words.get("quick") == "y" else 2))
    for points in resolutions(case, kind, words):
        began = time.perf_counter()
        try:
            run = function(place, case, points, extra)
            work = run.points * run.steps
            if last and last[0] * work / last[1] * repeat > left:
                print(f"run.py: {case.name} {method} {points:g}: left out, because it would take about {last[0] * work / last[1]:.0f} s", file=sys.stderr)
                return
            taken = [timed(place, run.command, joules) for _ in range(repeat)]
        except methods.Failed as failed:
            print(f"run.py: {case.name} {method} {points:g}: {failed}", file=sys.stderr)
            continue
        seconds, energy = (min(column) for column in zip(*taken))
        if run.bell not in spectra:
            spectra = {run.bell: exact.answer(case, run.bell, kind == "elements")}
        misfit, late = compared(case, place, spectra[run.bell], run.late)
        if "keep" in words:
            keep(f"{case.name}-{method}-{points:g}", place, spectra[run.bell], run.late, words["keep"])
        last = (seconds, work)
        left -= time.perf_counter() - began
        yield (f"{case.name} {method} {points:g} {run.points / 1e6:.4g} {run.steps} {place.device} {place.threads} "
               f"{seconds:.4g} {energy:.4g} {misfit:.4g} {late:.3g}")
        if misfit < ENOUGH and "points" not in words:
            return


def keep(name, place, spectra, late, folder):
    """Writes records and reference of a run as RSF files with the axes time, component, receiver, at the times of the records."""
    data = rsfdata.read(os.path.join(place.folder, "data"))
    axis = rsfdata.Axis(data.axes[2].n, data.axes[2].o + late, data.axes[2].d, "t", "s")
    answer = spectra.at(axis.o + axis.d * np.arange(axis.n))
    for kind, values in (("records", np.transpose(data.array, (2, 1, 0))), ("answer", answer)):
        axes = [axis, rsfdata.Axis(values.shape[1]), rsfdata.Axis(values.shape[0])]
        rsfdata.write(os.path.join(folder, f"{name}-{kind}.rsf"), values.astype("f4"), axes)


def machine(device):
    """The name of the first GPU, or the name of the processor with its number of cores."""
    if device == "gpu":
        asked = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False)
        if asked.returncode:
            stop("device=gpu: nvidia-smi lists no GPU")
        return asked.stdout.splitlines()[0].strip()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as about:
            name = re.search(r"model name\s*:\s*(.*)", about.read())
    except OSError:
        name = None
    return f"{name[1].strip() if name else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


class Table:
    """The rows of results-DEVICE.txt; rows of a (case, method, device) that is measured again are replaced."""

    def __init__(self, path, head):
        self.path, self.heads, self.rows = path, [head], []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as table:
                lines = table.read().splitlines()
            self.heads = [line for line in lines if line.startswith("# by ") and line != head] + [head]
            self.rows = [line for line in lines if line and line[0] != "#"]

    def put(self, key, rows):
        """Adds rows and writes the table after every method, so that a long measurement survives an interruption."""
        same = lambda row: (row.split()[0], row.split()[1], row.split()[5]) == key
        self.rows = [row for row in self.rows if not same(row)] + rows
        with open(self.path, "w", encoding="utf-8") as table:
            table.write("\n".join([*self.heads, COLUMNS, *self.rows]) + "\n")


def chosen(words, key, known):
    """The names that a parameter of the command line selects; all of them without it."""
    names = words[key].split(",") if key in words else list(known)
    for name in names:
        if name not in known:
            stop(f"{key}={name} is not known; known are {', '.join(known)}")
    return names


def main(arguments):
    words = dict(word.split("=", 1) for word in arguments if "=" in word)
    if len(words) != len(arguments) or not set(words) <= set(WORDS):
        stop(f"the parameters are {', '.join(word + '=' for word in WORDS)}; the docstring of this file explains them")
    device = words.get("device", "cpu")
    folder = os.path.abspath(words.get("bin", os.path.join(HERE, "..", "..", "build", "bin")))
    if device not in ("cpu", "gpu") or not os.access(os.path.join(folder, "sfvsfd2d-gpu"), os.X_OK):
        stop(f"device={device} with {folder}: device= must be cpu or gpu, and bin= must contain the programs")
    cases = chosen(words, "case", CASES)
    if "case" not in words:
        quick, gpu = words.get("quick") == "y", device == "gpu"
        cases = [name for name in cases if (name in QUICK if quick else gpu or not CASES[name].large)]
    version = subprocess.run([os.path.join(folder, "sfvsfd2d-gpu"), "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    told = " ".join(shlex.quote(word) for word in arguments if word.split("=")[0] not in ("bin", "keep", "out"))
    head = f"# by run.py {told}".rstrip() + f"; {machine(device)}; {version}; {time.strftime('%Y-%m-%d')}"
    table = Table(os.path.join(words.get("out", HERE), f"results-{device}.txt"), head)
    for name in cases:
        for method in chosen(words, "method", methods.METHODS):
            with tempfile.TemporaryDirectory() as scratch:
                place = methods.Place(folder, scratch, device, int(words.get("threads", 1)))
                rows = []
                for row in measured(CASES[name], method, place, words):
                    print(row, flush=True)
                    rows.append(row)
            if rows:
                table.put((name, method, device), rows)


if __name__ == "__main__":
    main(sys.argv[1:])
