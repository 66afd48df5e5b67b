r"""
Finding the other half
======================

Samples with two views, such as an image and its caption or a document and its translation, can be searched across the
views: query with one view, get answers from the other. Kernel canonical correlation gives both views common
coordinates. With functions :math:`f_j` and :math:`g_j` of variance one and their correlations :math:`\rho_j`, the
similarity is

.. math:: s(x, y) = \sum_j \rho_j\, f_j(x)\, g_j(y).

Here the views are the upper and the lower halves of handwritten digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelCCA
from mercer.selection import mean_average_precision, mean_reciprocal_rank

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

data = load_digits()
order = np.random.default_rng(0).permutation(len(data.data))
upper, lower, digit = data.data[order, :32] / 16, data.data[order, 32:] / 16, data.target[order]
fit, new = slice(0, 1000), slice(1000, None)

# %%
# The query is the upper half of a digit that the model has never seen; the candidates are the lower halves of all new
# digits. Two scores measure the result: the mean reciprocal rank of the matching half, and the mean average precision
# for halves of the same digit. A low-rank factor of the kernel matrices keeps the cost low.

same = digit[new, None] == digit[new]
results = {}
components = [1, 2, 4, 8, 16, 31]
for name, kernel in (("linear", "linear"), ("Gaussian", "gaussian(lengthscale='median')")):
    model = KernelCCA(31, kernel=kernel, gram="incomplete_cholesky").fit(upper[fit], lower[fit])
    F, G = model.transform(upper[new], lower[new])
    ranked = [(F[:, :k] * model.correlations_[:k]) @ G[:, :k].T for k in components]
    results[name] = [(mean_reciprocal_rank(S), mean_average_precision(S, same)) for S in ranked]
    print(f"{name:>8}: pair {results[name][-1][0]:.3f}, digit {results[name][-1][1]:.3f}")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
titles = "Mean reciprocal rank of the other half", "Mean average precision of the same digit"
for place, (ax, title) in enumerate(zip(axes, titles, strict=True)):
    for name, colour in (("linear", ORANGE), ("Gaussian", BLUE)):
        values = [r[place] for r in results[name]]
        ax.semilogx(components, values, "o-", color=colour, markersize=5)
        ax.text(35, values[-1], name, color=colour, va="center")
    ax.set(xlabel="components", ylim=(0, None), xlim=(0.9, 80))
    ax.set_xticks(components, [str(k) for k in components])
    ax.minorticks_off()
    ax.set_title(title, loc="left", fontsize=11)

# %%
# Queries, their true lower halves, and the five best answers, framed in blue if they belong to the correct digit. Most
# wrong answers are plausible: the top of this 3 could also be that of a 2.

queries = [int(np.flatnonzero(digit[new] == d)[3]) for d in (0, 2, 3, 4, 6, 7, 9)]
answers = model.retrieve(upper[new][queries], 5, candidates=lower[new])
figure, axes = plt.subplots(
    len(queries), 7, figsize=(6.6, 7), layout="constrained", gridspec_kw={"hspace": 0.08}
)
for row, query, found in zip(axes, queries, answers, strict=True):
    halves = [np.full(32, np.nan), lower[new][query], *lower[new][found]]
    for column, (ax, half) in enumerate(zip(row, halves, strict=True)):
        image = np.concatenate([upper[new][query], half]).reshape(8, 8)
        ax.imshow(image, cmap="gray_r", vmin=0, vmax=1)
        ax.axhline(3.5, color="white", linewidth=2)
        ax.set(xticks=[], yticks=[])
        right = column < 2 or digit[new][found[column - 2]] == digit[new][query]
        ax.spines[:].set(visible=column > 1, color=BLUE if right else ORANGE, linewidth=1.8)
for ax, title in zip(axes[0], ("query", "truth", "1", "2", "3", "4", "5"), strict=True):
    ax.set_title(title, fontsize=11)
