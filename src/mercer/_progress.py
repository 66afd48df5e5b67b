"""Long work that can be watched and ended: a time budget, Ctrl-C, scikit-learn's callbacks, and a file to resume from.

This is all that the library knows of `sklearn.callback`, whose interface is young.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from sklearn.callback import CallbackSupportMixin, with_callbacks

from ._checkpoint import Checkpoint

__all__ = ["CallbackSupportMixin", "Deadline", "Watch", "called_off", "remedy", "run", "under", "with_callbacks"]


INTERRUPTED = "interrupted"
ASKED = "a callback asked to stop"
SPENT = "the time budget of {seconds:g} s is spent"

_thread = threading.local()


def remedy(reason: str, otherwise: str) -> str:
    """What to do about work that ended for this reason; `otherwise` is for the reasons of its solver."""
    if reason.startswith(INTERRUPTED):
        return "What was found until then is kept; fit again, and let it finish."
    if reason.startswith(ASKED):
        return "What was found until then is kept; let the callback stop later."
    return "Raise time_budget." if reason.startswith(SPENT.split("{")[0]) else otherwise


@contextmanager
def under(deadline: Deadline) -> Iterator[None]:
    """Deadlines that are made on this thread meanwhile end with this one."""
    outer = getattr(_thread, "deadline", None)
    _thread.deadline = deadline
    try:
        yield
    finally:
        _thread.deadline = outer


def called_off() -> bool:
    """Whether the deadline above this thread has passed, of which whoever made it will speak."""
    above: Deadline | None = getattr(_thread, "deadline", None)
    return above is not None and above() is not None


class Deadline:
    """Says why work should end: the time is spent, or the user interrupted. Shared by the threads of one fit."""

    def __init__(self, seconds: float | None = None):
        self.above: Deadline | None = getattr(_thread, "deadline", None)
        self.seconds = seconds
        self.end = None if seconds is None else time.monotonic() + seconds
        self.interrupted = threading.Event()

    def __call__(self, state: Any = None) -> str | None:
        """The reason to stop, or None."""
        if self.interrupted.is_set():
            return INTERRUPTED
        if self.end is not None and time.monotonic() > self.end:
            return SPENT.format(seconds=self.seconds)
        return self.above() if self.above else None

    def gather(self, pool: Any, work: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        """The results of work on threads of a pool, which Ctrl-C asks to end; another exception ends it all.

        So it reaches this thread and not the middle of the work, also while tasks are still handed out.
        """
        futures: list[Future[Any]] = []
        try:
            for task in tasks:
                futures.append(pool.submit(work, *task))
            return [_result(future) for future in futures]
        except KeyboardInterrupt:
            self.interrupted.set()
            futures += [pool.submit(work, *task) for task in tasks[len(futures) :]]
            return [future.result() for future in futures]
        except BaseException:
            self.interrupted.set()
            for future in futures:
                future.cancel()
            raise


class Watch(Deadline):
    """The deadline of a fit of several tasks that also tells callbacks of every round, and keeps a checkpoint."""

    def __init__(
        self,
        estimator: Any,
        tasks: int | None,
        seconds: float | None = None,
        checkpoint: Checkpoint | None = None,
        **data: Any,
    ):
        super().__init__(seconds)
        self.estimator, self.checkpoint, self.context = estimator, checkpoint, None
        self.stopped, self.lock, self.tasks = False, threading.Lock(), dict[str, Any]()
        if getattr(estimator, "_skl_callbacks", None):
            self.context = estimator._init_callback_context(max_subtasks=tasks, sequential_subtasks=False)
            self.context.call_on_fit_task_begin(estimator=estimator, **data)
        self.data = data

    def __call__(self, state: Any = None) -> str | None:
        return ASKED if self.stopped else super().__call__(state)

    def monitor(self, task: str) -> Callable[[dict[str, Any]], str | None]:
        """What a solver calls every round of the task, which may be done in several runs."""
        if self.context is not None and task not in self.tasks:
            with self.lock:  # callbacks are written for one thread
                self.tasks[task] = self.context.subcontext(task_name=task, task_id=task, max_subtasks=None)
                self.tasks[task].call_on_fit_task_begin(estimator=self.estimator)
        context = self.tasks.get(task)

        def round(state: dict[str, Any]) -> str | None:
            if self.checkpoint is not None:
                self.checkpoint.put(task, {"beta": state["beta"], "values": state["values"]})
            if context is not None:
                with self.lock:
                    step = context.subcontext(task_name="round")
                    step.call_on_fit_task_begin(estimator=self.estimator)
                    self.stopped |= step.call_on_fit_task_end(estimator=self.estimator)
            return self(state)

        return round

    def done(self, task: str, state: dict[str, Any]) -> None:
        """The task has ended in this state."""
        if self.checkpoint is not None:
            self.checkpoint.put(task, state, done=True)
        if task in self.tasks:
            with self.lock:
                self.stopped |= self.tasks[task].call_on_fit_task_end(estimator=self.estimator)

    def close(self) -> None:
        """All tasks have ended."""
        if self.checkpoint is not None:
            self.checkpoint.write()
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator, **self.data)


def _result(future: Future[Any]) -> Any:
    while True:
        try:
            return future.result(timeout=0.1)  # a wait without end would not notice Ctrl-C on every system
        except TimeoutError:
            if future.done():
                raise


def run(work: Callable[[], Any], pool: Any, deadline: Deadline) -> Any:
    """Do `work` on a thread of the pool."""
    return deadline.gather(pool, work, [()])[0]
