"""What the support vector machines share: parameters as in scikit-learn, kernel rows in bounded memory, decisions."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from .. import _tiles
from .._array import host, is_array, is_sparse
from .._errors import check_choice, check_number, where
from .._progress import Deadline, run
from ..basis import Polynomials
from ..domains import Rows
from ..gram import Gram
from ..kernels import Callable as CallableKernel
from ..kernels import Kernel
from ..kernels.expression import from_sklearn
from ..solvers.fit._rows import Block, Segment, Workers
from ..solvers.fit.working_set import COARSE, BoxProblem, BoxSolution, minimise
from ..space import Function
from ._base import KernelEstimator

SINGLE = 1e-5  # tolerances below this need kernel rows in double precision


class SupportVectorMachine(KernelEstimator):
    """Base: from parameters to segments, from segments to solutions."""

    degree: Any
    gamma: Any
    coef0: Any
    tol: float
    cache_size: float
    max_iter: int
    n_jobs: int | None
    time_budget: float | None
    fit_intercept: bool
    _gram: Gram | None

    # ---- the kernel, with scikit-learn's meaning of gamma

    def _kernel(self, n_features: int) -> Kernel:
        if isinstance(self.gamma, str):
            check_choice(self, "gamma", self.gamma, ("scale", "auto"))
        return self._kernel_with(1.0 if isinstance(self.gamma, str) else self.gamma, n_features)

    def _kernel_with(self, gamma: Any, n_features: int) -> Kernel:
        if isinstance(self.kernel, str) and self.kernel in ("linear", "poly", "rbf", "sigmoid", "precomputed"):
            check_number(self, "coef0", self.coef0)
            if self.kernel == "poly":
                check_number(self, "degree", self.degree, at_least=0)
                if self.degree == 0:
                    return from_sklearn("rbf", gamma=0, n_features=n_features)
            return from_sklearn(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0, n_features=n_features)
        if callable(self.kernel) and not isinstance(self.kernel, (Kernel, type)):
            return CallableKernel(self.kernel, pairwise=False)
        given = {"gamma": (self.gamma, "scale"), "degree": (self.degree, 3), "coef0": (self.coef0, 0.0)}
        for name, (value, default) in given.items():
            if value != default:
                raise ValueError(
                    f"{where(self)}: {name} = {value!r} has no meaning for kernel = {str(self.kernel)!r}, which has "
                    f"parameters of its own; leave {name} at {default!r}."
                )
        return from_sklearn(self.kernel, n_features=n_features)

    def _resolved_kernel(self, X: Any, n_features: int) -> Kernel:
        gamma = self.gamma
        if isinstance(gamma, str):
            variance = 1.0
            if gamma == "scale" and (is_array(X) or is_sparse(X)):
                variance = float(X.multiply(X).mean() - X.mean() ** 2) if is_sparse(X) else float(host(X).var())
            gamma = 1.0 / (n_features * variance) if variance > 0 else 1.0
        else:
            check_number(self, "gamma", gamma, at_least=0)
        self._gamma = gamma
        return self._kernel_with(gamma, n_features).resolve(X)

    def _prepare(self, X: Any) -> None:
        """Check the kernel, and build the representation if one is asked for.

        Indefinite kernels are warned of, as the drop-in rule says; conditionally definite ones need the offset.
        """
        if is_array(X) and not isinstance(X, np.ndarray):
            raise TypeError(f"{where(self)}: X is a {type(X).__module__} array; give NumPy arrays or CSR matrices.")
        claim = self.kernel_.definiteness_in(self.kernel_.domain.dimension(X))
        if claim.is_cpd and claim.order > int(self.fit_intercept):
            remedy = "set fit_intercept=True" if claim.order == 1 else "use KernelMachine with free polynomials"
            raise ValueError(f"{where(self)}: the kernel {self.kernel_} is {claim}; {remedy}.")
        if claim.kind == "INDEFINITE":
            self._warn_indefinite(f"{claim}, so that a stationary point is found, which need not be the best")
        automatic = isinstance(self.gram, str) and self.gram == "auto"
        self._gram = None if automatic else self._build(X)

    # ---- from data to rows

    def _segment(self, X: Any, dtype: Any) -> Segment:
        """All samples, ready to give rows in the given precision, and exact values in double."""
        kernel, domain = self.kernel_, self.kernel_.domain
        if self._gram is not None:
            return Segment(*self._gram.points(), host(self._gram.diagonal()).astype(np.float64), self._gram.block)
        centres = domain.centres(X)

        def exact(rows: np.ndarray, columns: np.ndarray) -> Any:
            return kernel.evaluate(
                _cast(domain.take(X, rows), np.float64), _cast(domain.take(centres, columns), np.float64)
            )

        left = kernel.prepare(_cast(X, dtype))
        right = left if centres is X else kernel.prepare(_cast(centres, dtype))
        return Segment(left, right, host(kernel.evaluate_diag(X)).astype(np.float64), exact)

    def _capacity(self, columns: int, dtype: Any, share: float = 1.0) -> int:
        """How many rows of so many columns fit into a share of the cache."""
        return int(share * self.cache_size * 2**20 / (np.dtype(dtype).itemsize * max(columns, 1)))

    @contextmanager
    def _threads(self) -> Any:
        """A pool with one BLAS thread in each of its threads."""
        from ..kernels import _compiled  # noqa: F401  (numba is imported here, before threads could do so at once)
        from ..solvers.fit import _smo  # noqa: F401

        count = _tiles.n_threads(self.n_jobs)
        # one thread more than works at a time: it waits while those that it gave work to compute
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(count + 1) as pool:
            yield Workers(pool, count)

    def _minimise(
        self, X: Any, index: np.ndarray, problem: BoxProblem, deadline: Deadline, copies: int = 1
    ) -> BoxSolution:
        """One problem on some samples (each `copies` times), threads inside; in double precision if single fails."""
        with self._threads() as workers:
            for dtype in (np.float32, np.float64) if self.tol >= SINGLE else (np.float64,):
                segment = self._segment(X, dtype).take(index)
                block = Block(segment, segment, self._capacity(segment.n, dtype), dtype)
                grid = [[block] * copies for _ in range(copies)]
                call = partial(minimise, [segment] * copies, grid, problem, self.tol, workers, self.max_iter, deadline)
                solution = run(call, workers.pool, deadline)
                if solution.message != COARSE:
                    break
                problem = replace(problem, start=solution.beta)
        return solution

    def _support_vectors(self, X: Any) -> Any:
        """The support vectors themselves, where the data are vectors (none of a precomputed matrix)."""
        if isinstance(self.kernel_.domain, Rows):
            return np.empty((0, 0))
        return self.kernel_.domain.take(X, self.support_)

    @property
    def coef_(self) -> Any:
        """The weights of the features, for the linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        weights = self.function_.weights()
        weights = weights[None, :] if weights.ndim == 1 else weights.T
        return csr_matrix(weights) if is_sparse(self.support_vectors_) else weights

    def _report(self, solutions: list[BoxSolution]) -> None:
        self.solutions_ = solutions
        self.fit_status_ = int(not all(s.converged for s in solutions))
        if self.fit_status_:
            worst = max((s for s in solutions if not s.converged), key=lambda s: s.gap)
            warnings.warn(
                f"{where(self)}: the solver stopped early ({worst.message}) at a gap of {worst.gap:.2g} "
                f"(tol = {self.tol:g}). Scale the data to mean 0 and variance 1, lower C, or raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_parameters(self) -> None:
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "cache_size", self.cache_size, above=0)
        check_number(self, "max_iter", self.max_iter, at_least=-1, integer=True)
        if self.time_budget is not None:
            check_number(self, "time_budget", self.time_budget, above=0)

    # ---- from coefficients to functions

    def _machine(self, X: Any, index: np.ndarray, coefficients: np.ndarray, intercept: Any) -> Function:
        """The decision function on the support vectors alone, with its offset as free part."""
        domain = self.kernel_.domain
        a = coefficients.astype(np.float32 if self.dtype_ == np.float32 else np.float64)
        if self._gram is None:
            parts = self.kernel_, domain.take(domain.centres(X), index), a
        else:  # under an approximation the machine lies in the space of the approximate kernel
            everywhere = np.zeros((domain.size(X), *a.shape[1:]), dtype=a.dtype)
            everywhere[index] = a
            parts = self._gram.expansion(everywhere)
        self._gram = None  # only the function is kept
        if not self.fit_intercept:
            return Function(*parts)
        free = np.asarray(intercept, dtype=a.dtype)
        return Function(*parts, Polynomials(0), free.reshape(1) if a.ndim == 1 else free[None, :])


def _cast(X: Any, dtype: Any) -> Any:
    """Arrays in another precision; other collections as they are."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        return X.astype(dtype, copy=False)
    return X.astype(dtype) if is_sparse(X) else X
