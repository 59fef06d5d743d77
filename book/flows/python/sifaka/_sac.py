"""Headers of SAC files."""
from __future__ import annotations

from typing import Any, Dict, Optional

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
