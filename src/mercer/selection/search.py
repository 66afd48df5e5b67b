"""Grid and random search by cross-validation in which the fits share kernel matrices.

scikit-learn's search does the bookkeeping, on indices instead of samples: a `_Cell` stands for the estimator and turns
indices into blocks of a matrix that the `_Sample` holds, or into samples where nothing can be shared.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from inspect import signature
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs, parallel_config
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler, check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import _safe_split
from threadpoolctl import threadpool_limits

from .. import _tiles
from .._array import host, namespace
from .._errors import check_number, where
from ..domains import Rows
from ..kernels import Definiteness, Kernel, Precomputed
from ..kernels._base import _same
from ..kernels._radial import Radial
from ..methods import SVC
from ..methods._base import KernelEstimator

__all__ = ["KernelSearchCV"]

INTERRUPTED = "interrupted"  # the message of `mercer._progress.Deadline` after Ctrl-C
OF_THE_KERNEL = ("kernel", "gamma", "degree", "coef0", "kernel_params")
# what is known to leave the kernel as it is; a parameter in neither list may change it
NOT_OF_THE_KERNEL = {
    *("C", "alpha", "break_ties", "cache_size", "class_weight", "decision_function_shape", "epsilon", "fit_intercept"),
    *("max_iter", "n_jobs", "nu", "random_state", "shrinking", "solver", "time_budget", "tol", "verbose"),
}


class KernelSearchCV(GridSearchCV):
    r"""Search over parameters by cross-validation that computes each kernel matrix once.

    A drop-in for scikit-learn's `GridSearchCV` and `RandomizedSearchCV` with the same splits, training data, kernel
    parameters and results. The matrix of a kernel setting is computed once for all folds and all values of the other
    parameters (C, epsilon, nu, alpha, class_weight, …); for radial kernels with one lengthscale, squared distances are
    computed once for all bandwidths.

    Parameters
    ----------
    estimator : estimator
        Any; work is shared for the kernel methods of this library.
    param_grid : dict or list of dict
        Values of each parameter; with `n_iter` also distributions, which have ``rvs``. Parameters of a Kernel have
        nested names, ``kernel__lengthscale``.
    scoring : str, callable, list, tuple, dict or None
        As in `GridSearchCV`. A plain function of (estimator, X, y) may look at X, so that it is given the estimator and
        the samples themselves, and nothing is shared; ``make_scorer`` makes one that shares.
    cv : int, splitter or iterable of splits
    n_iter : int, optional
        Draw so many settings at random, instead of trying all.
    refit : bool, str or callable
        Whether, or by which score, to fit the best setting on all samples.
    n_jobs : int, optional
        Threads; None means 1.
    random_state : int, RandomState or None
        For `n_iter`.
    error_score : "raise" or number
        Score of a fit that fails.
    return_train_score : bool
    memory : int
        Bytes for squared distances, kernel matrices and their blocks. If fewer would fit than the work needs, each fit
        computes its own matrix.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As in `GridSearchCV`.
    sharing_ : dict
        ``fits`` on blocks of shared matrices; ``matrices`` and ``distances``, how many were computed for them;
        ``plain``, how many fits computed their own, by reason.

    Notes
    -----
    *What is shared.* Parameters that depend on the data (``gamma="scale"``, ``lengthscale="median"``) are found on the
    training part of each fold, as in plain cross-validation; folds with different values have different matrices, each
    shared by the settings of the other parameters. A fit is plain, with the reason in `sharing_`, if the estimator has
    no precomputed form, if its `gram` is not "auto" or "dense", if a free part needs the samples (``free=1``), for a
    scoring function, for data on a device, if a kernel or the whole sample is refused, or for want of memory.

    *Equality.* A kernel is a function of two samples, so blocks of the matrix of all samples are the matrices of the
    folds, up to rounding; solutions are the same up to rounding or, of iterative methods, up to their ``tol``.

    *Cost.* One matrix a kernel, O(n²d) or O(n²) after the distances, beside the fits. `SVC` with up to 2,048 training
    samples is solved in compiled code on the matrix itself, in double precision. Ctrl-C leaves the search as it was
    before `fit`.

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

    n_splits_: int
    verbose = 0
    pre_dispatch = "2*n_jobs"

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        cv: Any = None,
        n_iter: int | None = None,
        refit: Any = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        memory: int = 2 * 2**30,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.cv = cv
        self.n_iter = n_iter
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.memory = memory

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

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Try all settings and, with `refit`, fit the best on all samples.

        Parameters
        ----------
        X : collection of n samples, or an (n, n) matrix for a precomputed kernel
        y : array of n targets, optional
        **params : dict
            ``groups`` for the splitter; the rest for the estimator's `fit`, arrays of length n by folds.
        """
        self._validate_params()
        check_number(self, "memory", self.memory, above=0)
        if y is None and get_tags(self.estimator).target_tags.required:
            raise ValueError(f"{where(self)} requires y to be passed, but the target y is None.")
        if get_config()["enable_metadata_routing"]:
            super().fit(X, y, **params)
            fits = len(self.cv_results_["params"]) * int(self.n_splits_)
            self.sharing_ = _report(plain={"metadata routing is enabled": fits})
            return self
        scorers, metric = self._get_scorers()
        X, y = indexable(X, y)
        groups = params.pop("groups", None)
        splits = list(check_cv(self.cv, y, classifier=is_classifier(self.estimator)).split(X, y, groups))
        candidates = self._candidates()
        several = getattr(scorers, "_scorers", None)  # by name, where they come in one object
        made = [hasattr(scorer, "_score_func") for scorer in (several or {"score": scorers}).values()]
        sample = _Sample(X, self.memory, effective_n_jobs(self.n_jobs), self.scoring is None or all(made))
        order = _by_kernel(candidates)
        inner = GridSearchCV(
            _Cell(self.estimator, sample),
            [{name: [value] for name, value in candidates[i].items()} for i in order],
            scoring=_Scorer(scorers) if several is None else {name: _Scorer(s) for name, s in several.items()},
            n_jobs=self.n_jobs,
            refit=False,
            cv=splits,
            error_score=self.error_score,
            return_train_score=self.return_train_score,
        )
        with ExitStack() as stack:
            if sample.workers > 1 or isinstance(self.estimator, SVC):
                # fits that limit BLAS and restore it at the same time would leave it limited; blocks of SVC are small
                stack.enter_context(threadpool_limits(1, user_api="blas"))
            stack.enter_context(parallel_config(backend="threading"))
            inner.fit(sample.everything, y, **params)
        results = _reordered(inner.cv_results_, np.argsort(order))
        if callable(self.scoring) and inner.multimetric_:
            self._check_refit_for_multimetric({key.removeprefix("mean_test_") for key in results if "mean_test" in key})
            metric = self.refit
        best = self._select_best_index(self.refit, metric, results) if self.refit or not inner.multimetric_ else None
        self._keep(X, y, params, results, metric, best)
        self.multimetric_, self.n_splits_ = inner.multimetric_, inner.n_splits_
        self.scorer_ = scorers if several is None else several
        self.sharing_ = sample.report()
        return self

    def _keep(self, X: Any, y: Any, params: dict[str, Any], results: Any, metric: Any, best: int | None) -> None:
        """Refit the best setting, and store what was found."""
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


def _report(fits: int = 0, matrices: int = 0, distances: int = 0, plain: Any = None) -> dict[str, Any]:
    return {"fits": fits, "matrices": matrices, "distances": distances, "plain": dict(plain or {})}


def _reordered(results: dict[str, Any], place: np.ndarray) -> dict[str, Any]:
    return {key: [v[i] for i in place] if isinstance(v, list) else v[place] for key, v in results.items()}


def _by_kernel(candidates: list[dict[str, Any]]) -> np.ndarray:
    """The order in which settings with the same kernel follow each other."""
    seen: list[dict[str, Any]] = []
    own = [{name: v for name, v in params.items() if name not in NOT_OF_THE_KERNEL} for params in candidates]
    return np.argsort([_position(seen, values) for values in own], kind="stable")


class _SquaredDistance(Radial):
    """‖x − y‖², with the accuracy and the tiles of a kernel."""

    def profile(self, s: Any, xp: Any) -> Any:
        return s


class _Matrix(NamedTuple):
    """k(X), and what is proven of k in the dimension of X."""

    K: Any
    claim: Definiteness


class _Sample:
    """All samples, and what was computed of them: squared distances, and the kernel matrices used last."""

    def __init__(self, X: Any, memory: int, workers: int, answers_only: bool):
        self.X, self.memory, self.workers, self.answers_only = X, memory, workers, answers_only
        self.everything = np.arange(len(X) if not hasattr(X, "shape") else X.shape[0])
        self.lock = threading.Lock()
        self.settings: list[dict[str, Any]] = []
        self.kernels: dict[tuple[int, bytes], Kernel] = {}  # of a setting on a training part
        self.held: list[tuple[Kernel, _Matrix | str]] = []  # of each kernel the matrix, or why there is none
        self.distances: Any = None
        self.shared = self.matrices = 0
        self.plain: Counter[str] = Counter()

    def report(self) -> dict[str, Any]:
        return _report(self.shared, self.matrices, int(self.distances is not None), self.plain)

    def machine(self, estimator: Any, train: np.ndarray) -> tuple[Any, Any]:
        """The estimator for a training part, and the data that its samples are taken from."""
        with self.lock:
            reason = self._obstacle(estimator)
            if not reason:
                try:
                    kernel = self._kernel(estimator, train)
                    found = self._matrix(estimator, kernel)
                    if isinstance(found, _Matrix):
                        machine, data = self._on(estimator, train, found)
                        self.shared += 1
                        return machine, data
                    reason = found
                except Exception as error:  # whatever it is, the plain fit will meet it or not, as it should
                    reason = _first_line(error)
            self.plain[reason] += 1
        return clone(estimator), self.X

    def _on(self, estimator: KernelEstimator, train: np.ndarray, found: _Matrix) -> tuple[Any, Any]:
        if isinstance(estimator, SVC):
            from ._pairs import SVCOnMatrix

            if SVCOnMatrix.suits(estimator, len(train)):
                return SVCOnMatrix.of(estimator, found.claim, found.K), self.everything
        return _precomputed(estimator, found.claim), found.K

    def _obstacle(self, estimator: Any) -> str:
        """Why a fit cannot use a shared matrix; empty if it can."""
        if not isinstance(estimator, KernelEstimator):
            return f"{where(estimator)} has no precomputed form"
        if not self.answers_only:
            return "scoring is a function, which may look at the samples"
        if not (isinstance(estimator.gram, str) and estimator.gram in ("auto", "dense")):
            return "gram is neither 'auto' nor 'dense'"
        if getattr(estimator, "free", None) not in (None, 0):
            return "the free part is a function of the samples"
        if not _tiles.on_host(self.X):
            return "the samples are not on the host"
        if self._capacity() < 1:
            return f"matrices of {len(self.everything)} × {len(self.everything)} do not fit into memory = {self.memory}"
        return ""

    def _capacity(self) -> int:
        """How many matrices may be held beside the squared distances and a block for each worker."""
        return int(self.memory // (8 * len(self.everything) ** 2)) - 1 - self.workers

    def _kernel(self, estimator: KernelEstimator, train: np.ndarray) -> Kernel:
        """The kernel as a fit on the training part would resolve it."""
        own = {name: v for name, v in estimator.get_params(deep=False).items() if name not in NOT_OF_THE_KERNEL}
        key = _position(self.settings, own), train.tobytes()
        if key not in self.kernels:
            probe = clone(estimator)
            if isinstance(probe._kernel(1).domain, Rows):
                raise ValueError("the kernel matrix is given")
            probe._check_sample(_safe_split(probe, self.X, None, train)[0])
            self.kernels[key] = probe.kernel_
        return self.kernels[key]

    def _matrix(self, estimator: KernelEstimator, kernel: Kernel) -> _Matrix | str:
        """The matrix of all samples, or the reason why there is none; the last used ones are kept."""
        place = next((i for i, (k, _) in enumerate(self.held) if k == kernel), None)
        if place is not None:
            self.held.append(self.held.pop(place))
            return self.held[-1][1]
        del self.held[: max(0, len(self.held) + 1 - self._capacity())]
        found: _Matrix | str
        try:
            X, _ = clone(estimator)._check_data(kernel, self.X, None, reset=True)
            claim = kernel.definiteness_in(kernel.domain.dimension(X))
            found = _Matrix(self._compute(kernel, X), claim)
            self.matrices += 1
        except Exception as error:
            found = _first_line(error)
        self.held.append((kernel, found))
        return found

    def _compute(self, kernel: Kernel, X: Any) -> Any:
        if not _of_distances(kernel):
            return kernel(X)
        if self.distances is None:
            self.distances = _SquaredDistance()(X)
        kernel.validate()
        length = float(host(kernel.lengthscale))
        s = self.distances / length
        s /= length
        return kernel.profile(s, namespace(s))


def _position(seen: list[dict[str, Any]], values: dict[str, Any]) -> int:
    """Where equal values stand in a list, to which they are added otherwise."""
    for place, other in enumerate(seen):
        if other.keys() == values.keys() and all(_same(other[name], values[name]) for name in values):
            return place
    seen.append(values)
    return len(seen) - 1


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0] or type(error).__name__


def _of_distances(kernel: Kernel) -> bool:
    """Whether a kernel is its profile of squared distances over one squared lengthscale."""
    own = type(kernel)
    return (
        isinstance(kernel, Radial)
        and (own.evaluate, own.scaled) == (Radial.evaluate, Radial.scaled)
        and np.ndim(host(kernel.lengthscale)) == 0
    )


def _precomputed(estimator: KernelEstimator, claim: Definiteness) -> KernelEstimator:
    """The estimator with the kernel's values, and what is proven of it, in place of the kernel."""
    defaults = signature(type(estimator)).parameters
    names = [name for name in OF_THE_KERNEL[1:] if name in estimator.get_params(deep=False)]
    form = clone(estimator).set_params(**{name: defaults[name].default for name in names}, kernel=Precomputed(claim))
    if not isinstance(form._kernel(1).domain, Rows):
        raise ValueError(f"{where(estimator)} has no precomputed form")
    return form


def _was_interrupted(machine: Any) -> bool:
    """Whether Ctrl-C ended a fit that, on its own, is content with what it has then."""
    parts = [machine, *(machine.get_params().values() if hasattr(machine, "get_params") else ())]
    solutions = [s for part in parts for s in getattr(part, "solutions_", ())]
    return any(solution.message == INTERRUPTED for solution in solutions)


class _Cell:
    """Stands for the estimator in scikit-learn's search, where samples are indices."""

    machine: Any
    data: Any
    train: np.ndarray

    def __init__(self, estimator: Any, sample: _Sample):
        self.estimator, self.sample = estimator, sample

    def __sklearn_clone__(self) -> _Cell:
        return _Cell(clone(self.estimator), self.sample)

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(self.estimator)
        tags.input_tags.pairwise = False
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return self.estimator.get_params(deep)

    def set_params(self, **params: Any) -> Self:
        self.estimator.set_params(**params)
        return self

    def fit(self, index: np.ndarray, y: Any = None, **params: Any) -> Self:
        self.machine, self.data = self.sample.machine(self.estimator, index)
        self.train = index
        self.machine.fit(self.samples(index), *(() if y is None else (y,)), **params)
        if _was_interrupted(self.machine):
            raise KeyboardInterrupt
        return self

    def samples(self, index: np.ndarray) -> Any:
        """The samples themselves, their rows of the matrix, or, for machines on the matrix, their indices."""
        if self.data is self.sample.everything:
            return index
        return _safe_split(self.machine, self.data, None, index, self.train)[0]


class _Scorer:
    """A scorer, called with the estimator and samples that a cell and indices stand for."""

    def __init__(self, scorer: Any):
        self.scorer = scorer

    def __call__(self, cell: _Cell, index: np.ndarray, *y: Any, **params: Any) -> Any:
        return self.scorer(cell.machine, cell.samples(index), *y, **params)

    def _accept_sample_weight(self) -> bool:
        """Asked by scikit-learn's search before it hands on weights."""
        if hasattr(self.scorer, "_accept_sample_weight"):
            return self.scorer._accept_sample_weight()
        return "sample_weight" in signature(self.scorer).parameters
