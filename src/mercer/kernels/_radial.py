"""Radial kernels: k(x, y) = φ(s) with s = ‖Λ⁻¹(x − y)‖², Λ the lengthscale (a number, one per feature, or a matrix).

A radial kernel implements `profile` (φ), and `slope` (φ′) and `curvature` (φ″) if it is smooth enough; the derivatives
in x, y and the lengthscale follow:

    ∂k/∂x     = 2 φ′(s) M (x − y),                    M = Λ⁻ᵀΛ⁻¹
    ∂²k/∂x∂yᵀ = −2 φ′(s) M − 4 φ″(s) M (x − y)(x − y)ᵀ M
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from math import isfinite, log2
from typing import Any, ClassVar, Self

import numpy as np

from .._array import (
    device_of,
    doubles,
    host,
    is_sparse,
    like,
    namespace,
    row_products,
)
from .._errors import UnresolvedError, check_number, unwritten, where
from .._units import divided, out_of_squares, power_of_two, squarable
from ..domains import Vectors
from ..evaluation import Pairs, Points, radial_points
from ..types import Array, Checked, DType, Namespace
from . import bandwidth
from ._abilities import Matrix, Names
from ._base import Kernel
from ._distances import FEW, accurate, in_strips, squared_distances

TINY = 2.0**-125  # a lengthscale between this and its reciprocal has a reciprocal of full precision
EACH = np.array([0.5, 1.0, 2.0])  # lengthscales of trials: one per feature, and a matrix
FULL = np.array([[1.0, 0.3, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 1.5]])


class Radial(Kernel):
    """Base class of kernels of scaled Euclidean distance; the module says what a subclass implements."""

    stationary = True
    domain = Vectors(sparse=True)
    abilities: ClassVar[tuple[str, ...]] = ("gradient_theta",)
    gaussian: ClassVar[bool] = False  # whether φ(s) = exp(−s/2), whose rows have compiled code
    vanishes: ClassVar[bool] = False  # whether φ rounds to 0 wherever s overflows
    from_zero: ClassVar[bool] = False  # whether φ(0) = 0, so that small values of s keep their digits in k

    def __init__(self, lengthscale: Any = 1.0):
        self.lengthscale = lengthscale

    def derivative(self, s: Array, xp: Namespace, order: int) -> Any:
        """φ, φ′ or φ″ by order, if one formula gives all three."""
        raise unwritten(self, ("profile", "slope", "curvature")[order])

    def profile(self, s: Array, xp: Namespace) -> Any:
        """φ of the squared scaled distance."""
        return self.derivative(s, xp, 0)

    def slope(self, s: Array, xp: Namespace) -> Any:
        """φ′; at s = 0, its limit if finite, else 0."""
        return self.derivative(s, xp, 1)

    def curvature(self, s: Array, xp: Namespace) -> Any:
        """φ″; at s = 0 any finite value if s φ″(s) → 0."""
        return self.derivative(s, xp, 2)

    def validate(self) -> None:
        if isinstance(self.lengthscale, str):
            if self.lengthscale not in bandwidth.RULES:
                listed = ", ".join(map(repr, bandwidth.RULES))
                raise ValueError(
                    f"{where(self)}: lengthscale = {self.lengthscale!r} is unknown; give a number or one of {listed}."
                )
            raise UnresolvedError(self, "lengthscale", self.lengthscale)
        scale = host(self.lengthscale)
        if scale.ndim == 0:
            check_number(self, "lengthscale", self.lengthscale, above=0)
        elif not self._is_scale(scale):
            raise ValueError(
                f"{where(self)}: lengthscale of shape {scale.shape} must be a number > 0, one number > 0 per feature, "
                "or an invertible square matrix."
            )
        super().validate()

    @staticmethod
    def _is_scale(scale: np.ndarray) -> bool:
        if scale.dtype.kind not in "fiu" or not np.all(np.isfinite(scale)):
            return False
        if scale.ndim == 1:
            return bool(np.all(scale > 0))
        return scale.ndim == 2 and scale.shape[0] == scale.shape[1] and bool(np.linalg.cond(scale) < 1e15)

    def resolve(self, X: Checked) -> Self:
        kernel = super().resolve(X)
        if isinstance(self.lengthscale, str) and self.lengthscale in bandwidth.RULES:
            kernel.lengthscale = bandwidth.RULES[self.lengthscale](X)
        return kernel

    def scaled(self, X: Checked) -> Any:
        """Λ⁻¹ x for each row."""
        scale = host(self.lengthscale)
        if scale.ndim == 0:
            ell = float(scale)
            if TINY <= ell <= 1.0 / TINY:
                return X if ell == 1.0 else X * (1.0 / ell)
            unit = power_of_two(scale)
            return divided(X, unit) * (unit / ell)  # the same digits
        if scale.shape[0] != X.shape[1]:
            raise ValueError(
                f"{where(self)}: lengthscale has {scale.shape[0]} entries, but X has {X.shape[1]} columns."
            )
        if scale.ndim == 1:
            inverse = like(1.0 / scale, X)
            return X.multiply(inverse[None, :]).tocsr() if is_sparse(X) else X * inverse
        A = like(np.linalg.inv(scale).T, X)
        return X @ A

    def scaled_distances(self, X: Checked, Y: Checked = None) -> Any:
        """s: the matrix ‖Λ⁻¹(xᵢ − yⱼ)‖²; infinite where it overflows, so that k is 0."""
        return self._distances(X, Y)[0]

    def _distances(self, X: Checked, Y: Checked) -> tuple[Any, bool]:
        """s, and whether it may contain infinities."""
        scaled = self.centred([X] if Y is None else [X, Y])
        if self.have_squares(*scaled):
            return squared_distances(*scaled), False
        return self._vast_distances(X, Y), True

    def centred(self, parts: list[Any]) -> list[Any]:
        """Λ⁻¹(x − c) for each row, with c the mean of the last part, or 0 for sparse data."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if not any(is_sparse(Z) for Z in parts):
                # rounding in the scaling must be relative to the spread of the data, not to its distance from 0
                centre = namespace(parts[-1]).mean(parts[-1], axis=0)
                parts = [Z - centre for Z in parts]
            return [self.scaled(Z) for Z in parts]

    def have_squares(self, *scaled: Any) -> bool:
        """Whether squared distances of scaled points do not overflow; raise if they underflow and k with them."""
        out = out_of_squares(*scaled)
        if out < 0 and self.from_zero:
            raise ValueError(
                f"{where(self)}: X holds points so close, in units of the lengthscale, that their squared distance "
                f"underflows {scaled[0].dtype}; scale the data, or lower the lengthscale ('median')."
            )
        return out <= 0

    def _vast_distances(self, X: Checked, Y: Checked) -> Any:
        """s for points whose squared scaled coordinates overflow, computed exactly in power-of-two units."""
        parts = [X] if Y is None else [X, Y]
        length = host(self.lengthscale).astype(np.float64)
        units = (
            max(map(power_of_two, parts)),
            float(np.min(np.abs(length)) if length.ndim < 2 else power_of_two(length)),
        )
        kernel = copy(self)
        kernel.lengthscale = length / units[1]
        s = squared_distances(*kernel.centred([divided(Z, units[0]) for Z in parts]))
        xp = namespace(s)
        power = 2 * (log2(units[0]) - log2(units[1]))
        most = log2(float(xp.finfo(s.dtype).max))
        beyond = (s > 0) & (s >= 2.0 ** min(most - 1 - power, most - 1))
        if bool(xp.any(beyond)):
            self._require_vanishing(s.dtype)
        third = 2.0 ** (min(power, 2.2 * most) / 3)
        return xp.where(beyond, xp.inf, xp.where(beyond, 0.0, s) * third * third * third)

    def _require_vanishing(self, dtype: DType) -> None:
        if not self.vanishes:
            raise ValueError(
                f"{where(self)}: X holds points so far apart, in units of the lengthscale, that their squared distance "
                f"overflows {dtype}; scale the data, or raise the lengthscale."
            )

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        kernel, parts = self.in_dimension_of(X), [X] if Y is None else [X, Y]
        if not all(type(Z) is np.ndarray and Z.shape[1] > FEW for Z in parts):
            return kernel.at_distances(*self._distances(X, Y))
        scaled = self.centred(parts)
        if not self.have_squares(*scaled):
            return kernel.at_distances(self._vast_distances(X, Y), True)
        return in_strips(scaled[0], scaled[-1], Y is None, partial(kernel.profile, xp=namespace(X)))

    def against(self, Y: Checked) -> Callable[[Any], Any]:
        distances, kernel = self.distances_to(Y), self.in_dimension_of(Y)
        return lambda X: kernel.at_distances(*distances(X))

    def distances_to(self, Y: Checked) -> Callable[[Any], tuple[Any, bool]]:
        """X ↦ s, and whether it may contain infinities; Y is centred and scaled once."""
        plain = partial(self._distances, Y=Y)
        if type(Y) is not np.ndarray:
            return plain
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            centre = Y.mean(axis=0)
            B = self.scaled(Y - centre)
        if out_of_squares(B):
            return plain
        few, b, most = Y.shape[1] <= FEW, row_products(B, B), 4.0 ** squarable(B)

        def distances(X: Any) -> tuple[Any, bool]:
            if type(X) is not np.ndarray:
                return plain(X)
            with np.errstate(over="ignore", invalid="ignore"):
                A = self.scaled(X - centre)
                a = row_products(A, A)
            if not a.max() <= most:
                return plain(X)
            if few:
                return squared_distances(A, B), False
            return accurate((A, a, A), (B, b, B), False), False

        return distances

    def at_distances(self, s: Array, vast: bool) -> Any:
        """φ of the squared scaled distances; if `vast`, some of these may be infinite."""
        xp = namespace(s)
        if not vast:
            return self.profile(s, xp)
        near = xp.isfinite(s)
        return xp.where(near, self.profile(xp.where(near, s, 0.0), xp), 0.0)

    def check_values(self, X: Checked, owner: object) -> None:
        """Check k between corners of the box around X, where it is largest if φ grows."""
        if self.vanishes or is_sparse(X):
            return
        xp = namespace(X)
        kernel = self.in_dimension_of(X)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value = float(kernel.evaluate(xp.min(X, axis=0)[None, :], xp.max(X, axis=0)[None, :])[0, 0])
        except ValueError as error:
            raise ValueError(f"{where(owner)}, {error}") from error
        if not isfinite(value):
            raise ValueError(
                f"{where(owner)}: the kernel {self} between distant samples is beyond the largest {X.dtype} number; "
                "scale the data."
            )

    def formula(self, pairs: Pairs) -> Any:
        scale = host(self.lengthscale)
        s = pairs.distances(factor=float(scale) ** -2) if scale.ndim == 0 else pairs.distances(self.scaled)
        return self.in_dimension_of(pairs.X).profile(s, pairs.xp)

    def points(self, X: Checked, beside: Any = None) -> Points:
        return radial_points(self.in_dimension_of(X), X, beside)

    def evaluate_diag(self, X: Checked) -> Any:
        xp = namespace(X)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.scaled(X[:1, :])  # raises for a lengthscale of the wrong length
        place = {} if is_sparse(X) else {"device": device_of(X)}
        return self.in_dimension_of(X).profile(xp.zeros((X.shape[0],), dtype=X.dtype, **place), xp)

    def _pieces(self, X: Checked, Y: Checked) -> tuple[Any, Any, Any, Any]:
        """xp, s, M and the differences M(x − y) of shape (n, m, d)."""
        xp, scale = namespace(X), host(self.lengthscale)
        inverse = like(np.diag(np.ones(X.shape[1]) / scale) if scale.ndim < 2 else np.linalg.inv(scale), X)
        U = xp.matmul(X[:, None, :] - Y[None, :, :], xp.matrix_transpose(inverse))
        return xp, xp.sum(U**2, axis=-1), xp.matmul(xp.matrix_transpose(inverse), inverse), xp.matmul(U, inverse)

    def d_x(self, X: Checked, Y: Checked) -> Any:
        xp, s, _, MD = self._pieces(X, Y)
        return 2 * self.slope(s, xp)[..., None] * MD

    def d_xy(self, X: Checked, Y: Checked) -> Any:
        xp, s, M, MD = self._pieces(X, Y)
        outer = MD[..., :, None] * MD[..., None, :]
        return -2 * self.slope(s, xp)[..., None, None] * M - 4 * self.curvature(s, xp)[..., None, None] * outer

    def profile_theta(self, s: Array, xp: Namespace) -> dict[str, Any]:
        """∂φ/∂θ for parameters other than the lengthscale."""
        return {}

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        self.require_dense(X, Y)
        xp, s, _, MD = self._pieces(X, Y)
        scale, slope = host(self.lengthscale), self.slope(s, xp)
        if scale.ndim == 0:
            gradient = -2 * slope * s / float(scale)
        elif scale.ndim == 1:
            gradient = -2 * slope[..., None] * MD**2 * like(scale, MD)
        else:  # ∂s/∂Λ = −2 Λ⁻ᵀu uᵀ with u = Λ⁻¹(x − y) and M(x − y) = Λ⁻ᵀu
            u = xp.matmul(MD, like(scale, MD))
            gradient = -2 * slope[..., None, None] * MD[..., :, None] * u[..., None, :]
        return {"lengthscale": gradient, **self.profile_theta(s, xp)}

    def adjoint(self, X: Checked, Y: Checked, E: Array, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
        length = doubles(self.lengthscale)
        other = type(self).d_theta is not Radial.d_theta
        if other or length.ndim > 1 or (length.ndim == 1 and is_sparse(X)) or (wanted is not None and not wanted):
            return super().adjoint(X, Y, E, wanted)
        kernel, found = self.in_dimension_of(X), {}
        if self.gaussian and K is not None and length.ndim:
            W = -0.5 * E * K  # φ′ = −φ/2
        else:
            s = np.asarray(self.scaled_distances(X, Y))
            W = E * kernel.slope(s, namespace(s))
            found = {name: np.vdot(E, D) for name, D in kernel.profile_theta(s, namespace(s)).items()}
        if length.ndim == 0:
            found["lengthscale"] = -2 * np.vdot(W, s) / float(length)
        else:  # Σ W (aᵢ − bⱼ)² feature by feature, for centred and scaled points
            centre = np.mean(Y, axis=0)
            A, B = self.scaled(X - centre), self.scaled(Y - centre)
            squares = W.sum(axis=1) @ A**2 + W.sum(axis=0) @ B**2 - 2 * np.sum(A * (W @ B), axis=0)
            found["lengthscale"] = -2 * squares / length
        return {name: g for name, g in found.items() if wanted is None or name in wanted}

    def frequencies(self, W: np.ndarray) -> np.ndarray:
        """Spectral draws for lengthscale 1 (rows of W) converted to this lengthscale: Λ⁻ᵀω."""
        scale = host(self.lengthscale)
        return W / scale if scale.ndim < 2 else W @ np.linalg.inv(scale)
