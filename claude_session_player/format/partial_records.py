"""Lean looks at a line: structs with no more than some job needs of it, because most lines are not worth an event.

A line that does not fit exactly is refused, and then it is worth one.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final, TypeVar, Union

import msgspec
from msgspec import Raw, Struct, field

from claude_session_player.format.blocks import NOTHING, Usage
from claude_session_player.format.events import Envelope

_SIDE: Final = attrgetter("is_sidechain")
_CALLER: Final = attrgetter("agent_call")


# --- a look that is enough for the catalogue ------------------------------------------------------


class IndexInput(Struct, gc=False):
    """That a tool is given a prompt, as one that starts a sub-agent is."""

    prompt: Raw = NOTHING


class IndexBlock(Struct, gc=False):
    """That there is a block; `name` is that of a tool."""

    type: str | None = None
    name: str | None = None
    tool_use_id: str | None = None
    input: Union[IndexInput, list[Raw], str, int, float, None] = None  # noqa: UP007


class IndexMessage(Struct, gc=False):
    """A message without what is said in it."""

    id: str | None = None
    content: Union[str, list[IndexBlock], None] = None  # noqa: UP007
    model: str | None = None
    usage: Usage | None = None


class IndexAttachment(Struct, gc=False):
    """That something was attached."""

    type: str | None = None


class IndexReport(Struct, gc=False, rename="camel"):
    """A record that a sub-agent reports, without what is said in it."""

    type: str | None = None
    timestamp: str | None = None
    request_id: str | None = None
    message: IndexMessage | None = None


class IndexProgress(Struct, gc=False, rename="camel"):
    """What progress is of, and what a sub-agent reports with it."""

    type: str | None = None
    agent_id: str | None = None
    message: IndexReport | None = None


class IndexAgentResult(Struct, gc=False, rename="camel"):
    """The sub-agent that a result names beside its text."""

    agent_id: str | None = None


class IndexRecord(Envelope):
    """A record of any type without its texts, tool inputs and outputs: most lines are not worth more."""

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
"""One line of bytes to a glance at it; raises on anything that does not fit exactly."""


# --- a look that is enough for a summary ----------------------------------------------------------


class CountInput(Struct, gc=False):
    """The file that a tool is asked for."""

    file_path: str | None = None
    notebook_path: str | None = None


class CountBlock(Struct, gc=False):
    """That there is a block: a call of a tool and the file that it asks for, or whether a result is an error."""

    type: str | None = None
    id: str | None = None
    name: str | None = None
    input: CountInput | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None


class CountMessage(Struct, gc=False):
    """A message without what is said in it."""

    id: str | None = None
    content: Union[str, list[CountBlock], None] = None  # noqa: UP007


class CountRecord(Struct, gc=False, rename="camel"):
    """A record of any type without its texts and outputs: who came after whom, and which tools were called."""

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
    """Of a record about the queue."""


decode_count_record: Final = msgspec.json.Decoder(CountRecord).decode
"""One line of bytes to what a summary needs of it; raises on anything that does not fit exactly."""


# --- a look that is enough to find relatives of a file ----------------------------------------------


class ForkedFrom(Struct, gc=False, rename="camel"):
    """The event of another session from which this one was forked."""

    session_id: str | None = None
    message_uuid: str | None = None


class EventIdentity(Struct, gc=False, rename="camel"):
    """Which event a record is, and which it comes behind."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    timestamp: str | None = None
    is_meta: bool | None = None
    forked_from: ForkedFrom | None = None


decode_event_identity: Final = msgspec.json.Decoder(EventIdentity).decode
"""One line of bytes to the event that it is; raises on anything that does not fit exactly."""


# --- what they have in common -----------------------------------------------------------------------


_Line = TypeVar("_Line", Envelope, CountRecord)


def subagent_positions(lines: Sequence[_Line]) -> list[int]:
    """The positions of those lines that belong to sub-agents: mostly none.

    >>> subagent_positions([CountRecord(), CountRecord(is_sidechain=True), CountRecord(agent_call="toolu_1")])
    [1, 2]
    """
    if not (any(map(_SIDE, lines)) or any(map(_CALLER, lines))):
        return []
    return [number for number, line in enumerate(lines) if line.is_sidechain or line.agent_call]
