"""One form of message: what, its value, the constraint, and what to try."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from inspect import signature
from numbers import Integral, Real
from reprlib import Repr
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from ._array import host
from ._same import same

LARGEST, COUNT = float(np.finfo(np.float64).max), 2**63 - 1  # of numbers, and of what is counted
SHOWN = 80  # letters of a value in a message
NAMED = "of_estimator"  # the function below that wraps methods
HERE = "mercer."  # what the names of our modules begin with
BETWEEN = (HERE, "sklearn.", "joblib.")  # and of those that may lie between the line of a user and ours
SQUARED = 480  # the exponent of a power of two whose square leaves room for small shares of it, and large multiples

F = TypeVar("F", bound=Callable[..., Any])


class IndefiniteKernelWarning(UserWarning):
    """A kernel that is not positive definite was given to a method whose guarantees need one."""


INSTEAD = (
    "correct its spectrum (Clipped, Flipped, Shifted or Squared of mercer.kernels), or use a Kreĭn method (KreinRidge, "
    "KreinSVC)"
)
REMEDIES = f"Otherwise {INSTEAD}, or SVC, which finds a stationary point."


def remedies(claim: Any) -> str:
    """A sentence about the remedies for an indefinite kernel; empty for others."""
    return f" {REMEDIES}" if claim.kind == "INDEFINITE" else ""


class JitterWarning(UserWarning):
    """A matrix was not numerically positive definite and its diagonal was raised."""


class RoundingWarning(UserWarning):
    """Rounding errors may have decided a result."""


class IndefiniteError(ValueError):
    """A matrix that had to be positive definite is not, by more than rounding."""


class UnresolvedError(ValueError):
    """A parameter depends on the data and has no value yet."""

    def __init__(self, owner: object, name: str, value: Any):
        super().__init__(
            f"{where(owner)}: {name} = {value!r} depends on the data; call kernel.resolve(X) first (estimators do so "
            "in fit), or give a value."
        )


class KindError(ValueError, TypeError):
    """A value of the wrong kind, such as text where numbers belong: a ValueError too, as scikit-learn raises."""


LOW_RANK = (
    "take fewer samples, a low-rank representation (gram=mercer.gram.Nystrom(rank=500)), or gram='lazy', which "
    "recomputes the matrix for each product"
)


class MatrixMemoryError(MemoryError):
    """There is not enough memory for a matrix; the message gives its size."""


@contextmanager
def fitting_memory(owner: object, n: int, m: int, dtype: Any = None) -> Iterator[None]:
    """If memory runs out in this block, name the n × m matrix and the remedy."""
    try:
        yield
    except MatrixMemoryError:
        raise
    except MemoryError as error:
        gigabytes = (4e-9 if str(dtype).endswith("float32") else 8e-9) * n * m
        raise MatrixMemoryError(
            f"{where(owner)}: memory does not hold a matrix of {n} × {m} numbers, {gigabytes:.3g} GB; {LOW_RANK}."
        ) from error


def where(owner: object) -> str:
    """The name that a message starts with."""
    return owner if isinstance(owner, str) else type(owner).__name__


def naming(owner: object, text: str) -> str:
    """A text of any part, with the name of the owner in front unless it is there: ``KernelRidge, Gaussian: …``."""
    said = re.match(r"(\w+)\.\w+\(\) ", text)  # by Python, of the class in which a method is written
    if said and said[1] in {base.__name__ for base in type(owner).__mro__}:
        text = where(owner) + text[said.end(1) :]
    if re.search(rf"\b{where(owner)}\b", text.split("\n", 1)[0]):
        return text
    mark = "," if re.match(r"[A-Z]\w*(, [A-Z]\w*)*: ", text) else ":"
    return f"{where(owner)}{mark} {text}"


def attribute(error: Exception, owner: object) -> None:
    """Make the text of an error, which a part may have raised, name the owner."""
    if error.args == (str(error),):
        error.args = (naming(owner, str(error)),)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user that led here; the text names the estimator that it called."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(BETWEEN):
        if frame.f_code.co_name == NAMED:
            text = naming(frame.f_locals["self"], text)
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def thrift(owner: Any, method: Callable[..., Any], error: MemoryError) -> MatrixMemoryError:
    """The error for memory that ran out in a method of an estimator, with the remedies that its parameters allow."""
    need = (
        str(error).partition("; ")[0]
        if isinstance(error, MatrixMemoryError)
        else f"memory ran out{f' ({error})' * bool(str(error))}"
    )
    if "fit" not in method.__name__:
        remedy = "give fewer rows at a time"
    else:
        given = defaults(type(owner))
        remedy = LOW_RANK if "gram" in given else "take fewer samples"
        remedy += ", or a smaller cache_size" if "cache_size" in given else ""
    return MatrixMemoryError(naming(owner, f"{need}; {remedy}."))


def named(method: Callable[..., Any], before: Callable[[Any], None] | None = None) -> Callable[..., Any]:
    """A method of an estimator whose errors name the estimator; `before` checks something first."""

    @wraps(method)
    def of_estimator(self: Any, *args: Any, **options: Any) -> Any:
        try:
            if before is not None:
                before(self)
            return method(self, *args, **options)
        except (ValueError, TypeError) as error:
            attribute(error, self)
            raise
        except OverflowError as error:
            raise ValueError(naming(self, f"{str(error).rstrip('.')}.")) from error
        except MemoryError as error:
            raise thrift(self, method, error) from error

    return of_estimator


def speaking(function: F) -> F:
    """A public function whose errors name it, whichever part of it raised them."""

    @wraps(function)
    def of_function(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except (ValueError, TypeError) as error:
            attribute(error, function.__name__)
            raise

    return cast(F, of_function)


def check_instance(owner: object, name: str, value: Any) -> None:
    """Raise unless a value is an estimator; a class is none."""
    if isinstance(value, type):
        raise TypeError(f"{where(owner)}: {name} = {value.__name__} is a class; give an instance, {value.__name__}().")
    if not hasattr(value, "fit") or not hasattr(value, "get_params"):
        raise TypeError(f"{where(owner)}: {name} = {shown(value)} must be an estimator, such as KernelRidge().")


def check_number(
    owner: object,
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    integer: bool = False,
    besides: tuple[Any, ...] = (),
) -> None:
    """Raise ``Matern: nu = -1 must be > 0.`` unless `value` is a real number within its bounds, or one `besides`."""
    if type(value) is float or (type(value) is int and abs(value) <= COUNT):  # at once what is plainly right
        most = value if at_most is None else at_most
        right = (above is None or value > above) and (at_least is None or value >= at_least) and value <= most
        if right and abs(value) <= LARGEST and not (integer and type(value) is float):
            return
    if is_one_of(value, besides):
        return
    instead = "".join(f", or {other!r}" for other in besides)
    kind, most = (Integral, COUNT) if integer else (Real, LARGEST)
    rules = []
    if above is not None:
        rules.append((f"> {above:g}", lambda v: v > above))
    if at_least is not None:
        rules.append((f">= {at_least:g}", lambda v: v >= at_least))
    if at_most is not None:
        rules.append((f"<= {at_most:g}", lambda v: v <= at_most))
    beyond = isinstance(value, Integral) and int(value) > COUNT
    plain = value.item() if isinstance(value, np.generic) else value  # the largest number is none of single precision
    word, end = ("an integer", " below 2**63" * beyond) if integer else ("a finite number", "")
    bounds = f" {' and '.join(rule for rule, _ in rules)}" * bool(rules)
    if not isinstance(value, kind) or isinstance(value, (bool, np.bool_)) or not abs(plain) <= most:
        raise type_or_value(value)(f"{where(owner)}: {name} = {shown(value)} must be {word}{bounds}{end}{instead}.")
    if not all(rule(value) for _, rule in rules):
        raise ValueError(f"{where(owner)}: {name} = {value!r} must be{bounds}{instead}.")


def check_grid(owner: object, name: str, values: Any) -> np.ndarray:
    """Numbers to choose from, in double precision: positive, and at least one."""
    grid = np.atleast_1d(host(values))
    if grid.dtype.kind not in "fiu":
        raise KindError(f"{where(owner)}: {name} = {shown(values)} must be numbers > 0.")
    if grid.ndim != 1 or not grid.size or not np.all(np.isfinite(grid) & (grid > 0)):
        raise ValueError(f"{where(owner)}: {name} = {shown(values)} must be numbers > 0, at least one.")
    return grid.astype(np.float64)


def type_or_value(value: Any) -> type[Exception]:
    """ValueError for a number out of range, KindError for something that is no number."""
    return ValueError if isinstance(value, Real) else KindError


def _defaults(cls: Any) -> dict[str, Any]:
    """The parameters of a class, with their defaults."""
    return {name: parameter.default for name, parameter in signature(cls).parameters.items()}


defaults: Callable[[Any], dict[str, Any]] = cache(_defaults)


def check_switches(owner: Any) -> None:
    """Raise unless the parameters that are True or False by default are, or 1 or 0; `verbose` may be larger.

    Those that a subclass outside of this library adds are its own.
    """
    ours = next((base for base in type(owner).__mro__ if base.__module__.startswith(HERE)), type(owner))
    for name, default in defaults(ours).items():
        if isinstance(default, bool) or name == "verbose":
            value = getattr(owner, name, default)
            if name in owner.or_points and hasattr(value, "__len__") and not isinstance(value, str):
                continue
            whole = isinstance(value, Integral) and 0 <= int(value) <= (COUNT if name == "verbose" else 1)
            if not whole and not isinstance(value, np.bool_):
                raise type_or_value(value)(f"{where(owner)}: {name} = {shown(value)} must be True or False.")


def is_one_of(value: Any, choices: tuple[Any, ...]) -> bool:
    """Whether a value, which may be anything, is one of these."""
    plain = value.item() if isinstance(value, np.generic) else value  # a grid search brings NumPy's numbers
    return any(type(plain) is type(c) and plain == c for c in choices)


def check_choice(owner: object, name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if not is_one_of(value, choices):
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{where(owner)}: {name} = {shown(value)} is unknown; choose one of {listed}.")


NUMBER: dict[str, Any] = {}  # rules for `check_parameters`
POSITIVE: dict[str, Any] = {"above": 0}
NOT_NEGATIVE: dict[str, Any] = {"at_least": 0}
FROM_ZERO: dict[str, Any] = {"at_least": 0, "integer": True}
FROM_ONE: dict[str, Any] = {"at_least": 1, "integer": True}
ONE_OR_NONE: dict[str, Any] = {**FROM_ONE, "besides": (None,)}
SHARE: dict[str, Any] = {"at_least": 0, "at_most": 1}
SWITCH = (True, False)


def check_parameters(owner: Any, rules: Mapping[str, Any]) -> None:
    """Raise unless each of these parameters keeps its rule: a tuple of choices, or bounds for `check_number`."""
    for name, rule in rules.items():
        if isinstance(rule, tuple):
            check_choice(owner, name, getattr(owner, name), rule)
        else:
            check_number(owner, name, getattr(owner, name), **rule)


def is_gap(value: Any) -> bool:
    """Whether a single value marks a gap: None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # NA refuses to say whether it differs from itself
        return True
    except ValueError:  # an array
        return False


def as_numbers(owner: object, name: str, values: np.ndarray) -> np.ndarray:
    """An array of objects as numbers; raises for the first that is none, or not finite."""
    for value in values.ravel():
        fault = _fault(value)
        if fault:
            raise KindError(f"{where(owner)}: {name} holds {shown(value)}, {fault}.")
    return values.astype(np.float64)


def _fault(value: Any) -> str:
    """Why an object is no finite number, and the remedy; nothing where it is one."""
    if is_gap(value):
        return "a missing value; impute such values, or drop those samples"
    try:
        finite = np.isfinite(float(value))
    except OverflowError:
        finite = False
    except (TypeError, ValueError):  # scikit-learn's checks ask for these words
        kind = type(value).__name__
        return f"and each entry of this argument must be neither a string nor of type {kind}, but a number"
    return "" if finite else "which is beyond the largest floating-point number; drop such samples, or scale it"


class Brief(Repr):
    """The text of a value, of which only the first parts and levels are read, however much it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxlong = self.maxother = 10 * SHOWN  # the rest is cut at the end

    def repr_instance(self, x: Any, level: int) -> str:
        """Of an estimator its parameters that are not the default, each in brief; another object writes its own."""
        if not hasattr(x, "get_params") or isinstance(x, type):
            return super().repr_instance(x, level)
        if level <= 0:
            return f"{where(x)}(...)"
        given = x.get_params(deep=False).items()
        changed = [(k, v) for k, v in given if not same(v, defaults(type(x)).get(k))]
        return f"{where(x)}({', '.join(f'{k}={self.repr1(v, level - 1)}' for k, v in changed)})"


def shown(value: Any) -> str:
    """What Python writes for a value, in brief; it writes no integers of thousands of digits."""
    try:
        return Brief().repr(value)[:SHOWN]
    except ValueError:
        return "an integer of thousands of digits"


def optional(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional library, or raise with the extra that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{purpose} needs {module}: pip install "mercer[{extra}]".') from error
