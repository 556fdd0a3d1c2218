"""A look at one session: what the table has no room for, and its last screen."""

from __future__ import annotations

from typing import Final

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.timer import Timer
from textual.widgets import Static
from textual.worker import get_current_worker

from claude_session_player.tui import browse_words
from claude_session_player.tui.browse_messages import Previewed
from claude_session_player.tui.listing import Entry
from claude_session_player.tui.preview import preview_of

REST: Final = 0.1
"""So many seconds the cursor rests on a session before its file is read."""


class PreviewPane(Vertical):
    """Shows what is known of a session at once, and its screen as soon as nobody wants another one."""

    DEFAULT_CSS = """
    PreviewPane {
        #about { height: 1; text-style: bold; }
        #screen { height: 1fr; scrollbar-size-vertical: 1; }
    }
    """

    def __init__(self, rest: float) -> None:
        super().__init__()
        self._rest = rest
        self._timer: Timer | None = None
        self._wanted: Entry | None = None
        self._shown: Entry | None = None
        """Whose screen is shown, or being read."""

    def compose(self) -> ComposeResult:
        """A few words, and below them the screen."""
        yield Static(id="about", markup=False)
        with VerticalScroll(id="screen", can_focus=False):
            yield Static(id="picture", markup=False)

    def show(self, entry: Entry | None, otherwise: str) -> None:
        """Show a session; if there is none, say something else."""
        self._wanted = entry
        self._text("about").update(browse_words.about(entry.session) if entry else "")
        if self._timer is not None:
            self._timer.stop()
        if entry is None:
            self._shown = None
            self._text("picture").update(otherwise)
        else:
            self._timer = self.set_timer(self._rest, self.look)

    def forget(self) -> None:
        """Read the screen anew, the next time that it is wanted."""
        self._shown = None

    def on_show(self) -> None:
        """There is room now for what was wanted before."""
        self.look()

    def look(self) -> None:
        """Read the screen that is wanted, unless it is shown already, or there is no room for it."""
        if self._wanted is not None and self.display and not _is_same(self._wanted, self._shown):
            self._shown = self._wanted
            self._read(self._wanted)

    @work(thread=True, exclusive=True, group="preview")
    def _read(self, entry: Entry) -> None:
        text = preview_of(entry.session)
        if not get_current_worker().is_cancelled:
            self.post_message(Previewed(entry, text))

    @on(Previewed)
    def _draw(self, message: Previewed) -> None:
        if _is_same(message.entry, self._shown):
            self._text("picture").update(message.text)
            self.query_one("#screen").scroll_end(animate=False)

    def _text(self, id: str) -> Static:
        return self.query_one(f"#{id}", Static)


def _is_same(one: Entry, other: Entry | None) -> bool:
    """True where two entries are of the same session in the same state."""
    return other is not None and (one.key, one.session.found.stamp) == (other.key, other.session.found.stamp)
