"""Running programs as functions: their parameters, files and messages."""
from __future__ import annotations

import difflib
import functools
import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, Callable, Dict, List, Optional, Union

import numpy as np
import rsfdata
import xarray

from ._arrays import SPACE, dataset, one, with_places
from ._messages import HERE, in_python, warn

# Inputs that hold integers; all other inputs hold real numbers.
WHOLE = frozenset(("absorbing", "elements", "free", "head", "known", "mask", "mesh", "pml", "regions", "tfile"))
# Parameters of programs on grids that take models.
MODEL = frozenset(("vp", "vs", "den", "ccc", "qp", "qs"))
# Single precision represents all whole numbers up to this one exactly.
EXACT = 2**24
STEP = re.compile(r"step (\d+) of (\d+)")
Progress = Union[None, bool, Callable[[int, int], None]]


class ProgramError(RuntimeError):
    """The message of a program that failed, with `program`, `status` and all of its `messages`."""

    def __init__(self, program: str, status: int, messages: List[str]) -> None:
        errors = [line for line in messages if not line.startswith("warning: ") and not STEP.match(line)]
        super().__init__(f"{program}: {errors[-1] if errors else f'it ended with status {status}'}")
        self.program, self.status, self.messages = program, status, messages


class Picture(bytes):
    """A picture of a program such as sfgrey; a notebook shows it."""

    def _repr_png_(self) -> Optional[bytes]:
        return bytes(self) if self.startswith(b"\x89PNG") else None

    def _repr_svg_(self) -> Optional[str]:
        return self.decode("utf-8", "replace") if self.lstrip().startswith((b"<svg", b"<?xml")) else None


def folders() -> List[str]:
    """The folders in which programs are searched for, in order; the word PATH means all of its folders.

    These are SIFAKA_BIN, the programs installed with this package, PATH, the build of the checkout that contains it, and the scripts of this Python.
    """
    up = lambda levels, *parts: os.path.normpath(os.path.join(HERE, *[".."] * levels, *parts))
    scripts = [sysconfig.get_path("scripts")]
    if f"{os.name}_user" in sysconfig.get_scheme_names():
        scripts.append(sysconfig.get_path("scripts", f"{os.name}_user"))
    sites = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()]
    of_wheel = any(HERE.startswith(os.path.join(os.path.abspath(folder), "")) for folder in sites)
    # The folders of an installation and of pip's --target.
    own = [up(4, "bin"), up(1, "bin"), *(scripts if of_wheel else [])]
    named = os.environ.get("SIFAKA_BIN")
    return [*([named] if named else []), *own, "PATH", up(4, "build", "rsf", "bin"), *([] if of_wheel else scripts)]


def book() -> Optional[str]:
    """The folder of the book's chapters, each with its page and its notebook; None if it is not found."""
    # The folders of a checkout, an installation, a wheel, and pip's --target and --user.
    near = [os.path.join(HERE, "..", "..", ".."), os.path.join(HERE, "..", "..", "book")]
    shared = [os.path.join(base, "share", "sifaka", "book") for base in (sys.prefix, os.path.join(HERE, ".."), site.getuserbase())]
    return next((os.path.normpath(folder) for folder in near + shared if os.path.isdir(os.path.join(folder, "user", "18-python"))), None)


@functools.lru_cache(maxsize=None)
def version(path: str, written: float) -> str:
    """The version line of a program, whose file was `written` at that time; empty if it is not a program of Sifaka (Madagascar has programs of the same names)."""
    try:
        answer = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", errors="replace")
    except OSError:
        return ""
    _, _, line = answer.stdout.partition("\n")[0].strip().partition(" ")
    return line if line.startswith("sifaka-") else ""


def release() -> str:
    """The version of the programs that run, such as 0.1.0."""
    path = find("sfbasics")
    return (version(path, os.path.getmtime(path)).split("-") + [""])[1]


def find(program: str) -> str:
    """The path of a program, searched for in `folders`. The letters sf may be left out. Raises FileNotFoundError also if SIFAKA_BIN is not a folder."""
    named = os.environ.get("SIFAKA_BIN")
    if named and not os.path.isdir(named):
        raise FileNotFoundError(f"SIFAKA_BIN={named}: there is no such folder; SIFAKA_BIN is the folder whose programs run, and without it the programs of this package run")
    version_of = lambda path: version(path, os.path.getmtime(path))
    for name in (program, f"sf{program}"):
        if not name.startswith("sf"):
            continue
        paths = []
        for folder in folders():
            path = (shutil.which(name) or "") if folder == "PATH" else os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK) and (folder != "PATH" or version_of(path)):
                paths.append(path)
        if not paths:
            continue
        first, *others = paths
        other = next((path for path in others if not os.path.samefile(path, first) and version_of(path) != version_of(first)), None)
        if other and "SIFAKA_BIN" not in os.environ:
            warn(f"using {first} ({version_of(first)}); there is also {other} ({version_of(other)}). Set SIFAKA_BIN to the folder whose programs should run")
        return first
    on_path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    listed = [part for folder in folders() for part in (on_path if folder == "PATH" else [folder]) if os.path.isdir(part)]
    there = sorted({name for folder in listed for name in os.listdir(folder) if name.startswith("sf")})
    name_of_program = program if program.startswith("sf") else f"sf{program}"
    # An incomplete name, such as sfvsgrad, suggests the programs that begin with it.
    near = [name for name in there if len(name_of_program) > 4 and name.startswith(name_of_program)][:3] or difflib.get_close_matches(name_of_program, there, 1)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise FileNotFoundError(f"{program}: no such program; {hint}Looked for in {', '.join(folders())}; pip install of the wheel brings the programs, ./sconsw builds them in a checkout, and SIFAKA_BIN names their folder")


@functools.lru_cache(maxsize=None)
def described(path: str) -> Dict[str, Any]:
    """The description of a program (--sfdoc), with its parameters by name."""
    done = subprocess.run([path, "--sfdoc"], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8")
    try:
        description = json.loads(done.stdout)
    except ValueError:
        raise ProgramError(path, done.returncode, ["this is not a program of Sifaka: it has no --sfdoc"]) from None
    description["params"] = {name: one for one in description["params"] for name in [one["name"], *one["aliases"]]}
    return description


def doc(program: str) -> str:
    """The documentation of a program."""
    return subprocess.run([find(program), "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8").stdout


class Call:
    """The command line of a program, with the files in `folder` that it reads and writes."""

    def __init__(self, program: str, folder: str, parameters: Dict[str, Any]) -> None:
        self.path, self.folder, self.outputs = find(program), folder, {}
        self.name, self.receivers = os.path.basename(self.path), parameters.get("rec")
        self.params = described(self.path)["params"]
        # The report on the quality of a mesh is text, which is printed like messages.
        self.is_verbose = bool(parameters.get("verb")) or "judge" in self.params and parameters.get("judge", True)
        if parameters.get("out") is True:
            raise ValueError("out=True: out= is the name of a file for standard output; without out= an array is returned")
        # Picture programs have their own parameter out=.
        self.target = os.fspath(parameters["out"]) if "out" not in self.params and parameters.get("out") else None
        if self.target:
            parameters = {key: value for key, value in parameters.items() if key != "out"}
        elif "base" in self.params and not {"mesh", "elements"} & set(parameters):
            raise ValueError(f"{self.name} writes a mesh as several files, which cannot be returned as an array: give out='mesh.rsf', and mesh='mesh.rsf' to the programs that read it")
        self.words: List[str] = [f"{key}={self._word(key, value)}" for key, value in parameters.items() if value is not None]
        named = [key for key, value in parameters.items() if self._role(key) == "output" and key not in self.outputs and value]
        named += ["out"] if self.target else []
        if named and self.outputs:
            raise ValueError(f"{named[0]}= names a file, but {next(iter(self.outputs))}=True requests an array: give names for all or True for all")
        # The data of named files go to DATAPATH, all others to the temporary folder.
        if not self.target:
            self.words.append("out=stdout" if named else f"datapath={folder}{os.sep}")

    def _role(self, key: str) -> str:
        return self.params.get(key, {}).get("file", "")

    def _word(self, key: str, value: Any) -> str:
        kind = self.params.get(key, {}).get("type", "")
        one(value)
        if self._role(key) == "output" and value is True:
            self.outputs[key] = os.path.join(self.folder, f"{key}.rsf")
            return self.outputs[key]
        if isinstance(value, (bool, np.bool_)):
            return "y" if value else "n"
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        if isinstance(value, (list, tuple)) and kind == "string" and any(isinstance(item, (rsfdata.Dataset, xarray.DataArray)) or np.ndim(item) for item in value):
            return ",".join(str(item) if np.ndim(item) == 0 else self.file(f"{key}-{i}", item) for i, item in enumerate(value))
        listed = self._role(key) != "input" and (kind or not isinstance(value, np.ndarray)) and not (kind == "float/file" and np.ndim(value) > 1)
        if isinstance(value, (list, tuple, range, np.ndarray)) and listed:
            return ",".join(str(item) for item in np.asarray(value).tolist())
        if np.ndim(value) == 0 and not isinstance(value, (rsfdata.Dataset, xarray.DataArray)):
            if key in MODEL and kind == "file":
                across = ", y=(0, 10, 101)" if "3d" in self.name else ""
                raise ValueError(f"{key}={value} is a number, but {key} must be an array: sifaka.grid({value}, z=(0, 10, 101), x=(0, 10, 151){across}) has this value everywhere, and so has 0 * vp + {value} on the axes of vp")
            return str(value)
        return self.file(key, value)

    def _takes_reals(self, name: str) -> bool:
        """Whether a dataset of this name must hold real numbers; everyday programs take all types on standard input."""
        if name in self.params:
            return name not in WHOLE
        return name.isdecimal() and self.name.endswith("-gpu")

    def file(self, name: str, value: Any) -> str:
        """Writes an array to a file in the folder and returns its name; the name of a file is returned unchanged."""
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        if name in MODEL and self.name.endswith("-gpu") and "sem" not in self.name:
            has_axes(name, value)
            value = upright(value)
        path = os.path.join(self.folder, f"in-{name}.rsf")
        try:
            data = dataset(value)
        except rsfdata.RsfError as fault:
            raise rsfdata.RsfError(f"{'standard input' if name.isdecimal() else name + '='}: {fault}") from None
        if data.array.dtype.kind in "iu" and self._takes_reals(name):
            data = data.like(whole(name, data.array))
        if data.array.dtype == np.float64:
            largest = np.max(np.abs(data.array), where=np.isfinite(data.array), initial=0)
            if largest > np.finfo("f4").max:
                raise ValueError(f"{name}: numbers up to {largest:.3g} are too large for single precision, whose limit is 3.4e38: scale the array")
        rsfdata.write(path, data.like(data.array.astype("c8")) if data.array.dtype.kind == "c" else data)
        return path

    def inputs(self, given: tuple) -> Optional[str]:
        """Assigns inputs without a name to the list of datasets if the program has one, otherwise to standard input, whose file is returned."""
        for value in given:
            same_places(value, self.receivers)
        lists = any(one["type"] == "words" and one["name"].startswith("file") for one in self.params.values())
        files = [self.file(str(i), value) for i, value in enumerate(given)]
        self.words[:0] = files if lists else files[1:]
        return None if lists or not files else files[0]

    def start(self, stdin: Optional[str], progress: Progress) -> "Answer":
        """Runs the program, which ends if Python is interrupted. Raises ProgramError if it fails."""
        words = list(self.words)
        if progress and "verb" in self.params and not any(word.startswith("verb=") for word in words):
            words.append("verb=y")
        out = self.target or os.path.join(self.folder, "stdout")
        read = [part for word in words for part in (word.partition("=")[2] or word).split(",")] + [stdin or ""]
        if self.target and any(os.path.exists(out) and os.path.exists(path) and os.path.samefile(path, out) for path in read):
            raise ValueError(f"out={out} is a file that {self.name} reads: choose another name for the output")
        # The program names other files after this one, so an existing file is renamed, and restored if the program fails.
        before = out + ".before" if self.target and os.path.isfile(out) else None
        if before:
            os.replace(out, before)
        with open(stdin or os.devnull, "rb") as source, open(out, "wb") as target:
            pipes = dict(stdin=source, stdout=target, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace")
            with subprocess.Popen([self.path, *words], **pipes) as process:
                try:
                    messages = [self.plain(line) for line in message_lines(process, self.name, progress)]
                except BaseException:
                    process.terminate()
                    settle(before, out)
                    raise
        for line in messages:
            if line.startswith("warning: "):
                warn(f"{self.name}: {line[9:]}")
            elif self.is_verbose and not process.returncode and not STEP.match(line):
                print(f"{self.name}: {line}", file=sys.stderr)
        if process.returncode:
            settle(before, out)
            raise ProgramError(self.name, process.returncode, messages)
        if before:
            os.remove(before)
        return Answer(self, out, messages)

    def plain(self, line: str) -> str:
        """A message without the names of temporary files, and with its commands as calls of Python."""
        return in_python(re.sub(re.escape(self.folder + os.sep) + r"in-[\w-]+\.rsf", "(array)", line))


def settle(before: Optional[str], out: str) -> None:
    """Restores the file that existed before a program failed."""
    if before:
        os.replace(before, out)


def same_places(data: Any, points: Any) -> None:
    """Raises ValueError if the receivers of the data differ from those of rec= in their positions or their order."""
    if points is None or not isinstance(data, xarray.DataArray) or "r" not in data.dims or not {"x", "z"} <= set(data.coords):
        return
    placed = with_places(data, points, {})
    names = [name for name in ("x", "y", "z") if name in placed.coords and name in data.coords]
    own, expected = (np.stack([np.broadcast_to(array[name], array["z"].shape).astype("f4") for name in names], -1) for array in (data, placed))
    if own.shape != expected.shape or own.shape[-1] < 2 or np.allclose(own, expected, rtol=1e-5, atol=1e-3):
        return
    rows = [places.reshape(-1, len(names)) for places in (own, expected)]
    first = int(np.argmax(~np.isclose(rows[0], rows[1], rtol=1e-5, atol=1e-3).all(-1)))
    has, takes = (" ".join(f"{name}={value:g}" for name, value in zip(names, places[first])) for places in rows)
    sort = [places[np.lexsort(places.T)] for places in rows]
    cure = "these are the same points in another order: data.isel(r=...) reorders the data, or give rec= in the order of the data" if np.allclose(*sort, rtol=1e-5, atol=1e-3) else "give the data of these receivers, or rec= as in the run that made the data"
    raise ValueError(f"receiver {first + 1} of the data lies at {has}, but that of rec= at {takes}: {cure}; data.drop_vars({names}) removes the coordinates if they are wrong")


def has_axes(name: str, value: Any) -> None:
    """Raises ValueError if it is not known which axis of a model is z."""
    if np.ndim(value) < 2 or isinstance(value, rsfdata.Dataset):
        return
    if not isinstance(value, xarray.DataArray):
        across = ", y=(0, 10)" if np.ndim(value) == 3 else ""
        raise ValueError(f"the axes of {name} have no names: sifaka.grid({name}, z=(0, 10), x=(0, 10){across}) gives each a name, an origin and a spacing")
    if "z" not in value.dims:
        names = ", ".join(map(str, value.dims))
        raise ValueError(f"{name} has the dimensions {names}, but those of a model are z, x and in 3-D y: rename them, as in {name}.rename(depth='z', distance='x')")


def upright(value: Any) -> Any:
    """A model with its dimensions in the order of an RSF file: first the dimensions with other names, then y, x and z."""
    if not isinstance(value, xarray.DataArray):
        return value
    return value.transpose(*[name for name in value.dims if name not in SPACE], *[name for name in SPACE if name in value.dims])


def whole(name: str, array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Converts integers to single precision. Raises ValueError if one cannot be represented."""
    real = array.astype("f4")
    # The comparison is in double precision: above 2^53 it misses numbers that double precision rounds to the same value.
    wrong = (np.abs(array.astype("f8")) > EXACT) & (real.astype("f8") != array.astype("f8"))
    if wrong.any():
        raise ValueError(f"{name}: {array[wrong].flat[0]} cannot be represented in single precision, which holds all whole numbers up to {EXACT}: array.astype('f4') rounds")
    return real


class Answer:
    """The output of a program."""

    def __init__(self, call: Call, out: str, messages: List[str]) -> None:
        self.call, self.out, self.messages = call, out, messages

    def dataset(self) -> rsfdata.Dataset:
        """Standard output as a dataset."""
        return rsfdata.read(self.out)

    def placed(self, data: rsfdata.Dataset) -> xarray.DataArray:
        """A dataset as a DataArray, with the coordinates x[, y], z of receivers."""
        array, points = data.to_xarray(), self.call.receivers
        if points is None:
            return array
        return with_places(array, points, {} if self.call.name.startswith("sfewefd") else {"units": "m"})

    def main(self) -> Any:
        """Standard output as a DataArray, a picture or text; the messages of the program if it wrote nothing."""
        with open(self.out, "rb") as stream:
            content = stream.read(1 << 16)
        if rsfdata.TERMINATOR in content or f'in="{self.call.folder}'.encode() in content:
            return self.placed(self.dataset())
        with open(self.out, "rb") as stream:
            content = stream.read()
        if content.startswith((b"\x89PNG", b"<svg", b"<?xml", b"GIF8", b"%PDF")):
            return Picture(content)
        return content.decode("utf-8", "replace") if content else "\n".join(self.messages)

    def all(self) -> Any:
        """As `main`, in a dict with the datasets of other outputs if these were asked for, or the name of the file of out=."""
        if self.call.target:
            return self.call.target
        if not self.call.outputs:
            return self.main()
        others = {key: self.placed(rsfdata.read(path)) for key, path in self.call.outputs.items() if os.path.exists(path)}
        return {"data": self.main(), **others}


def message_lines(process: "subprocess.Popen[str]", name: str, progress: Progress) -> List[str]:
    """The messages of a program without its name, shown as they arrive."""
    messages: List[str] = []
    bar = not callable(progress) and bool(progress)
    assert process.stderr is not None
    for line in process.stderr:
        line = line.rstrip("\n")
        messages.append(line[len(name) + 2 :] if line.startswith(f"{name}: ") else line)
        step = STEP.match(messages[-1])
        if step and callable(progress):
            progress(int(step.group(1)), int(step.group(2)))
        elif step and bar:
            # The carriage return makes notebooks and terminals replace the line.
            sys.stderr.write(f"\r{name}: {messages[-1]}    ")
            sys.stderr.flush()
    process.wait()
    if bar and any(STEP.match(line) for line in messages):
        sys.stderr.write("\n")
    return messages


def run(program: str, *inputs: Any, progress: Progress = None, **parameters: Any) -> Any:
    """Runs a program and returns what it wrote to standard output.

    inputs: standard input (or, of programs that take a list of datasets, all of them). parameters: the parameters of the program; an input may be a file name or an
    array, and an output a file name or True; out= names a file for standard output, which is returned instead of its array. Messages other than warnings
    are printed with verb=True, and the report on a mesh unless judge=False; plan=True returns the plan. progress: True shows steps and rate; a function is called with the number of steps done and that of all steps.

    Returns a DataArray; a dict of DataArrays with the keys "data" and the names of outputs that are True; a Picture; or text. Raises ProgramError.
    """
    with tempfile.TemporaryDirectory(prefix="sifaka-") as folder:
        call = Call(program, folder, parameters)
        return call.start(call.inputs(inputs), progress).all()
