"""Shared code of kernels on sets: means over all pairs of members, in blocks, or mean random features of each set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ... import _threads
from ..._array import is_array, is_sparse, on_host
from ..._errors import check_number, where
from ...domains import Bags, Domain
from ...types import Checked
from .._base import Kernel
from .._parts import Unary, inner_examples
from .._structured import Store, Structured, _store

ROWS = 1024  # members per block


def _sets(starts: np.ndarray, part: slice) -> slice:
    """The sets with members in this part of all members."""
    return slice(int(np.searchsorted(starts, part.start, "right")) - 1, int(np.searchsorted(starts, part.stop, "left")))


def _sums(values: np.ndarray, starts: np.ndarray, part: slice) -> np.ndarray:
    """Sum the rows of `values`, one for each member in this part, over the members of each set."""
    return np.add.reduceat(values, np.maximum(starts[_sets(starts, part)] - part.start, 0), axis=0)


class OnSets(Unary, Structured):
    """Base class of kernels that represent a set by the mean μ of the features κ(·, x) of its members.

    The *form* of a set is its squared norm ‖μ‖² or, with `n_features`, the mean of its random features.
    """

    form_parameters: ClassVar[tuple[str, ...]] = ("kernel", "n_features", "random_state")
    kernel: Kernel
    n_features: int | None
    random_state: int
    tile = 1024  # threads work on blocks of members, so that few large sets use them too

    def validate(self) -> None:
        super().validate()
        check_number(self, "random_state", self.random_state, at_least=0, integer=True)
        if self.n_features is None:
            return
        check_number(self, "n_features", self.n_features, at_least=2, integer=True)
        if self.n_features % 2:
            raise ValueError(
                f"{where(self)}: n_features = {self.n_features} must be even: each frequency gives a cosine and a sine."
            )
        if "spectral_sample" not in self.kernel.provides:
            raise TypeError(
                f"{where(self)}: n_features needs a stationary kernel with spectral_sample (Gaussian, Laplace, "
                f"Matern, …); {where(self.kernel)} has none. Omit n_features."
            )

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return Bags(self.kernel.domain)

    def _check_together(self, X: Checked, Y: Checked) -> None:
        for y in Y:
            self.kernel._check_together(X[0], y)

    def resolve(self, X: Checked) -> Self:
        bags = self.domain.check(X, self)
        return super().resolve(self._join(bags)[0])

    def _join(self, X: Sequence[Any]) -> tuple[Any, np.ndarray, np.ndarray]:
        """All members in one collection, the start of each set, and the sizes of the sets."""
        if not all(on_host(x) for x in X):
            raise TypeError(f"{where(self)}: sets are compared on the host; pass their members as NumPy arrays.")
        if len({str(x.dtype) for x in X if is_array(x) or is_sparse(x)}) > 1:
            raise TypeError(f"{where(self)}: the sets have members of different types; convert them to one type.")
        inner = self.kernel.domain
        sizes = np.array([inner.size(x) for x in X])
        return inner.join(list(X)), np.cumsum(sizes) - sizes, sizes

    # ---- means over pairs

    def means(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> np.ndarray:
        """The mean of κ(a, b) over all members a of xᵢ and b of yⱼ."""
        if self.n_features is not None:
            Z = self.mean_features(X)
            return Z @ (Z if Y is None else self.mean_features(Y)).T
        A, a, rows = self._join(X)
        B, b, columns = (A, a, rows) if Y is None else self._join(Y)
        inner = self.kernel.domain
        size = min(ROWS, self.kernel.tile)
        strips = _threads.slices(inner.size(A), size)
        across = strips if Y is None else _threads.slices(inner.size(B), size)

        def strip(i: int) -> tuple[slice, np.ndarray, np.ndarray]:
            """Sums of a strip of members with all others (if symmetric, with later ones), and within the strip."""
            r = strips[i]
            which = _sets(a, r)
            total, own = np.zeros((len(columns), which.stop - which.start)), np.zeros(())
            for c in across[i:] if Y is None else across:
                within = Y is None and c is r
                K = self.kernel.evaluate(inner.take(A, r), None if within else inner.take(B, c))
                K = _sums(_sums(np.asarray(K, dtype=np.float64), a, r).T, b, c)
                if within:
                    own = K
                else:
                    total[_sets(b, c)] += K
            return which, total, own

        out = np.zeros((len(rows), len(columns)))
        for which, total, own in _threads.collect(len(strips), strip):
            out[which] += total.T
            if Y is None:
                out[:, which] += total
                out[which, which] += own
        if Y is None:
            out = (out + out.T) / 2  # sums in a different order differ in the last digits
        return out / (rows[:, None] * columns[None, :])

    # ---- what is stored for each set

    def _known(self, X: Sequence[Any]) -> list[Any]:
        try:
            store = _store(self._kept())
        except TypeError:  # the kernel has an unhashable parameter
            store = Store()
        return self._forms(X, store)[1]

    def forms(self, members: list[Any], store: Store) -> Sequence[Any]:
        if self.n_features is None:
            return [self.means([x])[0, 0] for x in members]
        A, starts, sizes = self._join(members)
        inner = self.kernel.domain
        rng = np.random.default_rng(self.random_state)
        W = self.kernel.spectral_sample(self.n_features // 2, A.shape[1], rng).T
        strips = _threads.slices(inner.size(A), ROWS)

        def strip(i: int) -> np.ndarray:
            angles = np.asarray(inner.take(A, strips[i]) @ W, dtype=np.float64)
            return _sums(np.concatenate([np.cos(angles), np.sin(angles)], axis=1), starts, strips[i])

        total = np.zeros((len(members), self.n_features))
        for part, found in zip(strips, _threads.collect(len(strips), strip), strict=True):
            total[_sets(starts, part)] += found
        variance = float(self.kernel.evaluate_diag(inner.take(A, slice(0, 1)))[0])
        return list(total * (np.sqrt(2 * variance / self.n_features) / sizes)[:, None])

    def squared_lengths(self, X: Sequence[Any]) -> np.ndarray:
        """‖μ‖² of each set."""
        known = np.array(self._known(X))
        return known if self.n_features is None else np.einsum("ij,ij->i", known, known)

    def mean_features(self, X: Any) -> np.ndarray:
        """The mean of the random features of each set, of shape (n, n_features)."""
        return np.array(self._known(X))

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [*map(cls, inner_examples()), cls(inner_examples()[0], n_features=20)]
