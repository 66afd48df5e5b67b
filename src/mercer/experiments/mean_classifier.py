"""The mean classifier, which picks the nearer class mean, in the plane and in the space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import RKHS, KernelMeanClassifier
from mercer.datasets import load_wine
from mercer.kernels import Gaussian, Linear
from mercer.plot import DecisionDisplay
from mercer.selection import KernelSearchCV

from .._palette import BLUE, INK, ORANGE
from ._base import CLASSIFIER_NOTES, Draw, Result, experiment


@experiment("mean-classifier", "The simple classifier of two means, with C₊, C₋ and C", f"{CLASSIFIER_NOTES}, 1.1", 0.1)
def mean_classifier(result: Result, quick: bool, draw: Draw) -> None:
    """g(x) = ⟨C₊ − C₋, x − C⟩ on wines of two growers, and with kernels."""
    data = load_wine()
    mine = data.target < 2
    W, y = data.data[mine], data.target[mine]
    plane = make_pipeline(StandardScaler(), PCA(2))
    X = plane.fit_transform(W)
    means = geometry(result, X, y)
    whole = make_pipeline(plane, KernelMeanClassifier(Linear()))
    right = cross_val_score(whole, W, y, cv=10).mean()
    result.add("wine, linear kernel: right", "–", f"{right:.1%}", f"ten folds of {len(y)} wines")
    Z, z = make_moons(300, noise=0.2, random_state=0)
    new, truth = make_moons(5000, noise=0.2, random_state=1)
    search = KernelSearchCV(KernelMeanClassifier(Gaussian(1.0)), {"kernel__lengthscale": np.logspace(-1.5, 1, 11)})
    curved = search.fit(Z, z).best_estimator_
    moons = {
        "linear": KernelMeanClassifier(Linear()).fit(Z, z),
        f"Gaussian, ℓ = {curved.kernel_.lengthscale:.2g}": curved,
    }
    for name, fitted in moons.items():
        ours = f"{fitted.score(new, truth):.1%}"
        remark = "" if name == "linear" else "ℓ by five folds of the 300 points"
        result.add(f"moons, {name}: right on new points", "other classifiers by other kernels", ours, remark)
    result.note(
        "The notes give no data. The wines are from the first two growers, in the plane of the first two principal "
        "components of the standardised measurements; the moons are classes that no line separates."
    )
    picture(draw, X, y, means, (Z, z, moons))


def geometry(result: Result, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """The means in the plane, and checks of the kernel form of the classifier against them."""
    plus, minus = X[y == 1].mean(axis=0), X[y == 0].mean(axis=0)
    centre = (plus + minus) / 2
    model = KernelMeanClassifier(Linear()).fit(X, y)
    g = (X - centre) @ (plus - minus)
    gap = np.abs(model.decision_function(X) - g).max()
    result.add("g(x) against ⟨C₊ − C₋, x − C⟩", "equal", f"{gap:.1e}", "largest difference")
    result.add("g(C)", "0", f"{abs(model.decision_function(centre[None])[0]):.1e}", "the boundary halves the way")
    n_plus, n_minus = np.sum(y == 1), np.sum(y == 0)
    alpha = np.where(y == 1, 1 / n_plus, -1 / n_minus)
    gap = np.abs(model.dual_coef_ - alpha).max()
    result.add("α against 1/n₊ and −1/n₋", "equal", f"{gap:.1e}", f"n₊ = {n_plus}, n₋ = {n_minus}")
    K = X @ X.T
    b = K[np.ix_(y == 0, y == 0)].mean() / 2 - K[np.ix_(y == 1, y == 1)].mean() / 2
    result.add("b against ½⟨C₋, C₋⟩ − ½⟨C₊, C₊⟩", "equal", f"{abs(float(model.intercept_) - b):.1e}")
    H = RKHS(Linear())
    apart = H.mean(X[y == 1]).distance(H.mean(X[y == 0]))
    result.add("‖C₊ − C₋‖ in the space", "–", f"{apart:.4f}", f"{np.linalg.norm(plus - minus):.4f} in the plane")
    return {"$C_+$": plus, "$C_-$": minus, "$C$": centre}


def picture(draw: Draw, X: np.ndarray, y: np.ndarray, means: dict[str, np.ndarray], moons: Any) -> None:
    """The means and the boundary between them; two kernels on the moons."""
    plus, minus, centre = means.values()
    with draw("means", ncols=3, figsize=(11.4, 3.9)) as (_, axes):
        for label, tint, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
            axes[0].plot(
                *X[y == label].T, marker, color=tint, markersize=3.5, markeredgecolor="white", markeredgewidth=0.4
            )
        along = np.array([minus[1] - plus[1], plus[0] - minus[0]])
        axes[0].axline(centre, centre + along, color=INK, linewidth=1.4)
        axes[0].plot(*np.stack([minus, plus]).T, color=INK, linewidth=1.2, linestyle=":")
        for text, point in means.items():
            axes[0].plot(*point, "o", color=INK, markersize=5)
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
            axes[0].annotate(text, point, (8, 7), textcoords="offset points", fontsize=11, bbox=box)
        axes[0].set(title="Wine: $g(x) = 0$", xlabel="component 1", ylabel="component 2")
        axes[0].set_aspect("equal", adjustable="datalim")
        Z, z, models = moons
        for ax, (name, fitted) in zip(axes[1:], models.items(), strict=True):
            DecisionDisplay.from_estimator(fitted, Z, z, ax=ax, margins=False, legend=False)
            ax.set(title=f"Moons: {name}", xlabel="", ylabel="", xticks=[], yticks=[])
