"""The suite's methods on the cases: models, meshes and command lines, with the best parameters of each method.

A method is called with the number of points per shortest wavelength. Grids begin at the sides of a case's box and have their frame outside
of it; meshes contain their absorbing layers, so their boxes are larger.
"""
import math
import os
import re
import subprocess
from dataclasses import dataclass, replace

import numpy as np
import rsfdata

# The fraction of the largest stable step in runs with exact time, and in runs without it, for which half is recommended
FULL, HALF = 0.95, 0.5
# nbell= of the displacement programs: the source is spread as exp(-r^2/(0.5 BELL)), r in nodes, up to BELL nodes
BELL = 10


class Failed(Exception):
    """The message of a program that failed."""


@dataclass(frozen=True)
class Place:
    """The settings of runs: the folder of the programs, a folder for files, device= and threads=."""

    programs: str
    folder: str
    device: str = "cpu"
    threads: int = 1

    def words(self):
        """The arguments of the command line that choose the device."""
        return [f"device={self.device}", f"threads={self.threads}"]

    def call(self, command, out):
        """Runs a program with its standard output redirected to a file; returns its messages."""
        environment = {**os.environ, "DATAPATH": self.folder + "/", "OMP_NUM_THREADS": str(self.threads)}
        command = [os.path.join(self.programs, command[0]), *command[1:]]
        with open(os.path.join(self.folder, out), "wb") as target:
            done = subprocess.run(command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=target,
                                  stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Failed(f"{' '.join(command)}\n{done.stderr[-2000:]}")
        return done.stderr


@dataclass(frozen=True)
class Run:
    """A command, its numbers of nodes and steps, the spread of its source (variance, m2), and the delay of its records (s)."""

    command: list
    # Number of nodes or points, and number of steps
    points: int
    steps: int
    bell: float = 0.0
    late: float = 0.0


def points_of(place, case):
    """Writes the files sou and rec."""
    for name, points in (("sou", [case.source]), ("rec", case.receivers)):
        rsfdata.write(os.path.join(place.folder, name), np.array(points, "f4"))
    return ["sou=sou", "rec=rec"]


def source_words(case):
    """The parameters of the source for programs with built-in time functions."""
    kind = ["src=explosion", "m0=1"] if case.explosion else ["src=force", "fz=1"]
    return [*kind, "stf=ricker", f"freq={case.frequency:g}", "data=displacement"]


def grid(case, h):
    """Numbers of nodes and first coordinates of z, x[, y] for a spacing; the first node lies on the sides of the box.

    The bottom of a fluid is placed half-way between two nodes, where staircases are exact; other interfaces lie anywhere.
    """
    order = [case.ndim - 1, *range(case.ndim - 1)]
    sides = [list(case.box()[axis]) for axis in order]
    if case.rocks[0].vs == 0:
        sides[0][0] = case.interfaces[0] - (math.ceil((case.interfaces[0] - sides[0][0]) / h) + 0.5) * h
    return [math.ceil((high - low) / h - 1e-6) + 1 for low, high in sides], [low for low, _ in sides]


def listed(case, name):
    """A property of the rocks from the top down, for a command line."""
    return ",".join(f"{getattr(rock, name):.9g}" for rock in case.rocks)


def horizons(place, case):
    """The horizons= of a case; a dipping one is a map of two samples at the ends of a long line."""
    if not case.dip:
        return [f"{depth:.9g}" for depth in case.interfaces]
    names = []
    wide = 4 * max(high - low for low, high in case.box())
    for k in range(len(case.interfaces)):
        names.append(f"horizon{k}")
        ends = np.array([case.depth(k, -wide), case.depth(k, wide)], "f4")
        rsfdata.write(os.path.join(place.folder, names[-1]), ends, [rsfdata.Axis(2, -wide, 2 * wide)])
    return names


def on_grid(place, case, h, scheme):
    """Makes the files ccc and den of a case; a single rock has a horizon far below the grid, because sflayers requires one."""
    n, o = grid(case, h)
    words = [f"n{k + 1}={n[k]} o{k + 1}={o[k]:.9g} d{k + 1}={h:.9g}" for k in range(case.ndim)]
    rock = [f"{name}={listed(case, name)}" for name in ("rho", "vp", "vs", "epsilon", "delta")]
    cut = horizons(place, case) or ["1e6"]
    place.call(["sflayers", *" ".join(words).split(), *rock, f"horizons={','.join(cut)}", f"scheme={scheme}", "den=den"], "ccc")
    return ["ccc=ccc", "den=den"]


def quality(place, case, h):
    """The parameters qp=, qs= and the parameters of their law, for the velocity-stress programs."""
    if not case.band:
        return []
    n, o = grid(case, h)
    z = o[0] + h * np.arange(n[0])
    for name in ("qp", "qs"):
        column = np.array([getattr(case.rocks[sum(depth > d for d in case.interfaces)], name) for depth in z], "f4")
        axes = [rsfdata.Axis(size, first, h) for size, first in zip(n, o)]
        rsfdata.write(os.path.join(place.folder, name), np.broadcast_to(column, n[::-1]), axes)
    return ["qp=qp", "qs=qs", f"qband={case.band[0]:g},{case.band[1]:g}", f"qref={case.reference:g}"]


def planned(place, command, steps, pattern):
    """The number after a pattern in the plan of a command with steps (duration, dt)."""
    times = [f"nt={math.ceil(steps[0] / steps[1])}", f"dt={steps[1]:.6g}"] if steps else []
    said = place.call([*command, *times, "plan=y", "cfl=warn"], "plan")
    found = re.search(pattern, said)
    if not found:
        raise Failed(f"the output of plan=y does not contain `{pattern}`:\n{said}")
    return float(found[1])


def velocity_stress(place, case, points, words):
    """sfvsfd2d-gpu or sfvsfd3d-gpu; `words` may contain share=, the fraction of the largest stable step."""
    share = next((float(word[6:]) for word in words if word.startswith("share=")), FULL)
    words = [word for word in words if not word.startswith("share=")]
    h = case.wavelength / points
    frame = max(12, round(1.2 * points))
    command = [f"sfvsfd{case.ndim}d-gpu", *on_grid(place, case, h, "staggered"), *points_of(place, case), *source_words(case),
               *quality(place, case, h), *words, *place.words(), f"free={'ny'[case.surface]}", f"nb={frame}"]
    dt = share * planned(place, command, (case.duration, 0.2 * h / case.fastest), r"stability limit ([\d.e+-]+) s")
    steps = math.ceil(case.duration / dt)
    size = math.prod(k + 2 * frame for k in grid(case, h)[0])
    return Run([*command, f"nt={steps}", f"dt={dt:.6g}"], size, steps)


def chosen(place, case, error, words):
    """The velocity-stress program with error= and path=, on the spacing that its plan recommends."""
    path = max(math.dist(case.source, receiver) for receiver in case.receivers) / case.wavelength
    words = [*words, f"error={error:g}", f"path={max(1.0, path):.4g}"]
    # The plan depends only on speeds and frequencies, so a 2-D section is enough
    flat = lambda point: (point[0], point[-1])
    section = replace(case, source=flat(case.source), receivers=tuple(map(flat, case.receivers)))
    h = case.wavelength / 20
    command = ["sfvsfd2d-gpu", *on_grid(place, section, h, "staggered"), *points_of(place, section), *source_words(case), *words]
    spacing = planned(place, [*command, "device=cpu"], (case.duration, 0.2 * h / case.fastest), r"a spacing of ([\d.e+-]+) m would suffice")
    return velocity_stress(place, case, case.wavelength / spacing, words)


def displacement(place, case, points, words):
    """sfewefd2d-gpu or sfewefd3d-gpu with a frame that is wider and farther away than the frame of other methods, because it reflects more."""
    h = case.wavelength / points
    path = max(math.dist(case.source, receiver) for receiver in case.receivers) / case.wavelength
    frame, case = round(max(12, 0.3 * path) * points), replace(case, margin=case.margin + 6)
    ndim = case.ndim
    amplitude = 1 / (sum(math.exp(-(k**2) / (0.5 * BELL)) for k in range(-BELL, BELL + 1)) * h) ** ndim
    components = [1.0] * ndim if case.explosion else [-1.0, *[0.0] * (ndim - 1)]

    def wavelet(dt, steps):
        a = (math.pi * case.frequency * (dt * np.arange(steps) - case.delay)) ** 2
        values = np.outer((1 - 2 * a) * np.exp(-a), amplitude * np.array(components))
        axes = [rsfdata.Axis(1), rsfdata.Axis(ndim), rsfdata.Axis(steps, 0.0, dt)]
        rsfdata.write(os.path.join(place.folder, "wav"), values.astype("f4")[:, :, None], axes)

    command = [f"sfewefd{ndim}d-gpu", "wav=wav", *on_grid(place, case, h, "collocated"), *points_of(place, case), *words, *place.words(),
               f"ssou={'ny'[case.explosion]}", f"free={'ny'[case.surface]}", "dabc=y", "oneway=upwind", f"nb={frame}", f"nbell={BELL}"]
    tried = 0.2 * h / case.fastest
    wavelet(tried, math.ceil(case.duration / tried))
    dt = FULL * planned(place, command, None, r"stability limit ([\d.e+-]+)")
    steps = math.ceil(case.duration / dt)
    wavelet(dt, steps)
    size = math.prod(k + 2 * frame for k in grid(case, h)[0])
    # A record is a step later than its header says: it belongs one step after the wavelet's sample of the same number
    return Run(command, size, steps, BELL * h * h / 4, dt)


def rows_of(case, width):
    """The depths of the surfaces from the bottom up, and the number of rows of elements in each layer, such that elements are about as high as wide."""
    low, high = case.box()[-1]
    layers = 3 * width
    depths = [high + layers, *reversed(case.interfaces), 0.0 if case.surface else low - layers]
    return depths, [max(1, math.ceil((a - b) / width - 1e-6)) for a, b in zip(depths, depths[1:])]


def crystals(place, case):
    """Writes the constants of transversely isotropic regions, from the bottom up, and returns the arguments for them."""
    if not any(rock.epsilon or rock.delta for rock in case.rocks):
        return []
    table, rows = [], []
    for rock in reversed(case.rocks):
        c11, c33, c55, c13 = rock.constants()
        # The upper triangle, row by row; waves in the plane of x and z do not depend on c66
        constants = np.zeros((6, 6))
        constants[:3, :3] = [[c11, c11 - 2 * c55, c13], [0, c11, c13], [0, 0, c33]]
        constants[3:, 3:] = c55 * np.eye(3)
        table.append(constants[np.triu_indices(6)])
        rows.append([rock.rho, rock.vp, rock.vs, 9999, 9999, 1])
    for name, values in (("crystals", table), ("rocks", rows)):
        rsfdata.write(os.path.join(place.folder, name), np.array(values, "f4"))
    return ["ccc=crystals", "materials=rocks"]


def lossy(case):
    """Quality factors of compression and shear, from the bottom up; in the LOH problems only shear is attenuated."""
    if not case.band:
        return [], []
    factors = ",".join(f"{rock.qs:g}" for rock in reversed(case.rocks))
    return [f"qmu={factors}"], [f"qband={case.band[0]:g},{case.band[1]:g}", f"qref={case.reference:g}"]


def elements(place, case, points, words):
    """sfsem2d-gpu or sfsem3d-gpu, with `points` points per S wavelength of the slowest rock on average."""
    degree = next((int(word[7:]) for word in words if word.startswith("degree=")), 4)
    width = degree * case.wavelength / points
    depths, rows = rows_of(case, width)
    across = []
    for axis, (low, high) in zip("xy", case.box()[:-1]):
        count = math.ceil((high - low) / width - 1e-6) + 6
        across += [f"n{axis}={count}", f"{axis}min={low - 3 * width:.9g}", f"{axis}max={low + (count - 3) * width:.9g}"]
    surfaces = [f"{depths[0]:.9g}", *reversed(horizons(place, case)), f"{depths[-1]:.9g}"]
    rock = [f"{key}={','.join(reversed(listed(case, name).split(',')))}" for key, name in (("rho", "rho"), ("vp", "vp"), ("vs", "vs"))]
    sides = "" if case.surface else ",top"
    loss, band = lossy(case)
    place.call(["sfhexmesh", f"surfaces={','.join(surfaces)}", f"layers={','.join(map(str, rows))}", *across, *rock, *loss, "judge=n",
                f"absorb=xmin,xmax,bottom{',ymin,ymax' if case.ndim == 3 else ''}{sides}", "base=mesh"], "mesh")
    command = [f"sfsem{case.ndim}d-gpu", "mesh=mesh", *points_of(place, case), *source_words(case), *words, *place.words(),
               *crystals(place, case), *band, f"cpml={2.999 * width:.9g}"]
    dt = FULL * planned(place, command, (case.duration, 0.1 * width / degree / case.fastest), r"certainly stable ([\d.e+-]+) s")
    steps = math.ceil(case.duration / dt)
    columns = math.prod(int(word.split("=")[1]) for word in across if word[0] == "n")
    return Run([*command, f"nt={steps}", f"dt={dt:.6g}"], columns * sum(rows) * degree**case.ndim, steps)


# Name, function, parameters, and the kind of resolutions: grids, elements or allowed errors
METHODS = {
    "vs8": (velocity_stress, ["order=8", "tdc=y"], "fd"),
    "vs8-half": (velocity_stress, ["order=8", "tdc=n", f"share={HALF}"], "fd"),
    "vs4": (velocity_stress, ["order=4", "tdc=y"], "fd"),
    "vs-error": (chosen, [], "error"),
    "displacement": (displacement, ["tdc=y"], "fd"),
    "elements4": (elements, ["degree=4", "tdc=y"], "elements"),
    "elements8": (elements, ["degree=8", "tdc=y"], "elements"),
}
