"""The screen and followed sessions as text for a terminal, in its colours; markdown where there are none.

rich is imported when something is coloured: markdown for a pipe does without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TextIO

from claude_session_player.formatter import RESPONSE, element_text, gap_between, markdown_pieces
from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    ScreenElement,
    ScreenState,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
    View,
)
from claude_session_player.util.terminal import console, write_styled
from claude_session_player.util.text import mark_controls, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.text import Text

    from claude_session_player.player import FollowedText, TextPiece

_MARKER_STYLES: Final = {UserMessage: "bold cyan", AssistantText: "bold"}
"""The style of the marker before an element's text."""
_ELEMENT_STYLES: Final = {
    UserMessage: "bold",
    ThinkingIndicator: "italic magenta",
    TurnDuration: "dim",
    SystemOutput: "dim",
    CompactionRule: "yellow",
}
_NAME_SEPARATOR: Final = " │ "
"""Stands between the name of a sub-agent and each line of its output."""


def write_markdown(state: ScreenState, file: TextIO) -> None:
    """Write the text of `to_markdown`, with a final line break unless the screen is empty."""
    file.writelines(markdown_pieces(state.elements, state.view))
    if state.elements:
        file.write("\n")


def write_text(state: ScreenState, file: TextIO) -> None:
    """Write the screen in the colours that the file's terminal supports; as markdown to a pipe or with NO_COLOR."""
    terminal = console(file)
    if not terminal.color_system or terminal.no_color:
        return write_markdown(state, file)
    previous: ScreenElement | None = None
    for element in state.elements:
        if previous is not None:
            terminal.print(gap_between(previous, element), end="")
        terminal.print(style_element(element, state.view), end="")
        previous = element
    if previous is not None:
        terminal.print()
    return None


def style_element(element: ScreenElement, view: View) -> Text:
    """Return one element in its colours; control characters become visible marks."""
    from rich.text import Text

    text = Text(mark_controls(element_text(element, view)), style=_ELEMENT_STYLES.get(type(element), ""))
    if isinstance(element, ToolCall):
        _style_call(text, element)
    elif style := _MARKER_STYLES.get(type(element)):
        text.stylize(style, 0, 1)
    return text


def _style_call(text: Text, call: ToolCall) -> None:
    head = text.plain.partition("\n")[0]
    is_pending = call.result is None
    text.stylize("yellow" if is_pending else "red" if call.is_error else "green", 0, 1)
    text.stylize("bold", 2, head.index("(") if "(" in head else len(head))
    text.stylize("red" if call.is_error else "dim", len(head), len(text))


def terminal_printer(file: TextIO, view: View) -> Callable[[Iterable[TextPiece]], None]:
    """Return a function that prints pieces to a terminal, in colour and without control sequences of the session."""
    terminal = console(file)

    def print_pieces(pieces: Iterable[TextPiece]) -> None:
        for piece in pieces:
            terminal.print("\n" if piece.is_apart else "", style_piece(piece, view), sep="")

    return print_pieces


def style_piece(piece: TextPiece, view: View) -> Text:
    """Return one piece in its colours: an element, or the result of a tool call alone."""
    text = style_element(piece.element, view)
    return text[text.plain.index("\n") + 1 :] if piece.is_result else text


class FollowWriter:
    """Writes the text of followed sessions without delay; each line of a sub-agent starts with its name."""

    def __init__(self, file: TextIO, view: View) -> None:
        self._file = file
        self._view = view
        self._is_first = True
        terminal = console(file)
        self._console = terminal if terminal.is_terminal else None

    def write_last_lines(self, pieces: Iterable[TextPiece], lines: int) -> None:
        """Write the last lines of the text that exists when following starts."""
        texts = (f"\n{self._draw(piece)}" if piece.is_apart else self._draw(piece) for piece in pieces)
        last = "\n".join(texts).split("\n")[-lines:] if lines else []
        if text := "\n".join(last).strip("\n"):
            self._write(text, is_apart=False)
        self._file.flush()

    def write_new(self, new: FollowedText) -> None:
        """Write the new text of one file."""
        name = printable(new.agent)
        if new.task is not None:
            task = f": {printable(new.task)}" if new.task else ""
            self._write(self._encode(f"{RESPONSE}Agent({name}) started{task}", "yellow"), is_apart=True)
        prefix = self._encode(f"{name}{_NAME_SEPARATOR}", "dim") if name else ""
        for piece in new.pieces:
            self._write(prefix + self._draw(piece).replace("\n", f"\n{prefix}"), piece.is_apart)
        self._file.flush()

    def _draw(self, piece: TextPiece) -> str:
        return piece.text if self._console is None else self._capture(style_piece(piece, self._view))

    def _encode(self, text: str, style: str) -> str:
        from rich.text import Text

        return text if self._console is None else self._capture(Text(text, style))

    def _capture(self, text: Text) -> str:
        """Return a text with escape sequences for its colours, which are repeated on each of its lines."""
        assert self._console is not None
        with self._console.capture() as capture:
            self._console.print(text, end="")
        return capture.get()

    def _write(self, text: str, is_apart: bool) -> None:
        block = f"\n{text}\n" if is_apart and not self._is_first else f"{text}\n"
        if self._console is None:  # any colours in it come from the session: a terminal must not obey them
            self._file.write(block)
        else:
            write_styled(self._file, block)
        self._is_first = False
