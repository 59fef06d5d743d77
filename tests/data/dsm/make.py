"""Makes velocity.txt: seismograms of PREM by the direct solution method. README.md describes its contents, and how to install dsmpy.

    python make.py > velocity.txt        (two minutes)
"""
import sys

import numpy
from dsmpy.flib import tipsv, tish

# Shells of isotropic PREM without ocean and core (Dziewonski & Anderson 1981, table I): radii in km, then polynomials of
# r/6371 km for density (g/cm3), P and S velocity (km/s)
MANTLE = [7.9565, -6.4761, 5.5283, -3.0807]
LID = [[2.6910, 0.6924, 0, 0], [4.1875, 3.9382, 0, 0], [2.1519, 2.3481, 0, 0]]
SHELLS = [
    (3480, 3630, MANTLE, [15.3891, -5.3181, 5.5242, -2.5514], [6.9254, 1.4672, -2.0834, 0.9783]),
    (3630, 5600, MANTLE, [24.9520, -40.4673, 51.4832, -26.6419], [11.1671, -13.7818, 17.4575, -9.2777]),
    (5600, 5701, MANTLE, [29.2766, -23.6027, 5.5242, -2.5514], [22.3459, -17.2473, -2.0834, 0.9783]),
    (5701, 5771, [5.3197, -1.4836, 0, 0], [19.0957, -9.8672, 0, 0], [9.9839, -4.9324, 0, 0]),
    (5771, 5971, [11.2494, -8.0298, 0, 0], [39.7027, -32.6166, 0, 0], [22.3512, -18.5856, 0, 0]),
    (5971, 6151, [7.1089, -3.8045, 0, 0], [20.3926, -12.2569, 0, 0], [8.9496, -4.4597, 0, 0]),
    (6151, 6346.6, *LID),
    (6346.6, 6356, [2.9, 0, 0, 0], [6.8, 0, 0, 0], [3.9, 0, 0, 0]),
    (6356, 6371, [2.6, 0, 0, 0], [5.8, 0, 0, 0], [3.2, 0, 0, 0]),
]
# Bolivia, 9 June 1994 (Harvard CMT 060994A): depth in km, moments in 1e25 dyne cm by r, t (south), p (east)
DEPTH = 647.1
RR, TT, PP, RT, RP, TP = (moment / 1e25 for moment in (-7.59e27, 7.75e27, -1.6e26, -2.503e28, 4.2e26, -2.48e27))
HALF = 12.0  # half duration, s
# Stations: degrees from the epicentre, and the direction to them in degrees east of north
LATITUDE, LONGITUDE = -13.82, -67.25
STATIONS = [(3, 60), (5, 180), (8, 300), (10, 20), (12, 130)]
TIMES = numpy.arange(0, 601, 2.0)

# The spectrum: the length (s) of the series whose frequencies are computed, and their number. Frequencies have an
# imaginary part by which the series decays to a thousandth, so that waves after its end do not wrap around to its
# beginning
LENGTH, COUNT = 1638.4, 164
DECAY = numpy.log(1000) / LENGTH
ACCURACY = (0.003, 1e-10, 1e-6)  # spacing of grids, and limits for depths and degrees


def padded(values, size):
    """A one-dimensional array of the length that the Fortran code has."""
    array = numpy.zeros(size)
    array[: len(values)] = values
    return array


def polynomials(column):
    """Polynomials of all shells, in the form of the Fortran code."""
    array = numpy.zeros((4, 100), order="F")
    array[:, : len(SHELLS)] = numpy.array([shell[column] for shell in SHELLS], float).T
    return array


def spectra():
    """Velocities after a step of moment (km/s Hz), `[r, t, p][station][frequency]` with t away from the source."""
    radii = [padded([shell[k] for shell in SHELLS], 100) for k in (0, 1)]
    density, vp, vs = (polynomials(column) for column in (2, 3, 4))
    eta = numpy.zeros((4, 100), order="F")
    eta[0] = 1
    # There is no attenuation: tipsv reads a negative Q as none, tish needs a large Q
    none, large = padded([-1.0] * len(SHELLS), 100), padded([1e9] * len(SHELLS), 100)
    moment = numpy.array([[RR, RT, RP], [RT, TT, TP], [RP, TP, PP]], order="F")
    theta = padded(numpy.radians([distance for distance, _ in STATIONS]), 1000)
    phi = padded(numpy.radians([180 - azimuth for _, azimuth in STATIONS]), 1000)
    places = (len(STATIONS), theta, phi, numpy.zeros(1000), numpy.zeros(1000), numpy.zeros(1000, dtype="S80"), 0)
    what = (*ACCURACY, LENGTH, 4096, DECAY, 0, COUNT, len(SHELLS), *radii, density)
    source = (6371 - DEPTH, 0.0, 0.0, moment)
    up = tipsv.tipsv(*what, vp, vp, vs, vs, eta, none, none, *source, *places)
    return up + tish.tish(*what, vs, vs, large, *source, *places)


def velocities(spectrum):
    """Velocities in m/s at TIMES, for a source with the half duration, `[r, t, p][station][time]`."""
    frequency = 2 * numpy.pi * numpy.arange(COUNT + 1) / LENGTH - 1j * DECAY
    bell = numpy.exp(-((frequency * HALF / 1.628) ** 2) / 4)
    # There is no spectrum at zero, because the method divides by frequencies; the missing constant is determined from
    # the time before the first arrival.
    turns = numpy.exp(2j * numpy.pi * numpy.outer(numpy.arange(COUNT + 1), TIMES) / LENGTH)
    damped = 2 / LENGTH * ((spectrum * bell) @ turns).real
    damped -= damped[:, :, TIMES < 30].mean(axis=2, keepdims=True)
    return 1000 * damped * numpy.exp(DECAY * TIMES)


def azimuth_behind(distance, azimuth):
    """The direction away from the source at a station, radians east of north."""
    a, d, z = (numpy.radians(angle) for angle in (LATITUDE, distance, azimuth))
    return numpy.arctan2(numpy.cos(a) * numpy.sin(z), numpy.cos(a) * numpy.cos(d) * numpy.cos(z) - numpy.sin(a) * numpy.sin(d))


def main():
    up, away, left = velocities(spectra())
    columns = []
    for station, (distance, azimuth) in enumerate(STATIONS):
        s, c = numpy.sin(azimuth_behind(distance, azimuth)), numpy.cos(azimuth_behind(distance, azimuth))
        # Seen from above, p is 90 degrees to the left of t
        columns += [up[station], c * away[station] + s * left[station], s * away[station] - c * left[station]]
    for row in zip(*columns):
        sys.stdout.write(" ".join(f"{1e7 * value:.0f}" for value in row) + "\n")


if __name__ == "__main__":
    main()
