"""Vectors, rows of labels, indices, and samples known only by their kernel values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from .._array import all_finite, asymmetry, device_of, is_array, is_sparse, namespace
from .._errors import KindError, as_numbers, where
from ..types import Array, Checked, Namespace
from ._base import Anything, Domain


def refuse_masked(X: Checked, who: str, name: str) -> None:
    """Reject masked entries, because array libraries drop masks silently."""
    if np.ma.is_masked(X):
        raise ValueError(f"{who}: {name} has masked entries; impute them, or drop those rows.")


COMPLEX = (  # ends with the sentence that scikit-learn's checks require
    "{} is complex; give real numbers, for example real and imaginary columns. Complex data not supported."
)
FOREIGN = (str, bytes, date, timedelta, np.datetime64, np.timedelta64)  # NumPy converts some of these to numbers


def holds_text(A: np.ndarray) -> bool:
    """Whether an array holds text, times or records, some of which NumPy would convert to numbers."""
    kind = A.dtype.kind
    return kind in "USMmV" or (kind == "O" and any(isinstance(v, FOREIGN) for v in A.ravel()))


def _as_array(X: Checked, who: str, name: str) -> np.ndarray:
    try:
        return np.asarray(X)
    except ValueError:
        raise ValueError(
            f"{who}: {name} has rows of unequal length; give one row of equal length per sample."
        ) from None


def plain(X: Checked, who: str, name: str) -> np.ndarray:
    """X as an array that NumPy can convert to numbers; raise for anything else."""
    refuse_masked(X, who, name)
    if X is None or isinstance(X, (str, bytes, dict)):
        given = "is a dict" if isinstance(X, dict) else f"= {X!r}"
        raise KindError(f"{who}: {name} {given}, expected numbers; give an array or data frame, one row per sample.")
    try:
        A = _as_array(X, who, name)
    except TypeError:  # columns of a data frame without a common type, such as dates and numbers
        if not hasattr(X, "columns"):
            raise
        A = np.empty(0, dtype="V1")
    if holds_text(A):
        columns = ((f"column {c!r} of {name}", np.asarray(X[c])) for c in getattr(X, "columns", ()))
        place, part = next(((at, values) for at, values in columns if holds_text(values)), (name, A))
        raise KindError(f"{who}: {place} holds {_foreign(part)}.")
    if A.dtype.kind == "c":
        raise ValueError(COMPLEX.format(f"{who}: {name}"))
    return as_numbers(who, name, A) if A.dtype.kind == "O" else A


def _foreign(A: np.ndarray) -> str:
    """The non-numeric content of an array, and the remedy."""
    value = next((v for v in A.ravel() if isinstance(v, FOREIGN)), None)
    if isinstance(value, (timedelta, np.timedelta64)):
        return "durations, expected numbers; divide them by a unit, such as np.timedelta64(1, 'D')"
    if isinstance(value, (date, np.datetime64)):
        return (
            "dates, expected numbers; convert them to elapsed time, such as days since the first, "
            "(t - t.min()) / np.timedelta64(1, 'D')"
        )
    if value is None:
        return f"{A.dtype} values, expected numbers; give one column for each field"
    try:
        float(value)
    except ValueError:
        remedy = (
            "encode it (scikit-learn's OneHotEncoder), or use a kernel on categories, strings or tables (Delta, "
            "Hamming, Table)"
        )
    else:
        remedy = "convert it, as astype(float) does"
    return f"text such as {str(value)!r}, expected numbers; {remedy}"


class Vectors(Domain):
    """Rows of a real ``(n, d)`` array: NumPy, torch or any array API library; CSR if the kernel allows it.

    Parameters
    ----------
    lower, upper : float, optional
        Every coordinate must lie in [lower, upper].
    sparse : bool
        Whether CSR matrices are accepted.
    columns : int, optional
        The number of columns that the kernel requires.
    """

    vectors = True
    arrays = True
    ordered = True  # whether sparse rows must be sorted by columns, which are distinct in any case

    def __init__(
        self,
        lower: float | None = None,
        upper: float | None = None,
        sparse: bool = False,
        columns: int | None = None,
    ):
        self.lower, self.upper, self.sparse, self.columns = lower, upper, sparse, columns

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        who = where(owner)
        if is_sparse(X):
            if not self.sparse:
                raise TypeError(f"{who}: {name} is sparse, which this kernel cannot use; call {name}.toarray() first.")
            X = csr_array(X)  # a csr_matrix would multiply differences with dense rows as matrices
            if not X.has_canonical_format:  # SciPy would change the caller's arrays
                by_column = X.tocsc() if X.shape[1] <= X.nnz else None  # a faster sort
                if self.ordered or by_column is None or not by_column.has_canonical_format:
                    X = X.copy() if by_column is None else by_column.tocsr()
                    X.sum_duplicates()
            values = X.data
        elif is_array(X) and not isinstance(X, np.ndarray):
            values = X
        else:
            X = values = plain(X, who, name)
        xp = namespace(values)
        if len(X.shape) != 2:
            raise ValueError(
                f"{who}: {name} has shape {tuple(X.shape)}, expected (n_samples, n_features); "
                f"use {name}.reshape(-1, 1) for one feature or {name}.reshape(1, -1) for one sample."
            )
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"{who}: {name} has shape {tuple(X.shape)}; give at least one sample and one feature.")
        if xp.isdtype(values.dtype, "complex floating"):
            raise ValueError(COMPLEX.format(f"{who}: {name}"))
        if values.dtype not in (xp.float32, xp.float64):  # not floats, or half, extended, or byte-swapped
            half = xp.isdtype(values.dtype, "real floating") and xp.finfo(values.dtype).bits < 64
            dtype = xp.float32 if half else xp.float64
            X = X.astype(dtype) if is_sparse(X) else xp.astype(X, dtype)
            values = X.data if is_sparse(X) else X
        self._check_values(values, xp, who, name)
        if self.columns is not None and X.shape[1] != self.columns:
            raise ValueError(
                f"{who}: {name} has {X.shape[1]} columns, expected {self.columns}; select with .on(columns)."
            )
        return X

    def takes(self, X: Any) -> bool:
        bounded = self.lower is not None or self.upper is not None
        return type(X) is np.ndarray and not bounded and self.columns in (None, *X.shape[1:])

    def _check_values(self, values: Array, xp: Namespace, who: str, name: str) -> None:
        values = values.detach() if hasattr(values, "detach") else values
        if not all_finite(values):
            bad = "NaN" if bool(xp.any(xp.isnan(values))) else "infinity"
            place = ""
            if len(values.shape) == 2:
                i, j = (int(v[0]) for v in xp.nonzero(~xp.isfinite(values)))
                place = f" at row {i}, column {j}"
            raise ValueError(f"{who}: {name} contains {bad}{place}; impute or drop those values first.")
        for bound, word, beyond in ((self.lower, ">=", xp.min), (self.upper, "<=", xp.max)):
            if bound is None or int(np.prod(values.shape)) == 0:
                continue
            v = float(beyond(values))
            if v < bound if word == ">=" else v > bound:
                # scikit-learn's checks expect the first words of this sentence for kernels on histograms
                what = "Negative values in data: " if word == ">=" and bound == 0 else ""
                raise ValueError(
                    f"{who}: {what}{name} holds {v:g}, but must be {word} {bound:g}; shift or rescale the data first."
                )

    def join(self, parts: Sequence[Any]) -> Any:
        if any(is_sparse(p) for p in parts):
            return vstack(parts, format="csr")
        return super().join(parts)

    def dimension(self, X: Checked) -> int | None:
        return int(X.shape[1])

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        d = self.columns or 3
        if self.lower is None and self.upper is None:
            return rng.normal(size=(n, d))
        low = self.lower if self.lower is not None else -3.0
        return rng.uniform(low, self.upper if self.upper is not None else low + 2.0, size=(n, d))


class Categories(Domain):
    """Rows of an ``(n, d)`` array of labels (any type with equality); a plain sequence of n labels is one column."""

    labels = True
    arrays = True

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        if is_sparse(X) or isinstance(X, (str, bytes)) or not (is_array(X) or hasattr(X, "__len__")):
            raise TypeError(
                f"{where(owner)}: {name} is a {type(X).__name__}; give an array of labels, one row per sample."
            )
        refuse_masked(X, where(owner), name)
        A = X if is_array(X) else _as_array(X, where(owner), name)
        if len(A.shape) == 1:
            A = namespace(A).reshape(A, (-1, 1))
        if len(A.shape) != 2 or 0 in A.shape:
            raise ValueError(
                f"{where(owner)}: {name} has shape {tuple(A.shape)}, expected (n_samples, n_columns), not empty."
            )
        missing = A.dtype.kind == "f" and np.isnan(A).any() if isinstance(A, np.ndarray) else False
        if missing or (isinstance(A, np.ndarray) and A.dtype == object and any(v is None or v != v for v in A.ravel())):
            raise ValueError(f"{where(owner)}: {name} contains missing labels; name them, for example as 'missing'.")
        return A

    def dimension(self, X: Checked) -> int | None:
        return int(X.shape[1])

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        return np.stack([np.arange(n) % 4, rng.integers(0, 3, n), np.arange(n) // 4], axis=1)


class Indices(Domain):
    """Members of the finite set {0, …, n−1}."""

    arrays = True

    def __init__(self, n: int):
        self.n = n

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        A = X if is_array(X) else np.asarray(X)
        xp = namespace(A)
        if len(A.shape) == 2 and A.shape[1] == 1:
            A = xp.reshape(A, (-1,))
        if len(A.shape) != 1 or A.shape[0] == 0 or not xp.isdtype(A.dtype, "integral"):
            raise TypeError(f"{where(owner)}: {name} must be a non-empty vector of integers in 0 … {self.n - 1}.")
        if int(xp.min(A)) < 0 or int(xp.max(A)) >= self.n:
            worst = int(xp.min(A)) if int(xp.min(A)) < 0 else int(xp.max(A))
            raise ValueError(f"{where(owner)}: {name} holds {worst}, outside the domain 0 … {self.n - 1}.")
        return A

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        return rng.permutation(self.n)[: min(n, self.n)]


class Rows(Domain):
    """Samples known only by their kernel values against the training samples (a precomputed matrix).

    The first argument of such a kernel is a block of rows, the second an array of training indices.
    """

    precomputed = True
    arrays = True

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        return Vectors().check(X, owner, name)

    def centres(self, X: Checked) -> Any:
        n, m = X.shape
        if n != m:
            raise ValueError(f"Precomputed: the training matrix has shape {(n, m)}; it must be square, k(X, X).")
        if asymmetry(X) == "large":
            raise ValueError(
                "Precomputed: the training matrix is not symmetric; use (K + K.T) / 2 if this is rounding error."
            )
        return namespace(X).arange(n, device=device_of(X))

    def training(self, X: Checked) -> Any:
        square = X.shape[0] == X.shape[1]
        return (X + X.T) / 2 if square and asymmetry(X) == "single" else X

    def keep(self, X: Checked, given: Any) -> Any:
        return X  # functions keep the indices of its rows

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        A = rng.normal(size=(n, n + 2))
        return A @ A.T


def intersection(domains: Sequence[Domain], owner: object) -> Domain:
    """The domain on which several kernels are all defined."""
    real = [d for d in domains if not isinstance(d, Anything)]
    if not real:
        return domains[0]
    if all(isinstance(d, Vectors) for d in real):
        vectors: list[Vectors] = real  # type: ignore[assignment]
        columns = {d.columns for d in vectors if d.columns is not None}
        if len(columns) > 1:
            raise TypeError(f"{where(owner)}: its kernels need different numbers of columns: {sorted(columns)}.")
        lower = [d.lower for d in vectors if d.lower is not None]
        upper = [d.upper for d in vectors if d.upper is not None]
        return Vectors(
            max(lower) if lower else None,
            min(upper) if upper else None,
            all(d.sparse for d in vectors),
            columns.pop() if columns else None,
        )
    other = next((d for d in real if d != real[0]), None)
    if other is not None:
        raise TypeError(
            f"{where(owner)}: its kernels have different domains, {real[0]!r} and {other!r}; use @ for pairs."
        )
    return real[0]
