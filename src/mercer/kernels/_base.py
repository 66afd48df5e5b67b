"""The kernel: a pure function of two collections and its parameters, with an algebra.

A kernel class implements `evaluate` and `evaluate_diag` (or the `profile` of `_radial` and `_dot`). It declares its
`domain`, its `proven` definiteness, and its optional operations, `abilities`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, update_wrapper
from types import FunctionType
from typing import Any, ClassVar, Self, TypeGuard, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._array import all_finite, device_of, doubles, eps, host, is_array, is_sparse, like, namespace
from .._errors import check_free, check_parameters, remedies, shown, unwritten, where
from .._same import same
from ..basis import Polynomials
from ..domains import Domain, Vectors
from ..evaluation import Evaluator, Pairs, Points, Untraceable, bind
from ..types import Array, Checked, Index
from ._abilities import Abilities
from ._definiteness import UNKNOWN, Definiteness

FAR = 256.0  # compute about the mean if that shrinks the values by this factor, eight binary digits
registry: dict[str, type[Kernel]] = {}
_K = TypeVar("_K", bound="Kernel")


def snake_case(cls: type) -> str:
    """The name of a class in expressions: ``rational_quadratic``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def register(cls: type[_K]) -> type[_K]:
    """Register a kernel class under its snake-case name, for the parser and the law tests."""
    cls.name = snake_case(cls)
    check_free(registry, cls)
    registry[cls.name] = cls
    init = cls.__init__
    if isinstance(init, FunctionType) and "__init__" not in vars(cls):
        # its own copy, so that Python's error messages name this class
        own = FunctionType(init.__code__, init.__globals__, init.__name__, init.__defaults__, init.__closure__)
        own.__kwdefaults__ = init.__kwdefaults__
        update_wrapper(own, init).__qualname__ = f"{cls.__name__}.__init__"
        cls.__init__ = own  # type: ignore[method-assign]
    return cls


class Kernel(Abilities, BaseEstimator):
    """A symmetric function k(x, y) on a `domain`.

    ``k(X)`` and ``k(X, Y)`` are matrices in X's array library, floating type and device; ``k.diag(X)`` is the vector
    k(xᵢ, xᵢ). ``c*k``, ``k1 + k2``, ``k1 * k2``, ``k**n``, ``k1 @ k2`` (product spaces), `exp`, `series`, `on`, `warp`,
    `normalized` and `centered` build new kernels. Kernels clone, pickle, compare by value and have nested parameters.
    """

    __array_ufunc__ = None  # so that np.float64(2) * k calls __rmul__, and np.ones(2) * k is not an array of kernels

    name: ClassVar[str]
    proven: ClassVar[Definiteness] = UNKNOWN  # definiteness, if independent of the parameters and the dimension
    trials: ClassVar[Sequence[tuple[Any, ...]]] = ((),)  # arguments of the `examples`
    rules: ClassVar[Mapping[str, Any]] = {}  # constraints on the parameters, checked by `validate`
    stationary: ClassVar[bool] = False  # whether k depends on x − y only
    domain: Domain = Vectors()
    tile: int = 1024  # rows and columns of a block that is worth a thread
    whole: bool = False  # whether k needs whole collections rather than blocks
    prepares: bool = False  # whether to compute the blocks of a matrix from `points`

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:  # cached: every fit clones its kernel, and reading signatures is slow
        return super()._get_param_names()

    # ---- what a kernel implements

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        """The matrix k(xᵢ, yⱼ) of checked collections; Y = None means Y = X."""
        raise unwritten(self, "evaluate")

    def evaluate_diag(self, X: Checked) -> Any:
        """The vector k(xᵢ, xᵢ) of a checked collection."""
        size, take = self.domain.size(X), self.domain.take
        values = [self.evaluate(take(X, slice(i, i + 1))) for i in range(size)]
        K = values[0]
        if not is_array(K) or K.shape != (1, 1) or not namespace(K).isdtype(K.dtype, "real floating"):
            raise TypeError(
                f"{where(self)}: evaluate returned {shown(K)} for one sample; return a matrix of floating-point "
                "numbers with one row and one column per sample, here of shape (1, 1)."
            )
        return namespace(K).concat([K[0, :] for K in values])

    def validate(self) -> None:
        """Reject parameters that are out of range."""
        check_parameters(self, self.rules)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        """The proven definiteness on inputs with `dimension` coordinates (None: in every dimension)."""
        return self.proven

    def resolve(self, X: Checked) -> Self:
        """A clone with data-driven parameters (``lengthscale="median"``) replaced by their values on X."""
        return clone(self)

    def drift(self, origin: np.ndarray) -> np.ndarray | None:
        """v with k(x, y) = k(x − o, y − o) + vᵀx + vᵀy + constant for all x and y; None if no such v exists."""
        return np.zeros_like(origin) if self.stationary else None

    @property
    def at_zero(self) -> Kernel:
        """The kernel before `about` moved it; usually the kernel itself."""
        return self

    def relative(self, X: Checked) -> Any:
        """X relative to the origin of this kernel: the argument of `at_zero`."""
        return X

    def missing_constant(self, points: Checked, coefficients: Array) -> Any:
        """Σ aᵢk(x, xᵢ) for `at_zero` minus that for this kernel; independent of x if the coefficients sum to 0."""
        return 0.0

    def moved(self, X: Checked, steps: np.ndarray) -> Any:
        """X moved by steps from `density_sample`."""
        return X + like(steps, X)

    def formula(self, pairs: Pairs) -> Any:
        """k in terms of `pairs.distances` and `pairs.products`, for programs that compute it on a device."""
        raise Untraceable(f"{where(self)} has no formula.")

    def points(self, X: Checked, beside: Any = None) -> Points:
        """A checked collection in the form that gives rows of the matrix fastest.

        Points to be compared with others are created `beside` those.
        """
        return Points(self, X)

    def against(self, Y: Checked) -> Callable[[Any], Any]:
        """X ↦ k(X, Y) as in `evaluate`, for many small X: whatever depends on Y alone is computed once."""
        if self.prepares:
            right = self.points(Y)
            return lambda X: self.points(X, right).matrix(right)
        return lambda X: self.evaluate(X, Y)

    @classmethod
    def examples(cls) -> list[Kernel]:
        """Instances that represent the class in the law tests."""
        return [cls(*arguments) for arguments in cls.trials]

    # ---- common to all kernels

    @property
    def definiteness(self) -> Definiteness:
        """The definiteness proven in all dimensions: PD, CPD(q), INDEFINITE or UNKNOWN, with `strict`."""
        return self.definiteness_in(None)

    def __call__(self, X: Checked, Y: Checked = None) -> Any:
        values = self.bind(X, Y)
        return self._finite(values.dense)

    def bind(self, X: Checked, Y: Checked = None) -> Evaluator:
        """The values between the members of two collections, computed on demand; Y = None means Y = X.

        Examples
        --------
        >>> from mercer.kernels import Linear
        >>> Linear().bind([[1.0], [2.0]], [[3.0]]).product(np.ones(1))
        array([3., 6.])
        """
        return bind(self, *self.check_arguments(X, Y))

    def diag(self, X: Checked) -> Any:
        """The vector of k(xᵢ, xᵢ)."""
        X, _ = self.check_arguments(X)
        return self._finite(lambda: self.evaluate_diag(X))

    def _finite(self, compute: Callable[[], Any]) -> Any:
        """The computed values; raise if any is not finite."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            K = compute()
        if not all_finite(K.data if is_sparse(K) else K):
            raise ValueError(
                f"{where(self)}: values of the kernel {self} overflow {K.dtype}, or are undefined; scale the data "
                "or the kernel."
            )
        return K

    def check_arguments(self, X: Checked, Y: Checked = None) -> tuple[Any, Any]:
        """Validate parameters and collections; X and Y must share library, type, device and number of columns."""
        self.validate()
        X = self.domain.check(X, self, "X")
        if Y is None:
            return X, None
        Y = self.domain.check(Y, self, "Y")
        self._check_together(X, Y)
        return X, Y

    def _check_together(self, X: Checked, Y: Checked) -> None:
        if not (hasattr(X, "dtype") and hasattr(Y, "dtype")):
            return
        if is_array(X) and is_array(Y):
            try:
                xp = namespace(X, Y)
            except TypeError:
                raise TypeError(
                    f"{where(self)}: X is a {type(X).__module__} array and Y a {type(Y).__module__} array; "
                    "convert one of them."
                ) from None
            if device_of(X) != device_of(Y):
                raise ValueError(f"{where(self)}: X is on {device_of(X)} and Y on {device_of(Y)}; move one of them.")
            floating = xp.isdtype(X.dtype, "real floating") and xp.isdtype(Y.dtype, "real floating")
        else:
            floating = True
        if floating and X.dtype != Y.dtype:
            raise TypeError(f"{where(self)}: X is {X.dtype} and Y is {Y.dtype}; convert one to the other's type.")
        if len(X.shape) == 2 and len(Y.shape) == 2 and X.shape[1] != Y.shape[1]:
            raise ValueError(f"{where(self)}: X has {X.shape[1]} columns and Y has {Y.shape[1]}; they must agree.")

    def check_values(self, X: Checked, owner: object) -> None:
        """Raise if the kernel overflows on a checked collection of vectors.

        The diagonal bounds the values of a positive definite kernel; other kernels override this check.
        """
        if not self.domain.vectors or self.whole:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.evaluate_diag(X)
        finite = host(namespace(values).isfinite(values))
        if not finite.all():
            raise ValueError(
                f"{where(owner)}: k(x, x) of sample {int(finite.argmin())}, for k = {self}, is beyond the largest "
                f"{values.dtype} number; scale the data."
            )

    def require_pd(
        self,
        dimension: int | None,
        owner: object,
        name: str = "kernel",
        why: str = "",
        remedy: str = "use a positive definite one",
    ) -> None:
        """Raise if the kernel is known not to be positive definite in this dimension."""
        claim = self.definiteness_in(dimension)
        if not claim.may_be_pd:
            raise ValueError(f"{where(owner)}: {name} = {self} is {claim}{why}; {remedy}.{remedies(claim)}")

    def check(self, X: Checked, tol: float | None = None) -> Report:
        """Test the claimed `definiteness` on data, and report the smallest eigenvalue.

        For CPD(q), the matrix is restricted to coefficients that annihilate polynomials of degree < q on X.

        Examples
        --------
        >>> from mercer.kernels import Power
        >>> Power(1.5).check([[0.0], [1.0], [3.0]]).ok
        True
        """
        X, _ = self.check_arguments(X)
        K = doubles(self.evaluate(X, self.domain.centres(X)))
        precision = (
            eps(X) if (is_array(X) or is_sparse(X)) and namespace(X).isdtype(X.dtype, "real floating") else 2.3e-16
        )
        symmetric = bool(np.allclose(K, K.T, rtol=0, atol=1e3 * precision * (np.abs(K).max() or 1.0)))
        claim = self.definiteness_in(self.domain.dimension(X))
        M = (K + K.T) / 2
        if claim.is_cpd and claim.order:
            H = host(Polynomials(claim.order - 1)(X)).astype(np.float64)
            U, s, _ = np.linalg.svd(H, full_matrices=True)
            N = U[:, int(np.sum(s > s[0] * 1e-12)) :]
            M = N.T @ M @ N
        eigenvalues = np.linalg.eigvalsh(M) if len(M) else np.zeros(1)
        scale = float(np.abs(eigenvalues).max())
        tol = 50 * len(K) * precision * max(scale, float(np.abs(K).max())) if tol is None else tol
        return Report(claim, float(eigenvalues[0]), scale, tol, symmetric)

    # ---- the algebra

    def __add__(self, other: Any) -> Kernel:
        return _algebra().add(self, other)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Kernel:
        return _algebra().multiply(self, other)

    __rmul__ = __mul__

    def __pow__(self, exponent: float) -> Kernel:
        return _algebra().PowerOf(self, exponent)

    def __matmul__(self, other: Kernel) -> Kernel:
        return _algebra().tensor(self, other)

    def exp(self) -> Kernel:
        """The kernel exp(k): PD for k PD or CPD(1)."""
        return _algebra().Exp(self)

    def series(self, coefficients: Iterable[float], radius: float = float("inf")) -> Kernel:
        """Σₙ aₙ kⁿ with non-negative coefficients; |k| must stay below the radius of convergence."""
        return _algebra().Series(self, list(coefficients), radius)

    def normalized(self) -> Kernel:
        """k(x, y) / √(k(x, x) k(y, y)); rejects points with k(x, x) < 0."""
        return _algebra().Normalized(self)

    def warp(self, function: Callable[..., Any]) -> Kernel:
        """k(f(x), f(y)) for a function f of a whole collection."""
        return _algebra().Warped(self, function)

    def on(self, columns: Index) -> Kernel:
        """k on the given columns only: an index, a slice or a list of indices."""
        return _algebra().Restricted(self, columns)

    def centered(self, X: Checked, weights: Array = None) -> Kernel:
        """k with the mean of the feature vectors of X subtracted; PD for k PD or CPD(1)."""
        return _algebra().CenteredAt(self, X, weights)

    def about(self, X: Checked) -> Kernel:
        """A kernel for accurate computation on X, equal to this one up to a term g(x) + g(y).

        Coefficients that sum to zero cancel g, but g costs digits: all of them for xᵀy far from 0. A kernel with a
        linear part is therefore `Translated` to the mean of X if its values are much smaller there.

        Examples
        --------
        >>> from mercer.kernels import Linear
        >>> Linear().about(np.array([[1e9], [1e9 + 2]]))(np.array([[1e9], [1e9 + 2]]))
        array([[ 1., -1.],
               [-1.,  1.]])
        """
        if self.stationary or not is_array(X) or not self.domain.vectors:
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            origin = host(namespace(X).mean(X, axis=0))
        if not np.isfinite(origin).all():  # the sum overflowed
            return self
        slope = self.drift(origin)
        if slope is None or not slope.any():
            return self
        near = _algebra().Translated(self, origin)
        sizes = (float(np.abs(host(k.evaluate_diag(X))).mean(dtype=np.float64)) for k in (self, near))
        return near if next(sizes) > FAR * next(sizes) else self

    # ---- value semantics and text

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return mine.keys() == theirs.keys() and all(same(mine[p], theirs[p]) for p in mine)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from ._to_text import to_text

        return to_text(self)


def is_kernel(value: Any) -> TypeGuard[Kernel]:
    """Whether a value is a kernel object, rather than a string, number or function."""
    return isinstance(value, Kernel)


def _algebra() -> Any:
    """The operators, imported late because they import this module."""
    from . import algebra

    return algebra


class Report:
    """The result of `Kernel.check`."""

    def __init__(self, claim: Definiteness, smallest: float, largest: float, tol: float, symmetric: bool):
        self.claim, self.smallest_eigenvalue, self.largest, self.tol = claim, smallest, largest, tol
        self.symmetric = symmetric
        self.ok = symmetric and (not claim.is_cpd or smallest >= -tol)

    def __repr__(self) -> str:
        verdict = "consistent with" if self.ok else "contradicts"
        return (
            f"smallest eigenvalue {self.smallest_eigenvalue:.3g} (largest magnitude {self.largest:.3g}, "
            f"rounding {self.tol:.1g}): {verdict} {self.claim}{'' if self.symmetric else '; not symmetric'}"
        )
