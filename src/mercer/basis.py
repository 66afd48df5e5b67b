"""Unpenalised functions h₁, …, h_p: the free part of f = Σ aᵢ k(·, xᵢ) + Σ c_b h_b (general representer theorem)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import chain, combinations_with_replacement
from math import comb
from numbers import Integral
from operator import mul
from typing import Any

from sklearn.base import BaseEstimator

from ._array import decided, is_array, is_sparse, namespace
from ._errors import check_number
from .types import Checked

__all__ = ["Functions", "Polynomials", "annihilated", "as_basis"]

MOST = 1 << 28  # maximum number of factors of all monomials, limited by time and memory


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
        X = X.toarray() if is_sparse(X) else X  # the values have a dense column for each coordinate anyway
        return namespace(X).stack([_monomial(X, powers) for powers in self._powers(X.shape[1])], axis=1)

    def _powers(self, d: int) -> Iterator[tuple[int, ...]]:
        """The coordinates that each monomial multiplies, repeated for powers."""
        return chain.from_iterable(combinations_with_replacement(range(d), k) for k in range(self.degree + 1))

    @property
    def order(self) -> int:
        """With this free part, the coefficients a annihilate polynomials of degree < order."""
        return self.degree + 1

    def _check_size(self, d: int) -> None:
        if self.degree * comb(d + self.degree, self.degree) > MOST:
            raise ValueError(
                f"Polynomials: degree = {self.degree} has too many monomials of {d} coordinates to compute; lower it."
            )

    def gradient(self, X: Checked) -> Any:
        """∂h_b/∂x, of shape (n, p, d)."""
        xp, d = namespace(X), X.shape[1]
        self._check_size(d)
        columns = []
        for powers in self._powers(d):
            rest = [powers[: powers.index(j)] + powers[powers.index(j) + 1 :] if j in powers else () for j in range(d)]
            partials = [powers.count(j) * _monomial(X, rest[j]) for j in range(d)]
            columns.append(xp.stack(partials, axis=1))
        return xp.stack(columns, axis=1)


class Functions(BaseEstimator):
    """The span of user-defined functions, each mapping a collection of n points to n values.

    Examples
    --------
    >>> import numpy as np
    >>> Functions([np.ravel, lambda X: np.sin(X[:, 0])])(np.zeros((2, 1)))
    array([[0., 0.],
           [0., 0.]])
    """

    order = 0  # nothing is known about the coefficients a

    def __init__(self, functions: Sequence[Callable[[Any], Any]]):
        self.functions = functions

    def __call__(self, X: Checked) -> Any:
        """The (n, p) matrix of values."""
        columns = [h(X) for h in self.functions]
        n = _ones(X).shape[0]
        for h, column in zip(self.functions, columns, strict=True):
            if tuple(column.shape) != (n,):
                raise ValueError(
                    f"free: {h!r} returned shape {tuple(column.shape)}; a free function must map n points to n values."
                )
            if not decided(namespace(column).all(namespace(column).isfinite(column))):
                raise ValueError(f"free: {h!r} returned NaN or infinity; a free function must return finite numbers.")
        return namespace(*columns).stack(columns, axis=1)

    def gradient(self, X: Checked) -> Any:
        """Raises an error, because only the values of the functions are known."""
        raise TypeError("derivative: the free part consists of functions without known derivatives.")


def annihilated(basis: Polynomials | Functions | None) -> int:
    """The order q for a free part: the coefficients a annihilate polynomials of degree < q."""
    return 0 if basis is None else basis.order


def as_basis(free: Any) -> Polynomials | Functions | None:
    """Convert ``"intercept"``, a polynomial degree, functions, or a basis to a basis; None stays None."""
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


def _monomial(X: Checked, powers: tuple[int, ...]) -> Any:
    return reduce(mul, (X[:, j] for j in powers)) if powers else _ones(X)[:, 0]


def _ones(X: Checked) -> Any:
    if not is_array(X):
        n = X.shape[0] if is_sparse(X) else len(X[0]) if isinstance(X, tuple) else len(X)
        return namespace().ones((n, 1), dtype=X.dtype if is_sparse(X) else None)
    xp = namespace(X)
    floating = xp.isdtype(X.dtype, "real floating")
    return xp.ones_like(X[:, :1] if X.ndim == 2 else X[:, None], dtype=X.dtype if floating else xp.float64)
