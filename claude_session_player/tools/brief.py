"""Tool calls at a glance: what a call comes to in a few words, and a few lines of its input and result.

The rich view keeps this of each call; the whole input and result are read again when an element is unfolded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import DECODE_ERRORS
from claude_session_player.format.content import CallParts, Checklist, Code, Data, Diff, Part, Prose
from claude_session_player.format.results import decode_agent_totals, decode_search_totals
from claude_session_player.tools.parts import ADDED, REMOVED, ToolReply, common_starts
from claude_session_player.util.humanize import plural, short_duration, short_number
from claude_session_player.util.text import ELLIPSIS

DIFF_LINES: Final = 12
"""Lines of a change."""
OUTPUT_LINES: Final = 5
"""Lines of output, of a command, or of a text."""
PROSE_LINES: Final = 12
"""Lines of a plan or of another text that is an input."""
LIST_ITEMS: Final = 12
"""Items of a checklist."""
DONE_ITEMS: Final = 2
"""Items of a long checklist that are shown before the first one that is not done."""
_LINE_WIDTH: Final = 300
"""Characters of a line: more than fit on a terminal."""
_CHANGE_WITHIN, _KEPT_BEFORE = 200, 100
"""A long line is kept from its start if its change is in so many characters, or else from so many before the change."""
_DATA_WIDTH: Final = 200
"""Characters of an input that has no look of its own."""

CallCount = Callable[[CallParts, ToolReply], str]
"""What a call comes to, in a few words; empty if that is unknown."""


class Folded(Struct, frozen=True, gc=False):
    """Some lines of a part, and how many more there are, below them or above them."""

    part: Part
    more: int = 0
    """How many are below these."""
    above: int = 0
    rows: int | None = None
    """How many rows may be drawn, of a part whose lines wrap."""


class CallBrief(Struct, frozen=True, gc=False):
    """A tool call at a glance."""

    words: str = ""
    name: str = ""
    count: str = ""
    """What the result comes to: `83 lines`, `+2 −3`, `exit code 1`."""
    given: tuple[Folded, ...] = ()
    returned: tuple[Folded, ...] = ()


def fold_call(
    parts: CallParts,
    reply: ToolReply | None,
    count: CallCount | None = None,
    *,
    hides_output: bool = False,
    prose_lines: int = PROSE_LINES,
) -> CallBrief:
    """The beginning of each part, and of a failed command's output the end.

    Of a text that is the input, `prose_lines` are kept. Parts that a transcript shows only on demand are left out,
    unless the call failed.
    """
    is_failed = reply is not None and reply.is_error
    counted = count(parts, reply) if count is not None and reply is not None else ""
    given = (fold(part, prose_lines=prose_lines) for part in parts.given)
    returned = () if hides_output and not is_failed else parts.returned
    if counted and is_failed:
        returned = tuple(_without_exit_code(part) for part in returned)
    return CallBrief(
        _cut_line(parts.words),
        parts.name,
        counted or parts.outcome,
        tuple(folded for folded in given if folded is not None),
        tuple(folded for part in returned if (folded := fold(part, is_end=is_failed, is_forced=is_failed)) is not None),
    )


def fold(
    part: Part, *, is_end: bool = False, is_forced: bool = False, prose_lines: int = OUTPUT_LINES
) -> Folded | None:
    """The first lines of a part, or the last ones; `None` for a part that is shown on demand only."""
    match part:
        case Diff(text, start):
            count = DIFF_LINES + text.startswith("@@")  # the first head is not shown
            lines, more = _first_lines(_near_changes(text), count)
            return Folded(Diff("\n".join(lines), start), more)
        case Code(text, language, limit):
            if not text or (limit == 0 and not is_forced):
                return None
            if is_end:
                lines, above = _last_lines(text, OUTPUT_LINES)
                return Folded(Code("\n".join(lines), language), above=above)
            lines, more = _first_lines(text, OUTPUT_LINES)
            return Folded(Code("\n".join(lines), language), more)
        case Prose(text):
            lines, more = _first_lines(text, prose_lines)
            return Folded(Prose("\n".join(lines)), more, rows=prose_lines)
        case Checklist(items):
            start = _first_open(part)
            return Folded(
                Checklist(items[start : start + LIST_ITEMS]), max(len(items) - start - LIST_ITEMS, 0), above=start
            )
        case Data(value):
            return Folded(Code(_cut_line(lenient_json.compact(value), _DATA_WIDTH), "json"))
    return None  # pictures are shown on demand


def _first_open(part: Checklist) -> int:
    """Where a long list begins so that what is being done is among the items that are shown."""
    count = len(part.items)
    done = next((number for number, item in enumerate(part.items) if not item.done), count)
    return max(min(done - DONE_ITEMS, count - LIST_ITEMS), 0)


def _first_lines(text: str, count: int) -> tuple[list[str], int]:
    lines = text.split("\n", count)
    more = lines[count].count("\n") + 1 if len(lines) > count else 0
    if more == 1:  # a line that says so would take as much room
        return [_cut_line(line) for line in lines], 0
    return [_cut_line(line) for line in lines[:count]], more


def _near_changes(text: str) -> str:
    """A diff whose long lines begin near their change, so that it is in what is kept of them."""
    lines = text.split("\n")
    if max(map(len, lines)) <= _LINE_WIDTH:
        return text
    for old, new, same in common_starts(lines):
        if same > _CHANGE_WITHIN:
            for number in (old, new):
                line = lines[number]
                lines[number] = f"{line[:1]}{ELLIPSIS}{line[1 + same - _KEPT_BEFORE :]}"
    return "\n".join(lines)


def _last_lines(text: str, count: int) -> tuple[list[str], int]:
    lines = text.rsplit("\n", count)
    more = lines[0].count("\n") + 1 if len(lines) > count else 0
    if more == 1:
        return [_cut_line(line) for line in lines], 0
    return [_cut_line(line) for line in lines[-count:]], more


def _cut_line(line: str, width: int = _LINE_WIDTH) -> str:
    return line if len(line) <= width else line[:width] + ELLIPSIS


# --- what a call comes to -----------------------------------------------------------------------

NOTHING_FOUND: Final = "nothing found"
_EXIT_CODE: Final = re.compile(r"(?:Error: )?Exit code (\d{1,5})\b\n*")


def changed_lines(parts: CallParts, reply: ToolReply) -> str:
    """How many lines were added and removed."""
    if reply.is_error:
        return ""
    added = removed = 0
    for part in parts.given:
        if isinstance(part, Diff):
            lines = part.text.split("\n")
            added += sum(line[:1] == ADDED for line in lines)
            removed += sum(line[:1] == REMOVED for line in lines)
    return " ".join(f"{sign}{number}" for sign, number in (("+", added), ("−", removed)) if number)


def exit_code(parts: CallParts, reply: ToolReply) -> str:
    """The exit code of a command that failed."""
    match = _EXIT_CODE.match(reply.text) if reply.is_error else None
    return f"exit code {match[1]}" if match else ""


def _without_exit_code(part: Part) -> Part:
    """The output of a command without the line that names its exit code."""
    return Code(_EXIT_CODE.sub("", part.text, count=1), part.language, part.lines) if isinstance(part, Code) else part


def found(parts: CallParts, reply: ToolReply) -> str:
    """How much a search found, as Claude Code counted it, or else by its lines."""
    if reply.is_error:
        return ""
    try:
        totals = decode_search_totals(reply.structured)
    except DECODE_ERRORS:
        return _counted_lines(reply.text)
    numbers = {"content": (totals.lines, "line"), "count": (totals.matches, "match")}
    count, thing = numbers.get(totals.mode or "", (totals.files, "file"))
    if count is None:
        return _counted_lines(reply.text)
    return plural(count, thing) if count else NOTHING_FOUND


def _counted_lines(text: str) -> str:
    if not text or text.startswith("No "):
        return NOTHING_FOUND
    head = re.match(r"Found (\d+) (file|line|match)", text)
    if head is not None:
        count = int(head[1])
        return plural(count, head[2])
    return plural(text.count("\n") + 1, "line")


def agent_effort(parts: CallParts, reply: ToolReply) -> str:
    """How many tools a sub-agent used, its tokens and its time, as Claude Code recorded them."""
    try:
        totals = decode_agent_totals(reply.structured)
    except DECODE_ERRORS:
        return ""
    if totals.is_background:
        return "in the background"
    said = (
        None if totals.tool_uses is None else plural(int(totals.tool_uses), "tool"),
        None if totals.tokens is None else f"{short_number(int(totals.tokens))} tokens",
        None if totals.milliseconds is None else short_duration(totals.milliseconds / 1000),
    )
    return ", ".join(filter(None, said))


def entry_count(parts: CallParts, reply: ToolReply) -> str:
    """How many lines were returned."""
    return "" if reply.is_error or not reply.text else plural(reply.text.count("\n") + 1, "line")
