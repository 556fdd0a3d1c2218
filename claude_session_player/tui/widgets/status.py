"""The player's title and status lines."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rich.text import Text
from textual.widget import Widget

from claude_session_player.player import LiveState, Pace, Player
from claude_session_player.tui.widgets.running import IDLE_MARK
from claude_session_player.tui.widgets.timeline import fraction_of
from claude_session_player.util.humanize import UNKNOWN_TIME, clock_time, transcript_time
from claude_session_player.util.text import printable, truncate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.player import Frame

_CALLER_WIDTH: Final = 24
"""Characters of a caller's title; the title of what is played has to fit beside it."""
_LIVE_LOOKS: Final[dict[str, tuple[str, str]]] = {
    LiveState.LIVE: (f"● {LiveState.LIVE}", "bold red"),
    LiveState.IDLE: (f"{IDLE_MARK} {LiveState.IDLE}", "dim"),
    LiveState.DELETED: (f"● {LiveState.DELETED}", "bold red"),
}


def title_text(titles: Sequence[str], place: str) -> Text:
    """The title of a recording behind those of its callers, and its directory."""
    *callers, title = titles
    shown = " › ".join((*(truncate(caller, _CALLER_WIDTH) for caller in callers), title))
    text = Text(printable(shown), "bold", no_wrap=True, overflow="ellipsis")
    return text.append(f"  {printable(place)}", style="not bold dim")


def status_text(player: Player, frame: Frame | None, lines: int, *, live_word: str = "", flags: str = "") -> Text:
    """The player's state, position, time and flags.

    `live_word` is the state of a followed session, which is shown while the player is at its end.
    """
    text = Text(no_wrap=True, overflow="ellipsis")
    if player.is_live and live_word:
        text.append(*_LIVE_LOOKS[live_word])
    else:
        text.append(*_state(player))
        text.append(f" {speed_word(player)}")
    if player.is_growing and not live_word:
        text.append("  reading…", style="dim")
    text.append(f"  {clock_time(player.elapsed)}/{clock_time(player.total)}  {fraction_of(player):.0%}")
    if frame is not None:
        text.append(f"  {_moment(frame.time)}", style="dim")
        text.append(f"  line {frame.line}/{lines}")
    if flags:
        text.append(f"  {flags}", style="magenta")
    return text


def _state(player: Player) -> tuple[str, str]:
    """A symbol and its style."""
    if player.is_playing:
        return "▶", "bold green"
    return ("■" if player.is_at_end else "❚❚"), "bold yellow"


def speed_word(player: Player) -> str:
    """The speed, or the pace that replaces it.

    >>> player = Player(lambda: 0.0)
    >>> player.set_speed(0.25)
    >>> speed_word(player)
    '0.25×'
    """
    if player.pace is Pace.REAL:
        return str(player.pace.value)
    speed = f"{player.speed:g}×"
    return f"paced {speed}" if player.pace is Pace.PACED else speed


def _moment(seconds: float | None) -> str:
    return UNKNOWN_TIME if seconds is None else transcript_time(datetime.fromtimestamp(seconds, UTC).isoformat())


class TextLine(Widget):
    """One line of text; if it does not fit, it is truncated and the cut is marked."""

    DEFAULT_CSS = "TextLine { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = Text()

    def show(self, text: Text) -> None:
        """Show this text."""
        self._text = text
        self.refresh()

    def render(self) -> Text:
        """The text."""
        return self._text
