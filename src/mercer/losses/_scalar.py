"""Losses of one variable: ℓ(y, f) = φ(t) with the residual t = y − f, or the margin t = yf of a label y = ±1.

With t = σf + τ and σ = ±1, everything about ℓ follows from φ: ℓ' = σφ'(t), ℓ'' = φ''(t), the proximal map
σ(prox_φ(σv + τ) − τ), and ℓ*(u) = φ*(σu) − στu.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log
from typing import Any

import numpy as np

from .._array import eps, namespace
from .._errors import where
from ..types import Array, Namespace
from ._base import Loss, per_sample, weighted

NEWTON = 200  # maximum number of steps; every step halves the residual or the bracket


class Scalar(Loss):
    """φ(σf + τ), defined by `profile`, `slope`, `curvature`, the proximal map `shrink` and the conjugate `dual`."""

    def affine(self, y: Array) -> tuple[Any, Any]:
        """σ and τ."""
        raise NotImplementedError

    def profile(self, t: Array, xp: Namespace) -> Any:
        """φ(t)."""
        raise NotImplementedError

    def slope(self, t: Array, xp: Namespace) -> Any:
        """φ'(t), or a member of the subdifferential."""
        raise NotImplementedError

    def curvature(self, t: Array, xp: Namespace) -> Any:
        """φ''(t)."""
        raise self._lacks("hessian")

    def shrink(self, t: Array, step: Array, xp: Namespace) -> Any:
        """argmin_x φ(x) + (x − t)²/(2·step)."""
        raise self._lacks("prox")

    def dual(self, s: Array, xp: Namespace) -> Any:
        """φ*(s) = sup_t st − φ(t)."""
        raise self._lacks("conjugate")

    def value(self, y: Array, f: Array) -> Any:
        sigma, tau = self.affine(y)
        return self.profile(sigma * f + tau, namespace(f))

    def gradient(self, y: Array, f: Array, weight: Array = None) -> Any:
        sigma, tau = self.affine(y)
        return weighted(sigma * self.slope(sigma * f + tau, namespace(f)), weight)

    def hessian(self, y: Array, f: Array, weight: Array = None) -> Any:
        sigma, tau = self.affine(y)
        return weighted(self.curvature(sigma * f + tau, namespace(f)), weight)

    def prox(self, y: Array, v: Array, step: Array) -> Any:
        sigma, tau = self.affine(y)
        return sigma * (self.shrink(sigma * v + tau, per_sample(step, v), namespace(v)) - tau)

    def conjugate(self, y: Array, u: Array) -> Any:
        sigma, tau = self.affine(y)
        return self.dual(sigma * u, namespace(u)) - sigma * tau * u


class Residual(Scalar):
    """φ(y − f); f is on the scale of y."""

    def affine(self, y: Array) -> tuple[Any, Any]:
        return -1.0, y

    def link(self, mean: Array) -> Any:
        return mean

    def link_inverse(self, f: Array) -> Any:
        return f


class Margin(Scalar):
    """φ(yf) for labels y = ±1."""

    task = "binary"

    def affine(self, y: Array) -> tuple[Any, Any]:
        return y, 0.0

    def check(self, y: Array) -> None:
        super().check(y)
        xp = namespace(y)
        if not bool(xp.all(xp.abs(y) == 1)):
            raise ValueError(f"{where(self)}: labels y must be −1 or 1; encode the two classes as −1 and 1.")

    def targets(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.choice([-1.0, 1.0], n)


class Reweighted(Residual):
    """φ(y − f) with φ'(r)/r decreasing in |r|, so that the parabola of this curvature tangent to φ at r lies above φ.

    Huber, *Robust Statistics* (1981): iteratively reweighted least squares then decreases the loss in every step.
    """

    def majorizer(self, y: Array, f: Array, weight: Array = None) -> Any:
        xp = namespace(f)
        away = y != f  # φ''(0) = 1 replaces 0/0
        r = xp.where(away, y - f, 1.0)
        return weighted(xp.where(away, self.slope(r, xp) / r, 1.0), weight)


def newton(slope: Callable[[Any], Any], curvature: Callable[[Any], Any], t: Array, step: Array, xp: Namespace) -> Any:
    """The root x of x − t + step·φ'(x) for a convex φ, to rounding accuracy.

    It lies between t and t − step·φ'(t), because φ' is increasing. A bisection step replaces a Newton step that leaves
    the bracket, or follows one that did not halve the residual.
    """
    end = t - step * slope(t)
    low, high = xp.minimum(t, end), xp.maximum(t, end)
    x, before = t, xp.full_like(t, xp.inf)
    for _ in range(NEWTON):
        g = x - t + step * slope(x)
        change = g / (1 + step * curvature(x))
        rounding = eps(t) * xp.abs(x)
        going = (xp.abs(g) > 4 * (rounding + eps(t) * xp.abs(t))) & (xp.abs(change) > 2 * rounding)
        if not bool(xp.any(going)):
            break
        low, high = xp.where(g <= 0, x, low), xp.where(g >= 0, x, high)
        new = x - change
        good = (new >= low) & (new <= high) & (2 * xp.abs(g) <= before)
        x, before = xp.where(going, xp.where(good, new, low + (high - low) / 2), x), xp.abs(g)
    return x


def log_omega(z: Array, xp: Namespace) -> Any:
    """The root x of eˣ + x = z, the logarithm of Wright's ω.

    Newton's method from the right of the root, from where it decreases monotonically: each step reduces an error e ≤ 1
    to at most e²/2, which is below rounding after six steps.
    """
    x = xp.where(z > 1, xp.log(xp.where(z > 1, z, 1.0)), z)
    for _ in range(6):
        power = xp.exp(x)
        x = x - (power + x - z) / (power + 1)
    return x


def bounded(t: Array, xp: Namespace) -> Any:
    """t, clipped so that eᵗ stays a factor e²⁰ below overflow: sums of such powers and products with 0 are finite."""
    return xp.clip(t, max=log(float(xp.finfo(t.dtype).max)) - 20)


def power(t: Array, xp: Namespace) -> Any:
    """eᵗ, with t bounded."""
    return xp.exp(bounded(t, xp))


def logarithm(p: Array, xp: Namespace, at_zero: float = -inf) -> Any:
    """log p, with `at_zero` at 0."""
    positive = p > 0
    return xp.where(positive, xp.log(xp.where(positive, p, 1.0)), at_zero)


def entropy(p: Array, xp: Namespace) -> Any:
    """p log p, with its limit 0 at 0."""
    return p * logarithm(p, xp, 0.0)


class LogLink(Loss):
    """A loss of the logarithm f of a rate; its targets may have additional columns."""

    def outputs(self, y: Array) -> tuple[int, ...]:
        return ()

    def link(self, mean: Array) -> Any:
        return logarithm(mean, namespace(mean))

    def link_inverse(self, f: Array) -> Any:
        return power(f, namespace(f))


def inside(s: Array, lower: float, upper: float, xp: Namespace) -> tuple[Any, Any]:
    """s clipped to [lower, upper], and whether it was inside up to rounding."""
    at = xp.clip(s, lower, upper)
    return at, xp.abs(s - at) <= 8 * eps(s) * (1 + xp.abs(at))
