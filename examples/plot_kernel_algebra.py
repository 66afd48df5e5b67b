r"""
An algebra of kernels
=====================

A kernel defines which functions are simple. Sums, products and other operations make new kernels from old ones, and
with them new notions of simplicity:

.. math:: k_1 + k_2, \qquad k_1 \, k_2, \qquad c \, k, \qquad k^n, \qquad e^{k}, \qquad k(f(x), f(y)).

Each preserves positive definiteness, and so each new kernel has its own space of functions.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.gram import IncompleteCholesky
from mercer.kernels import (
    Brownian,
    Constant,
    Gaussian,
    Laplace,
    Linear,
    Periodic,
    Power,
    Sigmoid,
    parse,
)

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

grid = np.linspace(0, 6, 300)[:, None]
x = grid[:, 0]

# %%
# To see typical functions of a space, draw some at random. The columns of a pivoted Cholesky factor
# :math:`K = L L^\top` on a grid are the values of functions :math:`\varphi_1, \varphi_2, \dots` that are orthonormal in
# the space. With random numbers z,
#
# .. math:: f = \sum_j z_j \varphi_j, \qquad \lVert f \rVert = \lVert z \rVert,
#
# and the values Lz are a draw from the normal distribution with covariance K, as for a Gaussian process.


def draw(kernel, count=3, seed=0):
    L = IncompleteCholesky(tol=1e-9).build(kernel, grid, np.random.default_rng(0)).factor()
    return L @ np.random.default_rng(seed).normal(size=(L.shape[1], count))


def gallery(kernels, at=2.0):
    figure, axes = plt.subplots(
        2, len(kernels), figsize=(11, 4.6), sharex=True, layout="constrained"
    )
    for (top, bottom), (name, kernel) in zip(axes.T, kernels.items(), strict=True):
        top.axvline(at, color=GREY, linewidth=0.6, linestyle=(0, (2, 3)), zorder=0)
        top.plot(x, kernel(grid, [[at]])[:, 0], color=INK, linewidth=2)
        top.set_title(name, loc="left", fontsize=11)
        for values, colour in zip(draw(kernel).T, (BLUE, ORANGE, GREEN), strict=True):
            bottom.plot(x, values, color=colour, linewidth=1.5)
        for ax in (top, bottom):
            ax.axhline(0, color=GREY, linewidth=0.6, zorder=0)
            ax.set(yticks=[0], xticks=[0, at, 6], xlim=(0, 6))
            ax.margins(y=0.12)
        bottom.set_xlabel("x")
    axes[0, 0].set_ylabel(f"$k(x, {at:g})$")
    axes[1, 0].set_ylabel("functions")
    return figure


# %%
# **Building blocks.** Above, the section :math:`k(\cdot, 2)`; below, three functions from the space.

gallery(
    {
        "Gaussian": Gaussian(0.7),
        "Laplace": Laplace(2.0),
        "Brownian": Brownian(),
        "Periodic": Periodic(period=1.5),
        "Linear": Linear(),
    }
)

# %%
# **Sums and products.** A function in the space of a sum is a sum of functions, one from each: a wave on a line. A
# product combines both factors: multiplied by a Gaussian, a wave may change along the axis; multiplied by a line, it
# grows. Warping the input bends time.

gallery(
    {
        "Linear + Periodic": 0.3 * Linear() + Periodic(period=1.5),
        "Gaussian · Periodic": Gaussian(1.5) * Periodic(period=1.5),
        "Linear · Periodic": Linear() * Periodic(period=1.5),
        "Gaussian + Laplace": Gaussian(2.0) + 0.1 * Laplace(0.3),
        "Gaussian of $x^2$": Gaussian(2.5).warp(np.square),
    }
)

# %%
# **What is proven.** Definiteness is derived from the parts through the algebra and never guessed: without a proof it
# is UNKNOWN. The power kernel :math:`-\lVert x - y \rVert` is only conditionally positive definite, yet theorems cover
# its exponential and its product with a positive number. A kernel and its text are equivalent.

kernels = [
    Gaussian() + Linear(),
    Gaussian() * Periodic(),
    Linear() ** 3 + Constant(2.0),
    Power(1.0),
    2 * Power(1.0),
    Power(1.0).exp(),
    Gaussian() + Power(1.0),
    Sigmoid(),
    Gaussian() + Sigmoid(),
]
for kernel in kernels:
    assert parse(str(kernel)) == kernel
    print(f"{kernel!s:62} {kernel.definiteness}")
