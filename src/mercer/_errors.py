"""A common form for messages: what, its value, the constraint, and the remedy."""

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

LARGEST, COUNT = float(np.finfo(np.float64).max), 2**63 - 1  # the largest number, and the largest count
SHOWN = 80  # characters of a value in a message
NAMED = "of_estimator"  # the function below that wraps methods
HERE = "mercer."  # prefix of our module names
BETWEEN = (HERE, "sklearn.", "joblib.")  # and of modules that may lie between the user's line and ours
SQUARED = 480  # exponent of a power of two whose square leaves room for small fractions and large multiples of it

F = TypeVar("F", bound=Callable[..., Any])


class IndefiniteKernelWarning(UserWarning):
    """A kernel that is not positive definite was passed to a method whose guarantees require one."""


INSTEAD = (
    "correct its spectrum (Clipped, Flipped, Shifted or Squared of mercer.kernels), or use a Kreĭn method (KreinRidge, "
    "KreinSVC)"
)
REMEDIES = f"Otherwise {INSTEAD}, or SVC, which finds a stationary point."


def remedies(claim: Any) -> str:
    """A sentence with the remedies for an indefinite kernel; empty for other kernels."""
    return f" {REMEDIES}" if claim.kind == "INDEFINITE" else ""


class JitterWarning(UserWarning):
    """A matrix was not numerically positive definite, so a constant was added to its diagonal."""


class RoundingWarning(UserWarning):
    """Rounding errors may have determined a result."""


class IndefiniteError(ValueError):
    """A matrix that must be positive definite is not, by more than rounding."""


class UnresolvedError(ValueError):
    """A parameter depends on the data and has no value yet."""

    def __init__(self, owner: object, name: str, value: Any):
        super().__init__(
            f"{where(owner)}: {name} = {value!r} depends on the data; call kernel.resolve(X) first (estimators do so "
            "in fit), or set a value."
        )


class KindError(ValueError, TypeError):
    """A value of the wrong kind, such as text instead of numbers; also a ValueError, as scikit-learn raises."""


LOW_RANK = (
    "use fewer samples, a low-rank representation (gram=mercer.gram.Nystrom(rank=500)), or gram='lazy', which "
    "recomputes the matrix for each product"
)


class MatrixMemoryError(MemoryError):
    """There is not enough memory for a matrix; the message gives its size."""


def ran_out(error: BaseException) -> bool:
    """Whether memory ran out: that of the host, or of a device, for which torch has a class of its own."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


@contextmanager
def fitting_memory(owner: object, n: int, m: int, dtype: Any = None) -> Iterator[None]:
    """If memory runs out in this block, raise an error with the size of the (n, m) matrix and the remedy."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MatrixMemoryError) or not ran_out(error):
            raise
        gigabytes = (4e-9 if str(dtype).endswith("float32") else 8e-9) * n * m
        raise MatrixMemoryError(
            f"{where(owner)}: not enough memory for a matrix of shape ({n}, {m}), {gigabytes:.3g} GB; {LOW_RANK}."
        ) from error


def where(owner: object) -> str:
    """The name at the start of a message."""
    return owner if isinstance(owner, str) else type(owner).__name__


def naming(owner: object, text: str) -> str:
    """Put the owner's name in front of a message unless it is there already: ``KernelRidge, Gaussian: …``."""
    said = re.match(r"(\w+)\.\w+\(\) ", text)  # Python names the class that defines the method
    if said and said[1] in {base.__name__ for base in type(owner).__mro__}:
        text = where(owner) + text[said.end(1) :]
    if re.search(rf"\b{where(owner)}\b", text.split("\n", 1)[0]):
        return text
    mark = "," if re.match(r"[A-Z]\w*(, [A-Z]\w*)*: ", text) else ":"
    return f"{where(owner)}{mark} {text}"


def attribute(error: Exception, owner: object) -> None:
    """Add the owner's name to the message of an error, which a part may have raised."""
    if error.args == (str(error),):
        error.args = (naming(owner, str(error)),)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line that led here; the message names the estimator called there."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(BETWEEN):
        if frame.f_code.co_name == NAMED:
            text = naming(frame.f_locals["self"], text)
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def thrift(owner: Any, method: Callable[..., Any], error: Exception) -> MatrixMemoryError:
    """The error when an estimator's method runs out of memory, with the remedies that its parameters allow."""
    text = str(error)
    if isinstance(error, MatrixMemoryError):
        need = text.partition("; ")[0]
    else:
        need = f"memory ran out ({text.splitlines()[0]})" if text else "memory ran out"
    if "fit" not in method.__name__:
        remedy = "pass fewer rows at a time"
    else:
        given = defaults(type(owner))
        remedy = LOW_RANK if "gram" in given else "use fewer samples"
        remedy += ", or a smaller cache_size" if "cache_size" in given else ""
    return MatrixMemoryError(naming(owner, f"{need}; {remedy}."))


def named(method: Callable[..., Any], before: Callable[[Any], None] | None = None) -> Callable[..., Any]:
    """Wrap an estimator's method so that errors name the estimator; `before` is called first."""

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
        except (MemoryError, RuntimeError) as error:
            if not ran_out(error):
                raise
            raise thrift(self, method, error) from error

    return of_estimator


def speaking(function: F) -> F:
    """Wrap a public function so that errors name it, whichever part raised them."""

    @wraps(function)
    def of_function(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except (ValueError, TypeError) as error:
            attribute(error, function.__name__)
            raise

    return cast(F, of_function)


def unwritten(owner: object, method: str) -> NotImplementedError:
    """The error for a method that a base class leaves to its subclasses."""
    return NotImplementedError(f"{where(owner)} has no method {method}, which its base class requires; implement it.")


def check_free(registry: Mapping[str, type], cls: type) -> None:
    """Raise if the name of a class to be registered belongs to one of this library's classes."""
    taken = registry.get(cls.name)  # type: ignore[attr-defined]
    if taken is not None and taken.__module__.startswith(HERE) and taken.__module__ != cls.__module__:
        raise ValueError(
            f"register: {cls.__name__} would replace {taken.__module__}.{taken.__name__} in expressions; rename it."
        )


def require_target(owner: object, y: Any) -> None:
    """Raise scikit-learn's error if there is no target."""
    if y is None:
        raise ValueError(f"{where(owner)} requires y to be passed, but the target y is None.")


def require_classes(owner: object, classes: np.ndarray) -> None:
    """Raise scikit-learn's error if a classifier has only one class."""
    if len(classes) < 2:
        raise ValueError(
            f"{where(owner)}: the number of classes has to be greater than one, but there is one class, "
            f"{classes.tolist()[0]!r}."
        )


def check_instance(owner: object, name: str, value: Any) -> None:
    """Raise unless a value is an estimator instance."""
    if isinstance(value, type):
        raise TypeError(f"{where(owner)}: {name} = {value.__name__} is a class; pass an instance, {value.__name__}().")
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
    """Raise ``Matern: nu = -1 must be > 0.`` unless `value` is a real number within its bounds, or in `besides`."""
    if type(value) is float or (type(value) is int and abs(value) <= COUNT):  # a fast path for valid values
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
    plain = value.item() if isinstance(value, np.generic) else value  # LARGEST overflows in single precision
    word, end = ("an integer", " below 2**63" * beyond) if integer else ("a finite number", "")
    bounds = f" {' and '.join(rule for rule, _ in rules)}" * bool(rules)
    if not isinstance(value, kind) or isinstance(value, (bool, np.bool_)) or not abs(plain) <= most:
        raise type_or_value(value)(f"{where(owner)}: {name} = {shown(value)} must be {word}{bounds}{end}{instead}.")
    if not all(rule(value) for _, rule in rules):
        raise ValueError(f"{where(owner)}: {name} = {value!r} must be{bounds}{instead}.")


def check_grid(owner: object, name: str, values: Any) -> np.ndarray:
    """Candidate values, as a non-empty array of positive numbers in double precision."""
    grid = np.atleast_1d(host(values))
    if grid.dtype.kind not in "fiu":
        raise KindError(f"{where(owner)}: {name} = {shown(values)} must be numbers > 0.")
    if grid.ndim != 1 or not grid.size or not np.all(np.isfinite(grid) & (grid > 0)):
        raise ValueError(f"{where(owner)}: {name} = {shown(values)} must be numbers > 0, at least one.")
    return grid.astype(np.float64)


def type_or_value(value: Any) -> type[Exception]:
    """ValueError for a number out of range, KindError for anything else."""
    return ValueError if isinstance(value, Real) else KindError


def _defaults(cls: Any) -> dict[str, Any]:
    """The parameters of a class with their defaults."""
    return {name: parameter.default for name, parameter in signature(cls).parameters.items()}


defaults: Callable[[Any], dict[str, Any]] = cache(_defaults)


def check_switches(owner: Any) -> None:
    """Raise unless parameters whose defaults are Boolean are True, False, 1 or 0; `verbose` may be larger.

    Parameters added by a subclass outside this library are not checked.
    """
    for name, default in switches(type(owner)):
        value = getattr(owner, name, default)
        if isinstance(value, bool) or (
            name in owner.or_points and hasattr(value, "__len__") and not isinstance(value, str)
        ):
            continue
        whole = isinstance(value, Integral) and 0 <= int(value) <= (COUNT if name == "verbose" else 1)
        if not whole and not isinstance(value, np.bool_):
            raise type_or_value(value)(f"{where(owner)}: {name} = {shown(value)} must be True or False.")


def _switches(cls: Any) -> list[tuple[str, Any]]:
    """The switches among the parameters of a class, with their defaults."""
    ours = next((base for base in cls.__mro__ if base.__module__.startswith(HERE)), cls)
    return [item for item in defaults(ours).items() if isinstance(item[1], bool) or item[0] == "verbose"]


switches: Callable[[Any], list[tuple[str, Any]]] = cache(_switches)


def is_one_of(value: Any, choices: tuple[Any, ...]) -> bool:
    """Whether a value of any type is one of these choices."""
    plain = value.item() if isinstance(value, np.generic) else value  # a grid search passes NumPy numbers
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
    """Raise unless each parameter satisfies its rule: a tuple of choices, or bounds for `check_number`."""
    for name, rule in rules.items():
        if isinstance(rule, tuple):
            check_choice(owner, name, getattr(owner, name), rule)
        else:
            check_number(owner, name, getattr(owner, name), **rule)


def is_gap(value: Any) -> bool:
    """Whether a single value is missing: None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # the truth value of a comparison with NA is undefined
        return True
    except ValueError:  # an array
        return False


def as_numbers(owner: object, name: str, values: np.ndarray) -> np.ndarray:
    """Convert an array of objects to numbers; raises for the first that is not a finite number."""
    for value in values.ravel():
        fault = _fault(value)
        if fault:
            raise KindError(f"{where(owner)}: {name} holds {shown(value)}, {fault}.")
    return values.astype(np.float64)


def _fault(value: Any) -> str:
    """Why an object is not a finite number, and the remedy; empty if it is one."""
    if is_gap(value):
        return "a missing value; impute such values, or drop those samples"
    try:
        finite = np.isfinite(float(value))
    except OverflowError:
        finite = False
    except (TypeError, ValueError):  # scikit-learn's checks require these words
        kind = type(value).__name__
        return f"but each entry of this argument must be numeric, not a string or {kind}; pass real numbers"
    return "" if finite else "which is beyond the floating-point range; drop such samples, or rescale the values"


class Brief(Repr):
    """A short text for a value; only its first parts and levels are read, however large it is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxlong = self.maxother = 10 * SHOWN  # the rest is cut at the end

    def repr_instance(self, x: Any, level: int) -> str:
        """For an estimator, its non-default parameters, each in brief; other objects use their own repr."""
        if not hasattr(x, "get_params") or isinstance(x, type):
            return super().repr_instance(x, level)
        if level <= 0:
            return f"{where(x)}(...)"
        given = x.get_params(deep=False).items()
        changed = [(k, v) for k, v in given if not same(v, defaults(type(x)).get(k))]
        return f"{where(x)}({', '.join(f'{k}={self.repr1(v, level - 1)}' for k, v in changed)})"


def shown(value: Any) -> str:
    """A short repr of a value; Python raises for integers of thousands of digits."""
    try:
        return Brief().repr(value)[:SHOWN]
    except ValueError:
        return "an integer of thousands of digits"


def optional(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional library, or raise an error that names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{purpose} needs {module}: pip install "mercer[{extra}]".') from error
