"""The chapter's table: the echoes of four frames, relative to a model so large that no echo returns."""
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 2, "flows", "pages"))
import page_table

HEAD = "| frame | largest echo over the largest displacement | norm of the echo over the norm of the trace |"
FRAMES = {"rigid": "dabc=n", "thin": "dabc=y nb=12", "usual": "dabc=y nb=48", "wide": "dabc=y nb=100"}


def largest(trace):
    return max(abs(sample) for sample in trace)


def norm(trace):
    return sum(sample * sample for sample in trace) ** 0.5


def main():
    wave, rows = page_table.numbers("none-trace.out"), []
    for name, words in FRAMES.items():
        echo = page_table.numbers(f"{name}-echo.out")
        shares = [100 * size(echo) / size(wave) for size in (largest, norm)]
        rows.append([f"`{words}`", *(f"{share:.{0 if share > 10 else 1}f} %" for share in shares)])
    page_table.main(page_table.lines_of(HEAD, rows))


if __name__ == "__main__":
    main()
