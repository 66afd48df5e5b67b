"""Kernel partial least squares, for regression and classification."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from .._array import eps, host, like, namespace
from .._errors import FROM_ONE, check_number, check_parameters, warn, where
from .._folds import folds, shuffled
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
from ._predictors import DecisionClassifier, FunctionRegressor
from ._transformer import KernelTransformer


@dataclass(frozen=True)
class Components:
    """Score functions and loadings of the targets, which are approximated by mean + scores · loadingsᵀ."""

    gram: CenteredGram
    coefficients: Any  # (n, p): coefficients of the score functions on the centred sample
    scores: Any  # (n, p): their values at all samples, including those of weight 0
    loadings: Any  # (m, p)
    mean: Any  # (m,)
    explained: np.ndarray  # (p,): the fraction of the targets' variance explained by each component
    status: Status | None = None  # why there are fewer than requested, if the context stopped the computation

    def up_to_each(self, rows: Index) -> np.ndarray:
        """Fitted values at some samples with 1, …, p components, of shape (p, rows, m)."""
        parts = host(self.scores)[rows].T[:, :, None] * host(self.loadings).T[:, None, :]
        return host(self.mean) + np.cumsum(parts, axis=0)


def components(base: Gram, Y: Data, weight: Array, count: int) -> Components:
    r"""Up to `count` components; fewer if the residual targets, or the deflated matrix, vanish up to rounding.

    Let D = W^{1/2}, K = DK̃D, and E the residuals of the centred targets, scaled by D. The next score is the leading
    eigenvector of (I − TTᵀ)K(I − TTᵀ)EEᵀ. As E is orthogonal to T, this is t ∝ (I − TTᵀ)KEv, with v the leading
    eigenvector of the small matrix EᵀKE: one product with the matrix per component, without iterations or a deflated
    matrix. The coefficients of t follow by the same orthogonalisation.
    """
    gram = CenteredGram(base, weight)
    xp = namespace(Y)
    D = xp.sqrt(weight)[:, None]
    mean = xp.sum(weight[:, None] * Y, axis=0) / xp.sum(weight)
    E = D * (Y - mean)
    size = float(xp.sum(E * E))
    floor = (gram.n * eps(Y)) ** 2 * float(xp.sum((D * Y) ** 2))
    # the rounding error of centring is relative to the uncentred matrix
    sizes = xp.maximum(xp.abs(base.diagonal()), xp.abs(gram.diagonal()))
    root = math.ldexp(1.0, exponent(sizes) // 2)  # root of the matrix's unit; its squares may overflow
    rounding = 20 * eps(Y) * float(xp.sum(weight * (sizes / root / root)))
    A, S, loadings, explained = Y[:, :0], Y[:, :0], Y[:0, :].T, list[tuple[float, float]]()
    T, status, context = S, None, current()
    context.check()
    for _ in range(min(count, gram.n - 1)):  # a centred sample has no more directions
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
        for _ in range(2):  # twice, because of rounding
            along = xp.matrix_transpose(T) @ (D * s)
            s, a = s - S @ along, a - A @ along
        length = float(xp.sum((D * s) ** 2)) ** 0.5
        t = D * s / length
        q = xp.matrix_transpose(E) @ t
        E = E - t @ xp.matrix_transpose(q)
        T, S, A = (xp.concat([M, m], axis=1) for M, m in ((T, t), (S, s / length), (A, a / length)))
        scale = length / float(values[-1]) ** 0.5  # so that the function has norm 1 before orthogonalisation
        loadings = xp.concat([loadings, q / scale], axis=1)
        explained.append((float(xp.sum(q * q)) / size, scale))
    shares, scales = np.array(explained).reshape(-1, 2).T
    scale = like(scales, Y)
    return Components(gram, A * scale / root, S * scale * root, loadings / root, mean, shares, status)


@dataclass(eq=False, repr=False)
class PartialLeastSquares(KernelTransformer):
    """Base of the regressor and the classifier: fits the components and selects their number."""

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
        """Fit the components for targets of shape (n,) or (n, m)."""
        self._forget("cv_errors_")
        self._require_definite(X, 1)
        n = self.kernel_.domain.size(X)
        if n < 2:
            raise ValueError(f"{where(self)}: n_samples = {n}; partial least squares needs at least two.")
        base = self._build(X, constants=True)
        unit = power_of_two(target)
        if isinstance(self.n_components, str):
            unit_of_squares(self, "y", target)  # the unit of the held-out errors
        Y = like(target / unit, base.like)
        Y, single = (Y[:, None], True) if Y.ndim == 1 else (Y, False)
        w = like(np.ones(n) if weight is None else weight, Y)
        count = self._chosen_count(base, Y, w, y, unit) if isinstance(self.n_components, str) else self.n_components
        found = components(base, Y, w, count)
        reached = len(found.explained)
        if reached == 0:
            spread = host(namespace(Y).max(Y, axis=0) - namespace(Y).min(Y, axis=0))
            flat = "y is constant" if not spread.any() else f"X and y are unrelated under the kernel {self.kernel_}"
            raise ValueError(f"{where(self)}: {flat}, so there is no component; are all samples equal?")
        if found.status is not None:
            warn_early(self, f"{reached} of {count} components were found", found.status)
        elif reached < count:
            warn(
                f"{where(self)}: n_components = {count}, but nothing of y that X can explain is left after {reached}; "
                "use fewer.",
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
                f"{self.kernel_}, overflow {Y.dtype}; scale y and the kernel values closer to 1."
            )
        self.scores_, self.y_loadings_, self.explained_variance_ratio_ = found.scores, loadings, found.explained
        a, free = (a[:, 0], free[:, 0]) if single else (a, free)
        self.prediction_ = Function(*found.gram.expansion(a), Polynomials(0), free)

    def _chosen_count(self, base: Gram, Y: Data, weight: Array, y: Array, unit: float) -> int:
        """The number of components with the least held-out loss: one run per fold, on one Gram operator."""
        n, w = base.n, host(weight)
        total, seen = np.zeros(self.max_components), 0.0
        for train, test in self._splits(n, host(y)):
            # held-out samples get weight zero, so that their values come with those of the others
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
            cv = shuffled(int(cv), seed, labels)
        return folds(self, cv, n, y, labels)

    def _losses(self, target: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Losses of shape (p, rows), for values of shape (p, rows, m)."""
        return np.mean((values - target) ** 2, axis=2)


class KernelPLS(FunctionRegressor, PartialLeastSquares):
    r"""Kernel partial least squares: regression on a few functions of maximal covariance with the targets.

    .. math:: \max_{\|f_j\| = 1,\, \|v_j\| = 1}\; \sum_i w_i\, \big\langle f_j, \varphi_j(x_i) \big\rangle\,
              v_j^\top \big(y_i - \hat y_i^{(j-1)}\big)

    where :math:`\varphi_1` is the centred feature map, :math:`\varphi_{j+1}` its residual after regression on the first
    j scores, and :math:`\hat y^{(j)}` the least-squares fit on these scores, which are uncorrelated.

    Parameters
    ----------
    n_components : int >= 1 or "cv"
        Number of components; more fit the sample more closely. "cv" takes the number, up to `max_components`, with the
        smallest squared error on held-out folds, in one run per fold.
    kernel : str, Kernel or callable
        Positive definite, or conditionally so of order 1.
    max_components : int >= 1
        Largest number tried by "cv".
    cv : int, splitter or list of (train, test)
        Folds for "cv"; an integer means that many shuffled folds.
    gram : str or Representation
        How the kernel matrix is stored or approximated.
    random_state : int, RandomState, Generator or None
        Seed of randomised representations and of the folds, which are fixed if it is None.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    n_components_ : int
        Number of components; less than requested if nothing is left to explain.
    function_ : Function
        The score functions, one per column; the first has norm 1. Each increases with the target to which it is most
        related.
    offset_ : array of shape (n_components,)
        Their means, which `transform` subtracts.
    scores_ : array of shape (n_samples, n_components)
        The scores of the sample, orthogonal under the weights.
    y_loadings_ : array of shape (n_targets, n_components)
        The slopes of the targets on the scores.
    prediction_ : Function
        The fitted function, with its intercept; one output per target.
    explained_variance_ratio_ : array of shape (n_components,)
        Fraction of the targets' variance explained by each component on the sample.
    cv_errors_ : array of shape (max_components,)
        With "cv": mean squared error for each number of components.
    kernel_, X_fit_, gram_choice_
        As in `KernelRidge`.

    Notes
    -----
    With the linear kernel, scores, loadings and predictions are those of scikit-learn's ``PLSRegression(scale=False)``.
    The first reference solves the same eigenproblem by power iteration: in its notation,
    :math:`t \propto \tilde K_j Y_j v` with v the leading eigenvector of :math:`Y_j^\top \tilde K_j Y_j`, and its scores
    have length 1.

    Each component costs one product of the matrix with m columns, one per target: O(n²m), or O(nmr) for rank r.
    ``gram="lazy"`` stores no matrix. "cv" repeats this for each fold on one Gram operator.

    Scores depend on y, so the fit is not a linear smoother: leave-one-out has no closed form (``cv=LeaveOneOut()`` runs
    n fits), and p components usually use more than p + 1 degrees of freedom. For one target the scores span the Krylov
    space :math:`\tilde K y, \dots, \tilde K^p y`: the fit equals p steps of conjugate gradients for least squares.

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


@dataclass(kw_only=True, eq=False, repr=False)
class KernelPLSClassifier(DecisionClassifier, PartialLeastSquares):
    r"""Kernel PLS discriminant analysis: classification by a few functions of maximal covariance with the classes.

    .. math:: \max_{\|f_j\| = 1,\, \|v_j\| = 1}\; \sum_i w_i\, \big\langle f_j, \varphi_j(x_i) \big\rangle\,
              v_j^\top \big(t_i - \hat t_i^{(j-1)}\big), \qquad t_i = \pm 1 \;\text{or}\; e_{y_i}

    This is `KernelPLS` with targets t that encode the labels: ±1 for two classes, class indicators e for more. The
    prediction is given by the sign of the fitted function, or by the largest of several.

    Parameters
    ----------
    n_components : int >= 1 or "cv"
        Number of components; more fit the sample more closely. "cv" takes the number, up to `max_components`, with the
        fewest errors on held-out folds, and the smallest such number in a tie.
    class_weight : dict, "balanced" or None
        Factors on the sample weights of each class; "balanced" gives all classes the same total weight.
    kernel, max_components, cv, gram, random_state, time_budget
        As in `KernelPLS`; folds are stratified.

    Attributes
    ----------
    classes_, class_weight_ : array
        The labels, and their factors.
    cv_errors_ : array of shape (max_components,)
        With "cv": misclassification rate for each number of components.
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
