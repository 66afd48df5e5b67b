"""Random Fourier features: K ≈ ZZᵀ by Bochner's theorem, k(x, y) = k(0, 0) E cos ωᵀ(x − y).

Rahimi, Recht, *Random features for large-scale kernel machines* (2007), section 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import doubles, host, is_sparse, like, namespace
from .._errors import check_number, where
from .._random import random_frame
from ..kernels import Kernel
from ..types import Checked
from ._base import Representation
from ._pivoted import trace_left
from .low_rank import LowRankGram

PROBE = 256  # samples whose pairs measure the error


class RandomFeaturesGram(LowRankGram):
    """K̂ = ZZᵀ with random features."""

    error_estimate: float  # ‖K − K̂‖_F / ‖K‖_F on the pairs of at most `PROBE` samples


class FourierFeatures:
    """φ(x) = √(c/m) (cos ω₁ᵀx, …, cos ω_mᵀx, sin ω₁ᵀx, …, sin ω_mᵀx), so that ‖φ(x)‖² = c = k(x, x)."""

    def __init__(self, frequencies: Any, variance: float):
        self.frequencies, self.variance = frequencies, variance

    def __call__(self, X: Checked) -> Any:
        angles = X @ self.frequencies
        xp = namespace(angles)
        return (self.variance / angles.shape[1]) ** 0.5 * xp.concat([xp.cos(angles), xp.sin(angles)], axis=1)


class RandomFeatures(Representation):
    r"""Approximate a stationary kernel by features with random frequencies.

    .. math:: \varphi(x) = \sqrt{k(0, 0) / m} \; (\cos \omega_j^\top x, \; \sin \omega_j^\top x)_{j = 1, \dots, m}

    Parameters
    ----------
    rank : even int >= 2
        The number 2m of features. The error decreases like 1/√m for any spectrum; that of `Nystrom` decreases faster
        if the spectrum decays fast, but depends on the data.
    orthogonal : bool
        Make the directions of each d frequencies orthogonal without changing their lengths: the same expectation, with
        less variance. Only for kernels of the Euclidean distance.

    Notes
    -----
    Needs a kernel with `spectral_sample` (Gaussian, Laplace, Matern, …). Unbiased: E K̂ = K, with variance
    (1 + k(2δ) − 2k(δ)²)/2m at δ = xᵢ − xⱼ if k(0) = 1 and the frequencies are independent. Pairs of sine and cosine
    have less variance than cosines with random phases: for the Gaussian kernel, everywhere. The features cost
    O(nnz(X)·m); a sparse X stays sparse, its features are dense.

    The diagonal is exact by construction, so `trace_error` is 0 up to rounding and does not measure the error; use
    `error_estimate`, the relative Frobenius error over the pairs of a random subset.

    References
    ----------
    Rahimi, Recht, *Random features for large-scale kernel machines* (2007), section 3. Sutherland, Schneider, *On the
    error of random Fourier features* (2015), section 2. Yu, Suresh, Choromanski, Holtmann-Rice, Kumar, *Orthogonal
    random features* (2016), section 3.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> gram = RandomFeatures(rank=2000).build(Gaussian(2.0), X, np.random.default_rng(0))
    >>> gram.rank, gram.error_estimate < 0.03
    (2000, True)
    """

    def __init__(self, rank: int = 1000, orthogonal: bool = False):
        self.rank, self.orthogonal = rank, orthogonal

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> RandomFeaturesGram:
        check_number(self, "rank", self.rank, at_least=2, integer=True)
        if self.rank % 2:
            raise ValueError(
                f"{where(self)}: rank = {self.rank} must be even: each frequency gives a cosine and a sine."
            )
        if "spectral_sample" not in kernel.provides:
            raise TypeError(
                f"{where(self)} needs a stationary kernel with spectral_sample (Gaussian, Laplace, Matern, …); "
                f"{where(kernel)} has none. Try Nystrom or IncompleteCholesky."
            )
        m, d = self.rank // 2, int(X.shape[1])
        with np.errstate(over="ignore"):
            W = kernel.spectral_sample(m, d, rng)
            values = X.data if is_sparse(X) else X
            xp = namespace(values)
            reach = float(np.abs(W).max()) * d * max(1.0, float(xp.max(xp.abs(values))) if values.shape[0] else 0.0)
        if not reach <= float(xp.finfo(X.dtype).max):
            raise ValueError(
                f"{where(self)}: the frequencies of {kernel}, or their products with X, overflow {X.dtype}; scale the "
                "data, or raise the lengthscale."
            )
        if self.orthogonal:
            W = _orthogonal(self, kernel, W, rng)
        take = kernel.domain.take
        diagonal = kernel.evaluate_diag(X)
        features = FourierFeatures(like(W.T, X), float(diagonal[0]))
        Z = features(X)
        gram = RandomFeaturesGram(kernel, X, features, trace_left(diagonal, Z), Z)
        probe = rng.choice(gram.n, min(gram.n, PROBE), replace=False)
        exact = doubles(kernel.evaluate(take(X, probe)))
        gram.error_estimate = float(np.linalg.norm(exact - host(gram.block(probe, probe))) / np.linalg.norm(exact))
        return gram


def _orthogonal(owner: RandomFeatures, kernel: Any, W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Frequencies with the lengths of those in W and, d at a time, orthogonal directions, uniform on the sphere."""
    # lengths and directions are those before the lengthscale: W = U A with A linear and U isotropic
    m, d = W.shape
    if hasattr(kernel, "frequencies"):
        A = kernel.frequencies(np.eye(d))
        # points at scaled distance 1 from the origin, along an axis and along the diagonal
        points = np.linalg.solve(A, np.stack([np.zeros(d), np.eye(d)[0], np.full(d, d**-0.5)], axis=1)).T
        along, across = kernel.evaluate(points)[0, 1:]
    if not hasattr(kernel, "frequencies") or abs(along - across) > 1e-9:
        raise TypeError(
            f"{where(owner)}: orthogonal = True needs a kernel of the Euclidean distance, unlike {kernel!r}; "
            "set orthogonal=False."
        )
    lengths = np.linalg.norm(np.linalg.solve(A.T, W.T), axis=0)
    blocks = [random_frame(d, d, rng) for _ in range(-(-m // d))]
    return kernel.frequencies(lengths[:, None] * np.concatenate(blocks)[:m])
