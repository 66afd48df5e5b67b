"""Shared code of kernels built from other kernels: domains, checks, and examples for the law tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import clone

from .._array import device_of, host, is_array, is_sparse, like, namespace
from .._errors import where
from ..domains import Domain
from ..types import Array, Checked
from ._base import Kernel, is_kernel
from ._definiteness import UNKNOWN, Definiteness
from .gaussian import Gaussian
from .linear import Affine

STATIONARY = {"spectral_sample", "log_normalizer", "self_convolution"}  # need a function of x − y in all columns


class Unary(Kernel):
    """A kernel built from another."""

    kernel: Kernel

    def validate(self) -> None:
        require_kernels(self, "kernel", [self.kernel])
        self.kernel.validate()
        super().validate()

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return self.kernel.domain

    @property
    def tile(self) -> int:  # type: ignore[override]
        return self.kernel.tile

    @property
    def whole(self) -> bool:  # type: ignore[override]
        return self.kernel.whole

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        """The inner kernel's definiteness, if it is (strictly) PD; otherwise UNKNOWN."""
        inner = self.kernel.definiteness_in(dimension)
        return inner if inner.is_pd else UNKNOWN

    def _check_together(self, X: Checked, Y: Checked) -> None:
        self.kernel._check_together(X, Y)

    def check_values(self, X: Checked, owner: object) -> None:
        if self.kernel.domain == self.domain:  # otherwise the inner kernel takes other collections
            self.kernel.check_values(X, owner)
        super().check_values(X, owner)

    def resolve(self, X: Checked) -> Self:
        copy = clone(self)
        copy.kernel = self.kernel.resolve(X)
        return copy

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls(k) for k in inner_examples()]


def require_kernels(owner: object, name: str, parts: Sequence[Any]) -> None:
    """Raise unless every part is a kernel."""
    for part in parts:
        if not is_kernel(part):
            raise TypeError(f"{where(owner)}: {name} holds {part!r}; give Kernel objects (parse makes them from text).")


def inner_examples() -> list[Kernel]:
    """The kernels on which the law tests run each operation."""
    return [Gaussian(0.7), Affine(0.5)]


def column_products(parts: Sequence[Any]) -> Any:
    """All products of one column from each part, row by row."""
    Z = parts[0]
    for W in parts[1:]:
        Z = namespace(Z).reshape(Z[:, :, None] * W[:, None, :], (Z.shape[0], Z.shape[1] * W.shape[1]))
    return Z


def in_type_of(A: Array, sample: Any) -> Any:
    """A kernel's stored sample, in the array library, device and floating type of A."""
    if isinstance(sample, tuple):
        return tuple(in_type_of(a, s) for a, s in zip(A, sample, strict=True))
    if not all(is_array(B) or is_sparse(B) for B in (A, sample)):
        return sample
    if is_sparse(sample):
        return sample.astype(A.dtype)
    real = all(is_sparse(B) or namespace(B).isdtype(B.dtype, "real floating") for B in (A, sample))
    if real or namespace(sample) is namespace(A):
        # labels keep their type, because the width of a text type would truncate longer ones
        return like(sample, A, dtype=A.dtype if real else sample.dtype)
    return namespace(A).asarray(host(sample), device=device_of(A))
