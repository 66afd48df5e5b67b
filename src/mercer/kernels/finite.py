"""Kernels given by values: a matrix on a finite set, a precomputed Gram matrix, or a user-defined function."""

from __future__ import annotations

from collections.abc import Callable as Map
from math import isfinite
from typing import Any

import numpy as np

from .._array import asymmetry, host, is_array, is_sparse, like, namespace
from .._errors import check_choice, where
from ..domains import Anything, Domain, Indices, Rows
from ..types import Array, Checked
from ._base import Kernel, register
from ._definiteness import CPD, INDEFINITE, PD, STRICTLY_PD, UNKNOWN, Definiteness


def _check_symmetric(owner: object, K: Array, remedy: str) -> None:
    """Raise unless K equals its transpose up to rounding."""
    if asymmetry(K) == "large":
        xp = namespace(K)
        gap = xp.abs(K - xp.matrix_transpose(K))
        i, j = divmod(int(xp.argmax(xp.reshape(gap, (-1,)))), K.shape[1])
        values = f"k({i}, {j}) = {float(K[i, j]):g} but k({j}, {i}) = {float(K[j, i]):g}"
        raise ValueError(f"{where(owner)}: not symmetric: {values}; {remedy}.")


@register
class FiniteDomain(Kernel):
    r"""Kernel on the finite set {0, …, n−1}, defined by its matrix.

    .. math:: k(i, j) = K_{ij}

    Parameters
    ----------
    matrix : array of shape (n, n)
        K, real, finite and symmetric.

    Notes
    -----
    The definiteness is computed from the eigenvalues of K, up to rounding errors: strictly PD, PD (singular), CPD(1),
    or INDEFINITE. For strictly PD K the space is ℝⁿ with ⟨f, g⟩ = fᵀK⁻¹g. Values have the floating type of the matrix
    and are computed on the host.

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), section 2.2.6; the bound on computed eigenvalues: Golub, Van Loan,
    *Matrix Computations* (2013), section 8.1.

    Examples
    --------
    >>> k = FiniteDomain([[2.0, 1.0], [1.0, 2.0]])
    >>> k([0, 1, 1])
    array([[2., 1., 1.],
           [1., 2., 2.],
           [1., 2., 2.]])
    >>> k.definiteness, FiniteDomain([[0.0, 1.0], [1.0, 0.0]]).definiteness
    (strictly PD, INDEFINITE)
    """

    def __init__(self, matrix: Array):
        self.matrix = matrix

    def _values(self) -> np.ndarray:
        K = host(self.matrix)
        return K if K.dtype == np.float32 else K.astype(np.float64, copy=False)

    def validate(self) -> None:
        try:
            K = host(self.matrix)
        except ValueError:
            raise ValueError("FiniteDomain: matrix has rows of unequal length; it must be square.") from None
        if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
            raise ValueError(f"FiniteDomain: matrix of shape {K.shape} must be square: k(i, j) for all i and j.")
        if K.dtype.kind not in "fiub":
            raise TypeError(f"FiniteDomain: matrix holds {K.dtype} values; give real numbers.")
        K = self._values()
        if not np.all(np.isfinite(K)):
            i, j = np.argwhere(~np.isfinite(K))[0]
            raise ValueError(f"FiniteDomain: matrix contains {K[i, j]} at row {i}, column {j}; give finite numbers.")
        _check_symmetric(self, K, "use (K + K.T) / 2 if that is rounding")

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return Indices(host(self.matrix).shape[0])

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        K = self._values()
        rows = host(X)
        return self._like(K[np.ix_(rows, rows if Y is None else host(Y))], X)

    def evaluate_diag(self, X: Checked) -> Any:
        return self._like(np.diagonal(self._values())[host(X)], X)

    @staticmethod
    def _like(values: np.ndarray, X: Checked) -> Any:
        return like(values, X, dtype=getattr(namespace(X), values.dtype.name))

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        self.validate()
        K = self._values().astype(np.float64)
        n = len(K)
        # computed eigenvalues are exact for a matrix within p(n)·eps·‖K‖ of K, p a modest polynomial; 10 n covers it
        margin = 10 * n * np.finfo(self._values().dtype).eps * float(np.linalg.norm(K, 2))
        eigenvalues = np.linalg.eigvalsh((K + K.T) / 2)
        if eigenvalues[0] >= -margin:
            return STRICTLY_PD if eigenvalues[0] > margin else PD
        # c with Σ cᵢ = 0: an orthonormal basis of that subspace
        N = np.linalg.qr(np.ones((n, 1)), mode="complete")[0][:, 1:]
        restricted = np.linalg.eigvalsh(N.T @ (K + K.T) @ N / 2) if n > 1 else np.zeros(1)
        return CPD(1, restricted[0] > margin) if restricted[0] >= -margin else INDEFINITE

    @classmethod
    def examples(cls) -> list[Any]:
        i = np.arange(9.0)
        gap = np.abs(i[:, None] - i)
        return [cls(0.5**gap), cls(np.minimum(i[:, None], i)), cls(-gap), cls(np.cos(gap) - 2 * np.eye(9))]


class _Declared(Kernel):
    """A kernel whose definiteness is a parameter set by the user."""

    @property
    def definiteness(self) -> Definiteness:
        """The declared definiteness; UNKNOWN by default."""
        return self._declared

    @definiteness.setter
    def definiteness(self, value: Definiteness | None) -> None:
        self._declared = UNKNOWN if value is None else value

    def validate(self) -> None:
        if not isinstance(self.definiteness, Definiteness):
            raise TypeError(
                f"{where(self)}: definiteness = {self.definiteness!r} must be PD, STRICTLY_PD, CPD(q), INDEFINITE, "
                "UNKNOWN or None."
            )

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return self.definiteness


@register
class Precomputed(_Declared):
    r"""Kernel whose values are given in place of the samples.

    .. math:: k(x_i, x_j) = K_{ij}

    The first argument holds rows of kernel values against the n training samples, the second is an array of training
    indices: ``k(K)`` is K itself, which must be square and symmetric, and ``k(rows, index)`` selects columns.

    Parameters
    ----------
    definiteness : Definiteness
        The definiteness of K, for example ``PD``; UNKNOWN (or None) makes no claim. ``k.check(K)`` tests it.

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), section 2.2.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> Precomputed()(K, [1])
    array([[1.],
           [2.]])
    """

    trials = [(), (PD,)]
    domain: Domain = Rows()

    def __init__(self, definiteness: Definiteness | None = UNKNOWN):
        self.definiteness = definiteness

    def __call__(self, X: Checked, Y: Checked = None) -> Any:
        X, Y = self.check_arguments(X, Y)
        if Y is None:
            self.domain.centres(X)  # raises for a matrix that is not square or not symmetric
        return self.evaluate(X, Y)

    def check_arguments(self, X: Checked, Y: Checked = None) -> tuple[Any, Any]:
        self.validate()
        X = self.domain.check(X, self, "X")
        return X, None if Y is None else Indices(X.shape[1]).check(Y, self, "Y")

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        if Y is None:
            return X
        xp = namespace(X)
        Y = like(Y, X, dtype=xp.int64)
        if Y.shape[0] and int(xp.max(Y)) >= X.shape[1]:
            raise ValueError(
                f"Precomputed: X has {X.shape[1]} columns, but needs one for training sample {int(xp.max(Y)) + 1}; "
                "pass the kernel values against all training samples."
            )
        return xp.take(X, Y, axis=1)

    def evaluate_diag(self, X: Checked) -> Any:
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed: X has shape {tuple(X.shape)}; k(x, x) is known only for a square matrix k(X, X)."
            )
        return namespace(X).linalg.diagonal(X)


def _bump(x: Array, y: Array) -> Any:
    xp = namespace(x)
    return xp.exp(-xp.sum((x - y) ** 2))


def _inner(x: Array, y: Array) -> float:
    return float(namespace(x).sum(x * y))


def _inner_all(X: Checked, Y: Checked) -> Any:
    return X @ namespace(X).matrix_transpose(Y)


@register
class Callable(_Declared):
    r"""Kernel defined by a user's function.

    .. math:: k(x, y) = f(x, y)

    Parameters
    ----------
    function : callable
        f, symmetric. It maps two members to a number or, with ``pairwise=False``, two collections of n and m members
        to an (n, m) array or sparse matrix. A named function (not a lambda) keeps the kernel picklable.
    definiteness : Definiteness
        The definiteness of f, for example ``PD``; UNKNOWN (or None) makes no claim. ``k.check(X)`` tests it.
    pairwise : bool
        Whether f takes two members. Each pair costs a Python call; k(X) evaluates the pairs i <= j, and j = i − 1 to
        check that f is symmetric.

    Notes
    -----
    Members are ``X[i]``: rows of an array (one-row matrices for a CSR matrix), entries of a list. Pairwise values are
    computed on the host and returned in X's library and floating type.

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), definition 2.5, for what makes f a positive definite kernel.

    Examples
    --------
    >>> def common_letters(x, y):
    ...     return len(set(x) & set(y))
    >>> Callable(common_letters)(["kernel", "mercer"])
    array([[5., 2.],
           [2., 4.]])
    """

    trials = [(_bump, PD), (_inner,), (_inner_all, PD, False)]
    domain: Domain = Anything()

    def __init__(self, function: Map[..., Any], definiteness: Definiteness | None = UNKNOWN, pairwise: bool = True):
        self.function, self.definiteness, self.pairwise = function, definiteness, pairwise

    def validate(self) -> None:
        super().validate()
        if not callable(self.function):
            raise TypeError(f"Callable: function = {self.function!r} must be callable.")
        check_choice(self, "pairwise", self.pairwise, (True, False))

    @property
    def whole(self) -> bool:  # type: ignore[override]
        return not self.pairwise

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return _home(self._pairs(X, Y) if self.pairwise else self._whole(X, Y), X)

    def evaluate_diag(self, X: Checked) -> Any:
        if not self.pairwise:
            return super().evaluate_diag(X)
        return _home(np.array([self._value(x, x) for x in _members(X)]), X)

    def _pairs(self, X: Checked, Y: Checked) -> np.ndarray:
        A = _members(X)
        if Y is not None:
            B = _members(Y)
            return np.array([[self._value(x, y) for y in B] for x in A])
        K = np.empty((len(A), len(A)))
        for i, x in enumerate(A):
            for j in range(i, len(A)):
                K[i, j] = K[j, i] = self._value(x, A[j])
        tried = K.copy()
        for i in range(1, len(A)):
            tried[i, i - 1] = self._value(A[i], A[i - 1])
        _check_symmetric(self, _home(tried, X), "a kernel is a symmetric function")
        return K

    def _value(self, x: Array, y: Array) -> float:
        try:
            value = self.function(x, y)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise type(error)(
                f"Callable: {_name(self.function)} failed on a pair of members: {error}; a function of whole "
                "collections needs pairwise=False."
            ) from error
        if not isinstance(value, float):
            number = host(value)
            if number.size != 1 or number.dtype.kind not in "fiub":
                raise TypeError(
                    f"Callable: {_name(self.function)} returned {value!r} for one pair; it must return one real number "
                    "(a function of whole collections needs pairwise=False)."
                )
            value = float(number.item())
        if not isfinite(value):
            raise ValueError(
                f"Callable: {_name(self.function)} returned {value} for one pair; it must return finite numbers."
            )
        return value

    def _whole(self, X: Checked, Y: Checked) -> Any:
        K = self.function(X, X if Y is None else Y)
        K = K.toarray() if is_sparse(K) else np.asarray(K) if isinstance(K, (np.matrix, list)) else K
        n = self.domain.size(X)
        shape = (n, n if Y is None else self.domain.size(Y))
        if not is_array(K) or tuple(K.shape) != shape:
            got = f"shape {tuple(K.shape)}" if is_array(K) else f"a {type(K).__name__}"
            raise ValueError(
                f"Callable: {_name(self.function)} returned {got}; expected an array of shape {shape} "
                "(a function of single members needs pairwise=True)."
            )
        xp = namespace(K)
        if xp.isdtype(K.dtype, "complex floating"):
            raise TypeError(f"Callable: {_name(self.function)} returned complex numbers; it must return real numbers.")
        if not xp.isdtype(K.dtype, "real floating"):
            K = xp.astype(K, xp.float64)
        if not bool(xp.all(xp.isfinite(K))):
            raise ValueError(
                f"Callable: {_name(self.function)} returned NaN or infinity; it must return finite numbers."
            )
        if Y is None:
            _check_symmetric(self, K, "a kernel is a symmetric function")
        return K


def _name(function: Any) -> str:
    return getattr(function, "__name__", repr(function))


def _home(values: Array, X: Checked) -> Any:
    """Values in X's library and floating type, if it has one."""
    if is_sparse(X) or (is_array(X) and namespace(X).isdtype(X.dtype, "real floating")):
        return like(values, X)
    return values


def _members(X: Checked) -> list[Any]:
    """The members of a collection, as arguments of a pairwise function."""
    if is_sparse(X):
        return [X[[i]] for i in range(X.shape[0])]
    if is_array(X) and not isinstance(X, np.ndarray):
        return [X[i, ...] for i in range(X.shape[0])]
    return [X.iloc[i] for i in range(len(X))] if hasattr(X, "iloc") else [X[i] for i in range(len(X))]
