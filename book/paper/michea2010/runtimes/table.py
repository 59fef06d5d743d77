"""Table 2, measured again: python3 table.py prints it and reports where README.md differs, python3 table.py write puts it there.

The numbers come from results-cpu.txt and results-gpu.txt, next to the paper's numbers. Runs of fewer than 1000 steps are extrapolated to
1000: the time of the steps grows, and the time for files remains the same.
"""
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 3, "flows", "pages"))
import page_table

# Seconds that the paper measured: one core (for the large grid by gcc and by icc), one GPU
PAPER = {
    ("384", 0): ("3840", "100", "38"), ("384", 10): ("6656", "177", "38"), ("384", 16): ("8320", "162", "51"),
    ("540", 0): ("20941, 10475", "360", "58, 29"), ("540", 10): ("42023, 13326", "770", "55, 17"), ("540", 16): ("", "", ""),
}
HEAD = "| grid | layers | CPU core, s | GPU, s | times | paper: CPU core, s | GPU, s | times |"


def seconds(device):
    """Seconds of 1000 steps by grid and layers."""
    found = {}
    for row in page_table.results(f"results-{device}.txt"):
        if row[0] in ("table2", "large"):
            loop, whole = float(row[9]), float(row[10])
            found[row[2], int(row[5])] = whole - loop + loop * 1000 / int(row[6])
    return found


def table():
    """The table, as lines of a page."""
    cpu, gpu = seconds("cpu"), seconds("gpu")
    rows = []
    for key, paper in PAPER.items():
        grid = {"384": "384 x 328 x 52", "540": "540 x 484 x 189"}[key[0]]
        mine = [f"{cpu[key]:.0f}" if key in cpu else "", f"{gpu[key]:.2f}" if key in gpu else "",
                f"{cpu[key] / gpu[key]:.0f}" if key in cpu and key in gpu else ""]
        rows.append([grid, str(key[1]), *mine, *paper])
    return page_table.lines_of(HEAD, rows)


if __name__ == "__main__":
    page_table.main(table())
