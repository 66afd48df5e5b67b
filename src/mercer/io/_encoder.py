"""Objects as JSON and arrays.

JSON values represent themselves. Everything else is a JSON object with one key for its kind: ``{"tuple": […]}``,
``{"array": 3}``, ``{"object": …}``. Arrays, and objects that are used several times, are numbered.
"""

from __future__ import annotations

from collections import OrderedDict
from copyreg import __newobj__  # type: ignore[attr-defined]
from functools import partial
from math import isfinite
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
from scipy.interpolate import PPoly

from .._array import host, is_array, is_sparse
from ..context import Status
from ..domains import Graph
from ..types import Array
from ._allowed import (
    PACKAGES,
    address,
    is_class,
    is_own_method,
    is_ufunc,
    may_be_named,
)
from ._checks import (
    DEEPEST,
    LONGEST,
    ModelError,
    Pure,
    check_state,
    checked_partial,
    checked_range,
    counts_rows,
    without_places,
)

CONTAINERS: dict[str, type] = {"tuple": tuple, "set": set, "frozenset": frozenset}
BUILTINS = {
    kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, object)
}
GENERATORS = {"Generator", "RandomState"}
BITS = {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
PLAIN = "biufU"  # kinds of scalars that JSON can represent


def is_function(thing: Any) -> bool:
    """Whether it is a function with a name: from a def statement, NumPy or numba."""
    return callable(thing) and hasattr(thing, "__name__") and not is_class(thing)


class Encoder:
    """Converts one object to JSON values, and collects its arrays."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.yours: dict[str, Any] = {}  # what the reader must supply, by name
        self._places: dict[int, int] = {}
        self._alive: list[Any] = []  # identities are unique only among live objects
        self._depth = self._numbers = 0  # the current nesting level, and the count of numbers in ranges so far

    def encode(self, x: Array) -> Any:
        """The JSON value of an object."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise RecursionError
        try:
            return self._encode(x)
        finally:
            self._depth -= 1

    def _encode(self, x: Any) -> Any:
        if x is None or type(x) in (bool, str, int):
            return x
        if type(x) is float:
            return x if isfinite(x) else {"float": repr(x)}
        if type(x) is list:
            return [self.encode(v) for v in x]
        if type(x) in CONTAINERS.values():
            members = x if type(x) is tuple else sorted(x, key=repr)
            return {type(x).__name__: [self.encode(v) for v in members]}
        if type(x) in (dict, OrderedDict):
            return {"dict" if type(x) is dict else "ordered": [[self.encode(k), self.encode(v)] for k, v in x.items()]}
        for kind, method in self._values.items():
            if isinstance(x, kind):
                return method(self, x)
        if is_function(x):
            return self._encode_function(x)
        if type(x).__module__ == "torch" and type(x).__name__ == "dtype":
            return {"torch": str(x).removeprefix("torch.")}
        if type(x).__module__.split(".")[0] == "networkx" and hasattr(x, "is_multigraph"):
            x = Graph.from_networkx(x)
        if id(x) in self._places:
            return {"same": self._places[id(x)]}
        self._places[id(x)] = len(self._places)
        self._alive.append(x)
        return {"shared": self._places[id(x)], **self._encode_shared(x)}

    def _encode_scalar(self, x: np.generic) -> Any:
        plain = x.dtype.kind in PLAIN and x.dtype != np.longdouble
        return {"scalar": [x.dtype.str, self.encode(x.item()) if plain else {"array": self._array(np.asarray(x))}]}

    def _encode_function(self, x: Any) -> Any:
        x = x.ufunc if isinstance(x, Pure) else x
        if is_ufunc(x):
            return {"ufunc": x.__name__}
        return {"function": address(x)} if may_be_named(x) else self._by_name(x)

    def _encode_method(self, x: MethodType) -> Any:
        return {"method": [self.encode(x.__self__), x.__name__]} if is_own_method(x) else self._by_name(x)

    def _encode_partial(self, x: partial) -> Any:
        checked_partial(x)
        return {"partial": [self.encode(v) for v in (x.func, list(x.args), x.keywords)]}

    def _encode_range(self, x: range) -> Any:
        self._numbers += len(checked_range(x))
        if self._numbers > LONGEST:
            raise ModelError(f"ranges in the model have over {LONGEST} numbers in total; use arrays.")
        return {"range": [x.start, x.stop, x.step]}

    def _encode_dtype(self, x: np.dtype) -> Any:
        if x.kind in "VT":  # such as records, which their string does not define
            raise ModelError(f"the type {x} is not a plain NumPy type and cannot be saved outside an array.")
        return {"dtype": x.str}

    def _encode_class(self, x: type) -> Any:
        if x in np.sctypeDict.values():
            return {"dtype": np.dtype(x).str, "type": True}
        if x in BUILTINS.values():
            return {"builtin": x.__name__}
        return self._by_name(x)

    def _by_name(self, x: Any) -> dict[str, str]:
        name = address(x) if is_class(x) and x.__module__.partition(".")[0] in PACKAGES else x.__name__
        if name == "<lambda>":
            raise ModelError("a lambda has no name by which to load it; define it with def.")
        if self.yours.setdefault(name, x) is not x:
            raise ModelError(f"two functions or classes in the model have the name {name!r}; rename one.")
        return {"yours": name}

    _values: dict[Any, Any] = {
        np.generic: _encode_scalar,
        np.dtype: _encode_dtype,
        type: _encode_class,
        complex: lambda self, x: {"complex": [self.encode(x.real), self.encode(x.imag)]},
        bytes: lambda self, x: {"bytes": x.hex()},
        slice: lambda self, x: {"slice": [self.encode(v) for v in (x.start, x.stop, x.step)]},
        range: _encode_range,
        Path: lambda self, x: {"path": str(x)},
        Status: lambda self, x: {"status": x.name},
        MethodType: _encode_method,
        partial: _encode_partial,
    }

    def _array(self, A: np.ndarray) -> int:
        self.arrays.append(A)
        return len(self.arrays) - 1

    def _encode_shared(self, x: Any) -> dict[str, Any]:
        if type(x) in (np.ndarray, np.memmap):
            if x.dtype.hasobject:
                if x.dtype.kind != "O":  # records with object fields, and variable-length strings
                    raise ModelError(f"an array of {x.dtype} values cannot be saved; use objects or text.")
                return {"objects": [list(x.shape), [self.encode(v) for v in x.ravel().tolist()]]}
            return {"array": self._array(x)}
        if type(x) is np.ma.MaskedArray:
            return {"masked": [self.encode(part) for part in (x.data, x.mask, x.fill_value)]}
        if is_sparse(x):
            if x.format not in ("csr", "csc"):
                x = x.tocsr()
            return {
                "sparse": [type(x).__name__, list(x.shape), *(self._array(a) for a in (x.data, x.indices, x.indptr))]
            }
        if type(x) is PPoly:
            return {"piecewise": [self._array(np.asarray(x.c)), self._array(np.asarray(x.x)), x.extrapolate, x.axis]}
        if is_array(x) and not isinstance(x, np.ndarray):
            return {"tensor": self._array(host(x))}
        if type(x).__name__ in GENERATORS and type(x).__module__.startswith("numpy.random"):
            modern = isinstance(x, np.random.Generator)
            state = x.bit_generator.state if modern else x.get_state(legacy=False)
            return {"random": [type(x).__name__, state["bit_generator"], self.encode(state)]}
        return self._encode_object(x)

    def _encode_object(self, x: Array) -> dict[str, Any]:
        if type(x).__module__.startswith("matplotlib."):
            raise ModelError(f"a {type(x).__name__} of matplotlib cannot be part of a model; use savefig.")
        try:
            reduced = x.__reduce_ex__(4)
        except TypeError as error:
            raise ModelError(f"a {type(x).__name__} in the model cannot be saved ({error}).") from error
        if isinstance(reduced, str):
            raise ModelError(f"a {type(x).__name__} in the model cannot be saved: only a global name identifies it.")
        maker, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        new = maker is __newobj__ or getattr(maker, "__name__", None) == "newObj"  # the trees of sklearn.neighbors
        cls, arguments = (arguments[0], arguments[1:]) if new else (maker, arguments)
        if not isinstance(cls, type) or items is not None:
            raise ModelError(f"a {type(x).__name__} in the model cannot be saved: it is created by {maker!r}.")
        state = without_places(state, set())
        named = may_be_named(cls) and not counts_rows(cls, state)
        out: dict[str, Any] = {"object": address(cls) if named else self._by_name(cls)}
        if named:
            check_state(cls, state)
        if not new:
            out["new"] = False
        if arguments:
            out["arguments"] = [self.encode(v) for v in arguments]
        if pairs is not None:
            items = dict(pairs)
            if named:
                check_state(cls, items)
            out["pairs"] = [[self.encode(k), self.encode(v)] for k, v in items.items()]
        return out | {"state": self.encode(state)}
