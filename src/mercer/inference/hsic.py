"""The Hilbert–Schmidt independence criterion, a test of independence."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.fft import irfft, rfft

from .. import _threads
from .._array import doubles, host, like
from .._errors import check_choice, check_number, speaking
from .._random import generator
from ..context import StoppedError, current, limited
from ..gram import GramLike
from ..gram.centered import CenteredGram
from ..kernels import Gaussian, Kernel, KernelLike
from ..space import Function
from ..types import Data, RandomState
from ._compiled import paired
from ._kernels import centred, collection, eigenvalues, is_collection, is_constant, matrix_moments
from ._nulls import CELLS, aggregate, batches, gamma, in_common, permutation_moments, spectrum, tail
from ._result import KernelTestResult

NAME = "hsic_test"


@speaking
@limited
def hsic_test(
    X: Data,
    Y: Data,
    *,
    kernel: KernelLike = "aggregate",
    kernel_y: KernelLike | None = None,
    statistic: str = "unbiased",
    null: str = "permutation",
    n_draws: int = 999,
    gram: GramLike = "auto",
    random_state: RandomState = None,
    time_budget: float | None = None,
) -> KernelTestResult:
    r"""Test of independence for pairs (HSIC).

    .. math:: \mathrm{HSIC} = \|\mu_{XY} - \mu_X \otimes \mu_Y\|^2,
              \qquad \widehat{\mathrm{HSIC}}_b = \frac{1}{n^2} \sum_{ij} \tilde K_{ij} \tilde L_{ij}

    is the squared norm of the cross-covariance of the features of X and Y; :math:`\tilde K` and :math:`\tilde L` are
    the centred kernel matrices. With k(x, y) = −‖x − y‖ (``kernel="power"``) it is the squared distance covariance.

    Parameters
    ----------
    X, Y : collections
        n members each, in pairs; any kinds of data, which may differ.
    kernel : Kernel, name or expression, list of them, or "aggregate"
        For X. Positive definite, or conditionally so of order 1. If there are several, all pairs are tested together,
        as in `mmd_test`. "aggregate" is three Gaussians, with lengthscales from half the 5 % quantile of the distances
        to twice the 95 % quantile.
    kernel_y : as `kernel`, optional
        For Y; None is the same as for X.
    statistic : {"unbiased", "biased"}
        "biased" is the formula above, and ≥ 0. "unbiased" omits equal indices, and has mean 0 under independence.
    null : {"permutation", "gamma", "spectrum"}
        "permutation" permutes Y against X. The p-value (1 + #{as large})/(1 + draws) is exact: under independence,
        P(p ≤ α) ≤ α at every sample size. For one pair of kernels, "gamma" has the exact mean and variance over all
        permutations, and "spectrum" is the limiting distribution, a sum of chi-squares weighted by products of the
        eigenvalues of both matrices.
    gram : Representation or name
        How the matrices are stored: dense or as a factor; see `mmd_test`.
    n_draws, random_state, time_budget
        As in `mmd_test`.

    Returns
    -------
    KernelTestResult
        Its `witness` is the cross-covariance (1/n) Σ k̃(xᵢ, ·) h̃(yᵢ, ·), a function of pairs ``(X, Y)``. It is positive
        where pairs are more frequent than under independence; its squared norm is the biased statistic.

    Notes
    -----
    With factors of rank r and s, a permutation costs O(nrs); without factors, O(n²). If n > `n_draws`, the permutations
    are the n shifts of a random cycle through all members. They form a group, so the p-value is still exact; together
    they cost one Fourier transform per diagonal, O(n² log n).

    References
    ----------
    Gretton, Fukumizu, Teo, Song, Schölkopf, Smola, *A kernel statistical test of independence* (2008): gamma. Song,
    Smola, Gretton, Bedo, Borgwardt, *Feature selection via dependence maximization* (2012): the unbiased statistic.
    Zhang, Peters, Janzing, Schölkopf, *Kernel-based conditional independence test and application in causal discovery*
    (2011): spectrum. Albert, Laurent, Marrel, Meynaoui, *Adaptive test of independence based on HSIC measures* (2022):
    aggregation. Székely, Rizzo, Bakirov, *Measuring and testing dependence by correlation of distances* (2007).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, size=(80, 1))
    >>> X, Y = np.cos(angle), np.sin(angle) + 0.2 * rng.normal(size=(80, 1))  # uncorrelated, not independent
    >>> test = hsic_test(X, Y, random_state=0)
    >>> len(test.kernels), test.p_value < 0.05
    (9, True)
    >>> bool(hsic_test(X, rng.normal(size=(80, 1)), random_state=0).p_value < 0.05)
    False
    """
    check_choice(NAME, "statistic", statistic, ("unbiased", "biased"))
    check_choice(NAME, "null", null, ("permutation", "gamma", "spectrum"))
    check_number(NAME, "n_draws", n_draws, at_least=1, integer=True)
    kernel_y = kernel if kernel_y is None else kernel_y
    if null != "permutation" and (is_collection(kernel) or is_collection(kernel_y)):
        raise ValueError(f"{NAME}: null = {null!r} requires one kernel per side; aggregation needs null='permutation'.")
    rng = generator(random_state)
    xs = collection(NAME, kernel, lambda k: k.domain.check(X, NAME, "X"), (Gaussian,), 3)
    ys = collection(NAME, kernel_y, lambda k: k.domain.check(Y, NAME, "Y"), (Gaussian,), 3)
    n, size = (pairs[0][0].domain.size(pairs[0][1]) for pairs in (xs, ys))
    if n != size:
        raise ValueError(f"{NAME}: X has {n} members and Y {size}; they must be pairs.")
    if n < 4:
        raise ValueError(f"{NAME}: {n} pairs are too few; give at least 4.")
    seed = int(rng.integers(2**63))  # the same permutations for all representations, including randomised ones
    A = [Side(centred(k, x, gram, rng), "X") for k, x in xs]
    B = [Side(centred(k, y, gram, rng), "Y") for k, y in ys]
    biased, scale = statistic == "biased", 1 / n**2 if statistic == "biased" else 1 / (n * (n - 3))
    if null == "permutation":
        permutations = group(A + B, n, n_draws, np.random.default_rng(seed))
        rows, pairs = [], [(a, b) for a in A for b in B]
        for number, (a, b) in enumerate(pairs):
            with current().sharing(len(pairs) - number):
                rows.append(scale * permuted(a, b, permutations, biased))
        T = in_common(NAME, rows, len(permutations) - 1)
        sizes = [scale * a.diagonal.sum() * b.diagonal.sum() / (n - 1) for a in A for b in B]
        p, p_values, best = aggregate(T, sizes)
        value, sample = float(T[best, 0]), T[best, 1:]
        words = f"{len(sample)} permutations"
    else:
        best, words = 0, f"{null} null"
        value = scale * float(permuted(A[0], B[0], Shuffles(np.arange(n)[None, :]), biased)[0])
        p, sample = _limit(A[0].matrix, B[0].matrix, value, biased, scale, null, n_draws, rng)
        p_values = np.array([p])
    kernels = tuple((k, h) for k, _ in xs for h, _ in ys)
    witness = _covariance(xs[best // len(ys)], ys[best % len(ys)])
    return KernelTestResult(value, p, sample, f"{statistic} HSIC, {words}", kernels[best], witness, kernels, p_values)


class Side:
    """The centred matrix of one collection, dense or as a thin factor, and its diagonal, in double precision."""

    def __init__(self, matrix: CenteredGram, name: str):
        if not matrix.provides & {"factor", "dense"}:
            raise TypeError(f"{NAME}: permutations need the matrix or a factor; use gram='dense' or 'nystrom'.")
        self.matrix = matrix
        self.diagonal = doubles(matrix.diagonal())
        if is_constant(matrix):
            raise ValueError(f"{NAME}: {name} is constant under {matrix.kernel}, so there is nothing to test.")
        self.factor = self.dense = None
        if "factor" in matrix.provides:
            # rotated to orthogonal columns; zero columns are dropped
            Z = doubles(matrix.factor())
            values, vectors = np.linalg.eigh(Z.T @ Z)
            self.factor = Z @ vectors[:, values > 1e-12 * values[-1]]
        else:
            self.dense = doubles(matrix.dense())

    def as_dense(self) -> np.ndarray:
        """The matrix itself."""
        return self.factor @ self.factor.T if self.dense is None else self.dense  # type: ignore[union-attr]


class Shuffles:
    """Permutations as rows of an array, the identity first."""

    def __init__(self, rows: np.ndarray):
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def products(self, a: Side, b: Side) -> np.ndarray:
        """Σᵢⱼ Aᵢⱼ B_π(i)π(j) for every π."""
        if a.factor is None or b.factor is None:
            return self._dense(a.as_dense(), b.as_dense())
        U, V = a.factor.T, b.factor
        found, start, context = [], 0, current()
        for count in batches(len(self.rows), V.size):
            if context({"draws": start}) is not None:
                break
            found.append(np.sum(np.matmul(U, V[self.rows[start : start + count]]) ** 2, axis=(1, 2)))
            start += count
        return np.concatenate(found) if found else np.zeros(0)

    def _dense(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        out = np.full(len(self.rows), np.nan)
        if out.size * A.size < 1 << 22:  # threads would cost more than they gain
            current().check()
            paired(A, B, self.rows, out)
            return out
        parts = _threads.slices(len(out), max(1, len(out) // (4 * _threads.n_threads())))
        try:
            _threads.run(parts, lambda part: paired(A, B, self.rows[part], out[part]))
        except StoppedError:
            return out[: int(np.isnan(out).argmax())]
        return out

    def along(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Σᵢ uᵢ v_π(i) for every π."""
        return np.concatenate([v[self.rows[r]] @ u for r in _threads.slices(len(self.rows), max(1, CELLS // len(u)))])


class Cycle:
    """The n shifts along a cycle through all members: the group of π = σ cᵏ σ⁻¹, the identity first."""

    def __init__(self, order: np.ndarray):
        self.order = order

    def __len__(self) -> int:
        return len(self.order)

    def products(self, a: Side, b: Side) -> np.ndarray:
        """Σᵢⱼ Aᵢⱼ B_π(i)π(j) for every π."""
        n = len(self.order)
        A, B = (side.as_dense() for side in (a, b))
        total = np.zeros(n // 2 + 1, dtype=complex)
        # a shift moves each diagonal j − i = d along itself, so its part of the sum is a circular correlation, equal
        # for the diagonals d and n − d
        offsets, start = np.arange(n // 2 + 1), 0
        for count in batches(len(offsets), 4 * n):
            current().check()
            d = offsets[start : start + count, None]
            start += count
            rows, columns = self.order[None, :], self.order[(np.arange(n)[None, :] + d) % n]
            twice = np.where((d == 0) | (2 * d == n), 1.0, 2.0)
            total += np.sum(twice * np.conj(rfft(A[rows, columns])) * rfft(B[rows, columns]), axis=0)
        return irfft(total, n)

    def along(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Σᵢ uᵢ v_π(i) for every π."""
        return irfft(np.conj(rfft(u[self.order])) * rfft(v[self.order]), len(u))


def group(sides: list[Side], n: int, draws: int, rng: np.random.Generator) -> Shuffles | Cycle:
    """Random permutations, or for large matrices without a factor the shifts of a random cycle."""
    if n > draws and any(side.factor is None for side in sides):
        return Cycle(rng.permutation(n))
    rows = np.repeat(np.arange(n, dtype=np.int32)[None, :], draws + 1, axis=0)
    rows[1:] = rng.permuted(rows[1:], axis=1)
    return Shuffles(rows)


def permuted(a: Side, b: Side, permutations: Shuffles | Cycle, biased: bool) -> np.ndarray:
    """n² HSIC_b, or n(n − 3) HSIC_u, under all permutations within the time limit."""
    T = permutations.products(a, b)
    if biased:
        return T
    # without diagonals, the centred matrices have row sums −K̃ᵢᵢ, which gives these corrections
    n = len(a.diagonal)
    traces = a.diagonal.sum() * b.diagonal.sum()
    return T - n / (n - 2) * permutations.along(a.diagonal, b.diagonal)[: len(T)] + traces / ((n - 1) * (n - 2))


def _limit(
    A: CenteredGram, B: CenteredGram, value: float, biased: bool, scale: float, null: str, draws: int, rng: Any
) -> tuple[float, np.ndarray]:
    """The p-value and a sample of the gamma or spectrum null distribution."""
    n = A.n
    if null == "spectrum":
        weights = np.outer(eigenvalues(A), eigenvalues(B)).ravel()
        sample = spectrum(weights * scale / (n - 1), not biased, draws, rng)
        return tail(value, sample), sample
    mean = float(host(A.diagonal()).sum() * host(B.diagonal()).sum()) / (n - 1)  # mean of the biased statistic
    _, variance = permutation_moments(matrix_moments(A, biased), matrix_moments(B, biased), n)
    return gamma(value, scale * mean, scale**2 * variance, 0.0 if biased else scale * mean, draws)


def _covariance(x: tuple[Kernel, Any], y: tuple[Kernel, Any]) -> Function:
    """(1/n) Σ k̃(xᵢ, ·) h̃(yᵢ, ·) in the space of the product of the centred kernels."""
    (k, X), (h, Y) = x, y
    n = k.domain.size(X)
    sample = k.evaluate_diag(k.domain.take(X, slice(0, 1)))
    return Function(k.about(X).centered(X) @ h.about(Y).centered(Y), (X, Y), like(np.full(n, 1 / n), sample))
