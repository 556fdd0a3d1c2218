"""Text about sessions: the state of running ones, and the player's status line."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import set_cell_size
from rich.text import Text
from textual.geometry import Size
from textual.widget import Widget

from claude_session_player.live import Phase, RunningSessions
from claude_session_player.player import LiveState, Pace, Player
from claude_session_player.store import AGENT_PREFIX
from claude_session_player.tui.widgets.timeline import fraction_of
from claude_session_player.util.humanize import (
    UNKNOWN_TIME,
    clock_time,
    minutes_duration,
    short_duration,
    transcript_time,
)
from claude_session_player.util.text import base_name, display_path, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set as AbstractSet

    from claude_session_player.live import RunningSession, SessionStatus
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
    """A line of text, and the number of the session that it belongs to."""

    row: int
    text: Text
    is_head: bool = True
    """True for the first line of a session."""


def status_lines(rows: list[RunningSession], now: float, width: int) -> list[StatusLine]:
    """The lines of all sessions: a head, the evidence for the state, and the last message; of sub-agents the head."""
    lines: list[StatusLine] = []
    for number, row in enumerate(rows):
        if row.is_subagent:
            lines.append(StatusLine(number, agent_head(row, now, width)))
            continue
        lines.append(StatusLine(number, _head(row, now, width)))
        words = row.peek.last_text
        texts = (row.status.reason, "" if words == row.peek.title else words)
        lines += [StatusLine(number, _below(text, width), is_head=False) for text in texts if text]
    return lines


def running_name(row: RunningSession) -> str:
    """The title of a session or sub-agent, or its id."""
    peek = row.peek
    return printable(peek.title or display_path(peek.file.id))


def _head(row: RunningSession, now: float, width: int) -> Text:
    mark, style = _LOOKS[row.status.phase]
    project = printable(base_name(row.peek.project or "") or row.peek.file.project or "")
    return _fitted(
        width,
        (f"{mark} {row.status.phase.value:<{_STATE_WIDTH}}", style),
        (f" {_since(row, now):>{_SINCE_WIDTH}}  ", "dim"),
        (set_cell_size(project, _PROJECT_WIDTH) + "  ", "cyan"),
        (running_name(row), "bold" if row.status.is_live else "dim"),
    )


def state_line(row: RunningSession, width: int) -> Text:
    """The state of a session, and the evidence for it."""
    mark, style = _LOOKS[row.status.phase]
    return _fitted(width, (f"{mark} {row.status.phase.value}", style), (f"  {printable(row.status.reason)}", "dim"))


def agent_head(row: RunningSession, now: float, width: int) -> Text:
    """The name of a sub-agent, its state, and the evidence for it."""
    mark, style = _LOOKS[row.status.phase]
    agent = printable(row.peek.agent or "sub-agent")
    return _fitted(
        width,
        (f"{_INDENT}└ {mark} {agent}", style),
        (f" {_since(row, now)} ", "dim"),
        (running_name(row), ""),
        (f"  {printable(row.status.reason)}", "dim"),
    )


def _below(text: str, width: int) -> Text:
    return _fitted(width, (_INDENT + printable(text), "dim"))


def _since(row: RunningSession, now: float) -> str:
    return "" if row.status.since is None else short_duration(max(now - row.status.since, 0))


def _fitted(width: int, *parts: tuple[str, str]) -> Text:
    """Parts side by side, truncated to a width."""
    text = Text.assemble(*parts, no_wrap=True)
    text.truncate(width, overflow="ellipsis")
    return text


class SubagentBar(Widget):
    """The state of a followed session, and a line for each of its running sub-agents. Empty if nothing is known."""

    DEFAULT_CSS = "SubagentBar { height: auto; max-height: 4; }"

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        """The session is in the file `path`; the clock gives seconds since 1970."""
        super().__init__()
        self._path = path
        self._clock = clock
        self._sessions = RunningSessions((), in_use=[path])
        self._rows: Sequence[RunningSession] = ()
        self._now = 0.0

    def read(self, files: AbstractSet[str] | None = None) -> None:
        """Read what was appended to the session file; given the files that changed, to those of sub-agents, too."""
        if files is None:
            files = {self._path}
        agents = {path for path in files if os.path.basename(path).startswith(AGENT_PREFIX)}
        self._sessions.update(agents | (files & {self._path}), self._clock())

    def status(self) -> SessionStatus | None:
        """The state of the session now."""
        return self._sessions.status(self._path, self._clock())

    def show(self) -> None:
        """Show what is true now."""
        self._now = self._clock()
        rows = [row for row in self._sessions.rows(self._now) if row.belongs_to(self._path)]
        is_same_height = len(rows) == len(self._rows)
        self._rows = rows
        self.refresh(layout=not is_same_height)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A line for each."""
        return len(self._rows)

    def render(self) -> Text:
        """The lines."""
        width = self.size.width
        draw = (agent_head(row, self._now, width) if row.is_subagent else state_line(row, width) for row in self._rows)
        return Text("\n").join(draw)


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
        parts += _own_times(player, frame)
        parts.append(_Part(4, f"line {frame.line}/{lines}"))
    if flags:
        parts.append(_Part(2, flags, "magenta"))
    return _joined(parts, width)


def _own_times(player: Player, frame: Frame) -> list[_Part]:
    """When the frame was written, and how much of the session had passed."""
    parts = [_Part(5, UNKNOWN_TIME, "dim")]
    if frame.time is not None:
        moment = _moment(frame.time)
        parts = [_Part(6 if _spans_days(player) else 9, moment[:_DAY], "dim"), _Part(5, moment[_DAY + 1 :], "dim")]
    own = player.real_seconds(0, player.count - 1) if player.count else 0.0
    if abs(own - player.total / player.speed) >= 1:
        passed = short_duration(player.real_seconds(0, max(player.position, 0)))
        parts.append(_Part(8, f"{passed} of {short_duration(own)}", "dim"))
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
    return len({_moment(time)[:_DAY] for time in (player.first_time, player.latest_time)}) > 1


def moment_text(player: Player, seconds: float | None) -> str:
    """A time of day, with the date if the session has several days."""
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
    return UNKNOWN_TIME if seconds is None else transcript_time(datetime.fromtimestamp(seconds, UTC).isoformat())


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
