"""Stiffness planes from velocities, density and anisotropy parameters, by sfstiffness.

Arguments are names of RSF files on the model's grid. The next axis counts the planes: in 2-D c11 c33 c55 c13, in 3-D
c11 c22 c33 c44 c55 c66 c12 c13 c23 (Voigt 1=x, 2=y, 3=z); a tilted 3-D medium has all 21, the upper triangle row by
row. `par` is accepted for compatibility with Madagascar and not used.
"""
from rsf.proj import Flow, Result
from rsf.recipes import absent

__getattr__ = absent("stiffness")

MATRIX_2D = (("11", "13", None), ("13", "33", None), (None, None, "55"))
PLANES_2D = ("11", "33", "55", "13")
MATRIX_3D = (
    ("11", "12", "13", None, None, None),
    ("12", "22", "23", None, None, None),
    ("13", "23", "33", None, None, None),
    (None, None, None, "44", None, None),
    (None, None, None, None, "55", None),
    (None, None, None, None, None, "66"),
)
PLANES_3D = ("11", "22", "33", "44", "55", "66", "12", "13", "23")


def _planes(cc, options, files):
    """One run of sfstiffness: `files` maps its parameters to files."""
    words = [f"{key}=${{SOURCES[{number}]}}" for number, key in enumerate(files)]
    return Flow(cc, list(files.values()), " ".join(["stiffness", options] + words), stdin=0)


def iso2d(cc, vp, vs, ro, par):
    """Writes the stiffness planes of an isotropic 2-D medium to the file `cc`."""
    return _planes(cc, "dim=2 sym=iso", dict(vp=vp, vs=vs, ro=ro))


def iso3d(cc, vp, vs, ro, par):
    """Writes the stiffness planes of an isotropic 3-D medium to the file `cc`."""
    return _planes(cc, "dim=3 sym=iso", dict(vp=vp, vs=vs, ro=ro))


def vti2d(cc, vp, vs, ro, epsilon, delta, par):
    """Writes the planes of a 2-D medium that is transversely isotropic about z, from Thomsen's parameters with the exact delta."""
    return _planes(cc, "dim=2 sym=vti", dict(vp=vp, vs=vs, ro=ro, epsilon=epsilon, delta=delta))


def vti3d(cc, vp, vs, ro, epsilon, delta, gamma, par):
    """Writes the planes of a 3-D medium that is transversely isotropic about z, from Thomsen's parameters with the exact delta."""
    return _planes(cc, "dim=3 sym=vti", dict(vp=vp, vs=vs, ro=ro, epsilon=epsilon, delta=delta, gamma=gamma))


def ort2d(cc, vp, vs, ro, eps2, del2, par):
    """Writes the planes of a 2-D medium: the x-z plane of an orthorhombic one."""
    return _planes(cc, "dim=2 sym=ort", dict(vp=vp, vs=vs, ro=ro, eps2=eps2, del2=del2))


def ort3d(cc, vp, vs, ro, eps1, eps2, del1, del2, del3, gam1, gam2, par):
    """Writes the planes of an orthorhombic 3-D medium from Tsvankin's parameters (1: plane y-z, 2: plane x-z, 3: plane x-y)."""
    files = dict(vp=vp, vs=vs, ro=ro, eps1=eps1, eps2=eps2, del1=del1, del2=del2, del3=del3, gam1=gam1, gam2=gam2)
    return _planes(cc, "dim=3 sym=ort", files)


def tti2d(mm, vp, vs, ro, epsilon, delta, nu, par):
    """Writes four planes of a 2-D VTI medium that is tilted by nu degrees about y: c15 and c35 are omitted, and sfstiffness prints how large they are."""
    files = dict(vp=vp, vs=vs, ro=ro, epsilon=epsilon, delta=delta, nu=nu)
    return _planes(mm, "dim=2 sym=vti drop=y", files)


def tti3d(mm, vp, vs, ro, epsilon, delta, gamma, nu, alpha, par):
    """Writes the planes of a VTI medium that is tilted by nu degrees about y and then rotated by alpha about z: 21 if necessary, otherwise nine."""
    files = dict(vp=vp, vs=vs, ro=ro, epsilon=epsilon, delta=delta, gamma=gamma, nu=nu, alpha=alpha)
    return _planes(mm, "dim=3 sym=vti", files)


def _matrix(cc, cell, matrix, planes):
    """A picture of the stiffness matrix at one cell; `cell` is the window that cuts it out."""
    axis = len(cell) + 1
    window = " ".join(f"n{i + 1}=1 f{i + 1}={index}" for i, index in enumerate(cell))
    for number, name in enumerate(planes):
        Flow(f"{cc}-c{name}", cc, f"window {window} n{axis}=1 f{axis}={number}")
    Flow(f"{cc}-nul", f"{cc}-c11", "math output=0")
    rows = []
    for number, row in enumerate(matrix, start=1):
        parts = [f"{cc}-c{name}" if name else f"{cc}-nul" for name in row]
        rows.append(f"{cc}-row{number}")
        Flow(rows[-1], parts, f"cat axis=2 space=n ${{SOURCES[1:{len(parts)}]}}")
    Flow(f"{cc}-all", rows, f"cat axis=1 space=n ${{SOURCES[1:{len(rows)}]}}")
    return Result(cc, f"{cc}-all", 'grey pclip=100 title="" wantaxis=n screenratio=1 allpos=y color=j')


def cplot2d(cc, i1, i2, par):
    """Draws the 2-D stiffness matrix at cell i1, i2 (z, x) as Fig/cc."""
    return _matrix(cc, (i1, i2), MATRIX_2D, PLANES_2D)


def cplot3d(cc, i1, i2, i3, par):
    """Draws the 3-D stiffness matrix at cell i1, i2, i3 (z, x, y) as Fig/cc."""
    return _matrix(cc, (i1, i2, i3), MATRIX_3D, PLANES_3D)
