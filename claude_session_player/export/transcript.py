"""A conversation as markdown: an entry a block, sub-agents one block quote deeper each."""

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
    check_list,
    code_block,
    inline_code,
    inline_text,
    put_below,
    safe_markdown,
    shorten_text,
    single_line,
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
    """A directory for pictures. The name of a picture is made of its content, so that it is written once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def save(self, picture: Picture) -> str | None:
        """Write a picture, and give its path; `None` where it has no data. Raises `CannotWrite`."""
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
    """True for a file that a page can show as a picture."""
    return not path.endswith((_PDF_SUFFIX, _UNKNOWN_SUFFIX))


def _suffix(data: bytes) -> str:
    """How the name of a file ends, by what is in it: what a session calls it may make a program run it."""
    if type := image_type(data):
        return type.suffix
    return _PDF_SUFFIX if data.startswith(_PDF) else _UNKNOWN_SUFFIX


_AT_ONCE: Final = 100
_NAME: Final = 100
_WORDS: Final = 300
_WEB: Final = re.compile(r"https?://", re.IGNORECASE)
_UNSAFE: Final = re.compile(r"[<>\\\x00-\x1f\x7f-\x9f]")
_REJECTED: Final = "The user doesn't want to proceed with this tool use"


def _no_file(picture: Picture) -> str | None:
    return None


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True)
class TranscriptStyle:
    """How much is told, and how."""

    code_lines: int | None = 20
    """Lines of a command, an output, or data."""
    diff_lines: int | None = 40
    is_full: bool = False
    """Tell also what the harness put in, and results that say no more than that all went well."""
    with_lines: bool = False
    """Say on which line of the file each entry stands."""
    save: Callable[[Picture], str | None] = _no_file
    """Keeps a picture, and gives the address under which it is found."""
    resolve: Callable[[str], str] = _as_it_is
    """Gives the whole of an output of which a result holds only the beginning."""

    @classmethod
    def full(cls, **more: Any) -> TranscriptStyle:
        """The style that leaves nothing out."""
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
    EntryKind.AGENT: "Agent",
}


_BY_MODEL: Final = frozenset((EntryKind.RESPONSE, EntryKind.THINKING, EntryKind.SUMMARY, EntryKind.TASK))
"""Kinds of entries that are written in markdown, by the model."""


def entry_blocks(told: Iterable[PlacedEntry], style: TranscriptStyle) -> Iterator[tuple[int, str]]:
    """The text of each entry that has anything to say in this style, and how many block quotes it stands in."""
    waiting, writers, is_full = iter(told), _WRITERS, style.is_full
    while some := list(islice(waiting, _AT_ONCE)):  # to tell and to write by turns takes longer
        texts = [(one.depth, writers[one.entry.kind](one, style)) for one in some if is_full or not one.entry.full_only]
        yield from [block for block in texts if block[1]]


def transcript_document(blocks: Iterable[tuple[int, str]]) -> Iterator[str]:
    """The same as `join_blocks`, with the zone of its times above it; nothing where there are no entries."""
    pieces = join_blocks(blocks)
    for first in pieces:
        yield f"All times are in {zone_name()}.\n\n{first}"
        break
    yield from pieces


def join_blocks(blocks: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Pieces that together are one document; it ends in a line break."""
    before, gap = 0, ""
    for depth, text in blocks:
        if depth or before:
            gap = gap and "> " * min(before, depth) + "\n"
            text, before = block_quote(text, depth), depth
        yield f"{gap}{text}\n"
        gap = "\n"


MARKDOWN: Final = TranscriptWriter(entry_blocks, join_blocks, transcript_document, is_document=True)


def describe_unlisted(account: LineAudit) -> str:
    """What became of the lines that are not in a full telling; records of unknown types are in it."""
    fates = (LineStatus.HIDDEN, LineStatus.MALFORMED)
    counts = {rule or fate.name.lower(): count for fate in fates for rule, count in account.by_rule(fate).items()}
    if not counts:
        return ""
    items = "\n".join(f"- {inline_text(rule)}: {count:,}" for rule, count in counts.items())
    return f"\n## Lines that are not told\n\n{items}\n"


def _head(entry: Entry, style: TranscriptStyle, about: str = "") -> str:
    """Who, and when."""
    head = f"**{_heading(entry.kind, about)}** ({transcript_time(entry.timestamp)})"
    return f"{head} · line {entry.line}" if style.with_lines and entry.line else head


@lru_cache(1000)
def _heading(kind: EntryKind, about: str) -> str:
    name = inline_text(single_line(about, _NAME).strip())  # white space before a mark of emphasis would undo it
    return f"{HEADINGS[kind]}: {name}" if name else HEADINGS[kind]


def _words(told: PlacedEntry, style: TranscriptStyle) -> str:
    entry = told.entry
    text = safe_markdown(tidy_text(entry.text), by_model=entry.kind in _BY_MODEL)
    if entry.pictures:
        text = "\n\n".join(filter(None, (text, *(_picture(picture, style) for picture in entry.pictures))))
    return put_below(_head(entry, style), text)


def _verbatim(told: PlacedEntry, style: TranscriptStyle) -> str:
    """What is no markdown."""
    text = code_block(shorten_text(tidy_text(told.entry.text), style.code_lines))
    return f"{_head(told.entry, style)}\n\n{text}"


def _block(told: PlacedEntry, style: TranscriptStyle) -> str:
    entry = told.entry
    data = f"\n\n{_data(entry.body, style)}" if entry.body is not None else ""
    return _head(entry, style, entry.text) + data


def _note(told: PlacedEntry, style: TranscriptStyle) -> str:
    """A remark: about a record that is told as one line, or in as many words as it has."""
    entry = told.entry
    if entry.body is None:
        return _words(told, style)
    return f"{_head_of_line(entry, style)} {inline_text(entry.text, None if style.is_full else _WORDS)}"


def _record(told: PlacedEntry, style: TranscriptStyle) -> str:
    """That a record is there, and where."""
    entry = told.entry
    place = "" if style.with_lines else f" (line {entry.line})"
    return f"{_head_of_line(entry, style)} {entry.text} {inline_code(truncate(entry.body, _NAME))}{place}"


def _head_of_line(entry: Entry, style: TranscriptStyle) -> str:
    """The head of what is told on the same line."""
    return f"{_head(entry, style)} ·" if style.with_lines else _head(entry, style)


def _compaction(told: PlacedEntry, style: TranscriptStyle) -> str:
    entry = told.entry
    about = f" {inline_text(entry.text, _WORDS)}" if entry.text else ""
    return f"{_head(entry, style)}{about}"


def _fork(told: PlacedEntry, style: TranscriptStyle) -> str:
    return f"{_head(told.entry, style)} back to line {told.entry.body.line}, and on from there"


def _return(told: PlacedEntry, style: TranscriptStyle) -> str:
    return f"{_head(told.entry, style)} on from line {told.entry.body.line}, where it was before the fork"


def _section(told: PlacedEntry, style: TranscriptStyle) -> str:
    return f"## {inline_text(told.entry.text)}"


def _agent(told: PlacedEntry, style: TranscriptStyle) -> str:
    actor: Subagent = told.entry.body
    about = " · ".join(single_line(word) for word in (actor.workflow, actor.kind, actor.title) if word)
    head = f"**{_heading(EntryKind.AGENT, actor.id)}** ({transcript_time(actor.started)})"
    return f"{head} {inline_text(about, _WORDS)}" if about else head


# --- tools ------------------------------------------------------------------------------------------


def _call(told: PlacedEntry, style: TranscriptStyle) -> str:
    call = told.entry
    assert isinstance(call, TranscriptCall)
    if told.is_end:
        return _ending(call, style)
    reply = None if told.subagents_follow else _reply(call, style)  # else it is told behind the sub-agents
    sketch = call.to_parts(reply)
    texts = [_call_head(call, sketch, reply, style)]
    if not (told.subagents_follow and len(call.subagents) == 1):
        texts += [_PARTS[type(part)](part, style) for part in sketch.given]
    if reply is not None and (sketch.returned or call.pictures):
        texts += _returned(call, sketch, style)
    return "\n\n".join(filter(None, texts))


def _ending(call: TranscriptCall, style: TranscriptStyle) -> str:
    """What came back behind sub-agents: they have told it themselves, unless it is an error."""
    if not (style.is_full or call.is_error or len(call.subagents) > 1):
        return ""
    return _late(call, style)


def _result(told: PlacedEntry, style: TranscriptStyle) -> str:
    """A result whose call is not near."""
    call = told.entry
    assert isinstance(call, TranscriptCall)
    return _late(call, style)


def _late(call: TranscriptCall, style: TranscriptStyle) -> str:
    reply = _reply(call, style)
    sketch = call.to_parts(reply)
    if sketch.returned and type(sketch.returned[0]) is Prose:
        return "\n\n".join(filter(None, _returned(call, sketch, style)))
    of = f" of line {call.body}" if isinstance(call.body, int) else ""
    head = f"{_head(_result_entry(call), style, call.name)}{of}{_outcome(call, sketch, reply)}"
    return "\n\n".join(filter(None, (head, *_returned(call, sketch, style))))


def _call_head(call: TranscriptCall, sketch: CallParts, reply: ToolReply | None, style: TranscriptStyle) -> str:
    about = f" {inline_text(sketch.words, _WORDS)}" if sketch.words else ""
    name = f" {inline_code(sketch.name)}" if sketch.name else ""
    gap = " ·" if style.with_lines and about and not name else ""
    return f"{_head(call, style, call.name)}{name}{gap}{about}{_outcome(call, sketch, reply)}"


def _outcome(call: TranscriptCall, sketch: CallParts, reply: ToolReply | None) -> str:
    if call.is_error:
        reply = reply or call.reply()
        return " → rejected" if reply is not None and reply.text.startswith(_REJECTED) else " → failed"
    return f" → {sketch.outcome}" if sketch.outcome and (sketch.returned or not call.pictures) else ""


def _reply(call: TranscriptCall, style: TranscriptStyle) -> ToolReply | None:
    reply = call.reply()
    return replace(reply, text=style.resolve(tidy_text(reply.text))) if style.is_full and reply is not None else reply


def _returned(call: TranscriptCall, sketch: CallParts, style: TranscriptStyle) -> list[str]:
    returned = sketch.returned
    texts = [_PARTS[type(part)](part, style) for part in returned]
    if texts and type(returned[0]) is Prose:  # what was given is prose, too
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
    """The picture where it is kept beside the text, a link where it has an address, else its size.

    A picture that is elsewhere is not shown: whoever reads the text would ask for it, and so tell of it.
    """
    kind = inline_text(picture.kind)
    if _WEB.match(picture.url):
        return f"[{kind}](<{_address(picture.url)}>)"
    if address := style.save(picture):
        return f"{'!' if is_image(address) else ''}[{kind}](<{_address(address)}>)"
    count = max(len(picture.data) - 2, 0) * 3 // 4
    return f"[{kind} {size(count)}]" if count else f"[{kind}]"


def _address(text: str) -> str:
    return _UNSAFE.sub(lambda found: quote(found[0]), single_line(text))


_PARTS: Final[dict[type, Callable[[Any, TranscriptStyle], str]]] = {
    Prose: lambda part, style: safe_markdown(tidy_text(part.text), by_model=True),
    Code: _code,
    Diff: _diff,
    Checklist: lambda part, style: check_list(part.items),
    Data: lambda part, style: _data(part.value, style),
    Picture: _picture,
}

_WRITERS: Final[dict[EntryKind, Callable[[PlacedEntry, TranscriptStyle], str]]] = {
    **dict.fromkeys(EntryKind, _words),
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
