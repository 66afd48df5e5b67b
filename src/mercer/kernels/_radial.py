"""Radial kernels: k(x, y) = φ(s) with s = ‖Λ⁻¹(x − y)‖², Λ the lengthscale (a number, one per feature, or a matrix).

A radial kernel writes `profile` (φ), and `slope` (φ′) and `curvature` (φ″) where it is smooth enough; derivatives in
x, y and the lengthscale follow here, once:

    ∂k/∂x     = 2 φ′(s) M (x − y),                    M = Λ⁻ᵀΛ⁻¹
    ∂²k/∂x∂yᵀ = −2 φ′(s) M − 4 φ″(s) M (x − y)(x − y)ᵀ M
"""

from __future__ import annotations

from copy import copy
from math import isfinite, log2
from typing import Any, ClassVar, Self

import numpy as np

from .._array import (
    device_of,
    eps,
    host,
    is_numpy,
    is_sparse,
    is_torch,
    like,
    namespace,
    product_transposed,
    row_products,
    set_diagonal,
)
from .._errors import UnresolvedError, check_number, where
from .._units import out_of_squares, power_of_two
from ..domains import Vectors
from ..evaluation import Points, radial_points
from ..types import Array, Checked, DType, Namespace
from . import bandwidth
from ._base import Kernel

TINY = 2.0**-125  # a lengthscale between this and its reciprocal has a reciprocal of full precision
FEW = 4  # up to so many columns, coordinate differences are as fast as a matrix product, and exact


def squared_distances(X: Checked, Y: Checked = None) -> Any:
    """‖xᵢ − yⱼ‖², accurate also for close pairs.

    The expansion ‖x‖² + ‖y‖² − 2xᵀy cancels when x ≈ y. Data are centred first, and the entries that still lose more
    than half of their digits are computed again from the differences. Sparse data stay sparse (and uncentred).
    """
    A, B = X, X if Y is None else Y
    xp = namespace(A, B)
    quick = is_numpy(xp) or is_torch(xp)
    if not is_sparse(A) and not is_sparse(B):
        if not quick or A.shape[1] <= FEW:
            return _from_differences(A, B, xp)
        centre = xp.mean(B, axis=0)
        A = A - centre
        B = A if Y is None else B - centre
    a = row_products(A, A)
    b = a if Y is None else row_products(B, B)
    S = product_transposed(A, B)
    S *= -2
    size = a[:, None] + b[None, :]
    S += size  # in one step, so that a symmetric S stays symmetric to the last digit
    _repair(S, size, X, X if Y is None else Y, xp, Y is None)
    return set_diagonal(S, 0.0) if Y is None else S


def _from_differences(A: Array, B: Array, xp: Namespace) -> Any:
    S = (A[:, 0][:, None] - B[:, 0][None, :]) ** 2
    d = B.shape[1]
    for k in range(1, min(d, FEW)):
        S = S + (A[:, k][:, None] - B[:, k][None, :]) ** 2
    for k in range(FEW, d, 4 * FEW):  # fewer, larger steps; the temporary stays a small multiple of S
        part = slice(k, min(d, k + 4 * FEW))
        S = S + xp.sum((A[:, None, part] - B[None, :, part]) ** 2, axis=2)
    return S


def _repair(S: Array, size: Any, A: Array, B: Array, xp: Namespace, symmetric: bool) -> None:
    """Recompute in place the entries of S that are small against `size` = ‖x‖² + ‖y‖², or of which that overflowed."""
    lost = ~(float(eps(A)) ** 0.5 * size <= S)  # true for NaN, the difference of two infinities
    if symmetric:
        lost = set_diagonal(lost, False)
    rows, columns = xp.nonzero(lost)
    for start in range(0, rows.shape[0], 1 << 14):
        i, j = rows[start : start + (1 << 14)], columns[start : start + (1 << 14)]
        D = A[i] - B[j]
        S[i, j] = row_products(D, D)


def _unit(X: Checked) -> float:
    return power_of_two(X.data if is_sparse(X) else X)


class Radial(Kernel):
    """Base of the kernels of scaled Euclidean distance; see the module for what a subclass writes."""

    domain = Vectors(sparse=True)
    abilities: ClassVar[tuple[str, ...]] = ("gradient_theta",)
    gaussian: ClassVar[bool] = False  # whether φ(s) = exp(−s/2), which compiled rows know
    vanishes: ClassVar[bool] = False  # whether φ is 0, to the last digit, wherever s is beyond the largest float
    from_zero: ClassVar[bool] = False  # whether φ(0) = 0, so that k has the digits of s, however small that is

    def __init__(self, lengthscale: Any = 1.0):
        self.lengthscale = lengthscale

    def profile(self, s: Array, xp: Namespace) -> Any:
        """φ of the squared scaled distance."""
        raise NotImplementedError

    def slope(self, s: Array, xp: Namespace) -> Any:
        """φ′; at s = 0 its limit where that is finite, else 0."""
        raise NotImplementedError

    def curvature(self, s: Array, xp: Namespace) -> Any:
        """φ″; at s = 0 any finite value if s φ″(s) → 0."""
        raise NotImplementedError

    def validate(self) -> None:
        if isinstance(self.lengthscale, str):
            if self.lengthscale not in bandwidth.RULES:
                listed = ", ".join(map(repr, bandwidth.RULES))
                raise ValueError(
                    f"{where(self)}: lengthscale = {self.lengthscale!r} is unknown; give a number or one of {listed}."
                )
            raise UnresolvedError(self, "lengthscale", self.lengthscale)
        if np.ndim(host(self.lengthscale)) == 0:
            check_number(self, "lengthscale", self.lengthscale, above=0)
            return
        scale = host(self.lengthscale)
        good = scale.dtype.kind in "fiu" and bool(np.all(np.isfinite(scale)))
        if scale.ndim == 1:
            good = good and bool(np.all(scale > 0))
        elif scale.ndim == 2 and scale.shape[0] == scale.shape[1]:
            good = good and np.linalg.cond(scale) < 1e15
        else:
            good = False
        if not good:
            raise ValueError(
                f"{where(self)}: lengthscale of shape {scale.shape} must be a number > 0, one number > 0 per feature, "
                "or an invertible square matrix."
            )

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
            return X / unit * (unit / ell)  # the same digits
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
        """s: the matrix ‖Λ⁻¹(xᵢ − yⱼ)‖²; infinite where it is beyond the largest float and k therefore 0."""
        return self._distances(X, Y)[0]

    def _distances(self, X: Checked, Y: Checked) -> tuple[Any, bool]:
        """s, and whether some of it may be infinite."""
        A, B = X, Y
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if not is_sparse(A) and not is_sparse(B):
                # rounding in the scaling must be relative to the spread of the data, not to their distance from 0
                centre = namespace(A).mean(A if B is None else B, axis=0)
                A, B = A - centre, None if B is None else B - centre
            A, B = self.scaled(A), None if B is None else self.scaled(B)
        if self.have_squares(*([A] if B is None else [A, B])):
            return squared_distances(A, B), False
        return self._vast_distances(X, Y), True

    def have_squares(self, *scaled: Any) -> bool:
        """Whether the squared distances between scaled points do not overflow; refused where they vanish, and k too."""
        out = out_of_squares(*scaled)
        if out < 0 and self.from_zero:
            raise ValueError(
                f"{where(self)}: X holds points so close, in units of the lengthscale, that the square of their "
                f"distance is no {scaled[0].dtype} number; scale the data, or lower the lengthscale ('median')."
            )
        return out <= 0

    def _vast_distances(self, X: Checked, Y: Checked) -> Any:
        """s of points whose scaled coordinates have no squares: in units that are powers of two, and cost no digit."""
        parts = [X] if Y is None else [X, Y]
        length = host(self.lengthscale).astype(np.float64)
        units = max(_unit(Z) for Z in parts), float(np.min(np.abs(length)) if length.ndim < 2 else power_of_two(length))
        parts = [Z / units[0] for Z in parts]
        kernel = copy(self)
        kernel.lengthscale = length / units[1]
        if not any(is_sparse(Z) for Z in parts):
            centre = namespace(parts[-1]).mean(parts[-1], axis=0)
            parts = [Z - centre for Z in parts]
        s = squared_distances(*map(kernel.scaled, parts))
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
                f"{where(self)}: X holds points so far apart, in units of the lengthscale, that the square of their "
                f"distance is no {dtype} number; scale the data, or raise the lengthscale."
            )

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return self.at_distances(*self._distances(X, Y))

    def at_distances(self, s: Array, vast: bool) -> Any:
        """φ of the squared scaled distances, which may be infinite where they are `vast`."""
        xp = namespace(s)
        if not vast:
            return self.profile(s, xp)
        near = xp.isfinite(s)
        return xp.where(near, self.profile(xp.where(near, s, 0.0), xp), 0.0)

    def drift(self, origin: np.ndarray) -> np.ndarray:
        return np.zeros_like(origin)

    def check_values(self, X: Checked, owner: object) -> None:
        """A profile that grows is largest between the corners of the box around X."""
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

    def points(self, X: Checked, beside: Any = None) -> Points:
        return radial_points(self, X, beside)

    def evaluate_diag(self, X: Checked) -> Any:
        xp = namespace(X)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self.scaled(X[:1, :])  # refuses a lengthscale of the wrong length
        place = {} if is_sparse(X) else {"device": device_of(X)}
        return self.profile(xp.zeros((X.shape[0],), dtype=X.dtype, **place), xp)

    def _inverse(self, X: Checked) -> Any:
        """Λ⁻¹ as a matrix like X."""
        scale = host(self.lengthscale)
        return like(np.diag(np.ones(X.shape[1]) / scale) if scale.ndim < 2 else np.linalg.inv(scale), X)

    def _pieces(self, X: Checked, Y: Checked) -> tuple[Any, Any, Any, Any]:
        """xp, s, M and the differences M(x − y) of shape (n, m, d)."""
        X, Y = self.check_arguments(X, Y)
        Y = X if Y is None else Y
        xp = namespace(X)
        if is_sparse(X) or is_sparse(Y):
            raise TypeError(f"{where(self)}: derivatives need dense X and Y; call .toarray() first.")
        inverse = self._inverse(X)
        U = xp.matmul(X[:, None, :] - Y[None, :, :], xp.matrix_transpose(inverse))
        return xp, xp.sum(U**2, axis=-1), xp.matmul(xp.matrix_transpose(inverse), inverse), xp.matmul(U, inverse)

    def gradient_x(self, X: Checked, Y: Checked = None) -> Any:
        """∂k(xᵢ, yⱼ)/∂xᵢ, of shape (n, m, d)."""
        self.require("gradient_x")
        xp, s, _, MD = self._pieces(X, Y)
        return 2 * self.slope(s, xp)[..., None] * MD

    def mixed_xy(self, X: Checked, Y: Checked = None) -> Any:
        """∂²k(xᵢ, yⱼ)/∂xᵢ∂yⱼᵀ, of shape (n, m, d, d)."""
        self.require("mixed_xy")
        xp, s, M, MD = self._pieces(X, Y)
        outer = MD[..., :, None] * MD[..., None, :]
        return -2 * self.slope(s, xp)[..., None, None] * M - 4 * self.curvature(s, xp)[..., None, None] * outer

    def gradient_theta(self, X: Checked, Y: Checked = None) -> dict[str, Any]:
        """∂k/∂lengthscale: (n, m) for one, (n, m, d) for one per feature, (n, m, d, d) for a matrix."""
        xp, s, _, MD = self._pieces(X, Y)
        scale = host(self.lengthscale)
        slope = self.slope(s, xp)
        if scale.ndim == 0:
            return {"lengthscale": -2 * slope * s / float(scale)}
        if scale.ndim == 1:
            return {"lengthscale": -2 * slope[..., None] * MD**2 * like(scale, MD)}
        # ∂s/∂Λ = −2 Λ⁻ᵀu uᵀ with u = Λ⁻¹(x − y) and M(x − y) = Λ⁻ᵀu
        u = xp.matmul(MD, like(scale, MD))
        return {"lengthscale": -2 * slope[..., None, None] * MD[..., :, None] * u[..., None, :]}

    def frequencies(self, W: np.ndarray) -> np.ndarray:
        """Spectral draws for lengthscale 1 (rows of W) turned into draws for this lengthscale: Λ⁻ᵀω."""
        scale = host(self.lengthscale)
        return W / scale if scale.ndim < 2 else W @ np.linalg.inv(scale)
