"""Work that goes on while somebody looks. Each part of it is told; no widget is touched here."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import RenderableType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from claude_session_player.errors import CannotRead, CannotWrite, NotASession
from claude_session_player.export import write_session
from claude_session_player.export.summary import summary_markdown
from claude_session_player.models import View
from claude_session_player.playback import replay, start_replay
from claude_session_player.player import FileChange
from claude_session_player.stats import Prices, summarize
from claude_session_player.store import (
    DEFAULT_CACHE,
    SESSION_SUFFIX,
    FileChanges,
    FileStamp,
    SessionFile,
    Store,
    WatchedDir,
    watch_changes,
)
from claude_session_player.util.fsutil import atomic_file
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from claude_session_player.player import FrameSearch, Playback
    from claude_session_player.store import Progress, Session
    from claude_session_player.tui.listing import SessionRow
    from claude_session_player.tui.popups import ExportTarget
    from claude_session_player.tui.widgets.text import TextPopup


@dataclass
class SessionsArrived(Message):
    """All sessions that are known by now, and how many files are still to be read."""

    entries: list[SessionRow]
    waiting: int


@dataclass
class JobFailed(Message):
    """Something that was asked for cannot be done."""

    reason: str


class PreviewRequest(NamedTuple):
    """Which session is looked at, in which state, and how large the look is."""

    key: str
    stamp: FileStamp
    size: Size


@dataclass
class PreviewReady(Message):
    """The last rows of a session's screen."""

    glance: PreviewRequest
    rows: list[Strip]


@dataclass
class SummaryReady(Message):
    """What a window waits for."""

    popup: TextPopup
    text: RenderableType


@dataclass
class ExportDone(Message):
    """A session was written into a file."""

    target: ExportTarget


class StoreOpener(NamedTuple):
    """The stores as they were named, and where the catalogue is kept; see `Store.open`.

    Whoever works in a thread opens the store anew: what cannot be read there is not mixed with what others look at.
    """

    roots: tuple[str, ...] = ()
    cache: str | None = DEFAULT_CACHE

    @contextmanager
    def opened(self, progress: Progress | None = None) -> Iterator[Store]:
        """The stores, for the thread that asks. Raises `NoStore`."""
        store = self.open(progress)
        try:
            yield store
        finally:
            store.close()

    def open(self, progress: Progress | None = None) -> Store:
        """The same, for whoever closes it, or lets it go. Raises `NoStore`."""
        return Store.open(*self.roots, cache=self.cache, progress=progress)

    def session(self, found: SessionFile) -> Session:
        """What the stores know of a file. Raises `SessionError`."""
        with self.opened() as store:
            return store.session_of(found)

    def prices(self) -> Prices:
        """The usual prices. Raises `BadPrices`."""
        return Prices.load()


def summary_text(shelf: StoreOpener, found: SessionFile) -> str:
    """What `summary` prints of a session. Raises `SessionError` or `OSError`."""
    with shelf.opened() as store:
        summary = summarize(store.session_of(found), shelf.prices())
    return summary_markdown(summary, summary.id, shelf.roots)


def write_export(session: Session, target: ExportTarget) -> None:
    """Write a whole session into a file. Raises `SessionError`, and then there is no such file."""
    view = View(history=True)
    view = view.of_subagent() if session.is_subagent else view
    try:
        with atomic_file(target.path, may_replace=target.may_replace) as file:
            state = write_session(
                target.format, file, lambda: replay(session.path, view), lambda: start_replay(session.path, view)
            )
            if not state.account.is_session:
                raise NotASession(f"{display_path(session.path)} holds no session any more")
    except OSError as error:
        raise CannotWrite(f"{target.path} is not written: {error.strerror or error}") from error


_USUAL: Final = (FileChange.NOTHING, FileChange.GREW)
_OFTEN: Final = 0.1
"""Seconds between two pictures of something that is not complete."""

Tell = Callable[[str], None]
"""Is told that something is new, and what there is to be said about it."""


async def build_frames(projection: Playback, tell: Tell) -> None:
    """Take in all of a film that there is now, and let everything else happen after each portion of it."""
    news, told = FileChange.GREW, time.monotonic()
    try:
        while news is FileChange.GREW or news.is_new_film:
            news = projection.develop()
            words = "" if news in _USUAL else f"the session file: {news.value}"
            if words or time.monotonic() - told >= _OFTEN:
                tell(words)
                told = time.monotonic()
            await asyncio.sleep(0)
        projection.finish()
    except CannotRead as error:
        tell(str(error))
    else:
        tell("")


async def follow_frames(projection: Playback, tell: Tell, notice: Callable[[FileChanges], None]) -> None:
    """Take in what is there, and whatever is appended to it; all files that change are noticed."""
    path = os.path.abspath(projection.recording.path or "")
    folders = (
        WatchedDir(os.path.dirname(path), files=(path,)),
        WatchedDir(path.removesuffix(SESSION_SUFFIX), is_deep=True),
    )
    await build_frames(projection, tell)
    async with aclosing(watch_changes(folders)) as stream:
        async for noticed in stream:
            if path in noticed.files:
                await build_frames(projection, tell)
            notice(noticed)


async def search_frames(search: FrameSearch, is_wanted: Callable[[], bool], tell: Tell) -> None:
    """Look through a whole film, for as long as somebody wants to know."""
    while is_wanted() and not search.is_over:
        try:
            search.go_on()
        except CannotRead as error:
            tell(str(error))
            return
        tell("")
        await asyncio.sleep(0)
    tell("")
