"""The chapter's table: the time of the largest displacement on four grids, and the misfit of each to the finest."""
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 2, "flows", "pages"))
import page_table

HEAD = "| dx | points per wavelength at the peak | largest displacement at | misfit to dx = 5 m |"
SPACINGS = (5, 10, 20, 25)
FIRST, STEP = 1.3, 0.0005  # of the traces, s
SPEED, FREQUENCY = 1000, 10  # S in m/s, and its peak in Hz


def peak(trace):
    """Time of the largest displacement, by a parabola through the samples around it."""
    k = max(range(1, len(trace) - 1), key=lambda i: abs(trace[i]))
    a, b, c = trace[k - 1 : k + 2]
    return FIRST + STEP * (k + 0.5 * (a - c) / (a - 2 * b + c))


def main():
    traces = {dx: page_table.numbers(f"dx{dx}.out") for dx in SPACINGS}
    finest, rows = traces[5], []
    for dx, trace in traces.items():
        misfit = 100 * max(abs(a - b) for a, b in zip(trace, finest)) / max(abs(a) for a in finest)
        rows.append([f"{dx} m", f"{SPEED / FREQUENCY / dx:.0f}", f"{peak(trace):.4f} s", f"{misfit:.1f} %" if dx > 5 else ""])
    page_table.main(page_table.lines_of(HEAD, rows))


if __name__ == "__main__":
    main()
