r"""
Learning a combination of kernels
=================================

Which kernel, on which columns, at which scale? Instead of choosing one, ``MultipleKernel`` gives each a weight,

.. math:: k = \sum_j \mu_j\, \frac{k_j}{s_j}, \qquad \mu_j \ge 0,

where :math:`s_j` is the variance of the sample in the space of :math:`k_j`, which makes the weights comparable. It
wraps any estimator with a kernel.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import SVC, KernelKMeans, KernelRidge, MultipleKernel
from mercer.datasets import load_mfeat
from mercer.kernels import Gaussian
from mercer.selection import alignment

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Which columns, at which scale.** The targets are a fast wave in the first column plus a slow one in the second; the
# third is irrelevant. There are twelve kernels, four lengthscales on each column. Uniform weights use none of this.
# Independent alignments give weight to every kernel that agrees with the targets. The alignment of the combination
# (``alignf``) drops redundant kernels. Any kernel that fits the targets with a small norm, noise included, lowers the
# objective of the ridge itself (``simplemkl``, and ``lp`` with all weights positive): hence some weight on the roughest
# kernel of the third column, and more of it the weaker the penalty.

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(300, 3))
y = np.sin(5 * X[:, 0]) + np.sin(1.2 * X[:, 1]) + 0.3 * rng.normal(size=300)
new = rng.uniform(-2, 2, size=(2000, 3))
truth = np.sin(5 * new[:, 0]) + np.sin(1.2 * new[:, 1])
scales = [0.1, 0.3, 1.0, 3.0]
kernels = {f"column {j + 1}, ℓ = {s:g}": Gaussian(s).on([j]) for j in range(3) for s in scales}
methods = ["uniform", "align", "alignf", "simplemkl", "lp"]
models = {m: MultipleKernel(KernelRidge(alpha=0.5), kernels, method=m).fit(X, y) for m in methods}
errors = {m: np.sqrt(np.mean((model.predict(new) - truth) ** 2)) for m, model in models.items()}
print(models["alignf"].report())
print(f"alignment of the combination {alignment(models['alignf'].kernel_, X, y):.3f}")

figure, ax = plt.subplots(figsize=(7.5, 4.9), layout="constrained")
W = np.array([models[m].weights_ / models[m].weights_.sum() for m in methods]).T
ax.imshow(W, cmap="Blues", vmin=0, vmax=W.max(), aspect="auto")
for i, j in np.ndindex(W.shape):
    if W[i, j] > 0.005:
        ax.text(
            j,
            i,
            f"{W[i, j]:.2f}",
            ha="center",
            va="center",
            color="white" if W[i, j] > 0.22 else INK,
            fontsize=9,
        )
ax.set_yticks(range(12), list(kernels))
ax.set_xticks(range(len(methods)), [f"{m}\nerror {errors[m]:.3f}" for m in methods])
ax.set_title(
    "Weight of each kernel, and the error against the truth on new points", loc="left", fontsize=11
)
ax.tick_params(length=0)
ax.hlines([3.5, 7.5], -0.5, len(methods) - 0.5, color="white", linewidth=4)
ax.spines[:].set_visible(False)

# %%
# **Views.** If `mercer.datasets.load_mfeat` finds the data, these are 2000 handwritten numerals in six views,
# from Fourier coefficients to pixels and a few morphological numbers; otherwise they are the four quarters of
# scikit-learn's digits. Each view has a Gaussian kernel at the median distance, and 20 numerals of each class are
# labelled. Each line is one draw of them and compares learned with uniform weights on the same samples. If views are
# different but about equally good, like the quarters, there is nothing to gain.

try:
    views, labels = load_mfeat(return_X_y=True, download_if_missing=False)
except FileNotFoundError:
    print("The numerals are not available; quarters of scikit-learn's digits replace the views.")
    images, labels = load_digits(return_X_y=True)
    grid = images.reshape(-1, 2, 4, 2, 4)
    quarters = ["top left", "top right", "bottom left", "bottom right"]
    views = {name: grid[:, i // 2, :, i % 2].reshape(-1, 16) for i, name in enumerate(quarters)}
X, ends = np.hstack(list(views.values())), np.cumsum([V.shape[1] for V in views.values()])
kernels = {
    name: ("gaussian(lengthscale='median')", slice(int(end) - V.shape[1], int(end)))
    for (name, V), end in zip(views.items(), ends, strict=True)
}
candidates = {
    name: MultipleKernel(SVC(C=10.0), [kernel], method="uniform")
    for name, kernel in kernels.items()
}
candidates["sum"] = MultipleKernel(SVC(C=10.0), kernels, method="uniform")
candidates["learned"] = MultipleKernel(SVC(C=10.0), kernels)
accuracy = []
for _ in range(6):
    fit = np.concatenate([rng.permutation(np.flatnonzero(labels == c))[:20] for c in range(10)])
    test = np.setdiff1d(np.arange(len(labels)), fit)
    accuracy.append(
        [m.fit(X[fit], labels[fit]).score(X[test], labels[test]) for m in candidates.values()]
    )
accuracy = np.array(accuracy)
print(candidates["learned"].report())
print(
    f"learned against sum: {100 * np.mean(accuracy[:, -1] - accuracy[:, -2]):+.2f} points of accuracy"
)

figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.9), layout="constrained", width_ratios=[2, 1])
for row in accuracy:
    axes[0].plot(range(len(kernels)), 100 * row[:-2], ".", color=GREY, markersize=5)
    axes[1].plot(
        [0, 1], 100 * row[-2:], ".-", color=ORANGE if row[-1] > row[-2] else BLUE, linewidth=1
    )
axes[0].plot(
    range(len(kernels)), 100 * accuracy[:, :-2].mean(axis=0), "_", color=INK, markersize=22
)
axes[0].axhline(100 * accuracy[:, -1].mean(), color=ORANGE, linewidth=1)
axes[0].annotate("learned combination", (len(kernels) - 0.6, 100 * accuracy[:, -1].mean()), color=ORANGE,
                 xytext=(0, -5), textcoords="offset points", ha="right", va="top")  # fmt: skip
axes[0].set_xticks(range(len(kernels)), list(kernels))
axes[0].set(xlim=(-0.6, len(kernels) - 0.4))
axes[0].set_title("Accuracy in %: each view alone", loc="left", fontsize=11)
axes[1].set(xlim=(-0.4, 1.4))
axes[1].set_xticks([0, 1], ["sum", "learned"])
axes[1].set_title("The combinations", loc="left", fontsize=11)

# %%
# **Without labels.** Around k-means the clusters replace the labels: weights and clusters are updated in turn, and
# neither step lowers the alignment of the combination with its own clusters.

some = rng.permutation(len(X))[:500]
clusters = MultipleKernel(KernelKMeans(10, n_init=5, random_state=0), kernels).fit(X[some])
print(clusters.report())
print(f"{clusters.method_}: {clusters.n_iter_} rounds, {clusters.descent_.message}")
