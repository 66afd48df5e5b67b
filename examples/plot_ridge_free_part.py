r"""
Ridge regression with an unpenalised part
=========================================

The penalty of kernel ridge regression shrinks the function towards zero. A mean level or a trend that should not shrink
goes into an unpenalised part with functions :math:`h_b`:

.. math:: \min_{f, c} \; \tfrac12 \sum_i w_i \Big( y_i - f(x_i) - \sum_b c_b h_b(x_i) \Big)^2
          + \tfrac{\alpha}{2} \lVert f \rVert^2.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

rng = np.random.default_rng(3)
X = np.sort(rng.uniform(0, 10, size=(50, 1)), axis=0)
y = 3 + 0.5 * X[:, 0] + np.sin(1.5 * X[:, 0]) + 0.3 * rng.normal(size=50)
kernel = Gaussian(lengthscale=0.8)
grid = np.linspace(-3, 13, 500)[:, None]
x = grid[:, 0]

# %%
# Within the data the three fits hardly differ. Beyond them each returns to its unpenalised part: to zero, to the
# intercept, to the line. With the line, the kernel part only has to explain the waves, and its norm is the smallest.

cases = {"nothing": {}, "intercept": {"fit_intercept": True}, "straight line": {"free": 1}}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for ax, (name, options) in zip(axes, cases.items(), strict=True):
    model = KernelRidge(alpha=0.3, kernel=kernel, **options).fit(X, y)
    c = np.zeros(2)
    if model.free_coef_ is not None:
        c[: len(model.free_coef_)] = model.free_coef_
    ax.axvspan(0, 10, color="#f2f2f2", zorder=0)
    ax.plot(x, c[0] + c[1] * x, color=ORANGE, linewidth=1.6, linestyle=(0, (4, 2)))
    ax.plot(X[:, 0], y, ".", color=INK, markersize=5)
    ax.plot(x, model.predict(grid), color=BLUE, linewidth=2)
    ax.set(xlim=(-3, 13), xticks=[0, 5, 10], xlabel="x")
    ax.set_title(f"{name}: norm {model.function_.norm():.1f}", loc="left", fontsize=11)

# %%
# **The penalty.** A larger :math:`\alpha` trades a larger error on the data for a smaller norm. Each :math:`\alpha` is
# a point on the trade-off curve. In squares, the slope there is :math:`-\alpha`: reducing :math:`\lVert f \rVert^2` by
# one unit costs :math:`\alpha` units of squared error. For :math:`\alpha \to \infty` only the line remains.

strengths = np.logspace(-3, 3, 40)
fits = [KernelRidge(alpha=a, kernel=kernel, free=1).fit(X, y) for a in strengths]
norms = np.array([m.function_.norm() for m in fits])
errors = np.array([np.sqrt(np.mean((y - m.predict(X)) ** 2)) for m in fits])

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), width_ratios=[1.5, 1], layout="constrained"
)
left.plot(X[:, 0], y, ".", color=INK, markersize=5)
right.plot(norms, errors, color=GREY, linewidth=1.5, zorder=0)
for a, colour in ((1e-3, GREEN), (0.3, BLUE), (100.0, ORANGE)):
    model = KernelRidge(alpha=a, kernel=kernel, free=1).fit(X, y)
    left.plot(x, model.predict(grid), color=colour, linewidth=1.8, label=f"α = {a:g}")
    norm, error = model.function_.norm(), np.sqrt(np.mean((y - model.predict(X)) ** 2))
    right.plot(norm, error, "o", color=colour, markersize=8)
    right.annotate(
        f"α = {a:g}", (norm, error), xytext=(8, 5), textcoords="offset points", color=colour
    )
left.set(xlim=(-0.5, 10.5), ylim=(2, 10.5), xlabel="x")
left.legend(frameon=False, loc="upper left")
left.set_title("Three penalties", loc="left", fontsize=11)
right.set(xlabel=r"norm $\Vert f\Vert$", ylim=(0, 0.9), xlim=(-0.3, 1.25 * norms.max()))
right.set_title("Root mean squared error on the data", loc="left", fontsize=11)

# %%
# **Weights.** If the noise is known to vary, use weights :math:`w_i = \sigma^2 / \sigma_i^2`. Here the right half is
# six times as noisy as the left. Without weights one :math:`\alpha` has to serve both, and the right half is
# overfitted; with weights it is smoothed, and the left half is not.

sigma = np.where(X[:, 0] < 5, 0.2, 1.2)
truth = 3 + 0.5 * x + np.sin(1.5 * x)
noisy = 3 + 0.5 * X[:, 0] + np.sin(1.5 * X[:, 0]) + sigma * rng.normal(size=50)

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), sharey=True, layout="constrained")
for ax, weight, title in zip(
    axes, (None, (0.2 / sigma) ** 2), ("Equal weights", "Weights 1/σ²"), strict=True
):
    model = KernelRidge(alpha=0.04, kernel=kernel, free=1).fit(X, noisy, sample_weight=weight)
    ax.errorbar(
        X[:, 0], noisy, yerr=sigma, fmt=".", color=INK, ecolor="#cccccc", elinewidth=1, markersize=5
    )
    ax.plot(x, truth, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), label="truth")
    ax.plot(x, model.predict(grid), color=BLUE, linewidth=2, label="fit")
    inside = (x > 0) & (x < 10)
    error = np.sqrt(np.mean((model.predict(grid) - truth)[inside] ** 2))
    ax.set(xlim=(-0.3, 10.3), ylim=(0.5, 12), xlabel="x")
    ax.set_title(f"{title}: error {error:.2f}", loc="left", fontsize=11)
axes[0].legend(frameon=False, loc="upper left")
