"""Wendland's compactly supported kernels."""

from __future__ import annotations

from copy import copy
from math import log, prod
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, softmax

from ..types import Array, Checked, Namespace
from ._base import register
from ._definiteness import STRICTLY_PD
from ._integrable import Integrable, at_radii, log_beta, log_sphere
from ._limits import power, root


def _coefficients(k: int, e: int) -> list[float]:
    """Coefficients of the factor p_k in ascending order, with p_k(0) = 1 (corollary 9.14, normalised); e is l."""
    if k == 0:
        return [1]
    if k == 1:
        return [1, e + 1]
    if k == 2:
        return [1, e + 2, (e**2 + 4 * e + 3) / 3]
    return [1, e + 3, (6 * e**2 + 36 * e + 45) / 15, (e**3 + 9 * e**2 + 23 * e + 15) / 15]


def _polynomial(k: int, e: int, r: Array) -> Any:
    """p_k(r)."""
    value: Any = 0.0
    for c in reversed(_coefficients(k, e)):
        value = value * r + c
    return value


@register
class Wendland(Integrable):
    r"""Wendland's kernel of compact support, with the smallest degree for its smoothness and dimension.

    .. math::

        k(x, y) = (1 - r)_+^{l + k} \, p_k(r), \qquad r = \frac{\|x - y\|}{\ell}, \quad
        l = \lfloor d/2 \rfloor + k + 1

    with :math:`p_0 = 1`, :math:`p_1 = (l + 1) r + 1`, :math:`3 p_2 = (l^2 + 4l + 3) r^2 + (3l + 6) r + 3` and
    :math:`15 p_3 = (l^3 + 9l^2 + 23l + 15) r^3 + (6l^2 + 36l + 45) r^2 + (15l + 45) r + 15`.

    Parameters
    ----------
    smoothness : {0, 1, 2, 3}
        k: functions are 2k times continuously differentiable. d is the number of columns of X.
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        Radius of the support: k is 0 for points further apart. Larger is smoother. A string is replaced by its value
        on the training data.

    Notes
    -----
    Strictly positive definite in the dimension d of the data, where its space is the Sobolev space of order
    d/2 + k + ½ with an equivalent norm (d ≥ 3 for k = 0). As φ_{d,k} = I φ_{d,k−1} up to a factor, with the same l
    and (Iφ)(r) = ∫_r^∞ t φ(t) dt, its derivative in r² is −½ (l + 2k − 1)(l + 2k)/(2k − 1) times the kernel of k − 1.
    `gradient_x` and `mixed_xy` exist for k ≥ 1. For k = 0 and d = 1 the derivative in ℓ jumps at r = 1. A matrix
    costs O(nmd).

    References
    ----------
    Wendland, *Piecewise polynomial, positive definite and compactly supported radial functions of minimal degree*
    (1995); *Scattered Data Approximation* (2005), definition 9.11, theorem 9.13, corollary 9.14.

    Examples
    --------
    >>> Wendland(smoothness=1, lengthscale=2.0)([[0.0], [1.0], [2.0]])
    array([[1.    , 0.3125, 0.    ],
           [0.3125, 1.    , 0.3125],
           [0.    , 0.3125, 1.    ]])
    """

    proven = STRICTLY_PD
    trials = [(k, 3.0) for k in range(4)] + [(2, np.array([2.0, 3.0, 5.0]))]
    vanishes = True
    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "log_normalizer")
    _exponent: int
    rules = {"smoothness": (0, 1, 2, 3)}

    def __init__(self, smoothness: int = 1, lengthscale: Any = 1.0):
        self.smoothness, self.lengthscale = smoothness, lengthscale

    @property
    def provides(self) -> frozenset[str]:
        return frozenset(self.abilities if self.smoothness else ("gradient_theta", "log_normalizer"))

    def in_dimension_of(self, X: Checked) -> Self:
        kernel = copy(self)
        kernel._exponent = X.shape[1] // 2 + int(self.smoothness) + 1
        return kernel

    def derivative(self, s: Array, xp: Namespace, order: int) -> Any:
        """The derivative in s, in steps k → k − 1; the last, from k = 0, is (½ d/dr)/r."""
        k, e = int(self.smoothness), self._exponent
        steps = min(order, k)
        factor = prod(-0.5 * (e + 2 * i - 1) * (e + 2 * i) / (2 * i - 1) for i in range(k, k - steps, -1))
        r = root(s, xp)
        rest = xp.clip(1 - r, 0.0, None)
        if order <= k:
            return factor * rest ** (e + k - order) * _polynomial(k - order, e, r)
        inside = xp.astype(r < 1, r.dtype)  # needed for l = 1, where rest ** 0 would be 1 outside the support
        return factor * -0.5 * e * inside * rest ** (e - 1) * power(s, -0.5, xp)

    def _parts(self, dimension: int) -> tuple[np.ndarray, int]:
        """log ∫ c_j r^{d − 1 + j} (1 − r)^{l + k} dr for the terms c_j rʲ of p_k, and l + k + 1."""
        k = int(self.smoothness)
        e = dimension // 2 + k + 1
        terms = enumerate(_coefficients(k, e))
        return np.array([log(c) + log_beta(dimension + j, e + k + 1) for j, c in terms]), e + k + 1

    def reach(self, level: Array) -> Any:
        return np.ones(np.shape(level))

    def unit_log_mass(self, dimension: int) -> float:
        return log_sphere(dimension) + float(logsumexp(self._parts(dimension)[0]))

    def unit_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        parts, tail = self._parts(dimension)
        part = rng.choice(len(parts), size=n, p=softmax(parts))
        return at_radii(rng.beta(dimension + part, tail), dimension, rng)
