"""One element in full beside the session: its head, what was given, and what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    Note,
    PeerMessage,
    ScreenElement,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer

REST_SECONDS: Final = 0.1
"""Seconds for which the cursor rests on an element until it is read: a session may be played fast."""
_STEP: Final = 3
_KINDS: Final[dict[type[ScreenElement], tuple[str, str]]] = {
    UserMessage: ("Prompt", "ansi_cyan"),
    PeerMessage: ("Message", "ansi_magenta"),
    AssistantText: ("Response", "ansi_default"),
    ThinkingIndicator: ("Thinking", "ansi_magenta"),
    ToolCall: ("Tool call", "ansi_green"),
    SystemOutput: ("Output", "ansi_bright_black"),
    Note: ("Note", "ansi_bright_black"),
    TurnDuration: ("End of turn", "ansi_bright_black"),
    CompactionRule: ("Compaction", "ansi_yellow"),
}
"""What an element is called, and the colour of whoever speaks."""
_ERROR, _PENDING, _UNKNOWN = "ansi_red", "ansi_yellow", "ansi_bright_black"


def element_name(element: ScreenElement) -> str:
    """What an element is, and where it is in the file."""
    name = _KINDS.get(type(element), ("Element", _UNKNOWN))[0]
    return f"{name} · line {element.line}"


def speaker_colour(element: ScreenElement) -> str:
    """The colour of whoever speaks: a person, the model, a tool; of errors and of calls that still run, their own."""
    if getattr(element, "is_error", False):
        return _ERROR
    if isinstance(element, ToolCall) and element.result is None:
        return _PENDING
    return _KINDS.get(type(element), ("", _UNKNOWN))[1]


class ElementView(ScrollView):
    """Shows an element once the cursor rests on it."""

    DEFAULT_CSS = (
        "ElementView { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; background: transparent; }"
    )
    can_focus = False

    def __init__(self, detail_rows: Callable[[ScreenElement, int], list[Strip]], rest: float = REST_SECONDS) -> None:
        """`detail_rows` draws an element in a width."""
        super().__init__()
        self._detail_rows = detail_rows
        self._rest = rest
        self._element: ScreenElement | None = None
        self._rows: list[Strip] = []
        self._timer: Timer | None = None

    @property
    def element(self) -> ScreenElement | None:
        """What is shown, or will be shown in a moment."""
        return self._element

    def show(self, element: ScreenElement | None) -> None:
        """Show an element from its beginning."""
        if element is self._element:
            return
        self._element = element
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(self._rest, self._draw)

    def on_resize(self) -> None:
        """Draw the element in the new width."""
        self._draw()

    def on_show(self) -> None:
        """While it was hidden, nothing was drawn."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if not self.is_mounted or not width:
            return
        self._rows = [] if self._element is None else self._detail_rows(self._element, width)
        self.virtual_size = Size(width, len(self._rows))
        self.scroll_to(y=0, animate=False, immediate=True)
        self.refresh()

    def step(self, direction: int) -> None:
        """Scroll a few rows."""
        self.scroll_relative(y=direction * _STEP, animate=False, immediate=True)

    def render_line(self, y: int) -> Strip:
        """One row."""
        row, width = y + self.scroll_offset.y, self.size.width
        style = self.rich_style
        strip = self._rows[row] if row < len(self._rows) else Strip.blank(width, style)
        return strip.adjust_cell_length(width, style).apply_style(style)
