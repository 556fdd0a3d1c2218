"""Text that is only ever added to, in the colours of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TextIO

from rich.text import Text

from claude_session_player.export.terminal import styled
from claude_session_player.play.appended import Piece
from claude_session_player.terminal_guard import console
from claude_session_player.view import View


def printer(file: TextIO, view: View) -> Callable[[Iterable[Piece]], None]:
    """Something that writes pieces to a terminal: with the colours that it has, and nothing that it would obey."""
    terminal = console(file)

    def show(pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            terminal.print("\n" if piece.is_apart else "", coloured(piece, view), sep="")

    return show


def coloured(piece: Piece, view: View) -> Text:
    """One piece with its colours."""
    text = styled(piece.element, view)
    return text[text.plain.index("\n") + 1 :] if piece.is_result else text
