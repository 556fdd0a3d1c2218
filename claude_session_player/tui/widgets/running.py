"""Running sessions as lines: what each does, how full its context is, what it has cost, and its sub-agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text
from textual.geometry import Size
from textual.widget import Widget

from claude_session_player.live import Phase, RunningSessions, cost_words, phase_word
from claude_session_player.store import AGENT_PREFIX
from claude_session_player.util.humanize import short_duration, short_model_name
from claude_session_player.util.tables import fit_cell
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set as AbstractSet

    from claude_session_player.live import RunningSession, SessionStatus
    from claude_session_player.stats import ContextFill

IDLE_MARK: Final = "○"
_LOOKS: Final = {
    Phase.THINKING: ("✱", "magenta"),
    Phase.RUNNING: ("●", "green"),
    Phase.WAITING: ("❯", "bold yellow"),
    Phase.IDLE: (IDLE_MARK, "dim"),
}
"""The mark and the style of each state."""
_STATE_WIDTH: Final = max(len(phase_word(phase)) for phase in Phase)
_SINCE_WIDTH: Final = 7
_PROJECT_WIDTH: Final = 16
_INDENT: Final = "    "
_FILL_WIDTH: Final = 5
_FULL, _EMPTY = "▰", "▱"
_WIDE: Final = 110
"""From this width on, context, cost and model are at the end of a session's first line."""
_WIDEST: Final = 150
"""That line does not grow beyond this width, so that its end stays near its beginning."""
_METER_WIDTH, _COST_WIDTH, _MODEL_WIDTH = 10, 9, 14


class StatusLine(NamedTuple):
    """A line of text, and the number of the session that it belongs to."""

    row: int
    text: Text
    is_head: bool = True
    """True for the first line of a session."""


def status_lines(rows: Sequence[RunningSession], now: float, width: int) -> list[StatusLine]:
    """The lines of all sessions: a head, what runs, context and cost, and the last message; of sub-agents the head."""
    lines: list[StatusLine] = []
    for number, row in enumerate(rows):
        if row.is_subagent:
            lines.append(StatusLine(number, agent_head(row, now, width)))
            continue
        lines.append(StatusLine(number, _head(row, now, width)))
        below = [_doing(row.status, width), Text() if width >= _WIDE else _use(row, width), _last_words(row, width)]
        lines += [StatusLine(number, text, is_head=False) for text in below if text.plain.strip()]
    return lines


def running_name(row: RunningSession) -> str:
    """The title of a session or sub-agent, or its id."""
    peek = row.peek
    return printable(peek.title or display_path(peek.file.id))


def fill_text(fill: ContextFill, *, with_window: bool = True) -> Text:
    """How full a context is, with a bar if its window is known.

    >>> from claude_session_player.stats import ContextFill
    >>> fill_text(ContextFill(124_000, 200_000)).plain
    '▰▰▰▱▱ 62% of 200 k'
    """
    words = fill.words(with_window=with_window)
    if (share := fill.share) is None:
        return Text(words, "dim")
    full = max(round(share * _FILL_WIDTH), 1 if fill.tokens else 0)
    style = "bold red" if fill.is_full else "yellow" if fill.is_filling else "green"
    return Text.assemble((_FULL * full, style), (_EMPTY * (_FILL_WIDTH - full), "dim"), f" {words}")


def _head(row: RunningSession, now: float, width: int) -> Text:
    """State, time, project and title; in a wide window, context, cost and model at the end."""
    (mark, style), word = _LOOKS[row.status.phase], phase_word(row.status.phase)
    width = min(width, _WIDEST)
    end = _use_columns(row) if width >= _WIDE else Text()
    head = _fitted(
        width - end.cell_len,
        (f"{mark} {word:<{_STATE_WIDTH}}", style),
        (f" {_since(row, now):>{_SINCE_WIDTH}}  ", "dim"),
        (fit_cell(printable(row.peek.project_name), _PROJECT_WIDTH) + "  ", "cyan"),
        (running_name(row), "bold" if row.status.is_live else "dim"),
    )
    if end:
        head.append(" " * max(width - end.cell_len - head.cell_len, 0))
    return head.append_text(end)


def _use_columns(row: RunningSession) -> Text:
    """Context, cost and model, each in a column."""
    fill = row.peek.context
    meter = Text() if fill is None else fill_text(fill, with_window=False)
    meter.append(" " * (_METER_WIDTH - meter.cell_len))
    model = fit_cell(printable(short_model_name(row.peek.model)), _MODEL_WIDTH)
    return Text.assemble("  ", meter, (f"{cost_words(row.expense):>{_COST_WIDTH}}", ""), (f"  {model}", "dim"))


def _use(row: RunningSession, width: int) -> Text:
    """Context, cost and model on a line of their own."""
    fill, cost, model = row.peek.context, cost_words(row.expense), printable(short_model_name(row.peek.model))
    parts = [*([fill_text(fill)] if fill is not None else ()), *(Text(cost) for _ in [0] if cost), Text(model, "dim")]
    text = Text(_INDENT, no_wrap=True).append_text(Text("  ").join(part for part in parts if part))
    text.truncate(width, overflow="ellipsis")
    return text


def state_line(row: RunningSession, width: int) -> Text:
    """The state of a session, what runs, and the evidence for it."""
    (mark, style), word = _LOOKS[row.status.phase], phase_word(row.status.phase)
    return _fitted(width, (f"{mark} {word}", style), *_evidence(row.status))


def agent_head(row: RunningSession, now: float, width: int) -> Text:
    """The name of a sub-agent, what it is for, and what it runs, or else the evidence for its state."""
    mark, style = _LOOKS[row.status.phase]
    agent = printable(row.peek.agent or "sub-agent")
    return _fitted(
        width,
        (f"{_INDENT}└ {mark} {agent}", style),
        (f" {_since(row, now)} ", "dim"),
        (running_name(row), ""),
        *_evidence(row.status),
    )


def _doing(status: SessionStatus, width: int) -> Text:
    """What runs, and the evidence for the state."""
    first, *others = _evidence(status)
    return _fitted(width, (_INDENT + first[0].lstrip(), first[1]), *others)


def _evidence(status: SessionStatus) -> list[tuple[str, str]]:
    running, reason = printable(status.running), printable(status.reason)
    return [*([(f"  {running}", "")] if running else ()), (f"  {reason}", "dim")]


def _last_words(row: RunningSession, width: int) -> Text:
    words = row.peek.last_text
    return _fitted(width, (_INDENT + printable(words), "dim")) if words and words != row.peek.title else Text()


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
