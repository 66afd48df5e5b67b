r"""
Which directions matter for y?
==============================

A response may depend on ten features through only two directions, in ways that no covariance shows. Kernel dimension
reduction makes no assumption about that dependence: it looks for the projection that best predicts the features of y in
a kernel's space,

.. math:: \min_{B^\top B = I}\; \operatorname{tr}\big[\tilde K_y (\tilde K_{XB} + n\varepsilon I)^{-1}\big].

Its gradient form needs no search: it differentiates kernel ridge regressions on all features at every sample, and the
directions are the leading eigenvectors of the mean outer product of these gradients.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor

from mercer import KernelDimensionReduction

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# Three classes in ten dimensions: rings around the origin of a randomly rotated plane, and noise in the other eight.
# All classes have the same mean, so a discriminant sees nothing; the plane has no more variance than the rest, so PCA
# sees nothing either.

rng = np.random.default_rng(0)
n, dimension = 400, 10
y = rng.integers(0, 3, n)
angle, radius = (
    rng.uniform(0, 2 * np.pi, n),
    np.array([0.35, 1.15, 1.95])[y] + 0.13 * rng.normal(size=n),
)
plane = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
turn = np.linalg.qr(rng.normal(size=(dimension, dimension)))[0]
X = np.hstack([plane, plane.std() * rng.normal(size=(n, dimension - 2))]) @ turn.T
truth = turn[:, :2]

models = {
    "PCA": PCA(2).fit(X),
    "linear discriminants": LinearDiscriminantAnalysis(n_components=2).fit(X, y),
    "kernel, gradients": KernelDimensionReduction(2, method="gkdr").fit(X, y),
    "kernel, objective": KernelDimensionReduction(2, random_state=0).fit(X, y),
}

figure, axes = plt.subplots(1, 4, figsize=(11.6, 3.6), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    directions = model.scalings_[:, :2] if name.startswith("linear") else model.components_.T
    B, _ = np.linalg.qr(directions)
    degrees = np.degrees(subspace_angles(B, truth).max())
    for label, colour in enumerate((BLUE, ORANGE, GREEN)):
        ax.plot(
            *(X[y == label] @ B).T, "o", color=colour, markersize=2.8, alpha=0.7, markeredgewidth=0
        )
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
    ax.set_title(f"{name}\n{degrees:.0f}° from the plane", loc="left", fontsize=11)
    for spine in ax.spines.values():
        spine.set_visible(False)

# %%
# **How many directions?** Given several numbers, the estimator keeps the one with the best cross-validated predictions
# of a second model, by default five nearest neighbours. Here y depends on the first two of eight features. With fewer
# directions the neighbours miss something, and with more they are distracted. Right: the plane found, rotated within
# itself so that its axes come closest to the two features.

X = rng.normal(size=(300, 8))
t = X[:, 0] ** 2 + np.sin(2 * X[:, 1]) + 0.2 * rng.normal(size=300)
numbers = range(1, 7)
chosen = KernelDimensionReduction(numbers, method="gkdr").fit(X, t)
plain = cross_val_score(KNeighborsRegressor(), X, t).mean()
print("mean R² by number of directions:", {d: round(s, 3) for d, s in chosen.scores_.items()})
print(f"chosen: {chosen.n_components_}; on all features as they are {plain:.3f}")

figure, (one, two) = plt.subplots(
    1, 2, figsize=(10.4, 3.8), width_ratios=[1, 1.2], layout="constrained"
)
one.axhline(plain, color=GREY, linewidth=1, linestyle=(0, (4, 2)))
one.text(1, plain - 0.015, "all features", color="#666666", va="top")
one.plot(numbers, list(chosen.scores_.values()), "o-", color=INK, markersize=5, linewidth=1.2)
one.plot(chosen.n_components_, chosen.scores_[chosen.n_components_], "o", color=BLUE, markersize=8)
one.set(xlabel="directions", xticks=numbers, ylim=(0, 1))
one.set_title("R² of nearest neighbours, cross-validated", loc="left", fontsize=11)

best = KernelDimensionReduction(2, random_state=0).fit(X, t)
B = best.components_.T
U, _, V = np.linalg.svd(B[:2].T)
picture = two.scatter(*(X @ B @ U @ V).T, c=t, s=12, cmap="coolwarm", vmin=-2, vmax=4)
two.set(xlabel="first axis", ylabel="second axis", aspect="equal")
two.set_title("The sample in the plane found, coloured by y", loc="left", fontsize=11)
bar = figure.colorbar(picture, ax=two, label="y", shrink=0.8)
bar.outline.set_visible(False)
print(
    f"{np.degrees(subspace_angles(B, np.eye(8)[:, :2]).max()):.1f}° from the plane of the two features"
)
