"""GFLOP/s by the paper's count: python3 table.py prints them and reports where README.md has others, python3 table.py write puts them there.

The rates come from the group `scaling` of results-cpu.txt and results-gpu.txt: viscoelastic, sponge, free surface, steps only.
"""
import math
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 3, "flows", "pages"))
import page_table

FLOPS = 307
SIZES = ((128, 128, 128), (128, 128, 256), (128, 256, 256), (256, 256, 256), (128, 128, 960))
# GFLOP/s on an M2090 by the paper's table 2, before tuning, and by its text, after tuning
PAPER = {(128, 128, 128): "80.5", (128, 128, 256): "64.4", (128, 256, 256): "64.4", (256, 256, 256): "59.9", (128, 128, 960): "143.8 (tuned)"}
HEAD = "| grid | CPU core, Mpt/s | GFLOP/s | GPU, Gpt/s | GFLOP/s | paper, M2090, GFLOP/s |"


def rates(device):
    """Points per second of one core or GPU by grid."""
    found = {}
    for row in page_table.results(f"results-{device}.txt"):
        if row[0] == "scaling" and row[8] == "1":
            size = tuple(int(n) for n in row[2:5])
            found[size] = math.prod(size) * int(row[6]) / float(row[9])
    return found


def table():
    """The table, as lines of a page."""
    cpu, gpu = rates("cpu"), rates("gpu")
    rows = []
    for size in SIZES:
        cells = [" x ".join(str(n) for n in size)]
        cells += [f"{cpu[size] / 1e6:.1f}", f"{FLOPS * cpu[size] / 1e9:.1f}"] if size in cpu else ["", ""]
        cells += [f"{gpu[size] / 1e9:.2f}", f"{FLOPS * gpu[size] / 1e9:.0f}"] if size in gpu else ["", ""]
        rows.append([*cells, PAPER[size]])
    return page_table.lines_of(HEAD, rows)


if __name__ == "__main__":
    page_table.main(table())
