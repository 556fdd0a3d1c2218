"""What can be searched in a session: the texts of each event, by the field that a query can name.

Both lanes use these texts: the index joins those of one event and field to a document, and an exact scan looks at each
of them as the file holds it. Not among them are pictures and other data in base64, signatures and ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

from claude_session_player.format.blocks import (
    DECODE_ERRORS,
    AnyBlock,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from claude_session_player.format.content import raw_text
from claude_session_player.format.events import (
    QUEUED,
    Assistant,
    Attachment,
    Event,
    PullRequest,
    System,
    Title,
    UnknownRecord,
    User,
)
from claude_session_player.format.prompts import classify_prompt
from claude_session_player.format.results import decode_result, decode_text
from claude_session_player.format.strings import attached_strings, raw_strings, readable_strings, record_strings
from claude_session_player.linking.prompts import is_from_person, is_injected
from claude_session_player.search.fields import FILE, PROMPT, RESPONSE, RESULT, SUMMARY, THINKING, TITLE, TOOL
from claude_session_player.tools import touched_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from msgspec import Raw

_SHELL_INPUT: Final = "<bash-input>"
_SUMMARY_TYPE: Final = "summary"
_SAMPLE: Final = 64
_UNIQUE_LENGTH: Final = 16
"""Shorter ids of calls, such as `call_0` of other providers, are given again in other sessions."""


class EventText(NamedTuple):
    """The texts of one field of an event."""

    field: str
    parts: Sequence[str]
    """As the file holds them, each decoded. A match lies within one of them."""
    origin: str = ""
    """What the event shares with its copies in other files, and with no other event; empty if unknown."""
    call: str = ""
    """The id of a tool call, for the call and for its result."""
    tool: str = ""
    path: str = ""
    command: str = ""
    is_error: bool = False

    @property
    def text(self) -> str:
        """All parts, one below the other."""
        return self.parts[0] if len(self.parts) == 1 else "\n".join(self.parts)

    @property
    def copy_key(self) -> int:
        """A number that copies of this text share; 0 if it cannot have any."""
        if not self.origin:
            return 0
        sample = "".join([f"{len(part)} {part[:_SAMPLE]}{part[-_SAMPLE:]}" for part in self.parts])
        origin = crc32(f"{self.field} {self.origin}".encode(errors="replace"))
        return origin << 32 | crc32(sample.encode(errors="replace")) or 1


def event_texts(event: Event, line: bytes) -> list[EventText]:
    """What can be searched in an event; `line` is the line of the file that holds it.

    >>> [(text.field, text.parts) for text in event_texts(User(content="Start the engine"), b"")]
    [('prompt', ['Start the engine'])]
    """
    handler = _HANDLERS.get(type(event))
    if handler is not None:
        return handler(event, line)
    return _title_texts(event) if isinstance(event, Title) else []


def structured_texts(event: Event) -> list[EventText]:
    """What a tool recorded beside its output: the original of an edited file, a patch; only exact scans look at it."""
    if type(event) is not User or not event.tool_use_result:
        return []
    parts = raw_strings(event.tool_use_result)
    calls = [block.tool_use_id or "" for block in _blocks(event.message_content) if type(block) is ToolResult]
    return [EventText(RESULT, parts, call=calls[0] if calls else "")] if parts else []


# --- messages -----------------------------------------------------------------------------------


def _assistant_texts(event: Assistant, line: bytes) -> list[EventText]:
    message = event.message
    origin = (message.id if message is not None else None) or event.request_id or event.timestamp or event.uuid or ""
    found = []
    for block in _blocks(event.message_content):
        kind = type(block)
        if kind is Text:
            if block.text:  # type: ignore[union-attr]
                found.append(EventText(RESPONSE, [block.text], origin))  # type: ignore[union-attr]
        elif kind is ToolUse or kind is ServerToolUse:
            found.append(_call_text(block, origin))  # type: ignore[arg-type]
        elif kind is Thinking:
            if text := _decoded(block.thinking):  # type: ignore[union-attr]
                found.append(EventText(THINKING, [text], origin))
        elif kind is UnknownBlock and (parts := list(readable_strings(block.body))):  # type: ignore[union-attr]
            found.append(EventText(RESULT, parts, origin))
    if event.error and not found and (parts := raw_strings(event.error)):
        found.append(EventText(RESPONSE, parts, origin))
    return found


def _call_text(block: ToolUse, origin: str) -> EventText:
    given, name = block.input, block.name or ""
    parts = list(readable_strings(given)) or [name]
    path = command = ""
    if type(given) is dict:
        touched = touched_file(name, given)
        path = touched[1] if touched is not None else _first_string(given, _PATH_KEYS)
        command = _first_string(given, _COMMAND_KEYS)
    return EventText(TOOL, parts, _call_origin(block.id, origin), block.id or "", name, path, command)


def _call_origin(call: str | None, origin: str) -> str:
    """What a call or its result shares with its copies: the id of the call, unless it may be that of another call."""
    return call if call and len(call) >= _UNIQUE_LENGTH else f"{call or ''} {origin}" if origin else ""


_PATH_KEYS: Final = ("path", "file_path", "notebook_path")
_COMMAND_KEYS: Final = ("command",)


def _first_string(given: dict[str, Any], keys: Iterable[str]) -> str:
    return next((value for key in keys if type(value := given.get(key)) is str), "")


def _user_texts(event: User, line: bytes) -> list[EventText]:
    content = event.message_content
    origin = event.timestamp or event.uuid or ""
    if type(content) is str:
        field = _user_field(event, content) if content else ""
        return [EventText(field, [content], origin, command=_typed_command(content))] if content else []
    found = []
    for block in content or ():
        kind = type(block)
        if kind is ToolResult:
            text = _result_text(block, origin)  # type: ignore[arg-type]
            if text is not None:
                found.append(text)
        elif kind is Text:
            if block.text:  # type: ignore[union-attr]
                found.append(EventText(_user_field(event, block.text), [block.text], origin))  # type: ignore[union-attr]
        elif kind is UnknownBlock and (parts := list(readable_strings(block.body))):  # type: ignore[union-attr]
            found.append(EventText(FILE, parts, origin))
    return _joined(found) if len(found) > 1 else found


def _joined(found: list[EventText]) -> list[EventText]:
    """Texts of the same field as one, except results: each belongs to a call of its own."""
    merged: dict[str, EventText] = {}
    results = []
    for text in found:
        if text.field == RESULT and text.call:
            results.append(text)
        elif text.field in merged:
            merged[text.field] = merged[text.field]._replace(parts=[*merged[text.field].parts, *text.parts])
        else:
            merged[text.field] = text
    return [*merged.values(), *results]


def _result_text(block: ToolResult, origin: str) -> EventText | None:
    raw = block.content
    if not raw:
        return None
    try:
        content = decode_result(raw)
        parts = _part_texts(content) if type(content) is list else [content] if content else []
    except DECODE_ERRORS:
        parts = [text] if (text := raw_text(raw)) else []
    if not parts:
        return None
    call = block.tool_use_id or ""
    origin = _call_origin(call, origin)
    return EventText(RESULT, parts, origin, call, block.name or "", is_error=bool(block.is_error))


def _part_texts(content: Iterable[Any]) -> list[str]:
    texts = (part.tool_name or (_decoded(part.text) if part.text else "") for part in content)
    return [text for text in texts if text]


def _user_field(event: User, text: str) -> str:
    """What a text in the user's role is: most are a person's, the rest was injected."""
    if event.is_compact_summary:
        return SUMMARY
    if is_injected(event):
        return FILE
    classified = classify_prompt(text) if is_from_person(text) else None
    if classified is None:
        return FILE
    if classified.prompt and not classified.prompt.isspace():
        return PROMPT
    return RESULT if classified.outputs else FILE


def _typed_command(text: str) -> str:
    """What a person typed after `!`, as a command for the shell."""
    prompt = classify_prompt(text).prompt if _SHELL_INPUT in text else None
    return prompt[1:] if prompt and prompt.startswith("!") else ""


def _blocks(content: Any) -> Sequence[AnyBlock]:
    return content if type(content) is list else (Text(content),) if content else ()


def _decoded(raw: Raw) -> str:
    try:
        return decode_text(raw)
    except DECODE_ERRORS:
        return "\n".join(raw_strings(raw))


# --- other records ------------------------------------------------------------------------------


def _attachment_texts(event: Attachment, line: bytes) -> list[EventText]:
    attached, origin = event.attachment, event.timestamp or event.uuid or ""
    if attached is None:
        return []
    if attached.type == QUEUED:
        prompt = attached.prompt
        parts = [prompt] if type(prompt) is str else [b.text for b in prompt or () if type(b) is Text and b.text]
        field = FILE if attached.is_meta or not all(map(is_from_person, parts)) else PROMPT
        return [EventText(field, parts, origin)] if parts and parts[0] else []
    parts = attached_strings(line)
    path = attached.filename or attached.path or attached.display_path or ""
    return [EventText(FILE, parts, origin, path=path)] if parts else []


def _system_texts(event: System, line: bytes) -> list[EventText]:
    raws = (event.content, event.error, event.hook_errors, event.hook_context)
    parts = [text for raw in raws if raw for text in raw_strings(raw)]
    if event.stop_reason:
        parts.append(event.stop_reason)
    return [EventText(RESULT, parts, event.timestamp or event.uuid or "")] if parts else []


def _title_texts(event: Title) -> list[EventText]:
    if not event.title:
        return []
    # Files repeat summaries of earlier sessions; a title that two sessions have is a title of both.
    is_summary = event.kind == _SUMMARY_TYPE
    return [EventText(SUMMARY, [event.title], event.title) if is_summary else EventText(TITLE, [event.title])]


def _link_texts(event: PullRequest, line: bytes) -> list[EventText]:
    parts = [text for text in (event.url, event.repository) if text]
    return [EventText(FILE, parts)] if parts else []


def _unknown_texts(event: UnknownRecord, line: bytes) -> list[EventText]:
    parts = record_strings(line)
    return [EventText(FILE, parts, event.uuid or "")] if parts else []


_HANDLERS: Final[dict[type[Event], Callable[[Any, bytes], list[EventText]]]] = {
    User: _user_texts,
    Assistant: _assistant_texts,
    Attachment: _attachment_texts,
    System: _system_texts,
    PullRequest: _link_texts,
    UnknownRecord: _unknown_texts,
}
"""The texts of an event, by its type. Queue operations become attachments before; progress is not searched, because a
result repeats it, except that of sub-agents without a file."""
