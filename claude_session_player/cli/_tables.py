"""Printed tables. On a terminal, columns that do not fit are left out, the least important first.

In a pipe nothing is left out or cut, so that `grep` finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.cli._output import encode_json, has_colours, print_styled, print_text, stdout
from claude_session_player.util import humanize
from claude_session_player.util.tables import GAP, FittedColumn, TableColumn, cell_width, fit_cell, fit_columns
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import base_name, display_path, mark_controls, printable
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.files import RecordedTouch, TouchedFile
    from claude_session_player.store import Memory, Project, Session, Settings, Todo

_UNLIMITED: Final = 1 << 30
_SHORT_ID: Final = 8
_STYLES: Final = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36}
"""ANSI codes."""


@dataclass(frozen=True)
class Column:
    """A column and its cells; the one with the highest rank is kept longest."""

    name: str
    cells: Sequence[str]
    rank: int
    least: int | None = None
    """The width to which it may shrink; `None` for never."""
    style: str = ""
    right: bool = False
    keeps_end: bool = False

    def measure(self) -> TableColumn:
        """The column as it is fitted into a width."""
        widest = max(map(cell_width, (self.name, *self.cells)))
        least = widest if self.least is None else min(widest, self.least)
        return TableColumn(
            self.name, least, self.rank, self.style, widest, is_right=self.right, keeps_end=self.keeps_end
        )


def print_table(columns: Iterable[Column]) -> None:
    """Print columns as a table as wide as the terminal, or as it takes in a pipe; empty columns are left out."""
    filled = [column for column in columns if any(column.cells)]
    paint = painter()
    fitted = fit_columns([column.measure() for column in filled], _table_width())
    drawn = [_drawn(one, filled[one.position].cells, paint) for one in fitted]
    gap = " " * GAP
    print_styled("\n".join(gap.join(row).rstrip() for row in zip(*drawn, strict=True)))


def _drawn(fitted: FittedColumn, cells: Sequence[str], paint: Callable[[str, str], str]) -> list[str]:
    """The heading and the cells of a column, as wide as it is."""
    column = fitted.column
    heading = fit_cell(column.name, fitted.width, is_right=column.is_right)
    return [paint(heading, "bold"), *(paint(fitted.cell(printable(cell)), column.style) for cell in cells)]


def painter() -> Callable[[str, str], str]:
    """A function that puts a cell into a style, if stdout has colours."""
    return _painted if has_colours() else _plain


def _plain(cell: str, style: str) -> str:
    return cell


def _painted(cell: str, style: str) -> str:
    """The padding is not styled, so that it can be stripped at the end of a line."""
    text = cell.strip(" ")
    return cell.replace(text, f"\x1b[{_STYLES[style]}m{text}\x1b[0m", 1) if style and text else cell


def _table_width() -> int:
    return get_terminal_size().columns if is_terminal(stdout()) else _UNLIMITED


# --- tables ---------------------------------------------------------------------------------------


def print_sessions(sessions: Sequence[Session], known: Iterable[str]) -> None:
    """A line for each session; ids are as long as needed to be unique among all known ids."""
    now = local_now()
    ids = short_ids([session.id for session in sessions], known)
    rows = [session.summary for session in sessions]
    print_table(
        (
            Column("ID", ids, 11, style="cyan"),
            Column("WHEN", [humanize.ago(row.updated_at, now) for row in rows], 8),
            Column("TITLE", [("↳ " if row.parent_id else "") + (row.title or "(no title)") for row in rows], 10, 20),
            Column("PROJECT", [base_name(row.project or "") for row in rows], 7, 12, style="green"),
            Column("BRANCH", [row.git_branch or "" for row in rows], 3, 12, style="magenta"),
            Column("MODEL", [humanize.short_model_name(row.model) for row in rows], 4),
            Column("LASTED", [humanize.short_duration(row.duration_seconds) for row in rows], 2, right=True),
            Column("EVENTS", [str(row.events) for row in rows], 5, right=True),
            Column("SIZE", [humanize.size(row.size) for row in rows], 6, right=True),
            Column("AGENTS", [str(row.subagent_count or "") for row in rows], 1, right=True),
            Column("STATE", ["in use" if row.in_use else "" for row in rows], 8, style="yellow"),
        )
    )


def print_projects(projects: Sequence[Project]) -> None:
    """A line for each project."""
    now = local_now()
    paths = [row.path or f"({base_name(row.directory)})" for row in projects]
    print_table(
        (
            Column("PROJECT", paths, 9, 20, style="green", keeps_end=True),
            Column("SESSIONS", [str(row.sessions) for row in projects], 8, right=True),
            Column("AGENTS", [str(row.subagents or "") for row in projects], 1, right=True),
            Column("SIZE", [humanize.size(row.size) for row in projects], 6, right=True),
            Column("LAST ACTIVE", [humanize.ago(row.updated_at, now) for row in projects], 7),
            Column("DIRECTORY", [base_name(row.directory) for row in projects], 2, style="dim"),
        )
    )


def print_todos(todos: Sequence[Todo]) -> None:
    """A line for each todo."""
    marks = {"completed": "✔", "in_progress": "▶"}
    print_table(
        (
            Column("", [marks.get(row.status, "○") for row in todos], 9),
            Column("TODO", [_one_line(row.text) for row in todos], 10, 20),
            Column("STATUS", [row.status for row in todos], 4),
            Column("PROJECT", [base_name(row.project or "") for row in todos], 6, 12, style="green"),
            Column("SESSION", [(row.session_id or "")[:8] for row in todos], 5, style="cyan"),
            Column("CREATED", [_day(row.created) for row in todos], 3),
        )
    )


def _day(time: str | None) -> str:
    """The local day of a time; a bare date is the same day in every time zone."""
    day = (time or "")[:10]
    return day if time == day else humanize.day_of(time or "") or day


def print_memories(memories: Sequence[Memory]) -> None:
    """A line for each memory."""
    print_table(
        (
            Column("ID", [row.id for row in memories], 6, style="cyan"),
            Column("MEMORY", [_one_line(row.content) for row in memories], 10, 20),
            Column("TAGS", [", ".join(row.tags) for row in memories], 5, 12, style="magenta"),
            Column("PROJECTS", [", ".join(map(base_name, row.projects)) for row in memories], 4, 12, style="green"),
            Column("UPDATED", [_day(row.updated or row.created) for row in memories], 3),
        )
    )


def print_files(files: Sequence[TouchedFile], project: str | None) -> None:
    """A line for each file that a session used; if all times are on one day, the day is left out."""
    now = local_now()
    moments = [
        (humanize.local_time(file.all.first_time, now), humanize.local_time(file.all.last_time, now)) for file in files
    ]
    one_day = len({time[:10] for pair in moments for time in pair if time != humanize.UNKNOWN}) <= 1
    first, last = ([_short(time, one_day) for time in times] for times in zip(*moments, strict=True))
    paths = [printable(humanize.path_from(file.path, project)) for file in files]
    print_table(
        (
            Column("FILE", paths, 11, 20, style="green", keeps_end=True),
            Column("READ", [str(f.all.reads + f.all.attached or "") for f in files], 10, right=True),
            Column("WRITTEN", [str(f.all.writes or "") for f in files], 9, right=True),
            Column("EDITED", [str(f.all.edits or "") for f in files], 8, right=True),
            Column("FAILED", [str(f.all.failed or "") for f in files], 5, right=True, style="red"),
            Column("FIRST", first, 4),
            Column("LAST", last, 7),
            Column("BY", [_agents(f) for f in files], 6, 8, style="cyan"),
        )
    )


def _short(time: str, one_day: bool) -> str:
    if time == humanize.UNKNOWN:
        return ""
    return time[11:] if one_day else time[5:16]


def _agents(file: TouchedFile) -> str:
    """The session and sub-agents that used a file; empty for the session alone."""
    names = ["session" if agent is None else display_path(agent)[:_SHORT_ID] for agent in file.by]
    return "" if names == ["session"] else ", ".join(names)


def print_file_touches(touches: Sequence[RecordedTouch], known: Iterable[str]) -> None:
    """A line for each read or change of a file; its path only if it is not always the same."""
    now = local_now()
    ids = short_ids([touch.session.id for touch in touches], known)
    paths = [touch.path for touch in touches]
    has_agents = any(touch.agent for touch in touches)
    print_table(
        (
            Column("WHEN", [humanize.local_time(touch.time, now)[:16] if touch.time else "" for touch in touches], 9),
            Column("SESSION", ids, 11, style="cyan"),
            Column("LINE", [str(touch.line) for touch in touches], 8, right=True),
            Column("BY", [_toucher(touch) if has_agents else "" for touch in touches], 5, style="magenta"),
            Column("WHAT", ["created" if touch.created else touch.what for touch in touches], 10),
            Column(
                "ADDED", [f"+{touch.added}" if touch.diff else "" for touch in touches], 7, style="green", right=True
            ),
            Column(
                "REMOVED", [f"−{touch.removed}" if touch.diff else "" for touch in touches], 6, style="red", right=True
            ),
            Column("PROJECT", [base_name(touch.session.project or "") for touch in touches], 3, 12, style="green"),
            Column("FILE", paths if len(set(paths)) > 1 else [], 4, 20, keeps_end=True),
        )
    )


def draw_file_diffs(touches: Iterable[RecordedTouch], known: Iterable[str]) -> Iterator[str]:
    """The changes of a file, each below the place where it was made, as unified diffs."""
    now, paint, ids, gap = local_now(), painter(), list(known), ""
    for touch in touches:
        (id,) = short_ids([touch.session.id], ids)
        when = humanize.local_time(touch.time, now) if touch.time else ""
        by = f"sub-agent {_toucher(touch)}" if touch.agent else ""
        what = "created" if touch.created else touch.what
        size = f"+{touch.added} −{touch.removed}"
        head = "  ".join(filter(None, (when, f"session {id}", f"line {touch.line}", by, f"{what} {size}")))
        path = printable(touch.path)
        lines = [f"--- {'/dev/null' if touch.created else path}", f"+++ {path}"]
        body = [paint(line, "bold") for line in lines]
        body += [_paint_diff_line(mark_controls(line), paint) for line in touch.diff.split("\n")]
        yield "\n".join((gap + paint(printable(head), "yellow"), *body, ""))
        gap = "\n"


_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def _paint_diff_line(line: str, paint: Callable[[str, str], str]) -> str:
    """A line of a diff in the colour of its sign."""
    return paint(line, _DIFF_STYLES.get(line[:1], ""))


def _toucher(touch: RecordedTouch) -> str:
    return "session" if touch.agent is None else display_path(touch.agent)[:_SHORT_ID]


def print_settings(files: Sequence[Settings]) -> None:
    """A line for each setting, named by its path in the file."""
    for file in files:
        rows = list(_flat(file.settings))
        print_text(printable(humanize.path_from_cwd(file.path)))
        print_table(
            (
                Column("SETTING", [name for name, _ in rows] or [""], 10, 20, style="cyan"),
                Column("VALUE", [value for _, value in rows] or ["(none)"], 9, 20),
            )
        )


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _flat(item, f"{name}[{number}]")
    else:
        yield name, _one_line(value) if isinstance(value, str) else encode_json(value)


def _one_line(text: str) -> str:
    return " ".join(text[:2000].split())


def short_ids(ids: Sequence[str], known: Iterable[str]) -> list[str]:
    """Each id, shortened to a unique prefix of at least 8 characters.

    >>> short_ids(["1f2e3d4c-aaaa", "99887766-cccc", "ses_1"], ["1f2e3d4c-bbbb"])
    ['1f2e3d4c-a', '99887766', 'ses_1']
    """
    ordered = sorted({*ids, *known})
    needed = dict.fromkeys(ordered, _SHORT_ID)
    for first, second in pairwise(ordered):
        shorter = min(len(first), len(second))
        alike = next((number for number in range(shorter) if first[number] != second[number]), shorter) + 1
        needed[first], needed[second] = max(needed[first], alike), max(needed[second], alike)
    return [display_path(id[: needed[id]]) for id in ids]
