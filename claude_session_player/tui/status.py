"""The line below the timeline: whether it plays, how fast, where it is, and what there is to say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from rich.text import Text

from claude_session_player.humanize import UNKNOWN_TIME, clock, shown_time
from claude_session_player.play.film import Frame
from claude_session_player.play.player import Player
from claude_session_player.play.projection import IS_DELETED, IS_IDLE, IS_LIVE
from claude_session_player.play.timeline import Pace
from claude_session_player.tui.running_rows import IDLE_MARK
from claude_session_player.tui.timeline_bar import fraction_of

_LIVE_LOOKS: Final = {
    IS_LIVE: (f"● {IS_LIVE}", "bold red"),
    IS_IDLE: (f"{IDLE_MARK} {IS_IDLE}", "dim"),
    IS_DELETED: (f"● {IS_DELETED}", "bold red"),
}


def status_text(
    player: Player, frame: Frame | None, lines: int, *, live_word: str = "", flags: str = "", message: str = ""
) -> Text:
    """Everything that is true of the player now, or what has to be said first.

    `live_word` is what is said of a session that is followed, while its end is shown.
    """
    text = Text(no_wrap=True, overflow="ellipsis")
    if player.is_live and live_word:
        text.append(*_LIVE_LOOKS[live_word])
    else:
        text.append(*_state(player))
        text.append(f" {speed_word(player)}")
    if player.is_growing and not live_word:
        text.append("  reading…", style="dim")
    if message:
        return text.append(f"  {message}", style="yellow")
    text.append(f"  {clock(player.elapsed)}/{clock(player.total)}  {fraction_of(player):.0%}")
    if frame is not None:
        text.append(f"  {_moment(frame.time)}", style="dim")
        text.append(f"  line {frame.line}/{lines}")
    if flags:
        text.append(f"  {flags}", style="magenta")
    return text


def _state(player: Player) -> tuple[str, str]:
    """A sign and its style."""
    if player.is_playing:
        return "▶", "bold green"
    return ("■" if player.is_at_end else "❚❚"), "bold yellow"


def speed_word(player: Player) -> str:
    """How fast it plays.

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
    return UNKNOWN_TIME if seconds is None else shown_time(datetime.fromtimestamp(seconds, UTC).isoformat())
