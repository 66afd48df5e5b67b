"""The context of a computation: when it ends, who hears of it, and the threads that it ends."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin

import mercer
from mercer import context
from mercer.context import Context, Status, StoppedError, current


class Estimator(CallbackSupportMixin, BaseEstimator):
    pass


class Recorder:
    def __init__(self, stop_at=None):
        self.events, self.stop_at = [], stop_at

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(("begin", context.task_name, X))

    def on_fit_task_end(self, estimator, context, *, X=None):
        self.events.append(("end", context.task_name, X))
        return context.task_name == self.stop_at


def wait_for(deadline) -> None:
    end = time.monotonic() + 60
    while not deadline.interrupted:
        assert time.monotonic() < end
        time.sleep(0.001)


def watching(estimator, tasks, **data):
    watched = Context(estimator=estimator)
    watched.begin(tasks, **data)
    return watched


def test_reasons_to_stop(monkeypatch) -> None:
    assert Context()() is None
    now = time.monotonic()
    limited = Context(2.5)
    assert limited() is None
    monkeypatch.setattr(context.time, "monotonic", lambda: now + 10)
    assert limited() is Status.TIME_BUDGET
    limited.interrupt()
    assert limited() is Status.INTERRUPTED


def test_a_context_ends_with_the_one_around_it() -> None:
    assert current().above is None
    with Context().active() as outer:
        inner = Context()
        assert current() is outer and inner.above is outer and not inner.called_off
        outer.interrupt()
        assert inner() is Status.INTERRUPTED and inner.called_off and not inner.interrupted
    assert current() is not outer and Context()() is None


def test_only_who_asks_first_is_stopped() -> None:
    """The others are finishing: certificates cost some work too."""
    asked = Context()
    asked.check()
    asked.interrupt()
    with pytest.raises(StoppedError, match="interrupted"):
        asked.check()
    asked.check()
    heard = Context()
    heard.interrupt()
    assert heard() is Status.INTERRUPTED
    heard.check()


def test_work_under_shelter_does_not_see_the_budget() -> None:
    limited = Context(1e-9)
    time.sleep(0.01)
    with limited.sheltered(), limited.active():
        assert Context()() is None
        limited.interrupt()
        assert Context()() is Status.INTERRUPTED
    limited.interrupted = False
    assert limited() is Status.TIME_BUDGET


def test_a_budget_that_is_lifted() -> None:
    limited = Context(1e-9)
    time.sleep(0.01)
    assert limited() is Status.TIME_BUDGET
    limited.lift()
    assert limited() is None


def test_work_on_a_thread_comes_back_and_so_do_its_errors() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert Context().run(pool, lambda: 3) == 3
        with pytest.raises(TimeoutError, match="of the work itself"):
            Context().run(pool, lambda: (_ for _ in ()).throw(TimeoutError("of the work itself")))


def test_an_error_ends_all_the_work() -> None:
    deadline, started = Context(), threading.Event()

    ended = []

    def patient():
        started.set()
        wait_for(deadline)
        ended.append(True)

    def fails():
        assert started.wait(60)
        raise ZeroDivisionError

    with ThreadPoolExecutor(2) as pool, pytest.raises(ZeroDivisionError):
        deadline.gather(pool, lambda work: work(), [(fails,), (patient,)])
    assert ended == [True]


def test_an_interrupt_asks_the_work_to_end_and_takes_what_it_has(monkeypatch) -> None:
    deadline = Context()

    def patient():
        wait_for(deadline)
        return deadline()

    def interrupted(future):
        raise KeyboardInterrupt

    monkeypatch.setattr(context, "_result", interrupted)
    with ThreadPoolExecutor(2) as pool:
        assert deadline.gather(pool, patient, [(), ()]) == [Status.INTERRUPTED] * 2


def test_an_interrupt_while_work_is_handed_out() -> None:
    """What was not handed out yet is, and ends at once."""
    deadline = Context()

    class Pool(ThreadPoolExecutor):
        handed = 0

        def submit(self, *task):
            self.handed += 1
            if self.handed == 2:
                raise KeyboardInterrupt
            return super().submit(*task)

    def patient():
        wait_for(deadline)
        return deadline()

    with Pool(3) as pool:
        assert deadline.gather(pool, patient, [(), (), ()]) == [Status.INTERRUPTED] * 3


def test_without_callbacks_nothing_is_left_on_the_estimator() -> None:
    estimator = Estimator()
    watch = watching(estimator, 1, X=1)
    assert watch.monitor("a")({"beta": 0, "values": 0}) is None
    watch.done("a", {})
    watch.close()
    assert vars(estimator) == {}


def test_callbacks_are_told_of_tasks_and_rounds() -> None:
    recorder = Recorder()
    watch = watching(Estimator().set_callbacks(recorder), 2, X="data")
    for task in ("a", "b"):
        monitor = watch.monitor(task)
        assert monitor({}) is None
        watch.done(task, {})
    watch.close()
    rounds = [[("begin", t, None), ("begin", "round", None), ("end", "round", None), ("end", t, None)] for t in "ab"]
    assert recorder.events == ["setup", ("begin", "fit", "data"), *rounds[0], *rounds[1], ("end", "fit", "data")]


@pytest.mark.parametrize("stop_at", ["round", "a"])
def test_a_callback_may_stop_the_work(stop_at) -> None:
    watch = watching(Estimator().set_callbacks(Recorder(stop_at)), 2)
    monitor = watch.monitor("a")
    reason = Status.STOPPED
    assert monitor({}) == (reason if stop_at == "round" else None)
    watch.done("a", {})
    assert watch() == watch.monitor("b")({}) == reason


def test_a_matrix_that_takes_too_long_is_an_error() -> None:
    """A direct fit has nothing to keep before its end; the object stays as it was."""
    X = np.random.default_rng(0).normal(size=(3000, 3))
    model = mercer.KernelRidge(kernel="rbf", gram="dense")
    model.time_budget = 1e-9
    with pytest.raises(TimeoutError, match=r"^KernelRidge: the time budget is spent, .* Raise time_budget\."):
        model.fit(X, X[:, 0])
    assert not hasattr(model, "dual_coef_")
