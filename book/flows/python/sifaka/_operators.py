"""Programs with adj= as linear operators, for scipy and libraries that build on it."""
from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from typing import Any

import numpy as np
import rsfdata
import xarray

from ._arrays import dataset
from ._messages import warn
from ._programs import Call, Progress


def linop(program: str, model: Any, data: Any = None, /, *, progress: Progress = None, **parameters: Any) -> Any:
    """A program with adj= as a scipy.sparse.linalg.LinearOperator of single precision.

    model, data: the inputs of the program with adj=n and with adj=y, as arrays or names of files; only their axes matter. Without `data` the program
    runs once on zeros to find its axes; a warning names axes of `data`, such as times, that differ from the axes of the program's output. Both are given by position, because programs have parameters of these names, as data="pressure".
    parameters: the parameters of the program. Arrays are written once, and every product is a run.

    The operator has to_model(vector) and to_data(vector), which return DataArrays. `pylops.aslinearoperator` (or `pylops.LinearOperator`) accepts it.
    """
    try:
        from scipy.sparse.linalg import LinearOperator
    except ImportError as fault:
        raise ImportError("sifaka.linop needs scipy: pip install scipy") from fault

    class Operator(LinearOperator):
        """The operator of one program, with the files that the program reads."""

        def __init__(self) -> None:
            self.folder = tempfile.mkdtemp(prefix="sifaka-")
            weakref.finalize(self, shutil.rmtree, self.folder, True)
            self.call = Call(program, self.folder, parameters)
            if "adj" not in self.call.params:
                raise ValueError(f"{self.call.name} has no adj=, so it is not a linear operator")
            self.model = template(model)
            # Axes without names take the names of the program's output with adj=y.
            self.named = self.model
            self.data = template(data) if data is not None else self.apply(np.zeros(self.model.array.size), self.model, "n")
            super().__init__(np.dtype("f4"), (self.data.array.size, self.model.array.size))

        def apply(self, vector: np.ndarray, like: rsfdata.Dataset, adj: str) -> rsfdata.Dataset:
            call, path = self.call, os.path.join(self.folder, "vector.rsf")
            rsfdata.write(path, like.like(np.asarray(vector, "f4").reshape(like.array.shape)))
            before, call.words = call.words, [*call.words, f"adj={adj}"]
            try:
                return call.start(path, progress).dataset()
            finally:
                call.words = before

        def fitting(self, answer: rsfdata.Dataset, like: rsfdata.Dataset) -> np.ndarray:
            if answer.array.size != like.array.size:
                raise ValueError(f"{self.call.name} wrote an array of {answer.array.shape}, but {like.array.shape} was expected; give linop a model and data with the axes of the input with adj=n and with adj=y")
            return answer.array.ravel()

        def _matvec(self, vector: np.ndarray) -> np.ndarray:
            answer = self.apply(vector, self.model, "n")
            values = self.fitting(answer, self.data)
            compare(answer, self.data, self.call)
            return values

        def _rmatvec(self, vector: np.ndarray) -> np.ndarray:
            answer = self.apply(vector, self.data, "y")
            values = self.fitting(answer, self.model)
            if answer.array.shape == self.model.array.shape and not all(axis.label for axis in self.model.axes):
                # The label of a gradient differs from the label of every vector.
                self.named = self.model.like(answer.array, answer.axes)
            return values

        def to_model(self, vector: np.ndarray) -> xarray.DataArray:
            """A vector on the axes of the model."""
            return self.named.like(np.reshape(vector, self.model.array.shape)).to_xarray()

        def to_data(self, vector: np.ndarray) -> xarray.DataArray:
            """A vector on the axes of the data."""
            return self.data.like(np.reshape(vector, self.data.array.shape)).to_xarray()

    return Operator()


def compare(written: rsfdata.Dataset, data: rsfdata.Dataset, call: Call) -> None:
    """Warns if the data that a program writes have axes that differ from those of the data that its adjoint reads."""
    pairs = enumerate(itertools.zip_longest(written.axes, data.axes, fillvalue=rsfdata.Axis(1)), 1)
    differ = [(number, pair) for number, pair in pairs if different(*pair)]
    if differ:
        words = [", ".join(f"n{number}={pair[which].n} o{number}={pair[which].o:g} d{number}={pair[which].d:g}" for number, pair in differ) for which in (0, 1)]
        cure = ", or dtout= if the times shall be 0, dtout, 2 dtout and so on" if "dtout" in call.params else ""
        warn(
            f"{call.name} with adj=n writes {words[0]}, but the data of this linop have {words[1]}: a program that takes its axes from its input, such as times, then reads data at other times with adj=y "
            f"than it writes with adj=n, and one is not the transpose of the other: leave out the data of linop and make your own like linop.to_data(){cure}"
        )


def different(one: rsfdata.Axis, other: rsfdata.Axis) -> bool:
    """Whether two axes differ by more than the rounding of single precision; axes that only number their samples differ in length only."""
    ends = [one.o - other.o, one.o - other.o + (one.n - 1) * (one.d - other.d)]
    numbers = not one.unit and one.d == 1 and one.o in (0, 1)
    return one.n != other.n or one.n > 1 and not numbers and max(map(abs, ends)) > 0.02 * abs(one.d)


def template(like: Any) -> rsfdata.Dataset:
    """A dataset that gives the axes of a vector."""
    return rsfdata.read(like) if isinstance(like, (str, os.PathLike)) else dataset(like)
