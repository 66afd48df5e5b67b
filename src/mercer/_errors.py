"""One form of message: what, its value, the constraint, and what to try."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from inspect import signature
from numbers import Integral, Real
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from ._array import host, is_sparse

LARGEST, COUNT = float(np.finfo(np.float64).max), 2**63 - 1  # of numbers, and of what is counted
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
REMEDIES = f"Otherwise {INSTEAD}, or SVC, which finds a stationary point."  # for a kernel that is indefinite


def remedies(claim: Any) -> str:
    """What to do about a kernel of that definiteness, a sentence more where it is indefinite."""
    return f" {REMEDIES}" if claim.kind == "INDEFINITE" else ""


class JitterWarning(UserWarning):
    """A matrix was not numerically positive definite and its diagonal was raised."""


class RoundingWarning(UserWarning):
    """A result that rounding errors may have decided."""


class IndefiniteError(ValueError):
    """A matrix that had to be positive definite is not, by more than rounding."""


class UnresolvedError(ValueError):
    """A parameter is to be found from the data, and was not yet."""

    def __init__(self, owner: object, name: str, value: Any):
        super().__init__(
            f"{where(owner)}: {name} = {value!r} depends on the data; call kernel.resolve(X) first (estimators do so "
            "in fit), or give a value."
        )


class KindError(ValueError, TypeError):
    """A value of the wrong kind, such as text where numbers belong: a ValueError too, as scikit-learn raises."""


LOW_RANK = (
    "take fewer samples, a low-rank representation (gram=mercer.gram.Nystrom(rank=500)), or gram='lazy', which "
    "computes the matrix anew for each product"
)


class MatrixMemoryError(MemoryError):
    """There is no memory for a matrix, whose size the message names."""


@contextmanager
def fitting_memory(owner: object, n: int, m: int, dtype: Any = None) -> Iterator[None]:
    """Name the matrix of n × m numbers for which memory runs out meanwhile, and what to do without it."""
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
    """Let the text of an error, which a part may have raised, name the owner."""
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
    """What to do where memory runs out in a method of an estimator, as far as it has the parameters for it."""
    need = (
        str(error).partition("; ")[0]
        if isinstance(error, MatrixMemoryError)
        else f"memory ran out{f' ({error})' * bool(str(error))}"
    )
    if "fit" not in method.__name__:
        remedy = "give fewer rows at a time"
    else:
        given = signature(type(owner)).parameters
        remedy = LOW_RANK if "gram" in given else "take fewer samples"
        remedy += ", or a smaller cache_size" if "cache_size" in given else ""
    return MatrixMemoryError(naming(owner, f"{need}; {remedy}."))


def named(method: Callable[..., Any], before: Callable[[Any], None] | None = None) -> Callable[..., Any]:
    """A method of an estimator, whose errors name the estimator; `before` it something is checked."""

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
    """A public function, whose errors name it, whatever part of it raised them."""

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
        raise TypeError(f"{where(owner)}: {name} = {value!r} must be an estimator, such as KernelRidge().")


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


def type_or_value(value: Any) -> type[Exception]:
    """ValueError for a number out of range, KindError for something that is no number."""
    return ValueError if isinstance(value, Real) else KindError


def check_switches(owner: Any) -> None:
    """Raise unless the parameters that are True or False by default are, or 1 or 0; `verbose` may be larger.

    Those that a subclass outside of this library adds are its own.
    """
    ours = next((base for base in type(owner).__mro__ if base.__module__.startswith(HERE)), type(owner))
    for name, parameter in signature(ours).parameters.items():
        if isinstance(parameter.default, bool) or name == "verbose":
            value = getattr(owner, name, parameter.default)
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
        raise ValueError(f"{where(owner)}: {name} = {value!r} is unknown; choose one of {listed}.")


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


def shown(value: Any) -> str:
    """The first characters that Python writes for a value; it writes no integers of thousands of digits."""
    try:
        return f"{value!r:.80}"
    except ValueError:
        return "an integer of thousands of digits"


def check_targets(owner: object, y: Any) -> Any:
    """`y` as finite real numbers: text, times, complex numbers and gaps are refused, and not converted."""
    values = _array_of(owner, y)
    some = values.ravel() if values.dtype.kind in "OSU" else ()
    text = next((str(value) for value in some if isinstance(value, (str, bytes))), None)
    if text is not None:
        raise KindError(
            f"{where(owner)}: y holds text, such as {text!r}; give real numbers, or use a classifier for labels."
        )
    if values.dtype.kind in "cMmV":
        message = f"{where(owner)}: y holds {values.dtype} values; give real numbers."
        # scikit-learn's checks ask for this class and sentence
        raise ValueError(f"{message} Complex data not supported.") if values.dtype.kind == "c" else TypeError(message)
    if values.dtype.kind == "O":
        return as_numbers(owner, "y", values)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # what is infinite is refused next
            return values.astype(np.float64)
    return y


def check_labels(owner: object, y: Any) -> Any:
    """`y`, refused where labels are missing."""
    values = _array_of(owner, y)
    gap = next((value for value in values.ravel() if is_gap(value)), ...) if values.dtype.kind == "O" else ...
    if gap is not ...:
        raise ValueError(f"{where(owner)}: y holds {gap!r}, a missing label; name it, or drop those samples.")
    return y


def _array_of(owner: object, y: Any) -> np.ndarray:
    if is_sparse(y):
        raise KindError(f"{where(owner)}: y is sparse; give an array, y.toarray().")
    try:
        return host(y)
    except ValueError:
        raise KindError(
            f"{where(owner)}: y has rows of unequal length; give one target, or one row of as many, per sample."
        ) from None


def check_weight(owner: object, sample_weight: Any, n: int) -> np.ndarray:
    """The weights of `n` samples, finite, none negative and one positive; one number stands for all."""
    try:
        weight = host(sample_weight)
    except ValueError:
        weight = np.full(1, None)  # of unequal length
    if weight.dtype.kind == "O" and all(isinstance(value, Real) for value in weight.ravel()):
        weight = weight.astype(np.float64)  # numbers, from a frame of mixed columns
    if weight.dtype.kind not in "fiub":
        raise KindError(f"{where(owner)}: sample_weight holds {weight.dtype} values; give {n} numbers >= 0.")
    weight = np.full(n, weight) if weight.ndim == 0 else weight
    if weight.shape != (n,):
        raise ValueError(
            f"{where(owner)}: sample_weight has shape {weight.shape}, expected ({n},): give a number for each sample."
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise ValueError(
            f"{where(owner)}: sample_weight[{bad[0]}] = {weight[bad[0]]:g} must be a finite number >= 0; "
            "weight 0 leaves a sample out."
        )
    if not (weight > 0).any():
        raise ValueError(f"{where(owner)}: sample_weight is zero for all {n} samples; give one a positive weight.")
    largest = float(weight.max())
    if not 2.0**-SQUARED <= largest <= 2.0**SQUARED:
        raise ValueError(
            f"{where(owner)}: sample_weight goes up to {largest:.0e}, and its square is no floating-point number; "
            f"divide the weights by {largest:.0e}, and a penalty beside them as well."
        )
    return weight


def check_class_weight(owner: Any) -> None:
    """Raise unless `class_weight` is None, "balanced" or a dict of finite numbers >= 0."""
    if not isinstance(owner.class_weight, dict):
        given = owner.class_weight
        if not (given is None or (isinstance(given, str) and given == "balanced")):
            raise ValueError(
                f"{where(owner)}: class_weight = {given!r} is unknown; choose None, 'balanced' or a dict of weights."
            )
        return
    for name, value in owner.class_weight.items():
        if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise type_or_value(value)(
                f"{where(owner)}: class_weight[{name!r}] = {value!r} must be a finite number >= 0, by which the "
                "weights of the samples of this class are multiplied."
            )


def optional(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional library, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{purpose} needs {module}: pip install "mercer[{extra}]".') from error
