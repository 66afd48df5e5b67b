"""Compiled code. numba is imported when a compiled function is first called, never by `import mercer`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from threading import RLock
from typing import Any

FLAGS = {"contract", "nnan", "ninf", "nsz"}  # neither NaN nor infinity occurs in compiled code
_lock = RLock()
functions: list[Any] = []  # all functions compiled by `njit` in the imported modules


class Deferred:
    """A placeholder for a numba object, which is created on first use, once for all threads."""

    made: Any
    flags: frozenset[str]  # of a compiled function

    def __init__(self, make: Callable[[], Any]):
        self._make = make

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.made(*arguments)
        except SystemError as error:  # what numba makes of a Ctrl-C while it packs a result
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, KeyboardInterrupt):
                cause = cause.__cause__ or cause.__context__
            if cause is None:
                raise
            raise KeyboardInterrupt from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # looked up when objects are copied or inspected
            raise AttributeError(name)
        if name != "made":
            return getattr(self.made, name)
        with _lock:
            if "made" not in vars(self):
                self.made = self._make()
        return self.made

    @property
    def _numba_type_(self) -> Any:
        """The type, which numba needs to compile functions that use this one."""
        from numba.core.registry import cpu_target

        context = cpu_target.typing_context
        context.refresh()
        return context.resolve_value_type(self.made)


def njit(function: Callable[..., Any], flags: frozenset[str] = frozenset()) -> Any:
    """Compile without the GIL, with a cache on disk (`_cache`)."""
    made = Deferred(partial(_dispatcher, function, flags))
    made.flags = flags
    functions.append(update_wrapper(made, function))
    return functions[-1]


def njit_reordered(function: Callable[..., Any]) -> Any:
    """`njit` with sums and maxima in any order, so that they vectorise."""
    return njit(function, frozenset({"arcp", "reassoc"}))


def _dispatcher(function: Callable[..., Any], flags: frozenset[str]) -> Any:
    import numba

    from ._cache import Cache

    dispatcher: Any = numba.njit(nogil=True, fastmath=FLAGS | flags, error_model="numpy")(function)
    if dispatcher is not function:  # they are the same under NUMBA_DISABLE_JIT
        dispatcher._cache = Cache(function, flags)
    return dispatcher


def _intrinsic(name: str) -> Any:
    from . import _intrinsics

    return getattr(_intrinsics, name)


maximum, minimum = Deferred(partial(_intrinsic, "maximum")), Deferred(partial(_intrinsic, "minimum"))
as_float, as_integer = Deferred(partial(_intrinsic, "as_float")), Deferred(partial(_intrinsic, "as_integer"))
