"""The results that the signal programs must give, computed with numpy and scipy: python make.py > expected.json

Every result comes from an algorithm other than that of the programs: filters as powers of matrices, interpolation from
scipy or by fitting polynomials, transforms as sums of exponentials.
"""

import json

import numpy as np
from scipy import interpolate, signal

rng = np.random.default_rng(20)


class Data:
    """Values (the last axis of the array is axis 1), origins and samplings."""

    def __init__(self, shape, o, d, kind="float", values=None):
        self.o, self.d, self.kind = o, d, kind
        if values is None:
            values = np.round(rng.normal(size=shape), 2)
            if kind == "complex":
                values = values + 1j * np.round(rng.normal(size=shape), 2)
        kept = np.complex64 if kind == "complex" else np.int32 if kind == "int" else np.float32
        self.values = np.asarray(values).astype(kept)

    def like(self, values, **change):
        kind = "complex" if np.iscomplexobj(values) else "float"
        new = Data(None, list(self.o), list(self.d), change.pop("kind", kind), values)
        for key, value in change.items():
            letter, axis = key[0], int(key[1:]) - 1
            getattr(new, letter)[axis] = value
        return new

    def json(self):
        flat = self.values.ravel()
        if self.kind == "complex":
            flat = flat.view(np.float32)
        n = list(self.values.shape[::-1])
        return {"n": n, "o": self.o, "d": self.d, "kind": self.kind, "values": [float(f"{x:.7g}") for x in flat.tolist()]}


def double(data):
    return data.values.astype(np.complex128 if data.kind == "complex" else np.float64)


def fast(n):
    while True:
        left = n
        for factor in (2, 3, 5):
            while left % factor == 0:
                left //= factor
        if left == 1:
            return n
        n += 1


traces = Data((3, 37), [0.0, 2.0], [0.004, 0.5])
late = Data((2, 12), [0.6, 0.0], [0.1, 1.0])
planes = Data((3, 5, 4), [0.0, 1.0, -2.0], [0.5, 0.25, 2.0], "complex")
gather = Data((6, 9), [0.0, -0.2], [0.1, 0.1])
pairs = Data(None, [0, 0, 0], [1, 1, 1], values=[[[0, 1], [0.5, 2], [1.5, -1], [2, 0.25]], [[1, 0], [3, 1], [2, 2], [4, -2]]])
inputs = {"traces": traces, "late": late, "planes": planes, "gather": gather, "pairs": pairs}
cases = []


def case(command, source, answer, tolerance=2e-6):
    name = next(key for key, value in inputs.items() if value is source)
    cases.append({"command": command, "input": name, "output": answer.json(), "tolerance": tolerance})


def spectrum(data, length, scale=1.0):
    """The Fourier sum over the times of the axis."""
    n, o, d = data.values.shape[-1], data.o[0], data.d[0]
    f = np.arange(length // 2 + 1) / (length * d)
    kernel = np.exp(-2j * np.pi * np.outer(o + d * np.arange(n), f))
    return data.like(double(data) @ kernel * scale, o1=0.0, d1=1 / (length * d))


case("sffft1", traces, spectrum(traces, 2 * fast(19)))
case("sffft1 opt=n sym=y", traces, spectrum(traces, 38, 38**-0.5))
case("sffft1", late, spectrum(late, 12))
amplitude = spectrum(traces, 40)
amplitude = amplitude.like(np.abs(double(amplitude)) / np.sqrt(40))
case("sfspectra", traces, amplitude)
mean = amplitude.like(double(amplitude).mean(axis=0, keepdims=True))
mean.values, mean.o, mean.d = mean.values[0], mean.o[:1], mean.d[:1]
case("sfspectra all=y", traces, mean)


def wavenumbers(data, axis, pad, sign=-1, scale=1.0):
    at = data.values.ndim - axis
    n, d = data.values.shape[at], data.d[axis - 1]
    nk = fast(n * pad)
    k = -0.5 / d + np.arange(nk) / (nk * d)
    kernel = np.exp(sign * 2j * np.pi * np.outer(d * np.arange(n), k)) * scale
    values = np.moveaxis(np.tensordot(double(data), kernel, (at, 0)), -1, at)
    return data.like(values, **{f"o{axis}": -0.5 / d, f"d{axis}": 1 / (nk * d)})


case("sffft3", planes, wavenumbers(planes, 2, 2))
case("sffft3 axis=1 pad=1 sym=y", planes, wavenumbers(planes, 1, 1, scale=0.5))
case("sffft3 axis=3 pad=3 sign=1", planes, wavenumbers(planes, 3, 3, sign=1))


def butterworth(data, flo, fhi, nlo, nhi, both):
    values = double(data)
    for cut, poles, kind in ((flo, nlo, "high"), (fhi, nhi, "low")):
        if cut:
            sos = signal.butter(poles, cut, kind, fs=1 / data.d[0], output="sos")
            values = signal.sosfilt(sos, values)
            if both:
                values = signal.sosfilt(sos, values[:, ::-1])[:, ::-1]
    return data.like(values)


case("sfbandpass flo=10 fhi=50", traces, butterworth(traces, 10, 50, 3, 3, True))
case("sfbandpass flo=10 phase=y nplo=4", traces, butterworth(traces, 10, None, 4, 0, False))
case("sfbandpass fhi=30 nphi=5 phase=y", traces, butterworth(traces, None, 30, 0, 5, False))
case("sfbandpass flo=2 fhi=100 nplo=1 nphi=7", traces, butterworth(traces, 2, 100, 1, 3, True))


def hilbert(data, order, ref):
    """The series as powers of one matrix, with the irregular ends of the filter."""
    n, c = data.values.shape[-1], 0.25 / ref
    step = np.eye(n) * (1 - 2 * c) + c * (np.eye(n, k=2) + np.eye(n, k=-2))
    for a, b, e, f in ((0, 1, 2, 3), (n - 1, n - 2, n - 3, n - 4)):
        step[a], step[b] = 0, 0
        step[a, [a, b, e]] = 1 + c, -2 * c, c
        step[b, [a, b, f]] = 2 * c, 1 - 3 * c, c
    last = np.sqrt(c) * (np.eye(n, k=-1) - np.eye(n, k=1))
    last[0, [0, 1]] = 2 * np.sqrt(c), -2 * np.sqrt(c)
    last[-1, [-2, -1]] = 2 * np.sqrt(c), -2 * np.sqrt(c)
    total, power, weight = np.zeros((n, n)), np.eye(n), 1.0
    for k in range(order + 1):
        total += weight * power
        power, weight = power @ step, weight * (2 * k + 1) / (2 * k + 2)
    return double(data) @ (last @ total).T


for words, order, ref in (("", 100, 1.0), ("order=7 ref=0.8 ", 7, 0.8)):
    turned = hilbert(traces, order, ref)
    case(f"sfenvelope {words}", traces, traces.like(np.hypot(double(traces), turned)), 2e-5)
    case(f"sfenvelope hilb=y {words}", traces, traces.like(turned), 2e-5)
angle = np.radians(30)
case(
    "sfenvelope hilb=y phase=30",
    traces,
    traces.like(double(traces) * np.cos(angle) + hilbert(traces, 100, 1.0) * np.sin(angle)),
    2e-5,
)


def derivative(data, order):
    n = data.values.shape[-1]
    step = np.eye(n) - 0.5 * (np.eye(n, k=1) + np.eye(n, k=-1))
    step[0], step[-1] = step[1], step[-2]
    last = 0.5 * (np.eye(n, k=1) - np.eye(n, k=-1))
    last[0, [0, 1]], last[-1, [-2, -1]] = (-1, 1), (-1, 1)
    total, power, weight = np.zeros((n, n)), np.eye(n), 1.0
    for k in range(order + 1):
        total += weight * power
        power, weight = power @ step, weight * (k + 1) / (2 * k + 3)
    return data.like(double(data) @ (last @ total).T)


case("sfderiv", traces, derivative(traces, 6))
case("sfderiv order=2 scale=y", late, late.like(double(derivative(late, 2)) / 0.1), 1e-5)
case("sfcausint", traces, traces.like(np.cumsum(double(traces), axis=1)))
case("sfcausint adj=y", traces, traces.like(np.cumsum(double(traces)[:, ::-1], axis=1)[:, ::-1]))

t1, x2 = 0.004 * np.arange(1, 38), 2.0 + 0.5 * np.arange(1, 4)
case("sfpow pow1=2 pow2=-0.5", traces, traces.like(double(traces) * t1**2 * (x2**-0.5)[:, None]))


def taper(n, width):
    ramp = np.sin(0.5 * np.pi * np.arange(1, width + 1) / (width + 1)) ** 2
    weights = np.ones(n)
    weights[:width] *= ramp
    weights[n - width :] *= ramp[::-1]
    return weights


case("sfcostaper nw1=5 nw2=2", traces, traces.like(double(traces) * taper(37, 5) * taper(3, 2)[:, None]))


def smooth(values, width, axis):
    triangle = np.convolve(np.ones(width), np.ones(width)) / width**2
    pads = [(width, width) if i == axis else (0, 0) for i in range(values.ndim)]
    wide = np.pad(values, pads, mode="symmetric")
    return np.apply_along_axis(lambda x: np.convolve(x, triangle, "same")[width:-width], axis, wide)


sizes = np.abs(double(traces))
case("sfagc rect1=10", traces, traces.like(double(traces) / smooth(sizes, 10, 1)))
case("sfagc rect1=4 rect2=2 repeat=2", traces, traces.like(double(traces) / smooth(smooth(smooth(smooth(sizes, 4, 1), 4, 1), 2, 0), 2, 0)))


def spline(x, y, new, ends="natural"):
    return interpolate.CubicSpline(x, y, bc_type=ends, extrapolate=True)(new)


old = 0.6 + 0.1 * np.arange(12)
new = 0.5 + 0.07 * np.arange(22)
case("sfspline n1=22 o1=0.5 d1=0.07", late, late.like([spline(old, y, new) for y in double(late)], o1=0.5, d1=0.07), 1e-4)
sets = [p[np.argsort(p[:, 0])] for p in double(pairs)]
new = -0.5 + 0.25 * np.arange(15)
natural = [[spline(p[:, 0], p[:, 1], new)] for p in sets]
case("sfspline n1=15 o1=-0.5 d1=0.25 sort=y", pairs, pairs.like(natural, o1=-0.5, d1=0.25), 1e-4)
clamped = [[spline(p[:, 0], p[:, 1], new, ((1, 1.0), (1, -2.0)))] for p in sets]
case("sfspline n1=15 o1=-0.5 d1=0.25 sort=y fp=1,-2", pairs, pairs.like(clamped, o1=-0.5, d1=0.25), 1e-4)


def eno(y, places, order):
    """Polynomials fitted through all sets of neighbours; near a point the smoothest of them is used."""
    n, high = len(y), np.abs(np.diff(y, order - 1))
    out = []
    for place in places:
        i = int(place)
        last = max(0, min(i, n - order))
        first = min(last, max(0, i - order + 2))
        least = min(range(first, last + 1), key=lambda j: high[j])
        through = interpolate.BarycentricInterpolator(np.arange(order), y[least : least + order])
        out.append(float(through(place - least)))
    return out


places = -1.3 + 0.61 * np.arange(25)
answer = [eno(y, places, 3) for y in double(late)]
case("sfremap1 n1=25 o1=0.47 d1=0.061", late, late.like(answer, o1=0.47, d1=0.061), 2e-5)
answer = [eno(y, places, 4) for y in double(late)]
case("sfremap1 n1=25 o1=0.47 d1=0.061 order=4", late, late.like(answer, o1=0.47, d1=0.061), 1e-4)


def mute(data, v0=1.45, tp=0.15, t0=0.0, x0=0.0, half=2.0, inner=False, hyper=False, slopep=None):
    """Weights from 0 to 1 by the position between the two edges."""
    power = 2 if hyper else 1
    t = (0.1 * np.arange(9) - t0) ** power
    x = np.abs(half * (-0.2 + 0.1 * np.arange(6) - x0))[:, None] ** power
    first, second = x * (1 / v0) ** power, tp + x * (slopep or 1 / v0) ** power
    place = np.clip((t - first) / (second - first), 0, 1)
    assert not inner or tp < 0
    return data.like(double(data) * np.sin(0.5 * np.pi * place) ** 2)


case("sfmutter v0=0.9", gather, mute(gather, v0=0.9), 1e-5)
case("sfmutter half=n v0=0.7 tp=0.23 t0=0.05 x0=0.13 slopep=2", gather, mute(gather, 0.7, 0.23, 0.05, 0.13, 1.0, slopep=2.0), 1e-5)
case("sfmutter inner=y tp=-0.17 v0=1.1", gather, mute(gather, 1.1, -0.17, inner=True), 1e-5)
case("sfmutter hyper=y v0=1.3 half=n", gather, mute(gather, 1.3, half=1.0, hyper=True), 1e-5)

values = double(traces)
case("sfmask min=-0.5 max=1", traces, traces.like((values >= -0.5) & (values <= 1), kind="int"), 0)
case("sfclip2 lower=-0.5 upper=1", traces, traces.like(np.clip(values, -0.5, 1)), 0)
hole = values.copy()
hole[1:3, 4:30:3] = 0
case("sfcut f2=1 f1=4 j1=3 max1=0.116", traces, traces.like(hole), 0)
sprayed = Data(None, [0.0, -1.0, 2.0], [0.004, 3.0, 0.5], values=np.repeat(values[:, None, :], 4, axis=1))
case("sfspray n=4 o=-1 d=3", traces, sprayed, 0)
first = Data(None, [0.0, 0.0, 2.0], [1.0, 0.004, 0.5], values=np.repeat(values[:, :, None], 2, axis=2))
case("sfspray n=2 axis=1", traces, first, 0)

body = {"inputs": {key: value.json() for key, value in inputs.items()}}
lines = [json.dumps({key: value}) for key, value in body["inputs"].items()]
print('{"inputs": {' + ",\n ".join(line[1:-1] for line in lines) + '},\n "cases": [')
print(",\n ".join(json.dumps(each) for each in cases) + "]}")
