"""The screen and followed sessions as text for a terminal, in its colours; markdown where there are none.

rich is imported when something is coloured: markdown for a pipe does without it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from rich.cells import cell_len, chop_cells
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style

from claude_session_player.formatter import RESPONSE, element_text, gap_between, write_markdown
from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    Note,
    PeerMessage,
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

    from rich.text import Text

    from claude_session_player.player import FollowedText, TextPiece

_MARKER_STYLES: Final = {UserMessage: "bold cyan", PeerMessage: "bold magenta", AssistantText: "bold"}
"""The style of the marker before an element's text."""
_ELEMENT_STYLES: Final = {
    UserMessage: "bold",
    ThinkingIndicator: "italic magenta",
    TurnDuration: "dim",
    SystemOutput: "dim",
    Note: "dim",
    CompactionRule: "yellow",
}
_NAME_SEPARATOR: Final = " │ "
"""Stands between the name of a sub-agent and each line of its output."""


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


_MARKERS: Final = " ❯●✱└✗"
"""Characters before the text of a line, one column each; continuation rows are indented to the text."""
_MIN_INDENTED_WIDTH: Final = 20
"""Narrower terminals have no columns to spare for the indent."""
_CHARACTERS_PER_COLUMN: Final = 4
"""How many characters are measured for each column of a row: some characters have no width."""


_BREAKS: Final = {ord("\n"): " ", ord("\t"): " "}
"""What would leave a row, and what stands for it."""


class _StyledSpan(NamedTuple):
    """A part of a text in one style, with the escape sequences before and after it."""

    start: int
    end: int
    prefix: str
    suffix: str


class TerminalRow(NamedTuple):
    """The part of a text that one row shows, after an indent of some columns."""

    start: int
    end: int
    blanks: int = 0


def folded_rows(element: ScreenElement, view: View, width: int) -> list[str]:
    """One element as the rows of a terminal of this width, in its colours."""
    text = style_element(element, view)
    if "\t" in text.plain:
        text.expand_tabs(8)
    plain, spans = text.plain, _styled_spans(text)
    return [_encode_row(plain, row, spans) for row in fold_lines(plain, width)]


def fold_lines(plain: str, width: int) -> Iterator[TerminalRow]:
    """The rows of a text of several lines without tabs."""
    start = 0
    for line in plain.split("\n"):
        if len(line) <= width and _is_narrow(line):
            yield TerminalRow(start, start + len(line))
        else:
            yield from (TerminalRow(start + row.start, start + row.end, row.blanks) for row in fold_line(line, width))
        start += len(line) + 1


def fold_line(line: str, width: int) -> Iterator[TerminalRow]:
    """The rows of a line, broken between words where possible; continuation rows are indented to the text.

    >>> list(fold_line("● one two three, and four", 20))
    [TerminalRow(start=0, end=20, blanks=0), TerminalRow(start=21, end=25, blanks=2)]
    """
    if cell_len(line) <= width:
        yield TerminalRow(0, len(line))
        return
    head = line[:width]
    indent = len(head) - len(head.lstrip(_MARKERS)) if width >= _MIN_INDENTED_WIDTH else 0
    indent = indent if indent <= width // 2 else 0
    start = blanks = 0
    while start < len(line):
        end = start + _fitting_length(line[start : start + width * _CHARACTERS_PER_COLUMN], width - blanks)
        row_end = _row_end(line, start + (0 if blanks else indent), end)
        yield TerminalRow(start, row_end, blanks)
        start = row_end + (line[row_end : row_end + 1] == " ")
        blanks = indent


def _fitting_length(text: str, width: int) -> int:
    """How many characters of a text fit into a row; at least one."""
    if _is_narrow(text):
        return min(len(text), width)
    chunks = chop_cells(text, width)
    return max(len(chunks[0]), 1) if chunks else len(text)


def _is_narrow(text: str) -> bool:
    """True if each character certainly has one column: true of most texts, and faster than measuring."""
    return text.isascii() or text.lstrip(_MARKERS).isascii()


def _row_end(line: str, start: int, end: int) -> int:
    """Where a row ends that has room up to `end`: after a word, unless that leaves the row half empty."""
    if end >= len(line):
        return len(line)
    space = line.rfind(" ", start, end + 1)
    return space if space - start > (end - start) // 2 else end


def _styled_spans(text: Text) -> list[_StyledSpan]:
    """The text split wherever a style begins or ends."""
    length = len(text.plain)
    if not text.spans:
        return [_StyledSpan(0, length, *_style_codes(str(text.style)))]
    starting, ending = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for number, span in enumerate(text.spans):
        starting[span.start].append(number)
        ending[span.end].append(number)
    offsets = sorted({0, length, *(offset for offset in (*starting, *ending) if offset < length)})
    spans: list[_StyledSpan] = []
    active: set[int] = set()
    for start, end in pairwise(offsets):  # linear in the spans: expanding tabs makes one of each word
        active.update(starting[start])
        active.difference_update(ending[start])
        names = [str(text.style), *(str(text.spans[number].style) for number in sorted(active))]
        spans.append(_StyledSpan(start, end, *_style_codes(" ".join(filter(None, names)))))
    return spans


def encode_segments(row: Iterable[Segment]) -> str:
    """A drawn row with escape sequences for the sixteen colours of a terminal; nothing else in it is obeyed.

    >>> encode_segments([Segment("a", Style(color="red")), Segment("\\x1b[2Jb\\n")])
    '\\x1b[31ma\\x1b[0m�[2Jb '
    """
    parts: list[str] = []
    for text, style, _ in row:
        prefix, suffix = _codes_of(style) if style else ("", "")
        parts += (prefix, mark_controls(text).translate(_BREAKS), suffix)
    return "".join(parts)


@lru_cache(maxsize=64)
def _style_codes(style: str) -> tuple[str, str]:
    """The escape sequences before and after a text of this style."""
    return _codes_of(Style.parse(style))


@lru_cache(maxsize=256)
def _codes_of(style: Style) -> tuple[str, str]:
    """The same for a style; links are not among them, so that a terminal opens nothing."""
    prefix, _, suffix = style.update_link(None).render("\0", color_system=ColorSystem.STANDARD).partition("\0")
    return prefix, suffix


def _encode_row(plain: str, row: TerminalRow, spans: list[_StyledSpan]) -> str:
    parts = [" " * row.blanks]
    first = bisect_right(spans, row.start, key=lambda span: span.end)
    for number in range(first, len(spans)):
        start, end, prefix, suffix = spans[number]
        if start >= row.end:
            break
        parts.append(f"{prefix}{plain[max(start, row.start) : min(end, row.end)]}{suffix}")
    return "".join(parts)
