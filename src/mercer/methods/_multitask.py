"""Common parts of the multitask methods: the tasks of samples, and the kernel between tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._array import detached, host, is_sparse
from .._errors import check_choice, check_number, where
from ..context import warn_early
from ..domains import Categories
from ..gram import GramLike
from ..kernels import Kernel, KernelLike, is_kernel
from ..kernels.tasks import Shared, Tasks
from ..solvers.multitask import Evidence, learn
from ..types import Array, Data, RandomState
from ._base import KernelEstimator

PAIRS = "pairs"
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)
Points = tuple[Any, np.ndarray | None]  # samples and, if given with them, their tasks


def preferred(losses: np.ndarray, weight: Array) -> int:
    """The candidate (row) with the least mean loss, if it beats the first by one standard error; else the first.

    The standard error is that of the mean paired difference.
    """
    share = np.full(losses.shape[1], 1 / losses.shape[1]) if weight is None else weight / np.sum(weight)
    best = int(np.argmin(losses @ share))
    gain = losses[0] - losses[best]
    mean = float(gain @ share)
    return best if mean > np.sqrt(float((gain - mean) ** 2 @ share**2)) else 0


@dataclass(kw_only=True, eq=False, repr=False)
class Multitask(KernelEstimator):
    """Base: separates samples from their tasks, and turns `coupling` into kernels between tasks."""

    takes_tensors = False

    kernel_compares = "samples without their tasks; use task=None, or give it one kernel"

    kernel: KernelLike = "gaussian(lengthscale='median')"
    task: Any = None
    coupling: Any = "auto"
    rank: int = 1
    gram: GramLike = "auto"
    time_budget: float | None = None
    random_state: RandomState = None

    # ---- samples and tasks

    def _kernel(self, n_features: int) -> Kernel:
        kernel = super()._kernel(n_features)
        if self.task is not None and kernel.domain.precomputed:
            raise ValueError(f"{where(self)}: kernel = {self.kernel!r} does not support tasks; give the kernel itself.")
        return kernel

    def _split(self, X: Data) -> Points:
        """The samples and the labels of their tasks."""
        if self.task is None:
            return X, None
        X, labels = self._pairs(X) if isinstance(self.task, str) and self.task == PAIRS else self._column(X)
        return X, detached(Categories().check(labels, self, "the tasks")[:, 0], labels)

    def _pairs(self, X: Data) -> tuple[Any, Any]:
        if isinstance(X, tuple) and len(X) == 2:
            return X
        if isinstance(X, (list, np.ndarray)) and len(X) and all(isinstance(x, tuple) and len(x) == 2 for x in X):
            return [x for x, _ in X], [t for _, t in X]
        raise TypeError(
            f"{where(self)}: task = 'pairs' needs X as a list of (sample, task) pairs, or a pair of collections."
        )

    def _column(self, X: Any) -> tuple[Any, Any]:
        if hasattr(type(X), "columns") and hasattr(X, "drop"):
            if not hasattr(X, "to_numpy"):
                raise TypeError(f"{where(self)}: X is a {type(X).__name__} without values; collect it first.")
            known = list(X.columns)
            name = self.task if self.task in known else known[self._place(len(known))]
            return X.drop(columns=[name]) if hasattr(X, "iloc") else X.drop(name), X[name].to_numpy()
        self._require_numpy(X, remedy="give NumPy arrays, or task='pairs'")
        # a list may mix task names with numbers, which NumPy would convert to text
        A = X.tocsr() if is_sparse(X) else X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
        if A.ndim != 2:
            raise ValueError(
                f"{where(self)}: X has shape {A.shape}, expected (n_samples, n_features + 1). Reshape your data."
            )
        place = self._place(A.shape[1])
        others = np.delete(np.arange(A.shape[1]), place)
        labels: Any = A[:, [place]]
        return A[:, others], (labels.toarray() if is_sparse(A) else labels)[:, 0]

    def _place(self, columns: int) -> int:
        if isinstance(self.task, (int, np.integer)) and -columns <= self.task < columns:
            return int(self.task) % columns
        raise ValueError(
            f"{where(self)}: task = {self.task!r} is not one of the {columns} columns of X; give an index, or a name "
            "in a DataFrame."
        )

    def _check_training(self, X: Data, y: Array, **options: Any) -> tuple[Points, Any]:
        X, labels = self._split(X)
        X, y = super()._check_training(X, y, **options)
        self._require_numpy(X)
        self._require_definite(X, 0)
        if labels is None:
            return (X, None), y
        if len(labels) != self.kernel_.domain.size(X):
            raise ValueError(
                f"{where(self)}: X has {self.kernel_.domain.size(X)} samples and {len(labels)} tasks; they must agree."
            )
        try:
            self.tasks_ = np.unique(labels)
        except TypeError:
            raise TypeError(f"{where(self)}: the tasks have labels of several types; convert them to one.") from None
        return (X, labels), y

    def _check_new(self, X: Data) -> Points:
        X, labels = self._split(X)
        X = super()._check_new(X)
        if labels is not None and labels.dtype.kind == self.tasks_.dtype.kind == "f":
            labels = labels.astype(self.tasks_.dtype)  # as X is
        return X, labels

    # ---- the kernel between tasks

    def _check_parameters(self) -> None:
        check_number(self, "rank", self.rank, at_least=1, integer=True)
        if isinstance(self.coupling, str):
            check_choice(self, "coupling", self.coupling, ("auto", "learned"))
        elif np.ndim(self.coupling) == 0 and not is_kernel(self.coupling):
            check_number(self, "coupling", self.coupling, at_least=0, at_most=1)

    @property
    def _learns(self) -> bool:
        return isinstance(self.coupling, str) and self.coupling == "learned" and len(self.tasks_) > 1

    def _couplings(self) -> list[Kernel]:
        """Candidate kernels between tasks."""
        if len(self.tasks_) == 1 and not is_kernel(self.coupling):
            return [Shared(1.0)]
        if isinstance(self.coupling, str):
            return [Shared(share) for share in SHARES]
        if is_kernel(self.coupling):
            return [clone(self.coupling)]
        if np.ndim(self.coupling) == 0:
            return [Shared(float(self.coupling))]
        B, T = host(self.coupling), len(self.tasks_)
        if B.shape != (T, T):
            raise ValueError(
                f"{where(self)}: coupling has shape {B.shape}, expected ({T}, {T}), a row for each task of tasks_ = "
                f"{self.tasks_.tolist()}."
            )
        return [Tasks(B, self.tasks_)]

    def _matrix(self, kernel: Kernel) -> np.ndarray:
        """The matrix B, in the order of `tasks_`."""
        B = host(kernel(self.tasks_)).astype(np.float64)
        values = np.linalg.eigvalsh(B)
        if values[0] < -1e-10 * np.abs(values).max():
            raise ValueError(
                f"{where(self)}: coupling is not positive semidefinite (smallest eigenvalue {values[0]:.2g}); give a "
                "covariance matrix of the tasks."
            )
        return B

    def _learn(self, evidence: Evidence, alpha: float | None) -> None:
        T = len(self.tasks_)
        self.learned_ = learned = learn(evidence, T, min(self.rank, T), alpha)
        self.objective_history_ = learned.history
        if not learned.converged:
            finding = f"learning the task matrix ended at a gradient of {learned.slope:.1g} per target"
            warn_early(self, finding, learned.status, "Scale the targets, or lower rank.")

    def _couple(self, kernel: Kernel) -> None:
        """Store the chosen task kernel."""
        self._forget("share_")
        self.task_kernel_, self.task_matrix_ = kernel, self._matrix(kernel)
        if hasattr(kernel, "share"):
            self.share_ = kernel.share

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise &= self.task is None
        tags.input_tags.two_d_array &= not (isinstance(self.task, str) and self.task == PAIRS)
        return tags
