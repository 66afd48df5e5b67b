"""The periodic kernel: a Gaussian kernel on circles."""

from __future__ import annotations

from math import pi
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._array import eye, host, like, namespace
from .._errors import check_number, where
from ..domains import Vectors
from ..evaluation import Pairs
from ..types import Array, Checked, Namespace
from . import bandwidth
from ._base import register
from ._definiteness import PD
from ._radial import Radial


@register
class Periodic(Radial):
    r"""Periodic kernel, a product over coordinates.

    .. math:: k(x, y) = \prod_{j=1}^d \exp\left(-\frac{2}{\ell_j^2} \sin^2 \frac{\pi (x_j - y_j)}{p_j}\right)

    Parameters
    ----------
    period : float > 0 or array of shape (d,)
        p: functions have period p in each coordinate.
    lengthscale : float > 0, array of shape (d,), or {"median", "scale", "sigest"}
        ℓ, relative to the unit circle onto which each period is wrapped; larger is smoother, with fewer harmonics. A
        string is replaced by its value on the training data after wrapping.

    Notes
    -----
    Each coordinate is mapped to (cos, sin)(2πxⱼ/pⱼ), and a Gaussian kernel compares the images, so a matrix costs one
    matrix product. Positive definite, not strictly: points that differ by whole periods coincide. In one dimension
    the space consists of f = Σ cₘ exp(2πimx/p) with ‖f‖² = Σ |cₘ|² e^κ / Iₘ(κ), κ = 1/ℓ².

    References
    ----------
    MacKay, *Introduction to Gaussian Processes* (1998), section 5. Rasmussen, Williams, *Gaussian Processes for Machine
    Learning* (2006), equation 4.31.

    Examples
    --------
    >>> Periodic(period=2.0)([[0.0], [1.0], [2.0]]).round(4)
    array([[1.    , 0.1353, 1.    ],
           [0.1353, 1.    , 0.1353],
           [1.    , 0.1353, 1.    ]])
    """

    proven = PD
    trials = [(2.3, 0.9), (1.1, 2.0), (np.array([1.5, 4.0, 2.5]), np.array([0.8, 1.0, 2.0]))]
    domain = Vectors()
    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "spectral_sample")

    def __init__(self, period: Any = 1.0, lengthscale: Any = 1.0):
        self.period, self.lengthscale = period, lengthscale

    def validate(self) -> None:
        self._validate_period()
        super().validate()
        if host(self.lengthscale).ndim > 1:
            raise ValueError(f"{where(self)}: lengthscale must be one number or one per feature, not a matrix.")

    def _validate_period(self) -> None:
        period = host(self.period)
        if period.ndim == 0:
            check_number(self, "period", self.period, above=0)
        elif period.ndim > 1 or period.dtype.kind not in "fiu" or not np.all(np.isfinite(period) & (period > 0)):
            raise ValueError(
                f"{where(self)}: period of shape {period.shape} must be a number > 0, or one number > 0 per feature."
            )

    def resolve(self, X: Checked) -> Self:
        kernel = clone(self)
        if isinstance(self.lengthscale, str) and self.lengthscale in bandwidth.RULES:
            self._validate_period()
            kernel.lengthscale = bandwidth.RULES[self.lengthscale](self._circles(self.domain.check(X, self)))
        return kernel

    def _per_feature(self, name: str, X: Checked) -> Any:
        """A parameter as a vector with one entry per column of X."""
        value = host(getattr(self, name))
        if value.ndim and value.shape[0] != X.shape[1]:
            raise ValueError(f"{where(self)}: {name} has {value.shape[0]} entries, but X has {X.shape[1]} columns.")
        return like(value * np.ones(X.shape[1]), X)

    def _circles(self, X: Checked) -> Any:
        xp, p = namespace(X), self._per_feature("period", X)
        # the remainder is exact, so large angles keep all their digits
        angle = 2 * pi * (xp.remainder(X, p) / p)
        return xp.concat([xp.cos(angle), xp.sin(angle)], axis=1)

    def scaled(self, X: Checked) -> Any:
        """The images on the circles, divided by the lengthscale."""
        scale = self._per_feature("lengthscale", X)
        return self._circles(X) / namespace(X).concat([scale, scale])

    def formula(self, pairs: Pairs) -> Any:
        return self.profile(pairs.distances(self.scaled), pairs.xp)

    def profile(self, s: Array, xp: Namespace) -> Any:
        return xp.exp(-0.5 * s)

    def _parts(self, X: Checked, Y: Checked) -> tuple[Any, ...]:
        """xp, x − y of shape (n, m, d), its angle, the periods, the lengthscales and k."""
        xp, p, scale = namespace(X), self._per_feature("period", X), self._per_feature("lengthscale", X)
        D = X[:, None, :] - Y[None, :, :]
        return xp, D, 2 * pi * D / p, p, scale, self.evaluate(X, Y)

    def d_x(self, X: Checked, Y: Checked) -> Any:
        xp, _, angle, p, scale, K = self._parts(X, Y)
        return -K[..., None] * (2 * pi / (p * scale**2)) * xp.sin(angle)

    def d_xy(self, X: Checked, Y: Checked) -> Any:
        xp, _, angle, p, scale, K = self._parts(X, Y)
        g = 2 * pi / (p * scale**2) * xp.sin(angle)
        bend = (2 * pi / (p * scale)) ** 2 * xp.cos(angle)
        return K[..., None, None] * (bend[..., None] * eye(p.shape[0], p) - g[..., :, None] * g[..., None, :])

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        xp, D, angle, p, scale, K = self._parts(X, Y)
        each = {
            "period": K[..., None] * (2 * pi / (p * scale) ** 2) * D * xp.sin(angle),
            "lengthscale": K[..., None] * (4 / scale**3) * xp.sin(angle / 2) ** 2,
        }
        return {name: G if host(getattr(self, name)).ndim else xp.sum(G, axis=-1) for name, G in each.items()}

    def spectral_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """Frequencies 2πm/p; m has probability e^−κ Iₘ(κ), κ = 1/ℓ²: a difference of two Poisson variables."""
        rate = np.broadcast_to(0.5 / host(self.lengthscale) ** 2, (n, dimension))
        return 2 * pi / host(self.period) * (rng.poisson(rate) - rng.poisson(rate))
