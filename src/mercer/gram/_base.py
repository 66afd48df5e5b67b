"""The Gram matrix as an operator, and the recipe that builds it.

A `Representation` has parameters only (``Dense()``, ``Nystrom(rank=500)``); its `build` returns a `Gram`: the matrix
K = (k(xᵢ, xⱼ)), or the approximation K̂ that the representation stands for, with three required operations:
``@``, `diagonal` and `block`, and `cross` for new points under the *same* approximation. What else it has is announced
in `provides`: "dense" (the matrix itself is held), "factor" (a thin Z with K̂ = ZZᵀ is held) and more.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._array import eye, host, namespace
from .._errors import where
from .._random import generator
from ..domains import take
from ..evaluation import Evaluator, bind
from ..kernels import Kernel
from ..kernels.expression import as_kernel
from ..types import Array, Checked, Index


class Operator:
    """A symmetric n × n matrix, given by its products, its diagonal and its blocks. Solvers use nothing else.

    Attributes
    ----------
    provides : frozenset of str
        What else it has: "dense" (the matrix is held), "factor" (a thin Z with K̂ = ZZᵀ is held), "sparse" (a
        sparse matrix is held).
    matrix : csr_array
        The sparse matrix that is held.
    own_features : bool
        Whether the rows of the factor are the kernel's own features.
    trace_error : float
        tr(K − K̂), 0 for exact representations.
    choice : str or None
        What "auto" chose and why.
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

    def __matmul__(self, V: Array) -> Any:
        raise NotImplementedError

    def diagonal(self) -> Any:
        """The vector of the entries (i, i)."""
        return self.xp.linalg.diagonal(self.dense())

    def block(self, rows: Index, columns: Index) -> Any:
        """The submatrix of the given rows and columns (slices or integer arrays)."""
        unit = take(eye(self.n, self.like), columns)  # of a symmetric matrix, rows are columns
        return take(self @ self.xp.matrix_transpose(unit), rows)

    def magnitude(self) -> float:
        """The largest absolute value on the diagonal before anything is subtracted: the scale of rounding errors."""
        return float(np.abs(host(self.diagonal())).max())

    def dense(self) -> Any:
        """The matrix itself, computed if it is not held."""
        return self.block(slice(None), slice(None))

    def entries(self) -> Any:
        """All non-zero entries, in any shape, if they are held; None otherwise."""
        return self.dense() if "dense" in self.provides else None

    def factor(self) -> Any:
        """Z with K̂ = ZZᵀ, where `provides` has "factor"."""
        raise TypeError(f"{where(self)} holds no factor; use IncompleteCholesky, Nystrom or RandomFeatures.")

    def sketch(self, rank: int) -> Any:
        """A factor Z with ZZᵀ ≈ K̂ of the given rank, for preconditioning; None if there is none."""
        return None

    def __repr__(self) -> str:
        return f"<{where(self)} {self.n} × {self.n}>"


class Wrapped(Operator):
    """An operator made from another, its `base`, with the size, type and device of that one."""

    base: Operator

    @property
    def n(self) -> int:
        return self.base.n

    @property
    def like(self) -> Any:
        return self.base.like


class Gram(Operator):
    """K = (k(xᵢ, xⱼ)) for a sample x₁, …, x_n, as a symmetric operator. Fitted data, picklable.

    Attributes
    ----------
    kernel, X : the kernel and the sample that it was built from
    centres : what a function Σ aᵢ k(·, xᵢ) must keep of the sample
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
        return self  # nobody changes an operator, so that clones of an estimator share it

    @property
    def n(self) -> int:
        return self.kernel.domain.size(self.X)

    @property
    def like(self) -> Any:
        return self.evaluator.like

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
        from .incomplete_cholesky import IncompleteCholesky

        claim = self.kernel.definiteness_in(self.kernel.domain.dimension(self.X))
        if not claim.is_pd and claim.kind != "UNKNOWN":
            return None
        return IncompleteCholesky(rank=rank)._build(self.kernel, self.X, np.random.default_rng(0)).factor()

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        """Σ aᵢ k̂(·, xᵢ) as (kernel, points, coefficients) of a function in the kernel's space."""
        return self.kernel, self.centres, coefficients

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
    """How the Gram matrix of a sample is held: parameters only; `build` does the work.

    Attributes
    ----------
    centers : bool
        Whether the mean of the feature vectors is subtracted.
    streams : bool
        Whether a first batch of samples fixes features that later ones have as well.
    draws : bool
        Whether it uses the random generator.
    """

    centers: bool = False
    streams: bool = False
    draws: bool = True

    def shared(self, count: int) -> Representation:
        """The representation of each of so many matrices that are held at once."""
        return self

    def build(self, kernel: Kernel | str, X: Checked, rng: Any = None) -> Gram:
        """The Gram operator of a kernel (an object or its text, without data-driven parameters) on a copy of X.

        Representations that draw use `rng`, a Generator or a seed.
        """
        kernel = as_kernel(kernel)
        checked, _ = kernel.check_arguments(X)
        return self._build(kernel, kernel.domain.keep(checked, X), generator(rng))

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> Gram:
        """`build` for a checked kernel and collection: what a representation writes."""
        raise NotImplementedError
