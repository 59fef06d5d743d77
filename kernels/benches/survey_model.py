"""Writes the model, sources and receivers of a small 2-D survey as RSF files into the current folder.

python3 survey_model.py: vp.rsf, vs.rsf and den.rsf have 281 x 1361 cells of 10 m, with speeds that grow with depth, noise and one
interface; sous.rsf has 32 shots, sou.rsf the first of them, rec.rsf 677 receivers. The script needs the package `numpy`.
"""

import numpy as np

DEPTH, WIDTH, SHOTS, RECEIVERS, SPACING = 281, 1361, 32, 677, 10.0


def put(name, numbers, axes):
    """Writes name.rsf with its data; axes are (length, spacing), fastest first, the last axis of the array."""
    np.ascontiguousarray(numbers, dtype="<f4").tofile(f"{name}@")
    with open(name, "w") as header:
        header.writelines(f"n{k}={n} o{k}=0 d{k}={d}\n" for k, (n, d) in enumerate(axes, 1))
        header.write(f'data_format="native_float" esize=4 in="./{name}@"\n')


def points(x, z):
    """Returns points at one depth as sou= and rec= take them, (x, z) for each."""
    return np.stack([x, np.full(len(x), z)], 1)


def main():
    grid = [(DEPTH, SPACING), (WIDTH, SPACING)]
    vp = 1500 + 9.0 * np.arange(DEPTH)[None] + np.random.default_rng(1).normal(0, 60, (WIDTH, DEPTH))
    vp[:, 120:] += 600
    put("vp.rsf", vp, grid)
    put("vs.rsf", vp / 1.8, grid)
    put("den.rsf", 310 * vp**0.25, grid)
    sources = points(np.linspace(500, 13000, SHOTS), 20.0)
    put("sous.rsf", sources, [(2, 1), (1, 1), (SHOTS, 1)])
    put("sou.rsf", sources[:1], [(2, 1), (1, 1)])
    put("rec.rsf", points(20.0 + 20 * np.arange(RECEIVERS), 30.0), [(2, 1), (RECEIVERS, 1)])


main()
