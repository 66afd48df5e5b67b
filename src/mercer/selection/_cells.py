"""The cells of a search, each a setting and a fold, and their results.

Settings that differ only in the estimator's `path_parameter` are solved together if it has a `path_form`. All others
are fitted and scored by scikit-learn's function, with indices in place of samples: a `_Cell` replaces the estimator and
turns indices into blocks of a matrix held by `Sample`, or into samples if nothing can be shared.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection._validation import _fit_and_score, _score
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params

from .. import _threads
from .._array import host
from .._checkpoint import Checkpoint
from .._errors import where
from ..context import Context
from ..types import Array, Data, EstimatorLike
from ._sample import NOT_OF_THE_KERNEL, Sample, position
from ._work import run

Cell = tuple[int, int]  # setting and fold
ANSWERS = {"decision_function", "predict", "predict_log_proba", "predict_proba", "score_samples", "transform"}
SCORES, COUNTS = ("test_scores", "train_scores"), ("n_test_samples", "fit_time", "score_time")  # of a cell


class Work:
    """The cells of a search, each a setting and a fold, and their inputs."""

    def __init__(self, search: Any, X: Data, y: Array, scorers: Any, splits: list[Any], routed: Any):
        self.search, self.X, self.y, self.scorers, self.splits = search, X, y, scorers, splits
        self.fit_params, self.score_params = routed.estimator.fit, routed.scorer.score
        self.candidates = search._candidates()
        self.along: str = getattr(search.estimator, "path_parameter", "")
        self.cells = [(i, s) for i in range(len(self.candidates)) for s in range(len(splits))]
        self.stop, self.interrupted = np.zeros(1), False
        several = getattr(scorers, "_scorers", None)  # by name, if several are in one object
        made = [hasattr(scorer, "_score_func") for scorer in (several or {"score": scorers}).values()]
        _threads.check_jobs(search, search.n_jobs)
        workers = effective_n_jobs(search.n_jobs)
        self.sample = Sample(X, search.memory, workers, search.scoring is None or all(made))
        self.scorer: Any = _Scorer(scorers)
        if several is not None:
            own = {name: _Scorer(scorer) for name, scorer in several.items()}
            self.scorer = _MultimetricScorer(scorers=own, raise_exc=search.error_score == "raise")
        self.accuracy = search.scoring is None or (isinstance(search.scoring, str) and search.scoring == "accuracy")

    def finish(self, context: Context) -> dict[Cell, dict[str, Any]]:
        """Results of the cells completed in time."""
        search = self.search
        about = {
            "the samples": self.X,
            "the targets": self.y,
            "the estimator's parameters": (
                type(search.estimator).__qualname__,
                search.estimator.get_params(deep=False),
            ),
            "the settings": self.candidates,
            "the splits": self.splits,
            "the scores": (search.scoring, search.return_train_score, search.error_score),
            "the parameters of fit": self.fit_params,
        }
        checkpoint = None if search.checkpoint is None else Checkpoint(search.checkpoint, where(search), about)
        found = self._saved(checkpoint) if checkpoint is not None else {}

        def save() -> None:
            if checkpoint is not None:
                cells = [[*cell, result] for cell, result in found.items()]
                text = json.dumps(cells, default=lambda number: number.item())
                checkpoint.put("cells", {"json": np.array(text)}, done=True)
                checkpoint.write()

        def receive(results: dict[Cell, dict[str, Any]]) -> None:
            found.update(results)
            context({"done": len(found)})
            if checkpoint is not None and checkpoint.due:
                save()

        save()  # fail early if the file cannot be written

        tasks = self._tasks(found)
        with ExitStack() as stack:
            if self.sample.workers > 1 or self.along:  # workers share the cores, and the blocks of a path are small
                stack.enter_context(_threads.one_blas_thread)
            try:
                run(tasks, self._evaluate, receive, self.sample.workers, context, self.stop)
            except KeyboardInterrupt:
                self.interrupted = True
                if search.refit:  # a search without its best estimator would be half fitted
                    raise
            finally:
                save()
        return found

    def _saved(self, checkpoint: Checkpoint) -> dict[Cell, dict[str, Any]]:
        """The results in a checkpoint, checked to belong to these cells."""
        saved = checkpoint.get("cells")
        try:
            cells = json.loads(str(saved["json"])) if saved else []
            found = {(c, s): result for c, s, result in cells}
            sane = found.keys() <= set(self.cells) and all(map(self._is_result, found.values()))
            done = [r["test_scores"] for r in found.values() if r["fit_error"] is None]
            sane = sane and all(_names(scores) == _names(done[0]) for scores in done)
        except (KeyError, TypeError, ValueError, RecursionError):
            sane = False
        if not sane:
            raise checkpoint.error("holds results of a different search")
        return found

    def _is_result(self, result: Any) -> bool:
        scores = [result[name] for name in SCORES[: 1 + bool(self.search.return_train_score)]]
        named = [_names(part) for part in scores]
        several = getattr(self.scorers, "_scorers", None)
        if several is not None:
            sane = all(names == {*several} for names in named)
        else:  # only a user-defined function may return several
            sane = callable(self.search.scoring) or named[0] is None
        numbers = [v for part in scores for v in (part.values() if isinstance(part, dict) else [part])]
        numbers += [result[name] for name in COUNTS]
        sane &= all(isinstance(v, float) or (isinstance(v, int) and abs(v) < 2**63) for v in numbers)
        keys = {*SCORES[: len(scores)], *COUNTS, "fit_error"}
        return sane and named[0] == named[-1] and result.keys() == keys and isinstance(result["fit_error"], str | None)

    def missing(self, found: dict[Cell, dict[str, Any]]) -> dict[str, Any]:
        """The result of a cell that was not reached in time."""
        like = next((r["test_scores"] for r in found.values() if r["fit_error"] is None), np.nan)
        names = getattr(self.scorers, "_scorers", like)
        scores = dict.fromkeys(names, np.nan) if isinstance(names, dict) else np.nan
        result = {"fit_error": None, "test_scores": scores, "n_test_samples": 0}
        result |= {"fit_time": np.nan, "score_time": np.nan}
        return result | ({"train_scores": scores} if self.search.return_train_score else {})

    # ---- tasks

    def _tasks(self, found: dict[Cell, Any]) -> list[tuple[_Group | None, list[Cell]]]:
        """Cells to solve together, or one by one without a group; those of the same kernel are consecutive."""
        kernels: list[dict[str, Any]] = []
        rests: list[dict[str, Any]] = []
        groups: dict[tuple[int, int], list[int]] = {}
        for i, params in enumerate(self.candidates):
            kernel = {name: v for name, v in params.items() if name not in NOT_OF_THE_KERNEL}
            rest = {name: v for name, v in params.items() if name != self.along}
            groups.setdefault((position(kernels, kernel), position(rests, rest)), []).append(i)
        tasks: list[tuple[_Group | None, list[Cell]]] = []
        for _, settings in sorted(groups.items()):
            group, alone, joint = self._group(settings), list[Cell](), list[Cell]()
            for s in range(len(self.splits)):
                left = [(i, s) for i in (group.settings if group else settings) if (i, s) not in found]
                if group and self.sample.one_for_all(group.estimator):
                    joint += left
                elif group and (not self.sample.on_host or group.path.takes(self._counts[s])):
                    tasks += [(group, left)] if left else []
                else:
                    alone += left
            tasks += [(group, joint)] if joint else []
            tasks += [(None, [cell]) for cell in sorted(alone)]
        return tasks

    @cached_property
    def _counts(self) -> list[np.ndarray]:
        """The number of samples of each class in the training part of each fold."""
        assert self._labels is not None
        return [np.bincount(self._labels[1][train]) for train, _ in self.splits]

    def _group(self, settings: list[int]) -> _Group | None:
        """Settings along the path parameter, in increasing order, if they can be solved together."""
        watched = getattr(self.search.estimator, "_skl_callbacks", None)  # callbacks must see every fit
        if not self.along or watched or self._labels is None or self._weight is None:
            return None
        try:
            estimator = clone(self.search.estimator)
            estimator.set_params(**clone(self.candidates[settings[0]], safe=False))
        except Exception:  # the fit of each setting reports its own error
            return None
        strengths = [self.candidates[i].get(self.along, getattr(estimator, self.along)) for i in settings]
        path = estimator.path_form(strengths)
        if path is None or self.sample.obstacle(estimator, path=True):
            return None
        order = np.argsort(np.array(strengths, dtype=np.float64), kind="stable")
        return _Group(estimator, path, {settings[k]: float(strengths[k]) for k in order})

    @cached_property
    def _labels(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The classes, and the class index of each sample, if the targets are one-dimensional labels."""
        try:
            y = np.asarray(host(self.y))
            check_classification_targets(y)
            return np.unique(y, return_inverse=True) if y.ndim == 1 else None
        except Exception:
            return None

    @cached_property
    def _weight(self) -> np.ndarray | None:
        """Sample weights, or None if they are invalid or `fit` has other parameters."""
        given = self.fit_params.get("sample_weight")
        if self.fit_params.keys() - {"sample_weight"}:
            return None
        weight = np.ones(len(self.sample.everything)) if given is None else np.asarray(given)
        numbers = weight.shape == self.sample.everything.shape and weight.dtype.kind in "fiub"
        return weight.astype(np.float64) if numbers and np.all((weight >= 0) & (weight < np.inf)) else None

    # ---- results

    def _evaluate(self, task: tuple[_Group | None, list[Cell]]) -> dict[Cell, dict[str, Any]]:
        group, cells = task
        results = None if group is None else self._together(group, cells)
        return {cell: self._alone(cell) for cell in cells} if results is None else results

    def _alone(self, cell: Cell) -> dict[str, Any]:
        search, (i, s) = self.search, cell
        return _fit_and_score(
            clone(_Cell(search.estimator, self.sample)),
            self.sample.everything,
            self.y,
            scorer=self.scorer,
            train=self.splits[s][0],
            test=self.splits[s][1],
            verbose=0,
            parameters=self.candidates[i],
            fit_params=self.fit_params,
            score_params=self.score_params,
            return_train_score=search.return_train_score,
            return_n_test_samples=True,
            return_times=True,
            error_score=search.error_score,
        )

    def _together(self, group: _Group, cells: list[Cell]) -> dict[Cell, dict[str, Any]] | None:
        """Results of cells along a path, of one fold or of several with one kernel; None to fit them one by one."""
        assert self._labels is not None and self._weight is not None
        started, everything = perf_counter(), self.sample.everything
        wanted, splits = {i for i, _ in cells}, sorted({s for _, s in cells})
        settings = [i for i in group.settings if i in wanted]
        order = self.sample.order(self._labels[1])
        found = self.sample.find(group.estimator, everything[self.splits[splits[0]][0]], order)
        if isinstance(found, str) or not found.finite:
            return None
        K, place = found.K, np.argsort(order)
        if self.sample.on_host:
            K = np.ascontiguousarray(K, dtype=np.float64)
        trains, tests = ([place[everything[self.splits[s][k]]] for s in splits] for k in (0, 1))
        labels, y, weight = (values[order] for values in (self._labels[1], np.asarray(host(self.y)), self._weight))
        parts = [[train[labels[train] == c] for c in np.unique(labels[train])] for train in trains]
        strengths = np.array([group.settings[i] for i in settings])
        try:
            solved = group.path.solve(K, found.claim, parts, y, weight, strengths, self.stop)
        except ValueError:  # invalid class weights: each fit reports its own error
            return None
        if solved is None:
            return None
        if self.stop[0]:
            return {}
        share, fitted, results = 1 / len(cells), perf_counter(), {}
        for s, train, test, one in zip(splits, trains, tests, solved, strict=True):
            begun = perf_counter()
            scores = {"test_scores": self._scores(one, test, order)}
            scored = perf_counter()
            if self.search.return_train_score:
                scores["train_scores"] = self._scores(one, train, order)
            times = {"fit_time": share * (fitted - started), "score_time": (scored - begun) / len(settings)}
            common = {"fit_error": None, "n_test_samples": len(test)} | times
            for k, i in enumerate(settings):
                results[i, s] = common | {name: v[k] for name, v in scores.items()}
        self.sample.count("", len(cells))
        return {cell: results[cell] for cell in cells}

    def _scores(self, solved: Any, rows: np.ndarray, order: np.ndarray) -> list[Any]:
        """Scores of each fit of a path on some rows of its matrix, whose samples are in this order."""
        params = _check_method_params(self.sample.everything, params=self.score_params, indices=order[rows])
        y = host(_safe_indexing(self.y, order[rows]))
        if self.accuracy and not params:
            return (solved.labels(rows) == np.asarray(y)).mean(axis=1).tolist()
        return [_score(m, rows, y, self.scorers, params, self.search.error_score) for m in solved.machines(rows)]


class _Group(NamedTuple):
    """An estimator, its path, and the value of the path parameter, increasing, for each setting along it."""

    estimator: Any
    path: Any
    settings: dict[int, float]


class _Cell:
    """Replaces the estimator in scikit-learn's search, where samples are indices."""

    machine: Any
    data: Any
    train: np.ndarray

    def __init__(self, estimator: EstimatorLike, sample: Sample):
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

    def fit(self, index: np.ndarray, y: Array = None, **params: Any) -> Self:
        self.machine, self.data = self.sample.machine(self.estimator, index)
        self.train = index
        self.machine.fit(self.samples(index), *(() if y is None else (y,)), **params)
        return self

    def samples(self, index: np.ndarray) -> Any:
        """The samples themselves, or their rows of the matrix."""
        return _safe_split(self.machine, self.data, None, index, self.train)[0]


class _Scorer:
    """A scorer that maps a cell and indices to the estimator and samples."""

    def __init__(self, scorer: Any):
        self.scorer = scorer

    def __call__(self, cell: _Cell, index: np.ndarray, *y: Any, **params: Any) -> Any:
        machine, y = (cell.machine, y) if cell.sample.on_host else (_Answering(cell.machine), tuple(map(host, y)))
        return self.scorer(machine, cell.samples(index), *y, **params)

    def _accept_sample_weight(self) -> bool:
        """Used by scikit-learn before it passes weights on."""
        return self.scorer._accept_sample_weight()


class _Answering:
    """A machine whose answers are arrays on the host."""

    def __init__(self, machine: Any):
        self.machine = machine

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.machine, name)
        return (lambda *given: host(value(*given))) if name in ANSWERS else value


def _names(scores: Array) -> set[str] | None:
    """The names of several scores, or None for one."""
    return {*scores} if isinstance(scores, dict) else None
