"""The line below the timeline: whether it plays, how fast, where it is, and what there is to say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from rich.text import Text

from claude_session_player.play.film import Frame
from claude_session_player.play.player import Pace, Player
from claude_session_player.play.projection import DELETED, IDLE, LIVE
from claude_session_player.tui.running_rows import IDLE_MARK
from claude_session_player.tui.timeline_bar import fraction_of

_LIVE_LOOKS: Final = {
    LIVE: (f"● {LIVE}", "bold red"),
    IDLE: (f"{IDLE_MARK} {IDLE}", "dim"),
    DELETED: (f"● {DELETED}", "bold red"),
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
    text.append(f"  {clock_word(player.elapsed)}/{clock_word(player.total)}  {fraction_of(player):.0%}")
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


def clock_word(seconds: float) -> str:
    """A stretch of time as players show it.

    >>> clock_word(5.9), clock_word(754), clock_word(3725)
    ('0:05', '12:34', '1:02:05')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _moment(seconds: float | None) -> str:
    """A moment, in UTC as the files have it."""
    if seconds is None:
        return "Unknown time"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
