"""Arrays with named axes: reading them from RSF files, writing them, and drawing them."""
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, BinaryIO, Dict, Union

try:
    import numpy as np
    import rsfdata
    import xarray
except ImportError as fault:
    raise ImportError(f"sifaka needs {fault.name}: pip install {fault.name}") from fault

from ._messages import warn

Source = Union[str, "os.PathLike[str]", BinaryIO]
# The axes of a grid in the order of an array, whose last axis is the first one of the RSF file.
SPACE = ("y", "x", "z")


def one(results: Any) -> None:
    """Raises ValueError for a dict of several results or of named coordinates in place of one array."""
    if isinstance(results, Mapping):
        if results and set(map(str, results)) <= set(SPACE):
            raise ValueError(f"these are named coordinates: sifaka.points({', '.join(f'{name}={value}' for name, value in results.items())}) makes an array of points of them")
        name = "data" if "data" in results else next(iter(results), "data")
        raise ValueError(f"these are several results ({', '.join(map(str, results))}): take one, as found[{str(name)!r}]")


def dataset(value: Any) -> rsfdata.Dataset:
    """The RSF dataset of an array, a DataArray or a Dataset. Dimensions called z, x and y are put in the order of RSF files."""
    one(value)
    if isinstance(value, rsfdata.Dataset):
        return value
    if isinstance(value, xarray.DataArray):
        names = list(value.dims)
        places = [i for i, name in enumerate(names) if name in SPACE]
        for place, name in zip(places, [name for name in SPACE if name in names]):
            names[place] = name
        for name in [str(name) for name in names if name in SPACE and name in value.coords]:
            axis = value[name].values
            if axis.ndim == 1 and axis.size > 1 and axis.dtype.kind in "iuf" and (np.diff(axis) < 0).all():
                up = ", and here z points down: if it is a height, array.assign_coords(z=top - array.z) makes depths of it" if name == "z" else ""
                raise ValueError(f"{name} decreases from {axis[0]:g} to {axis[-1]:g}, but axes of space must increase: array.sortby({name!r}) reverses it{up}")
        return rsfdata.from_xarray(value.transpose(*names))
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise rsfdata.RsfError(f"an array of numbers is needed, but this one holds {array.dtype}")
    return rsfdata.Dataset(np.atleast_1d(array))


def read(source: Source, rec: Any = None) -> xarray.DataArray:
    """Reads an RSF file or a stream as a DataArray: dimensions have the labels of axes, components have names, and attrs["history"] is the header.

    rec: the points of the receivers of data (an array or the name of a file), whose positions become the coordinates x[, y], z; a file of data
    does not contain them.
    """
    data = rsfdata.read(source).to_xarray()
    if rec is None:
        return data
    placed = with_places(data, rec, {})
    if "z" not in placed.coords:
        raise ValueError(f"rec= does not have the receivers of these data, whose dimensions are {dict(data.sizes)}: give one point for each r, and for each shot if the receivers move")
    return placed


def with_places(array: xarray.DataArray, points: Any, unit: Dict[str, str]) -> xarray.DataArray:
    """The data with the coordinates x[, y], z of their receivers; unchanged if `points` are not their receivers."""
    named = isinstance(points, (str, os.PathLike))
    places = np.squeeze(rsfdata.read(points).array if named else dataset(points).array)
    dims = [str(array.dims[0]), "r"] if places.ndim == 3 and array.ndim == 4 else ["r"]
    places = places.reshape(1, -1) if places.ndim == 1 else places
    if "r" not in array.dims or list(places.shape[:-1]) != [array.sizes[name] for name in dims] or places.shape[-1] not in (2, 3):
        return array
    names = ("x", "z") if places.shape[-1] == 2 else ("x", "y", "z")
    return array.assign_coords({name: (dims, places[..., axis], unit) for axis, name in enumerate(names)})


def write(target: Source, array: Any, **keys: Any) -> None:
    """Writes an array as an RSF file; other keyword arguments become keys of the header."""
    values = np.asarray(array)
    if not isinstance(array, xarray.DataArray) and values.dtype == np.float64 and values.ndim == 2 and values.shape[1] in (2, 3):
        # An array with rows of x, z or x, y, z is a list of points.
        _warn_of_rounding(["x", "y", "z"] if values.shape[1] == 3 else ["x", "z"], list(values.T))
    rsfdata.write(target, dataset(array), **keys)


def grid(values: Any, unit: str = "m", **axes: Any) -> xarray.DataArray:
    """Values on a regular grid: `z=(0, 10)` is an axis with its origin and spacing, in the order of the array's dimensions.

    A number instead of an array fills the grid; each axis then has three numbers, `z=(0, 10, 101)`. `unit` is the unit of the axes.
    """
    values = np.asarray(values, dtype="f4")
    for name, axis in axes.items():
        if np.ndim(axis) != 1 or len(axis) not in (2, 3):
            raise ValueError(f"{name}={axis}: an axis has an origin and a spacing, and if values is a number also a number of samples: {name}=(0, 10, 101)")
    if values.ndim == 0:
        if any(len(axis) != 3 for axis in axes.values()):
            raise ValueError("a constant needs origin, spacing and number of samples of every axis: z=(0, 10, 101)")
        for name, (_, step, count) in axes.items():
            if count != int(count) or count < 1 or step == 0:
                raise ValueError(f"{name}={tuple(axes[name])}: {count} cannot be a number of samples, or {step} a spacing: an axis is (origin, spacing, number)")
            # As (first, last, spacing) these numbers would be an axis of many whole spacings.
            first = axes[name][0]
            if count > 1 and (step - first) / count >= 50 and (step - first) % count == 0:
                warn(f"{name}={tuple(axes[name])} has {count} samples that are {step} {unit} apart: an axis is (origin, spacing, number), not (first, last, spacing)")
        values = np.full([axis[2] for axis in axes.values()], values)
    if values.ndim != len(axes):
        raise ValueError(f"the array has {values.ndim} dimensions, but {len(axes)} axes are named: name an axis for each dimension, as in z=(0, 10)")
    for n, (name, axis) in zip(values.shape, axes.items()):
        if len(axis) > 2 and axis[2] != n:
            raise ValueError(f"{name} has {axis[2]} samples, but the array has {n}")
    coords = {name: (name, axis[0] + axis[1] * np.arange(n), {"units": unit}) for n, (name, axis) in zip(values.shape, axes.items())}
    return xarray.DataArray(values, coords, list(axes))


def points(**coordinates: Any) -> np.ndarray:
    """Sources or receivers for sou= and rec=: `points(x=range(0, 2000, 10), z=20)` are 200 points in 2-D."""
    order = [name for name in ("x", "y", "z") if name in coordinates]
    if len(order) != len(coordinates) or order not in (["x", "z"], ["x", "y", "z"]):
        raise ValueError(f"points have x, z or x, y, z, but these are named: {', '.join(coordinates) or 'none'}")
    for name in order:
        if np.asarray(coordinates[name]).dtype.kind not in "biuf":
            raise ValueError(f"{name}={coordinates[name]!r}: a coordinate is a number, a list or an array of numbers: range(0, 2000, 10), or numpy.arange(0, 2000, 2.5)")
    exact = [np.atleast_1d(np.asarray(coordinates[name], dtype="f8")) for name in order]
    _warn_of_rounding(order, exact)
    lists = [values.astype("f4") for values in exact]
    try:
        return np.stack(np.broadcast_arrays(*lists), axis=-1)
    except ValueError:
        lengths = " and ".join(f"{name} has {', '.join(map(str, values.shape))} numbers" for name, values in zip(order, lists))
        raise ValueError(f"{lengths}: give the same number of each, or one for all points") from None


def _warn_of_rounding(names: list[str], lists: list[np.ndarray]) -> None:
    """Warns, as sfpoints does, if single precision rounds a coordinate by more than 0.01 or a thousandth of the distance between points."""
    for name, values in zip(names, lists):
        off = np.where(np.abs(values) < 1000, 0, np.abs(values - values.astype("f4")))
        spacing = np.ptp(values) / max(values.size - 1, 1) if values.size else 0
        if values.size and off.max() > min(0.01, 1e-3 * spacing or 0.01):
            worst = values.flat[off.argmax()]
            warn(
                f"{name}={worst:.12g} becomes {np.float32(worst)}, because a coordinate has four bytes: subtract a nearby origin from all coordinates, "
                "those of the model included"
            )


@xarray.register_dataarray_accessor("sifaka")
class Accessor:
    """Pictures and the RSF header of a DataArray: `data.sifaka.image()`."""

    def __init__(self, array: xarray.DataArray) -> None:
        self._array = array

    @property
    def header(self) -> rsfdata.Header:
        """The RSF header with which the data were read."""
        return rsfdata.Header(str(self._array.attrs.get("history", "")).encode())

    def write(self, target: Source, **keys: Any) -> None:
        """Writes an RSF file."""
        write(target, self._array, **keys)

    def image(self, ax: Any = None, percent: float = 99.0, **words: Any) -> Any:
        """Draws the plane in colours with matplotlib: time or z downwards, values beyond this percentile clipped, zero in the middle of
        the colours if values have both signs. Other keyword arguments are those of xarray's imshow. Returns the picture."""
        plane = self._array.squeeze(drop=True)
        if plane.ndim != 2:
            raise ValueError(f"an image has two axes, but these are {', '.join(map(str, plane.dims))}: select with sel() or isel()")
        down = next((name for name in ("z", "t", "Time", "time", plane.dims[-1]) if name in plane.dims))
        (across,) = [name for name in plane.dims if name != down]
        size = np.abs(plane.values[np.isfinite(plane.values)])
        clip = float(np.percentile(size, percent)) if size.size else 0.0
        signed = bool((plane.values < 0).any())
        usual = {"cmap": "RdGy_r" if signed else "viridis", "yincrease": False}
        if signed and clip > 0:
            usual.update(vmin=-clip, vmax=clip)
        return plane.plot.imshow(x=across, y=down, ax=ax, **{**usual, **words})

    def wiggles(self, ax: Any = None, scale: float = 1.0, every: int = 1, **words: Any) -> Any:
        """Draws the traces side by side with matplotlib, time downwards, and returns the axes. Of one receiver these are its components."""
        plane = self._array.squeeze(drop=True)
        if plane.ndim != 2:
            raise ValueError(f"wiggles have two axes, but these are {', '.join(map(str, plane.dims))}: select with sel() or isel()")
        named = [name for name in plane.dims if plane[name].dtype.kind not in "biuf"]
        usual = ["t", "Time", "time", "z", *reversed(plane.dims)]
        down = next((name for name in usual if name in plane.dims and name not in named), None)
        if down is None:
            raise ValueError(f"wiggles need an axis of numbers, but {' and '.join(map(str, named))} have names: select with sel() or isel()")
        (across,) = [name for name in plane.dims if name != down]
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.gca()
        traces = plane.transpose(across, down)[::every]
        # Traces with names, such as components, are one unit apart.
        at = np.arange(traces.sizes[across], dtype="f8") if across in named else traces[across].values.astype("f8")
        step = at[1] - at[0] if at.size > 1 else 1.0
        largest = float(np.abs(traces.values).max()) or 1.0
        for place, trace in zip(at, traces):
            ax.plot(place + scale * step / largest * trace.values, trace[down].values, **{"color": "black", "linewidth": 0.7, **words})
        ax.set_ylim(float(plane[down][-1]), float(plane[down][0]))
        if across in named:
            ax.set_xticks(at, [str(name) for name in traces[across].values])
        ax.set_xlabel(_named(plane[across]))
        ax.set_ylabel(_named(plane[down]))
        return ax


def _named(axis: xarray.DataArray) -> str:
    unit = axis.attrs.get("units")
    return re.sub(r"_", " ", str(axis.name)) + (f" ({unit})" if unit else "")
