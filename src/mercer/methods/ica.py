"""Kernel independent component analysis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._array import all_finite, eigh_part, host, like, namespace, on_host, precise
from .._errors import FROM_ONE, ONE_OR_NONE, POSITIVE, check_parameters, is_one_of, where
from .._random import generator
from .._units import power_of_two
from ..context import Status, current, warn_early
from ..domains import Vectors, take
from ..kernels import Gaussian, Kernel, KernelLike
from ..kernels.expression import as_kernel
from ..solvers.orthogonal import Frame, ProjectedFactor, minimise, random_frame, require_smooth
from ..types import Array, Data, RandomState
from ._base import Estimator, validated

CONTRASTS = ("kgv", "kcca")
FEW = 1000  # number of samples up to which the wider kernel and larger penalty are used
TRIAL = 1000  # maximum number of samples for trying starts
COARSE = 1e-2  # gradient norm at which the descent of a start ends
ANGLES = np.arange(9) * (np.pi / 18)  # a quarter turn exchanges the components of a pair
SWEEPS = 4
KINKS = 1e-3  # relative decrease of "kcca" over ten steps below which the descent follows a kink and stops
PRECISION = 1e-3  # of the factors, relative to kappa: the penalty hides smaller errors


@dataclass(eq=False, repr=False)
class KernelICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Kernel independent component analysis: unmix linear mixtures into components that are independent.

    With components :math:`y_j = w_j^\top x` of whitened data, orthonormal :math:`w_j`, centred kernel matrices
    :math:`\tilde K_j` of the components and :math:`r_j = \tilde K_j (\tilde K_j + \tfrac{n\kappa}{2} I)^{-1}`,

    .. math:: \min_{W}\; -\tfrac12 \log\det R \;\;\text{("kgv")}, \qquad \min_{W}\; -\tfrac12 \log\lambda_{\min}(R)
              \;\;\text{("kcca")}, \qquad R_{ii} = I,\quad R_{ij} = r_i r_j.

    Parameters
    ----------
    n_components : int >= 1, optional
        Number of components, in the span of the leading principal components. None: the number of features.
    contrast : {"kgv", "kcca"}
        Uses all kernel canonical correlations ("generalised variance"), or only the first. The latter has kinks where
        the descent may stop, and is usually less accurate.
    kernel : "auto", Kernel, name or expression
        Kernel on a single component, which has unit variance; positive definite, with derivatives. "auto" is the
        Gaussian kernel with lengthscale 1 up to 1000 samples and 1/2 for more, as in the authors' program. Longer
        lengthscales detect only coarse dependence.
    kappa : float > 0, or "auto"
        κ, the regularisation parameter; larger is smoother. "auto" is 0.02 up to 1000 samples and 0.002 for more.
    n_init : int >= 1
        Number of starts: the whitened axes, then random rotations. On at most 1000 samples, each is rotated pair by
        pair and then followed by a short descent; the best is refined on all samples.
    tol : float > 0
        Stop when the norm of the contrast's gradient on the orthogonal group is at most `tol`.
    max_iter : int >= 1, optional
        Maximum number of steps in each descent; None for 200.
    time_budget : float > 0, optional
        Time limit in seconds. The best result so far is then kept, with a warning.
    random_state : int, RandomState, Generator or None
        For the starts.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The unmixing matrix: sources are ``(X - mean_) @ components_.T``, uncorrelated with unit variance.
    mixing_ : array of shape (n_features, n_components)
        Its pseudo-inverse.
    mean_, whitening_ : arrays of shapes (n_features,) and (n_components, n_features)
    rotation_ : array of shape (n_components, n_components)
        w in its rows: ``components_ = rotation_ @ whitening_``.
    contrast_ : float
        Final contrast; 0 if the kernel detects no dependence.
    starts_ : array of shape (n_init,)
        Contrast of each start.
    kernel_, kappa_
        The kernel and κ used.
    solution_ : Frame
        Result of the refinement: steps, history, stopping reason.
    n_iter_ : int
        Number of gradient evaluations in the refinement that led to a step.

    Notes
    -----
    Each matrix is an incomplete Cholesky factor with r ≈ 10 to 30 columns, so that the contrast and its exact gradient
    cost O(nmr² + m³r³). Signs and order of components are not determined, and two Gaussian sources cannot be separated.
    This contrast also separates sources to which FastICA's fixed nonlinearity is blind.

    References
    ----------
    Bach, Jordan, *Kernel independent component analysis* (2002).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> S = np.stack([rng.uniform(size=300), rng.choice([-1, 1], 300) + 0.3 * rng.normal(size=300)], axis=1)
    >>> A = np.array([[1.0, 2.0], [1.0, -0.5]])
    >>> ica = KernelICA(random_state=0).fit(S @ A.T)
    >>> bool(amari_error(ica.components_ @ A) < 0.05)
    True
    >>> bool(np.allclose(ica.inverse_transform(ica.transform(S @ A.T)), S @ A.T))
    True
    """

    kernel_compares = "values of its components; give it one kernel"

    _former = {"frame_": "solution_"}

    n_components: int | None = None
    _: KW_ONLY
    contrast: str = "kgv"
    kernel: KernelLike = "auto"
    kappa: Any = "auto"
    n_init: int = 2
    tol: float = 1e-4
    max_iter: int | None = None
    time_budget: float | None = None
    random_state: RandomState = None

    def fit(self, X: Data, y: Array = None) -> Self:
        """Find the components of X of shape (n, n_features); y is ignored."""
        check_parameters(self, {"contrast": CONTRASTS, "n_init": FROM_ONE, "n_components": ONE_OR_NONE})
        check_parameters(self, {"max_iter": ONE_OR_NONE, "tol": POSITIVE, "kappa": {"above": 0, "besides": ("auto",)}})
        X = self._check(X, reset=True)
        n, p = X.shape
        m = p if self.n_components is None else self.n_components
        if m > min(n - 1, p):
            raise ValueError(
                f"{where(self)}: n_components = {m} must be <= min(n_samples - 1, n_features) with n_samples = {n} and "
                f"n_features = {p}."
            )
        automatic = is_one_of(self.kernel, ("auto",))
        self.kernel_ = Gaussian(1.0 if n <= FEW else 0.5) if automatic else as_kernel(self.kernel)
        self.kappa_ = (2e-2 if n <= FEW else 2e-3) if self.kappa == "auto" else float(self.kappa)
        # the mean of equal numbers may differ from them by rounding, which whitening would amplify
        unit = power_of_two(X)  # sums and squares may overflow
        scaled = X / unit
        xp = namespace(scaled)
        equal = xp.all(scaled == scaled[:1, :], axis=0)
        mean = xp.where(equal, scaled[0, :], xp.mean(scaled, axis=0))
        whitening = self._whiten(scaled - mean, m)
        white = (scaled - mean) @ like(whitening.T, scaled)
        self.mean_, self.whitening_ = host(mean) * unit, self._in_unit(whitening, unit)
        self.kernel_ = self.kernel_.resolve(white.reshape(-1, 1))
        self.kernel_.validate()
        require_smooth(self, self.kernel_, white[:, :1])
        start = self._start(white, generator(self.random_state))
        self.solution_ = found = self._descend(white, start, self.tol)
        if not found.converged and not (self.contrast == "kcca" and found.status is Status.NO_DESCENT):
            advice = "Raise tol or max_iter, and check that the sources are separable: two Gaussian ones are not."
            warn_early(self, f"the descent stopped at {found.certificate}", found.status, advice)
        self.rotation_ = found.B.T
        self.contrast_, self.n_iter_ = found.value, len(found.history)
        self.components_ = self.rotation_ @ self.whitening_
        self.mixing_ = linalg.pinv(self.rotation_ @ whitening) * unit
        self._n_features_out = m
        return self

    def transform(self, X: Data) -> Any:
        """The sources of X, of shape (n, n_components)."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        unit = power_of_two(self.mixing_)
        with np.errstate(over="ignore", invalid="ignore"):
            sources = (X / unit - like(self.mean_ / unit, X)) @ like((self.components_ * unit).T, X)
        if not all_finite(sources):
            raise ValueError(
                f"{where(self)}: the sources of X overflow; use samples on the scale of the training data."
            )
        return sources

    def inverse_transform(self, X: Data) -> Any:
        """The mixtures of sources X of shape (n, n_components)."""
        check_is_fitted(self)
        S = precise(Vectors().check(X, self))
        if S.shape[1] != len(self.components_):
            raise ValueError(
                f"{where(self)}: X has shape {tuple(S.shape)}; expected (n, {len(self.components_)}) sources."
            )
        return S @ like(self.mixing_.T, S) + like(self.mean_, S)

    def _check(self, X: Data, reset: bool) -> Any:
        if on_host(X):
            X = validated(self, X, dtype=np.float64, reset=reset, ensure_min_samples=2 if reset else 1)
            return np.asarray(X)
        X = Vectors().check(X, self)
        if reset:
            self.n_features_in_ = int(X.shape[1])
        p, least = self.n_features_in_, 1 + reset
        if X.shape[0] < least or X.shape[1] != p:
            shape = tuple(X.shape)
            raise ValueError(f"{where(self)}: X has shape {shape}; give at least {least} rows of {p} features.")
        return precise(X)

    def _whiten(self, X: Any, m: int) -> np.ndarray:
        """V such that XVᵀ has unit covariance, on the m directions of largest variance."""
        svd = linalg.svd if isinstance(X, np.ndarray) else namespace(X).linalg.svd
        s, V = map(host, svd(X, full_matrices=False)[1:])
        if s[m - 1] <= len(X) * np.finfo(float).eps * s[0]:
            rank = int(np.sum(s > len(X) * np.finfo(float).eps * s[0]))
            remedy = f"set n_components <= {rank}" if rank else "all samples are equal"
            raise ValueError(f"{where(self)}: X has rank {rank} after centring, too low for {m} components; {remedy}.")
        return np.asarray(V[:m] * (np.sqrt(len(X)) / s[:m])[:, None])

    def _in_unit(self, whitening: np.ndarray, unit: float) -> np.ndarray:
        """The whitening of X, from that of X/unit."""
        limit = np.finfo(np.float64)
        with np.errstate(over="ignore"):
            found = whitening / unit
        if not limit.tiny / limit.eps <= np.abs(found).max() <= limit.max / len(found):
            raise ValueError(
                f"{where(self)}: X is of size {unit:.0e}, so the unmixing matrix would overflow or underflow; "
                f"divide X by {unit:.0e}."
            )
        return found

    def _start(self, white: Any, rng: np.random.Generator) -> np.ndarray:
        """The best of the starts, each after pairwise rotations and a short descent on a subsample."""
        n, m = white.shape
        some = white if n <= TRIAL else take(white, rng.choice(n, TRIAL, replace=False))
        frames = []
        for i in range(self.n_init):
            first = np.eye(m) if i == 0 else random_frame(m, m, rng)
            frames.append(self._descend(some, self._sweep(some, first), COARSE))
        self.starts_ = np.array([frame.value for frame in frames])
        return frames[int(np.argmin(self.starts_))].B

    def _sweep(self, white: Any, B: np.ndarray) -> np.ndarray:
        """Rotate each pair of components to the best of several angles, by the contrast of the pair."""
        # descent alone ends in one of many local minima, with pairs rotated by an eighth of a turn
        m = B.shape[1]
        turns = [np.array([[c, -s], [s, c]]) for c, s in zip(np.cos(ANGLES), np.sin(ANGLES), strict=True)]
        for _ in range(SWEEPS):
            moved = False
            for pair in combinations(range(m), 2):
                if current()():
                    return B
                Y = white @ like(B[:, pair], white)
                contrast = Contrast(Y, self.kernel_, self.kappa_, self.contrast)
                best = int(np.argmin([contrast.value(turn) for turn in turns]))
                B[:, pair] = B[:, pair] @ turns[best]
                moved |= best != 0
            if not moved:
                break
        return B

    def _descend(self, white: Any, start: np.ndarray, tol: float) -> Frame:
        objective = Contrast(white, self.kernel_, self.kappa_, self.contrast)
        progress = KINKS if self.contrast == "kcca" else 0.0
        return minimise(objective, start, tol=tol, max_iter=self.max_iter or 200, progress=progress)


class Contrast:
    r"""The contrast of the components XB, with its derivatives with respect to B.

    With :math:`\tilde K_j = U_j \Lambda_j U_j^\top` and D = Λ/(Λ + c), c = nκ/2, the matrix R has on the range of
    all U the blocks D_i U_iᵀU_j D_j off an identity diagonal, and is the identity elsewhere. Both contrasts have
    differential −½ tr(Ω dR), with Ω = R⁻¹, or vvᵀ/λ for the smallest eigenvalue λ of R; and dr is
    c(K̃ + c)⁻¹ dK̃ (K̃ + c)⁻¹. Arrays with a row for each sample are in the library and on the device of X.
    """

    def __init__(self, X: Any, kernel: Kernel, kappa: float, kind: str):
        self.X, self.kernel, self.kappa, self.c = X, kernel, kappa, len(X) * kappa / 2
        self.tol = PRECISION * min(kappa, 1.0)
        self.pivots: list[np.ndarray | None] = [None] * X.shape[1]
        self.evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]] = _variance if kind == "kgv" else _correlation

    def value(self, B: np.ndarray) -> float:
        """The contrast alone."""
        return self._evaluated(_Blocks(self, B).R)[0]

    def _evaluated(self, R: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            return self.evaluate(R)
        except linalg.LinAlgError:
            raise ValueError(
                f"KernelICA: kappa = {self.kappa:g} is so small that any components of {len(self.X)} samples predict "
                "each other without error; raise it, or give more samples."
            ) from None

    def __call__(self, B: np.ndarray) -> tuple[float, np.ndarray]:
        blocks = _Blocks(self, B)
        value, Omega = self._evaluated(blocks.R)
        for place in blocks.places:
            Omega[place, place] = 0.0
        Q = blocks.F @ like(Omega, blocks.F)
        slopes = [part.gradient(Q[:, place]) for part, place in zip(blocks.parts, blocks.places, strict=True)]
        return value, host(self.X.T @ namespace(self.X).concat(slopes, axis=1))


class _Blocks:
    """The components XB, and R on the range of their matrices."""

    def __init__(self, contrast: Contrast, B: np.ndarray):
        Y = contrast.X @ like(B, contrast.X)
        factors = [
            ProjectedFactor(contrast.kernel, Y[:, j : j + 1], contrast.tol, pivots)
            for j, pivots in enumerate(contrast.pivots)
        ]
        contrast.pivots = [factor.pivots for factor in factors]
        self.parts = [_Component(factor, contrast.c) for factor in factors]
        ends = np.cumsum([0, *(part.U.shape[1] for part in self.parts)])
        self.places = [slice(a, b) for a, b in pairwise(ends)]
        self.F = namespace(Y).concat([part.U * like(part.D, part.U) for part in self.parts], axis=1)
        self.R = host(self.F.T @ self.F)
        for place in self.places:
            self.R[place, place] = np.eye(place.stop - place.start)


class _Component:
    """K̃ = UΛUᵀ of one component, from its factor Z = UΛ^{1/2}Vᵀ."""

    def __init__(self, factor: ProjectedFactor, c: float):
        self.factor, self.c = factor, c
        values, V = linalg.eigh(host(factor.Z.T @ factor.Z), check_finite=False)
        keep = values > 1e-13 * values[-1]  # smaller ones are rounding errors, and far below c
        self.values, self.V = values[keep], V[:, keep]
        self.U = factor.Z @ like(self.V / np.sqrt(self.values), factor.Z)
        self.D = self.values / (self.values + c)

    def gradient(self, Q: Any) -> Any:
        """The derivative with respect to the points, if the differential of the contrast is −tr(QUᵀ dr)."""
        inside = host(self.U.T @ Q)
        # c(K̃ + c)⁻¹(QUᵀ + UQᵀ)(K̃ + c)⁻¹Z, in terms of U and Q
        sides = Q + self.U @ like(-self.D[:, None] * inside + (1 - self.D)[:, None] * inside.T, Q)
        return self.factor.gradient(
            -sides @ like((np.sqrt(self.values) / (self.values + self.c))[:, None] * self.V.T, Q)
        )


def _variance(R: np.ndarray) -> tuple[float, np.ndarray]:
    """−½ log det R and R⁻¹."""
    L = linalg.cholesky(R, lower=True, check_finite=False)
    return -float(np.log(np.diag(L)).sum()), linalg.cho_solve((L, True), np.eye(len(R)), check_finite=False)


def _correlation(R: np.ndarray) -> tuple[float, np.ndarray]:
    """−½ log λ and vvᵀ/λ for the smallest eigenvalue λ of R."""
    values, vectors = eigh_part(R, 0, 0)
    if values[0] <= 0:
        raise linalg.LinAlgError
    return -0.5 * float(np.log(values[0])), vectors @ vectors.T / values[0]


def amari_error(V: Array) -> float:
    r"""Distance of a square matrix from a scaled permutation matrix: 0 for one, 1 for entries of equal size.

    .. math:: \frac{1}{2m(m-1)} \sum_i \Big(\frac{\sum_j |v_{ij}|}{\max_j |v_{ij}|} - 1\Big)
              + \frac{1}{2m(m-1)} \sum_j \Big(\frac{\sum_i |v_{ij}|}{\max_i |v_{ij}|} - 1\Big)

    For an unmixing matrix W and the true mixing matrix A, use V = WA. The order and signs of components and sources
    do not matter; scales matter unless the error is 0, so sources and components should have unit variance. Amari,
    Cichocki, Yang, *A new learning algorithm for blind signal separation* (1996), divided by m − 1.

    Examples
    --------
    >>> amari_error([[0, 2], [-1, 0]]), amari_error([[1, 1], [1, 1]])
    (0.0, 1.0)
    """
    A = np.abs(np.asarray(V, dtype=np.float64))
    if A.ndim != 2 or A.shape[0] != A.shape[1] or len(A) < 2:
        raise ValueError(f"amari_error: V has shape {A.shape}; give a square matrix W @ A of two or more components.")
    if not np.all(np.isfinite(A)) or not A.any(axis=0).all() or not A.any(axis=1).all():
        raise ValueError("amari_error: V has a row or column of zeros, or entries that are not finite.")
    m = len(A)
    excess = (A / A.max(axis=1, keepdims=True)).sum() + (A / A.max(axis=0)).sum() - 2 * m
    return float(excess / (2 * m * (m - 1)))
