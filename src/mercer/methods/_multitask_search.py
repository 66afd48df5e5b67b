"""Choice of the coupling of tasks by the errors of classifiers on held-out samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import host
from .._errors import warn, where
from .._random import generator
from ..context import current, warn_early
from ..gram import Gram
from ..kernels import Kernel, KernelLike
from ..kernels.tasks import Tasks
from ..solvers.multitask import Complete, Scattered, TaskGram
from ..solvers.spectral import Spectral
from ..types import Array, Data
from ._multitask import Multitask, preferred


class TaskSearch(Multitask):
    """Base of classifiers: the kernel between tasks is given, learned, or chosen by cross-validation."""

    cv: int
    _many: bool  # whether each column of y is a task with labels for all samples

    def _machine(self, kernel: KernelLike) -> Any:
        """An unfitted classifier with this kernel."""
        raise NotImplementedError

    def _decide(self, X: Data, rows: np.ndarray, tasks: np.ndarray, y: np.ndarray, weight: Array) -> None:
        """Choose the kernel between tasks; `rows` holds the sample of each entry of y and tasks."""
        if self._learns:
            self._learn(self._evidence(self._build(X), tasks, y, weight), None)
            B = self.learned_.matrix
            self._couple(Tasks(B * (len(B) / np.trace(B)), self.tasks_))
            return
        kernels = self._couplings()
        if len(kernels) > 1:
            kernels = [kernels[self._judge(kernels, self._build(X), rows, tasks, y, weight)]]
        self._couple(kernels[0])

    def _evidence(self, gram: Gram, tasks: np.ndarray, y: np.ndarray, weight: Array) -> Complete | Scattered:
        """The likelihood of a regression on ±1: one target for two classes, else one per class."""
        # centred, so that classes that are rare in all tasks do not make the tasks appear similar
        classes = np.unique(y)
        signs = np.where(y[:, None] == (classes if len(classes) > 2 else classes[1:])[None, :], 1.0, -1.0)
        signs = signs.reshape(gram.n, -1)
        signs -= np.average(signs, axis=0, weights=weight)
        if self._many:
            return Complete(Spectral(gram, None, weight), signs)
        return Scattered(host(gram.dense()), tasks, signs, weight)

    def _judge(
        self, kernels: list[Kernel], gram: Gram, rows: np.ndarray, tasks: np.ndarray, y: np.ndarray, weight: Array
    ) -> int:
        """The index of the task kernel with the fewest errors on held-out samples."""
        weight = None if weight is None else weight[rows]
        fold = self._folds(rows, tasks, y)
        judged = np.flatnonzero(fold >= 0)
        if not len(judged):
            warn(
                f"{where(self)}: coupling = 'auto' cross-validates, but no class has two samples in a task; the tasks "
                "are treated as independent. Set coupling to a number, or give more samples."
            )
            return 0
        matrices = (TaskGram(gram, rows, tasks, self._matrix(kernel)).dense() for kernel in kernels)
        found: list[np.ndarray] = []
        context = current()
        for K in matrices:
            held_out = self._held_out(K, y, weight, fold)
            if status := context():
                shares = ", ".join(f"{kernel.share:g}" for kernel in kernels[len(found) :] if hasattr(kernel, "share"))
                warn_early(self, f"the shares {shares} were not evaluated, as a given coupling need not be", status)
                break
            found.append(held_out[judged] != y[judged])
        if not found:
            return 0
        wrong = np.stack(found).astype(np.float64)
        weight = None if weight is None else weight[judged]
        self.scores_ = 1 - np.average(wrong, axis=1, weights=weight)
        return preferred(wrong, weight)

    def _folds(self, rows: np.ndarray, tasks: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The fold of each entry, stratified by class and task."""
        # −1 for the only sample of a class in a task: without it, nothing represents that class there
        rng, n = generator(self.random_state or 0), int(rows[-1]) + 1
        cell = np.zeros(n, dtype=np.int64)
        if not self._many:
            classes, labels = np.unique(y, return_inverse=True)
            cell = tasks * len(classes) + labels
        order = np.lexsort((rng.random(n), rng.random(cell.max() + 1)[cell]))  # cell by cell, in random order
        order = order[np.bincount(cell)[cell[order]] > 1]
        fold = np.full(n, -1)
        fold[order] = np.arange(len(order)) % self.cv
        return fold[rows]

    def _held_out(self, K: np.ndarray, y: np.ndarray, weight: Array, fold: np.ndarray) -> np.ndarray:
        """The class of each entry predicted by a machine fitted without its sample."""
        out = y.copy()
        for k in range(fold.max() + 1):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            machine = self._machine("precomputed").set_params(time_budget=None)  # the outer fit keeps time
            machine.fit(K[np.ix_(train, train)], y[train], None if weight is None else weight[train])
            out[test] = machine.predict(K[np.ix_(test, train)])
        return out
