"""Probability measures under which some kernels have a Mercer expansion in closed form."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy import special

from ._array import host
from ._errors import check_number, where
from .types import Array

__all__ = ["GaussianMeasure", "Measure", "UniformMeasure"]


class Measure:
    """A probability measure on ℝᵈ."""

    @property
    def dimension(self) -> int:
        """d."""
        raise NotImplementedError

    def quadrature(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Gauss quadrature with n nodes per coordinate: nodes of shape (nᵈ, d), and weights that sum to 1.

        ∫ p dμ = Σ wᵢ p(xᵢ) for polynomials p of degree < 2n in each coordinate.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class GaussianMeasure(Measure):
    r"""The normal distribution.

    .. math:: \mathcal N(m, S S^\top)

    Parameters
    ----------
    mean : float or array of shape (d,)
        m.
    std : float > 0, array of shape (d,), or array of shape (d, d)
        The standard deviation, one per coordinate, or an invertible matrix S, for which the covariance is SSᵀ.

    Examples
    --------
    >>> nodes, weights = GaussianMeasure(mean=1.0, std=2.0).quadrature(3)
    >>> float(weights @ (nodes[:, 0] - 1.0) ** 2)
    4.0
    """

    def __init__(self, mean: Array = 0.0, std: Any = 1.0):
        self.mean, self.std = mean, std
        m, S = self.parts()
        good = np.all(np.isfinite(S)) and S.shape == (len(m), len(m)) and np.linalg.cond(S) < 1e15
        if not good or (host(std).ndim < 2 and np.any(S < 0)):
            raise ValueError(f"GaussianMeasure: std = {std!r} must be > 0, or an invertible square matrix.")
        if not np.all(np.isfinite(m)):
            raise ValueError(f"GaussianMeasure: mean = {mean!r} must be finite.")

    @property
    def dimension(self) -> int:
        return len(self.parts()[0])

    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """m as a vector and S as a matrix."""
        S = host(self.std).astype(np.float64)
        m = host(self.mean).astype(np.float64)
        shape = _common_shape(self, mean=m.shape, std=S.shape[:1])
        return m + np.zeros(shape), S if S.ndim == 2 else np.diag(S + np.zeros(shape))

    def quadrature(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        m, S = self.parts()
        nodes, weights = _tensor_rule(special.roots_hermitenorm, n, len(m))
        return m + nodes @ S.T, weights / weights.sum()


class UniformMeasure(Measure):
    """The uniform distribution on an interval or a box.

    Parameters
    ----------
    lower, upper : float or array of shape (d,)
        Corners, lower < upper.

    Examples
    --------
    >>> nodes, weights = UniformMeasure(0.0, 3.0).quadrature(2)
    >>> round(float(weights @ nodes[:, 0] ** 2), 12)
    3.0
    """

    def __init__(self, lower: Array = 0.0, upper: Array = 1.0):
        self.lower, self.upper = lower, upper
        a, b = self.corners()
        if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b)) and np.all(a < b)):
            raise ValueError(f"UniformMeasure: lower = {lower!r} must be less than upper = {upper!r}, both finite.")

    @property
    def dimension(self) -> int:
        return len(self.corners()[0])

    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        """The two corners as vectors."""
        a, b = host(self.lower).astype(np.float64), host(self.upper).astype(np.float64)
        shape = _common_shape(self, lower=a.shape, upper=b.shape)
        return a + np.zeros(shape), b + np.zeros(shape)

    def quadrature(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        a, b = self.corners()
        nodes, weights = _tensor_rule(special.roots_legendre, n, len(a))
        return a + (nodes + 1) / 2 * (b - a), weights / weights.sum()


def _common_shape(owner: object, **shapes: tuple[int, ...]) -> tuple[int]:
    """(d,) for parameters that are numbers or vectors of length d; (1,) for numbers."""
    known = {shape for shape in shapes.values() if shape}
    if len(known) > 1 or any(len(shape) != 1 for shape in known):
        listed = " and ".join(f"{name} of shape {shape}" for name, shape in shapes.items())
        raise ValueError(f"{where(owner)}: {listed} do not agree; pass numbers or one entry per coordinate.")
    return known.pop()[:1] if known else (1,)  # type: ignore[return-value]


def _tensor_rule(rule: Any, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The product of d copies of a rule on the line."""
    check_number("quadrature", "n", n, at_least=1, integer=True)
    x, w = rule(n)
    nodes = np.stack(np.meshgrid(*[x] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return nodes, reduce(np.multiply.outer, [w] * d).ravel()
