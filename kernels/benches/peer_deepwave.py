"""Forward runs and gradients of Deepwave, an elastic engine for PyTorch, in the case of the benchmark `linearised`.

python peer_deepwave.py [n=256] [steps=140] [segments=1] [repeat=3]: n^3 cells, order 4, CPML of 10 cells on all sides, 512 sources and
343 receivers all over the model, noise as adjoint source. segments=0: forward runs alone; 1: the gradient keeps all steps on the
device; more: it uses Deepwave's checkpoints. The script needs the packages `torch` and `deepwave`, and a GPU.
"""

import sys
import time

import deepwave
import torch

FREQUENCY, DT, SPACING = 15.0, 0.001, 10.0


def lattice(n, count):
    """Returns count^3 evenly spread cells as locations of Deepwave: [shot][point][axis]."""
    side = torch.linspace(n * 0.05, n * 0.95, count).long()
    points = torch.stack(torch.meshgrid(side, side, side, indexing="ij"), -1)
    return points.reshape(1, -1, 3).cuda()


def models(n):
    """Returns the Lame parameters and the buoyancy for vp of 3000 to 3100 m/s, vp/vs of 1.8 and 2200 kg/m3."""
    vp = 3000 + 100 * torch.rand((n, n, n), device="cuda")
    mu = 2200 * (vp / 1.8) ** 2
    return [2200 * vp**2 - 2 * mu, mu, torch.full_like(vp, 1 / 2200)]


def wavelets(steps, count):
    """Returns Ricker wavelets, [shot][source][step]."""
    phase = (3.14159 * FREQUENCY * (torch.arange(steps) * DT - 0.06)) ** 2
    return (1e6 * (1 - 2 * phase) * torch.exp(-phase)).repeat(1, count, 1).cuda()


def run(words, model):
    """Runs one shot and prints the milliseconds per step of the forward run and of forward run and gradient together."""
    n, steps, segments = words["n"], words["steps"], words["segments"]
    sources, receivers = lattice(n, 8), lattice(n, 7)
    more = {"checkpoint_segments": segments} if segments > 1 else {}
    torch.cuda.synchronize()
    begun = time.perf_counter()
    out = deepwave.elastic(
        *model, SPACING, DT, sources={"pressure_rate": (wavelets(steps, sources.shape[1]), sources)},
        receivers={"z": receivers}, accuracy=4, pml_width=10, pml_freq=FREQUENCY, check_output_finite=False, **more
    )
    shape = (1, receivers.shape[1], steps)
    traces = [x for x in out if torch.is_tensor(x) and x.shape == shape][-1]
    torch.cuda.synchronize()
    forward = time.perf_counter() - begun
    if segments:
        (traces * torch.randn_like(traces)).sum().backward()
        torch.cuda.synchronize()
    seconds = time.perf_counter() - begun
    for x in model:
        x.grad = None
    print(
        f"deepwave {deepwave.__version__}: {n}^3, {steps} steps, segments={segments}: forward {1e3 * forward / steps:.3f} ms a step, "
        f"all {1e3 * seconds / steps:.3f}, {torch.cuda.max_memory_allocated() / 1e9:.1f} GB",
        flush=True,
    )


def main():
    words = {"n": 256, "steps": 140, "segments": 1, "repeat": 3}
    words.update((key, int(value)) for key, value in (word.split("=") for word in sys.argv[1:]))
    model = models(words["n"])
    for x in model:
        x.requires_grad_(words["segments"] > 0)
    for _ in range(words["repeat"]):
        run(words, model)


main()
