"""A look at one session: what the table has no room for, and its last screen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from rich.style import Style
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from claude_session_player.format.line_reader import split_lines
from claude_session_player.formatter import gap_between
from claude_session_player.models import ScreenState, View
from claude_session_player.playback import replay
from claude_session_player.tui import listing
from claude_session_player.tui.jobs import PreviewReady, PreviewRequest
from claude_session_player.tui.widgets.rows import element_rows, text_rows
from claude_session_player.util.fsutil import regular_opener

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.store import Session
    from claude_session_player.tui.listing import SessionRow

_ENDS: Final = (1 << 18, 1 << 21, 1 << 24)
"""How many bytes of the end are read: more, only where less of it shows nothing."""
_BLANK: Final = Strip([])


def preview_of(session: Session, size: Size) -> list[Strip]:
    """The last rows of a session's screen that fit into some space, or why there are none."""
    try:
        state = last_screen(session.path, is_subagent=session.is_subagent)
    except OSError as error:
        return text_rows(Text(f"cannot be read: {error.strerror or error}", style="red"), size.width)
    if not state.elements:
        return text_rows(Text("there is nothing to see on its screen", style="dim"), size.width)
    return last_rows(state, size)


def last_screen(path: str, *, is_subagent: bool = False) -> ScreenState:
    """What the end of a session file leaves on the screen. Raises `OSError`."""
    view = View(sidechains=is_subagent)
    state = ScreenState(view)
    size = os.path.getsize(path)
    for end in _ENDS:
        state = replay(_lines_at_end(path, end), view)
        if state.elements or end >= size:
            break
    return state


def last_rows(state: ScreenState, size: Size) -> list[Strip]:
    """The last rows of a screen, as the player shows them; only the elements that they belong to are laid out."""
    rows: list[Strip] = []
    following = None
    for element in reversed(state.elements):
        if len(rows) >= size.height:
            break
        blanks = 0 if following is None else len(gap_between(element, following)) - 1
        rows = [*element_rows(element, state.view, size.width), *[_BLANK] * blanks, *rows]
        following = element
    return rows[max(len(rows) - size.height, 0) :]


def _lines_at_end(path: str, count: int) -> list[bytes]:
    """The whole lines among the last bytes of a file."""
    with open(path, "rb", opener=regular_opener) as file:
        start = max(file.seek(0, os.SEEK_END) - count, 0)
        file.seek(start)
        lines = split_lines(file.read(count))
    return lines[1:] if start else lines


REST: Final = 0.1
"""So many seconds the cursor rests on a session before its file is read."""
_PLAIN: Final = Style()
"""Without colours, Textual asks every piece of a line for its style."""


class RowsView(Widget):
    """Rows that were laid out before; of too many, the last ones."""

    DEFAULT_CSS = "RowsView { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[Strip] = ()

    def show(self, rows: Sequence[Strip]) -> None:
        """Show these rows."""
        self._rows = rows
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row."""
        width, height = self.size
        number = max(len(self._rows) - height, 0) + y
        row = self._rows[number] if number < len(self._rows) else Strip([])
        return row.adjust_cell_length(width, _PLAIN).apply_style(_PLAIN)


class PreviewPane(Vertical):
    """Shows what is known of a session at once, and its screen as soon as nobody wants another one."""

    DEFAULT_CSS = "PreviewPane #about { height: 1; text-style: bold; }"

    def __init__(self, rest: float) -> None:
        super().__init__()
        self._rest = rest
        self._timer: Timer | None = None
        self._wanted: SessionRow | None = None
        self._otherwise = ""
        self._shown: PreviewRequest | None = None
        """What is shown, or being read."""

    def compose(self) -> ComposeResult:
        """A few words, and below them the screen."""
        yield Static(id="about", markup=False)
        yield RowsView()

    def show(self, entry: SessionRow | None, otherwise: str) -> None:
        """Show a session; if there is none, say something else."""
        self._wanted, self._otherwise = entry, otherwise
        self.query_one("#about", Static).update(listing.session_about(entry.session) if entry else "")
        self._begin()

    def forget(self) -> None:
        """Read the screen anew, the next time that it is wanted."""
        self._shown = None

    def on_show(self) -> None:
        """There is room now for what was wanted before."""
        self._begin()

    def on_resize(self) -> None:
        """Another width makes other rows."""
        self._begin()

    def _begin(self) -> None:
        """Words are said at once; a file is read when the cursor has come to rest."""
        if self._timer is not None:
            self._timer.stop()
        if self._wanted is None:
            self._shown = None
            self._rows.show(text_rows(Text(self._otherwise), self._rows.size.width))
        else:
            self._timer = self.set_timer(self._rest, self.look)

    def look(self) -> None:
        """Read the screen that is wanted, unless it is shown already, or there is no room for it."""
        if self._wanted is None or not self._rows.size:
            return
        glance = PreviewRequest(self._wanted.key, self._wanted.session.file.stamp, self._rows.size)
        if glance != self._shown:
            self._shown = glance
            self._read(self._wanted, glance)

    @work(thread=True, exclusive=True, group="preview")
    def _read(self, entry: SessionRow, glance: PreviewRequest) -> None:
        rows = preview_of(entry.session, glance.size)
        if not get_current_worker().is_cancelled:
            self.post_message(PreviewReady(glance, rows))

    @on(PreviewReady)
    def _draw(self, message: PreviewReady) -> None:
        if message.glance == self._shown:
            self._rows.show(message.rows)

    @property
    def _rows(self) -> RowsView:
        return self.query_one(RowsView)
