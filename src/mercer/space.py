"""The reproducing kernel Hilbert space of a kernel, and the functions in it.

A function is f = Σ aᵢ k(·, xᵢ), a finite combination; ⟨f, g⟩ = ΣΣ aᵢ bⱼ k(xᵢ, yⱼ) does not depend on the representation
(Aronszajn, *Theory of reproducing kernels*, 1950, section 2), and f(x) = ⟨f, k(·, x)⟩.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from . import _threads
from ._array import compact, eps, host, is_array, is_numpy, is_sparse, like, namespace, solve_triangular
from ._errors import check_number, remedies
from .basis import Functions, Polynomials
from .domains import take
from .evaluation import bind
from .kernels import Kernel, KernelLike
from .kernels.expression import as_kernel
from .types import Array, Data, Index

__all__ = ["RKHS", "Function"]

FEW = 1 << 12  # up to this many kernel values, the fast path is not worthwhile
FEW_ROWS = 4  # nor up to this many new points, however many points the function has
BATCH = 1 << 17  # up to this many kernel values, the points are cached in the form that the kernel compares
HELD = 1 << 24  # maximum number of entries of points cached in this way


class Function:
    r"""A function in the space of a kernel, with an optional unpenalised part.

    .. math:: f = \sum_i a_i\, k(\cdot, x_i) + \sum_b c_b\, h_b

    Functions can be evaluated, added, subtracted and scaled, with inner products, norms, distances and derivatives.
    A matrix of coefficients gives a vector-valued f: one function per column, with inner products and norms by column.

    Parameters
    ----------
    kernel : Kernel
    points : collection
        x₁, …, x_m.
    coefficients : array of shape (m,) or (m, t)
        a.
    basis : Polynomials or Functions, optional
        The free functions h; inner products and norms ignore them.
    free : array of shape (p,) or (p, t), optional
        c.

    Examples
    --------
    >>> from mercer import RKHS
    >>> H = RKHS("gaussian")
    >>> f = H.function([[0.0], [1.0]], [1.0, -1.0])
    >>> g = 2 * f - f
    >>> g([[0.0]]).round(4), bool(np.isclose(g.norm(), f.norm()))
    (array([0.3935]), True)
    """

    __array_ufunc__ = None  # so that np.float64(2) * f calls our __rmul__

    def __init__(
        self,
        kernel: Kernel,
        points: Any,
        coefficients: Any,
        basis: Polynomials | Functions | None = None,
        free: Any = None,
    ):
        self.kernel, self.points, self.coefficients = kernel, points, coefficients
        self.basis, self.free = basis, free
        self._weights: Any = None  # Σ aᵢ φ(xᵢ) if that is shorter, False if not

    # ---- evaluation

    def __call__(self, X: Data) -> Any:
        """The values f(x), of shape (n,) or (n, t)."""
        X, _ = self.kernel.check_arguments(X)
        if not self.kernel.domain.precomputed:
            self.kernel._check_together(X, self.points)
        return self.values(X)

    def values(self, X: Data) -> Any:
        """The values f(x) at checked points."""
        self._check_width(X)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._kernel_part(X)
            values = values if self.basis is None else values + self._free_part(X)
        xp = namespace(values)
        if not bool(xp.all(xp.isfinite(values))):
            raise ValueError(
                f"f(X): a value of f, or of its kernel {self.kernel} between X and the points of f, overflows in "
                f"{values.dtype}; scale the data."
            )
        return values

    def quick(self, X: Data, n_jobs: int | None = None) -> Any:
        """The values at checked points; many on the host use `Evaluator.quick_product`: close pairs lose digits."""
        self._check_width(X)
        points = compact(self.points) if is_sparse(X) else self.points
        plain = isinstance(points, np.ndarray) and (is_sparse(X) or isinstance(X, np.ndarray))
        n = self.kernel.domain.size(X)
        few = n * len(self) <= FEW or self.kernel.whole or (n <= FEW_ROWS and self._holds_points(X))
        if few or not plain or self.kernel.domain.precomputed or self._short() is not False:
            return self.values(X)
        values = bind(self.kernel, X, points).quick_product(self.coefficients, n_jobs)
        return values if self.basis is None else values + self._free_part(X)

    def _free_part(self, X: Data) -> Any:
        """Σ c_b h_b at checked points; an intercept is not repeated."""
        if isinstance(self.basis, Polynomials) and self.basis.degree == 0:
            return self.free[0, ...]
        return self.basis(X) @ self.free  # type: ignore[misc]

    def _check_width(self, X: Data) -> None:
        """Raise if X and the points differ in their number of columns, as points from a forged file may."""
        given: tuple[int, ...] = getattr(X, "shape", ())
        own: tuple[int, ...] = getattr(self.points, "shape", ())
        if len(given) == len(own) == 2 and given[1] != own[1]:
            raise ValueError(f"f(X): X has {given[1]} features, but the points of f have {own[1]}; they must agree.")

    def _kernel_part(self, X: Data) -> Any:
        if not is_sparse(X) and self._short() is not False:
            return self.kernel.feature_map(X) @ self._short()
        if self._holds_points(X):
            return self._at_points(X) @ self.coefficients
        return bind(self.kernel, X, self.points).product(self.coefficients)

    @cached_property
    def _at_points(self) -> Callable[[Any], Any]:
        """X ↦ k(X, xᵢ); not part of the state."""
        return self.kernel.against(self.points)

    @cached_property
    def _log_at_points(self) -> Callable[[Any], Any]:
        return self.kernel.log_against(self.points)

    def log_terms(self, X: Data) -> Any:
        """The matrix of log k(x, xᵢ) at checked points, for kernels that are densities."""
        if self._holds_points(X):
            return self._log_at_points(X)
        return next(iter(self.kernel.log_dilated(X, self.points, [1.0])))

    def _holds_points(self, X: Data) -> bool:
        """Whether values at X are so few that preparing the points would be most of the work."""
        plain = type(X) is np.ndarray and type(self.points) is np.ndarray
        return plain and len(X) * len(self) <= BATCH and self.points.size <= HELD and not self.kernel.whole

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_at_points", "_log_at_points")}

    def _short(self) -> Any:
        """`weights` if there are fewer than points (and no sparse data become dense), else False."""
        if self._weights is None:
            few = "feature_map" in self.kernel.provides and not is_sparse(self.points)
            few = few and self.kernel.feature_count(self.points) < len(self)
            self._weights = self.weights() if few else False
        return self._weights

    def weights(self) -> Any:
        """Σ aᵢ φ(xᵢ): the function as a vector in the explicit feature space, where f(x) = wᵀφ(x) and ‖f‖ = ‖w‖."""
        self.kernel.require("feature_map")
        Z = self.kernel.feature_map(self.points)
        return namespace(Z).matrix_transpose(Z) @ self.coefficients

    def derivative(self, X: Data) -> Any:
        """The gradient ∂f/∂x at each row of X, of shape (n, d), or (n, d, t)."""
        self.kernel.require("gradient_x")
        X, _ = self.kernel.check_arguments(X)
        xp = namespace(X)
        rows = _threads.slices(X.shape[0], max(1, (1 << 22) // max(1, len(self) * X.shape[1])))
        gradients = (xp.permute_dims(self.kernel.gradient_x(X[r, :], self.points), (0, 2, 1)) for r in rows)
        G = xp.concat([xp.matmul(g, self.coefficients) for g in gradients], axis=0)
        if self.basis is None:
            return G
        return G + xp.matmul(xp.permute_dims(self.basis.gradient(X), (0, 2, 1)), self.free)

    # ---- the vector space

    def __len__(self) -> int:
        return int(self.coefficients.shape[0])

    def _require_same_space(self, other: Function, doing: str) -> None:
        _require_function(other, doing)
        if self.kernel != other.kernel:
            raise ValueError(
                f"{doing}: the functions are in different spaces, those of {self.kernel} and {other.kernel}."
            )
        mine, theirs = (f.coefficients.shape[1:] for f in (self, other))
        if mine != theirs:
            words = [f"{s[0]} outputs" if s else "one output" for s in (mine, theirs)]
            raise ValueError(f"{doing}: f has {words[0]} and g {words[1]}; use one component, such as f[0].")
        if not self.kernel.domain.precomputed:
            self.kernel._check_together(self.points, other.points)

    def _require_values_between_points(self, doing: str) -> None:
        if self.kernel.domain.precomputed:
            raise TypeError(f"{doing}: the points of a precomputed kernel are only indices; use FiniteDomain(K).")

    def __add__(self, other: Any) -> Function:
        if not isinstance(other, Function):
            return NotImplemented
        self._require_same_space(other, "f + g")
        points = self.kernel.domain.join([self.points, other.points])
        xp = namespace(self.coefficients)
        coefficients = xp.concat([self.coefficients, other.coefficients], axis=0)
        if self.basis is None or other.basis is None:
            basis, free = (self.basis, self.free) if other.basis is None else (other.basis, other.free)
        elif type(self.basis) is type(other.basis) and self.basis.get_params() == other.basis.get_params():
            basis, free = self.basis, self.free + other.free
        else:
            raise ValueError(f"f + g: the free parts differ, {self.basis} and {other.basis}.")
        return Function(self.kernel, points, coefficients, basis, free)

    def __mul__(self, scalar: Any) -> Function:
        if not isinstance(scalar, Real):
            return NotImplemented
        free = None if self.free is None else self.free * float(scalar)
        return Function(self.kernel, self.points, self.coefficients * float(scalar), self.basis, free)

    __rmul__ = __mul__

    def __truediv__(self, scalar: Any) -> Function:
        return self * (1.0 / scalar) if isinstance(scalar, Real) else NotImplemented

    def __neg__(self) -> Function:
        return self * -1.0

    def __sub__(self, other: Any) -> Function:
        return self.__add__(-other) if isinstance(other, Function) else NotImplemented

    def __getitem__(self, output: int) -> Function:
        """One component of a vector-valued function."""
        if self.coefficients.ndim == 1:
            raise TypeError(f"f[{output!r}]: f has one output; to select points, use f.restrict(index).")
        free = None if self.free is None else self.free[:, output]
        return Function(self.kernel, self.points, self.coefficients[:, output], self.basis, free)

    # ---- the inner product

    def inner(self, other: Function) -> Any:
        """⟨f, g⟩: one number, or one per output. Free parts are ignored."""
        self._require_same_space(other, "⟨f, g⟩")
        self._require_values_between_points("⟨f, g⟩")
        if self._short() is not False and other._short() is not False:
            total = namespace(self._short()).sum(self._short() * other._short(), axis=0)
        else:
            points = None if other.points is self.points else other.points
            values = bind(self.kernel, self.points, points).product(other.coefficients)
            total = namespace(values).sum(self.coefficients * values, axis=0)
        return float(total) if total.ndim == 0 else total

    def norm(self) -> Any:
        """‖f‖ = √⟨f, f⟩ of the kernel part, with negative rounding errors clipped at zero."""
        return _root(self.inner(self))

    def distance(self, other: Function) -> Any:
        """‖f − g‖."""
        self._require_same_space(other, "‖f − g‖")
        return (self - other).norm()

    # ---- other representations

    def restrict(self, index: Index) -> Function:
        """The part Σ_{i ∈ index} aᵢ k(·, xᵢ) (integers, a slice or a mask), with the free part."""
        chosen = np.atleast_1d(np.arange(len(self))[index if isinstance(index, slice) else host(index)])
        if len(chosen) == 0:
            raise ValueError("restrict: index selects no points; for the zero function use 0 * f.")
        return self._on(chosen, take(self.coefficients, chosen))

    def _on(self, index: np.ndarray, coefficients: Array) -> Function:
        """The function with new coefficients on some of the points and the same free part."""
        return Function(self.kernel, self.kernel.domain.take(self.points, index), coefficients, self.basis, self.free)

    def compress(self, rank: int) -> tuple[Function, Any]:
        """A reduced set: the best approximation g on `rank` of the points, chosen greedily, and ‖f − g‖.

        Each step adds the point that lowers ‖f − g‖² most, by r(x)²/P(x)², with r the residual and P the power function
        of the points so far (Newton basis; Müller, Schaback, *A Newton basis for kernel spaces*, 2009). Points in the
        span of earlier ones are never added, so g may have fewer. Outputs share their points. The cost is `rank`
        columns of the kernel matrix and O(m·rank²).

        Examples
        --------
        >>> f = RKHS("linear").function([[1.0], [2.0], [3.0]], [1.0, 1.0, 1.0])
        >>> g, lost = f.compress(1)
        >>> len(g), g([[1.0]]), lost
        (1, array([6.]), 0.0)
        """
        check_number("compress", "rank", rank, at_least=1, integer=True)
        self._require_values_between_points("compress")
        xp, domain = namespace(self.coefficients), self.kernel.domain
        A = self.coefficients if self.coefficients.ndim == 2 else self.coefficients[:, None]
        rest = bind(self.kernel, self.points).product(A)
        power = self.kernel.evaluate_diag(self.points)
        floor = float(xp.max(power)) * 1e2 * eps(power)
        basis = A[:, :0]  # the Newton basis at the points, one column per step
        pivots: list[int] = []
        steps: list[Any] = []
        while len(pivots) < min(rank, len(self)):
            new = power > floor
            gain = xp.where(new, xp.sum(rest * rest, axis=1), 0.0) / xp.where(new, power, 1.0)
            p = int(xp.argmax(gain))
            if float(gain[p]) == 0:
                break
            column = self.kernel.evaluate(self.points, domain.take(self.points, slice(p, p + 1)))[:, 0]
            column = (column - basis @ basis[p, :]) / xp.sqrt(power[p])
            step = rest[p, :] / xp.sqrt(power[p])
            rest = rest - column[:, None] * step[None, :]
            power = power - column * column
            basis = xp.concat([basis, column[:, None]], axis=1)
            pivots.append(p)
            steps.append(step)
        lost = _root(xp.sum(A * rest, axis=0))  # ‖f − g‖² = ⟨f, f − g⟩, as f − g is orthogonal to g
        index = np.asarray(pivots or [0])
        B = A[:1, :] * 0
        if pivots:
            B = solve_triangular(xp.tril(take(basis, index)), xp.stack(steps, axis=0), transpose=True)
        if self.coefficients.ndim == 2:
            return self._on(index, B), lost
        return self._on(index, B[:, 0]), float(lost[0])

    def __repr__(self) -> str:
        free = "" if self.basis is None else f" + {self.basis}"
        outputs = "" if self.coefficients.ndim == 1 else f", {self.coefficients.shape[1]} outputs"
        return f"<Function in the space of {self.kernel}: {len(self)} points{outputs}{free}>"


def _require_function(f: Array, doing: str) -> None:
    if not isinstance(f, Function):
        raise TypeError(f"{doing}: expected a Function, such as an estimator's function_, not a {type(f).__name__}.")


class RKHS:
    """The reproducing kernel Hilbert space of a positive definite kernel.

    Parameters
    ----------
    kernel : Kernel, name or expression
        Must be positive definite; a kernel whose definiteness is unknown is accepted.

    Examples
    --------
    >>> H = RKHS("linear")
    >>> f = H.function([[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0])
    >>> f.norm(), f([[1.0, 1.0]])
    (5.0, array([7.]))
    >>> H.inner(f, H.evaluation([2.0, 1.0]))  # the reproducing property: f(2, 1)
    10.0
    """

    def __init__(self, kernel: KernelLike):
        self.kernel = as_kernel(kernel)
        if self.kernel.domain.precomputed:
            raise TypeError(f"RKHS: the points of {self.kernel} are only indices; use FiniteDomain(K) on 0, …, n − 1.")
        self._require_definite(None)

    def _require_definite(self, dimension: int | None) -> None:
        claim = self.kernel.definiteness_in(dimension)
        if not claim.may_be_pd:
            hint = " Use kernel.centered(X) or kernel.exp()." if claim.is_cpd and claim.order == 1 else ""
            place = "" if dimension is None else f" in dimension {dimension}"
            raise ValueError(
                f"RKHS: {self.kernel} is {claim}{place}, so it has no reproducing kernel Hilbert space.{hint}"
                f"{remedies(claim)}"
            )

    def _require(self, f: Function, doing: str) -> None:
        _require_function(f, f"RKHS.{doing}")
        if f.kernel != self.kernel:
            raise ValueError(f"RKHS.{doing}: f is in the space of {f.kernel}, not of {self.kernel}.")

    def function(self, points: Data, coefficients: Array) -> Function:
        """Σ aᵢ k(·, xᵢ); a matrix of coefficients gives one function per column."""
        points, _ = self.kernel.check_arguments(points)
        self._require_definite(self.kernel.domain.dimension(points))
        sample = self.kernel.evaluate_diag(self.kernel.domain.take(points, slice(0, 1)))
        foreign = is_array(coefficients) and not is_numpy(namespace(coefficients))
        if foreign and namespace(coefficients) is not namespace(sample):
            name = type(coefficients).__module__
            raise TypeError(f"RKHS.function: coefficients is a {name} array, but points is not; convert one of them.")
        coefficients = like(coefficients, sample)
        n = self.kernel.domain.size(points)
        shape = tuple(coefficients.shape)
        if len(shape) not in (1, 2) or shape[0] != n:
            raise ValueError(f"RKHS.function: coefficients have shape {shape}; expected ({n},) or ({n}, t).")
        if not bool(namespace(coefficients).all(namespace(coefficients).isfinite(coefficients))):
            raise ValueError("RKHS.function: coefficients contain NaN or infinity; pass finite numbers.")
        return Function(self.kernel, points, coefficients)

    def inner(self, f: Function, g: Function) -> Any:
        """⟨f, g⟩."""
        self._require(f, "inner")
        return f.inner(g)

    def evaluation(self, x: Array) -> Function:
        """k(·, x), the Riesz representer of f ↦ f(x). x is one point or a collection of one."""
        self.kernel.validate()
        problem: Exception | None = None
        for candidate in (x, x[None, ...] if is_array(x) else [x]):
            try:
                points = self.kernel.domain.check(candidate, self.kernel, "x")
            except (TypeError, ValueError) as error:
                problem = error
                continue
            if self.kernel.domain.size(points) == 1:
                return self.function(points, np.ones(1))
        reason = f": {problem}" if problem else "."
        raise ValueError(f"RKHS.evaluation: x is neither one point nor a collection of one{reason}") from problem

    def mean(self, X: Data, weights: Array = None) -> Function:
        """The mean element μ = Σ wᵢ k(·, xᵢ), with ⟨f, μ⟩ = Σ wᵢ f(xᵢ); by default wᵢ = 1/n."""
        X, _ = self.kernel.check_arguments(X)
        n = self.kernel.domain.size(X)
        return self.function(X, np.full(n, 1.0 / n) if weights is None else weights)

    def bound(self, f: Function, X: Data) -> Any:
        """‖f‖ √k(x, x) ≥ |f(x)| (Cauchy–Schwarz), of shape (n,) or (n, t)."""
        self._require(f, "bound")
        if f.basis is not None:
            raise ValueError("RKHS.bound: f has an unpenalised part, which its norm does not bound.")
        root, norm = _root(self.kernel.diag(X)), f.norm()
        return root * norm if isinstance(norm, float) else root[:, None] * norm[None, :]

    def project(self, f: Function, points: Data) -> Function:
        """The projection of f onto the span of k(·, z), z in `points`: the same values there and no larger norm.

        The residual is orthogonal to every k(·, z), so it vanishes at the points: a loss at the points is unchanged,
        and the norm does not increase. This is the representer theorem. The unpenalised part of f is unchanged.
        """
        self._require(f, "project")
        points, _ = self.kernel.check_arguments(points)
        self.kernel._check_together(points, f.points)
        K = bind(self.kernel, points).dense()
        values = f._kernel_part(points)
        eigenvalues, vectors = np.linalg.eigh(host(K).astype(np.float64))
        keep = eigenvalues > len(vectors) * eps(K) * eigenvalues[-1]
        V = vectors[:, keep]
        coefficients = (V / eigenvalues[keep]) @ (V.T @ host(values).astype(np.float64))
        return Function(self.kernel, points, like(coefficients, values), f.basis, f.free)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RKHS) and self.kernel == other.kernel

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RKHS({self.kernel})"


def _root(square: Any) -> Any:
    """√max(s, 0) of a number or an array, non-negative up to rounding."""
    if isinstance(square, float):
        return max(square, 0.0) ** 0.5
    xp = namespace(square)
    return xp.sqrt(xp.where(square > 0, square, 0.0))
