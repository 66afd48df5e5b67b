"""The linear and affine kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import eps, eye, is_sparse, namespace
from .._errors import check_number, where
from .._units import power_of_two
from ..types import Array, Checked, Namespace
from ._base import register
from ._definiteness import PD, Definiteness
from ._dot import DotProduct


@register
class Linear(DotProduct):
    r"""Linear kernel.

    .. math:: k(x, y) = x^\top y

    Notes
    -----
    Positive definite, not strictly: its space is the linear functions f(x) = wᵀx with ‖f‖ = ‖w‖, so a Gram matrix has
    rank at most d. The feature map is x itself.

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), section 2.1.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "feature_map")

    def profile(self, t: Array, xp: Namespace) -> Any:
        return t

    def slope(self, t: Array, xp: Namespace) -> Any:
        return xp.ones_like(t)

    def curvature(self, t: Array, xp: Namespace) -> Any:
        return xp.zeros_like(t)

    def gradient_theta(self, X: Checked, Y: Checked = None) -> dict[str, Any]:
        """No parameters."""
        return {}

    def feature_map(self, X: Checked) -> Any:
        """x itself (dense)."""
        X, _ = self.check_arguments(X)
        return X.toarray() if is_sparse(X) else X

    def check_values(self, X: Checked, owner: object) -> None:
        super().check_values(X, owner)
        unit = power_of_two(X.data if is_sparse(X) else X)  # 1 where X is 0
        if unit**2 < float(namespace(X).finfo(X.dtype).smallest_normal) / eps(X):
            raise ValueError(
                f"{where(owner)}: X is of size {unit:.0e}, and its inner products lose digits, as {X.dtype} has no "
                f"smaller numbers; divide X by {unit:.0e}."
            )

    def drift(self, origin: np.ndarray) -> np.ndarray:
        return origin

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return PD


@register
class Affine(DotProduct):
    r"""Affine kernel: the linear kernel with an offset.

    .. math:: k(x, y) = x^\top y + c

    Parameters
    ----------
    offset : float >= 0
        c. Raising it lets the constant part of a function cost less: f(x) = wᵀx + w₀ has ‖f‖² = ‖w‖² + w₀²/c.

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), section 2.3.

    Examples
    --------
    >>> Affine(offset=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[12.]])
    """

    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "feature_map")

    def __init__(self, offset: float = 1.0):
        self.offset = offset

    def validate(self) -> None:
        check_number(self, "offset", self.offset, at_least=0)

    def profile(self, t: Array, xp: Namespace) -> Any:
        return t + float(self.offset)

    def slope(self, t: Array, xp: Namespace) -> Any:
        return xp.ones_like(t)

    def curvature(self, t: Array, xp: Namespace) -> Any:
        return xp.zeros_like(t)

    def gradient_theta(self, X: Checked, Y: Checked = None) -> dict[str, Any]:
        """∂k/∂offset = 1."""
        xp, _, _, t = self._dense(X, Y)
        return {"offset": xp.ones_like(t)}

    def feature_map(self, X: Checked) -> Any:
        """(x, √c)."""
        X, _ = self.check_arguments(X)
        X = X.toarray() if is_sparse(X) else X
        xp = namespace(X)
        return xp.concat([X, eye(1, X) * float(self.offset) ** 0.5 + xp.zeros_like(X[:, :1])], axis=1)

    def drift(self, origin: np.ndarray) -> np.ndarray:
        return origin

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return PD
