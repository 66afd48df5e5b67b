"""Optional operations of a kernel: derivatives, explicit features, spectral samples, and density estimation.

`provides` lists those available with the current parameters. The public methods check their arguments once; a kernel
implements the formulas for checked collections: `d_x`, `d_xy`, `d_theta` and `features`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np

from .._array import is_sparse
from .._errors import where
from ..domains import Domain
from ..types import Array, Checked

Names = frozenset[str] | None
Matrix = np.ndarray | None


class Abilities:
    """The optional operations of a kernel; those not provided raise an AttributeError."""

    abilities: ClassVar[tuple[str, ...]] = ()
    domain: Domain
    get_params: Callable[..., dict[str, Any]]

    @property
    def provides(self) -> frozenset[str]:
        """The optional operations available with the current parameters."""
        return frozenset(self.abilities)

    def require(self, ability: str) -> None:
        """Raise unless the kernel provides `ability` with its current parameters."""
        if ability not in self.provides:
            raise self._missing(ability)

    def _missing(self, ability: str) -> AttributeError:
        listed = ", ".join(sorted(self.provides)) or "evaluation only"
        return AttributeError(f"{where(self)} does not provide {ability}; it provides {listed}.")

    def check_arguments(self, X: Checked, Y: Checked = None) -> tuple[Any, Any]:
        """Validate parameters and collections."""
        raise NotImplementedError

    def in_dimension_of(self, X: Checked) -> Self:
        """The kernel adapted to the dimension of X; most kernels return themselves."""
        return self

    # ---- derivatives

    def gradient_x(self, X: Checked, Y: Checked = None) -> Any:
        """∂k(xᵢ, yⱼ)/∂xᵢ, of shape (n, m, d)."""
        kernel, X, Y = self._ready("gradient_x", X, Y)
        self.require_dense(X, Y)
        return kernel.d_x(X, Y)

    def mixed_xy(self, X: Checked, Y: Checked = None) -> Any:
        """∂²k(xᵢ, yⱼ)/∂xᵢ∂yⱼᵀ, of shape (n, m, d, d)."""
        kernel, X, Y = self._ready("mixed_xy", X, Y)
        self.require_dense(X, Y)
        return kernel.d_xy(X, Y)

    def gradient_theta(self, X: Checked, Y: Checked = None) -> dict[str, Any]:
        """∂k/∂θ for each continuous parameter θ, by name: (n, m) for a scalar, (n, m, …) for an array."""
        kernel, X, Y = self._ready("gradient_theta", X, Y)
        return kernel.d_theta(X, Y)

    def _ready(self, ability: str, X: Checked, Y: Checked) -> tuple[Self, Any, Any]:
        self.require(ability)
        X, Y = self.check_arguments(X, Y)
        return self.in_dimension_of(X), X, X if Y is None else Y

    def require_dense(self, X: Checked, Y: Checked) -> None:
        """Reject sparse collections."""
        if is_sparse(X) or is_sparse(Y):
            raise TypeError(f"{where(self)}: derivatives need dense X and Y; call .toarray() first.")

    def d_x(self, X: Checked, Y: Checked) -> Any:
        """`gradient_x` of checked collections."""
        raise NotImplementedError

    def d_xy(self, X: Checked, Y: Checked) -> Any:
        """`mixed_xy` of checked collections."""
        raise NotImplementedError

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        """`gradient_theta` of checked collections; empty without continuous parameters."""
        return {}

    def adjoint(self, X: Checked, Y: Checked, E: Array, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
        """Σᵢⱼ Eᵢⱼ ∂k(xᵢ, yⱼ)/∂θ for each parameter, or only the `wanted` ones, on checked collections.

        K is the matrix k(xᵢ, yⱼ), if already known. A kernel without `gradient_theta` raises if one of its own
        continuous parameters is wanted.
        """
        known = "gradient_theta" in self.provides or any(map(_is_continuous, self.get_params().values()))
        if not (known if wanted is None else wanted):
            return {}
        found = self.gradient_theta(X, Y)
        return {n: np.tensordot(E, np.asarray(D), axes=2) for n, D in found.items() if wanted is None or n in wanted}

    # ---- features

    def feature_map(self, X: Checked) -> Any:
        """The (n, p) array of explicit features φ(xᵢ), where k(x, y) = φ(x)ᵀφ(y); dense."""
        self.require("feature_map")
        Z = self.features(self.check_arguments(X)[0])
        return Z.toarray() if is_sparse(Z) else Z

    def features(self, X: Checked) -> Any:
        """`feature_map` of a checked collection, dense or CSR."""
        raise NotImplementedError

    def feature_count(self, X: Checked) -> int:
        """The number of explicit features of a member like those of X."""
        self.require("feature_map")
        return int(self.feature_map(self.domain.take(X, slice(0, 1))).shape[1])

    def spectral_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n frequencies ω, of shape (n, d), with k(x, y) = k(0, 0) E cos ωᵀ(x − y)."""
        raise self._missing("spectral_sample")

    # ---- densities: kernels k ≥ 0 with a finite integral

    def log_normalizer(self, dimension: int) -> float:
        """log ∫ k(x, y) dy over ℝᵈ; infinite if the kernel is not integrable in that dimension."""
        raise self._missing("log_normalizer")

    def density_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n draws of x − y from the density k(x, y) / ∫ k."""
        raise self._missing("log_normalizer")

    def dilated(self, factor: float) -> Self:
        """The kernel k(x/h, y/h)."""
        raise self._missing("log_normalizer")

    def log_dilated(self, X: Checked, Y: Checked, factors: Iterable[float]) -> Iterator[Any]:
        """The matrix log k(xᵢ/h, yⱼ/h) for each factor h in turn, from a single distance matrix."""
        raise self._missing("log_normalizer")

    def log_against(self, Y: Checked) -> Callable[[Any], Any]:
        """X ↦ log k(X, Y): `against` for log k."""
        return lambda X: next(iter(self.log_dilated(X, Y, [1.0])))

    def reach(self, level: Array) -> Any:
        """The squared scaled distance beyond which log k is at most `level`; infinite if no formula is known."""
        return np.full(np.shape(level), np.inf)

    def self_convolution(self, dimension: int) -> Any:
        """The kernel proportional to ∫ k(x, z) k(z, y) dz."""
        raise self._missing("self_convolution")


def _is_continuous(value: Any) -> bool:
    """Whether a parameter is a float or an array of floats."""
    return isinstance(value, float) or np.asarray(value).dtype.kind == "f"
