"""Complex moduli of rock with attenuation, by the mechanisms of the programs, implemented independently in numpy.

A modulus is M_U (1 - phi sum_l w_l/(1 + i w tau_l)). The programs choose three relaxation times, evenly spaced in the logarithm over the band
qband= and beyond its ends, weights w_l for which Q is as constant as possible there, phi for the Q of a rock, and M_U for its velocity
at qref=. The velocity-stress programs relax the moduli of P and S waves, and the programs for meshes the bulk and shear moduli.
"""
import math
from functools import lru_cache

import numpy as np

COUNT = 3
# The number of frequencies of a band to which the law is fitted
SAMPLES = 60


class Law:
    """Relaxation times and weights for a band of frequencies (Hz), fitted to one quality factor."""

    def __init__(self, band, typical):
        self.w = 2 * math.pi * band[0] * (band[1] / band[0]) ** ((np.arange(SAMPLES) + 0.5) / SAMPLES)
        best = math.inf
        for beyond in 0.03 * np.arange(12):
            share = np.arange(COUNT) / (COUNT - 1) * (1 + 2 * beyond) - beyond
            times = 1 / (2 * math.pi * band[0] * (band[1] / band[0]) ** share)
            rows = (np.outer(self.w, times) + 1 / typical) / (1 + np.outer(self.w, times) ** 2)
            weights = non_negative(rows)
            off = abs(rows @ weights - 1).max()
            if off < best:
                best, self.times, self.weights = off, times, weights

    def sums(self, w):
        """sum_l w_l/(1 + i w tau_l)."""
        return (self.weights / (1 + 1j * np.multiply.outer(w, self.times))).sum(axis=-1)

    def modulus(self, quality, reference, w):
        """The factor from the squared velocity at the reference frequency (Hz) to the complex one at w."""
        if not quality:
            return 1.0
        sums = self.sums(self.w)
        low, high = 0.0, 1 / self.weights.sum()
        for _ in range(50):
            phi = 0.5 * (low + high)
            lossy = -(phi * sums.imag / (1 - phi * sums.real)).mean()
            low, high = (low, phi) if lossy > 1 / quality else (phi, high)
        there = 1 - low * self.sums(2 * math.pi * reference)
        # The phase velocity is 1/Re(1/sqrt(M))
        return (1 - low * self.sums(w)) * (1 / np.sqrt(there)).real ** 2


def non_negative(rows):
    """The non-negative weights for which the sums of rows are nearest to one in the least-squares sense, by coordinate descent."""
    normal, right = rows.T @ rows, rows.sum(axis=0)
    x = np.zeros(len(right))
    for _ in range(3000):
        for i in range(len(x)):
            x[i] = max(0.0, x[i] + (right[i] - normal[i] @ x) / normal[i, i])
    return x


@lru_cache(maxsize=None)
def law(band, typical):
    """The law of a band and a quality factor, computed once."""
    return Law(band, typical)


def typical(case):
    """The quality factor to which the velocity-stress programs fit their law: the harmonic mean of the quality factors of P and S of all cells."""
    low, high = case.box()[-1]
    ends = [low, *case.interfaces, high]
    thick = [b - a for a, b in zip(ends, ends[1:])]
    lost = sum(share * (1 / rock.qp + 1 / rock.qs) for share, rock in zip(thick, case.rocks))
    return 2 * sum(thick) / lost


def constants(rock, case, w, elements):
    """c11, c33, c55, c13 of a rock at a complex frequency, by the law of the programs for meshes (`elements`) or of the velocity-stress programs."""
    c11, c33, c55, c13 = rock.constants()
    if not (case.band and rock.qs):
        return c11, c33, c55, c13
    if elements:
        shear = law(case.band, rock.qs).modulus(rock.qs, case.reference, w)
        bulk = c33 - 4 / 3 * c55
        c33, c55 = bulk + 4 / 3 * shear * c55, shear * c55
        return c33, c33, c55, c33 - 2 * c55
    fitted = law(case.band, typical(case))
    c33, c55 = c33 * fitted.modulus(rock.qp, case.reference, w), c55 * fitted.modulus(rock.qs, case.reference, w)
    return c33, c33, c55, c33 - 2 * c55
