"""The event model: what a line of a session can be.

This module, `glances` for less than an event, and `results` for what stays raw in one, know the keys of the files. The
decoder reads a line straight into these structs and skips every key that no struct names. Parts that are large and
seldom needed (tool output, thoughts) stay raw JSON until somebody asks for them.

Types are evaluated where they are written: as text, each would be evaluated again for every struct that inherits it,
and every process would take longer to start.
"""

from __future__ import annotations

import re
from typing import Any, Final, Union

import msgspec
from msgspec import Raw, Struct, field

from claude_session_player.format import TITLE_KEYS, lenient_json

NOTHING: Final = Raw()

UNKNOWN_NAME: Final = "(unknown type)"
UNKNOWN_BODY: Final = "(unknown body)"
"""Keys that no file has, for what `fit` keeps of unknown records and blocks."""

RECORD_START: Final = re.compile(r'\{"(?:parentUuid|type|uuid|sessionId|isSidechain)":')
"""How the lines of real files begin."""


REFUSALS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the decoders of this module raise on data that does not fit."""


def type_tag(kind: type[Struct]) -> str:
    """The type of a record or block, as the files name it."""
    return str(kind.__struct_config__.tag)


# --- what a message is made of ----------------------------------------------------------------


class Block(Struct, gc=False, tag_field="type"):
    """A part of a message."""

    @property
    def kind(self) -> str:
        """The block's type, as the file names it."""
        return type_tag(type(self))


class Text(Block, tag="text"):
    """Words, of a person or of the model."""

    text: str | None = None


class Thinking(Block, tag="thinking"):
    """A thought; often nothing but a signature."""

    thinking: Raw = NOTHING


class RedactedThinking(Block, tag="redacted_thinking"):
    """A thought that nobody may read."""


class ToolUse(Block, tag="tool_use"):
    """A call of a tool."""

    id: str | None = None
    name: str | None = None
    input: Any = None


class ServerToolUse(ToolUse, tag="server_tool_use"):
    """A call of a tool that runs at the model's side."""


class ToolResult(Block, tag="tool_result"):
    """What a tool gave back. `name` is set where the dialect has no call ids."""

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
    """A block of a type that nobody knows yet, kept whole."""

    name: str = field(default="?", name=UNKNOWN_NAME)
    body: Any = field(default=None, name=UNKNOWN_BODY)

    @property
    def kind(self) -> str:
        """The block's type, as the file names it."""
        return self.name


AnyBlock = Union[  # noqa: UP007 - msgspec reads the union at run time
    Text, Thinking, RedactedThinking, ToolUse, ServerToolUse, ToolResult, Image, Document, UnknownBlock
]
Content = Union[str, list[AnyBlock], None]  # noqa: UP007


class CacheCreation(Struct, gc=False):
    """The tokens written into the cache, by how long they stay there."""

    five_minutes: int | None = field(default=None, name="ephemeral_5m_input_tokens")
    one_hour: int | None = field(default=None, name="ephemeral_1h_input_tokens")


class Usage(Struct, gc=False):
    """The tokens of a response; each of its lines repeats them, or has more."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None


class Message(Struct, gc=False):
    """The message inside a conversation line."""

    id: str | None = None
    content: Content = None
    model: str | None = None
    stop_reason: str | None = None
    """Why the model stopped, where that was known when the line was written; the response may go on behind it."""
    usage: Usage | None = None


# --- what a line can be -----------------------------------------------------------------------


class Envelope(Struct, gc=False, rename="camel", kw_only=True):
    """What records of all types may have around their content."""

    timestamp: str | None = None
    is_sidechain: bool | None = field(default=None, name="isSidechain")
    """True for a line of a sub-agent's conversation."""
    agent_call: str | None = field(default=None, name="parent_tool_use_id")
    """In stream-json: the call whose sub-agent speaks here."""
    cwd: str | None = None
    git_branch: str | None = field(default=None, name="gitBranch")
    version: str | None = None


class Event(Envelope, tag_field="type"):
    """One record of a session. `line` is the number of its source line, counted from 1."""

    line: int = field(default=0, name="(source line)")  # the parser sets it
    uuid: str | None = None
    parent_uuid: str | None = field(default=None, name="parentUuid")
    session_id: str | None = field(default=None, name="sessionId")
    """In a sub-agent's file it is that of the parent."""

    @property
    def kind(self) -> str:
        """The record's type, as the file names it."""
        return type_tag(type(self))


class MessageEvent(Event):
    """Something that a person or the model said."""

    message: Message | None = None
    content: Content = None
    """The message's content in dialects that have no envelope around it."""

    @property
    def said(self) -> Content:
        """The content, wherever it is."""
        return self.content if self.message is None else self.message.content


class PromptOrigin(Struct, gc=False):
    """Who is behind a line in a user's place."""

    kind: str | None = None


class User(MessageEvent, tag="user"):
    """A person's prompt, a tool's result, or something that the harness put in."""

    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    tool_use_result: Raw = NOTHING
    source_uuid: str | None = field(default=None, name="sourceToolAssistantUUID")
    source_call: str | None = field(default=None, name="sourceToolUseID")
    """The call that put this text in: a skill's, for one."""
    origin: PromptOrigin | None = None
    prompt_source: str | None = None
    permission_mode: str | None = None
    """What the tools were allowed to do when this was written."""


class Assistant(MessageEvent, tag="assistant"):
    """An answer of the model, or one block of it."""

    request_id: str | None = None
    is_api_error: bool | None = field(default=None, name="isApiErrorMessage")
    """True for words of the harness in the model's place: the request failed."""
    error: Raw = NOTHING
    """Why it did, where there is no message."""


class Compaction(Struct, gc=False, rename="camel"):
    """Why a conversation was compacted, and how large it was."""

    trigger: str | None = None
    pre_tokens: int | None = None


class StreamCompaction(Struct, gc=False):
    """The same, as stream-json spells it."""

    trigger: str | None = None
    pre_tokens: int | None = None


COMPACTION: Final = "compact_boundary"
"""The subtype of the remark with which a compacted conversation goes on."""


FAILED_REQUESTS: Final = frozenset(("api_error", "error"))
"""The subtypes of remarks that say that a request failed."""


class System(Event, tag="system"):
    """A remark of the harness."""

    subtype: str | None = None
    duration_ms: float | None = None
    content: Raw = NOTHING
    level: str | None = None
    error: Raw = NOTHING
    """Why a request failed."""
    model: str | None = None
    """In stream-json: the model that the session begins with."""
    compact_metadata: Compaction | None = None
    stream_compaction: StreamCompaction | None = field(default=None, name="compact_metadata")
    logical_parent: str | None = field(default=None, name="logicalParentUuid")
    """Where a compacted conversation goes on from; the parent of a compaction is none."""
    hooks: Raw = field(default=NOTHING, name="hookInfos")
    """The hooks that ran when the model stopped."""
    hook_errors: Raw = NOTHING
    hook_context: Raw = field(default=NOTHING, name="hookAdditionalContext")
    """What hooks told the model."""
    stop_reason: str | None = None
    """Why a hook ended the turn."""
    prevented_continuation: bool | None = None
    has_output: bool | None = None


class ProgressData(Struct, gc=False, rename="camel"):
    """What a running tool reports; which fields are set depends on its type."""

    type: str | None = None
    full_output: str | None = None
    hook_name: str | None = None
    query: str | None = None
    result_count: int | float | str | None = None
    task_description: str | None = None
    agent_id: str | None = None
    message: Raw = NOTHING
    """What a sub-agent says, as a record of its own."""


class Progress(Event, tag="progress"):
    """A sign of life of a running tool."""

    data: ProgressData | None = None
    parent_call: str | None = field(default=None, name="parentToolUseID")


class AttachmentData(Struct, gc=False, rename="camel"):
    """What was attached; `prompt` is what a person typed while the model was at work."""

    type: str | None = None
    prompt: Content = None
    is_meta: bool | None = None
    filename: str | None = None
    display_path: str | None = None
    """A file or directory, relative to where the session runs."""
    path: str | None = None
    content: Raw = NOTHING
    snippet: Raw = NOTHING
    files: Raw = NOTHING
    """Files with their diagnostics."""
    hook_name: str | None = None
    exit_code: int | None = None
    stderr: Raw = NOTHING
    blocking_error: Raw = NOTHING
    message: Raw = NOTHING
    """Why a hook ended the turn."""


QUEUED: Final = "queued_command"
"""The type of an attachment that holds what a person typed."""
FILE_ATTACHED: Final = "file"
"""The type of an attachment that holds a file, as a person named it with `@`."""
FILE_CHANGED: Final = "edited_text_file"
"""The type of an attachment that tells what somebody else changed in a file."""


class Attachment(Event, tag="attachment"):
    """Context that the model saw."""

    attachment: AttachmentData | None = None


CONVERSATION: Final = (User, Assistant, System, Progress, Attachment)
"""The records that belong to the main conversation or to a sub-agent's."""


class HiddenRecord(Event):
    """A known record that is never on the screen: titles, state, links, file history, accounts."""


class Title(HiddenRecord):
    """A name that somebody or something gave to the session."""

    title: str | None = None


class Metadata(HiddenRecord, tag="metadata"):
    """Metadata/message dialect: the first line."""

    model: str | None = None


class FileSnapshot(HiddenRecord, tag="file-history-snapshot"):
    """The files that are watched, and the copies that were made of them."""

    snapshot: Raw = NOTHING


class FileBackup(HiddenRecord, tag="file-history-delta"):
    """A copy of one file, made before it was changed."""

    path: str | None = field(default=None, name="trackingPath")
    backup: Raw = NOTHING


class PermissionMode(HiddenRecord, tag="permission-mode"):
    """What tools are allowed to do from here on."""

    mode: str | None = field(default=None, name="permissionMode")


class PullRequest(HiddenRecord, tag="pr-link"):
    """A pull request that the session works on; written again with every push."""

    number: int | None = field(default=None, name="prNumber")
    url: str | None = field(default=None, name="prUrl")
    repository: str | None = field(default=None, name="prRepository")


class QueueOperation(HiddenRecord, tag="queue-operation"):
    """What was typed while the model worked enters the queue, or leaves it."""

    operation: str | None = None
    content: Raw = NOTHING


class UsageLine(HiddenRecord, tag="usage", rename=None):
    """Metadata/message dialect: the tokens of an answer."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_tokens: int | None = None
    cache_read_tokens: int | None = None


class UnknownRecord(Event, tag="?"):
    """A record of a type that nobody knows yet."""

    name: str = field(default="?", name=UNKNOWN_NAME)

    @property
    def kind(self) -> str:
        """The record's type, as the file names it."""
        return self.name


class Malformed(Event, tag="(malformed)"):
    """A line, or a stretch of one, that could not be read."""

    offset: int = 0
    reason: str = ""


class TooLong(Malformed, tag="(too long)"):
    """A line that is longer than what is decoded: it is there, and nothing of it was read."""

    size: int = 0


class Blank(Event, tag="(blank)"):
    """A line with nothing on it."""


# --- records of other dialects, which the parser turns into the ones above -----------------------


class LegacyMessage(Event, tag="message", rename=None):
    """Metadata/message dialect: a line of either side."""

    role: str | None = None
    content: Content = None


class LineMessage(Struct, gc=False):
    """The message of a call or a result that stands on a line of its own."""

    content: Raw = NOTHING


class CallLine(Event, tag="tool_use", rename=None):
    """Metadata/message and transcript dialects: a tool call on a line of its own."""

    message: LineMessage | None = None
    id: str | None = None
    tool_use_id: str | None = None
    tool: str | None = None
    tool_name: str | None = None
    name: str | None = None
    arguments: Any = None
    tool_input: Any = None
    input: Any = None


class ResultLine(Event, tag="tool_result", rename=None):
    """Transcript dialect: a tool's output on a line of its own."""

    message: LineMessage | None = None
    tool_use_id: str | None = None
    tool: str | None = None
    tool_name: str | None = None
    name: str | None = None
    tool_output: Raw = NOTHING
    output: Raw = NOTHING
    content: Raw = NOTHING
    is_error: bool | None = None
    tool_use_result: Raw = field(default=NOTHING, name="toolUseResult")
    source_uuid: str | None = field(default=None, name="sourceToolAssistantUUID")


class RunResult(Event, tag="result", rename=None):
    """stream-json dialect: the end of a run."""

    duration_ms: float | None = None


QUIET_TYPES: Final = (
    # state
    "mode",
    "agent-setting",
    "agent-color",
    "last-prompt",
    "tag",
    "atis-latch",
    # links
    "bridge-session",
    "frame-link",
    "worktree-state",
    "relocated",
    "fork-context-ref",
    # accounts
    "cost-state",
    # other dialects
    "todo",
    "stream_event",
)

TITLES: Final[tuple[Any, ...]] = tuple(
    msgspec.defstruct(f"Title:{tag}", [("title", str | None, field(default=None, name=key))], bases=(Title,), tag=tag)
    for tag, key in TITLE_KEYS.items()
)
QUIET_RECORDS: Final[tuple[Any, ...]] = (
    *TITLES,
    Metadata,
    FileSnapshot,
    FileBackup,
    PermissionMode,
    PullRequest,
    QueueOperation,
    UsageLine,
    *(msgspec.defstruct(f"Quiet:{tag}", [], bases=(HiddenRecord,), tag=tag) for tag in QUIET_TYPES),
)
RECORDS: Final[tuple[Any, ...]] = CONVERSATION + (LegacyMessage, CallLine, ResultLine, RunResult) + QUIET_RECORDS
"""Every record of a known type."""
AnyEvent: Final[Any] = Union[RECORDS + (UnknownRecord,)]  # noqa: UP007
"""Every record that can stand in a file, told apart by its `type`."""

decode_blocks: Final = msgspec.json.Decoder(list[AnyBlock]).decode
"""The content of a message to its blocks; raises like `decode`."""

decode: Final = msgspec.json.Decoder(AnyEvent).decode
"""One line of bytes to its event; raises on anything that does not fit exactly."""


def raw_as_text(raw: Raw) -> str:
    """A raw value as text: a string as it is, anything else as compact JSON, nothing as nothing."""
    value = lenient_json.load_raw(raw)
    if value is None:
        return ""
    return value if isinstance(value, str) else lenient_json.compact(value)
