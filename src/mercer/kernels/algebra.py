"""The operators that build kernels from kernels, and the kernels that they build.

Definiteness follows the rules of `Definiteness`. The methods and operators of `Kernel` call these functions.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from ..types import Array
from ._base import Kernel, is_kernel
from ._composite import Product, Sum, Tensor
from ._outer import Exp, Outer, PowerOf, Scaled, Series
from ._transformed import CenteredAt, Normalized, Restricted, Translated, Warped
from .constant import Constant

__all__ = [
    "CenteredAt",
    "Exp",
    "Normalized",
    "Outer",
    "PowerOf",
    "Product",
    "Restricted",
    "Scaled",
    "Series",
    "Sum",
    "Tensor",
    "Translated",
    "Warped",
    "add",
    "multiply",
    "tensor",
]

ALGEBRA = (Sum, Product, Tensor, Scaled, PowerOf, Exp, Series, Normalized, Warped, Restricted, Translated, CenteredAt)


def add(left: Kernel, right: Array) -> Kernel:
    """left + right, where a number c means the constant kernel c."""
    if isinstance(right, Real):
        return left if right == 0 else add(left, Constant(float(right)))
    return _joined(Sum, left, right)


def multiply(left: Kernel, right: Array) -> Kernel:
    """left * right for a kernel or a number."""
    return Scaled(left, float(right)) if isinstance(right, Real) else _joined(Product, left, right)


def tensor(left: Kernel, right: Kernel) -> Kernel:
    """left @ right on pairs."""
    return _joined(Tensor, left, right)


def _joined(cls: Any, left: Kernel, right: Any) -> Kernel:
    """The combined kernel of the parts of both."""
    if not is_kernel(right):
        return NotImplemented
    return cls([part for kernel in (left, right) for part in (kernel.kernels if type(kernel) is cls else [kernel])])
