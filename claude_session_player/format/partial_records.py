"""Structs with only those fields of a record that one purpose needs: decoding most lines as events would be a waste.

A line that does not fit exactly is refused, and is then decoded as an event.
"""

from typing import Final, Union

import msgspec
from msgspec import Raw, Struct, field

from claude_session_player.format.blocks import NOTHING, Usage
from claude_session_player.format.events import Envelope

# --- for the index --------------------------------------------------------------------------------


class IndexInput(Struct, gc=False):
    """The prompt in a tool's input, which tools that start sub-agents have."""

    prompt: Raw = NOTHING


class IndexBlock(Struct, gc=False):
    """A content block; `name` is that of a tool."""

    type: str | None = None
    name: str | None = None
    tool_use_id: str | None = None
    input: Union[IndexInput, list[Raw], str, int, float, None] = None  # noqa: UP007


class IndexMessage(Struct, gc=False):
    """A message without its texts."""

    id: str | None = None
    content: Union[str, list[IndexBlock], None] = None  # noqa: UP007
    model: str | None = None
    usage: Usage | None = None


class IndexAttachment(Struct, gc=False):
    """The type of an attachment."""

    type: str | None = None


class IndexReport(Struct, gc=False, rename="camel"):
    """A record that a sub-agent reports, without its content."""

    type: str | None = None
    timestamp: str | None = None
    request_id: str | None = None
    message: IndexMessage | None = None


class IndexProgress(Struct, gc=False, rename="camel"):
    """The type of progress, and what a sub-agent reports with it."""

    type: str | None = None
    agent_id: str | None = None
    message: IndexReport | None = None


class IndexAgentResult(Struct, gc=False, rename="camel"):
    """The sub-agent that a structured result names."""

    agent_id: str | None = None


class IndexRecord(Envelope):
    """A record of any type without its texts, tool inputs and outputs."""

    type: str | None = None
    request_id: str | None = None
    message: IndexMessage | None = None
    attachment: IndexAttachment | None = None
    model: str | None = None
    data: IndexProgress | None = None
    parent_call: str | None = field(default=None, name="parentToolUseID")
    tool_use_result: Union[IndexAgentResult, list[Raw], str, int, float, None] = None  # noqa: UP007

    @property
    def kind(self) -> str:
        """The record's type, as the file names it."""
        return self.type or "?"


decode_index_record: Final = msgspec.json.Decoder(IndexRecord).decode
"""Decodes one line; raises `DECODE_ERRORS` on anything that does not fit exactly."""


# --- for summaries --------------------------------------------------------------------------------


class CountInput(Struct, gc=False):
    """The file in a tool's input."""

    file_path: str | None = None
    notebook_path: str | None = None


class CountBlock(Struct, gc=False):
    """A content block: a tool call and its file, or whether a result is an error."""

    type: str | None = None
    id: str | None = None
    name: str | None = None
    input: CountInput | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None


class CountMessage(Struct, gc=False):
    """A message without its texts."""

    id: str | None = None
    content: Union[str, list[CountBlock], None] = None  # noqa: UP007


class CountRecord(Struct, gc=False, rename="camel"):
    """A record of any type without its texts and outputs: its place in the tree, and its tool calls."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = field(default=None, name="parentUuid")
    timestamp: str | None = None
    is_sidechain: bool | None = field(default=None, name="isSidechain")
    agent_call: str | None = field(default=None, name="parent_tool_use_id")
    version: str | None = None
    request_id: str | None = None
    message: CountMessage | None = None
    attachment: IndexAttachment | None = None
    is_api_error: bool | None = field(default=None, name="isApiErrorMessage")
    subtype: str | None = None
    operation: str | None = None
    """What a `queue-operation` does."""


decode_count_record: Final = msgspec.json.Decoder(CountRecord).decode
"""Decodes one line; raises `DECODE_ERRORS` on anything that does not fit exactly."""


# --- for sessions that continue others ------------------------------------------------------------


class ForkedFrom(Struct, gc=False, rename="camel"):
    """The event of another session that this one was forked from."""

    session_id: str | None = None
    message_uuid: str | None = None


class EventIdentity(Struct, gc=False, rename="camel"):
    """The identity of an event, and that of its predecessor."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    timestamp: str | None = None
    is_meta: bool | None = None
    forked_from: ForkedFrom | None = None


decode_event_identity: Final = msgspec.json.Decoder(EventIdentity).decode
"""Decodes one line; raises `DECODE_ERRORS` on anything that does not fit exactly."""
