"""Sessions that run, as lines of text: what each does in a word, how this is known, and what was said last."""

from __future__ import annotations

from typing import Final, NamedTuple

from rich.cells import set_cell_size
from rich.text import Text

from claude_session_player.humanize import span
from claude_session_player.play.activity import Phase
from claude_session_player.play.running import Row
from claude_session_player.text import display_path, file_name, printable

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


class Drawn(NamedTuple):
    """A line, and the row that it belongs to."""

    row: int
    text: Text
    is_head: bool = True


def drawn(rows: list[Row], now: float, width: int) -> list[Drawn]:
    """The lines of all rows: a session has a head, how its state is known, and its last words; a sub-agent a head."""
    lines: list[Drawn] = []
    for number, row in enumerate(rows):
        if row.is_subagent:
            lines.append(Drawn(number, agent_head(row, now, width)))
            continue
        lines.append(Drawn(number, _head(row, now, width)))
        words = row.glimpse.words
        told = (row.status.how, "" if words == row.glimpse.title else words)
        lines += [Drawn(number, _below(text, width), is_head=False) for text in told if text]
    return lines


def name_of(row: Row) -> str:
    """How a session or a sub-agent is called."""
    glimpse = row.glimpse
    return printable(glimpse.title or display_path(glimpse.found.id))


def _head(row: Row, now: float, width: int) -> Text:
    mark, style = _LOOKS[row.status.phase]
    project = printable(file_name(row.glimpse.project or "") or row.glimpse.found.project or "")
    return _fitted(
        width,
        (f"{mark} {row.status.phase.value:<{_STATE_WIDTH}}", style),
        (f"{_since(row, now):>{_SINCE_WIDTH}}  ", "dim"),
        (set_cell_size(project, _PROJECT_WIDTH) + "  ", "cyan"),
        (name_of(row), "bold" if row.status.is_live else "dim"),
    )


def state_line(row: Row, width: int) -> Text:
    """What a session does, and how this is known."""
    mark, style = _LOOKS[row.status.phase]
    return _fitted(width, (f"{mark} {row.status.phase.value}", style), (f"  {printable(row.status.how)}", "dim"))


def agent_head(row: Row, now: float, width: int) -> Text:
    """What a sub-agent is called, and what it does."""
    mark, style = _LOOKS[row.status.phase]
    agent = printable(row.glimpse.agent or "sub-agent")
    return _fitted(
        width,
        (f"{_INDENT}└ {mark} {agent}", style),
        (f" {_since(row, now)} ", "dim"),
        (name_of(row), ""),
        (f"  {printable(row.status.how)}", "dim"),
    )


def _below(text: str, width: int) -> Text:
    return _fitted(width, (_INDENT + printable(text), "dim"))


def _since(row: Row, now: float) -> str:
    return "" if row.status.since is None else span(max(now - row.status.since, 0))


def _fitted(width: int, *parts: tuple[str, str]) -> Text:
    """Parts side by side; what does not fit is cut off."""
    text = Text.assemble(*parts, no_wrap=True)
    text.truncate(width, overflow="ellipsis")
    return text
