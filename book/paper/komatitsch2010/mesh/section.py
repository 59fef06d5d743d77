"""Draws a mesh of the Earth as an image.

    python3 section.py side MESH DEGREES PIXELS > image.rsf
    python3 section.py slices|outer|colours|order MESH DEGREES PIXELS SLICES > image.rsf

The chunk is centred on 0 N 0 E. `side` draws the edges of elements on the side to the south. All others are views from above the
edge between two sides, with the faces of elements in colours: for `slices` by SLICES x SLICES slices; for `outer` 1 if an
element touches another slice, else -0.6; for `colours` by numbers that differ between elements with a point in common;
for `order` by the numbers of the elements. All but `slices` omit the nearest slice, so that the three slices around it are
visible from inside.
"""
import array
import math
import os
import re
import sys

FACES = ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))
# Numbers of points of degree 4 at a corner and within an edge, a face and an element, for the 27 nodes: 8 corners, 12 on edges, 6 on faces, 1 inside.
POINTS = (1,) * 8 + (3,) * 12 + (9,) * 6 + (27,)


def numbers(header, kind):
    """The numbers after a header, and its text."""
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


def line(image, wide, high, a, b, value):
    """Sets the pixels between two points to a value."""
    steps = int(max(abs(b[0] - a[0]), abs(b[1] - a[1]))) + 1
    for k in range(steps + 1):
        x = round(a[0] + (b[0] - a[0]) * k / steps)
        y = round(a[1] + (b[1] - a[1]) * k / steps)
        if 0 <= x < wide and 0 <= y < high:
            image[x * high + y] = value


def fill(image, wide, high, corners, value):
    """Sets the pixels of a convex polygon to a value."""
    left, right = (end(p[0] for p in corners) for end in (min, max))
    for x in range(max(0, math.ceil(left)), min(wide - 1, math.floor(right)) + 1):
        cut = []
        for a, b in zip(corners, corners[1:] + corners[:1]):
            if min(a[0], b[0]) <= x <= max(a[0], b[0]) and a[0] != b[0]:
                cut.append(a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]))
        if cut:
            for y in range(max(0, math.ceil(min(cut))), min(high - 1, math.floor(max(cut))) + 1):
                image[x * high + y] = value


def side(elements, nodes, degrees, pixels):
    """Draws the side to the south; the horizontal axis follows the great circle, and the vertical axis points away from the centre."""
    slope = -math.tan(math.radians(degrees / 2))
    reach = 6.371e6 * math.sin(math.radians(degrees / 2))
    low = 3.3e6 * math.cos(math.radians(degrees / 2))
    scale = (pixels - 3) / (2 * reach)
    high = int((6.4e6 - low) * scale)
    image = array.array("f", bytes(4 * pixels * high))
    on = [abs(nodes[3 * k + 2] - slope * nodes[3 * k]) < 100 for k in range(len(nodes) // 3)]

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
                for a, b in zip(loop, loop[1:] + loop[:1]):
                    line(image, pixels, high, place(a), place(b), 1.0)
    return image, pixels, high


class Slices:
    """The positions of nodes and elements among slices of equal angles.

    `at` consists of three arrays over the nodes: the radius divided by the Earth's radius, and two angles in widths of a slice.
    """

    def __init__(self, elements, nodes, degrees, parts):
        self.parts = parts
        self.degrees = degrees
        self.elements = elements
        self.nodes = nodes
        self.at = tuple(array.array("d") for _ in range(3))
        for x, y, z in zip(nodes[0::3], nodes[1::3], nodes[2::3]):
            self.at[0].append(math.sqrt(x * x + y * y + z * z) / 6.371e6)
            for angles, c in zip(self.at[1:], (y, z)):
                angles.append((math.degrees(math.atan(c / x)) / degrees + 0.5) * parts)
        self.count = len(elements) // 27
        self.outer = [self._touches(e) for e in range(self.count)]

    def corners(self, element):
        return self.elements[27 * element : 27 * element + 8]

    def slice_of(self, element):
        """The two indices of an element's slice."""
        middles = (sum(angles[k] for k in self.corners(element)) / 8 for angles in self.at[1:])
        return tuple(min(int(m), self.parts - 1) for m in middles)

    def _touches(self, element):
        """Whether a corner lies between two slices."""
        for k in self.corners(element):
            for angles in self.at[1:]:
                border = round(angles[k])
                if 0 < border < self.parts and abs(angles[k] - border) < 1e-3:
                    return True
        return False

    def colours(self):
        """The colours of elements: the lowest number that no element with a common point has yet, for outer and inner ones separately; and the number of colours."""
        colour = [0] * self.count
        most = []
        for outer in (True, False):
            taken = {}
            for element in range(self.count):
                if self.outer[element] == outer:
                    corners = self.corners(element)
                    used = 0
                    for k in corners:
                        used |= taken.get(k, 0)
                    free = ~used & (used + 1)
                    colour[element] = free.bit_length()
                    for k in corners:
                        taken[k] = taken.get(k, 0) | free
            most.append(max((c for c, o in zip(colour, self.outer) if o == outer), default=0))
        return colour, most

    def terms(self):
        """For each number of elements at a point, the number of such points at degree 4."""
        meet, points = (bytearray(len(self.at[0])) for _ in range(2))
        for place, node in enumerate(self.elements):
            meet[node] += 1
            points[node] = POINTS[place % 27]
        found = {}
        for count, number in zip(meet, points):
            found[count] = found.get(count, 0) + number
        return dict(sorted(found.items()))


def view(mesh, pixels, value, without):
    """The outer faces of all slices, or of the three around the slice `without`, seen from above the edge where both angles are largest."""
    end, inner = mesh.parts, without[0] if without else mesh.parts
    tilt = math.radians(35 - 0.22 * mesh.degrees)  # so that all sides that slant inwards are visible
    seen = []

    def place(k):
        x, y, z = (c / 6.371e6 for c in mesh.nodes[3 * k : 3 * k + 3])
        far, right = -(y + z) / math.sqrt(2), (z - y) / math.sqrt(2)
        # to the right, upwards, and away from the eye
        return right, far * math.sin(tilt) + x * math.cos(tilt), far * math.cos(tilt) - x * math.sin(tilt)

    def on_a_plane(loop):
        """Whether a face lies on the surface, on a side, or at the omitted slice."""
        if all(mesh.at[0][k] > 0.99999 for k in loop):
            return True
        planes = ((angles, p) for angles in mesh.at[1:] for p in {end, inner})
        return any(all(abs(angles[k] - p) < 1e-3 for k in loop) for angles, p in planes)

    for element in range(mesh.count):
        place_of = mesh.slice_of(element)
        if place_of == without or (without and min(place_of) < mesh.parts - 2):
            continue
        corners = mesh.corners(element)
        for face in FACES:
            loop = [corners[k] for k in face]
            if on_a_plane(loop):
                points = [place(k) for k in loop]
                seen.append((-sum(p[2] for p in points), value(element), points))
    seen.sort(key=lambda face: face[0])
    low, high = ([end(p[c] for _, _, points in seen for p in points) for c in (0, 1)] for end in (min, max))
    scale = (pixels - 9) / max(high[0] - low[0], high[1] - low[1])
    wide, tall = (int((b - a) * scale) + 9 for a, b in zip(low, high))
    image = array.array("f", bytes(4 * wide * tall))
    for _, colour, points in seen:
        flat = [((p[0] - low[0]) * scale + 4, (high[1] - p[1]) * scale + 4) for p in points]
        fill(image, wide, tall, flat, colour)
        for a, b in zip(flat, flat[1:] + flat[:1]):
            line(image, wide, tall, a, b, 0.0)
    return image, wide, tall


def drawn(what, mesh, pixels):
    """Draws a view, and prints numbers of elements and points on standard error."""
    nearest = (mesh.parts - 1, mesh.parts - 1)
    if what == "slices":
        return view(mesh, pixels, lambda e: 1.0 + sum(a * b for a, b in zip(mesh.slice_of(e), (1, 2))) % 4, None)
    if what == "outer":
        count = sum(mesh.outer)
        sys.stderr.write(f"{count} of {mesh.count} elements touch another slice, {100 * count / mesh.count:.1f} %\n")
        return view(mesh, pixels, lambda e: 1.0 if mesh.outer[e] else -0.6, nearest)
    if what == "colours":
        colour, most = mesh.colours()
        sys.stderr.write("%d colours for outer elements and %d for inner ones\n" % tuple(most))
        return view(mesh, pixels, lambda e: 4.0 + colour[e], nearest)
    terms = mesh.terms()
    told = ", ".join(f"{points} of {count}" for count, points in terms.items())
    sys.stderr.write(f"{sum(terms.values())} points, by the number of elements whose forces they add: {told}\n")
    return view(mesh, pixels, lambda e: 0.2 + 0.8 * (e + 1) / mesh.count, nearest)


def main():
    what, name, degrees, pixels = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    text, elements = numbers(name, "i")
    named = re.findall(r'\bnodes="?([^"\s]+)', text)[-1]
    beside = os.path.join(os.path.dirname(name), named)
    _, nodes = numbers(named if os.path.exists(named) else beside, "f")
    if what == "side":
        image, wide, high = side(elements, nodes, degrees, pixels)
    else:
        image, wide, high = drawn(what, Slices(elements, nodes, degrees, int(sys.argv[5])), pixels)
    head = f'n1={high} n2={wide} unit1=pixel unit2=pixel esize=4 data_format="native_float" in="stdin"\n'
    sys.stdout.buffer.write(head.encode() + b"\x0c\x0c\x04" + image.tobytes())


if __name__ == "__main__":
    main()
