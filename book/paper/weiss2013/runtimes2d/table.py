"""Run times of squares, from results-*.txt of this folder: whole programs, extrapolated to 1000 steps where fewer were run."""
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 3, "flows", "pages"))
import page_table

HEAD = "| N | 8 cores | 1 GPU | 2 GPUs | 8 cores over 1 GPU |"


def main():
    times = {}
    for row in page_table.results("results-cpu.txt") + page_table.results("results-gpu.txt"):
        steps, loop, whole = int(row[6]), float(row[9]), float(row[10])
        times[int(row[4]), row[7], int(row[8])] = whole + loop * (1000 / steps - 1)
    rows = []
    for n in sorted({key[0] for key in times}):
        cells = [times.get((n, *which)) for which in (("cpu", 8), ("gpu", 1), ("gpu", 2))]
        ratio = page_table.digits(cells[0] / cells[1], 2) if cells[0] and cells[1] else ""
        rows.append([str(n), *("" if cell is None else f"{page_table.digits(cell)} s" for cell in cells), ratio])
    page_table.main(page_table.lines_of(HEAD, rows))


if __name__ == "__main__":
    main()
