"""Dot-product kernels: k(x, y) = φ(xᵀy). A kernel writes `profile`, and `slope` and `curvature` for its derivatives:

∂k/∂x = φ′(t) y,        ∂²k/∂x∂yᵀ = φ′(t) I + φ″(t) y xᵀ
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import eye, host, is_sparse, namespace, product_transposed, row_products
from .._errors import where
from ..domains import Vectors
from ..types import Array, Checked, Namespace
from ._base import Kernel


class DotProduct(Kernel):
    """Base of the kernels of the inner product xᵀy."""

    domain = Vectors(sparse=True)

    def profile(self, t: Array, xp: Namespace) -> Any:
        """φ of the inner product."""
        raise NotImplementedError

    def slope(self, t: Array, xp: Namespace) -> Any:
        """φ′."""
        raise NotImplementedError

    def curvature(self, t: Array, xp: Namespace) -> Any:
        """φ″."""
        raise NotImplementedError

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        t = product_transposed(X, X if Y is None else Y)
        return self.profile(t, namespace(t))

    def evaluate_diag(self, X: Checked) -> Any:
        t = row_products(X, X)
        return self.profile(t, namespace(t))

    def check_values(self, X: Checked, owner: object) -> None:
        with np.errstate(over="ignore"):
            t = row_products(X, X)
        xp = namespace(t)
        finite = host(xp.isfinite(t))
        if not finite.all():
            raise ValueError(
                f"{where(owner)}: the squared length of sample {int(finite.argmin())} is beyond the largest {t.dtype} "
                "number, and with it the inner products of the kernel; scale the data."
            )
        super().check_values(X, owner)

    def _dense(self, X: Checked, Y: Checked) -> tuple[Any, Any, Any, Any]:
        X, Y = self.check_arguments(X, Y)
        Y = X if Y is None else Y
        if is_sparse(X) or is_sparse(Y):
            raise TypeError(f"{where(self)}: derivatives need dense X and Y; call .toarray() first.")
        return namespace(X), X, Y, product_transposed(X, Y)

    def gradient_x(self, X: Checked, Y: Checked = None) -> Any:
        """∂k(xᵢ, yⱼ)/∂xᵢ, of shape (n, m, d)."""
        xp, X, Y, t = self._dense(X, Y)
        return self.slope(t, xp)[..., None] * Y[None, :, :]

    def mixed_xy(self, X: Checked, Y: Checked = None) -> Any:
        """∂²k(xᵢ, yⱼ)/∂xᵢ∂yⱼᵀ, of shape (n, m, d, d)."""
        xp, X, Y, t = self._dense(X, Y)
        outer = Y[None, :, :, None] * X[:, None, None, :]
        return self.slope(t, xp)[..., None, None] * eye(X.shape[1], X) + self.curvature(t, xp)[..., None, None] * outer
