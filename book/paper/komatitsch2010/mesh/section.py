"""Draws a mesh of the Earth as an image: edges of elements on a side of the chunk, or the surface with slices.

    python3 section.py side MESH DEGREES PIXELS > image.rsf
    python3 section.py slices MESH DEGREES PIXELS SLICES > image.rsf

The chunk lies about 0 N 0 E. `slices` colours the elements of the surface: 1 inside a slice, 2 where they touch another slice.
"""
import array
import math
import os
import re
import sys

FACES = ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))


def numbers(header, kind):
    """The numbers behind a header, and its text."""
    with open(header, "rb") as file:
        whole = file.read()
    text, _, inside = whole.partition(b"\x0c\x0c\x04")
    text = text.decode(errors="replace")
    place = re.findall(r'\bin="?([^"\s]+)', text)[-1]
    found = array.array(kind)
    if place == "stdin":
        found.frombytes(inside)
    else:
        with open(place, "rb") as data:
            found.frombytes(data.read())
    return text, found


def line(image, wide, high, a, b):
    """Darkens the pixels between two points."""
    steps = int(max(abs(b[0] - a[0]), abs(b[1] - a[1]))) + 1
    for k in range(steps + 1):
        x = round(a[0] + (b[0] - a[0]) * k / steps)
        y = round(a[1] + (b[1] - a[1]) * k / steps)
        if 0 <= x < wide and 0 <= y < high:
            image[x * high + y] = 1.0


def side(elements, nodes, degrees, pixels):
    """The side to the south: horizontally along the great circle, vertically away from the centre."""
    slope = -math.tan(math.radians(degrees / 2))
    reach = 6.371e6 * math.sin(math.radians(degrees / 2))
    low = 3.3e6 * math.cos(math.radians(degrees / 2))
    scale = (pixels - 3) / (2 * reach)
    high = int((6.4e6 - low) * scale)
    image = array.array("f", bytes(4 * pixels * high))
    on = [abs(nodes[3 * k + 2] - slope * nodes[3 * k]) < 100 for k in range(len(nodes) // 3)]
    count = 0

    def place(k):
        x, y, z = nodes[3 * k : 3 * k + 3]
        return (y + reach) * scale + 1, (6.4e6 - math.hypot(x, z)) * scale

    for first in range(0, len(elements), 27):
        corners = elements[first : first + 8]
        if sum(on[k] for k in corners) < 4:
            continue
        for face in FACES:
            loop = [corners[k] for k in face]
            if all(on[k] for k in loop):
                count += 1
                for a, b in zip(loop, loop[1:] + loop[:1]):
                    line(image, pixels, high, place(a), place(b))
    sys.stderr.write(f"{count} faces on the side\n")
    return image, pixels, high


def slices(elements, nodes, degrees, pixels, parts):
    """The surface in equal angles; tells how many of all elements touch another slice."""
    image = array.array("f", bytes(4 * pixels * pixels))
    half = degrees / 2
    outer = total = 0
    for first in range(0, len(elements), 27):
        spans = []
        top = True
        for axis in (1, 2):
            angles = []
            for k in elements[first : first + 8]:
                x = nodes[3 * k]
                angles.append((math.degrees(math.atan(nodes[3 * k + axis] / x)) + half) / degrees)
                top = top and sum(c * c for c in nodes[3 * k : 3 * k + 3]) > 6.35e6**2
            spans.append((min(angles), max(angles)))
        edge = 1e-4
        borders = [k / parts for k in range(1, parts)]
        touches = any(abs(end - border) < edge for span in spans for end in span for border in borders)
        total += 1
        outer += touches
        if top:
            (a, b), (c, d) = spans
            value = 2.0 if touches else 1.0
            for x in range(math.ceil(a * pixels), min(pixels, math.ceil(b * pixels) - 1)):
                for y in range(math.ceil(c * pixels), min(pixels, math.ceil(d * pixels) - 1)):
                    image[x * pixels + y] = value
    sys.stderr.write(f"{outer} of {total} elements touch another slice, {100 * outer / total:.1f} %\n")
    return image, pixels, pixels


def main():
    what, mesh, degrees, pixels = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    text, elements = numbers(mesh, "i")
    named = re.findall(r'\bnodes="?([^"\s]+)', text)[-1]
    beside = os.path.join(os.path.dirname(mesh), named)
    _, nodes = numbers(named if os.path.exists(named) else beside, "f")
    if what == "side":
        image, wide, high = side(elements, nodes, degrees, pixels)
    else:
        image, wide, high = slices(elements, nodes, degrees, pixels, int(sys.argv[5]))
    head = f'n1={high} n2={wide} esize=4 data_format="native_float" in="stdin"\n'
    sys.stdout.buffer.write(head.encode() + b"\x0c\x0c\x04" + image.tobytes())


if __name__ == "__main__":
    main()
