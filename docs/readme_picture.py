"""Draws docs/_static/readme.png, the picture of the README's example: python docs/readme_picture.py."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import mercer

rng = np.random.default_rng(1)
X = np.sort(rng.uniform(0, 10, size=(60, 1)), axis=0)
y = 2 * np.sin(X[:, 0]) + 0.8 * X[:, 0] + 0.5 * rng.normal(size=60)
model = mercer.KernelRidge(alpha=0.5, kernel="gaussian(lengthscale=1)", free=1).fit(X, y)
f = model.function_

grid = np.linspace(0, 10, 400)[:, None]
line = model.free_coef_[0] + model.free_coef_[1] * grid[:, 0]
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.plot(X[:, 0], y, "o", color="0.45", markersize=4, label="data")
ax.plot(grid[:, 0], f(grid), color="C0", linewidth=2.2, label="f, the sum of both")
ax.plot(grid[:, 0], line, color="C1", linewidth=1.6, linestyle="--", label="free part, not penalised")
ax.plot(grid[:, 0], f(grid) - line, color="C2", linewidth=1.6, label=f"kernel part, norm {f.norm():.1f}")
ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
ax.set(xlabel="x", xlim=(0, 10))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left", fontsize=9)
figure.savefig(Path(__file__).parent / "_static" / "readme.png", dpi=130)
