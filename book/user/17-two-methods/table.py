"""The chapter's table: the difference of finite differences and spectral elements, which must not exceed 2 %."""
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 2, "flows", "pages"))
import page_table

HEAD = "| cells | per shortest S wavelength | largest difference | at the worst receiver | the same before 1.6 s |"
SAMPLES, COMPONENTS, RECEIVERS = 390, 3, 41
EARLY = 312  # number of samples before 1.6 s: they are 5 ms apart and begin at 0.04 s
# Cells (m), and their number per shortest S wavelength: 1000 m/s divided by 7.37 Hz, the highest frequency of the wavelet
CELLS = {20: "6.8", 12: "11.3"}
MOST = 2.0  # percent, at any receiver, for the smallest cells


def largest(path, samples=SAMPLES):
    """The largest value of any component at each receiver, among its first samples."""
    values, each = page_table.numbers(path), SAMPLES * COMPONENTS
    if len(values) != each * RECEIVERS:
        sys.exit(f"table.py: {path} has {len(values)} numbers, {each * RECEIVERS} are needed")
    lines = [[values[(k * COMPONENTS + c) * SAMPLES :][:samples] for c in range(COMPONENTS)] for k in range(RECEIVERS)]
    return [max(abs(value) for line in receiver for value in line) for receiver in lines]


def main():
    velocities, rows = largest("sem-times.out"), []
    for cells, points in CELLS.items():
        apart, early = (largest(f"apart{cells}.out", samples) for samples in (SAMPLES, EARLY))
        whole = 100 * max(apart) / max(velocities)
        worst, before = (max(100 * a / v for a, v in zip(values, velocities)) for values in (apart, early))
        rows.append([f"{cells} m", points, f"{whole:.1f} %", f"{worst:.1f} %", f"{before:.1f} %"])
    if worst > MOST:
        words = f"table.py: with cells of {cells} m the methods are {worst:.2f} % apart at a receiver; at most {MOST} % are allowed"
        if sys.argv[1:] == ["check"]:
            sys.exit(words)
        sys.stderr.write(words + "\n")
    page_table.main(page_table.lines_of(HEAD, rows))


if __name__ == "__main__":
    main()
