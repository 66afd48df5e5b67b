"""The constant and white-noise kernels."""

from __future__ import annotations

from functools import reduce
from operator import iand
from typing import Any

from .._array import device_of, is_array, is_sparse, namespace
from .._errors import NOT_NEGATIVE, POSITIVE
from ..domains import Anything, Vectors
from ..evaluation import Pairs
from ..types import Checked
from ._base import Kernel, register
from ._coordinates import columns
from ._definiteness import PD, STRICTLY_PD


@register
class Constant(Kernel):
    r"""Constant kernel, on any data.

    .. math:: k(x, y) = c

    Parameters
    ----------
    value : float >= 0
        c. The space contains the constant functions, with ‖f‖² = f²/c.

    References
    ----------
    Rasmussen, Williams, *Gaussian Processes for Machine Learning* (2006), section 4.2.

    Examples
    --------
    >>> Constant(2.0)([[1.0], [5.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    proven = PD
    stationary = True
    domain = Anything()
    abilities = ("gradient_theta", "feature_map")
    rules = {"value": NOT_NEGATIVE}

    def __init__(self, value: float = 1.0):
        self.value = value

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        n = self.domain.size(X)
        return self._full(X, (n, n if Y is None else self.domain.size(Y)), self.value)

    def evaluate_diag(self, X: Checked) -> Any:
        return self._full(X, (self.domain.size(X),), self.value)

    def formula(self, pairs: Pairs) -> float:
        return float(self.value)

    @staticmethod
    def _full(X: Checked, shape: tuple[int, ...], value: float) -> Any:
        xp = namespace(X)
        if is_array(X):
            floating = xp.isdtype(X.dtype, "real floating")
            return xp.full(shape, value, dtype=X.dtype if floating else xp.float64, device=device_of(X))
        return xp.full(shape, value, dtype=X.dtype if is_sparse(X) else xp.float64)

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        return {"value": self._full(X, (self.domain.size(X), self.domain.size(Y)), 1.0)}

    def features(self, X: Checked) -> Any:
        return self._full(X, (self.domain.size(X), 1), self.value**0.5)


@register
class White(Kernel):
    r"""White-noise kernel.

    .. math:: k(x, y) = v \, [x = y]

    Parameters
    ----------
    variance : float > 0
        v. Adding White makes the Gram matrix of distinct points strictly positive definite.

    Notes
    -----
    A pure function of its arguments: equal rows of X and Y give v wherever they occur. (scikit-learn's ``WhiteKernel``
    gives the identity for ``k(X)``, even with repeated rows, and 0 for every ``k(X, Y)``.)

    References
    ----------
    Rasmussen, Williams, *Gaussian Processes for Machine Learning* (2006), section 4.2.

    Examples
    --------
    >>> White(0.5)([[1.0], [2.0]], [[2.0]])
    array([[0. ],
           [0.5]])
    """

    proven = STRICTLY_PD
    stationary = True
    domain = Vectors()
    abilities = ("gradient_theta",)
    rules = {"variance": POSITIVE}

    def __init__(self, variance: float = 1.0):
        self.variance = variance

    def _equal(self, X: Checked, Y: Checked) -> Any:
        return namespace(X).astype(reduce(iand, (x == y for x, y in columns(X, Y))), X.dtype)

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return float(self.variance) * self._equal(X, Y)

    def evaluate_diag(self, X: Checked) -> Any:
        return namespace(X).full((X.shape[0],), float(self.variance), dtype=X.dtype, device=device_of(X))

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        return {"variance": self._equal(X, Y)}
