"""The chapter's table: picks of the reflection, and three moveouts."""
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 2, "flows", "pages"))
import page_table

HEAD = "| offset | picked peak | with vp | with vnmo | with eta | picked minus eta |"
OFFSETS = (0.0, 0.5, 1.0, 1.5, 2.2)  # km, one receiver every 0.02
STEP, AROUND = 0.002, 25  # s, and samples on either side of the third curve among which a peak is picked


def picked(trace, time):
    """Time of the largest displacement around a time, by a parabola through the samples around it."""
    near = round(time / STEP)
    k = max(range(near - AROUND, near + AROUND), key=lambda i: abs(trace[i]))
    a, b, c = trace[k - 1 : k + 2]
    return STEP * (k + 0.5 * (a - c) / (a - 2 * b + c))


def main():
    curves, rows = [page_table.numbers(f"moveout{number}.out") for number in range(3)], []
    for offset in OFFSETS:
        times = [curve[round(offset / 0.02)] for curve in curves]
        pick = picked(page_table.numbers(f"trace{round(1000 * offset)}.out"), times[2])
        rows.append([f"{offset} km", f"{pick:.3f} s", *(f"{time:.3f}" for time in times), f"{1000 * (pick - times[2]):.0f} ms"])
    page_table.main(page_table.lines_of(HEAD, rows))


if __name__ == "__main__":
    main()
