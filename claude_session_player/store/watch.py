"""Which session files change: by notifications of the system, or by polling if it sends none.

Directories may be missing, disappear and come back: instead of a missing one, its nearest existing parent is watched.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import time
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from claude_session_player.store.layout import MAX_DEPTH, META_SUFFIX, SESSION_SUFFIX, SessionFile, is_session_name

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence

_DEBOUNCE_MS: Final = 50
"""Changes are collected for at most this long before they are reported."""
_QUIET_MS: Final = 20
"""Changes are reported after this long without another one."""
_POLL_SECONDS: Final = 0.5
"""Time between two polls."""
_POLL_PAUSE: Final = 4
"""The pause after a poll is at least this many times as long as the poll: a large store takes some time."""
_CHECK_SECONDS: Final = 2.0
"""How often is checked whether the watched directory is still the one at its path."""
POLLING_VARIABLE: Final = "WATCHFILES_FORCE_POLLING"
"""The variable that asks for polling: the servers of some file systems send no notifications."""
POLLING_NOTICE: Final = "this system sends no file notifications: files are checked twice a second"

_Stamp: TypeAlias = tuple[int, ...]


class WatchedDir(NamedTuple):
    """A directory to watch, by its absolute path."""

    path: str
    is_deep: bool = False
    """True if all directories below it are watched as well."""
    files: tuple[str, ...] = ()
    """Files in it that are checked even if the directory can be neither watched nor listed."""


class FileChanges(NamedTuple):
    """Session files that were written to, created or removed at about the same time."""

    files: frozenset[str]
    is_polled: bool = False
    """True if the system refuses notifications, so that files are polled."""


def dirs_to_watch(file: SessionFile) -> tuple[WatchedDir, ...]:
    """The directories to watch for a session and its sub-agents, which may have no directory yet."""
    own = WatchedDir(os.path.dirname(file.path), files=(file.path,))
    return (own,) if file.is_agent else (own, WatchedDir(file.own_dir, is_deep=True))


async def watch_changes(folders: Sequence[WatchedDir]) -> AsyncGenerator[FileChanges, None]:
    """The changes in some directories, without end.

    When watching a directory begins, all files in it are reported: a reader that reads them then misses nothing.
    """
    queue: asyncio.Queue[FileChanges] = asyncio.Queue()
    tasks = [asyncio.ensure_future(_gather(folder, queue)) for folder in folders]
    try:
        while True:
            waiting = asyncio.ensure_future(queue.get())
            await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()  # it never ends unless something is wrong
            yield await waiting
    finally:
        waiting.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(waiting, *tasks, return_exceptions=True)


async def _gather(folder: WatchedDir, queue: asyncio.Queue[FileChanges]) -> None:
    """Put the changes in one directory into a queue, even when it is removed and created again."""
    while True:
        known: frozenset[str] = frozenset()
        async with aclosing(_while_present(folder)) as stream:
            async for changes in stream:
                known |= changes.files
                queue.put_nowait(changes)
        if known:
            queue.put_nowait(FileChanges(known))
        async with aclosing(_until_present(folder.path)) as steps:
            async for is_polled in steps:
                if is_polled:
                    queue.put_nowait(FileChanges(frozenset(), is_polled))


async def _while_present(folder: WatchedDir) -> AsyncGenerator[FileChanges, None]:
    """The changes in a directory, first of all its files; ends when it is gone or replaced."""
    real, watched = os.path.realpath(folder.path), _identity(folder.path)
    there = folder._replace(path=real, files=tuple(_moved(folder.files, folder.path, real)))
    known: set[str] = set()
    async with aclosing(_batches(there, lambda: _identity(folder.path) != watched)) as batches:
        async for batch in batches:
            files = (
                {*watched_files(folder), *folder.files, *known}
                if batch.is_first
                else set(_affected(set(_moved(batch.paths, real, folder.path)), known))
            )
            known |= files
            if files or batch.is_first:
                yield FileChanges(frozenset(files), batch.is_polled)


def _moved(paths: Iterable[str], source: str, target: str) -> Iterator[str]:
    """Paths below one directory as paths below another."""
    return (target + path.removeprefix(source) for path in paths)


def _identity(path: str) -> tuple[int, int] | None:
    """Tells a directory from another one at the same path; `None` if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _affected(paths: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    """The session files that changes concern: for a directory, all that are or were in it."""
    for path in paths:
        name = os.path.basename(path)
        if name.startswith("."):
            continue
        if name.endswith(META_SUFFIX):
            yield path.removesuffix(META_SUFFIX) + SESSION_SUFFIX
        elif is_session_name(name):
            yield path
        elif os.path.isdir(path):
            yield from watched_files(WatchedDir(path, is_deep=True))
        elif not os.path.splitext(name)[1]:
            yield from [file for file in known if file.startswith(path + os.sep)]


def watched_files(folder: WatchedDir) -> Iterator[str]:
    """The session files in a watched directory; none if it does not exist."""
    for above, folders, names in _walk(folder.path):
        folders[:] = [name for name in folders if folder.is_deep and not name.startswith(".")]
        yield from (os.path.join(above, name) for name in names if is_session_name(name) and not name.startswith("."))


def _walk(path: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """What `os.walk` yields, no deeper than `MAX_DEPTH`."""
    above = path.count(os.sep)
    for folder, folders, names in os.walk(path):
        if folder.count(os.sep) - above >= MAX_DEPTH:
            folders.clear()
        yield folder, folders, names


async def _until_present(path: str) -> AsyncGenerator[bool, None]:
    """Ends when a directory exists; yields meanwhile whether the system refuses notifications."""
    while not os.path.isdir(path):
        above = _nearest(path)
        async with aclosing(_batches(WatchedDir(above), partial(_is_other, path, above))) as batches:
            async for batch in batches:
                yield batch.is_polled


def _is_other(path: str, nearest: str) -> bool:
    return _nearest(path) != nearest


def _nearest(path: str) -> str:
    """A directory, or its nearest existing parent."""
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


class _Batch(NamedTuple):
    paths: frozenset[str]
    is_polled: bool
    is_first: bool = False
    """True for the empty one that is yielded when watching begins, or begins again with polling."""


async def _batches(folder: WatchedDir, is_over: Callable[[], bool]) -> AsyncGenerator[_Batch, None]:
    """The changes in a directory until `is_over`; nothing if it is gone already."""
    for is_polled in (True,) if os.environ.get(POLLING_VARIABLE) else (False, True):
        stream = _poll(folder) if is_polled else _notifications(folder)
        is_first = True
        try:
            async with aclosing(_steps(stream, folder.files, is_over)) as steps:
                async for paths in steps:
                    yield _Batch(paths, is_polled, is_first)
                    is_first = False
        except FileNotFoundError:
            return
        except (OSError, RuntimeError):
            continue  # the system cannot watch more directories, or none at all
        return


async def _steps(
    stream: AsyncGenerator[frozenset[str], None], files: Sequence[str], is_over: Callable[[], bool]
) -> AsyncGenerator[frozenset[str], None]:
    """Nothing when a watch has begun, then each change; raises what went wrong with the watch.

    A watch stays on a directory that is renamed or moved, and may lose changes when there are too many: so whether it
    is over, and the most important files, are checked from time to time.
    """
    coming = asyncio.ensure_future(anext(stream))
    try:
        stamps = _file_stamps(files)
        await asyncio.sleep(0)  # the stream creates its watcher before it first waits
        if coming.done():
            coming.result()
        yield frozenset()
        while True:
            done, _ = await asyncio.wait([coming], timeout=_CHECK_SECONDS)
            changed: set[str] = set()
            if done:
                changed.update(coming.result())
                coming = asyncio.ensure_future(anext(stream))
            before, stamps = stamps, _file_stamps(files)
            changed.update(file for file in files if before.get(file) != stamps.get(file))
            if changed:
                yield frozenset(changed)
            if is_over():
                return
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
        await stream.aclose()


async def _notifications(folder: WatchedDir) -> AsyncGenerator[frozenset[str], None]:
    """The changes that the system reports; raises `OSError` or `RuntimeError` if it cannot watch all of a directory."""
    from watchfiles import awatch

    stream = awatch(
        folder.path,
        watch_filter=None,
        debounce=_DEBOUNCE_MS,
        step=_QUIET_MS,
        recursive=folder.is_deep,
        force_polling=False,
        ignore_permission_denied=False,  # else it ignores whatever it cannot watch, for any reason
    )
    async for batch in stream:
        paths = frozenset(changed for _, changed in batch)
        yield paths
        if folder.is_deep and (folders := [path for path in paths if os.path.isdir(path)]):
            await asyncio.to_thread(_require_watches, folders)


def _require_watches(folders: Sequence[str]) -> None:
    """Raises `OSError` if the system cannot watch more directories.

    Watchfiles ignores new directories that it could not watch; but then others cannot be watched either.
    """
    from watchfiles import watch

    over = threading.Event()
    over.set()
    with suppress(FileNotFoundError):  # removed again
        for _ in watch(*folders, stop_event=over, step=1, force_polling=False, ignore_permission_denied=False):
            pass


async def _poll(folder: WatchedDir) -> AsyncGenerator[frozenset[str], None]:
    """The same by polling. Watchfiles can poll as well, but misses the second of two changes within a second."""
    before = _stamps(folder)
    while True:
        begun = time.monotonic()
        now = await asyncio.to_thread(_stamps, folder)
        if changed := {file for file in before.keys() | now.keys() if before.get(file) != now.get(file)}:
            yield frozenset(changed)
        before = now
        await asyncio.sleep(max(_POLL_SECONDS, _POLL_PAUSE * (time.monotonic() - begun)))


def _stamps(folder: WatchedDir) -> dict[str, _Stamp]:
    """A directory and everything in it, with what tells one state from another."""
    found = _file_stamps(folder.files)  # these can be read even if the directory cannot be listed
    for above, folders, names in _walk(folder.path):
        found.update(_file_stamps(os.path.normpath(os.path.join(above, name)) for name in (".", *folders, *names)))
        folders[:] = folders if folder.is_deep else []
    return found


def _file_stamps(paths: Iterable[str]) -> dict[str, _Stamp]:
    found: dict[str, _Stamp] = {}
    for path in paths:
        with suppress(OSError, ValueError):
            status = os.stat(path)
            is_file = stat.S_ISREG(status.st_mode)
            found[path] = (status.st_ino, *((status.st_size, status.st_mtime_ns) if is_file else ()))
    return found
