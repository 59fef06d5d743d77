#!/usr/bin/env python3
"""Deepwave (Richardson 2022) on the homogeneous cases: python3 peer_deepwave.py [case=...] [device=cpu] [threads=1] [minutes=2] [out=FOLDER].

deepwave4 uses its defaults: differences of order 4, a frame of 20 cells, steps of 0.6 of its CFL number. deepwave8 uses its best settings: order 8,
steps of 0.75, its own correction of time dispersion, and interpolation of points from 16 nodes per direction. The program adds the frame outside the model.
"""
import math
import sys
from dataclasses import replace

import peers

WORDS = peers.words_of(sys.argv[1:], "peer_deepwave.py")
try:
    import deepwave
    import numpy as np
    import torch
except ImportError as missing:
    sys.exit(f"peer_deepwave.py: deepwave, which includes PyTorch (pip install deepwave), and numpy are needed: {missing}")

FRAME = 20


def prepare(case, points, accuracy, courant, corrected):
    """Prepares the propagation of a case; velocities lie half a step before the stresses of the same index, and are summed to displacements."""
    torch.set_num_threads(int(WORDS["threads"]))
    where = torch.device("cuda" if WORDS.get("device") == "gpu" else "cpu")
    rock, h, ndim = case.rocks[0], case.wavelength / points, case.ndim
    if corrected and case.margin >= 10:
        # Waves that meet the frame at small angles are reflected; moving the frame away helps more than widening it
        case = replace(case, margin=2.5 * case.margin)
    shape, first = peers.box(case, h, 0)
    source, *receivers = (torch.tensor([place], dtype=torch.float64) for place in peers.places(case, first, h))
    full = lambda value: torch.full(shape, value, dtype=torch.float32, device=where)
    models = full(rock.rho * (rock.vp**2 - 2 * rock.vs**2)), full(rock.rho * rock.vs**2), full(1 / rock.rho)
    dt = courant * h / (rock.vp * math.sqrt(ndim))
    steps = math.ceil(case.duration / dt) + (60 if corrected else 2)
    force = torch.tensor(peers.wavelet(case, dt * np.arange(steps)) / h**ndim, dtype=torch.float64)[None, None]
    if corrected:
        force = deepwave.time_dispersion.correct_source(force, dt)
    # The slowest axis is z here, while Deepwave names components from the fastest one
    names = ["z", "y", "x"][-ndim:]
    force, source = force.float().to(where), source[None].to(where)
    spread = torch.cat(receivers)[None].to(where)
    words = {f"source_amplitudes_{names[0]}": force, f"source_locations_{names[0]}": source}
    words.update({f"receiver_locations_{name}": spread for name in names})

    def call():
        with torch.no_grad():
            out = deepwave.elastic(*models, h, dt, accuracy=accuracy, pml_width=FRAME, pml_freq=case.frequency,
                                   max_vel=1.001 * rock.vp, courant_number=1.002 * courant,
                                   location_interpolation_halfwidth=8 if corrected else 4, **words)
        traces = torch.stack([out[len(out) - ndim + k][0] for k in range(ndim)], dim=1).double().cpu()
        if corrected:
            traces = deepwave.time_dispersion.correct_receivers(traces.contiguous(), dt)
        return spectral_integral(traces.numpy(), dt) if corrected else dt * np.cumsum(traces.numpy(), axis=-1)

    # Sums over whole steps belong to the times of the steps; integrals of the corrected records to the times of these records
    return peers.Run(call, math.prod(n + 2 * FRAME for n in shape), steps, -0.5 * dt if corrected else 0.0, dt)


def spectral_integral(values, dt):
    """The time integral, from rest, of smooth samples: cumulative sums that invert differences of order 8."""
    weights = np.array([-191, 1879, -9531, 68323, 68323, -9531, 1879, -191]) / 120960
    padded = np.concatenate([np.zeros(values.shape[:-1] + (4,)), values, np.zeros(values.shape[:-1] + (4,))], axis=-1)
    parts = sum(weight * padded[..., k : k + values.shape[-1]] for k, weight in enumerate(weights))
    return dt * np.cumsum(parts, axis=-1)


METHODS = {
    "deepwave4": lambda case, points: prepare(case, points, 4, 0.6, False),
    "deepwave8": lambda case, points: prepare(case, points, 8, 0.75, True),
}

if __name__ == "__main__":
    peers.measure("Deepwave", deepwave.__version__, METHODS, WORDS)
