"""The cases of the benchmark: rock, source, receivers and duration; SI units, z downwards.

Wavelengths refer to the slowest S wave at the highest frequency of the source, 2.75 times the peak frequency of its Ricker
wavelet, where the spectrum is a hundredth of its largest value.
"""
import math
from dataclasses import dataclass, field, replace

# The ratio of the highest to the peak frequency of a Ricker wavelet, as the programs define it.
HIGHEST = 2.75


@dataclass(frozen=True)
class Rock:
    """A homogeneous rock; vs is 0 in a fluid, a quality factor of 0 means no attenuation."""

    rho: float
    vp: float
    vs: float
    qp: float = 0.0
    qs: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0

    def constants(self):
        """c11, c33, c55 and c13 in Pa (Thomsen 1986, with the exact delta)."""
        c33, c55 = self.rho * self.vp**2, self.rho * self.vs**2
        c13 = math.sqrt(2 * self.delta * c33 * (c33 - c55) + (c33 - c55) ** 2) - c55
        return c33 * (1 + 2 * self.epsilon), c33, c55, c13


@dataclass(frozen=True)
class Case:
    """A survey of one source with a known answer."""

    name: str
    title: str
    # Rocks from the top down, and the depths of the interfaces between them, at x = 0 if they dip
    rocks: tuple
    interfaces: tuple = ()
    # Dip of the interfaces in degrees; depths increase with x
    dip: float = 0.0
    # A free surface at z = 0
    surface: bool = False
    # x[, y], z
    source: tuple = (0.0, 0.0)
    receivers: tuple = ()
    # A force of 1 N (in 2-D N/m) along z, or an explosion of 1 N m (in 2-D N)
    explosion: bool = False
    frequency: float = 10.0
    duration: float = 1.0
    # Distance from the outermost points to the absorbing frame, wavelengths
    margin: float = 4.0
    # The band in which quality factors are constant, and the frequency at which velocities hold, Hz
    band: tuple = ()
    reference: float = 0.0
    # Points per wavelength of the runs, by method
    points: dict = field(default_factory=dict)
    # A case for GPUs, which processors run only on request
    large: bool = False

    @property
    def ndim(self):
        return len(self.source)

    @property
    def delay(self):
        """The time of the peak of the wavelet in the programs."""
        return 1.2 / self.frequency

    @property
    def wavelength(self):
        speeds = [rock.vs or rock.vp for rock in self.rocks]
        return min(speeds) / (HIGHEST * self.frequency)

    @property
    def fastest(self):
        return max(math.sqrt(max(rock.constants()[:2]) / rock.rho) for rock in self.rocks)

    def box(self):
        """(lowest, highest) of x[, y], z of the box around the points, including the margin."""
        around = self.margin * self.wavelength
        sides = []
        for axis in zip(self.source, *self.receivers):
            sides.append([min(axis) - around, max(axis) + around])
        if self.surface:
            sides[-1][0] = 0.0
        sides[-1][1] = max([sides[-1][1], *(depth + around for depth in self.interfaces if not self.dip)])
        return [tuple(side) for side in sides]

    def depth(self, k, x):
        """Depth of interface k at x."""
        return self.interfaces[k] + math.tan(math.radians(self.dip)) * x


ROCK = Rock(2000.0, 1732.0, 1000.0)
# Layer and half-space of the LOH problems (Day et al. 2001), and their quality factors
LAYER, BELOW = Rock(2600.0, 4000.0, 2000.0), Rock(2700.0, 6000.0, 3464.0)
LOSSY, LOSSY_BELOW = replace(LAYER, qp=120.0, qs=40.0), replace(BELOW, qp=155.9, qs=69.3)
COARSE_TO_FINE = {"fd": (2, 2.5, 3, 4, 5, 6, 8, 10, 13, 17, 22), "elements": (2, 3, 4, 5, 6, 8, 10)}


# Receivers at distances of about 10 wavelengths, whose coordinates are even numbers of wavelengths, so that most grids have nodes there
AROUND = {2: ((10, 2), (8, 6), (6, 6), (6, 8), (2, 10)), 3: ((8, 4, 4), (4, 8, 4), (4, 4, 8), (6, 6, 6))}


def homogeneous(length, ndim=2):
    """Homogeneous rock in which waves travel `length` wavelengths; for longer paths the frame is farther away, because waves meet it at small angles."""
    name = f"homogeneous{length}" + "-3d" * (ndim == 3)
    case = Case(name, f"homogeneous, {length} wavelengths", (ROCK,), source=(0.0,) * ndim, points=COARSE_TO_FINE)
    step = 0.1 * length * case.wavelength
    receivers = tuple(tuple(n * step for n in direction) for direction in AROUND[ndim])
    far = max(math.hypot(*receiver) for receiver in receivers)
    return replace(case, receivers=receivers, duration=far / ROCK.vs + 2.2 / case.frequency, margin=4.0 if length < 50 else 10.0,
                   large=ndim == 3 and length > 50)


def lamb():
    """A force in a half-space, with Rayleigh waves along its free surface."""
    case = Case("lamb", "half-space with a free surface (Lamb)", (ROCK,), surface=True, points=COARSE_TO_FINE)
    step = case.wavelength
    receivers = tuple((k * step, 0.0) for k in (4, 8, 12, 16, 20))
    duration = 20 * step / (0.9 * ROCK.vs) + 2.6 / case.frequency
    return replace(case, source=(0.0, 2 * step), receivers=receivers, duration=duration)


def layer(name, title, rocks):
    """A force below a layer of 1 km with a free surface: a section through the LOH problems."""
    receivers = tuple((1000.0 * k, 0.0) for k in (1, 3, 5, 7, 9))
    lossy = {"band": (0.35, 4.2), "reference": 1.5} if rocks[0].qp else {}
    return Case(name, title, rocks, (1000.0,), surface=True, source=(0.0, 2000.0), receivers=receivers,
                frequency=1.5, duration=6.5, points=COARSE_TO_FINE, **lossy)


def transverse():
    """A force in a transversely isotropic half-space with a free surface."""
    rock = Rock(2200.0, 2500.0, 1250.0, epsilon=0.2, delta=0.1)
    case = Case("vti", "anisotropic half-space (VTI)", (rock,), surface=True, points=COARSE_TO_FINE)
    step = case.wavelength
    receivers = tuple((k * step, 0.0) for k in (4, 8, 12, 16, 20))
    duration = 20 * step / (0.85 * rock.vs) + 2.6 / case.frequency
    return replace(case, source=(0.0, 2 * step), receivers=receivers, duration=duration)


def dipping():
    """A force above an interface of 25 degrees; receivers on both sides."""
    rocks = (ROCK, Rock(2300.0, 2900.0, 1700.0))
    case = Case("dip", "dipping interface, 25 degrees", rocks, dip=25.0, margin=16.0, points=COARSE_TO_FINE)
    step = case.wavelength
    above = tuple((k * step, 0.0) for k in (4, 8, 12))
    below = tuple((k * step, 12 * step) for k in (0, 4, 8))
    return replace(case, interfaces=(5.5 * step,), receivers=above + below, duration=1.0)


def floor():
    """An explosion in water above rock; receivers in both."""
    rocks = (Rock(1000.0, 1500.0, 0.0), Rock(2000.0, 2200.0, 1000.0))
    case = Case("seafloor", "sea floor (water over rock)", rocks, (0.0,), explosion=True, points=COARSE_TO_FINE)
    step = case.wavelength
    receivers = tuple((k * step, sign * 2 * step) for sign in (-1, 1) for k in (5, 10, 15))
    return replace(case, source=(0.0, -3 * step), receivers=receivers, duration=1.0)


def in_volume(case, receivers):
    """A case with a point source in place of the line source."""
    title = case.title.replace("line source", "point force")
    return replace(case, name=case.name + "-3d", title=title, source=(case.source[0], 0.0, case.source[1]), receivers=receivers)


# Receivers of the LOH problems, and some nearer ones
LOH = tuple((600.0 * k, 800.0 * k, 0.0) for k in (2, 5, 8, 10))


def along(case):
    """Receivers on a line that is not parallel to an axis."""
    return tuple((x, 0.25 * x, z) for x, z in case.receivers)


CASES = {
    case.name: case
    for case in (
        homogeneous(10),
        homogeneous(100),
        lamb(),
        layer("loh1", "layer over a half-space (LOH.1, line source)", (LAYER, BELOW)),
        layer("loh3", "the same with attenuation (LOH.3, line source)", (LOSSY, LOSSY_BELOW)),
        transverse(),
        dipping(),
        floor(),
        homogeneous(10, 3),
        homogeneous(100, 3),
        in_volume(lamb(), along(lamb())),
        in_volume(layer("loh1", "layer over a half-space (LOH.1, line source)", (LAYER, BELOW)), LOH),
        in_volume(layer("loh3", "the same with attenuation (LOH.3, line source)", (LOSSY, LOSSY_BELOW)), LOH),
    )
}
