r"""
Time series of unequal length
=============================

Two recordings of the same gesture differ in speed, which looks like noise if you compare them at equal times. The
global alignment kernel sums over *all* ways to match the times of one series with those of the other,

.. math:: k(x, y) = \sum_{\pi} \prod_{(i, j) \in \pi} \kappa(x_i, y_j),

and is positive definite, so every method accepts a list of series in place of a table. Dynamic time warping keeps only
the best alignment and is not positive definite.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, KernelPCA
from mercer.kernels import Gaussian
from mercer.kernels.sequences import DynamicTimeWarping, GlobalAlignment

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#3a8a55", "#9a9a9a"
COLOURS = (BLUE, ORANGE, GREEN)
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})


# %%
# Three gestures: a bump then a dip, a dip then a bump, two bumps. Each recording has its own length, its own uneven
# speed, and noise.
def recordings(n, rng):
    series, labels = [], rng.integers(0, 3, n)
    for label in labels:
        length = int(rng.integers(36, 45))
        change = np.concatenate([[0], np.sort(rng.uniform(0, 1, 2)), [1]])  # of speed, twice
        t = np.interp(np.linspace(0, 1, length), change, [0, 1 / 3, 2 / 3, 1])
        first, second = ((1, -1), (-1, 1), (1, 1))[label]
        wave = first * np.exp(-(((t - 0.3) / 0.08) ** 2)) + second * np.exp(
            -(((t - 0.7) / 0.08) ** 2)
        )
        series.append(wave + 0.2 * rng.normal(size=length))
    return series, labels


rng = np.random.default_rng(0)
X, y = recordings(60, rng)
X_new, y_new = recordings(150, rng)

figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), sharey=True, layout="constrained")
for label, ax in enumerate(axes):
    for x in [x for x, own in zip(X, y, strict=True) if own == label][:3]:
        ax.plot(x, color=COLOURS[label], linewidth=1.3, alpha=0.8)
    ax.set_title(f"gesture {label + 1}", color=INK, fontsize=10, loc="left")
    ax.set(xlabel="time", yticks=[-1, 0, 1])

# %%
# The kernel matrices of 60 recordings, ordered by label: resampled to one length and compared at equal times, and
# aligned. Each kernel uses its own "median" rule for the lengthscale.
order = np.argsort(y, kind="stable")
resampled = [np.interp(np.linspace(0, 1, 40), np.linspace(0, 1, len(x)), x) for x in X]
kernels = {
    "equal times": (Gaussian("median"), np.array(resampled)),
    "global alignment": (GlobalAlignment("median"), X),
    "dynamic time warping": (DynamicTimeWarping("median"), X),
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
edges = np.cumsum(np.bincount(y))[:-1] - 0.5
for ax, (name, (kernel, data)) in zip(axes, kernels.items(), strict=True):
    K = kernel.resolve(data)(data)[np.ix_(order, order)]
    ax.imshow(K, cmap="Blues", vmin=0, vmax=np.quantile(K[~np.eye(60, dtype=bool)], 0.995))
    smallest = np.linalg.eigvalsh(K)[0]
    ax.set_title(f"{name}\nsmallest eigenvalue {smallest:.2g}", color=INK, fontsize=10, loc="left")
    for edge in edges:
        ax.axhline(edge, color="white", linewidth=1)
        ax.axvline(edge, color="white", linewidth=1)
    ax.set(xticks=[], yticks=[])

# %%
# Kernel principal components of the list of series, and the error of a support vector machine on new recordings, for
# lengthscales around the median rules.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
scores = KernelPCA(n_components=2, kernel=GlobalAlignment("median")).fit(X).transform(X_new)
for label, marker in enumerate("osD"):
    left.plot(
        *scores[y_new == label].T,
        marker,
        color=COLOURS[label],
        markersize=4.5,
        markeredgecolor="white",
        markeredgewidth=0.4,
        label=f"gesture {label + 1}",
    )
left.set(xlabel="component 1", ylabel="component 2", xticks=[], yticks=[])
left.legend(
    frameon=False,
    fontsize=9,
    loc="upper left",
    bbox_to_anchor=(0, 1.12),
    ncols=3,
    handletextpad=0.1,
)

resampled_new = np.array(
    [np.interp(np.linspace(0, 1, 40), np.linspace(0, 1, len(x)), x) for x in X_new]
)
factors = np.geomspace(0.25, 4, 7)
for name, kernel, train, test, colour in (
    ("equal times", Gaussian, np.array(resampled), resampled_new, GREY),
    ("global alignment", GlobalAlignment, X, X_new, BLUE),
):
    median = kernel("median").resolve(train).lengthscale
    errors = [
        1 - SVC(kernel=kernel(c * median), C=10).fit(train, y).score(test, y_new) for c in factors
    ]
    right.semilogx(factors, errors, "o-", color=colour, markersize=4, label=name)
right.set(xlabel="lengthscale / median rule", ylabel="error on new recordings", ylim=(0, None))
right.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
right.minorticks_off()
right.legend(frameon=False, fontsize=9)
plt.show()
