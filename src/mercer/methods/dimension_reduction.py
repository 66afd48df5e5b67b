"""Kernel dimension reduction for regression and classification."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils.multiclass import type_of_target

from .. import _threads
from .._array import host, is_sparse, like, namespace, precise
from .._errors import FROM_ONE, ONE_OR_NONE, POSITIVE, check_number, check_parameters, where
from .._random import generator
from .._units import unit_of_squares
from ..context import StoppedError, current, warn_early
from ..domains import take
from ..gram import GramLike, IncompleteCholesky
from ..gram.centered import CenteredGram
from ..kernels import Kernel, KernelLike
from ..kernels.expression import as_kernel
from ..solvers.linear import System, solve
from ..solvers.orthogonal import Frame, ProjectedFactor, minimise, random_frame, require_smooth
from ..space import Function
from ..types import Array, Data, EstimatorLike, RandomState, Splitter
from ._base import KernelEstimator, classes_of

METHODS = ("kdr", "gkdr")
TRIAL = 500  # maximum number of samples for trying starts
COARSE = 1e-2  # gradient norm at which the descent of a start ends
PRECISION = 1e-3  # of the factors, relative to epsilon: the penalty hides smaller errors
SLAB = 1 << 22  # numbers in a block of derivatives


@dataclass(eq=False, repr=False)
class KernelDimensionReduction(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Kernel dimension reduction: directions B of x that retain all information about y.

    .. math:: \min_{B^\top B = I}\; \operatorname{tr}\big[\tilde K_y (\tilde K_{XB} + n\varepsilon I)^{-1}\big]
              \;\;\text{("kdr")}, \qquad
              M = \frac1n \sum_{i,l} \nabla f_l(x_i) \nabla f_l(x_i)^\top \;\;\text{("gkdr")}

    The first is, up to a factor, the part of the features of y left unexplained by kernel ridge regressions on the
    projections. In the second, f are such regressions on x itself, and B holds the leading eigenvectors of M: no
    search, but a kernel in all dimensions.

    Parameters
    ----------
    n_components : int >= 1, or a sequence of them
        Number of directions, or candidates for cross-validation.
    method : {"kdr", "gkdr"}
        "kdr" minimises the objective from the "gkdr" solution and from random directions; "gkdr" uses gradients only.
    kernel : Kernel, name or expression
        Kernel on the projections ("kdr"; data-driven parameters are resolved once, on the "gkdr" projections) and on x
        ("gkdr"). Positive definite, with derivatives.
    kernel_y : "auto", Kernel, name or expression
        Kernel on the targets, positive definite. "auto" is `Delta` for classes, and the Gaussian kernel with the median
        distance for numbers (according to scikit-learn's `type_of_target`: whole numbers are classes, so counts need an
        explicit kernel).
    epsilon : float > 0
        ε, the regularisation parameter of the regressions, per sample; larger is smoother.
    n_init : int >= 1
        Starts for "kdr", on at most 500 samples; the best is refined on all.
    estimator : estimator, optional
        Scores n_components on the projections; None: five nearest neighbours, as a regressor if `kernel_y` is a kernel
        on numbers.
    cv : int, splitter or None
        Cross-validation for n_components, as in scikit-learn.
    tol : float > 0
        Stop when the gradient norm of the unexplained fraction is at most `tol`.
    max_iter : int >= 1, optional
        Maximum number of steps in each descent; None for 200.
    time_budget : float > 0, optional
        Time limit in seconds. The best result so far is then kept, with a warning. Each fit of a search over
        n_components has the same limit.
    gram : str or Representation
        Representation of the kernel matrix of x, for the gradients.
    random_state : int, RandomState, Generator or None
        For random starts and random representations.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, Bᵀ; the features of X are ``X @ components_.T``. "kdr" determines their span.
    n_components_ : int
    scores_ : dict of int to float
        Mean score of each candidate number of components, if several were given.
    unexplained_ : float
        The objective over its maximum tr(K̃_y)/nε: 0 if the projections determine y, 1 if they carry no information
        ("kdr").
    starts_ : array of shape (n_init,)
        This fraction for each start ("kdr").
    eigenvalues_ : array of shape (n_features,)
        Eigenvalues of M, in descending order.
    solution_ : Frame
        Result of the refinement: steps, history, stopping reason ("kdr").
    n_iter_ : int
        Number of gradient evaluations in the refinement that led to a step; 1 for "gkdr".
    kernel_, kernel_y_, gram_choice_
        Kernels with data-driven parameters filled in.

    Notes
    -----
    Features should have comparable scales, e.g. after a `StandardScaler`. Matrices of projections and of y are held as
    incomplete Cholesky factors of ranks r and q: O(nr(r + q)) for the objective and its exact gradient. "gkdr" costs a
    solve and O(n²pq), or less with a low-rank `gram`. All feature vectors are centred, so the regressions have a free
    constant.

    References
    ----------
    Fukumizu, Bach, Jordan, *Kernel dimension reduction in regression* (2009). Fukumizu, Leng, *Gradient-based kernel
    dimension reduction for regression* (2014).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = np.sin(X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=200)
    >>> B = KernelDimensionReduction(1, random_state=0).fit(X, y).components_
    >>> bool(abs(B[0] @ [0.5**0.5, 0.5**0.5, 0, 0, 0]) > 0.99)
    True
    """

    kernel_compares = "projections of the samples; give it one kernel"

    _former = {"frame_": "solution_"}

    n_components: Any = 2
    _: KW_ONLY
    method: str = "kdr"
    kernel: KernelLike = "gaussian(lengthscale='median')"
    kernel_y: KernelLike = "auto"
    epsilon: float = 1e-3
    n_init: int = 3
    estimator: EstimatorLike = None
    cv: Splitter = None
    tol: float = 1e-4
    max_iter: int | None = None
    time_budget: float | None = None
    gram: GramLike = "auto"
    random_state: RandomState = None

    def fit(self, X: Data, y: Array) -> Self:
        """Find the directions of X, of shape (n, n_features), for numeric, multi-output or class targets y."""
        self._check_parameters()
        self._forget("scores_", "starts_", "solution_", "unexplained_")
        self._require_vectors(X)
        X, y = self._check_fit(X, y, multi_output=True)
        X, y = precise(X), host(y)
        unit_of_squares(self, "X", X)  # products of derivatives scale like squares
        for d in self._candidates():
            if d > X.shape[1]:
                raise ValueError(f"{where(self)}: n_components = {d} must be <= n_features = {X.shape[1]}.")
        require_smooth(self, self.kernel_, X)
        targets = self._targets(y)
        self.n_components_ = self._choose(X, y)
        B = self._by_gradients(X, targets)
        if self.method == "kdr":
            B = self._by_objective(X, targets, B)
        self.components_ = B.T
        self._n_features_out = self.n_components_
        return self

    def transform(self, X: Data) -> Any:
        """The projections X Bᵀ, of shape (n, n_components)."""
        X = precise(self._check_new(X))
        return X @ like(self.components_.T, X)

    # ---- checks

    def _check_parameters(self) -> None:
        check_parameters(self, {"method": METHODS, "n_init": FROM_ONE, "max_iter": ONE_OR_NONE})
        check_parameters(self, {"epsilon": POSITIVE, "tol": POSITIVE})
        if not self._candidates():
            raise ValueError(f"{where(self)}: n_components = {self.n_components!r} is empty; give at least one number.")
        for d in self._candidates():
            check_number(self, "n_components", d, at_least=1, integer=True)

    def _candidates(self) -> list[Any]:
        several = np.iterable(self.n_components) and not isinstance(self.n_components, str)
        return list(self.n_components) if several else [self.n_components]

    def _require_vectors(self, X: Data) -> None:
        if is_sparse(X):
            raise TypeError(f"{where(self)}: X is sparse, but projections are dense; call X.toarray() first.")

    def _targets(self, y: Array) -> np.ndarray:
        """Set `kernel_y_`, and return Ψ with K̃_y = ΨΨᵀ."""
        if isinstance(self.kernel_y, str) and self.kernel_y == "auto":
            with np.errstate(invalid="ignore"):  # it casts to integers, which some numbers overflow
                try:
                    continuous = type_of_target(y, input_name="y").startswith("continuous")
                except TypeError:  # labels that cannot be sorted
                    classes_of(self, y)
                    raise
            kernel = as_kernel("gaussian(lengthscale='median')" if continuous else "delta")
        else:
            kernel = as_kernel(self.kernel_y, "kernel_y")
        if kernel.domain.vectors:
            y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        y = kernel.domain.check(y, self, "y")
        self.kernel_y_ = kernel.resolve(y)
        self.kernel_y_.require_pd(kernel.domain.dimension(y), self, "kernel_y")
        gram = IncompleteCholesky(tol=PRECISION**2).build(self.kernel_y_, y)
        targets = np.asarray(CenteredGram(gram).factor())
        if np.sum(targets**2) <= 1e-12 * np.sum(gram.diagonal()):
            raise ValueError(
                f"{where(self)}: y is constant (one class only), or nearly so under kernel_y = {self.kernel_y_}, so "
                "there is nothing to predict; in the latter case centre and scale y."
            )
        return targets

    # ---- the work

    def _choose(self, X: Array, y: np.ndarray) -> int:
        candidates = self._candidates()
        if isinstance(self.n_components, Integral):
            return int(self.n_components)
        judge = self.estimator
        if judge is None:
            numbers = self.kernel_y_.domain.vectors or type_of_target(y).startswith("continuous")
            judge = KNeighborsRegressor() if numbers else KNeighborsClassifier()
        self.scores_ = {}
        part = clone(self).set_callbacks()  # callbacks are notified of this fit, not of those to folds
        for d in map(int, candidates):
            try:
                scores = cross_val_score(make_pipeline(part.set_params(n_components=d), judge), host(X), y, cv=self.cv)
                status = current().heard  # set if an inner fit stopped early
            except StoppedError as stopped:
                scores, status = None, stopped.status
            if status is None:
                self.scores_[d] = float(scores.mean())
            elif not self.scores_:
                raise StoppedError(status)
            else:
                tried = f"{len(self.scores_)} of {len(candidates)} values of n_components were tried"
                warn_early(self, tried, status)
                break
        return max(self.scores_, key=lambda d: self.scores_[d])

    def _by_gradients(self, X: Array, targets: np.ndarray) -> np.ndarray:
        """The leading eigenvectors of the mean outer product of the regressions' gradients."""
        gram = CenteredGram(self._build(X, constants=True))
        if self.method == "gkdr":  # otherwise the descent that follows checks
            current().check()
        a = solve(System(gram, like(targets, X), len(X) * float(self.epsilon))).coefficients
        f = Function(*gram.expansion(a))
        if "gradient_x" not in f.kernel.provides:
            raise ValueError(
                f"{where(self)}: gram = {self.gram!r} gives features without derivatives, which the search for "
                "directions needs; use 'nystrom' or 'incomplete_cholesky'."
            )
        M = np.zeros((X.shape[1], X.shape[1]))
        with np.errstate(all="ignore"):
            for rows in _threads.slices(len(X), max(1, SLAB // (X.shape[1] * targets.shape[1]))):
                D = f.derivative(X[rows])
                M += host(namespace(D).tensordot(D, D, axes=([0, 2], [0, 2]))) / len(X)
        if not np.isfinite(M).all() or not M.any():
            raise ValueError(
                f"{where(self)}: the squared derivatives under kernel = {self.kernel_} vanish or overflow and "
                "determine no direction; use a lengthscale comparable to the distances."
            )
        values, vectors = linalg.eigh(M)
        self.eigenvalues_, self.n_iter_ = values[::-1], 1
        return np.asarray(vectors[:, ::-1][:, : self.n_components_])

    def _by_objective(self, X: Array, targets: np.ndarray, B: np.ndarray) -> np.ndarray:
        """The minimum of the objective from the best of the starts."""
        self.kernel_ = self._kernel(self.n_components_).resolve(X @ like(B, X))
        self.kernel_.require_pd(self.n_components_, self)
        rng = generator(self.random_state)
        some = slice(None) if len(X) <= TRIAL else rng.choice(len(X), TRIAL, replace=False)
        part = Unexplained(take(X, some), targets[some] - targets[some].mean(axis=0), self.kernel_, float(self.epsilon))
        frames = [self._descend(part, B, COARSE)]
        for _ in range(self.n_init - 1):
            frames.append(self._descend(part, random_frame(len(B), self.n_components_, rng), COARSE))
        self.starts_ = np.array([frame.value for frame in frames])
        best = frames[int(np.argmin(self.starts_))].B
        self.solution_ = found = self._descend(
            Unexplained(X, targets, self.kernel_, float(self.epsilon)), best, self.tol
        )
        if not found.converged:
            warn_early(self, f"the descent stopped at {found.certificate}", found.status, "Raise tol or max_iter.")
        self.unexplained_, self.n_iter_ = found.value, len(found.history)
        return found.B

    def _descend(self, objective: Unexplained, start: np.ndarray, tol: float) -> Frame:
        return minimise(objective, start, tol=tol, max_iter=self.max_iter or 200)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = False
        return tags


class Unexplained:
    r"""nε tr[K̃_y(K̃_XB + nεI)⁻¹] / tr K̃_y with its derivatives with respect to B.

    With K̃_y = ΨΨᵀ and K̃_XB = ZZᵀ it is the minimum over W of (‖Ψ − ZW‖² + nε‖W‖²)/‖Ψ‖². Its derivative in Z is
    −2(Ψ − ZW)Wᵀ/‖Ψ‖² at the optimal W.
    """

    def __init__(self, X: Array, targets: np.ndarray, kernel: Kernel, epsilon: float):
        free = kernel.drift(host(X[0])) is not None  # if shifts leave K̃ unchanged, centring XB saves digits
        self.X = X - namespace(X).mean(X, axis=0) if free else X
        self.kernel, self.tol = kernel, PRECISION * min(epsilon, 1.0)
        self.targets = like(targets / np.linalg.norm(targets), X)
        self.c = len(X) * epsilon
        self.pivots: np.ndarray | None = None

    def __call__(self, B: np.ndarray) -> tuple[float, np.ndarray]:
        factor = ProjectedFactor(self.kernel, self.X @ like(B, self.X), self.tol, self.pivots)
        self.pivots = factor.pivots
        Z, Psi = factor.Z, self.targets
        moments = host(Z.T @ Z)
        moments.flat[:: len(moments) + 1] += self.c
        W = linalg.solve(moments, host(Z.T @ Psi), assume_a="pos", check_finite=False)
        rest = Psi - Z @ like(W, Z)
        value = float((rest**2).sum()) + self.c * float(np.sum(W**2))
        return value, host(self.X.T @ factor.gradient(-2 * rest @ like(W.T, Z)))
