"""Kernel ridge regression through a factor of low rank."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mercer import KernelRidge
from mercer.datasets import load_uci_regression
from mercer.gram import IncompleteCholesky, Nystrom
from mercer.kernels import Gaussian

from ._base import Result, experiment
from ._lectures import BLUE, GREY, ORANGE, SLIDES

ALPHA, KERNEL = 0.5, Gaussian(2.5)


@experiment("low-rank", "Ridge regression with K ≈ RRᵀ", f"{SLIDES}, 6", minutes=0.2)
def low_rank(result: Result, quick: bool, draw: Any) -> None:
    """Incomplete Cholesky and Nyström against the full matrix, on the arm of a robot (kin8nm)."""
    X, y = load_uci_regression("kin8nm", return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    rows, new = order[: 1200 if quick else 4000], order[-2000:]
    centre, spread = X[rows].mean(axis=0), X[rows].std(axis=0)
    X = (X - centre) / spread
    ranks = (25, 100, 400) if quick else (50, 100, 200, 400, 800)
    fit, test = (X[rows], y[rows] - y[rows].mean()), (X[new], y[new] - y[rows].mean())

    def measure(gram: Any) -> tuple[float, float]:
        model = KernelRidge(alpha=ALPHA, kernel=KERNEL, gram=gram, random_state=0)
        start = time.perf_counter()
        model.fit(*fit)
        seconds = time.perf_counter() - start
        return seconds, float(np.sqrt(np.mean((model.predict(test[0]) - test[1]) ** 2)))

    whole_seconds, whole_error = measure("dense")
    result.add(
        f"K, {len(rows):,} points: error",
        "O(N³)",
        f"{whole_error:.4f}",
        f"root mean square; of the mean alone {test[1].std():.4f}",
    )
    curves: dict[str, list[float]] = {}
    for name, form in (("incomplete Cholesky", IncompleteCholesky), ("Nyström", Nystrom)):
        for r in ranks:
            seconds, error = measure(form(rank=r))
            curves.setdefault(name, []).append(error)
            result.add(
                f"{name}, r = {r}: error",
                "O(r²N + r³)",
                f"{error:.4f}",
                f"{seconds / whole_seconds:.2f} of the time of K",
            )
    few, x = slice(0, 300), test[0][:5]
    gram = IncompleteCholesky(rank=40).build(KERNEL, fit[0][few], np.random.default_rng(0))
    L, t = gram.factor(), fit[1][few]
    k = gram.cross(x).dense().T
    direct = t @ np.linalg.solve(L @ L.T + ALPHA * np.eye(len(t)), k)
    woodbury = (t @ k - t @ L @ np.linalg.solve(L.T @ L + ALPHA * np.eye(L.shape[1]), L.T @ k)) / ALPHA
    result.add(
        "Yᵀ(RRᵀ + λI)⁻¹k(x), both forms of the slides",
        "equal",
        f"{np.abs(direct - woodbury).max():.1e}",
        "largest difference, five points",
    )
    result.note("Times are ratios within this run. Landmarks of Nyström are drawn; those of Cholesky are the pivots.")
    with draw("rank", figsize=(6.8, 4.0)) as (_, ax):
        for (name, values), tint in zip(curves.items(), (BLUE, ORANGE), strict=True):
            ax.plot(ranks, values, "o-", color=tint, markersize=5, label=name)
        ax.axhline(whole_error, color=GREY, linestyle="--", linewidth=1, label="the whole matrix")
        ax.set(title="Test error (root mean square)", xlabel="rank r", xscale="log")
        ax.set_xticks(ranks, [str(r) for r in ranks])
        ax.minorticks_off()
        ax.legend(frameon=False)
