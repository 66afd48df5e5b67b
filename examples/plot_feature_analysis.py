r"""
Features on few samples
=======================

A component of kernel PCA is a function on *all* samples, and so each feature of a new point costs n kernel values.
Kernel feature analysis adds one sample per feature: among all directions

.. math:: f_i \propto k(\cdot, x_i) - \sum_{j \in S} c_{ij}\, k(\cdot, x_j)

that are orthogonal to the previous features, it takes the one along which the sample varies most.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelFeatureAnalysis, KernelPCA, LinearSVC

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Three clusters.** Above: the first three features of kernel feature analysis, as functions on the plane. Rings mark
# the samples that they use, each from a different cluster. Below: kernel PCA. Two components separate the clusters and
# the third varies within them, but each uses all samples.

rng = np.random.default_rng(0)
centres = np.array([[-1.0, -0.6], [1.0, -0.6], [0.0, 1.0]])
X = np.concatenate([centre + 0.25 * rng.normal(size=(40, 2)) for centre in centres])
kernel = "gaussian(lengthscale=0.7)"
models = {
    "feature": KernelFeatureAnalysis(3, kernel=kernel).fit(X),
    "component": KernelPCA(3, kernel=kernel).fit(X),
}
x0, x1 = np.meshgrid(np.linspace(-2, 2, 160), np.linspace(-1.7, 2, 150))
plane = np.column_stack([x0.ravel(), x1.ravel()])
figure, axes = plt.subplots(2, 3, figsize=(9, 5.6), layout="constrained")
for row, (name, model) in zip(axes, models.items(), strict=True):
    values = model.transform(plane).reshape(*x0.shape, 3)
    for j, ax in enumerate(row):
        reach = np.abs(values[..., j]).max()
        ax.contourf(x0, x1, values[..., j], np.linspace(-reach, reach, 16), cmap="PuOr_r")
        ax.plot(*X.T, ".", color=INK, markersize=3)
        if name == "feature":
            on = model.support_[: j + 1]
            ax.plot(*X[on].T, "o", color=INK, markersize=11, fillstyle="none", markeredgewidth=1.5)
        points = f"on {j + 1} sample{'s' * (j > 0)}" if name == "feature" else "on 120 samples"
        ax.set_title(f"{name} {j + 1}, {points}", loc="left", fontsize=10)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)

# %%
# **The price of sparsity.** No subspace of a given dimension captures more variance than the principal components. On
# digits, the features need two to three times the dimension for the same share. Choosing them among 200 random samples
# instead of a thousand costs hardly anything more.

images, labels = load_digits(return_X_y=True)
X, y = images[:1000] / 16, labels[:1000]
X_new, y_new = images[1000:] / 16, labels[1000:]
kernel, most = "gaussian(lengthscale=1.5)", 100
pca = KernelPCA(most, kernel=kernel).fit(X)


def share(model):
    """The fraction of variance in the span of the first features, which are orthogonal in the space."""
    along = (model.spread_ / model.function_.norm()) ** 2
    return np.cumsum(along) / pca.total_variance_


every = KernelFeatureAnalysis(most, kernel=kernel).fit(X)
some = KernelFeatureAnalysis(most, kernel=kernel, candidates=200, random_state=0)
shares = {
    "principal components": (INK, np.cumsum(pca.explained_variance_ratio_)),
    "features": (BLUE, share(every)),
    "features, of 200 candidates": (ORANGE, share(some.fit(X))),
}
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, (colour, values) in shares.items():
    ax.plot(np.arange(1, len(values) + 1), values, color=colour, linewidth=2, label=name)
ax.set(xlabel="dimension", ylim=(0, 1), xlim=(1, most))
ax.yaxis.set_major_formatter("{x:.0%}")
ax.legend(frameon=False, loc="lower right")
ax.set_title("Share of the variance", loc="left", fontsize=11)

# %%
# **The benefit.** A linear machine on 2, 5, …, 100 features classifies 797 new digits. A prediction costs as many
# kernel values as there are samples in its features, and by that measure kernel feature analysis is far ahead.

counts = [2, 5, 10, 20, 50, 100]
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for name, colour, model, cost in (
    ("features", BLUE, every, counts),
    ("principal components", INK, pca, [len(X)] * len(counts)),
):
    Z, Z_new = model.transform(X), model.transform(X_new)
    scores = [LinearSVC().fit(Z[:, :c], y).score(Z_new[:, :c], y_new) for c in counts]
    ax.semilogx(cost, scores, "o-", color=colour, linewidth=2, markersize=5, label=name)
ax.set_xticks([2, 10, 100, 1000], ["2", "10", "100", "1000"])
ax.minorticks_off()
ax.set(xlabel="kernel values for a prediction")
ax.yaxis.set_major_formatter("{x:.0%}")
ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(0.95, 0))
ax.set_title("Accuracy on digits", loc="left", fontsize=11)
