"""Which session files change, told at once: by the notifications of the system, without looking again and again.

Directories may be missing, vanish and come back: for one that is not there, the nearest one above it is watched.
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

from claude_session_player.store.layout import META, SUFFIX, SessionFile, is_session_name, walk_folders

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence

_DEBOUNCE: Final = 50
"""Milliseconds for which changes are gathered at most, before they are told."""
_STEP: Final = 20
"""Milliseconds without a change after which those before it are told."""
_POLL_SECONDS: Final = 0.5
"""Time between two looks, where the system gives no notifications."""
_REST: Final = 4
"""So much longer than a look is the time until the next one, at least: a large store takes some time."""
_CHECK_SECONDS: Final = 2.0
"""Time after which it is looked whether the directory that is watched is still the one that is meant."""
POLLING: Final = "WATCHFILES_FORCE_POLLING"
"""The variable that asks for looks: the servers of some file systems notify nobody."""


POLLED: Final = "the system gives no notifications here: files are checked twice a second"

_Stamp: TypeAlias = tuple[int, ...]


class WatchedDir(NamedTuple):
    """A directory that is watched, by its absolute path."""

    path: str
    is_deep: bool = False
    """True where all directories below it are watched, too."""
    files: tuple[str, ...] = ()
    """Files in it that are looked at also where the directory can be neither watched nor listed."""


class FileChanges(NamedTuple):
    """Session files that were written to, made or removed, all at about the same time."""

    files: frozenset[str]
    is_polled: bool = False
    """True where the system refuses notifications, so that the files are looked at again and again."""


def dirs_to_watch(found: SessionFile) -> tuple[WatchedDir, ...]:
    """What has to be watched for a session and its sub-agents, which may have no directory yet."""
    own = WatchedDir(os.path.dirname(found.path), files=(found.path,))
    return (own,) if found.is_agent else (own, WatchedDir(found.belongings, is_deep=True))


async def watch_changes(folders: Sequence[WatchedDir]) -> AsyncGenerator[FileChanges, None]:
    """What is noticed in some directories, for as long as somebody asks.

    When the watch over a directory begins, all files in it are told: whoever reads them then misses nothing.
    """
    queue: asyncio.Queue[FileChanges] = asyncio.Queue()
    tasks = [asyncio.ensure_future(_gather(folder, queue)) for folder in folders]
    try:
        while True:
            waiting = asyncio.ensure_future(queue.get())
            await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()  # it never ends, unless something is wrong
            yield await waiting
    finally:
        waiting.cancel()
        for task in tasks:
            task.cancel()
        await asyncio.gather(waiting, *tasks, return_exceptions=True)


async def _gather(folder: WatchedDir, queue: asyncio.Queue[FileChanges]) -> None:
    """Put into a queue what is noticed in one directory, also when it is removed and made again."""
    while True:
        known: frozenset[str] = frozenset()
        async with aclosing(_while_there(folder)) as stream:
            async for noticed in stream:
                known |= noticed.files
                queue.put_nowait(noticed)
        if known:
            queue.put_nowait(FileChanges(known))
        async with aclosing(_until_made(folder.path)) as steps:
            async for is_polled in steps:
                if is_polled:
                    queue.put_nowait(FileChanges(frozenset(), is_polled))


async def _while_there(folder: WatchedDir) -> AsyncGenerator[FileChanges, None]:
    """What is noticed in a directory, first of all its files; ends when it is not there, or is another one."""
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
    """Paths below one directory as paths below another one."""
    return (target + path.removeprefix(source) for path in paths)


def _identity(path: str) -> tuple[int, int] | None:
    """What tells a directory from another one that takes its place; `None` where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _affected(paths: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    """The session files that are meant by changes: of a directory, all that are or were in it."""
    for path in paths:
        name = os.path.basename(path)
        if name.startswith("."):
            continue
        if name.endswith(META):
            yield path.removesuffix(META) + SUFFIX
        elif is_session_name(name):
            yield path
        elif os.path.isdir(path):
            yield from watched_files(WatchedDir(path, is_deep=True))
        elif not os.path.splitext(name)[1]:
            yield from [file for file in known if file.startswith(path + os.sep)]


def watched_files(folder: WatchedDir) -> Iterator[str]:
    """The session files in a directory that is watched; none where it is not there."""
    for above, folders, names in walk_folders(folder.path):
        folders[:] = [name for name in folders if folder.is_deep and not name.startswith(".")]
        yield from (os.path.join(above, name) for name in names if is_session_name(name) and not name.startswith("."))


async def _until_made(path: str) -> AsyncGenerator[bool, None]:
    """Ends when there is a directory; tells meanwhile whether the system refuses notifications."""
    while not os.path.isdir(path):
        above = _nearest(path)
        async with aclosing(_batches(WatchedDir(above), partial(_is_other, path, above))) as batches:
            async for batch in batches:
                yield batch.is_polled


def _is_other(path: str, nearest: str) -> bool:
    return _nearest(path) != nearest


def _nearest(path: str) -> str:
    """A directory, or the nearest one above it that is there."""
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


class _Batch(NamedTuple):
    paths: frozenset[str]
    is_polled: bool
    is_first: bool = False
    """True for an empty one that comes when watching has begun, or is begun anew in another way."""


async def _batches(folder: WatchedDir, is_over: Callable[[], bool]) -> AsyncGenerator[_Batch, None]:
    """What changes in a directory until something is true; nothing at all where it is gone already."""
    for is_polled in (True,) if os.environ.get(POLLING) else (False, True):
        stream = _looks(folder) if is_polled else _notifications(folder)
        is_first = True
        try:
            async with aclosing(_steps(stream, folder.files, is_over)) as steps:
                async for paths in steps:
                    yield _Batch(paths, is_polled, is_first)
                    is_first = False
        except FileNotFoundError:
            return
        except (OSError, RuntimeError):
            continue  # the system watches no more directories, or none at all
        return


async def _steps(
    stream: AsyncGenerator[frozenset[str], None], files: Sequence[str], is_over: Callable[[], bool]
) -> AsyncGenerator[frozenset[str], None]:
    """Nothing when a watch has begun, then each change; raises what went wrong with the watch.

    A watch is on a directory, whatever becomes of its name and of those above it, and may lose changes when there are
    too many: so it is looked from time to time whether it is over, and at the most important files.
    """
    coming = asyncio.ensure_future(anext(stream))
    try:
        stamps = _file_stamps(files)
        await asyncio.sleep(0)  # the watcher is made in the first step of the stream, before it waits
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
    """Raises `OSError` or `RuntimeError` where the system cannot watch all of it."""
    from watchfiles import awatch

    stream = awatch(
        folder.path,
        watch_filter=None,
        debounce=_DEBOUNCE,
        step=_STEP,
        recursive=folder.is_deep,
        force_polling=False,
        ignore_permission_denied=False,  # else it is silent about everything that cannot be watched, for any reason
    )
    async for batch in stream:
        paths = frozenset(changed for _, changed in batch)
        yield paths
        if folder.is_deep and (folders := [path for path in paths if os.path.isdir(path)]):
            await asyncio.to_thread(_require_watches, folders)


def _require_watches(folders: Sequence[str]) -> None:
    """Raises `OSError` where the system watches no more directories.

    Watchfiles says nothing of new directories that it could not watch; but then no others can be watched either.
    """
    from watchfiles import watch

    over = threading.Event()
    over.set()
    with suppress(FileNotFoundError):  # gone again
        for _ in watch(*folders, stop_event=over, step=1, force_polling=False, ignore_permission_denied=False):
            pass


async def _looks(folder: WatchedDir) -> AsyncGenerator[frozenset[str], None]:
    """The same, found by looking. Watchfiles can do so, too, but does not tell two states within one second apart."""
    before = _stamps(folder)
    while True:
        begun = time.monotonic()
        now = await asyncio.to_thread(_stamps, folder)
        if changed := {file for file in before.keys() | now.keys() if before.get(file) != now.get(file)}:
            yield frozenset(changed)
        before = now
        await asyncio.sleep(max(_POLL_SECONDS, _REST * (time.monotonic() - begun)))


def _stamps(folder: WatchedDir) -> dict[str, _Stamp]:
    """Everything in a directory, and itself, with what tells one state of it from another."""
    found = _file_stamps(folder.files)  # where the directory cannot be listed, these can still be read
    for above, folders, names in walk_folders(folder.path):
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
