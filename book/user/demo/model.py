"""Writes what a shot needs, as RSF files in the current folder: python3 model.py dim=2|3

The model is layered, tilted and anisotropic (VTI), with a stiff isotropic lens that dips. Units: km, s, km/s, g/cm3.
Nothing but Python's standard library is used; an RSF file is a text header and a file of float32 numbers.
"""
import math
import sys
from array import array

# vp, vs, density, epsilon, delta, gamma of three layers and the lens
LAYERS = [
    (2.0, 1.2, 2.0, 0.05, 0.03, 0.05),
    (2.5, 1.4, 2.2, 0.20, 0.10, 0.15),
    (3.0, 1.7, 2.4, 0.10, 0.05, 0.08),
]
LENS = (3.6, 2.1, 2.6, 0.0, 0.0, 0.0)
PROPERTIES = [("vp", "km/s"), ("vs", "km/s"), ("ro", "g/cm3"), ("eps", ""), ("del", ""), ("gam", "")]


def write(name, axes, values, unit=""):
    """axes: (n, o, d, label, unit) in RSF order, the first running fastest."""
    assert len(values) == math.prod(axis[0] for axis in axes), name
    with open(name, "w") as header:
        for i, (n, o, d, label, axis_unit) in enumerate(axes, start=1):
            header.write(f'n{i}={n} o{i}={o:g} d{i}={d:g} label{i}="{label}" unit{i}="{axis_unit}"\n')
        header.write(f'unit="{unit}" data_format="native_float" esize=4 in="./{name}@"\n')
    with open(name + "@", "wb") as data:
        array("f", values).tofile(data)


def material(z, x, y):
    """Index into LAYERS + [LENS] at fractions z, x, y (0 to 1) of the model."""
    dip = math.radians(20)
    along, across = x - 0.62, z - 0.58
    along, across = along * math.cos(dip) + across * math.sin(dip), across * math.cos(dip) - along * math.sin(dip)
    if (along / 0.24) ** 2 + (across / 0.09) ** 2 + ((y - 0.5) / 0.3) ** 2 < 1:
        return 3
    return (z > 0.30 + 0.08 * x) + (z > 0.72 - 0.10 * x)


def model(axes, tag):
    """One file a property; axes are z, x[, y]."""
    nz, nx = axes[0][0], axes[1][0]
    ny = axes[2][0] if len(axes) == 3 else 1
    at = lambda i, n: i / (n - 1) if n > 1 else 0.5
    cells = [
        material(at(iz, nz), at(ix, nx), at(iy, ny)) for iy in range(ny) for ix in range(nx) for iz in range(nz)
    ]
    materials = LAYERS + [LENS]
    for number, (name, unit) in enumerate(PROPERTIES):
        values = [properties[number] for properties in materials]
        write(f"{name}{tag}.rsf", axes, [values[cell] for cell in cells], unit)


def wavelet(tag, nt, dt, peak, components):
    """A Ricker of peak frequency `peak` times the factor of each component; axes source, component, time."""
    values = []
    for it in range(nt):
        a = (math.pi * peak * (it * dt - 1.2 / peak)) ** 2
        values += [factor * (1 - 2 * a) * math.exp(-a) for factor in components]
    axes = [(1, 0, 1, "source", ""), (len(components), 0, 1, "component", ""), (nt, 0, dt, "t", "s")]
    write(f"wav{tag}.rsf", axes, values)


def points(name, coordinates, label, first=0.0, step=1.0, unit=""):
    """Points as (x, z) or (x, y, z); the second axis says where they lie along their line."""
    flat = [value for point in coordinates for value in point]
    axes = [(len(coordinates[0]), 0, 1, "coordinate", ""), (len(coordinates), first, step, label, unit)]
    write(name, axes, flat)


def shot2d():
    d, nz, nx = 0.005, 401, 601
    model([(nz, 0, d, "z", "km"), (nx, 0, d, "x", "km")], "2d")
    # an explosion: the same on the stresses zz and xx
    wavelet("2d", nt=2001, dt=0.0005, peak=16, components=(1, 1))
    points("sou2d.rsf", [(1.2, 0.1)], "source")
    points("rec2d.rsf", [(0.01 * i, 0.05) for i in range(301)], "x", 0, 0.01, "km")


def shot3d():
    d, nz, nx, ny = 0.02, 80, 100, 80
    model([(nz, 0, d, "z", "km"), (nx, 0, d, "x", "km"), (ny, 0, d, "y", "km")], "3d")
    # a vertical force
    wavelet("3d", nt=451, dt=0.002, peak=4, components=(1, 0, 0))
    points("sou3d.rsf", [(0.8, 0.8, 0.2)], "source")
    points("rec3d.rsf", [(0.02 * i, 0.8, 0.04) for i in range(100)], "x", 0, 0.02, "km")


if __name__ == "__main__":
    shots = {"dim=2": shot2d, "dim=3": shot3d}
    if len(sys.argv) != 2 or sys.argv[1] not in shots:
        sys.exit(f"model.py: got {' '.join(sys.argv[1:]) or 'nothing'}; say dim=2 or dim=3")
    shots[sys.argv[1]]()
