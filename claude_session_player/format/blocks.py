"""What a message is made of: its content blocks, and the tokens that it used.

Like `events`, this module knows the keys of the files. Tool output and thinking can be large and are seldom needed, so
they stay raw JSON until they are asked for.
"""

from typing import Any, ClassVar, Final, Union

import msgspec
from msgspec import Raw, Struct, field

from claude_session_player.format import lenient_json

NOTHING: Final = Raw()


UNKNOWN_NAME: Final = "(unknown type)"
UNKNOWN_BODY: Final = "(unknown body)"
"""Keys that no file has, for what `coerce` keeps of records and blocks of unknown types."""

DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoders raise on data that does not fit."""


def type_tag(kind: type[Struct]) -> str:
    """The type of a record or block, as files spell it."""
    return str(kind.__struct_config__.tag)


class Tagged(Struct, gc=False):
    """A record or a block, whose type is known from its class; those of unknown types keep it as a field."""

    kind: ClassVar[str] = "?"
    """The type, as the file spells it; `name_kinds` sets it."""


def name_kinds(base: type[Tagged]) -> None:
    """Set the kind of every class that derives from one: a class knows its tag only once it is complete."""
    for each in base.__subclasses__():
        if "kind" not in each.__struct_fields__:
            each.kind = type_tag(each)
        name_kinds(each)


class Block(Tagged, gc=False, tag_field="type"):
    """A part of a message."""


class Text(Block, tag="text"):
    """Text of a person or of the model."""

    text: str | None = None


class Thinking(Block, tag="thinking"):
    """Thinking of the model; often nothing but a signature."""

    thinking: Raw = NOTHING


class RedactedThinking(Block, tag="redacted_thinking"):
    """Thinking that is encrypted."""


class ToolUse(Block, tag="tool_use"):
    """A tool call."""

    id: str | None = None
    name: str | None = None
    input: Any = None


class ServerToolUse(ToolUse, tag="server_tool_use"):
    """A call of a tool that runs on the API's servers."""


class ToolResult(Block, tag="tool_result"):
    """A tool result. `name` is set in dialects that have no call ids."""

    tool_use_id: str | None = None
    content: Raw = NOTHING
    is_error: bool | None = None
    name: str | None = field(default=None, name="tool_name")


class Image(Block, tag="image"):
    """A picture; its data stays raw."""

    source: Raw = NOTHING


class Document(Block, tag="document"):
    """A document; its data stays raw."""

    source: Raw = NOTHING


class UnknownBlock(Block, tag="?"):
    """A block of an unknown type, kept whole."""

    kind: str = field(default="?", name=UNKNOWN_NAME)  # type: ignore[misc]  # the one block with a type of its own
    body: Any = field(default=None, name=UNKNOWN_BODY)


name_kinds(Block)

AnyBlock = Union[  # noqa: UP007 - msgspec reads the union at run time
    Text, Thinking, RedactedThinking, ToolUse, ServerToolUse, ToolResult, Image, Document, UnknownBlock
]
Content = Union[str, list[AnyBlock], None]  # noqa: UP007


class CacheCreation(Struct, gc=False):
    """The tokens written to the cache, by how long they stay there."""

    five_minutes: int | None = field(default=None, name="ephemeral_5m_input_tokens")
    one_hour: int | None = field(default=None, name="ephemeral_1h_input_tokens")


class Usage(Struct, gc=False):
    """The tokens of a response; each of its lines repeats these numbers, or has greater ones."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    iterations: Any = None
    """The requests that made the response, if tools ran on the server in between; the numbers above are their sums."""


class Message(Struct, gc=False):
    """The message inside a conversation line."""

    id: str | None = None
    content: Content = None
    model: str | None = None
    stop_reason: str | None = None
    """Why the model stopped, if that was known when the line was written; the response may continue after it."""
    usage: Usage | None = None


decode_blocks: Final = msgspec.json.Decoder(list[AnyBlock]).decode
"""Decodes the content of a message; raises `DECODE_ERRORS`."""


def raw_as_text(raw: Raw) -> str:
    """A raw value as text: a string unchanged, nothing as an empty string, anything else as compact JSON."""
    value = lenient_json.load_raw(raw)
    if value is None:
        return ""
    return value if isinstance(value, str) else lenient_json.compact(value)
