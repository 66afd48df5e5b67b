"""Kernel ridge regression and classification with closed-form selection of alpha and the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import get_scorer, get_scorer_names

from .._array import host, like
from .._errors import check_choice, check_grid, where
from .._folds import folds
from .._units import unit_of_squares
from ..basis import annihilated
from ..context import Status, StoppedError, current, warn_early
from ..gram import Gram, GramLike
from ..kernels import Kernel, KernelLike
from ..kernels.expression import as_kernel
from ..solvers.likelihood import maximise_likelihood
from ..solvers.spectral import Spectral
from ..types import Array, ClassWeight, Data, FreePart, RandomState, Splitter
from ._forms import chosen
from ._ridge import RidgeClassifier, RidgeMethod, RidgeRegressor
from .ridge import KernelRidge

CRITERIA = ("loo", "gcv", "reml", "marginal_likelihood", "cv")
ALPHAS = tuple(10.0**e for e in range(-6, 4))


class HeldOut(RegressorMixin, BaseEstimator):
    """Stand-in estimator for scorers, whose samples are the held-out predictions."""

    def predict(self, X: Data) -> Any:
        """X."""
        return X


class HeldOutLabels(ClassifierMixin, BaseEstimator):
    """Stand-in classifier whose samples are decision values."""

    def __init__(self, classes: Any = None):
        self.classes = classes

    @property
    def classes_(self) -> Any:
        """The labels."""
        return self.classes

    def decision_function(self, X: Data) -> Any:
        """X."""
        return X

    def predict(self, X: Data) -> Any:
        """The labels."""
        return chosen(self.classes, X)


@dataclass(eq=False, repr=False)
class RidgeSearch(RidgeMethod):
    """Base of regression and classification: the search over alphas and kernels."""

    alpha_per_target = False

    alphas: Any = ALPHAS
    _: KW_ONLY
    alpha: str = "loo"
    kernel: KernelLike | Sequence[KernelLike] = "gaussian(lengthscale='median')"
    fit_intercept: bool = True
    free: FreePart = None
    cv: Splitter = None
    scoring: Any = None
    store_cv_results: bool = False
    optimize: bool = False
    gram: GramLike = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def _kernel(self, n_features: int) -> Kernel:
        return self._kernels()[0]

    def _kernels(self) -> list[Kernel]:
        """The candidate kernels."""
        given: Any = self.kernel if isinstance(self.kernel, (list, tuple)) and self.kernel else [self.kernel]
        return [as_kernel(kernel) for kernel in given]

    def __setstate__(self, state: dict[str, Any]) -> None:
        named = isinstance(state.get("cv"), str)  # in earlier versions cv also named the criterion
        super().__setstate__(state | {"alpha": state["cv"], "cv": None} if named else state)

    @property
    def _criterion(self) -> str:
        """The selection criterion: folds if `cv` is given, as in scikit-learn's RidgeCV, otherwise that of `alpha`."""
        return "cv" if self.alpha == "loo" and self.cv is not None else self.alpha

    def _check_search(self) -> np.ndarray:
        alphas = check_grid(self, "alphas", self.alphas)
        check_choice(self, "alpha", self.alpha, CRITERIA)
        for name in ("cv", "scoring"):
            if self._criterion not in ("loo", "cv") and getattr(self, name) is not None:
                raise ValueError(f"{where(self)}: {name} does not apply to alpha = {self.alpha!r}; omit it.")
        if self.optimize and (self._criterion != "marginal_likelihood" or self.alpha_per_target):
            raise ValueError(
                f"{where(self)}: optimize=True follows the gradient of the likelihood; it needs "
                "alpha='marginal_likelihood' and one alpha for all targets."
            )
        if self.store_cv_results and self._criterion != "loo":
            raise ValueError(f"{where(self)}: store_cv_results=True needs alpha='loo' and cv=None.")
        if self.scoring is not None and (isinstance(self.scoring, type) or not callable(self.scoring)):
            check_choice(self, "scoring", self.scoring, tuple(get_scorer_names()))
        return alphas

    def _search(self, X: Data, y: Array, target: Array, weight: Array, groups: Array) -> None:
        """Score every alpha with every kernel, and keep the best; y is passed to scorers."""
        alphas = self._check_search()
        unit_of_squares(self, "y", target)
        basis = self._free_basis(X, self.free, self.fit_intercept and self.free is None)
        kernels = self._kernels()
        splits = None
        if self._criterion == "cv":
            n = self.kernel_.domain.size(X)
            splits = folds(self, self.cv, n, host(y), is_classifier(self), groups)
        self.kernels_, table, best = [], [], None
        for kernel in kernels:
            self.kernel_ = kernel.resolve(X)
            self.kernel_.validate()
            self.kernel_.domain.check(X, self.kernel_, "X")
            self._check_values(X)
            try:
                current().check()
                gram, path, b = self._decompose(X, target, weight, basis)
                scores, values = self._scores(path, b, alphas, host(y), splits)
            except StoppedError as stopped:
                if best is None:
                    raise
                warn_early(self, f"{len(table)} of {len(kernels)} kernels were tried", stopped.status)
                break
            if np.isnan(scores).any():
                raise ValueError(
                    f"{where(self)}: scoring = {self.scoring!r} is not defined for alpha = "
                    f"{alphas[np.isnan(scores).any(axis=0)][0]:g} (R² needs two samples in each fold); use another."
                )
            self.kernels_.append(self.kernel_)
            table.append(scores)
            value = scores.max(axis=1).mean()
            if best is None or value > best:
                best, choice = value, (self.kernel_, gram, path, b, scores, values)
        self.kernel_, gram, path, b, scores, values = choice
        places = scores.argmax(axis=1)
        strength, score = alphas[places], scores.max(axis=1)
        if self.optimize:
            gram, path, b, strength, score = self._climb(gram, path, b, float(strength[0]), target, basis)
        single = not self.alpha_per_target or target.ndim == 1
        self.alpha_ = float(strength[0]) if single else strength
        self.best_score_ = float(score[0]) if single else score
        self.scores_ = np.stack([s[0] if single else s.T for s in table])
        if self.store_cv_results:
            self.cv_results_ = values[:, 0, :] if target.ndim == 1 else values
        solution = path.solve(b, strength)
        a, c = solution.coefficients, solution.free
        if target.ndim == 1:
            a, c, b = a[:, 0], None if c is None else c[:, 0], b[:, 0]
        self._definite = True
        self._keep(gram, b, strength, path.design.weight, basis, solution, a, c)

    def _decompose(self, X: Data, target: Array, weight: Array, basis: Any) -> tuple[Gram, Spectral, Any]:
        self._require_definite(X, annihilated(basis))
        gram = self._matrix(X, basis)
        sample = gram.like
        b = like(target if target.ndim == 2 else target[:, None], sample)
        H = None if basis is None else like(basis(X), sample)
        return gram, Spectral(gram, H, None if weight is None else like(weight, sample)), b

    # ---- scores, of shape (1, A), or (n_targets, A) with one alpha per target

    def _scores(
        self, path: Spectral, b: Array, alphas: np.ndarray, y: np.ndarray, splits: Any
    ) -> tuple[np.ndarray, Any]:
        if self._criterion == "gcv":
            return self._joined(-host(path.gcv(b, alphas)), np.mean), None
        if self._criterion == "reml":
            return self._joined(-host(path.reml(b, alphas)), np.sum), None
        if self._criterion == "marginal_likelihood":
            return self._joined(host(path.log_marginal_likelihood(b, alphas)), np.sum), None
        weight = None if path.design.weight is None else host(path.design.weight)
        if splits is None:
            values = path.leave_one_out(b, alphas)
            if self.scoring is None and not is_classifier(self):
                squares = (b[:, :, None] - values) ** 2
                return self._joined(-np.average(host(squares), axis=0, weights=weight), np.mean), squares
            return self._judged(host(values), y, weight), values
        parts = [
            self._judged(host(values), y[test], None if weight is None else weight[test])
            for (_, test), values in zip(splits, path.held_out(b, alphas, splits), strict=True)
        ]
        return np.mean(parts, axis=0), None

    def _joined(self, scores: np.ndarray, how: Any) -> np.ndarray:
        return scores if self.alpha_per_target else how(scores, axis=0, keepdims=True)

    def _judged(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Scores of predictions of shape (m, t, A)."""
        labels = is_classifier(self)
        scorer = get_scorer(self.scoring or ("accuracy" if labels else "r2"))
        stand_in = HeldOutLabels(self.classes_) if labels else HeldOut()
        takes = "sample_weight" in signature(scorer).parameters
        options = {"sample_weight": weight} if takes and weight is not None else {}

        def score(p: np.ndarray, q: np.ndarray) -> float:
            return float(scorer(stand_in, p, q, **options))

        A = values.shape[2]
        if self.alpha_per_target:
            columns = y[:, None] if y.ndim == 1 else y
            return np.array(
                [[score(v[:, j], columns[:, i]) for j in range(A)] for i, v in enumerate(_by_target(values))]
            )
        flat = values[:, 0, :] if values.shape[1] == 1 and (labels or y.ndim == 1) else values
        return np.array([[score(flat[..., j], y) for j in range(A)]])

    def _climb(
        self, gram: Gram, path: Spectral, b: Array, alpha: float, target: Array, basis: Any
    ) -> tuple[Gram, Spectral, Any, np.ndarray, np.ndarray]:
        if gram.trace_error:
            raise TypeError(
                f"{where(self)}: optimize=True needs the exact kernel matrix, not {where(gram)}; use gram='dense'."
            )
        design = path.design
        X = self.kernel_.about(gram.X).relative(gram.X) if annihilated(basis) else gram.X
        self.kernel_, strength, value, status = maximise_likelihood(self.kernel_, X, b, alpha, design.H, design.weight)
        if status is not Status.CONVERGED:
            advice = "The likelihood is flat or unbounded in a parameter; fix it, or start elsewhere."
            finding = f"the likelihood maximisation stopped before convergence, at {value:.6g}"
            warn_early(self, finding, status, advice)
        with current().sheltered():
            gram, path, b = self._decompose(gram.X, target, design.weight, basis)
        return gram, path, b, np.array([strength]), np.array([value])


def _by_target(values: np.ndarray) -> list[np.ndarray]:
    return [values[:, i, :] for i in range(values.shape[1])]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelRidgeCV(RidgeSearch, RidgeRegressor):
    r"""Kernel ridge regression with closed-form leave-one-out selection of alpha and the kernel.

    .. math:: \min_{f \in H,\, c}\; \tfrac12 \sum_i w_i \Big(y_i - f(x_i) - \sum_b c_b h_b(x_i)\Big)^2
              + \tfrac{\alpha}{2} \|f\|_H^2, \qquad
              y_i - f^{(-i)}(x_i) = \frac{y_i - f(x_i)}{1 - h_{ii}(\alpha)}

    A single decomposition per kernel gives the whole path of alphas: the second equation is exact for every α, with
    weights and a free part. The same holds for the other criteria:

    =====================  ===============================================================================
    alpha                  score, larger is better
    =====================  ===============================================================================
    "loo"                  `scoring` of the leave-one-out predictions (None: minus their squared error)
    "gcv"                  minus the generalised cross-validation :math:`n \|W^{1/2} r\|^2 / (n - \mathrm{tr} A)^2`
    "reml"                 twice the restricted log-likelihood at the best noise variance, up to a constant
    "marginal_likelihood"  log-likelihood of the Gaussian process with covariance k and noise variance α
    "cv"                   `scoring` (None: R²), averaged over the folds of `cv`; exact for each fold
    =====================  ===============================================================================

    Parameters
    ----------
    alphas : array of numbers > 0
        Candidate values of alpha; many cost little more than one.
    alpha : {"loo", "gcv", "reml", "marginal_likelihood", "cv"}
        Selection criterion, as above.
    kernel : str, Kernel or callable, or a list of them
        Positive definite, or conditionally so if the free part contains the required polynomials. From a list, the
        kernel with the best score at its best alpha is chosen; data-driven parameters are resolved on all samples.
    fit_intercept : bool
        Whether to add an unpenalised constant.
    free : None, int, list of functions, or basis
        Unpenalised part: a polynomial degree (which includes the intercept) or functions X → (n,). Replaces the
        intercept.
    cv : None, int, splitter or list of (train, test)
        Folds to use instead of leave-one-out, as in scikit-learn's ``RidgeCV``; None means five if alpha is "cv". They
        use the same decomposition if that is cheaper than one of their own.
    scoring : str, callable or None
        A scikit-learn scorer, or a function of (estimator, X, y). It receives all leave-one-out predictions at once, or
        those of a fold, and any sample weights if it has a parameter `sample_weight`.
    alpha_per_target : bool
        Whether each target has its own alpha. All share the kernel with the best mean score.
    store_cv_results : bool
        Whether to keep `cv_results_`; with leave-one-out only.
    optimize : bool
        With ``alpha="marginal_likelihood"``: whether to continue from the best grid point to a local maximum in alpha
        and all differentiable kernel parameters (one lengthscale per feature, scales and weights of composite kernels).
        O(n³) per step.
    gram : str or Representation
        How the kernel matrix is stored or approximated. Rank r costs O(nr²); a lazy matrix is formed in full.
    random_state, time_budget
        As in `KernelRidge`.

    Attributes
    ----------
    alpha_ : float, or array of shape (n_targets,)
    kernel_ : Kernel
        The chosen alpha and kernel.
    best_score_ : float, or array of shape (n_targets,)
    scores_ : array of shape (n_kernels, n_alphas), or (n_kernels, n_alphas, n_targets)
        All scores.
    kernels_ : list of Kernel
        The kernels of `scores_`, with data-driven parameters resolved.
    cv_results_ : array of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Squared leave-one-out errors with the chosen kernel (with `scoring`: the predictions).
    dual_coef_, free_coef_, intercept_, function_, X_fit_, solution_, gram_choice_
        As in `KernelRidge`.

    See Also
    --------
    KernelRidge : fixed alpha, with the same `predict`, `leave_one_out`, `log_marginal_likelihood` and `summary`.

    Notes
    -----
    O(n³) per kernel, or O(nr²) for a matrix of (numerical) rank r; then O(nr) per alpha, and O(m²r) per alpha and fold
    of m samples. A full matrix is only reduced to a tridiagonal one, K = QTQᵀ, without computing eigenvectors: with
    T + αI = LDLᵀ, one sweep of L over Q gives the diagonal of (K + αI)⁻¹, which leave-one-out needs. A sample that
    alone determines a free function has hᵢᵢ = 1 and is refused.

    References
    ----------
    Golub, Heath, Wahba, *Generalized cross-validation as a method for choosing a good ridge parameter* (1979); Wahba,
    *Spline Models for Observational Data* (1990); Gu, Bates, Chen, Wahba, *The computation of generalized
    cross-validation functions through Householder tridiagonalization* (1989); Rasmussen, Williams, *Gaussian Processes
    for Machine Learning* (2006).

    Examples
    --------
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * np.cos(40 * X[:, 0])
    >>> model = KernelRidgeCV(kernel=[f"gaussian(lengthscale={s})" for s in (0.01, 0.5, 50.0)]).fit(X, y)
    >>> str(model.kernel_), model.scores_.shape
    ('gaussian(lengthscale=0.5)', (3, 10))
    >>> bool(np.isclose(model.best_score_, -np.mean((y - model.leave_one_out()) ** 2)))
    True
    """

    alpha_per_target: bool = False

    def plain_form(self) -> KernelRidge:
        """`KernelRidge` with the chosen alpha."""
        given = {name: getattr(self, name) for name in ("fit_intercept", "free", "gram", "random_state")}
        return KernelRidge(self.alpha_, **given)

    def fit(self, X: Data, y: Array, sample_weight: Array = None, groups: Array = None) -> Self:
        """Select alpha and the kernel, and fit to samples X and targets y; `groups` are passed to the splitter."""
        X, y = self._check_fit(X, y, multi_output=True, y_numeric=True)
        self._search(X, y, y, self._check_weight(sample_weight, X), groups)
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class KernelRidgeClassifierCV(RidgeSearch, RidgeClassifier):
    r"""Classification by kernel ridge regression on labels ±1, with closed-form selection of alpha and the kernel.

    .. math:: \min_{f \in H,\, c}\; \tfrac12 \sum_i w_i \Big(y_i - f(x_i) - \sum_b c_b h_b(x_i)\Big)^2
              + \tfrac{\alpha}{2} \|f\|_H^2, \qquad y_i = \pm 1

    With more than two classes, one function per class is fitted against the rest, and the largest value wins. Alpha and
    the kernel maximise the leave-one-out accuracy (or another score), as in `KernelRidgeCV`, without refitting.

    Parameters
    ----------
    alphas, alpha, kernel, fit_intercept, free, cv, store_cv_results, optimize, gram, random_state, time_budget
        As in `KernelRidgeCV`.
    scoring : str, callable or None
        A scikit-learn scorer; None means accuracy. Scorers that need probabilities are not available.
    class_weight : dict, "balanced" or None
        Factors on the sample weights of each class, in the fit and in the scores.

    Attributes
    ----------
    classes_ : array
    alpha_, kernel_, best_score_, scores_, kernels_
        As in `KernelRidgeCV`.
    cv_results_ : array of shape (n_samples, n_alphas) or (n_samples, n_classes, n_alphas)
        The leave-one-out decision values with the chosen kernel.
    dual_coef_, free_coef_, intercept_, function_, X_fit_, solution_, gram_choice_
        As in `KernelRidge`.

    Notes
    -----
    Many alphas have equal accuracy; the first of them in `alphas` is chosen.

    References
    ----------
    Rifkin, Lippert, *Notes on regularized least squares* (2007).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]])
    >>> model = KernelRidgeClassifierCV(kernel="gaussian(lengthscale=2.0)").fit(X, list("aaabbb"))
    >>> model.best_score_, model.predict([[0.5], [6.5]])
    (1.0, array(['a', 'b'], dtype='<U1'))
    """

    class_weight: ClassWeight = None

    def chosen_parameters(self) -> dict[str, Any]:
        """The chosen alpha, as parameters."""
        return {"alphas": [self.alpha_], "optimize": False}

    def fit(self, X: Data, y: Array, sample_weight: Array = None, groups: Array = None) -> Self:
        """Select alpha and the kernel, and fit to samples X with labels y; `groups` are passed to the splitter."""
        X, y = self._check_fit(X, y)
        target, weight = self._encode(y, self._check_weight(sample_weight, X), low=-1.0)
        self._search(X, y, target, weight, groups)
        return self
