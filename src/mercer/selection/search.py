"""Grid and random search by cross-validation with shared kernel matrices."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from os import PathLike
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.callback import with_callbacks
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler, check_cv
from sklearn.model_selection._validation import _insert_error_scores, _warn_or_raise_about_fit_failures
from sklearn.utils import Bunch, check_random_state, get_tags, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from .._array import host, on_host
from .._errors import check_number, require_target, where
from .._folds import drawn
from ..context import Context, Status, kept
from ..types import Array, Data, EstimatorLike, RandomState, Splitter
from ._cells import Cell, Work
from ._sample import report


@dataclass(eq=False, repr=False)
class KernelSearchCV(GridSearchCV):
    r"""Parameter search by cross-validation that computes each kernel matrix once.

    A drop-in replacement for scikit-learn's `GridSearchCV` and `RandomizedSearchCV`, with the same splits, training
    data, kernel parameters and results. It computes each kernel matrix once for all folds and all values of the other
    parameters (C, epsilon, nu, alpha, class_weight, …). For radial kernels with one lengthscale it computes squared
    distances once for all bandwidths.

    Parameters
    ----------
    estimator : estimator
        Any estimator. Work is shared for the kernel methods of this library.
    param_grid : dict or list of dict
        Values of each parameter, or, with `n_iter`, distributions with a method ``rvs``. Parameters of a Kernel have
        nested names, such as ``kernel__lengthscale``.
    scoring : str, callable, list, tuple, dict or None
        As in `GridSearchCV`. A plain function of (estimator, X, y) may use X, so it gets the samples themselves and
        no matrix is shared; scorers from ``make_scorer`` allow sharing.
    cv : int, splitter or iterable of splits
    n_iter : int, optional
        Number of settings to draw at random. None tries all.
    refit : bool, str or callable
        Whether, or by which score, to refit the best setting on all samples.
    n_jobs : int, optional
        Threads; None means 1.
    random_state : int, RandomState or None
        For `n_iter` and `max_samples`.
    error_score : "raise" or number
        Score of a fit that fails.
    return_train_score : bool
    memory : int
        Bytes for squared distances, kernel matrices and their blocks. If too small, each fit computes its own matrix.
    time_budget : float > 0, optional
        Time limit in seconds for the fits of all folds. Fits that do not start in time score NaN, and a warning reports
        how many; the best setting is among those tried in all folds. The final fit to all samples is not included.
        Fits of other libraries are not interrupted once started.
    checkpoint : path, optional
        A file for finished fits. A new search on the same samples, with the same estimator, settings and splits,
        resumes from it; the file of a different search is rejected, with the difference. Fixed seeds in the splitter
        and `random_state` make searches the same. If writing fails later, the search warns and continues.
    max_samples : int >= 2, optional
        If there are more samples, the settings are tried on a random subset of this size, stratified by class for
        classifiers. The best is fitted to all samples. The cost of a fit grows with the square or the cube of the
        sample size, while the ranking of settings changes little.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As in `GridSearchCV`.
    sharing_ : dict
        ``fits``: number of fits on blocks of shared matrices; ``matrices`` and ``distances``: numbers computed for
        them; ``plain``: number of fits that computed their own matrix, by reason. Fits from a checkpoint do not count.

    Notes
    -----
    *What is shared.* Parameters that depend on the data (``gamma="scale"``, ``lengthscale="median"``) are estimated on
    the training part of each fold, as in plain cross-validation. Folds with different values have different matrices,
    each shared by the settings of the other parameters. A fit computes its own matrix, with the reason in `sharing_`,
    if the estimator has no precomputed form, if its `gram` is not "auto" or "dense", if a free part needs the samples
    (``free=1``), if the scoring is a function, if the whole sample is rejected, or if memory is short.

    *Devices.* For samples on a CUDA device with Triton, settings of `SVC` that differ only in C are solved there, for
    all folds together, on a matrix in single precision; other fits are plain. `memory` does not apply: matrices use up
    to half of the device's memory.

    *Equality.* A kernel is a function of two samples, so the matrices of the folds are blocks of the matrix of all
    samples. Solutions agree up to rounding or, for iterative methods, up to their ``tol``.

    *Cost.* One matrix per kernel, O(n²d), or O(n²) from known distances, besides the fits. Settings of `SVC` that
    differ only in C are solved together for each fold: all pairs of classes from the smallest C to the largest, with
    warm starts, in double precision (`mercer.solvers.fit.many`), for pairs of classes with up to 2,048 samples.

    *Early stopping.* Ctrl-C ends the whole search, not only the running fit. With ``refit=False`` the search keeps the
    scores of the finished fits; otherwise `fit` leaves the object unchanged. The checkpoint has the finished fits.

    References
    ----------
    Hsu, Chang, Lin, *A practical guide to support vector classification* (2003), section 3.2, for the grid.

    Examples
    --------
    >>> from mercer import SVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4
    >>> search = KernelSearchCV(SVC(), {"C": [1, 10, 100], "gamma": [0.01, 0.1, 1]}).fit(X, y)
    >>> search.sharing_
    {'fits': 45, 'matrices': 3, 'distances': 1, 'plain': {}}
    >>> bool(search.best_score_ > 0.9)
    True
    """

    verbose = 0
    pre_dispatch = "2*n_jobs"

    estimator: EstimatorLike
    param_grid: Any
    _: KW_ONLY
    scoring: Any = None
    cv: Splitter = None
    n_iter: int | None = None
    refit: Any = True
    n_jobs: int | None = None
    random_state: RandomState = None
    error_score: Any = np.nan
    return_train_score: bool = False
    memory: int = 2 * 2**30
    time_budget: float | None = None
    checkpoint: str | PathLike[str] | None = None
    max_samples: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags = get_tags(self.estimator).target_tags
        return tags

    def _candidates(self) -> list[dict[str, Any]]:
        if self.n_iter is None:
            return list(ParameterGrid(self.param_grid))
        check_number(self, "n_iter", self.n_iter, at_least=1, integer=True)
        return list(ParameterSampler(self.param_grid, self.n_iter, random_state=self.random_state))

    def _run_search(self, evaluate_candidates: Callable[..., Any]) -> None:
        evaluate_candidates(self._candidates())

    @kept
    @with_callbacks
    def fit(self, X: Data, y: Array = None, **params: Any) -> Self:
        """Try all settings and, with `refit`, fit the best on all samples.

        Parameters
        ----------
        X : collection of n samples, or an (n, n) matrix for a precomputed kernel
        y : array of n targets, optional
        **params : dict
            ``groups`` for the splitter; the rest goes to the estimator's `fit`, with arrays of length n split by fold.
        """
        self._validate_params()
        check_number(self, "memory", self.memory, above=0)
        check_number(self, "time_budget", self.time_budget, above=0, besides=(None,))
        if get_tags(self.estimator).target_tags.required:
            require_target(self, y)
        if get_config()["enable_metadata_routing"]:
            return self._fit_plainly(X, y, params)
        scorers, metric = self._get_scorers()
        X, y = indexable(X, y)
        routed = self._get_routed_params_for_fit(params)
        tried = self._drawn(X, y, routed)
        targets = tried.y if on_host(tried.y) else host(tried.y)
        splitter = check_cv(self.cv, targets, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(tried.X, targets, **tried.routed.splitter.split))
        work = Work(self, tried.X, tried.y, scorers, splits, tried.routed)
        context = Context(self.time_budget, self)
        context.begin(None, X=X, y=y)
        cells = work.finish(context)
        out = [cells.get(cell) or work.missing(cells) for cell in work.cells]
        if not out:
            raise ValueError(f"{where(self)}: there are no settings or no splits to try.")
        _warn_or_raise_about_fit_failures(out, self.error_score)
        if callable(self.scoring):
            _insert_error_scores(out, self.error_score)
        if len(cells) < len(out) and not work.interrupted:
            self._report_late(work, cells, context)
        several = isinstance(out[0]["test_scores"], dict)
        results = self._format_results(work.candidates, len(work.splits), out)
        if callable(self.scoring) and several:
            self._check_refit_for_multimetric(out[0]["test_scores"])
            metric = self.refit
        best = self._select_best_index(self.refit, metric, results) if self.refit or not several else None
        self._keep(X, y, routed.estimator.fit, results, metric, best)
        self.multimetric_, self.n_splits_ = several, len(work.splits)
        self.scorer_ = scorers._scorers if isinstance(scorers, _MultimetricScorer) else scorers
        self.sharing_ = work.sample.report()
        context.close()
        if work.interrupted:
            raise KeyboardInterrupt
        return self

    def _drawn(self, X: Data, y: Array, routed: Any) -> Bunch:
        """The samples on which settings are tried, with their targets and fit parameters."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        check_number(self, "max_samples", self.max_samples, at_least=2, integer=True, besides=(None,))
        if self.max_samples is None or n <= self.max_samples:
            return Bunch(X=X, y=y, routed=routed)
        if not (self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split")):
            raise ValueError(f"{where(self)}: cv lists indices of all samples; with max_samples, pass a splitter.")
        labels = np.asarray(host(y)) if is_classifier(self.estimator) and np.ndim(y) == 1 else None
        part = drawn(n, self.max_samples, check_random_state(self.random_state).permutation(n), labels)

        def of_part(params: dict[str, Any]) -> dict[str, Any]:
            return _check_method_params(X, params=params, indices=part)

        fit, score = of_part(routed.estimator.fit), of_part(routed.scorer.score)
        split = of_part(routed.splitter.split)
        own = Bunch(estimator=Bunch(fit=fit), scorer=Bunch(score=score), splitter=Bunch(split=split))
        of_X, of_y = _safe_split(self.estimator, X, y, part)
        return Bunch(X=of_X, y=of_y, routed=own)

    def _fit_plainly(self, X: Data, y: Array, params: dict[str, Any]) -> Self:
        """Use scikit-learn's own search, which routes metadata."""
        for name in ("time_budget", "checkpoint", "max_samples"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{where(self)}: {name} = {getattr(self, name)!r} has no effect while metadata routing is enabled; "
                    f"leave {name} at None."
                )
        super().fit(X, y, **params)
        fits = len(self.cv_results_["params"]) * int(self.n_splits_)
        self.sharing_ = report(plain={"metadata routing is enabled": fits})
        return self

    def _report_late(self, work: Work, cells: dict[Cell, Any], context: Context) -> None:
        """Warn about fits that did not start in time; raise if no setting was tried in all folds."""
        reason, advice = f"the time budget of {self.time_budget or 0:g} s was spent", "Raise time_budget"
        if context.stopped:
            reason, advice = str(Status.STOPPED), "Let the callback stop later"
        message = f"{where(self)}: {reason} before"
        remedy = advice + (", or search again to resume from the checkpoint." if self.checkpoint else ".")
        counts = Counter(candidate for candidate, _ in cells)
        if self.refit and len(work.splits) not in counts.values():
            raise TimeoutError(f"{message} any setting was tried in all folds. {remedy}")
        late = len(work.cells) - len(cells)
        warnings.warn(f"{message} {late} of {len(work.cells)} fits, whose score is NaN. {remedy}", stacklevel=3)

    def _keep(self, X: Data, y: Array, params: dict[str, Any], results: Any, metric: Any, best: int | None) -> None:
        """Refit the best setting, and store the results."""
        if self.refit:
            model = clone(self.estimator).set_params(**clone(results["params"][best], safe=False))
            started = perf_counter()
            model.fit(X, *(() if y is None else (y,)), **params)
            self.refit_time_ = perf_counter() - started
            self.best_estimator_ = model
            if hasattr(model, "feature_names_in_"):
                self.feature_names_in_ = model.feature_names_in_
        self.cv_results_ = results
        if best is not None:
            self.best_index_, self.best_params_ = best, results["params"][best]
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{metric}"][best]
