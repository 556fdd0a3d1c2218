"""Popups: a text to read, choosing a project, exporting a session, and how to resume one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from claude_session_player.export import Format, OutputKind, available_formats
from claude_session_player.tui.app import ClosedOnce
from claude_session_player.tui.listing import ProjectRow
from claude_session_player.tui.widgets.table import RowTable
from claude_session_player.util.humanize import ago
from claude_session_player.util.short_paths import short_path
from claude_session_player.util.tables import TableColumn, fit_columns
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from rich.console import RenderableType


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
        """The text for each column; a path that is too long loses its middle."""
        width = fit_columns(self.columns, self.scrollable_content_region.width)[0].width
        return short_path(row.name, width), str(row.sessions), ago(row.updated_at, self._now) if row.updated_at else ""


class ProjectPopup(ClosedOnce, ModalScreen[ProjectRow | None]):
    """Asks for a project; gives none if it is closed."""

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
        """A double click chooses, like `enter`."""
        self.action_choose()

    def action_choose(self) -> None:
        """Choose the project under the cursor."""
        self.dismiss(self.query_one(ProjectTable).current)


_EXPORT_KEYS: Final = "↑ ↓ format · ctrl+r mask or not · Enter export · Esc back"
_REPLACE_KEYS: Final = "y replace · Esc another name · q quit"


class ExportTarget(NamedTuple):
    """The file that a session is exported to, and its format; an existing file is replaced only if confirmed."""

    path: str
    format: Format
    may_replace: bool = False
    redacts: bool = True
    """Whether secrets, names and images are masked."""

    @property
    def notice(self) -> str:
        """What to say when the export begins; empty if it takes only seconds."""
        is_slow = self.format.writes is OutputKind.VIDEO
        return f"Drawing the {self.format.name}; this may take minutes." if is_slow else ""


class ExportPopup(ClosedOnce, ModalScreen[ExportTarget | None]):
    """Asks for the target of an export; gives none if it is cancelled."""

    DEFAULT_CSS = """
    ExportPopup { align: center middle; background: transparent; }
    ExportPopup > #box {
        width: 100; max-width: 100%; height: auto; max-height: 100%;
        border: round ansi_cyan; background: ansi_default; padding: 0 1;
    }
    ExportPopup #path:disabled { opacity: 1; }
    ExportPopup #message { color: ansi_yellow; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back"),
        Binding("up", "format(-1)", "format"),
        Binding("down", "format(1)", "format"),
        Binding("ctrl+r", "redact", "mask or not", priority=True),
        Binding("y", "replace", "replace"),
        Binding("q", "app.quit", "quit"),
    ]

    def __init__(self, id: str, folder: str) -> None:
        """Proposes a file in this folder, named by the session's id."""
        super().__init__()
        self._formats = available_formats()
        first = self._formats[0]
        self._target = ExportTarget(os.path.join(folder, f"{id}{first.suffix}"), first)
        self._is_replacing = False
        """True while the popup asks whether to replace a file."""

    def compose(self) -> ComposeResult:
        """The formats, the path of the file, and a message about it."""
        with Vertical(id="box") as box:
            box.border_title, box.border_subtitle = "Export to", _EXPORT_KEYS
            yield Static(id="formats", markup=False)
            path = Input(self._target.path, compact=True, select_on_focus=False, id="path")
            path.cursor_blink = False
            yield path
            yield Static(id="message", markup=False)

    def on_mount(self) -> None:
        """Show the formats."""
        self._show_formats()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`replace` works only while the popup asks for it, `format` only while it does not."""
        return self._is_replacing == (action == "replace") if action in ("replace", "format") else True

    def action_format(self, step: int) -> None:
        """Choose the next format; a path with the suffix of the format is renamed."""
        chosen = self._formats[(self._formats.index(self._target.format) + step) % len(self._formats)]
        path = self.query_one(Input)
        path.value = rename_for_format(path.value, self._target.format.suffix, chosen.suffix)
        path.cursor_position = len(path.value)
        self._target = self._target._replace(path=path.value, format=chosen)
        self._show_formats()

    def action_redact(self) -> None:
        """Mask secrets, names and images, or write the session as it is."""
        self._target = self._target._replace(redacts=not self._target.redacts)
        self._show_formats()

    @on(Input.Changed)
    def _take_path(self, event: Input.Changed) -> None:
        self._target = self._target._replace(path=event.value)
        self._show_message("")

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        """Close with the target, if it can be written; ask before an existing file is replaced."""
        typed = event.value.strip()
        path = full_path(typed)
        if not typed:
            self._show_message("Type the path of a file.")
        elif os.path.isdir(path):
            self._show_message(f"{path} is a directory; add a file name.")
        elif not os.path.isdir(os.path.dirname(path)):
            self._show_message(f"No such directory: {os.path.dirname(path)}")
        elif os.path.lexists(path):
            self._ask_to_replace(True, f"{path} already exists. Replace it?")
        else:
            self.dismiss(self._target._replace(path=path))

    def _ask_to_replace(self, is_asked: bool, question: str = "") -> None:
        """Ask, or stop asking. The answer is a key that does not submit the path, so that it is never an accident."""
        self._is_replacing = is_asked
        path = self.query_one(Input)
        path.disabled = is_asked
        self.query_one("#box").border_subtitle = _REPLACE_KEYS if is_asked else _EXPORT_KEYS
        self._show_message(question)
        if not is_asked:
            path.focus()

    def action_replace(self) -> None:
        """Replace the file."""
        self.dismiss(self._target._replace(path=full_path(self._target.path), may_replace=True))

    def action_back(self) -> None:
        """Return to the path, or close the popup."""
        if self._is_replacing:
            self._ask_to_replace(False)
        else:
            self.dismiss(None)

    def _show_message(self, message: str) -> None:
        self.query_one("#message", Static).update(printable(message))

    def _show_formats(self) -> None:
        names = [f"[{one.name}]" if one == self._target.format else f" {one.name} " for one in self._formats]
        how = "secrets and names are masked" if self._target.redacts else "as it is, with secrets and names"
        self.query_one("#formats", Static).update(f"{' '.join(names)}\n {how}")


def full_path(typed: str) -> str:
    """The absolute path of what was typed; `~` is the home directory."""
    return os.path.abspath(os.path.expanduser(typed.strip()))


def default_export_dir(roots: Iterable[str]) -> str:
    """The directory that is proposed for exports: the working directory.

    It is the home directory if the working directory is not writable, or inside a store, which is read-only.
    """
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        return os.path.expanduser("~")
    is_in_store = os.path.join(here, "").startswith(tuple(os.path.join(os.path.realpath(root), "") for root in roots))
    return here if os.access(here, os.W_OK) and not is_in_store else os.path.expanduser("~")


def rename_for_format(name: str, old: str, new: str) -> str:
    """The name of a file after a change of its format: the suffix of the old format is replaced.

    >>> rename_for_format("a.md", ".md", ".txt"), rename_for_format("notes", ".md", ".txt")
    ('a.txt', 'notes')
    """
    stem = name.removesuffix(old)
    return name if stem == name else stem + new


class TextPopup(ClosedOnce, ModalScreen[None]):
    """A text that can be scrolled; it may arrive after the popup is open."""

    DEFAULT_CSS = """
    TextPopup { align: center middle; background: transparent; }
    TextPopup > #box {
        width: 84; max-width: 100%; height: auto; max-height: 100%;
        border: round ansi_cyan; background: ansi_default; padding: 0 1; scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,enter,space", "dismiss", "back"),
        Binding("q", "app.quit", "quit"),
    ]

    def __init__(self, title: str, text: str | Text) -> None:
        super().__init__()
        self._heading = title
        self._text = text

    def compose(self) -> ComposeResult:
        """A box with a title."""
        with VerticalScroll(id="box") as box:
            box.border_title, box.border_subtitle = self._heading, "Esc back · q quit"
            yield Static(self._text, id="text", markup=False)

    def show(self, text: RenderableType) -> None:
        """Show another text."""
        self.query_one("#text", Static).update(text)


class ResumePopup(TextPopup):
    """The command that resumes a session, to be read or copied."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy", "copy"), Binding("R", "dismiss", "back")]

    def __init__(self, name: str, command: str, project: str | None) -> None:
        place = Text.assemble(("Directory  ", "dim"), printable(project), "\n") if project else Text()
        text = Text.assemble(("Session    ", "dim"), (printable(name), "bold"), "\n", place, "\n", printable(command))
        super().__init__("Resume", text)
        self._command = command

    def on_mount(self) -> None:
        """Name the keys."""
        self.query_one("#box").border_subtitle = "y copy · Esc back · q quit"

    def action_copy(self) -> None:
        """Copy the command, unless a shell would obey something in it that cannot be seen."""
        if not self._command.isprintable():
            self.notify("Not copied: the directory name contains control characters.", severity="error")
            return
        self.app.copy_to_clipboard(self._command)
        self.notify(f"Copied: {self._command}")
