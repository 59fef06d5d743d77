"""Waves of a line or point source in plane layers of solids and fluids, by sums over horizontal wavenumbers (Bouchon & Aki 1977).

At a wavenumber k and a complex frequency w the waves of a layer are y exp(i k x + n z + i w t). Displacement and traction
y = (u_x, u_z, t_xz, t_zz), in a fluid (u_z, t_zz), are continuous across the interfaces; one linear system contains the amplitudes of
all layers (Knopoff 1964). Solids are transversely isotropic about z, and constants may be complex. This file uses numpy, but no code of the
suite.
"""
import math

import numpy as np

import attenuation

# At the highest wavenumber a wave decays by exp(-this) between the source and the nearest receiver
GONE = 18.0


class Layer:
    """The waves of a layer between two depths, infinite at the ends of the stack: vertical slownesses, shapes, and the depth at which each is normalised to one."""

    def __init__(self, rock, constants, ends, k, w):
        self.fluid, self.ends = rock.vs == 0, ends
        self.slopes, self.shapes, self.anchors = [], [], []
        for slope, shape in (fluid if self.fluid else solid)(rock.rho, constants, k, w):
            # Waves that decay downwards are normalised at the top, all other waves at the bottom
            for sign, anchor in ((-1, ends[0]), (1, ends[1])):
                self.slopes.append(sign * slope)
                self.shapes.append(shape(sign * slope))
                self.anchors.append(anchor)

    def kept(self):
        """The waves that exist: in a half-space only waves that propagate away from the stack."""
        return [j for j, anchor in enumerate(self.anchors) if math.isfinite(anchor)]

    def at(self, z):
        """Columns y of the kept waves at a depth: [k, row, wave]."""
        kept = self.kept()
        columns = [self.shapes[j] * np.exp(self.slopes[j] * (z - self.anchors[j]))[:, None] for j in kept]
        return np.stack(columns, axis=-1)

    def spread(self, jump, k, bell):
        """The jump [k, row] of a source that is spread as a Gaussian of variance `bell` along x and z."""
        shapes = np.stack(self.shapes, axis=-1)
        parts = np.linalg.solve(shapes, jump[..., None])[..., 0]
        weights = np.stack([np.exp(-0.5 * bell * (k**2 - slope**2)) for slope in self.slopes], axis=-1)
        return np.einsum("krj,kj->kr", shapes, parts * weights)


def fluid(rho, constants, k, w):
    """The slope of sound and the shape (u_z, t_zz) by the slope with its sign."""
    bulk = constants[1]
    slope = np.sqrt(k**2 - rho * w**2 / bulk)
    # u = grad phi, t_zz = -p = -rho w^2 phi
    return [(slope, lambda n: np.stack([n, np.full_like(n, -rho * w**2)], axis=-1))]


def solid(rho, constants, k, w):
    """Slopes of qP and qS, and their shapes (u_x, u_z, t_xz, t_zz) by the slope with its sign."""
    c11, c33, c55, c13 = constants
    a, b, mixed = rho * w**2 - c11 * k**2, rho * w**2 - c55 * k**2, c13 + c55
    # c33 c55 n^4 + half n^2 + a b = 0
    half = c33 * a + c55 * b + (mixed * k) ** 2
    root = np.sqrt(half**2 - 4 * c33 * c55 * a * b)
    root = np.where((root / w**2).real < 0, -root, root)

    def traction(x, z, n):
        return np.stack([x, z, c55 * (n * x + 1j * k * z), c13 * 1j * k * x + c33 * n * z], axis=-1)

    def scaled(x, z, n):
        size = np.sqrt(abs(x) ** 2 + abs(z) ** 2)
        return traction(x / size, z / size, n)

    slopes = [np.sqrt((sign * root - half) / (2 * c33 * c55)) for sign in (1, -1)]
    return [
        (slopes[0], lambda n: scaled(1j * mixed * k * n, -(a + c55 * n**2), n)),
        (slopes[1], lambda n: scaled(b + c33 * n**2, -1j * mixed * k * n, n)),
    ]


class Stack:
    """Layers from the top down at wavenumbers k and a frequency w, cut at the depth of the source."""

    def __init__(self, rocks, depths, surface, k, w):
        ends = [0.0 if surface else -math.inf, *depths, math.inf]
        self.surface, self.k = surface, k
        self.layers = [Layer(rock, constants, pair, k, w) for (rock, constants), pair in zip(rocks, zip(ends, ends[1:]))]

    def amplitudes(self, jumps):
        """Amplitudes [k, wave, source] of the waves of all layers; jumps: {number of the interface: [k, row, source]}."""
        starts = np.cumsum([0] + [len(layer.kept()) for layer in self.layers])
        rows, right = [], []
        sources = next(iter(jumps.values())).shape[-1]

        def row(parts, value=None):
            line = np.zeros((len(self.k), starts[-1]), complex)
            for number, columns in parts:
                line[:, starts[number] : starts[number + 1]] = columns
            # Rows are scaled, because displacement and traction have different units
            size = abs(line).max(axis=1)
            rows.append(line / size[:, None])
            right.append(np.zeros((len(self.k), sources)) if value is None else value / size[:, None])

        if self.surface:
            top = self.layers[0].at(0.0)
            for r in range(1, 2) if self.layers[0].fluid else range(2, 4):
                row([(0, top[:, r])])
        for i, (above, below) in enumerate(zip(self.layers, self.layers[1:])):
            depth = above.ends[1]
            up, down, jump = above.at(depth), below.at(depth), jumps.get(i)
            pairs, alone = matched(above.fluid, below.fluid)
            for r, s in pairs:
                row([(i, -up[:, r]), (i + 1, down[:, s])], None if jump is None else jump[:, s])
            for number, columns in ((i, up), (i + 1, down)):
                if alone is not None and not self.layers[number].fluid:
                    row([(number, columns[:, alone])])
        found = np.linalg.solve(np.stack(rows, axis=1), np.stack(right, axis=1))
        return [found[:, a:b] for a, b in zip(starts, starts[1:])]


def matched(above, below):
    """Rows of y above and below that are equal across an interface, and the row that vanishes in the solid at a fluid."""
    if above and below:
        return [(0, 0), (1, 1)], None
    if above or below:
        inside, outside = (0, 1), (1, 3)
        return list(zip(inside, outside) if above else zip(outside, inside)), 2
    return [(r, r) for r in range(4)], None


class Geometry:
    """Source, receivers and depths of a case in the frame of its interfaces, and the sums over wavenumbers.

    In 2-D `directions` are the directions of the x and z axes of that frame; in 3-D the x of a receiver is its distance from the axis.
    """

    def __init__(self, case, highest):
        self.case, angle = case, math.radians(case.dip)
        along, across = np.array([math.cos(angle), math.sin(angle)]), np.array([-math.sin(angle), math.cos(angle)])
        points = [case.source, *case.receivers]
        if case.ndim == 3:
            away = [[x - x0 for x, x0 in zip(point, case.source)] for point in points]
            points = [(math.hypot(*one[:2]), point[2]) for one, point in zip(away, points)]
            self.azimuths = [(one[0] / max(r, 1e-30), one[1] / max(r, 1e-30)) for one, (r, _) in zip(away[1:], points[1:])]
        places = [(float(along @ point), float(across @ point)) for point in map(np.array, points)]
        self.source, self.receivers, self.directions = places[0], places[1:], (along, across)
        self.depths = [depth * math.cos(angle) for depth in case.interfaces]
        k = self.wavenumbers(highest)
        self.tables = [self.sums(k, x - self.source[0]) for x, _ in self.receivers]

    def wavenumbers(self, w):
        """The wavenumbers for a frequency, beginning half a step from zero; their step is so small that the periodic images of the source are too far away to matter."""
        reach = max(abs(x - self.source[0]) for x, _ in self.receivers)
        step = 2 * math.pi / (2 * reach + 1.2 * self.case.fastest * 1.5 * self.case.duration)
        apart = min(abs(z - self.source[1]) for _, z in self.receivers)
        slowest = 0.8 * min(rock.vs or rock.vp for rock in self.case.rocks)
        return step * (np.arange(math.ceil(math.hypot(abs(w) / slowest, GONE / apart) / step)) + 0.5)

    def sums(self, k, x):
        """The weights of all k at a distance x, for even and for odd functions of x."""
        step = k[1] - k[0]
        if self.case.ndim == 2:
            return step / math.pi * np.cos(k * x), step / math.pi * 1j * np.sin(k * x)
        weights = step / (2 * math.pi) * k * bessel(0, k * x)
        # For an odd integrand the midpoint rule has an error of step^2/24 times the slope at k = 0 (Euler and Maclaurin)
        weights[0] -= step**2 / 24 / (2 * math.pi)
        return weights, step / (2 * math.pi) * 1j * k * bessel(1, k * x)


def bessel(n, x):
    """The Bessel function J of order n of real numbers: the mean of cos(n t - x sin t) over a sufficient number of t."""
    t = (np.arange(int(abs(x).max()) + 40) + 0.5) * math.pi / (int(abs(x).max()) + 40)
    return np.cos(n * t - np.multiply.outer(x, np.sin(t))).mean(axis=-1)


def jumps(explosion, fluid_there, constants, k):
    """Jumps [k, row] of y across the depth of the source: of an explosion, or of forces along x and along z."""
    rows, none = np.eye(4, dtype=complex), np.ones((len(k), 1))
    if not explosion:
        return [none * -rows[2], none * -rows[3]]
    _, c33, _, c13 = constants
    if fluid_there:
        return [none * np.array([1 / c33, 0])]
    # The moment along z is a jump of displacement, and the remaining moment along x acts as a force
    return [none * rows[1] / c33 + 1j * k[:, None] * (1 - c13 / c33) * rows[2]]


def at_frequency(geometry, w, spread):
    """u_x, u_z in the frame of the interfaces for sources along x and along z (or for an explosion): [source, receiver, 2]."""
    case, (bell, elements), (_, z0) = geometry.case, spread, geometry.source
    rocks = [(rock, attenuation.constants(rock, case, w, elements)) for rock in case.rocks]
    number = sum(z0 > depth for depth in geometry.depths)
    cut = [*geometry.depths[:number], z0, *geometry.depths[number:]]
    k = geometry.wavenumbers(w)
    stack = Stack([*rocks[: number + 1], *rocks[number:]], cut, case.surface, k, w)
    home = stack.layers[number]
    forces = jumps(case.explosion, home.fluid, rocks[number][1], k)
    jump = np.stack([home.spread(force, k, bell) for force in forces], axis=-1)
    amplitudes = stack.amplitudes({number: jump})
    out = np.zeros((len(forces), len(geometry.receivers), 2), complex)
    for j, (_, z) in enumerate(geometry.receivers):
        place = sum(z > depth for depth in cut)
        layer = stack.layers[place]
        y = np.einsum("krj,kjs->krs", layer.at(z), amplitudes[place])
        if layer.fluid:
            # u = grad phi, and t_zz = -rho w^2 phi
            y = np.stack([1j * k[:, None] * y[:, 1] / (-case.rocks[place - (place > number)].rho * w**2), y[:, 0]], axis=1)
        even, odd = (table[: len(k)] for table in geometry.tables[j])
        for s in range(len(forces)):
            # A force along x makes an even u_x and an odd u_z, one along z and an explosion the other way round
            sideways = s == 0 and not case.explosion
            out[s, j] = [((even if sideways == (c == 0) else odd) * y[:, c, s]).sum() for c in (0, 1)]
    return out


def answer(case, frequencies, bell=0.0, elements=False):
    """Spectra [receiver, component z, x[, y], frequency] of a unit impulse of a case's source: a force along z, or an explosion.

    `bell` is the variance of the source, and `elements` selects the attenuation law of the programs for meshes.
    """
    geometry = Geometry(case, frequencies[-1])
    along, across = geometry.directions
    values = np.zeros((len(case.receivers), case.ndim, len(frequencies)), complex)
    for i, w in enumerate(frequencies):
        found = at_frequency(geometry, w, (bell, elements))
        # The force along z has the components along[1] and across[1] in the frame of the interfaces
        whole = found[0] if case.explosion else along[1] * found[0] + across[1] * found[1]
        values[:, 0, i] = whole @ [along[1], across[1]]
        if case.ndim == 2:
            values[:, 1, i] = whole @ [along[0], across[0]]
        else:
            values[:, 1:, i] = whole[:, :1] * geometry.azimuths
    return values
