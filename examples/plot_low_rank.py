r"""
Low-rank approximations
=======================

A Gram matrix of n points has :math:`n^2` entries, but often much less information. An approximation of rank r from
landmarks :math:`C` among the points,

.. math:: \hat K = k(X, C) \, k(C, C)^{-1} \, k(C, X),

projects every :math:`k(\cdot, x)` onto the span of the sections at the r landmarks. The error, :math:`K - \hat K`, is
positive semi-definite, so its trace bounds each of its eigenvalues, and every representation reports that trace. Which
landmarks are good?
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from mercer.gram import IncompleteCholesky, Nystrom, RandomFeatures
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREEN, PURPLE = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#8b5fbf"
GREY = "#8a8a8a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

# %%
# Most of these 800 points lie in one dense cluster, some on a curve around it, and a few apart.

rng = np.random.default_rng(0)
angle = rng.uniform(0.2, 1.35 * np.pi, 90)
cluster = rng.normal((0, 0), 0.35, size=(700, 2))
curve = np.column_stack([2.6 * np.cos(angle), 2.6 * np.sin(angle)])
apart = rng.normal((1.9, -1.9), 0.15, size=(10, 2))
X = np.concatenate([cluster, curve + rng.normal(0, 0.08, size=curve.shape), apart])
kernel = Gaussian(0.5)

methods = {
    "uniform": (lambda r: Nystrom(r, "uniform"), GREY, "v"),
    "k-means": (lambda r: Nystrom(r, "kmeans"), GREEN, "s"),
    "leverage scores": (lambda r: Nystrom(r, "leverage"), PURPLE, "D"),
    "random pivots": (lambda r: Nystrom(r, "rpcholesky"), BLUE, "o"),
    "greedy pivots": (lambda r: IncompleteCholesky(rank=r), ORANGE, "^"),
}

# %%
# Each rule chooses twenty-five landmarks. Uniform landmarks go where the points are, and are mostly redundant. The
# other rules look at what is still missing: by clusters, by ridge leverage scores :math:`(K (K + \lambda
# I)^{-1})_{ii}`, or one at a time by the residual :math:`k(x_i, x_i) - \hat K_{ii}`: at random with probability
# proportional to it (randomly pivoted Cholesky), or always the largest (incomplete Cholesky).

figure, axes = plt.subplots(1, 5, figsize=(10, 2.6), sharex=True, sharey=True, layout="constrained")
for ax, (name, (representation, colour, marker)) in zip(axes, methods.items(), strict=True):
    gram = representation(25).build(kernel, X, np.random.default_rng(0))
    ax.plot(*X.T, ".", color="#cfcfcf", markersize=2.5)
    ax.plot(*gram.features.centres.T, marker, color=colour, markersize=7, markeredgecolor="white")
    ax.set_title(f"{name}\ntrace error: {gram.trace_error / len(X):.1%}", loc="left", fontsize=10)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# No approximation of rank r has a smaller error than the eigenvalues beyond the first r, the grey area. Random pivots
# stay close to it at every rank; greedy ones start with the outliers and catch up late. Both cost :math:`O(n r^2)`
# operations and never form the whole matrix. Curves are means over four draws.

ranks = np.array([4, 10, 20, 30, 40, 60, 80, 100])
K = kernel(X)
eigenvalues = np.linalg.eigvalsh(K)[::-1]
tail = np.array([eigenvalues[r:].sum() for r in range(101)]) / len(X)

figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for name, (representation, colour, marker) in methods.items():
    draws = 1 if name == "greedy pivots" else 4
    errors = np.zeros(len(ranks))
    for seed in range(draws):
        grams = [
            representation(int(r)).build(kernel, X, np.random.default_rng(seed)) for r in ranks
        ]
        errors += [gram.trace_error / len(X) / draws for gram in grams]
    ax.semilogy(ranks, errors, color=colour, marker=marker, markersize=5, label=name)
ax.fill_between(np.arange(101), tail, 1e-9, color="#e6e6e6", linewidth=0)
ax.text(12, 3e-6, "impossible", color="#777777")
ax.set(xlabel="rank", xlim=(0, 104), ylim=(3e-7, 1.2))
ax.set_title("Trace error relative to the trace", loc="left", fontsize=11)
ax.legend(frameon=False, fontsize=9)

# %%
# **Random features** need no data at all: they are cosines and sines of random frequencies. Their trace is exact
# whatever their quality, so the next plot compares Frobenius norms. The error falls like :math:`1/\sqrt r` for any
# kernel, while landmarks benefit from the decay of the eigenvalues.


def distance(representation, seed):
    return np.linalg.norm(
        K - representation.build(kernel, X, np.random.default_rng(seed)).dense()
    ) / np.linalg.norm(K)


figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for name, representation, colour, marker, at in (
    ("random features", RandomFeatures, INK, "v", [4, 10, 30, 100, 300, 1000]),
    ("random pivots", Nystrom, BLUE, "o", [4, 10, 20, 40, 70, 100]),
):
    errors = [np.mean([distance(representation(r), seed) for seed in range(3)]) for r in at]
    ax.loglog(at, errors, color=colour, marker=marker, markersize=5, linewidth=1.5, label=name)
rank = np.arange(1, 200)
best = np.sqrt([np.sum(eigenvalues[r:] ** 2) for r in rank]) / np.linalg.norm(K)
ax.fill_between(rank, best, 1e-9, color="#e6e6e6", linewidth=0)
ax.text(4, 3e-4, "impossible", color="#777777")
ax.text(330, 0.12, r"$\propto 1/\sqrt{r}$", color=INK)
ax.set(xlabel="rank", xlim=(3, 1300), ylim=(1e-4, 1.2))
ax.set_title("Relative error in the Frobenius norm", loc="left", fontsize=11)
ax.legend(frameon=False, fontsize=9)
