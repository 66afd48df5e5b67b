"""Tasks on threads that stop on Ctrl-C, on an error, or when the time budget is spent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from sklearn import config_context, get_config

from ..context import Context, StoppedError

PAUSE = 0.1  # seconds between checks of the clock, and of Ctrl-C on systems where it does not interrupt a wait


def run(
    tasks: list[Any],
    work: Callable[[Any], Any],
    receive: Callable[[Any], None],
    workers: int,
    context: Context,
    stop: np.ndarray,
) -> None:
    """Pass the result of `work` for each task to `receive`, in any order, until the time is spent.

    Even a single worker is a thread, since Ctrl-C is raised on the main thread: there it ends the whole search, whereas
    a fit would return its current solution. On a stop, running fits see it in the context and compiled code in a
    nonzero `stop[0]`, and their results are discarded; other work is waited for. With callbacks, a worker waits until
    they have received its result, since they may request a stop.
    """
    done: SimpleQueue[tuple[Any, BaseException | None, threading.Event]] = SimpleQueue()
    left, queue, config = len(tasks), iter(tasks), get_config()

    def loop() -> None:
        received = threading.Event()
        try:
            with config_context(**config), context.active():  # scikit-learn's configuration is per thread
                for task in queue:
                    result = None if context() else work(task)
                    if context():
                        break
                    received.clear()
                    done.put((result, None, received))
                    while context.callbacks is not None and not received.wait(PAUSE) and not context():
                        pass
        except StoppedError:  # requested by the context
            return
        except BaseException as error:
            done.put((None, error, received))

    threads = [threading.Thread(target=loop, daemon=True) for _ in range(min(workers, left))]
    for thread in threads:
        thread.start()
    try:
        while left and not (context() and done.empty()):
            try:
                result, error, received = done.get(timeout=PAUSE)
            except Empty:
                continue
            if error is not None:
                raise error
            left -= 1
            try:
                receive(result)
            finally:
                received.set()
    finally:
        if left:
            context.interrupt()
            stop[0] = 1
        for thread in threads:
            thread.join()
        while not done.empty():  # results that finished in the meantime
            result, error, _ = done.get()
            if error is None:
                receive(result)
