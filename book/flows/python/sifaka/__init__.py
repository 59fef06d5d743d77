"""Sifaka's programs as functions of Python, with numpy and xarray in and out.

    import sifaka

    vp = sifaka.grid(3000, z=(0, 10, 101), x=(0, 10, 151))      # origin, spacing, number: a constant, or an array on these axes
    sou, rec = sifaka.points(x=700, z=200), sifaka.points(x=range(0, 1500, 10), z=20)
    data = sifaka.run("sfvsfd2d-gpu", vp=vp, vs=vp / 1.8, den=0 * vp + 2200, sou=sou, rec=rec,
                      nt=500, dt=0.001, stf="ricker", freq=8, m0=1e12, progress=True)
    data.sel(component="z").sifaka.image()                       # matplotlib, with time downwards
    found = sifaka.run("sfvsfd2d-gpu", ..., snap=True, wfl=True) # found["data"], found["wfl"]
    low = sifaka.run("bandpass", data.sel(component="x").T, fhi=10)

    change = xarray.concat([0 * vp] * 3, "component")            # perturbations of vp, vs and density
    born = sifaka.linop("sfvsborn2d-gpu", change, data, vp=vp, ...)  # a scipy.sparse.linalg.LinearOperator, for PyLops, too
    sifaka.write("data.rsf", data); sifaka.read("data.rsf")

Parameters are those of the programs: `print(sifaka.doc("bandpass"))` shows them. True and False become y and n, lists are joined by
commas, and an array, a DataArray or a `rsfdata.Dataset` is passed to the program as an RSF file in single precision. Dimensions called z, x
and y are put into the order of RSF files (z fastest), whatever their order in the array. A failed program raises `ProgramError` with its own message,
and its warnings become Python's. Needs numpy and xarray; `linop` needs scipy and pictures need matplotlib.
"""
from ._arrays import grid, points, read, write
from ._messages import ProgramWarning
from ._operators import linop
from ._programs import Picture, ProgramError, book, doc, release, run

# Picture, which the picture programs return, is left out, because help() would list the methods of bytes before the functions.
__all__ = ["ProgramError", "ProgramWarning", "book", "doc", "grid", "linop", "points", "read", "run", "write"]

if _folder := book():
    __doc__ += f"""
The book, with the manual of this module in user/18-python, is in {_folder}
"""


def __getattr__(name: str) -> str:
    # The version is found only on request, because this starts a program.
    if name == "__version__":
        return release()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
