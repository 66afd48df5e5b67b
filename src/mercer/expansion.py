r"""Mercer's expansion k(x, y) = Σ λⱼ ψⱼ(x) ψⱼ(y), numerically from a sample or in closed form.

The λⱼ and ψⱼ are the eigenvalues and eigenfunctions of the integral operator of k and a measure μ,

    ∫ k(x, y) ψⱼ(y) dμ(y) = λⱼ ψⱼ(x),    ∫ ψᵢ ψⱼ dμ = δᵢⱼ.

Steinwart, Christmann, *Support Vector Machines* (2008), theorem 4.49. Numerically: Nyström's method (Baker, *The
Numerical Treatment of Integral Equations*, 1977, chapter 3). In closed form: the Gaussian kernel under a Gaussian
measure (Rasmussen, Williams, *Gaussian Processes for Machine Learning*, 2006, section 4.3.1), and the Karhunen–Loève
expansion of Brownian motion under the uniform one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ._array import eps, host, like, namespace
from ._errors import check_number, speaking, where
from ._same import same
from .gram.auto import Auto
from .kernels import Gaussian, Kernel, KernelLike
from .kernels.brownian import Brownian
from .kernels.expression import as_kernel
from .kernels.features import MercerSeries
from .measures import GaussianMeasure, Measure, UniformMeasure
from .solvers.eigen import Eigenproblem, eigen_solver
from .solvers.linear import Conditioned
from .space import RKHS, Function
from .types import Array, Data

__all__ = ["MercerExpansion", "mercer_expansion"]


class MercerExpansion:
    r"""The leading terms of a kernel's Mercer expansion, as returned by `mercer_expansion`.

    .. math:: k(x, y) = \sum_j \lambda_j \psi_j(x) \psi_j(y)

    Attributes
    ----------
    source : Kernel
        k.
    eigenvalues : array of shape (n,)
        λ, largest first.
    trace : float
        ∫ k(x, x) dμ(x) = Σ λⱼ, over all j.
    """

    def __init__(self, source: Kernel, eigenvalues: Any, functions: Callable[[Any], Any], trace: float):
        self.source, self.eigenvalues, self.trace = source, eigenvalues, trace
        self._functions = functions

    def __len__(self) -> int:
        return int(self.eigenvalues.shape[0])

    @property
    def trace_error(self) -> float:
        """The truncation error ∫ k(x, x) dμ − Σ λⱼ, which is the sum of the omitted eigenvalues."""
        return max(0.0, self.trace - float(np.sum(host(self.eigenvalues), dtype=np.float64)))

    def eigenfunctions(self, X: Data) -> Any:
        """ψⱼ(xᵢ), of shape (m, n)."""
        return self._functions(X)

    def feature_map(self, X: Data) -> Any:
        """√λⱼ ψⱼ(xᵢ), of shape (m, n)."""
        values = self.eigenfunctions(X)
        return values * namespace(values).sqrt(like(self.eigenvalues, values))

    def coefficients(self, f: Function) -> Any:
        """The exact cⱼ = ∫ f ψⱼ dμ of a function in the kernel's space; Σ cⱼ²/λⱼ is ‖f‖² up to truncation.

        For f = Σ aᵢ k(·, xᵢ) the eigen-equation gives cⱼ = λⱼ Σ aᵢ ψⱼ(xᵢ). One column per output of f.
        """
        if f.kernel != self.source:
            raise ValueError(
                f"coefficients: f is in the space of {f.kernel}, but this is the expansion of {self.source}."
            )
        if f.basis is not None:
            raise ValueError("coefficients: f has an unpenalised part, which is not in the kernel's space.")
        values = self.eigenfunctions(f.points)
        sums = namespace(values).matrix_transpose(values) @ f.coefficients
        eigenvalues = like(self.eigenvalues, values)
        return sums * (eigenvalues if sums.ndim == 1 else eigenvalues[:, None])

    def kernel(self) -> MercerSeries:
        """The truncated kernel Σ_{j ≤ n} λⱼ ψⱼ(x) ψⱼ(y)."""
        return MercerSeries(host(self.eigenvalues), self._functions)

    def __repr__(self) -> str:
        left = f"{self.trace_error:.2g} of trace {self.trace:.3g} left"
        return f"<MercerExpansion of {self.source}: {len(self)} terms, {left}>"


@speaking
def mercer_expansion(kernel: KernelLike, measure: Any, n: int = 10, *, weights: Array = None) -> MercerExpansion:
    r"""The n largest eigenvalues of a kernel's integral operator and their eigenfunctions.

    .. math:: \int k(x, y)\, \psi_j(y)\, d\mu(y) = \lambda_j \psi_j(x)

    Parameters
    ----------
    kernel : Kernel, name or expression
        Must be positive definite.
    measure : GaussianMeasure, UniformMeasure, or a collection
        μ. A measure is expanded in closed form, which exists for `Gaussian` under `GaussianMeasure` (all lengthscales
        and covariances) and for `Brownian` under `UniformMeasure` with lower corner 0. A sample x₁, …, x_m, of any
        kind, stands for μ = Σ wᵢ δ(xᵢ); this is Nyström's method. It is accurate for any smooth kernel under a measure
        if the sample is the nodes, with their weights, of ``measure.quadrature(n)``.
    n : int >= 1
        The maximum number of terms. There are fewer for a kernel of finite rank, or if the other eigenvalues on a
        sample vanish up to rounding.
    weights : array of shape (m,), > 0, optional
        w, for a sample; by default 1/m each.

    Returns
    -------
    MercerExpansion

    Notes
    -----
    On a sample, √W K √W = UΛUᵀ gives λ and ψⱼ(x) = λⱼ⁻¹ Σᵢ √wᵢ uᵢⱼ k(x, xᵢ). The closed forms
    are products of one-dimensional solutions, in coordinates that diagonalise both the kernel's metric and the
    covariance.

    References
    ----------
    Rasmussen, Williams, *Gaussian Processes for Machine Learning* (2006), sections 4.3.1 and 4.3.2.

    Examples
    --------
    >>> from mercer.kernels import Brownian, Gaussian
    >>> brownian = mercer_expansion(Brownian(), UniformMeasure(0, 1), n=3)
    >>> (brownian.eigenvalues * np.pi**2).round(4)
    array([4.    , 0.4444, 0.16  ])
    >>> exact = mercer_expansion(Gaussian(), GaussianMeasure(), n=5)
    >>> nodes, weights = GaussianMeasure().quadrature(40)
    >>> nystrom = mercer_expansion(Gaussian(), nodes, n=5, weights=weights)
    >>> bool(np.allclose(exact.eigenvalues, nystrom.eigenvalues))
    True
    """
    check_number("mercer_expansion", "n", n, at_least=1, integer=True)
    kernel = as_kernel(kernel)
    if not isinstance(measure, Measure):
        return _nystrom(kernel, measure, n, weights)
    if weights is not None:
        raise ValueError("mercer_expansion: weights apply to a sample, not to a measure; omit them.")
    closed_form = CLOSED_FORMS.get((type(kernel), type(measure)))
    if closed_form is None:
        known = ", ".join(f"{k.__name__} under {m.__name__}" for k, m in CLOSED_FORMS)
        raise ValueError(
            f"mercer_expansion: {where(kernel)} under {where(measure)} has no known closed form; available: {known}. "
            "For a numerical one: X, w = measure.quadrature(50); mercer_expansion(kernel, X, n, weights=w)."
        )
    kernel.validate()
    return closed_form(kernel, measure, n)


def _nystrom(kernel: Kernel, X: Data, n: int, weights: Array) -> MercerExpansion:
    kernel = RKHS(kernel.resolve(kernel.domain.check(X, kernel))).kernel
    X, _ = kernel.check_arguments(X)
    gram = Auto().build(kernel, X, np.random.default_rng(0))
    m = gram.n
    w = np.full(m, 1.0 / m) if weights is None else host(weights).astype(np.float64)
    if w.shape != (m,) or not np.all(np.isfinite(w)) or not np.all(w > 0):
        raise ValueError(f"mercer_expansion: weights must be {m} finite numbers > 0, one per sample.")
    root = like(np.sqrt(w), gram.like)
    operator = Conditioned(gram, root)
    wanted = min(n, m, kernel.feature_count(X) if "feature_map" in kernel.provides else m)
    problem = Eigenproblem(operator, wanted)
    spectrum = eigen_solver("auto", problem).solve(problem)
    values = host(spectrum.values)
    noise = max(m * eps(root), spectrum.residual) * float(np.abs(values).max())
    if values[-1] < -noise:
        raise ValueError(
            f"mercer_expansion: {kernel} is not positive definite: an eigenvalue on this sample is {values[-1]:.2g}."
        )
    keep = int(np.sum(values > noise))
    if keep == 0:
        raise ValueError(f"mercer_expansion: {kernel} is zero on this sample; there is nothing to expand.")
    eigenvalues = spectrum.values[:keep]
    psi = _OnSample(kernel, X, root[:, None] * spectrum.vectors[:, :keep] / eigenvalues)
    trace = float(np.sum(w * host(kernel.evaluate_diag(X))))
    return MercerExpansion(kernel, eigenvalues, psi, trace)


class _Values:
    """Compared by value, so that kernels that contain it are too."""

    def __eq__(self, other: object) -> bool:
        mine, theirs = vars(self), vars(other) if type(self) is type(other) else {}
        return mine.keys() == theirs.keys() and all(same(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]


class _OnSample(_Values):
    """ψⱼ = Σᵢ cᵢⱼ k(·, xᵢ)."""

    def __init__(self, kernel: Kernel, X: Data, coefficients: Array):
        self.kernel, self.X, self.coefficients = kernel, X, coefficients

    def __call__(self, X: Data) -> Any:
        return Function(self.kernel, self.X, self.coefficients)(X)


# ---- closed forms: products of one-dimensional expansions


class _Products(_Values):
    """ψ_α(x) = Π_k ψ_{α_k}(t_k) in the coordinates t = (x − origin) A."""

    def __init__(self, kernel: Kernel, origin: np.ndarray, A: np.ndarray, indices: np.ndarray, modes: list[Any]):
        self.kernel, self.origin, self.A, self.indices, self.modes = kernel, origin, A, indices, modes

    def __call__(self, X: Data) -> Any:
        X, _ = self.kernel.check_arguments(X)
        if X.shape[1] != len(self.origin):
            raise ValueError(f"eigenfunctions: X has {X.shape[1]} columns, but the measure has {len(self.origin)}.")
        xp = namespace(X)
        T = (X - like(self.origin, X)) @ like(self.A, X)
        values = xp.ones_like(T[:, :1])
        for k, mode in enumerate(self.modes):
            column = self.indices[:, k]
            values = values * xp.take(mode(T[:, k], int(column.max()) + 1), like(column, X, dtype=xp.int64), axis=1)
        return values


def _product_expansion(
    kernel: Kernel, origin: np.ndarray, A: np.ndarray, modes: list[Any], n: int, trace: float
) -> MercerExpansion:
    """The n largest products of one eigenvalue from each coordinate's decreasing sequence.

    Best-first search: a multi-index is reached only by raising its last non-zero entry, so each is visited once.
    """
    d = len(modes)

    def entry(index: tuple[int, ...], last: int) -> tuple[float, tuple[int, ...], int]:
        return -prod(mode.eigenvalue(j) for mode, j in zip(modes, index, strict=True)), index, last

    heap = [entry((0,) * d, 0)]
    found: list[tuple[float, tuple[int, ...]]] = []
    while len(found) < n:
        value, index, last = heapq.heappop(heap)
        found.append((-value, index))
        for k in range(last, d):
            heapq.heappush(heap, entry((*index[:k], index[k] + 1, *index[k + 1 :]), k))
    eigenvalues = np.array([value for value, _ in found])
    indices = np.array([index for _, index in found])
    return MercerExpansion(kernel, eigenvalues, _Products(kernel, origin, A, indices, modes), trace)


class _HermiteModes(_Values):
    """ψ_j(t) = (c/a)^{1/4} exp(−(c − a)t²) h_j(√(2c) t) under N(0, 1), h_j = H_j/√(2ʲj!), for exp(−ω(t − t′)²/2).

    a = 1/4, b = ω/2, c = √(a² + 2ab), and λ_j = √(2a/A) (b/A)ʲ with A = a + b + c. h₀ includes the exponential, and
    the recurrence is that of the normalised polynomials, so nothing overflows.
    """

    def __init__(self, omega: float):
        self.omega = omega
        self.a, self.b = 0.25, omega / 2
        self.c = (self.a**2 + 2 * self.a * self.b) ** 0.5

    def eigenvalue(self, j: int) -> float:
        A = self.a + self.b + self.c
        return (2 * self.a / A) ** 0.5 * (self.b / A) ** j

    def __call__(self, t: Array, count: int) -> Any:
        xp = namespace(t)
        u = (2 * self.c) ** 0.5 * t
        # c − a = 2ab/(c + a) avoids cancellation
        h = [(self.c / self.a) ** 0.25 * xp.exp(-(2 * self.a * self.b / (self.c + self.a)) * t * t)]
        for j in range(count - 1):
            before = h[j - 1] * (j / (j + 1)) ** 0.5 if j else xp.zeros_like(t)
            h.append((2 / (j + 1)) ** 0.5 * u * h[j] - before)
        return xp.stack(h, axis=1)


def _gaussian(kernel: Gaussian, measure: GaussianMeasure, n: int) -> MercerExpansion:
    """x = m + SU t with t ~ N(0, I) and ‖Λ⁻¹SU(t − t′)‖² = Σ ω_k (t_k − t′_k)²: one-dimensional in each t_k."""
    m, S = measure.parts()
    d = len(m)
    L = host(kernel.lengthscale).astype(np.float64)
    if L.ndim and L.shape[0] != d:
        raise ValueError(f"mercer_expansion: lengthscale has {L.shape[0]} entries, but the measure has dimension {d}.")
    B = np.linalg.solve(L, S) if L.ndim == 2 else S / np.broadcast_to(L, (d,))[:, None]
    omega, U = np.linalg.eigh(B.T @ B)
    modes = [_HermiteModes(float(w)) for w in omega]
    return _product_expansion(kernel, m, np.linalg.inv(S).T @ U, modes, n, trace=1.0)


class _SineModes(_Values):
    """ψ_j(t) = √2 sin((j + ½)πt) on [0, 1]; λ_j = upper/((j + ½)²π²)."""

    def __init__(self, upper: float):
        self.upper = upper

    def eigenvalue(self, j: int) -> float:
        return self.upper / ((j + 0.5) * np.pi) ** 2

    def __call__(self, t: Array, count: int) -> Any:
        return 2**0.5 * namespace(t).sin(t[:, None] * like((np.arange(count) + 0.5) * np.pi, t))


def _brownian(kernel: Brownian, measure: UniformMeasure, n: int) -> MercerExpansion:
    lower, upper = measure.corners()
    if np.any(lower != 0):
        raise ValueError(f"mercer_expansion: Brownian has a closed form only for lower = 0, not under {measure}.")
    modes = [_SineModes(float(b)) for b in upper]
    return _product_expansion(kernel, lower, np.diag(1 / upper), modes, n, trace=float(np.prod(upper / 2)))


CLOSED_FORMS: dict[tuple[type, type], Callable[[Any, Any, int], MercerExpansion]] = {
    (Gaussian, GaussianMeasure): _gaussian,
    (Brownian, UniformMeasure): _brownian,
}
