"""Compactly supported kernels for smoothing and density estimation; most are not positive definite."""

from __future__ import annotations

from math import factorial, log, pi
from typing import Any, ClassVar

import numpy as np

from ..types import Array, Namespace
from ._base import register
from ._definiteness import INDEFINITE, STRICTLY_PD, UNKNOWN, Definiteness
from ._integrable import Integrable, at_radii, log_beta, log_sphere
from ._limits import root


class _Bump(Integrable):
    """φ on the unit ball and 0 outside, defined by φ, ∫₀¹ rᵈ⁻¹ φ dr and draws of r."""

    proven = INDEFINITE
    trials = [(1.7,), (np.array([1.0, 2.0, 3.0]),)]
    abilities: ClassVar[tuple[str, ...]] = ("log_normalizer",)
    vanishes = True

    def log_moment(self, dimension: int) -> float:
        """log ∫₀¹ rᵈ⁻¹ φ(r²) dr."""
        raise NotImplementedError

    def radii(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n draws from the density proportional to rᵈ⁻¹ φ(r²)."""
        raise NotImplementedError

    def reach(self, level: Array) -> Any:
        return np.ones(np.shape(level))

    def unit_log_mass(self, dimension: int) -> float:
        return log_sphere(dimension) + self.log_moment(dimension)

    def unit_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return at_radii(self.radii(n, dimension, rng), dimension, rng)


@register
class Tophat(_Bump):
    r"""Tophat kernel: 1 if two points are closer than the lengthscale, else 0.

    .. math:: k(x, y) = 1 \;\text{ if }\; \|x - y\| < \ell, \;\text{ else }\; 0

    Parameters
    ----------
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        ℓ, the radius of the ball. Larger is smoother. A string is replaced by its value on the training data.

    Notes
    -----
    For density estimation and smoothing: not positive definite in any dimension, because on a line its Fourier
    transform 2 sin(ω)/ω is negative in places. A matrix costs O(nmd).

    References
    ----------
    Silverman, *Density Estimation for Statistics and Data Analysis* (1986).

    Examples
    --------
    >>> Tophat(lengthscale=2.0)([[0.0]], [[1.0], [3.0]])
    array([[1., 0.]])
    """

    def profile(self, s: Array, xp: Namespace) -> Any:
        return xp.astype(s < 1, s.dtype)

    def log_moment(self, dimension: int) -> float:
        return -log(dimension)

    def radii(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return rng.beta(dimension, 1, size=n)


@register
class Epanechnikov(_Bump):
    r"""Epanechnikov kernel, with the smallest mean integrated squared error among non-negative kernels.

    .. math:: k(x, y) = \left(1 - \frac{\|x - y\|^2}{\ell^2}\right)_+

    Parameters
    ----------
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        ℓ, the radius of the support. Larger is smoother. A string is replaced by its value on the training data.

    Notes
    -----
    For density estimation and smoothing: not positive definite in any dimension, because on a line its Fourier
    transform 4 (sin ω − ω cos ω)/ω³ is negative in places. A matrix costs O(nmd).

    References
    ----------
    Epanechnikov, *Non-parametric estimation of a multivariate probability density* (1969).

    Examples
    --------
    >>> Epanechnikov(lengthscale=2.0)([[0.0]], [[1.0], [3.0]])
    array([[0.75, 0.  ]])
    """

    def profile(self, s: Array, xp: Namespace) -> Any:
        return xp.clip(1 - s, min=0.0)

    def log_moment(self, dimension: int) -> float:
        return log_beta(dimension / 2, 2) - log(2)

    def radii(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return np.sqrt(rng.beta(dimension / 2, 2, size=n))


@register
class Triangular(_Bump):
    r"""Triangular kernel, called "linear" in scikit-learn's density estimation.

    .. math:: k(x, y) = \left(1 - \frac{\|x - y\|}{\ell}\right)_+

    Parameters
    ----------
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        ℓ, the radius of the support. Larger is smoother. A string is replaced by its value on the training data.

    Notes
    -----
    Strictly positive definite on a line, where it is `Wendland` with smoothness 0, but not in higher dimensions:
    (1 − r)₊ᵐ is positive definite only for m ≥ (d + 1)/2. A matrix costs O(nmd).

    References
    ----------
    Golubov, *On Abel-Poisson type and Riesz means* (1981), for the condition on m. Silverman, *Density Estimation for
    Statistics and Data Analysis* (1986).

    Examples
    --------
    >>> Triangular(lengthscale=2.0)([[0.0]], [[1.0], [3.0]])
    array([[0.5, 0. ]])
    >>> Triangular().definiteness_in(1), Triangular().definiteness_in(2)
    (strictly PD, INDEFINITE)
    """

    def profile(self, s: Array, xp: Namespace) -> Any:
        return xp.clip(1 - root(s, xp), min=0.0)

    def log_moment(self, dimension: int) -> float:
        return log_beta(dimension, 2)

    def radii(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return rng.beta(dimension, 2, size=n)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        if dimension is None:
            return UNKNOWN
        return STRICTLY_PD if dimension == 1 else INDEFINITE


@register
class CosineBump(_Bump):
    r"""Cosine kernel with compact support, called "cosine" in scikit-learn's density estimation.

    .. math:: k(x, y) = \cos\left(\frac{\pi \|x - y\|}{2 \ell}\right) \;\text{ if }\; \|x - y\| < \ell,
              \;\text{ else }\; 0

    Parameters
    ----------
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        ℓ, the radius of the support. Larger is smoother. A string is replaced by its value on the training data.

    Notes
    -----
    For density estimation and smoothing: not positive definite in any dimension, because on a line its Fourier
    transform π cos(ω) / (π²/4 − ω²) is negative in places. A matrix costs O(nmd).

    References
    ----------
    Silverman, *Density Estimation for Statistics and Data Analysis* (1986).

    Examples
    --------
    >>> CosineBump(lengthscale=3.0)([[0.0]], [[2.0], [3.0]]).round(4)
    array([[0.5, 0. ]])
    """

    def profile(self, s: Array, xp: Namespace) -> Any:
        return xp.where(s < 1, xp.cos(pi / 2 * root(s, xp)), 0.0)

    def log_moment(self, dimension: int) -> float:
        # integrate the series of the cosine term by term: it converges fast, whereas integration by parts loses digits
        return log(sum((-1) ** k * (pi / 2) ** (2 * k) / factorial(2 * k) / (dimension + 2 * k) for k in range(15)))

    def radii(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        # rejection sampling from 1 − r, as 1 − r ≤ cos(πr/2) ≤ (1 − r) π/2
        out, open = np.empty(n), np.arange(n)
        while len(open):
            r = rng.beta(dimension, 2, size=len(open))
            good = rng.uniform(size=len(open)) * (1 - r) * pi / 2 <= np.cos(pi / 2 * r)
            out[open[good]] = r[good]
            open = open[~good]
        return out
