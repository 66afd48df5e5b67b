"""Lengthscales read off the data: the median distance, scikit-learn's "scale", and kernlab's `sigest`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import host, is_sparse
from .._units import power_of_two, unit_of_squares
from ..domains import take
from ..types import Checked

__all__ = ["median", "scale", "sigest"]

SAMPLE = 1000  # distances among at most so many rows, drawn with a fixed seed


def drawn_pairs(X: Checked) -> tuple[np.ndarray, np.ndarray]:
    n = X.shape[0]
    rows = np.arange(n) if n <= SAMPLE else np.random.default_rng(0).choice(n, SAMPLE, replace=False)
    i, j = np.triu_indices(len(rows), 1)
    return rows[i], rows[j]


def squared_distances(X: Checked, pairs: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, float]:
    """‖xᵢ − xⱼ‖² over pairs of rows, zeros dropped, and the unit of length that they are in."""
    rows, place = np.unique(np.stack(pairs), return_inverse=True)
    i, j = place.reshape(2, -1)
    A: Any = take(X, rows)
    A = A.toarray() if is_sparse(A) and A.shape[1] <= 64 else A if is_sparse(A) else host(A)
    unit = power_of_two(A.data if is_sparse(A) else A)
    A = A / unit
    out = np.empty(len(i))
    size = 1 << 15 if is_sparse(A) else max(1, (1 << 21) // A.shape[1])
    for start in range(0, len(i), size):
        part = slice(start, start + size)
        D = A[i[part]] - A[j[part]]
        out[part] = np.asarray(D.multiply(D).sum(axis=1)).ravel() if is_sparse(D) else np.einsum("ij,ij->i", D, D)
    return out[out > 0], unit


def median(X: Checked) -> float:
    """The median Euclidean distance between distinct rows of X (of at most 1,000 rows drawn with a fixed seed).

    Examples
    --------
    >>> median(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    d2, unit = squared_distances(X, drawn_pairs(X))
    return float(np.median(np.sqrt(d2))) * unit if len(d2) else 1.0


def scale(X: Checked) -> float:
    """√(d·Var(X)/2), which is scikit-learn's ``gamma="scale"`` as a lengthscale."""
    unit = power_of_two(X.data if is_sparse(X) else X)
    if is_sparse(X):
        X = X.astype(np.float64) / unit
        variance = X.multiply(X).mean() - X.mean() ** 2
    else:
        variance = float((host(X) / unit).var(dtype=np.float64))
    return float(np.sqrt(np.prod(X.shape[1:]) * variance / 2)) * unit if variance > 0 else 2.0**-0.5


def sigest(
    X: Checked, quantiles: tuple[float, ...] = (0.9, 0.5, 0.1), pairs: Any = None, scaled: bool = False
) -> np.ndarray:
    """kernlab's range of σ for exp(−σd²): reciprocals of quantiles of the squared distances.

    Parameters
    ----------
    X : array of shape (n, d)
    quantiles : tuple of float
        Of the squared distances; kernlab's are 0.9, 0.5, 0.1.
    pairs : pair of index arrays, optional
        The pairs of rows to use; all pairs of at most 1,000 rows otherwise.
    scaled : bool
        Whether to standardise the columns first (standard deviation with n − 1).

    References
    ----------
    Caputo, Sim, Furesjo, Smola, *Appearance-based object recognition using SVMs* (2002); R's ``kernlab::sigest``.

    Examples
    --------
    >>> sigest(np.array([[0.0], [1.0], [3.0]]), quantiles=(0.5,))
    array([0.25])
    """
    if scaled:
        X = host(X)
        spread = X.std(axis=0, ddof=1)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    unit_of_squares("sigest", "X", X.data if is_sparse(X) else X)
    d2, unit = squared_distances(X, drawn_pairs(X) if pairs is None else pairs)
    return 1.0 / np.quantile(d2, quantiles) / unit**2 if len(d2) else np.ones(len(quantiles))


def _sigest_lengthscale(X: Checked) -> float:
    """The middle of kernlab's range, (σ₀.₉ + σ₀.₁)/2, as a lengthscale 1/√(2σ)."""
    d2, unit = squared_distances(X, drawn_pairs(X))
    return float(1.0 / np.sqrt(2.0 * np.mean(1.0 / np.quantile(d2, (0.9, 0.1))))) * unit if len(d2) else 2.0**-0.5


RULES = {"median": median, "scale": scale, "sigest": _sigest_lengthscale}
