#!/usr/bin/env python3
"""Measures the run times of a paper's runs on this machine and writes the table that its chapter draws.

    python3 book/paper/measure.py PAPER [bin=FOLDER] [device=cpu] [counts=1] [groups=...] [out=FOLDER] [repeat=1] [bench=FILE]

PAPER is komatitsch2010, michea2010, weiss2013-2d, weiss2013-3d, zhou2012 or all. device= is cpu (counts= are threads) or gpu (counts= are GPUs,
1,2,4 for instance). bin= is the folder of the programs (build/bin). groups= selects some of the tables: table2,large,depth,blocks,weak,strong
(michea2010), squares (weiss2013-2d), cubes,ranks (weiss2013-3d), parts,scaling,tuning (zhou2012), sizes,weak,strong,exchange
(komatitsch2010). In the group ranks
the count is that of ranks, with a GPU each: it needs mpi=FOLDER with programs that were built with MPI, and mpirun. The group tuning (GPUs
only) cuts the grid for the kernels in ways that the programs do not offer: it needs bench=FILE, the benchmark `staggered`; exchange
(GPUs only) omits parts of the exchange between ranks: it needs bench=FILE, the benchmark `elements`.
Rows are written to the chapter's results-DEVICE.txt, or in out=FOLDER to PAPER-results-DEVICE.txt; rows of the same group and
device are replaced. repeat= is the number of runs of each case, of which the fastest counts. Afterwards `python3 table.py write` in the
chapter's folder puts the numbers on its page. The models are made in a temporary folder.

A row: group, case, nx ny nz of the paper's grid (including the frame in michea2010 and zhou2012, as in the papers; elements in
komatitsch2010), frame cells, steps,
device, count, seconds of the steps alone, seconds of the whole program with its files (nan for a benchmark, which has none). For
one thread these are processor seconds, which other work on the machine lengthens less than wall-clock time.
"""
import array
import math
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = {"bench", "bin", "device", "counts", "groups", "mpi", "out", "repeat"}
COLUMNS = "# group case nx ny nz frame steps device count steps_s whole_s"
LAYERS = ((4200, 2422, 2300), (6000, 3460, 2700))  # vp, vs, density above and below 1400 m
MICHEA = "free=y src=moment mxy=1e18 tau=0.045"
AWP = "free=y absorb=sponge edge=0.92 src=moment mxx=1e15 mxy=1e15 stf=cosine tau=0.6825"
COARSE = "qp=100 qs=50 qmech=coarse"
# Steps in the tuning of the velocity-stress kernels, each added to the previous ones, as tile arguments of the benchmark: threads along z,
# rows, planes; rows of a strip; blocks of velocity and of stress per multiprocessor; prefetching; blocks of the frame
TUNING = (
    ("threads_on_rows_and_planes", "8,4,8,4,1,1,0,128,1"),
    ("warps_along_z", "32,4,2,4,1,1,0,128,1"),
    ("strips_for_the_L2_cache", "32,4,2,128,1,1,0,128,1"),
    ("more_blocks_at_once", "32,4,2,128,4,2,0,128,4"),
    ("prefetching", "32,4,2,128,4,2,1,128,4"),
)
# Hexahedra of 27 nodes and 100 m, absorbing sides and a free top
ELEMENTS = "src=explosion m0=1e15 stf=ricker freq=2"
ROCK = "rho=2300 vp=2800 vs=1500 curved=y judge=n"
# The variants of the exchange, by their names in the benchmark and in the table
MANNERS = {"Overlapped": "overlapped", "Blocking": "blocking", "WithoutSends": "nothing_sent", "WithoutBuffers": "nothing_packed"}
WEISS = "ssou=y dabc=y nbell=5 jdata=10"  # isotropic: vp 2 km/s, vs 1.1547 km/s, 2000 kg/m3, nodes of 5 m


def stop(sentence):
    sys.exit(f"measure.py: {sentence}")


def michea2010(device, counts):
    """Cases (group, name, grid, frame, steps, count, words) of Michea and Komatitsch (2010)."""
    small, large = (384, 328, 52), (540, 484, 189)
    many = device == "gpu"
    for frame in (0, 10, 16):
        yield "table2", "small", small, frame, 1000, 1, MICHEA
    for frame in (0, 10, 16):
        yield "large", "large", large, frame, 1000 if many else 200, 1, MICHEA
    for nz in range(32, 513 if many else 129, 32):
        yield "depth", "nz", (384, 328, nz), 16, 1000 if many else 40, 1, MICHEA
    # At least 8 blocks of 8 points along y; fewer would leave no model between the layers
    for a in range(4, 41, 4) if many else range(8, 25, 4):
        for b in range(8, 41, 4) if many else range(8, 25, 4):
            yield "blocks", "xy", (16 * a, 8 * b, 52), 16, 500 if many else 40, 1, MICHEA
    each, steps = (large, 300) if many else ((270, 242, 95), 50)
    for count in counts:
        yield "weak", "each", (each[0], each[1] * count, each[2]), 0, steps, count, MICHEA
        yield "strong", "all", each, 0, steps, count, MICHEA


def komatitsch2010(device, counts):
    """Cases of figures 11 to 17 of Komatitsch et al. (2010), on boxes: 446,080 elements per GPU as there."""
    many = device == "gpu"
    for n in (12, 20, 28, 40, 56, 76) if many else (8, 12, 16, 20, 24):
        yield "sizes", "box", (n, n, n), 0, 300 if many else 20, 1, ELEMENTS
    each, steps = ((82, 80, 68), 300) if many else ((20, 20, 16), 20)
    for count in counts:
        long = (each[0] * count, *each[1:])
        yield "weak", "each", long, 0, steps, count, ELEMENTS
        yield "strong", "all", each, 0, steps, count, ELEMENTS
        for name in MANNERS.values() if many and count > 1 else ():
            yield "exchange", name, long, 0, steps, count, ELEMENTS


def zhou2012(device, counts):
    """Cases of Zhou et al. (2012); grids are x, y, z as in the paper."""
    many = device == "gpu"
    sizes = ((128, 128, 128), (128, 128, 256), (128, 256, 256), (256, 256, 256), (128, 128, 960))
    parts = (
        ("elastic", ""),
        ("coarse", COARSE),
        ("one", "qp=100 qs=50 qmech=1"),
        ("three", "qp=100 qs=50 qmech=3"),
    )
    for grid in sizes:
        steps = 800 if many else max(20, 80 * 128**3 // (grid[0] * grid[1] * grid[2]))
        for name, words in parts:
            yield "parts", name, grid, 20, steps, 1, AWP + " " + words
        for count in counts:
            yield "scaling", "coarse", grid, 20, steps, count, AWP + " " + COARSE
        for name, tile in TUNING if many else ():
            yield "tuning", name, grid, 20, steps, 1, tile


def weiss2013_2d(device, counts):
    """Cases of figure 6 of Weiss and Shragge (2013): squares with a frame of 48."""
    for n in range(432, 3793, 336):
        for count in counts:
            yield "squares", "isotropic", (n, 1, n), 48, 1000 if device == "gpu" else 100, count, WEISS


def weiss2013_3d(device, counts):
    """Cases of figure 11: cubes, by peer-to-peer copies in one process and by ranks of MPI."""
    for n in range(128, 297, 24):
        for count in counts:
            yield "cubes", "isotropic", (n, n, n), 48, 1000 if device == "gpu" else 100, count, WEISS
            if device == "gpu" and count > 1:
                yield "ranks", "isotropic", (n, n, n), 48, 1000, count, WEISS


# The cases of each chapter, and its folder
PAPERS = {
    "komatitsch2010": (komatitsch2010, "komatitsch2010/runtimes"),
    "michea2010": (michea2010, "michea2010/runtimes"),
    "weiss2013-2d": (weiss2013_2d, "weiss2013/runtimes2d"),
    "weiss2013-3d": (weiss2013_3d, "weiss2013/runtimes3d"),
    "zhou2012": (zhou2012, "zhou2012/runtimes"),
}


def write(path, axes, numbers):
    """Writes an RSF file of float32; axes are (n, o, d), and numbers bytes."""
    with open(path + "@", "wb") as data:
        data.write(numbers)
    words = [f"n{k}={n} o{k}={o:g} d{k}={d:g}" for k, (n, o, d) in enumerate(axes, start=1)]
    with open(path, "w", encoding="utf-8") as header:
        header.write(" ".join(words) + f' esize=4 data_format="native_float" in="{os.path.abspath(path)}@"\n')


def displacement_model(folder, grid, steps):
    """Makes wav, ccc, den, sou and rec of Weiss and Shragge in a folder."""
    nx, ny, nz = grid
    flat = ny == 1
    d, dt = 0.005, 0.0005
    axes = [(n, 0.0, d) for n in ((nz, nx) if flat else (nz, nx, ny))]
    cells = nx * ny * nz
    c33, c55 = 2000 * 2.0**2, 2000 * 1.1547**2
    cross = c33 - 2 * c55
    planes = (c33, c33, c55, cross) if flat else (*[c33] * 3, *[c55] * 3, *[cross] * 3)
    for name, values in (("ccc", planes), ("den", (2000.0,))):
        bytes_of = b"".join(array.array("f", [value]).tobytes() * cells for value in values)
        write(os.path.join(folder, name), axes + [(len(values), 0, 1)], bytes_of)
    components = 2 if flat else 3
    # A Ricker wavelet of 40 Hz around its middle, the same on every component
    around = [(math.pi * 40 * dt * (k - 100)) ** 2 for k in range(steps)]
    wavelet = array.array("f", [(1 - 2 * a) * math.exp(-a) for a in around for _ in range(components)])
    write(os.path.join(folder, "wav"), [(1, 0, 1), (components, 0, 1), (steps, 0, dt)], wavelet.tobytes())
    source = [d * (nx // 2), 0.0] if flat else [d * (nx // 2), d * (ny // 2), 0.0]
    line = [x for k in range(nx) for x in ((d * k, 0.0) if flat else (d * k, source[1], 0.0))]
    write(os.path.join(folder, "sou"), [(components, 0, 1), (1, 0, 1)], array.array("f", source).tobytes())
    write(os.path.join(folder, "rec"), [(components, 0, 1), (nx, 0, 1)], array.array("f", line).tobytes())


def mesh(folder, programs, grid):
    """Makes mesh, sou and rec of a box of elements in a folder; `grid` has their numbers along each axis."""
    nx, ny, nz = grid
    words = f"surfaces={100 * nz},0 layers={nz} nx={nx} ny={ny} xmin=0 xmax={100 * nx} ymin=0 ymax={100 * ny} base=mesh {ROCK}"
    command = [os.path.join(programs[0], "sfhexmesh"), *words.split()]
    with open(os.path.join(folder, "mesh"), "wb") as out:
        made = subprocess.run(command, cwd=folder, env={**os.environ, "DATAPATH": folder + "/"}, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        stop(f"this run failed: {' '.join(command)}\n{made.stderr[-2000:]}")
    for name, point in (("sou", (50 * nx, 50 * ny, 50 * nz)), ("rec", (30 * nx, 50 * ny, 0))):
        write(os.path.join(folder, name), [(3, 0, 1), (1, 0, 1)], array.array("f", point).tobytes())


def model(folder, programs, paper, case):
    """Makes the files of a case in a folder: vp, vs, den, sou and rec on the paper's grid without its frame, which the program adds."""
    _, _, grid, frame, steps, _, words = case
    if words == ELEMENTS:
        return mesh(folder, programs, grid)
    if words == WEISS:
        return displacement_model(folder, grid, steps)
    nx, ny, nz = grid
    n = (nz - frame, nx - 2 * frame, ny - 2 * frame)
    if min(n) < 6:
        stop(f"a grid of {grid} is too small for a frame of {frame} cells; remove it from the list")
    d = 100.0
    axes = list(zip(n, (0.0, 0.0, 0.0), (d, d, d)))
    for k, name in enumerate(("vp", "vs", "den")):
        if paper == "michea2010":
            column = [LAYERS[int(d * i >= 1400)][k] for i in range(n[0])]
        else:
            column = [(4800, 2800, 2500)[k]] * n[0]
        write(os.path.join(folder, name), axes, array.array("f", column).tobytes() * (n[1] * n[2]))
    middle = [d * (n[1] // 2), d * (n[2] // 2)]
    source, receiver = [2000.0, 4000.0, 2500.0], [10000.0, 10000.0, 0.0]
    if paper == "zhou2012" or min(n[1:]) < 101 or n[0] < 26:
        # The points of the paper lie outside so small a grid.
        source, receiver = [*middle, d * (n[0] // 2)], [middle[0] + d / 2, middle[1] + d / 2, 0.0]
    for name, point in (("sou", source), ("rec", receiver)):
        write(os.path.join(folder, name), [(3, 0, 1), (1, 0, 1)], array.array("f", point).tobytes())


def used(process):
    """The processor seconds of a running process; NaN if the system does not provide them."""
    try:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as about:
            ticks = about.read().rsplit(")", 1)[1].split()[11:13]
    except OSError:
        return math.nan
    return sum(int(n) for n in ticks) / os.sysconf("SC_CLK_TCK")


def command_of(programs, case, device):
    """The command line of a case; `programs` are the folders without and with MPI."""
    group, _, grid, frame, steps, count, words = case
    where = f"device=cpu threads={count}" if device == "cpu" else f"device=gpu ngpu={1 if group == 'ranks' else count}"
    dt = 0.008 if "tau=0.045" in words else 0.0075
    if words == WEISS:
        name, files = f"sfewefd{2 if grid[1] == 1 else 3}d-gpu", ("wav", "ccc", "den", "sou", "rec")
    elif words == ELEMENTS:
        name, files, words = "sfsem3d-gpu", ("mesh", "sou", "rec"), f"{words} nt={steps} dt=0.003"
    else:
        name, files, words = "sfvsfd3d-gpu", ("vp", "vs", "den", "sou", "rec"), f"{words} nt={steps} dt={dt}"
    words = f"{words} {where} verb=y out=data@" + (f" nb={frame}" if name != "sfsem3d-gpu" else "")
    ranks = []
    if group == "ranks":
        ranks = [os.environ.get("MPIRUN", "mpirun"), "-n", str(count), "--oversubscribe", "--bind-to", "none"]
    return [*ranks, os.path.join(programs[group == "ranks"], name), *(f"{name}={name}" for name in files), *words.split()]


def timed(programs, folder, case, device):
    """The seconds of the steps only and of the whole program."""
    steps, count = case[4:6]
    command = command_of(programs, case, device)
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    said, start = [], math.nan
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            said.append(line)
            if re.search(r"\d receivers? of |: resolved up to ", line):  # the last line before the steps
                start = used(process)
    whole = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Seconds are printed in hundredths; the rate and the number of nodes give more digits.
    rate = re.search(r" steps in [\d.]+ s: ([\d.]+) Mpt/s", "".join(said))
    nodes = re.search(r"with the frame of \d+ nodes z (\d+) x x (\d+)(?: x y (\d+))?", "".join(said))
    nodes = nodes or re.search(r" (\d+) points;", "".join(said))
    if process.returncode or not rate or not nodes:
        stop(f"this run failed: {' '.join(command)}\n{''.join(said)[-2000:]}")
    if device == "cpu" and count == 1 and not math.isnan(start):
        all_of_it = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return all_of_it - start, all_of_it
    return math.prod(int(n) for n in nodes.groups("1")) * steps / float(rate[1]) / 1e6, whole


def exchanged(bench, case):
    """Seconds of the steps of a case of the group exchange, the median of three runs with one rank per GPU."""
    name, grid, _, steps, count = case[1:6]
    words = f"gpus={count} ranks=y n={','.join(map(str, grid))} order=2 law=iso steps={steps} repeat=3"
    done = subprocess.run([bench, *words.split()], capture_output=True, text=True, check=False)
    found = {MANNERS[manner]: float(time) for manner, time in re.findall(r"ranks, (\w+): [\d.]+ M element-steps/s, ([\d.]+) us a step", done.stdout)}
    if done.returncode or name not in found:
        stop(f"this run failed: {bench} {words}\n{(done.stdout + done.stderr)[-2000:]}")
    return found[name] * 1e-6 * steps, math.nan


def benchmarked(bench, case):
    """Seconds of the steps of a case of the group tuning, the median of three runs, on the grid without the frame that the benchmark adds."""
    (nx, ny, nz), frame, steps, tile = case[2], case[3], case[4], case[6]
    words = f"n={nz - frame},{nx - 2 * frame},{ny - 2 * frame} absorb=sponge nb={frame} free=y q=coarse steps={steps} repeat=3 tile={tile}"
    done = subprocess.run([bench, *words.split()], capture_output=True, text=True, check=False)
    found = re.search(r"([\d.]+) us a step", done.stdout)
    if done.returncode or not found:
        stop(f"this run failed: {bench} {words}\n{(done.stdout + done.stderr)[-2000:]}")
    return float(found[1]) * 1e-6 * steps, math.nan


def machine(device):
    """The description of the machine for the first line of a table."""
    if device == "gpu":
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        try:
            found = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()
        except (OSError, subprocess.CalledProcessError) as error:
            stop(f"device=gpu: nvidia-smi lists no GPU ({error}); run this where there is one, or with device=cpu")
        return f"{len(found)} x {found[0]}"
    name = platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as about:
            named = re.search(r"model name\s*: (.*)", about.read())
        name = named[1] if named else name
    return f"{os.cpu_count()} cores of {name}"


class Table:
    """A chapter's table: rows that are measured again are replaced, rows of other groups and devices are kept."""

    def __init__(self, path, groups, device, head):
        self.path, self.heads, self.rows = path, [], []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as table:
                lines = table.read().splitlines()
            self.heads = [line for line in lines if line.startswith("# by ")]
            self.rows = [line for line in lines if line and line[0] != "#" and not (line.split()[0] in groups and line.split()[7] == device)]
        self.heads.append(head)

    def add(self, row):
        """Adds a row and writes the table after every case, so that a long measurement survives an interruption."""
        self.rows.append(row)
        print(row, flush=True)
        with open(self.path, "w", encoding="utf-8") as table:
            table.write("\n".join([*self.heads, COLUMNS, *self.rows]) + "\n")


def measure(paper, cases, device, programs, repeat, table):
    """Runs the cases of a paper and adds their rows; `programs` are the folders without and with MPI, and the benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        before = None
        for case in cases:
            group, name, grid, frame, steps, count, _ = case
            bench = {"tuning": benchmarked, "exchange": exchanged}.get(group)
            if before != (grid, frame, steps) and not bench:
                model(folder, programs, paper, case)
                before = (grid, frame, steps)
            times = [bench(programs[2], case) if bench else timed(programs, folder, case, device) for _ in range(repeat)]
            loop, whole = (min(column) for column in zip(*times))
            table.add(f"{group} {name} {grid[0]} {grid[1]} {grid[2]} {frame} {steps} {device} {count} {loop:.6g} {whole:.6g}")


def version(folder):
    """The version of the programs."""
    asked = [os.path.join(folder, "sfvsfd3d-gpu"), "--version"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[-1]


def main():
    words = dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
    wanted = list(PAPERS) if sys.argv[1:2] == ["all"] else sys.argv[1:2]
    if not wanted or wanted[0] not in PAPERS or len(words) != len(sys.argv) - 2 or not set(words) <= WORDS:
        stop(f"give the paper ({', '.join(PAPERS)} or all), then parameters key=value ({', '.join(sorted(WORDS))}); the docstring of this file explains them")
    device = words.get("device", "cpu")
    folder = os.path.abspath(words.get("bin", os.path.join(HERE, "..", "..", "build", "bin")))
    programs = (folder, os.path.abspath(words.get("mpi", folder)), os.path.abspath(words.get("bench", "")))
    if device not in ("cpu", "gpu") or not os.access(os.path.join(folder, "sfvsfd3d-gpu"), os.X_OK):
        stop(f"device={device} with {folder}: device= must be cpu or gpu, and bin= must contain the programs")
    counts = [int(count) for count in words.get("counts", "1").split(",")]
    told = [f"{key}={words[key]}" for key in ("device", "counts", "groups", "repeat") if key in words]
    left = set(words["groups"].split(",")) if "groups" in words else set()
    for paper in wanted:
        cases_of, chapter = PAPERS[paper]
        needs = {"ranks": "mpi", "tuning": "bench", "exchange": "bench"}
        cases = [case for case in cases_of(device, counts) if needs.get(case[0], "bin") in {*words, "bin"}]
        known = {case[0] for case in cases}
        groups = known & set(words["groups"].split(",")) if "groups" in words else known
        left -= known
        head = f"# by measure.py {' '.join([paper, *told])}; {machine(device)}; {version(folder)}; {time.strftime('%Y-%m-%d')}"
        where = words.get("out") or os.path.join(HERE, chapter)
        path = os.path.join(where, f"{paper}-results-{device}.txt" if "out" in words else f"results-{device}.txt")
        if groups:
            table = Table(path, groups, device, head)
            measure(paper, [case for case in cases if case[0] in groups], device, programs, int(words.get("repeat", 1)), table)
    if left:
        stop(f"groups={','.join(sorted(left))}: there are no such groups in {', '.join(wanted)}")


if __name__ == "__main__":
    main()
