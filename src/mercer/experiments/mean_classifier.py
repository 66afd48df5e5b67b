"""The mean classifier: the nearer of two class means, in the plane and in the space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from mercer import RKHS, KernelMeanClassifier
from mercer.datasets import load_wine
from mercer.kernels import Gaussian, Linear
from mercer.plot import DecisionDisplay

from ._base import Result, experiment
from ._lectures import BLUE, CLASSIFIER_NOTES, INK, ORANGE


@experiment("mean-classifier", "The simple classifier of two means, with C₊, C₋ and C", f"{CLASSIFIER_NOTES}, 1.1", 0.1)
def mean_classifier(result: Result, quick: bool, draw: Any) -> None:
    """g(x) = ⟨C₊ − C₋, x − C⟩ on wines of two growers, and with kernels."""
    wine = load_wine()
    mine = wine.target < 2
    column = [wine.feature_names.index(name) for name in ("alcohol", "flavanoids")]
    X, y = wine.data[np.ix_(mine, column)], wine.target[mine]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    plus, minus = X[y == 1].mean(axis=0), X[y == 0].mean(axis=0)
    centre = (plus + minus) / 2
    model = KernelMeanClassifier(Linear()).fit(X, y)
    values = model.decision_function(X)
    g = (X - centre) @ (plus - minus)
    result.add("g(x) against ⟨C₊ − C₋, x − C⟩", "equal", f"{np.abs(values - g).max():.1e}", "largest difference")
    n_plus, n_minus = np.sum(y == 1), np.sum(y == 0)
    alpha = np.where(y == 1, 1 / n_plus, -1 / n_minus)
    result.add(
        "α against 1/n₊ and −1/n₋", "equal", f"{np.abs(model.dual_coef_ - alpha).max():.1e}", f"{n_plus} and {n_minus}"
    )
    K = X @ X.T
    b = K[np.ix_(y == 0, y == 0)].mean() / 2 - K[np.ix_(y == 1, y == 1)].mean() / 2
    result.add("b against ½⟨C₋, C₋⟩ − ½⟨C₊, C₊⟩", "equal", f"{abs(float(model.intercept_) - b):.1e}")
    result.add("wine, linear kernel: right", "–", f"{model.score(X, y):.1%}", "on the sample; two measures")
    result.add(
        "  ‖C₊ − C₋‖",
        "–",
        f"{RKHS(Linear()).mean(X[y == 1]).distance(RKHS(Linear()).mean(X[y == 0])):.4f}",
        f"{np.linalg.norm(plus - minus):.4f} in the plane",
    )
    Z, z = make_moons(300, noise=0.2, random_state=0)
    new, truth = make_moons(5000, noise=0.2, random_state=1)
    kernels = {"linear": Linear(), "Gaussian, ℓ = 0.3": Gaussian(0.3)}
    moons = {name: KernelMeanClassifier(kernel).fit(Z, z) for name, kernel in kernels.items()}
    for name, fitted in moons.items():
        result.add(
            f"moons, {name}: right on new points",
            "other classifiers by other kernels",
            f"{fitted.score(new, truth):.1%}",
        )
    result.note(
        "The wines are those of the first two growers, with alcohol and flavanoids, standardised; moons stand "
        "for classes that no line separates."
    )
    with draw("means", ncols=3, figsize=(11.4, 3.9)) as (_, axes):
        for label, tint, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
            axes[0].plot(
                *X[y == label].T, marker, color=tint, markersize=3.5, markeredgecolor="white", markeredgewidth=0.4
            )
        along = np.array([minus[1] - plus[1], plus[0] - minus[0]]) / np.linalg.norm(plus - minus)
        axes[0].plot(*(centre + np.outer([-3.2, 3.2], along)).T, color=INK, linewidth=1.4)
        for point, text, shift in ((plus, "$C_+$", (-22, -15)), (minus, "$C_-$", (8, 4)), (centre, "$C$", (6, -13))):
            axes[0].plot(*point, "o", color=INK, markersize=5)
            axes[0].annotate(
                text,
                point,
                shift,
                textcoords="offset points",
                fontsize=11,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
            )
        axes[0].plot(*np.stack([minus, plus]).T, color=INK, linewidth=1.2, linestyle=":")
        axes[0].set(
            title="Wine: $g(x) = 0$",
            xlabel="alcohol",
            ylabel="flavanoids",
            aspect="equal",
            xlim=(-2.9, 2.9),
            ylim=(-2.9, 2.9),
        )
        for ax, (name, fitted) in zip(axes[1:], moons.items(), strict=True):
            DecisionDisplay.from_estimator(fitted, Z, z, ax=ax, margins=False, legend=False)
            ax.set(title=f"{name[0].upper()}{name[1:]}", xlabel="", ylabel="", xticks=[], yticks=[])
