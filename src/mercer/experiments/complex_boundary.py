"""A boundary that needs many polynomial features: cross-validated error over the degree, and a Gaussian kernel."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer import SVC
from mercer.datasets import complex_boundary, make_complex
from mercer.kernels import Gaussian, Polynomial
from mercer.plot import DecisionDisplay
from mercer.selection import KernelSearchCV

from .._palette import BLUE, GREY, INK, ORANGE
from ._base import THESIS, Draw, Result, experiment, standard_error

COSTS = [1.0, 10.0, 100.0]
WIDTHS = [0.1, 0.2, 0.3, 0.5, 0.8]
TICKS = [-1, -0.5, 0, 0.5, 1]


@experiment("complex-boundary", "How many polynomial features? Degree against error", f"{THESIS}, 1.2", minutes=0.5)
def complex_system(result: Result, quick: bool, draw: Draw) -> None:
    """Figure 1.3, and the choice that the thesis discusses."""
    n, degrees = (300, (1, 2, 3, 5, 7, 9, 12)) if quick else (1000, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15))
    X, y = make_complex(n, random_state=0)
    new = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 101)]), axis=-1).reshape(-1, 2)
    truth = (complex_boundary(new) > 0).astype(int)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    found = {d: KernelSearchCV(SVC(kernel=Polynomial(d)), {"C": COSTS}, cv=folds).fit(X, y) for d in degrees}
    errors = np.array([[1 - s.score(X, y), 1 - s.best_score_, 1 - s.score(new, truth)] for s in found.values()])
    grid = {"C": COSTS, "kernel__lengthscale": WIDTHS}
    gaussian = KernelSearchCV(SVC(kernel=Gaussian(1.0)), grid, cv=folds).fit(X, y)
    for degree, (train, held_out, true) in zip(degrees, errors, strict=True):
        remark = f"{monomials(degree)} features; {train:.1%} on the sample, {true:.1%} of the square"
        result.add(f"degree {degree}: cross-validated error", "–", f"{held_out:.1%}", remark)
    best = degrees[int(errors[:, 1].argmin())]
    limit = errors[:, 1].min() + standard_error(found[best])
    close = [str(d) for d, error in zip(degrees, errors[:, 1], strict=True) if error <= limit]
    result.add("degree that cross-validation chooses", "hard to tell", best)
    result.add("degrees within a standard error of it", "hard to tell", ", ".join(close))
    width = gaussian.best_params_["kernel__lengthscale"]
    remark = f"σ = {width:g}; {1 - gaussian.score(new, truth):.1%} of the square"
    result.add("Gaussian kernel: cross-validated error", "–", f"{1 - gaussian.best_score_:.1%}", remark)
    result.note(
        "The thesis shows such a boundary and reports no numbers; its points belong to a course. Here the boundary is "
        "known, so that the error over the whole square can be compared with its cross-validation estimate from "
        f"{n:,} points. C is chosen together with the degree, or with σ."
    )
    machines = {
        f"Degree {best}: {monomials(best)} features": found[best],
        f"Gaussian kernel, $\\sigma$ = {width:g}": gaussian,
    }
    _draw_boundaries(machines, X, y, draw)
    with draw("degree", figsize=(6.6, 4.0)) as (_, ax):
        for column, tint, name in ((0, GREY, "sample"), (1, BLUE, "cross-validated"), (2, ORANGE, "true")):
            ax.plot(degrees, 100 * errors[:, column], "o-", color=tint, markersize=4, label=name)
        level = 100 * (1 - gaussian.best_score_)
        ax.axhline(level, color=BLUE, linestyle="--", linewidth=1, label="Gaussian kernel, cross-validated")
        ax.set(title="Error of polynomial machines", xlabel="degree", ylabel="error in %", ylim=(0, None))
        ax.legend(frameon=False)


def monomials(degree: int) -> int:
    """The number of monomials in two variables up to a degree, without 1."""
    return comb(degree + 2, 2) - 1


def _draw_boundaries(searches: dict[str, Any], X: np.ndarray, y: np.ndarray, draw: Draw) -> None:
    with draw("boundary", ncols=2, figsize=(9.2, 5.1)) as (figure, axes):
        for ax, (title, search) in zip(axes, searches.items(), strict=True):
            ax.set_aspect("equal")
            display = DecisionDisplay.from_estimator(search, X, y, ax=ax, margins=False, padding=0.02, legend=False)
            display.support_.remove()
            true = complex_boundary(np.column_stack([display.xx0.ravel(), display.xx1.ravel()]))
            true = true.reshape(display.xx0.shape)
            ax.contour(display.xx0, display.xx1, true, levels=[0], colors=[INK], linestyles=":", linewidths=1.3)
            ax.set(title=title, xlabel="$X_1$", ylabel="$X_2$", xticks=TICKS, yticks=TICKS)
        lines = [axes[0].plot([], [], color=INK, linestyle=dashes)[0] for dashes in ("-", ":")]
        figure.legend(lines, ["machine", "true boundary"], frameon=False, ncols=2, loc="outside lower center")
