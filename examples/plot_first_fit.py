"""
A first fit
===========

Kernel ridge regression finds the function :math:`f` that minimises

.. math:: \\tfrac12 \\sum_i (y_i - f(x_i))^2 + \\tfrac{\\alpha}{2} \\lVert f \\rVert^2

over the space of a kernel. The kernel defines which functions are simple, and :math:`\\alpha` sets how much simplicity
counts. Here we fit the same noisy values in three spaces.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.kernels import Gaussian, Laplace, Periodic

INK, BLUE, GREY = "#222222", "#1f6fb2", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 8, size=(40, 1)), axis=0)
y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=40)
grid = np.linspace(0, 12, 600)[:, None]

# %%
# Beyond the data, at :math:`x > 8`, only the kernel matters: functions of the Gaussian and the Laplace kernel return to
# zero, and functions of the periodic kernel repeat themselves. Between the data, functions of the Laplace kernel are
# rougher than those of the Gaussian.

kernels = {
    "Gaussian": Gaussian(lengthscale=0.7),
    "Laplace": Laplace(lengthscale=2.0),
    "Periodic": Periodic(period=np.pi, lengthscale=1.0),
}
figure, axes = plt.subplots(
    3, 1, figsize=(7.5, 6.5), sharex=True, sharey=True, layout="constrained"
)
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    model = KernelRidge(alpha=0.3, kernel=kernel).fit(x, y)
    ax.axvspan(0, 8, color="#f2f2f2", zorder=0)
    ax.plot(grid[:, 0], np.sin(2 * grid[:, 0]), color=INK, linewidth=1, linestyle=(0, (4, 2)))
    ax.plot(x[:, 0], y, ".", color=INK, markersize=5)
    ax.plot(grid[:, 0], model.predict(grid), color=BLUE, linewidth=2)
    ax.set_title(f"{name}: norm {model.function_.norm():.2f}", loc="left", fontsize=11)
axes[-1].set(xlim=(0, 12), xlabel="x")

# %%
# The fitted model holds its function, and you can add, compare and measure functions of one space. How far apart are
# the solutions for two penalties?

light = KernelRidge(alpha=0.1, kernel=kernels["Gaussian"]).fit(x, y).function_
heavy = KernelRidge(alpha=1.0, kernel=kernels["Gaussian"]).fit(x, y).function_
print(f"norms {light.norm():.3f} and {heavy.norm():.3f}, distance {light.distance(heavy):.3f}")
