"""The table of sessions, and the line in which it is filtered; each with its keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from claude_session_player.text import file_name
from claude_session_player.tui.listing import Entry
from claude_session_player.tui.row_table import Column, RowTable
from claude_session_player.wording import ago, size, span

IN_USE = "●"
STALE = "…"


class SessionTable(RowTable[Entry]):
    """A line for each session. What is done with one of them is up to the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.play(False)", "Play", key_display="↵", tooltip="play the session"),
        Binding("f", "screen.play(True)", "Follow", tooltip="follow it: what happens now, as it happens"),
        Binding("v", "screen.summary", "Summary", tooltip="what it comes to: time, tools, files, tokens, cost"),
        Binding("e", "screen.export", "Export", tooltip="write its screen into a file"),
        Binding("y", "screen.copy", "Copy", tooltip="copy the command that goes on with it"),
        # It goes before all others, so that what is typed behind it, however fast, is not taken for keys of the table.
        Binding(
            "slash",
            "screen.filter",
            "Find",
            key_display="/",
            priority=True,
            tooltip="type words: each has to be in it",
        ),
        Binding("s", "screen.sort", "Sort", tooltip="sort by what comes next"),
        Binding("S", "screen.reverse", "Turn", show=False, tooltip="turn the order around"),
        Binding("p", "screen.projects", "Project", tooltip="choose a project"),
        Binding("a", "screen.subagents", "Agents", show=False, tooltip="show sub-agents as well, or not"),
        Binding("r", "screen.reload", "Reload", show=False, tooltip="read the stores again"),
        Binding("question_mark", "screen.help", "Help", key_display="?", tooltip="this help"),
        Binding("q", "app.quit", "Quit", tooltip="leave"),
    ]
    columns = (
        Column("", 1, 8, "yellow"),
        Column("WHEN", 10, 9),
        Column("TITLE", 20, 10, grows=True),
        Column("PROJECT", 14, 7, "green"),
        Column("EVENTS", 6, 4, is_right=True),
        Column("SIZE", 7, 5, is_right=True),
        Column("LASTED", 7, 3, is_right=True),
        Column("AGENTS", 6, 2, is_right=True),
    )

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(id="table")
        self._clock = clock

    def cells(self, row: Entry) -> Sequence[str]:
        """When something happened last, what it is about, where, and how much it is."""
        session = row.session
        return (
            IN_USE if row.in_use else STALE if session.is_stale else "",
            ago(session.updated_at, self._clock()),
            ("↳ " if session.is_subagent else "") + (session.title or "(no title)"),
            file_name(row.project),
            str(session.speech.events),
            size(session.found.stamp.size),
            span(session.duration_seconds),
            str(session.subagent_count or ""),
        )


class FilterInput(Input):
    """The words that sessions are filtered by."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.play(False)", "Play", key_display="↵"),
        Binding("down,up", "screen.table", "To the table", key_display="↓"),
        Binding("escape", "screen.widen", "Clear"),
    ]

    def __init__(self, words: str) -> None:
        super().__init__(words, placeholder="/ to find", compact=True, select_on_focus=False)
        self.cursor_blink = False
