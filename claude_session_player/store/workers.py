"""Reads many session files for some purpose: here, or in other processes where it is much."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from claude_session_player.util import gc_pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from queue import SimpleQueue
    from subprocess import Popen

    from claude_session_player.store.index import IndexRow
    from claude_session_player.store.layout import ReadProblem, SessionFile

MUCH: Final = 32 << 20
"""From so many bytes on, it is worth to start other processes."""
_PORTION: Final = 4 << 20
_EACH: Final = 16 << 10
"""To open a file, and to tell what it holds, takes as long as so many bytes of it."""
_KEEP_MEMORY: Final = {"MALLOC_TRIM_THRESHOLD_": str(1 << 28), "MALLOC_MMAP_THRESHOLD_": str(1 << 28)}
"""Where the C library is glibc: memory is kept for the next file, and not given back after each."""
_WORKER: Final = "claude_session_player.store.workers"


class SizedJob(Protocol):
    """A file to read, and how many bytes that is, as far as one can tell."""

    @property
    def size(self) -> int:
        """The number of bytes."""
        ...


_J = TypeVar("_J", bound=SizedJob)
_R = TypeVar("_R")


class WorkerTask(NamedTuple, Generic[_J, _R]):
    """What is done with each file: a function of a module, by name, so that other processes find it, too."""

    module: str
    function: str

    @property
    def work(self) -> Callable[[_J], _R]:
        """The function itself; its module is loaded when it is first needed."""
        from importlib import import_module

        work: Callable[[_J], _R] = getattr(import_module(self.module), self.function)
        return work


def run_jobs(jobs: Sequence[_J], purpose: WorkerTask[_J, _R]) -> Iterator[_R]:
    """The results of all jobs, in any order."""
    is_much = sum(map(_weight, jobs)) >= MUCH
    workers = min(_cores(), len(jobs)) if is_much and sys.executable else 1
    return _elsewhere(jobs, purpose, workers) if workers > 1 else _here(jobs, purpose)


def _here(jobs: Sequence[_J], purpose: WorkerTask[_J, _R]) -> Iterator[_R]:
    work = purpose.work
    for job in jobs:
        with gc_pause.paused():
            result = work(job)
        yield result


def _elsewhere(jobs: Sequence[_J], purpose: WorkerTask[_J, _R], workers: int) -> Iterator[_R]:
    """Child processes read portions of the files; what they leave behind, because they cannot run, is done here.

    They are no forks of this process: that would be unsafe beside threads, and not every system can do it.
    """
    import threading
    from queue import SimpleQueue

    portions = _portions(jobs)
    done: SimpleQueue[list[_R] | None] = SimpleQueue()
    for _ in range(workers):
        threading.Thread(target=_employ, args=(portions, purpose, done), daemon=True).start()
    try:
        while workers:
            results = done.get()
            if results is None:
                workers -= 1
            else:
                yield from results
        for portion in portions:
            yield from _here(portion, purpose)
    finally:
        portions.clear()


def _portions(jobs: Sequence[_J]) -> list[list[_J]]:
    """The jobs in portions of similar size; the last, which is taken first, has the largest file."""
    portions: list[list[_J]] = []
    room = 0
    for job in sorted(jobs, key=lambda job: job.size):
        if room <= 0:
            portions.append([])
            room = _PORTION
        portions[-1].append(job)
        room -= _weight(job)
    return portions


def _weight(job: SizedJob) -> int:
    return job.size + _EACH


def _employ(portions: list[list[_J]], purpose: WorkerTask[_J, _R], done: SimpleQueue[list[_R] | None]) -> None:
    """One worker from its start to its end: it gets a portion whenever it is done with the last."""
    import pickle

    worker = None
    try:
        worker = _started(purpose)
        assert worker.stdin is not None
        assert worker.stdout is not None
        while (portion := _taken(portions)) is not None:
            try:
                pickle.dump(portion, worker.stdin)
                worker.stdin.flush()
                done.put(pickle.load(worker.stdout))
            except Exception:  # whatever became of the worker, its portion is still to be read
                portions.append(portion)
                break
    except OSError:  # it could not be started
        pass
    finally:
        done.put(None)
        if worker is not None:
            worker.communicate()


def _started(purpose: WorkerTask[Any, Any]) -> Popen[bytes]:
    """A worker that finds the same code as this process does, and loads nothing but what it needs.

    Without `typing_extensions`, where it is installed, the decoder takes what it needs from `typing`, which is faster.
    """
    import subprocess

    code = (
        f"import sys; sys.path[:] = {sys.path!r}; sys.modules['typing_extensions'] = None; "
        f"from {_WORKER} import main; main({purpose.module!r}, {purpose.function!r})"
    )
    command = [sys.executable, "-S", "-c", code]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=1 << 16,
        env={**os.environ, **_KEEP_MEMORY},
    )


def _taken(portions: list[list[_J]]) -> list[_J] | None:
    try:
        return portions.pop()
    except IndexError:
        return None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ExtractJob(NamedTuple):
    """A file to digest."""

    found: SessionFile
    state: bytes | None = None
    """What an earlier digest of the file left behind."""
    size: int = 0
    """How many bytes there are to read, as far as one can tell."""
    is_kept: bool = True
    """Whether the digest may be taken up again."""


class ExtractResult(NamedTuple):
    """What a file holds, and what is needed to take its digest up again; no row where it cannot be read."""

    path: str
    row: IndexRow | None
    state: bytes
    responses: bytes
    """See `responses`."""
    troubles: tuple[ReadProblem, ...]
    """What could not be read, and why."""


DIGEST: Final[WorkerTask[ExtractJob, ExtractResult]] = WorkerTask("claude_session_player.store.extract", "extract_file")


def worker_main(module: str, function: str) -> None:
    """Do with each job what a function of a module does, until stdin is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this process ends it, too
    gc.disable()
    work = getattr(import_module(module), function)
    jobs, results = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            portion = pickle.load(jobs)
        except EOFError:
            os._exit(0)  # there is nothing to tidy up
        pickle.dump([work(job) for job in portion], results)
        results.flush()
