r"""
Learning from a stream
======================

The online machine sees each sample once. It takes one gradient step in the space of the kernel and forgets a little:

.. math:: f_{t+1} = (1 - \eta\alpha)\, f_t - \eta\, \ell'\bigl(y_t, f_t(x_t)\bigr)\, k(\cdot, x_t).

Each step adds at most one term and shrinks all others. Old terms have small weights and can be dropped, and so the
machine follows a moving target with bounded memory.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, OnlineKernelMachine
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREY, PALE = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a", "#d9e7f3"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **A drifting target.** The data are two thousand samples of a wave whose phase is constant for 600 samples, moves for
# 800, and is constant again. The machine keeps 150 terms, shown as dots, which fade as they age and are then dropped.
# While the wave moves, f lags behind it by what it has not yet forgotten.

rng = np.random.default_rng(0)
n, kernel, alpha, eta = 2000, Gaussian(0.5), 0.02, 0.5
x = rng.uniform(-3, 3, size=(n, 1))
phase = np.pi * np.clip((np.arange(n) - 600) / 800, 0, 1)
y = np.sin(2 * x[:, 0] + phase) + 0.1 * rng.normal(size=n)
grid = np.linspace(-3, 3, 300)[:, None]


def machine(budget):
    """A machine with a constant step, which keeps following."""
    return OnlineKernelMachine(
        "huber(delta=1.0)", kernel=kernel, alpha=alpha, eta0=eta, power_t=0, budget=budget
    )


def target(t):
    """The wave behind sample t, without noise."""
    return np.sin(2 * grid[:, 0] + phase[t - 1])


model, seen = machine(150), 0
figure, axes = plt.subplots(1, 4, figsize=(10.5, 2.7), layout="constrained", sharey=True)
for ax, stop in zip(axes, (40, 600, 1000, 2000), strict=True):
    model.partial_fit(x[seen:stop], y[seen:stop])
    seen = stop
    remembered = np.arange(
        max(0, stop - 150), stop
    )  # this loss has no flat part: every sample leaves a term
    fading = (1 - eta * alpha) ** (stop - 1 - remembered)
    ax.scatter(x[remembered, 0], y[remembered], s=12, color=ORANGE, alpha=fading, linewidth=0)
    ax.plot(grid[:, 0], target(stop), color=GREY, linewidth=1, linestyle=(0, (4, 2)))
    ax.plot(grid[:, 0], model.predict(grid), color=BLUE, linewidth=2)
    ax.set(xlim=(-3, 3), ylim=(-1.5, 1.5), xticks=[], yticks=[-1, 0, 1])
    ax.set_title(f"after {stop} samples", loc="left", fontsize=11)

# %%
# **Error and size over time.** Above: the distance between f and the current wave; the drift is shaded. A ridge
# regression on all samples so far is better while nothing moves, and worse long afterwards: most of its data are out of
# date. Below: the number of terms.

steps = np.arange(50, n + 1, 50)
online, errors, sizes = machine(150), {"online": [], "ridge": []}, {"online": [], "ridge": []}
for stop in steps:
    online.partial_fit(x[stop - 50 : stop], y[stop - 50 : stop])
    ridge = KernelRidge(kernel=kernel, alpha=1.0).fit(x[:stop], y[:stop])
    for name, each in (("online", online), ("ridge", ridge)):
        errors[name].append(np.sqrt(np.mean((each.predict(grid) - target(stop)) ** 2)))
        sizes[name].append(len(each.function_))

figure, axes = plt.subplots(
    2, 1, figsize=(8, 4.4), layout="constrained", sharex=True, height_ratios=[3, 2]
)
for ax, curves in zip(axes, (errors, sizes), strict=True):
    ax.axvspan(600, 1400, color=PALE, linewidth=0)
    for name, colour in (("ridge", BLUE), ("online", ORANGE)):
        ax.plot(steps, curves[name], color=colour, linewidth=2)
axes[0].set(ylim=(0, None), yticks=[0, 0.5, 1.0])
axes[0].set_title("Error against the wave of the moment", loc="left", fontsize=11)
axes[0].text(1500, 0.24, "online, 150 terms", color=ORANGE)
axes[0].text(1560, 1.0, "ridge, all samples", color=BLUE)
axes[1].set(xlim=(0, n), ylim=(0, n), xticks=[0, 600, 1400, 2000], yticks=[150, 2000])
axes[1].set_xlabel("samples seen")
axes[1].set_title("Terms", loc="left", fontsize=11)

# %%
# **The truncation error.** Weights shrink by :math:`1 - \eta\alpha = 0.99` per step. Everything dropped beyond a budget
# of τ terms therefore has a norm of at most :math:`(1 - \eta\alpha)^\tau L / \alpha`, with L = 1 the largest slope of
# the loss. The machine computes a smaller bound of its own, ``truncation_error_``. The error of f settles long before
# the bound is small: the dropped terms are out of date anyway.

budgets = np.array([5, 10, 20, 40, 80, 160, 320, 640])
fitted = [machine(int(budget)).fit(x, y) for budget in budgets]
final = [np.sqrt(np.mean((each.predict(grid) - target(n)) ** 2)) for each in fitted]

figure, axes = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained", sharex=True)
axes[0].semilogx(budgets, final, "o-", color=ORANGE, linewidth=2, markersize=5)
axes[0].set(ylim=(0, None))
axes[0].set_title("Error of the last f", loc="left", fontsize=11)
axes[1].loglog(budgets, (1 - eta * alpha) ** budgets / alpha, color=GREY, linewidth=2)
axes[1].loglog(
    budgets,
    [each.truncation_error_ for each in fitted],
    "o-",
    color=ORANGE,
    linewidth=2,
    markersize=5,
)
axes[1].text(130, 24, "before: $(1 - \\eta\\alpha)^\\tau L/\\alpha$", color=GREY)
axes[1].text(5, 3.0, "after: truncation_error_", color=ORANGE)
axes[1].set_title("Bound on the norm of what was dropped", loc="left", fontsize=11)
for ax in axes:
    ax.minorticks_off()
    ax.set(xlabel="budget τ", xticks=[5, 20, 80, 320], xticklabels=["5", "20", "80", "320"])
