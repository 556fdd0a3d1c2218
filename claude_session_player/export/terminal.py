"""Elements as rows of a terminal: folded to its width, with the colours of `export/terminal`."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from rich.cells import cell_len, chop_cells
from rich.color import ColorSystem
from rich.style import Style
from rich.text import Text

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
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.player import FollowedText, TextPiece


def write_markdown(state: ScreenState, file: TextIO) -> None:
    """Write what `to_markdown` gives, and a final line break where there is anything."""
    file.writelines(markdown_pieces(state.elements, state.view))
    if state.elements:
        file.write("\n")


_MARK: Final = {UserMessage: "bold cyan", AssistantText: "bold"}
_BODY: Final = {
    UserMessage: "bold",
    ThinkingIndicator: "italic magenta",
    TurnDuration: "dim",
    SystemOutput: "dim",
    CompactionRule: "yellow",
}


def write_text(state: ScreenState, file: TextIO) -> None:
    """Write the screen with the colours that the file's terminal has; none for a pipe or with NO_COLOR."""
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
    """One element with its colours; what a terminal would obey, not show, is a mark."""
    text = Text(mark_controls(element_text(element, view)), style=_BODY.get(type(element), ""))
    if isinstance(element, ToolCall):
        _style_call(text, element)
    elif mark := _MARK.get(type(element)):
        text.stylize(mark, 0, 1)
    return text


def _style_call(text: Text, call: ToolCall) -> None:
    head = text.plain.partition("\n")[0]
    pending = call.result is None
    text.stylize("yellow" if pending else "red" if call.is_error else "green", 0, 1)
    text.stylize("bold", 2, head.index("(") if "(" in head else len(head))
    text.stylize("red" if call.is_error else "dim", len(head), len(text))


def terminal_printer(file: TextIO, view: View) -> Callable[[Iterable[TextPiece]], None]:
    """Something that writes pieces to a terminal: with the colours that it has, and nothing that it would obey."""
    terminal = console(file)

    def show(pieces: Iterable[TextPiece]) -> None:
        for piece in pieces:
            terminal.print("\n" if piece.is_apart else "", style_piece(piece, view), sep="")

    return show


def style_piece(piece: TextPiece, view: View) -> Text:
    """One piece with its colours."""
    text = style_element(piece.element, view)
    return text[text.plain.index("\n") + 1 :] if piece.is_result else text


_BAR: Final = " │ "


class FollowWriter:
    """Writes what is told to a file, at once; every line of a sub-agent begins with its name."""

    def __init__(self, file: TextIO, view: View) -> None:
        self._file = file
        self._view = view
        self._is_first = True
        terminal = console(file)
        self._console = terminal if terminal.is_terminal else None

    def begin(self, pieces: Iterable[TextPiece], lines: int) -> None:
        """Write the last lines of what is there already."""
        texts = (f"\n{self._drawn(piece)}" if piece.is_apart else self._drawn(piece) for piece in pieces)
        last = "\n".join(texts).split("\n")[-lines:] if lines else []
        if text := "\n".join(last).strip("\n"):
            self._write(text, is_apart=False)
        self._file.flush()

    def tell(self, told: FollowedText) -> None:
        """Write what is new in one file."""
        name = printable(told.agent)
        if told.task is not None:
            about = f": {printable(told.task)}" if told.task else ""
            self._write(self._rendered(Text(f"{RESPONSE}Agent({name}) started{about}", "yellow")), is_apart=True)
        prefix = self._rendered(Text(f"{name}{_BAR}", "dim")) if name else ""
        for piece in told.pieces:
            self._write(prefix + self._drawn(piece).replace("\n", f"\n{prefix}"), piece.is_apart)
        self._file.flush()

    def _drawn(self, piece: TextPiece) -> str:
        if self._console is None:
            return piece.text
        return self._rendered(style_piece(piece, self._view))

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


_MARKS: Final = " ❯●✱└✗"
"""What stands before the text of a line, one column each; rows that a line goes on in begin below its text."""
_NARROW: Final = 20
"""Terminals of fewer columns have none to spare for that."""
_LOOK_AHEAD: Final = 4
"""Signs for each column that are looked at: some have no width."""


class _Stretch(NamedTuple):
    """A part of a text that is in one colour, and what a terminal is told before and behind it."""

    start: int
    end: int
    before: str
    behind: str


class TerminalRow(NamedTuple):
    """A part of a text that stands on a row of its own, behind some blanks."""

    start: int
    end: int
    blanks: int = 0


def folded_rows(element: ScreenElement, view: View, width: int) -> list[str]:
    """One element as a terminal of this width shows it: a text for each row, with its colours."""
    text = style_element(element, view)
    if "\t" in text.plain:
        text.expand_tabs(8)
    plain, stretches = text.plain, _stretches(text)
    return [_coloured(plain, row, stretches) for row in fold_lines(plain, width)]


def fold_lines(plain: str, width: int) -> Iterator[TerminalRow]:
    """The rows of a text of several lines, which has no tabs."""
    start = 0
    for line in plain.split("\n"):
        if len(line) <= width and _is_narrow(line):
            yield TerminalRow(start, start + len(line))
        else:
            yield from (TerminalRow(start + row.start, start + row.end, row.blanks) for row in fold_line(line, width))
        start += len(line) + 1


def fold_line(line: str, width: int) -> Iterator[TerminalRow]:
    """The rows of a line. Words stay whole where they can; a row that goes on begins below the first one's text.

    >>> list(fold_line("● one two three, and four", 20))
    [TerminalRow(start=0, end=20, blanks=0), TerminalRow(start=21, end=25, blanks=2)]
    """
    if cell_len(line) <= width:
        yield TerminalRow(0, len(line))
        return
    head = line[:width]
    hanging = len(head) - len(head.lstrip(_MARKS)) if width >= _NARROW else 0
    hanging = hanging if hanging <= width // 2 else 0
    start = blanks = 0
    while start < len(line):
        end = start + _fitting(line[start : start + width * _LOOK_AHEAD], width - blanks)
        row_end = _word_end(line, start + (0 if blanks else hanging), end)
        yield TerminalRow(start, row_end, blanks)
        start = row_end + (line[row_end : row_end + 1] == " ")
        blanks = hanging


def _fitting(text: str, width: int) -> int:
    """How many signs of a text fit into a row; at least one."""
    if _is_narrow(text):
        return min(len(text), width)
    chunks = chop_cells(text, width)
    return max(len(chunks[0]), 1) if chunks else len(text)


def _is_narrow(text: str) -> bool:
    """True where each sign surely has one column; that is so for most texts, and measuring takes long."""
    return text.isascii() or text.lstrip(_MARKS).isascii()


def _word_end(line: str, start: int, end: int) -> int:
    """Where a row ends that could hold the line up to here: behind a word, unless that leaves it half empty."""
    if end >= len(line):
        return len(line)
    space = line.rfind(" ", start, end + 1)
    return space if space - start > (end - start) // 2 else end


def _stretches(text: Text) -> list[_Stretch]:
    """A text by its colours; between two places where any of them begins or ends there is one."""
    length = len(text.plain)
    if not text.spans:
        return [_Stretch(0, length, *_codes(str(text.style)))]
    opened, closed = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for number, span in enumerate(text.spans):
        opened[span.start].append(number)
        closed[span.end].append(number)
    places = sorted({0, length, *(place for place in (*opened, *closed) if place < length)})
    stretches: list[_Stretch] = []
    current: set[int] = set()
    for start, end in pairwise(places):  # each span is looked at where it begins and ends: tabs make one of each word
        current.update(opened[start])
        current.difference_update(closed[start])
        names = [str(text.style), *(str(text.spans[number].style) for number in sorted(current))]
        stretches.append(_Stretch(start, end, *_codes(" ".join(filter(None, names)))))
    return stretches


@lru_cache(maxsize=64)
def _codes(style: str) -> tuple[str, str]:
    """What a terminal is told before and behind a text of this style."""
    before, _, behind = Style.parse(style).render("\0", color_system=ColorSystem.STANDARD).partition("\0")
    return before, behind


def _coloured(plain: str, row: TerminalRow, stretches: list[_Stretch]) -> str:
    parts = [" " * row.blanks]
    first = bisect_right(stretches, row.start, key=lambda stretch: stretch.end)
    for place in range(first, len(stretches)):
        start, end, before, behind = stretches[place]
        if start >= row.end:
            break
        parts.append(f"{before}{plain[max(start, row.start) : min(end, row.end)]}{behind}")
    return "".join(parts)
