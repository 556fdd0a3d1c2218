"""A text of which only some lines are known, and how tool results show such lines.

Lines are numbered as Claude Code does: from 1, and the empty line after a final line break counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec import Raw

from claude_session_player.format.blocks import DECODE_ERRORS, ToolResult
from claude_session_player.format.content import raw_text
from claude_session_player.format.results import (
    FilePart,
    FileResult,
    decode_file_part,
    decode_file_result,
    decode_text,
    parse_file_input,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class LineRange(NamedTuple):
    """Consecutive lines, both ends included; `last` is `None` if the number of lines is unknown."""

    first: int
    last: int | None


class PartialText:
    """The known lines by number, and the total number of lines if that is known.

    A text that is known as a whole is kept as it is, and split into lines on demand: most edits need only the text.
    """

    __slots__ = ("_lines", "_text", "total")

    def __init__(self, lines: dict[int, str], total: int | None = None) -> None:
        self._lines: dict[int, str] | None = lines
        self._text: str | None = None
        self.total = total

    @classmethod
    def whole(cls, text: str) -> PartialText:
        """A text that is known as a whole."""
        known = cls({}, text.count("\n") + 1)
        known._lines, known._text = None, text
        return known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartialText) and self.total == other.total and self.lines == other.lines

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PartialText(lines={self.lines!r}, total={self.total!r})"

    @property
    def lines(self) -> dict[int, str]:
        """The known lines by number."""
        if self._lines is None:
            self._lines = dict(enumerate((self._text or "").split("\n"), 1))
        return self._lines

    @property
    def is_empty(self) -> bool:
        """True if no line is known."""
        return self._text is None and not self._lines

    @property
    def complete(self) -> bool:
        """True if all lines are known."""
        return self._text is not None or (self.total is not None and len(self.lines) == self.total)

    @property
    def text(self) -> str:
        """The known lines; the whole text if it is complete."""
        if self._text is not None:
            return self._text
        return "\n".join(map(self.lines.__getitem__, sorted(self.lines)))

    def runs(self) -> Iterator[tuple[int, list[str]]]:
        """The runs of consecutive known lines, each with the number of its first line."""
        start, run = 0, list[str]()
        for number in sorted(self.lines):
            if run and number != start + len(run):
                yield start, run
                run = []
            start = start if run else number
            run.append(self.lines[number])
        if run:
            yield start, run

    def unknown(self) -> list[LineRange]:
        """The ranges of unknown lines, including what may follow the last known one."""
        gaps, next_line = list[LineRange](), 1
        for start, run in self.runs():
            if start > next_line:
                gaps.append(LineRange(next_line, start - 1))
            next_line = start + len(run)
        if self.total is None or next_line <= self.total:
            gaps.append(LineRange(next_line, self.total))
        return gaps

    def contradicts(self, other: PartialText) -> bool:
        """True if both cannot be the same text."""
        if None not in (self.total, other.total) and self.total != other.total:
            return True
        if self._text is not None and self._text == other._text:
            return False
        if self.lines == other.lines:
            return False
        if any(self.lines.get(number, line) != line for number, line in other.lines.items()):
            return True
        return self._is_longer_than(other) or other._is_longer_than(self)

    def _is_longer_than(self, other: PartialText) -> bool:
        return other.total is not None and max(self.lines, default=0) > other.total

    def merge(self, other: PartialText) -> PartialText:
        """The lines that are known from either; the other one is newer."""
        if other.complete:
            return other
        return PartialText(self.lines | other.lines, self.total if other.total is None else other.total)

    def before(self, number: int) -> PartialText:
        """The text with only the lines before this one known."""
        return PartialText({known: line for known, line in self.lines.items() if known < number})

    def splice(self, start: int, removed: int, inserted: Sequence[str | None]) -> PartialText:
        """The text with some lines replaced by others, of which some may be unknown; later lines are renumbered."""
        more = len(inserted) - removed
        lines = {}
        for number, line in self.lines.items():
            if number < start:
                lines[number] = line
            elif number >= start + removed:
                lines[number + more] = line
        lines.update((number, line) for number, line in enumerate(inserted, start) if line is not None)
        return PartialText(lines, None if self.total is None else self.total + more)


NOTHING_KNOWN = PartialText({})


_T = TypeVar("_T")

_NUMBERED_LINE: Final = re.compile(r" *(\d{1,9})(?:→|\t)(.*)", re.DOTALL)
_MAX_LINES_READ: Final = 2000
"""A read without a limit ends after this many lines."""
_MAX_LINE_LENGTH: Final = 2000
"""The model sees only the start of longer lines."""
_REMINDER: Final = "<system-reminder>"
_TRUNCATED: Final = "... [truncated]"


def decode_raw(decode: Callable[[Raw], _T], raw: Raw) -> _T | None:
    """Decode a raw value; `None` if it is missing or has an unexpected shape."""
    try:
        return decode(raw) if raw else None
    except DECODE_ERRORS:
        return None


def structured_result(structured: Raw) -> FileResult:
    """Decode the structured result of a file tool; empty if it has an unexpected shape."""
    return decode_raw(decode_file_result, structured) or FileResult()


def lines_from_read(given: object, result: ToolResult, structured: Raw) -> PartialText:
    """The lines that a read with this input showed; none for an image, or for a file that did not change."""
    details = structured_result(structured)
    if details.type and decode_raw(decode_text, details.type) != "text":
        return NOTHING_KNOWN
    if (part := decode_raw(decode_file_part, details.file)) is not None:
        return lines_of_part(part)
    return lines_from_numbered(raw_text(result.content), is_whole=_is_unlimited(given))


def lines_of_part(part: FilePart) -> PartialText:
    """The lines of a part of a file."""
    if not part.content and part.total_lines <= 1:
        return PartialText.whole("")
    lines = part.content.split("\n")
    start = part.start_line or 1  # a read of line 0 shows line 1, but reports it as line 0
    if start < 1 or start + len(lines) - 1 > part.total_lines:
        return NOTHING_KNOWN
    return PartialText(dict(enumerate(lines, start)), part.total_lines)


def lines_from_numbered(text: str, is_whole: bool) -> PartialText:
    """The lines of a text with line numbers; any text after them is ignored.

    >>> text = "    7→seven\\n    8→eight\\n\\n<system-reminder>Careful.</system-reminder>"
    >>> lines_from_numbered(text, is_whole=False)
    PartialText(lines={7: 'seven', 8: 'eight'}, total=None)
    """
    lines: list[str] = []
    start = 0
    for line in (rows := text.split("\n")):
        match = _NUMBERED_LINE.fullmatch(line)
        if match is None or (lines and int(match[1]) != start + len(lines)):
            break
        start = start if lines else int(match[1])
        lines.append(match[2])
    rest = "\n".join(rows[len(lines) :]).lstrip()
    if rest and not rest.startswith(_REMINDER):  # it may belong to the last line
        lines = lines[:-1]
        is_whole = False
    total = len(lines) if lines and is_whole and start == 1 and len(lines) < _MAX_LINES_READ else None
    return PartialText(
        {number: line for number, line in enumerate(lines, start or 1) if not _is_truncated(line)}, total
    )


def lines_from_edit(result: ToolResult) -> PartialText:
    """The lines around an edit, which older versions show after a sentence."""
    return lines_from_numbered(raw_text(result.content).partition("\n")[2], is_whole=False)


def lines_from_snippet(text: str) -> PartialText:
    """The lines of a snippet: several runs, of which the last may be truncated."""
    lines: dict[int, str] = {}
    for line in text.split("\n"):
        if match := _NUMBERED_LINE.fullmatch(line):
            lines[int(match[1])] = match[2]
    if lines and not _NUMBERED_LINE.fullmatch(text.rpartition("\n")[2]):
        del lines[max(lines)]
    return PartialText(lines)


def _is_truncated(line: str) -> bool:
    return len(line) >= _MAX_LINE_LENGTH and line.endswith(_TRUNCATED)


def _is_unlimited(given: object) -> bool:
    fields = parse_file_input(given)
    return fields.offset is None and fields.limit is None
