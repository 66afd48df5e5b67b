"""The maximum mean discrepancy, a two-sample test."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student

from .._array import host, like
from .._errors import check_choice, check_number, speaking
from .._random import generator
from ..basis import Polynomials
from ..context import current, limited
from ..gram import GramLike
from ..gram.centered import CenteredGram
from ..gram.dense import Dense
from ..kernels import Gaussian, Kernel, KernelLike, Laplace
from ..space import Function
from ..types import Array, Data, RandomState
from ._kernels import centred, collection, eigenvalues, is_collection, is_constant, matrix_moments
from ._nulls import Moments, aggregate, digits_of, gamma, in_common, permutation_moments, quadratics, spectrum, tail
from ._result import KernelTestResult

NAME = "mmd_test"


@speaking
@limited
def mmd_test(
    X: Data,
    Y: Data,
    *,
    kernel: KernelLike = "aggregate",
    statistic: str = "unbiased",
    null: str = "permutation",
    n_draws: int = 999,
    block_size: int | None = None,
    gram: GramLike = "auto",
    random_state: RandomState = None,
    time_budget: float | None = None,
) -> KernelTestResult:
    r"""Two-sample test of equal distributions, by the maximum mean discrepancy (MMD).

    .. math:: \mathrm{MMD}^2 = \|\mu_P - \mu_Q\|^2
              = \mathbb{E}\, k(x, x') + \mathbb{E}\, k(y, y') - 2\, \mathbb{E}\, k(x, y),
              \qquad \mu_P = \mathbb{E}_{x \sim P}\, k(\cdot, x)

    is the squared distance between the kernel means of the two distributions. With k(x, y) = −‖x − y‖
    (``kernel="power"``) it is the energy distance.

    Parameters
    ----------
    X, Y : collections
        Samples of any data that the kernel accepts; their sizes m and n may differ.
    kernel : Kernel, name or expression, list of them, or "aggregate"
        Positive definite, or conditionally so of order 1. Several kernels are tested together: the smallest p-value is
        compared with its distribution under the same permutations, so the level is exact for any number of kernels.
        "aggregate" is ten kernels: Gaussian and Laplace, with five lengthscales from half the 5 % quantile of the
        distances to twice the 95 % quantile. "median" means the median over both samples.
    statistic : {"unbiased", "biased", "block"}
        Average over pairs of distinct members, over all pairs (≥ 0), or of the unbiased statistic over blocks of the
        samples, in O((m + n)·block_size) time per draw.
    null : {"permutation", "gamma", "spectrum", "normal"}
        "permutation" permutes the sample labels, within each block if there are blocks. The p-value
        (1 + #{as large})/(1 + draws) is exact: under the null hypothesis, P(p ≤ α) ≤ α at every sample size. For a
        single kernel, "gamma" matches the exact mean and variance over all permutations, and "spectrum" is the limiting
        distribution, a sum of chi-squares weighted by the eigenvalues of the centred matrix. "normal", for blocks, is a
        t-test of their mean.
    n_draws : int >= 1
        Permutations, or draws for "spectrum". More draws give finer p-values.
    block_size : int >= 2, optional
        Members of the smaller sample per block, √min(m, n) by default. Larger blocks give more power but take longer.
    gram : Representation or name
        How the matrix of both samples is stored. "auto" uses a thin factor if its error is at most 10⁻⁸ of the trace.
        Permutation tests with an approximation ("nystrom") are still exact, for the approximate kernel.
    random_state : int, Generator or None
    time_budget : float > 0, optional
        Time limit in seconds. On expiry the p-value is based on the draws so far, with a warning; if there are none, an
        error is raised.

    Returns
    -------
    KernelTestResult
        Its `witness` is μ_P − μ_Q, positive where X is denser. Its squared norm is the biased statistic.

    Notes
    -----
    With s the indicator of X and K̃ the centred matrix of both samples, all statistics are functions of sᵀK̃s and the
    diagonal. B draws take one product K̃S with B columns, in O((m + n)²B), or O((m + n)rB) with a factor of rank r.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf, Smola, *A kernel two-sample test* (2012). Gretton, Fukumizu, Harchaoui,
    Sriperumbudur, *A fast, consistent kernel two-sample test* (2009): gamma and spectrum. Zaremba, Gretton, Blaschko,
    *B-test: a non-parametric, low variance kernel two-sample test* (2013). Schrab, Kim, Albert, Laurent, Guedj,
    Gretton, *MMD aggregated two-sample test* (2023). Székely, Rizzo, *Energy statistics* (2013).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(60, 1)), 1.5 * rng.normal(size=(50, 1))
    >>> mmd_test(X, Y, kernel="power", random_state=0)
    <unbiased MMD², 999 permutations: 0.09..., p = 0.0...; power>
    >>> test = mmd_test(X, Y, random_state=0)
    >>> len(test.kernels), test.p_value < 0.05
    (10, True)
    """
    check_choice(NAME, "statistic", statistic, ("unbiased", "biased", "block"))
    nulls = ("permutation", "normal") if statistic == "block" else ("permutation", "gamma", "spectrum")
    check_choice(f"{NAME} with statistic={statistic!r}", "null", null, nulls)
    check_number(NAME, "n_draws", n_draws, at_least=1, integer=True)
    if null != "permutation" and is_collection(kernel):
        raise ValueError(f"{NAME}: null = {null!r} requires one kernel; aggregation needs null='permutation'.")
    rng = generator(random_state)

    def together(k: Kernel) -> Any:
        A, B = k.domain.check(X, NAME, "X"), k.domain.check(Y, NAME, "Y")
        k._check_together(A, B)
        return k.domain.join([A, B])

    tests = collection(NAME, kernel, together, (Gaussian, Laplace), 5)
    domain = tests[0][0].domain
    m = domain.size(domain.check(X, NAME, "X"))
    n = domain.size(tests[0][1]) - m
    if min(m, n) < 2:
        raise ValueError(f"{NAME}: X has {m} members and Y {n}; give at least two of each.")
    seed = int(rng.integers(2**63))  # all kernels use the same permutations
    if statistic == "block":
        blocks = _blocks(m, n, block_size, rng)
    if null == "permutation":
        found = []
        for number, (k, Z) in enumerate(tests):
            draw = np.random.default_rng(seed)
            with current().sharing(len(tests) - number):
                if statistic == "block":
                    each, sizes = _block_statistics(k, Z, blocks, n_draws, draw)
                    found.append((each.mean(axis=0), sizes.mean()))
                else:
                    matrix = _matrix(k, Z, gram, rng)
                    found.append((_statistics(matrix, m, n, statistic, n_draws, draw), _biased_mean(matrix, m, n)))
        T, sizes = in_common(NAME, [row for row, _ in found], n_draws), np.array([size for _, size in found])
        p, p_values, best = aggregate(T, sizes, digits_of(_first(*tests[0])))
        value, sample = float(T[best, 0]), T[best, 1:]
    else:
        best = 0
        if null == "normal":
            value, p, sample = _mean_of_blocks(*_block_statistics(*tests[0], blocks, 0, rng), n_draws)
        else:
            matrix = _matrix(*tests[0], gram, rng)
            current().check()
            value = float(_statistics(matrix, m, n, statistic, 0, rng)[0])
            p, sample = _limit(matrix, m, n, value, statistic, null, n_draws, rng)
        p_values = np.array([p])
    k, Z = tests[best]
    a, near = like(np.repeat([1 / m, -1 / n], [m, n]), _first(k, Z)), k.about(Z)
    witness = (
        Function(k, Z, a) if near is k else Function(near, Z, a, Polynomials(0), near.missing_constant(Z, a)[None])
    )
    words = f"{statistic} MMD², " + (f"{len(sample)} permutations" if null == "permutation" else f"{null} null")
    return KernelTestResult(value, p, sample, words, k, witness, tuple(k for k, _ in tests), p_values)


def _first(kernel: Kernel, Z: Array) -> Any:
    """k(z₁, z₁), for its array library and dtype."""
    return kernel.evaluate_diag(kernel.domain.take(Z, slice(0, 1)))


def _nothing_to_compare(kernel: Kernel) -> ValueError:
    return ValueError(f"{NAME}: all members of X and Y are equal under {kernel}; there is nothing to compare.")


def _matrix(kernel: Kernel, Z: Array, gram: GramLike, rng: np.random.Generator) -> CenteredGram:
    """The centred matrix of both samples."""
    matrix = centred(kernel, Z, gram, rng)
    if is_constant(matrix):
        raise _nothing_to_compare(kernel)
    return matrix


def _biased_mean(matrix: CenteredGram, m: int, n: int) -> float:
    """The mean of the biased statistic over all permutations."""
    return float(host(matrix.diagonal()).sum()) * (1 / m + 1 / n) / (m + n - 1)


def _statistics(
    matrix: CenteredGram, m: int, n: int, statistic: str, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """The observed statistic, followed by `draws` permutations."""
    diagonal, observed = host(matrix.diagonal()), np.repeat([1.0, 0.0], [m, n])[:, None]

    def members(count: int, first: bool) -> np.ndarray:
        """Indicator columns of X among all m + n members: first the observed one, then random ones."""
        drawn = rng.permuted(np.repeat(observed, count, axis=1), axis=0)
        return np.hstack([observed, drawn[:, :-1]]) if first else drawn

    def squared(a: np.ndarray, S: np.ndarray) -> np.ndarray:
        """MMD² from a = sᵀK̃s; as K̃1 = 0, the other sample has the same a, and the cross term is −a."""
        if statistic == "biased":
            return a * ((m + n) / (m * n)) ** 2
        within = diagonal @ S
        others = diagonal.sum() - within
        return (a - within) / (m * (m - 1)) + (a - others) / (n * (n - 1)) + 2 * a / (m * n)

    found = [squared(*part) for part in quadratics(matrix, draws, members)]
    return np.concatenate(found) if found else np.zeros(0)


def _blocks(m: int, n: int, size: int | None, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """The members of X and Y in each block, as indices into both together."""
    small = min(m, n)
    if size is None:
        size = max(2, int(small**0.5))
    check_number(NAME, "block_size", size, at_least=2, integer=True)
    count = small // size
    if count < 2:
        raise ValueError(
            f"{NAME}: block_size = {size} leaves {count} block of {small} members; choose <= {small // 2}."
        )
    return list(
        zip(np.array_split(rng.permutation(m), count), np.array_split(m + rng.permutation(n), count), strict=True)
    )


def _block_statistics(
    kernel: Kernel, Z: Array, blocks: list[tuple[np.ndarray, np.ndarray]], draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The unbiased statistic per block (rows), observed and under permutations within the block, and its size."""
    T, sizes, constant = [], [], True
    for x, y in blocks:
        members = kernel.domain.take(Z, np.concatenate([x, y]))
        matrix = CenteredGram(Dense().build(kernel.about(members), members, rng))
        constant &= is_constant(matrix)
        current().check()
        with current().sheltered():
            T.append(_statistics(matrix, len(x), len(y), "unbiased", draws, rng))
        sizes.append(_biased_mean(matrix, len(x), len(y)))
    if constant:
        raise _nothing_to_compare(kernel)
    return np.stack(T), np.array(sizes)


def _mean_of_blocks(each: np.ndarray, sizes: np.ndarray, draws: int) -> tuple[float, float, np.ndarray]:
    """The mean over blocks, its p-value by Student's t, and quantiles of the null distribution."""
    each = each[:, 0]
    spread = each.std(ddof=1)
    if spread <= 1e-12 * sizes.mean():
        raise ValueError(
            f"{NAME}: the statistic is equal in all blocks and has no standard error; use null='permutation'."
        )
    null = student(len(each) - 1, scale=spread / len(each) ** 0.5)
    value = float(each.mean())
    return value, float(null.sf(value)), null.ppf((np.arange(draws) + 0.5) / draws)


def _limit(
    matrix: CenteredGram, m: int, n: int, value: float, statistic: str, null: str, draws: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """The p-value and a sample of the gamma or spectrum null distribution."""
    N, biased, mean = m + n, statistic == "biased", _biased_mean(matrix, m, n)
    if null == "spectrum":
        weights = eigenvalues(matrix) * (1 / m + 1 / n) / (N - 1)
        sample = spectrum(weights, not biased, draws, rng)
        return tail(value, sample), sample
    if biased:  # MMD² = Σ AᵢⱼBᵢⱼ with A the centred matrix and B = wwᵀ, w = (1/m, …, −1/n, …)
        labels = Moments(1 / m + 1 / n, 1 / m**3 + 1 / n**3, (1 / m + 1 / n) ** 2)
    else:  # without diagonals, B is 1/m(m − 1) within X, 1/n(n − 1) within Y and −1/mn between them
        labels = Moments(0.0, 0.0, 1 / (m * (m - 1)) + 1 / (n * (n - 1)) + 2 / (m * n))
    _, variance = permutation_moments(matrix_moments(matrix, biased), labels, N)
    return gamma(value, mean, variance, 0.0 if biased else mean, draws)
