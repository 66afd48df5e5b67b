"""The linear and affine kernels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._array import eps, eye, is_sparse, namespace, product_transposed
from .._errors import NOT_NEGATIVE, where
from .._units import power_of_two
from ..types import Array, Checked, Namespace
from ._base import register
from ._definiteness import PD
from ._dot import DotProduct


class _Straight(DotProduct):
    """xᵀy plus a constant."""

    abilities: ClassVar[tuple[str, ...]] = ("gradient_x", "mixed_xy", "gradient_theta", "feature_map")
    proven = PD

    def slope(self, t: Array, xp: Namespace) -> Any:
        return xp.ones_like(t)

    def curvature(self, t: Array, xp: Namespace) -> Any:
        return xp.zeros_like(t)

    def drift(self, origin: np.ndarray) -> np.ndarray:
        return origin


@register
class Linear(_Straight):
    r"""Linear kernel.

    .. math:: k(x, y) = x^\top y

    Notes
    -----
    Positive definite, not strictly: its space consists of the linear functions f(x) = wᵀx with ‖f‖ = ‖w‖, so a Gram
    matrix has rank at most d. The feature map is x itself.

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), section 2.1.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def profile(self, t: Array, xp: Namespace) -> Any:
        return t

    def features(self, X: Checked) -> Any:
        return X

    def check_values(self, X: Checked, owner: object) -> None:
        unit, limits = power_of_two(X), namespace(X).finfo(X.dtype)  # 1 where X is 0
        if not 4 * unit * unit * X.shape[1] < float(limits.max):  # otherwise no row's sum of squares can overflow
            super().check_values(X, owner)
        if unit * unit < float(limits.smallest_normal) / eps(X):
            raise ValueError(
                f"{where(owner)}: X has entries of size {unit:.0e}, so its inner products underflow in "
                f"{X.dtype}; divide X by {unit:.0e}."
            )


@register
class Affine(_Straight):
    r"""Affine kernel: the linear kernel with an offset.

    .. math:: k(x, y) = x^\top y + c

    Parameters
    ----------
    offset : float >= 0
        c. Raising it penalises the constant term less: f(x) = wᵀx + w₀ has ‖f‖² = ‖w‖² + w₀²/c.

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), section 2.3.

    Examples
    --------
    >>> Affine(offset=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[12.]])
    """

    rules = {"offset": NOT_NEGATIVE}

    def __init__(self, offset: float = 1.0):
        self.offset = offset

    def profile(self, t: Array, xp: Namespace) -> Any:
        return t + float(self.offset)

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        return {"offset": namespace(X).ones_like(product_transposed(X, Y))}

    def features(self, X: Checked) -> Any:
        X = X.toarray() if is_sparse(X) else X
        xp = namespace(X)
        return xp.concat([X, eye(1, X) * float(self.offset) ** 0.5 + xp.zeros_like(X[:, :1])], axis=1)
