"""Makes velocity.txt: problem LOH.1 (a layer over a half-space) by an independent semi-analytic code.

    pip install pyprop8==1.1.5 tqdm && python tests/data/loh1/make.py > tests/data/loh1/velocity.txt

Layer of 1 km with 4000 m/s, 2000 m/s, 2600 kg/m3 over 6000 m/s, 3464 m/s, 2700 kg/m3. The source is a moment Mxy of
1e18 N m at 2 km depth whose rate is a Gaussian of spread 0.15 s that peaks at 0.6 s. Rows: every 0.05 s from 0 on; columns:
velocity x, y, z (z up) in m/s at (x, y) = (6, 8) km, then at (3, 4) km, both on the surface.
"""
import numpy
import pyprop8

TAU = 0.15
model = pyprop8.LayeredStructureModel([(1.0, 4.0, 2.0, 2.6), (numpy.inf, 6.0, 3.464, 2.7)])
moment = numpy.zeros((3, 3))
moment[0, 1] = moment[1, 0] = 1.0
source = pyprop8.PointSource(0, 0, 2.0, moment, numpy.zeros((3, 1)), 0)
receivers = pyprop8.ListOfReceivers(numpy.array([6.0, 3.0]), numpy.array([8.0, 4.0]), depth=0)


def rate(w):
    """Spectrum of the moment rate times i w, which turns the result for a step of moment into a velocity."""
    return 1j * w * numpy.exp(-0.5 * (w * TAU) ** 2 - 4j * w * TAU)


times, seismograms = pyprop8.compute_seismograms(
    model, source, receivers, 181, 0.05, source_time_function=rate, show_progress=False,
    stencil_kwargs={"kmin": 0, "kmax": 35, "nk": 1200})
# Units: km, GPa, g/cm3; a moment of 1 GPa km3 is 1e18 N m.
for row in 1000 * seismograms.reshape(6, -1).T:
    print(" ".join(f"{v:.6e}" for v in row))
