"""Kernel partial least squares, for targets and for labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from .._array import eps, host, like, namespace
from .._errors import FROM_ONE, check_number, check_parameters, warn, where
from .._folds import folds
from .._random import generator
from .._units import exponent, power_of_two, unit_of_squares
from ..basis import Polynomials
from ..context import Status, StoppedError, current, warn_early
from ..gram import Gram, GramLike
from ..gram.centered import CenteredGram
from ..kernels import KernelLike
from ..solvers.clustering import largest
from ..space import Function
from ..types import Array, ClassWeight, Data, Index, RandomState, Splitter
from ._classifier import encode
from ._transformer import KernelTransformer


@dataclass(frozen=True)
class Components:
    """Score functions, and what the targets have of them: these are near mean + scores · loadingsᵀ."""

    gram: CenteredGram
    coefficients: Any  # (n, p): of the score functions on the centred sample
    scores: Any  # (n, p): their values at all samples, those of weight 0 too
    loadings: Any  # (m, p)
    mean: Any  # (m,)
    explained: np.ndarray  # (p,): the share of the targets' variance that each component explains
    status: Status | None = None  # why there are fewer than asked for, if the context asked to end

    def up_to_each(self, rows: Index) -> np.ndarray:
        """The fitted values at some samples with 1, …, p components, of shape (p, rows, m)."""
        parts = host(self.scores)[rows].T[:, :, None] * host(self.loadings).T[:, None, :]
        return host(self.mean) + np.cumsum(parts, axis=0)


def components(base: Gram, Y: Data, weight: Array, count: int) -> Components:
    r"""Up to `count` components; fewer where nothing of the targets, or of the matrix, is left but rounding.

    With D = W^{1/2}, K = DK̃D and E the targets centred, scaled by D and less what scores so far explain, the next
    score is the leading eigenvector of (I − TTᵀ)K(I − TTᵀ)EEᵀ. As E is orthogonal to T, it is t ∝ (I − TTᵀ)KEv, with v
    the leading eigenvector of the small matrix EᵀKE: one product with the matrix a component, and neither an
    iteration nor a deflated matrix. The coefficients of t follow by the same orthogonalisation.
    """
    gram = CenteredGram(base, weight)
    xp = namespace(Y)
    D = xp.sqrt(weight)[:, None]
    mean = xp.sum(weight[:, None] * Y, axis=0) / xp.sum(weight)
    E = D * (Y - mean)
    size = float(xp.sum(E * E))
    floor = (gram.n * eps(Y)) ** 2 * float(xp.sum((D * Y) ** 2))
    # centring leaves rounding relative to the matrix before it
    sizes = xp.maximum(xp.abs(base.diagonal()), xp.abs(gram.diagonal()))
    root = math.ldexp(1.0, exponent(sizes) // 2)  # of the unit of the matrix, whose squares need not be floats
    rounding = 20 * eps(Y) * float(xp.sum(weight * (sizes / root / root)))
    A, S, loadings, explained = Y[:, :0], Y[:, :0], Y[:0, :].T, list[tuple[float, float]]()
    T, status, context = S, None, current()
    context.check()
    for _ in range(min(count, gram.n - 1)):  # centred samples have no more directions; what is left is rounding
        if float(xp.sum(E * E)) <= floor:
            break
        if explained and (status := context({"explained": explained})) is not None:
            break
        P = gram @ (D * E / root) / root
        values, V = xp.linalg.eigh(xp.matrix_transpose(E) @ (D * P))
        v = V[:, -1:]
        v = v * (1.0 if float(xp.max(v)) >= -float(xp.min(v)) else -1.0)
        if float(values[-1]) <= rounding * float(xp.sum((E @ v) ** 2)):
            break
        s, a = P @ v, D * (E @ v)
        for _ in range(2):  # once more, as rounding leaves a little of the others
            along = xp.matrix_transpose(T) @ (D * s)
            s, a = s - S @ along, a - A @ along
        length = float(xp.sum((D * s) ** 2)) ** 0.5
        t = D * s / length
        q = xp.matrix_transpose(E) @ t
        E = E - t @ xp.matrix_transpose(q)
        T, S, A = (xp.concat([M, m], axis=1) for M, m in ((T, t), (S, s / length), (A, a / length)))
        scale = length / float(values[-1]) ** 0.5  # such that the function has norm 1 before it is orthogonalised
        loadings = xp.concat([loadings, q / scale], axis=1)
        explained.append((float(xp.sum(q * q)) / size, scale))
    shares, scales = np.array(explained).reshape(-1, 2).T
    scale = like(scales, Y)
    return Components(gram, A * scale / root, S * scale * root, loadings / root, mean, shares, status)


@dataclass(eq=False, repr=False)
class PartialLeastSquares(KernelTransformer):
    """What the regressor and the classifier share: components of targets, and how many."""

    n_components: Any = 2
    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    max_components: int = 20
    cv: Splitter = 5
    gram: GramLike = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def _needs(self, n: int) -> str:
        return "factor"

    def _check_parameters(self) -> None:
        check_parameters(self, {"n_components": {**FROM_ONE, "besides": ("cv",)}, "max_components": FROM_ONE})

    def _fit_targets(self, X: Data, target: Array, weight: Array, y: Array) -> None:
        """Components of targets of shape (n,) or (n, m)."""
        self._forget("cv_errors_")
        self._require_definite(X, 1)
        n = self.kernel_.domain.size(X)
        if n < 2:
            raise ValueError(f"{where(self)}: n_samples = {n}; partial least squares needs at least two.")
        base = self._build(X, constants=True)
        unit = power_of_two(target)
        if isinstance(self.n_components, str):
            unit_of_squares(self, "y", target)  # of which the errors on held-out folds are
        Y = like(target / unit, base.like)
        Y, single = (Y[:, None], True) if Y.ndim == 1 else (Y, False)
        w = like(np.ones(n) if weight is None else weight, Y)
        count = self._chosen_count(base, Y, w, y, unit) if isinstance(self.n_components, str) else self.n_components
        found = components(base, Y, w, count)
        reached = len(found.explained)
        if reached == 0:
            spread = host(namespace(Y).max(Y, axis=0) - namespace(Y).min(Y, axis=0))
            flat = "y is constant" if not spread.any() else f"the kernel {self.kernel_} relates nothing in X to y"
            raise ValueError(f"{where(self)}: {flat}, so that there is no component; are all samples equal?")
        if found.status is not None:
            warn_early(self, f"{reached} of {count} components were found", found.status)
        elif reached < count:
            warn(
                f"{where(self)}: n_components = {count}, but after {reached} nothing is left of y, or nothing in X "
                "that goes along with it; use fewer.",
            )
        self.n_components_, self.X_fit_ = reached, X
        self._keep(found.gram, found.coefficients)
        with np.errstate(over="ignore", invalid="ignore"):
            a = found.coefficients @ namespace(Y).matrix_transpose(found.loadings)
            free = (found.mean - found.gram.offset(a))[None, :]
            loadings, a, free = (values * unit for values in (found.loadings, a, free))
        if not all(np.isfinite(host(values)).all() for values in (loadings, a, free)):
            raise ValueError(
                f"{where(self)}: y is of size {unit:.0e}, and its slopes on the scores, or the coefficients of "
                f"{self.kernel_}, are beyond the largest {Y.dtype} number; give y and the kernel values nearer to 1."
            )
        self.scores_, self.y_loadings_, self.explained_variance_ratio_ = found.scores, loadings, found.explained
        a, free = (a[:, 0], free[:, 0]) if single else (a, free)
        self.prediction_ = Function(*found.gram.expansion(a), Polynomials(0), free)

    def _chosen_count(self, base: Gram, Y: Data, weight: Array, y: Array, unit: float) -> int:
        """The number of components of least loss on held-out folds: one run for each fold, on one Gram operator."""
        n, w = base.n, host(weight)
        total, seen = np.zeros(self.max_components), 0.0
        for train, test in self._splits(n, host(y)):
            # samples of weight zero take no part, and their values come with those of the others
            inside = like(w * np.bincount(train, minlength=n), weight)
            found = components(base, Y, inside, self.max_components)
            if found.status is not None:
                raise StoppedError(found.status)
            if not len(found.explained):
                continue
            losses = self._losses(host(Y)[test], found.up_to_each(test)) @ w[test]
            total += np.pad(losses, (0, self.max_components - len(losses)), mode="edge")
            seen += float(w[test].sum())
        if not seen:
            raise ValueError(f"{where(self)}: cv = {self.cv!r}: no fold has a component; are all samples equal?")
        self.cv_errors_ = total / seen * unit**2
        return int(largest(-self.cv_errors_)) + 1

    def _splits(self, n: int, y: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        cv, labels = self.cv, is_classifier(self)
        if isinstance(cv, Integral):
            check_number(self, "cv", cv, at_least=2, at_most=n, integer=True)
            seed = int(generator(self.random_state or 0).integers(2**31))
            cv = (StratifiedKFold if labels else KFold)(int(cv), shuffle=True, random_state=seed)
        return folds(self, cv, n, y, labels)

    def _losses(self, target: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The loss of values of shape (p, rows, m), of shape (p, rows)."""
        return np.mean((values - target) ** 2, axis=2)


class KernelPLS(MultiOutputMixin, RegressorMixin, PartialLeastSquares):
    r"""Kernel partial least squares: regression on the few functions that vary most together with the targets.

    .. math:: \max_{\|f_j\| = 1,\, \|v_j\| = 1}\; \sum_i w_i\, \big\langle f_j, \varphi_j(x_i) \big\rangle\,
              v_j^\top \big(y_i - \hat y_i^{(j-1)}\big)

    with :math:`\varphi_1` the centred sample in the kernel's space, :math:`\varphi_{j+1}` what the scores of the first
    j components leave of it, and :math:`\hat y^{(j)}` the least-squares fit on these scores, which are uncorrelated.

    Parameters
    ----------
    n_components : int >= 1 or "cv"
        How many functions; more follow the sample more closely. "cv" takes the number, up to `max_components`, of least
        squared error on held-out folds, by one run for each fold.
    kernel : str, Kernel or callable
        Positive definite, or conditionally so of order 1.
    max_components : int >= 1
        The most that "cv" tries.
    cv : int, splitter or list of (train, test)
        Its folds; a number stands for shuffled ones.
    gram : str or Representation
        How the kernel matrix is held or approximated.
    random_state : int, RandomState, Generator or None
        For representations that draw, and for folds; these are the same each time if it is None.
    time_budget : float > 0, optional
        Seconds after which the fit ends: with the best so far and a warning, or, if there is none yet, with an error.

    Attributes
    ----------
    n_components_ : int
        How many there are: fewer than asked for if nothing is left to explain.
    function_ : Function
        The score functions, one per column; the first has norm 1. Their signs are such that of the targets the one that
        goes most along with them rises.
    offset_ : array of shape (n_components,)
        Their means, which `transform` subtracts.
    scores_ : array of shape (n_samples, n_components)
        The features of the sample, orthogonal in the weights.
    y_loadings_ : array of shape (n_targets, n_components)
        The slopes of the targets on the scores.
    prediction_ : Function
        The fitted function, with its intercept; an output for each target.
    explained_variance_ratio_ : array of shape (n_components,)
        The share of the targets' variance that each component explains on the sample.
    cv_errors_ : array of shape (max_components,)
        With "cv": the mean squared error of each number of components.
    kernel_, X_fit_, gram_choice_
        As in `KernelRidge`.

    Notes
    -----
    With the linear kernel scores, loadings and predictions are those of scikit-learn's ``PLSRegression(scale=False)``.
    The iteration of the first reference is a power iteration for the eigenproblem that is solved here: in its terms
    :math:`t \propto \tilde K_j Y_j v` with v the leading eigenvector of :math:`Y_j^\top \tilde K_j Y_j`. Scores there
    have length 1.

    One product of the matrix with as many columns as there are targets for each component, O(n²m), or O(nmr) for low
    rank; ``gram="lazy"`` holds no matrix. "cv" does this for each fold on one Gram operator.

    Scores depend on y, so that the fit is no linear smoother: leave-one-out has no closed form (``cv=LeaveOneOut()``
    runs n fits), and p components use more than p + 1 degrees of freedom as a rule. For one target the scores span the
    Krylov space :math:`\tilde K y, \dots, \tilde K^p y`: the fit is that of p steps of conjugate gradients for least
    squares.

    References
    ----------
    Rosipal, Trejo, *Kernel partial least squares regression in reproducing kernel Hilbert space* (2001). Rännar,
    Lindgren, Geladi, Wold, *A PLS kernel algorithm for data sets with many variables and fewer objects* (1994). Krämer,
    Sugiyama, *The degrees of freedom of partial least squares regression* (2011).

    Examples
    --------
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = KernelPLS(4, "gaussian(lengthscale=1.0)").fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    >>> model.transform(X).shape
    (60, 4)
    >>> noisy = y + 0.3 * np.random.default_rng(0).normal(size=60)
    >>> KernelPLS("cv", "gaussian(lengthscale=1.0)").fit(X, noisy).n_components_ < 8
    True
    """

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X and targets y of shape (n,) or (n, n_targets)."""
        self._check_parameters()
        X, y = self._check_fit(X, y, multi_output=True, y_numeric=True)
        self._fit_targets(X, y, self._check_weight(sample_weight, X), y)
        return self

    def predict(self, X: Data) -> Any:
        """The values of `prediction_` at X, of shape (n,) or (n, n_targets)."""
        X = self._check_new(X)
        return self.prediction_.values(X)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelPLSClassifier(ClassifierMixin, PartialLeastSquares):
    r"""Kernel partial least squares on labels: discriminant analysis by a few functions that go along with the classes.

    .. math:: \max_{\|f_j\| = 1,\, \|v_j\| = 1}\; \sum_i w_i\, \big\langle f_j, \varphi_j(x_i) \big\rangle\,
              v_j^\top \big(t_i - \hat t_i^{(j-1)}\big), \qquad t_i = \pm 1 \;\text{or}\; e_{y_i}

    This is `KernelPLS` with targets t that stand for the labels: ±1 for two classes, for more the indicators e of the
    classes. The sign of the fitted function decides, or the largest of the fitted functions.

    Parameters
    ----------
    n_components : int >= 1 or "cv"
        How many functions; more follow the sample more closely. "cv" takes the number, up to `max_components`, with
        fewest errors on held-out folds, and of several the smallest.
    class_weight : dict, "balanced" or None
        Factors on the weights of the samples of each class; "balanced" makes the classes weigh the same in total.
    kernel, max_components, cv, gram, random_state, time_budget
        As in `KernelPLS`; folds keep the shares of the classes.

    Attributes
    ----------
    classes_, class_weight_ : array
        The labels, and their factors.
    cv_errors_ : array of shape (max_components,)
        With "cv": the share of wrong labels for each number of components.
    function_, offset_, scores_, y_loadings_, prediction_, explained_variance_ratio_, n_components_, kernel_, X_fit_
        As in `KernelPLS`.

    References
    ----------
    Rosipal, Trejo, Matthews, *Kernel PLS-SVC for linear and nonlinear classification* (2003). Barker, Rayens, *Partial
    least squares for discrimination* (2003).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(100, factor=0.4, noise=0.1, random_state=0)
    >>> float(KernelPLSClassifier(3, "gaussian(lengthscale=0.5)").fit(X, y).score(X, y))
    1.0
    """

    class_weight: ClassWeight = None

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X with labels y."""
        self._check_parameters()
        X, y = self._check_fit(X, y)
        index, weight = encode(self, y, self._check_weight(sample_weight, X))
        member = (index[:, None] == np.arange(len(self.classes_))[None, :]).astype(np.float64)
        self._fit_targets(X, 2 * member[:, 1] - 1 if len(self.classes_) == 2 else member, weight, y)
        return self

    def _losses(self, target: np.ndarray, values: np.ndarray) -> np.ndarray:
        if target.shape[1] == 1:
            return ((values >= 0) != (target >= 0))[:, :, 0].astype(np.float64)
        return (values.argmax(axis=2) != target.argmax(axis=1)).astype(np.float64)

    def decision_function(self, X: Data) -> Any:
        """The values of `prediction_`: one for two classes (positive for ``classes_[1]``), else one per class."""
        X = self._check_new(X)
        return self.prediction_.values(X)

    def predict(self, X: Data) -> Any:
        """The labels."""
        return self.decide(self.decision_function(X))
