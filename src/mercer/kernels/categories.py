"""Kernels between categories: labels without order (Delta, Hamming) and ordered levels (Ordinal)."""

from __future__ import annotations

from functools import reduce
from operator import iand
from typing import Any

import numpy as np

from .._array import device_of, namespace
from .._errors import where
from ..domains import Categories, Vectors
from ..types import Array, Checked, Namespace
from ._base import Kernel, register
from ._coordinates import SumOverCoordinates, columns
from ._definiteness import CPD, STRICTLY_PD, Definiteness


def _floating(X: Checked, xp: Namespace) -> Any:
    """The type of the results: float32 for float32 labels, else float64."""
    return xp.float32 if X.dtype == xp.float32 else xp.float64


def _numbered(X: Checked, Y: Checked) -> list[tuple[Any, Any]]:
    """The columns of X and Y; text and objects become numbers, which compare faster."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "OUS":
        return columns(X, Y)
    numbers: dict[Any, int] = {}
    Y = X if Y is None else Y
    try:
        A, B = ([numbers.setdefault(v, len(numbers)) for v in Z.ravel().tolist()] for Z in (X, Y))
    except TypeError:  # unhashable labels
        return columns(X, Y)
    return columns(np.reshape(A, X.shape), np.reshape(B, Y.shape))


class _Labels(Kernel):
    """Kernels that depend only on whether labels are equal."""

    domain = Categories()
    abilities = ("gradient_theta",)

    def _check_together(self, X: Checked, Y: Checked) -> None:
        super()._check_together(X, Y)
        text = [isinstance(A, np.ndarray) and A.dtype.kind in "US" for A in (X, Y)]
        known = not any(isinstance(A, np.ndarray) and A.dtype.kind == "O" for A in (X, Y))
        if known and text[0] != text[1]:
            raise TypeError(
                f"{where(self)}: X holds {X.dtype} labels and Y {Y.dtype}; convert one to the other's type."
            )

    def evaluate_diag(self, X: Checked) -> Any:
        xp = namespace(X)
        return xp.ones((X.shape[0],), dtype=_floating(X, xp), device=device_of(X))


@register
class Delta(_Labels):
    r"""Delta kernel: whether all labels agree.

    .. math:: k(x, y) = [x = y]

    Notes
    -----
    Rows of labels of any type with equality, including strings; a plain sequence is one column. Strictly positive
    definite: the matrix of distinct rows is the identity. Results are float64, or float32 for float32 labels. A matrix
    costs O(nmd).

    References
    ----------
    Shawe-Taylor, Cristianini, *Kernel Methods for Pattern Analysis* (2004), section 9.1.

    Examples
    --------
    >>> Delta()(["red", "blue"], ["blue", "green"])
    array([[0., 0.],
           [1., 0.]])
    """

    proven = STRICTLY_PD

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        xp = namespace(X)
        return xp.astype(reduce(iand, (x == y for x, y in _numbered(X, Y))), _floating(X, xp))


@register
class Hamming(_Labels):
    r"""Hamming kernel (normalised overlap): the fraction of labels that agree.

    .. math:: k(x, y) = \frac1d \sum_{k=1}^d [x_k = y_k]

    Notes
    -----
    One minus the relative Hamming distance. The mean of the columns' Delta kernels, so positive definite, and strictly
    so only for d = 1. Its space contains the additive functions Σ_k f_k(x_k); for interactions use powers or
    ``Hamming().exp()``. Rows of labels of any type with equality, including strings; a plain sequence is one column.
    Results are float64, or float32 for float32 labels. A matrix costs O(nmd).

    References
    ----------
    Boriah, Chandola, Kumar, *Similarity measures for categorical data: a comparative evaluation* (2008), "overlap".

    Examples
    --------
    >>> Hamming()([["red", "small"]], [["red", "large"], ["blue", "large"]])
    array([[0.5, 0. ]])
    """

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        xp = namespace(X)
        n, m = X.shape[0], (X if Y is None else Y).shape[0]
        agreeing = xp.zeros((n, m), dtype=_floating(X, xp), device=device_of(X))
        for x, y in _numbered(X, Y):
            agreeing += xp.astype(x == y, agreeing.dtype)
        return agreeing / X.shape[1]

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return CPD(0, strict=dimension == 1)


class Levels(Vectors):
    """Rows of ordered levels 0, …, n_levels − 1 as numbers."""

    def __init__(self, n_levels: int):
        super().__init__(lower=0.0, upper=float(n_levels - 1))

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        X = super().check(X, owner, name)
        xp = namespace(X)
        between = xp.round(X) != X
        if bool(xp.any(between)):
            i, j = (int(v[0]) for v in xp.nonzero(between))
            raise ValueError(
                f"{where(owner)}: {name} holds {float(X[i, j]):g}, but levels are the integers 0 … {self.upper:g}."
            )
        return X

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        levels = int(self.upper or 0) + 1
        columns = int(np.ceil(np.log(n) / np.log(levels)))
        grid = np.indices((levels,) * columns).reshape(columns, -1).T
        return rng.permutation(grid)[:n].astype(float)


@register
class Ordinal(SumOverCoordinates):
    r"""Kernel between ordered levels 0, …, R − 1, averaged over the columns.

    .. math:: k(x, y) = \frac1d \sum_{k=1}^d \left( 1 - \frac{|x_k - y_k|}{R} \right)

    Parameters
    ----------
    n_levels : int >= 2
        R, the number of levels of every column. Raising it makes adjacent levels more similar.

    Notes
    -----
    R − |x − y| is the length of [x, x + R] ∩ [y, y + R], an inner product of indicator functions: positive definite.
    Strictly so for d = 1: between the smallest level and the next, only one indicator is non-zero, so its coefficient
    vanishes; then likewise for the others. For d > 1, weights +, −, −, + on the corners of a rectangle annihilate k.
    For columns with different numbers of levels, use ``Ordinal(3).on(0) + Ordinal(5).on(1)``. A matrix costs O(nmd).

    References
    ----------
    Gower, *A general coefficient of similarity and some of its properties* (1971), with R − 1 in place of R.

    Examples
    --------
    >>> Ordinal(n_levels=4)([[0]], [[0], [1], [3]])
    array([[1.  , 0.75, 0.25]])
    """

    trials = [(2,), (5,)]
    rules = {"n_levels": {"at_least": 2, "integer": True}}

    def __init__(self, n_levels: int):
        self.n_levels = n_levels

    @property
    def domain(self) -> Levels:  # type: ignore[override]
        return Levels(self.n_levels)

    def part(self, x: Array, y: Array, xp: Namespace) -> Any:
        return 1.0 - xp.abs(x - y) * (1.0 / int(self.n_levels))

    def over(self, pairs: list[tuple[Any, Any]], xp: Namespace) -> Any:
        return super().over(pairs, xp) / len(pairs)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return CPD(0, strict=dimension == 1)
