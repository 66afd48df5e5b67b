"""LIBSVM's sparse data format, and a counterpart of its subset.py."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from mercer.domains import Vectors, take

from ..._array import host, is_sparse
from ..._errors import check_number
from ..._random import generator
from ...types import Array, Data, DType, FilePath, RandomState
from .._text import Lines, number, reading, require_text, writing

LARGEST = 2**31 - 1  # LIBSVM's largest integer, for indices, labels and counts


def load_data(path: FilePath, *, n_features: int | None = None, dtype: DType = np.float64) -> tuple[Any, np.ndarray]:
    """Read samples and targets from a file in LIBSVM's sparse format.

    Parameters
    ----------
    path : str or path
        A file of lines ``target index:value index:value …`` with ascending indices from 1. Files whose names end in
        ``.gz`` or ``.bz2`` are decompressed.
    n_features : int > 0, optional
        Number of columns; by default the largest index in the file. Pass it for test data, which may lack the last
        features.
    dtype : data type
        Data type of X.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "data.txt"
    ...     save_data([[0.5, 0.0], [0.0, -1.0]], [1, -1], path)
    ...     print(path.read_text())
    ...     X, y = load_data(path)
    1 1:0.5
    -1 2:-1
    >>> X.toarray(), y
    (array([[ 0.5,  0. ],
            [ 0. , -1. ]]), array([ 1., -1.]))
    """
    check_number("load_data", "n_features", n_features, at_least=1, integer=True, besides=(None,))
    strange = require_text(path)  # 1_0 is a number only to Python
    if os.path.getsize(path) == 0:
        raise ValueError(f"{path}: contains no samples.")
    try:
        X, y = load_svmlight_file(str(path), n_features=n_features, dtype=dtype, zero_based=False)
    except (ValueError, OverflowError) as error:
        with reading(path) as lines:
            _find_fault(lines, n_features)
        raise ValueError(f"{path}: is not in LIBSVM's format ({error}).") from error
    finite = bool(np.isfinite(X.data).all() and np.isfinite(y).all())
    if strange or not finite:
        with reading(path) as lines:
            _find_fault(lines, n_features)
        if not finite:
            raise ValueError(f"{path}: contains numbers that overflow in {np.dtype(dtype)}; read it as float64.")
    if X.shape[0] == 0:
        raise ValueError(f"{path}: contains no samples.")
    return csr_array(X), y


def read_lines(path: FilePath, text: str, first: int) -> Any:
    """The samples in some lines of a file, starting at line `first`; labels may be any numbers."""
    lines = Lines(Path(path), io.StringIO(text, newline=""), before=first - 1)
    try:
        X = load_svmlight_file(io.BytesIO(text.encode()), zero_based=False)[0]
    except (ValueError, OverflowError) as error:
        _find_fault(lines, None)
        raise ValueError(f"{path}, from line {first}: is not in LIBSVM's format ({error}).") from error
    if "_" in text or not np.isfinite(X.data).all():  # 1_0 is a number only to Python
        _find_fault(lines, None)
    return X


def _find_fault(lines: Lines, n_features: int | None) -> None:
    """Raise for the first line that is not in LIBSVM's format."""
    for line in lines:
        words = line.partition("#")[0].split()
        if words:
            lines.parse(words[0], float, "the target")
            for index, _ in features(lines, [w for w in words[1:] if not w.startswith("qid:")]):
                if n_features is not None and index > n_features:
                    raise lines.error(f"index {index} exceeds n_features = {n_features}.")


def features(lines: Lines, words: Iterable[str]) -> Iterator[tuple[int, float]]:
    """Parse and check the features ``index:value`` of a line."""
    last = 0
    for word in words:
        index, colon, value = word.partition(":")
        if not colon:
            raise lines.error(f"{word!r} must have the form index:value.")
        i = lines.parse(index, int, "index")
        if i <= last:
            raise lines.error(f"index {i} after {last}; indices must start at 1 and ascend.")
        if i > LARGEST:
            raise lines.error(f"index {i} is larger than {LARGEST}, the maximum of the format.")
        yield i, lines.parse(value, float, f"the value of feature {i}")
        last = i


def save_data(X: Data, y: Array, path: FilePath) -> None:
    """Write samples and targets in LIBSVM's sparse format.

    An existing file is replaced only once the new one is complete.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Zeros are omitted.
    y : array of shape (n_samples,)
        Numbers: class labels (integers, for LIBSVM) or regression targets.
    path : str or path
        With the suffix ``.gz`` or ``.bz2`` the file is compressed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save_data([[0.0, 0.1], [2.0, 0.0]], [1, 2], Path(folder) / "data.txt")
    ...     print((Path(folder) / "data.txt").read_text())
    1 2:0.1
    2 1:2
    """
    X = Vectors(sparse=True).check(X, "save_data")
    y = host(y)
    if y.shape != (X.shape[0],):
        raise ValueError(f"save_data: y has shape {y.shape}, but X has {X.shape[0]} rows; pass one target per row.")
    if y.dtype.kind not in "fiu" or not np.isfinite(y).all():
        raise ValueError("save_data: y must contain finite numbers; encode labels with sklearn's LabelEncoder.")
    with writing(path) as text:
        text.writelines(f"{number(t)} {row}\n" for t, row in zip(y.tolist(), row_texts(X), strict=True))


def row_texts(X: Data) -> Iterator[str]:
    """``index:value …`` for each row, with indices from 1 and without zeros."""
    X = csr_array(X if is_sparse(X) else host(X), copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    indices, values = (X.indices + 1).tolist(), X.data.tolist()
    for a, b in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True):
        yield " ".join(f"{i}:{number(v)}" for i, v in zip(indices[a:b], values[a:b], strict=True))


def subset(
    X: Data, y: Array, n: int, *, random_state: RandomState = None, stratified: bool = True
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Draw n samples without replacement; return them and the rest, each in the original order.

    Parameters
    ----------
    X : collection of samples
    y : array of shape (n_samples,)
    n : int > 0
        At most the number of samples.
    random_state : int, RandomState, Generator or None
    stratified : bool
        Whether each class keeps its proportion, rounded to a neighbouring integer, and at least one sample. (LIBSVM's
        ``subset.py -s 0`` rounds up, starting with rare classes, and may leave nothing for the largest.) Use False for
        regression.

    Returns
    -------
    (X_subset, y_subset), (X_rest, y_rest)

    Examples
    --------
    >>> X, y = np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 0, 0, 1, 1])
    >>> (X_small, y_small), (X_rest, y_rest) = subset(X, y, 4, random_state=0)
    >>> y_small, y_rest
    (array([0, 0, 0, 1]), array([0, 0, 0, 1]))
    """
    labels = host(y)
    check_number("subset", "n", n, at_least=1, at_most=len(labels), integer=True)
    rng = generator(random_state)
    if stratified:
        classes, member = np.unique(labels, return_inverse=True)
        share = _shares(np.bincount(member), n)
        drawn = [rng.choice(np.flatnonzero(member == c), share[c], replace=False) for c in range(len(classes))]
        chosen = np.sort(np.concatenate(drawn))
    else:
        chosen = np.sort(rng.choice(len(labels), n, replace=False))
    rest = np.setdiff1d(np.arange(len(labels)), chosen)
    return (take(X, chosen), take(y, chosen)), (take(X, rest), take(y, rest))


def _shares(sizes: np.ndarray, n: int) -> np.ndarray:
    """Numbers of samples for classes of these sizes: proportional, at least one each, and n in total."""
    if n < len(sizes):
        raise ValueError(
            f"subset: n = {n} is less than the number of classes, {len(sizes)}; raise it, or set stratified=False."
        )
    exact = n * sizes / sizes.sum()
    share = np.maximum(1, np.floor(exact).astype(int))
    while share.sum() < n:
        share[np.argmax(exact - share)] += 1
    while share.sum() > n:
        share[np.argmin(np.where(share > 1, exact - share, np.inf))] -= 1
    return share
