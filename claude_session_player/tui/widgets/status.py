"""The player's status line."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text
from textual.widget import Widget

from claude_session_player.player import LiveState, Pace, Player
from claude_session_player.tui.widgets.running import IDLE_MARK
from claude_session_player.tui.widgets.timeline import fraction_of
from claude_session_player.util.humanize import (
    UNKNOWN_TIME,
    clock_time,
    minutes_duration,
    short_duration,
    transcript_time,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claude_session_player.player import Frame, Lasted

_GAP: Final = "  "
_DAY: Final = len("2026-01-17")
_LIVE_LOOKS: Final[dict[str, tuple[str, str]]] = {
    LiveState.LIVE: (f"● {LiveState.LIVE}", "bold red"),
    LiveState.IDLE: (f"{IDLE_MARK} {LiveState.IDLE}", "dim"),
    LiveState.DELETED: (f"● {LiveState.DELETED}", "bold red"),
}


class _Part(NamedTuple):
    """A part of the status, with its rank among those that may be left out; 0 is always shown."""

    rank: int
    text: str
    style: str = ""


def status_text(
    player: Player,
    frame: Frame | None,
    lines: int,
    lasted: Lasted,
    *,
    live_word: str = "",
    flags: str = "",
    width: int | None = None,
) -> Text:
    """The player's state, position, times and flags, as far as they fit into a width.

    `live_word` is the state of a followed session, which is shown while the player is at its end.
    """
    is_live = bool(player.is_live and live_word)
    parts = [_Part(0, *_LIVE_LOOKS[live_word])] if is_live else [_Part(0, *_state(player))]
    if not is_live:
        parts.append(_Part(0, speed_word(player)))
    if player.is_growing and not live_word:
        parts.append(_Part(3, "reading…", "dim"))
    parts.append(_Part(1, f"{clock_time(player.elapsed / player.speed)} / {clock_time(player.total / player.speed)}"))
    if (cut := player.crossed_cut) is not None:
        parts.append(_Part(2, f"⋯ {minutes_duration(cut.seconds)} cut", "yellow"))
    parts.append(_Part(7, f"{fraction_of(player):.0%}"))
    if frame is not None:
        parts += _own_times(player, frame, lasted)
        parts.append(_Part(4, f"line {frame.line}/{lines}"))
    if flags:
        parts.append(_Part(2, flags, "magenta"))
    return _joined(parts, width)


def _own_times(player: Player, frame: Frame, lasted: Lasted) -> list[_Part]:
    """When the frame was written, and how long the session had lasted, unless that is what is played."""
    parts = [_Part(5, UNKNOWN_TIME, "dim")] if frame.time is None else []
    if moment := _moment(frame.time):
        parts = [_Part(6 if _spans_days(player) else 9, moment[:_DAY], "dim"), _Part(5, moment[_DAY + 1 :], "dim")]
    if abs(lasted.total - player.total / player.speed) >= 1:
        parts.append(_Part(8, f"{short_duration(lasted.so_far)} of {short_duration(lasted.total)}", "dim"))
    return parts


def _joined(parts: Sequence[_Part], width: int | None) -> Text:
    """The parts side by side, without those of the last ranks that do not fit."""
    kept = list(parts)
    while width is not None and _line(kept).cell_len > width:
        last = max(kept, key=lambda part: part.rank)
        if last.rank == 0:
            break
        kept.remove(last)
    return _line(kept)


def _line(parts: Sequence[_Part]) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for before, part in zip((None, *parts), parts, strict=False):
        gap = "" if before is None else " " if part.rank == before.rank == 0 else _GAP
        text.append(gap).append(part.text, style=part.style)
    return text


def _spans_days(player: Player) -> bool:
    """True if a session began on another day than it ended."""
    first, last = (_moment(time)[:_DAY] for time in (player.first_time, player.latest_time))
    return bool(first and last) and first != last


def moment_text(player: Player, seconds: float | None) -> str:
    """A time of day, with the date if the session has several days; empty if the calendar has no such time."""
    if seconds is None:
        return UNKNOWN_TIME
    return _moment(seconds) if _spans_days(player) else _moment(seconds)[_DAY + 1 :]


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
    """A time with its date; empty if it is unknown, or in no year of the calendar in the display zone."""
    if seconds is None:
        return ""
    moment = transcript_time(datetime.fromtimestamp(seconds, UTC).isoformat())
    return "" if moment == UNKNOWN_TIME else moment


class TextLine(Widget):
    """One line of text; if it does not fit, it is truncated and the cut is marked."""

    DEFAULT_CSS = "TextLine { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text: Text | Callable[[int], Text] = Text()

    def show(self, text: Text | Callable[[int], Text]) -> None:
        """Show this text, or one that is made for the width."""
        self._text = text
        self.refresh()

    def render(self) -> Text:
        """The text."""
        return self._text if isinstance(self._text, Text) else self._text(self.size.width)
