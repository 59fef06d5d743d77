"""Writes a mesh with its elements in the opposite order. The mesh is the same, but its points add their forces in another order.

    python3 backwards.py MESH BASE > mesh.rsf

BASE-regions.rsf, BASE-absorbing.rsf and BASE-free.rsf are written next to it; nodes and materials remain those of MESH.
"""
import array
import os
import re
import sys


def integers(header):
    """The text of a header, the number of integers in a record, and the integers after it."""
    with open(header, "rb") as file:
        text, _, inside = file.read().partition(b"\x0c\x0c\x04")
    text = text.decode(errors="replace")
    place = re.findall(r'\bin="?([^"\s]+)', text)[-1]
    found = array.array("i")
    if place != "stdin":
        with open(place, "rb") as data:
            inside = data.read()
    found.frombytes(inside)
    return text, int(re.findall(r"\bn1=(\d+)", text)[-1]), found


def write(name, numbers, n1, more=""):
    """Writes an RSF file of integers with its data after the header."""
    head = f'n1={n1} n2={len(numbers) // n1} esize=4 data_format="native_int" in="stdin"\n{more}'
    with open(name, "wb") if name else sys.stdout.buffer as file:
        file.write(head.encode() + b"\x0c\x0c\x04" + numbers.tobytes())


def main():
    mesh, base = sys.argv[1:3]
    text, nodes_each, elements = integers(mesh)
    count = len(elements) // nodes_each
    turned = array.array("i")
    for k in reversed(range(count)):
        turned.extend(elements[k * nodes_each : (k + 1) * nodes_each])
    other = dict(re.findall(r'\b(nodes|regions|materials|absorbing|free|radius)="?([^"\s]+)', text))
    folder = os.path.dirname(mesh)
    for name in ("regions", "absorbing", "free"):
        _, wide, numbers = integers(os.path.join(folder, other[name]))
        if name == "regions":
            numbers.reverse()
        else:
            for k in range(0, len(numbers), wide):
                numbers[k] = count - 1 - numbers[k]
        other[name] = f"{base}-{name}.rsf"
        write(other[name], numbers, wide if name != "regions" else 1)
    write(None, turned, nodes_each, "".join(f'{name}="{value}"\n' for name, value in other.items()))


if __name__ == "__main__":
    main()
