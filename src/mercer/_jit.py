"""The one place that imports numba, on first use: ``njit`` with an on-disk cache where that can be written."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any


class _Lazy:
    """A function that is compiled when it is first called, so that importing Mercer does not import numba."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.compiled: Callable[..., Any] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        if self.compiled is None:
            import numba

            try:
                self.compiled = numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})(
                    self.function
                )
            except RuntimeError:  # a read-only install has nowhere to keep the cache
                self.compiled = numba.njit(nogil=True, fastmath={"contract", "reassoc", "nsz"})(self.function)
        return self.compiled(*args)


def njit(function: Callable[..., Any]) -> _Lazy:
    """Compile `function` by numba on its first call (nogil, cached)."""
    return _Lazy(function)
