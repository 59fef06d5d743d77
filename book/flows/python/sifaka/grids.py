"""Maps and models of other programs: ESRI's ASCII grids, GeoTIFF and NetCDF (CF, GMT) in, NetCDF out.

    from sifaka import grids

    heights = grids.read("dem.tif")                                     # or dem.asc, dem.nc, dem.grd
    topo = grids.utm(heights, 33)                                       # degrees to metres of UTM zone 33, as utm=33 of the programs
    topo = grids.local(heights, (42.7, 13.2), x=(-5000, 100, 101), y=(-5000, 100, 101))
    sifaka.write("topo.rsf", 900 - topo)                                # depths below 900 m: a map for sfhexmesh surfaces=
    grids.write("data.nc", sifaka.read("wavefield.rsf"))                # for xarray, GMT, ParaView, QGIS

`read` returns an array with the dimensions y, x and, in models, z (downwards), all of which increase; missing values are NaN. Coordinates are those
of the centres of cells. `local` converts degrees to metres east (x) and north (y) of a point, along geodesics of WGS 84, as `sifaka.seismology` does for
stations; a map in metres is only shifted. `utm` converts degrees to metres in a UTM zone, as `utm=` of the programs does for sources and stations. GeoTIFF needs Pillow (and pyproj for the units of EPSG codes other than UTM), NetCDF needs netCDF4, h5netcdf or scipy, which xarray uses.
"""
from __future__ import annotations

import os
import warnings
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np
import xarray

from . import _geotiff
from ._lengths import LENGTHS, in_metres

__all__ = ["local", "read", "utm", "write"]

Path = Union[str, "os.PathLike[str]"]
Axis = Tuple[float, float, int]
# Names of dimensions in files of other programs.
NAMES = {"x": "x", "lon": "x", "longitude": "x", "easting": "x", "y": "y", "lat": "y", "latitude": "y", "northing": "y", "z": "z", "depth": "z"}
UNITS = {"x": ("degrees_east", "degree_east", "degrees_e"), "y": ("degrees_north", "degree_north", "degrees_n")}
# Units of speeds and densities that are not SI, without blanks, with the SI unit and the factor.
OTHERS = {"km/s": ("m/s", 1000), "kms-1": ("m/s", 1000), "km.s-1": ("m/s", 1000), "g/cm3": ("kg/m3", 1000), "gcm-3": ("kg/m3", 1000),
          "g/cc": ("kg/m3", 1000), "g/cm^3": ("kg/m3", 1000), "g.cm-3": ("kg/m3", 1000), "gpa": ("Pa", 1e9)}
# Suffixes of formats other than NetCDF.
FOREIGN = (".tif", ".tiff", ".asc", ".txt", ".csv", ".xyz", ".rsf", ".sgy", ".segy", ".su", ".png", ".jpg", ".jpeg", ".pdf", ".vtk", ".npy", ".npz")
# WGS 84: semi-major axis in m, flattening.
LONG, FLAT = 6378137.0, 1 / 298.257223563


def read(path: Path, name: Optional[str] = None, units: Optional[str] = None) -> xarray.DataArray:
    """Reads a map or a model from a file, whose format is recognised by its first bytes. `name` chooses one of several quantities of a NetCDF file.
    Depths in km, speeds in km/s and densities in g/cm3 are converted to SI units, and heights in km or feet to metres, with a warning.

    units: "degrees" or "m", for the axes x and y of a file without units, such as ESRI's grids. Without it the axes are taken to be in degrees
    if that is possible (y within 90, x within 360 and cells smaller than 10), with a warning if cells of one unit or more could also be metres.
    """
    if units not in (None, "degrees", "m"):
        raise ValueError(f'units={units!r}: the axes of a map are in "degrees" or "m"')
    with open(path, "rb") as file:
        start = file.read(256)
    if start[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return _map(*_geotiff.read(path, units), path)
    if start[:3] == b"CDF" or start[:4] == b"\x89HDF":
        return _netcdf(path, name, units)
    if start.lstrip().lower().startswith(b"ncols"):
        return _esri(path, units)
    raise ValueError(f"{os.fspath(path)} is not a grid that can be read; it must be GeoTIFF, NetCDF (CF, GMT) or an ASCII grid of ESRI, which begins with ncols")


def write(path: Path, data: xarray.DataArray) -> None:
    """Writes data with their axes, units and names as NetCDF by the CF conventions."""
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending in FOREIGN:
        raise ValueError(f"{os.fspath(path)}: write() makes NetCDF, but {ending} is the suffix of another format: choose .nc or .grd (gdal_translate of GDAL and xarray convert it)")
    result = data.astype("f4").rename(data.name or "data").copy()
    for name in result.dims:
        if name in result.coords and result[name].dtype.kind in "iuf":
            letter = {"x": "X", "y": "Y", "z": "Z", "t": "T"}.get(str(name))
            more: Dict[str, Any] = {"actual_range": [float(result[name].min()), float(result[name].max())]}
            if letter and letter != "T":
                more["axis"] = letter
            if letter == "Z":
                more["positive"] = "down"
            result[name].attrs.update(more)
    label = result.attrs.pop("label", None)
    if label:
        result.attrs["long_name"] = str(label)
    if "unit" in result.attrs:
        result.attrs["units"] = str(result.attrs.pop("unit"))
    history = str(result.attrs.pop("history", ""))
    # NetCDF attributes must be numbers or text; others, such as None, are left out.
    result.attrs = {key: value for key, value in result.attrs.items() if isinstance(value, (str, int, float, list, np.ndarray, np.generic))}
    whole = result.to_dataset()
    # For GMT: values lie on the grid lines (gridline registration).
    whole.attrs.update(Conventions="CF-1.8", node_offset=0, history=history)
    whole.to_netcdf(path)


def local(grid: xarray.DataArray, origin: Tuple[float, float], x: Optional[Axis] = None, y: Optional[Axis] = None) -> xarray.DataArray:
    """Interpolates the map or model to a regular grid in metres around `origin` (latitude and longitude, or y and x of the map): x east and y north, each as
    origin, spacing, number. The interpolation between the four surrounding values is bilinear. A map in metres needs no x= and y=: without them it is only
    shifted."""
    unit = grid["x"].attrs.get("units")
    if x is None and y is None and unit == "m":
        return grid.assign_coords({name: grid[name].copy(data=grid[name].values - start) for name, start in (("y", origin[0]), ("x", origin[1]))})
    for name, axis in (("x", x), ("y", y)):
        if axis is None or np.ndim(axis) != 1 or len(axis) != 3:
            raise ValueError(f"{name}={axis}: give an origin, a spacing and a number of samples, in metres from origin=, as in {name}=(-1000, 10, 201)")
    east, north = (axis[0] + axis[1] * np.arange(axis[2]) for axis in (x, y))
    if unit == "degrees_east":
        latitude, longitude = _places(origin, *np.meshgrid(east, north))
        # Some maps count longitude from 0 to 360.
        longitude = longitude + 360 * np.round((float(grid.x.mean()) - longitude) / 360)
    else:
        longitude, latitude = np.meshgrid(origin[1] + east, origin[0] + north)
    try:
        return _sampled(grid, (latitude, longitude), (north, east), None)
    except ValueError as fault:
        if "units" in grid["x"].attrs:
            raise
        raise ValueError(f"{fault}. x of the map has no units and is taken to be in metres: if it is longitude, set map.x.attrs['units'] = 'degrees_east'") from None


def utm(grid: xarray.DataArray, zone: Union[int, str], x: Optional[Axis] = None, y: Optional[Axis] = None, fill: Optional[float] = None) -> xarray.DataArray:
    """Interpolates the map or model in degrees to a regular grid in metres of a UTM zone (WGS 84): 11 or "11N" in the north, "11S" or -11 in the south.

    x and y are each an origin, a spacing and a number of samples; without them the grid is the largest rectangle inside the map, with steps close to
    its own. Values are interpolated linearly along x and y. Where the map has no value, the grid gets fill=; without fill= that is an error.
    """
    unit = str(grid["x"].attrs.get("units", grid["x"].attrs.get("unit", "")))
    if unit.lower() not in (*UNITS["x"], "degrees", "degree", "deg"):
        raise ValueError(f"x of the map is in {unit or 'no unit'}, and utm() takes longitude in degrees: if it is that, set map.x.attrs['units'] = 'degrees_east'; a map in metres needs no projection")
    word = str(zone).strip().upper()
    south = word.endswith("S") or word.startswith("-")
    number = word.strip("NS-")
    if not number.isdigit() or not 1 <= int(number) <= 60:
        raise ValueError(f"zone={zone!r}: zones are 1 to 60, as in 11 in the north and \"11S\" (or -11) in the south")
    middle, foot = 6 * int(number) - 183, 1e7 if south else 0.0
    own = 6 * round((float(grid.x.mean()) + 183) / 6) - 183
    # Some maps count longitude from 0 to 360.
    turns = 360 * round((float(grid.x.mean()) - middle) / 360)
    if abs(float(grid.x.mean()) - turns - middle) > 30:
        raise ValueError(f"zone={zone!r} is around longitude {middle}, but the map is around {float(grid.x.mean()):g}: its zone is {(own + 183) // 6 % 60 or 60}")
    if x is None or y is None:
        inner = _inside(grid.x.values - turns, grid.y.values, middle, foot)
        x, y = x or inner[0], y or inner[1]
    east, north = (axis[0] + axis[1] * np.arange(axis[2]) for axis in (x, y))
    latitude, longitude = _from_utm(*np.meshgrid(east, north), middle, foot)
    return _sampled(grid, (latitude, longitude + turns), (north, east), fill)


def _inside(x: np.ndarray, y: np.ndarray, middle: int, foot: float) -> Tuple[Axis, Axis]:
    """The largest grid in metres inside a map in degrees, with steps of 1, 2 or 5 times a power of ten."""
    west, right = (_to_utm(y, np.full(len(y), end), middle, foot)[0] for end in (x[0], x[-1]))
    low, high = (_to_utm(np.full(len(x), end), x, middle, foot)[1] for end in (y[0], y[-1]))
    axes = []
    for first, last, count in ((west.max(), right.min(), len(x)), (low.max(), high.min(), len(y))):
        near = (last - first) / max(count - 1, 1)
        ten = 10.0 ** np.floor(np.log10(near)) if near > 0 else 0.0
        step = float(max((ten * k for k in (1, 2, 5) if ten * k <= 1.001 * near), default=0.0))
        begin = float(np.ceil(first / step) * step) if step else 0.0
        if not step or begin + step > last:
            raise ValueError("the map is too small for a grid inside it: give x=, y= and fill=, or a larger map")
        axes.append((begin, step, 1 + int((last - begin) / step)))
    return axes[0], axes[1]


def _sampled(grid: xarray.DataArray, places: Tuple[np.ndarray, np.ndarray], axes: Tuple[np.ndarray, np.ndarray], fill: Optional[float]) -> xarray.DataArray:
    """Samples the map at places (y and x of the map), as a grid with the given axes (y, x) in m."""
    order = ["y", "x"] + [name for name in grid.dims if name not in ("y", "x")]
    values = grid.transpose(*order).values
    reach = fill is None
    (row, down), (column, right) = _between("y", grid.y.values, places[0], reach), _between("x", grid.x.values, places[1], reach)
    further = (...,) + (None,) * (values.ndim - 2)
    down, right = down[further], right[further]
    upper = (1 - right) * values[row, column] + right * values[row, column + 1]
    lower = (1 - right) * values[row + 1, column] + right * values[row + 1, column + 1]
    values_there = (1 - down) * upper + down * lower
    north, east = axes
    if fill is not None:
        values_there[np.isnan(values_there)] = fill
    if np.isnan(values_there).any():
        j, i = np.argwhere(np.isnan(values_there))[0][:2]
        raise ValueError(f"the map has no value around x={east[i]:g}, y={north[j]:g} (y={places[0][j, i]:g}, x={places[1][j, i]:g} of the map): fill it, or choose other x= and y=")
    coords = {"y": ("y", north, {"units": "m"}), "x": ("x", east, {"units": "m"}), **{name: grid[name] for name in order[2:]}}
    return xarray.DataArray(values_there.astype("f4"), coords, order, grid.name, grid.attrs)


def _between(name: str, axis: np.ndarray, places: np.ndarray, reach: bool) -> Tuple[np.ndarray, np.ndarray]:
    """The indices of the samples before the wanted places, and the fractions of the interval after them. Positions beyond the ends are refused
    (`reach`), or their fraction is NaN."""
    step = (axis[-1] - axis[0]) / (len(axis) - 1)
    at = (places - axis[0]) / step
    # A position slightly beyond the ends is due to rounding.
    beyond = (at < -1e-6) | (at > len(axis) - 1 + 1e-6)
    if reach and beyond.any():
        raise ValueError(f"{name} of the grid is from {places.min():g} to {places.max():g}, but that of the map from {axis[0]:g} to {axis[-1]:g}: choose a smaller grid or a larger map; origin is (latitude, longitude), or (y, x) of a map in metres")
    first = np.clip(np.floor(at), 0, len(axis) - 2).astype(int)
    return first, np.where(beyond, np.nan, np.clip(at - first, 0, 1))


# UTM by Krueger's series in the third flattening (1912, as in Karney 2011): forward, inverse, and from conformal latitude; scale and easting.
THIRD = FLAT / (2 - FLAT)
ARC = LONG / (1 + THIRD) * (1 + THIRD**2 / 4 + THIRD**4 / 64) * 0.9996
FORWARD = (THIRD / 2 - 2 / 3 * THIRD**2 + 5 / 16 * THIRD**3 + 41 / 180 * THIRD**4, 13 / 48 * THIRD**2 - 3 / 5 * THIRD**3 + 557 / 1440 * THIRD**4,
           61 / 240 * THIRD**3 - 103 / 140 * THIRD**4, 49561 / 161280 * THIRD**4)
BACK = (THIRD / 2 - 2 / 3 * THIRD**2 + 37 / 96 * THIRD**3 - THIRD**4 / 360, THIRD**2 / 48 + THIRD**3 / 15 - 437 / 1440 * THIRD**4,
        17 / 480 * THIRD**3 - 37 / 840 * THIRD**4, 4397 / 161280 * THIRD**4)
LATITUDE = (2 * THIRD - 2 / 3 * THIRD**2 - 2 * THIRD**3 + 116 / 45 * THIRD**4, 7 / 3 * THIRD**2 - 8 / 5 * THIRD**3 - 227 / 45 * THIRD**4,
            56 / 15 * THIRD**3 - 136 / 35 * THIRD**4, 4279 / 630 * THIRD**4)
EASTING = 5e5


def _to_utm(latitude: np.ndarray, longitude: np.ndarray, middle: float, foot: float) -> Tuple[np.ndarray, np.ndarray]:
    """Easting and northing of places in degrees, for a central meridian and the northing of the equator."""
    sine, turn = np.sin(np.radians(latitude)), np.radians(longitude - middle)
    shape = 2 * np.sqrt(THIRD) / (1 + THIRD)
    rise = np.sinh(np.arctanh(sine) - shape * np.arctanh(shape * sine))
    xi, eta = np.arctan2(rise, np.cos(turn)), np.arctanh(np.sin(turn) / np.sqrt(1 + rise**2))
    north = xi + sum(a * np.sin(2 * k * xi) * np.cosh(2 * k * eta) for k, a in enumerate(FORWARD, 1))
    east = eta + sum(a * np.cos(2 * k * xi) * np.sinh(2 * k * eta) for k, a in enumerate(FORWARD, 1))
    return EASTING + ARC * east, foot + ARC * north


def _from_utm(east: np.ndarray, north: np.ndarray, middle: float, foot: float) -> Tuple[np.ndarray, np.ndarray]:
    """Latitude and longitude, in degrees, of places in metres of a zone."""
    xi, eta = (north - foot) / ARC, (east - EASTING) / ARC
    level = xi - sum(b * np.sin(2 * k * xi) * np.cosh(2 * k * eta) for k, b in enumerate(BACK, 1))
    aside = eta - sum(b * np.cos(2 * k * xi) * np.sinh(2 * k * eta) for k, b in enumerate(BACK, 1))
    conformal = np.arcsin(np.sin(level) / np.cosh(aside))
    latitude = conformal + sum(d * np.sin(2 * k * conformal) for k, d in enumerate(LATITUDE, 1))
    return np.degrees(latitude), middle + np.degrees(np.arctan2(np.sinh(aside), np.cos(level)))


def _places(origin: Tuple[float, float], east: np.ndarray, north: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Latitude and longitude of places at distances in metres from `origin` along geodesics (Vincenty 1975, direct formulae)."""
    distance, azimuth = np.hypot(east, north), np.arctan2(east, north)
    short = LONG * (1 - FLAT)
    first = np.arctan((1 - FLAT) * np.tan(np.radians(origin[0])))
    along = np.arctan2(np.tan(first), np.cos(azimuth))
    equator = np.cos(first) * np.sin(azimuth)
    square = (1 - equator**2) * (LONG**2 - short**2) / short**2
    a = 1 + square / 16384 * (4096 + square * (-768 + square * (320 - 175 * square)))
    b = square / 1024 * (256 + square * (-128 + square * (74 - 47 * square)))
    arc = distance / (short * a)
    for _ in range(10):
        middle = np.cos(2 * along + arc)
        last = b / 6 * middle * (4 * np.sin(arc) ** 2 - 3) * (4 * middle**2 - 3)
        arc = distance / (short * a) + b * np.sin(arc) * (middle + b / 4 * (np.cos(arc) * (2 * middle**2 - 1) - last))
    middle = np.cos(2 * along + arc)
    flat = np.sin(first) * np.sin(arc) - np.cos(first) * np.cos(arc) * np.cos(azimuth)
    latitude = np.arctan2(np.sin(first) * np.cos(arc) + np.cos(first) * np.sin(arc) * np.cos(azimuth), (1 - FLAT) * np.hypot(equator, flat))
    turn = np.arctan2(np.sin(arc) * np.sin(azimuth), np.cos(first) * np.cos(arc) - np.sin(first) * np.sin(arc) * np.cos(azimuth))
    c = FLAT / 16 * (1 - equator**2) * (4 + FLAT * (4 - 3 * (1 - equator**2)))
    turn -= (1 - c) * FLAT * equator * (arc + c * np.sin(arc) * (middle + c * np.cos(arc) * (2 * middle**2 - 1)))
    return np.degrees(latitude), origin[1] + np.degrees(turn)


def _array(values: np.ndarray, axes: Dict[str, np.ndarray], units: Dict[str, str], attrs: Optional[Dict[str, Any]] = None) -> xarray.DataArray:
    """Makes a DataArray with increasing axes. Raises ValueError if an axis is not regular."""
    array = xarray.DataArray(values, {name: (name, axis, {"units": units[name]}) for name, axis in axes.items()}, list(axes), attrs=attrs or {})
    for name in axes:
        steps = np.diff(array[name].values)
        if len(steps) and steps[0] < 0:
            array, steps = array.isel({name: slice(None, None, -1)}), -steps[::-1]
        if len(steps) and np.abs(steps - steps.mean()).max() > 1e-3 * abs(steps.mean()):
            raise ValueError(f"the axis {name} is not regular: its steps are {steps.min():g} to {steps.max():g}; interpolate it first, as by xarray's interp()")
    return array


def _map(values: np.ndarray, x: np.ndarray, y: np.ndarray, kind: Optional[str], path: Path) -> xarray.DataArray:
    # If the file does not give the units, they are guessed from the size of the numbers.
    cell = max((abs(axis[1] - axis[0]) for axis in (x, y) if len(axis) > 1), default=0.0)
    degrees = kind == "degrees" or (not kind and np.abs(x).max() <= 360 and np.abs(y).max() <= 90 and cell < 10)
    if degrees and not kind and cell >= 1:
        warnings.warn(f"{os.fspath(path)} does not say whether its axes are in degrees or metres; they are taken to be in degrees: give units=\"m\" or units=\"degrees\"", stacklevel=4)
    units = {"x": "degrees_east", "y": "degrees_north"} if degrees else {"x": "m", "y": "m"}
    return _array(values.astype("f4"), {"y": y, "x": x}, units)


def _esri(path: Path, units: Optional[str]) -> xarray.DataArray:
    """Reads ESRI's ASCII grid, whose first row is the northernmost one."""
    head: Dict[str, float] = {}
    with open(path, encoding="ascii", errors="replace") as file:
        words = file.read().split()
    while len(words) > 1 and words[0][0].isalpha() and words[0].lower() != "nan":
        try:
            head[words[0].lower()] = float(words[1])
        except ValueError:
            raise ValueError(f"{os.fspath(path)}: {words[0]} is `{words[1]}`, but must be a number") from None
        words = words[2:]
    missing = [key for key in ("ncols", "nrows") if key not in head]
    if not ("cellsize" in head or "dx" in head and "dy" in head):
        missing.append("cellsize")
    for low in "xy":
        if f"{low}llcorner" not in head and f"{low}llcenter" not in head:
            missing.append(f"{low}llcorner")
    if missing:
        raise ValueError(f"{os.fspath(path)}: the header of an ESRI grid lacks {', '.join(missing)}")
    shape = int(head["nrows"]), int(head["ncols"])
    if len(words) != shape[0] * shape[1]:
        raise ValueError(f"{os.fspath(path)} has {len(words)} values, but its header says {shape[0]} rows of {shape[1]}")
    values = np.array(words, dtype=float).reshape(shape)[::-1]
    # -9999 is the default of the format.
    values[values == head.get("nodata_value", -9999.0)] = np.nan
    axes: List[np.ndarray] = []
    for low, number, size in (("x", shape[1], head.get("dx", head.get("cellsize"))), ("y", shape[0], head.get("dy", head.get("cellsize")))):
        first = head.get(f"{low}llcenter", head.get(f"{low}llcorner", 0) + size / 2)
        axes.append(first + size * np.arange(number))
    return _map(values, *axes, units, path)


def _netcdf(path: Path, name: Optional[str], units: Optional[str]) -> xarray.DataArray:
    """Reads NetCDF by the conventions of CF, COARDS or GMT, including GMT's oldest one."""
    with xarray.open_dataset(path, decode_times=False) as file:
        if {"x_range", "y_range", "dimension", "z"} <= set(file.variables):
            return _old_gmt(file, units, path)
        grids = [str(key) for key, value in file.data_vars.items() if value.ndim >= 2]
        chosen = name or (grids[0] if len(grids) == 1 else None)
        if chosen not in grids:
            raise ValueError(f"{os.fspath(path)} has the grids {', '.join(grids) or 'none'}: name= chooses one of them")
        variable = file[chosen].squeeze(drop=True).load()
    axes: Dict[str, np.ndarray] = {}
    kinds: Dict[str, str] = {}
    for dim in variable.dims:
        attrs = variable[dim].attrs if dim in variable.coords else {}
        own = NAMES.get(str(dim).lower()) or {"X": "x", "Y": "y", "Z": "z"}.get(str(attrs.get("axis", "")))
        unit = str(attrs.get("units", ""))
        own = own or next((key for key, words in UNITS.items() if unit.lower() in words), None)
        if own is None or own in axes:
            raise ValueError(f"{os.fspath(path)}: the dimensions of {chosen} are {', '.join(map(str, variable.dims))}, but must be x or lon, y or lat, and z or depth")
        axis = variable[dim].values.astype(float)
        is_degrees = own != "z" and not unit and (units == "degrees" or not units and str(dim).lower() in ("lon", "lat", "longitude", "latitude"))
        if own != "z" and (unit.lower() in UNITS[own] or is_degrees):
            unit = f"degrees_{'east' if own == 'x' else 'north'}"
        elif unit.lower() in ("km", "kilometer", "kilometers", "kilometre", "kilometres"):
            axis, unit = 1000 * axis, "m"
        else:
            unit = "m"
        if own == "z" and str(attrs.get("positive", "down")) == "up":
            axis = -axis
        axes[own], kinds[own] = axis, unit
    kept = {key: variable.attrs[key] for key in ("units", "long_name") if key in variable.attrs}
    values = variable.values
    known = OTHERS.get(str(kept.get("units", "")).lower().replace(" ", ""))
    if known:
        kept["units"], values = known[0], known[1] * values
    elif str(kept.get("units", "")).strip().lower() in LENGTHS:
        values, kept["units"] = in_metres(values, str(kept["units"]), "values", path), "m"
    order = [key for key in ("y", "x", "z") if key in axes]
    array = _array(values.astype("f4"), axes, kinds, kept).transpose(*order)
    return array.rename(chosen)


def _old_gmt(file: xarray.Dataset, units: Optional[str], path: Path) -> xarray.DataArray:
    """Reads the format of GMT before version 4: one list of values, row after row from the north."""
    columns, rows = (int(n) for n in file["dimension"].values)
    z = file["z"].load()
    pixels = int(z.attrs.get("node_offset", 0))
    axes = []
    for key, number in (("x_range", columns), ("y_range", rows)):
        low, high = file[key].values.astype(float)
        step = (high - low) / (number if pixels else number - 1)
        axes.append(low + step * (0.5 * pixels + np.arange(number)))
    return _map(z.values.reshape(rows, columns)[::-1], *axes, units, path)
