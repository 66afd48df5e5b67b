"""Kernels that compare members by a *form* computed once for each: its codes, its substring counts, its labels.

Equal kernels share stores of forms, keyed by the content of the members, so that the folds of a cross-validation, the
tiles of a matrix and the copies of an estimator never compute one twice. A store also numbers the features in its
forms. Stores hold at most `ROOM` bytes in total; the least recently used is dropped first.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from threading import RLock
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .._errors import unwritten
from .._jit import njit
from ..types import Array, Checked
from ._base import Kernel, is_kernel

ROOM = 1 << 30  # bytes of forms kept between calls


class Store:
    """Forms keyed by the content of the members, and the numbering of their features."""

    def __init__(self) -> None:
        self.forms: dict[Hashable, Any] = {}
        self.squares: dict[tuple[Any, ...], dict[Hashable, float]] = {}
        self.numbers: dict[Hashable, int] = {}
        self.bytes = 0
        self.lock = RLock()

    def number(self, feature: Hashable) -> int:
        """The number of a feature; a new one gets the next free number."""
        return self.numbers.setdefault(feature, len(self.numbers))


_stores: OrderedDict[tuple[Any, ...], Store] = OrderedDict()
_lock = RLock()


def _store(key: tuple[Any, ...]) -> Store:
    """The store for a kind of form; a new one if it has grown too large."""
    with _lock:
        store = _stores.pop(key, None)
        if store is None or store.bytes > ROOM:
            store = Store()
        _stores[key] = store
        while len(_stores) > 1 and sum(s.bytes for s in _stores.values()) > ROOM:
            _stores.popitem(last=False)
        return store


def frozen(value: Any) -> Hashable:
    """A parameter's value in hashable form."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(v) for v in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(value)
    if isinstance(value, dict):
        return frozenset((name, frozen(v)) for name, v in value.items())
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if is_kernel(value):
        return type(value), frozen(value.get_params(deep=False))
    return value


def _release() -> None:
    """Make new locks in a child process: the parent's threads, which may hold the old ones, do not exist there."""
    global _lock
    _lock = RLock()
    for store in _stores.values():
        store.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release)


def clear_cache() -> None:
    """Drop the cached forms of strings, trees, graphs and other structured data.

    Examples
    --------
    >>> clear_cache()
    """
    with _lock:
        _stores.clear()


class Structured(Kernel):
    """Base class of kernels on strings, text, trees and graphs.

    A kernel implements `form` (of a new member) and `compare` (of two lists of forms). `form_parameters` names the
    parameters on which forms depend; `weigh` applies the others.

    Examples
    --------
    >>> from mercer.domains import Strings
    >>> class SameLength(Structured):
    ...     domain = Strings()
    ...
    ...     def form(self, x, store):
    ...         return np.int64(len(x))
    ...
    ...     def compare(self, A, B):
    ...         return np.equal.outer(A, A if B is None else B).astype(float)
    >>> SameLength()(["ab", "abc"], ["xy", "z"])
    array([[1., 0.],
           [0., 0.]])
    """

    form_parameters: ClassVar[tuple[str, ...]] = ()
    tile = 128

    def forms(self, members: list[Any], store: Store) -> Sequence[Any]:
        """The form of each member; override if a batch is cheaper."""
        return [self.form(member, store) for member in members]

    def form(self, member: Any, store: Store) -> Any:
        """The form of a member, an object with `nbytes`, computed once; `store.number` numbers features."""
        raise unwritten(self, "form")

    def weigh(self, forms: list[Any], store: Store) -> list[Any]:
        """The forms after applying the other parameters."""
        return forms

    def compare(self, A: list[Any], B: list[Any] | None) -> np.ndarray:
        """The matrix of values between two lists of forms; B = None means B = A."""
        raise unwritten(self, "compare")

    def squares(self, A: list[Any]) -> np.ndarray:
        """k(x, x) for a list of forms."""
        return np.array([self.compare([a], None)[0, 0] for a in A])

    def _kept(self) -> tuple[Any, ...]:
        return (type(self), *(frozen(getattr(self, name)) for name in self.form_parameters))

    def _forms(self, X: Checked, store: Store) -> tuple[list[Hashable], list[Any]]:
        keys = [self.domain.key(x) for x in X]
        with store.lock:
            new = {key: x for key, x in zip(keys, X, strict=True) if key not in store.forms}
            if new:
                numbered = len(store.numbers)
                found = self.forms(list(new.values()), store)
                store.forms.update(zip(new, found, strict=True))
                store.bytes += sum(int(form.nbytes) + 200 for form in found)  # with Python's overhead
                store.bytes += 100 * (len(store.numbers) - numbered)
            return keys, [store.forms[key] for key in keys]

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        store = _store(self._kept())  # one for both, because each store numbers its own features
        A, B = (None if Z is None else self.weigh(self._forms(Z, store)[1], store) for Z in (X, Y))
        return self.compare(A, B)  # type: ignore[arg-type]

    def evaluate_diag(self, X: Checked) -> Any:
        store = _store(self._kept())
        keys, forms = self._forms(X, store)
        parameters = tuple((name, frozen(value)) for name, value in self.get_params().items())
        with store.lock:
            known = store.squares.setdefault(parameters, {})
            new = {key: form for key, form in zip(keys, forms, strict=True) if key not in known}
            if new:
                values = self.squares(self.weigh(list(new.values()), store))
                known.update(zip(new, values.tolist(), strict=True))
                store.bytes += 100 * len(new)
            return np.array([known[key] for key in keys])


class Counts(NamedTuple):
    """A sparse vector: ascending feature numbers and their values.

    Examples
    --------
    >>> Counts.of([7, 2, 7]).values
    array([1., 2.])
    """

    features: np.ndarray
    values: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.features.nbytes + self.values.nbytes

    @classmethod
    def of(cls, features: Any, values: Array = None) -> Counts:
        """Counts of features that may repeat; their values (1 each by default) are summed."""
        found, place = np.unique(np.asarray(features, dtype=np.int64), return_inverse=True)
        return cls(found, np.bincount(place, values, len(found)).astype(np.float64))


class Counted(Structured):
    r"""Base class of inner products of sparse vectors, :math:`\sum_f \phi_f(x) \phi_f(y)`.

    `form` returns `Counts`.

    Examples
    --------
    >>> from mercer.domains import Strings
    >>> class Letters(Counted):
    ...     domain = Strings()
    ...
    ...     def form(self, x, store):
    ...         return Counts.of([store.number(letter) for letter in x])
    >>> Letters()(["banana"], ["nab", "melon"])
    array([[6., 2.]])
    """

    tile = 1024

    def compare(self, A: list[Counts], B: list[Counts] | None) -> np.ndarray:
        return inner(A, A if B is None else B)

    def squares(self, A: list[Counts]) -> np.ndarray:
        return np.array([values @ values for _, values in A])

    def evaluate_diag(self, X: Checked) -> Any:  # cheaper than a look-up
        store = _store(self._kept())
        return self.squares(self.weigh(self._forms(X, store)[1], store))


def numbered(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct integers in ascending order, and the index of each value among them."""
    if not len(values):
        return values, values
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1000:
        return np.unique(values, return_inverse=True)
    seen = np.zeros(high - low + 1, dtype=bool)  # no sorting, as the range is not much larger
    seen[values - low] = True
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[values - low]


@njit
def scatter(
    rows: Any, columns: Any, values: Any, starts: Any, members: Any, weights: Any, out: Any, minimum: bool
) -> None:
    """out[i, j] += Σ_f a_if b_jf (or the minimum of both), A stored by rows and B by columns."""
    for i in range(len(rows) - 1):
        row = out[i]
        for p in range(rows[i], rows[i + 1]):
            f, a = columns[p], values[p]
            for q in range(starts[f], starts[f + 1]):
                row[members[q]] += min(a, weights[q]) if minimum else a * weights[q]


def inner(A: list[Counts], B: list[Counts], minimum: bool = False) -> np.ndarray:
    """The matrix of Σ_f a_f b_f, or of Σ_f min(a_f, b_f) for non-negative values."""
    parts = A if A is B else [*A, *B]
    features, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    distinct, column = numbered(features)
    starts = np.cumsum([0, *(len(form.features) for form in parts)])
    width = len(distinct)
    all_rows = csr_array((values, column, starts), shape=(len(parts), width))
    F, G = all_rows[: len(A)], all_rows[-len(B) :]
    pairs = float(np.bincount(F.indices, minlength=width) @ np.bincount(G.indices, minlength=width))
    if not minimum and len(A) * len(B) * width <= 16 * pairs:  # BLAS multiplies faster by that factor
        D = F.toarray()
        return D @ (D if A is B else G.toarray()).T
    by_feature = G.tocsc()
    out = np.zeros((len(A), len(B)))
    scatter(F.indptr, F.indices, F.data, by_feature.indptr, by_feature.indices, by_feature.data, out, minimum)
    return out
