"""The Gram matrix as an operator, and the representation that builds it.

A `Representation` holds parameters only (``Dense()``, ``Nystrom(rank=500)``). Its `build` returns a `Gram`: the matrix
K = (k(xᵢ, xⱼ)), or an approximation K̂ of it, with three required operations, ``@``, `diagonal` and `block`, and `cross`
for new points under the *same* approximation. `provides` lists further capabilities: "dense" (the matrix itself is
stored), "factor" (a thin Z with K̂ = ZZᵀ is stored) and more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs
from sklearn.base import BaseEstimator

from .._array import eye, host, namespace
from .._errors import unwritten, where
from .._random import generator
from ..domains import take
from ..evaluation import Evaluator, bind
from ..kernels import Kernel
from ..kernels.expression import as_kernel
from ..types import Array, Checked, Index


class Operator:
    """A symmetric (n, n) matrix, given by its products, diagonal and blocks. Solvers use nothing else.

    Attributes
    ----------
    provides : frozenset of str
        Further capabilities: "dense" (the matrix is stored), "factor" (a thin Z with K̂ = ZZᵀ is stored), "sparse"
        (a sparse matrix is stored), "remote" (the matrix is on a device, the vectors are NumPy arrays).
    matrix : csr_array
        The stored sparse matrix.
    own_features : bool
        Whether the rows of the factor are the kernel's own features.
    trace_error : float
        tr(K − K̂), 0 for exact representations.
    choice : str or None
        The choice of "auto", and the reason.
    """

    provides: frozenset[str] = frozenset()
    trace_error: float = 0.0
    choice: str | None = None
    own_features: bool = False
    matrix: Any

    @property
    def n(self) -> int:
        """The number of rows."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.n, self.n

    @property
    def like(self) -> Any:
        """A small array in the library, type and device of the matrix."""
        return self.block(slice(0, 1), slice(0, 1))

    @property
    def dtype(self) -> Any:
        """The floating type of the matrix."""
        return self.like.dtype

    @property
    def xp(self) -> Any:
        """The array namespace of the matrix."""
        return namespace(self.like)

    @property
    def native(self) -> Operator:
        """The matrix with products in the array library of the sample."""
        return self

    def __matmul__(self, V: Array) -> Any:
        raise NotImplementedError

    def diagonal(self) -> Any:
        """The vector of the entries (i, i)."""
        return self.xp.linalg.diagonal(self.dense())

    def block(self, rows: Index, columns: Index) -> Any:
        """The submatrix of the given rows and columns (slices or integer arrays)."""
        unit = take(eye(self.n, self.like), columns)  # the matrix is symmetric: rows are columns
        return take(self @ self.xp.matrix_transpose(unit), rows)

    def magnitude(self) -> float:
        """The largest absolute value on the diagonal before anything is subtracted: the scale of rounding errors."""
        return float(np.abs(host(self.diagonal())).max())

    def dense(self) -> Any:
        """The matrix itself, computed if not stored."""
        return self.block(slice(None), slice(None))

    def entries(self) -> Any:
        """All non-zero entries, in any shape, if they are stored; else None."""
        return self.dense() if "dense" in self.provides else None

    def on_vectors(self) -> Callable[[np.ndarray], np.ndarray]:
        """The function v ↦ Kv for NumPy vectors, for many calls: it reads half of the matrix."""
        K = self.dense()
        return partial(get_blas_funcs("symv", (K,)), 1.0, K.T)

    def factor(self) -> Any:
        """Z with K̂ = ZZᵀ, if `provides` has "factor"."""
        raise TypeError(f"{where(self)} has no factor; use IncompleteCholesky, Nystrom or RandomFeatures.")

    def sketch(self, rank: int) -> Any:
        """A factor Z of the given rank with ZZᵀ ≈ K̂, for preconditioning; None if there is none."""
        return None

    def __repr__(self) -> str:
        return f"<{where(self)} {self.n} × {self.n}>"


class Wrapped(Operator):
    """An operator built on another, its `base`, with the same size, type and device."""

    base: Operator

    @property
    def n(self) -> int:
        return self.base.n

    @property
    def like(self) -> Any:
        return self.base.like


class Gram(Operator):
    """K = (k(xᵢ, xⱼ)) for a sample x₁, …, x_n as a symmetric operator. Fitted data, picklable.

    Attributes
    ----------
    kernel, X : the kernel and the sample it was built from
    centres : what a function Σ aᵢ k(·, xᵢ) must store of the sample
    evaluator : the entries of K̂, computed on demand
    """

    def __init__(self, kernel: Kernel, X: Checked):
        self.kernel, self.X, self.centres = kernel, X, kernel.domain.centres(X)

    @cached_property
    def evaluator(self) -> Evaluator:
        return bind(self.kernel, self.X)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "evaluator"}

    def __sklearn_clone__(self) -> Gram:
        return self  # operators are never modified, so clones of an estimator share them

    @property
    def n(self) -> int:
        return self.kernel.domain.size(self.X)

    @property
    def like(self) -> Any:
        return self.evaluator.like

    @property
    def native(self) -> Gram:
        return self

    def beside(self, gram: Gram) -> Gram:
        """Another matrix of the sample, with products of arrays like those of this one."""
        return gram

    def __matmul__(self, V: Array) -> Any:
        return self.evaluator.product(V)

    def diagonal(self) -> Any:
        return self.evaluator.diagonal()

    def block(self, rows: Index, columns: Index) -> Any:
        return self.evaluator.block(rows, columns)

    def dense(self) -> Any:
        return self.evaluator.dense()

    def cross(self, X_new: Checked) -> Cross:
        """The operator k̂(x, xⱼ) from coefficients on the sample to values at new points."""
        return Cross(self.kernel, X_new, self.centres)

    def sketch(self, rank: int) -> Any:
        from .nystrom import Nystrom

        claim = self.kernel.definiteness_in(self.kernel.domain.dimension(self.X))
        if not claim.may_be_pd:
            return None
        return Nystrom(min(rank, self.n))._build(self.kernel, self.X, np.random.default_rng(0)).factor()

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        """Σ aᵢ k̂(·, xᵢ) as (kernel, points, coefficients): a function in the kernel's space."""
        return self.kernel, self.centres, coefficients

    def missing_constant(self, coefficients: Array) -> Any:
        """The constant by which the function of a kernel about the sample differs from that of the kernel itself."""
        return self.kernel.missing_constant(self.X, coefficients)

    def __repr__(self) -> str:
        return f"<{where(self)} {self.n} × {self.n} of {self.kernel}>"


class Cross:
    """k(X_new, X) as an operator; only `dense` computes the whole matrix."""

    def __init__(self, kernel: Kernel, X_new: Checked, centres: Array):
        self.kernel, self.X_new, self.centres = kernel, X_new, centres

    def __matmul__(self, V: Array) -> Any:
        return bind(self.kernel, self.X_new, self.centres).product(V)

    def dense(self) -> Any:
        """The matrix k(X_new, X)."""
        return bind(self.kernel, self.X_new, self.centres).dense()


class Representation(BaseEstimator):
    """How the Gram matrix of a sample is stored: parameters only; `build` does the work.

    Attributes
    ----------
    centers : bool
        Whether the mean of the feature vectors is subtracted.
    streams : bool
        Whether features fixed by a first batch of samples also apply to later ones.
    draws : bool
        Whether the random generator is used.
    """

    centers: bool = False
    streams: bool = False
    draws: bool = True

    def shared(self, count: int, X: Checked) -> Representation:
        """The representation of each of `count` matrices of X stored at once."""
        return self

    def build(self, kernel: Kernel | str, X: Checked, rng: Any = None) -> Gram:
        """The Gram operator of a kernel (an object or text, without data-driven parameters) on a copy of X.

        Random representations use `rng`, a Generator or a seed.
        """
        kernel = as_kernel(kernel)
        checked, _ = kernel.check_arguments(X)
        return self._build(kernel, kernel.domain.keep(checked, X), generator(rng))

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> Gram:
        """`build` for a checked kernel and collection; each representation implements it."""
        raise unwritten(self, "_build")
