r"""The chain rule for composite kernels: forward mode, and reverse mode through a function of the matrix.

A composite kernel defines `links`, its parts with the derivatives of its values with respect to theirs, and `bends`,
the second derivatives. Its derivatives with respect to x, y and the parameters follow.

In reverse mode, a function T of the kernel matrix has the derivatives E = ∂T/∂K, and with respect to the parameters

.. math:: \frac{\partial T}{\partial \theta} = \sum_{ij} E_{ij} \frac{\partial k(x_i, x_j)}{\partial \theta}.

E is passed down to the parts, and a radial kernel with one lengthscale for each of d features contracts it by matrix
products, in O(n²d) with (n, n) matrices. Derivatives of shape (n, n, d) are never formed for composites, and only a
few rows at a time for other kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .. import _threads
from .._array import namespace
from ..types import Array, Checked
from ._abilities import Matrix, Names
from ._base import Kernel

BLOCK = 1 << 20  # entries of E at a time


class Link:
    """A part of a kernel with its inputs X and Y, and ∂k/∂(its values): a matrix, a number, or None for 1.

    `prefix` starts the names of its parameters in the composite; `values` is its matrix.
    """

    def __init__(self, prefix: str, kernel: Kernel, X: Checked, Y: Checked, weight: Any = None, values: Any = None):
        self.prefix, self.kernel, self.X, self.Y, self.weight = prefix, kernel, X, Y, weight
        if values is not None:
            self.values = values

    @cached_property
    def values(self) -> Any:
        return self.kernel.evaluate(self.X, self.Y)


class Chained(Kernel):
    """A kernel whose derivatives follow from those of its parts by the chain rule."""

    own: ClassVar[tuple[str, ...]] = ()  # parameters other than those of the parts

    def links(self, X: Checked, Y: Checked, K: Array = None) -> Sequence[Link]:
        """The parts; K is the matrix of this kernel, if known."""
        raise NotImplementedError

    def bends(self, links: Sequence[Link]) -> list[tuple[int, int, Any]]:
        """(i, j, ∂²k/∂(value of i)∂(value of j)) for the parts i and j where this is not 0."""
        return []

    def d_own(self, name: str, links: Sequence[Link]) -> Any:
        """∂k/∂θ for a parameter in `own`."""
        raise NotImplementedError

    def d_x(self, X: Checked, Y: Checked) -> Any:
        return sum(times(link.weight, link.kernel.gradient_x(link.X, link.Y)) for link in self.links(X, Y))

    def d_xy(self, X: Checked, Y: Checked) -> Any:
        links = self.links(X, Y)
        total = sum(times(link.weight, link.kernel.mixed_xy(link.X, link.Y)) for link in links)
        bends = self.bends(links)
        if bends:
            in_x = [link.kernel.gradient_x(link.X, link.Y) for link in links]
            in_y = [_exchanged(link.kernel.gradient_x(link.Y, link.X)) for link in links]
            for i, j, weight in bends:
                total = total + times(weight, in_x[i][..., :, None] * in_y[j][..., None, :])
        return total

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        links = self.links(X, Y)
        found = {name: self.d_own(name, links) for name in self.own}
        for link in links:
            gradients = link.kernel.gradient_theta(link.X, link.Y)
            found |= {link.prefix + name: times(link.weight, G) for name, G in gradients.items()}
        return found

    def adjoint(self, X: Checked, Y: Checked, E: Array, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
        links = self.links(X, Y, K)
        found = {n: np.vdot(E, np.asarray(self.d_own(n, links))) for n in self.own if wanted is None or n in wanted}
        for link in links:
            weighted = E if link.weight is None else E * link.weight
            found |= renamed(link.prefix, link.kernel, link.X, link.Y, weighted, wanted, vars(link).get("values"))
        return found


def renamed(
    prefix: str, part: Kernel, X: Checked, Y: Checked, E: Array, wanted: Names, K: Matrix = None
) -> dict[str, Any]:
    """`Kernel.adjoint` of a part, keyed by the names of its parameters in the composite."""
    inside = None if wanted is None else frozenset(n.removeprefix(prefix) for n in wanted if n.startswith(prefix))
    return {prefix + name: g for name, g in part.adjoint(X, Y, E, inside, K).items()}


def times(factor: Any, G: Array) -> Any:
    """factor, a number or (n, m), times G (n, m, …); None stands for 1."""
    if factor is None:
        return G
    shaped = not isinstance(factor, float)
    return (namespace(G).reshape(factor, tuple(factor.shape) + (1,) * (G.ndim - 2)) if shaped else factor) * G


def _exchanged(G: Array) -> Any:
    """The derivative in y from the derivative in x with swapped arguments: (m, n, d) → (n, m, d)."""
    return namespace(G).permute_dims(G, (1, 0, 2))


def contract(kernel: Kernel, X: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    """Σᵢⱼ Eᵢⱼ ∂k(xᵢ, xⱼ)/∂θ for each parameter, or only the `wanted` ones; an array for an array-valued parameter.

    K is the kernel matrix, if known.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> kernel = 2.0 * Gaussian(np.array([1.0, 1.0])) + Linear()
    >>> E = np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> found = contract(kernel, np.array([[0.0, 0.0], [1.0, 0.0]]), E)
    >>> sorted(found), (found["0__kernel__lengthscale"] / np.exp(-0.5)).round(6)
    (['0__kernel__lengthscale', '0__scale'], array([2., 0.]))
    """
    size, take = kernel.domain.size(X), kernel.domain.take
    rows = _threads.slices(size, max(1, BLOCK // size))

    def work(i: int) -> dict[str, Any]:
        return kernel.adjoint(take(X, rows[i]), X, E[rows[i]], wanted, None if K is None else K[rows[i]])

    parts = _threads.collect(len(rows), work)
    names = dict.fromkeys(name for part in parts for name in part)  # a column may be missing in some rows of a table
    return {name: sum(part[name] for part in parts if name in part) for name in names}
