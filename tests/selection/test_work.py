"""Work on threads: everything is done once, and nothing goes on after the end."""

import threading
import time

import numpy as np
import pytest
from sklearn import config_context, get_config

from mercer.context import Context
from mercer.selection._work import run


def nowhere():
    return [thread for thread in threading.enumerate() if "loop" in thread.name] == []


@pytest.mark.parametrize("workers", [1, 4])
def test_every_task_is_done_once_and_off_the_main_thread(workers):
    found, threads = [], set()

    def work(task):
        threads.add(threading.get_ident())
        return task**2

    run(list(range(100)), work, found.append, workers, Context(), np.zeros(1))
    assert sorted(found) == [k**2 for k in range(100)]
    assert threading.get_ident() not in threads
    assert nowhere()


def test_no_tasks():
    run([], None, None, 2, Context(), np.zeros(1))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_ends_the_others(error):
    stop, found = np.zeros(1), []

    def work(task):
        if task == "wrong":
            raise error("it")
        while task == "endless" and not stop[0]:
            time.sleep(0.01)
        return task

    with pytest.raises(error, match="it"):
        run(["fine", "endless", "wrong", "later"], work, found.append, 2, Context(), stop)
    assert found == ["fine"]
    assert stop[0] and nowhere()


def test_time_and_what_was_finished_until_then():
    stop, found = np.zeros(1), []

    def work(task):
        while task == "until asked" and not stop[0]:
            time.sleep(0.01)
        return task

    run(["fine", "until asked", "later"], work, found.append, 1, Context(0.5), stop)
    assert "later" not in found and found[0] == "fine"
    assert nowhere()


def test_threads_have_the_configuration_of_the_caller():
    found = []
    with config_context(assume_finite=True):
        run([0], lambda task: get_config()["assume_finite"], found.append, 1, Context(), np.zeros(1))
    assert found == [True]
