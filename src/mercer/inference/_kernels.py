"""The kernels of a test, and their centred matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array import host
from .._errors import remedies
from ..gram import Gram, GramLike, as_representation
from ..gram.centered import CenteredGram
from ..gram.incomplete_cholesky import IncompleteCholesky
from ..kernels import Kernel, KernelLike
from ..kernels.bandwidth import squared_distances
from ..kernels.expression import as_kernel
from ..types import Data
from ._nulls import Moments

PRECISION = 1e-8  # error of a factor, relative to the trace
SMALL = 100  # members below which the matrix is as fast as a factor


def is_collection(kernel: KernelLike) -> bool:
    """Whether `kernel` means several kernels."""
    return isinstance(kernel, (list, tuple)) or (isinstance(kernel, str) and kernel == "aggregate")


def lengthscales(X: Data, count: int) -> list[float]:
    """Lengthscales from half the 5 % quantile of the distances to twice the 95 % quantile, in equal ratios."""
    squares, unit = squared_distances(X)
    low, high = np.quantile(np.sqrt(squares), (0.05, 0.95)) * unit if len(squares) else (1.0, 1.0)
    return [float(f"{s:.4g}") for s in np.geomspace(low / 2, 2 * high, count)]


def collection(
    owner: str, kernel: KernelLike, members: Callable[[Kernel], Any], families: Sequence[type[Kernel]], count: int
) -> list[tuple[Kernel, Any]]:
    """The kernels given by an argument, resolved on the data, each with its collection as checked by `members`."""
    if isinstance(kernel, str) and kernel == "aggregate":
        X = members(families[0]())
        return [(family(lengthscale=s), X) for family in families for s in lengthscales(X, count)]
    if isinstance(kernel, (list, tuple)) and not kernel:
        raise ValueError(f"{owner}: kernel is an empty list; give at least one kernel, or 'aggregate'.")
    found = []
    for given in kernel if isinstance(kernel, (list, tuple)) else [kernel]:
        k = as_kernel(given)
        if k.domain.precomputed:
            raise TypeError(f"{owner}: {k} cannot be evaluated at new members; use FiniteDomain(K) on 0, …, n − 1.")
        X = members(k)
        k = k.resolve(X)
        k.validate()
        claim = k.definiteness_in(k.domain.dimension(X))
        # order 1 suffices, because the coefficients of a difference of means sum to zero
        if claim.kind != "UNKNOWN" and not (claim.is_cpd and claim.order <= 1):
            raise ValueError(
                f"{owner}: {k} is {claim}; the statistic needs a positive definite kernel, or a conditionally positive "
                f"definite one of order 1 (such as 'power', minus the distance).{remedies(claim)}"
            )
        k.check_values(X, owner)
        found.append((k, X))
    return found


def centred(kernel: Kernel, X: Data, gram: GramLike, rng: np.random.Generator) -> CenteredGram:
    """The centred matrix; "auto" uses a thin factor if its error is at most 10⁻⁸ of the trace."""
    kernel = kernel.about(X)
    # the factor does not depend on labels or pairing, so permutation tests remain exact
    factor = thin(kernel, X, rng) if gram == "auto" else None
    return CenteredGram(as_representation(gram).build(kernel, X, rng) if factor is None else factor)


def is_constant(matrix: CenteredGram) -> bool:
    """Whether the kernel does not distinguish the members."""
    return bool(host(matrix.diagonal()).sum() <= 1e-12 * np.abs(host(matrix.base.diagonal())).sum())


def thin(kernel: Kernel, X: Data, rng: np.random.Generator) -> Gram | None:
    """An incomplete Cholesky factor, if permutations are faster with it."""
    n = kernel.domain.size(X)
    if n < SMALL or not kernel.definiteness_in(kernel.domain.dimension(X)).is_pd:
        return None
    factor = IncompleteCholesky(rank=int(3 * n**0.5), tol=PRECISION).build(kernel, X, rng)
    return factor if factor.trace_error <= PRECISION * float(host(kernel.evaluate_diag(X)).sum()) else None


def eigenvalues(matrix: CenteredGram) -> np.ndarray:
    """Eigenvalues of the centred matrix, with negative rounding errors set to zero."""
    return np.maximum(np.linalg.eigvalsh(_compact(matrix)), 0)


def _compact(matrix: CenteredGram) -> np.ndarray:
    """ZᵀZ for a matrix ZZᵀ, which has the same nonzero eigenvalues, or the matrix itself."""
    if "factor" not in matrix.provides:
        return host(matrix.dense()).astype(np.float64)
    Z = host(matrix.factor()).astype(np.float64)
    return Z.T @ Z


def matrix_moments(matrix: CenteredGram, biased: bool) -> Moments:
    """Moments of K̃ or, for unbiased statistics, of K̃ without its diagonal, recentred."""
    d, n = host(matrix.diagonal()).astype(np.float64), matrix.n
    square, squares = float(np.sum(_compact(matrix) ** 2)), float(d @ d)
    if biased:
        return Moments(float(d.sum()), squares, square)
    # centring does not change products with other such matrices; the rows without the diagonal sum to −K̃ᵢᵢ
    hollow = square - squares - 2 / (n - 2) * squares + float(d.sum()) ** 2 / ((n - 1) * (n - 2))
    return Moments(0.0, 0.0, hollow)
