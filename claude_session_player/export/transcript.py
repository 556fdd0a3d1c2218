"""Transcripts as markdown: a block for each entry, with sub-agents in nested block quotes."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from msgspec.structs import replace

from claude_session_player.errors import CannotWrite
from claude_session_player.export.commonmark import (
    block_quote,
    code_block,
    inline_code,
    inline_text,
    put_below,
    safe_markdown,
    shorten_text,
    single_line,
    task_list,
    tidy_text,
)
from claude_session_player.export.registry import TranscriptWriter
from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import raw_as_text
from claude_session_player.format.content import CallParts, Checklist, Code, Data, Diff, Picture, Prose, image_type
from claude_session_player.line_audit import LineAudit, LineStatus
from claude_session_player.transcript import Entry, EntryKind, TranscriptCall
from claude_session_player.util.humanize import size, transcript_time
from claude_session_player.util.text import truncate
from claude_session_player.util.times import zone_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.tools.parts import ToolReply
    from claude_session_player.transcript import PlacedEntry, Subagent

_PDF: Final = b"%PDF-"
_PDF_SUFFIX: Final = ".pdf"
_UNKNOWN_SUFFIX: Final = ".bin"


class AssetDir:
    """A directory for pictures. They are named by their content, so that each is written once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def save(self, picture: Picture) -> str | None:
        """Write a picture and return its path; `None` if it has no data. Raises `CannotWrite`."""
        try:
            data = base64.b64decode(raw_as_text(picture.data), validate=True)
        except (binascii.Error, ValueError):
            return None
        if not data:
            return None
        name = hashlib.sha256(data).hexdigest()[:16] + _suffix(data)
        path = os.path.join(self._folder, name)
        try:
            os.makedirs(self._folder, exist_ok=True)
            with contextlib.suppress(FileExistsError), open(path, "xb") as file:
                file.write(data)
        except OSError as error:
            raise CannotWrite(f"{path}: {error.strerror or error}") from error
        return path.replace(os.sep, "/")


def is_image(path: str) -> bool:
    """True for a file that a page can show as an image."""
    return not path.endswith((_PDF_SUFFIX, _UNKNOWN_SUFFIX))


def _suffix(data: bytes) -> str:
    """The suffix of a file by its content: one given by the session could make a program run it."""
    if type := image_type(data):
        return type.suffix
    return _PDF_SUFFIX if data.startswith(_PDF) else _UNKNOWN_SUFFIX


_BATCH: Final = 100
_MAX_NAME: Final = 100
_MAX_WORDS: Final = 300
_WEB_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_UNSAFE_IN_URL: Final = re.compile(r"[<>\\\x00-\x1f\x7f-\x9f]")
_REJECTION: Final = "The user doesn't want to proceed with this tool use"


def _save_nothing(picture: Picture) -> str | None:
    return None


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True)
class TranscriptStyle:
    """How much a transcript shows, and how."""

    code_lines: int | None = 20
    """The most lines of a command, an output or data."""
    diff_lines: int | None = 40
    is_full: bool = False
    """Include text injected by Claude Code, and results that only report success."""
    with_lines: bool = False
    """Include the line number of each entry."""
    save: Callable[[Picture], str | None] = _save_nothing
    """Saves a picture and returns its address."""
    resolve: Callable[[str], str] = _unchanged
    """Returns the whole of an output that a result truncates."""
    columns: int = 80
    """The width of a transcript that is drawn."""
    has_colours: bool = False
    """True if it may have the colours of a terminal."""

    @classmethod
    def full(cls, **more: Any) -> TranscriptStyle:
        """The style that omits nothing."""
        return cls(None, None, True, **more)


HEADINGS: Final = {
    EntryKind.PROMPT: "User",
    EntryKind.TASK: "User",
    EntryKind.MESSAGE: "Message",
    EntryKind.OUTPUT: "Output",
    EntryKind.INJECTED: "Injected",
    EntryKind.RESPONSE: "Assistant",
    EntryKind.THINKING: "Thinking",
    EntryKind.CALL: "Tool",
    EntryKind.RESULT: "Result",
    EntryKind.BLOCK: "Block",
    EntryKind.ERROR: "Error",
    EntryKind.SUMMARY: "Summary",
    EntryKind.COMPACTION: "Compaction",
    EntryKind.FORK: "Fork",
    EntryKind.RETURN: "Return",
    EntryKind.NOTE: "Note",
    EntryKind.RECORD: "Note",
    EntryKind.AGENT: "Sub-agent",
}


_BY_MODEL: Final = frozenset((EntryKind.RESPONSE, EntryKind.THINKING, EntryKind.SUMMARY, EntryKind.TASK))
"""Kinds of entries that the model wrote in markdown."""


def entry_blocks(entries: Iterable[PlacedEntry], style: TranscriptStyle) -> Iterator[tuple[int, str]]:
    """The depth of block quotes and the text of each entry that has a text in this style."""
    rest, writers, is_full = iter(entries), _WRITERS, style.is_full
    while batch := list(islice(rest, _BATCH)):  # faster than building and writing entries in turn
        texts = [
            (placed.depth, writers[placed.entry.kind](placed, style))
            for placed in batch
            if is_full or not placed.entry.full_only
        ]
        yield from [block for block in texts if block[1]]


def transcript_document(blocks: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Like `join_blocks`, with the time zone above the first entry; empty without entries."""
    pieces = join_blocks(blocks)
    for first in pieces:
        yield f"All times are in {zone_name()}.\n\n{first}"
        break
    yield from pieces


def join_blocks(blocks: Iterable[tuple[int, str]]) -> Iterator[str]:
    """The pieces of one document, which ends with a line break."""
    last_depth, gap = 0, ""
    for depth, text in blocks:
        if depth or last_depth:
            gap = gap and "> " * min(last_depth, depth) + "\n"
            text, last_depth = block_quote(text, depth), depth
        yield f"{gap}{text}\n"
        gap = "\n"


OMITTED: Final = "Omitted lines"
"""The title of the section that counts lines that are not in the transcript."""

MARKDOWN: Final = TranscriptWriter(entry_blocks, join_blocks, transcript_document, is_document=True)


def omitted_lines_section(audit: LineAudit) -> str:
    """Why lines are missing in a full transcript, and how many; records of unknown types are never missing."""
    omitted = (LineStatus.HIDDEN, LineStatus.MALFORMED)
    counts = {rule or status.name.lower(): count for status in omitted for rule, count in audit.by_rule(status).items()}
    if not counts:
        return ""
    items = "\n".join(f"- {inline_text(rule)}: {count:,}" for rule, count in counts.items())
    return f"\n## {OMITTED}\n\n{items}\n"


def _head(entry: Entry, style: TranscriptStyle, about: str = "") -> str:
    """The first line of an entry: who and when."""
    head = f"**{_heading(entry.kind, about)}** ({transcript_time(entry.timestamp)})"
    return f"{head} · line {entry.line}" if style.with_lines and entry.line else head


@lru_cache(1000)
def _heading(kind: EntryKind, about: str) -> str:
    name = inline_text(single_line(about, _MAX_NAME).strip())  # a trailing space would undo the emphasis
    return f"{HEADINGS[kind]}: {name}" if name else HEADINGS[kind]


def _text(placed: PlacedEntry, style: TranscriptStyle) -> str:
    entry = placed.entry
    text = safe_markdown(tidy_text(entry.text), by_model=entry.kind in _BY_MODEL)
    if entry.pictures:
        text = "\n\n".join(filter(None, (text, *(_picture(picture, style) for picture in entry.pictures))))
    return put_below(_head(entry, style), text)


def _verbatim(placed: PlacedEntry, style: TranscriptStyle) -> str:
    """An entry that is not markdown, as a code block."""
    text = code_block(shorten_text(tidy_text(placed.entry.text), style.code_lines))
    return f"{_head(placed.entry, style)}\n\n{text}"


def _block(placed: PlacedEntry, style: TranscriptStyle) -> str:
    entry = placed.entry
    data = f"\n\n{_data(entry.body, style)}" if entry.body is not None else ""
    return _head(entry, style, entry.text) + data


def _note(placed: PlacedEntry, style: TranscriptStyle) -> str:
    """A note: about a record on one line, or with all of its text."""
    entry = placed.entry
    if entry.body is None:
        return _text(placed, style)
    return f"{_inline_head(entry, style)} {inline_text(entry.text, None if style.is_full else _MAX_WORDS)}"


def _record(placed: PlacedEntry, style: TranscriptStyle) -> str:
    """The type of a record that is not shown, and its line."""
    entry = placed.entry
    place = "" if style.with_lines else f" (line {entry.line})"
    return f"{_inline_head(entry, style)} {entry.text} {inline_code(truncate(entry.body, _MAX_NAME))}{place}"


def _inline_head(entry: Entry, style: TranscriptStyle) -> str:
    """The head of an entry whose text is on the same line."""
    return f"{_head(entry, style)} ·" if style.with_lines else _head(entry, style)


def _compaction(placed: PlacedEntry, style: TranscriptStyle) -> str:
    entry = placed.entry
    about = f" {inline_text(entry.text, _MAX_WORDS)}" if entry.text else ""
    return f"{_head(entry, style)}{about}"


def _fork(placed: PlacedEntry, style: TranscriptStyle) -> str:
    return f"{_head(placed.entry, style)} goes back to line {placed.entry.body.line} and continues from there"


def _return(placed: PlacedEntry, style: TranscriptStyle) -> str:
    return f"{_head(placed.entry, style)} continues from line {placed.entry.body.line}, where it was before the fork"


def _section(placed: PlacedEntry, style: TranscriptStyle) -> str:
    return f"## {inline_text(placed.entry.text)}"


def _agent(placed: PlacedEntry, style: TranscriptStyle) -> str:
    subagent: Subagent = placed.entry.body
    about = " · ".join(single_line(word) for word in (subagent.workflow, subagent.kind, subagent.title) if word)
    head = f"**{_heading(EntryKind.AGENT, subagent.id)}** ({transcript_time(subagent.started)})"
    return f"{head} {inline_text(about, _MAX_WORDS)}" if about else head


# --- tools ------------------------------------------------------------------------------------------


def _call(placed: PlacedEntry, style: TranscriptStyle) -> str:
    call = placed.entry
    assert isinstance(call, TranscriptCall)
    if placed.is_end:
        return _result_after_subagents(call, style)
    reply = None if placed.subagents_follow else call_reply(call, style)  # else the result follows the sub-agents
    parts = call.to_parts(reply)
    texts = [_call_head(call, parts, reply, style)]
    if not (placed.subagents_follow and len(call.subagents) == 1):
        texts += [_PARTS[type(part)](part, style) for part in parts.given]
    if reply is not None and (parts.returned or call.pictures):
        texts += _result_blocks(call, parts, style)
    return "\n\n".join(filter(None, texts))


def _result_after_subagents(call: TranscriptCall, style: TranscriptStyle) -> str:
    """The result after sub-agents; one sub-agent has shown it already, unless it is an error."""
    if not (style.is_full or call.is_error or len(call.subagents) > 1):
        return ""
    return _separate_result(call, style)


def _result(placed: PlacedEntry, style: TranscriptStyle) -> str:
    """A result that does not follow its call."""
    call = placed.entry
    assert isinstance(call, TranscriptCall)
    return _separate_result(call, style)


def _separate_result(call: TranscriptCall, style: TranscriptStyle) -> str:
    reply = call_reply(call, style)
    parts = call.to_parts(reply)
    if parts.returned and type(parts.returned[0]) is Prose:
        return "\n\n".join(filter(None, _result_blocks(call, parts, style)))
    of = f" of line {call.body}" if isinstance(call.body, int) else ""
    head = f"{_head(_result_entry(call), style, call.name)}{of}{call_outcome(call, parts, reply)}"
    return "\n\n".join(filter(None, (head, *_result_blocks(call, parts, style))))


def _call_head(call: TranscriptCall, parts: CallParts, reply: ToolReply | None, style: TranscriptStyle) -> str:
    about = f" {inline_text(parts.words, _MAX_WORDS)}" if parts.words else ""
    name = f" {inline_code(parts.name)}" if parts.name else ""
    gap = " ·" if style.with_lines and about and not name else ""
    return f"{_head(call, style, call.name)}{name}{gap}{about}{call_outcome(call, parts, reply)}"


def call_outcome(call: TranscriptCall, parts: CallParts, reply: ToolReply | None) -> str:
    """The result of a call in a few words, after an arrow; empty if there are none."""
    if call.is_error:
        reply = reply or call.reply()
        return " → rejected" if reply is not None and reply.text.startswith(_REJECTION) else " → failed"
    return f" → {parts.outcome}" if parts.outcome and (parts.returned or not call.pictures) else ""


def call_reply(call: TranscriptCall, style: TranscriptStyle) -> ToolReply | None:
    """The result of a call as text; in full also what was stored elsewhere."""
    reply = call.reply()
    return replace(reply, text=style.resolve(tidy_text(reply.text))) if style.is_full and reply is not None else reply


def _result_blocks(call: TranscriptCall, parts: CallParts, style: TranscriptStyle) -> list[str]:
    returned = parts.returned
    texts = [_PARTS[type(part)](part, style) for part in returned]
    if texts and type(returned[0]) is Prose:  # the input is prose, too: a heading separates them
        texts[0] = put_below(_head(_result_entry(call), style, call.name), texts[0])
    if call.pictures:
        texts += [_picture(picture, style) for picture in call.pictures]
    return texts


def _result_entry(call: TranscriptCall) -> Entry:
    result = call.result
    return Entry(EntryKind.RESULT, result.line, result.timestamp) if result else Entry(EntryKind.RESULT)


def _code(part: Code, style: TranscriptStyle) -> str:
    if part.lines == 0 and not style.is_full:
        return ""
    lines = style.code_lines if style.is_full or part.lines is None else part.lines
    return code_block(tidy_text(shorten_text(part.text, lines)), part.language) if part.text else ""


def _data(value: Any, style: TranscriptStyle) -> str:
    return code_block(shorten_text(lenient_json.pretty(value), style.code_lines), "json")


def _diff(part: Diff, style: TranscriptStyle) -> str:
    return code_block(tidy_text(shorten_text(part.text, style.diff_lines)), "diff") if part.text else ""


def _picture(picture: Picture, style: TranscriptStyle) -> str:
    """A saved picture as an image, one on the web as a link, any other as its size.

    Pictures on the web are not shown: loading them would reveal that the transcript is being read.
    """
    kind = inline_text(picture.kind)
    if _WEB_URL.match(picture.url):
        return f"[{kind}](<{_address(picture.url)}>)"
    if address := style.save(picture):
        return f"{'!' if is_image(address) else ''}[{kind}](<{_address(address)}>)"
    count = max(len(picture.data) - 2, 0) * 3 // 4
    return f"[{kind} {size(count)}]" if count else f"[{kind}]"


def picture_label(picture: Picture, style: TranscriptStyle) -> str:
    """What stands for a picture in plain text: its address, or where it was saved, or its size."""
    count = max(len(picture.data) - 2, 0) * 3 // 4
    about = picture.url or style.save(picture) or (size(count) if count else "")
    return f"[{picture.kind} {about}]" if about else f"[{picture.kind}]"


def _address(text: str) -> str:
    return _UNSAFE_IN_URL.sub(lambda found: quote(found[0]), single_line(text))


_PARTS: Final[dict[type, Callable[[Any, TranscriptStyle], str]]] = {
    Prose: lambda part, style: safe_markdown(tidy_text(part.text), by_model=True),
    Code: _code,
    Diff: _diff,
    Checklist: lambda part, style: task_list(part.items),
    Data: lambda part, style: _data(part.value, style),
    Picture: _picture,
}

_WRITERS: Final[dict[EntryKind, Callable[[PlacedEntry, TranscriptStyle], str]]] = {
    **dict.fromkeys(EntryKind, _text),
    EntryKind.CALL: _call,
    EntryKind.RESULT: _result,
    EntryKind.OUTPUT: _verbatim,
    EntryKind.INJECTED: _verbatim,
    EntryKind.ERROR: _verbatim,
    EntryKind.BLOCK: _block,
    EntryKind.NOTE: _note,
    EntryKind.RECORD: _record,
    EntryKind.COMPACTION: _compaction,
    EntryKind.FORK: _fork,
    EntryKind.RETURN: _return,
    EntryKind.SECTION: _section,
    EntryKind.AGENT: _agent,
}
