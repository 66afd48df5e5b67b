"""Powers of two as units: dividing and multiplying by them changes no digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._array import decided, is_sparse, namespace
from ._errors import SQUARED, where
from .types import Array


def power_of_two(values: Array) -> float:
    """The power of two by which to divide a finite array to bring its largest magnitude to [1, 2); 1 if all are 0.

    The quotients can be squared and summed. Divide by it, since its reciprocal may overflow.
    """
    return math.ldexp(1.0, exponent(values))


def exponent(values: Array) -> int:
    """e such that the largest magnitude is 2^e up to 2^(e + 1); 0 where all are zero, or one is not finite."""
    values, xp = values.data if is_sparse(values) else values, namespace(values)
    largest = max(float(xp.max(values)), -float(xp.min(values))) if math.prod(values.shape) else 0.0
    return math.frexp(largest)[1] - 1 if 0 < largest < math.inf else 0


def out_of_squares(*parts: Any) -> int:
    """1 or −1 if the largest magnitude is so large or small that its square is not a float; 0 otherwise.

    The floating type of the arrays decides, with room for sums of squares and small parts of them.
    """
    values = [part.data if is_sparse(part) else part for part in parts]
    sizes = [namespace(part).max(namespace(part).abs(part)) for part in values if 0 not in part.shape]
    limit = 2.0 ** squarable(values[0])
    if not all(decided(size <= limit) for size in sizes):
        return 1
    return -int(any(size > 0 for size in sizes)) if not any(decided(size >= 1 / limit) for size in sizes) else 0


def squarable(values: Array) -> float:
    """The exponent up to which, and down to minus which, powers of two have squares in the type of an array."""
    return SQUARED * math.log2(float(namespace(values).finfo(values.dtype).max)) / 1024


def lengths(V: Array) -> Any:
    """√Σᵢ vᵢⱼ² of each column, whose squares need not be floats."""
    unit, xp = power_of_two(V), namespace(V)
    return unit * xp.sqrt(xp.sum((V / unit) ** 2, axis=0))


def unit_of_squares(owner: object, name: str, values: Array) -> float:
    """The power of two of `values`, refused where its square, the unit of variances, would not be a float."""
    unit = power_of_two(values)
    if out_of_squares(np.array([unit])):
        raise ValueError(
            f"{where(owner)}: {name} is of size {unit:.0e}, and its square is no floating-point number; divide it by "
            f"{unit:.0e}."
        )
    return unit
