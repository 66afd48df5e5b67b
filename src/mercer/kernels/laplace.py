"""The Laplace kernel of the Euclidean or Manhattan distance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import lgamma, log
from typing import Any, Self

import numpy as np
from sklearn.metrics.pairwise import manhattan_distances

from .._array import decided, host, is_numpy, is_sparse, is_torch, like, namespace
from .._errors import check_choice, check_number, where
from .._units import divided, power_of_two
from ..evaluation import Pairs, Points
from ..types import Array, Checked, Namespace
from ._base import Kernel, register
from ._definiteness import STRICTLY_PD
from ._integrable import Integrable, at_radii, log_sphere
from ._limits import power, root
from ._radial import EACH, FULL
from .matern import Matern


@register
class Laplace(Integrable):
    r"""Laplace (exponential) kernel.

    .. math:: k(x, y) = \exp\left(-\frac{\|x - y\|}{\ell}\right)

    Parameters
    ----------
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        Distance over which functions vary; larger is flatter. A matrix needs ``norm=2``. A string is replaced by its
        value on the training data, with Euclidean distances for either norm.
    norm : {2, 1}
        2 is the Euclidean norm, as in kernlab; 1 is the Manhattan norm, as in scikit-learn's ``laplacian``.

    Notes
    -----
    Strictly positive definite in every dimension. With ``norm=2`` it is the Matérn kernel with ν = ½, and its space is
    the Sobolev space of order (d + 1)/2; with ``norm=1`` it is a product over coordinates, and its space is a tensor
    product of first-order Sobolev spaces. Functions in the space are continuous, but k(·, y) has a kink at y, so there
    is no gradient in x. A matrix costs O(nmd), computed as a matrix product for ``norm=2`` only.

    References
    ----------
    Wendland, *Scattered Data Approximation* (2005), theorems 6.11 and 7.14. Rahimi, Recht, *Random Features for
    Large-Scale Kernel Machines* (2007), figure 1 (``norm=1``).

    Examples
    --------
    >>> Laplace(lengthscale=2.0)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.0821]])
    >>> Laplace(lengthscale=2.0, norm=1)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.0302]])
    """

    proven = STRICTLY_PD
    trials = [(1.3,), (EACH,), (FULL,), (1.3, 1), (EACH, 1)]
    vanishes = True
    abilities = ("gradient_theta", "spectral_sample", "log_normalizer", "self_convolution")

    def __init__(self, lengthscale: Any = 1.0, norm: int = 2):
        self.lengthscale, self.norm = lengthscale, norm

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """exp(−γ‖x − y‖₁), scikit-learn's laplacian: ``norm=1``, ℓ = 1/γ."""
        check_number(cls.__name__, "gamma", gamma, above=0)
        return cls(lengthscale=1.0 / gamma, norm=1)

    @classmethod
    def from_kernlab(cls, sigma: float) -> Self:
        """exp(−σ‖x − y‖₂), kernlab's laplacedot: ``norm=2``, ℓ = 1/σ."""
        check_number(cls.__name__, "sigma", sigma, above=0)
        return cls(lengthscale=1.0 / sigma)

    def validate(self) -> None:
        super().validate()
        check_choice(self, "norm", self.norm, (2, 1))
        if self.norm == 1 and host(self.lengthscale).ndim == 2:
            raise ValueError(
                f"{where(self)}: a matrix lengthscale needs norm=2; norm = 1 takes one number or one per feature."
            )

    @property
    def provides(self) -> frozenset[str]:
        return frozenset(self.abilities) - (set() if self.norm == 2 else {"self_convolution"})

    def profile(self, s: Array, xp: Namespace) -> Any:
        return xp.exp(-root(s, xp))

    def slope(self, s: Array, xp: Namespace) -> Any:
        return -0.5 * power(s, -0.5, xp) * xp.exp(-root(s, xp))

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        if self.norm == 2:
            return super().evaluate(X, Y)
        distances = self._sums(X, X if Y is None else Y)
        return namespace(distances).exp(-distances)

    def against(self, Y: Checked) -> Callable[[Any], Any]:
        return super().against(Y) if self.norm == 2 else lambda X: self.evaluate(X, Y)

    def _sums(self, X: Checked, Y: Checked) -> Any:
        """‖Λ⁻¹(xᵢ − yⱼ)‖₁."""
        xp, scaled = namespace(X), self.centred([X, Y])
        if all(decided(xp.all(xp.isfinite(Z.data if is_sparse(Z) else Z))) for Z in scaled):
            with np.errstate(over="ignore"):
                return _manhattan(*scaled)
        # distances that overflow become infinite, so k is 0 there
        unit = max(power_of_two(Z) for Z in (X, Y))
        least = float(np.min(host(self.lengthscale)))
        kernel = type(self)(host(self.lengthscale) / least, norm=1)
        near = _manhattan(*(kernel.scaled(divided(Z, unit)) for Z in (X, Y)))
        with np.errstate(over="ignore", invalid="ignore"):
            return xp.where(near > 0, near * (unit / least), 0.0)

    def formula(self, pairs: Pairs) -> Any:
        return super().formula(pairs) if self.norm == 2 else Kernel.formula(self, pairs)

    def points(self, X: Checked, beside: Any = None) -> Points:
        return super().points(X, beside) if self.norm == 2 else Points(self, X)

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        if self.norm == 2:
            return super().d_theta(X, Y)
        self.require_dense(X, Y)
        xp, _, _, MD = self._pieces(X, Y)
        scale = like(self.lengthscale, MD)
        # |x − y| / ℓ² for each coordinate; times ℓ, these sum to ‖x − y‖₁/ℓ
        rates = xp.abs(MD)
        K = xp.exp(-xp.sum(rates * scale, axis=-1))
        return {"lengthscale": K * xp.sum(rates, axis=-1) if scale.ndim == 0 else K[..., None] * rates}

    def log_profile(self, s: Array, xp: Namespace) -> Any:
        return -root(s, xp)

    def reach(self, level: Array) -> Any:
        return level**2 if self.norm == 2 else super().reach(level)

    def log_dilated(self, X: Checked, Y: Checked, factors: Iterable[float]) -> Iterator[Any]:
        if self.norm == 2:
            yield from super().log_dilated(X, Y, factors)
            return
        distances = self._sums(X, Y)
        for h in factors:
            yield distances * (-1 / h)

    def log_against(self, Y: Checked) -> Callable[[Any], Any]:
        return super().log_against(Y) if self.norm == 2 else lambda X: -self._sums(X, Y)

    def unit_log_mass(self, dimension: int) -> float:
        return dimension * log(2) if self.norm == 1 else log_sphere(dimension) + lgamma(dimension)

    def unit_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        if self.norm == 1:
            return rng.laplace(size=(n, dimension))
        return at_radii(rng.gamma(dimension, size=n), dimension, rng)

    def self_convolution(self, dimension: int) -> Matern:
        """A Matérn kernel, for ``norm=2``."""
        self.require("self_convolution")
        return Matern(0.5, self.lengthscale).self_convolution(dimension)

    def spectral_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n frequencies: multivariate Cauchy for ``norm=2``, independent Cauchy coordinates for ``norm=1``."""
        if self.norm == 1:
            return self.frequencies(rng.standard_cauchy(size=(n, dimension)))
        return self.frequencies(rng.normal(size=(n, dimension)) / np.abs(rng.normal(size=(n, 1))))


def _manhattan(X: Checked, Y: Checked) -> Any:
    """‖xᵢ − yⱼ‖₁."""
    xp = namespace(X, Y)
    if is_numpy(xp):
        return manhattan_distances(X, Y).astype(X.dtype, copy=False)
    if is_torch(xp):
        return xp.cdist(X, Y, p=1.0)
    return sum(xp.abs(X[:, k][:, None] - Y[:, k][None, :]) for k in range(X.shape[1]))
