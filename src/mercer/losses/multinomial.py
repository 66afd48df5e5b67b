"""The loss of multinomial logistic regression."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from .._array import device_of, eps, eye, namespace
from .._errors import where
from ..types import Array
from ._base import DERIVATIVES, DUAL, LINK, Loss, register, weighted
from ._scalar import entropy, log_omega, logarithm

NEWTON = 100  # maximum number of steps; they approach the root from one side


@register
class Multinomial(Loss):
    r"""Multinomial logistic loss (softmax, cross-entropy) for labels y = 0, …, k − 1 and rows f of k values.

    .. math:: \ell(y, f) = \log \sum_j e^{f_j} - f_y

    The link is P(y = j) = exp(f_j)/Σ exp(f_l); `link` gives the f whose finite entries sum to 0 in each row.

    Notes
    -----
    With p = P(y = ·), the gradient is p − e_y and each block of the Hessian diag(p) − ppᵀ. The conjugate is
    :math:`\sum_j q_j \log q_j` where q = u + e_y is a probability. The proximal map has
    :math:`f_j = c + \log p_j`, where :math:`\log p_j + \mathrm{step} \cdot p_j = v_j + \mathrm{step} \cdot [j = y] - c`
    and c is such that p sums to one; c is found by Newton's method, p by Wright's ω function.

    References
    ----------
    Zhu, Hastie, *Kernel logistic regression and the import vector machine* (2005). Böhning, *Multinomial
    logistic regression algorithm* (1992), for the Hessian.

    Examples
    --------
    >>> import numpy as np
    >>> Multinomial().value(np.array([0, 2]), np.zeros((2, 3))).round(4)
    array([1.0986, 1.0986])
    """

    abilities = (*DERIVATIVES, *DUAL, *LINK)
    task = "multiclass"
    likelihood = True

    def check(self, y: Array) -> None:
        super().check(y)
        xp = namespace(y)
        if not xp.isdtype(y.dtype, "integral") or y.ndim != 1 or bool(xp.any(y < 0)):
            raise ValueError(f"{where(self)}: labels y must be integers 0, 1, …; encode the classes as 0, …, k − 1.")

    def outputs(self, y: Array) -> tuple[int, ...]:
        return (int(namespace(y).max(y)) + 1,)

    def value(self, y: Array, f: Array) -> Any:
        xp = namespace(f)
        shifted = f - xp.max(f, axis=1, keepdims=True)
        return xp.log(xp.sum(xp.exp(shifted), axis=1)) - xp.sum(_indicator(y, f) * shifted, axis=1)

    def gradient(self, y: Array, f: Array, weight: Array = None) -> Any:
        return weighted(self.link_inverse(f) - _indicator(y, f), weight)

    def hessian(self, y: Array, f: Array, weight: Array = None) -> Any:
        p = self.link_inverse(f)
        return weighted(p[:, :, None] * (eye(p.shape[1], p) - p[:, None, :]), weight)

    def hessian_product(self, y: Array, f: Array, V: Array, weight: Array = None) -> Any:
        p = self.link_inverse(f)
        p = p if V.ndim == p.ndim else p[:, :, None]
        return weighted(p * (V - namespace(f).sum(p * V, axis=1, keepdims=True)), weight)

    def prox(self, y: Array, v: Array, step: Array) -> Any:
        xp = namespace(v)
        step = xp.reshape(step + xp.zeros_like(v[:, 0]), (-1, 1))
        a, level = v + step * _indicator(y, v), xp.log(step)
        # Σp is decreasing and convex in c; the start, where the largest p is 1, is left of the root, so c only rises
        c = xp.max(a, axis=1, keepdims=True) - step
        for _ in range(NEWTON):
            logs = log_omega(a - c + level, xp) - level
            p = xp.exp(logs)
            excess = xp.sum(p, axis=1, keepdims=True) - 1
            if bool(xp.all(xp.abs(excess) <= 4 * v.shape[1] * eps(v))):
                break
            c = c + excess / xp.sum(p / (1 + step * p), axis=1, keepdims=True)
        return c + logs

    def conjugate(self, y: Array, u: Array) -> Any:
        xp = namespace(u)
        q = u + _indicator(y, u)
        rounding = 8 * u.shape[1] * eps(u)
        within = (xp.min(q, axis=1) >= -rounding) & (xp.abs(xp.sum(q, axis=1) - 1) <= rounding)
        return xp.where(within, xp.sum(entropy(xp.clip(q, min=0.0), xp), axis=1), inf)

    def link(self, mean: Array) -> Any:
        xp = namespace(mean)
        logs = logarithm(mean, xp, 0.0)
        finite = xp.astype(mean > 0, mean.dtype)
        centre = xp.sum(logs, axis=-1, keepdims=True) / xp.sum(finite, axis=-1, keepdims=True)
        return xp.where(mean > 0, logs - centre, -inf)

    def link_inverse(self, f: Array) -> Any:
        xp = namespace(f)
        power = xp.exp(f - xp.max(f, axis=-1, keepdims=True))
        return power / xp.sum(power, axis=-1, keepdims=True)

    def targets(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.permutation(np.arange(n) % 4)


def _indicator(y: Array, f: Array) -> Any:
    """The rows e_y, with the type of f."""
    xp = namespace(f)
    return xp.astype(y[:, None] == xp.arange(f.shape[1], dtype=y.dtype, device=device_of(f)), f.dtype)
