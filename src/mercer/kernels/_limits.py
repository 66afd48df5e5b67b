"""Powers and logarithms of s = r² with their limits at the origin, for profiles that are not smooth there."""

from __future__ import annotations

from typing import Any

from ..types import Array, Namespace


def at_origin(s: Array, xp: Namespace) -> Any:
    """Where s is zero (or subnormal, so that 1/s would overflow)."""
    return s < xp.finfo(s.dtype).smallest_normal


def _recorded(s: Array) -> bool:
    """Whether torch will differentiate with respect to s: an infinite slope at the origin would then give NaN."""
    return getattr(s, "requires_grad", False)


def root(s: Array, xp: Namespace) -> Any:
    """``s**0.5``; torch sees slope 0 at the origin, as for functions of ‖x − y‖ in x."""
    return power(s, 0.5, xp) if _recorded(s) else xp.sqrt(s)


def power(s: Array, exponent: float, xp: Namespace) -> Any:
    """``s**exponent``; 0 at the origin for a negative exponent, as `Radial.slope` and `Radial.curvature` promise."""
    if exponent == 0 or exponent >= 1 or (exponent > 0 and not _recorded(s)):
        return s**exponent
    zero = at_origin(s, xp)
    return xp.where(zero, 0.0, xp.where(zero, 1.0, s) ** exponent)


def power_log(s: Array, exponent: float, xp: Namespace) -> Any:
    """``s**exponent * log(s)``, 0 at the origin: its limit for a positive exponent, a convention for exponent 0."""
    return s**exponent * xp.log(xp.where(at_origin(s, xp), 1.0, s))
