r"""
The simplest classifier
=======================

Take the mean of each class and assign a new point to the nearer one. With the two means :math:`\mu_\pm` and the
midpoint :math:`c = \tfrac12 (\mu_+ + \mu_-)`, this is the sign of

.. math:: g(x) = \langle \mu_+ - \mu_-, \; x - c \rangle.

This needs no coordinates, only inner products. The same rule therefore works in the space of any kernel, where a point
x is represented by the function :math:`k(\cdot, x)`:

.. math:: g(x) = \frac{1}{n_+} \sum_{y_i = +} k(x_i, x) - \frac{1}{n_-} \sum_{y_i = -} k(x_i, x) + b.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_circles, make_moons

from mercer import RKHS, KernelMeanClassifier
from mercer.kernels import Gaussian, Linear

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})


def draw_points(ax, X, y):
    for label, colour, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
        ax.plot(
            *X[y == label].T,
            marker,
            color=colour,
            markersize=5,
            markeredgecolor="white",
            markeredgewidth=0.5,
        )


# %%
# **The linear kernel** leaves the plane as it is. The boundary is the perpendicular bisector of the segment between the
# means: the difference :math:`\mu_+ - \mu_-` is its normal vector.

rng = np.random.default_rng(0)
X = np.concatenate(
    [rng.normal((-1.4, -0.5), 0.8, size=(60, 2)), rng.normal((1.4, 0.7), 0.8, size=(60, 2))]
)
y = np.repeat([0, 1], 60)
model = KernelMeanClassifier(Linear()).fit(X, y)

minus, plus = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
centre, normal = (plus + minus) / 2, plus - minus
along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
ends = centre + np.outer([-3.2, 3.2], along)

figure, ax = plt.subplots(figsize=(6.5, 4.3), layout="constrained")
halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1}
draw_points(ax, X, y)
ax.plot(*ends.T, color=INK, linewidth=1.6)
ax.annotate(
    "",
    plus,
    minus,
    arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0},
)
for point, text, offset in (
    (minus, r"$\mu_-$", (-24, 8)),
    (centre, "c", (8, -14)),
    (plus, r"$\mu_+$", (6, 6)),
):
    ax.plot(*point, "o", color=INK, markersize=6)
    ax.annotate(text, point, xytext=offset, textcoords="offset points", fontsize=13, bbox=halo)
ax.text(*(ends[0] + [0.15, 0.0]), "$g(x) = 0$", color=INK, fontsize=11)
ax.set(aspect="equal", xlim=(-4, 4), ylim=(-2.7, 2.9), xticks=[], yticks=[])
ax.spines[:].set_visible(False)

direct = (X - centre) @ normal
print(
    f"largest difference from ⟨μ₊ − μ₋, x − c⟩: {np.abs(model.decision_function(X) - direct).max():.1e}"
)

# %%
# **The Gaussian kernel** replaces each point by a bump. The means become smooth densities, and the boundary is the
# curve where they are equal, up to the constant b. Classes that no line separates have clearly different means. A long
# lengthscale gives the linear rule, a short one uses only the nearest points.

data = {
    "moons": make_moons(200, noise=0.2, random_state=0),
    "circles": make_circles(200, noise=0.12, factor=0.45, random_state=0),
}
kernels = {
    "linear": Linear(),
    "Gaussian, ℓ = 0.5": Gaussian(0.5),
    "Gaussian, ℓ = 0.1": Gaussian(0.1),
}
figure, axes = plt.subplots(
    2, 3, figsize=(9.5, 5.8), sharex="row", sharey="row", layout="constrained"
)
for row, (X, y) in zip(axes, data.values(), strict=True):
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    u, v = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    mesh = np.column_stack([u.ravel(), v.ravel()])
    for ax, (name, kernel) in zip(row, kernels.items(), strict=True):
        model = KernelMeanClassifier(kernel).fit(X, y)
        g = model.decision_function(mesh).reshape(u.shape)
        ax.contourf(
            u, v, g > 0, levels=[-0.5, 0.5, 1.5], cmap=ListedColormap([BLUE, ORANGE]), alpha=0.16
        )
        ax.contour(u, v, g, levels=[0], colors=INK, linewidths=1.2)
        draw_points(ax, X, y)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.set_title(f"{name}: {model.score(X, y):.0%} right", loc="left", fontsize=11)

# %%
# The means are functions in the space, and their distance measures how far apart the classes are. Two-sample tests are
# based on it. For the circles, the means in the plane nearly coincide; those of the Gaussian kernel do not.

X, y = data["circles"]
for name, kernel in kernels.items():
    H = RKHS(kernel)
    minus, plus = H.mean(X[y == 0]), H.mean(X[y == 1])
    print(
        f"{name:>18}: ‖μ₊ − μ₋‖ = {plus.distance(minus):.3f}, ‖μ₊‖ = {plus.norm():.3f}, ‖μ₋‖ = {minus.norm():.3f}"
    )
