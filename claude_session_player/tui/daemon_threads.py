"""Threads that nobody has to wait for: whoever wants to leave a window can, whatever its workers are doing."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

_THREAD_PATIENCE: Final = 1.0
"""Seconds in which work may come to its end by itself, and again as many in which it may tidy up."""


class DaemonThreads(ThreadPoolExecutor):
    """A thread for each piece of work. At the end it is waited for a short time only, because it may hang."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)  # it is never used
        self._running: set[threading.Thread] = set()

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Begin at once."""
        future: Future[Any] = Future()
        thread = threading.Thread(target=self._run, args=(future, work, args, kwargs), daemon=True)
        self._running.add(thread)
        thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for a while; then interrupt what still runs, so that it leaves nothing behind that is half done."""
        if wait and not self._have_ended():
            for thread in tuple(self._running):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
                )
            self._have_ended()

    def _have_ended(self) -> bool:
        until = time.monotonic() + _THREAD_PATIENCE
        for thread in tuple(self._running):
            thread.join(max(until - time.monotonic(), 0))
        return not self._running

    def _run(self, future: Future[Any], work: Callable[..., Any], args: Any, kwargs: Any) -> None:
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(work(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._running.discard(threading.current_thread())
