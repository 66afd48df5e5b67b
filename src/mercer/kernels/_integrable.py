"""Radial kernels with a finite integral: k(x, ·) is a probability density up to a factor.

For k(x, y) = φ(‖Λ⁻¹(x − y)‖²) ≥ 0, the integral over y is |det Λ| ∫ φ(‖u‖²) du for every x. A kernel implements the
second factor (`unit_log_mass`), draws of u (`unit_sample`), and log φ if φ itself underflows. This module adds the
lengthscale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf, lgamma, log, pi
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._array import host, namespace
from .._errors import where
from .._units import power_of_two
from ..types import Array, Checked, Namespace
from ._radial import Radial


class Integrable(Radial):
    """Base class of radial kernels with `log_normalizer`, `density_sample`, `dilated` and `log_dilated`."""

    def unit_log_mass(self, dimension: int) -> float:
        """log ∫ φ(‖u‖²) du over ℝᵈ; infinite if φ decays too slowly."""
        raise NotImplementedError

    def unit_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n draws from the density proportional to φ(‖u‖²)."""
        raise NotImplementedError

    def log_profile(self, s: Array, xp: Namespace) -> Any:
        """log φ, even where φ underflows; −∞ outside the support."""
        with np.errstate(divide="ignore"):
            return xp.log(self.profile(s, xp))

    def log_normalizer(self, dimension: int) -> float:
        scale = host(self.lengthscale)
        self._require_dimension(scale, dimension)
        if scale.ndim == 2:
            volume = float(np.linalg.slogdet(scale)[1])
        else:
            volume = float(np.sum(np.log(scale * np.ones(dimension))))
        return volume + self.unit_log_mass(dimension)

    def density_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        if self.unit_log_mass(dimension) == inf:
            raise ValueError(f"{where(self)}: ∫ k(x, y) dy is infinite in dimension {dimension}; there is no density.")
        scale = host(self.lengthscale)
        self._require_dimension(scale, dimension)
        U = self.unit_sample(n, dimension, rng)
        return U @ scale.T if scale.ndim == 2 else U * scale

    def _require_dimension(self, scale: np.ndarray, dimension: int) -> None:
        if scale.ndim and scale.shape[0] != dimension:
            raise ValueError(
                f"{where(self)}: lengthscale has {scale.shape[0]} entries, but there are {dimension} columns."
            )

    def dilated(self, factor: float) -> Self:
        kernel = clone(self)
        scale = host(self.lengthscale)
        with np.errstate(over="ignore"):
            kernel.lengthscale = float(scale) * factor if scale.ndim == 0 else scale * factor
        size = np.abs(kernel.lengthscale).max(initial=0.0) if scale.ndim else kernel.lengthscale
        if not 0 < size < inf:
            raise ValueError(
                f"{where(self)}: lengthscale = {self.lengthscale} times the bandwidth {factor:g} overflows or "
                "underflows; give one of the two near 1, and scale the data."
            )
        return kernel

    def log_dilated(self, X: Checked, Y: Checked, factors: Iterable[float]) -> Iterator[Any]:
        factors = np.array(list(factors), dtype=np.float64)
        unit = power_of_two(factors)  # otherwise distances or squared factors may overflow or underflow
        s, vast = self.dilated(unit)._distances(X, Y)
        kernel = self.in_dimension_of(X)
        for h in (factors / unit).tolist():
            yield kernel.log_at_distances(s / h**2, vast)

    def log_against(self, Y: Checked) -> Callable[[Any], Any]:
        distances, kernel = self.distances_to(Y), self.in_dimension_of(Y)
        return lambda X: kernel.log_at_distances(*distances(X))

    def log_at_distances(self, s: Array, vast: bool) -> Any:
        """log φ of the squared scaled distances; if `vast`, some of these may be infinite."""
        xp = namespace(s)
        if not vast:
            return self.log_profile(s, xp)
        near = xp.isfinite(s)
        return xp.where(near, self.log_profile(xp.where(near, s, 0.0), xp), -xp.inf)


def log_sphere(dimension: int) -> float:
    """The logarithm of the area of the unit sphere in ℝᵈ, 2π^{d/2} / Γ(d/2)."""
    return log(2) + dimension / 2 * log(pi) - lgamma(dimension / 2)


def log_beta(a: float, b: float) -> float:
    """log B(a, b) = log ∫₀¹ tᵃ⁻¹ (1 − t)ᵇ⁻¹ dt."""
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def at_radii(radii: np.ndarray, dimension: int, rng: np.random.Generator) -> np.ndarray:
    """Points at the given distances from the origin, in uniformly random directions."""
    U = rng.normal(size=(len(radii), dimension))
    return U * (radii / np.linalg.norm(U, axis=1))[:, None]
