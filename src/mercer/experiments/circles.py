"""Concentric circles: five explicit features, the lift to three dimensions, and kernel PCA under three kernels."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures

from mercer import SVC, KernelPCA
from mercer.kernels import Gaussian, Polynomial
from mercer.plot import ComponentsDisplay, DecisionDisplay

from .._palette import BLUE, INK, ORANGE
from ..types import EstimatorLike
from ._base import THESIS, Draw, Result, experiment

CENTRE = np.array([0.0, 2.0])  # of the circles in figures 1.1 and 1.2; in 3.1 it is 0


def rings(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The thesis's circles about 0: radii 2 and 1 at equal angles, with a spread of 0.1."""
    angle = np.linspace(0, 2 * np.pi, n // 2)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    spread = 0.1 * np.random.default_rng(seed).normal(size=(2 * len(circle), 2))
    return np.concatenate([2 * circle, circle]) + spread, np.repeat([0, 1], len(circle))


def lift(X: np.ndarray) -> np.ndarray:
    """X₁², X₂², X₂: the three coordinates of figure 1.2."""
    return np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, X[:, 1]])


def conic(coefficients: np.ndarray, constant: float) -> tuple[np.ndarray, np.ndarray]:
    """Centre and half-axes of the ellipse where a combination of X₁, X₂, X₁², X₁X₂, X₂² and 1 is zero."""
    linear1, linear2, square1, product, square2 = coefficients
    A = np.array([[square1, product / 2], [product / 2, square2]])
    centre = np.linalg.solve(-2 * A, [linear1, linear2])
    return centre, np.sqrt((centre @ A @ centre - constant) / np.linalg.eigvalsh(A))


@experiment("circles", "Two circles: a line fails, five features or three give a circle", f"{THESIS}, 1.1", minutes=0.1)
def circles(result: Result, quick: bool, draw: Draw) -> None:
    """Figures 1.1 and 1.2."""
    (X, y), (new, truth) = rings(400, seed=0), rings(20_000, seed=1)
    X, new = X + CENTRE, new + CENTRE
    line = SVC(kernel="linear", C=10).fit(X, y)
    five = make_pipeline(PolynomialFeatures(2, include_bias=False), SVC(kernel="linear", C=10, tol=1e-6)).fit(X, y)
    three = make_pipeline(FunctionTransformer(lift), SVC(kernel="linear", C=10, tol=1e-6)).fit(X, y)
    result.add("a line: right on new points", "not separable", f"{line.score(new, truth):.1%}")
    square1, square2, linear2 = three[-1].coef_[0]
    ways = {
        "five features": (five, five[-1].coef_[0], "a hyperplane separates"),
        "X₁², X₂², X₂": (three, np.array([0, linear2, square1, 0, square2]), "a plane separates"),
    }
    for name, (model, coefficients, claim) in ways.items():
        middle, axes = conic(coefficients, model[-1].intercept_[0])
        result.add(f"{name}: right on new points", claim, f"{model.score(new, truth):.1%}")
        remark = "the points have radii 1 and 2"
        result.add(f"{name}: half-axes of the boundary", "1.5, 1.5", f"{axes.max():.3f}, {axes.min():.3f}", remark)
        result.add(f"{name}: its centre", "0, 2", f"{middle[0]:.3f}, {middle[1]:.3f}")
    # (xᵀy + 1)² has the features √2x₁, √2x₂, x₁², √2x₁x₂, x₂², 1: the constant is free anyway
    weighted = make_pipeline(
        PolynomialFeatures(2, include_bias=False),
        FunctionTransformer(lambda Z: Z * np.sqrt([2, 2, 1, 2, 1])),
        SVC(kernel="linear", C=10, tol=1e-8),
    ).fit(X, y)
    kernel = SVC(kernel=Polynomial(2), C=10, tol=1e-8).fit(X, y)
    gap = np.abs(weighted.decision_function(new) - kernel.decision_function(new)).max()
    result.add("weighted features against (xᵀy + 1)²", "the same machine", f"{gap:.1e}", "largest difference of f")
    result.note(
        "As in the thesis's program, points lie on circles of radii 1 and 2 around (0, 2), each at 200 equal angles, "
        "with a spread of 0.1. Its circle of radius 1.5 is drawn by hand; here machines find the boundary. Around "
        "(0, 0), X₂ would be useless."
    )
    _draw_boundaries({"A line": line, "Five features: $X_1, X_2, X_1^2, X_2^2, X_1X_2$": five}, X, y, draw)
    _draw_lift(three, X, y, draw)


def _draw_boundaries(models: dict[str, Any], X: np.ndarray, y: np.ndarray, draw: Draw) -> None:
    angle = np.linspace(0, 2 * np.pi, 200)
    with draw("boundary", ncols=2, figsize=(9.2, 5.3)) as (figure, axes):
        for ax, (title, model) in zip(axes, models.items(), strict=True):
            ax.set_aspect("equal")
            display = DecisionDisplay.from_estimator(model, X, y, ax=ax, margins=False, legend=False)
            if display.support_ is not None:
                display.support_.remove()  # for the line, these are nearly all points
            (circle,) = ax.plot(1.5 * np.cos(angle), 2 + 1.5 * np.sin(angle), ":", color=INK, linewidth=1.3)
            ax.set(title=title, xlabel="$X_1$", ylabel="$X_2$")
        (machine,) = axes[0].plot([], [], color=INK)
        names = ["machine", "the thesis's circle"]
        figure.legend([machine, circle], names, frameon=False, ncols=2, loc="outside lower center")


def _draw_lift(model: EstimatorLike, X: np.ndarray, y: np.ndarray, draw: Draw) -> None:
    """The lifted points and the plane between them: from the side, and along the plane."""
    Z, a, b = lift(X), model[-1].coef_[0], model[-1].intercept_[0]
    ranges = ((0, 5), (0, 18), (-0.5, 4.5))
    # the horizontal direction from which the plane is seen as a line, in the scaled cube of the plot
    along = np.degrees(np.arctan2(-a[0] * np.ptp(ranges[0]), a[1] * np.ptp(ranges[1])))
    z1, z2 = np.meshgrid([0, 5], [0, 11])
    views = (("Lifted to 3-D", 20, along + 40), ("Turned, until the plane is a line", 0, along))
    with draw("lift", ncols=2, figsize=(9.4, 4.6), subplot_kw={"projection": "3d"}) as (_, axes):
        for ax, (title, elevation, azimuth) in zip(axes, views, strict=True):
            for c, (tint, marker) in enumerate(((BLUE, "o"), (ORANGE, "s"))):
                ax.scatter(*Z[y == c].T, s=10, color=tint, marker=marker, alpha=0.8, linewidths=0, depthshade=False)
            ax.plot_surface(
                z1, z2, -(b + a[0] * z1 + a[1] * z2) / a[2], color=INK, alpha=0.25, edgecolor=INK, linewidth=1
            )
            ax.view_init(elevation, azimuth)
            ax.set_proj_type("ortho")
            ax.set(xlabel="$X_1^2$", ylabel="$X_2^2$", zlabel="$X_2$", xlim=ranges[0], ylim=ranges[1], zlim=ranges[2])
            ax.set(xticks=[0, 2, 4], yticks=[0, 8, 16], zticks=[0, 2, 4])
            ax.set_box_aspect((1, 1, 1), zoom=0.9)
            ax.set_title(title, loc="left", y=0.95)
            for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
                axis.labelpad = 9
                axis.pane.set_alpha(0.0)
            ax.grid(False)


@experiment("circles-pca", "Kernel PCA of two circles under three kernels", f"{THESIS}, 3.1", minutes=0.1)
def circles_pca(result: Result, quick: bool, draw: Draw) -> None:
    """Figure 3.1."""
    X, y = rings(400, seed=0)
    kernels = {
        r"Gaussian $\exp(-\|x-y\|^2)$": Gaussian.from_gamma(1.0),
        r"linear $x^\top y + 1$": Polynomial(1),
        r"polynomial $(x^\top y + 1)^2$": Polynomial(2),
    }
    models = {name: KernelPCA(8, kernel=kernel, remove_zero_eig=True).fit(X) for name, kernel in kernels.items()}
    best = {}
    for name, model in models.items():
        scores = model.transform(X)
        best[name] = max(combinations(range(min(5, scores.shape[1])), 2), key=lambda p: line_tells(scores[:, p], y))
        enough = (q for q in range(1, scores.shape[1] + 1) if line_tells(scores[:, :q], y) == 1)
        short = name.split(" $")[0]
        for pair in dict.fromkeys([(0, 1), best[name]]):
            told = f"{line_tells(scores[:, pair], y):.1%} right"
            remark = "" if pair == (0, 1) else "the best pair of the first five"
            result.add(f"{short}: a line in components {pair[0] + 1} and {pair[1] + 1}", "a picture", told, remark)
        result.add(f"{short}: components until a line separates", "–", next(enough, f"never: it has {scores.shape[1]}"))
    linear = models[r"linear $x^\top y + 1$"].transform(X)
    gap = np.abs(np.abs(linear) - np.abs(PCA(2).fit_transform(X))).max()
    result.add("xᵀy + 1 against PCA", "–", f"{gap:.1e}", "largest difference; centring removes the 1")
    result.note(
        "The thesis's program treats each circle separately and subtracts sums instead of means, so that its figure "
        "does not show one space. Here both circles form one sample: its first two components are bent versions of x₁ "
        "and x₂, and the radius comes later. The figure shows the best pair."
    )
    result.note("Scores are from the centred matrix; (3.4) lacks 1/N, and (3.11) is the projection before centring.")
    result.note("The text names two kernels, the figure three. Its linear kernel with offset 1 is PCA, a rotation.")
    with draw("scores", nrows=2, ncols=2, figsize=(8.4, 7.4)) as (_, axes):
        first, *others = axes.ravel()
        for c, (tint, marker) in enumerate(((BLUE, "o"), (ORANGE, "s"))):
            first.scatter(*X[y == c].T, s=16, color=tint, marker=marker, edgecolors="white", linewidths=0.4)
        first.set(title="Input", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        for ax, (name, model) in zip(others, models.items(), strict=True):
            ComponentsDisplay.from_estimator(model, X, y, components=best[name], ax=ax, legend=False)
            ax.set_title(name[0].upper() + name[1:])


def line_tells(Z: np.ndarray, y: np.ndarray) -> float:
    """The training accuracy of a linear machine."""
    Z = Z / Z.std()
    return float(SVC(kernel="linear", C=100).fit(Z, y).score(Z, y))
