"""A line in which something is said for a while."""

from __future__ import annotations

from typing import Final

from rich.text import Text
from textual.timer import Timer

from claude_session_player.text import printable
from claude_session_player.tui.text_line import TextLine

SECONDS: Final = 4.0


class SaidLine(TextLine):
    """Stands over what is in its place while there is something to say; nothing moves aside for it."""

    DEFAULT_CSS = """
    SaidLine { overlay: screen; display: none; }
    SaidLine.-whole { height: auto; text-wrap: wrap; text-overflow: fold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        """What is said now."""
        self._silence: Timer | None = None

    def say(self, words: str, *, is_whole: bool = False) -> None:
        """Say something, and no more after some seconds. With `is_whole`, in as many lines as it needs."""
        self.be_silent()
        self.words = printable(words)
        self.show(Text(self.words, "yellow"))
        self.set_class(is_whole, "-whole")
        self.display = True
        self._silence = self.set_timer(SECONDS * (2 if is_whole else 1), self.be_silent)

    def be_silent(self) -> None:
        """Show again what is in this place otherwise."""
        self.words = ""
        self.display = False
        if self._silence is not None:
            self._silence.stop()
            self._silence = None
