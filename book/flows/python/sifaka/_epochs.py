"""Positions of the stations of an inventory in the relevant epoch."""
from __future__ import annotations

import warnings
from typing import Any, Dict

import numpy as np


def places(inventory: Any, when: Any = None) -> Dict[str, Any]:
    """Latitude, longitude, elevation and depth of every station by its name, as stations= takes them from StationXML; different locations count as separate stations.

    The position is the position of the channel or, if there is none, of its station. Of several epochs the epoch that
    contains the time `when` is used, otherwise the latest, with a warning if positions differ.
    """
    stays: Dict[str, list] = {}
    for network in inventory:
        for station in network:
            for channel in station.channels or [station]:
                name = ".".join(filter(None, (network.code, station.code, getattr(channel, "location_code", ""))))
                spot = [channel.latitude, channel.longitude, channel.elevation, getattr(channel, "depth", 0.0)]
                spot[:3] = [getattr(station, key) if value is None else value for key, value in zip(("latitude", "longitude", "elevation"), spot)]
                begin = max((one.start_date.timestamp for one in (station, channel) if one.start_date), default=-np.inf)
                end = min((one.end_date.timestamp for one in (station, channel) if one.end_date), default=np.inf)
                stays.setdefault(name, []).append((begin, end, tuple(0.0 if value is None else float(value) for value in spot)))
    at = None if when is None else when.timestamp
    holds = lambda stay: at is not None and stay[0] <= at <= stay[1]
    # max() takes the first of several equal ones.
    chosen = {name: max(all_of, key=lambda stay: (holds(stay), stay[1], stay[0])) for name, all_of in stays.items()}
    moved = [name for name, all_of in stays.items() if any(a[1] <= b[0] and a[2] != b[2] for a in all_of for b in all_of)]
    if at is None and moved:
        subject = moved[0] if len(moved) == 1 else f"{len(moved)} stations, {moved[0]} the first of them,"
        warnings.warn(f"{subject} had different positions in several epochs: the latest epoch is taken; event= gives the time whose epoch counts", stacklevel=3)
    outside = [name for name, stay in chosen.items() if at is not None and not holds(stay)]
    if outside:
        subject = outside[0] if len(outside) == 1 else f"{len(outside)} stations, {outside[0]} the first of them,"
        warnings.warn(f"{subject} had no epoch at the time of the event, {when}: the latest epoch is taken", stacklevel=3)
    return {name: spot for name, (_, _, spot) in chosen.items()}
