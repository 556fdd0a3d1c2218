"""The text and pictures of messages and tool results, and the format-neutral parts that represent tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import (
    DECODE_ERRORS,
    AnyBlock,
    Content,
    Document,
    Image,
    Text,
    ToolResult,
    raw_as_text,
)
from claude_session_player.format.coerce import coerce_content
from claude_session_player.format.events import Attachment, Event, MessageEvent
from claude_session_player.format.results import (
    ResultPart,
    decode_agent_result,
    decode_media_source,
    decode_result,
    decode_result_part,
)
from claude_session_player.util.text import Cut, drop_overwritten, one_line, remove_blocks, strip_escapes

if TYPE_CHECKING:
    from collections.abc import Iterable


SHELL: Final = "bash"
"""The language of commands."""


class Prose(Struct, frozen=True, gc=False):
    """Markdown text."""

    text: str


class Code(Struct, frozen=True, gc=False):
    """Verbatim text: a command, output, a part of a file."""

    text: str
    language: str = ""
    lines: int | None = None
    """The number of lines to show, if it is not the usual one; 0 for none."""

    @property
    def is_command(self) -> bool:
        """True for what is typed into a shell; what it printed has no language."""
        return self.language == SHELL


class Diff(Struct, frozen=True, gc=False):
    """A change: each line begins with a space, a minus or a plus, and a head with the line numbers with `@@`."""

    text: str
    start: int | None = None
    """The number of the first line, if it is known and no head says it."""

    @property
    def new_text(self) -> str | None:
        """The text, if there was none before; `None` for a change of one.

        >>> Diff("+one\\n+two").new_text, Diff(" one\\n+two").new_text
        ('one\\ntwo', None)
        """
        lines = self.text.split("\n")
        return "\n".join(line[1:] for line in lines) if all(line[:1] == "+" for line in lines) else None


class ChecklistItem(Struct, frozen=True, gc=False):
    """An item of a checklist."""

    text: str
    done: bool = False


class Checklist(Struct, frozen=True, gc=False):
    """Tasks, or options to choose from."""

    items: tuple[ChecklistItem, ...]


class Data(Struct, frozen=True, gc=False):
    """Any JSON value."""

    value: Any


class Picture(Struct, frozen=True, gc=False):
    """A picture or a document: its data in base64, or its URL."""

    kind: str
    media_type: str = ""
    data: Raw = Raw()
    url: str = ""


Part = Prose | Code | Diff | Checklist | Data | Picture


class CallParts(Struct, frozen=True, gc=False):
    """A tool call as parts: a description, a verbatim name, the input and the result."""

    words: str = ""
    name: str = ""
    given: tuple[Part, ...] = ()
    outcome: str = ""
    """The result in a few words."""
    returned: tuple[Part, ...] = ()


_SHORT: Final = 512
"""Output of fewer bytes is decoded as a whole."""
_HEAD_SIZES: Final = (_SHORT, 4096, 65536)
"""The numbers of bytes that are searched for the lines that the view wants, before all of the output is decoded."""

_REMINDER_OPEN: Final = "<system-reminder>"
_ERROR_OPEN: Final = "<tool_use_error>"
_ERROR_CLOSE: Final = "</tool_use_error>"


_PICTURES: Final = ("image", "document")

_decode_string: Final = msgspec.json.Decoder(str).decode


def message_content(event: Event) -> Content:
    """The content of a message, or of a prompt that was typed while the model worked; `None` for other records."""
    if isinstance(event, MessageEvent):
        return event.message_content
    return event.attachment.prompt if isinstance(event, Attachment) and event.attachment is not None else None


def join_texts(blocks: Iterable[AnyBlock]) -> str:
    """The texts of some blocks, joined by line breaks; any other block as `[type]`."""
    return "\n".join((b.text or "") if type(b) is Text else f"[{b.kind}]" for b in blocks)


def result_text(result: ToolResult, lines: int | None) -> tuple[str, Cut]:
    """The text of a result, cleaned and shortened."""
    raw = result.content
    if lines is not None and len(raw) > _SHORT and (head := _head(raw, lines)) is not None:
        return "\n".join(head[: max(lines - 1, 1)]), Cut.LINES
    return shorten_lines(_clean(raw_text(raw, lines)), lines)


def result_parts(result: ToolResult) -> tuple[str, tuple[Picture, ...]]:
    """The whole text of a result, cleaned, and its pictures."""
    raw = result.content
    try:
        content = decode_result(raw) if raw else None
    except DECODE_ERRORS:
        return _clean(raw_text(raw, None)), ()
    if type(content) is not list:
        return _clean(content or ""), ()
    pictures = tuple(to_picture(part.type, part.source) for part in content if part.type in _PICTURES)
    texts = (part.tool_name or _part_text(part, None) for part in content if part.type not in _PICTURES)
    return _clean("\n".join(texts)), pictures


def find_pictures(blocks: Iterable[AnyBlock]) -> tuple[Picture, ...]:
    """The pictures and documents among the blocks of a message."""
    return tuple(to_picture(block.kind, block.source) for block in blocks if isinstance(block, Image | Document))


def to_picture(kind: str | None, source: Raw) -> Picture:
    """A picture or a document, as far as its source can be decoded."""
    try:
        medium = decode_media_source(source)
    except DECODE_ERRORS:
        return Picture(kind or "?")
    return Picture(kind or "?", medium.media_type or "", medium.data, medium.url or "")


def shorten_lines(text: str, lines: int | None) -> tuple[str, Cut]:
    """The whole text if it has at most `lines` lines, else one line less than that."""
    if lines is None:
        return text, Cut.NONE
    parts = text.split("\n", lines)
    if len(parts) <= lines:
        return text, Cut.NONE
    return "\n".join(parts[: max(lines - 1, 1)]), Cut.LINES


def agent_text(structured: Raw, result: ToolResult, width: int | None) -> tuple[str, Cut]:
    """The response of a sub-agent: its first `width` characters on one line, or all of it."""
    text = agent_response(structured)
    text = (_clean(raw_text(result.content, None)) if text is None else strip_escapes(text)).strip()
    if width is None:
        return text, Cut.NONE
    text = one_line(text[: 2 * width + 2])  # a line break may be two characters
    return (text, Cut.NONE) if len(text) <= width else (text[:width], Cut.WIDTH)


def agent_response(structured: Raw) -> str | None:
    """The text of the first part of a sub-agent's structured result, if there is one."""
    try:
        parts = decode_agent_result(structured).content
        return raw_as_text(decode_result_part(parts[0]).text) or None
    except (IndexError, *DECODE_ERRORS):
        return None


def _clean(text: str) -> str:
    """A result as a terminal shows it, without what Claude Code put around it.

    Leading line breaks and trailing white space are dropped last, so that a removed reminder leaves none.
    """
    text = strip_escapes(text)
    if "<" in text:
        if _REMINDER_OPEN in text:
            text = remove_blocks(text, "system-reminder")
        if (trimmed := text.lstrip("\r\n")).startswith(_ERROR_OPEN):
            text = trimmed.removeprefix(_ERROR_OPEN).replace(_ERROR_CLOSE, "", 1)
    return drop_overwritten(text).lstrip("\n").rstrip()


def raw_text(raw: Raw, lines: int | None = None) -> str:
    """The text of a result's content; of a part with more than `lines` lines, only the beginning."""
    try:
        content = decode_result(raw) if raw else None
    except DECODE_ERRORS:
        odd = coerce_content(lenient_json.load_raw(raw))
        return join_texts(odd) if isinstance(odd, list) else odd or ""
    if type(content) is str:
        return content
    texts: list[str] = []
    for part in content or ():
        texts.append(text := _part_text(part, lines))
        if lines is not None and _may_span_parts(text):
            lines = None
    return "\n".join(texts)


def _may_span_parts(text: str) -> bool:
    """True if something that has to be removed begins here, and may end in a later part."""
    return "\x1b" in text or _REMINDER_OPEN in text


def _part_text(part: ResultPart, lines: int | None) -> str:
    if part.type != "text" and (part.type or not part.text):
        return f"[{part.type}]"
    if lines is not None and (head := _head(part.text, lines)) is not None:
        return "\n".join(head)
    return raw_text(part.text, None)


def _head(raw: Raw, lines: int) -> list[str] | None:
    """The first lines of a JSON string, one more than `lines`, without decoding the rest of it.

    Returns `None` if there are fewer, or if the beginning contains anything that has to be cleaned.
    """
    for size in _HEAD_SIZES:
        head = bytes(memoryview(raw)[:size])
        try:
            text = _decode_string(head[: head.rfind(b"\\n")] + b'"')
        except DECODE_ERRORS:
            return None
        if text.startswith("\n"):
            return None
        # After a backslash, an n is not a line break, so the lines may be wrong.
        if "\\" in text or "\x1b" in text or "\x9b" in text or "\r" in text:
            return None
        if "<" in text and (_REMINDER_OPEN in text or _ERROR_OPEN in text):
            return None
        parts = text.split("\n", lines + 1)
        if len(parts) > lines and parts[lines].strip():
            return parts[: lines + 1]
        if len(raw) <= size:
            break
    return None


class ImageType(NamedTuple):
    """An image type and its file suffix."""

    name: str
    suffix: str


PNG: Final = ImageType("PNG", ".png")
JPEG: Final = ImageType("JPEG", ".jpg")
GIF: Final = ImageType("GIF", ".gif")
WEBP: Final = ImageType("WebP", ".webp")

_SIGNATURES: Final = (
    (0, b"\x89PNG\r\n\x1a\n", PNG),
    (0, b"\xff\xd8\xff", JPEG),
    (0, b"GIF87a", GIF),
    (0, b"GIF89a", GIF),
    (8, b"WEBPVP8", WEBP),  # after `RIFF` and a length
)


def image_type(data: bytes) -> ImageType | None:
    """The type of an image by its first bytes; `None` for anything else.

    >>> image_type(b"GIF89a..."), image_type(b"%!PS-Adobe-3.0 EPSF-3.0")
    (ImageType(name='GIF', suffix='.gif'), None)
    """
    return next((type for at, signature, type in _SIGNATURES if data.startswith(signature, at)), None)
