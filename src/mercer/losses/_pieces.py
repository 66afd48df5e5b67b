r"""Piecewise linear and quadratic functions, defined by their conjugates.

.. math:: \varphi(t) = \sum_j \max_{l_j \le s \le u_j} (t - q_j) s - \tfrac12 \rho_j s^2, \qquad l_j \le 0 \le u_j

Two pieces have opposite signs of s, so φ*(s) is qs + ½ρs² for the piece that s belongs to. The derivatives, the
proximal map (Moreau: t − step·s, where s is the maximiser with ρ + step in place of ρ) and the dual box follow.

Aravkin, Burke, Pillonetto, *Sparse/robust estimation and Kalman smoothing with nonsmooth log-concave densities* (2013).
"""

from __future__ import annotations

from functools import reduce
from math import inf, isinf
from typing import Any, NamedTuple

from .._array import is_array, namespace
from ..types import Array, Namespace
from ._base import FAR, Box
from ._scalar import Scalar, inside


class Piece(NamedTuple):
    """q, l, u and ρ."""

    kink: float
    lower: float
    upper: float
    ridge: float = 0.0

    def maximiser(self, t: Array, ridge: Any, xp: Namespace) -> Any:
        """The s that maximises (t − q)s − ½·ridge·s²; 0 if there is an interval of maximisers."""
        d = t - self.kink
        if is_array(ridge) or ridge > 0:
            return xp.clip(d / ridge, self.lower, self.upper)
        rising, falling = xp.astype(d > 0, t.dtype), xp.astype(d < 0, t.dtype)
        return self.upper * rising + self.lower * falling


class PiecewiseQuadratic(Scalar):
    """A loss of one variable composed of pieces. A piece with ρ = 0 gives a kink."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces: a single one, or one for s ≥ 0 and one for s ≤ 0 whose q is not larger."""
        raise NotImplementedError

    def profile(self, t: Array, xp: Namespace) -> Any:
        total = 0.0
        for piece in self.pieces:
            s = piece.maximiser(t, piece.ridge, xp)
            total = total + ((t - piece.kink) - 0.5 * piece.ridge * s) * s
        return total

    def slope(self, t: Array, xp: Namespace) -> Any:
        return sum(piece.maximiser(t, piece.ridge, xp) for piece in self.pieces)

    def curvature(self, t: Array, xp: Namespace) -> Any:
        if not self.smooth:
            return super().curvature(t, xp)
        parts = []
        for piece in self.pieces:
            s = (t - piece.kink) / piece.ridge
            parts.append(xp.astype((piece.lower <= s) & (s <= piece.upper), t.dtype) / piece.ridge)
        return reduce(xp.maximum, parts)  # not the sum, because of the point where two pieces meet

    def shrink(self, t: Array, step: Array, xp: Namespace) -> Any:
        return t - step * sum(piece.maximiser(t, piece.ridge + step, xp) for piece in self.pieces)

    def dual(self, s: Array, xp: Namespace) -> Any:
        best = xp.full_like(s, inf)
        for piece in self.pieces:
            at, within = inside(s, piece.lower, piece.upper, xp)
            best = xp.where(within, xp.minimum(best, (piece.kink + 0.5 * piece.ridge * at) * at), best)
        return best

    def box(self, y: Array, bound: Any) -> list[Box]:
        r"""The dual of Σ boundᵢ ℓ(yᵢ, fᵢ) + ½‖f‖², one `Box` per piece.

        With s = −σβ/b, the term b ℓ*(−β/b) = b (φ*(s) + τβσ/b) of the dual is −σ(q − τ)β + ½(ρ/b)β². The linear part
        is p = σ(q − τ), which is y − q for a residual and qy for a margin; the ridge is ρ/b; the box is b[l, u] for a
        residual and −yb[u, l] for a margin. A sample with weight zero has the box [0, 0].
        """
        xp = namespace(bound)
        sigma, tau = self.affine(y)
        used = bound > 0
        boxes = []
        for piece in self.pieces:
            first, second = (
                -sigma * (xp.astype(used, bound.dtype) * (FAR if end > 0 else -FAR) if isinf(end) else bound * end)
                for end in (piece.lower, piece.upper)
            )
            ridge = xp.where(used, piece.ridge / xp.where(used, bound, 1.0), 0.0) if piece.ridge > 0 else None
            linear = sigma * (piece.kink - tau)
            boxes.append(Box(linear, xp.minimum(first, second), xp.maximum(first, second), ridge))
        return boxes
