"""The parts of tool calls as rows of a terminal: prose, code, diffs with line numbers, checklists, JSON."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from claude_session_player.export.drawing import MOST_DRAWN, code_text, crop_row, markdown_rows, text_row, text_rows
from claude_session_player.format import lenient_json
from claude_session_player.format.content import Checklist, Code, Data, Diff, Part, Prose
from claude_session_player.tools.parts import ADDED, REMOVED, common_starts
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import ELLIPSIS, base_name, mark_controls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claude_session_player.export.drawing import Row

_MOST_CHARACTERS, _MOST_LINES = 200_000, 3000
"""How much of a part is shown: a hundred screens."""
_DONE, _OPEN = "☑ ", "☐ "
_TAB: Final = 4
"""Columns of a tab in code."""
_HUNK_HEAD: Final = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")
_HEAD: Final = Style(color="cyan", dim=True)
_QUIET: Final = Style(dim=True)
_LINE_SIGNS: Final = (" ", ADDED, REMOVED, "")
"""What lines of a file begin with in a diff; other lines are heads and notes."""
_SEEN_WITHIN, _KEPT_BEFORE = 0.75, 0.35
"""A change is shown within this share of the room for a line, or else this share of it is kept before the change."""
_SIGN_STYLES: Final = {ADDED: Style(color="green"), REMOVED: Style(color="red")}


class PartLook(NamedTuple):
    """How a part is drawn."""

    width: int
    name: str = ""
    """The file that it is about."""
    is_cropped: bool = False
    """True if each line takes one row, so that a few lines are a few rows."""
    is_whole: bool = False
    """True if all of a long part is shown."""


def part_rows(part: Part, look: PartLook) -> list[Row]:
    """A part in rows; pictures are drawn by the windows that can show them."""
    return _DRAWINGS[type(part)](part, look)


def file_language(name: str) -> str:
    """The suffix of a file, which tells its language."""
    return os.path.splitext(base_name(name))[1].lstrip(".").lower()


def _lines(text: Text, look: PartLook) -> list[Row]:
    if not look.is_cropped:
        return text_rows(text, look.width)
    text.expand_tabs(_TAB)
    return [crop_row(text_row(line), look.width) for line in text.split("\n", allow_blank=True)]


def _prose(part: Prose, look: PartLook) -> list[Row]:
    if len(part.text) > MOST_DRAWN:
        return _lines(Text(_shown(part.text, look)), look)
    return markdown_rows(part.text, look.width)


def _code(part: Code, look: PartLook) -> list[Row]:
    return _lines(code_text(_shown(part.text, look), part.language or file_language(look.name)), look)


def _data(part: Data, look: PartLook) -> list[Row]:
    return _lines(code_text(_shown(lenient_json.pretty(part.value), look), "json"), look)


def _checklist(part: Checklist, look: PartLook) -> list[Row]:
    text = Text()
    for item in part.items:
        text.append(f"{_DONE if item.done else _OPEN}{mark_controls(item.text)}\n", style="dim" if item.done else "")
    text.right_crop()
    return _lines(text, look)


# --- diffs ------------------------------------------------------------------------------------------


class DiffLine(NamedTuple):
    """A line of a diff: its sign, its text without it, and its number in the file, if that is known.

    The sign of heads and notes is `@`, and their text is the whole line.
    """

    sign: str
    text: str
    number: int | None = None


def number_lines(part: Diff) -> list[DiffLine]:
    """The lines of a diff; added and unchanged ones have their number in the new file, removed ones in the old.

    >>> for line in number_lines(Diff("@@ -4,2 +4,2 @@\\n one\\n-two\\n+2")):
    ...     print(line.number, line.sign, line.text)
    None @ @@ -4,2 +4,2 @@
    4   one
    5 - two
    5 + 2
    """
    old = new = part.start
    lines: list[DiffLine] = []
    for line in part.text.split("\n"):
        sign = line[:1]
        if sign not in _LINE_SIGNS:
            head = _HUNK_HEAD.match(line)
            if sign == "@":
                old, new = (int(head[1]), int(head[2])) if head else (None, None)
            lines.append(DiffLine("@", line))
            continue
        number = old if sign == REMOVED else new
        lines.append(DiffLine(sign or " ", line[1:], number))
        old = old if old is None or sign == ADDED else old + 1
        new = new if new is None or sign == REMOVED else new + 1
    return lines


def _diff(part: Diff, look: PartLook) -> list[Row]:
    """The lines with their numbers and signs, in the colours of their language; the first head says nothing new."""
    lines = number_lines(Diff(_shown(part.text, look), part.start))
    if lines[0].sign == "@" and _HUNK_HEAD.match(lines[0].text):
        lines = lines[1:]
    if not lines:
        return []
    language = file_language(look.name)
    code = code_text("\n".join(line.text if line.sign != "@" else "" for line in lines), language)
    code.expand_tabs(_TAB)
    colours = code.split("\n", allow_blank=True)
    digits = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
    room = look.width - digits - len(" - ")
    drawn = [line._replace(text=coloured.plain) for line, coloured in zip(lines, colours, strict=True)]
    skips = _unchanged_starts(drawn, room) if look.is_cropped else {}
    rows: list[Row] = []
    for number, (line, coloured) in enumerate(zip(lines, colours, strict=True)):
        rows += _diff_line(line, _without_start(coloured, skips.get(number, 0)), digits, look)
    return rows


def _unchanged_starts(lines: Sequence[DiffLine], room: int) -> dict[int, int]:
    """How many characters to leave out at the start of lines that are the same for longer than there is room.

    The lines are as they are drawn: where tabs are still tabs, their width is unknown.

    >>> _unchanged_starts(number_lines(Diff("-a long line: no\\n+a long line: yes")), 12)
    {0: 9, 1: 9}
    """
    skips = {}
    for old, new, same in common_starts([line.sign + line.text for line in lines]):
        texts = [lines[old].text, lines[new].text]
        if texts[0] == texts[1]:  # tabs became spaces, or the other way round
            continue
        if max(map(cell_len, texts)) > room and cell_len(texts[0][:same]) > room * _SEEN_WITHIN:
            skips[old] = skips[new] = same - int(room * _KEPT_BEFORE)
    return skips


def _without_start(text: Text, length: int) -> Text:
    """A text without its first characters; the cut is marked."""
    return Text(ELLIPSIS).append_text(text[length:]) if length > 0 else text


def _diff_line(line: DiffLine, coloured: Text, digits: int, look: PartLook) -> list[Row]:
    if line.sign == "@":
        words = f"{' ' * digits} ⋯" if _HUNK_HEAD.match(line.text) else mark_controls(line.text)
        return [[Segment(words, _HEAD)]]
    style = _SIGN_STYLES.get(line.sign)
    number = "" if line.number is None else str(line.number)
    gutter = Segment(f"{number:>{digits}} {line.sign} " if digits else f"{line.sign} ", style or _QUIET)
    if line.sign == REMOVED:
        coloured = Text(coloured.plain, style="red")
    inner = look._replace(width=max(look.width - cell_len(gutter.text), 1))
    blank = Segment(" " * cell_len(gutter.text))
    return [[blank if number else gutter, *row] for number, row in enumerate(_lines(coloured, inner))]


_DRAWINGS: Final[dict[type, Callable[[Any, PartLook], list[Row]]]] = {
    Prose: _prose,
    Code: _code,
    Diff: _diff,
    Checklist: _checklist,
    Data: _data,
}


def _shown(text: str, look: PartLook) -> str:
    """The beginning of a text, or all of it, without control characters; says how much is left out."""
    if look.is_whole:
        return mark_controls(text)
    kept = "\n".join(text[:_MOST_CHARACTERS].split("\n", _MOST_LINES)[:_MOST_LINES])
    more = len(text) - len(kept)
    marked = mark_controls(kept)
    return f"{marked}\n… ({plural(more, 'more character')}; 'show --full' prints all)" if more else marked
