"""Runs a job for each of many files: in this process, or in several if there is much to read."""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from queue import SimpleQueue
    from subprocess import Popen

PARALLEL_BYTES: Final = 32 << 20
"""From this many bytes on, starting other processes takes less time than it saves."""
_PORTION_BYTES: Final = 4 << 20
_FILE_BYTES: Final = 16 << 10
"""Opening a file, and passing on its result, takes as long as reading this many bytes of it."""
_WORKER: Final = "claude_session_player.util.workers"


class SizedJob(Protocol):
    """A file to read, and how many bytes that is, as far as is known."""

    @property
    def size(self) -> int:
        """The number of bytes."""
        ...


_J = TypeVar("_J", bound=SizedJob)
_R = TypeVar("_R")


class WorkerTask(NamedTuple, Generic[_J, _R]):
    """What is done with each job: a function of a module, by name, so that other processes find it as well."""

    module: str
    function: str

    @property
    def work(self) -> Callable[[_J], _R]:
        """The function itself; its module is imported on first use."""
        work: Callable[[_J], _R] = getattr(import_module(self.module), self.function)
        return work


def run_jobs(jobs: Sequence[_J], task: WorkerTask[_J, _R]) -> Iterator[_R]:
    """The results of all jobs, in any order."""
    is_much = sum(map(_cost, jobs)) >= PARALLEL_BYTES
    workers = min(_cores(), len(jobs)) if is_much and sys.executable else 1
    return _run_in_workers(jobs, task, workers) if workers > 1 else _run_here(jobs, task)


def _run_here(jobs: Sequence[_J], task: WorkerTask[_J, _R]) -> Iterator[_R]:
    work = task.work
    for job in jobs:
        yield work(job)


def _run_in_workers(jobs: Sequence[_J], task: WorkerTask[_J, _R], workers: int) -> Iterator[_R]:
    """Child processes work on portions of the jobs; portions are done here if a process fails.

    They are started, not forked: forking is unsafe in a process with threads, and not every system can do it.
    """
    import threading
    from queue import SimpleQueue

    portions = _portions(jobs)
    done: SimpleQueue[list[_R] | None] = SimpleQueue()
    for _ in range(workers):
        threading.Thread(target=_supervise, args=(portions, task, done), daemon=True).start()
    try:
        while workers:
            results = done.get()
            if results is None:
                workers -= 1
            else:
                yield from results
        for portion in portions:
            yield from _run_here(portion, task)
    finally:
        portions.clear()


def _portions(jobs: Sequence[_J]) -> list[list[_J]]:
    """The jobs in portions of similar size; the last, which is taken first, has the largest file."""
    portions: list[list[_J]] = []
    room = 0
    for job in sorted(jobs, key=lambda job: job.size):
        if room <= 0:
            portions.append([])
            room = _PORTION_BYTES
        portions[-1].append(job)
        room -= _cost(job)
    return portions


def _cost(job: SizedJob) -> int:
    return job.size + _FILE_BYTES


def _supervise(portions: list[list[_J]], task: WorkerTask[_J, _R], done: SimpleQueue[list[_R] | None]) -> None:
    """Run one worker: it gets a portion whenever it has finished the last one."""
    import pickle

    worker = None
    try:
        worker = _start_worker(task)
        assert worker.stdin is not None
        assert worker.stdout is not None
        while (portion := _pop(portions)) is not None:
            try:
                pickle.dump(portion, worker.stdin)
                worker.stdin.flush()
                done.put(pickle.load(worker.stdout))
            except Exception:  # whatever happened to the worker, its portion is still to be done
                portions.append(portion)
                break
    except OSError:  # it could not be started
        pass
    finally:
        done.put(None)
        if worker is not None:
            worker.communicate()


def _start_worker(task: WorkerTask[Any, Any]) -> Popen[bytes]:
    """A worker that imports the same code as this process does."""
    import subprocess

    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from {_WORKER} import worker_main; worker_main({task.module!r}, {task.function!r})"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=1 << 16,
    )


def _pop(portions: list[list[_J]]) -> list[_J] | None:
    try:
        return portions.pop()
    except IndexError:
        return None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worker_main(module: str, function: str) -> None:
    """Do the jobs that come from stdin with a function of a module, until stdin is closed."""
    import pickle

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    gc.disable()
    work = getattr(import_module(module), function)
    jobs, results = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            portion = pickle.load(jobs)
        except EOFError:
            os._exit(0)  # nothing is left to clean up
        pickle.dump([work(job) for job in portion], results)
        results.flush()
