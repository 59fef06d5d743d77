"""GFLOP/s by the paper's count: python3 table.py prints them and fails where README.md has others; python3 table.py write puts them there.

The rates are those of the group `scaling` of results-cpu.txt and results-gpu.txt: viscoelastic, sponge, free surface, steps only.
"""
import math
import os
import sys

FLOPS = 307
SIZES = ((128, 128, 128), (128, 128, 256), (128, 256, 256), (256, 256, 256), (128, 128, 960))
# Seconds a step on an M2090: before tuning (its table 2), and after
PAPER = {(128, 128, 128): "80.5", (128, 128, 256): "64.4", (128, 256, 256): "64.4", (256, 256, 256): "59.9", (128, 128, 960): "143.8 (tuned)"}
HEAD = "| grid | CPU core, Mpt/s | GFLOP/s | GPU, Gpt/s | GFLOP/s | paper, M2090, GFLOP/s |"


def rates(device):
    """Points a second of one core or GPU by grid."""
    found = {}
    if os.path.exists(f"results-{device}.txt"):
        for line in open(f"results-{device}.txt", encoding="utf-8"):
            row = line.split()
            if row and row[0] == "scaling" and row[8] == "1":
                size = tuple(int(n) for n in row[2:5])
                found[size] = math.prod(size) * int(row[6]) / float(row[9])
    return found


def table():
    """The table, as lines of a page."""
    cpu, gpu = rates("cpu"), rates("gpu")
    lines = [HEAD, "|" + " --- |" * 6]
    for size in SIZES:
        cells = [" x ".join(str(n) for n in size)]
        cells += [f"{cpu[size] / 1e6:.1f}", f"{FLOPS * cpu[size] / 1e9:.1f}"] if size in cpu else ["", ""]
        cells += [f"{gpu[size] / 1e9:.2f}", f"{FLOPS * gpu[size] / 1e9:.0f}"] if size in gpu else ["", ""]
        lines.append("| " + " | ".join([*cells, PAPER[size]]) + " |")
    return lines


def main():
    page = open("README.md", encoding="utf-8").read().splitlines()
    start = page.index(HEAD)
    end = next(i for i in range(start, len(page) + 1) if i == len(page) or not page[i].startswith("|"))
    if sys.argv[1:] == ["write"]:
        page[start:end] = table()
        open("README.md", "w", encoding="utf-8").write("\n".join(page) + "\n")
    elif page[start:end] != table():
        sys.exit("table.py: README.md has other numbers than results-*.txt; run python3 table.py write in its folder")
    print("\n".join(table()))


if __name__ == "__main__":
    main()
