"""A look at one session: what the table has no room for, and its last screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.style import Style
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from claude_session_player.tui import browse_words
from claude_session_player.tui.browse_messages import Glance, Previewed
from claude_session_player.tui.listing import Entry
from claude_session_player.tui.preview import preview_of
from claude_session_player.tui.rows import text_rows

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
        self._wanted: Entry | None = None
        self._otherwise = ""
        self._shown: Glance | None = None
        """What is shown, or being read."""

    def compose(self) -> ComposeResult:
        """A few words, and below them the screen."""
        yield Static(id="about", markup=False)
        yield RowsView()

    def show(self, entry: Entry | None, otherwise: str) -> None:
        """Show a session; if there is none, say something else."""
        self._wanted, self._otherwise = entry, otherwise
        self.query_one("#about", Static).update(browse_words.about(entry.session) if entry else "")
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
        glance = Glance(self._wanted.key, self._wanted.session.found.stamp, self._rows.size)
        if glance != self._shown:
            self._shown = glance
            self._read(self._wanted, glance)

    @work(thread=True, exclusive=True, group="preview")
    def _read(self, entry: Entry, glance: Glance) -> None:
        rows = preview_of(entry.session, glance.size)
        if not get_current_worker().is_cancelled:
            self.post_message(Previewed(glance, rows))

    @on(Previewed)
    def _draw(self, message: Previewed) -> None:
        if message.glance == self._shown:
            self._rows.show(message.rows)

    @property
    def _rows(self) -> RowsView:
        return self.query_one(RowsView)
