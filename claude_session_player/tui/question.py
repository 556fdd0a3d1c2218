"""A line in which something is asked for: where to go, or what to look for."""

from __future__ import annotations

from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input


class Question(Input):
    """Asks for one line; tells what was answered, or that nothing was."""

    DEFAULT_CSS = "Question { height: 1; border: none; padding: 0; background: ansi_default; }"
    BINDINGS = [Binding("escape", "give_up", show=False)]  # noqa: RUF012 - Textual wants a list

    class Answered(Message):
        """What somebody typed; nothing, where they gave up."""

        def __init__(self, about: str, text: str) -> None:
            super().__init__()
            self.about = about
            self.text = text

    def __init__(self, about: str, hint: str, text: str = "") -> None:
        super().__init__(text, placeholder=hint, compact=True)
        self._about = about

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The answer is given."""
        event.stop()
        self.post_message(self.Answered(self._about, event.value))

    def action_give_up(self) -> None:
        """There is no answer."""
        self.post_message(self.Answered(self._about, ""))
