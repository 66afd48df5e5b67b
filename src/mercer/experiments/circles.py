"""Concentric circles: five explicit features, the lift to three dimensions, and kernel PCA under three kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures

from mercer import SVC, KernelPCA
from mercer.datasets import make_circles
from mercer.kernels import Gaussian, Polynomial
from mercer.plot import ComponentsDisplay, DecisionDisplay

from ._base import Result, experiment
from ._lectures import BLUE, INK, ORANGE

THESIS = "Cao, Useful Applications in Statistical Learning with RKHS (2016)"


def conic(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Centre and half-axes of the ellipse that the coefficients a₁, …, a₆ of the boundary (1.1) describe."""
    (linear1, linear2, square1, product, square2), constant = model[-1].coef_[0], model[-1].intercept_[0]
    A = np.array([[square1, product / 2], [product / 2, square2]])
    centre = np.linalg.solve(-2 * A, [linear1, linear2])
    return centre, np.sqrt((centre @ A @ centre - constant) / np.linalg.eigvalsh(A))


@experiment("circles", "Two circles: a line fails, five features or three give a circle", f"{THESIS}, 1.1", minutes=0.1)
def circles(result: Result, quick: bool, draw: Any) -> None:
    """Figures 1.1 and 1.2."""
    X, y = make_circles(400, random_state=0)
    new, truth = make_circles(20_000, random_state=1)
    line = SVC(kernel="linear", C=10).fit(X, y)
    five = make_pipeline(PolynomialFeatures(2, include_bias=False), SVC(kernel="linear", C=10, tol=1e-6)).fit(X, y)
    three = make_pipeline(FunctionTransformer(lift), SVC(kernel="linear", C=10)).fit(X, y)
    centre, axes = conic(five)
    result.add("a line: right on new points", "not separable", f"{line.score(new, truth):.1%}")
    result.add("five features: right on new points", "separable", f"{five.score(new, truth):.1%}")
    result.add(
        "  half-axes of the boundary", "a circle", f"{axes.max():.3f}, {axes.min():.3f}", "radii of the data: 1 and 0.3"
    )
    result.add("  distance of its centre from 0", "a circle", f"{np.linalg.norm(centre):.3f}")
    result.add("X₁², X₂², X₂: right on new points", "a plane separates", f"{three.score(new, truth):.1%}")
    # (xᵀy + 1)² has the features √2x₁, √2x₂, x₁², √2x₁x₂, x₂², 1: the constant is free anyway
    weighted = make_pipeline(
        PolynomialFeatures(2, include_bias=False),
        FunctionTransformer(lambda Z: Z * np.sqrt([2, 2, 1, 2, 1])),
        SVC(kernel="linear", C=10, tol=1e-8),
    ).fit(X, y)
    kernel = SVC(kernel=Polynomial(2, offset=1.0), C=10, tol=1e-8).fit(X, y)
    gap = np.abs(weighted.decision_function(new) - kernel.decision_function(new)).max()
    result.add("weighted features against (xᵀy + 1)²", "the same machine", f"{gap:.1e}", "largest difference of f")
    result.note("The points of the figures are not given; these have radii 1 and 0.3 with a spread of 0.1.")

    with draw("boundary", ncols=2, figsize=(9.2, 4.4)) as (_, axes_):
        for ax, model, title in zip(
            axes_, (line, five), ("A line", "Five features: $X_1, X_2, X_1^2, X_2^2, X_1X_2$"), strict=True
        ):
            ax.set_aspect("equal")
            display = DecisionDisplay.from_estimator(model, X, y, ax=ax, margins=False, legend=False)
            if display.support_ is not None:
                display.support_.remove()  # all points but a few, of the line
            ax.set(title=title, xlabel="$X_1$", ylabel="$X_2$")
    options = {"ncols": 2, "figsize": (9.4, 4.4), "subplot_kw": {"projection": "3d"}}
    slope = three[-1].coef_[0]
    along = np.degrees(np.arctan2(-slope[0], slope[1]))  # the direction in which the plane is seen as a line
    with draw("lift", **options) as (_, axes_):
        _draw_lift(axes_[0], three, X, y, "Lifted to 3-D", elevation=22, azimuth=along + 75)
        _draw_lift(axes_[1], three, X, y, "Turned, until the plane is a line", elevation=0, azimuth=along)


def lift(X: np.ndarray) -> np.ndarray:
    """X₁², X₂², X₂: the three coordinates of figure 1.2."""
    return np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, X[:, 1]])


def _draw_lift(
    ax: Any, model: Any, X: np.ndarray, y: np.ndarray, title: str, *, elevation: float, azimuth: float
) -> None:
    Z = lift(X)
    for c, tint in enumerate((BLUE, ORANGE)):
        ax.scatter(*Z[y == c].T, s=10, color=tint, alpha=0.8, linewidths=0, depthshade=False)
    a, b = model[-1].coef_[0], model[-1].intercept_[0]
    z2, z3 = np.meshgrid(np.linspace(0, 0.5, 2), np.linspace(-1.2, 1.2, 2))
    ax.plot_surface(-(b + a[1] * z2 + a[2] * z3) / a[0], z2, z3, color=INK, alpha=0.2, linewidth=0)
    ax.view_init(elevation, azimuth)
    ax.set(xlabel="$X_1^2$", ylabel="$X_2^2$", zlabel="$X_2$", xticks=[0, 1], yticks=[0, 1], zticks=[-1, 0, 1])
    ax.set(xlim=(-0.1, 1.5), ylim=(-0.1, 1.5), zlim=(-1.25, 1.25))
    ax.set_box_aspect((1, 1, 1), zoom=0.88)
    ax.set_title(title, loc="left", y=0.95)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.pane.set_alpha(0.0)
    ax.grid(False)


@experiment("circles-pca", "Kernel PCA of two circles under three kernels", f"{THESIS}, 3.1", minutes=0.1)
def circles_pca(result: Result, quick: bool, draw: Any) -> None:
    """Figure 3.1."""
    X, y = make_circles(400, random_state=0)
    kernels = {
        r"Gaussian $\exp(-\|x-y\|^2)$": Gaussian.from_gamma(1.0),
        r"linear $x^\top y + 1$": Polynomial(1, offset=1.0),
        r"polynomial $(x^\top y + 1)^2$": Polynomial(2, offset=1.0),
    }
    models = {name: KernelPCA(5, kernel=kernel).fit(X) for name, kernel in kernels.items()}
    best = {}
    for name, model in models.items():
        scores = model.transform(X)
        rate = [_threshold(score, y) for score in scores.T]
        plane = scores[:, :2] / scores[:, :2].std()
        line = SVC(kernel="linear", C=10).fit(plane, y).score(plane, y)
        best[name] = int(np.argmax(rate))
        short = name.split(" $")[0]
        result.add(f"{short}: a line in components 1 and 2", "a picture", f"{line:.1%} right")
        tells = f"component {best[name] + 1} of {len(rate)}"
        result.add(f"{short}: the best single component", "a picture", f"{max(rate):.1%} right", tells)
    linear = models[r"linear $x^\top y + 1$"].transform(X)[:, :2]
    plain_pca = PCA(2).fit_transform(X)
    gap = np.abs(np.abs(linear) - np.abs(plain_pca)).max()
    result.add("xᵀy + 1 against PCA", "–", f"{gap:.1e}", "largest difference; centring removes the 1")
    result.note(
        "Which component tells the circles apart depends on their radii: here x₁ and x₂ vary more than the radius, so "
        "that it comes after them. The figure draws it against the first component."
    )
    result.note("Scores are of the centred matrix; (3.4) lacks 1/N, and (3.11) is the projection before centring.")
    result.note(
        "The text names two kernels, the figure three. Its linear kernel with offset 1 is PCA, which moves nothing."
    )
    with draw("scores", nrows=2, ncols=2, figsize=(8.4, 7.4)) as (_, axes):
        first, *others = axes.ravel()
        for c, (tint, marker) in enumerate(((BLUE, "o"), (ORANGE, "s"))):
            first.scatter(*X[y == c].T, s=16, color=tint, marker=marker, edgecolors="white", linewidths=0.4)
        first.set(title="Input", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        for ax, (name, model) in zip(others, models.items(), strict=True):
            other = best[name] or 1
            ComponentsDisplay.from_estimator(model, X, y, components=(0, other), ax=ax, legend=False)
            ax.set_title(name[0].upper() + name[1:])


def _threshold(score: np.ndarray, y: np.ndarray) -> float:
    """The share that the best threshold on one component gets right."""
    ones = np.concatenate([[0], np.cumsum(y[np.argsort(score)] == 1)])
    below = np.arange(len(y) + 1)
    right = (below - ones + ones[-1] - ones) / len(y)  # zeros below the threshold, ones above it
    return float(max(right.max(), 1 - right.min()))
