"""Reading and writing of RSF files with numpy, without Madagascar and without any program.

    import rsfdata

    shot = rsfdata.read("shot.rsf")             # or read(sys.stdin.buffer): a pipe
    shot.array                                  # numpy; axis 1 of the file is the last one: array[..., i3, i2, i1]
    shot.axes[0]                                # Axis(n=501, o=0.0, d=0.004, label='Time', unit='s')
    shot.coordinates(1)                         # the coordinates of the samples of axis 1
    shot.header.text("title")                   # any key; number(), flag() and floats() read others
    shot.to_xarray()                            # a DataArray with labels, units and coordinates, if xarray is installed

    rsfdata.write("twice.rsf", 2 * shot.array, shot.axes)
    rsfdata.write("twice.rsf", shot.like(2 * shot.array))          # as above, with the history of the shot
    rsfdata.write(sys.stdout.buffer, array, [Axis(501, 0, 0.004, "Time", "s")], form="xdr")

Reading follows Madagascar's library: a dataset is one file or two (`in=` is searched for in the current folder and in that of
the header, and if both contain such a file, the one that the programs read is read), with native, xdr or ascii numbers of all types and text in quotes. The last value of a key counts.
Writing puts header and numbers into one file, which every RSF program reads; data="NAME" puts the numbers into a separate
file. Errors are RsfError with a message. Needs Python 3.8 and numpy.
"""
import math
import os
import re
import sys
import warnings
from dataclasses import dataclass

import numpy as np

__all__ = ["Axis", "Dataset", "Header", "RsfError", "from_xarray", "read", "write"]

# The bytes that end a header which is followed by its numbers.
TERMINATOR = b"\x0c\x0c\x04"
MOST_AXES = 9
# The types in the order in which data_format= is searched for them, with numpy's names.
TYPES = {
    "float": "f4",
    "int": "i4",
    "complex": "c8",
    "uchar": "u1",
    "byte": "u1",
    "short": "i2",
    "long": "i8",
    "double": "f8",
    "char": "i1",
}
WORD = re.compile(rb'(?:[^ \t\n\r\f\v"]|"[^"]*")+')
REAL = re.compile(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))", re.IGNORECASE)


class RsfError(ValueError):
    """The reason why a dataset cannot be read or written."""


@dataclass
class Axis:
    """`n` samples at o, o+d, o+2d, ..."""

    n: int
    o: float = 0.0
    d: float = 1.0
    label: str = ""
    unit: str = ""

    def coordinates(self):
        """The coordinates of the samples, as float64."""
        return self.o + self.d * np.arange(self.n)


class Header:
    """The keys of a header with their values as text, and its complete text (the history of the data)."""

    def __init__(self, text=b""):
        self.keys, self.history = {}, b""
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            self.add(line, number)

    def add(self, line, number):
        """Reads the keys of a line; a later value of a key replaces an earlier one."""
        if line.count(b'"') % 2:
            raise RsfError(f"line {number} of the header: a double quote is opened and not closed")
        for word in WORD.findall(line):
            key, sign, value = word.partition(b"=")
            if sign:
                self.keys[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        self.history += line

    def text(self, key, default=None):
        """The text between the first and the last double quote; without quotes the whole value."""
        value = self.keys.get(key)
        if value is None:
            return default
        first, last = value.find('"'), value.rfind('"')
        return value[first + 1 : last] if first < last else value

    def number(self, key, default=None):
        """The real number with which the value begins (2.5km is 2.5), or 0 if there is none."""
        value = self.keys.get(key)
        return default if value is None else real(value)

    def integer(self, key, default=None):
        """The integer with which the value begins, or 0 if there is none."""
        value = self.keys.get(key)
        digits = re.match(r"\s*[+-]?\d+", value or "")
        return default if value is None else int(digits.group()) if digits else 0

    def flag(self, key, default=None):
        """True if the value begins with y, Y or 1."""
        text = self.text(key)
        return default if text is None else text[:1] in ("y", "Y", "1")

    def floats(self, key, default=None):
        """A list of real numbers; 3*0.5 means three times 0.5."""
        text = self.text(key)
        if text is None:
            return default
        numbers = []
        for item in filter(None, text.split(",")):
            count = re.match(r"(\d+)[*x]", item)
            numbers += [real(item[count.end() :] if count else item)] * (int(count.group(1)) if count else 1)
        return numbers

    def axis(self, number):
        """Axis `number`, counted from 1. If the header does not have it, this is an axis of one sample at 0."""
        key = lambda name: f"{name}{number}"
        d = self.number(key("d"), 1.0)
        return Axis(self.integer(key("n"), 1), self.number(key("o"), 0.0), d, self.text(key("label"), ""), self.text(key("unit"), ""))

    def axes(self):
        """All axes up to the first n# that is missing."""
        count = next((i for i in range(MOST_AXES) if f"n{i + 1}" not in self.keys), MOST_AXES)
        return [self.axis(i + 1) for i in range(count)]

    def format(self):
        """Form (native, xdr or ascii) and type of the numbers."""
        text = self.text("data_format")
        if text is None:
            if self.integer("esize") == 0:
                return "ascii", "float"
            raise RsfError("the header has no data_format=, so the type of the data is unknown")
        form = next((form for form in ("ascii", "xdr") if text.startswith(form + "_")), "native")
        return form, next((kind for kind in TYPES if kind in text), "char")


def real(text):
    """The number at the beginning of a string, as C's strtod reads it."""
    match = REAL.match(text)
    if not match:
        return 0.0
    return float(int(match.group(1), 16)) if "x" in match.group(1).lower() else float(match.group(1))


class Dataset:
    """Values (`array`), their axes (axis 1 first, although it is the last axis of the array), and the header with which they were read."""

    def __init__(self, array, axes=None, header=None):
        self.array = np.asarray(array)
        self.axes = [Axis(n) for n in self.array.shape[::-1]] if axes is None else [Axis(**vars(axis)) for axis in axes]
        self.header = Header() if header is None else header
        shape = tuple(axis.n for axis in reversed(self.axes))
        if shape != self.array.shape:
            raise RsfError(f"the axes have lengths {shape} (axis 1 last), but the array has {self.array.shape}")

    def like(self, array, axes=None):
        """Other values with the history of this dataset, on the same axes unless others are given."""
        return Dataset(array, self.axes if axes is None else axes, self.header)

    def coordinates(self, number):
        """The coordinates of the samples of axis `number`, counted from 1."""
        return self.axes[number - 1].coordinates()

    def to_xarray(self):
        """A DataArray whose dimensions have the labels of the axes (axis1, ... without a label), with coordinates and units.

        An axis whose label names its samples, such as "z x" of two samples, "pressure" of one sample of pressure, "y" of one sample of
        rotation or "along the fibre" of one sample of strain, becomes the dimension component with these names. Trailing axes of one sample are dropped, unless a single
        word labels them.
        attrs["history"] is the header, from which from_xarray makes one again. Names in stations= become the coordinate station.
        """
        try:
            import xarray
        except ImportError as fault:
            raise RsfError("to_xarray() needs xarray: pip install xarray") from fault
        names, coords = [], {}
        # Trailing axes of one sample are dropped, unless their label is a single word: several words name components of which a program has removed some.
        axes = list(self.axes)
        while len(axes) > 1 and axes[-1].n == 1 and len(axes[-1].label.split()) != 1:
            axes.pop()
        for number, axis in enumerate(axes, 1):
            # A single component has the name of the quantity, or of its direction: label="Pressure" label2="pressure".
            label, quantity = axis.label.lower(), (self.header.text("label") or "").lower()
            alone = axis.n == 1 and label != "" and (label == quantity or quantity.endswith(f" {label}") or quantity == "rotation" and label == "y")
            parts = [axis.label] if alone else axis.label.split()
            named = len(parts) > 1 or alone
            components = axis.n == len(parts) > 0 and named and (axis.o, axis.d) == (0, 1) and "component" not in names
            label = "component" if components else axis.label
            # Names of dimensions must differ.
            names.append(label if label and label not in names else f"axis{number}")
            values = parts if components else axis.coordinates()
            coords[names[-1]] = (names[-1], values, {"units": axis.unit} if axis.unit else {})
        kept = {"label": "long_name", "unit": "units", "title": "title"}
        attrs = {name: self.header.text(key) for key, name in kept.items() if self.header.text(key)}
        if self.header.history:
            attrs["history"] = self.header.history.decode("utf-8", "replace")
        array = self.array.reshape([axis.n for axis in reversed(axes)])
        result = xarray.DataArray(array, coords, names[::-1], attrs=attrs)
        # The names of receivers are used if no program has changed their number.
        stations = (self.header.text("stations") or "").split(",")
        whole = "r" in names and len(stations) == self.axes[names.index("r")].n and stations != [""]
        return result.assign_coords(station=("r", stations)) if whole else result


def _seconds(values, origin):
    """Converts durations to s, and dates to s after `origin`, or after the first date if there is no origin. Also returns the date of time 0, if there is one."""
    zero = np.timedelta64(0, "ns")
    if values.dtype.kind == "M":
        try:
            zero = np.datetime64(str(origin).rstrip("Z")) if origin else values[0]
        except ValueError:
            zero = values[0]
    return (values - zero) / np.timedelta64(1, "s"), None if values.dtype.kind == "m" else np.datetime_as_string(zero, "us") + "Z"


def from_xarray(array):
    """Converts a DataArray to a dataset. Durations are converted to s, and dates to s after attrs["origin_time"] or, without it, after the first sample, whose date
    becomes origin_time. Raises RsfError if coordinates are neither regular nor names."""
    axes, origin = [], array.attrs.get("origin_time")
    for name in reversed(array.dims):
        n = array.sizes[name]
        values = array[name].values if name in array.coords else np.arange(float(n))
        in_time = n > 0 and values.dtype.kind in "mM"
        if in_time:
            values, date = _seconds(values, origin)
            origin = date or origin
        if values.dtype.kind in "USOT":
            axes.append(Axis(n, 0.0, 1.0, " ".join(map(str, values))))
            continue
        x = np.asarray(values, dtype=float)
        d = (x[-1] - x[0]) / (n - 1) if n > 1 else 1.0
        if n and np.abs(x - x[0] - d * np.arange(n)).max() > 1e-4 * abs(d):
            count = f"number them anew, as by assign_coords({name}=range({n}))"
            cure = f"{count}; a coordinate station keeps their names" if name == "r" else f"interpolate first, as by interp() of xarray, or {count} if they only count"
            raise RsfError(f"the coordinates of {name} are not regular, as those of an RSF axis are: {cure}")
        label = "" if re.fullmatch(r"axis\d", str(name)) else str(name)
        unit = "s" if in_time else array[name].attrs.get("units", "") if name in array.coords else ""
        axes.append(Axis(n, float(x[0]) if n else 0.0, float(d), label, unit))
    header = Header(str(array.attrs.get("history", "")).encode())
    keys = {"label": array.attrs.get("long_name"), "unit": array.attrs.get("units"), "title": array.attrs.get("title")}
    keys["origin_time"] = origin
    if keys["origin_time"] and "time_shift" in header.keys:
        # The origin_time of the array is its time 0, so no shift remains.
        keys["time_shift"] = "0"
    if "station" in array.coords:
        keys["stations"] = ",".join(map(str, np.atleast_1d(array["station"].values)))
    if text := "".join(f"\t{key}={_word(value)}\n" for key, value in keys.items() if value):
        header.add(("" if header.history[-1:] in (b"", b"\n") else "\n").encode() + text.encode(), 1)
    return Dataset(array.values, axes, header)


def read(source, mmap=False):
    """Reads the dataset of a header file, or of a stream of bytes such as sys.stdin.buffer.

    mmap=True leaves binary numbers in their file until they are used, so that arrays may be larger than memory; these
    arrays are read-only.
    """
    if hasattr(source, "read"):
        return _read(source, "the stream", None, False)
    name = os.fsdecode(source)
    try:
        with open(name, "rb") as stream:
            return _read(stream, name, os.path.dirname(name), mmap)
    except OSError as fault:
        raise RsfError(f"cannot read {fault.filename or name}: {fault.strerror}") from fault


def _read(stream, name, folder, mmap):
    try:
        header, inline = _header(stream)
        if not header.history and not inline:
            raise RsfError("is empty, an RSF header was expected (the program that should have written it failed or was ended)")
        (form, kind), axes, path = header.format(), header.axes(), header.text("in")
        lengths = [axis.n for axis in axes]
        if any(n < 0 for n in lengths):
            raise RsfError(f"negative lengths of axes: {lengths}")
        if path is None:
            raise RsfError("no in= in the header, so there are no data")
        if path == "stdin":
            if not inline:
                raise RsfError('in="stdin" in the header, but no data follow it')
            values = _numbers(stream, form, kind, math.prod(lengths), mmap and folder is not None)
        else:
            size = np.dtype(TYPES[kind]).itemsize
            # Numbers in text form have no fixed length.
            length = None if form == "ascii" and size > 1 else math.prod(lengths) * size
            path = _place(path, name, folder, length)
            with open(path, "rb") as data:
                values = _numbers(data, form, kind, math.prod(lengths), mmap)
    except RsfError as fault:
        raise RsfError(f"{name}: {fault}") from None
    return Dataset(values.reshape(lengths[::-1]), axes, header)


def _place(path, name, folder, length):
    """Finds the data file of a header, which has `length` bytes if that is known, by the same rule as the programs.

    If there is one in the current folder and another in the folder of the header, the attribute that the programs set on data files says to which
    header they belong; without it the file with the right length is taken, and in doubt the first one, with a warning.
    """
    if not folder or os.path.isabs(path):
        return path
    beside = os.path.join(folder, os.path.normpath(path))
    if not os.path.exists(path) or not os.path.exists(beside):
        return path if os.path.exists(path) else beside
    if os.path.samefile(path, beside) or not os.path.isfile(beside):
        return path
    own = os.path.join(os.path.realpath(folder), os.path.basename(name))
    owners = [_owner(path), _owner(beside)]
    if own in owners:
        return [path, beside][owners.index(own)]
    if owners[0] is not None and owners[1] is None:
        return beside
    if owners[0] is None:
        fits = [os.path.getsize(file) == length for file in (path, beside)]
        if fits.count(True) == 1:
            return [path, beside][fits.index(True)]
    chosen = path if owners[0] is None else beside
    warnings.warn(
        f"{name}: both {path} and {beside} exist, and neither is known to belong to the header: {chosen} is read. Rename one of them and set in= of its header",
        stacklevel=4,
    )
    return chosen


def _owner(path):
    """The header to which a data file belongs, if the file system stores that as an attribute."""
    try:
        return os.fsdecode(os.getxattr(path, "user.sifaka.header"))
    except (AttributeError, OSError):
        return None


def _header(stream):
    """The header at the beginning of a stream, and whether the numbers follow it."""
    header, number = Header(), 0
    while True:
        line = b""
        for expected in TERMINATOR:
            byte = stream.read(1)
            line += byte
            if byte != bytes([expected]):
                break
        else:
            return header, True
        if not line:
            return header, False
        if not line.endswith(b"\n"):
            line += stream.readline()
        number += 1
        header.add(line, number)


def _numbers(stream, form, kind, count, mmap):
    """Reads `count` numbers from a stream."""
    dtype = np.dtype((">" if form == "xdr" else "=") + TYPES[kind])
    if form == "ascii" and dtype.itemsize > 1:
        return _from_text(stream.read().split(), kind, count).astype(dtype)
    if mmap and count:
        start, size = stream.tell(), os.fstat(stream.fileno()).st_size
        _enough((size - start) // dtype.itemsize, count)
        return np.memmap(stream, dtype, "r", start, (count,))
    bytes_ = stream.read(count * dtype.itemsize)
    _enough(len(bytes_) // dtype.itemsize, count)
    return np.frombuffer(bytes_, dtype).astype(dtype.newbyteorder("="))


def _enough(present, count):
    if present < count:
        raise RsfError(f"the data end before element {present + 1} of {count}")


def _from_text(words, kind, count):
    """Converts numbers from text; complex ones are written as `1 2i`."""
    if kind == "complex":
        _enough(len(words) // 2, count)
        words = [word[:-1] if i % 2 else word for i, word in enumerate(words[: 2 * count])]
    _enough(len(words), count)
    whole = kind in ("int", "short", "long")
    try:
        parts = np.array([int(word) if whole else float(word) for word in words[: 2 * count if kind == "complex" else count]])
    except ValueError as fault:
        raise RsfError(f"the data contain a word that is not a number: {fault}") from None
    return parts.reshape(-1, 2) @ [1, 1j] if kind == "complex" else parts


def write(target, array, axes=None, form="native", kind=None, data=None, **keys):
    """Writes a dataset: `array` is a Dataset, or numbers whose last axis is axis 1 of `axes` (Axis, axis 1 first).

    target: a file name, or a stream of bytes such as sys.stdout.buffer. form: native, xdr or ascii. kind: the type (float, int,
    complex, uchar, short, long, double); by default reals become float, integers int and booleans uchar. data: the name of a
    file for the numbers, which then do not follow the header. Other keyword arguments become keys of the header: title="A shot", n=5.
    """
    dataset = array if isinstance(array, Dataset) and axes is None else Dataset(getattr(array, "array", array), axes)
    kind = kind or _kind(dataset.array)
    if kind not in TYPES or form not in ("native", "xdr", "ascii"):
        raise RsfError(f"form={form!r} kind={kind!r}: forms are native, xdr and ascii, types are {', '.join(TYPES)}")
    if form == "xdr" and kind in ("long", "double"):
        raise RsfError(f"xdr has no type {kind}: use form='native', or kind='float' or 'int'")
    if len(dataset.axes) > MOST_AXES:
        raise RsfError(f"{len(dataset.axes)} axes, but a dataset has {MOST_AXES} at most")
    body = _bytes(dataset.array, form, kind)
    if hasattr(target, "write"):
        # A stream has no folder for a separate data file.
        target.write(_text(dataset, form, kind, "stdin", keys) + TERMINATOR)
        return target.write(body) and None
    try:
        with open(target, "wb") as stream:
            if data is None:
                stream.write(_text(dataset, form, kind, "stdin", keys) + TERMINATOR + body)
            else:
                with open(data, "wb") as numbers:
                    numbers.write(body)
                stream.write(_text(dataset, form, kind, os.path.abspath(data), keys))
    except OSError as fault:
        raise RsfError(f"cannot write {fault.filename or target}: {fault.strerror}") from fault
    return None


def _kind(array):
    if array.dtype.kind == "b" or array.dtype == np.uint8:
        return "uchar"
    if array.dtype == np.int16:
        return "short"
    kind = {"f": "float", "c": "complex", "i": "int", "u": "int"}.get(array.dtype.kind)
    if kind is None:
        raise RsfError(f"an array of {array.dtype} has no type among {', '.join(TYPES)}")
    return kind


def _bytes(array, form, kind):
    dtype = np.dtype(TYPES[kind])
    if dtype.kind in "iu" and array.size and not (np.iinfo(dtype).min <= array.min() <= array.max() <= np.iinfo(dtype).max):
        raise RsfError(f"numbers from {array.min()} to {array.max()} do not fit into {kind}")
    if np.iscomplexobj(array) and dtype.kind != "c":
        raise RsfError(f"complex numbers do not fit into {kind}: take .real, .imag or abs()")
    array = np.ascontiguousarray(array, dtype)
    if form == "ascii" and dtype.itemsize > 1:
        one = {"c": lambda x: f"{x.real:.9g} {x.imag:.9g}i", "f": lambda x: f"{x:.9g}" if kind == "float" else f"{x:.17g}"}
        words = map(one.get(dtype.kind, str), array.ravel().tolist())
        return ("\n".join(words) + "\n").encode()
    return array.astype(array.dtype.newbyteorder(">" if form == "xdr" else "=")).tobytes()


def _text(dataset, form, kind, place, keys):
    """The text of a header: the history, the program and time, and the keys."""
    lines = [dataset.header.history, b"" if dataset.header.history.endswith(b"\n") or not dataset.header.history else b"\n"]
    program = os.path.basename(sys.argv[0] or "python").replace("=", "_").replace('"', "_")
    lines.append(f"rsfdata\t{program}\n".encode())
    entries = {}
    for i in range(1, MOST_AXES + 1):
        if i <= len(dataset.axes):
            axis = dataset.axes[i - 1]
            entries.update({f"n{i}": axis.n, f"o{i}": float(axis.o), f"d{i}": float(axis.d), f"label{i}": axis.label, f"unit{i}": axis.unit})
        elif f"n{i}" in dataset.header.keys:
            # Labels and units of axes that no longer exist are cleared.
            entries.update({f"n{i}": 1, f"o{i}": 0.0, f"d{i}": 1.0})
            entries.update({key: "" for key in (f"label{i}", f"unit{i}") if key in dataset.header.keys})
    size = 0 if form == "ascii" else np.dtype(TYPES[kind]).itemsize
    entries.update(keys, data_format=f"{form}_{kind}", esize=size)
    entries["in"] = place
    for key, value in entries.items():
        lines.append(f"\t{key}={_word(value)}\n".encode())
    return b"".join(lines) + b"\n"


def _word(value):
    if isinstance(value, (bool, np.bool_)):
        return "y" if value else "n"
    if isinstance(value, (float, np.floating)):
        return f"{value:.9g}"
    if isinstance(value, (int, np.integer)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return ",".join(_word(item) for item in value)
    # The format has no escape sequences.
    return '"' + re.sub(r"[\x00-\x1f]", " ", str(value)).replace('"', "'") + '"'
