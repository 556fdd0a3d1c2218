"""A small window that asks in which format, and into which file, a session is exported."""

from __future__ import annotations

import os
from typing import ClassVar, Final, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from claude_session_player.export import Format, exported

_KEYS: Final = "↑ ↓ format · Enter write · Esc back"


class Target(NamedTuple):
    """Where a session is exported to, and how; what is there already may be replaced only if somebody said so."""

    path: str
    format: Format
    may_replace: bool = False


class ExportPopup(ModalScreen[Target | None]):
    """Asks for the target of an export; none where it is cancelled."""

    DEFAULT_CSS = """
    ExportPopup { align: center middle; background: transparent; }
    ExportPopup > #box {
        width: 70; max-width: 100%; height: auto; max-height: 100%;
        border: round ansi_cyan; background: ansi_default; padding: 0 1;
    }
    ExportPopup #answer { color: ansi_yellow; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "back"),
        Binding("up", "format(-1)", "format"),
        Binding("down", "format(1)", "format"),
    ]

    def __init__(self, id: str) -> None:
        super().__init__()
        self._formats = exported()
        self._target = Target(f"{id}{self._formats[0].suffix}", self._formats[0])

    def compose(self) -> ComposeResult:
        """The formats, the name of the file, and what is to be said about it."""
        with Vertical(id="box") as box:
            box.border_title, box.border_subtitle = "Export", _KEYS
            yield Static(id="formats", markup=False)
            name = Input(self._target.path, compact=True, select_on_focus=False, id="name")
            name.cursor_blink = False
            yield name
            yield Static(id="answer", markup=False)

    def on_mount(self) -> None:
        """Show the formats."""
        self._show_formats()

    def action_format(self, step: int) -> None:
        """Take the next format; a name that ends like its format goes along."""
        chosen = self._formats[(self._formats.index(self._target.format) + step) % len(self._formats)]
        name = self.query_one(Input)
        name.value = renamed(name.value, self._target.format.suffix, chosen.suffix)
        name.cursor_position = len(name.value)
        self._target = Target(name.value, chosen)
        self._show_formats()

    @on(Input.Changed)
    def _forget_answer(self, event: Input.Changed) -> None:
        self._target = Target(event.value, self._target.format)
        self.query_one("#answer", Static).update("")

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        """Give the target back; where something is there already, only if `enter` is pressed once more."""
        path = os.path.abspath(os.path.expanduser(event.value.strip()))
        if not event.value.strip() or os.path.isdir(path):
            self.query_one("#answer", Static).update("this is no name of a file")
        elif os.path.lexists(path) and not self._target.may_replace:
            self._target = self._target._replace(may_replace=True)
            self.query_one("#answer", Static).update("this file is there already: Enter replaces it, Esc leaves it")
        else:
            self.dismiss(self._target._replace(path=path))

    def _show_formats(self) -> None:
        words = [f"[{one.name}]" if one == self._target.format else f" {one.name} " for one in self._formats]
        self.query_one("#formats", Static).update(" ".join(words))


def renamed(name: str, old: str, new: str) -> str:
    """The name of a file whose format has another suffix now, where the name told the format.

    >>> renamed("a.md", ".md", ".txt"), renamed("notes", ".md", ".txt")
    ('a.txt', 'notes')
    """
    stem = name.removesuffix(old)
    return name if stem == name else stem + new
