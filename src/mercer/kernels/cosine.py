"""Cosine similarity."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import eye, is_sparse, namespace, product_transposed, row_products
from .._errors import where
from ..domains import Vectors
from ..types import Checked
from ._base import register
from .features import Explicit


def directions(X: Checked) -> tuple[Any, Any]:
    """x/‖x‖ (0 for x = 0) and ‖x‖ for each row, dense or CSR; rows are first divided by their largest entry, so that
    squares neither overflow nor underflow.
    """
    xp = namespace(X)
    largest = abs(X).max(axis=1).toarray().ravel() if is_sparse(X) else xp.max(xp.abs(X), axis=1)
    U = _divided(X, xp.where(largest > 0, largest, xp.ones_like(largest)))
    norms = xp.sqrt(row_products(U, U))
    with np.errstate(over="ignore"):  # finite vectors may have an infinite length
        return _divided(U, xp.where(norms > 0, norms, xp.ones_like(norms))), norms * largest


def _divided(X: Any, rows: Any) -> Any:
    if not is_sparse(X):
        return X / rows[:, None]
    quotient = X.copy()
    quotient.data /= np.repeat(rows, np.diff(X.indptr))
    return quotient


@register
class Cosine(Explicit):
    r"""Cosine similarity.

    .. math:: k(x, y) = \frac{x^\top y}{\|x\| \, \|y\|}, \qquad x, y \ne 0

    Notes
    -----
    The linear kernel after projection onto the unit sphere: positive definite, but not strictly (the rank is at most d,
    and positive multiples of a vector coincide). Zero vectors have no direction and are rejected. (scikit-learn's
    ``cosine_similarity`` gives them 0.) A matrix costs O(nmd); a CSR matrix stays sparse.

    References
    ----------
    Shawe-Taylor, Cristianini, *Kernel Methods for Pattern Analysis* (2004), section 5.1 (normalisation).

    Examples
    --------
    >>> Cosine()([[1.0, 0.0]], [[3.0, 4.0]])
    array([[0.6]])
    """

    domain = Vectors(sparse=True)
    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "feature_map")

    def _directions(self, X: Checked) -> tuple[Any, Any]:
        xp = namespace(X)
        U, norms = directions(X)
        if bool(xp.any(norms == 0)):
            row = int(xp.nonzero(norms == 0)[0][0])
            raise ValueError(
                f"{where(self)}: row {row} is the zero vector, which has no direction; drop such rows first."
            )
        return U, norms

    def evaluate_diag(self, X: Checked) -> Any:
        return namespace(X).ones_like(self._directions(X)[1])

    def d_x(self, X: Checked, Y: Checked) -> Any:
        """∂k/∂x = (v − k u)/‖x‖ with the directions u, v of x, y."""
        (U, a), (V, _) = self._directions(X), self._directions(Y)
        k = product_transposed(U, V)
        return (V[None, :, :] - k[..., None] * U[:, None, :]) / a[:, None, None]

    def d_xy(self, X: Checked, Y: Checked) -> Any:
        """∂²k/∂x∂yᵀ = (I − uuᵀ)(I − vvᵀ)/(‖x‖‖y‖)."""
        (U, a), (V, b) = self._directions(X), self._directions(Y)
        P, Q = (eye(U.shape[1], U) - W[:, :, None] * W[:, None, :] for W in (U, V))
        return namespace(U).matmul(P[:, None, :, :], Q[None, :, :, :]) / (a[:, None] * b[None, :])[..., None, None]

    def features(self, X: Checked) -> Any:
        return self._directions(X)[0]
