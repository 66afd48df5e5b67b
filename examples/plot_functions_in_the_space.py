"""
Functions in the space
======================

The space of a kernel contains the linear combinations of its sections,

.. math:: f = \\sum_i a_i \\, k(\\cdot, x_i), \\qquad \\langle f, g \\rangle = \\sum_{i,j} a_i b_j \\, k(x_i, y_j).

In Mercer such a function is an object: you can evaluate it, add it to another, and measure it. Three plots show what
the inner product is good for.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import RKHS
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

H = RKHS(Gaussian(lengthscale=0.7))
centres = np.array([[0.6], [1.5], [2.9], [3.7], [5.2]])
f = H.function(centres, [0.9, -1.5, 1.2, 0.8, -1.0])
grid = np.linspace(-1, 7, 500)[:, None]
x = grid[:, 0]

# %%
# A function is a sum of bumps, one at each of its points. The bound :math:`|f(x)| \le \lVert f \rVert \sqrt{k(x, x)}`
# follows from :math:`f(x) = \langle f, k(\cdot, x) \rangle`: evaluation is an inner product with the section at x, so a
# function of small norm is small everywhere.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
for i in range(len(f)):
    bump = f.restrict([i])
    left.fill_between(x, bump(grid), color=BLUE, alpha=0.14, linewidth=0)
    left.plot(x, bump(grid), color=BLUE, alpha=0.55, linewidth=1)
left.plot(x, f(grid), color=INK, linewidth=2)
left.text(3.45, 1.62, "f", color=INK, style="italic", fontsize=12)
left.plot(centres[:, 0], np.zeros(len(f)), "o", color=BLUE, markersize=4, clip_on=False)
left.set_title(f"Five bumps and their sum, of norm {f.norm():.2f}", loc="left", fontsize=11)

at = np.array([1.5])
section = H.evaluation(at)
value = H.inner(f, section)
bound = H.bound(f, grid)
right.fill_between(x, -bound, bound, color=GREY, alpha=0.15, linewidth=0)
right.plot(x, section(grid), color=ORANGE, linewidth=1.5)
right.plot(x, f(grid), color=INK, linewidth=2)
right.text(3.45, 1.62, "f", color=INK, style="italic", fontsize=12)
right.plot(at, [value], "o", color=ORANGE, markersize=7, zorder=5)
right.annotate(
    f"$f({at[0]}) = \\langle f, k(\\cdot, {at[0]})\\rangle = {value:.2f}$",
    (at[0], value),
    xytext=(2.5, -1.75),
    arrowprops={"arrowstyle": "-", "color": ORANGE, "shrinkB": 5},
    color=ORANGE,
)
right.text(at[0], 1.08, f"$k(\\cdot, {at[0]})$", color=ORANGE, ha="center")
right.text(
    6.95,
    bound[-1] - 0.1,
    r"$|f(x)| \leq \Vert f\Vert\sqrt{k(x, x)}$",
    color="#666666",
    ha="right",
    va="top",
)
right.set_title("The value at a point is an inner product", loc="left", fontsize=11)
for ax in (left, right):
    ax.axhline(0, color=GREY, linewidth=0.6, zorder=0)
    ax.set(xlim=(-1, 7), xlabel="x")

# %%
# **The representer theorem.** Split f into its projection onto the sections at a few data points and the rest. The rest
# is orthogonal to those sections, so it vanishes at the points. A loss that uses f only at these points sees only the
# projection, but the rest adds to the norm. The best function is therefore its own projection.

data = np.array([[0.0], [1.0], [2.2], [4.1], [6.0]])
p = H.project(f, data)
rest = f - p
print(f"largest |rest| at the data: {np.abs(rest(data)).max():.1e}")
print(f"‖f‖² = {f.norm() ** 2:.4f} = {p.norm() ** 2:.4f} + {rest.norm() ** 2:.4f} = ‖p‖² + ‖rest‖²")

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(7.5, 5), sharex=True, sharey=True, height_ratios=[2.2, 1.5], layout="constrained"
)
for ax in (top, bottom):
    ax.axhline(0, color=GREY, linewidth=0.6, zorder=0)
    for z in data[:, 0]:
        ax.axvline(z, color=GREY, linewidth=0.6, linestyle=(0, (2, 3)), zorder=0)
top.plot(x, f(grid), color=INK, linewidth=1.6, label=f"f, norm {f.norm():.2f}")
top.plot(x, p(grid), color=BLUE, linewidth=2.2, label=f"its projection, norm {p.norm():.2f}")
top.plot(data[:, 0], f(data), "o", color=BLUE, markersize=7, markeredgecolor="white", zorder=5)
top.legend(frameon=False, loc="upper right")
top.set_title("The same values at the data, a smaller norm", loc="left", fontsize=11)
bottom.plot(x, rest(grid), color=ORANGE, linewidth=2)
bottom.plot(
    data[:, 0], rest(data), "o", color=ORANGE, markersize=7, markeredgecolor="white", zorder=5
)
bottom.set_title(f"The rest, norm {rest.norm():.2f}, vanishes at the data", loc="left", fontsize=11)
bottom.set(xlim=(-1, 7), xlabel="x")

# %%
# **Fewer points.** A function with many points is often close to one with few. `compress` chooses them greedily and
# returns the error in the norm of the space, which bounds the error everywhere.

rng = np.random.default_rng(0)
long = H.function(rng.uniform(0, 6, size=(200, 1)), rng.normal(size=200) / 10)
ranks = np.arange(1, 17)
lost = np.array([long.compress(int(rank))[1] for rank in ranks])
short, _ = long.compress(6)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.6), width_ratios=[1.4, 1], layout="constrained"
)
left.plot(x, long(grid), color=INK, linewidth=1.6, label="200 points")
left.plot(x, short(grid), color=BLUE, linewidth=2, linestyle=(0, (4, 2)), label="6 points")
left.plot(
    short.points[:, 0], short(short.points), "o", color=BLUE, markersize=6, markeredgecolor="white"
)
left.axhline(0, color=GREY, linewidth=0.6, zorder=0)
left.legend(frameon=False)
left.set(xlim=(-1, 7), xlabel="x")
left.set_title("A function and its reduced set", loc="left", fontsize=11)
right.semilogy(ranks, lost / long.norm(), "o-", color=BLUE, linewidth=1.5, markersize=4)
right.set(xlabel="points kept", xticks=[1, 4, 8, 12, 16])
right.set_title("Error relative to the norm", loc="left", fontsize=11)
