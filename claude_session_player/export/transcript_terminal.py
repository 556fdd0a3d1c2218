"""Transcripts drawn for a terminal: markdown rendered, diffs in colour, sub-agents indented.

Only the terminal's own colours are used, and no backgrounds: the terminal may be dark or light. Without colours, marks
and rules still tell entries apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from claude_session_player.export.commonmark import shorten_text, single_line, tidy_text
from claude_session_player.export.drawing import markdown_rows, row_text, strip_row, text_row, text_rows
from claude_session_player.export.part_rows import PartLook, part_rows
from claude_session_player.export.registry import TranscriptWriter
from claude_session_player.export.terminal import encode_segments, fold_lines
from claude_session_player.export.transcript import HEADINGS, call_outcome, call_reply, picture_label
from claude_session_player.format import lenient_json
from claude_session_player.format.content import (
    CallParts,
    Checklist,
    ChecklistItem,
    Code,
    Data,
    Diff,
    Part,
    Picture,
    Prose,
)
from claude_session_player.transcript import Entry, EntryKind, TranscriptCall
from claude_session_player.util.humanize import UNKNOWN_TIME, transcript_time
from claude_session_player.util.text import mark_controls, printable
from claude_session_player.util.times import zone_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.export.drawing import Row
    from claude_session_player.export.transcript import TranscriptStyle
    from claude_session_player.transcript import PlacedEntry, Subagent

WIDEST: Final = 100
"""Columns: longer lines are hard to read."""
_NARROWEST: Final = 20
_MOST_BARS: Final = 8
"""Sub-agents that are nested deeper are indented no further."""
_MAX_WORDS: Final = 300
_INDENT: Final = "  "
_RESULT_MARK: Final = "└ "
_COMMAND: Final = "$ "


class _Look(NamedTuple):
    """How the head of an entry looks: its mark, its style, and whether a rule follows it."""

    mark: str
    style: str
    has_rule: bool = False


_LOOKS: Final = {
    EntryKind.PROMPT: _Look("❯", "bold cyan", True),
    EntryKind.TASK: _Look("❯", "bold magenta"),
    EntryKind.MESSAGE: _Look("❯", "bold yellow"),
    EntryKind.RESPONSE: _Look("●", "bold"),
    EntryKind.THINKING: _Look("✱", "italic magenta"),
    EntryKind.CALL: _Look("●", "bold green"),
    EntryKind.RESULT: _Look("└", "bold green"),
    EntryKind.ERROR: _Look("✗", "bold red"),
    EntryKind.SUMMARY: _Look("≡", "bold yellow"),
    EntryKind.COMPACTION: _Look("≡", "bold yellow", True),
    EntryKind.FORK: _Look("↰", "yellow"),
    EntryKind.RETURN: _Look("↱", "yellow"),
    EntryKind.AGENT: _Look("◆", "bold magenta"),
    EntryKind.SECTION: _Look("§", "bold", True),
}
_DIM: Final = _Look("·", "dim")
_FAILED, _PENDING = "bold red", "bold yellow"


class _Block(NamedTuple):
    """An entry that is drawn, and what its neighbours need to know of it."""

    depth: int
    text: str
    bar: str
    """What stands before a line for each level of nesting."""

    @property
    def is_line(self) -> bool:
        """True for an entry of one row: such rows stand together."""
        return self.text.count("\n") == 0


def draw_entries(entries: Iterable[PlacedEntry], style: TranscriptStyle) -> Iterator[_Block]:
    """Each entry as a block of rows; an entry is drawn when its block is asked for."""
    pen, day = _Pen(style), ""
    for placed in entries:
        if placed.entry.full_only and not style.is_full:
            continue
        rows, day = _EntryDrawing(pen, placed, day).rows(), _day(placed.entry, day)
        if rows:
            bar = pen.write(Text("│", "magenta dim")) + " "
            indent = bar * min(placed.depth, _MOST_BARS)
            yield _Block(placed.depth, "\n".join([indent + row for row in rows]), bar)


def join_drawn(blocks: Iterable[_Block]) -> Iterator[str]:
    """The text of blocks, with an empty row between those that have several rows."""
    last: _Block | None = None
    for block in blocks:
        if last is not None and not (last.is_line and block.is_line and last.depth == block.depth):
            yield f"{(block.bar * min(last.depth, block.depth, _MOST_BARS)).rstrip()}\n"
        yield f"{block.text}\n"
        last = block


def join_first_drawn(blocks: Iterable[_Block]) -> Iterator[str]:
    """The same with the time zone above the first entry; empty without entries."""
    pieces = join_drawn(blocks)
    for first in pieces:
        yield f"All times are in {zone_name()}.\n\n{first}"
        break
    yield from pieces


def draw_markdown(text: str, style: TranscriptStyle) -> str:
    """Markdown beside the entries: a summary before them, or a section after them."""
    return "\n".join(_Pen(style).markdown(text, "", min(style.columns, WIDEST))) + "\n\n"


DRAWN: Final = TranscriptWriter(
    draw_entries, join_drawn, join_first_drawn, is_document=True, from_markdown=draw_markdown
)


def _day(entry: Entry, day: str) -> str:
    """The day of an entry, or the last one that is known."""
    time = transcript_time(entry.timestamp)
    return day if time == UNKNOWN_TIME else time[:10]


# --- rows ---------------------------------------------------------------------------------------------


class _Pen:
    """Turns texts into rows with escape sequences for colours, and nothing else that a terminal would obey."""

    def __init__(self, style: TranscriptStyle) -> None:
        self.style = style

    def encode(self, row: Row) -> str:
        """A drawn row, without spaces at its end."""
        row = strip_row(row)
        return encode_segments(row) if self.style.has_colours else mark_controls(row_text(row)).replace("\n", " ")

    def write(self, text: Text) -> str:
        """A text of one row."""
        return self.encode(text_row(text))

    def rows(self, rows: Iterable[Row], indent: str = "") -> list[str]:
        """Drawn rows behind an indent."""
        return [f"{indent}{text}" if (text := self.encode(row)) else "" for row in rows]

    def markdown(self, text: str, indent: str, width: int) -> list[str]:
        """Rows of rendered markdown."""
        return self.rows(markdown_rows(tidy_text(text).strip("\n"), width - len(indent)), indent)

    def plain(self, text: str, style: str, indent: str, width: int) -> list[str]:
        """Rows of a text as it is, in one style."""
        return [
            f"{indent}{row}".rstrip()
            for row in self.rows(text_rows(Text(mark_controls(text), style), width - len(indent)))
        ]


# --- entries ------------------------------------------------------------------------------------------


class _EntryDrawing:
    """One entry as rows."""

    def __init__(self, pen: _Pen, placed: PlacedEntry, day: str) -> None:
        self._pen = pen
        self._placed = placed
        self._entry = placed.entry
        self._day = day
        """The day of the entry before: it is not repeated."""
        self._width = max(min(pen.style.columns, WIDEST) - 2 * min(placed.depth, _MOST_BARS), _NARROWEST)

    def rows(self) -> list[str]:
        """All rows; none for an entry that this style does not show."""
        return _DRAWINGS.get(self._entry.kind, _EntryDrawing._verbatim)(self)

    # --- the head

    def _head(self, *words: Text | str, look: _Look | None = None, name: str | None = None) -> list[str]:
        """The first rows of an entry: its mark, who it is, what it is about, and the time at the right."""
        entry = self._entry
        look = look or _LOOKS.get(entry.kind, _DIM)
        left = Text(f"{look.mark} {printable(single_line(name or HEADINGS[entry.kind]))}", look.style)
        for word in words:
            if not word:
                continue
            left = Text.assemble(left, " ", word if isinstance(word, Text) else Text(printable(word)))
        right = self._when()
        room = self._width - len(right) - 2
        first, *more = self._folded(left, room)
        gap = self._width - first.cell_len - len(right) - 2
        filler = Text(f" {('─' if look.has_rule else ' ') * gap} ", f"{look.style.replace('bold', '')} dim")
        rows = [Text.assemble(first, filler, Text(right, "dim")), *(Text.assemble("  ", row) for row in more)]
        return [self._pen.write(row) for row in rows]

    def _folded(self, text: Text, room: int) -> list[Text]:
        rows = list(fold_lines(text.plain, max(room, _NARROWEST)))
        return [text[row.start : row.end] for row in rows]

    def _when(self) -> str:
        """The line of the entry, if that is wanted, and its time, with the day if that is new."""
        entry = self._entry
        line = f"line {entry.line}" if self._pen.style.with_lines and entry.line else ""
        time = transcript_time(entry.body.started if entry.kind is EntryKind.AGENT else entry.timestamp)
        if time == UNKNOWN_TIME:
            return line
        return "  ".join(filter(None, (line, time[11:] if time[:10] == self._day else time)))

    # --- kinds of entries

    def _prompt(self) -> list[str]:
        bar = self._pen.write(Text("▌", "cyan")) + " "
        text = tidy_text(self._entry.text)
        rows = self._pen.plain(text, "", "", self._width - 2) if text else []
        return [*self._head(), *(bar + row for row in rows), *self._pictures()]

    def _task(self) -> list[str]:
        return [*self._head(name="Task"), *self._pen.markdown(self._entry.text, _INDENT, self._width)]

    def _markdown(self) -> list[str]:
        return [*self._head(), *self._pen.markdown(self._entry.text, _INDENT, self._width), *self._pictures()]

    def _thinking(self) -> list[str]:
        text = tidy_text(self._entry.text).strip("\n")
        return [*self._head(), *self._pen.plain(text, "italic dim", _INDENT, self._width)]

    def _verbatim(self) -> list[str]:
        text = shorten_text(tidy_text(self._entry.text), self._pen.style.code_lines)
        style = "red" if self._entry.kind is EntryKind.ERROR else "dim"
        return [*self._head(), *self._pen.plain(text, style, _INDENT, self._width), *self._pictures()]

    def _note(self) -> list[str]:
        entry = self._entry
        if entry.body is None:
            return self._verbatim()
        about = f"{entry.text} {entry.body}" if entry.kind is EntryKind.RECORD else entry.text
        words = single_line(about, None if self._pen.style.is_full else _MAX_WORDS)
        place = f" (line {entry.line})" if entry.kind is EntryKind.RECORD and not self._pen.style.with_lines else ""
        return self._head(Text(printable(words) + place, "dim"))

    def _fork(self) -> list[str]:
        return self._head(f"goes back to line {self._entry.body.line} and continues from there")

    def _return(self) -> list[str]:
        return self._head(f"continues from line {self._entry.body.line}, where it was before the fork")

    def _compaction(self) -> list[str]:
        return self._head(single_line(self._entry.text, _MAX_WORDS))

    def _section(self) -> list[str]:
        return self._head(name=self._entry.text)

    def _agent(self) -> list[str]:
        subagent: Subagent = self._entry.body
        about = " · ".join(single_line(word) for word in (subagent.workflow, subagent.kind, subagent.title) if word)
        return self._head(single_line(subagent.id), Text(printable(about[:_MAX_WORDS]), "magenta"))

    def _block(self) -> list[str]:
        entry = self._entry
        data = self._part(Data(entry.body), "") if entry.body is not None else []
        return [*self._head(name=f"{HEADINGS[entry.kind]}: {entry.text}"), *(_INDENT + row for row in data)]

    def _pictures(self) -> list[str]:
        return [row for picture in self._entry.pictures for row in self._part(picture, "")]

    # --- tool calls

    def _call(self) -> list[str]:
        call, style = self._entry, self._pen.style
        assert isinstance(call, TranscriptCall)
        if self._placed.is_end:
            shows = style.is_full or call.is_error or len(call.subagents) > 1
            return self._result() if shows else []
        follows = self._placed.subagents_follow
        reply = None if follows else call_reply(call, style)
        parts = call.to_parts(reply)
        look = "bold green" if reply is not None else _PENDING
        rows = self._call_head(call, parts, call_outcome(call, parts, reply), look)
        if not (follows and len(call.subagents) == 1):
            for part in parts.given:
                rows += [(_INDENT + row).rstrip() for row in self._part(part, parts.name, is_input=True)]
        return rows + self._returned(call, parts) if reply is not None else rows

    def _result(self) -> list[str]:
        """A result that does not follow its call."""
        call = self._entry
        assert isinstance(call, TranscriptCall)
        reply = call_reply(call, self._pen.style)
        parts = call.to_parts(reply)
        result = call.result
        entry = Entry(EntryKind.RESULT, result.line, result.timestamp) if result else Entry(EntryKind.RESULT)
        of = f" of line {call.body}" if isinstance(call.body, int) else ""
        outcome = call_outcome(call, parts, reply)
        drawing = _EntryDrawing(self._pen, self._placed, self._day)
        drawing._entry = entry
        look = _Look("└", _FAILED if call.is_error else _LOOKS[EntryKind.RESULT].style)
        head = drawing._head(f"{of}{outcome}".strip(), look=look, name=f"{HEADINGS[entry.kind]}: {call.name}")
        return [*head, *self._returned(call, parts)]

    def _call_head(self, call: TranscriptCall, parts: CallParts, outcome: str, style: str) -> list[str]:
        look = _Look("●", _FAILED if call.is_error else style)
        name = Text(printable(single_line(parts.name, _MAX_WORDS)), "cyan")
        words = Text(printable(single_line(parts.words, _MAX_WORDS)))
        end = Text(outcome.strip(), "red" if call.is_error else "dim")
        return self._head(name, words, end, look=look, name=call.name or HEADINGS[call.kind])

    def _returned(self, call: TranscriptCall, parts: CallParts) -> list[str]:
        """The rows of a result; the first has a mark."""
        rows: list[str] = []
        for part in (*parts.returned, *call.pictures):
            rows += self._part(part, parts.name, style="red" if call.is_error else "")
        mark = self._pen.write(Text(_RESULT_MARK, "red" if call.is_error else "dim"))
        marks = [f"{_INDENT}{mark} ", *[" " * len(_INDENT + _RESULT_MARK)] * len(rows)]
        return [(first + row).rstrip() for first, row in zip(marks, rows, strict=False)]

    def _part(self, part: Part, name: str, style: str = "", is_input: bool = False) -> list[str]:
        """One part of a call; `name` is the file that it is about."""
        pen, width = self._pen, self._width - len(_INDENT + _RESULT_MARK)
        limit = pen.style.code_lines
        look = PartLook(width, name, is_whole=True)
        match part:
            case Prose():
                return pen.markdown(part.text, "", width)
            case Code():
                return self._code(part, look, style, is_input)
            case Diff():
                text = tidy_text(shorten_text(part.text, pen.style.diff_lines))
                return pen.rows(part_rows(Diff(text, part.start), look)) if text else []
            case Checklist():
                items = (ChecklistItem(single_line(item.text), item.done) for item in part.items)
                return pen.rows(part_rows(Checklist(tuple(items)), look))
            case Data():
                text = shorten_text(lenient_json.pretty(part.value), limit)
                return pen.rows(part_rows(Code(text, "json"), look))
            case Picture():
                return pen.plain(picture_label(part, pen.style), "dim", "", width)

    def _code(self, part: Code, look: PartLook, style: str, is_input: bool) -> list[str]:
        full = self._pen.style.is_full
        if not part.text or (part.lines == 0 and not full):
            return []
        limit = self._pen.style.code_lines if full or part.lines is None else part.lines
        text = tidy_text(shorten_text(part.text, limit))
        if style:
            return self._pen.plain(text, style, "", look.width)
        if not (is_input and part.is_command):
            return self._pen.rows(part_rows(Code(text, part.language), look))
        rows = self._pen.rows(part_rows(Code(text, part.language), look._replace(width=look.width - len(_COMMAND))))
        return [(" " * len(_COMMAND) if number else _COMMAND) + row for number, row in enumerate(rows)]


_DRAWINGS: Final[dict[EntryKind, Callable[[_EntryDrawing], list[str]]]] = {
    EntryKind.PROMPT: _EntryDrawing._prompt,
    EntryKind.TASK: _EntryDrawing._task,
    EntryKind.MESSAGE: _EntryDrawing._verbatim,
    EntryKind.RESPONSE: _EntryDrawing._markdown,
    EntryKind.SUMMARY: _EntryDrawing._markdown,
    EntryKind.THINKING: _EntryDrawing._thinking,
    EntryKind.CALL: _EntryDrawing._call,
    EntryKind.RESULT: _EntryDrawing._result,
    EntryKind.BLOCK: _EntryDrawing._block,
    EntryKind.NOTE: _EntryDrawing._note,
    EntryKind.RECORD: _EntryDrawing._note,
    EntryKind.COMPACTION: _EntryDrawing._compaction,
    EntryKind.FORK: _EntryDrawing._fork,
    EntryKind.RETURN: _EntryDrawing._return,
    EntryKind.SECTION: _EntryDrawing._section,
    EntryKind.AGENT: _EntryDrawing._agent,
}
