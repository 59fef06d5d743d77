"""Finite-difference modelling: parameters, wavelets, sources and receivers, plots.

`par` is a dictionary of the model's axes (nz, oz, dz, lz, uz; likewise x, y, t) and of the common parameters of a run; `param(par)`
adds missing entries. Files of points have the coordinates x, z or x, y, z on axis 1. A plot function returns the text of a flow, to
which `custom` is appended. The functions of geometry.py can also be imported from here.
"""
from rsf.proj import Flow, Plot
from rsf.recipes import absent
from rsf.recipes.geometry import *

__getattr__ = absent("fdmod")

AXES = {"o": 0.0, "n": 1, "d": 1.0}
UNITS = {"t": "s", "x": "km", "y": "km", "z": "km"}
RUN = {
    "verb": "n", "nb": 0, "nbell": 5, "snap": "y", "jsnap": 100, "jdata": 1, "dabc": "y", "free": "n", "fsrf": "n",
    "ompchunk": 1, "ompnth": 0, "nbx": 0, "nby": 0, "nbz": 0, "tx": 0.0035, "ty": 0.0035, "tz": 0.0035,
}


def param(par):
    """Fills in the defaults of `par`: axes, ranges, parameters of the run, sizes of pictures."""
    for axis, unit in UNITS.items():
        for key, value in AXES.items():
            par.setdefault(key + axis, value)
        par.setdefault("l" + axis, axis)
        par.setdefault("u" + axis, unit)
        par.setdefault(axis + "min", par["o" + axis])
        par.setdefault(axis + "max", par["o" + axis] + (par["n" + axis] - 1) * par["d" + axis])
    default(par)
    long = {axis: par[axis + "max"] - par[axis + "min"] for axis in UNITS}
    _flat_pictures(par, long)
    _cube_pictures(par, long)
    par.setdefault("scalebar", "n")
    par.setdefault("labelattr", " ")
    par.update(xratio=2, yratio=2, tratio=2, aratio=2, labelrot=" parallel2=n ")
    for digits in range(3):
        form = f"%3.{digits}f"
        par[f"labelrot{digits}"] = f" parallel2=n format1={form} format2={form} format3={form} "


def default(par):
    """The parameters of a run and the window of its snapshots."""
    for key, value in RUN.items():
        par.setdefault(key, value)
    for axis in "zx":
        for key in "nod":
            par.setdefault(f"{key}q{axis}", par[key + axis])


modpar = default


def _share(part, whole):
    return 1.0 * part / whole if whole else 1.0


def _flat_pictures(par, long):
    par.setdefault("ratio", _share(long["z"], long["x"]))
    par.setdefault("height", 10 if par["ratio"] >= 1 else 13.625 * par["ratio"])
    par.setdefault("dratio", _share(long["t"], long["x"]))
    par.setdefault("dheight", 10 if par["dratio"] > 1 else 13 * par["dratio"])


def _cube_pictures(par, long):
    """The point where the faces of a cube meet (point1, point2), and the ratio of height to width of the picture; in data cubes time counts twice."""
    x, y, z, t = long["x"], long["y"], long["z"], 2 * long["t"]
    par.update(pointt=_share(t, t + y), pointz=_share(z, z + y), pointx=_share(x, x + y))
    par.update(ratio3d=_share(z + y, x + y), tratio3d=_share(t + y, x + y))
    par["height3d"] = 10 if par["ratio3d"] > 1 else 14 * par["ratio3d"]
    par["theight3d"] = 10 if par["tratio3d"] > 1 else 11 * par["tratio3d"]


def _quoted(text):
    return text if str(text).startswith('"') else f'"{text}"'


def _named(number, axis, par):
    """Label and unit of plot axis `number`."""
    return f"label{number}={_quoted(par['l' + axis])} unit{number}={_quoted(par['u' + axis])}"


def _side(number, axis, par):
    """Range, label and unit of plot axis `number`."""
    return f"min{number}={par[axis + 'min']:g} max{number}={par[axis + 'max']:g} {_named(number, axis, par)}"


def _cut(axes, par):
    """The window of the model's ranges."""
    sides = (f"min{i}={par[a + 'min']:g} max{i}={par[a + 'max']:g}" for i, a in enumerate(axes, start=1))
    return "window " + " ".join(sides)


def _size(par):
    return f"screenratio={par['ratio']:g} screenht={par['height']:g} wantscalebar={par['scalebar']}"


def cgrey(custom, par):
    """A plot of a plane z, x."""
    sides = f"{_side(1, 'z', par)} {_side(2, 'x', par)}"
    return f'grey title="" pclip=100 gainpanel=a {sides} {_size(par)} {par["labelattr"]} {custom} '


def wgrey(custom, par):
    """A plot of snapshots z, x, of which the part within the model's ranges is drawn."""
    names = f"{_named(1, 'z', par)} {_named(2, 'x', par)}"
    return f'{_cut("zx", par)} | grey title="" pclip=100 gainpanel=a {names} {_size(par)} {par["labelattr"]} {custom} '


def dgrey(custom, par):
    """A plot of data t, x."""
    sides = f"{_side(1, 't', par)} {_side(2, 'x', par)}"
    return f'grey title="" pclip=100 gainpanel=a {sides} screenratio=0.5 screenht=7 {par["labelattr"]} {custom} '


def egrey(custom, par):
    """A plot of data t, z (receivers in a well)."""
    sides = f"{_side(1, 't', par)} {_side(2, 'z', par)}"
    return f'grey title="" pclip=100 {sides} screenratio={par["ratio"]:g} screenht={par["height"]:g} {par["labelattr"]} {custom} '


def dwigl(custom, par):
    """A plot of data t, x as wiggles."""
    sides = f"{_side(1, 't', par)} {_side(2, 'x', par)}"
    return (
        f'wiggle title="" transp=y yreverse=y poly=y pclip=100 {sides} screenratio=0.5 screenht=7 '
        f'{par["labelattr"]} {custom} '
    )


def ccut3d(custom, par):
    """The model's window of a volume z, x, y."""
    return f"{_cut('zxy', par)} {custom} "


def _cube(first, par, custom):
    """A plot by grey3 of a volume whose axis 1 is `first`."""
    size = ("tratio3d", "theight3d", "pointt") if first == "t" else ("ratio3d", "height3d", "pointz")
    names = " ".join(_named(i, axis, par) for i, axis in enumerate((first, "x", "y"), start=1))
    frames = " ".join(f"frame{i}={par['n' + axis] // 2}" for i, axis in enumerate((first, "x", "y"), start=1))
    return (
        f'grey3 title="" framelabel=n {names} {frames} flat=y screenratio={par[size[0]]:g} screenht={par[size[1]]:g} '
        f'point1={par[size[2]]:g} point2={par["pointx"]:g} {par["labelattr"]} {custom} '
    )


def cgrey3d(custom, par):
    """A volume z, x, y, after `byte`."""
    return _cube("z", par, custom)


def dgrey3d(custom, par):
    """A plot of data t, x, y as a cube."""
    sides = " ".join(f"min{i}={par[a + 'min']:g} max{i}={par[a + 'max']:g}" for i, a in ((2, "x"), (3, "y")))
    return f"window {sides} | byte gainpanel=a pclip=100 {custom} | " + _cube("t", par, custom)


def center3d(x, y, z, par):
    """The frame1=, frame2= and frame3= of a cube whose faces are the planes through a point."""
    nodes = (round((float(at) - par["o" + axis]) / par["d" + axis]) for axis, at in zip("zxy", (z, x, y)))
    return " ".join(f"frame{i}={node}" for i, node in enumerate(nodes, start=1)) + " "


def cgraph(custom, par):
    """A line or points to be drawn over cgrey, as complex numbers x + iz."""
    sides = f"{_side(2, 'z', par)} {_side(1, 'x', par)}"
    return f'graph wantaxis=n title="" yreverse=y {sides} {_size(par)} {par["labelattr"]} {custom} '


def ccont(custom, par):
    """Contours to be drawn over cgrey."""
    sides = f"{_side(1, 'z', par)} {_side(2, 'x', par)}"
    return f'contour wantaxis=n title="" {sides} {_size(par)} plotcol=2 plotfat=3 {par["labelattr"]} {custom} '


def _points(style):
    def plot(custom, par):
        return "window n1=2 | dd type=complex | window | " + cgraph(f"{style} wantaxis=n {custom}", par)

    return plot


bbplot = _points("plotcol=6 plotfat=2")
ssplot = _points("symbol=. plotcol=6 plotfat=10")
rrplot = _points("symbol=. plotcol=3 plotfat=5")
qqplot = _points("symbol=. plotcol=1 plotfat=5")


def waveplot(custom, par):
    """A plot of a wavelet between -1 and 1."""
    name = f"{_named(1, 't', par)} label2=\"\" unit2=\"\""
    return f'graph title="" min1={par["ot"]:g} min2=-1 max2=+1 plotfat=5 plotcol=5 {name} {par["labelattr"]} {custom} '


def qqbox2d(par):
    """The parameters of a 2-D snapshot window."""
    return "nqz=%(nqz)d oqz=%(oqz)g nqx=%(nqx)d oqx=%(oqx)g " % par


def qqbox3d(par):
    """The parameters of a 3-D snapshot window; `par` must have nqy and oqy."""
    return qqbox2d(par) + "nqy=%(nqy)d oqy=%(oqy)g " % par


def wavelet(wav, frequency, par):
    """A Ricker wavelet around sample kt (counted from 1), scaled to a maximum of 1."""
    par["frequency"] = frequency
    return Flow(
        wav,
        None,
        """
        spike nsp=1 mag=1 n1=%(nt)d d1=%(dt)g o1=%(ot)g k1=%(kt)d | pad end1=%(nt)d |
        ricker1 frequency=%(frequency)g | window n1=%(nt)d | scale axis=123 | put label1=%(lt)s unit1=%(ut)s
        """ % par,
    )


def _components(wav, custom, par, count):
    names = [f"{wav}-{i + 1}" for i in range(count)]
    for i, name in enumerate(names):
        Plot(name, wav, f"window n2=1 f2={i} | transp | window | " + waveplot(custom, par))
    return Plot(wav, names, "SideBySideAniso")


def ewavelet(wavelet, custom, par):
    """A picture of the two components of a 2-D wavelet."""
    return _components(wavelet, custom, par, 2)


def ewavelet3d(wavelet, custom, par):
    """A picture of the three components of a 3-D wavelet."""
    return _components(wavelet, custom, par, 3)


def wframe(frame, movie, index, custom, par):
    """Snapshot `index` of a movie z, x, t, in the colours of the whole movie."""
    Flow([movie + "_plt", movie + "_bar"], movie, f"byte bar=${{TARGETS[1]}} gainpanel=a pclip=100 {custom}")
    plot = f"window n3=1 f3={index} | " + cgrey(custom, par)
    return Plot(frame, [movie + "_plt", movie + "_bar"], plot)


def wom(wom, wfld, velo, vmean, par):
    """Snapshots z, x, t over the model: both scaled to 1, the snapshots clipped at wclip and weighted by wweight."""
    par.setdefault("wweight", 10)
    par.setdefault("wclip", 1.0)
    frames = int(par["nt"] // par["jsnap"])
    Flow(velo + "-scaled", velo, f"add add={-vmean:g} | scale axis=123")
    Flow(velo + "-spray", velo + "-scaled", "cat axis=3 space=n" + " $SOURCE" * (frames - 1))
    clip = "math output=\"0.5*(abs(input+%(wclip)g)-abs(input-(%(wclip)g)))\"" % par
    Flow(wfld + "-chop", wfld, f"{_cut('zx', par)} | window n3={frames} | scale axis=123 | {clip}")
    sum = f"math w=${{SOURCES[1]}} output=\"input+{par['wweight']:g}*w\""
    return Flow(wom, [velo + "-spray", wfld + "-chop"], sum)


def _elastic(program):
    def model(odat, owfl, idat, cccc, dens, sou, rec, custom, par):
        words = "verb=y free=%(free)s snap=%(snap)s jsnap=%(jsnap)d nbell=%(nbell)d nb=%(nb)d dabc=%(dabc)s" % par
        files = "ccc=${SOURCES[1]} den=${SOURCES[2]} sou=${SOURCES[3]} rec=${SOURCES[4]} wfl=${TARGETS[1]}"
        return Flow([odat, owfl], [idat, cccc, dens, sou, rec], f"{program} {words} {files} {custom}")

    model.__doc__ = f"A shot by sf{program}: data and snapshots from wavelet, stiffness, density, sources, receivers."
    return model


ewefd2d = _elastic("ewefd2d-gpu")
ewefd3d = _elastic("ewefd3d-gpu")
