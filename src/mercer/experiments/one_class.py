"""One-class machines: thresholds, the path, and outliers."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import roc_auc_score

from mercer import RKHS, Function, OneClassSVM
from mercer.datasets import load_anomaly
from mercer.kernels import Gaussian
from mercer.selection import OneClassPath, one_class_path

from .._palette import INK
from ._base import REPRESENTER_NOTES, Draw, Result, experiment

NU = 0.2
WINDOW = (-2.0, -1.6), (3.0, 2.1)  # lower left and upper right
SMALL = ("breastw", "glass", "ionosphere", "pima", "wbc", "wine")
LARGE = ("annthyroid", "cardio", "letter", "mammography", "pendigits", "satellite", "vowels")


@experiment("one-class", "One-class machine with a threshold, and its path", REPRESENTER_NOTES, minutes=0.2)
def one_class(result: Result, quick: bool, draw: Draw) -> None:
    """min (1/n) Σ max(0, 1 − f(xᵢ)) + λ‖f‖², and sign(f(x) − δ)."""
    X, _ = make_moons(120, noise=0.13, random_state=2)
    kernel = Gaussian(float(len(X) ** (-1 / 6) * np.sqrt(X.var(axis=0).mean())))
    path = one_class_path(X, kernel=kernel)
    machine = path.at_nu(NU)
    best = boxes(result, X, kernel, machine.lam)
    again = OneClassSVM(kernel=kernel, nu=NU, tol=1e-10).fit(X)
    gap = np.abs(machine.function(X) - again.score_samples(X) / again.offset_[0]).max()
    result.add(
        f"ν = {NU:g} on the path, and by the solver", "the same", f"{gap:.1e}", "another parametrisation, scaled"
    )
    result.add("breakpoints of the path", "Lee and Scott", len(path.nu), f"{len(X)} samples")
    new, _ = make_moons(4000, noise=0.13, random_state=5)
    spread = np.random.default_rng(1).uniform(*WINDOW, size=(4000, 2))
    deltas = (0.25, 0.5, 0.75)
    for delta in deltas:
        ours = f"{np.mean(best(new) >= delta):.1%}"
        remark = f"{np.mean(best(spread) >= delta):.1%} of points spread over the window"
        result.add(f"sign(f(x) − δ), δ = {delta:g}: new points inside", "–", ours, remark)
    try:
        for name in SMALL if quick else SMALL + LARGE:
            outliers(result, name)
    except OSError as missing:  # the rest needs no data
        result.note(f"Skipped: {missing}")
    result.note(
        "The notes give no data; moons replace them, and data sets with known outliers, where half of the ordinary "
        f"samples are for training. ν = {NU:g} everywhere, and λ = {machine.lam:.2g} on the moons; ℓ is the median "
        f"distance, except on the moons, where Scott's rule for densities gives {kernel.lengthscale:.2g}."
        + (" A full run also uses larger data sets." if quick else "")
    )
    picture(draw, X, best, path, deltas)


def boxes(result: Result, X: np.ndarray, kernel: Gaussian, lam: float) -> Function:
    """The solution, and the value of the objective with the box given in the notes."""
    n, rng, H = len(X), np.random.default_rng(0), RKHS(kernel)

    def objective(f: Function) -> float:
        return float(np.mean(np.maximum(0, 1 - f(X))) + lam * f.norm() ** 2)

    def solution(C: float) -> Function:
        model = OneClassSVM(kernel=kernel, C=C, tol=1e-8).fit(X)
        return H.function(X[model.support_], model.dual_coef_[0])

    wide, best = solution(1 / (lam * n)), solution(1 / (2 * lam * n))
    nearby = min(objective(best + H.function(X, 0.001 * rng.normal(size=n))) for _ in range(50))
    result.add("the objective with 0 ≤ αᵢ ≤ 1/(λn)", "the solution", f"{objective(wide):.6f}")
    remark = f"the notes lose a 2 in deriving the dual; nearby functions have {nearby:.6f} or more"
    result.add("the objective with 0 ≤ αᵢ ≤ 1/(2λn)", "–", f"{objective(best):.6f}", remark)
    return best


def outliers(result: Result, name: str) -> None:
    """How well a machine trained on ordinary samples ranks the outliers of a data set."""
    Z, outlier = load_anomaly(name, return_X_y=True)
    ordinary = np.random.default_rng(0).permutation(np.flatnonzero(outlier == 0))
    half = len(ordinary) // 2
    train, rest = ordinary[:half], np.concatenate([ordinary[half:], np.flatnonzero(outlier)])
    centre, size = Z[train].mean(axis=0), Z[train].std(axis=0)
    Z = (Z - centre) / np.where(size > 0, size, 1)
    machine = OneClassSVM(kernel=Gaussian("median"), nu=NU).fit(Z[train])
    area = roc_auc_score(outlier[rest], -machine.score_samples(Z[rest]))
    result.add(f"{name}: area under the ROC curve", "–", f"{area:.3f}", f"{half} ordinary samples for training")


def picture(draw: Draw, X: np.ndarray, f: Function, path: OneClassPath, deltas: tuple[float, ...]) -> None:
    """The function with its thresholds, and the path of the coefficients."""
    with draw("thresholds", ncols=2, figsize=(10.2, 3.9), width_ratios=[1.2, 1]) as (figure, (left, right)):
        x0, x1 = np.meshgrid(*np.linspace(*WINDOW, 200).T)
        values = f(np.column_stack([x0.ravel(), x1.ravel()])).reshape(x0.shape)
        field = left.contourf(x0, x1, values, np.linspace(0, 1.2, 13), cmap="Blues", extend="max")
        lines = left.contour(x0, x1, values, deltas, colors=INK, linewidths=1.1)
        left.clabel(lines, fmt=r"$\delta$ = %g", fontsize=8)
        left.plot(*X.T, ".", color=INK, markersize=4)
        left.set(title=r"$f$ and three thresholds $\delta$", aspect="equal", xticks=[], yticks=[])
        left.spines[:].set_visible(False)
        figure.colorbar(field, ax=left, shrink=0.8, ticks=[0, 0.4, 0.8, 1.2]).outline.set_visible(False)
        right.plot(path.nu, path.alpha[:, ::4], color="#b9cfe4", linewidth=0.8)
        moves = np.argsort(-np.sum((path.alpha > 0) & (path.alpha < 1), axis=0))[:3]
        right.plot(path.nu, path.alpha[:, moves], color=INK, linewidth=1.2)
        right.axvline(NU, color=INK, linewidth=0.8, linestyle=":")
        right.set(title=r"The path: $2\lambda n\,\alpha_i$", xlabel=r"$\nu$", xlim=(0, 1), ylim=(0, 1.02))
