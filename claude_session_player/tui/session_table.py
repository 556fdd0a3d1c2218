"""The table of sessions, and the line in which it is filtered; each with its keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import ClassVar

from textual.binding import BindingType
from textual.widgets import Input

from claude_session_player.humanize import size, span, when
from claude_session_player.text import file_name
from claude_session_player.tui.browse_keys import FILTER_KEYS, KEYS
from claude_session_player.tui.keys import bindings
from claude_session_player.tui.listing import IN_USE, STALE, Entry
from claude_session_player.tui.row_table import Column, RowTable


class SessionTable(RowTable[Entry]):
    """A line for each session. What is done with one of them is up to the screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(KEYS)
    columns = (
        Column("", 1, 8, "yellow"),
        Column("WHEN", 11, 9),
        Column("TITLE", 20, 10, grows=True),
        Column("PROJECT", 12, 7, "green"),
        Column("EVENTS", 6, 4, is_right=True, is_extra=True),
        Column("SIZE", 7, 5, is_right=True, is_extra=True),
        Column("LASTED", 7, 3, is_right=True, is_extra=True),
        Column("AGENTS", 6, 2, is_right=True, is_extra=True),
    )

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(id="table")
        self._clock = clock

    def cells(self, row: Entry) -> Sequence[str]:
        """When something happened last, what it is about, where, and how much it is."""
        session = row.session
        return (
            IN_USE if row.in_use else STALE if session.is_stale else "",
            when(session.updated_at, self._clock()),
            ("↳ " if session.is_subagent else "") + (session.title or "(no title)"),
            file_name(row.project),
            str(session.speech.events),
            size(session.found.stamp.size),
            span(session.duration_seconds),
            str(session.subagent_count or ""),
        )


class FilterInput(Input):
    """The words that sessions are filtered by."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(FILTER_KEYS)

    def __init__(self, words: str) -> None:
        super().__init__(words, placeholder="/ to find", compact=True, select_on_focus=False)
        self.cursor_blink = False
