"""Functions that the scripts for other packages (peers) share: cases, the command line, seconds, misfits, and rows of the table of run.py.

The seconds of a peer include only the propagation: its start, its compiler and the construction of its model are not counted, which
favours it. They are the smallest of repeat= calls, and on one thread processor seconds.
"""
import math
import os
import platform
import sys
import time
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = ("case", "device", "method", "minutes", "out", "points", "repeat", "threads")
CASES_OF_PEERS = ("homogeneous10", "homogeneous100", "homogeneous10-3d", "homogeneous100-3d")
POINTS = (2.5, 3, 4, 5, 6, 8, 10, 13, 17, 22)


@dataclass
class Run:
    """A call that propagates and returns displacements [receiver, component z, x[, y], time], with its numbers of nodes and steps."""

    call: object
    points: int
    steps: int
    first: float
    dt: float


def words_of(arguments, script):
    """The arguments of the command line, with the defaults."""
    words = dict(word.split("=", 1) for word in arguments if "=" in word)
    if len(words) != len(arguments) or not set(words) <= set(WORDS):
        sys.exit(f"{script}: the parameters are {', '.join(word + '=' for word in WORDS)}")
    threads = words.setdefault("threads", "1")
    os.environ.setdefault("OMP_NUM_THREADS", threads)
    return words


def box(case, h, frame):
    """Numbers of nodes of z, x[, y], with `frame` nodes around a case's box, and the first coordinates."""
    sides = case.box()
    sides = [sides[-1], *sides[:-1]]
    return [math.ceil((high - low) / h - 1e-6) + 1 + 2 * frame for low, high in sides], [low - frame * h for low, _ in sides]


def places(case, first, h):
    """Positions of source and receivers along z, x[, y], in nodes."""
    order = [case.ndim - 1, *range(case.ndim - 1)]
    return [[(point[axis] - o) / h for axis, o in zip(order, first)] for point in (case.source, *case.receivers)]


def wavelet(case, times):
    """The force of a case at the given times, in N or N/m."""
    import numpy as np

    a = (math.pi * case.frequency * (np.asarray(times) - case.delay)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def rows(case, method, prepare, words):
    """Yields the rows of a method of a peer for a case; prepare(case, points) makes a Run."""
    import numpy as np

    import exact
    from run import ENOUGH

    left, last, spectra = 60 * float(words.get("minutes", 2)), None, exact.answer(case)
    repeat, device, threads = int(words.get("repeat", 2)), words.get("device", "cpu"), int(words["threads"])
    clock = time.process_time if (device, threads) == ("cpu", 1) else time.perf_counter
    for points in [float(one) for one in words["points"].split(",")] if "points" in words else POINTS:
        began, run = time.perf_counter(), prepare(case, points)
        work = run.points * run.steps
        if last and last[0] * work / last[1] * repeat > left:
            return
        seconds = math.inf
        for _ in range(repeat):
            start = clock()
            records = run.call()
            seconds = min(seconds, clock() - start)
        times = run.first + run.dt * np.arange(records.shape[-1])
        keep = times <= case.duration
        answer, rate = spectra.at(times[keep]), spectra.at(times[keep], derivative=1)
        apart = np.asarray(records, "f8")[..., keep] - answer
        misfit = math.sqrt((apart**2).sum() / (answer**2).sum())
        late = -(apart * rate).sum() / (rate**2).sum() * case.frequency
        last = (seconds, work)
        left -= time.perf_counter() - began
        yield f"{case.name} {method} {points:g} {run.points / 1e6:.4g} {run.steps} {device} {threads} {seconds:.4g} nan {misfit:.4g} {late:.3g}"
        if misfit < ENOUGH and "points" not in words:
            return


def measure(peer, version, methods, words):
    """Runs the methods {name: prepare} of a peer on its cases, and adds their rows to the table."""
    from cases import CASES
    from run import Table, machine

    device = words.get("device", "cpu")
    names = words["case"].split(",") if "case" in words else [name for name in CASES_OF_PEERS if device == "gpu" or not CASES[name].large]
    head = f"# by {peer} {version}, Python {platform.python_version()}; {machine(device)}; {time.strftime('%Y-%m-%d')}"
    print(head)
    table = Table(os.path.join(words.get("out", HERE), f"results-{device}.txt"), head)
    for name in names:
        for method in words["method"].split(",") if "method" in words else methods:
            found = []
            for row in rows(CASES[name], method, methods[method], words):
                print(row, flush=True)
                found.append(row)
            table.put((name, method, device), found)
