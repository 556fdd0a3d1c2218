"""The preview of a session: facts that the table has no room for, and the end of its screen."""

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

_TAIL_SIZES: Final = (1 << 18, 1 << 21, 1 << 24)
"""How many bytes are read from the end of a file; more only if fewer leave the screen empty."""
_BLANK: Final = Strip([])


def preview_of(session: Session, size: Size) -> list[Strip]:
    """The last rows of a session's screen that fit into a size, or why there are none."""
    try:
        state = last_screen(session.path, is_subagent=session.is_subagent)
    except OSError as error:
        return text_rows(Text(f"Cannot read the session: {error.strerror or error}", style="red"), size.width)
    if not state.elements:
        return text_rows(Text("The screen is empty.", style="dim"), size.width)
    return last_rows(state, size)


def last_screen(path: str, *, is_subagent: bool = False) -> ScreenState:
    """The screen that the end of a session file leaves. Raises `OSError`."""
    view = View(sidechains=is_subagent)
    state = ScreenState(view)
    size = os.path.getsize(path)
    for tail in _TAIL_SIZES:
        state = replay(_lines_at_end(path, tail), view)
        if state.elements or tail >= size:
            break
    return state


def last_rows(state: ScreenState, size: Size) -> list[Strip]:
    """The last rows of a screen, as the player shows them; only the elements in these rows are laid out."""
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
    """The complete lines among the last bytes of a file."""
    with open(path, "rb", opener=regular_opener) as file:
        start = max(file.seek(0, os.SEEK_END) - count, 0)
        file.seek(start)
        lines = split_lines(file.read(count))
    return lines[1:] if start else lines


REST_SECONDS: Final = 0.1
"""Seconds for which the cursor rests on a session before its file is read."""
_PLAIN: Final = Style()
"""Without colours, Textual expects every segment to have a style."""


class RowsView(Widget):
    """Rows that are laid out already; if there are too many, the last ones."""

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
    """Shows facts about a session at once, and its screen as soon as the cursor rests on it."""

    DEFAULT_CSS = "PreviewPane #about { height: 1; text-style: bold; }"

    def __init__(self, rest: float) -> None:
        super().__init__()
        self._rest = rest
        self._timer: Timer | None = None
        self._wanted: SessionRow | None = None
        self._placeholder = ""
        self._shown: PreviewRequest | None = None
        """The preview that is shown, or being read."""

    def compose(self) -> ComposeResult:
        """The facts, and below them the screen."""
        yield Static(id="about", markup=False)
        yield RowsView()

    def show(self, row: SessionRow | None, placeholder: str) -> None:
        """Show a session, or a placeholder if there is none."""
        self._wanted, self._placeholder = row, placeholder
        self.query_one("#about", Static).update(listing.session_about(row.session) if row else "")
        self._begin()

    def forget(self) -> None:
        """Read the screen again the next time that it is wanted."""
        self._shown = None

    def on_show(self) -> None:
        """Show what was wanted while the pane was hidden."""
        self._begin()

    def on_resize(self) -> None:
        """Lay out the rows for the new width."""
        self._begin()

    def _begin(self) -> None:
        """Show a placeholder at once; read a file only when the cursor has come to rest."""
        if self._timer is not None:
            self._timer.stop()
        if self._wanted is None:
            self._shown = None
            self._rows.show(text_rows(Text(self._placeholder), self._rows.size.width))
        else:
            self._timer = self.set_timer(self._rest, self.read)

    def read(self) -> None:
        """Read the wanted screen, unless it is shown already or there is no room for it."""
        if self._wanted is None or not self._rows.size:
            return
        request = PreviewRequest(self._wanted.key, self._wanted.session.file.stamp, self._rows.size)
        if request != self._shown:
            self._shown = request
            self._read(self._wanted, request)

    @work(thread=True, exclusive=True, group="preview")
    def _read(self, row: SessionRow, request: PreviewRequest) -> None:
        rows = preview_of(row.session, request.size)
        if not get_current_worker().is_cancelled:
            self.post_message(PreviewReady(request, rows))

    @on(PreviewReady)
    def _draw(self, message: PreviewReady) -> None:
        if message.request == self._shown:
            self._rows.show(message.rows)

    @property
    def _rows(self) -> RowsView:
        return self.query_one(RowsView)
