r"""Choice of the regularisation parameter, by a criterion or by the degrees of freedom.

Wahba, *Spline Models for Observational Data* (1990): leave-one-out, generalised cross-validation, and the restricted
likelihood, called GML there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import optimize

from .._array import host
from ..types import Array
from .spectral import Spectral

CRITERIA = ("gcv", "loo", "reml")


def gcv(n: int, rss: float, free: float) -> float:
    """Generalised cross-validation, n·RSS / (n − edf)², for `free` = n − edf."""
    return n * rss / free**2


def reml(free: int, objective: float, log_determinant: float) -> float:
    """Minus twice the restricted log-likelihood at the best noise variance, up to a constant."""
    return float(free * np.log(max(objective, np.finfo(np.float64).tiny) / free) + log_determinant)


def minimiser(values: Callable[[float], tuple[float, float]], grid: list[float]) -> float:
    """A minimiser of a criterion over the interval covered by `grid`.

    `values` gives the criterion and a safer one. With unevenly spaced points, generalised cross-validation tends to
    have a second, lower minimum close to interpolation; its modification, which counts each degree of freedom 1.4
    times, does not (Kim, Gu, *Smoothing spline Gaussian regression: more scalable computation via efficient
    approximation*, 2004). The result is the minimum reached downhill from that of the safer criterion, refined by
    Brent's method. It may be an end of the interval.
    """
    values, last = cache(values), len(grid) - 1
    i = min(range(last, -1, -1), key=lambda i: values(grid[i])[1])  # the smoothest in case of ties
    while (k := min((i, max(i - 1, 0), min(i + 1, last)), key=lambda k: values(grid[k])[0])) != i:
        i = k
    bounds = grid[max(i - 1, 0)], grid[min(i + 1, last)]
    found = optimize.minimize_scalar(lambda t: values(t)[0], bounds=bounds, method="bounded", options={"xatol": 1e-7})
    return float(found.x if found.fun < values(grid[i])[0] else grid[i])


def modified_gcv(n: int, rss: float, edf: float) -> float:
    """Generalised cross-validation with 1.4 times the degrees of freedom; infinite if these exceed n."""
    return gcv(n, rss, n - 1.4 * edf) if 1.4 * edf < n else np.inf


def criterion(path: Spectral, b: Array, name: str, alpha: float) -> float:
    """The value of "gcv", "loo" or "reml" for targets b of shape (n, 1)."""
    return float(getattr(path, name)(b, np.array([alpha]))[0, 0])


def best_alpha(path: Spectral, b: Array, name: str) -> float:
    """The alpha that minimises a criterion."""

    def values(t: float) -> tuple[float, float]:
        alphas = np.exp([t])
        value = criterion(path, b, name, float(alphas[0]))
        if name != "gcv":
            return value, value
        rss, edf = float(path.rss(b, alphas)[0, 0]), float(path.degrees_of_freedom(alphas)[0])
        return value, modified_gcv(path.design.effective, rss, edf)

    if name == "loo":
        path.refuse_determined()
    low, high = interval(path)
    return float(np.exp(minimiser(values, np.linspace(low, high, int(high - low) + 3).tolist())))


def alpha_with_edf(path: Spectral, edf: float) -> float:
    """The alpha with the given effective degrees of freedom."""
    low, high = interval(path)

    def excess(t: float) -> float:
        return float(path.degrees_of_freedom(np.exp([t]))[0]) - edf

    low, high = low - 20, high + 20
    if excess(low) < 0:
        raise ValueError(
            f"df = {edf:g} must be below {excess(low) + edf:.3g}, since some samples are equal or nearly so; lower it."
        )
    return float(np.exp(optimize.brentq(excess, low, high, xtol=1e-12)))


def interval(path: Spectral) -> tuple[float, float]:
    """The range of log alpha from where all eigenvalues count, or rounding starts, to where none does."""
    values = host(path.values).astype(np.float64)
    largest = values.max(initial=0.0)
    positive = values[values > 1e-10 * largest]
    if len(positive) == 0:
        return -1.0, 1.0
    return float(np.log(max(1e-7 * positive.min(), 1e-13 * largest))), float(np.log(1e8 * largest))
