"""Powers of two as units: dividing and multiplying by them is exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._array import decided, is_sparse, namespace
from ._errors import SQUARED, where
from .types import Array


def power_of_two(values: Array) -> float:
    """The power of two that, as a divisor, brings the largest magnitude of a finite array to [1, 2); 1 if all are 0.

    The quotients can be squared and summed. Divide by it: its reciprocal may overflow.
    """
    return math.ldexp(1.0, exponent(values))


def divided(X: Any, unit: float) -> Any:
    """X / unit. SciPy multiplies sparse arrays by the reciprocal of a number, which may overflow."""
    if not is_sparse(X):
        return X / unit
    out = X.copy()
    out.data = X.data / unit
    return out


def exponent(values: Array) -> int:
    """e such that the largest magnitude is in [2^e, 2^(e + 1)); 0 if all are zero, or one is not finite."""
    values = values.data if is_sparse(values) else values
    if not math.prod(values.shape):
        return 0
    size = float(largest(values))
    return math.frexp(size)[1] - 1 if 0 < size < math.inf else 0


def largest(values: Array) -> Any:
    """The largest magnitude in an array; NaN if it holds one."""
    if type(values) is np.ndarray:  # methods are faster than functions
        return max(float(values.max()), -float(values.min()))
    xp = namespace(values)
    return xp.max(xp.abs(values))


def out_of_squares(*parts: Any) -> int:
    """1 or −1 if the square of the largest magnitude overflows or underflows; 0 otherwise.

    This depends on the floating type of the arrays; the limits leave room for sums of squares and small parts of them.
    """
    values = [part.data if is_sparse(part) else part for part in parts]
    sizes = [largest(part) for part in values if 0 not in part.shape]
    limit = 2.0 ** squarable(values[0])
    if not all(decided(size <= limit) for size in sizes):
        return 1
    return -int(any(size > 0 for size in sizes)) if not any(decided(size >= 1 / limit) for size in sizes) else 0


def squarable(values: Array) -> float:
    """The largest e such that the squares of 2^e and 2^−e are representable in the type of an array."""
    finfo = np.finfo if type(values) is np.ndarray else namespace(values).finfo
    return SQUARED * math.log2(float(finfo(values.dtype).max)) / 1024


def lengths(V: Array) -> Any:
    """√Σᵢ vᵢⱼ² of each column, without overflow or underflow of the squares."""
    unit, xp = power_of_two(V), namespace(V)
    return unit * xp.sqrt(xp.sum((V / unit) ** 2, axis=0))


def unit_of_squares(owner: object, name: str, values: Array) -> float:
    """The power of two of `values`; raises if its square, the unit of variances, overflows or underflows."""
    unit = power_of_two(values)
    if out_of_squares(np.array([unit])):
        raise ValueError(
            f"{where(owner)}: {name} is of size {unit:.0e}, and its square overflows or underflows; divide it by "
            f"{unit:.0e}."
        )
    return unit
