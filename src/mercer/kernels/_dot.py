"""Dot-product kernels k(x, y) = φ(xᵀy). A kernel implements `profile`, and `slope` and `curvature` for derivatives:

∂k/∂x = φ′(t) y,        ∂²k/∂x∂yᵀ = φ′(t) I + φ″(t) y xᵀ
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import eye, host, namespace, product_transposed, row_products
from .._errors import unwritten, where
from ..domains import Vectors
from ..evaluation import Pairs
from ..types import Array, Checked, Namespace
from ._base import Kernel


class DotProduct(Kernel):
    """Base class of kernels that are functions of xᵀy."""

    domain = Vectors(sparse=True)

    def profile(self, t: Array, xp: Namespace) -> Any:
        """φ of the inner product."""
        raise unwritten(self, "profile")

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

    def formula(self, pairs: Pairs) -> Any:
        return self.profile(pairs.products(), pairs.xp)

    def check_values(self, X: Checked, owner: object) -> None:
        with np.errstate(over="ignore"):
            t = row_products(X, X)
        xp = namespace(t)
        finite = host(xp.isfinite(t))
        if not finite.all():
            raise ValueError(
                f"{where(owner)}: the squared length of sample {int(finite.argmin())} is beyond the largest {t.dtype} "
                "number, so inner products overflow; scale the data."
            )
        super().check_values(X, owner)

    def d_x(self, X: Checked, Y: Checked) -> Any:
        t = product_transposed(X, Y)
        return self.slope(t, namespace(t))[..., None] * Y[None, :, :]

    def d_xy(self, X: Checked, Y: Checked) -> Any:
        t = product_transposed(X, Y)
        slope, curvature = (f(t, namespace(t))[..., None, None] for f in (self.slope, self.curvature))
        return slope * eye(X.shape[1], X) + curvature * (Y[None, :, :, None] * X[:, None, None, :])
