"""Operations of every domain: check, count, select and join collections of its members."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import joblib
import numpy as np

from .._array import detached, host, is_array, is_sparse, like, namespace
from .._errors import where
from ..types import Checked, Index


def take(X: Checked, index: Index) -> Any:
    """The members of a collection at `index` (a slice or an array of integers)."""
    if isinstance(index, slice):
        return X[index, ...] if is_array(X) else X.iloc[index] if hasattr(X, "iloc") else X[index]
    if type(X) is np.ndarray:
        return X.take(host(index), axis=0)
    if is_sparse(X):
        return X[host(index)]
    if is_array(X):
        return namespace(X).take(X, like(index, X, dtype=namespace(X).int64), axis=0)
    if hasattr(X, "iloc"):
        return X.iloc[host(index)]
    return [X[i] for i in host(index)]


class Domain:
    """The set on which a kernel is defined: how to check, count, select and join its members.

    Attributes
    ----------
    vectors : bool
        Whether members are vectors, and collections ``(n, d)`` arrays of real numbers.
    labels : bool
        Whether members are rows of labels.
    precomputed : bool
        Whether members are known only by their kernel values against the training samples.
    arrays : bool
        Whether collections may be arrays of any array library.
    sparse : bool
        Whether collections may be CSR matrices.
    """

    vectors: bool = False
    labels: bool = False
    precomputed: bool = False
    arrays: bool = False
    sparse: bool = False

    @property
    def numbers(self) -> bool:
        """Whether collections are ``(n, d)`` arrays of real numbers: vectors or kernel values."""
        return self.vectors or self.precomputed

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        """Validate X and return it in the form that kernels use."""
        raise NotImplementedError

    def takes(self, X: Any) -> bool:
        """Whether `check` only requires an array with rows of finite numbers in single or double precision."""
        return False

    def size(self, X: Checked) -> int:
        """The number of members of X."""
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)

    def take(self, X: Checked, index: Index) -> Any:
        """The members at `index`, in that order."""
        return take(X, index)

    def join(self, parts: Sequence[Any]) -> Any:
        """One collection from several."""
        if all(is_array(part) for part in parts):
            return namespace(*parts).concat(list(parts), axis=0)
        return [x for part in parts for x in part]

    def centres(self, X: Checked) -> Any:
        """What a function ``Σ aᵢ k(·, xᵢ)`` must store of X: X itself, unless members are known only by index."""
        return X

    def training(self, X: Checked) -> Any:
        """The checked X as a training sample: X itself; small asymmetries of a kernel matrix are averaged out."""
        return X

    def keep(self, X: Checked, given: Any) -> Any:
        """The checked X, copied if it shares memory with `given`, so that later changes do not affect it."""
        return detached(X, given)

    def dimension(self, X: Checked) -> int | None:
        """The number of coordinates; None if there are none."""
        return None

    def key(self, x: Any) -> Hashable:
        """The content of one member: kernels do not distinguish members of equal content."""
        return x

    def contents(self, X: Checked) -> list[Hashable]:
        """A hashable key for each member, equal for members of equal content."""
        if is_sparse(X):
            X = X.copy()
            X.eliminate_zeros()
            return [(tuple(X.indices[a:b].tolist()), tuple(X.data[a:b].tolist())) for a, b in pairwise(X.indptr)]
        if is_array(X) or hasattr(X, "iloc"):
            A = host(X)
            A = A.reshape(len(A), -1)
            if A.dtype.kind in "fiub":
                return [row.tobytes() for row in np.ascontiguousarray(A + 0)]  # 0 and −0 are the same
            return [tuple(None if v != v else v for v in row) for row in A.tolist()]  # missing values are equal
        keys = [self.key(x) for x in X]
        return [key if isinstance(key, (str, bytes)) else joblib.hash(key) for key in keys]

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        """A random collection of n distinct members, for the law tests."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items() if v is not None)})"


def require_sequence(X: Checked, owner: object, name: str, members: str) -> None:
    """Raise unless X is a sequence with at least one entry."""
    shape = getattr(X, "shape", None)
    if isinstance(X, (str, bytes, dict)) or shape == () or (shape is None and not hasattr(X, "__len__")):
        raise TypeError(
            f"{where(owner)}: {name} is a {type(X).__name__}; give a sequence with one {members} per sample."
        )
    if (shape[0] if shape is not None else len(X)) == 0:
        raise ValueError(f"{where(owner)}: {name} is empty; give at least one sample.")


class Anything(Domain):
    """Any sequence of objects; only the kernel interprets them."""

    arrays = True

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        require_sequence(X, owner, name, "entry")
        return X

    def dimension(self, X: Checked) -> int | None:
        return X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else None

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        return rng.normal(size=(n, 3))


class Product(Domain):
    """Pairs: either a tuple ``(X1, X2)`` of equally long collections, or a list of n tuples ``(x1, x2)``.

    The list form passes through scikit-learn's splitters.
    """

    def __init__(self, domains: Sequence[Domain]):
        self.domains = list(domains)

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        p = len(self.domains)
        if not isinstance(X, tuple):
            if not isinstance(X, list) or not X or any(not isinstance(x, tuple) or len(x) != p for x in X):
                raise TypeError(
                    f"{where(owner)}: {name} must be a tuple of {p} collections or a list of tuples of {p} entries."
                )
            X = tuple(list(column) for column in zip(*X, strict=True))
        if len(X) != p:
            raise ValueError(f"{where(owner)}: {name} has {len(X)} collections, expected {p}.")
        X = tuple(d.check(x, owner, f"{name}[{i}]") for i, (d, x) in enumerate(zip(self.domains, X, strict=True)))
        sizes = [d.size(x) for d, x in zip(self.domains, X, strict=True)]
        if len(set(sizes)) > 1:
            raise ValueError(f"{where(owner)}: the collections of {name} have sizes {sizes}; they must be equal.")
        return X

    def size(self, X: Checked) -> int:
        return self.domains[0].size(X[0])

    def take(self, X: Checked, index: Index) -> Any:
        return tuple(d.take(x, index) for d, x in zip(self.domains, X, strict=True))

    def join(self, parts: Sequence[Any]) -> Any:
        return tuple(d.join(list(column)) for d, column in zip(self.domains, zip(*parts, strict=True), strict=True))

    def keep(self, X: Checked, given: Any) -> Any:
        parts = given if isinstance(given, tuple) else X
        return tuple(d.keep(x, part) for d, x, part in zip(self.domains, X, parts, strict=True))

    def centres(self, X: Checked) -> Any:
        C = tuple(d.centres(x) for d, x in zip(self.domains, X, strict=True))
        return X if all(c is x for c, x in zip(C, X, strict=True)) else C

    def contents(self, X: Checked) -> list[Hashable]:
        return list(zip(*(d.contents(x) for d, x in zip(self.domains, X, strict=True)), strict=True))

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        return tuple(d.sample(rng, n) for d in self.domains)
