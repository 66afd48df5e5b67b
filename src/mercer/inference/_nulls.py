"""Null distributions from group actions, moments and spectra, and aggregation of p-values over kernels.

Statistics of two samples and of pairs are T = Σᵢⱼ AᵢⱼBᵢⱼ, with symmetric matrices whose rows sum to zero; under the
null hypothesis T is distributed as T(π) = Σᵢⱼ Aᵢⱼ B_π(i)π(j). For two samples, B encodes membership.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy.stats import gamma as gamma_distribution

from .._array import eps, host, like
from .._threads import slices
from ..context import Status, StoppedError, current, warn_early
from ..gram import Operator

CELLS = 1 << 24  # numbers in one batch of draws: 128 MiB
WORK = 1 << 30  # multiplications between two checks of the time limit


def batches(count: int, each: int) -> list[int]:
    """Batch sizes for `count` draws of `each` numbers, so that batches fit into memory."""
    size = max(1, min(count, CELLS // max(1, each)))
    return [min(size, count - start) for start in range(0, count, size)]


def in_time(count: int, n: int) -> Iterator[slice]:
    """Slices of a batch of draws, each a product with an (n, n) matrix, until the time limit."""
    context = current()
    for part in slices(count, max(64, WORK // n**2)):
        if context({"draws": part.start}) is not None:
            return
        yield part


def quadratics(
    matrix: Operator, draws: int, columns: Callable[[int, bool], np.ndarray]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(vᵀKv, v) in parts, for 1 + draws columns v from `columns(count, first)`, until the time limit."""
    for number, count in enumerate(batches(draws + 1, matrix.n)):
        V = columns(count, number == 0)
        for part in in_time(count, matrix.n):
            W = like(V[:, part], matrix.like)
            yield host(matrix.xp.sum(W * (matrix @ W), axis=0)), V[:, part]
        if current().told:
            return


def in_common(owner: str, rows: list[np.ndarray], draws: int) -> np.ndarray:
    """Observed and drawn statistics of several kernels, for the draws completed for all kernels."""
    done = min(map(len, rows)) - 1
    if done < draws:
        status = current()() or Status.TIME_BUDGET
        if done < 1:
            raise StoppedError(status)
        warn_early(owner, f"the p-value is based on {done} of {draws} draws", status)
    return np.stack([row[: done + 1] for row in rows])


def digits_of(like: Any) -> int:
    """Number of digits to which equal statistics agree despite rounding."""
    return 12 if eps(like) < 1e-10 else 5


def even(T: np.ndarray, sizes: Any = 0.0, digits: int = 12) -> np.ndarray:
    """T in units of its largest entry, or of `sizes` (the size of the cancelling sums), rounded to make ties exact."""
    scale = np.maximum(np.abs(T).max(axis=1), sizes)[:, None]
    return np.round(T / np.where(scale > 0, scale, 1.0), digits)


def p_values(T: np.ndarray) -> np.ndarray:
    """For each entry of (kernels, 1 + draws): the fraction of columns, including its own, with T at least as large."""
    below = np.stack([np.searchsorted(np.sort(row), row) for row in T])
    return (T.shape[1] - below) / T.shape[1]


def aggregate(T: np.ndarray, sizes: Any = 0.0, digits: int = 12) -> tuple[float, np.ndarray, int]:
    """The corrected p-value, the p-values of the kernels, and the most significant kernel; column 0 is observed."""
    T = even(T, sizes, digits)
    p = p_values(T)
    least = p.min(axis=0)  # itself a statistic, whose distribution follows from the same draws
    # draws with equal smallest p-values are ordered by the standardised statistic: otherwise the largest draw of every
    # kernel would count against a far larger observation
    spread = T.std(axis=1, keepdims=True)  # over all columns alike
    score = np.round((T - T.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0), digits - 3)
    furthest = np.where(p == least, score, -np.inf).max(axis=0)
    as_extreme = (least < least[0]) | ((least == least[0]) & (furthest >= furthest[0]))
    best = int(np.argmax(np.where(p[:, 0] == least[0], score[:, 0], -np.inf)))
    return float(np.mean(as_extreme)), p[:, 0], best


# ---- moments


@dataclass(frozen=True)
class Moments:
    """Σᵢ Aᵢᵢ, Σᵢ Aᵢᵢ² and Σᵢⱼ Aᵢⱼ² of a symmetric matrix whose rows sum to zero."""

    trace: float
    diagonal: float
    square: float


def permutation_moments(A: Moments, B: Moments, n: int) -> tuple[float, float]:
    """The exact mean and variance of T(π) over all n! permutations."""

    def ways(M: Moments) -> tuple[float, ...]:
        """Sums of MᵢⱼMₖₗ over the fifteen ways in which i, j, k, l can coincide, equivalent ways combined."""
        t, d, f = M.trace**2, M.diagonal, M.square
        return d, t - d, f - d, -d, 2 * d - t, 2 * d - f, t + 2 * f - 6 * d

    numbers, distinct = (1, 1, 2, 4, 2, 4, 1), (1, 2, 2, 2, 3, 3, 4)
    pairs = zip(numbers, distinct, ways(A), ways(B), strict=True)
    square = sum(c * a * b / prod(range(n - k + 1, n + 1)) for c, k, a, b in pairs)
    mean = A.trace * B.trace / (n - 1)
    return mean, square - mean**2


def gamma(statistic: float, mean: float, variance: float, shift: float, draws: int) -> tuple[float, np.ndarray]:
    """The p-value, and quantiles of a gamma distribution with these moments, shifted left by `shift`."""
    if variance <= 1e-13 * mean**2:  # up to rounding, all draws equal the observation
        return 1.0, np.full(draws, mean - shift)
    null = gamma_distribution(mean**2 / variance, loc=-shift, scale=variance / mean)
    return float(null.sf(statistic)), null.ppf((np.arange(draws) + 0.5) / draws)


# ---- spectra


def spectrum(weights: np.ndarray, centred: bool, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of Σ wₖzₖ², or of Σ wₖ(zₖ² − 1), with independent standard normal z; weights may be negative."""
    # the smallest terms, with 10⁻⁸ of the variance in total, are replaced by their mean
    w = weights[np.argsort(-np.abs(weights))]
    kept = max(1, int(np.searchsorted(np.cumsum(w**2), (1 - 1e-8) * np.sum(w**2))) + 1)
    constant = -w[:kept].sum() if centred else w[kept:].sum()
    return np.concatenate([rng.chisquare(1, (b, kept)) @ w[:kept] for b in batches(draws, kept)]) + constant


def tail(statistic: float, null: Any) -> float:
    """The p-value (1 + #{draws at least as large})/(1 + draws)."""
    return float(p_values(even(np.concatenate([[statistic], null])[None, :]))[0, 0])
