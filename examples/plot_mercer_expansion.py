"""
Mercer's expansion
==================

With respect to a measure, a kernel has eigenvalues and eigenfunctions, and is the sum of their products:

.. math:: \\int k(x, y) \\, \\psi_j(y) \\, d\\mu(y) = \\lambda_j \\psi_j(x), \\qquad
          k(x, y) = \\sum_j \\lambda_j \\psi_j(x) \\psi_j(y).

They are known in closed form for the Gaussian kernel under a Gaussian measure, and for Brownian motion on the unit
interval. For all other pairs a sample approximates the measure.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import RKHS, mercer_expansion
from mercer.kernels import Brownian, Gaussian
from mercer.measures import GaussianMeasure, UniformMeasure

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

# %%
# The first eigenfunctions. Those of Brownian motion are sines; those of the Gaussian kernel are Hermite polynomials
# times a Gaussian. Each has one more zero than the previous one, and much less weight in the kernel.

pairs = {
    "Gaussian kernel, standard normal measure": (
        Gaussian(),
        GaussianMeasure(),
        np.linspace(-3, 3, 400),
    ),
    "Brownian motion, uniform measure on [0, 1]": (
        Brownian(),
        UniformMeasure(0, 1),
        np.linspace(0, 1, 400),
    ),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, (title, (kernel, measure, x)) in zip(axes, pairs.items(), strict=True):
    expansion = mercer_expansion(kernel, measure, n=5)
    psi = expansion.eigenfunctions(x[:, None])
    height = 0.0
    for j in range(5):
        # each below the one before
        height += psi[:, j - 1].min() - psi[:, j].max() - 0.5 if j else 0.0
        ax.axhline(height, color=GREY, linewidth=0.6)
        ax.plot(x, height + psi[:, j], color=plt.cm.viridis(j / 5.5), linewidth=2)
        label = f"$\\lambda_{j + 1} = {expansion.eigenvalues[j]:.3f}$"
        ax.text(1.02, height, label, transform=ax.get_yaxis_transform(), va="center")
    ax.spines["left"].set_visible(False)
    ax.set(yticks=[], xlim=(x[0], x[-1]), xlabel="x")
    ax.set_title(title, loc="left", fontsize=11)

# %%
# On a sample, the eigenvalues of :math:`K/m` approach the exact ones, the large ones first. Beyond the number that the
# sample can resolve they fall off too early. The nodes and weights of a quadrature rule work far better than random
# draws.

exact = mercer_expansion(Gaussian(), GaussianMeasure(), n=18).eigenvalues
rng = np.random.default_rng(0)
samples = {f"{m} draws": (rng.normal(size=(m, 1)), None) for m in (30, 300)}
samples["30 quadrature nodes"] = GaussianMeasure().quadrature(30)

figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
j = np.arange(1, 19)
ax.semilogy(
    j, exact, color=INK, linewidth=6, alpha=0.18, solid_capstyle="round", label="closed form"
)
for (name, (X, weights)), colour, marker in zip(
    samples.items(), (GREY, BLUE, ORANGE), "^so", strict=True
):
    numeric = mercer_expansion(Gaussian(), X, n=18, weights=weights)
    ax.semilogy(
        j[: len(numeric)], numeric.eigenvalues, marker, color=colour, markersize=4, label=name
    )
ax.set(ylim=(exact[-1] / 30, 1.5), xlabel="j", xticks=[1, 6, 12, 18])
ax.set_title("Eigenvalues of the Gaussian kernel", loc="left", fontsize=11)
ax.legend(frameon=False)

# %%
# The coefficients :math:`c_j = \int f \psi_j \, d\mu` of a function in the space give its norm,
# :math:`\lVert f \rVert^2 = \sum_j c_j^2 / \lambda_j`, term by term from below. The eigenvalues of the smooth Gaussian
# kernel fall so fast that a few terms are enough; those of Brownian motion fall like :math:`1/j^2`.

cases = {
    "Gaussian kernel": (Gaussian(), GaussianMeasure(), [[-1.0], [0.4], [1.2]], BLUE),
    "Brownian motion": (Brownian(), UniformMeasure(0, 1), [[0.2], [0.5], [0.7]], ORANGE),
}
figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for name, (kernel, measure, points, colour) in cases.items():
    f = RKHS(kernel).function(points, [1.0, -2.0, 1.5])
    expansion = mercer_expansion(kernel, measure, n=200)
    partial = np.cumsum(expansion.coefficients(f) ** 2 / expansion.eigenvalues)
    missing = 1 - partial / f.norm() ** 2
    visible = missing > 1e-10
    ax.loglog(np.arange(1, 201)[visible], missing[visible], color=colour, linewidth=2, label=name)
ax.set(xlabel="terms", ylim=(1e-10, 2))
ax.set_title(r"Relative error of $\Vert f\Vert^2$", loc="left", fontsize=11)
ax.legend(frameon=False)
