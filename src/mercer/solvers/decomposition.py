r"""M = VTVᵀ with orthonormal V and a diagonal or tridiagonal T, after which each α costs at most O(n²).

A Householder reduction to a tridiagonal T suffices for (M + αI)⁻¹: T + αI = LDLᵀ takes O(n), a product with its
inverse O(n) per vector, and the diagonal of the inverse one sweep of L over V. The eigenvectors, which cost twice as
much again, are computed only on demand. Matrices with a factor, and those of low numerical rank, get a thin V and a
diagonal T from the singular value decomposition; other array libraries get a diagonal T from eigenvectors.

Gu, Bates, Chen, Wahba, *The computation of generalized cross-validation functions through Householder
tridiagonalization with applications to the fitting of interaction spline models* (1989).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from .._array import eps, host, is_numpy, namespace
from .._errors import fitting_memory
from .._units import power_of_two
from ..types import Array
from ._tridiagonal import quadratic, swept

MANY = 256  # number of rows above which the cost of a factor matters


class Diagonal:
    """A diagonal T = Λ, in any array library."""

    def __init__(self, values: Array):
        self.values = values
        self.rank = int(values.shape[0])

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest eigenvalue; zeros if there are none."""
        values = host(self.values)
        return float(values.min(initial=np.inf if self.rank else 0.0)), float(values.max(initial=0.0))

    def holds(self, alpha: float) -> bool:
        """Whether T + αI can be inverted in this form."""
        return True

    def solve(self, z: Array, alphas: Array) -> Any:
        """(T + αI)⁻¹z of shape (r, t, A), for alphas of shape (A,), or (t, 1) with one per column."""
        return z[:, :, None] / (self.values[:, None, None] + alphas)

    def quadratic(self, V: Array, alphas: Array) -> Any:
        """vᵀ(T + αI)⁻¹v for the rows v of V, of shape (n, A)."""
        return V**2 @ (1 / (self.values[:, None] + alphas))

    def lift(self, basis: Any) -> Any:
        """The eigenvectors of basis·T·basisᵀ, in the order of `values`."""
        return basis

    def half(self, V: Array, alpha: Any) -> Any:
        """B with BᵀB = V(T + αI)⁻¹Vᵀ."""
        return namespace(V).matrix_transpose(V / namespace(V).sqrt(self.values + alpha))


class Tridiagonal:
    """A tridiagonal T, given by its diagonal and subdiagonal, for NumPy; same operations as `Diagonal`.

    `rounding` is the size of the rounding errors in T.
    """

    def __init__(self, diagonal: np.ndarray, below: np.ndarray, rounding: float):
        self.diagonal, self.below, self.rounding = diagonal, below, rounding
        self.rank = len(diagonal)

    @cached_property
    def values(self) -> np.ndarray:
        """The eigenvalues; those made negative by rounding are zero."""
        return _cleaned(linalg.eigvalsh_tridiagonal(self.diagonal, self.below, check_finite=False), self.rounding)

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest of `values`, by bisection."""
        settings: dict[str, Any] = {"select": "i", "check_finite": False}
        try:
            ends = [
                linalg.eigvalsh_tridiagonal(self.diagonal, self.below, select_range=(k, k), **settings)
                for k in (0, self.rank - 1)
            ]
        except linalg.LinAlgError:  # which fails where many eigenvalues are equal
            ends = [self.values[:1], self.values[-1:]]
        low, high = _cleaned(np.concatenate(ends), self.rounding).tolist()
        return low, high

    def lift(self, basis: np.ndarray) -> np.ndarray:
        """As in `Diagonal`."""
        return basis @ linalg.eigh_tridiagonal(self.diagonal, self.below, check_finite=False)[1]

    def holds(self, alpha: float) -> bool:
        """Whether T + αI is positive definite beyond rounding, so that LDLᵀ needs no pivots."""
        return self.extremes[0] + alpha > self.rounding

    def _check_width(self, V: np.ndarray) -> None:
        """Check V, since compiled code does not."""
        if V.shape[1] != len(self.diagonal):
            raise ValueError(f"Tridiagonal: V has {V.shape[1]} columns, but the matrix has {len(self.diagonal)}.")

    def _factors(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (pttrf,) = linalg.get_lapack_funcs(("pttrf",), (self.diagonal,))
        pairs = [pttrf(self.diagonal + alpha, self.below)[:2] for alpha in alphas]
        return np.stack([e for _, e in pairs]), np.stack([d for d, _ in pairs])

    def solve(self, z: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """As in `Diagonal`."""
        (pttrs,) = linalg.get_lapack_funcs(("pttrs",), (self.diagonal,))
        strengths = np.broadcast_to(alphas, (z.shape[1], alphas.shape[-1]))
        distinct, place = np.unique(strengths, return_inverse=True)
        place = place.reshape(strengths.shape)
        out = np.empty((*z.shape, alphas.shape[-1]), dtype=z.dtype)
        for k, (below, pivots) in enumerate(zip(*self._factors(distinct), strict=True)):
            columns, last = np.nonzero(place == k)
            out[:, columns, last] = pttrs(pivots, below, z[:, columns])[0]
        return out

    def quadratic(self, V: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """As in `Diagonal`."""
        self._check_width(V)
        return quadratic(np.ascontiguousarray(V.T), *self._factors(alphas))

    def half(self, V: np.ndarray, alpha: Any) -> np.ndarray:
        """As in `Diagonal`."""
        self._check_width(V)
        below, pivots = self._factors(np.array([alpha]))
        return swept(np.ascontiguousarray(V.T), below[0]) / np.sqrt(pivots[0])[:, None]


def of_factor(Z: Array) -> tuple[Diagonal, Any]:
    """T and V of ZZᵀ, with min(rows, columns) of Z as rank."""
    V, s, _ = namespace(Z).linalg.svd(Z, full_matrices=False)
    return Diagonal(s**2), V


def of_matrix(M: Array, size: float) -> tuple[Diagonal | Tridiagonal, Any]:
    """T and V of a positive semidefinite M; `size` is the size of the entries from which M was computed."""
    with fitting_memory("Spectral", M.shape[0], M.shape[0], M.dtype):
        return _of_matrix(M, size)


def _of_matrix(M: Array, size: float) -> tuple[Diagonal | Tridiagonal, Any]:
    xp, n = namespace(M), int(M.shape[0])
    rounding = 50 * n * eps(M) * max(size, float(xp.max(M)), -float(xp.min(M)))
    if not is_numpy(xp) or n == 1:
        values, V = xp.linalg.eigh(M)
        return Diagonal(_cleaned(values, rounding)), V
    Z = _thin_factor(M, size)
    return _tridiagonalised(M, rounding) if Z is None else of_factor(Z)


def _cleaned(values: Array, rounding: float) -> Any:
    xp = namespace(values)
    return xp.where(xp.abs(values) > rounding, values, xp.clip(values, min=0.0))


def _tridiagonalised(M: np.ndarray, rounding: float) -> tuple[Tridiagonal, np.ndarray]:
    sytrd, orghr = linalg.get_lapack_funcs(("sytrd", "orghr"), (M,))
    work = 32 * len(M)
    packed, diagonal, below, tau, _ = sytrd(np.array(M.T, order="F"), lower=1, lwork=work, overwrite_a=1)
    V, _ = orghr(packed, tau, lwork=work, overwrite_a=1)  # same reflections as in a Hessenberg reduction
    return Tridiagonal(diagonal, below, rounding), V


def _thin_factor(M: np.ndarray, size: float) -> np.ndarray | None:
    """Z with M = ZZᵀ up to rounding and fewer columns than rows (at most half, if there are many rows), or None."""
    # A quarter of the samples shows at 1/64 of the cost whether the matrix may have low rank. A factor is also more
    # accurate: its zero eigenvalues are exactly zero, instead of rounding errors of the largest one.
    n = len(M)
    if n >= MANY and _pivoted(M[::4, ::4], size)[1] > 0.2 * n:
        return None
    Z, rank = _pivoted(M, size)
    if rank > (n / 2 if n >= MANY else n - 1):
        return None
    v = np.random.default_rng(0).normal(size=n).astype(M.dtype)
    unit = power_of_two(M)  # squares of the matrix may overflow or underflow
    image, size = M @ v / unit, size / unit
    # an indefinite matrix may have a remainder with a zero diagonal
    noise = eps(M) * max(float(np.linalg.norm(image)), size * n)
    close = np.linalg.norm(image - Z @ (Z.T @ v) / unit) <= 1e2 * noise
    return Z if close else None


def _pivoted(M: np.ndarray, size: float) -> tuple[np.ndarray, int]:
    """The Cholesky factor with complete pivoting, until the diagonal is at rounding level, and its rank."""
    (pstrf,) = linalg.get_lapack_funcs(("pstrf",), (M,))
    C, pivots, rank, _ = pstrf(np.array(M, order="F"), tol=10 * eps(M) * size, lower=1, overwrite_a=1)
    Z = np.zeros((len(M), rank), dtype=M.dtype)
    Z[pivots - 1] = np.tril(C[:, :rank])
    return Z, int(rank)
