"""The one place that imports numba. Modules with compiled code import this one, and are imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["as_float", "as_integer", "maximum", "minimum", "njit", "njit_reordered"]

FLAGS = {"contract", "nnan", "ninf", "nsz"}  # neither NaN nor infinity occurs in compiled code


def njit(function: Callable[..., Any], flags: frozenset[str] = frozenset()) -> Any:
    """Compile without the GIL, with a cache on disk where that can be written."""
    settings: dict[str, Any] = {"nogil": True, "fastmath": FLAGS | flags, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # a read-only install has nowhere to keep the cache
        return numba.njit(**settings)(function)


def njit_reordered(function: Callable[..., Any]) -> Any:
    """The same, where sums and maxima may be taken in any order, so that they vectorise."""
    return njit(function, frozenset({"arcp", "reassoc"}))


def _extremum(name: str) -> Any:
    """LLVM's maxnum or minnum: reductions written with them vectorise, Python's max() and min() do not."""

    @intrinsic
    def operation(typing: Any, x: Any, y: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = arguments[0].type
            function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind, kind]))
            return builder.call(function, arguments, fastmath=("nnan", "ninf", "nsz"))

        return x(x, y), codegen

    return operation


maximum, minimum = _extremum("maxnum"), _extremum("minnum")


@intrinsic
def as_integer(typing: Any, x: Any) -> Any:
    """The bits of a float32 as an int32."""
    return types.int32(types.float32), lambda c, b, s, a: b.bitcast(a[0], c.get_value_type(types.int32))


@intrinsic
def as_float(typing: Any, x: Any) -> Any:
    """An int32's bits as a float32."""
    return types.float32(types.int32), lambda c, b, s, a: b.bitcast(a[0], c.get_value_type(types.float32))
