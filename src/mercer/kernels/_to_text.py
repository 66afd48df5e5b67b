"""Kernels as text that `parse` reads back."""

from __future__ import annotations

from inspect import Parameter, signature
from math import inf
from numbers import Real
from typing import Any

import numpy as np

from .._array import host, is_array
from .._same import same
from ._base import Kernel, is_kernel, registry, snake_case
from ._definiteness import Definiteness
from .algebra import (
    ALGEBRA,
    CenteredAt,
    Exp,
    Normalized,
    PowerOf,
    Product,
    Restricted,
    Scaled,
    Series,
    Sum,
    Tensor,
)
from .constant import Constant

OPERATIONS: dict[str, type[Kernel]] = {snake_case(cls).removesuffix("_at"): cls for cls in ALGEBRA}
PRINTED = 1000  # largest number of array entries that are written out
ESCAPES = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "r": "\r"}
SUM, PRODUCT, POWER, ATOM = range(4)  # operator precedence


def to_text(kernel: Kernel) -> str:
    """The kernel as text that `parse` reads back, if all its parts can be written.

    Parameters at their defaults are omitted. Python functions and samples appear in angle brackets, which `parse`
    rejects.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> to_text(0.5 * Gaussian(lengthscale=2.0) + Linear() ** 2)
    '0.5*gaussian(lengthscale=2.0) + linear**2'
    """
    return _text(kernel)[0]


def _text(k: Kernel) -> tuple[str, int]:
    """The text of a kernel, and its operator precedence."""
    kind = type(k)
    parts: list[Kernel] = getattr(k, "kernels", [])
    if len(parts) > 1 and not any(type(p) is kind for p in parts):
        if kind is Sum:
            return " + ".join([_within(parts[0], PRODUCT), *map(_addend, parts[1:])]), SUM
        if kind is Product:
            first = _within(parts[0], PRODUCT if type(parts[0]) is Scaled else POWER)
            return "*".join([first, *(_within(p, POWER) for p in parts[1:])]), PRODUCT
        if kind is Tensor:
            return " @ ".join(_within(p, POWER) for p in parts), PRODUCT
    if kind is Scaled and is_number(k.scale):
        return f"{value_text(k.scale)}*{_within(k.kernel, POWER)}", PRODUCT
    if kind is PowerOf and is_number(k.exponent):
        return f"{_within(k.kernel, ATOM)}**{value_text(k.exponent)}", POWER
    if kind in (Exp, Normalized):
        return f"{_within(k.kernel, ATOM)}.{kind.__name__.lower()}()", ATOM
    if kind is Restricted:
        return f"{_within(k.kernel, ATOM)}.on({value_text(k.columns)})", ATOM
    if kind is Series and isinstance(k.coefficients, list):
        radius = "" if k.radius == inf else f", radius={value_text(k.radius)}"
        return f"{_within(k.kernel, ATOM)}.series({value_text(k.coefficients)}{radius})", ATOM
    if getattr(k, "X", None) is not None:  # k refers to a sample
        name = "centered" if kind is CenteredAt else k.name
        return f"{name}({to_text(k.kernel)}, <{k.domain.size(k.X)} samples>)", ATOM
    return _call(k), ATOM


def _within(k: Kernel, tightness: int) -> str:
    text, own = _text(k)
    return text if own >= tightness else f"({text})"


def _addend(k: Kernel) -> str:
    """A term after the first, where a number means a constant kernel (0 is dropped)."""
    plain = type(k) is Constant and is_number(k.value) and k.value != 0
    return value_text(k.value) if plain else _within(k, PRODUCT)


def _call(k: Kernel) -> str:
    """``name(required, option=value)``, without options at their defaults."""
    names = {cls: name for name, cls in (OPERATIONS | registry).items()}
    name = names.get(type(k))
    arguments = []
    for p in signature(type(k)).parameters.values():
        value = getattr(k, p.name)
        if p.default is Parameter.empty:
            arguments.append(value_text(value))
        elif not (type(value) is type(p.default) and same(value, p.default)):
            arguments.append(f"{p.name}={value_text(value)}")
    inside = f"({', '.join(arguments)})" if arguments else ""
    return f"{type(k).__name__.lower()}{inside}" if name is None else f"{name}{inside}"


def is_number(value: Any) -> bool:
    """Whether a parameter is a number, and neither a Boolean nor NaN."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and value == value


def value_text(value: Any) -> str:
    """A parameter as text; if it has none, a name in angle brackets."""
    if is_kernel(value):
        return to_text(value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool) or is_number(value):
        return repr(value)
    if isinstance(value, str):
        escaped = {character: f"\\{letter}" for letter, character in ESCAPES.items() if character != "'"}
        return '"' + "".join(escaped.get(c, c) for c in value) + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))}{',' * (len(value) == 1)})"
    if isinstance(value, slice):
        ends = ["" if v is None else value_text(v) for v in (value.start, value.stop, value.step)]
        return ":".join(ends if ends[2] else ends[:2])
    if isinstance(value, Definiteness):
        if value.is_cpd and value.order:
            return f"CPD({value.order}{', strict=True' * value.strict})"
        return "STRICTLY_PD" if value.strict else str(value)
    if isinstance(value, dict):
        inside = (f"{name}: {value_text(v) if is_kernel(v) else type(v).__name__}" for name, v in value.items())
        return f"<{', '.join(inside)}>"
    if is_array(value) and host(value).size > PRINTED:
        return f"<array of shape {tuple(value.shape)}>"
    if is_array(value):
        return f"array({value_text(host(value).tolist())})"
    return f"<{getattr(value, '__name__', type(value).__name__)}>"
