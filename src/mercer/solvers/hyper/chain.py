r"""Derivatives of a function of the kernel matrix in the parameters of the kernel, by the chain rule backwards.

A criterion T of the matrix has the derivatives E = ∂T/∂K, and those in the parameters are the contractions

.. math:: \frac{\partial T}{\partial \theta} = \sum_{ij} E_{ij} \frac{\partial k(x_i, x_j)}{\partial \theta}.

Through sums, products and functions of kernels E is handed down to the parts, and a radial kernel with one lengthscale
for each of d features contracts it by matrix products, O(n²d) with matrices of n × n: the derivatives themselves, of
n × n × d, are formed for no composite, and for a kernel that knows of no better way a few rows at a time.
"""

from __future__ import annotations

from functools import reduce, singledispatch
from typing import Any

import numpy as np

from ... import _threads
from ..._array import host, is_sparse, namespace
from ...kernels import Kernel, Radial
from ...kernels.algebra import Outer, Product, Restricted, Scaled, Sum, Tensor, Warped
from ...kernels.tables import Table
from ...types import Checked

__all__ = ["adjoint", "contract"]

BLOCK = 1 << 20  # entries of E at a time
Names = frozenset[str] | None
Matrix = np.ndarray | None


def contract(kernel: Kernel, X: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    """Σᵢⱼ Eᵢⱼ ∂k(xᵢ, xⱼ)/∂θ for each parameter, or the `wanted` ones alone; an array for an array of parameters.

    K is the matrix of the kernel, where it is known.

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
    parts: list[dict[str, Any]] = [{} for _ in rows]

    def work(i: int) -> None:
        parts[i] = adjoint(kernel, take(X, rows[i]), X, E[rows[i]], wanted, None if K is None else K[rows[i]])

    if len(rows) > 1:
        _threads.run(range(len(rows)), work)
    else:
        work(0)
    names = dict.fromkeys(name for part in parts for name in part)  # some rows of a table may miss a column
    return {name: sum(part[name] for part in parts if name in part) for name in names}


@singledispatch
def adjoint(
    kernel: Kernel, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None
) -> dict[str, Any]:
    """Σᵢⱼ Eᵢⱼ ∂k(xᵢ, yⱼ)/∂θ; a kernel without derivatives raises where one of its own parameters is wanted.

    K is the matrix k(xᵢ, yⱼ), where it is known.
    """
    return _plain(kernel, X, Y, E, wanted)


def _plain(kernel: Kernel, X: Checked, Y: Checked, E: np.ndarray, wanted: Names) -> dict[str, Any]:
    if wanted is not None and not wanted:
        return {}
    if wanted is None and "gradient_theta" not in kernel.provides and not _continuous(kernel):
        return {}
    kernel.require("gradient_theta")
    derivatives = kernel.gradient_theta(X, Y)
    return {
        name: np.tensordot(E, np.asarray(D), axes=2)
        for name, D in derivatives.items()
        if wanted is None or name in wanted
    }


def _continuous(kernel: Kernel) -> list[str]:
    """The parameters of a kernel that are numbers with a fraction, or arrays of them."""
    return [name for name, v in kernel.get_params().items() if isinstance(v, float) or np.asarray(v).dtype.kind == "f"]


def _inner(
    part: Kernel, prefix: str, X: Checked, Y: Checked, E: np.ndarray, wanted: Names, K: Matrix = None
) -> dict[str, Any]:
    """The same of a part, by the names that its parameters have in the whole."""
    own = None if wanted is None else frozenset(n.removeprefix(prefix) for n in wanted if n.startswith(prefix))
    return {prefix + name: g for name, g in adjoint(part, X, Y, E, own, K).items()}


@adjoint.register
def _(kernel: Sum, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for i, k in enumerate(kernel.kernels):
        found |= _inner(k, f"{i}__", X, Y, E, wanted)
    return found


@adjoint.register
def _(kernel: Product, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    return _factors([(k, X, Y) for k in kernel.kernels], E, wanted)


@adjoint.register
def _(kernel: Tensor, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    return _factors(list(zip(kernel.kernels, X, Y, strict=True)), E, wanted)


def _factors(parts: list[tuple[Kernel, Any, Any]], E: np.ndarray, wanted: Names) -> dict[str, Any]:
    """Of a product of kernels, each of its own collections."""
    factors = [np.asarray(k.evaluate(X, Y)) for k, X, Y in parts]
    found: dict[str, Any] = {}
    for i, (k, X, Y) in enumerate(parts):
        others = reduce(np.multiply, (F for j, F in enumerate(factors) if j != i), E)
        found |= _inner(k, f"{i}__", X, Y, others, wanted, factors[i])
    return found


@adjoint.register
def _(kernel: Outer, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    t = np.asarray(kernel.kernel.evaluate(X, Y))
    return _inner(kernel.kernel, "kernel__", X, Y, E * kernel.outer(t, namespace(t), 1), wanted, t)


@adjoint.register
def _(kernel: Scaled, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    scale, own = float(kernel.scale), {}
    t = None if K is None or scale == 0 else K / scale
    if wanted is None or "scale" in wanted:
        t = np.asarray(kernel.kernel.evaluate(X, Y)) if t is None else t
        own = {"scale": np.vdot(E, t)}
    return own | _inner(kernel.kernel, "kernel__", X, Y, scale * E, wanted, t)


@adjoint.register
def _(
    kernel: Restricted, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None
) -> dict[str, Any]:
    return _inner(kernel.kernel, "kernel__", kernel._part(X), kernel._part(Y), E, wanted, K)


@adjoint.register
def _(kernel: Warped, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    return _inner(kernel.kernel, "kernel__", kernel._image(X), kernel._image(Y), E, wanted, K)


@adjoint.register
def _(kernel: Table, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    groups, inside = kernel._groups(), kernel.combine not in ("sum", "product")
    values = [kernel._value(group, k, X, Y) for group, k in groups.items()]
    factors = [(1 + value) / 2 if inside else value for value in values]
    found: dict[str, Any] = {}
    for i, (name, group) in enumerate(kernel._names(groups).items()):
        others = [] if kernel.combine == "sum" else factors[:i] + factors[i + 1 :]
        of_group = reduce(np.multiply, others, E / 2 if inside else E)
        for part in _with_gaps(kernel, group, f"{name}__", X, Y, of_group, wanted):
            found |= {key: found.get(key, 0.0) + value for key, value in part.items()}
    return found


def _with_gaps(table: Table, group: Any, prefix: str, X: Any, Y: Any, E: np.ndarray, wanted: Names) -> list[Any]:
    """Of a group of columns, where a missing value may be the mean of those that were observed."""
    k, (A, a), (B, b) = table.kernels[group], table._part(X, group), table._part(Y, group)
    pieces = [(A, B, E[np.ix_(a, b)])]
    if table.missing == "mean" and not (a.all() and b.all()):
        M = table._mean(group)
        m = k.domain.size(M)
        pieces += [(M, B, np.tile(E[np.ix_(~a, b)].sum(axis=0) / m, (m, 1)))]
        pieces += [(M, A, np.tile(E[np.ix_(a, ~b)].sum(axis=1) / m, (m, 1)))]
        pieces += [(M, M, np.full((m, m), E[np.ix_(~a, ~b)].sum() / m**2))]
    return [_inner(k, prefix, P, Q, F, wanted) for P, Q, F in pieces if P is not None and Q is not None]


@adjoint.register
def _(kernel: Radial, X: Checked, Y: Checked, E: np.ndarray, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
    length = np.asarray(host(kernel.lengthscale), dtype=np.float64)
    own = type(kernel).gradient_theta is not Radial.gradient_theta
    if own or length.ndim > 1 or (length.ndim == 1 and is_sparse(X)) or (wanted is not None and not wanted):
        return _plain(kernel, X, Y, E, wanted)
    s = np.asarray(kernel.scaled_distances(X, Y))
    W = E * kernel.slope(s, namespace(s))
    if length.ndim == 0:
        return {"lengthscale": -2 * np.vdot(W, s) / float(length)}
    # Σ W (aᵢ − bⱼ)² feature by feature, of centred and scaled points
    centre = np.mean(Y, axis=0)
    A, B = kernel.scaled(X - centre), kernel.scaled(Y - centre)
    squares = W.sum(axis=1) @ A**2 + W.sum(axis=0) @ B**2 - 2 * np.sum(A * (W @ B), axis=0)
    return {"lengthscale": -2 * squares / length}
