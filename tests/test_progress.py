"""Deadlines and the threads that they end."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.base import BaseEstimator

from mercer import _progress
from mercer._progress import CallbackSupportMixin, Deadline, Watch, run


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


def test_reasons_to_stop(monkeypatch) -> None:
    assert Deadline()() is None
    now = time.monotonic()
    deadline = Deadline(2.5)
    assert deadline() is None
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now + 10)
    assert deadline() == "the time budget of 2.5 s is spent"
    deadline.interrupted.set()
    assert deadline() == "interrupted"


def test_work_on_a_thread_comes_back_and_so_do_its_errors() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert run(lambda: 3, pool, Deadline()) == 3
        with pytest.raises(TimeoutError, match="of the work itself"):
            run(lambda: (_ for _ in ()).throw(TimeoutError("of the work itself")), pool, Deadline())


def test_an_error_ends_all_the_work() -> None:
    deadline, started = Deadline(), threading.Event()

    ended = []

    def patient():
        started.set()
        assert deadline.interrupted.wait(60)
        ended.append(True)

    def fails():
        assert started.wait(60)
        raise ZeroDivisionError

    with ThreadPoolExecutor(2) as pool, pytest.raises(ZeroDivisionError):
        deadline.gather(pool, lambda work: work(), [(fails,), (patient,)])
    assert ended == [True]


def test_an_interrupt_asks_the_work_to_end_and_takes_what_it_has(monkeypatch) -> None:
    deadline = Deadline()

    def patient():
        assert deadline.interrupted.wait(60)
        return deadline()

    def interrupted(future):
        raise KeyboardInterrupt

    monkeypatch.setattr(_progress, "_result", interrupted)
    with ThreadPoolExecutor(2) as pool:
        assert deadline.gather(pool, patient, [(), ()]) == ["interrupted"] * 2


def test_an_interrupt_while_work_is_handed_out() -> None:
    """What was not handed out yet is, and ends at once."""
    deadline = Deadline()

    class Pool(ThreadPoolExecutor):
        handed = 0

        def submit(self, *task):
            self.handed += 1
            if self.handed == 2:
                raise KeyboardInterrupt
            return super().submit(*task)

    def patient():
        assert deadline.interrupted.wait(60)
        return deadline()

    with Pool(3) as pool:
        assert deadline.gather(pool, patient, [(), (), ()]) == ["interrupted"] * 3


def test_without_callbacks_nothing_is_left_on_the_estimator() -> None:
    estimator = Estimator()
    watch = Watch(estimator, 1, X=1)
    assert watch.monitor("a")({"beta": 0, "values": 0}) is None
    watch.done("a", {})
    watch.close()
    assert vars(estimator) == {}


def test_callbacks_are_told_of_tasks_and_rounds() -> None:
    recorder = Recorder()
    watch = Watch(Estimator().set_callbacks(recorder), 2, X="data")
    for task in ("a", "b"):
        monitor = watch.monitor(task)
        assert monitor({}) is None
        watch.done(task, {})
    watch.close()
    rounds = [[("begin", t, None), ("begin", "round", None), ("end", "round", None), ("end", t, None)] for t in "ab"]
    assert recorder.events == ["setup", ("begin", "fit", "data"), *rounds[0], *rounds[1], ("end", "fit", "data")]


@pytest.mark.parametrize("stop_at", ["round", "a"])
def test_a_callback_may_stop_the_work(stop_at) -> None:
    watch = Watch(Estimator().set_callbacks(Recorder(stop_at)), 2)
    monitor = watch.monitor("a")
    reason = "a callback asked to stop"
    assert monitor({}) == (reason if stop_at == "round" else None)
    watch.done("a", {})
    assert watch() == watch.monitor("b")({}) == reason
