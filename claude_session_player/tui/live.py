"""Every session that runs, in one view: what it does now, and how this is known."""

from __future__ import annotations

from contextlib import aclosing
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

from claude_session_player.errors import CannotRead, SessionError
from claude_session_player.live import RunningSession, RunningSessions
from claude_session_player.store import POLLING_NOTICE, FileChanges, watch_changes, watched_files
from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.keys import HelpScreen, Key, KeyBar, bindings
from claude_session_player.tui.player import open_player
from claude_session_player.tui.widgets.status import StatusLine, status_lines
from claude_session_player.tui.widgets.text import SaidLine, TextLine
from claude_session_player.util.humanize import plural
from claude_session_player.util.times import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from claude_session_player.store import Session
    from claude_session_player.tui.jobs import StoreOpener

_TICK: Final = 1.0
_LOW: Final = 8
"""In a window of fewer rows, there is nothing but the list."""
_NOTHING: Final = "No session runs now. One appears here as soon as it is written to."

KEYS: Final = (
    Key(("up,k", "down,j"), ("move(-1)", "move(1)"), "↑ ↓", "move", "to the session above or below"),
    Key(("enter",), ("open",), "Enter", "follow", "follow the session, or the sub-agent, in the player"),
    Key(("home", "end"), ("move(-9999)", "move(9999)"), "Home End", "ends", "the first session, or the last"),
    Key(("question_mark",), ("help",), "?", "help", "this help"),
    Key(("q",), ("quit",), "q", "quit", "quit"),
)
_CURSOR: Final = Style(reverse=True)
_OWN_ACTIONS: Final = frozenset(("move", "open", "help"))
_NOTES: Final = """\
Shown is what was written to in the last half hour, or is open or locked.
A tool that waits for permission cannot be told from one that runs.
A session is idle when nothing was written for ten minutes."""


class RunningList(ScrollView, can_focus=True):
    """The lines of all sessions, and a cursor on one of them."""

    DEFAULT_CSS = "RunningList { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; }"

    class Chosen(Message):
        """Somebody clicked on a session twice."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[RunningSession] = []
        self._lines: list[StatusLine] = []
        self._cursor: str | None = None
        """The file of the session that the cursor is on."""
        self._now = 0.0

    @property
    def current(self) -> RunningSession | None:
        """The session at the cursor."""
        return self.rows[self._place] if self.rows else None

    def show(self, rows: list[RunningSession], now: float) -> None:
        """Show these sessions; the cursor stays on the one where it was."""
        place = self._place
        self.rows, self._now = rows, now
        if self._path(self._place) != self._cursor and rows:
            self._cursor = self._path(min(place, len(rows) - 1))
        self._draw()

    def move(self, rows: int) -> None:
        """Go some sessions down."""
        if self.rows:
            self._cursor = self._path(min(max(self._place + rows, 0), len(self.rows) - 1))
            self._draw()
            self._keep_in_sight()

    def on_resize(self) -> None:
        """Other lines fit now."""
        self._draw()
        self._keep_in_sight()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, two of them choose the session."""
        line = event.y + self.scroll_offset.y
        if line < len(self._lines):
            self.move(self._lines[line].row - self._place)
            if event.chain > 1:
                self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        line = y + self.scroll_offset.y
        width = self.size.width
        if line >= len(self._lines):
            nothing = _NOTHING if not self._lines and y == 0 else ""
            return Strip([Segment(nothing, Style(dim=True))]).adjust_cell_length(width)
        found = self._lines[line]
        if found.row == self._place and found.is_head:
            return Strip([Segment(found.text.plain, _CURSOR)]).adjust_cell_length(width, _CURSOR)
        return Strip(found.text.render(self.app.console)).adjust_cell_length(width)

    @property
    def _place(self) -> int:
        return next((number for number in range(len(self.rows)) if self._path(number) == self._cursor), 0)

    def _path(self, place: int) -> str | None:
        return self.rows[place].glimpse.found.path if place < len(self.rows) else None

    def _draw(self) -> None:
        self._lines = status_lines(self.rows, self._now, self.size.width)
        self.virtual_size = Size(self.size.width, len(self._lines))
        self.refresh()

    def _keep_in_sight(self) -> None:
        own = [number for number, line in enumerate(self._lines) if line.row == self._place]
        if own:
            top, height = self.scroll_offset.y, max(self.size.height, 1)
            self.scroll_to(y=min(max(top, own[-1] - height + 1), own[0]), animate=False, immediate=True)


class RunningApp(TerminalApp[None]):
    """The list of what runs, and a line above it that sums it up."""

    CSS = "RunningApp.-low KeyBar, RunningApp.-low #title { display: none; }"
    BINDINGS: ClassVar = bindings(KEYS)

    class Changed(Message):
        """Files were written to."""

        def __init__(self, noticed: FileChanges) -> None:
            super().__init__()
            self.noticed = noticed

    class Found(Message):
        """The session that somebody wants to see, or why there is none."""

        def __init__(self, session: Session | SessionError) -> None:
            super().__init__()
            self.session = session

    def __init__(
        self, shelf: StoreOpener, in_use: Iterable[str] = (), *, clock: Callable[[], float] = wall_clock
    ) -> None:
        super().__init__()
        self._shelf = shelf
        self._board = RunningSessions(shelf.roots, in_use=in_use, look_up=shelf.session)
        self._clock = clock
        self._is_polled = False

    def compose(self) -> ComposeResult:
        """A title, the list, the keys."""
        self._title = TextLine("title")
        self._said = SaidLine()
        self._list = RunningList()
        yield from (self._said, self._title, self._list, KeyBar(KEYS))

    def on_mount(self) -> None:
        """What is there is shown at once; what changes is noticed from then on."""
        files = [file for folder in self._board.folders for file in watched_files(folder)]
        self._board.notice(files, self._clock())
        self._show()
        self.run_worker(self._watching(), group="watch")
        self.set_interval(_TICK, self._show)

    def on_resize(self, event: events.Resize) -> None:
        """Where there is little room, the list has it."""
        self.set_class(event.size.height < _LOW, "-low")

    async def _watching(self) -> None:
        async with aclosing(watch_changes(self._board.folders)) as stream:
            async for noticed in stream:
                self.post_message(self.Changed(noticed))

    @on(Changed)
    def _take(self, event: Changed) -> None:
        self._is_polled |= event.noticed.is_polled
        self._board.notice(event.noticed.files, self._clock())
        self._show()

    def _show(self) -> None:
        """Show what is true at this moment: time alone can change it."""
        now = self._clock()
        rows = self._board.rows(now)
        self._list.show(rows, now)
        self._title.show(_summary(rows, is_polled=self._is_polled))

    # --- what people do -------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The list's own keys do nothing below another window."""
        return action not in _OWN_ACTIONS or len(self.screen_stack) == 1

    def action_move(self, rows: int) -> None:
        """Go some sessions down."""
        self._list.move(rows)

    def action_help(self) -> None:
        """Show every key, and what is shown here."""
        self.push_screen(HelpScreen("Sessions that run", KEYS, _NOTES))

    @on(RunningList.Chosen)
    def action_open(self) -> None:
        """Follow the session at the cursor."""
        if (row := self._list.current) is not None:
            path = row.glimpse.found.path
            self.run_worker(lambda: self._find(path), thread=True, exclusive=True, group="find")

    def _find(self, path: str) -> None:
        try:
            session: Session | SessionError = self._shelf.open().at(path)
        except SessionError as error:
            session = error
        except OSError as error:
            session = CannotRead(str(error))
        self.post_message(self.Found(session))

    @on(Found)
    def _open(self, event: Found) -> None:
        try:
            if isinstance(event.session, SessionError):
                raise event.session
            open_player(self, event.session, live=True, open_store=self._shelf.open)
        except (SessionError, OSError) as error:
            self._said.say(str(error))


def _summary(rows: Sequence[RunningSession], *, is_polled: bool) -> Text:
    """How many sessions there are, and how many do what."""
    sessions = [row for row in rows if not row.is_subagent]
    counts: dict[str, int] = {}
    for row in sessions:
        counts[row.status.phase.value] = counts.get(row.status.phase.value, 0) + 1
    text = Text(plural(len(sessions), "session"), "bold", no_wrap=True, overflow="ellipsis")
    text.append("".join(f"  {count} {name}" for name, count in counts.items()), "not bold dim")
    return text.append(f"  ({POLLING_NOTICE})" if is_polled else "", "yellow")
