"""Long work that ends when it is asked to: a time budget and Ctrl-C, with the best result so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Deadline:
    """Says why work should end: the time is spent, or the user interrupted. Shared by the threads of one fit."""

    def __init__(self, seconds: float | None = None):
        self.seconds = seconds
        self.end = None if seconds is None else time.monotonic() + seconds
        self.interrupted = threading.Event()

    def __call__(self, state: Any = None) -> str | None:
        """The reason to stop, or None."""
        if self.interrupted.is_set():
            return "interrupted"
        if self.end is not None and time.monotonic() > self.end:
            return f"the time budget of {self.seconds:g} s is spent"
        return None

    def wait(self, futures: list[Future[Any]]) -> list[Any]:
        """The results of work on other threads, which Ctrl-C asks to end; another exception ends it all."""
        try:
            return [_result(future) for future in futures]
        except KeyboardInterrupt:
            self.interrupted.set()
            return [future.result() for future in futures]
        except BaseException:
            self.interrupted.set()
            for future in futures:
                future.cancel()
            raise


def _result(future: Future[Any]) -> Any:
    while True:
        try:
            return future.result(timeout=0.1)  # a wait without end would not notice Ctrl-C on every system
        except TimeoutError:
            if future.done():
                raise


def run(work: Callable[[], Any], pool: Any, deadline: Deadline) -> Any:
    """Do `work` on a thread of the pool, so that Ctrl-C reaches this one and not the middle of the work."""
    return deadline.wait([pool.submit(work)])[0]
