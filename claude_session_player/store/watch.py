"""Which session files change, told at once: by the notifications of the system, without looking again and again.

Directories may be missing, vanish and come back: for one that is not there, the nearest one above it is watched.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import Final, NamedTuple

from claude_session_player.store.layout import META, SUFFIX, Found, is_session_name

_DEBOUNCE: Final = 50
"""Milliseconds for which changes are gathered at most, before they are told."""
_STEP: Final = 20
"""Milliseconds without a change after which those before it are told."""
_POLL_SECONDS: Final = 0.5
"""Time between two looks, where the system gives no notifications."""
POLLING: Final = "WATCHFILES_FORCE_POLLING"
"""The variable that asks for looks: the servers of some file systems notify nobody."""


class Folder(NamedTuple):
    """A directory that is watched, by its absolute path."""

    path: str
    is_deep: bool = False
    """True where all directories below it are watched, too."""


class Noticed(NamedTuple):
    """Session files that were written to, made or removed, all at about the same time."""

    files: frozenset[str]
    is_polled: bool = False
    """True where the system refuses notifications, so that the files are looked at again and again."""


def folders_of(found: Found) -> tuple[Folder, ...]:
    """What has to be watched for a session and its sub-agents, which may have no directory yet."""
    own = Folder(os.path.dirname(found.path))
    return (own,) if found.is_agent else (own, Folder(found.belongings, is_deep=True))


async def changes(folders: Sequence[Folder]) -> AsyncGenerator[Noticed, None]:
    """What is noticed in some directories, for as long as somebody asks.

    When the watch over a directory begins, all files in it are told: whoever reads them then misses nothing.
    """
    queue: asyncio.Queue[Noticed] = asyncio.Queue()
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


async def _gather(folder: Folder, queue: asyncio.Queue[Noticed]) -> None:
    """Put into a queue what is noticed in one directory, also when it is removed and made again."""
    while True:
        known: frozenset[str] = frozenset()
        async with aclosing(_while_there(folder)) as stream:
            async for noticed in stream:
                known |= noticed.files
                queue.put_nowait(noticed)
        if known:
            queue.put_nowait(Noticed(known))
        await _made(folder.path)


async def _while_there(folder: Folder) -> AsyncGenerator[Noticed, None]:
    """What is noticed in a directory, first of all its files; ends when it is not there."""
    real = os.path.realpath(folder.path)
    known: set[str] = set()
    async with aclosing(_batches(real, is_deep=folder.is_deep)) as batches:
        async for batch in batches:
            changed = {folder.path + path.removeprefix(real) for path in batch.paths}
            files = set(_affected(changed, known) if known or changed else files_in(folder))
            known |= files
            if files or batch.is_first:
                yield Noticed(frozenset(files), batch.is_polled)
            if not os.path.isdir(real):
                return


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
            yield from files_in(Folder(path, is_deep=True))
        elif not os.path.splitext(name)[1]:
            yield from [file for file in known if file.startswith(path + os.sep)]


def files_in(folder: Folder) -> Iterator[str]:
    """The session files in a directory that is watched; none where it is not there."""
    for above, folders, names in os.walk(folder.path):
        folders[:] = [name for name in folders if folder.is_deep and not name.startswith(".")]
        yield from (os.path.join(above, name) for name in names if is_session_name(name) and not name.startswith("."))


async def _made(path: str) -> None:
    """Wait until there is a directory."""
    while not os.path.isdir(path):
        above = _nearest(path)
        async with aclosing(_batches(above, is_deep=False)) as batches:
            async for _ in batches:
                if _nearest(path) != above:
                    break


def _nearest(path: str) -> str:
    """A directory, or the nearest one above it that is there."""
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


class _Batch(NamedTuple):
    paths: frozenset[str]
    is_polled: bool
    is_first: bool = False
    """True for an empty one that comes when watching has begun."""


async def _batches(path: str, *, is_deep: bool) -> AsyncGenerator[_Batch, None]:
    """What changes in a directory; nothing at all where it is gone already."""
    for is_polled in (True,) if os.environ.get(POLLING) else (False, True):
        stream = _looks(path, is_deep) if is_polled else _notifications(path, is_deep)
        coming = asyncio.ensure_future(anext(stream))
        try:
            await asyncio.sleep(0)  # the watcher is made in the first step of the stream, before it waits
            if coming.done() and (error := coming.exception()):
                if isinstance(error, FileNotFoundError):
                    return
                if isinstance(error, OSError | RuntimeError):
                    continue  # the system watches no more directories, or none at all
            yield _Batch(frozenset(), is_polled, is_first=True)
            yield _Batch(await coming, is_polled)
            async for paths in stream:
                yield _Batch(paths, is_polled)
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
            await stream.aclose()


async def _notifications(path: str, is_deep: bool) -> AsyncGenerator[frozenset[str], None]:
    from watchfiles import awatch

    stream = awatch(
        path,
        watch_filter=None,
        debounce=_DEBOUNCE,
        step=_STEP,
        recursive=is_deep,
        force_polling=False,
        ignore_permission_denied=True,
    )
    async for batch in stream:
        yield frozenset(changed for _, changed in batch)


async def _looks(path: str, is_deep: bool) -> AsyncGenerator[frozenset[str], None]:
    """The same, found by looking. Watchfiles can do so, too, but does not tell two states within one second apart."""
    before = _stamps(path, is_deep)
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        now = _stamps(path, is_deep)
        if changed := {file for file in before.keys() | now.keys() if before.get(file) != now.get(file)}:
            yield frozenset(changed)
        before = now


def _stamps(path: str, is_deep: bool) -> dict[str, tuple[int, ...]]:
    """Everything in a directory, and itself, with what tells one state of it from another."""
    found: dict[str, tuple[int, ...]] = {}
    for above, folders, names in os.walk(path):
        for name in (".", *folders, *names):
            full = os.path.normpath(os.path.join(above, name))
            with suppress(OSError):
                status = os.stat(full)
                is_file = stat.S_ISREG(status.st_mode)
                found[full] = (status.st_ino, *((status.st_size, status.st_mtime_ns) if is_file else ()))
        folders[:] = folders if is_deep else []
    return found
