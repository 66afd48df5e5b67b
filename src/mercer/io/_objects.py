"""Objects ⇄ JSON and arrays, without running anything that the text says.

A value of JSON stands for itself. Everything else is an object with one key, which says what it is: ``{"tuple": […]}``,
``{"array": 3}``, ``{"object": …}``. Arrays, and objects that are used in several places, are numbered.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from copy import copy
from copyreg import __newobj__  # type: ignore[attr-defined]
from functools import cached_property, partial
from math import isfinite
from numbers import Integral, Number
from pathlib import Path
from reprlib import Repr
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from scipy import sparse
from scipy.interpolate import PPoly
from sklearn.base import BaseEstimator

from .._array import host, is_array, is_sparse
from .._errors import UnresolvedError
from ..context import Status
from ..domains import Graph, Rows
from ..kernels import Kernel
from ..solvers.solution import Solution, upgraded
from ..space import Function
from ..types import Array, FilePath
from ._allowed import (
    CALLED,
    CALLERS,
    METHODS,
    PACKAGES,
    RESPONSES,
    address,
    find,
    is_class,
    is_own_method,
    is_plain_function,
    is_safe_class,
    is_ufunc,
    may_be_class,
    may_be_function,
    may_be_named,
)

CONTAINERS: dict[str, type] = {"tuple": tuple, "set": set, "frozenset": frozenset}
BUILTINS = {
    kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, object)
}
GENERATORS = {"Generator", "RandomState"}
BITS = {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
PLAIN = "biufU"  # kinds of scalars that JSON holds
PLACES = {"memory", "checkpoint"}  # parameters that say where to write, or what folder of pickles to read
READERS = {"input"}  # of scikit-learn's vectorizers: samples may be names of files
GRIDS = {"param_grid", "param_distributions"}  # where searches keep parameters of others
KEYWORDS = {"kw_args", "inv_kw_args", "_kwargs", "kernel_params"}  # where estimators keep those of functions
WRITING = {"out", "where"}  # of functions of NumPy: what they write into, and what they leave there
LONGEST = 1 << 20  # members of what takes no room in a file: ranges, arrays of nothing, tuples that are used again
CHOICES = 1000  # members of an array of objects in the settings of a search
DEEPEST = 250  # levels that can be read again: each takes three calls, and Python allows a thousand


class ModelError(ValueError):
    """A model that cannot be written, or a file that is not one."""


class _Shown(Repr):
    """A value of a file for a message: the text of a whole one may have no end, if its parts hold each other often."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 2

    def repr_instance(self, x: Any, level: int) -> str:
        plain = x is None or isinstance(x, (Number, str, bytes, Path))
        return super().repr_instance(x, level) if plain else f"<{type(x).__name__}>"


def _shown(value: Any) -> str:
    return _Shown().repr(value)[:80]


def _parts(state: Any) -> tuple[Any, ...]:
    """The attributes of an object, and its slots where it has them."""
    return state if isinstance(state, tuple) else (state,)


def without_places(state: Any, found: set[str]) -> Any:
    """The attributes of an object without places to write to, whose names go into `found`; numbers are none."""
    if isinstance(state, tuple):  # attributes, and slots
        return tuple(without_places(part, found) for part in state)
    if not isinstance(state, dict):
        return state
    out = dict(state)
    for name, value in state.items():
        if _word(name) in GRIDS:
            out[name] = _settings(value, found)
        elif _word(name) in PLACES and not _is_number(value):
            out[name] = None
            found.add(_word(name))
    return out


def _settings(grid: Any, found: set[str]) -> Any:
    """The settings that a search tries, without places and without what makes samples names of files."""
    if grid is None:
        return None
    if type(grid) in (list, tuple):
        return type(grid)(_settings(part, found) for part in grid)
    if type(grid) not in (dict, OrderedDict):
        raise ModelError(f"a search has the settings {_shown(grid)}; give a dict, or a list of them.")
    out = {}
    for name, values in grid.items():
        word = _word(name)
        if word in PLACES | READERS and not _is_number(values):
            found.add(word)
        else:  # a search of searches has grids among its values
            out[name] = (_settings if word in GRIDS else _values)(values, found)
    return out


def _values(value: Any, found: set[str]) -> Any:
    """Values that a search tries, in which every dictionary is taken for settings."""
    if isinstance(value, dict):
        return _settings(value, found)
    if type(value) is list:
        return [_values(part, found) for part in value]
    if isinstance(value, tuple):
        return tuple.__new__(type(value), [_values(part, found) for part in value])
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        if value.size > CHOICES or any(isinstance(part, (dict, list, tuple, np.ndarray)) for part in value.flat):
            raise ModelError("a search has settings in an array of objects; give a list of them.")
    return value


def _word(name: Any) -> str:
    """The parameter that a name such as ``step__memory`` means."""
    return name.rpartition("__")[2] if isinstance(name, str) else ""


def _is_number(value: Any) -> bool:
    return (
        value is None or isinstance(value, Number) or (isinstance(value, (list, tuple)) and all(map(_is_number, value)))
    )


def is_function(thing: Any) -> bool:
    """Whether it can be called and has a name of its own: by def, or a function of NumPy or numba."""
    return callable(thing) and hasattr(thing, "__name__") and not is_class(thing)


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ModelError("it was fitted on torch tensors; install torch to load it.") from error
    return torch


class Pure:
    """A function of NumPy that a file names: it returns its results, and writes them into no array of the model."""

    def __init__(self, ufunc: np.ufunc):
        self.ufunc, self.__name__ = ufunc, ufunc.__name__

    def __call__(self, *args: Any, **options: Any) -> Any:
        if len(args) > self.ufunc.nin or WRITING & options.keys():
            raise ModelError(f"{self.__name__!r} would write into an array; define a function that returns one.")
        return self.ufunc(*args, **options)

    def __eq__(self, other: Any) -> bool:
        return self.ufunc is getattr(other, "ufunc", other)

    def __hash__(self) -> int:
        return hash(self.ufunc)

    def __repr__(self) -> str:
        return repr(self.ufunc)


def _checked_partial(made: partial) -> partial:
    """A partial, unless it is one of a function of NumPy whose result would go into an array that it is given."""
    function = made.func.ufunc if isinstance(made.func, Pure) else made.func
    if isinstance(function, np.ufunc) and (len(made.args) >= function.nin or WRITING & made.keywords.keys()):
        raise ModelError(
            f"a partial of {function.__name__!r} writes into an array; define a function that returns one."
        )
    return made


def _checked_range(made: range) -> range:
    """A range, unless it stands for more numbers than any file should have to hold."""
    if made[LONGEST:]:
        raise ModelError(f"{made} has more than {LONGEST} numbers, which no file may stand for.")
    return made


def check_room(A: np.ndarray) -> None:
    """Raise for an array that claims more items than it has bytes: what reads or masks them would take memory."""
    items = A.size * np.ma.make_mask_descr(A.dtype).itemsize  # of records, those of all fields
    if max((items, *A.shape)) > max(LONGEST, A.nbytes):
        raise ModelError(f"an array of the shape {A.shape} holds nothing.")


def _check_state(cls: type, state: Any) -> None:
    """Raise for attributes that would stand in the way of what the class is, and for samples that name files."""
    for part in _parts(state):
        for name, value in (part or {}).items():
            if not isinstance(name, str):  # no attribute, and its text may have no end
                continue
            if name.startswith("__") or _hides(cls, name):
                raise ModelError(
                    f"the attribute {name!r} of a {cls.__name__} would hide what the class has of that name."
                )
            if _word(name) in READERS and cls.__module__.startswith("sklearn.") and not _says(value, "content"):
                raise ModelError(
                    f"a {cls.__name__} with {name} = {_shown(value)} opens the files that its samples name; read them "
                    f"first, and fit with {name}='content'."
                )
            if _word(name) in KEYWORDS and (
                type(value) not in (dict, OrderedDict, type(None)) or WRITING & {*(value or ())}
            ):
                raise ModelError(
                    f"a {cls.__name__} with {name} = {_shown(value)} writes into an array; define a function that "
                    "returns one."
                )
            if name in CALLERS and not _is_response(value):
                raise ModelError(
                    f"a {cls.__name__} with {name} = {_shown(value)} would call that method; of what predicts, "
                    "name one."
                )


def _says(value: Any, text: str) -> bool:
    """Whether a value is this text, and remains it: an array of it is equal too, until someone writes into it."""
    return type(value) in (str, np.str_) and value == text


def _is_response(value: Any) -> bool:
    """Whether a text names a method that predicts, or a list such methods."""
    if type(value) in (list, tuple):
        return all(map(_is_response, value))
    return value is None or (type(value) is str and value in RESPONSES)


def _without_memories(cls: type, state: Any) -> Any:
    """The attributes without what the class remembers of itself, which is computed anew and not believed."""
    if isinstance(state, tuple):
        return tuple(_without_memories(cls, part) for part in state)
    return state and {k: v for k, v in state.items() if not isinstance(getattr(cls, k, None), cached_property)}


def _hides(cls: type, name: str) -> bool:
    """Whether an attribute would hide a method, or what an estimator or kernel is: its domain, its constraints."""
    if isinstance(getattr(cls, name, None), (FunctionType, MethodType, property)):
        return True
    if not hasattr(cls, name) or not issubclass(cls, BaseEstimator):
        return False
    names: list[str] = cls._get_param_names()  # type: ignore[attr-defined]
    return name not in names


class _Copies:
    """Arrays that only checked parts hold, so that no other part of the model can change them; one of each."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, np.ndarray]] = {}  # the originals too: an identity is theirs while they live

    def __call__(self, values: Array) -> np.ndarray:
        if type(values) not in (list, np.ndarray):
            raise ModelError(f"it holds a {type(values).__name__} in the place of an array.")
        if id(values) not in self._made:
            self._made[id(values)] = values, np.array(values)
        return self._made[id(values)][1]


def _check_made(made: Any, own: _Copies) -> None:
    """Raise for parts that compiled code would trust, and kernels with parameters out of range.

    What is checked is the object's own: arrays that another part of the model could change are copied.
    """
    if isinstance(made, Kernel):
        with suppress(UnresolvedError):  # to be found from the data of a fit
            made.validate()
    elif isinstance(made, Function) and not isinstance(made.kernel.domain, Rows):
        checked = made.kernel.domain.check(made.points, made, "points")
        if made.kernel.domain.size(checked) != len(made):
            raise ModelError("a function has another number of points than of coefficients.")
    elif type(made).__name__ == "OneHotEncoder" and hasattr(made, "categories_"):
        _check_one_hot(made, own)
    elif _counts_rows(type(made), getattr(made, "__dict__", None)):
        raise ModelError(f"a {type(made).__name__} of other than several classes trusts what its parts predict.")
    elif hasattr(made, "vocabulary_"):
        words = made.vocabulary_
        numbers: list[Any] = list(words.values()) if type(words) is dict else [None]
        if not all(isinstance(k, Integral) for k in numbers) or sorted(numbers) != list(range(len(words))):
            raise ModelError(f"the words of a {type(made).__name__} are not numbered from 0 on.")


def _counts_rows(cls: type, state: Any) -> bool:
    """Whether it makes a sparse matrix of the rows that other estimators predict, which may be more than there are.

    So does the classifier of one class against the rest, but for exactly several classes.
    """
    if cls.__name__ != "OneVsRestClassifier" or not isinstance(state, dict) or "label_binarizer_" not in state:
        return False
    state["label_binarizer_"] = copy(state["label_binarizer_"])
    return not _says(vars(state["label_binarizer_"]).get("y_type_"), "multiclass")


def _check_one_hot(made: Any, own: _Copies) -> None:
    """Its columns must be those of its categories: the indices of a sparse matrix follow from them unchecked."""
    made.categories_ = [own(values) for values in made.categories_]
    sizes = [len(values) for values in made.categories_]
    # numbers are looked up in order, and text by name
    sane = all(c.dtype.kind in "OUS" or np.all(np.searchsorted(c, c) < len(c)) for c in made.categories_)
    made._infrequent_enabled = bool(made._infrequent_enabled)
    if made._infrequent_enabled:
        rare, places = made._infrequent_indices, made._default_to_infrequent_mappings
        made._default_to_infrequent_mappings = [None if p is None else own(p) for p in places]
        for i, (indices, place) in enumerate(zip(rare, made._default_to_infrequent_mappings, strict=True)):
            if place is not None:
                sane &= len(place) == sizes[i] and np.array_equal(np.unique(place), np.arange(place.max() + 1))
                sizes[i] = int(place.max()) + 1
            sane &= (indices is None) == (place is None)
    if made._drop_idx_after_grouping is not None:
        drop = [None if k is None else int(k) for k in made._drop_idx_after_grouping]
        made._drop_idx_after_grouping = np.array(drop, dtype=object)
        sane &= all(k is None or 0 <= k < n for k, n in zip(drop, sizes, strict=True))
        sizes = [n - (k is not None) for k, n in zip(drop, sizes, strict=True)]
    if not sane or made._n_features_outs != sizes:
        raise ModelError("the columns of a OneHotEncoder are not those of its categories.")
    made._n_features_outs = sizes


class Encoder:
    """Turns one object into JSON values, and collects the arrays in it."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.yours: dict[str, Any] = {}  # what the reader must supply, by name
        self._places: dict[int, int] = {}
        self._alive: list[Any] = []  # an identity is only unique among objects that live
        self._depth = 0

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
        _checked_partial(x)
        return {"partial": [self.encode(v) for v in (x.func, list(x.args), x.keywords)]}

    def _encode_dtype(self, x: np.dtype) -> Any:
        if x.kind in "VT":  # records and the like, which their text does not tell
            raise ModelError(f"the type {x} is no plain one of NumPy, and cannot be saved apart from an array.")
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
            raise ModelError("a lambda has no name under which load could be given it; define it with def.")
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
        range: lambda self, x: {"range": [_checked_range(x).start, x.stop, x.step]},
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
            raise ModelError(f"a {type(x).__name__} of matplotlib is no part of a model; save a picture by savefig.")
        try:
            reduced = x.__reduce_ex__(4)
        except TypeError as error:
            raise ModelError(f"a {type(x).__name__} in the model cannot be saved ({error}).") from error
        if isinstance(reduced, str):
            raise ModelError(f"a {type(x).__name__} in the model cannot be saved: it is known by a global name alone.")
        maker, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        new = maker is __newobj__ or getattr(maker, "__name__", None) == "newObj"  # the trees of sklearn.neighbors
        cls, arguments = (arguments[0], arguments[1:]) if new else (maker, arguments)
        if not isinstance(cls, type) or items is not None:
            raise ModelError(f"a {type(x).__name__} in the model cannot be saved; it is made by {maker!r}.")
        state = without_places(state, set())
        named = may_be_named(cls) and not _counts_rows(cls, state)
        out: dict[str, Any] = {"object": address(cls) if named else self._by_name(cls)}
        if named:
            _check_state(cls, state)
        if not new:
            out["new"] = False
        if arguments:
            out["arguments"] = [self.encode(v) for v in arguments]
        if pairs is not None:
            items = dict(pairs)
            if named:
                _check_state(cls, items)
            out["pairs"] = [[self.encode(k), self.encode(v)] for k, v in items.items()]
        return out | {"state": self.encode(state)}


class Decoder:
    """Makes the object again; only what `_allowed` lists and what the caller supplies is ever used."""

    def __init__(self, arrays: Any, yours: dict[str, Any]):
        self._arrays, self._yours = arrays, yours
        self._shared: dict[int, Any] = {}
        self._made: list[Any] = []
        self._levels: dict[int, int] = {}  # how deep arrays of objects hold each other, by their identities
        self._read = self._again = 0  # members so far, and those of tuples that are used again
        self._nested = 0  # arrays of objects so far, but for those that objects hold
        self._depth = self._deepest = 0  # the level of this member, and the deepest so far
        self._tuples: dict[int, tuple[int, int]] = {}  # levels and members of tuples; arrays in arrays of objects
        self.places: set[str] = set()  # names of parameters that were dropped, because they say where to write

    def model(self, structure: Any) -> Any:
        """The object of a whole file, of which the parts that compiled code would trust are checked."""
        made, own = self.decode(structure), _Copies()
        for part in self._made:
            _check_made(part, own)
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
                raise ModelError(f"it holds an unknown entry {', '.join(map(str, x))[:80]!r}.")
            made = method(self, value) if "type" not in x else np.dtype(value).type
        self._depth -= 1
        return made

    def _same(self, number: Any) -> Any:
        if number not in self._shared:
            raise ModelError(f"it refers to the object {_shown(number)}, which it does not hold.")
        levels, members = self._tuples.get(number, (1, 0))
        self._deepest = max(self._deepest, self._depth + levels - 1)
        self._again += members
        self._nested += members
        if self._again > LONGEST:  # what compares, hashes or shows a tuple goes through all of them each time
            raise ModelError(f"it uses tuples or arrays again that have more than {LONGEST} members in all.")
        return self._shared[number]

    def _arguments(self, x: dict[str, Any], number: int) -> list[Any]:
        """What an object is made from; how deep that is, and how much of it there is, is kept in case it is a tuple."""
        deepest, before = self._deepest, self._read + self._again
        self._deepest = self._depth
        arguments = [self.decode(v) for v in x.get("arguments", [])]
        levels = self._deepest - self._depth + 1
        if levels > DEEPEST:  # a tuple is hashed by recursion without a limit
            raise ModelError(f"it holds tuples in each other, {levels} of them.")
        self._deepest = max(self._deepest, deepest)
        self._tuples[number] = levels, self._read + self._again - before + 1
        return arguments

    def _supplied(self, name: Any) -> Any:
        if name not in self._yours:
            raise ModelError(
                f"it needs {name!r}, which it does not hold; give it as load(path, functions={{{name!r}: …}})."
            )
        if not callable(self._yours[name]):
            raise ModelError(f"functions[{name!r}] = {self._yours[name]!r:.80} is neither a function nor a class.")
        return self._yours[name]

    def _look_up(self, place: FilePath, kind: str, may: Any, test: Any) -> Any:
        """A class or function that files may name, by its address."""
        module, _, name = str(place).partition(":")
        if not may(module, name):
            raise ModelError(
                f"it names the {kind} {place!r}, which is not among those that are safe whatever a file says; who "
                f"trusts the file gives it as load(path, functions={{{place!r}: …}})."
            )
        try:
            thing = find(module, name)
        except (ImportError, AttributeError) as error:
            raise ModelError(f"it names {place!r}, which this installation does not have.") from error
        if not test(thing) or thing.__module__ != module or thing.__qualname__ != name:
            raise ModelError(f"it names {place!r}, which is no {kind} of this library that files may name.")
        return thing

    def _ufunc(self, name: Any) -> Any:
        function: Any = getattr(np, str(name), None)
        if not is_ufunc(function):
            raise ModelError(f"it names {name!r}, which is no function of NumPy for one or two arrays.")
        return Pure(function)

    def _torch_dtype(self, name: Any) -> Any:
        dtype = getattr(_torch(), str(name), None)
        if type(dtype).__name__ != "dtype":
            raise ModelError(f"it names {name!r}, which is no type of torch.")
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
        if type(arguments) is not list or type(keywords) is not dict:  # another one may be long, and used often
            raise ModelError("it holds a partial whose arguments are no list, or whose keywords are no dictionary.")
        return _checked_partial(partial(function, *arguments, **keywords))

    def _method(self, parts: Any) -> Any:
        owner, name = self.decode(parts[0]), str(parts[1])
        function: Any = getattr(type(owner), name, None)
        if name not in METHODS or not is_plain_function(function) or not is_own_method(MethodType(function, owner)):
            raise ModelError(f"it names {name!r}, which is no method of a {type(owner).__name__} that files may name.")
        return MethodType(function, owner)

    def _slice(self, parts: Any) -> slice:
        ends = [self.decode(part) for part in parts]
        if any(isinstance(end, (np.ndarray, slice)) for end in ends):
            raise ModelError("it holds a slice between arrays.")
        return slice(*ends)

    def _scalar(self, parts: Any) -> Any:
        dtype, value = np.dtype(parts[0]), parts[1]
        if isinstance(value, dict) and "array" in value:
            return self._arrays(value["array"])[()]
        if dtype.kind not in PLAIN:
            raise ModelError(f"it holds a number of the unknown type {parts[0]!r}.")
        value = self.decode(value)
        if not isinstance(value, (bool, int, float, str)):
            raise ModelError(f"it holds a number that is a {type(value).__name__}.")
        return dtype.type(value)  # the length that a type of text claims is not taken up

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
        "range": lambda self, v: _checked_range(range(*v)),
        "path": lambda self, v: Path(v),
        "status": lambda self, v: Status[v],
        "dtype": lambda self, v: np.dtype(v),
        **{name: lambda self, v, kind=kind: kind(self.decode(part) for part in v) for name, kind in CONTAINERS.items()},
    }

    # ---- what has a number

    def _decode_shared(self, x: dict[str, Any]) -> Any:
        number = x["shared"]
        if "object" in x:
            return self._object(x, number)
        kind = next((k for k in x if k != "shared"), None)
        makers = {"array": self._arrays, "objects": self._objects, "masked": self._masked, "sparse": self._sparse}
        makers |= {"tensor": self._tensor, "random": self._random, "piecewise": self._piecewise}
        if kind not in makers:
            raise ModelError(f"it holds an unknown entry {kind!r}.")
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
            raise ModelError(f"it makes {x['object']!r} from arguments, or without them, as it is not made.")
        made = cls.__new__(cls, *arguments) if new else cls(*arguments)
        self._shared[number] = made
        if not isinstance(made, tuple):
            del self._tuples[number]
        pairs = self._dictionary(x.get("pairs", []))
        if not yours:
            if pairs and not isinstance(made, dict):
                raise ModelError(f"it gives items to {x['object']!r}, which is no dictionary.")
            pairs = without_places(pairs, self.places)
            _check_state(cls, pairs)  # the items of scikit-learn's Bunch are attributes too
        for k, v in pairs.items():
            made[k] = v
        state = self.decode(x.get("state"))
        if not isinstance(made, tuple):
            self._nested = nested
        if not yours and not new and state is not None:
            raise ModelError(f"it changes {x['object']!r} after it was made, past the checks of its constructor.")
        if not yours and not all(type(part) in (dict, type(None)) for part in _parts(state)):
            # another object could show the checks other attributes than it has
            raise ModelError(f"it gives {x['object']!r} a state that is no dictionary.")
        state = without_places(state, self.places)
        if not yours:
            state = upgraded(state) if issubclass(cls, Solution) and type(state) is dict else state
            _check_state(cls, state)
            state = _without_memories(cls, state)
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
        if level > DEEPEST:  # an array lets go of its members by recursion without a limit
            raise ModelError(f"it holds arrays of objects in each other, {level} of them.")
        self._levels[id(A)] = level
        return A

    def _masked(self, parts: Any) -> np.ma.MaskedArray:
        data, mask, fill = (self.decode(part) for part in parts)
        if not isinstance(data, np.ndarray) or not isinstance(mask, (np.ndarray, np.bool_)):
            raise ModelError("it holds a masked array of other than arrays.")
        return np.ma.MaskedArray(data, mask, fill_value=fill)

    def _sparse(self, parts: Any) -> Any:
        name, shape, *arrays = parts
        if name not in {"csr_array", "csr_matrix", "csc_array", "csc_matrix"}:
            raise ModelError(f"it holds a sparse matrix of the unknown kind {name!r}.")
        A = getattr(sparse, name)(tuple(self._arrays(k) for k in arrays), shape=tuple(shape))
        A.check_format(full_check=True)  # compiled code reads where the indices say
        if np.any(A.indptr[1:] < A.indptr[:-1]):  # where the last one is 0 or steps overflow, SciPy does not see it
            raise ModelError("it holds a sparse matrix whose rows are out of order.")
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
        held = source.state["state"] | source.state  # compiled code reads where these positions say
        if not (0 <= held.get("pos", 0) <= 624 and 0 <= held.get("buffer_pos", 0) <= 4):
            raise ModelError(f"it holds a state of the random generator {bits!r} that there is not.")
        return generator
