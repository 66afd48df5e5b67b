"""Checks of the parts of a model file: none may write data, open files, or mislead compiled code."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from functools import cached_property, partial
from numbers import Integral, Number
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._errors import Brief, UnresolvedError
from ..domains import Rows, Strings
from ..kernels import Kernel
from ..space import Function
from ..types import Array
from ._allowed import (
    CALLERS,
    RESPONSES,
)

PLACES = {"memory", "checkpoint"}  # parameters that are paths to write to, or folders of pickles to read
READERS = {"input"}  # a parameter of scikit-learn's vectorizers: samples may be file names
GRIDS = {"param_grid", "param_distributions"}  # attributes of searches with parameters of other estimators
KEYWORDS = {"kw_args", "inv_kw_args", "_kwargs", "kernel_params"}  # attributes of estimators with keywords of functions
WRITING = {"out", "where"}  # arguments of NumPy functions: the array to write into, and a mask
MULTIPLE = 100  # maximum number of parts of a value per part in the file, since parts can be reused
LONGEST = 1 << 20  # maximum number of members that need no space in a file: of ranges, empty arrays, reused tuples
CHOICES = 1000  # maximum size of an array of objects in the settings of a search
DEEPEST = 250  # maximum nesting depth: each level needs three calls, and Python allows a thousand


class ModelError(ValueError):
    """A model cannot be written, or a file is not a valid model file."""


class _Shown(Brief):
    """Shows a value from a file in a message, without running methods of its parts."""

    def repr_instance(self, x: Any, level: int) -> str:
        plain = x is None or isinstance(x, (Number, str, bytes, Path))
        return super().repr_instance(x, level) if plain else f"<{type(x).__name__}>"


def shown(value: Any) -> str:
    return _Shown().repr(value)[:80]


def parts_of(state: Any) -> tuple[Any, ...]:
    """The attributes of an object, and its slots if it has any."""
    return state if isinstance(state, tuple) else (state,)


def without_places(state: Any, found: set[str]) -> Any:
    """The attributes of an object without paths to write to, whose names are added to `found`; numbers stay."""
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
    """The settings of a search, without paths and without parameters that turn samples into file names."""
    if grid is None:
        return None
    if type(grid) in (list, tuple):
        return type(grid)(_settings(part, found) for part in grid)
    if type(grid) not in (dict, OrderedDict):
        raise ModelError(f"a search has the settings {shown(grid)}; they must be a dict, or a list of dicts.")
    out = {}
    for name, values in grid.items():
        word = _word(name)
        if word in PLACES | READERS and not _is_number(values):
            found.add(word)
        else:  # the values of a nested search contain grids
            out[name] = (_settings if word in GRIDS else _values)(values, found)
    return out


def _values(value: Any, found: set[str]) -> Any:
    """Values of a search; every dictionary in them counts as settings."""
    if isinstance(value, dict):
        return _settings(value, found)
    if type(value) is list:
        return [_values(part, found) for part in value]
    if isinstance(value, tuple):
        return tuple.__new__(type(value), [_values(part, found) for part in value])
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        if value.size > CHOICES or any(isinstance(part, (dict, list, tuple, np.ndarray)) for part in value.flat):
            raise ModelError("a search has settings in an array of objects; use a list instead.")
    return value


def _word(name: Any) -> str:
    """The last part of a nested name such as ``step__memory``."""
    return name.rpartition("__")[2] if isinstance(name, str) else ""


def _is_number(value: Any) -> bool:
    return (
        value is None or isinstance(value, Number) or (isinstance(value, (list, tuple)) and all(map(_is_number, value)))
    )


class Pure:
    """A NumPy function from a file, which returns its results and cannot write into an array of the model."""

    def __init__(self, ufunc: np.ufunc):
        self.ufunc, self.__name__ = ufunc, ufunc.__name__

    def __call__(self, *args: Any, **options: Any) -> Any:
        if len(args) > self.ufunc.nin or WRITING & options.keys():
            raise ModelError(f"{self.__name__!r} would write into an array; define a function that returns a new one.")
        return self.ufunc(*args, **options)

    def __eq__(self, other: Any) -> bool:
        return self.ufunc is getattr(other, "ufunc", other)

    def __hash__(self) -> int:
        return hash(self.ufunc)

    def __repr__(self) -> str:
        return repr(self.ufunc)


def checked_partial(made: partial) -> partial:
    """Return the partial; raise if its NumPy function would write its result into an array."""
    function = made.func.ufunc if isinstance(made.func, Pure) else made.func
    if isinstance(function, np.ufunc) and (len(made.args) >= function.nin or WRITING & made.keywords.keys()):
        raise ModelError(
            f"a partial of {function.__name__!r} writes into an array; define a function that returns a new one."
        )
    return made


def checked_range(made: range) -> range:
    """Return the range; raise if it is longer than allowed in a file."""
    if made[LONGEST:]:
        raise ModelError(f"{made} has more than {LONGEST} numbers, the maximum in a model file.")
    return made


def check_room(A: np.ndarray) -> None:
    """Raise for an array with more items than bytes, because reading or masking it would need much memory."""
    items = A.size * np.ma.make_mask_descr(A.dtype).itemsize  # for records, of all fields
    if max((items, *A.shape)) > max(LONGEST, A.nbytes):
        raise ModelError(f"an array of shape {A.shape} is larger than its content.")


def check_state(cls: type, state: Any) -> None:
    """Raise for attributes that would hide members of the class, and for samples that name files."""
    for part in parts_of(state):
        for name, value in (part or {}).items():
            if not isinstance(name, str):  # not an attribute, and its text may be endless
                continue
            if name.startswith("__") or _hides(cls, name):
                raise ModelError(f"the attribute {name!r} of a {cls.__name__} would hide a member of the class.")
            if _word(name) in READERS and cls.__module__.startswith("sklearn.") and not _says(value, "content"):
                raise ModelError(
                    f"a {cls.__name__} with {name} = {shown(value)} opens the files named by its samples; read them "
                    f"first, and fit with {name}='content'."
                )
            if _word(name) in KEYWORDS and (
                type(value) not in (dict, OrderedDict, type(None)) or WRITING & {*(value or ())}
            ):
                raise ModelError(
                    f"a {cls.__name__} with {name} = {shown(value)} writes into an array; define a function that "
                    "returns a new one."
                )
            if name in CALLERS and not _is_response(value):
                raise ModelError(
                    f"a {cls.__name__} with {name} = {shown(value)} would call that method; name a prediction method."
                )


def _says(value: Any, text: str) -> bool:
    """Whether a value is an immutable string equal to this text; an array could be equal now and change later."""
    return type(value) in (str, np.str_) and value == text


def _is_response(value: Any) -> bool:
    """Whether a value names a prediction method, or is a list of such names."""
    if type(value) in (list, tuple):
        return all(map(_is_response, value))
    return value is None or (type(value) is str and value in RESPONSES)


def without_memories(cls: type, state: Any) -> Any:
    """The attributes without cached properties, which are recomputed rather than trusted."""
    if isinstance(state, tuple):
        return tuple(without_memories(cls, part) for part in state)
    return state and {k: v for k, v in state.items() if not isinstance(getattr(cls, k, None), cached_property)}


def _hides(cls: type, name: str) -> bool:
    """Whether an attribute would hide a method, or a class attribute of an estimator or kernel such as its domain."""
    if isinstance(getattr(cls, name, None), (FunctionType, MethodType, property)):
        return True
    if not hasattr(cls, name) or not issubclass(cls, BaseEstimator):
        return False
    names: list[str] = cls._get_param_names()  # type: ignore[attr-defined]
    return name not in names


class Copies:
    """Private copies of arrays for checked parts, so that no other part of the model can change them."""

    def __init__(self, room: int) -> None:
        self.room = room  # maximum size of an array made from a list, in numbers of 8 bytes
        self._made: dict[int, tuple[Any, np.ndarray]] = {}  # keeps the originals alive, so that ids stay unique

    def __call__(self, values: Array) -> np.ndarray:
        if type(values) not in (list, np.ndarray):
            raise ModelError(f"it contains a {type(values).__name__} instead of an array.")
        check_spread(values, self.room)
        if id(values) not in self._made:
            self._made[id(values)] = values, np.array(values)
        return self._made[id(values)][1]


def check_spread(value: Any, room: float) -> None:
    """Raise for lists that NumPy would turn into an array much larger than they are in the file."""
    count, widest = _spread(value)
    if count * widest > room:
        raise ModelError("it contains a list that takes much more memory as an array than in the file.")


def _spread(value: Any) -> tuple[int, int]:
    """The number of entries of an array made from a value, and the size of the widest in numbers of 8 bytes."""
    if isinstance(value, (list, tuple, dict)):
        parts = [_spread(part) for part in (value.values() if isinstance(value, dict) else value)]
        return sum(count for count, _ in parts), max((width for _, width in parts), default=1)
    if isinstance(value, np.ndarray):
        return value.size, 1 + value.itemsize // 9
    if isinstance(value, (str, bytes)):
        return 1, 1 + len(value) // 2  # a character in an array takes four bytes
    if isinstance(value, (BaseEstimator, Function)) and hasattr(type(value), "__getitem__"):
        raise ModelError(f"it contains a {type(value).__name__} where NumPy would treat it as a list.")
    return len(value) if isinstance(value, range) else 1, 1


def check_lists(made: Any, room: float) -> None:
    """Raise for lists in a kernel, and points of a function, whose checks would create huge arrays."""
    if isinstance(made, Kernel):
        check_spread(vars(made), room)
    elif isinstance(made, Function):
        check_spread(vars(made).get("points"), float("inf"))  # long texts and reused arrays are not combined


def _check_points(made: Function, room: float) -> None:
    """Raise for points whose checks would create much larger arrays, of one point or of all single values."""
    points = made.points if isinstance(made.points, (list, tuple)) else []
    single = [point for point in points if not isinstance(point, (list, tuple, np.ndarray))]
    for values in (*points, [] if isinstance(made.kernel.domain, Strings) else single):
        if isinstance(values, (list, tuple)):
            check_spread(values, room)


def check_made(made: Any, own: Copies) -> None:
    """Raise for invalid parts that compiled code would trust, and for kernels with parameters out of range.

    Arrays that another part of the model could change are copied before they are checked.
    """
    if isinstance(made, Kernel):
        with suppress(UnresolvedError):  # parameters to be estimated by a fit
            made.validate()
    elif isinstance(made, Function) and not isinstance(made.kernel.domain, Rows):
        _check_points(made, own.room)
        checked = made.kernel.domain.check(made.points, made, "points")
        if made.kernel.domain.size(checked) != len(made):
            raise ModelError("a function has different numbers of points and coefficients.")
    elif type(made).__name__ == "OneHotEncoder" and hasattr(made, "categories_"):
        _check_one_hot(made, own)
    elif counts_rows(type(made), getattr(made, "__dict__", None)):
        raise ModelError(f"a {type(made).__name__} that is not multiclass does not check its parts' predictions.")
    elif hasattr(made, "vocabulary_"):
        words = made.vocabulary_
        numbers: list[Any] = list(words.values()) if type(words) is dict else [None]
        if not all(isinstance(k, Integral) for k in numbers) or sorted(numbers) != list(range(len(words))):
            raise ModelError(f"the vocabulary of a {type(made).__name__} is not numbered 0, 1, …")


def counts_rows(cls: type, state: Any) -> bool:
    """Whether the estimator builds a sparse matrix from rows predicted by others, which may be out of range.

    A one-vs-rest classifier does, unless its targets are exactly "multiclass".
    """
    if cls.__name__ != "OneVsRestClassifier" or not isinstance(state, dict) or "label_binarizer_" not in state:
        return False
    state["label_binarizer_"] = copy(state["label_binarizer_"])
    return not _says(vars(state["label_binarizer_"]).get("y_type_"), "multiclass")


def unfolded(value: Any, sizes: dict[int, int]) -> int:
    """The number of parts visited when a value is cloned, compared, shown or validated, counted at each use.

    For estimators these are the parameters, not fitted attributes. Cyclic values raise a RecursionError anyway.
    """
    if value is None or isinstance(value, (str, bytes, Number, FunctionType, type)):
        return 1
    if id(value) not in sizes:
        sizes[id(value)] = 1
        sizes[id(value)] += sum(unfolded(part, sizes) for part in _members(value))
    return sizes[id(value)]


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return *value, *value.values()
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if isinstance(value, slice):
        return value.start, value.stop, value.step
    if isinstance(value, np.ndarray):
        return value.flat if value.dtype.hasobject else ()
    if isinstance(value, partial):
        return value.func, value.args, value.keywords
    if isinstance(value, MethodType):
        return (value.__self__,)
    own = getattr(value, "__dict__", {})
    names = type(value)._get_param_names() if isinstance(value, BaseEstimator) else own
    return [own[name] for name in names if name in own]


def _check_one_hot(made: Any, own: Copies) -> None:
    """Check that the columns match the categories: indices of a sparse matrix are computed from them unchecked."""
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
