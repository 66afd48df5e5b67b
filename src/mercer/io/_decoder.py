"""Restores objects from the JSON and arrays of a model file; see `_encoder` for the format."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
from scipy import sparse
from scipy.interpolate import PPoly

from ..context import Status
from ..solvers.solution import Solution, upgraded
from ..types import Array, FilePath
from ._allowed import (
    CALLED,
    METHODS,
    find,
    is_class,
    is_own_method,
    is_plain_function,
    is_safe_class,
    is_ufunc,
    may_be_class,
    may_be_function,
)
from ._checks import (
    DEEPEST,
    LONGEST,
    MULTIPLE,
    Copies,
    ModelError,
    Pure,
    check_lists,
    check_made,
    check_room,
    check_state,
    checked_partial,
    checked_range,
    parts_of,
    shown,
    unfolded,
    without_memories,
    without_places,
)
from ._encoder import BITS, BUILTINS, CONTAINERS, GENERATORS, PLAIN


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ModelError("it was fitted on torch tensors; install torch to load it.") from error
    return torch


class Decoder:
    """Restores an object, using only the names in `_allowed` and those supplied by the caller."""

    def __init__(self, arrays: Any, yours: dict[str, Any]):
        self._read_array, self._yours = arrays, yours
        self._shared: dict[int, Any] = {}
        self._made: list[Any] = []
        self._levels: dict[int, int] = {}  # nesting depth of arrays of objects, by identity
        self._read = self._again = 0  # counts so far: of members, and of those in reused tuples and ranges
        self._numbers = 0  # count of numbers in arrays so far
        self._nested = 0  # count of arrays of objects so far, except those inside objects
        self._depth = self._deepest = 0  # current nesting level, and the deepest so far
        self._tuples: dict[int, tuple[int, int]] = {}  # levels and members of tuples; arrays in arrays of objects
        self.places: set[str] = set()  # names of dropped parameters, which were paths to write to

    def model(self, structure: Any) -> Any:
        """The object in the file, after checking the parts that compiled code would trust."""
        made = self.decode(structure)
        room = LONGEST + MULTIPLE * self._read
        own, sizes = Copies(4 * LONGEST + self._read + self._numbers), dict[int, int]()
        for part in self._made:
            if unfolded(part, sizes) > room:
                raise ModelError(f"it reuses the parts of a {type(part).__name__} too many times.")
            check_lists(part, own.room)
        for part in self._made:
            check_made(part, own)
        return made

    def decode(self, x: Array) -> Any:
        """The object of a JSON value."""
        self._read += 1
        if not isinstance(x, (list, dict)):
            return x
        self._depth += 1
        self._deepest = max(self._deepest, self._depth)
        if isinstance(x, list):
            made: Any = [self.decode(v) for v in x]
        elif "shared" in x:
            made = self._decode_shared(x)
        else:
            kind, value = next(iter(x.items()), ("", None))
            method = self._kinds.get(kind) if len(x) == 1 or x.get("type") is True else None
            if method is None:
                raise ModelError(f"it contains an unknown entry {', '.join(map(str, x))[:80]!r}.")
            made = method(self, value) if "type" not in x else np.dtype(value).type
        self._depth -= 1
        return made

    def _same(self, number: Any) -> Any:
        if number not in self._shared:
            raise ModelError(f"it refers to the object {shown(number)}, which it does not contain.")
        levels, members = self._tuples.get(number, (1, 0))
        self._deepest = max(self._deepest, self._depth + levels - 1)
        self._nested += members
        self._count_again(members)
        return self._shared[number]

    def _count_again(self, members: int) -> None:
        """Count members that take no space in the file, and raise if there are too many."""
        self._again += members
        if self._again > LONGEST:  # comparing, hashing or printing a tuple visits all of them each time
            raise ModelError(f"it uses tuples, arrays or ranges with more than {LONGEST} members in total.")

    def _range(self, ends: Any) -> range:
        made = checked_range(range(*ends))
        self._count_again(len(made))
        return made

    def _arrays(self, number: Any) -> np.ndarray:
        A: np.ndarray = self._read_array(number)
        self._numbers += A.size
        return A

    def _arguments(self, x: dict[str, Any], number: int) -> list[Any]:
        """The arguments of an object; their depth and number are recorded in case it is a tuple."""
        deepest, before = self._deepest, self._read + self._again
        self._deepest = self._depth
        arguments = [self.decode(v) for v in x.get("arguments", [])]
        levels = self._deepest - self._depth + 1
        if levels > DEEPEST:  # hashing a tuple recurses without a limit
            raise ModelError(f"it nests {levels} tuples.")
        self._deepest = max(self._deepest, deepest)
        self._tuples[number] = levels, self._read + self._again - before + 1
        return arguments

    def _supplied(self, name: Any) -> Any:
        if name not in self._yours:
            raise ModelError(
                f"it needs {name!r}, which it does not contain; use load(path, functions={{{name!r}: …}})."
            )
        if not callable(self._yours[name]):
            raise ModelError(f"functions[{name!r}] = {self._yours[name]!r:.80} is neither a function nor a class.")
        return self._yours[name]

    def _look_up(self, place: FilePath, kind: str, may: Any, test: Any) -> Any:
        """Look up a class or function that files may name, by its address."""
        module, _, name = str(place).partition(":")
        if not may(module, name):
            raise ModelError(
                f"it names the {kind} {place!r}, which is not among those that are safe with any content; if you "
                f"trust the file, use load(path, functions={{{place!r}: …}})."
            )
        try:
            thing = find(module, name)
        except (ImportError, AttributeError) as error:
            raise ModelError(f"it names {place!r}, which this installation does not have.") from error
        if not test(thing) or thing.__module__ != module or thing.__qualname__ != name:
            raise ModelError(f"it names {place!r}, which is not a {kind} that files may name.")
        return thing

    def _ufunc(self, name: Any) -> Any:
        function: Any = getattr(np, str(name), None)
        if not is_ufunc(function):
            raise ModelError(f"it names {name!r}, which is not a NumPy function of one or two arrays.")
        return Pure(function)

    def _torch_dtype(self, name: Any) -> Any:
        dtype = getattr(_torch(), str(name), None)
        if type(dtype).__name__ != "dtype":
            raise ModelError(f"it names {name!r}, which is not a type of torch.")
        return dtype

    def _builtin(self, name: Any) -> Any:
        if name not in BUILTINS:
            raise ModelError(f"it names the builtin {name!r}.")
        return BUILTINS[name]

    def _class(self, place: FilePath) -> Any:
        if not isinstance(place, dict):
            if place in self._yours:
                return self._supplied(place)
            return self._look_up(place, "class", may_be_class, is_safe_class)
        cls = self._supplied(place.get("yours"))
        if not is_class(cls):
            raise ModelError(f"functions[{place.get('yours')!r}] = {cls!r:.80} must be a class.")
        return cls

    def _dictionary(self, pairs: Any, kind: Any = dict) -> Any:
        return kind((self.decode(k), self.decode(v)) for k, v in pairs)

    def _partial(self, parts: Any) -> Any:
        function, arguments, keywords = (self.decode(v) for v in parts)
        if type(arguments) is not list or type(keywords) is not dict:  # other types may be long and reused often
            raise ModelError("it contains a partial whose arguments are not a list and a dictionary.")
        return checked_partial(partial(function, *arguments, **keywords))

    def _method(self, parts: Any) -> Any:
        owner, name = self.decode(parts[0]), str(parts[1])
        function: Any = getattr(type(owner), name, None)
        if name not in METHODS or not is_plain_function(function) or not is_own_method(MethodType(function, owner)):
            raise ModelError(f"it names {name!r}, which is not a method of {type(owner).__name__} that files may name.")
        return MethodType(function, owner)

    def _slice(self, parts: Any) -> slice:
        ends = [self.decode(part) for part in parts]
        if any(isinstance(end, (np.ndarray, slice)) for end in ends):
            raise ModelError("it contains a slice with arrays as bounds.")
        return slice(*ends)

    def _scalar(self, parts: Any) -> Any:
        dtype, value = np.dtype(parts[0]), parts[1]
        if isinstance(value, dict) and "array" in value:
            return self._arrays(value["array"])[()]
        if dtype.kind not in PLAIN:
            raise ModelError(f"it contains a number of the unknown type {parts[0]!r}.")
        value = self.decode(value)
        if not isinstance(value, (bool, int, float, str)):
            raise ModelError(f"it contains a number that is a {type(value).__name__}.")
        return dtype.type(value)  # without the length declared by a text type

    _kinds: dict[str, Any] = {
        "same": _same,
        "yours": _supplied,
        "function": lambda self, v: self._look_up(v, "function", may_be_function, is_plain_function),
        "ufunc": _ufunc,
        "torch": _torch_dtype,
        "builtin": _builtin,
        "dict": _dictionary,
        "ordered": lambda self, v: self._dictionary(v, OrderedDict),
        "partial": _partial,
        "method": _method,
        "scalar": _scalar,
        "float": lambda self, v: {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}[v],
        "complex": lambda self, v: complex(*(self.decode(part) for part in v)),
        "bytes": lambda self, v: bytes.fromhex(v),
        "slice": _slice,
        "range": _range,
        "path": lambda self, v: Path(v),
        "status": lambda self, v: Status[v],
        "dtype": lambda self, v: np.dtype(v),
        **{name: lambda self, v, kind=kind: kind(self.decode(part) for part in v) for name, kind in CONTAINERS.items()},
    }

    # ---- numbered parts

    def _decode_shared(self, x: dict[str, Any]) -> Any:
        number = x["shared"]
        if "object" in x:
            return self._object(x, number)
        kind = next((k for k in x if k != "shared"), None)
        makers = {"array": self._arrays, "objects": self._objects, "masked": self._masked, "sparse": self._sparse}
        makers |= {"tensor": self._tensor, "random": self._random, "piecewise": self._piecewise}
        if kind not in makers:
            raise ModelError(f"it contains an unknown entry {kind!r}.")
        before = self._nested
        self._shared[number] = makers[kind](x[kind])
        if kind == "objects":
            self._nested += 1
            self._tuples[number] = 1, self._nested - before
        return self._shared[number]

    def _object(self, x: dict[str, Any], number: int) -> Any:
        cls, nested = self._class(x["object"]), self._nested
        yours = isinstance(x["object"], dict)
        arguments = self._arguments(x, number)
        new = x.get("new", True)
        if not yours and (new is not (x["object"] != CALLED) or (arguments and new and not issubclass(cls, tuple))):
            raise ModelError(f"it creates {x['object']!r} from invalid arguments.")
        made = cls.__new__(cls, *arguments) if new else cls(*arguments)
        self._shared[number] = made
        if not isinstance(made, tuple):
            del self._tuples[number]
        pairs = self._dictionary(x.get("pairs", []))
        if not yours:
            if pairs and not isinstance(made, dict):
                raise ModelError(f"it gives items to {x['object']!r}, which is not a dictionary.")
            pairs = without_places(pairs, self.places)
            check_state(cls, pairs)  # the items of scikit-learn's Bunch are attributes too
        for k, v in pairs.items():
            made[k] = v
        state = self.decode(x.get("state"))
        if not isinstance(made, tuple):
            self._nested = nested
        if not yours and not new and state is not None:
            raise ModelError(f"it changes {x['object']!r} after its constructor checked it.")
        if not yours and not all(type(part) in (dict, type(None)) for part in parts_of(state)):
            # other objects could hide attributes from the checks
            raise ModelError(f"it gives {x['object']!r} a state that is not a dictionary.")
        state = without_places(state, self.places)
        if not yours:
            state = upgraded(state) if issubclass(cls, Solution) and type(state) is dict else state
            check_state(cls, state)
            state = without_memories(cls, state)
            self._made.append(made)
        if state is None:
            return made
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
            return made
        instance, slots = state if isinstance(state, tuple) else (state, None)
        made.__dict__.update(instance or {})
        for name, value in (slots or {}).items():
            object.__setattr__(made, name, value)
        return made

    def _objects(self, parts: Any) -> np.ndarray:
        shape, members = parts
        A = np.empty(len(members), dtype=object)
        A[:] = [self.decode(v) for v in members]
        A = A.reshape(shape)
        check_room(A)
        level = 1 + max((self._levels.get(id(v), 0) for v in A.flat), default=0)
        if level > DEEPEST:  # freeing an array recurses without a limit
            raise ModelError(f"it nests {level} arrays of objects.")
        self._levels[id(A)] = level
        return A

    def _masked(self, parts: Any) -> np.ma.MaskedArray:
        data, mask, fill = (self.decode(part) for part in parts)
        if not isinstance(data, np.ndarray) or not isinstance(mask, (np.ndarray, np.bool_)):
            raise ModelError("it contains a masked array without arrays.")
        return np.ma.MaskedArray(data, mask, fill_value=fill)

    def _sparse(self, parts: Any) -> Any:
        name, shape, *arrays = parts
        if name not in {"csr_array", "csr_matrix", "csc_array", "csc_matrix"}:
            raise ModelError(f"it contains a sparse matrix of the unknown kind {name!r}.")
        A = getattr(sparse, name)(tuple(self._arrays(k) for k in arrays), shape=tuple(shape))
        A.check_format(full_check=True)  # compiled code trusts the indices
        if np.any(A.indptr[1:] < A.indptr[:-1]):  # SciPy misses this if the last one is 0 or steps overflow
            raise ModelError("it contains a sparse matrix whose rows are out of order.")
        return A

    def _piecewise(self, parts: Any) -> PPoly:
        coefficients, breaks, extrapolate, axis = parts
        return PPoly(self._arrays(coefficients), self._arrays(breaks), extrapolate, axis)

    def _tensor(self, number: int) -> Any:
        return _torch().asarray(self._arrays(number))

    def _random(self, parts: Any) -> Any:
        name, bits, state = parts
        if name not in GENERATORS or bits not in BITS:
            raise ModelError(f"it names the unknown random generator {name!r} on {bits!r}.")
        source = getattr(np.random, bits)()
        generator = getattr(np.random, name)(source)
        if name == "RandomState":
            generator.set_state(self.decode(state))
        else:
            source.state = self.decode(state)
        held = source.state["state"] | source.state  # compiled code trusts these positions
        if not (0 <= held.get("pos", 0) <= 624 and 0 <= held.get("buffer_pos", 0) <= 4):
            raise ModelError(f"it contains an invalid state of the random generator {bits!r}.")
        return generator
