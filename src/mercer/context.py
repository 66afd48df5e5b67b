"""The context of a computation: its time limit, its callbacks, and its checkpoint file.

Each public entry point (`fit` of an estimator, a search, a test) creates one context. It applies to the work of its
thread and of the threads started by that work, never to the whole process. A solver calls it every round:
``status = context(state)`` is None, or the reason to stop with the result so far. Work without intermediate results
calls ``context.check()`` from time to time, which raises instead.

Callbacks are scikit-learn's. Their interface is new, so only this module and the estimators' base class use it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import wraps
from typing import Any, TypeVar, cast

from sklearn.exceptions import ConvergenceWarning

from ._checkpoint import Checkpoint
from ._errors import check_number, warn, where
from .types import EstimatorLike

__all__ = ["Context", "Monitor", "Status", "StoppedError", "current", "limited", "warn_early"]


class Status(Enum):
    """Why a solver stopped; the value is the text used in warnings."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter is reached"
    PRECISION = "the floating-point precision is insufficient for this tol"
    NO_DESCENT = "no step lowers the objective"
    TIME_BUDGET = "the time budget is spent"
    INTERRUPTED = "interrupted"
    STOPPED = "a callback asked to stop"

    def __str__(self) -> str:
        return self.value

    @property
    def external(self) -> bool:
        """Whether the solver was asked to stop."""
        return self in _REMEDIES

    def remedy(self, otherwise: str) -> str:
        """The advice for this status; `otherwise` if the solver stopped by itself."""
        return _REMEDIES.get(self, otherwise)


_REMEDIES = {
    Status.TIME_BUDGET: "Raise time_budget.",
    Status.INTERRUPTED: "The best so far is kept; fit again to finish.",
    Status.STOPPED: "The best so far is kept; let the callback stop later.",
}


F = TypeVar("F", bound=Callable[..., Any])
Monitor = Callable[[dict[str, Any]], Status | None]  # called every round, with its state


class StoppedError(BaseException):
    """Work was stopped before it had a result; like Ctrl-C, cross-validation does not treat it as a failed fit."""

    def __init__(self, status: Status):
        super().__init__(str(status))
        self.status = status


class Context:
    """The time limit and the callbacks of a computation; shared by the threads of one fit.

    Parameters
    ----------
    time_budget : float, optional
        Seconds from now. The limit of the enclosing context applies as well.
    estimator : estimator, optional
        Its callbacks are called every round.

    Attributes
    ----------
    checkpoint : Checkpoint or None
        Stores the states of tasks.

    Examples
    --------
    >>> context = Context(time_budget=60.0)
    >>> context() is None
    True
    >>> context.interrupt()
    >>> context()
    <Status.INTERRUPTED: 'interrupted'>
    """

    def __init__(self, time_budget: float | None = None, estimator: EstimatorLike = None):
        self.above: Context | None = _current.get()
        self.end = None if time_budget is None else time.monotonic() + time_budget
        self.estimator = estimator
        self.checkpoint: Checkpoint | None = None
        self.interrupted = self.stopped = self.told = False
        self.lock, self.tasks = threading.Lock(), dict[str, Any]()
        self.callbacks: Any = None
        self.rounds = 0  # the number of rounds so far

    @contextmanager
    def active(self) -> Iterator[Context]:
        """Make this the current context of the thread."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)

    # ---- when to stop

    def __call__(self, state: Any = None) -> Status | None:
        """The reason to stop, or None; a state means that a round has ended, and is reported to the callbacks."""
        if state is not None and self.callbacks is not None and self.callbacks.max_subtasks is None:
            self._round(self.callbacks, task_id=self.rounds)
        status = self._status()
        self.told |= status is not None
        return status

    def _status(self) -> Status | None:
        if self.interrupted:
            return Status.INTERRUPTED
        if self.stopped:
            return Status.STOPPED
        if self.end is not None and time.monotonic() > self.end:
            return Status.TIME_BUDGET
        return self.above() if self.above else None

    def check(self) -> None:
        """Raise `StoppedError` if there is a reason to stop that has not been reported yet.

        Otherwise the work to which it was reported is finishing: certifying its result takes some time too.
        """
        if not self.told:
            status = self()
            if status is not None:
                raise StoppedError(status)

    def insist(self) -> None:
        """Raise `StoppedError` for any reason to stop, even a reported one: for results that must be complete."""
        if (status := self()) is not None:
            raise StoppedError(status)

    def draws(self, count: int) -> Iterator[int]:
        """0, 1, … below `count`, until there is a reason to stop, with a warning; an error before the first."""
        self.check()
        for number in range(count):
            if number and (status := self({"round": number})) is not None:
                warn_early(self.estimator, f"{number} of {count} random draws were made", status)
                return
            yield number

    @property
    def heard(self) -> Status | None:
        """The reason to stop, if it has been reported to the work inside."""
        return self() if self.told else None

    def tell_of(self, part: object) -> None:
        """Warn if a part, which leaves the warning to its owner, stopped early."""
        if status := self.heard:
            warn_early(self.estimator, f"{where(part)} did not finish", status)

    def unfinished(self, status: Status) -> BaseException:
        """The exception for work that has no result because it was stopped."""
        if self.called_off:
            return StoppedError(status)
        if status is Status.INTERRUPTED:
            return KeyboardInterrupt()
        who = f"{where(self.estimator)}: " if self.estimator is not None else ""
        advice = "Let the callback stop later." if status is Status.STOPPED else status.remedy("")
        return TimeoutError(f"{who}{status}, and there is no result yet. {advice}")

    def interrupt(self) -> None:
        """Ask the work to stop."""
        self.interrupted = True

    def lift(self) -> None:
        """Remove the time budget: the remaining work must be done, however long it takes."""
        self.end, self.told = None, False

    @contextmanager
    def sheltered(self) -> Iterator[None]:
        """Ignore the time budget inside, where the complete result is needed; the budget is checked afterwards."""
        end, self.end = self.end, None
        try:
            yield
        finally:
            self.end = end

    @contextmanager
    def sharing(self, parts: int) -> Iterator[None]:
        """Limit the work inside to the remaining time divided by `parts`: it is the first of as many similar parts."""
        end = self.end
        if end is not None:
            now = time.monotonic()
            self.end = now + (end - now) / parts
        try:
            yield
        finally:
            self.end, self.told = end, False

    @property
    def owner(self) -> EstimatorLike:
        """The estimator that the user called, which may contain that of this context."""
        above = None if self.above is None else self.above.owner
        return self.estimator if above is None else above

    @property
    def called_off(self) -> bool:
        """Whether the enclosing context asks to stop; its owner reports it."""
        return self.above is not None and self.above() is not None

    def gather(self, pool: Any, work: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        """The results of work on threads of a pool; Ctrl-C asks it to stop, any other exception ends it all.

        Ctrl-C thus reaches this thread and not the middle of the work, even while tasks are still being submitted.
        """
        futures: list[Future[Any]] = []
        try:
            for task in tasks:
                futures.append(pool.submit(work, *task))
            return [_result(future) for future in futures]
        except KeyboardInterrupt:
            self.interrupt()
            futures += [pool.submit(work, *task) for task in tasks[len(futures) :]]
            return [future.result() for future in futures]
        except BaseException:
            self.interrupt()
            for future in futures:
                future.cancel()
            raise

    def run(self, pool: Any, work: Callable[[], Any]) -> Any:
        """The result of `work` on a thread of the pool."""
        return self.gather(pool, work, [()])[0]

    # ---- callbacks

    def fits(self, estimator: EstimatorLike) -> bool:
        """Whether this is the work of a fit of this object, or part of it, and not of a callback."""
        return self.estimator is estimator or (self.above is not None and self.above.fits(estimator))

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Callbacks are called inside: one at a time, as they are not thread-safe, and outside this context."""
        with self.lock:
            token = _current.set(None)
            try:
                yield
            finally:
                _current.reset(token)

    def begin(self, tasks: int | None = 0, **data: Any) -> None:
        """Tell the callbacks that a fit begins, with the number of tasks (None: unknown)."""
        if self.callbacks is None and getattr(self.estimator, "_skl_callbacks", None):
            self.callbacks, self.data = (
                self.estimator._init_callback_context(max_subtasks=tasks, sequential_subtasks=False),
                data,
            )
            with self._calling():
                self.callbacks.call_on_fit_task_begin(estimator=self.estimator, **data)

    def monitor(self, task: str) -> Monitor:
        """The function that a solver calls every round of a task, which may take several runs."""
        if self.callbacks is not None and task not in self.tasks:
            with self._calling():
                self.tasks[task] = self.callbacks.subcontext(task_name=task, task_id=task, max_subtasks=None)
                self.tasks[task].call_on_fit_task_begin(estimator=self.estimator)
        watched = self.tasks.get(task)

        def round(state: dict[str, Any]) -> Status | None:
            if self.checkpoint is not None:
                self.checkpoint.put(task, {"beta": state["beta"], "values": state["values"]})
            if watched is not None:
                self._round(watched)
            return self()

        return round

    def _round(self, watched: Any, **place: Any) -> None:
        with self._calling():
            self.rounds += 1
            step = watched.subcontext(task_name="round", **place)
            step.call_on_fit_task_begin(estimator=self.estimator)
            self.stopped |= step.call_on_fit_task_end(estimator=self.estimator)

    def done(self, task: str, state: dict[str, Any]) -> None:
        """Record that the task has ended in this state."""
        if self.checkpoint is not None:
            self.checkpoint.put(task, state, done=True)
        if task in self.tasks:
            with self._calling():
                self.stopped |= self.tasks[task].call_on_fit_task_end(estimator=self.estimator)

    def close(self) -> None:
        """Record that all tasks have ended."""
        if self.checkpoint is not None:
            self.checkpoint.write()
        if self.callbacks is not None:
            with self._calling():
                self.callbacks.call_on_fit_task_end(estimator=self.estimator, **self.data)


def limited(function: F) -> F:
    """Run a public function that has a parameter `time_budget` in its own context."""

    @wraps(function)
    def within(*args: Any, **options: Any) -> Any:
        budget = options.get("time_budget")
        check_number(function.__name__, "time_budget", budget, above=0, besides=(None,))
        with Context(budget, function.__name__).active() as context:
            try:
                return function(*args, **options)
            except StoppedError as stopped:
                raise context.unfinished(stopped.status) from None

    return cast(F, within)


def complete(function: F) -> F:
    """`limited`, for results that must be complete: if any work inside stopped early, it raises a `TimeoutError`."""

    @limited
    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        if current().heard:
            current().insist()
        return result

    return cast(F, checked)


def kept(fit: F) -> F:
    """Wrap a fit that works in place: an exception, also in a callback, restores the earlier fit."""

    @wraps(fit)
    def restoring(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **options)
        except Exception:
            self.__dict__ = before
            raise

    return cast(F, restoring)


def warn_early(owner: object, finding: str, status: Status, otherwise: str = "") -> None:
    """Warn that an estimator or a test did less than asked, with the reason and the remedy."""
    who = "" if owner is None else f"{where(owner)}: "
    warn(f"{who}{finding}: {status}. {status.remedy(otherwise)}", ConvergenceWarning)


_current: ContextVar[Context | None] = ContextVar("context", default=None)


def current() -> Context:
    """The context of this thread, or one without limits if there is none."""
    return _current.get() or Context()


def is_fit_of(estimator: EstimatorLike) -> bool:
    """Whether the context of this thread belongs to a fit of this object."""
    context = _current.get()
    return context is not None and context.estimator is estimator


def _result(future: Future[Any]) -> Any:
    while True:
        try:
            return future.result(timeout=0.1)  # an unlimited wait would not notice Ctrl-C on every system
        except TimeoutError:
            if future.done():
                raise
