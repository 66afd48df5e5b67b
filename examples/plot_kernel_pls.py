r"""
Partial least squares with kernels
==================================

Principal components are the directions in which a sample varies most, whether or not that matters. Partial least
squares also uses the targets: each component is the function with the largest covariance with the part of y that is not
yet explained. A few of them often achieve what takes many principal components.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from mercer import KernelPCA, KernelPLS, KernelPLSClassifier

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

# %%
# **A curve with noise.** With each component the fit follows the sample more closely: first the signal, then the noise.
# The number of components is the only parameter besides the kernel, and held-out folds choose it: ``n_components="cv"``
# runs once per fold and gets the errors for all numbers from that run.


def truth(x):
    return np.sin(2 * x[:, 0]) * np.exp(-x[:, 0] / 8) + 0.1 * x[:, 0]


rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 10, 120))[:, None]
y = truth(x) + 0.25 * rng.normal(size=len(x))
grid = np.linspace(-0.2, 10.2, 400)[:, None]
kernel = "gaussian(lengthscale=1.2)"
chosen = KernelPLS("cv", kernel, max_components=20, cv=10).fit(x, y)

figure, axes = plt.subplots(
    1, 3, figsize=(9.5, 3.2), layout="constrained", width_ratios=(1.2, 1.2, 1)
)
for ax, counts in zip(axes, ((1, 2), (chosen.n_components_, 20)), strict=False):
    ax.plot(x, y, "o", color=GREY, markersize=3, alpha=0.7)
    ax.plot(grid, truth(grid), color=INK, linewidth=1, linestyle=":")
    for count, colour in zip(counts, (BLUE, ORANGE), strict=True):
        model = KernelPLS(count, kernel).fit(x, y)
        ax.plot(
            grid, model.predict(grid), color=colour, label=f"{count} component{'s' * (count > 1)}"
        )
    ax.legend(frameon=False, loc="upper left", fontsize=9)
    ax.set(yticks=[], xlabel="x", ylim=(-1.5, 2.4))
ax = axes[2]
ax.plot(np.arange(1, 21), chosen.cv_errors_, "o-", color=INK, markersize=4)
ax.plot(chosen.n_components_, chosen.cv_errors_.min(), "o", color=BLUE, markersize=9)
ax.axhline(0.25**2, color=GREY, linewidth=1, linestyle="--")
ax.text(20, 0.25**2, "variance of the noise", color=GREY, va="top", ha="right", fontsize=9)
ax.set(xlabel="components", ylim=(0, None))
ax.set_title("squared error, held out", loc="left", fontsize=11)

# %%
# **Components that use the targets.** Two rings are two classes, and two further coordinates are noise with larger
# variance. The leading principal components show the noise; those of partial least squares separate the rings.

outer, ring = make_circles(240, factor=0.35, noise=0.06, random_state=0)
X = np.column_stack([outer, 1.1 * rng.normal(size=(240, 2))])
kernel = "gaussian(lengthscale=1.2)"
pca = KernelPCA(2, kernel=kernel).fit(X)
pls = KernelPLSClassifier(2, kernel).fit(X, ring)
figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.3), layout="constrained")
pictures = {
    "two of the four coordinates": X[:, :2],
    "kernel principal components": pca.transform(X),
    "kernel partial least squares": pls.transform(X),
}
for ax, (name, Z) in zip(axes, pictures.items(), strict=True):
    for label, colour, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
        ax.plot(
            *Z[ring == label].T,
            marker,
            color=colour,
            markersize=4,
            markeredgecolor="white",
            markeredgewidth=0.4,
        )
    ax.set_title(name, loc="left", fontsize=11)
    ax.set(xticks=[], yticks=[])

# %%
# **Fewer components.** The same sample with the other half held out: the error of a regression on the leading
# components of each kind.

train, test = np.arange(240) % 2 == 0, np.arange(240) % 2 == 1
counts = np.arange(1, 31)
features = KernelPCA(30, kernel=kernel).fit(X[train])
Z, Z_test = features.transform(X[train]), features.transform(X[test])
errors = {"principal components": [], "partial least squares": []}
for count in counts:
    A = np.column_stack([np.ones(train.sum()), Z[:, :count]])
    c = np.linalg.lstsq(A, 2.0 * ring[train] - 1, rcond=None)[0]
    errors["principal components"].append(
        np.mean((c[0] + Z_test[:, :count] @ c[1:] >= 0) != ring[test])
    )
    model = KernelPLSClassifier(count, kernel).fit(X[train], ring[train])
    errors["partial least squares"].append(np.mean(model.predict(X[test]) != ring[test]))
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for (name, values), colour in zip(errors.items(), (GREY, ORANGE), strict=True):
    ax.plot(counts, 100 * np.array(values), "o-", color=colour, markersize=4, label=name)
ax.set(xlabel="components", ylabel="error, %", ylim=(0, None))
ax.legend(frameon=False)
