"""Sessions that run, as lines of text: what each does in a word, how this is known, and what was said last."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import set_cell_size
from rich.text import Text
from textual.geometry import Size
from textual.widget import Widget

from claude_session_player.live import Phase
from claude_session_player.player import IS_DELETED, IS_IDLE, IS_LIVE, Pace, Player
from claude_session_player.tui.widgets.timeline import fraction_of
from claude_session_player.util.humanize import UNKNOWN_TIME, clock, span, transcript_time
from claude_session_player.util.text import base_name, display_path, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.live import RunningSession
    from claude_session_player.player import Frame

IDLE_MARK: Final = "○"
_LOOKS: Final = {
    Phase.THINKING: ("✱", "magenta"),
    Phase.RUNNING: ("●", "green"),
    Phase.WAITING: ("❯", "bold yellow"),
    Phase.IDLE: (IDLE_MARK, "dim"),
}
_STATE_WIDTH: Final = max(len(phase.value) for phase in Phase)
_SINCE_WIDTH: Final = 7
_PROJECT_WIDTH: Final = 16
_INDENT: Final = "  "


class StatusLine(NamedTuple):
    """A line, and the row that it belongs to."""

    row: int
    text: Text
    is_head: bool = True


def status_lines(rows: list[RunningSession], now: float, width: int) -> list[StatusLine]:
    """The lines of all rows: a session has a head, how its state is known, and its last words; a sub-agent a head."""
    lines: list[StatusLine] = []
    for number, row in enumerate(rows):
        if row.is_subagent:
            lines.append(StatusLine(number, agent_head(row, now, width)))
            continue
        lines.append(StatusLine(number, _head(row, now, width)))
        words = row.glimpse.words
        told = (row.status.how, "" if words == row.glimpse.title else words)
        lines += [StatusLine(number, _below(text, width), is_head=False) for text in told if text]
    return lines


def running_name(row: RunningSession) -> str:
    """How a session or a sub-agent is called."""
    glimpse = row.glimpse
    return printable(glimpse.title or display_path(glimpse.found.id))


def _head(row: RunningSession, now: float, width: int) -> Text:
    mark, style = _LOOKS[row.status.phase]
    project = printable(base_name(row.glimpse.project or "") or row.glimpse.found.project or "")
    return _fitted(
        width,
        (f"{mark} {row.status.phase.value:<{_STATE_WIDTH}}", style),
        (f"{_since(row, now):>{_SINCE_WIDTH}}  ", "dim"),
        (set_cell_size(project, _PROJECT_WIDTH) + "  ", "cyan"),
        (running_name(row), "bold" if row.status.is_live else "dim"),
    )


def state_line(row: RunningSession, width: int) -> Text:
    """What a session does, and how this is known."""
    mark, style = _LOOKS[row.status.phase]
    return _fitted(width, (f"{mark} {row.status.phase.value}", style), (f"  {printable(row.status.how)}", "dim"))


def agent_head(row: RunningSession, now: float, width: int) -> Text:
    """What a sub-agent is called, and what it does."""
    mark, style = _LOOKS[row.status.phase]
    agent = printable(row.glimpse.agent or "sub-agent")
    return _fitted(
        width,
        (f"{_INDENT}└ {mark} {agent}", style),
        (f" {_since(row, now)} ", "dim"),
        (running_name(row), ""),
        (f"  {printable(row.status.how)}", "dim"),
    )


def _below(text: str, width: int) -> Text:
    return _fitted(width, (_INDENT + printable(text), "dim"))


def _since(row: RunningSession, now: float) -> str:
    return "" if row.status.since is None else span(max(now - row.status.since, 0))


def _fitted(width: int, *parts: tuple[str, str]) -> Text:
    """Parts side by side; what does not fit is cut off."""
    text = Text.assemble(*parts, no_wrap=True)
    text.truncate(width, overflow="ellipsis")
    return text


class SubagentBar(Widget):
    """Nothing, where nothing is known; else the session's state, and a line for each sub-agent at work."""

    DEFAULT_CSS = "SubagentBar { height: auto; max-height: 4; }"

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[RunningSession] = ()
        self._now = 0.0

    def show(self, rows: Sequence[RunningSession], now: float) -> None:
        """Show what these do at a moment."""
        is_same_height = len(rows) == len(self._rows)
        self._rows, self._now = rows, now
        self.refresh(layout=not is_same_height)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A line for each."""
        return len(self._rows)

    def render(self) -> Text:
        """The lines."""
        width = self.size.width
        draw = (agent_head(row, self._now, width) if row.is_subagent else state_line(row, width) for row in self._rows)
        return Text("\n").join(draw)


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
    return UNKNOWN_TIME if seconds is None else transcript_time(datetime.fromtimestamp(seconds, UTC).isoformat())
