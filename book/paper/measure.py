#!/usr/bin/env python3
"""Times the runs of a seed paper on this machine and writes the table that its chapter draws.

    python3 book/paper/measure.py PAPER [bin=FOLDER] [device=cpu] [counts=1] [groups=...] [out=FOLDER] [repeat=1]

PAPER is michea2010, zhou2012 or all. device= is cpu (counts= are threads) or gpu (counts= are GPUs, 1,2,4 for instance). bin= holds
sfvsfd3d-gpu (build/bin). groups= takes some of the tables: table2,large,depth,blocks,weak,strong (michea2010), parts,scaling (zhou2012).
Rows go into the chapter's runtimes/results-DEVICE.txt, or into out=FOLDER as PAPER-results-DEVICE.txt; rows of the same group and
device are replaced. repeat= runs each case so many times and keeps the fastest. Afterwards `python3 table.py write` in the
chapter's folder puts the numbers on its page. The models are made in a temporary folder.

A row: group, case, nx ny nz of the paper's grid (frame included), frame cells, steps, device, count, seconds of the steps
alone, seconds of the whole program with its files. For one thread these are seconds of the processor, which other work on
the machine stretches less than those of the clock.
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
WORDS = {"bin", "device", "counts", "groups", "out", "repeat"}
COLUMNS = "# group case nx ny nz frame steps device count steps_s whole_s"
LAYERS = ((4200, 2422, 2300), (6000, 3460, 2700))  # vp, vs, density above and below 1400 m
MICHEA = "free=y src=moment mxy=1e18 tau=0.045"
AWP = "free=y absorb=sponge edge=0.92 src=moment mxx=1e15 mxy=1e15 stf=cosine tau=0.6825"
COARSE = "qp=100 qs=50 qmech=coarse"


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
    # 8 blocks of 8 points along y: fewer leave no model between the layers
    for a in range(4, 41, 4) if many else range(8, 25, 4):
        for b in range(8, 41, 4) if many else range(8, 25, 4):
            yield "blocks", "xy", (16 * a, 8 * b, 52), 16, 500 if many else 40, 1, MICHEA
    each, steps = (large, 300) if many else ((270, 242, 95), 50)
    for count in counts:
        yield "weak", "each", (each[0], each[1] * count, each[2]), 0, steps, count, MICHEA
        yield "strong", "all", each, 0, steps, count, MICHEA


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


PAPERS = {"michea2010": michea2010, "zhou2012": zhou2012}


def write(path, axes, numbers):
    """An RSF file of float32: axes are (n, o, d), numbers bytes."""
    with open(path + "@", "wb") as data:
        data.write(numbers)
    words = [f"n{k}={n} o{k}={o:g} d{k}={d:g}" for k, (n, o, d) in enumerate(axes, start=1)]
    with open(path, "w", encoding="utf-8") as header:
        header.write(" ".join(words) + f' esize=4 data_format="native_float" in="{os.path.abspath(path)}@"\n')


def model(folder, paper, grid, frame):
    """vp, vs, den, sou and rec in a folder: the paper's grid without its frame, which the program adds."""
    nx, ny, nz = grid
    n = (nz - frame, nx - 2 * frame, ny - 2 * frame)
    if min(n) < 6:
        stop(f"a grid of {grid} has no room for a frame of {frame} cells; take it out of the list")
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
        # the paper's points lie outside such a grid
        source, receiver = [*middle, d * (n[0] // 2)], [middle[0] + d / 2, middle[1] + d / 2, 0.0]
    for name, point in (("sou", source), ("rec", receiver)):
        write(os.path.join(folder, name), [(3, 0, 1), (1, 0, 1)], array.array("f", point).tobytes())


def used(process):
    """Seconds that a running process has kept a processor; not a number where the system does not tell."""
    try:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as about:
            ticks = about.read().rsplit(")", 1)[1].split()[11:13]
    except OSError:
        return math.nan
    return sum(int(n) for n in ticks) / os.sysconf("SC_CLK_TCK")


def timed(program, folder, case, device):
    """Seconds of the steps alone and of the whole program."""
    _, _, _, frame, steps, count, words = case
    where = f"device=cpu threads={count}" if device == "cpu" else f"device=gpu ngpu={count}"
    dt = 0.008 if "tau=0.045" in words else 0.0075
    words = f"{words} nt={steps} dt={dt} nb={frame} {where} verb=y out=data@"
    command = [program, *(f"{name}={name}" for name in ("vp", "vs", "den", "sou", "rec")), *words.split()]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    said, start = [], math.nan
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            said.append(line)
            if re.search(r"\d receivers? of ", line):  # the last line before the steps
                start = used(process)
    whole = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Seconds are told in hundredths; the rate and the nodes that it counts have more digits.
    rate = re.search(r" steps in [\d.]+ s: ([\d.]+) Mpt/s", "".join(said))
    nodes = re.search(r"with the frame of \d+ nodes z (\d+) x x (\d+) x y (\d+)", "".join(said))
    if process.returncode or not rate or not nodes:
        stop(f"this run failed: {' '.join(command)}\n{''.join(said)[-2000:]}")
    if device == "cpu" and count == 1 and not math.isnan(start):
        all_of_it = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return all_of_it - start, all_of_it
    return math.prod(int(n) for n in nodes.groups()) * steps / float(rate[1]) / 1e6, whole


def machine(device):
    """What the head of a table says of the machine."""
    if device == "gpu":
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        try:
            found = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()
        except (OSError, subprocess.CalledProcessError) as error:
            stop(f"device=gpu: nvidia-smi names no GPU ({error}); run this where there is one, or with device=cpu")
        return f"{len(found)} x {found[0]}"
    name = platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as about:
            named = re.search(r"model name\s*: (.*)", about.read())
        name = named[1] if named else name
    return f"{os.cpu_count()} cores of {name}"


class Table:
    """A chapter's table: rows of other groups and devices stay, those that are measured again go."""

    def __init__(self, path, groups, device, head):
        self.path, self.heads, self.rows = path, [], []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as table:
                lines = table.read().splitlines()
            self.heads = [line for line in lines if line.startswith("# by ")]
            self.rows = [line for line in lines if line and line[0] != "#" and not (line.split()[0] in groups and line.split()[7] == device)]
        self.heads.append(head)

    def add(self, row):
        """Written after every case, so that a long table survives an interruption."""
        self.rows.append(row)
        print(row, flush=True)
        with open(self.path, "w", encoding="utf-8") as table:
            table.write("\n".join([*self.heads, COLUMNS, *self.rows]) + "\n")


def measure(paper, cases, device, program, repeat, table):
    """Runs the cases of a paper and adds their rows."""
    with tempfile.TemporaryDirectory() as folder:
        before = None
        for case in cases:
            group, name, grid, frame, steps, count, _ = case
            if before != (grid, frame):
                model(folder, paper, grid, frame)
                before = (grid, frame)
            times = [timed(program, folder, case, device) for _ in range(repeat)]
            loop, whole = (min(column) for column in zip(*times))
            table.add(f"{group} {name} {grid[0]} {grid[1]} {grid[2]} {frame} {steps} {device} {count} {loop:.6g} {whole:.6g}")


def main():
    words = dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
    wanted = list(PAPERS) if sys.argv[1:2] == ["all"] else sys.argv[1:2]
    if not wanted or wanted[0] not in PAPERS or len(words) != len(sys.argv) - 2 or not set(words) <= WORDS:
        stop(f"say which paper ({', '.join(PAPERS)} or all), then key=value words ({', '.join(sorted(WORDS))}); the head of this file explains them")
    device = words.get("device", "cpu")
    program = os.path.abspath(os.path.join(words.get("bin", os.path.join(HERE, "..", "..", "build", "bin")), "sfvsfd3d-gpu"))
    if device not in ("cpu", "gpu") or not os.access(program, os.X_OK):
        stop(f"device={device} with {program}: devices are cpu and gpu, and bin= must hold the program")
    counts = [int(count) for count in words.get("counts", "1").split(",")]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    told = [f"{key}={words[key]}" for key in ("device", "counts", "groups", "repeat") if key in words]
    left = set(words["groups"].split(",")) if "groups" in words else set()
    for paper in wanted:
        cases = list(PAPERS[paper](device, counts))
        known = {case[0] for case in cases}
        groups = known & set(words["groups"].split(",")) if "groups" in words else known
        left -= known
        head = f"# by measure.py {' '.join([paper, *told])}; {machine(device)}; {version}; {time.strftime('%Y-%m-%d')}"
        where = words.get("out") or os.path.join(HERE, paper, "runtimes")
        path = os.path.join(where, f"{paper}-results-{device}.txt" if "out" in words else f"results-{device}.txt")
        if groups:
            table = Table(path, groups, device, head)
            measure(paper, [case for case in cases if case[0] in groups], device, program, int(words.get("repeat", 1)), table)
    if left:
        stop(f"groups={','.join(sorted(left))}: there are no such tables in {', '.join(wanted)}")


if __name__ == "__main__":
    main()
