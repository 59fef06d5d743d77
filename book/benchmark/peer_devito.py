#!/usr/bin/env python3
"""Devito (Louboutin et al. 2019) on the homogeneous cases: python3 peer_devito.py [case=...] [threads=1] [minutes=2] [out=FOLDER].

Velocity and stress on a staggered grid as symbolic equations, from which Devito makes and compiles C. devito4 has space_order=4, a layer
of 20 damping nodes and half of the largest stable step; devito8 has its best settings: space_order=8, a wider layer that is farther away,
and 0.4 of the largest step, because nothing in it removes the error of the time steps. Points between nodes are interpolated linearly, because its other
interpolation did not take account of staggered fields when this was written. Needs a C compiler.
"""
import math
import sys
import warnings
from dataclasses import replace

import peers

WORDS = peers.words_of(sys.argv[1:], "peer_devito.py")
try:
    import devito
    import numpy as np
    from devito import Eq, Grid, Operator, SparseTimeFunction, TensorTimeFunction, VectorTimeFunction, diag, div, grad, solve
except ImportError as missing:
    sys.exit(f"peer_devito.py: devito (pip install devito) and numpy are needed: {missing}")

warnings.simplefilter("ignore")
devito.configuration["log-level"] = "ERROR"
if WORDS["threads"] != "1":
    devito.configuration["language"] = "openmp"


def damping(grid, shape, frame):
    """The damping factor of every node, one inside the frame and decreasing towards its outer sides (Cerjan et al. 1985)."""
    damp = devito.Function(name="damp", grid=grid)
    values = np.ones(shape, "f4")
    for axis, n in enumerate(shape):
        inside = np.minimum(np.arange(n), np.arange(n)[::-1])
        # A wave that crosses the frame at one node per step decays by exp(-8)
        line = np.exp(-24 / frame * np.clip((frame - inside) / frame, 0, None) ** 2)
        values *= line.reshape([-1 if k == axis else 1 for k in range(len(shape))]).astype("f4")
    damp.data[:] = values
    return damp


def prepare(case, points, order, share, wide):
    """Prepares the propagation of a case; displacements are sums of the velocities."""
    rock, h, ndim = case.rocks[0], case.wavelength / points, case.ndim
    frame = round(12 * points) if wide else 20
    case = replace(case, margin=case.margin + 8 * wide)
    shape, first = peers.box(case, h, frame)
    # The grid is shifted by a hundredth of a cell, because rounding would assign a point on a node to either of two cells
    grid = Grid(shape=shape, extent=[(n - 1) * h for n in shape], origin=[o - 0.01 * h for o in first])
    v = VectorTimeFunction(name="v", grid=grid, space_order=order, time_order=1)
    tau = TensorTimeFunction(name="tau", grid=grid, space_order=order, time_order=1)
    damp = damping(grid, shape, frame)
    lam, mu, b = rock.rho * (rock.vp**2 - 2 * rock.vs**2), rock.rho * rock.vs**2, 1 / rock.rho
    # The sum of the weights of differences of these orders limits the step
    dt = share * h / (rock.vp * math.sqrt(ndim) * {4: 7 / 6, 8: 1.2857}[order])
    steps = math.ceil(case.duration / dt)
    strain = grad(v.forward) + grad(v.forward).transpose(inner=False)
    equations = [Eq(v.forward, damp * solve(v.dt - b * div(tau), v.forward)),
                 Eq(tau.forward, damp * solve(tau.dt - lam * diag(div(v.forward)) - mu * strain, tau.forward))]
    order_of = [ndim - 1, *range(ndim - 1)]
    point = lambda place: [place[axis] for axis in order_of]
    force = SparseTimeFunction(name="force", grid=grid, npoint=1, nt=steps, coordinates=np.array([point(case.source)]))
    # A sample acts between the velocities half a step before it and half a step after it
    force.data[:, 0] = peers.wavelet(case, dt * np.arange(steps)) * b / h**ndim
    step = grid.stepping_dim.spacing
    terms, records = force.inject(field=v.forward[0], expr=force * step), []
    for k in range(ndim):
        records.append(SparseTimeFunction(name=f"rec{k}", grid=grid, npoint=len(case.receivers), nt=steps,
                                          coordinates=np.array([point(place) for place in case.receivers])))
        terms += records[k].interpolate(expr=v.forward[k])
    operator = Operator([equations[0], *terms, equations[1]], subs=grid.spacing_map)
    operator.cfunction

    def call():
        for field in (*v, *tau):
            field.data_with_halo[:] = 0
        operator.apply(time_m=0, time_M=steps - 1, dt=dt)
        return dt * np.cumsum(np.stack([np.array(one.data[:], "f8").T for one in records], axis=1), axis=-1)

    return peers.Run(call, math.prod(shape), steps, dt, dt)


METHODS = {
    "devito4": lambda case, points: prepare(case, points, 4, 0.5, False),
    "devito8": lambda case, points: prepare(case, points, 8, 0.4, True),
}

if __name__ == "__main__":
    peers.measure("Devito", devito.__version__, METHODS, WORDS)
