"""A text of which only some lines are known.

Lines are counted as Claude Code counts them: from 1, and the empty one behind a final line break is a line, too.
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
    """Lines that follow each other, both ends included; without an end where nobody knows how many there are."""

    first: int
    last: int | None


class PartialText:
    """The known lines by number, and how many there are in all, where that is known.

    A text of which everything is known is kept as it is: most edits need nothing else, and its lines are taken apart
    when somebody asks for them.
    """

    __slots__ = ("_lines", "_text", "total")

    def __init__(self, lines: dict[int, str], total: int | None = None) -> None:
        self._lines: dict[int, str] | None = lines
        self._text: str | None = None
        self.total = total

    @classmethod
    def whole(cls, text: str) -> PartialText:
        """A text of which everything is known."""
        partial = cls({}, text.count("\n") + 1)
        partial._lines, partial._text = None, text
        return partial

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartialText) and self.total == other.total and self.lines == other.lines

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Partial(lines={self.lines!r}, total={self.total!r})"

    @property
    def lines(self) -> dict[int, str]:
        """The known lines by number."""
        if self._lines is None:
            self._lines = dict(enumerate((self._text or "").split("\n"), 1))
        return self._lines

    @property
    def is_empty(self) -> bool:
        """True where nothing is known."""
        return self._text is None and not self._lines

    @property
    def complete(self) -> bool:
        """True where everything is known."""
        return self._text is not None or (self.total is not None and len(self.lines) == self.total)

    @property
    def text(self) -> str:
        """The known lines; the whole text where it is complete."""
        if self._text is not None:
            return self._text
        return "\n".join(map(self.lines.__getitem__, sorted(self.lines)))

    def runs(self) -> Iterator[tuple[int, list[str]]]:
        """The known lines that follow each other, with the number of the first."""
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
        """The stretches of unknown lines, and what may come behind the last known one."""
        gaps, at = list[LineRange](), 1
        for start, run in self.runs():
            if start > at:
                gaps.append(LineRange(at, start - 1))
            at = start + len(run)
        if self.total is None or at <= self.total:
            gaps.append(LineRange(at, self.total))
        return gaps

    def contradicts(self, other: PartialText) -> bool:
        """True where both cannot be the same text."""
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

    def joined(self, other: PartialText) -> PartialText:
        """What both know of the same text."""
        if other.complete:
            return other
        return PartialText(self.lines | other.lines, self.total if other.total is None else other.total)

    def before(self, number: int) -> PartialText:
        """What is known before a line; of that line and the ones behind it, nothing is."""
        return PartialText({at: line for at, line in self.lines.items() if at < number})

    def spliced(self, start: int, removed: int, put: Sequence[str | None]) -> PartialText:
        """The text with other lines in place of some; those behind them are numbered anew."""
        more = len(put) - removed
        lines = {}
        for number, line in self.lines.items():
            if number < start:
                lines[number] = line
            elif number >= start + removed:
                lines[number + more] = line
        lines.update((start + at, line) for at, line in enumerate(put) if line is not None)
        return PartialText(lines, None if self.total is None else self.total + more)


NOTHING_KNOWN = PartialText({})


_T = TypeVar("_T")

_NUMBERED: Final = re.compile(r" *(\d{1,9})(?:→|\t)(.*)", re.DOTALL)
_MOST_LINES: Final = 2000
"""A read that names no limit ends here."""
_LONGEST: Final = 2000
"""Where the model sees a line only in part, it is longer than this."""
_REMINDER: Final = "<system-reminder>"
_CUT: Final = "... [truncated]"


def decode_raw(decode: Callable[[Raw], _T], raw: Raw) -> _T | None:
    """A value that was set aside; `None` where it is missing, or of another shape."""
    try:
        return decode(raw) if raw else None
    except DECODE_ERRORS:
        return None


def structured_result(structured: Raw) -> FileResult:
    """What a tool gave back beside what the model saw; nothing where it has another shape."""
    return decode_raw(decode_file_result, structured) or FileResult()


def lines_from_read(asked: object, result: ToolResult, structured: Raw) -> PartialText:
    """The lines that a read showed; none of a picture, or of a file that did not change."""
    told = structured_result(structured)
    if told.type and decode_raw(decode_text, told.type) != "text":
        return NOTHING_KNOWN
    if (part := decode_raw(decode_file_part, told.file)) is not None:
        return lines_of_part(part)
    return lines_from_numbered(raw_text(result.content), is_whole=_is_unlimited(asked))


def lines_of_part(part: FilePart) -> PartialText:
    """The lines of a part of a file."""
    if not part.content and part.total_lines <= 1:
        return PartialText.whole("")
    lines = part.content.split("\n")
    start = part.start_line or 1  # who asks for line 0 is given the first one, and told that it is line 0
    if start < 1 or start + len(lines) - 1 > part.total_lines:
        return NOTHING_KNOWN
    return PartialText(dict(enumerate(lines, start)), part.total_lines)


def lines_from_numbered(text: str, is_whole: bool) -> PartialText:
    """The lines of a text whose lines are numbered; what is said behind them is left out.

    >>> text = "    7→seven\\n    8→eight\\n\\n<system-reminder>Careful.</system-reminder>"
    >>> lines_from_numbered(text, is_whole=False)
    Partial(lines={7: 'seven', 8: 'eight'}, total=None)
    """
    lines: list[str] = []
    start = 0
    for line in (shown := text.split("\n")):
        match = _NUMBERED.fullmatch(line)
        if match is None or (lines and int(match[1]) != start + len(lines)):
            break
        start = start if lines else int(match[1])
        lines.append(match[2])
    behind = "\n".join(shown[len(lines) :]).lstrip()
    if behind and not behind.startswith(_REMINDER):  # the last line may go on there
        lines = lines[:-1]
        is_whole = False
    total = len(lines) if lines and is_whole and start == 1 and len(lines) < _MOST_LINES else None
    return PartialText({at: line for at, line in enumerate(lines, start or 1) if not _is_cut(line)}, total)


def lines_from_edit(result: ToolResult) -> PartialText:
    """The lines around an edit, which older versions show behind a sentence; none where there are none."""
    return lines_from_numbered(raw_text(result.content).partition("\n")[2], is_whole=False)


def lines_from_snippet(text: str) -> PartialText:
    """The lines of a snippet: several stretches, of which the last may be cut off."""
    lines: dict[int, str] = {}
    for line in text.split("\n"):
        if match := _NUMBERED.fullmatch(line):
            lines[int(match[1])] = match[2]
    if lines and not _NUMBERED.fullmatch(text.rpartition("\n")[2]):
        del lines[max(lines)]
    return PartialText(lines)


def _is_cut(line: str) -> bool:
    return len(line) >= _LONGEST and line.endswith(_CUT)


def _is_unlimited(asked: object) -> bool:
    told = parse_file_input(asked)
    return told.offset is None and told.limit is None
