"""Kernels between tasks, for ``k @ Shared(0.5)`` and ``k @ Tasks(B, labels)`` on (sample, task) pairs."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from .._array import host, like, namespace
from .._errors import SHARE, check_number, where
from ..domains import Categories, Domain
from ..types import Array, Checked
from ._base import register
from ._definiteness import CPD, Definiteness
from .categories import Delta, _Labels
from .finite import FiniteDomain


@register
class Shared(_Labels):
    r"""Kernel between tasks that share a common component.

    .. math:: k(s, t) = \sigma + (1 - \sigma)\, [s = t]

    Multiplied by a kernel on samples, it is the kernel of functions :math:`f_t = g_0 + g_t` with squared norm
    :math:`\|g_0\|^2/\sigma + \sum_t \|g_t\|^2/(1 - \sigma)`, minimised over such decompositions.

    Parameters
    ----------
    share : float in [0, 1]
        σ. 0 keeps the tasks independent, 1 makes them identical; a new task gets the common component.

    Notes
    -----
    The correlation between two tasks is σ. Labels may be of any type with equality; strictly positive definite for
    σ < 1. A matrix costs O(nm).

    References
    ----------
    Evgeniou, Micchelli, Pontil, *Learning multiple tasks with kernel methods* (2005).

    Examples
    --------
    >>> Shared(0.25)(["ann", "bob"])
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """

    trials = [(0.3,), (0.8,)]
    rules = {"share": SHARE}

    def __init__(self, share: float = 0.5):
        self.share = share

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return self.share + (1.0 - self.share) * Delta().evaluate(X, Y)

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        return {"share": 1.0 - Delta().evaluate(X, Y)}

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return CPD(0, strict=self.share < 1)


class Labels(Categories):
    """One column of labels, with a list of the known ones."""

    def __init__(self, known: Any):
        self.known = list(known)

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        X = super().check(X, owner, name)
        if X.shape[1] != 1:
            raise ValueError(f"{where(owner)}: {name} has {X.shape[1]} columns; pass one label for each sample.")
        return X

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        return rng.permutation(self.known)[: min(n, len(self.known))][:, None]


@register
class Tasks(_Labels):
    r"""Kernel between tasks defined by a matrix, and extended to new tasks.

    .. math:: k(s, t) = B_{st}, \qquad k(u, t) = \tfrac1T \sum_s B_{st} \quad \text{for a new task } u

    Parameters
    ----------
    matrix : array of shape (T, T)
        B, real, finite and symmetric: the covariance of the tasks.
    labels : sequence of T labels, optional
        The tasks of its rows; by default 0, …, T − 1.

    Notes
    -----
    The feature vector of a new task is the mean of the others. So with any method its function is the mean of theirs,
    and the kernel remains positive definite, though not strictly. A matrix costs O(nm).

    References
    ----------
    Evgeniou, Micchelli, Pontil, *Learning multiple tasks with kernel methods* (2005); Bonilla, Chai, Williams,
    *Multi-task Gaussian process prediction* (2008).

    Examples
    --------
    >>> k = Tasks([[1.0, 0.5], [0.5, 2.0]], ["ann", "bob"])
    >>> k(["bob", "new"], ["ann", "bob"])
    array([[0.5 , 2.  ],
           [0.75, 1.25]])
    """

    abilities: ClassVar[tuple[str, ...]] = ()  # type: ignore[assignment]

    def __init__(self, matrix: Array, labels: Array = None):
        self.matrix, self.labels = matrix, labels

    @classmethod
    def from_graph(cls, adjacency: Any, labels: Array = None, own: float = 1.0) -> Self:
        r"""The kernel :math:`(L + \omega I)^{-1}` of a graph of tasks with Laplacian L.

        Its squared norm is :math:`\sum_{s<t} A_{st} \|f_s - f_t\|^2 + \omega \sum_t \|f_t\|^2`.

        Parameters
        ----------
        adjacency : array of shape (T, T)
            A, symmetric, >= 0: how similar two tasks should be. The diagonal is ignored.
        labels : sequence of T labels, optional
        own : float > 0
            ω. Raising it makes the tasks more independent.

        Examples
        --------
        >>> Tasks.from_graph([[0, 1], [1, 0]], own=1.0)([0, 1]).round(3)
        array([[0.667, 0.333],
               [0.333, 0.667]])
        """
        check_number(cls.__name__, "own", own, above=0)
        A = host(adjacency).astype(np.float64)
        if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.all(np.isfinite(A)) or (A < 0).any() or (A != A.T).any():
            raise ValueError(
                f"{cls.__name__}: adjacency of shape {A.shape} must be square, symmetric, finite and >= 0."
            )
        A = A - np.diag(np.diagonal(A))
        B = np.linalg.inv(np.diag(A.sum(axis=1) + own) - A)
        return cls((B + B.T) / 2, labels)

    def validate(self) -> None:
        try:
            FiniteDomain(self.matrix).validate()
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace("FiniteDomain", where(self), 1)) from None
        T, known = len(host(self.matrix)), self._known()
        if len(known) != T or len(set(known)) != T:
            raise ValueError(
                f"{where(self)}: labels = {self.labels!r} must be {T} distinct labels, one for each row of matrix."
            )

    def _known(self) -> list[Any]:
        return list(range(len(host(self.matrix)))) if self.labels is None else host(self.labels).tolist()

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return Labels(self._known())

    def _extended(self) -> np.ndarray:
        """B with an extra row and column for new tasks."""
        B = host(self.matrix).astype(np.float64)
        mean = B.mean(axis=0)
        return np.block([[B, mean[:, None]], [mean[None, :], mean.mean()]])

    def _places(self, X: Checked) -> np.ndarray:
        place = {label: i for i, label in enumerate(self._known())}
        return np.array([place.get(label, len(place)) for label in host(X)[:, 0].tolist()])

    def _home(self, values: np.ndarray, X: Checked) -> Any:
        return like(values, X, dtype=namespace(X).float64)

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        rows = self._places(X)
        return self._home(self._extended()[np.ix_(rows, rows if Y is None else self._places(Y))], X)

    def evaluate_diag(self, X: Checked) -> Any:
        return self._home(np.diagonal(self._extended())[self._places(X)], X)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return FiniteDomain(self.matrix).definiteness.not_strict()

    @classmethod
    def examples(cls) -> list[Any]:
        i = np.arange(6.0)
        gap = np.abs(i[:, None] - i)
        return [cls(0.5**gap, [7, 2, 5, 3, 9, 4]), cls(np.minimum(i[:, None], i)), cls(np.cos(gap) - 2 * np.eye(6))]
