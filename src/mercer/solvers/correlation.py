r"""The eigenproblem of regularised kernel canonical correlation for two or more views, on the ranges of their matrices.

A function f = Σ aᵢ(k(·, xᵢ) − μ) has the values K̃a on the sample and ‖f‖² = aᵀK̃a. With K̃ = UΛUᵀ on its range and
a = U(Λ² + εΛ)^{−1/2} t, the penalised sum of squares aᵀ(K̃² + εK̃)a is tᵀt and the values are UDt, D² = Λ/(Λ + ε). So
the problem for two views is the singular value decomposition

    max t_xᵀ D_x C D_y t_y over ‖t_x‖ = ‖t_y‖ = 1,   C = U_xᵀU_y.

It inverts no singular matrix, and C and the decompositions serve every ε. For m views the sum of all products between
views is maximised over Σ‖t_v‖² = m, an eigenproblem with the blocks D_i C_ij D_j; the correlation is its eigenvalue
divided by m − 1, which is the singular value for m = 2.

Bach, Jordan, *Kernel independent component analysis* (2002); Kettenring, *Canonical analysis of several sets of
variables* (1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import linalg

from .._array import eigh_part, eps, host
from .._units import exponent, power_of_two
from ..context import current
from ..gram import Gram
from .eigen import DenseEigen, Eigenproblem, FactorEigen

__all__ = ["Canonical", "Pairing", "Range", "mean_correlations", "p_values", "range_of"]

ROUNDING = 10.0  # units of round-off, relative to the trace of the matrix before centring, that count as zero
TIE = 1e-10  # correlations that differ by less are equal up to rounding
SQUARED = 1e-6  # relative to the largest eigenvalue of MMᵀ: vectors of larger ones have ten accurate digits


@dataclass(frozen=True)
class Range:
    """K̃ = UΛUᵀ with positive Λ, on the host: `vectors` of shape (n, r) and `values` in descending order."""

    vectors: np.ndarray
    values: np.ndarray

    @property
    def rank(self) -> int:
        """r."""
        return len(self.values)

    def shrinkage(self, epsilon: float) -> np.ndarray:
        """The diagonal √(λ/(λ + ε)) of D, without overflow of the sum or underflow of the quotient."""
        root = np.sqrt(self.values)
        return root / np.hypot(root, epsilon**0.5)

    def coefficients(self, z: np.ndarray) -> np.ndarray:
        """a = UΛ⁻¹z for the function with values Uz, column by column."""
        return self.vectors @ (z / self.values[:, None])

    def split(self, train: np.ndarray, test: np.ndarray) -> tuple[Range, np.ndarray]:
        """The range of the matrix of the training samples, centred on them, and its basis at the test samples.

        The basis functions have the values U on the training samples.
        """
        Z = self.vectors * np.sqrt(self.values)
        mean = Z[train].mean(axis=0)
        Z, new = Z[train] - mean, Z[test] - mean
        wide = Z.shape[1] >= len(Z)
        values, vectors = linalg.eigh(Z @ Z.T if wide else Z.T @ Z, check_finite=False)
        keep = values > ROUNDING * eps(values) * self.values.sum()
        values, vectors = values[keep][::-1], vectors[:, keep][:, ::-1]
        root = np.sqrt(values)
        W = Z.T @ (vectors / values) if wide else vectors / root  # functions Z ↦ ZW with orthonormal values
        return Range(vectors if wide else Z @ W, values), new @ W


def range_of(gram: Gram) -> Range:
    """The decomposition of a Gram operator: through its factor, O(nr²), or as a dense matrix, O(n³).

    Eigenvalues at the rounding level of the matrix before centring are dropped. Clearly negative eigenvalues raise
    ValueError: the matrix is indefinite.
    """
    thin = "factor" in gram.provides
    count = min(gram.n, gram.factor().shape[1]) if thin else gram.n
    if count == 0:
        return Range(np.empty((gram.n, 0)), np.empty(0))
    spectrum = (FactorEigen() if thin else DenseEigen()).solve(Eigenproblem(gram, count))
    values, vectors = host(spectrum.values).astype(np.float64), host(spectrum.vectors).astype(np.float64)
    size = gram.n * gram.magnitude()
    unit = ROUNDING * eps(spectrum.values)
    if values.min() < -1e-3 * np.abs(values).max() and values.min() < -unit * size:
        raise ValueError(
            f"the matrix of {gram.kernel} has eigenvalues from {values.min():.3g} to {values.max():.3g}: it is "
            "indefinite. Use a (conditionally) positive definite kernel."
        )
    keep = values > size * (unit**2 if thin else unit)  # a factor's singular values are accurate to one unit
    return Range(vectors[:, keep], values[keep])


@dataclass(frozen=True)
class Canonical:
    """Correlations in descending order, and the coordinates t for each view, one column per component."""

    values: np.ndarray
    coordinates: list[np.ndarray]


class Pairing:
    """Two or more views with paired samples: the products C_ij, and the eigenproblem for every D.

    Parameters
    ----------
    bases : sequence of arrays of shape (n, r_v)
        The values U of each view on the sample; row i of all views belongs to the same sample.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> U, V = (np.linalg.qr(rng.normal(size=(9, 3)))[0] for _ in range(2))
    >>> D = [np.ones(3), np.ones(3)]
    >>> angles = np.linalg.svd(U.T @ V)[1]
    >>> bool(np.allclose(Pairing([U, V]).solve(D, 2).values, angles[:2]))
    True
    """

    def __init__(self, bases: Sequence[np.ndarray]):
        self.bases = list(bases)

    @cached_property
    def products(self) -> dict[tuple[int, int], np.ndarray]:
        """C_ij = U_iᵀU_j for i < j."""
        return {(i, j): self.bases[i].T @ self.bases[j] for i, j in combinations(range(len(self.bases)), 2)}

    @property
    def most(self) -> int:
        """The number of components available in every view."""
        return min(U.shape[1] for U in self.bases)

    def permuted(self, rng: np.random.Generator) -> Pairing:
        """The same views, paired at random."""
        first, *others = self.bases
        return Pairing([first, *(rng.permutation(U) for U in others)])

    def without(self, j: int) -> Pairing:
        """The pairing of all but the first j functions of each basis."""
        rest = Pairing([U[:, j:] for U in self.bases])
        rest.products = {pair: C[j:, j:] for pair, C in self.products.items()}
        return rest

    def solve(self, shrinkage: Sequence[np.ndarray], n_components: int) -> Canonical:
        """The leading components for the diagonals D of the views."""
        M, e = self._matrix(shrinkage)
        if len(self.bases) == 2:
            values, coordinates = _singular(M, n_components)
            return Canonical(np.ldexp(values, e), coordinates)
        values, T = _largest(M, n_components)
        blocks = np.split(T, np.cumsum([len(D) for D in shrinkage])[:-1])
        return Canonical(np.ldexp(values, e) / (len(self.bases) - 1), blocks)

    def values(self, shrinkage: Sequence[np.ndarray], n_components: int | None = None) -> np.ndarray:
        """Only the leading correlations; by default `most` of them."""
        (M, e), k = self._matrix(shrinkage), n_components or self.most
        if len(self.bases) == 2:
            M = M @ M.T if M.shape[0] <= M.shape[1] else M.T @ M
        values = linalg.eigvalsh(M, check_finite=False)[::-1][:k]
        # squaring loses accuracy only for values near 0, which are accurate to √eps
        values = np.sqrt(np.clip(values, 0, None)) if len(self.bases) == 2 else values / (len(self.bases) - 1)
        return np.ldexp(values, e)

    def _matrix(self, shrinkage: Sequence[np.ndarray]) -> tuple[np.ndarray, int]:
        """D_x C D_y for two views; for more, the symmetric matrix of all blocks, with zero diagonal blocks."""
        # returned as M and e with value M·2ᵉ, since with a strong penalty the products and their squares underflow
        e = max(exponent(D) for D in shrinkage)
        scaled = [np.ldexp(D, -e) for D in shrinkage]
        blocks = {(i, j): scaled[i][:, None] * C * scaled[j] for (i, j), C in self.products.items()}
        if len(self.bases) == 2:
            M = blocks[0, 1]
        else:
            ends = np.cumsum([0, *(len(D) for D in shrinkage)])
            M = np.zeros((ends[-1], ends[-1]))
            for (i, j), B in blocks.items():
                M[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = B
                M[ends[j] : ends[j + 1], ends[i] : ends[i + 1]] = B.T
        unit = exponent(M)
        return np.ldexp(M, -unit), 2 * e + unit


def _largest(M: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of a symmetric matrix, descending, and their vectors."""
    values, vectors = eigh_part(M, len(M) - k, len(M) - 1)
    return values[::-1], vectors[:, ::-1]


def _singular(M: np.ndarray, k: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """The k leading singular values, with left and right vectors."""
    few = 4 * k < min(M.shape)
    if few and M.shape[0] > M.shape[1]:
        values, (Q, P) = _singular(M.T, k)
        return values, [P, Q]
    if few:  # ten times as fast as a full SVD, but it squares; small values need the slower way
        squares, P = _largest(M @ M.T, k)
        if squares[-1] > SQUARED * squares[0]:
            values = np.sqrt(squares)
            return values, [P, M.T @ P / values]
    P, values, Q = linalg.svd(M, full_matrices=False, check_finite=False)
    return values[:k], [P[:, :k], Q[:k].T]


def p_values(
    pairing: Pairing, shrinkage: Sequence[np.ndarray], found: Canonical, n_permutations: int, rng: np.random.Generator
) -> np.ndarray:
    """p-values of the components: how often random pairings, without the earlier components, correlate as strongly.

    The j-th correlation of permuted data does not have the null distribution of the j-th correlation, because the
    earlier components take part in the permutation; they are therefore removed from each view first. P-values are made
    non-decreasing in j: after a component that is not significant, no later one is.

    Winkler, Renaud, Smith, Nichols, *Permutation inference for canonical correlation analysis* (2020).
    """
    # the first j columns of Q span those of t, so one pairing in the basis Q serves every j
    rotations = [linalg.qr(t)[0] for t in found.coordinates]
    unit = max(map(power_of_two, shrinkage))
    rotated = Pairing([(U * (D / unit)) @ Q for U, D, Q in zip(pairing.bases, shrinkage, rotations, strict=True)])

    def largest(pairs: Pairing) -> np.ndarray:
        rests = [pairs.without(j) for j in range(len(found.values))]
        return np.array([rest.values([np.ones(U.shape[1]) for U in rest.bases], 1)[0] for rest in rests])

    level = largest(rotated) * (1 - TIE)
    counts = [largest(rotated.permuted(rng)) >= level for _ in current().draws(n_permutations)]
    return np.maximum.accumulate((1.0 + np.sum(counts, axis=0)) / (1.0 + len(counts)))


def mean_correlations(scores: Sequence[np.ndarray]) -> np.ndarray:
    """The correlation of each column between views, averaged over pairs of views; 0 if a view is constant."""
    standard = []
    for Z in scores:
        Z = Z - Z.mean(axis=0)
        size = np.sqrt((Z**2).sum(axis=0))
        standard.append(Z / np.where(size > 0, size, 1.0))
    pairs = [(A * B).sum(axis=0) for A, B in combinations(standard, 2)]
    return np.mean(pairs, axis=0)
