"""Radial profiles of non-Euclidean distances, with the integrals that make them densities.

k(x, y) = φ(δ(x, y)²) for the profile φ of a radial kernel. For a norm δ(x, y) = ‖T(x − y)‖ₚ, ∫ k is the Euclidean
integral times the ratio of the ball volumes, and a draw keeps its radius but takes a direction drawn for that norm. On
the sphere, the distance between two points is the angle between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, lgamma, log, pi
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from .._array import host, like
from .._errors import SQUARED, shown, where
from .._units import power_of_two
from ..types import Array, Checked
from ._base import Kernel
from ._integrable import Integrable

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


class OfDistance(Kernel):
    """Base class: a subclass implements `distances` between host arrays, `log_normalizer` and `density_sample`."""

    abilities = ("log_normalizer",)
    kernel: Integrable

    def distances(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """δ(xᵢ, yⱼ)."""
        raise NotImplementedError

    def _unit(self, X: np.ndarray, Y: np.ndarray) -> float:
        """A power of two by which to divide points, if distances scale with them; otherwise 1."""
        return 1.0

    def _distances(self, X: Checked, Y: Checked) -> tuple[Any, bool]:
        """δ² in units of the lengthscale, and whether any of it is infinite (k vanishes there)."""
        A, B, unit = host(X), host(Y), self._unit(host(X), host(Y))
        with np.errstate(over="ignore", divide="ignore"):
            d = self.distances(A / unit, B / unit)
            s = np.where(d > 0, d / (float(self.kernel.lengthscale) / unit), 0.0) ** 2
        vast = not np.isfinite(s).all()
        if vast:
            self.kernel._require_vanishing(s.dtype)
        return like(s, X), vast

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return self.kernel.in_dimension_of(X).at_distances(*self._distances(X, X if Y is None else Y))

    def evaluate_diag(self, X: Checked) -> Any:
        return self.kernel.evaluate_diag(X)

    def validate(self) -> None:
        if not isinstance(self.kernel, Integrable):
            raise TypeError(
                f"{where(self)}: kernel = {shown(self.kernel)} must be an Integrable kernel, such as Gaussian()."
            )
        self.kernel.validate()
        if np.ndim(host(self.kernel.lengthscale)):
            raise ValueError(f"{where(self)}: {self.kernel} has several lengthscales; give metric_params instead.")

    def resolve(self, X: Checked) -> Self:
        return self._with(self.kernel.resolve(X))

    def dilated(self, factor: float) -> Self:
        return self._with(self.kernel.dilated(factor))

    def _with(self, kernel: Integrable) -> Self:
        return type(self)(**{**self.get_params(deep=False), "kernel": kernel})

    def log_dilated(self, X: Checked, Y: Checked, factors: Iterable[float]) -> Iterator[Any]:
        return Integrable.log_dilated(self, X, Y, factors)

    def in_dimension_of(self, X: Checked) -> Self:
        return self._with(self.kernel.in_dimension_of(X))

    def log_at_distances(self, s: Array, vast: bool) -> Any:
        """log φ."""
        return self.kernel.log_at_distances(s, vast)


class OfNorm(OfDistance):
    """φ(‖T(x − y)‖ₚ²); T is one number per column, a matrix, or None for the identity."""

    def __init__(self, kernel: Integrable, p: float = 2.0, transform: Any = None):
        self.kernel, self.p, self.transform = kernel, p, transform

    @property
    def _matrix(self) -> np.ndarray:
        return np.asarray(1.0 if self.transform is None else self.transform)

    def _unit(self, X: np.ndarray, Y: np.ndarray) -> float:
        most = max(power_of_two(X), power_of_two(Y)) * 2.0**-SQUARED  # so that quotients do not overflow
        return max(power_of_two(host(self.kernel.lengthscale)), most)

    def distances(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        names = {1.0: "cityblock", 2.0: "euclidean", inf: "chebyshev"}
        A, B = self._transformed(X), self._transformed(Y)
        return cdist(A, B, names[self.p]) if self.p in names else cdist(A, B, "minkowski", p=self.p)

    def _transformed(self, X: np.ndarray) -> np.ndarray:
        T, X = self._matrix, X.astype(np.float64, copy=False)
        return X @ T.T if T.ndim == 2 else X * T

    def log_normalizer(self, dimension: int) -> float:
        T = self._matrix
        if T.ndim and T.shape[-1] != dimension:
            raise ValueError(
                f"{where(self)}: metric_params are for {T.shape[-1]} columns, and X has {dimension}; they must agree."
            )
        volume = np.linalg.slogdet(T)[1] if T.ndim == 2 else np.sum(np.log(T * np.ones(dimension)))
        balls = log_ball(dimension, self.p) - log_ball(dimension, 2.0)
        return self.kernel.log_normalizer(dimension) + balls - float(volume)

    def density_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        radii = np.linalg.norm(self.kernel.density_sample(n, dimension, rng), axis=1)
        if self.p == inf:
            U = rng.uniform(-1, 1, size=(n, dimension))
        else:  # density proportional to exp(−|u|ᵖ): direction and length are independent
            U = rng.gamma(1 / self.p, size=(n, dimension)) ** (1 / self.p) * rng.choice([-1.0, 1.0], (n, dimension))
        U *= (radii / np.linalg.norm(U, ord=self.p, axis=1))[:, None]
        T = self._matrix
        return np.linalg.solve(T, U.T).T if T.ndim == 2 else U / T


class OnSphere(OfDistance):
    """φ(θ²), with θ the angle between two points on the sphere, given by latitude and longitude in radians."""

    def __init__(self, kernel: Integrable):
        self.kernel = kernel

    def distances(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
        half = np.sin((X[:, :1] - Y[:, 0]) / 2) ** 2
        half += np.cos(X[:, :1]) * np.cos(Y[:, 0]) * np.sin((X[:, 1:] - Y[:, 1]) / 2) ** 2
        return 2 * np.arcsin(np.sqrt(np.clip(half, 0, 1)))

    def log_normalizer(self, dimension: int) -> float:
        """The logarithm of ∫ k(x, y) dy over the sphere, 2π ∫ φ(θ²) sin θ dθ."""
        if dimension != 2:
            raise ValueError(
                f"{where(self)}: 'haversine' needs latitude and longitude in radians, but X has {dimension} columns."
            )
        scale = float(host(self.kernel.lengthscale))
        ends = np.minimum(np.append(0.0, 2.0 ** np.arange(0, max(log(pi / scale, 2), 0) + 2)), pi / scale)
        t = ((ends[1:] + ends[:-1]) / 2)[:, None] + ((ends[1:] - ends[:-1]) / 2)[:, None] * NODES
        values = self.kernel.profile(t**2, np) * np.sin(scale * t)
        return log(2 * pi * scale * float(np.sum((values @ WEIGHTS) * (ends[1:] - ends[:-1]) / 2)))

    def density_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n random steps (north, east) in the tangent plane; the length of a step is the angle."""
        angles = np.empty(0)
        narrow = float(host(self.kernel.lengthscale)) < 1 and self.kernel.log_normalizer(2) < inf
        while len(angles) < n:
            if narrow:  # propose from the plane, where circles are longer by the factor θ / sin θ
                drawn = np.linalg.norm(self.kernel.density_sample(2 * n, 2, rng), axis=1)
                odds = np.where(drawn < pi, np.sinc(drawn / pi), 0.0)
            else:  # propose from the sphere
                drawn = np.arccos(rng.uniform(-1, 1, 2 * n))
                odds = self.kernel.profile((drawn / self.kernel.lengthscale) ** 2, np)
            angles = np.append(angles, drawn[rng.uniform(size=2 * n) < odds])
        azimuth = rng.uniform(0, 2 * pi, n)
        return angles[:n, None] * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)

    def moved(self, X: Checked, steps: np.ndarray) -> Any:
        (latitude, longitude), (north, east) = host(X).T.astype(np.float64), steps.T
        angle = np.hypot(north, east)
        share = np.sinc(angle / pi)  # sin(angle) / angle
        up = np.cos(angle) * np.sin(latitude) + share * north * np.cos(latitude)
        out = np.cos(angle) * np.cos(latitude) - share * north * np.sin(latitude)
        turned = longitude + np.arctan2(share * east, out)
        return like(np.stack([np.arctan2(up, np.hypot(out, share * east)), turned], axis=1), X)


def log_ball(dimension: int, p: float) -> float:
    """The logarithm of the volume of the unit ball of the p-norm in ℝᵈ, (2Γ(1 + 1/p))ᵈ / Γ(1 + d/p)."""
    return dimension * (log(2) + lgamma(1 + 1 / p)) - lgamma(1 + dimension / p)
