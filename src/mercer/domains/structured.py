"""Strings, trees, sets and sequences: lists whose members may differ in size."""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b
from pickle import dumps
from typing import Any

import numpy as np

from .._array import host, is_array, is_sparse
from .._errors import is_gap, where
from ..types import Array, Checked
from ._base import Domain, Product, require_sequence
from .tables import Frame
from .vectors import Vectors


def _members(X: Checked, owner: object, name: str, member: str) -> list[Any]:
    """The members of a sequence; rejects a table, whose list would be its column names."""
    require_sequence(X, owner, name, member)
    if hasattr(X, "columns"):
        raise TypeError(f"{where(owner)}: {name} is a table; give one column, with one {member} per sample.")
    return list(X)


def content(*arrays: np.ndarray) -> bytes:
    """A digest of arrays, the same for equal arrays."""
    digest = blake2b(digest_size=16)
    for A in arrays:
        digest.update(f"{A.dtype.str}{A.shape}".encode())
        if A.dtype.kind == "O":  # one by one, because a pickle of all depends on whether equal objects are identical
            digest.update(b"".join(map(dumps, A.ravel().tolist())))
        else:
            digest.update(np.ascontiguousarray(A).tobytes())
    return digest.digest()


class Strings(Domain):
    """A sequence of strings: a list, an array or a column of text. Empty strings are allowed."""

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        members = _members(host(X).tolist() if is_array(X) and X.ndim else X, owner, name, "string")
        for i, x in enumerate(members):
            if not isinstance(x, str):
                if np.ndim(x):
                    raise TypeError(f"{where(owner)}: {name}[{i}] is {x!r}, expected a string; give one column.")
                hint = "; fill in missing values first" if is_gap(x) else "; convert with str"
                what = repr(x) if is_gap(x) or isinstance(x, float) else type(x).__name__
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

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        members = _members(X, owner, name, "tree")
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

    def key(self, x: Array) -> Hashable:
        found, nodes = [], [x]  # flat, since Python compares nested tuples by recursion, whose depth is limited
        while nodes:
            node = nodes.pop()
            label, *children = node if isinstance(node, tuple) else (node,)
            found.append((label, len(children) if isinstance(node, tuple) else -1))
            nodes.extend(children)
        return tuple(found)

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
    """A sequence of samples, each a non-empty collection of the `inner` domain: sets of vectors, lists of words."""

    def __init__(self, inner: Domain):
        self.inner = inner

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        if is_sparse(X):
            raise TypeError(f"{where(owner)}: {name} is sparse; give a list with one collection per sample.")
        samples = _members(X, owner, name, "collection")
        members = [self.inner.check(x, owner, f"{name}[{i}]") for i, x in enumerate(samples)]
        widths = {self.inner.dimension(x) for x in members}
        if len(widths) > 1:
            raise ValueError(
                f"{where(owner)}: the samples of {name} have {sorted(map(str, widths))} columns; they must agree."
            )
        return members

    def keep(self, X: Checked, given: Any) -> Any:
        return [self.inner.keep(x, part) for x, part in zip(X, given, strict=True)]

    def dimension(self, X: Checked) -> int | None:
        return self.inner.dimension(X[0])

    def key(self, x: Array) -> Hashable:
        if is_array(x):
            return content(host(x))
        if is_sparse(x):
            return content(x.indptr, x.indices, x.data, np.array(x.shape))
        if isinstance(x, Frame):
            return tuple(x.columns), content(*x.columns.values())
        if isinstance(self.inner, Product):
            return tuple(Bags(domain).key(part) for domain, part in zip(self.inner.domains, x, strict=True))
        return tuple(self.inner.key(member) for member in x)

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        return [self.inner.sample(rng, int(size)) for size in rng.integers(1, 6, n)]


class Sequences(Bags):
    """A sequence of time series, each a non-empty ``(length, d)`` array in time order, or a vector if d = 1."""

    def __init__(self) -> None:
        super().__init__(Vectors())

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        series = _members(X, owner, name, "time series")
        return super().check([x if np.ndim(x) != 1 else np.reshape(x, (-1, 1)) for x in series], owner, name)

    def __repr__(self) -> str:
        return "Sequences()"
