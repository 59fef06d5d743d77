"""Element-steps per second of boxes, from results-*.txt of this folder."""
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 3, "flows", "pages"))
import page_table

HEAD = "| run | elements | on | million element-steps per second | time per step |"
NAMES = {"cpu": "core", "gpu": "GPU"}


def main():
    rows = []
    for row in [row for name in ("cpu", "gpu") for row in page_table.results(f"results-{name}.txt")]:
        group, case, (nx, ny, nz), steps, count = row[0], row[1], map(int, row[2:5]), int(row[6]), int(row[8])
        step = float(row[9]) / steps
        run = f"{group}, {case.replace('_', ' ')}" if group == "exchange" else group
        machine = f"{count} {NAMES[row[7]]}{'s' if count > 1 else ''}"
        speed = page_table.digits(nx * ny * nz / step / 1e6)
        rows.append([run, f"{nx} x {ny} x {nz}", machine, speed, f"{page_table.digits(1e3 * step)} ms"])
    page_table.main(page_table.lines_of(HEAD, rows))


if __name__ == "__main__":
    main()
