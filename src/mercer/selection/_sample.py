"""The samples of a search and the kernel matrices shared by its fits."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split

from .. import _memory
from .._array import all_finite, host, is_array, namespace, on_host
from .._errors import where
from .._same import same
from ..gram import Lazy
from ..kernels import Definiteness, Kernel, Precomputed, Radial, is_kernel
from ..methods.base import KernelEstimator, is_kernel_estimator, with_kernel
from ..solvers.fit.boxes import Device, Samples
from ..types import Array, Data, EstimatorLike, Namespace

# parameters that do not affect the kernel; any other parameter may
NOT_OF_THE_KERNEL = {
    *("C", "alpha", "break_ties", "budget", "cache_size", "calibration", "checkpoint", "class_weight"),
    *("decision_function_shape", "epsilon", "fit_intercept", "loss", "max_iter", "multi_class", "n_jobs", "nu"),
    *("probability", "random_state", "shrinking", "solver", "time_budget", "tol", "verbose"),
}
SIMPLE = (str, float, int, type(None))  # compared with ==, for speed: a large grid needs many comparisons


def report(fits: int = 0, matrices: int = 0, distances: int = 0, plain: Any = None) -> dict[str, Any]:
    return {"fits": fits, "matrices": matrices, "distances": distances, "plain": dict(plain or {})}


class _SquaredDistance(Radial):
    """‖x − y‖², with the accuracy and tiling of a kernel."""

    def profile(self, s: Array, xp: Namespace) -> Any:
        return s


@dataclass(frozen=True)
class Matrix:
    """k(X), the definiteness proven for k in the dimension of X, and whether X is the matrix itself."""

    K: Any
    claim: Definiteness
    given: bool

    @cached_property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        return all_finite(self.K) if is_array(self.K) else bool(self.K.finite)


class Sample:
    """All samples, with cached squared distances and the most recently used kernel matrices."""

    def __init__(self, X: Data, memory: int, workers: int, answers_only: bool):
        self.X, self.memory, self.workers, self.answers_only = X, memory, workers, answers_only
        self.on_host = on_host(X)
        self.everything = np.arange(len(X) if not hasattr(X, "shape") else X.shape[0])
        self.lock = threading.Lock()
        self.settings: list[dict[str, Any]] = []
        self.fixed: dict[int, Kernel | None] = {}  # by setting, if the same on every training part
        self.kernels: dict[tuple[int, bytes], Kernel] = {}  # by setting and training part, if it depends on the part
        self.held: list[tuple[Kernel, Matrix | str]] = []  # for each kernel its matrix, or why it has none
        self.distances: Any = None
        self.shared = self.matrices = 0
        self.plain: Counter[str] = Counter()

    def report(self) -> dict[str, Any]:
        return report(self.shared, self.matrices, int(self.distances is not None), self.plain)

    def order(self, labels: np.ndarray) -> np.ndarray:
        """The order of the rows of matrices: on a device by class, so that those of a class are read together."""
        return np.arange(len(labels)) if self.on_host else np.argsort(labels, kind="stable")

    def one_for_all(self, estimator: EstimatorLike) -> bool:
        """Whether a device solves the fits of all training parts together, since they have the same kernel."""
        return not self.on_host and self.fixed[self._setting(estimator)] is not None

    def find(self, estimator: EstimatorLike, train: np.ndarray, order: np.ndarray | None = None) -> Matrix | str:
        """The matrix of the kernel as resolved by a fit to a training part, or why there is none.

        A path reads the samples in an `order`. On a device only paths have matrices.
        """
        with self.lock:
            reason = self.obstacle(estimator, path=order is not None)
            if reason:
                return reason
            try:
                return self._matrix(estimator, self._kernel(estimator, train), order)
            except Exception as error:  # if it matters, the plain fit raises it
                return _first_line(error)

    def machine(self, estimator: EstimatorLike, train: np.ndarray) -> tuple[Any, Any]:
        """The estimator for a training part, and the data to take its samples from."""
        found = self.find(estimator, train)
        if isinstance(found, Matrix):
            try:
                machine = clone(estimator) if found.given else _precomputed(estimator, found.claim)
                self.count("")
                return machine, found.K
            except Exception as error:
                found = _first_line(error)
        self.count(found)
        return clone(estimator), self.X

    def count(self, reason: str, fits: int = 1) -> None:
        """Count fits on a shared matrix, or the reason for fits without one."""
        with self.lock:
            if reason:
                self.plain[reason] += fits
            else:
                self.shared += fits

    def obstacle(self, estimator: EstimatorLike, path: bool = False) -> str:
        """Why a fit, or a path of fits, cannot use a shared matrix; empty if it can."""
        if not is_kernel_estimator(estimator) or "kernel" not in estimator.get_params(deep=False):
            return f"{where(estimator)} has no precomputed form"
        if not self.answers_only:
            return "scoring is a function, which may look at the samples"
        if not (isinstance(estimator.gram, str) and estimator.gram in ("auto", "dense")):
            return "gram is neither 'auto' nor 'dense'"
        if getattr(estimator, "free", None) not in (None, 0):
            return "the free part is a function of the samples"
        if not self.on_host and not (path and Device.compiled(self.X)):
            return "the samples are not on the host"
        if self._capacity() < 1:
            return f"({len(self.everything)}, {len(self.everything)}) matrices do not fit into memory = {self.memory}"
        return ""

    def _capacity(self) -> int:
        """How many matrices fit in memory: on the host besides the squared distances and a block for each worker."""
        entries = len(self.everything) ** 2
        if not self.on_host:
            return int((_memory.of_device(self.X) // 2 or self.memory) // (4 * entries))
        return int(self.memory // (8 * entries)) - 1 - self.workers

    def _kernel(self, estimator: KernelEstimator, train: np.ndarray) -> Kernel:
        """The kernel as resolved by a fit to the training part."""
        setting = self._setting(estimator)
        key = setting, train.tobytes()
        if self.fixed[setting] is None and key not in self.kernels:
            probe = clone(estimator)
            probe._check_sample(_safe_split(probe, self.X, None, train)[0])
            self.kernels[key] = probe.kernel_
        return self.fixed[setting] or self.kernels[key]

    def _setting(self, estimator: KernelEstimator) -> int:
        """The number of the estimator's setting of the kernel."""
        own = {name: v for name, v in estimator.get_params(deep=False).items() if name not in NOT_OF_THE_KERNEL}
        setting = position(self.settings, own)
        if setting not in self.fixed:
            self.fixed[setting] = self._fixed_kernel(estimator)
        return setting

    def _fixed_kernel(self, estimator: KernelEstimator) -> Kernel | None:
        """The kernel of an estimator, unless its parameters depend on the samples."""
        if isinstance(getattr(estimator, "gamma", None), str) and not is_kernel(estimator.kernel):
            return None
        probe = clone(estimator)
        probe._check_sample(self.X)
        return probe.kernel_ if probe.kernel_ == probe._kernel(getattr(probe, "n_features_in_", 1)) else None

    def _matrix(self, estimator: KernelEstimator, kernel: Kernel, order: np.ndarray | None) -> Matrix | str:
        """The matrix of all samples, or why there is none; the most recently used are kept."""
        last_first = reversed(list(enumerate(self.held)))
        place = next((i for i, (k, _) in last_first if k is kernel or k == kernel), None)
        if place is not None:
            self.held.append(self.held.pop(place))
            return self.held[-1][1]
        del self.held[: max(0, len(self.held) + 1 - self._capacity())]
        found: Matrix | str
        try:
            X, _ = clone(estimator)._check_data(kernel, self.X, None, reset=True)
            claim = kernel.definiteness_in(kernel.domain.dimension(X))
            given = kernel.domain.precomputed
            if getattr(estimator, "path_parameter", "") and hasattr(X, "astype"):
                X = X.astype(np.float64, copy=False)  # paths check their stopping criterion in double precision
            if self.on_host:
                found = Matrix(X if given else self._compute(kernel, X), claim, given)
            else:
                gram = Lazy()._build(kernel, kernel.domain.take(X, order), np.random.default_rng(0))
                found = Matrix(Device(estimator.tol).on(Samples(gram)).K, claim, given)
            self.matrices += not given
        except Exception as error:
            found = _first_line(error)
        self.held.append((kernel, found))
        return found

    def _compute(self, kernel: Kernel, X: Data) -> Any:
        if not _of_distances(kernel):
            return kernel(X)
        if self.distances is None:
            self.distances = _SquaredDistance()(X)
        kernel.validate()
        length = float(host(kernel.lengthscale))
        s = self.distances / length
        s /= length
        return kernel.profile(s, namespace(s))


def position(seen: list[dict[str, Any]], values: dict[str, Any]) -> int:
    """The position of equal values in a list; they are appended if there are none."""
    for place, other in enumerate(seen):
        if other.keys() == values.keys() and all(_equal(other[name], values[name]) for name in values):
            return place
    seen.append(values)
    return len(seen) - 1


def _equal(a: Array, b: Array) -> bool:
    return bool(a == b) if isinstance(a, SIMPLE) and isinstance(b, SIMPLE) else same(a, b)


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0] or type(error).__name__


def _of_distances(kernel: Kernel) -> bool:
    """Whether a kernel is its profile applied to squared distances over a single squared lengthscale."""
    own = type(kernel)
    return (
        isinstance(kernel, Radial)
        and (own.evaluate, own.scaled) == (Radial.evaluate, Radial.scaled)
        and np.ndim(host(kernel.lengthscale)) == 0
    )


def _precomputed(estimator: KernelEstimator, claim: Definiteness) -> KernelEstimator:
    """The estimator with a precomputed kernel of the same proven definiteness."""
    form = with_kernel(estimator, Precomputed(claim))
    if not form._kernel(1).domain.precomputed:
        raise ValueError(f"{where(estimator)} has no precomputed form")
    return form
