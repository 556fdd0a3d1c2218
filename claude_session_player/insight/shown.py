"""Lines of a file as tools and attachments show them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Raw

from claude_session_player.content import raw_text
from claude_session_player.events import REFUSALS, ToolResult
from claude_session_player.insight.partial import NOTHING_KNOWN, Partial
from claude_session_player.results import (
    FilePart,
    FileResult,
    decode_file_part,
    decode_file_result,
    decode_text,
    file_input,
)

_T = TypeVar("_T")

_NUMBERED: Final = re.compile(r" *(\d{1,9})(?:→|\t)(.*)", re.DOTALL)
_MOST_LINES: Final = 2000
"""A read that names no limit ends here."""
_LONGEST: Final = 2000
"""Where the model sees a line only in part, it is longer than this."""
_REMINDER: Final = "<system-reminder>"
_CUT: Final = "... [truncated]"


def decoded(decode: Callable[[Raw], _T], raw: Raw) -> _T | None:
    """A value that was set aside; `None` where it is missing, or of another shape."""
    try:
        return decode(raw) if raw else None
    except REFUSALS:
        return None


def file_result(structured: Raw) -> FileResult:
    """What a tool gave back beside what the model saw; nothing where it has another shape."""
    return decoded(decode_file_result, structured) or FileResult()


def read_part(asked: object, result: ToolResult, structured: Raw) -> Partial:
    """The lines that a read showed; none of a picture, or of a file that did not change."""
    told = file_result(structured)
    if told.type and decoded(decode_text, told.type) != "text":
        return NOTHING_KNOWN
    if (part := decoded(decode_file_part, told.file)) is not None:
        return part_of(part)
    return numbered_part(raw_text(result.content), is_whole=_is_unlimited(asked))


def part_of(part: FilePart) -> Partial:
    """The lines of a part of a file."""
    if not part.content and part.total_lines <= 1:
        return Partial.whole("")
    lines = part.content.split("\n")
    start = part.start_line or 1  # who asks for line 0 is given the first one, and told that it is line 0
    if start < 1 or start + len(lines) - 1 > part.total_lines:
        return NOTHING_KNOWN
    return Partial(dict(enumerate(lines, start)), part.total_lines)


def numbered_part(text: str, is_whole: bool) -> Partial:
    """The lines of a text whose lines are numbered; what is said behind them is left out.

    >>> numbered_part("    7→seven\\n    8→eight\\n\\n<system-reminder>Careful.</system-reminder>", is_whole=False)
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
    return Partial({at: line for at, line in enumerate(lines, start or 1) if not _is_cut(line)}, total)


def edited_part(result: ToolResult) -> Partial:
    """The lines around an edit, which older versions show behind a sentence; none where there are none."""
    return numbered_part(raw_text(result.content).partition("\n")[2], is_whole=False)


def snippet_part(text: str) -> Partial:
    """The lines of a snippet: several stretches, of which the last may be cut off."""
    lines: dict[int, str] = {}
    for line in text.split("\n"):
        if match := _NUMBERED.fullmatch(line):
            lines[int(match[1])] = match[2]
    if lines and not _NUMBERED.fullmatch(text.rpartition("\n")[2]):
        del lines[max(lines)]
    return Partial(lines)


def _is_cut(line: str) -> bool:
    return len(line) >= _LONGEST and line.endswith(_CUT)


def _is_unlimited(asked: object) -> bool:
    told = file_input(asked)
    return told.offset is None and told.limit is None
