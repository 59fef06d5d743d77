"""Prints the results of an inversion: figures.py CURVE FOUND-VP START-VP VP FOUND-VS START-VS VS. Fails if they are worse than the page states."""
import sys

import numpy as np
import rsfdata

curve, *models = (rsfdata.read(name).array.astype("f8") for name in sys.argv[1:])
print(f"misfit: {100 * curve[-1]:.2f} % of that at the start after {len(curve) - 2} iterations")
shares = []
for name, (found, start, true) in zip(("vp", "vs"), (models[:3], models[3:])):
    before, after = (np.sqrt(((model - true) ** 2).mean()) for model in (start, found))
    shares.append(after / before)
    print(f"{name}: the root-mean-square error is {before:.1f} m/s at the start and {after:.1f} m/s at the end, {100 * shares[-1]:.0f} % of that at the start")
both = np.sqrt(np.mean(np.square(shares)))
print(f"both speeds: {100 * both:.0f} % of the error at the start")
if curve[-1] > 0.05 or both > 0.5 or len(curve) - 2 > 40:
    sys.exit("figures.py: the page promises a twentieth of the misfit and half of the error after 40 iterations")
