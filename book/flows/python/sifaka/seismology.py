"""Files of seismology, by ObsPy: SAC and miniSEED both ways, StationXML and QuakeML in.

    from sifaka import seismology

    inventory, catalog = obspy.read_inventory("net.xml"), obspy.read_events("quake.xml")
    rec, names = seismology.receivers(inventory, origin=(42.7, 13.2), event=catalog[0])   # x east, y north, z down, in m
    quake = seismology.source(catalog[0], origin=(42.7, 13.2))          # sou=, src=, mxx=, ... of sfvsfd3d-gpu
    data = sifaka.run("sfvsfd3d-gpu", rec=rec, **quake, tau=tau, ...)
    data = seismology.named(data, names, catalog[0], centre=4 * tau)    # names and time stay with the traces
    stream = seismology.to_stream(data, inventory, catalog[0])          # obspy.Stream
    stream.write("data.mseed", "MSEED"); seismology.write_sac("folder", stream)
    again = seismology.from_stream(obspy.read("data.mseed"))

Names are NETWORK.STATION or NETWORK.STATION.LOCATION. RSF headers have them as the key stations=, with origin_time= and time_shift= (s), which
sfsem3d-gpu and sfvsfd3d-gpu derive from stations=, cmt= and quakeml=: time 0 of the data is time_shift after origin_time. Every program that keeps all receivers keeps these keys, and so do arrays in Python. Channels are named as in
SEED: band by the sampling, X for synthetic (J where data are rotations, S for strain), then the component. A component z, positive downwards, becomes Z, positive upwards; x and y become 1 and 2,
or E and N with `orient=seismology.EAST_NORTH`. from_stream leaves components as they were recorded, Z upwards; with the same orient= it converts them
to z, x and y, which gradients and images need. Needs obspy.
"""
from __future__ import annotations

import re
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import xarray

try:
    import obspy
    from obspy.geodetics import gps2dist_azimuth
except ImportError as fault:
    raise ImportError("sifaka.seismology needs obspy: pip install obspy") from fault

from ._epochs import places
from ._sac import sac, write_sac

__all__ = ["EAST_NORTH", "GRID", "cmt_file", "from_stream", "named", "receivers", "source", "stations_file", "to_stream", "write_sac"]

Orient = Mapping[str, Tuple[str, float]]
# For each component of the data: the letter of the channel, and a factor.
GRID: Orient = {"z": ("Z", -1.0), "x": ("1", 1.0), "y": ("2", 1.0), "Z": ("Z", 1.0), "N": ("N", 1.0), "E": ("E", 1.0), "pressure": ("H", 1.0), "1": ("1", 1.0), "2": ("2", 1.0), "H": ("H", 1.0), "along the fibre": ("1", 1.0)}
EAST_NORTH: Orient = {**GRID, "x": ("E", 1.0), "y": ("N", 1.0)}
# SEED's instrument codes by quantity; synthetic seismograms of ground motion and pressure have X.
INSTRUMENTS = {"rotation": "J", "strain": "S"}
# The directions of components as SAC's angles: clockwise from north, and from the vertical.
DIRECTIONS = {"Z": {"cmpaz": 0.0, "cmpinc": 0.0}, "N": {"cmpaz": 0.0, "cmpinc": 90.0}, "E": {"cmpaz": 90.0, "cmpinc": 90.0}}
# Stations at larger distances (m) cause a warning, because a plane no longer represents the Earth there.
FAR = 1e6
# SEED's band codes by sampling interval in s, from the shortest.
BANDS = ((0.001, "F"), (0.004, "C"), (0.0125, "H"), (0.1, "B"), (1.0, "M"))


def local(latitude: float, longitude: float, origin: Tuple[float, float]) -> Tuple[float, float]:
    """x east and y north of a point in m, from its distance and azimuth from `origin` (latitude, longitude) on the ellipsoid."""
    if not -90 <= origin[0] <= 90:
        raise ValueError(f"origin={origin}: the latitude comes first, from -90 to 90 degrees, then the longitude")
    distance, azimuth, _ = gps2dist_azimuth(*origin, latitude, longitude)
    return distance * float(np.sin(np.radians(azimuth))), distance * float(np.cos(np.radians(azimuth)))


def time_of(event: Any) -> Any:
    """The time of the preferred origin of an event; None without an event or a time."""
    return None if event is None else getattr(hypocentre_of(one_event(event)), "time", None)


def receivers(inventory: Any, origin: Any = None, ground: float = 0.0, event: Any = None) -> Tuple[np.ndarray, List[str]]:
    """Points for rec= (x east, y north, z down from the height `ground`, in m) and names of the stations of an inventory.

    event: the earthquake, whose time chooses the epoch of a station that was moved; without it the latest epoch is taken, with a warning.
    """
    if not isinstance(inventory, obspy.Inventory):
        raise TypeError(f"stations come from an obspy.Inventory (obspy.read_inventory), but this is a {type(inventory).__name__}")
    if origin is None:
        raise TypeError("origin= is missing: (latitude, longitude) of x = y = 0")
    stations = places(inventory, time_of(event))
    for name, (latitude, longitude, *_) in stations.items():
        away = np.hypot(*local(latitude, longitude, origin))
        if away > FAR:
            warnings.warn(f"{name} is {away / 1000:.0f} km from origin={origin}, too far for a plane with the axes x and y; origin is (latitude, longitude)", stacklevel=2)
    points = [(*local(lat, lon, origin), ground - height + depth) for lat, lon, height, depth in stations.values()]
    return np.array(points, "f4"), list(stations)


def one_event(event: Any) -> Any:
    """The event, or the only event of a catalogue. Raises ValueError for a catalogue of several."""
    events = getattr(event, "events", None)
    if events is None:
        return event
    if len(events) != 1:
        raise ValueError(f"the catalogue has {len(events)} events, but the source is one event: choose it, as in catalog[0]")
    return events[0]


def mechanism_of(event: Any) -> Any:
    """The preferred focal mechanism of the event, otherwise the first; None if there is none."""
    return event.preferred_focal_mechanism() or (event.focal_mechanisms or [None])[0]


def moment_tensor(event: Any) -> Any:
    """The moment tensor of the preferred focal mechanism, otherwise of the first. Raises ValueError if there is none."""
    event = one_event(event)
    tensor = getattr(mechanism_of(event), "moment_tensor", None)
    if getattr(tensor, "tensor", None) is None:
        raise ValueError(f"{event.resource_id}: the event has no moment tensor, which the source needs")
    return tensor


def origin_of(event: Any) -> Any:
    """The origin for which the moment tensor was derived (the centroid), otherwise the preferred origin, otherwise the first, as quakeml= chooses it."""
    event = one_event(event)
    derived = getattr(getattr(mechanism_of(event), "moment_tensor", None), "derived_origin_id", None)
    centroid = next((place for place in event.origins if derived is not None and place.resource_id.id == derived.id), None)
    return centroid or hypocentre_of(event)


def hypocentre_of(event: Any) -> Any:
    """The preferred origin of the event, otherwise the first."""
    return event.preferred_origin() or (event.origins or [None])[0]


def origin_and_tensor(event: Any) -> Tuple[Any, Any]:
    """The origin by the rule of `origin_of`, and the moment tensor. Raises ValueError if one of them is missing."""
    event = one_event(event)
    place = origin_of(event)
    missing = [key for key in ("latitude", "longitude", "depth") if getattr(place, key, None) is None]
    if missing:
        raise ValueError(f"{event.resource_id}: the origin of the event has no {' and no '.join(missing)}: set event.preferred_origin() or event.origins[0], as in event.origins[0].depth = 8000.0 (m)")
    return place, moment_tensor(event).tensor


def source(event: Any, origin: Tuple[float, float], ground: float = 0.0) -> Dict[str, Any]:
    """sou=, src= and the moment tensor of an event with a focal mechanism, for a grid with x east, y north and z down.

    The position is the origin for which the tensor was derived (the centroid), otherwise the preferred origin. Its depth counts from sea
    level, which is at z = `ground`. An event without a tensor is refused: give its mechanism yourself.
    """
    place, tensor = origin_and_tensor(event)
    x, y = local(place.latitude, place.longitude, origin)
    # r is up, t south and p east: x = p, y = -t, z = -r.
    moments = dict(mxx=tensor.m_pp, myy=tensor.m_tt, mzz=tensor.m_rr, mxy=-tensor.m_tp, mxz=-tensor.m_rp, myz=tensor.m_rt)
    return dict(sou=np.array([[x, y, ground + place.depth]], "f4"), src="moment", **moments)


def half_duration_of(event: Any) -> float:
    """Half of the duration of the event's source time function in s, otherwise the value that the Global CMT catalogue uses for its moment, as with quakeml=."""
    solution = moment_tensor(event)
    duration = getattr(solution.source_time_function, "duration", None)
    if duration is not None:
        return float(duration) / 2
    tensor = solution.tensor
    diagonal, off = (tensor.m_rr, tensor.m_tt, tensor.m_pp), (tensor.m_rt, tensor.m_rp, tensor.m_tp)
    moment = np.sqrt((np.square(diagonal).sum() + 2 * np.square(off).sum()) / 2)
    return float(1.05e-8 * np.cbrt(1e7 * moment))


def cmt_file(event: Any, path: str, half_duration: Optional[float] = None) -> None:
    """Writes an event as the CMTSOLUTION file that cmt= of sfsem3d-gpu and sfvsfd3d-gpu reads.

    half_duration: in s; without it the half duration of the event, by the rule of quakeml=: half of the duration of its
    source time function, otherwise 1.05e-8 times the cube root of its moment in dyne cm. The file has the body-wave and surface-wave magnitudes of the event, or 0. Its first
    line is the preferred origin of the event; latitude, longitude, depth and time shift are those of the origin for which the tensor was derived.
    """
    event = one_event(event)
    place, tensor = origin_and_tensor(event)
    half_duration = half_duration_of(event) if half_duration is None else half_duration
    begun, newton_metre = hypocentre_of(event), 1e7
    if begun.time is None or begun.latitude is None or begun.longitude is None:
        begun = place
    time = begun.time
    first = f" PDE {time.year} {time.month} {time.day} {time.hour} {time.minute} {time.second + time.microsecond / 1e6:.6f}"
    sizes = {(magnitude.magnitude_type or "").lower(): magnitude.mag for magnitude in event.magnitudes}
    body, surface = (next((sizes[kind] for kind in kinds if kind in sizes), 0) for kinds in (("mb", "mw", "mwc"), ("ms", "ms_20", "mw", "mwc")))
    name = str(event.resource_id).rsplit("/", 1)[-1]
    deep = place.depth if begun.depth is None else begun.depth
    lines = [f"{first} {begun.latitude} {begun.longitude} {deep / 1000} {body} {surface} {name}", f"event name: {name}"]
    lines += [f"time shift: {place.time - begun.time}", f"half duration: {half_duration}", f"latitude: {place.latitude}", f"longitude: {place.longitude}", f"depth: {place.depth / 1000}"]
    lines += [f"M{key}: {newton_metre * getattr(tensor, 'm_' + key):.9e}" for key in ("rr", "tt", "pp", "rt", "rp", "tp")]
    with open(path, "w", encoding="utf-8") as text:
        text.write("\n".join(lines) + "\n")


def stations_file(inventory: Any, path: str, event: Any = None) -> None:
    """Writes the STATIONS file that stations= of sfsem3d-gpu and sfvsfd3d-gpu reads; event= is as in `receivers`.

    The names in the file have no location: of several locations of a station the first one is written, and a warning names the others.
    """
    lines: Dict[str, str] = {}
    missing = []
    for name, (latitude, longitude, height, depth) in places(inventory, time_of(event)).items():
        network, station = name.split(".")[:2]
        if f"{network}.{station}" in lines:
            missing.append(name)
            continue
        lines[f"{network}.{station}"] = f"{station} {network} {latitude:.6f} {longitude:.6f} {height:.2f} {depth:.2f}\n"
    if missing:
        warnings.warn(f"a STATIONS file has no locations, so these are left out: {', '.join(missing)}; stations= reads StationXML with all of them", stacklevel=2)
    with open(path, "w", encoding="utf-8") as text:
        text.writelines(lines.values())


def named(data: xarray.DataArray, names: Sequence[str], event: Any = None, centre: Optional[float] = None) -> xarray.DataArray:
    """The data with the names of their receivers, and with times relative to the origin time of an event, by the rule of `source`.

    centre: the time of the run, in s, at the centre of the time function of its source: 4 tau with stf=gauss. It is subtracted from the
    times t. Without it time 0 of the run is the origin time, with a warning if the run begins there.
    """
    if data.sizes.get("r") != len(names):
        raise ValueError(f"the data have {data.sizes.get('r', 0)} receivers (dimension r), but {len(names)} names are given")
    result = data.assign_coords(station=("r", list(names)))
    event = None if event is None else one_event(event)
    if event is not None and centre is None and "t" in data.dims and float(data.t[0]) >= 0:
        warnings.warn(
            "time 0 of the run is taken to be the origin time of the event, but the centre of a source that begins there is later (4 tau with stf=gauss): "
            "give named() centre=, the time of that centre in s, or centre=0",
            stacklevel=2,
        )
    if centre:
        result = result.assign_coords(t=("t", data.t.values - centre, data.t.attrs))
    if event is not None:
        result.attrs["origin_time"] = str(origin_of(event).time)
    return result


def begin(data: xarray.DataArray) -> Any:
    """Time 0 of the data as UTC; 1970 if it is not known."""
    if "origin_time" in data.attrs:
        return obspy.UTCDateTime(data.attrs["origin_time"])
    text, shift = data.sifaka.header.text("origin_time", "1970-01-01"), float(data.sifaka.header.text("time_shift") or 0.0)
    # The seconds of a catalogue may be rounded to 60.
    parts = re.fullmatch(r"(.*T\d\d:\d\d:)(\d\d(?:\.\d*)?)Z?", text)
    return obspy.UTCDateTime(parts.group(1) + "00") + float(parts.group(2)) + shift if parts else obspy.UTCDateTime(text) + shift


def numbers(data: xarray.DataArray) -> List[int]:
    """The numbers of receivers from 0 on: their coordinate r if it contains whole numbers, otherwise their indices."""
    places = np.asarray(data["r"].values, float) if "r" in data.coords else np.arange(data.sizes["r"])
    whole = np.rint(places).astype(int)
    kept = np.all(whole == places) and np.all(whole >= 0) and len(set(whole.tolist())) == len(whole)
    return whole.tolist() if kept else list(range(len(whole)))


def to_stream(data: xarray.DataArray, inventory: Any = None, event: Any = None, orient: Orient = GRID) -> Any:
    """Converts data with the dimensions t, component and r to an obspy.Stream; names are kept without an inventory, too.

    inventory, event: give coordinates for SAC headers, and together the distance and the back azimuth that ObsPy's `rotate("NE->RT")` and
    record sections need; there is a warning for stations that the inventory lacks. Receivers without names are
    called XX.R0001, ... by their coordinate r, so that a selection of receivers keeps their names.
    """
    if "r" not in data.dims and ("r" in data.coords or "station" in data.coords):
        data = data.expand_dims("r")
    missing = [name for name in ("t", "r") if name not in data.dims]
    others = [str(name) for name in data.dims if name not in ("t", "component", "r")]
    if missing:
        pairs = dict(zip(others, missing))
        cure = f"rename them if they are traces, as in data.rename({pairs})" if pairs else f"{' and '.join(missing)} is missing"
        raise ValueError(f"traces have the dimensions t, component and r, but these are {', '.join(map(str, data.dims))}: {cure}")
    if others:
        raise ValueError(f"traces have the dimensions t, component and r, but these also have {', '.join(others)}: select one sample with isel(), as in data.isel({{{others[0]!r}: 0}})")
    if "component" not in data.dims:
        if "component" not in data.coords:
            raise ValueError("the data have no component, so their channel is unknown: data.expand_dims(component=['z']) makes them vertical, positive downwards (x, y, pressure and so on likewise)")
        data = data.expand_dims("component")
    data = data.transpose("r", "component", "t")
    step = float(data.t[1] - data.t[0])
    band = next((letter for longest, letter in BANDS if step <= longest * (1 + 1e-6)), "L")
    quantity = (data.sifaka.header.text("quantity") or str(data.attrs.get("long_name", ""))).lower()
    kind = next((code for word, code in INSTRUMENTS.items() if quantity.startswith(word)), "X")
    names = np.atleast_1d(data["station"].values) if "station" in data.coords else [f"XX.R{number + 1:04d}" for number in numbers(data)]
    event = None if event is None else one_event(event)
    timed = "origin_time" in data.attrs or bool(data.sifaka.header.text("origin_time"))
    known = {} if inventory is None else places(inventory, time_of(event) or (begin(data) if timed else None))
    # A STATIONS file has no locations: such a name means the only place of its station.
    for name in {str(name) for name in names} - known.keys():
        spots = {spot for other, spot in known.items() if other.startswith(f"{name}.")}
        if len(spots) == 1:
            known[name] = spots.pop()
    lacking = [] if inventory is None else [str(name) for name in names if str(name) not in known]
    if lacking:
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        warnings.warn(
            f"the inventory has no {', '.join(lacking[:3])}{more}: these traces have no coordinates; it has {', '.join(list(known)[:3]) or 'no stations'}",
            stacklevel=2,
        )
    start, stream = begin(data), obspy.Stream()
    for name, receiver in zip(map(str, names), data):
        for which, trace in zip(data.component.values, receiver):
            if which not in orient:
                raise ValueError(
                    f"a component is called {which}, but orient= knows only {', '.join(orient)}: give its channel and sign, "
                    f"as in orient={{**seismology.GRID, {str(which)!r}: ('{str(which)[-1:].upper() or 'Z'}', 1.0)}}"
                )
            letter, factor = orient[which]
            if kind == "J" and orient in (GRID, EAST_NORTH) and which in ("z", "x", "y"):
                # x east, y north and z down form a left-handed system, so the curl about z equals the curl about Z (up),
                # and the curls about x and y are the negatives of the curls about E and N.
                factor = -factor
            codes = dict(zip(("network", "station", "location"), name.split(".")))
            header = dict(codes, channel=f"{band}{kind}{letter}", delta=step, starttime=start + float(data.t[0]))
            header["sac"] = dict(sac(known.get(name), None if event is None else origin_of(event), float(data.t[0])), **DIRECTIONS.get(letter, {}))
            if "baz" in header["sac"]:
                # ObsPy needs these, in degrees and m, for rotations and record sections.
                header.update(back_azimuth=header["sac"]["baz"], distance=1000 * header["sac"]["dist"])
            stream.append(obspy.Trace(np.ascontiguousarray(factor * trace.values, "f4"), header))
    return stream


def on_grid(data: xarray.DataArray, orient: Orient) -> xarray.DataArray:
    """Converts the channels of data to components of a grid: the inverse of to_stream with the same orient=."""
    if not isinstance(orient, Mapping):
        raise TypeError(f"orient={orient!r}: give EAST_NORTH or GRID of seismology, or a dict like these")
    names: Dict[str, Tuple[str, float]] = {}
    for name, (letter, factor) in orient.items():
        names.setdefault(letter, (name, factor))
    letters = [str(letter) for letter in data.component.values]
    lacking = [letter for letter in letters if letter not in names]
    components = [names[letter][0] for letter in letters if letter in names]
    if lacking or ("z" in components and set(components) & {"N", "E"}):
        cure = "orient=seismology.EAST_NORTH makes x and y of E and N" if {"N", "E"} & set(letters) else "orient= must name a component for each letter"
        raise ValueError(f"the channels end in {', '.join(letters)}, but this orient= would make {', '.join(components + lacking)} of them: {cure}")
    if orient is EAST_NORTH and set(letters) & {"1", "2"}:
        warnings.warn(
            f"the channels end in {', '.join(letters)}, and EAST_NORTH makes x and y only of E and N, so the components are {', '.join(components)}: rotate('->ZNE', inventory=...) of ObsPy "
            "makes N and E, and orient=seismology.GRID x and y of 1 and 2 that to_stream has written",
            stacklevel=3,
        )
    order = sorted(range(len(components)), key=lambda k: (["z", "x", "y"] + components).index(components[k]))
    factors = xarray.DataArray(np.array([names[letters[k]][1] for k in order], "f4"), dims="component")
    return (data.isel(component=order) * factors).assign_coords(component=[components[k] for k in order]).assign_attrs(data.attrs)


def station_of(trace: Any) -> str:
    """The codes of network, station and location of a trace, as in the names of `receivers`."""
    return ".".join(filter(None, trace.id.split(".")[:3]))


def from_stream(stream: Any, origin_time: Any = None, orient: Optional[Orient] = None, stations: Optional[Sequence[str]] = None) -> xarray.DataArray:
    """Converts traces of the same length and sampling to data with the dimensions t, component and r, and the names of stations.

    Components are the last letters of the channels, N, E and Z as recorded, Z upwards. Programs whose receivers are points model z (downwards),
    x and y, and refuse other components: orient=seismology.EAST_NORTH makes these from Z, E and N, and orient=seismology.GRID from the Z, 1 and 2 that
    to_stream writes. Time 0 is `origin_time`, a time or an event of ObsPy, as in the data of runs with such an event; without it time 0 is
    the first sample, or the beginning of 1970 for traces of its first day, which to_stream makes of data without an origin time.

    Stations stand in the order of the stream, or in that of `stations`, which leaves out all others: programs compare records with the points of
    rec= one by one, in the order of the names that `receivers` returns.
    """
    if not len(stream):
        raise ValueError("the stream has no traces: check what was read or selected")
    kinds = {(trace.stats.npts, round(trace.stats.delta, 7), trace.stats.starttime.ns // 1000) for trace in stream}
    if len(kinds) != 1:
        raise ValueError(f"the traces have {len(kinds)} different lengths, samplings or starts: stream.interpolate(rate, starttime=time, npts=count) of ObsPy resamples all to the same times")
    ((count, step, _),) = kinds
    ids = [trace.id for trace in stream]
    start = stream[0].stats.starttime
    twice = next((one for k, one in enumerate(ids) if one in ids[:k]), None)
    if twice is not None:
        raise ValueError(f"{ids.count(twice)} of the {len(ids)} traces are {twice or 'without names'}, but data have one trace for each component of a station: stream.merge() of ObsPy joins pieces; read SEG-Y files with sfsegyread")
    channels: Dict[Tuple[str, str], str] = {}
    for trace in stream:
        channel, name = trace.stats.channel, station_of(trace)
        first = channels.setdefault((name, channel[-1:]), channel)
        if first != channel:
            raise ValueError(f"{name or 'a trace without a name'} has {first} and {channel}, but data have one trace for each component of a station: choose one instrument, as in stream.select(channel={first[:-1] + '?'!r})")
    other = next((trace.id for trace in stream if trace.stats.channel[1:2] in INSTRUMENTS.values()), None)
    if other and orient in (GRID, EAST_NORTH):
        raise ValueError(f"{other} is not ground motion (J is rotation, S strain), which orient= assumes here: leave it out, or give an orient= with your own signs")
    names = list(dict.fromkeys(map(station_of, stream)))
    if stations is not None:
        absent = [name for name in stations if name not in names]
        if absent:
            raise ValueError(f"the stream has no traces of {', '.join(absent)}, but of {', '.join(names)}: leave these stations out of stations= and of rec=")
        names = list(stations)
        stream = [trace for trace in stream if station_of(trace) in names]
    letters = sorted({trace.stats.channel[-1:] for trace in stream}, key="ZNE12".find)
    values = np.full((len(names), len(letters), count), np.nan, "f4")
    for trace in stream:
        values[names.index(station_of(trace)), letters.index(trace.stats.channel[-1:])] = np.ma.filled(np.ma.asarray(trace.data).astype("f4"), np.nan)
    if np.isnan(values).any():
        station, letter = np.argwhere(np.isnan(values).any(-1))[0]
        raise ValueError(f"{names[station]} has no component {letters[letter]}, or samples of it are missing: leave out incomplete stations with select() of ObsPy")
    if isinstance(origin_time, obspy.core.event.Event):
        origin_time = origin_of(origin_time).time
    if origin_time is None:
        origin_time = 0 if abs(start.timestamp) < 86400 else start
    zero = obspy.UTCDateTime(origin_time)
    coords = {"t": ("t", (start - zero) + step * np.arange(count), {"units": "s"}), "component": letters, "station": ("r", names)}
    data = xarray.DataArray(values, coords, ("r", "component", "t"), attrs={"origin_time": str(zero)}).transpose("t", "component", "r")
    return data if orient is None else on_grid(data, orient)
