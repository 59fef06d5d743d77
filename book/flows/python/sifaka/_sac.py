"""SAC files and their headers."""
from __future__ import annotations

import os
import warnings
from typing import Any, Dict, List, Optional

import obspy
from obspy.geodetics import gps2dist_azimuth


def sac(place: Optional[tuple], origin: Any, first: float) -> Dict[str, float]:
    """The keys of SAC headers other than names and times: coordinates in degrees, m and km, and distance and azimuths between the origin of the event
    and the station on the ellipsoid; times are relative to the origin time."""
    header: Dict[str, float] = {"b": first, "o": 0.0}
    if place:
        header.update(stla=place[0], stlo=place[1], stel=place[2], stdp=place[3])
    if origin is not None:
        header.update(evla=origin.latitude, evlo=origin.longitude, evdp=origin.depth / 1000)
        if place:
            distance, azimuth, back = gps2dist_azimuth(origin.latitude, origin.longitude, *place[:2])
            header.update(dist=distance / 1000, az=azimuth, baz=back)
    return header


def whole_milliseconds(trace: Any) -> Any:
    """The trace with the origin time relative to the reference time that ObsPy writes, in whole milliseconds: ObsPy moves only B."""
    keys = trace.stats.get("sac", {})
    if "b" not in keys or "o" not in keys or "nzyear" in keys:
        return trace
    cut = (trace.stats.starttime - keys["b"]).microsecond % 1000
    stats = trace.stats.copy()
    stats.sac["o"] = keys["o"] + 1e-6 * cut
    return obspy.Trace(trace.data, stats)


def write_sac(folder: str, stream: Any) -> List[str]:
    """Writes a SAC file for each trace, named after it, and returns the paths. Warns of traces without coordinates."""
    lacking = sum("stla" not in trace.stats.get("sac", {}) for trace in stream)
    if lacking:
        warnings.warn(
            f"{lacking} of {len(stream)} traces have no coordinates (stla, stlo) in their SAC headers: pass the inventory of the stations to to_stream(), or set trace.stats.sac yourself",
            stacklevel=2,
        )
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, f"{trace.id}.SAC") for trace in stream]
    for path, trace in zip(paths, stream):
        whole_milliseconds(trace).write(path, format="SAC")
    return paths
