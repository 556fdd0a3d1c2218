"""A small window that asks in which format, and into which file, a session is exported."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from claude_session_player.export import Format, export_formats
from claude_session_player.tui.listing import ProjectRow
from claude_session_player.tui.widgets.table import RowTable
from claude_session_player.util.humanize import ago
from claude_session_player.util.tables import TableColumn
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime


class ProjectTable(RowTable[ProjectRow]):
    """A line for each project."""

    columns = (
        TableColumn("PROJECT", 20, 3, "green", grows=True),
        TableColumn("SESSIONS", 8, 2, is_right=True),
        TableColumn("LAST ACTIVE", 11, 1),
    )

    def __init__(self, now: datetime) -> None:
        super().__init__(id="box")
        self._now = now

    def cells(self, row: ProjectRow) -> Sequence[str]:
        """Its path, how many sessions it has, and when something happened there."""
        return row.name, str(row.sessions), ago(row.updated_at, self._now) if row.updated_at else ""


class ProjectPopup(ModalScreen[ProjectRow | None]):
    """Which project is wanted; none where the window is closed."""

    DEFAULT_CSS = """
    ProjectPopup { align: center middle; background: transparent; }
    ProjectPopup > #box {
        width: 84; max-width: 100%; height: auto; max-height: 100%;
        border: round ansi_cyan; background: ansi_default; padding: 0 1; scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,p", "dismiss", "back"),
        Binding("q", "app.quit", "quit"),
        Binding("enter", "choose", "choose"),
    ]

    def __init__(self, projects: Sequence[ProjectRow], cursor: int, now: datetime) -> None:
        super().__init__()
        self._projects = projects
        self._cursor = cursor
        self._now = now

    def compose(self) -> ComposeResult:
        """A table in a box."""
        table = ProjectTable(self._now)
        table.border_title, table.border_subtitle = "Projects", "Enter choose · Esc back · q quit"
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


_KEYS: Final = "↑ ↓ format · Enter write · Esc back"
_REPLACE_KEYS: Final = "y replace it · Esc another name · q quit"


class ExportTarget(NamedTuple):
    """Where a session is exported to, and how; what is there already may be replaced only if somebody said so."""

    path: str
    format: Format
    may_replace: bool = False


class ExportPopup(ModalScreen[ExportTarget | None]):
    """Asks for the target of an export; none where it is cancelled."""

    DEFAULT_CSS = """
    ExportPopup { align: center middle; background: transparent; }
    ExportPopup > #box {
        width: 100; max-width: 100%; height: auto; max-height: 100%;
        border: round ansi_cyan; background: ansi_default; padding: 0 1;
    }
    ExportPopup #path:disabled { opacity: 1; }
    ExportPopup #answer { color: ansi_yellow; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back"),
        Binding("up", "format(-1)", "format"),
        Binding("down", "format(1)", "format"),
        Binding("y", "replace", "replace"),
        Binding("q", "app.quit", "quit"),
    ]

    def __init__(self, id: str, folder: str) -> None:
        """The path that is proposed is a file in this folder, named by the session."""
        super().__init__()
        self._formats = export_formats()
        first = self._formats[0]
        self._target = ExportTarget(os.path.join(folder, f"{id}{first.suffix}"), first)
        self._is_replacing = False
        """True while it is asked whether a file may be replaced."""

    def compose(self) -> ComposeResult:
        """The formats, the path of the file, and what is to be said about it."""
        with Vertical(id="box") as box:
            box.border_title, box.border_subtitle = "Export to", _KEYS
            yield Static(id="formats", markup=False)
            path = Input(self._target.path, compact=True, select_on_focus=False, id="path")
            path.cursor_blink = False
            yield path
            yield Static(id="answer", markup=False)

    def on_mount(self) -> None:
        """Show the formats."""
        self._show_formats()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While it is asked whether a file may be replaced, its format stays; else nothing can be replaced."""
        return self._is_replacing == (action == "replace") if action in ("replace", "format") else True

    def action_format(self, step: int) -> None:
        """Take the next format; a path that ends like its format goes along."""
        chosen = self._formats[(self._formats.index(self._target.format) + step) % len(self._formats)]
        path = self.query_one(Input)
        path.value = rename_for_format(path.value, self._target.format.suffix, chosen.suffix)
        path.cursor_position = len(path.value)
        self._target = ExportTarget(path.value, chosen)
        self._show_formats()

    @on(Input.Changed)
    def _forget_answer(self, event: Input.Changed) -> None:
        self._target = self._target._replace(path=event.value)
        self._say("")

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        """Give the target back, where it can be written; a file that is there is not replaced without a question."""
        typed = event.value.strip()
        path = full_path(typed)
        if not typed:
            self._say("Type the path of a file.")
        elif os.path.isdir(path):
            self._say(f"{path} is a directory: add the name of a file.")
        elif not os.path.isdir(os.path.dirname(path)):
            self._say(f"There is no directory {os.path.dirname(path)}.")
        elif os.path.lexists(path):
            self._ask_to_replace(True, f"{path} exists already. Replace it?")
        else:
            self.dismiss(self._target._replace(path=path))

    def _ask_to_replace(self, is_asked: bool, question: str = "") -> None:
        """Ask, or no longer. Another key than that of the path is the answer, so that nobody gives it by accident."""
        self._is_replacing = is_asked
        path = self.query_one(Input)
        path.disabled = is_asked
        self.query_one("#box").border_subtitle = _REPLACE_KEYS if is_asked else _KEYS
        self._say(question)
        if not is_asked:
            path.focus()

    def action_replace(self) -> None:
        """The file may be replaced."""
        self.dismiss(self._target._replace(path=full_path(self._target.path), may_replace=True))

    def action_back(self) -> None:
        """Back to the path, or to what is below this window."""
        if self._is_replacing:
            self._ask_to_replace(False)
        else:
            self.dismiss(None)

    def _say(self, words: str) -> None:
        self.query_one("#answer", Static).update(printable(words))

    def _show_formats(self) -> None:
        words = [f"[{one.name}]" if one == self._target.format else f" {one.name} " for one in self._formats]
        self.query_one("#formats", Static).update(" ".join(words))


def full_path(typed: str) -> str:
    """The file that somebody means: `~` is their home, and what is not absolute is in the working directory."""
    return os.path.abspath(os.path.expanduser(typed.strip()))


def default_export_dir(roots: Iterable[str]) -> str:
    """Where an export goes if nobody says otherwise: the working directory.

    Where that cannot be written to, or is inside of a store, which stays as it is, the home directory.
    """
    try:
        here = os.getcwd()
    except OSError:  # somebody deleted it
        return os.path.expanduser("~")
    is_in_store = os.path.join(here, "").startswith(tuple(os.path.join(os.path.realpath(root), "") for root in roots))
    return here if os.access(here, os.W_OK) and not is_in_store else os.path.expanduser("~")


def rename_for_format(name: str, old: str, new: str) -> str:
    """The name of a file whose format has another suffix now, where the name told the format.

    >>> rename_for_format("a.md", ".md", ".txt"), rename_for_format("notes", ".md", ".txt")
    ('a.txt', 'notes')
    """
    stem = name.removesuffix(old)
    return name if stem == name else stem + new
