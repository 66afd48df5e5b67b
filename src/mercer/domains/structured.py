"""Strings, trees, sets and sequences: lists whose members need not have the same size."""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b
from pickle import dumps
from typing import Any

import numpy as np

from .._array import host, is_array, is_sparse
from .._errors import where
from ._base import Domain, require_sequence
from .vectors import Vectors


def content(*arrays: np.ndarray) -> bytes:
    """A digest of arrays by which equal ones are recognised."""
    digest = blake2b(digest_size=16)
    for A in arrays:
        digest.update(f"{A.dtype.str}{A.shape}".encode())
        # the bytes of an array of objects are addresses
        digest.update(dumps(A.tolist()) if A.dtype.kind == "O" else np.ascontiguousarray(A).tobytes())
    return digest.digest()


class Strings(Domain):
    """A sequence of strings: a list, an array or a column of text. The empty string is one of them."""

    def check(self, X: Any, owner: object, name: str = "X") -> Any:
        require_sequence(X, owner, name, "string")
        members = host(X).tolist() if is_array(X) else list(X)
        for i, x in enumerate(members):
            if not isinstance(x, str):
                hint = "; fill in what is missing first" if x is None or x != x else "; convert with str"
                what = type(x).__name__ if not isinstance(x, float) else repr(x)
                raise TypeError(f"{where(owner)}: {name}[{i}] is {what}, expected a string{hint}.")
        return members

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        found = dict.fromkeys(["", "a", "abcab"])
        while len(found) < n:
            found["".join(rng.choice(list("abcd"), rng.integers(1, 12)))] = None
        return list(found)[:n]


class Trees(Domain):
    """A sequence of ordered, labelled trees: a node is a tuple ``(label, child, …)``, a leaf any other hashable value.

    ``("S", ("NP", "John"), ("VP", ("V", "runs")))`` is a parse tree with the words as leaves.
    """

    def check(self, X: Any, owner: object, name: str = "X") -> Any:
        require_sequence(X, owner, name, "tree")
        members = list(X)
        for i, tree in enumerate(members):
            self._check_tree(tree, f"{where(owner)}: {name}[{i}]")
        return members

    @staticmethod
    def _check_tree(tree: Any, place: str) -> None:
        nodes = [tree]
        while nodes:
            node = nodes.pop()
            label = node[:1] if isinstance(node, tuple) else (node,)
            if not label or isinstance(label[0], tuple):
                raise ValueError(f"{place} has the node {node!r}; a node is a tuple (label, child, …).")
            if not isinstance(label[0], Hashable):
                raise TypeError(f"{place} has the node {node!r}; a node is a tuple, a leaf any other hashable value.")
            nodes.extend(node[1:] if isinstance(node, tuple) else ())

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        def grow(depth: int) -> Any:
            if depth == 0 or rng.random() < 0.25:
                return str(rng.choice(list("xyz")))
            return str(rng.choice(list("AB"))), *(grow(depth - 1) for _ in range(rng.integers(1, 3)))

        found = dict.fromkeys(["x", ("A", "x")])
        while len(found) < n:
            found[grow(4)] = None
        return list(found)[:n]


class Bags(Domain):
    """A sequence of samples, each a non-empty collection of one inner domain: sets of vectors, documents as word lists.

    Parameters
    ----------
    inner : Domain
        Where the members of the samples live.
    """

    def __init__(self, inner: Domain):
        self.inner = inner

    def check(self, X: Any, owner: object, name: str = "X") -> Any:
        require_sequence(X, owner, name, "collection")
        if is_sparse(X):
            raise TypeError(f"{where(owner)}: {name} is sparse; give a list with one collection per sample.")
        members = [self.inner.check(x, owner, f"{name}[{i}]") for i, x in enumerate(X)]
        widths = {self.inner.dimension(x) for x in members}
        if len(widths) > 1:
            raise ValueError(
                f"{where(owner)}: the samples of {name} have {sorted(map(str, widths))} columns; unify them."
            )
        return members

    def dimension(self, X: Any) -> int | None:
        return self.inner.dimension(X[0])

    def key(self, x: Any) -> Hashable:
        if is_array(x):
            return content(host(x))
        if is_sparse(x):
            return content(x.indptr, x.indices, x.data)
        return tuple(self.inner.key(member) for member in x)

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        return [self.inner.sample(rng, int(size)) for size in rng.integers(1, 6, n)]


class Sequences(Bags):
    """A sequence of time series, each a non-empty ``(length, d)`` array in order of time, or a vector where d = 1."""

    def __init__(self) -> None:
        super().__init__(Vectors())

    def check(self, X: Any, owner: object, name: str = "X") -> Any:
        require_sequence(X, owner, name, "time series")
        return super().check([x if np.ndim(x) != 1 else np.reshape(x, (-1, 1)) for x in X], owner, name)

    def __repr__(self) -> str:
        return "Sequences()"
