"""What a session and its sub-agents say while they are followed: text to be added, in colour on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TextIO

from rich.text import Text

from claude_session_player.export.pieces import coloured
from claude_session_player.formatter import ANSWER
from claude_session_player.play.appended import Piece
from claude_session_player.play.company import Told
from claude_session_player.terminal_guard import console, write_styled
from claude_session_player.text import printable
from claude_session_player.view import View

_BAR: Final = " │ "


class Teller:
    """Writes what is told to a file, at once; every line of a sub-agent begins with its name."""

    def __init__(self, file: TextIO, view: View) -> None:
        self._file = file
        self._view = view
        self._is_first = True
        terminal = console(file)
        self._console = terminal if terminal.is_terminal else None

    def begin(self, pieces: Iterable[Piece], lines: int) -> None:
        """Write the last lines of what is there already."""
        texts = (f"\n{self._drawn(piece)}" if piece.is_apart else self._drawn(piece) for piece in pieces)
        last = "\n".join(texts).split("\n")[-lines:] if lines else []
        if text := "\n".join(last).strip("\n"):
            self._write(text, is_apart=False)
        self._file.flush()

    def tell(self, told: Told) -> None:
        """Write what is new in one file."""
        name = printable(told.agent)
        if told.task is not None:
            about = f": {printable(told.task)}" if told.task else ""
            self._write(self._rendered(Text(f"{ANSWER}Agent({name}) started{about}", "yellow")), is_apart=True)
        prefix = self._rendered(Text(f"{name}{_BAR}", "dim")) if name else ""
        for piece in told.pieces:
            self._write(prefix + self._drawn(piece).replace("\n", f"\n{prefix}"), piece.is_apart)
        self._file.flush()

    def _drawn(self, piece: Piece) -> str:
        if self._console is None:
            return piece.text
        return self._rendered(coloured(piece, self._view))

    def _rendered(self, text: Text) -> str:
        """A text as the terminal wants it; each of its lines has its own colours."""
        if self._console is None:
            return text.plain
        with self._console.capture() as capture:
            self._console.print(text, end="")
        return capture.get()

    def _write(self, text: str, is_apart: bool) -> None:
        whole = f"\n{text}\n" if is_apart and not self._is_first else f"{text}\n"
        if self._console is None:  # any colours in it are not ours
            self._file.write(whole)
        else:
            write_styled(self._file, whole)
        self._is_first = False
