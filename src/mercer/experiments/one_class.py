"""One class, and what lies outside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import roc_auc_score

from mercer import RKHS, OneClassSVM
from mercer.datasets import load_anomaly
from mercer.kernels import Gaussian
from mercer.selection import one_class_path

from ._base import Result, experiment
from ._lectures import INK, REPRESENTER_NOTES

KERNEL = Gaussian(0.3)


@experiment("one-class", "One-class machine with a threshold, and its path", REPRESENTER_NOTES, minutes=0.1)
def one_class(result: Result, quick: bool, draw: Any) -> None:
    """min (1/n) Σ max(0, 1 − f(xᵢ)) + λ‖f‖², and sign(f(x) − δ)."""
    X, _ = make_moons(120, noise=0.13, random_state=2)
    n, lam = len(X), 0.03

    def objective(f: Any) -> float:
        return float(np.mean(np.maximum(0, 1 - f(X))) + lam * f.norm() ** 2)

    boxes = {"1/(2λn)": 1 / (2 * lam * n), "1/(λn)": 1 / (lam * n)}
    fits = {name: OneClassSVM(kernel=KERNEL, C=C, tol=1e-8).fit(X) for name, C in boxes.items()}
    H, rng = RKHS(KERNEL), np.random.default_rng(0)
    found = {name: H.function(X[model.support_], model.dual_coef_[0]) for name, model in fits.items()}
    values = {name: objective(f) for name, f in found.items()}
    best = found["1/(2λn)"]
    nearby = min(objective(best + H.function(X, 0.001 * rng.normal(size=n))) for _ in range(50))
    result.add("the objective with 0 ≤ αᵢ ≤ 1/(λn)", "the solution", f"{values['1/(λn)']:.6f}")
    result.add(
        "the objective with 0 ≤ αᵢ ≤ 1/(2λn)",
        "–",
        f"{values['1/(2λn)']:.6f}",
        f"the notes lose a 2 on the way to the dual; functions nearby have {nearby:.6f} or more",
    )
    path = one_class_path(X, kernel=KERNEL)
    middle = path.at_nu(0.2)
    again = OneClassSVM(kernel=KERNEL, nu=0.2, tol=1e-10).fit(X)
    gap = np.abs(middle.function(X) - again.score_samples(X) / again.offset_[0]).max()
    result.add("ν = 0.2 on the path, and by the solver", "the same", f"{gap:.1e}", "another parametrisation, scaled")
    result.add("breakpoints of the path", "Lee and Scott", len(path.nu), f"{n} samples")
    new, _ = make_moons(4000, noise=0.13, random_state=5)
    spread = rng.uniform((-1.8, -1.2), (2.7, 1.7), size=(4000, 2))
    inside = {}
    for delta in (0.25, 0.5, 0.75):
        inside[delta] = [float(np.mean(best(Z) >= delta)) for Z in (new, spread)]
        result.add(
            f"sign(f(x) − δ), δ = {delta:g}: new points inside",
            "–",
            f"{inside[delta][0]:.1%}",
            f"{inside[delta][1]:.1%} of points spread over the window",
        )
    for name in ("breastw",) if quick else ("breastw", "cardio", "satellite"):
        Z, outlier = load_anomaly(name, return_X_y=True)
        half = np.random.default_rng(0).permutation(np.flatnonzero(outlier == 0))
        train, rest = half[: len(half) // 2], np.concatenate([half[len(half) // 2 :], np.flatnonzero(outlier)])
        centre, size = Z[train].mean(axis=0), Z[train].std(axis=0)
        Z = (Z - centre) / np.where(size > 0, size, 1)
        machine = OneClassSVM(kernel=Gaussian("median"), nu=0.1).fit(Z[train])
        area = roc_auc_score(outlier[rest], -machine.score_samples(Z[rest]))
        result.add(
            f"{name}: area under the ROC curve", "–", f"{area:.3f}", f"{len(train)} ordinary samples to learn from"
        )
    result.note("The notes give no data; moons stand for them, and collections with known outliers.")
    with draw("thresholds", ncols=2, figsize=(10.2, 3.9), width_ratios=[1.35, 1]) as (figure, (left, right)):
        x0, x1 = np.meshgrid(np.linspace(-1.8, 2.7, 220), np.linspace(-1.2, 1.7, 150))
        f = best(np.column_stack([x0.ravel(), x1.ravel()])).reshape(x0.shape)
        field = left.contourf(x0, x1, f, np.linspace(0, 1.2, 13), cmap="Blues", extend="max")
        lines = left.contour(x0, x1, f, list(inside), colors=INK, linewidths=1.1)
        left.clabel(lines, fmt=r"$\delta$ = %g", fontsize=8)
        left.plot(*X.T, ".", color=INK, markersize=4)
        left.set(title=r"$f$ and three thresholds $\delta$", aspect="equal", xticks=[], yticks=[])
        left.spines[:].set_visible(False)
        figure.colorbar(field, ax=left, shrink=0.8, ticks=[0, 0.4, 0.8, 1.2]).outline.set_visible(False)
        right.plot(path.nu, path.alpha[:, ::4], color="#b9cfe4", linewidth=0.8)
        moves = np.argsort(-np.sum((path.alpha > 0) & (path.alpha < 1), axis=0))[:3]
        right.plot(path.nu, path.alpha[:, moves], color=INK, linewidth=1.2)
        right.set(title=r"The path: $2\lambda n\,\alpha_i$", xlabel=r"$\nu$", xlim=(0, 1), ylim=(0, 1.02))
