"""All running sessions in one list: what each one does, and how this is known."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from claude_session_player.errors import BadPrices, SessionError
from claude_session_player.live import RunningCosts, RunningSession, RunningSessions, WaitingSessions, phase_word
from claude_session_player.store import POLLING_NOTICE, resume_command, watch_changes, watched_files
from claude_session_player.tui import jobs
from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.help_screen import HelpScreen
from claude_session_player.tui.jobs import FilesWritten, JobFailed, SessionOpened
from claude_session_player.tui.keys import RUNNING_KEYS, bindings
from claude_session_player.tui.player import open_player
from claude_session_player.tui.popups import ResumePopup
from claude_session_player.tui.widgets.key_bar import KeyBar
from claude_session_player.tui.widgets.running import StatusLine, status_lines
from claude_session_player.tui.widgets.status import TextLine
from claude_session_player.util.humanize import plural
from claude_session_player.util.terminal import BELL, TerminalTitle
from claude_session_player.util.times import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from textual.worker import WorkType

    from claude_session_player.stats import Expense
    from claude_session_player.store import Session, SessionFile
    from claude_session_player.tui.jobs import StoreOpener

_UPDATE_SECONDS: Final = 1.0
_LOW: Final = 8
"""A terminal with fewer rows shows nothing but the list."""
_EMPTY: Final = "No running sessions. A session appears here as soon as it is written to."
_CURSOR: Final = Style(reverse=True)
_LIST_ACTIONS: Final = frozenset(("move", "open", "resume", "help"))
_NOTES: Final = """\
Lists sessions written to in the last half hour, and those open or locked.
A tool waiting for permission looks the same as one that is running.
A session is idle if nothing was written for ten minutes.
The bar shows how full the context is after the latest response."""


@dataclass
class SessionCounted(Message, bubble=False):
    """What a session has cost was counted."""

    path: str
    expense: Expense


@dataclass
class ResumeFound(Message, bubble=False):
    """The session to be resumed, or why it cannot be."""

    session: Session | SessionError


class RunningList(ScrollView, can_focus=True):
    """The lines of all sessions, and a cursor on one of them."""

    DEFAULT_CSS = "RunningList { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"

    class Chosen(Message):
        """A session was double-clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[RunningSession] = []
        self._lines: list[StatusLine] = []
        self._cursor: str | None = None
        """The path of the session under the cursor."""
        self._now = 0.0

    @property
    def current(self) -> RunningSession | None:
        """The session under the cursor."""
        return self.rows[self._row] if self.rows else None

    def show(self, rows: list[RunningSession], now: float) -> None:
        """Show these sessions; the cursor stays on its session."""
        row = self._row
        self.rows, self._now = rows, now
        if self._path(self._row) != self._cursor and rows:
            self._cursor = self._path(min(row, len(rows) - 1))
        self._draw()

    def move(self, rows: int) -> None:
        """Move the cursor down, or up with a negative number."""
        if self.rows:
            self._cursor = self._path(min(max(self._row + rows, 0), len(self.rows) - 1))
            self._draw()
            self._keep_in_sight()

    def on_resize(self) -> None:
        """Lay out the lines for the new width."""
        self._draw()
        self._keep_in_sight()

    def watch_show_vertical_scrollbar(self) -> None:
        """Lay out the lines for what the scrollbar leaves."""
        self._draw()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click follows the session."""
        line = event.y + self.scroll_offset.y
        if line < len(self._lines):
            self.move(self._lines[line].row - self._row)
            if event.chain > 1:
                self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        line = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if line >= len(self._lines):
            text = _EMPTY if not self._lines and y == 0 else ""
            return Strip([Segment(text, Style(dim=True))]).adjust_cell_length(width)
        shown = self._lines[line]
        if shown.row == self._row and shown.is_head:
            return Strip([Segment(shown.text.plain, _CURSOR)]).adjust_cell_length(width, _CURSOR)
        return Strip(shown.text.render(self.app.console)).adjust_cell_length(width)

    @property
    def _row(self) -> int:
        """The row of the cursor; the first one if its session is gone."""
        return next((row for row in range(len(self.rows)) if self._path(row) == self._cursor), 0)

    def _path(self, row: int) -> str | None:
        return self.rows[row].peek.file.path if row < len(self.rows) else None

    def _draw(self) -> None:
        self._lines = status_lines(self.rows, self._now, self.scrollable_content_region.width)
        self.virtual_size = Size(self.size.width, len(self._lines))
        self.refresh()

    def _keep_in_sight(self) -> None:
        own = [number for number, line in enumerate(self._lines) if line.row == self._row]
        if own:
            top, height = self.scroll_offset.y, max(self.size.height, 1)
            self.scroll_to(y=min(max(top, own[-1] - height + 1), own[0]), animate=False, immediate=True)


class RunningApp(TerminalApp[None]):
    """The list of running sessions, and a line above it that counts them."""

    CSS = "RunningApp.-low KeyBar, RunningApp.-low #title { display: none; }"
    KEYS: ClassVar = RUNNING_KEYS
    BINDINGS: ClassVar = bindings(KEYS)

    def __init__(
        self,
        opener: StoreOpener,
        in_use: Iterable[str] = (),
        *,
        has_bell: bool = False,
        clock: Callable[[], float] = wall_clock,
    ) -> None:
        """With `has_bell`, the bell rings and the title of the terminal says so when a session begins to wait."""
        super().__init__()
        self._opener = opener
        self._sessions = RunningSessions(opener.roots, in_use=in_use, look_up=opener.session)
        self._clock = clock
        self._costs = RunningCosts(opener.session)
        self._has_bell = has_bell
        self._waiting = WaitingSessions()
        self._terminal_title = TerminalTitle(self._write_control)
        self._is_polled = False
        """True if the system reports no file changes."""

    def compose(self) -> ComposeResult:
        """A title, the list, the keys."""
        self._title = TextLine("title")
        self._list = RunningList()
        yield from (self._title, self._list, KeyBar(RUNNING_KEYS))

    def on_mount(self) -> None:
        """Show the sessions that run already, and watch for changes."""
        files = [file for folder in self._sessions.directories for file in watched_files(folder)]
        self._sessions.update(files, self._clock())
        self._show()
        watch: WorkType[None] = self._watch
        self.run_worker(watch, group="watch")
        self.set_interval(_UPDATE_SECONDS, self._show)

    def on_resize(self, event: events.Resize) -> None:
        """In a small terminal, the list gets the space."""
        self.set_class(event.size.height < _LOW, "-low")

    async def _watch(self) -> None:
        async with aclosing(watch_changes(self._sessions.directories)) as stream:
            async for changes in stream:
                self.post_message(FilesWritten(changes))

    @on(FilesWritten)
    def _update(self, event: FilesWritten) -> None:
        self._is_polled |= event.changes.is_polled
        self._sessions.update(event.changes.files, self._clock())
        self._show()

    def _show(self) -> None:
        """Show the state at this moment: time alone can change it."""
        now = self._clock()
        rows = self._sessions.rows(now)
        self._list.show(rows, now)
        self._title.show(_summary(rows, is_polled=self._is_polled))
        self._call_person(rows)
        if due := self._costs.due(self._sessions.take_grown()):
            self.run_worker(partial(self._count, due), thread=True, group="costs")

    def _count(self, files: Sequence[SessionFile]) -> None:
        """Count what sessions have cost, the one that grew last first."""
        for file in files:
            try:
                expense = self._costs.count(file)
            except BadPrices as error:
                self.post_message(JobFailed(f"No costs are shown: {error}"))
                return
            if expense is not None:
                self.post_message(SessionCounted(file.path, expense))

    @on(JobFailed)
    def _report_failure(self, event: JobFailed) -> None:
        self.notify(event.reason, severity="error")

    @on(SessionCounted)
    def _take_cost(self, event: SessionCounted) -> None:
        self._sessions.note_expense(event.path, event.expense)
        self._show()

    # --- the person's attention -------------------------------------------------------------------------

    def _call_person(self, rows: Sequence[RunningSession]) -> None:
        """Ring the bell if a session has begun to wait for the person, and name it in the terminal's title."""
        is_news = self._waiting.update(rows)
        if self._has_bell:
            self._terminal_title.set(self._waiting.title)
            if is_news:
                self._write_control(BELL)

    def _write_control(self, sequence: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def on_unmount(self) -> None:
        """Restore the title of the terminal."""
        self._terminal_title.restore()

    # --- keys -----------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys of the list do nothing while another screen is over it."""
        return action not in _LIST_ACTIONS or len(self.screen_stack) == 1

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._list.move(rows)

    def action_help(self) -> None:
        """Show all keys, and which sessions are listed."""
        self.push_screen(HelpScreen("Running sessions", RUNNING_KEYS, _NOTES))

    @on(RunningList.Chosen)
    def action_open(self) -> None:
        """Follow the session under the cursor."""
        if (row := self._list.current) is not None:
            self.open_session(row.peek.file.path)

    def action_resume(self) -> None:
        """Show the command that resumes the session under the cursor, or that of the sub-agent."""
        if (row := self._list.current) is not None:
            path = row.peek.file.path
            find = partial(jobs.find_session, self._opener, path, self._post_resume)
            self.run_worker(find, thread=True, exclusive=True, group="find")

    def _post_resume(self, found: Message) -> None:
        if isinstance(found, SessionOpened):
            self.post_message(ResumeFound(found.session))

    @on(ResumeFound)
    def _show_resume(self, event: ResumeFound) -> None:
        if len(self.screen_stack) > 1:
            return
        session = event.session
        if isinstance(session, SessionError):
            self.notify(str(session), severity="error")
            return
        head = session.head
        self.push_screen(ResumePopup(head.title or head.id, resume_command(session), head.project or session.project))

    def open_session(self, path: str) -> None:
        """Follow the session in a file."""
        find = partial(jobs.find_session, self._opener, path, self.post_message)
        self.run_worker(find, thread=True, exclusive=True, group="find")

    @on(SessionOpened)
    def _open(self, event: SessionOpened) -> None:
        if len(self.screen_stack) > 1:  # the key was pressed twice
            return
        try:
            if isinstance(event.session, SessionError):
                raise event.session
            open_player(self, event.session, live=True, open_store=self._opener.open)
        except (SessionError, OSError) as error:
            self.notify(str(error), severity="error")


def _summary(rows: Sequence[RunningSession], *, is_polled: bool) -> Text:
    """How many sessions there are, and how many in each state."""
    sessions = [row for row in rows if not row.is_subagent]
    counts = Counter(row.status.phase for row in sessions)
    text = Text(plural(len(sessions), "session"), "bold", no_wrap=True, overflow="ellipsis")
    text.append("".join(f"  {count} {phase_word(phase, count)}" for phase, count in counts.items()), "not bold dim")
    return text.append(f"  ({POLLING_NOTICE})" if is_polled else "", "yellow")
