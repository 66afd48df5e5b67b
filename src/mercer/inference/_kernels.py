"""The kernels of a test, and their centred matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array import host
from .._errors import check_number, remedies
from ..gram import Gram, GramLike, as_representation
from ..gram.centered import CenteredGram
from ..gram.incomplete_cholesky import IncompleteCholesky
from ..kernels import Kernel, KernelLike
from ..kernels.bandwidth import drawn_pairs, squared_distances
from ..kernels.expression import as_kernel
from ..types import Data
from ._nulls import Moments

PRECISION = 1e-8  # share of the trace that a factor may lack
SMALL = 100  # members below which the matrix is as fast as a factor


def is_collection(kernel: KernelLike) -> bool:
    """Whether `kernel` stands for several."""
    return isinstance(kernel, (list, tuple)) or (isinstance(kernel, str) and kernel == "aggregate")


def lengthscales(X: Data, count: int) -> list[float]:
    """From half the 5 % quantile of the distances to twice the 95 % quantile, in equal ratios; of four digits."""
    squares, unit = squared_distances(X, drawn_pairs(X))
    low, high = np.quantile(np.sqrt(squares), (0.05, 0.95)) * unit if len(squares) else (1.0, 1.0)
    return [float(f"{s:.4g}") for s in np.geomspace(low / 2, 2 * high, count)]


def collection(
    owner: str, kernel: KernelLike, members: Callable[[Kernel], Any], families: Sequence[type[Kernel]], count: int
) -> list[tuple[Kernel, Any]]:
    """The kernels that an argument stands for, their data-driven parameters filled in, each with its collection.

    `members` gives the collection in the form that a kernel computes with. A kernel must be positive definite, or
    conditionally so of order 1: the coefficients of a difference of means sum to zero.
    """
    if isinstance(kernel, str) and kernel == "aggregate":
        X = members(families[0]())
        return [(family(lengthscale=s), X) for family in families for s in lengthscales(X, count)]
    if isinstance(kernel, (list, tuple)) and not kernel:
        raise ValueError(f"{owner}: kernel is an empty list; give at least one kernel, or 'aggregate'.")
    found = []
    for given in kernel if isinstance(kernel, (list, tuple)) else [kernel]:
        k = as_kernel(given)
        if k.domain.precomputed:
            raise TypeError(f"{owner}: {k} knows its members by number only; use FiniteDomain(K), on 0, …, n − 1.")
        X = members(k)
        k = k.resolve(X)
        k.validate()
        claim = k.definiteness_in(k.domain.dimension(X))
        if claim.kind != "UNKNOWN" and not (claim.is_cpd and claim.order <= 1):
            raise ValueError(
                f"{owner}: {k} is {claim}; the statistic needs a kernel that is positive definite, or conditionally of "
                f"order 1 (such as 'power', minus the distance).{remedies(claim)}"
            )
        k.check_values(X, owner)
        found.append((k, X))
    return found


def centred(kernel: Kernel, X: Data, gram: GramLike, rng: np.random.Generator) -> CenteredGram:
    """The centred matrix; "auto" takes a factor where a thin one is exact to 10⁻⁸ of the trace.

    The factor depends on the members alone and not on how they are labelled or paired: permutations of it are as exact.
    """
    kernel = kernel.about(X)
    if gram != "auto":
        return CenteredGram(as_representation(gram).build(kernel, X, rng))
    factor = thin(kernel, X, rng)
    return CenteredGram(as_representation("auto").build(kernel, X, rng) if factor is None else factor)


def thin(kernel: Kernel, X: Data, rng: np.random.Generator) -> Gram | None:
    """An incomplete Cholesky factor that is faster to permute than the matrix, if there is one."""
    n = kernel.domain.size(X)
    rank = int(3 * n**0.5)
    if n < SMALL or not kernel.definiteness_in(kernel.domain.dimension(X)).is_pd:
        return None
    factor = IncompleteCholesky(rank=rank, tol=PRECISION).build(kernel, X, rng)
    return factor if factor.trace_error <= PRECISION * float(host(kernel.evaluate_diag(X)).sum()) else None


def eigenvalues(matrix: CenteredGram) -> np.ndarray:
    """Of the centred matrix, rounding below zero cut off."""
    if "factor" in matrix.provides:
        Z = host(matrix.factor())
        return np.maximum(np.linalg.eigvalsh((Z.T @ Z).astype(np.float64)), 0)
    return np.maximum(np.linalg.eigvalsh(host(matrix.dense()).astype(np.float64)), 0)


def matrix_moments(matrix: CenteredGram, biased: bool) -> Moments:
    """Of K̃ or, for unbiased statistics, of the matrix without diagonal whose rows are then made to sum to zero.

    That leaves its products with others of the kind unchanged; its squared norm is
    Σ_{i≠j} K̃ᵢⱼ² − 2/(n − 2) Σ rᵢ² + (Σ rᵢ)²/((n − 1)(n − 2)), with row sums rᵢ = −K̃ᵢᵢ.
    """
    d, n = host(matrix.diagonal()).astype(np.float64), matrix.n
    if "factor" in matrix.provides:
        Z = host(matrix.factor()).astype(np.float64)
        square = float(np.sum((Z.T @ Z) ** 2))
    else:
        square = float(np.sum(host(matrix.dense()).astype(np.float64) ** 2))
    squares = float(d @ d)
    if biased:
        return Moments(float(d.sum()), squares, square)
    hollow = square - squares - 2 / (n - 2) * squares + float(d.sum()) ** 2 / ((n - 1) * (n - 2))
    return Moments(0.0, 0.0, hollow)


def check_draws(owner: str, n_draws: Any) -> None:
    """At least one draw."""
    check_number(owner, "n_draws", n_draws, at_least=1, integer=True)
