"""Cross-validation: what K-fold and leave-one-out estimate, and how accurately."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import expected_loss

from .._palette import BLUE, GREY, INK, ORANGE
from ..types import EstimatorLike
from ._base import SLIDES, Draw, Result, experiment

N, NOISE = 40, 0.3
FOLDS = (2, 5, 10, N)


def sample(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """y = sin 2x + noise, x uniform on [−2, 2]."""
    X = rng.uniform(-2, 2, (n, 1))
    return X, np.sin(2 * X[:, 0]) + NOISE * rng.normal(size=n)


def expected(model: EstimatorLike) -> float:
    """The expected loss of a fitted model, by quadrature over x."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x = 2 * nodes
    return float(NOISE**2 + weights @ (model.predict(x[:, None]) - np.sin(2 * x)) ** 2 / 2)


def losses(ridge: Any, seed: int) -> tuple[list[float], list[float], list[float]]:
    """For one sample: empirical and expected loss; K-fold estimates; expected losses of fits to new training parts."""
    rng = np.random.default_rng(seed)
    X, y = sample(N, rng)
    ridge.fit(X, y)
    whole = [float(np.mean((y - ridge.predict(X)) ** 2)), expected(ridge)]
    estimates = []
    for k in FOLDS:
        method = {"method": "closed_form"} if k == N else {"method": "kfold", "cv": k, "random_state": seed}
        estimates.append(expected_loss(ridge, X, y, loss="squared", **method).estimate)
    return whole, estimates, [expected(ridge.fit(*sample(N - N // k, rng))) for k in FOLDS]


@experiment("validation", "K-fold and leave-one-out estimate the expected loss", f"{SLIDES}, 6", minutes=0.5)
def validation(result: Result, quick: bool, draw: Draw) -> None:
    """Kernel ridge regression on many samples of a known distribution."""
    repeats = 25 if quick else 500
    ridge = KernelRidge(alpha=0.1, kernel=Gaussian(0.5))
    whole, estimates, truths = map(np.array, zip(*(losses(ridge, seed) for seed in range(repeats)), strict=True))
    empirical, exact = whole.mean(axis=0)
    result.add("empirical loss of the whole sample", "known", f"{empirical:.4f}", "too small")
    result.add("expected loss of the whole sample", "?", f"{exact:.4f}", f"of which noise {NOISE**2:.4f}")
    gaps = estimates.mean(axis=0) - truths.mean(axis=0)
    errors = np.hypot(estimates.std(axis=0), truths.std(axis=0)) / np.sqrt(repeats)
    for k, estimate, truth, off in zip(FOLDS, estimates.mean(axis=0), truths.mean(axis=0), gaps / errors, strict=True):
        name = f"leave-one-out, K = {N}" if k == N else f"K = {k}"
        ours = f"{estimate:.4f}"
        remark = f"{truth:.4f} expected: off by {off:+.1f} standard errors"
        result.add(f"{name}: mean of the estimates", f"expected loss of {N - N // k} samples", ours, remark)
    X, y = sample(N, np.random.default_rng(0))
    closed = expected_loss(ridge, X, y, method="closed_form", loss="squared").estimate
    left = [y[i] - ridge.fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] for i in range(N)]
    ours = f"{closed:.10f}, {np.mean(np.square(left)):.10f}"
    remark = f"one fit instead of {N}"
    result.add(f"leave-one-out in closed form, and by {N} fits", "computationally expensive", ours, remark)
    result.note(
        f"{repeats} samples of {N} points from a known distribution, so that expected losses are exact. "
        "Leave-one-out is unbiased for a sample with one point fewer, as the slides state; K-fold is unbiased for "
        "N − N/K points."
    )
    with draw("folds", figsize=(7.0, 4.0)) as (_, ax):
        place = np.arange(len(FOLDS))
        ax.vlines(place, *np.quantile(estimates, [0.1, 0.9], axis=0), color=BLUE, linewidth=1.2)
        ax.plot(place, estimates.mean(axis=0), "o", color=BLUE, label="estimates: mean, and eight in ten")
        name = "expected loss of a sample of that size"
        ax.plot(place, truths.mean(axis=0), "_", color=ORANGE, markersize=22, markeredgewidth=2.2, label=name)
        ax.axhline(exact, color=INK, linewidth=1, linestyle="--", label=f"expected loss of {N} points")
        ax.axhline(empirical, color=GREY, linewidth=1, linestyle=":", label="empirical loss")
        ax.set_xticks(place, [f"{k} folds" if k < N else "leave-one-out" for k in FOLDS])
        ax.set(title="Mean square error", ylim=(0, None), xlim=(-0.5, len(FOLDS) - 0.5))
        ax.legend(frameon=False, fontsize=9, loc="lower left")
