"""One form of message: what, its value, the constraint, and what to try."""

from __future__ import annotations

from importlib import import_module
from numbers import Integral, Real
from types import ModuleType
from typing import Any

import numpy as np


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


class IndefiniteError(ValueError):
    """A matrix that had to be positive definite is not, by more than rounding."""


def where(owner: object) -> str:
    """The name that a message starts with."""
    return owner if isinstance(owner, str) else type(owner).__name__


def check_number(
    owner: object,
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    integer: bool = False,
) -> None:
    """Raise ``Matern: nu = -1 must be > 0.`` unless `value` is a finite real number within its bounds."""
    kind = Integral if integer else Real
    rules = []
    if above is not None:
        rules.append((f"> {above:g}", lambda v: v > above))
    if at_least is not None:
        rules.append((f">= {at_least:g}", lambda v: v >= at_least))
    if at_most is not None:
        rules.append((f"<= {at_most:g}", lambda v: v <= at_most))
    word = "an integer" if integer else "a finite number"
    if not isinstance(value, kind) or isinstance(value, bool) or value != value or abs(value) == float("inf"):
        raise type_or_value(value)(
            f"{where(owner)}: {name} = {value!r} must be {word}{''.join(' ' + r for r, _ in rules)}."
        )
    if not all(rule(value) for _, rule in rules):
        raise ValueError(f"{where(owner)}: {name} = {value!r} must be {' and '.join(r for r, _ in rules)}.")


def type_or_value(value: Any) -> type[Exception]:
    """ValueError for a number out of range, TypeError for something that is no number."""
    return ValueError if isinstance(value, Real) else TypeError


def check_choice(owner: object, name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    plain = value.item() if isinstance(value, np.generic) else value  # a grid search brings NumPy's numbers
    if not any(type(plain) is type(c) and plain == c for c in choices):
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{where(owner)}: {name} = {value!r} is unknown; choose one of {listed}.")


def optional(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional library, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{purpose} needs {module}: pip install "mercer[{extra}]".') from error
