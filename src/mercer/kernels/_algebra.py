"""The operators that make kernels from kernels; definiteness is derived by the rules of `_definiteness`."""

from __future__ import annotations

from numbers import Real
from typing import Any

from ._base import Kernel
from ._composite import Product, Sum, Tensor
from ._outer import Exp, PowerOf, Scaled, Series
from ._transformed import CenteredAt, Normalized, Restricted, Translated, Warped
from .constant import Constant

ALGEBRA = (Sum, Product, Tensor, Scaled, PowerOf, Exp, Series, Normalized, Warped, Restricted, Translated, CenteredAt)


def add(left: Kernel, right: Any) -> Kernel:
    """left + right, where a number c stands for the constant kernel c."""
    if isinstance(right, Real):
        return left if right == 0 else add(left, Constant(float(right)))
    if not isinstance(right, Kernel):
        return NotImplemented
    return Sum([*_terms(Sum, left), *_terms(Sum, right)])


def multiply(left: Kernel, right: Any) -> Kernel:
    """left * right for a kernel or a number."""
    if isinstance(right, Real):
        return Scaled(left, float(right))
    if not isinstance(right, Kernel):
        return NotImplemented
    return Product([*_terms(Product, left), *_terms(Product, right)])


def tensor(left: Kernel, right: Kernel) -> Kernel:
    """left @ right on pairs."""
    if not isinstance(right, Kernel):
        return NotImplemented
    return Tensor([*_terms(Tensor, left), *_terms(Tensor, right)])


def _terms(cls: type, kernel: Kernel) -> list[Kernel]:
    return list(kernel.kernels) if type(kernel) is cls else [kernel]
