"""A small window in which a project is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from claude_session_player.humanize import ago
from claude_session_player.tui.listing import ProjectEntry
from claude_session_player.tui.row_table import Column, RowTable


class ProjectTable(RowTable[ProjectEntry]):
    """A line for each project."""

    columns = (
        Column("PROJECT", 20, 3, "green", grows=True),
        Column("SESSIONS", 8, 2, is_right=True),
        Column("LAST ACTIVE", 11, 1),
    )

    def __init__(self, now: datetime) -> None:
        super().__init__(id="box")
        self._now = now

    def cells(self, row: ProjectEntry) -> Sequence[str]:
        """Its path, how many sessions it has, and when something happened there."""
        return row.name, str(row.sessions), ago(row.updated_at, self._now) if row.updated_at else ""


class ProjectPopup(ModalScreen[ProjectEntry | None]):
    """Which project is wanted; none where the window is closed."""

    DEFAULT_CSS = """
    ProjectPopup { align: center middle; background: transparent; }
    ProjectPopup > #box {
        width: 84; max-width: 100%; height: auto; max-height: 100%;
        border: round ansi_cyan; background: ansi_default; padding: 0 1; scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,p", "dismiss", "back"),
        Binding("enter", "choose", "choose"),
    ]

    def __init__(self, projects: Sequence[ProjectEntry], cursor: int, now: datetime) -> None:
        super().__init__()
        self._projects = projects
        self._cursor = cursor
        self._now = now

    def compose(self) -> ComposeResult:
        """A table in a box."""
        table = ProjectTable(self._now)
        table.border_title, table.border_subtitle = "Projects", "Enter choose · Esc back"
        table.styles.height = len(self._projects) + 3
        yield table

    def on_mount(self) -> None:
        """Show the projects."""
        self.query_one(ProjectTable).show(self._projects, self._cursor)

    def on_row_table_chosen(self) -> None:
        """Two clicks are as good as `enter`."""
        self.action_choose()

    def action_choose(self) -> None:
        """The project under the cursor is wanted."""
        self.dismiss(self.query_one(ProjectTable).current)
