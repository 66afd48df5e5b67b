"""Sums and products of a one-dimensional kernel over the coordinates.

A kernel implements `part` and, for products, `part_x` = ∂part/∂x and `part_xy` = ∂²part/∂x∂y if it is smooth enough.
Parts are computed elementwise, one column at a time, so that no temporary is larger than the matrix itself.

Definiteness: sums and products of positive definite parts are positive definite. If the parts are strictly so, the
product is too: the matrix of a full grid is a Kronecker product, and that of any sample a principal submatrix of one.
The sum is strict only for d = 1: weights +, −, −, + on the corners of a rectangle annihilate it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import iadd, imul
from typing import Any, ClassVar

from .._array import namespace, on_host
from .._threads import slices
from ..types import Array, Checked, Namespace
from ._base import Kernel

BLOCK = 1 << 15  # entries of a temporary on the host: the many passes over a block then stay in cache


def columns(X: Checked, Y: Checked = None) -> list[tuple[Any, Any]]:
    """For each coordinate, x of shape (n, 1) and y of shape (1, m), which broadcast to a matrix."""
    Y = X if Y is None else Y
    return [(X[:, k][:, None], Y[:, k][None, :]) for k in range(X.shape[1])]


def matrix(compute: Callable[[list[tuple[Any, Any]], Any], Any], X: Checked, Y: Checked = None) -> Any:
    """``compute(columns(X, Y), xp)``, on the host in blocks of rows."""
    xp, Y = namespace(X), X if Y is None else Y
    if not on_host(X) or X.shape[0] * Y.shape[0] <= BLOCK:
        return compute(columns(X, Y), xp)
    rows = slices(X.shape[0], max(1, BLOCK // Y.shape[0]))
    return xp.concat([compute(columns(X[r, :], Y), xp) for r in rows], axis=0)


def vector(compute: Callable[[list[tuple[Any, Any]], Any], Any], X: Checked) -> Any:
    """``compute`` on each coordinate paired with itself."""
    return compute([(X[:, k], X[:, k]) for k in range(X.shape[1])], namespace(X))


class OverCoordinates(Kernel):
    """Base class of both; `combine` accumulates in its first argument, a new array from `part`."""

    abilities: ClassVar[tuple[str, ...]] = ("gradient_theta",)
    combine: ClassVar[Any]

    def part(self, x: Array, y: Array, xp: Namespace) -> Any:
        """The one-dimensional kernel, elementwise, as a new array."""
        raise NotImplementedError

    def over(self, pairs: list[tuple[Any, Any]], xp: Namespace) -> Any:
        """The parts of pairs of coordinates, combined."""
        return reduce(type(self).combine, (self.part(x, y, xp) for x, y in pairs))

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return matrix(self.over, X, Y)

    def evaluate_diag(self, X: Checked) -> Any:
        return vector(self.over, X)


class SumOverCoordinates(OverCoordinates):
    """k(x, y) = Σ_k part(x_k, y_k)."""

    combine = iadd
    tile = 256  # a value takes several passes per coordinate


class ProductOverCoordinates(OverCoordinates):
    """k(x, y) = Π_k part(x_k, y_k)."""

    combine = imul

    def part_x(self, x: Array, y: Array, xp: Namespace) -> Any:
        """∂part/∂x."""
        raise NotImplementedError

    def part_xy(self, x: Array, y: Array, xp: Namespace) -> Any:
        """∂²part/∂x∂y."""
        raise NotImplementedError

    def _factor(self, pair: tuple[Any, Any], in_x: bool, in_y: bool, xp: Namespace) -> Any:
        x, y = pair
        if in_x:
            return (self.part_xy if in_y else self.part_x)(x, y, xp)
        return self.part_x(y, x, xp) if in_y else self.part(x, y, xp)

    def d_x(self, X: Checked, Y: Checked) -> Any:
        xp, pairs = namespace(X), columns(X, Y)
        d = range(len(pairs))
        slices = [reduce(imul, (self._factor(pairs[i], i == k, False, xp) for i in d)) for k in d]
        return xp.stack(slices, axis=-1)

    def d_xy(self, X: Checked, Y: Checked) -> Any:
        xp, pairs = namespace(X), columns(X, Y)
        d = range(len(pairs))
        slices = [[reduce(imul, (self._factor(pairs[i], i == k, i == j, xp) for i in d)) for j in d] for k in d]
        return xp.stack([xp.stack(row, axis=-1) for row in slices], axis=-2)
