"""Run times of cubes, from results-*.txt of this folder and as published by the authors of the paper: whole programs, 1000 steps, isotropic.

The paper's numbers come from its figure 11, in book/uwa/geo2013ElasticModellingGPU/test3d/SConstruct of Madagascar.
"""
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 3, "flows", "pages"))
import page_table

HEAD = "| N | 8 cores | 1 GPU | 2 GPUs, P2P | 2 GPUs, MPI | paper: 8 cores | 1 GPU | 2 GPUs, P2P | 2 GPUs, MPI |"
PAPER = {
    128: ("159.6", "14.22", "11.26", "12.79"),
    152: ("236", "21.18", "15.92", "17.93"),
    176: ("360.2", "29.29", "21.28", "24.21"),
    200: ("521.6", "41.1", "28.9", "33.06"),
    224: ("787.5", "53.01", "36.65", "42.28"),
    248: ("1098", "", "45.27", "49.72"),
    272: ("1490", "", "58.26", "63.26"),
    296: ("1926", "", "68.95", "79.16"),
}
OURS = (("cubes", "cpu", 8), ("cubes", "gpu", 1), ("cubes", "gpu", 2), ("ranks", "gpu", 2))


def main():
    times = {}
    for row in page_table.results("results-cpu.txt") + page_table.results("results-gpu.txt"):
        steps, loop, whole = int(row[6]), float(row[9]), float(row[10])
        times[int(row[4]), row[0], row[7], int(row[8])] = whole + loop * (1000 / steps - 1)
    rows = []
    for n, paper in PAPER.items():
        cells = [times.get((n, *which)) for which in OURS]
        texts = ["" if cell is None else page_table.digits(cell) for cell in cells] + list(paper)
        rows.append([str(n), *(text and text + " s" for text in texts)])
    page_table.main(page_table.lines_of(HEAD, rows))


if __name__ == "__main__":
    main()
