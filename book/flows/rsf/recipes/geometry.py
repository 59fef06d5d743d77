"""Points, lines, arrays and bells for flows; part of fdmod.

Most functions write the RSF file `cc`, with x, z (or x, y, z) on axis 1 and the points on axis 2, by one sfmath in which
x1 is the number of the coordinate: at x1 = 0 and 1 exactly one term of (1-x1)*a + x1*b is left.
"""
import math

from rsf.proj import Flow


def _two(x, z):
    """An expression that is x at x1 = 0 and z at x1 = 1."""
    return f"(1-x1)*({x})+x1*({z})"


def _three(x, y, z):
    """An expression that is x, y and z at x1 = 0, 1 and 2."""
    return f"0.5*(1-x1)*(2-x1)*({x})+x1*(2-x1)*({y})+0.5*x1*(x1-1)*({z})"


def _number(value):
    """A number with enough digits to restore a float32."""
    return f"{value:.9g}"


def _axis(i, n, o, d):
    return f"n{i}={n:d} o{i}={_number(o)} d{i}={_number(d)}"


def _line(cc, n, o, d, x, z):
    """Points along an axis, which is x2 in the expressions."""
    return Flow(cc, None, f'math n1=2 {_axis(2, n, o, d)} output="{_two(x, z)}"')


def point(cc, xcoord, zcoord, par):
    """One point x, z."""
    return Flow(cc, None, f"spike nsp=2 n1=2 k1=1,2 mag={_number(xcoord)},{_number(zcoord)}")


def point3d(cc, xcoord, ycoord, zcoord, par):
    """One point x, y, z."""
    return Flow(cc, None, f"spike nsp=3 n1=3 k1=1,2,3 mag={_number(xcoord)},{_number(ycoord)},{_number(zcoord)}")


def point3(cc, xcoord, zcoord, magn, par):
    """One point x, z with a magnitude."""
    return point3d(cc, xcoord, zcoord, magn, par)


def horizontal(cc, coord, par):
    """A point on every node of x, at depth `coord`."""
    return _line(cc, par["nx"], par["ox"], par["dx"], "x2", _number(coord))


def horizontal3d(cc, coord, par):
    """Points on all nodes of x (axis 2) and y (axis 3), at depth `coord`."""
    axes = f"n1=3 {_axis(2, par['nx'], par['ox'], par['dx'])} {_axis(3, par['ny'], par['oy'], par['dy'])}"
    return Flow(cc, None, f'math {axes} output="{_three("x2", "x3", _number(coord))}"')


def vertical(cc, coord, par):
    """A point on every node of z, at x = `coord`."""
    return _line(cc, par["nz"], par["oz"], par["dz"], _number(coord), "x2")


def vertical3d(cc, coordx, coordy, par):
    """A point on every node of z, at x, y."""
    expression = _three(_number(coordx), _number(coordy), "x2")
    return Flow(cc, None, f'math n1=3 {_axis(2, par["nz"], par["oz"], par["dz"])} output="{expression}"')


def dipping(cc, intercept, slope, par):
    """A point on every node of x, at depth intercept + slope x."""
    return _line(cc, par["nx"], par["ox"], par["dx"], "x2", f"{_number(intercept)}+({_number(slope)})*x2")


def circle(cc, xcenter, zcenter, radius, sampling, par):
    """`sampling` points on a circle, counter-clockwise from the largest x."""
    turn = _number(math.pi / 180)
    x, z = f"{_number(xcenter)}+{_number(radius)}*cos({turn}*x2)", f"{_number(zcenter)}-({_number(radius)}*sin({turn}*x2))"
    return _line(cc, sampling, 0, 360.0 / sampling, x, z)


def boxarray(cc, nz, oz, dz, nx, ox, dx, par):
    """A lattice of points, z fastest."""
    axes = f"n1=2 {_axis(2, nz, oz, dz)} {_axis(3, nx, ox, dx)}"
    return Flow(cc, None, f'math {axes} output="{_two("x3", "x2")}" | put n2={nz * nx} o2=0 d2=1 n3=1')


def boxarray3d(cc, nz, oz, dz, nx, ox, dx, ny, oy, dy, par):
    """A lattice of points, z fastest, then x, then y."""
    axes = f"n1=3 {_axis(2, nz, oz, dz)} {_axis(3, nx, ox, dx)} {_axis(4, ny, oy, dy)}"
    expression = _three("x3", "x4", "x2")
    return Flow(cc, None, f'math {axes} output="{expression}" | put n2={nz * nx * ny} o2=0 d2=1 n3=1 n4=1')


def hline(cc, sx, ex, coord, par):
    """Points from x = sx to ex, one on every node, at depth `coord`."""
    return _line(cc, int(round((ex - sx) / par["dx"])) + 1, sx, par["dx"], "x2", _number(coord))


def vline(cc, sz, ez, coord, par):
    """Points from z = sz to ez, one on every node, at x = `coord`."""
    return _line(cc, int(round((ez - sz) / par["dz"])) + 1, sz, par["dz"], _number(coord), "x2")


def box(cc, sx, ex, sz, ez, par):
    """Points along the four sides of a rectangle, one on every node."""
    hline(cc + "h1", sx, ex, sz, par)
    hline(cc + "h2", sx, ex, ez, par)
    vline(cc + "v1", sz, ez, sx, par)
    vline(cc + "v2", sz, ez, ex, par)
    return Flow(cc, [cc + "h1", cc + "h2", cc + "v1", cc + "v2"], "cat axis=2 space=n ${SOURCES[1:4]} | put o2=0 d2=1")


def _corners(cc, corners):
    """A few points, given as (x, z)."""
    flat = [value for corner in corners for value in corner]
    places = ",".join(str(1 + i) for i in range(len(flat)))
    values = ",".join(_number(value) for value in flat)
    return Flow(cc, None, f"spike nsp={len(flat)} n1={len(flat)} k1={places} mag={values} | put n1=2 n2={len(corners)}")


def makebox(box, zmin, zmax, xmin, xmax, par):
    """The corners of a rectangle, the first one again at the end."""
    return _corners(box, [(xmin, zmin), (xmin, zmax), (xmax, zmax), (xmax, zmin), (xmin, zmin)])


def makeline(line, zmin, zmax, xmin, xmax, par):
    """The two ends of a line."""
    return _corners(line, [(xmin, zmin), (xmax, zmax)])


def _bell(gaus, axes, par):
    """Writes exp(-sum((x_i-centre)^2/(2 width^2))) on the model's axes, scaled to a maximum of 1."""
    terms = [f"((x{i}-({_number(at)}))/{_number(wide)})^2" for i, (_, at, wide) in enumerate(axes, start=1)]
    grid = " ".join(_axis(i, *(par[k + axis] for k in "nod")) for i, (axis, _, _) in enumerate(axes, start=1))
    return Flow(gaus, None, f'math {grid} output="exp(-0.5*({"+".join(terms)}))" | scale axis=123')


def gauss1x(gaus, xcen, xsig, par):
    """A bell along x."""
    return _bell(gaus, [("x", xcen, xsig)], par)


def gauss1z(gaus, zcen, zsig, par):
    """A bell along z."""
    return _bell(gaus, [("z", zcen, zsig)], par)


def gauss2d(gaus, xcen, zcen, xsig, zsig, par):
    """A bell on z, x."""
    return _bell(gaus, [("z", zcen, zsig), ("x", xcen, xsig)], par)


def gauss3d(gaus, xcen, ycen, zcen, xsig, ysig, zsig, par):
    """A bell on z, x, y."""
    return _bell(gaus, [("z", zcen, zsig), ("x", xcen, xsig), ("y", ycen, ysig)], par)


def rbox2d(rbox, xlow, xhig, zlow, zhig, par):
    """Writes 1 inside a rectangle of the model and 0 outside."""
    nodes = {}
    for axis, low, high in (("z", zlow, zhig), ("x", xlow, xhig)):
        nodes[axis] = [int((edge - par["o" + axis]) / par["d" + axis]) for edge in (low, high)]
    grid = f"{_axis(1, par['nz'], par['oz'], par['dz'])} {_axis(2, par['nx'], par['ox'], par['dx'])}"
    edges = "k1={} l1={} k2={} l2={}".format(*nodes["z"], *nodes["x"])
    return Flow(rbox, None, f"spike nsp=1 mag=1 {grid} {edges}")
