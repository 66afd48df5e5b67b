"""The loss of Poisson regression."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from .._array import namespace
from .._errors import where
from ..types import Array
from ._base import DERIVATIVES, DUAL, LINK, register, weighted
from ._scalar import LogLink, bounded, entropy, inside, log_omega, power


@register
class Poisson(LogLink):
    r"""Half the Poisson deviance, with log link and a known exposure E for each sample.

    .. math:: \ell(y, f) = y \log \frac{y}{\mu} - (y - \mu), \qquad \mu = E e^f

    Targets are counts y, or two columns: y and E > 0. An exposure (an observation time, a population) multiplies the
    rate :math:`e^f`; an offset o in other software corresponds to E = exp(o). Being part of the targets, exposures are
    split with their samples in cross-validation.

    Notes
    -----
    The loss is the negative log-likelihood minus that of the best μ, so it is 0 at μ = y; y need not be an integer. The
    conjugate is :math:`v \log(v/E) - v + y \log E - y \log y + y` with :math:`v = u + y \ge 0`. The proximal map
    solves :math:`E e^f - y + (f - v)/\mathrm{step} = 0` by Wright's ω function.

    References
    ----------
    McCullagh, Nelder, *Generalized Linear Models* (1989).

    Examples
    --------
    >>> import numpy as np
    >>> Poisson().value(np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    array([1., 0.])
    >>> Poisson().gradient(np.array([[3.0, 10.0]]), np.array([0.0]))
    array([7.])
    """

    abilities = (*DERIVATIVES, *DUAL, *LINK)
    task = "count"
    likelihood = True

    def check(self, y: Array) -> None:
        super().check(y)
        if y.ndim > 2 or (y.ndim == 2 and y.shape[1] != 2):
            raise ValueError(f"{where(self)}: y of shape {y.shape} must be counts or two columns: count and exposure.")
        count, exposure = _columns(y)
        xp = namespace(y)
        if not bool(xp.all(count >= 0)):
            raise ValueError(f"{where(self)}: counts y must be >= 0; the smallest is {float(xp.min(count)):g}.")
        if not bool(xp.all(exposure > 0)):
            raise ValueError(f"{where(self)}: exposures must be > 0; omit samples without exposure.")

    def value(self, y: Array, f: Array) -> Any:
        xp = namespace(f)
        y, exposure = _columns(y)
        # y(eᵈ − 1 − d) with d = log(μ/y): the terms of the definition cancel for large counts
        some = y > 0
        d = bounded(xp.where(some, f + xp.log(exposure / xp.where(some, y, 1.0)), 0.0), xp)
        return xp.where(some, y * (xp.expm1(d) - d), exposure * power(f, xp))

    def gradient(self, y: Array, f: Array, weight: Array = None) -> Any:
        y, exposure = _columns(y)
        return weighted(exposure * power(f, namespace(f)) - y, weight)

    def hessian(self, y: Array, f: Array, weight: Array = None) -> Any:
        return weighted(_columns(y)[1] * power(f, namespace(f)), weight)

    def prox(self, y: Array, v: Array, step: Array) -> Any:
        xp = namespace(v)
        y, exposure = _columns(y)
        level = xp.log(step * exposure)
        return log_omega(level + v + step * y, xp) - level

    def conjugate(self, y: Array, u: Array) -> Any:
        xp = namespace(u)
        y, exposure = _columns(y)
        v, within = inside(u + y, 0.0, inf, xp)
        return xp.where(within, entropy(v, xp) - v - u * xp.log(exposure) - entropy(y, xp) + y, inf)

    def targets(self, rng: np.random.Generator, n: int) -> np.ndarray:
        exposure = rng.uniform(0.2, 3.0, n)
        return np.column_stack([rng.poisson(2 * exposure).astype(float), exposure])


def _columns(y: Array) -> tuple[Any, Any]:
    """Counts and exposures."""
    return (y, namespace(y).ones_like(y)) if y.ndim == 1 else (y[:, 0], y[:, 1])
