"""The chapter's second table: the misfits of three time steps to exact time, without and with tdc=y."""
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 2, "flows", "pages"))
import page_table

HEAD = "| time step | steps | misfit | misfit with tdc=y |"
STEPS = (5, 20, 40)  # tenths of a millisecond
WHOLE = 22000  # of the run


def main():
    traces = {(kind, step): page_table.numbers(f"{kind}{step}.out") for kind in ("early", "exact") for step in STEPS}
    finest = traces["exact", 5]
    size = max(abs(a) for a in finest)

    def misfit(kind, step):
        off = max(abs(a - b) for a, b in zip(traces[kind, step], finest))
        return "" if off == 0 else f"{page_table.digits(100 * off / size, 2)} %"

    rows = [[f"{step / 10:g} ms", str(WHOLE // step), misfit("early", step), misfit("exact", step)] for step in STEPS]
    page_table.main(page_table.lines_of(HEAD, rows))


if __name__ == "__main__":
    main()
