"""Tasks on threads that end when they are asked to: by Ctrl-C, by an error, or because the time is spent."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from sklearn import config_context, get_config

from ..context import Context, StoppedError

PAUSE = 0.1  # seconds, after which a wait looks at the clock, and at Ctrl-C on systems where that does not end it


def run(
    tasks: list[Any],
    work: Callable[[Any], Any],
    receive: Callable[[Any], None],
    workers: int,
    context: Context,
    stop: np.ndarray,
) -> None:
    """Give what `work` returns for each task to `receive`, in any order, until the time is spent.

    Also a single worker is a thread, since Ctrl-C is raised on the main thread: there it ends the whole, where a fit
    would be content with what it has. Fits under way see that the context asks to end, compiled code that `stop[0]` is
    not zero any more, and what they return then is left out; other work is waited for. A worker that callbacks watch
    waits until they have heard of its result, since they may ask to stop.
    """
    done: SimpleQueue[tuple[Any, BaseException | None, threading.Event]] = SimpleQueue()
    left, queue, config = len(tasks), iter(tasks), get_config()

    def loop() -> None:
        received = threading.Event()
        try:
            with config_context(**config), context.active():  # of scikit-learn, each thread has its own
                for task in queue:
                    result = None if context() else work(task)
                    if context():
                        break
                    received.clear()
                    done.put((result, None, received))
                    while context.callbacks is not None and not received.wait(PAUSE) and not context():
                        pass
        except StoppedError:  # as the context asks
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
        while not done.empty():  # what was finished meanwhile
            result, error, _ = done.get()
            if error is None:
                receive(result)
