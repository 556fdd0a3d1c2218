"""A job that is done aside: in a fork of this process, while this one does something else."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from claude_session_player.store.reading import cores

_T = TypeVar("_T")


@contextmanager
def aside(job: Callable[[], _T], *, is_long: bool = True) -> Iterator[Callable[[], _T]]:
    """Begin a job; gives what waits for its result. What nobody waits for is given up in the end.

    The job is done here, and only when its result is asked for, where it is not long, where a fork would be of no use
    or unsafe, and where it came to nothing.

    >>> with aside(lambda: 6 * 7) as answer:
    ...     answer()
    42
    """
    child = _forked(job) if is_long and _can_fork() else None
    if child is None:
        yield job
        return
    process, results = child
    try:
        yield lambda: _fetched(results, job)
    finally:
        os.close(results)
        with contextlib.suppress(OSError):  # whoever ignores its children has none to wait for
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _can_fork() -> bool:
    """True where there is a core to spare, and where this is the only thread: others may hold locks for ever."""
    return sys.platform == "linux" and cores() > 1 and threading.active_count() == 1


def _forked(job: Callable[[], object]) -> tuple[int, int] | None:
    """The child that does a job, and where to read its result from; `None` where there cannot be one."""
    try:
        results, told = os.pipe()
    except OSError:
        return None
    try:
        process = os.fork()
    except OSError:
        os.close(results)
        os.close(told)
        return None
    if process == 0:
        _work(job, told)
    os.close(told)
    return process, results


def _work(job: Callable[[], object], told: int) -> None:
    """The whole life of the child. It says nothing of what goes wrong: that is found out again where it is heard."""
    try:
        with open(told, "wb") as file:
            pickle.dump(job(), file)
    finally:
        os._exit(0)


def _fetched(results: int, job: Callable[[], _T]) -> _T:
    try:
        with open(results, "rb", closefd=False) as file:
            result: _T = pickle.load(file)
    except (EOFError, OSError, pickle.UnpicklingError):
        return job()
    return result
