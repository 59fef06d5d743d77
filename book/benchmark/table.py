"""Seconds to 1 % and to 0.1 %: python3 table.py prints them and reports where README.md has others, python3 table.py write puts them there.

The misfits come from results-cpu.txt and results-gpu.txt, which run.py writes. Between two resolutions the logarithm of
the seconds is linear in the logarithm of the misfit.
"""
import math
import os
import sys

# The folder of page_table.py in the book, also through the links of the build folder; for a copy of the chapter rsf.proj provides it
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), os.pardir, "flows", "pages"))
import page_table

METHODS = ("vs4", "vs8", "vs8-half", "vs-error", "displacement", "elements4", "elements8", "deepwave8", "devito8")
GOALS = (0.01, 0.001)
HEAD = "| machine | case | " + " | ".join(METHODS) + " |"


def measured(device):
    """{case: {method: [(seconds, joules, misfit), ...]}} of a device, in the order of the file."""
    found = {}
    for row in page_table.results(f"results-{device}.txt"):
        found.setdefault(row[0], {}).setdefault(row[1], []).append((float(row[7]), float(row[8]), float(row[9])))
    return found


def cost(points, goal, column=0):
    """(sign, seconds or joules) to a misfit; the sign is `<` if the coarsest run is accurate enough. None if no run is."""
    points = sorted((point for point in points if not math.isnan(point[2])), key=lambda point: point[0])
    best = None
    for point in points:
        if point[2] <= goal:
            if best is None:
                return "<", point[column]
            share = math.log(goal / best[2]) / math.log(point[2] / best[2])
            return "", best[column] * (point[column] / best[column]) ** share
        if best is None or point[2] < best[2]:
            best = point
    return None


def cells(methods, column):
    """A cell for each method: to 1 % / to 0.1 %, the smallest ones in bold type."""
    costs = {name: [cost(methods.get(name, []), goal, column) for goal in GOALS] for name in METHODS}
    least = [min((pair[k][1] for pair in costs.values() if pair[k]), default=None) for k in range(len(GOALS))]

    def text(found, smallest):
        if found is None:
            return "-"
        words = found[0] + page_table.digits(found[1], 2)
        return f"**{words}**" if found[1] == smallest else words

    return [" / ".join(map(text, costs[name], least)) if name in methods else "" for name in METHODS]


def table():
    """The table, as lines of a page."""
    rows = []
    for device, unit, column in (("cpu", "one core, s", 0), ("gpu", "GPU, s", 0), ("gpu", "GPU, J", 1)):
        for case, methods in measured(device).items():
            rows.append([unit, case, *cells(methods, column)])
    return page_table.lines_of(HEAD, rows)


if __name__ == "__main__":
    page_table.main(table())
