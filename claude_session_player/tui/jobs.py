"""Work behind the screens. Each job reports with messages, so that no widget is touched outside of its own handlers."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import RenderableType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.worker import get_current_worker

from claude_session_player.errors import CannotRead, CannotWrite, MissingExtra, NotASession, SessionError
from claude_session_player.export import write_session
from claude_session_player.models import ToolCall, View
from claude_session_player.player import FileChange
from claude_session_player.store import (
    DEFAULT_CACHE,
    SESSION_SUFFIX,
    FileChanges,
    FileStamp,
    Filter,
    SessionFile,
    Store,
    WatchedDir,
    watch_changes,
)
from claude_session_player.tools import AGENTS
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.fsutil import atomic_file, private_directory
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from claude_session_player.player import FrameSearch, Playback, Recording
    from claude_session_player.search import StoreSearch
    from claude_session_player.store import Progress, Session
    from claude_session_player.tui.costs import SessionCost
    from claude_session_player.tui.folding import SessionRow
    from claude_session_player.tui.hit_list import HitKey, HitList, HitText, SearchRequest
    from claude_session_player.tui.popups import ExportTarget, TextPopup

Post = Callable[[Message], object]
"""Where a job sends its messages: `post_message` of the widget that started it."""
_REPORT_SECONDS: Final = 0.1
"""Seconds between two reports of a job that is not done."""


# --- messages ---------------------------------------------------------------------------------------
# They do not bubble: a player opened over a list must not be mistaken for the list's own job.


@dataclass
class SessionsArrived(Message, bubble=False):
    """All sessions known so far, and how many files are still to be read."""

    rows: list[SessionRow]
    waiting: int


@dataclass
class CostsReady(Message, bubble=False):
    """What some more sessions cost."""

    costs: dict[str, SessionCost]


@dataclass
class JobFailed(Message, bubble=False):
    """A job could not be done."""

    reason: str


class PreviewRequest(NamedTuple):
    """Which session is previewed, in which state of its file, in how much space, and at which hit."""

    key: str
    stamp: FileStamp
    size: Size
    part: str
    """The beginning, the end, or the part with a hit."""
    hit: tuple[SearchRequest, int] | None = None
    """The search, and the number of the hit."""
    is_rich: bool = True
    """True for what happened, false for what the terminal showed."""


@dataclass
class PreviewReady(Message, bubble=False):
    """Rows of a session's screen, and which of them is at the top at first."""

    request: PreviewRequest
    rows: list[Strip]
    top: int


@dataclass
class IndexAdvanced(Message, bubble=False):
    """A part of what is new in the stores is indexed."""

    percent: int


@dataclass
class SearchOpened(Message, bubble=False):
    """The stores can be searched as they are now, or why they cannot."""

    search: StoreSearch | None
    reason: str = ""


@dataclass
class SearchAnswered(Message, bubble=False):
    """What was found, or what is wrong with the query."""

    request: SearchRequest
    hits: HitList | None
    reason: str = ""


@dataclass
class TextsLoaded(Message, bubble=False):
    """Texts of hits."""

    hits: HitList
    texts: dict[HitKey, HitText]


@dataclass
class SummaryReady(Message, bubble=False):
    """The text that a popup waits for."""

    popup: TextPopup
    text: RenderableType


@dataclass
class ExportDone(Message, bubble=False):
    """A session was written to a file."""

    target: ExportTarget
    masked: str = ""
    """What was masked in it, in words."""

    @property
    def words(self) -> str:
        """What is told."""
        return f"Exported to {self.target.path}" + (f" · redacted: {self.masked}" if self.masked else "")


@dataclass
class SessionOpened(Message, bubble=False):
    """The session to be followed, or why it cannot be."""

    session: Session | SessionError


@dataclass
class TitleReady(Message, bubble=False):
    """The title of a recording, and the directory that it was made in."""

    title: str
    place: str


@dataclass
class FramesChanged(Message, bubble=False):
    """There are more frames, or others; `notice` says what the viewer should know."""

    notice: str = ""


@dataclass
class SearchAdvanced(Message, bubble=False):
    """More frames were searched; `notice` says what went wrong."""

    notice: str = ""


@dataclass
class FilesWritten(Message, bubble=False):
    """Session files were written to."""

    changes: FileChanges


@dataclass
class SubagentReady(Message, bubble=False):
    """The recording of the sub-agent that a call started, or why it cannot be played.

    Without a recording and a reason, no call in question started a sub-agent.
    """

    recording: Recording | None = None
    reason: str = ""


# --- the store --------------------------------------------------------------------------------------


class StoreOpener(NamedTuple):
    """The stores as they were named, and where their index is kept; see `Store.open`.

    Each thread opens the store for itself, so that its read problems are not mixed with those of others.
    """

    roots: tuple[str, ...] = ()
    cache: str | None = DEFAULT_CACHE

    def open(self, progress: Progress | None = None) -> Store:
        """The stores; the caller closes them. Raises `NoStore`."""
        return Store.open(*self.roots, cache=self.cache, progress=progress)

    def session(self, file: SessionFile) -> Session:
        """What the stores know of a file. Raises `SessionError`."""
        with closing(self.open()) as store:
            return store.session_of(file)


def find_session(opener: StoreOpener, path: str, post: Post) -> None:
    """Look up the session in a file."""
    try:
        with closing(opener.open()) as store:
            session: Session | SessionError = store.at(path)
    except SessionError as error:
        session = error
    except OSError as error:
        session = CannotRead(str(error))
    post(SessionOpened(session))


def summary_text(opener: StoreOpener, file: SessionFile) -> str:
    """What `summary` prints of a session. Raises `SessionError` or `OSError`."""
    from claude_session_player.export.summary import summary_markdown
    from claude_session_player.stats import Prices, summarize

    with closing(opener.open()) as store:
        summary = summarize(store.session_of(file), Prices.load())
    return summary_markdown(summary, summary.id, [word for root in opener.roots for word in ("--root", root)])


def with_activity(row: SessionRow, now: float) -> SessionRow:
    """A row with what its session does at a time, if it is in use; only the ends of its files are read."""
    if not row.in_use:
        return row
    from claude_session_player.live import RunningSessions

    running = RunningSessions((), in_use=row.session.paths)
    running.update(row.session.paths, now)
    status = running.status(row.session.path, now)
    phase = status.phase.name if status is not None else ""
    return row._replace(state=_WORD_OF_PHASE.get(phase, phase.lower()))


_WORD_OF_PHASE: Final = {"RUNNING": "running", "WAITING": "waiting", "THINKING": "thinking", "IDLE": "idle"}
"""What sessions in use do, in the words of the list."""


def write_export(session: Session, target: ExportTarget) -> str:
    """Write a whole session to a file, and return what was masked in it, in words.

    Raises `SessionError`, and then leaves no file behind.
    """
    if not target.redacts:
        _write_session(session, target)
        return ""
    from claude_session_player.redact import RedactedStore, load_own_rules, redactor_here

    redactor = redactor_here(own=load_own_rules(), reports_places=False)
    with private_directory(f"{PROGRAM}-") as directory:
        _write_session(RedactedStore(directory, redactor).copy_of(session), target)
    return redactor.report.summary


def _write_session(session: Session, target: ExportTarget) -> None:
    from claude_session_player.export.asciicast import RecordingSetup
    from claude_session_player.playback import replay, start_replay

    view = View.rich() if target.format.is_drawn else View(history=True)
    view = view.of_subagent() if session.is_subagent else view
    try:
        with atomic_file(target.path, may_replace=target.may_replace) as file:
            state = write_session(
                target.format,
                file,
                lambda: replay(session.path, view),
                lambda: start_replay(session.path, view),
                RecordingSetup(title=session.title or "") if target.format.is_drawn else None,
            )
            if not state.account.is_session:
                raise NotASession(f"{display_path(session.path)} no longer holds a session")
    except OSError as error:
        raise CannotWrite(f"Cannot write {target.path}: {error.strerror or error}") from error


# --- the search -------------------------------------------------------------------------------------

NO_SEARCH: Final = "Searching needs tantivy: {install}"


def open_search(opener: StoreOpener, is_wanted: Callable[[], bool], post: Post) -> None:
    """Index what is new in the stores, so that they can be searched."""
    reported = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal reported
        if not is_wanted():
            raise KeyboardInterrupt  # what is indexed so far is kept
        if time.monotonic() - reported >= _REPORT_SECONDS:
            reported = time.monotonic()
            post(IndexAdvanced(100 * done // max(total, 1)))

    try:
        from claude_session_player.search import StoreSearch  # its library takes time to load, and may be missing

        cache = None if opener.cache == DEFAULT_CACHE else opener.cache
        with closing(opener.open()) as store:
            search = StoreSearch(store, cache=cache, progress=report)
            search.refresh()
        _skip_in_collections()
    except KeyboardInterrupt:
        return
    except MissingExtra:
        from claude_session_player.util.installing import install_command

        post(SearchOpened(None, NO_SEARCH.format(install=install_command("tantivy"))))
    except (SessionError, OSError) as error:
        post(SearchOpened(None, str(error)))
    else:
        post(SearchOpened(search))


def _skip_in_collections() -> None:
    """Let the garbage collector skip all that is there now: going through it takes as long as several searches."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def run_search(search: StoreSearch, request: SearchRequest, rows: int, post: Post) -> None:
    """Search, and load the texts of the first rows."""
    from claude_session_player.search import SearchOptions
    from claude_session_player.tui.hit_list import HitList, short_reason
    from claude_session_player.tui.listing import is_project_path, project_name

    project = request.project
    filter = Filter(project=display_path(project)) if project and is_project_path(project) else Filter()
    try:
        found = search.search([request.query], SearchOptions(filter, request.order))
        groups = [group for group in found if project in (None, project_name(group.session))]
        hits = HitList(request, groups, search.sessions, found.report)
        hits.keep(hits.load(hits.missing(range(rows))))
    except (SessionError, OSError, ValueError) as error:  # the library raises the last one
        post(SearchAnswered(request, None, short_reason(str(error))))
    else:
        post(SearchAnswered(request, hits))


def load_texts(hits: HitList, keys: Sequence[HitKey], post: Post) -> None:
    """Load the texts of some more hits."""
    post(TextsLoaded(hits, hits.load(keys)))


# --- frames -----------------------------------------------------------------------------------------

_ORDINARY: Final = (FileChange.NOTHING, FileChange.GREW)


async def build_frames(playback: Playback, post: Post) -> None:
    """Build all frames that the file has now, and let other tasks run after each portion of them."""
    change, reported = FileChange.GREW, time.monotonic()
    try:
        while change is not FileChange.NOTHING:
            change = playback.read_more()
            notice = "" if change in _ORDINARY else f"Session file: {change.value}"
            if notice or time.monotonic() - reported >= _REPORT_SECONDS:
                post(FramesChanged(notice))
                reported = time.monotonic()
            await asyncio.sleep(0)
        playback.finish()
    except CannotRead as error:
        post(FramesChanged(str(error)))
    else:
        post(FramesChanged())


async def follow_frames(playback: Playback, post: Post) -> None:
    """Build the frames that there are and, from then on, those that are appended; report all files that change."""
    path = os.path.abspath(playback.recording.path or "")
    folders = (
        WatchedDir(os.path.dirname(path), files=(path,)),
        WatchedDir(path.removesuffix(SESSION_SUFFIX), is_deep=True),
    )
    await build_frames(playback, post)
    async with aclosing(watch_changes(folders)) as stream:
        async for changes in stream:
            if path in changes.files:
                await build_frames(playback, post)
            post(FilesWritten(changes))


async def search_frames(search: FrameSearch, is_wanted: Callable[[], bool], post: Post) -> None:
    """Search all frames, for as long as the search is wanted."""
    while is_wanted() and not search.is_complete:
        try:
            search.search_more()
        except CannotRead as error:
            post(SearchAdvanced(str(error)))
            return
        post(SearchAdvanced())
        await asyncio.sleep(0)
    post(SearchAdvanced())


# --- parts of a recording that take long ------------------------------------------------------------


def describe_recording(recording: Recording, post: Post) -> None:
    """Look up a better title than the file alone gives."""
    try:
        found = recording.describe()
    except (SessionError, OSError):  # the title that is shown will do
        return
    if found is not None:
        post(TitleReady(*found))


def find_subagent(recording: Recording, calls: Sequence[ToolCall], post: Post) -> None:
    """Look up the sub-agent of the first call that started one, unless another look-up replaces this one."""
    found = _look_up_subagent(recording, calls)
    if not get_current_worker().is_cancelled:
        post(found)


def _look_up_subagent(recording: Recording, calls: Sequence[ToolCall]) -> SubagentReady:
    """The sub-agent of the first call that started one. Any tool can start one, whatever its name."""
    try:
        agents = recording.find_subagents()
    except (SessionError, OSError) as error:
        return SubagentReady(reason=str(error))
    call = next((call for call in calls if call.id in agents or call.tool_name in AGENTS), None)
    if call is None:
        return SubagentReady()
    if found := agents.get(call.id or ""):
        return SubagentReady(found[0])
    return SubagentReady(reason="Only the result of this sub-agent was recorded.")
