r"""
Margins, slack and support vectors
==================================

A support vector machine looks for the function :math:`f` and offset :math:`b` that minimise

.. math:: \tfrac12 \lVert f \rVert^2 + C \sum_i \xi_i, \qquad \xi_i = \max\bigl(0,\; 1 - y_i (f(x_i) + b)\bigr).

The boundary lies where :math:`f + b = 0`, the margins where :math:`f + b = \pm 1`. A point on the right side of its
margin costs nothing; any other pays its slack :math:`\xi_i`, drawn here as a line to its margin. Only points on or
beyond their margin carry weight in :math:`f`: the support vectors, with a ring around them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine, make_moons
from sklearn.preprocessing import StandardScaler

from mercer import SVC, NuSVC
from mercer.plot import DecisionDisplay

GREY = "#9a9a9a"
plt.rcParams.update(
    {"axes.edgecolor": GREY, "xtick.color": GREY, "ytick.color": GREY, "font.size": 10}
)

# %%
# **C weighs errors against width.** With the linear kernel the margin has the width :math:`2 / \lVert f \rVert`. A
# small C buys a wide margin with much slack; raising it makes slack expensive, and the margin narrows until few points
# lie in it.

rng = np.random.default_rng(4)
X = np.concatenate(
    [rng.normal((-1.1, -0.4), 0.8, size=(40, 2)), rng.normal((1.1, 0.5), 0.8, size=(40, 2))]
)
y = np.repeat([0, 1], 40)

figure, axes = plt.subplots(
    1, 3, figsize=(11, 3.9), layout="constrained", subplot_kw={"aspect": "equal"}
)
for ax, C in zip(axes, (0.02, 0.2, 20), strict=True):
    model = SVC(C=C, kernel="linear").fit(X, y)
    DecisionDisplay.from_estimator(model, X, y, ax=ax, legend=False, padding=0.12)
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    ax.set_title(
        f"C = {C}\nwidth {2 / model.function_.norm():.2f}, {len(model.support_)} support vectors",
        loc="left",
        fontsize=10,
    )

# %%
# **A share instead of a price.** C has no unit that means something. ``NuSVC`` takes a share ν instead: at most ν of
# the samples lie within the margin or beyond it, and at least ν are support vectors. Each of its machines is that of
# some C, up to a factor.

figure, axes = plt.subplots(
    1, 3, figsize=(11, 3.9), layout="constrained", subplot_kw={"aspect": "equal"}
)
for ax, nu in zip(axes, (0.8, 0.4, 0.15), strict=True):
    model = NuSVC(nu=nu, kernel="linear").fit(X, y)
    DecisionDisplay.from_estimator(model, X, y, ax=ax, legend=False, padding=0.12)
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    inside = np.mean((2 * y - 1) * model.decision_function(X) < 0.999)
    ax.set_title(
        f"ν = {nu}\n{inside:.0%} within the margin, {len(model.support_) / 80:.0%} support vectors",
        loc="left",
        fontsize=10,
    )

# %%
# **With a kernel** the margin is straight in the kernel's space, and a curve in the plane. The lengthscale of the
# Gaussian kernel says how fast the curve may turn: too long, and it cannot follow the moons; too short, and it clings
# to the points, nearly all of which are then support vectors.

X, y = make_moons(120, noise=0.22, random_state=1)
figure, axes = plt.subplots(
    1, 3, figsize=(11, 2.8), layout="constrained", subplot_kw={"aspect": "equal"}
)
for ax, lengthscale in zip(axes, (3.0, 0.7, 0.12), strict=True):
    model = SVC(C=2, kernel=f"gaussian(lengthscale={lengthscale})").fit(X, y)
    DecisionDisplay.from_estimator(model, X, y, ax=ax, legend=False)
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    ax.set_title(
        f"ℓ = {lengthscale}: {len(model.support_)} support vectors", loc="left", fontsize=10
    )

# %%
# **More classes and more features.** With three classes each pair has its own machine, and they vote. Of the 13
# features of these wines two are drawn, with the others held at their mean: the regions are a slice through the space,
# and points that lie off the slice may seem to be on the wrong side of it.

wine = load_wine(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(wine.data)
y = wine.target_names[wine.target]
model = SVC(C=1).fit(X, y)
display = DecisionDisplay.from_estimator(model, X, y, features=("flavanoids", "color_intensity"))
display.ax_.set_title(
    f"{model.score(X, y):.0%} right on the training data", loc="left", fontsize=10
)
display.ax_.set(xlabel="flavanoids, standardised", ylabel="colour intensity, standardised")
