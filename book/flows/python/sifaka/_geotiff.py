"""Maps in files of GeoTIFF 1.1, by Pillow."""
from __future__ import annotations

import os
import re
import struct
import warnings
from typing import Optional, Tuple, Union

import numpy as np

from ._lengths import in_metres, known

Path = Union[str, "os.PathLike[str]"]


def read(path: Path, units: Optional[str]) -> Tuple[np.ndarray, np.ndarray, np.ndarray, Optional[str]]:
    """The values of a file of GeoTIFF 1.1, the coordinates x and y of their columns and rows, and the units of these: these follow from scale and tie point of the pixels, or from their matrix if it has no rotation. Keys tell whether pixels are areas and whether units are degrees."""
    try:
        from PIL import Image
    except ImportError as fault:
        raise ImportError("sifaka.grids needs Pillow for GeoTIFF: pip install pillow") from fault
    try:
        with Image.open(path) as picture:
            tags, values = picture.tag_v2, np.array(picture, dtype=float)
    except (OSError, SyntaxError, ValueError) as fault:
        raise ValueError(f"{os.fspath(path)} cannot be read: {_odd(path) or f'it is damaged or cut short ({fault})'}") from fault
    if values.ndim != 2:
        raise ValueError(f"{os.fspath(path)} has {values.shape[2]} bands, but a map has one")
    scale, tie, matrix = tags.get(33550), tags.get(33922), tags.get(34264)
    if scale and tie:
        steps, first = (scale[0], -scale[1]), (tie[3] - tie[0] * scale[0], tie[4] + tie[1] * scale[1])
    elif matrix and matrix[1] == 0 and matrix[4] == 0:
        steps, first = (matrix[0], matrix[5]), (matrix[3], matrix[7])
    else:
        raise ValueError(f"{os.fspath(path)} does not give the positions of its pixels (ModelPixelScale and ModelTiepoint), or its grid is rotated: rewrite it with gdalwarp")
    words = tags.get(34735, ())
    keys = {words[k]: words[k + 3] for k in range(4, len(words) - 3, 4)}
    middle = 0.0 if keys.get(1025) == 2 else 0.5
    x, y = (first[i] + steps[i] * (middle + np.arange(n)) for i, n in enumerate(values.shape[::-1]))
    none = str(tags.get(42113, "")).strip("\0 ")
    if none:
        values[values == float(none)] = np.nan
    unit = re.search(r'role="unittype">([^<]*)<', str(tags.get(42112, "")))
    values = in_metres(values, unit.group(1) if unit else keys.get(4099), "heights", path)
    if keys.get(1024) == 1:
        unit = keys.get(3076) or _unit_of(keys.get(3072), path)
        # Warnings refer to the line that calls grids.read(), so each call is made here.
        x = in_metres(x, unit, "x of the map", path)
        y = in_metres(y, unit, "y of the map", path)
    return values, x, y, {1: "m", 2: "degrees"}.get(keys.get(1024), units)


def _unit_of(code: Optional[int], path: Path) -> Union[None, str, int]:
    """The unit of the axes of a projection, from its EPSG code, because a file need not repeat it; None for metres and for projections that the file defines itself."""
    # 32767 is a projection without a code; the codes of UTM on WGS 84, ETRS89 and NAD83 and the code of Web Mercator are in metres.
    if code in (None, 0, 32767, 3857) or 32601 <= code <= 32760 or 25828 <= code <= 25838 or 26901 <= code <= 26923:
        return None
    try:
        from pyproj import CRS
        from pyproj.exceptions import CRSError
    except ImportError:
        warnings.warn(f"{os.fspath(path)}: x and y are those of EPSG:{code}, and because the file does not give their unit, they are taken as metres; with pyproj (pip install pyproj) the unit is known, and feet are converted", stacklevel=4)
        return None
    try:
        axis = CRS.from_epsg(code).axis_info[0]
    except (CRSError, IndexError):
        warnings.warn(f"{os.fspath(path)}: pyproj does not know EPSG:{code}, the projection of the map, so x and y are taken as metres", stacklevel=4)
        return None
    if axis.unit_conversion_factor != 1 and not known(axis.unit_name):
        raise ValueError(f"{os.fspath(path)}: x and y are those of EPSG:{code}, in the unit {axis.unit_name}: convert the map to metres with gdalwarp")
    return axis.unit_name


def _odd(path: Path) -> Optional[str]:
    """The type of the values of a TIFF file, if Pillow does not support it."""
    from PIL import TiffImagePlugin

    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tags = TiffImagePlugin.ImageFileDirectory_v2(file.read(8))
            file.seek(tags.next)
            tags.load(file)
    except (OSError, SyntaxError, ValueError, struct.error):
        return None
    bits, kind = tags.get(258, (1,)), {2: "integers with a sign", 3: "reals", 5: "complex integers", 6: "complex reals"}.get(tags.get(339, (1,))[0], "integers")
    if len(bits) == 1 and (bits[0], kind) in ((8, "integers"), (16, "integers"), (16, "integers with a sign"), (32, "integers"), (32, "integers with a sign"), (32, "reals")):
        return None
    bands = f", in {len(bits)} bands" if len(bits) > 1 else ""
    return f"its values are {kind} of {bits[0]} bits{bands}, which Pillow does not support; gdal_translate -ot Float32 -b 1 {os.fspath(path)} new.tif makes reals of 32 bits"
