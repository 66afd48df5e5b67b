"""Kernel ridge regression with a low-rank factor."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mercer import KernelRidge, KernelRidgeCV
from mercer.datasets import load_uci_regression
from mercer.gram import GramLike, IncompleteCholesky, Nystrom
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.bandwidth import median

from .._palette import BLUE, GREY, ORANGE
from ._base import SLIDES, Draw, Result, experiment


@experiment("low-rank", "Ridge regression with K ≈ RRᵀ", f"{SLIDES}, 6", minutes=0.2)
def low_rank(result: Result, quick: bool, draw: Draw) -> None:
    """Incomplete Cholesky and Nyström against the full matrix, on a robot arm (kin8nm)."""
    n = 1200 if quick else 4000
    fit, test = sample(n)
    alpha, kernel = settings(*(part[:1000] for part in fit))

    def measure(gram: GramLike) -> tuple[float, float]:
        model = KernelRidge(alpha=alpha, kernel=kernel, gram=gram, random_state=0)
        start = time.perf_counter()
        model.fit(*fit)
        seconds = time.perf_counter() - start
        return seconds, float(np.sqrt(np.mean((model.predict(test[0]) - test[1]) ** 2)))

    whole_seconds, whole = measure("dense")
    trivial = test[1].std()
    result.add("the whole K: test error", "–", f"{whole:.4f}", f"root mean square; for the mean alone {trivial:.4f}")
    ranks = (25, 100, 400) if quick else (50, 100, 200, 400, 800)
    curves: dict[str, list[float]] = {}
    for name, form in (("incomplete Cholesky", IncompleteCholesky), ("Nyström", Nystrom)):
        for r in ranks:
            seconds, error = measure(form(rank=r))
            curves.setdefault(name, []).append(error)
            ours = f"{seconds / whole_seconds:.2f}"
            remark = f"test error {error:.4f}"
            result.add(f"{name}, r = {r}: time over that of K", "O(r²N + r³) over O(N³)", ours, remark)
    woodbury(result, alpha, kernel, tuple(part[:300] for part in fit), test[0][:5])
    result.note(
        f"{n:,} training points, 2,000 for testing. λ = {alpha:g} and ℓ = {kernel.lengthscale:.3g} are chosen by "
        "leave-one-out on 1,000 of the former. Each fit is timed once. Nyström draws its landmarks at random; those "
        "of Cholesky are the pivots."
    )
    with draw("rank", figsize=(6.8, 4.0)) as (_, ax):
        for (name, values), tint, marker in zip(curves.items(), (BLUE, ORANGE), "os", strict=True):
            ax.plot(ranks, values, f"{marker}-", color=tint, markersize=5, label=name)
        ax.axhline(whole, color=GREY, linestyle="--", linewidth=1, label="the whole matrix")
        ax.set(title="Test error (root mean square)", xlabel="rank r", xscale="log")
        ax.set_xticks(ranks, [str(r) for r in ranks])
        ax.minorticks_off()
        ax.legend(frameon=False)


Sample = tuple[np.ndarray, np.ndarray]


def sample(n: int) -> tuple[Sample, Sample]:
    """Training points and 2,000 others, standardised and centred with the statistics of the former."""
    X, y = load_uci_regression("kin8nm", return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    rows, new = order[:n], order[-2000:]
    X, y = (X - X[rows].mean(axis=0)) / X[rows].std(axis=0), y - y[rows].mean()
    return (X[rows], y[rows]), (X[new], y[new])


def settings(X: np.ndarray, y: np.ndarray) -> tuple[float, Gaussian]:
    """λ and ℓ by leave-one-out."""
    kernels = [Gaussian(c * median(X)) for c in (0.25, 0.5, 1.0, 2.0)]
    search = KernelRidgeCV(10.0 ** np.arange(-4, 2), kernel=kernels, fit_intercept=False).fit(X, y)
    return search.alpha_, search.kernel_


def woodbury(result: Result, alpha: float, kernel: Kernel, fit: Any, x: np.ndarray) -> None:
    """Both forms of a prediction in the slides, and the library's prediction."""
    form, y = IncompleteCholesky(rank=40), fit[1]
    gram = form.build(kernel, fit[0], np.random.default_rng(0))
    R, k = gram.factor(), gram.cross(x).dense().T
    direct = y @ np.linalg.solve(R @ R.T + alpha * np.eye(len(y)), k)
    short = (y @ k - y @ R @ np.linalg.solve(R.T @ R + alpha * np.eye(R.shape[1]), R.T @ k)) / alpha
    ours = KernelRidge(alpha=alpha, kernel=kernel, gram=form).fit(*fit).predict(x)
    gap = f"{max(np.ptp([direct, short, ours], axis=0)):.1e}"
    remark = "largest difference, five points"
    result.add("Yᵀ(RRᵀ + λI)⁻¹k(x), both forms of the slides and KernelRidge", "equal", gap, remark)
