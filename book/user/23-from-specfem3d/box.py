"""Writes the files of a small run of SPECFEM3D Cartesian for the commands of the chapter: python3 box.py

The folder MESH receives the files that Cubit writes for the decomposer: a box of 8 x 8 x 6 elements of about 500 m below a hill, with two rocks,
a free top and absorbing sides. CMTSOLUTION and STATIONS are next to it. Only Python's standard library is needed.
"""
import math
import os

ELEMENTS = (8, 8, 6)
SIZE = 500.0
# Number of rows of elements, from the bottom, with the first material.
BELOW = 3
# Domain (2 is elastic), material, density (kg/m3), vp and vs (m/s), Q_kappa, Q_mu, anisotropy. No element has the third material.
MATERIALS = """2 1 2600 5000 2800 9999. 200. 0
2 2 2300 2900 1600 9999. 100. 0
2 3 2000 2000 1000 9999. 50. 0
"""
CMTSOLUTION = """PDE 2026 3 4 5 6 7.5 2000 1600 1.2 4 4 SMALL
event name: SMALL
time shift: 0
half duration: 0.5
latorUTM: 2000
longorUTM: 1600
depth: 1.2
Mrr: 1e21
Mtt: -1e21
Mpp: 0
Mrt: 0
Mrp: 0
Mtp: 2e21
"""
# Name, network, y, x, elevation, burial (m): positions count from the ground, so no elevation is needed.
STATIONS = """NEAR XX 2000 1900 0 0
NORTH XX 3300 1600 0 0
EAST XX 2000 3300 0 0
FAR XX 700 3400 0 0
"""
# The corners of an element in SPECFEM3D's order, as steps along x, y and z (upwards).
CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
# The files of the sides, each with the axis across the side and its end.
SIDES = [
    ("absorbing_surface_file_xmin", 0, 0),
    ("absorbing_surface_file_xmax", 0, 1),
    ("absorbing_surface_file_ymin", 1, 0),
    ("absorbing_surface_file_ymax", 1, 1),
    ("absorbing_surface_file_bottom", 2, 0),
    ("free_or_absorbing_surface_file_zmax", 2, 1),
]


def ground(x, y):
    """Height of the hill, m."""
    return 200 * math.exp(-((x - 2000) ** 2 + (y - 2000) ** 2) / 900**2)


def place(i, j, k):
    """A node with z upwards; the rows above the lower rock rise with the hill."""
    x, y, z = i * SIZE, j * SIZE, (k - ELEMENTS[2]) * SIZE
    return x, y, z + ground(x, y) * max(0, k - BELOW) / (ELEMENTS[2] - BELOW)


def number(i, j, k):
    """The number of a node, counted from 1."""
    return 1 + i + (ELEMENTS[0] + 1) * (j + (ELEMENTS[1] + 1) * k)


def put(name, text):
    with open(name, "w", encoding="ascii") as file:
        file.write(text)


def main():
    nx, ny, nz = ELEMENTS
    nodes = [place(i, j, k) for k in range(nz + 1) for j in range(ny + 1) for i in range(nx + 1)]
    elements = [(i, j, k) for k in range(nz) for j in range(ny) for i in range(nx)]
    corners = [[number(i + a, j + b, k + c) for a, b, c in CORNERS] for i, j, k in elements]
    os.makedirs("MESH", exist_ok=True)
    rows = "".join(f"{n} {x:.3f} {y:.3f} {z:.3f}\n" for n, (x, y, z) in enumerate(nodes, 1))
    put("MESH/nodes_coords_file", f"{len(nodes)}\n{rows}")
    rows = "".join(f"{n} {' '.join(map(str, own))}\n" for n, own in enumerate(corners, 1))
    put("MESH/mesh_file", f"{len(elements)}\n{rows}")
    put("MESH/materials_file", "".join(f"{n} {1 if k < BELOW else 2}\n" for n, (_, _, k) in enumerate(elements, 1)))
    put("MESH/nummaterial_velocity_file", MATERIALS)
    for name, axis, end in SIDES:
        at_side = [n for n, own in enumerate(elements) if own[axis] == (ELEMENTS[axis] - 1 if end else 0)]
        face = [c for c, corner in enumerate(CORNERS) if corner[axis] == end]
        # Corners must follow each other around the face: the last two of the element's order are exchanged, except at the bottom and the top.
        face = face if axis == 2 else [face[0], face[1], face[3], face[2]]
        rows = "".join(f"{n + 1} {' '.join(str(corners[n][c]) for c in face)}\n" for n in at_side)
        put(f"MESH/{name}", f"{len(at_side)}\n{rows}")
    put("CMTSOLUTION", CMTSOLUTION)
    put("STATIONS", STATIONS)


if __name__ == "__main__":
    main()
