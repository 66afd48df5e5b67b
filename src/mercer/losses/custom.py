"""A user-defined loss."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from math import inf
from typing import Any

from .._array import eye, namespace
from .._errors import where
from ..types import Array
from ._base import Loss, register


@register
class Custom(Loss):
    r"""Any loss L(y, f) of the whole vector f, defined by functions.

    .. math:: L(f) = \mathrm{value}(y, f, w), \qquad \nabla L(f) = \mathrm{gradient}(y, f, w)

    Parameters
    ----------
    value : callable
        ``value(y, f, weight=None)``, one number. The functions define the meaning of the sample weights.
    gradient : callable
        ``gradient(y, f, weight=None)``, with the shape of f.
    hessian : callable, optional
        ``hessian(y, f, weight=None)`` for f of shape (n,): the matrix of second derivatives, or a vector with its
        diagonal.
    convex : bool
        Whether L is convex. For a non-convex loss, solutions are reported only as stationary points.

    Notes
    -----
    The functions are stored as they are: to pickle a model, define them at module level. A loss that is a sum over
    samples is better written as a subclass of `Loss`, with its own proximal map and dual.

    Examples
    --------
    Only differences between values count:

    >>> import numpy as np
    >>> def value(y, f, weight=None):
    ...     return np.sum((y - f - np.mean(y - f)) ** 2) / 2
    >>> def gradient(y, f, weight=None):
    ...     return f - y - np.mean(f - y)
    >>> loss = Custom(value, gradient, convex=True)
    >>> loss.total(np.array([1.0, 2.0]), np.array([5.0, 6.0]))
    np.float64(0.0)
    """

    coupled = True
    floor = -inf
    value: Callable[..., Any]
    gradient: Callable[..., Any]
    hessian: Any

    def __init__(
        self,
        value: Callable[..., Any],
        gradient: Callable[..., Any],
        hessian: Callable[..., Any] | None = None,
        convex: bool = False,
    ):
        self.value, self.gradient, self.hessian, self.convex = value, gradient, hessian, convex

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"gradient"} if self.hessian is None else {"gradient", "hessian_product"})

    def validate(self) -> None:
        for name, function in self.get_params(deep=False).items():
            if name == "convex" or (name == "hessian" and function is None):
                continue
            try:
                signature(function).bind("y", "f"), signature(function).bind("y", "f", "weight")
            except TypeError:
                raise TypeError(
                    f"{where(self)}: {name} = {function!r} must be a function {name}(y, f, weight=None)."
                ) from None

    def total(self, y: Array, f: Array, weight: Array = None) -> Any:
        return self.value(y, f, weight)

    def hessian_product(self, y: Array, f: Array, V: Array, weight: Array = None) -> Any:
        if self.hessian is None:
            raise self._lacks("hessian_product")
        H = self.hessian(y, f, weight)
        return H @ V if H.ndim == 2 else (H if V.ndim == 1 else H[:, None]) * V

    def majorizer(self, y: Array, f: Array, weight: Array = None) -> Any:
        raise self._lacks("majorizer")

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls(_spread, _spread_gradient, _spread_hessian, convex=True), cls(_spread, _spread_gradient)]


def _spread(y: Array, f: Array, weight: Array = None) -> Any:
    """½Σ wᵢ (rᵢ − r̄)², which depends only on differences between values."""
    g = _spread_gradient(y, f, weight)
    return 0.5 * namespace(f).sum(g * (f - y))


def _spread_gradient(y: Array, f: Array, weight: Array = None) -> Any:
    xp = namespace(f)
    weight = xp.ones_like(f) if weight is None else weight
    return weight * (f - y - xp.sum(weight * (f - y)) / xp.sum(weight))


def _spread_hessian(y: Array, f: Array, weight: Array = None) -> Any:
    xp = namespace(f)
    weight = xp.ones_like(f) if weight is None else weight
    return weight[:, None] * (eye(f.shape[0], f) - weight[None, :] / xp.sum(weight))
