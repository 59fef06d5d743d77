"""Lengths in kilometres and feet, which become metres."""
from __future__ import annotations

import os
import warnings
from typing import Any, Union

import numpy as np

# Units of length that are converted to metres with a warning, as names and as EPSG codes, with the factor.
LENGTHS = {"km": 1000.0, "kilometer": 1000.0, "kilometers": 1000.0, "kilometre": 1000.0, "kilometres": 1000.0, 9036: 1000.0,
           "ft": 0.3048, "foot": 0.3048, "feet": 0.3048, 9002: 0.3048, "us-ft": 1200 / 3937, "us survey foot": 1200 / 3937, "sft": 1200 / 3937, 9003: 1200 / 3937}


def known(unit: Any) -> bool:
    """Whether a unit is one that `in_metres` converts."""
    return (unit.strip().lower() if isinstance(unit, str) else unit) in LENGTHS


def in_metres(values: np.ndarray, unit: Any, what: str, path: Union[str, "os.PathLike[str]"]) -> np.ndarray:
    """Converts lengths to metres, with a warning if the file has another unit."""
    factor = LENGTHS.get(unit.strip().lower() if isinstance(unit, str) else unit)
    if factor is None:
        return values
    lengths = "kilometres" if factor == 1000 else "feet"
    warnings.warn(f"{os.fspath(path)}: {what} are in {lengths} and are converted to metres (factor {factor:.7g})", stacklevel=4)
    return factor * values
