"""Data-driven lengthscales: the median distance, scikit-learn's "scale", and kernlab's `sigest`."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

import numpy as np

from .._array import doubles, host, is_sparse
from .._errors import KindError, UnresolvedError, check_choice, check_number, shown
from .._units import divided, power_of_two, unit_of_squares
from ..domains import Vectors, take
from ..types import Checked
from ._distances import squared_distances as distances

__all__ = ["median", "scale", "sigest"]

SAMPLE = 1000  # maximum number of rows used, drawn with a fixed seed


def drawn_rows(n: int, most: int = SAMPLE) -> np.ndarray:
    """0 … n − 1, or `most` of them drawn with a fixed seed."""
    return np.arange(n) if n <= most else np.random.default_rng(0).choice(n, most, replace=False)


def check_median(owner: Any) -> None:
    """Raise unless the lengthscale of a kernel is a number > 0, or "median", which must be resolved first."""
    if isinstance(owner.lengthscale, str):
        check_choice(owner, "lengthscale", owner.lengthscale, ("median",))
        raise UnresolvedError(owner, "lengthscale", owner.lengthscale)
    check_number(owner, "lengthscale", owner.lengthscale, above=0)


def squared_distances(X: Checked, pairs: tuple[np.ndarray, np.ndarray] | None = None) -> tuple[np.ndarray, float]:
    """The non-zero ‖xᵢ − xⱼ‖² over pairs of rows (by default, of `drawn_rows`), and their unit of length."""
    if pairs is None and not is_sparse(X):
        A = doubles(take(X, drawn_rows(X.shape[0])))
        unit = power_of_two(A)
        A = A / unit
        S = distances(A)
        out = np.concatenate([row[i:] for i, row in enumerate(S, 1)])
        return out[out > 0], unit
    if pairs is None:
        rows = drawn_rows(X.shape[0])
        pairs = tuple(rows[k] for k in np.triu_indices(len(rows), 1))  # type: ignore[assignment]
    return _over_pairs(X, pairs)


def _over_pairs(X: Checked, pairs: Any) -> tuple[np.ndarray, float]:
    rows, place = np.unique(np.stack(pairs), return_inverse=True)
    i, j = place.reshape(2, -1)
    A: Any = take(X, rows)
    A = A.toarray() if is_sparse(A) and A.shape[1] <= 64 else A if is_sparse(A) else host(A)
    unit = power_of_two(A)
    A = divided(A, unit)
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
    d2, unit = squared_distances(X)
    return float(np.median(np.sqrt(d2))) * unit if len(d2) else 1.0


def scale(X: Checked) -> float:
    """√(d·Var(X)/2): scikit-learn's ``gamma="scale"`` as a lengthscale."""
    unit = power_of_two(X)
    if is_sparse(X):
        X = divided(X.astype(np.float64), unit)
        variance = X.multiply(X).mean() - X.mean() ** 2
    else:
        A = host(X).astype(np.float64, copy=False) / unit
        A -= A.sum() / A.size
        variance = float(np.multiply(A, A, out=A).sum()) / A.size
    return sqrt(prod(X.shape[1:]) * variance / 2) * unit if variance > 0 else 2.0**-0.5


def sigest(
    X: Checked, quantiles: tuple[float, ...] = (0.9, 0.5, 0.1), pairs: Any = None, scaled: bool = False
) -> np.ndarray:
    """kernlab's range of σ for exp(−σd²): reciprocals of quantiles of the squared distances.

    Parameters
    ----------
    X : array of shape (n, d)
    quantiles : tuple of float
        Quantiles of the squared distances; kernlab uses 0.9, 0.5, 0.1.
    pairs : pair of index arrays, optional
        Pairs of rows to use; by default, all pairs of at most 1,000 rows.
    scaled : bool
        Whether to standardise the columns first (standard deviation with divisor n − 1).

    References
    ----------
    Caputo, Sim, Furesjo, Smola, *Appearance-based object recognition using SVMs* (2002); R's ``kernlab::sigest``.

    Examples
    --------
    >>> sigest(np.array([[0.0], [1.0], [3.0]]), quantiles=(0.5,))
    array([0.25])
    """
    X = Vectors(sparse=True).check(X, "sigest")
    levels = np.asarray(quantiles)
    if levels.ndim != 1 or levels.dtype.kind not in "fiu" or not np.all((levels >= 0) & (levels <= 1)):
        raise KindError(f"sigest: quantiles = {shown(quantiles)} must be a sequence of numbers from 0 to 1.")
    if pairs is not None:
        index = np.asarray(pairs)
        if index.ndim != 2 or len(index) != 2 or index.dtype.kind not in "iu" or not np.all(abs(index) < X.shape[0]):
            raise KindError(
                f"sigest: pairs = {shown(pairs)} must be two sequences of equal length, of indices of the "
                f"{X.shape[0]} rows of X."
            )
    if scaled:
        if is_sparse(X):
            raise TypeError("sigest: scaled = True makes sparse columns dense; pass X.toarray(), or scaled=False.")
        X = host(X)
        spread = X.std(axis=0, ddof=1)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    unit_of_squares("sigest", "X", X.data if is_sparse(X) else X)
    d2, unit = squared_distances(X, pairs)
    return 1.0 / np.quantile(d2, levels) / unit**2 if len(d2) else np.ones(len(levels))


def _sigest_lengthscale(X: Checked) -> float:
    """The middle of kernlab's range, (σ₀.₉ + σ₀.₁)/2, as a lengthscale 1/√(2σ)."""
    d2, unit = squared_distances(X)
    return float(1.0 / np.sqrt(2.0 * np.mean(1.0 / np.quantile(d2, (0.9, 0.1))))) * unit if len(d2) else 2.0**-0.5


RULES = {"median": median, "scale": scale, "sigest": _sigest_lengthscale}
