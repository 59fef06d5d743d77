"""Says what lies in RSF and PNG files: python3 report.py FILE..."""
import os
import re
import sys


def keys(path):
    """The keys of an RSF header; the last one of a name counts."""
    with open(path, encoding="utf-8", errors="replace") as header:
        return {key: value.strip('"') for key, value in re.findall(r'(\w+)=("[^"\n]*"|\S*)', header.read())}


def axis(found, i):
    n, o, d = int(found[f"n{i}"]), float(found.get(f"o{i}", 0)), float(found.get(f"d{i}", 1))
    label = found.get(f"label{i}") or f"axis {i}"
    unit = found.get(f"unit{i}", "")
    return f"{label}: {n} from {o:g} by {d:g} {unit}".strip()


def line(path):
    size = f"{os.path.abspath(path)}"
    if not path.endswith(".rsf"):
        return f"  {size}"
    found = keys(path)
    rank = max(i for i in range(1, 10) if i == 1 or int(found.get(f"n{i}", 1)) > 1)
    axes = ", ".join(axis(found, i) for i in range(1, rank + 1))
    return f"  {size}\n      {axes} ({os.path.getsize(found['in']) / 1e6:.1f} MB)"


for kind, title in ((".rsf", "datasets"), (".png", "pictures")):
    print(title)
    for path in sys.argv[1:]:
        if path.endswith(kind):
            print(line(path))
