"""Cross-validation: what K-fold and leave-one-out estimate, and how well."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import expected_loss

from ._base import Result, experiment
from ._lectures import BLUE, GREY, INK, ORANGE, SLIDES

N, NOISE, ALPHA = 40, 0.3, 0.1


def sample(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """y = sin 2x + noise, x uniform on [−2, 2]."""
    X = rng.uniform(-2, 2, (n, 1))
    return X, np.sin(2 * X[:, 0]) + NOISE * rng.normal(size=n)


def expected(model: Any) -> float:
    """The expected loss of a fitted model, by quadrature over x."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x = 2 * nodes
    return float(NOISE**2 + weights @ (model.predict(x[:, None]) - np.sin(2 * x)) ** 2 / 2)


@experiment("validation", "K-fold and leave-one-out estimate the expected loss", f"{SLIDES}, 6", minutes=0.5)
def validation(result: Result, quick: bool, draw: Any) -> None:
    """Kernel ridge regression on many samples of a known distribution."""
    repeats = 25 if quick else 500
    ridge = KernelRidge(alpha=ALPHA, kernel=Gaussian(0.5))
    folds = (2, 5, 10, N)
    estimates = np.empty((repeats, len(folds)))
    truths = np.empty((repeats, len(folds)))
    losses = np.empty((repeats, 2))
    for r in range(repeats):
        rng = np.random.default_rng(r)
        X, y = sample(N, rng)
        whole = ridge.fit(X, y)
        losses[r] = np.mean((y - whole.predict(X)) ** 2), expected(whole)
        for j, k in enumerate(folds):
            method = {"method": "closed_form"} if k == N else {"method": "kfold", "cv": k, "random_state": r}
            estimates[r, j] = expected_loss(ridge, X, y, loss="squared", **method).estimate
            X_less, y_less = sample(N - N // k, rng)
            truths[r, j] = expected(ridge.fit(X_less, y_less))
    X, y = sample(N, np.random.default_rng(0))
    left = np.array(
        [(y[i] - ridge.fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0]) ** 2 for i in range(N)]
    )
    closed = expected_loss(ridge, X, y, method="closed_form", loss="squared").estimate
    result.add("empirical loss of the whole sample", "known", f"{losses[:, 0].mean():.4f}", "too small")
    result.add("expected loss of the whole sample", "?", f"{losses[:, 1].mean():.4f}", f"of which noise {NOISE**2:.4f}")
    for j, k in enumerate(folds):
        name = f"leave-one-out, K = {N}" if k == N else f"K = {k}"
        gap = estimates[:, j].mean() - truths[:, j].mean()
        error = np.hypot(estimates[:, j].std(), truths[:, j].std()) / np.sqrt(repeats)
        result.add(
            f"{name}: mean of the estimates",
            f"expected loss of {N - N // k} samples",
            f"{estimates[:, j].mean():.4f}",
            f"{truths[:, j].mean():.4f} expected: off by {gap / error:+.1f} standard errors",
        )
    result.add(
        "leave-one-out in closed form, and by 40 fits",
        "computationally expensive",
        f"{closed:.10f}, {left.mean():.10f}",
        "one fit instead of 40",
    )
    result.note(
        f"{repeats} samples of {N} points, whose distribution is known, so that expected losses are exact. "
        "Leave-one-out is unbiased for a sample with one point less, as the slides state; K folds are for N − "
        "N/K points."
    )
    with draw("folds", figsize=(7.0, 4.0)) as (_, ax):
        place = np.arange(len(folds))
        for j in range(len(folds)):
            ax.plot(np.full(2, j), np.quantile(estimates[:, j], [0.1, 0.9]), color=BLUE, linewidth=1.2)
        ax.plot(place, estimates.mean(axis=0), "o", color=BLUE, label="estimates: mean, and eight in ten")
        ax.plot(
            place,
            truths.mean(axis=0),
            "_",
            color=ORANGE,
            markersize=22,
            markeredgewidth=2.2,
            label="expected loss of a sample of that size",
        )
        ax.axhline(losses[:, 1].mean(), color=INK, linewidth=1, linestyle="--", label=f"expected loss of {N} points")
        ax.axhline(losses[:, 0].mean(), color=GREY, linewidth=1, linestyle=":", label="empirical loss")
        ax.set_xticks(place, [f"{k} folds" if k < N else "leave-one-out" for k in folds])
        ax.set(title="Mean square error", ylim=(0, None), xlim=(-0.5, len(folds) - 0.5))
        ax.legend(frameon=False, fontsize=9)
