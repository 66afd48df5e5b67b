r"""
Margins, slack and support vectors
==================================

A support vector machine finds the function :math:`f` and intercept :math:`b` that minimise

.. math:: \tfrac12 \lVert f \rVert^2 + C \sum_i \xi_i, \qquad \xi_i = \max\bigl(0,\; 1 - y_i (f(x_i) + b)\bigr).

The boundary is where :math:`f + b = 0`, the margins where :math:`f + b = \pm 1`. A point on the correct side of its
margin costs nothing; any other pays its slack :math:`\xi_i`, drawn here as a line to its margin. Only points on their
margin or on the wrong side of it have a coefficient in :math:`f`: the ringed support vectors.
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
# **C weighs errors against width.** With the linear kernel the margin has width :math:`2 / \lVert f \rVert`. A small C
# allows a wide margin with much slack; a larger C makes slack expensive, and the margin narrows until few points lie in
# it.

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
# **A fraction instead of a penalty.** The scale of C has no direct meaning. ``NuSVC`` takes a fraction ν instead: at
# most a fraction ν of the samples lies within the margin or beyond it, and at least a fraction ν are support vectors.
# Up to a factor, each of its machines is the machine for some C.

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
# **With a kernel** the margin is straight in the kernel's space and curved in the plane. The lengthscale of the
# Gaussian kernel limits how fast the curve may turn: if it is too long, the curve cannot follow the moons; if it is too
# short, the curve clings to the points, nearly all of which are then support vectors.

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
# **More classes and more features.** With three classes each pair has its own machine, and they vote. The plot shows
# two of the 13 features of these wines, with the others fixed at their means: the regions are a slice through the
# space, and points off the slice may appear to be on the wrong side.

wine = load_wine(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(wine.data)
y = wine.target_names[wine.target]
model = SVC(C=1).fit(X, y)
display = DecisionDisplay.from_estimator(model, X, y, features=("flavanoids", "color_intensity"))
display.ax_.set_title(
    f"{model.score(X, y):.0%} right on the training data", loc="left", fontsize=10
)
display.ax_.set(xlabel="flavanoids, standardised", ylabel="colour intensity, standardised")
