"""Documents: one for each field of an event, as tantivy indexes and stores it.

A document holds everything that a hit shows, so that showing it reads no session file. What the order of hits depends
on is in `rank`, which does not depend on other documents: hits have the same order wherever they are indexed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import tantivy

from claude_session_player.search.fields import CODES, RESULT, to_rank
from claude_session_player.search.tokens import TOKENIZER, analyzer, prepare

if TYPE_CHECKING:
    from claude_session_player.search.texts import EventText

_LINE_BITS: Final = 32
LAST_LINE: Final = (1 << _LINE_BITS) - 1
_SEPARATOR: Final = "\0"


class StoredDocument(NamedTuple):
    """What the index stores of a document."""

    text: str
    uuid: str | None
    time: str | None
    tool: str
    path: str


@cache
def schema() -> tantivy.Schema:
    """The fields of a document."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=True, tokenizer_name=TOKENIZER, index_option="position")
    builder.add_text_field("inner", tokenizer_name=TOKENIZER, index_option="position")
    builder.add_text_field("path", tokenizer_name=TOKENIZER, index_option="position")
    builder.add_text_field("command", tokenizer_name=TOKENIZER, index_option="position")
    builder.add_text_field("tool", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("field", indexed=True)
    builder.add_unsigned_field("error", indexed=True)
    builder.add_unsigned_field("file", indexed=True)
    builder.add_unsigned_field("place", fast=True)
    builder.add_unsigned_field("rank", fast=True)
    builder.add_unsigned_field("seconds", fast=True)
    builder.add_unsigned_field("copy", fast=True)
    builder.add_bytes_field("stored", stored=True)
    return builder.build()


def open_index(path: str | None = None) -> tantivy.Index:
    """The index in a directory, or a new one in memory. Raises `ValueError` or `OSError`."""
    index = tantivy.Index(schema(), path=path)
    index.register_tokenizer(TOKENIZER, analyzer())
    return index


def to_document(
    file: int, line: int, time: str | None, uuid: str | None, text: EventText, seconds: int
) -> tantivy.Document:
    """The document of a text; `file` is the number of its file, and `seconds` its time, or one shortly before it."""
    document = tantivy.Document()
    for part in text.parts:  # as values of their own: no phrase spans two of them
        content, inner = prepare(part)
        document.add_text("text", content)
        if inner:
            document.add_text("inner", inner)
    document.add_unsigned("field", CODES[text.field])
    document.add_unsigned("file", file)
    document.add_unsigned("place", to_place(file, line))
    document.add_unsigned("rank", to_rank(text.field, seconds))
    document.add_unsigned("seconds", seconds)
    document.add_unsigned("copy", text.copy_key)
    if text.field == RESULT:
        document.add_unsigned("error", text.is_error)
    tool, path = text.tool, text.path
    if tool:
        document.add_text("tool", _encodable(tool).lower())
    if path:
        document.add_text("path", _encodable(path))
    if text.command:
        document.add_text("command", _encodable(text.command))
    document.add_bytes("stored", _SEPARATOR.join((uuid or "", time or "", tool, path)).encode(errors="replace"))
    return document


def from_document(document: tantivy.Document) -> StoredDocument:
    """What was stored of a document."""
    uuid, time, tool, path = bytes(document.get_first("stored") or b"").decode().split(_SEPARATOR, 3)
    return StoredDocument("\n".join(document.get_all("text")), uuid or None, time or None, tool, path)


def is_tantivy_error(error: BaseException) -> bool:
    """True for what tantivy raises on a damaged index; a panic of it is not an `Exception`."""
    return isinstance(error, ValueError | OSError | LookupError) or type(error).__name__ == "PanicException"


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode(errors="replace").decode()


# --- numbers --------------------------------------------------------------------------------------


def to_place(file: int, line: int) -> int:
    """The file and the line of a document as one number."""
    return file << _LINE_BITS | line


def from_place(place: int) -> tuple[int, int]:
    """The number of a file, and a line in it.

    >>> from_place(to_place(7, 42))
    (7, 42)
    """
    return place >> _LINE_BITS, place & LAST_LINE
