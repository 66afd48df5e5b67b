r"""
Low-rank approximations
=======================

A Gram matrix of n points has :math:`n^2` entries, but often far fewer numbers in it. An approximation of rank r through
landmarks :math:`C` among the points,

.. math:: \hat K = k(X, C) \, k(C, C)^{-1} \, k(C, X),

projects every :math:`k(\cdot, x)` onto the span of the r landmarks' sections. What it leaves out,
:math:`K - \hat K`, is positive semi-definite, so its trace bounds each of its eigenvalues, and every representation
reports that trace. Which landmarks are good ones?
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.gram import IncompleteCholesky, Nystrom, RandomFeatures
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREEN, PURPLE, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#8b5fbf", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10})

# %%
# Most of these 800 points lie in one dense cluster, some on a curve around it, and a few apart.

rng = np.random.default_rng(0)
angle = rng.uniform(0.2, 1.35 * np.pi, 90)
X = np.concatenate(
    [
        rng.normal((0, 0), 0.35, size=(700, 2)),
        np.column_stack([2.6 * np.cos(angle), 2.6 * np.sin(angle)]) + rng.normal(0, 0.08, size=(90, 2)),
        rng.normal((1.9, -1.9), 0.15, size=(10, 2)),
    ]
)
kernel = Gaussian(0.5)

methods = {
    "uniform": (lambda r: Nystrom(r, "uniform"), GREY, "v"),
    "k-means": (lambda r: Nystrom(r, "kmeans"), GREEN, "s"),
    "leverage scores": (lambda r: Nystrom(r, "leverage"), PURPLE, "D"),
    "random pivots": (lambda r: Nystrom(r, "rpcholesky"), BLUE, "o"),
    "greedy pivots": (lambda r: IncompleteCholesky(rank=r), ORANGE, "^"),
}

# %%
# Twenty-five landmarks each. Uniform ones go where the points are, and mostly say the same. The other rules look at
# what is still missing: by clusters, by ridge leverage scores :math:`(K (K + \lambda I)^{-1})_{ii}`, or one after
# another, by the residual :math:`k(x_i, x_i) - \hat K_{ii}`: at random in proportion to it
# (randomly pivoted Cholesky), or always the largest (incomplete Cholesky).

figure, axes = plt.subplots(1, 5, figsize=(12, 2.9), sharex=True, sharey=True, layout="constrained")
for ax, (name, (representation, colour, marker)) in zip(axes, methods.items(), strict=True):
    gram = representation(25).build(kernel, X, np.random.default_rng(0))
    ax.plot(*X.T, ".", color="#cfcfcf", markersize=2.5)
    ax.plot(
        *gram.features.centres.T, marker, color=colour if colour != GREY else INK, markersize=5, markeredgecolor="white"
    )
    ax.set_title(f"{name}\ntrace left: {gram.trace_error / len(X):.1%}", loc="left", fontsize=11)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# No approximation of rank r leaves less than the eigenvalues beyond the first r, the grey area. Random pivots follow
# it at every rank; greedy ones begin with the outliers and catch up late. Both cost :math:`O(n r^2)` operations and
# never look at the whole matrix. Curves are means over ten draws.

ranks = np.array([4, 10, 20, 30, 40, 60, 80, 100])
K = kernel(X)
eigenvalues = np.linalg.eigvalsh(K)[::-1]
tail = np.array([eigenvalues[r:].sum() for r in range(101)]) / len(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for name, (representation, colour, marker) in methods.items():
    draws = 1 if name == "greedy pivots" else 10
    errors = [
        np.mean(
            [representation(int(r)).build(kernel, X, np.random.default_rng(seed)).trace_error for seed in range(draws)]
        )
        for r in ranks
    ]
    left.semilogy(
        ranks, np.array(errors) / len(X), color=colour, marker=marker, markersize=5, linewidth=1.5, label=name
    )
left.fill_between(np.arange(101), tail, 1e-9, color="#e6e6e6", linewidth=0)
left.text(12, 3e-6, "impossible", color="#777777")
left.set(xlabel="rank", xlim=(0, 104), ylim=(3e-7, 1.2))
left.set_title("Trace error, as a part of the trace", loc="left", fontsize=11)
left.legend(frameon=False, fontsize=9)

# %%
# **Random features** need no data at all: they are cosines and sines of random frequencies. Their trace is exact
# whatever their quality, so the right picture compares Frobenius norms. The error falls like :math:`1/\sqrt r`,
# whatever the kernel, while landmarks profit from the decay of the eigenvalues.


def distance(representation, seed):
    return np.linalg.norm(K - representation.build(kernel, X, np.random.default_rng(seed)).dense()) / np.linalg.norm(K)


for name, representation, colour, marker, at in (
    ("random features", RandomFeatures, INK, "v", [4, 10, 30, 100, 300, 1000, 3000]),
    ("random pivots", Nystrom, BLUE, "o", [4, 10, 20, 40, 70, 100]),
):
    errors = [np.mean([distance(representation(r), seed) for seed in range(3)]) for r in at]
    right.loglog(at, errors, color=colour, marker=marker, markersize=5, linewidth=1.5, label=name)
rank = np.arange(1, 200)
best = np.sqrt([np.sum(eigenvalues[r:] ** 2) for r in rank]) / np.linalg.norm(K)
right.fill_between(rank, best, 1e-9, color="#e6e6e6", linewidth=0)
right.text(4, 3e-4, "impossible", color="#777777")
right.text(400, 0.12, r"$\propto 1/\sqrt{r}$", color=INK)
right.set(xlabel="rank", xlim=(3, 4000), ylim=(1e-4, 1.2))
right.set_title("Error in the Frobenius norm, relative", loc="left", fontsize=11)
right.legend(frameon=False, fontsize=9)
