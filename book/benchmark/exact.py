"""Reference solutions of the cases: spectra at complex frequencies, and seismograms at any times.

Displacements are sums over frequencies w = 2 pi k/period - i damping, with exp(i w t): waves after the period reappear,
attenuated by exp(-damping period) (Bouchon 1981). This file has the closed forms of homogeneous rock; layered.py has the other solutions. Only numpy is needed.
"""
import math

import numpy as np

import layered

# The attenuation exp(-damping period)
LEFT = 1e-7
# The frequency, relative to the peak frequency, at which the spectrum of a Ricker wavelet is 1e-9 of its maximum
END = 5.2


class Spectra:
    """Spectra [receiver, component z, x[, y], frequency] and their frequencies."""

    def __init__(self, period, values, frequencies):
        self.period, self.values, self.frequencies = period, values, frequencies

    def at(self, times, derivative=0):
        """Displacements [receiver, component, time], or a time derivative of them."""
        turned = (1j * self.frequencies) ** derivative * self.values
        turned[..., 0] *= 0.5
        # The sum is computed in pieces, to keep the table of exponentials small
        pieces = [2 / self.period * (turned @ np.exp(1j * np.outer(self.frequencies, part))).real
                  for part in np.array_split(np.asarray(times), max(1, len(times) // 500))]
        return np.concatenate(pieces, axis=-1)


def frequencies(case):
    """The period and the complex frequencies of a case."""
    period = 1.5 * case.duration
    count = math.ceil(END * case.frequency * period)
    return period, 2 * math.pi * np.arange(count) / period + 1j * math.log(LEFT) / period


def ricker(case, w):
    """Spectrum of the wavelet of a case."""
    a = math.pi * case.frequency
    return math.sqrt(math.pi) / (2 * a**3) * w**2 * np.exp(-(w**2) / (4 * a**2) - 1j * w * case.delay)


def bessel(z):
    """Modified Bessel functions K0, K1 and K2 for a positive real part, by the integral of Abramowitz & Stegun 9.6.23.

    With the variable y, K is exp(-z)/sqrt(2 z) times the integral of exp(-y^2) |y|^2n (1 + y^2/2z)^(n - 1/2), which the
    trapezoidal rule gives to rounding.
    """
    step = 0.1
    y = step * np.arange(-70, 71).reshape((-1,) + (1,) * np.ndim(z))
    weight, root = step * np.exp(-(y**2)), np.sqrt(1 + y**2 / (2 * z))
    front = np.exp(-z) / np.sqrt(2 * z)
    k0, k1 = front * (weight / root).sum(axis=0), front * (2 * weight * y**2 * root).sum(axis=0)
    return k0, k1, k0 + 2 * k1 / z


def plane(rock, away, w, bell):
    """A line force along z in homogeneous rock (Eason, Fulton & Sneddon 1956; Cruse & Rizzo 1968): u_z, u_x.

    With s = i w, u_ij = (psi delta_ij - chi n_i n_j)/(2 pi rho b^2). A source that is spread as exp(-r^2/2 bell) attenuates each
    wave by the transform of this function at its wavenumber.
    """
    x, z = away
    r, s, (a, b) = math.hypot(x, z), 1j * w, (rock.vp, rock.vs)
    p, q = (np.exp(0.5 * bell * (s / c) ** 2) * np.array(bessel(s * r / c)) for c in (a, b))
    psi = q[0] + b / (s * r) * (q[1] - b / a * p[1])
    chi = q[2] - (b / a) ** 2 * p[2]
    scale = 1 / (2 * math.pi * rock.rho * b**2)
    return scale * (psi - chi * z * z / r**2), scale * (-chi * x * z / r**2)


def volume(rock, away, w, bell):
    """A point force along z in homogeneous rock (Aki & Richards 2002, eq. 4.23, as a spectrum): u_z, u_x, u_y."""
    r, s = math.sqrt(sum(x * x for x in away)), 1j * w
    spread = {c: np.exp(0.5 * bell * (s / c) ** 2 - s * r / c) for c in (rock.vp, rock.vs)}
    near = sum(sign * (1 + s * r / c) * spread[c] for c, sign in ((rock.vs, 1), (rock.vp, -1))) / (w**2 * r**3)
    far = {c: spread[c] / (c**2 * r) for c in spread}
    x, y, z = (value / r for value in away)
    scale = 1 / (4 * math.pi * rock.rho)
    # 3 n_i n_j - delta_ij of the near field, n_i n_j of P, delta_ij - n_i n_j of S
    along = 3 * near + far[rock.vp] - far[rock.vs]
    return scale * (along * z * z - near + far[rock.vs]), scale * along * x * z, scale * along * y * z


def answer(case, bell=0.0, elements=False):
    """The spectra of a case; `bell` is the variance (m2) over which a method spreads the source, `elements` selects the attenuation law of the programs for meshes."""
    period, w = frequencies(case)
    if case.interfaces or case.surface:
        values = layered.answer(case, w, bell, elements)
    else:
        closed = plane if case.ndim == 2 else volume
        away = [[x - y for x, y in zip(receiver, case.source)] for receiver in case.receivers]
        values = np.array([closed(case.rocks[0], one, w, bell) for one in away])
    return Spectra(period, values * ricker(case, w), w)
