"""Unpenalised functions h₁, …, h_p: the free part of f = Σ aᵢ k(·, xᵢ) + Σ c_b h_b (general representer theorem)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from math import comb
from numbers import Integral
from typing import Any

from sklearn.base import BaseEstimator

from ._array import decided, is_array, is_sparse, namespace
from ._errors import check_number
from .types import Checked

__all__ = ["Functions", "Polynomials", "annihilated", "as_basis"]

MOST = 1 << 28  # factors of all monomials: for more, neither time nor memory suffices


class Polynomials(BaseEstimator):
    """All monomials of total degree ≤ `degree`; degree 0 is the intercept.

    Parameters
    ----------
    degree : int
        At least 0. In d dimensions there are (d + degree choose degree) monomials.

    Examples
    --------
    >>> import numpy as np
    >>> Polynomials(1)(np.array([[2.0, 3.0]]))
    array([[1., 2., 3.]])
    """

    def __init__(self, degree: int = 0):
        self.degree = degree

    def __call__(self, X: Checked) -> Any:
        """The (n, p) matrix of values."""
        check_number(self, "degree", self.degree, at_least=0, integer=True)
        if self.degree == 0:
            return _ones(X)
        self._check_size(X.shape[1])
        X = X.toarray() if is_sparse(X) else X  # the values have a column per coordinate in any case
        xp = namespace(X)
        columns = [_ones(X)[:, 0]]
        for k in range(1, self.degree + 1):
            for powers in combinations_with_replacement(range(X.shape[1]), k):
                column = X[:, powers[0]]
                for j in powers[1:]:
                    column = column * X[:, j]
                columns.append(column)
        return xp.stack(columns, axis=1)

    @property
    def order(self) -> int:
        """The coefficients beside this free part annihilate polynomials of degree < order."""
        return self.degree + 1

    def _check_size(self, d: int) -> None:
        if self.degree * comb(d + self.degree, self.degree) > MOST:
            raise ValueError(
                f"Polynomials: degree = {self.degree} has more monomials of {d} coordinates than can be computed; "
                "lower it."
            )

    def gradient(self, X: Checked) -> Any:
        """∂h_b/∂x, of shape (n, p, d)."""
        xp = namespace(X)
        d = X.shape[1]
        self._check_size(d)
        nothing = xp.zeros_like(X[:, 0])
        columns = [xp.zeros_like(X)]
        for k in range(1, self.degree + 1):
            for powers in combinations_with_replacement(range(d), k):
                partials = []
                for j in range(d):
                    rest = list(powers)
                    if j not in rest:
                        partials.append(nothing)
                        continue
                    rest.remove(j)
                    partial = nothing + powers.count(j)
                    for i in rest:
                        partial = partial * X[:, i]
                    partials.append(partial)
                columns.append(xp.stack(partials, axis=1))
        return xp.stack(columns, axis=1)


class Functions(BaseEstimator):
    """The span of the user's own functions, each mapping a collection of n points to n values.

    Examples
    --------
    >>> import numpy as np
    >>> Functions([np.ravel, lambda X: np.sin(X[:, 0])])(np.zeros((2, 1)))
    array([[0., 0.],
           [0., 0.]])
    """

    order = 0  # nothing is known of the coefficients beside it

    def __init__(self, functions: Sequence[Callable[[Any], Any]]):
        self.functions = functions

    def __call__(self, X: Checked) -> Any:
        """The (n, p) matrix of values."""
        columns = [h(X) for h in self.functions]
        n = _ones(X).shape[0]
        for h, column in zip(self.functions, columns, strict=True):
            if tuple(column.shape) != (n,):
                raise ValueError(
                    f"free: {h!r} returned shape {tuple(column.shape)}; a free function maps n points to n values."
                )
            if not decided(namespace(column).all(namespace(column).isfinite(column))):
                raise ValueError(f"free: {h!r} returned NaN or infinity; a free function maps points to numbers.")
        return namespace(*columns).stack(columns, axis=1)

    def gradient(self, X: Checked) -> Any:
        """Refused: nothing is known of the functions but their values."""
        raise TypeError("derivative: the free part consists of functions without known derivatives.")


def annihilated(basis: Polynomials | Functions | None) -> int:
    """The order q of the coefficients that a free part leaves: they annihilate polynomials of degree < q."""
    return 0 if basis is None else basis.order


def as_basis(free: Any) -> Polynomials | Functions | None:
    """None, ``"intercept"``, a polynomial degree, functions, or a basis → a basis (or None for none)."""
    if free is None or isinstance(free, (Polynomials, Functions)):
        return free
    if isinstance(free, str) and free == "intercept":
        return Polynomials(0)
    if isinstance(free, Integral) and not isinstance(free, bool) and 0 <= int(free) <= MOST:
        return Polynomials(int(free))
    if isinstance(free, (list, tuple)) and free and all(callable(h) for h in free):
        return Functions(list(free))
    kind = ValueError if isinstance(free, Integral) and not isinstance(free, bool) else TypeError
    raise kind(f'free = {free!r} must be None, "intercept", a polynomial degree, or a list of functions of X.')


def _ones(X: Checked) -> Any:
    if not is_array(X):
        n = X.shape[0] if is_sparse(X) else len(X[0]) if isinstance(X, tuple) else len(X)
        return namespace().ones((n, 1), dtype=X.dtype if is_sparse(X) else None)
    xp = namespace(X)
    floating = xp.isdtype(X.dtype, "real floating")
    return xp.ones_like(X[:, :1] if X.ndim == 2 else X[:, None], dtype=X.dtype if floating else xp.float64)
