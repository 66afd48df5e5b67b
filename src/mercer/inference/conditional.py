"""The kernel-based test of conditional independence."""

from __future__ import annotations

import numpy as np

from .._array import doubles
from .._errors import check_choice, check_number, speaking
from .._random import generator
from ..context import current, limited
from ..evaluation import bind
from ..kernels import Gaussian, Kernel, KernelLike
from ..kernels.bandwidth import median
from ..types import Array, Data, RandomState
from ._kernels import collection, is_collection
from ._nulls import gamma, spectrum, tail
from ._result import KernelTestResult

NAME = "conditional_independence_test"
RATIOS = (0.25, 0.5, 1.0, 2.0)  # candidate lengthscales for Z, in median distances
ALPHAS = np.geomspace(1e-6, 1.0, 19)  # candidate ridge parameters, in units of the largest eigenvalue
TOLERANCE = 0.05  # relative loss in score accepted for more degrees of freedom


@speaking
@limited
def conditional_independence_test(
    X: Data,
    Y: Data,
    Z: Array,
    *,
    kernel: KernelLike = "gaussian(lengthscale='median')",
    kernel_y: KernelLike | None = None,
    kernel_z: KernelLike = "select",
    alpha: float | None = None,
    null: str = "spectrum",
    n_draws: int = 9999,
    random_state: RandomState = None,
    time_budget: float | None = None,
) -> KernelTestResult:
    r"""Test of conditional independence (KCI): does X contain information about Y beyond Z?

    .. math:: T = \frac{1}{n} \sum_{ij} A_{ij} B_{ij}, \qquad A = R \tilde K_{XZ} R, \quad B = R \tilde K_Y R, \quad
              R = \alpha (\tilde K_Z + \alpha I)^{-1}

    A and B are the kernel matrices of the residuals of (X, Z) and of Y after ridge regression on Z, with k((x, z), (x',
    z')) = k(x, x') k(z, z'). T is n times the squared norm of their covariance.

    Parameters
    ----------
    X, Y, Z : collections
        n members each, in triples; any kind of data.
    kernel : Kernel, name or expression
        For X. Positive definite, or conditionally so of order 1; the latter is centred.
    kernel_y : Kernel, name or expression, optional
        For Y; None is the same as for X.
    kernel_z : Kernel, name, expression, or "select"
        For Z. "select" tries Gaussians of ¼, ½, 1 and 2 median distances, separately for the regressions of X and Y.
    alpha : float > 0, optional
        Ridge parameter of both regressions: (K̃ + αI)a = y. Larger values leave more of Z in the residuals, which then
        look dependent; smaller values remove more of X and Y, and reduce power. By default, generalised
        cross-validation selects it for each regression: among the parameters (and kernels) with a score within 5 % of
        the best, that with the most degrees of freedom, because bias affects the level but variance only the power.
    null : {"spectrum", "gamma"}
        "spectrum" draws from the limiting null distribution (see Notes); "gamma" is the gamma distribution with its
        mean and variance.
    n_draws : int >= 1
        Number of draws for "spectrum".
    random_state : int, Generator or None
    time_budget : float > 0, optional
        Time limit in seconds; on expiry an error is raised.

    Returns
    -------
    KernelTestResult
        Its `kernel` has three entries, for X, Y and Z (selected for Y); there is no `witness`.

    Notes
    -----
    No test of conditional independence has power against all alternatives and a valid level for all distributions. The
    level of this one is asymptotic, and requires that the regressions capture the dependence of X and Y on Z. If it is
    rough, or Z has many coordinates, raise n. (In simulations at level 10 %, the rejection rate was 15 % with five
    coordinates and n = 100 to 200; with one, smooth or rough, 8 to 13 %.) Costs O(n³) time and O(n²) memory.

    The null distribution is a wild bootstrap given Y and Z: the residuals of (X, Z) get random signs, and are regressed
    on Z again,

    .. math:: T^* = \frac{1}{n} \sum_{ij} w_i w_j\, (R B R)_{ij} \frac{A_{ij}}{\sqrt{r_i r_j}}, \qquad
              r_i = \sum_j (R_{ij} - \tfrac1n)^2

    where R is that of (X, Z), and rᵢ is the fraction of the noise that remains in the i-th residual. The paper uses
    AᵢⱼBᵢⱼ instead: its T* is too small, by a factor of about 1 − p/n for regressions with p degrees of freedom. For
    large n, the part with i ≠ j tends to Σ λₖzₖ², with the eigenvalues λ of its matrix and independent standard normal
    z.

    References
    ----------
    Zhang, Peters, Janzing, Schölkopf, *Kernel-based conditional independence test and application in causal discovery*
    (2011). Wu, *Jackknife, bootstrap and other resampling methods in regression analysis* (1986). Pogodin, Schrab, Li,
    Sutherland, Gretton, *Practical kernel tests of conditional independence* (2024): regression bias. Golub,
    Heath, Wahba, *Generalized cross-validation as a method for choosing a good ridge parameter* (1979). Shah, Peters,
    *The hardness of conditional independence testing and the generalised covariance measure* (2020).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(150, 1))
    >>> X, Y = Z + 0.5 * rng.normal(size=(150, 1)), np.tanh(Z) + 0.5 * rng.normal(size=(150, 1))
    >>> conditional_independence_test(X, Y, Z, random_state=0).p_value > 0.05
    True
    >>> conditional_independence_test(X, Y + X, Z, random_state=0).p_value < 0.05
    True
    """
    check_choice(NAME, "null", null, ("spectrum", "gamma"))
    check_number(NAME, "n_draws", n_draws, at_least=1, integer=True)
    check_number(NAME, "alpha", alpha, above=0, besides=(None,))
    given = (kernel, kernel if kernel_y is None else kernel_y)
    (x, K), (y, L) = (_matrix(k, A, name) for k, A, name in zip(given, (X, Y), "XY", strict=True))
    if isinstance(kernel_z, str) and kernel_z == "select":
        members = Gaussian().domain.check(Z, NAME, "Z")
        middle = median(members)
        candidates = [_matrix(Gaussian(ratio * middle), Z, "Z") for ratio in RATIOS]
        own = candidates[RATIOS.index(1.0)][1]
    else:
        candidates = [_matrix(kernel_z, Z, "Z")]
        own = candidates[0][1]
    n = len(K)
    if not n == len(L) == len(own):
        raise ValueError(f"{NAME}: X has {n} members, Y {len(L)} and Z {len(own)}; the numbers must be equal.")
    if n < 4:
        raise ValueError(f"{NAME}: {n} triples are too few; give at least 4.")
    decompositions = []
    for z, M in candidates:
        current().check()
        decompositions.append((z, *np.linalg.eigh(_centre(M))))
    current().check()
    A, R, _ = _residuals(_centre(K * own), decompositions, alpha)
    B, _, z = _residuals(_centre(L), decompositions, alpha)
    value = float(np.sum(A * B)) / n
    signed, mean = _signed(A, B, R)
    current().check()
    if null == "spectrum":
        sample = mean + spectrum(np.linalg.eigvalsh(signed), False, n_draws, generator(random_state))
        p = tail(value, sample)
    else:
        p, sample = gamma(value, mean, 2 * float(np.sum(signed**2)), 0.0, n_draws)
    chosen = (x, y, z)
    return KernelTestResult(value, p, sample, f"KCI, {null} null", chosen, None, (chosen,), np.array([p]))


def _matrix(kernel: KernelLike, A: Array, name: str) -> tuple[Kernel, np.ndarray]:
    """The kernel with its parameters resolved, and its matrix."""
    if is_collection(kernel):
        raise ValueError(f"{NAME}: the kernel for {name} is {kernel!r}; give a single kernel.")
    k, members = collection(NAME, kernel, lambda k: k.domain.check(A, NAME, name), (), 0)[0]
    M = doubles(bind(k, members).dense())
    centred = _centre(M)
    if name != "Z" and np.trace(centred) <= 1e-12 * np.abs(M).max() * len(M):
        raise ValueError(f"{NAME}: {name} is constant under {k}, so there is nothing to test.")
    claim = k.definiteness_in(k.domain.dimension(members))
    # factors of a product must be positive definite; centring ensures this
    return k, centred if claim.is_cpd and not claim.is_pd else M


def _centre(K: np.ndarray) -> np.ndarray:
    means = K.mean(axis=0)
    return K - means[:, None] - means[None, :] + means.mean()


def _residuals(
    M: np.ndarray, decompositions: list[tuple[Kernel, np.ndarray, np.ndarray]], alpha: float | None
) -> tuple[np.ndarray, np.ndarray, Kernel]:
    """RMR, the matrix of residuals of features with the centred matrix M; R; and the kernel of the regression."""
    tried = []
    for kernel, values, vectors in decompositions:
        values = np.maximum(values, 0)
        energy = np.sum(vectors * (M @ vectors), axis=0)
        ridges = [alpha] if alpha is not None else list(ALPHAS * values[-1]) if values[-1] > 0 else [1.0]
        for a in ridges:
            rest = a / (values + a)
            # generalised cross-validation of features: n tr(RMR)/(tr R − 1)², where 1 accounts for their mean
            tried.append((float(energy @ rest**2) / (rest.sum() - 1) ** 2, rest.sum(), rest, vectors, kernel))
    enough = (1 + TOLERANCE) * min(score for score, *_ in tried)
    _, _, rest, vectors, kernel = min((one for one in tried if one[0] <= enough), key=lambda one: one[1])
    R = (vectors * rest) @ vectors.T
    return R @ M @ R, R, kernel


def _signed(A: np.ndarray, B: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, float]:
    """S, without its diagonal, and c, such that wᵀSw + c has the null distribution for random signs w."""
    n = len(A)
    # as R1 = 1, R − 11ᵀ/n gives the residuals of centred features; its squared row sums are their noise variances
    left = np.maximum(np.sum((R - 1 / n) ** 2, axis=1), np.finfo(float).tiny) ** -0.5
    S = (R @ B @ R) * A * left[:, None] * left[None, :] / n
    mean = float(np.trace(S))
    np.fill_diagonal(S, 0.0)
    return S, mean
