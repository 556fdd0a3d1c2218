"""A popup with the command that resumes a session."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from claude_session_player.tui.popups import TextPopup
from claude_session_player.util.text import printable


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
