"""Runs a job for each of many files: in this process, or in several if there is much to read."""

from __future__ import annotations

import _thread
import contextlib
import gc
import marshal
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
_NUMBER_BYTES: Final = 2
MOST_PORTIONS: Final = 2000
"""The number of portions that can be shared: their numbers must fit into a pipe."""


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


# --- work that is shared with helpers -----------------------------------------------------------


class SharedTask(NamedTuple):
    """What is done with each portion: a function of a module that takes the setup, and returns the function to call.

    The setup, portions and results pass between processes, so they consist of plain values: `marshal` writes them.
    """

    module: str
    function: str
    setup: Any

    @property
    def work(self) -> Callable[[Any], Any]:
        """The function that is called with each portion."""
        work: Callable[[Any], Any] = getattr(import_module(self.module), self.function)(self.setup)
        return work


def helper_count(wanted: int, least: int = 0) -> int:
    """How many helpers there should be, if so many are of use: one less than there are cores; 0 if it is impossible."""
    is_able = bool(sys.executable) and hasattr(os, "posix_spawn")
    return max(min(wanted, _cores() - 1), least) if is_able else 0


def share_portions(
    portions: Sequence[Any],
    task: SharedTask,
    helpers: int,
    *,
    works_here: bool = True,
    on_portion: Callable[[int], None] | None = None,
) -> list[Any]:
    """The results of all portions, in their order. This process works on them like each of its helpers.

    That is quicker than `run_jobs` if all of it takes a fraction of a second: no process is idle, helpers import
    nothing but the task, and no thread waits for them. Portions are taken in order, by reading their numbers from a
    pipe that all share. What a helper took and did not do, because it ended, is done here. `on_portion` is called with
    the number of each portion that this process takes; with `works_here` false, that is none as long as helpers live.
    """
    results: dict[int, Any] = {}
    work: Callable[[Any], Any] | None = None

    def do(number: int) -> None:
        nonlocal work
        work = work or task.work
        if on_portion is not None:
            on_portion(number)
        results[number] = work(portions[number])

    if helpers:
        plain: Any = (*task, portions)
        data = marshal.dumps(plain)
        numbers, pen = os.pipe()
        os.write(pen, b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in range(len(portions))))
        os.close(pen)
        started: list[_Helper] = []
        try:
            with contextlib.suppress(OSError):  # without helpers, all is done here
                started.extend(_Helper(numbers, data) for _ in range(helpers))
            while works_here and (taken := _take(numbers)) is not None:
                do(taken)
            for helper in started:
                results.update(helper.results())
        finally:
            os.close(numbers)
            for helper in started:
                helper.end()
    for number in range(len(portions)):
        if number not in results:
            do(number)
    return [results[number] for number in range(len(portions))]


def _take(numbers: int) -> int | None:
    """The number of the next portion; `None` if there is none."""
    data = os.read(numbers, _NUMBER_BYTES)
    return int.from_bytes(data, "big") if data else None


class _Helper:
    """A process that takes portions, and returns its results when there are no more."""

    def __init__(self, numbers: int, task: bytes) -> None:
        task_end, pen = os.pipe()
        self._results, result_end = os.pipe()
        ends = (numbers, task_end, result_end)
        code = f"import sys; sys.path[:] = {sys.path!r}; from {_WORKER} import help_out; help_out{ends}"
        # The path is known, so `site` need not find it; names of files are read and written as they are here.
        arguments = [sys.executable, "-I", "-S", f"-Xutf8={sys.flags.utf8_mode}", "-c", code]
        silence = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        try:
            for end in ends:
                os.set_inheritable(end, True)
            self._process = os.posix_spawn(sys.executable, arguments, os.environ, file_actions=[silence])
        except OSError:
            os.close(pen)
            os.close(self._results)
            raise
        finally:
            os.set_inheritable(numbers, False)
            os.close(task_end)
            os.close(result_end)
        _thread.start_new_thread(_write_all, (pen, task))  # a pipe may hold less, and the process has yet to start

    def results(self) -> dict[int, Any]:
        """The results by the numbers of portions, as soon as all are done; none if the process failed."""
        chunks = []
        while chunk := os.read(self._results, 1 << 16):
            chunks.append(chunk)
        try:
            results: dict[int, Any] = marshal.loads(b"".join(chunks))
        except (EOFError, ValueError, TypeError):
            return {}
        return results

    def end(self) -> None:
        """End the process, if it still runs."""
        os.close(self._results)
        with contextlib.suppress(OSError):
            os.kill(self._process, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(self._process, 0)


def _write_all(pen: int, data: bytes) -> None:
    with contextlib.suppress(OSError), open(pen, "wb") as file:  # an error if the process has ended
        file.write(data)


def help_out(numbers: int, task_end: int, result_end: int) -> None:
    """Do the portions that are left, as a helper: the arguments are ends of pipes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word
    gc.disable()
    with open(task_end, "rb") as file:
        *task, portions = marshal.load(file)
    work = SharedTask(*task).work
    results = {}
    while (number := _take(numbers)) is not None:
        results[number] = work(portions[number])
    with open(result_end, "wb") as file:
        file.write(marshal.dumps(results))
    os._exit(0)  # nothing is left to clean up
