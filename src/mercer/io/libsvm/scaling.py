"""LIBSVM's svm-scale: features mapped to an interval, with the range in a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, vstack

from mercer.domains import Vectors

from ... import _threads
from ..._array import host, is_sparse, like, namespace
from ..._errors import check_number
from ..._files import PACKED, ROOM
from ...types import Array, Data, FilePath
from .._text import Lines, number, reading, writing
from .data import LARGEST


@dataclass(frozen=True, eq=False)
class Range:
    r"""Feature ranges and the interval they are mapped to, as in LIBSVM's `svm-scale`.

    .. math:: x_j \mapsto l + (u - l) \frac{x_j - \min_j}{\max_j - \min_j}

    Parameters
    ----------
    minimum, maximum : array of shape (n_features,)
        For each feature on the training data. If they are equal, the feature is mapped to 0.
    lower, upper : float
        l < u.
    target : Range, optional
        The range of the targets, as one feature (`svm-scale -y`); stored in the file, applied by
        ``range.target.apply(y[:, None])``.

    Notes
    -----
    New values outside the range are mapped outside [l, u]. Features that were constant in training become 0, with a
    warning if they vary in the new data. Files omit them, so columns beyond the last index also count as constant.

    Zeros of a sparse matrix count as values: they affect minimum and maximum, and usually become 0 only if ``lower=0``
    and the feature is never negative. Then the matrix stays sparse; otherwise it becomes dense, with a warning.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> _, range = scale([[0.0, 3.0], [4.0, 3.0]])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "range.txt"
    ...     range.save(path)
    ...     print(path.read_text())
    ...     Range.load(path).apply([[2.0, 3.0], [6.0, 3.0]])
    x
    -1 1
    1 0 4
    array([[0., 0.],
           [2., 0.]])
    """

    minimum: np.ndarray
    maximum: np.ndarray
    lower: float = -1.0
    upper: float = 1.0
    target: Range | None = None

    @classmethod
    def learn(cls, X: Data, lower: float = -1.0, upper: float = 1.0) -> Self:
        """The ranges of the columns of X."""
        check_number("scale", "lower", lower)
        check_number("scale", "upper", upper, above=lower)
        X = Vectors(sparse=True).check(X, "scale")
        _require_room(X, 2 * X.shape[1], f"the ranges of {X.shape[1]} columns; keep the columns that occur")
        return cls(*_extremes(X), float(lower), float(upper))

    def apply(self, X: Data) -> Any:
        """Map the columns of X; the result is CSR if X is."""
        X = Vectors(sparse=True).check(X, self)
        d, width = len(self.minimum), X.shape[1]
        _require_room(X, 2 * width, f"the ranges of {width} columns; keep the columns that occur")
        if width < d:
            raise ValueError(
                f"Range: X has {width} columns, but the range has {d}; read sparse data with "
                f"load_data(path, n_features={d})."
            )
        low, high = (np.pad(side, (0, width - d)) for side in (self.minimum, self.maximum))
        lost = np.flatnonzero((low == high) & np.not_equal(*_extremes(X)))
        if len(lost):
            warnings.warn(
                f"Range: {len(lost)} columns of X, first {lost[0]}, vary but were constant in training; they become 0.",
                UserWarning,
                stacklevel=2,
            )
        if not is_sparse(X):
            return self._map(X, like(low, X), like(high, X))
        filled_columns = np.count_nonzero(self._map(np.zeros(width), low, high))
        if not filled_columns:
            low, high = low.astype(X.dtype), high.astype(X.dtype)
            values = self._map(X.data, low[X.indices], high[X.indices])
            return csr_array((values, X.indices.copy(), X.indptr.copy()), shape=X.shape)
        _require_room(X, 2 * X.shape[0] * filled_columns, "the result, where 0 is not mapped to 0; use lower=0")
        rows = _threads.slices(X.shape[0], max(1, (1 << 22) // width))
        filled = vstack([csr_array(self._map(X[r].toarray(), like(low, X), like(high, X))) for r in rows], format="csr")
        if filled.nnz > X.nnz:
            warnings.warn(
                f"Range: scaling increased the number of non-zeros from {X.nnz} to {filled.nnz}, because 0 is not "
                "mapped to 0; use lower=0 for sparse, non-negative data.",
                UserWarning,
                stacklevel=2,
            )
        return filled

    def _map(self, values: Array, low: Any, high: Any) -> Any:
        """Map elementwise, in LIBSVM's order of operations, with exact values at the ends."""
        xp = namespace(values)
        with np.errstate(over="ignore", invalid="ignore"):
            span = high - low
            ratio = (self.upper - self.lower) * (values - low) / xp.where(span > 0, span, xp.ones_like(span))
            inner = self.lower + ratio
        inner = xp.where(values == high, xp.full_like(inner, self.upper), inner)
        inner = xp.where(values == low, xp.full_like(inner, self.lower), inner)
        inner = xp.where(span > 0, inner, xp.zeros_like(inner))
        if not xp.all(xp.isfinite(span)) or not xp.all(xp.isfinite(inner)):
            raise ValueError(
                "Range: a scaled value overflows, because the values, their ranges or the interval are too large; "
                "divide the data by a power of ten first."
            )
        return inner

    def save(self, path: FilePath) -> None:
        """Write a file for ``svm-scale -r``: features that vary, with indices from 1."""
        with writing(path) as text:
            if self.target is not None:
                r = self.target
                text.write(f"y\n{number(r.lower)} {number(r.upper)}\n{number(r.minimum[0])} {number(r.maximum[0])}\n")
            text.write(f"x\n{number(self.lower)} {number(self.upper)}\n")
            for j, (low, high) in enumerate(zip(self.minimum, self.maximum, strict=True), 1):
                if low != high:
                    text.write(f"{j} {number(low)} {number(high)}\n")

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read a file written by ``svm-scale -s`` or `save`. Features not listed are constant."""
        with reading(path) as lines:
            words = (line.split() for line in lines)
            first = next(words, [])
            target = None
            if first == ["y"]:
                (a, b), (low, high) = _interval(lines, words), _interval(lines, words)
                target = cls(np.array([low]), np.array([high]), a, b)
                first = next(words, [])
            if first != ["x"]:
                raise lines.error("a range file needs a line x, then the interval, then index minimum maximum.")
            lower, upper = _interval(lines, words)
            if lower == upper:
                raise lines.error(f"the interval [{lower:g}, {upper:g}] is a point; its ends must differ.")
            known: dict[int, list[float]] = {}
            last = 0
            for row in filter(None, words):
                index = lines.parse(row[0], int, "index")
                if index <= last:
                    raise lines.error(f"index {index} after {last}; indices must start at 1 and ascend.")
                if index > LARGEST:
                    raise lines.error(f"index {index} is larger than {LARGEST}, the maximum of the format.")
                last = index
                known[index] = _interval(lines, iter([row[1:]]))
            if 16 * last > max(ROOM, PACKED * Path(path).stat().st_size):
                raise lines.error(
                    f"index {last} means {last} features, whose ranges take {16e-9 * last:.3g} GB; number only the "
                    "features that occur."
                )
            ranges = np.zeros((last, 2))
        ranges[np.array(list(known), dtype=int) - 1] = np.array(list(known.values())).reshape(-1, 2)
        return cls(ranges[:, 0], ranges[:, 1], lower, upper, target)


def _require_room(X: Data, numbers: int, what: str) -> None:
    """Raise if this count of numbers needs far more memory than the sparse matrix."""
    if is_sparse(X) and 8 * numbers > max(ROOM, PACKED * 12 * X.nnz):
        raise ValueError(f"Range: X has {X.nnz} nonzeros, but {8e-9 * numbers:.3g} GB are needed for {what}.")


def _extremes(X: Data) -> tuple[np.ndarray, np.ndarray]:
    """The minimum and maximum of each column, including the zeros of a sparse matrix."""
    if is_sparse(X):
        low, high = X.min(axis=0).toarray(), X.max(axis=0).toarray()
    else:
        xp = namespace(X)
        low, high = host(xp.min(X, axis=0)), host(xp.max(X, axis=0))
    return low.ravel().astype(np.float64), high.ravel().astype(np.float64)


def _interval(lines: Lines, words: Iterator[list[str]]) -> list[float]:
    """The next line as the two ends of an interval."""
    row = next(words, [])
    if len(row) != 2:
        raise lines.error(f"expected 2 numbers, found {' '.join(row)!r}.")
    low, high = (lines.parse(word, float, "the value") for word in row)
    if low > high:
        raise lines.error(f"the interval [{low:g}, {high:g}] must start with its lower end.")
    return [low, high]


def scale(X: Data, lower: float = -1.0, upper: float = 1.0) -> tuple[Any, Range]:
    """Map each feature linearly to [lower, upper], as LIBSVM's `svm-scale` does.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Training data. A constant feature becomes 0; for the zeros of a sparse matrix see `Range`.
    lower, upper : float
        lower < upper. ``lower=0`` keeps non-negative sparse data sparse.

    Returns
    -------
    scaled : like X
    range : Range
        For test data: ``range.apply(X_test)``; ``range.save(path)``, ``Range.load(path)``.

    Examples
    --------
    >>> scaled, range = scale([[0.0, 10.0], [2.0, 30.0], [4.0, 20.0]])
    >>> scaled
    array([[-1., -1.],
           [ 0.,  1.],
           [ 1.,  0.]])
    >>> range.apply([[1.0, 50.0]])
    array([[-0.5,  3. ]])
    """
    learned = Range.learn(X, lower, upper)
    return learned.apply(X), learned
