"""The event model: the records that a line of a session can be.

This module, `blocks` for messages, `partial_records` for less than an event, and `results` for what stays raw in one,
know the keys of the files. The decoder reads a line straight into these structs and skips keys that no struct names.

Annotations are evaluated where they are written (no `from __future__ import annotations`): as text, each would be
evaluated again for every struct that inherits it, and every process would start 2 ms later.
"""

import re
from typing import Any, Final, Union

import msgspec
from msgspec import Raw, Struct, field

from claude_session_player.format.blocks import NOTHING, UNKNOWN_NAME, Content, Message, Tagged, name_kinds

TITLE_KEYS: Final = {
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "agent-name": "agentName",
    "summary": "summary",
}
"""The record types that name a session, and the key that holds the name; `linking.titles` says which of them wins."""


RECORD_START: Final = re.compile(r'\{"(?:parentUuid|type|uuid|sessionId|isSidechain)":')
"""How the lines of real files begin."""


# --- records ----------------------------------------------------------------------------------


class Envelope(Struct, gc=False, rename="camel", kw_only=True):
    """The fields that records of all types may have around their content."""

    timestamp: str | None = None
    is_sidechain: bool | None = field(default=None, name="isSidechain")
    """True for a line of a sub-agent's conversation."""
    agent_call: str | None = field(default=None, name="parent_tool_use_id")
    """In stream-json: the call of the sub-agent that this line belongs to."""
    cwd: str | None = None
    git_branch: str | None = field(default=None, name="gitBranch")
    version: str | None = None
    entrypoint: str | None = None
    """How Claude Code was started: `cli` in a terminal, `claude-vscode` in an editor, `sdk-cli` by `claude -p`."""


class Event(Envelope, Tagged, tag_field="type"):
    """One record of a session. `line` is the number of its source line, counted from 1."""

    line: int = field(default=0, name="(source line)")  # the parser sets it
    uuid: str | None = None
    parent_uuid: str | None = field(default=None, name="parentUuid")
    session_id: str | None = field(default=None, name="sessionId")
    """In a sub-agent's file, that of the parent."""


class MessageEvent(Event):
    """A message of a person or of the model."""

    message: Message | None = None
    content: Content = None
    """The message's content, in dialects without `message`."""

    @property
    def message_content(self) -> Content:
        """The content, in any dialect."""
        return self.content if self.message is None else self.message.content


class PromptOrigin(Struct, gc=False):
    """Who wrote a `user` record."""

    kind: str | None = None


class User(MessageEvent, tag="user"):
    """A person's prompt, a tool result, or something that Claude Code injected."""

    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    tool_use_result: Raw = NOTHING
    source_uuid: str | None = field(default=None, name="sourceToolAssistantUUID")
    source_call: str | None = field(default=None, name="sourceToolUseID")
    """The call that injected this text, for example that of a skill."""
    origin: PromptOrigin | None = None
    prompt_source: str | None = None
    prompt_id: str | None = None
    """Shared by the records of one prompt, up to the next one; a command may have that of the prompt before it."""
    permission_mode: str | None = None
    """What tools were allowed to do when this was written."""


class Assistant(MessageEvent, tag="assistant"):
    """A response of the model, or one block of it."""

    request_id: str | None = None
    is_api_error: bool | None = field(default=None, name="isApiErrorMessage")
    """True for an error message of Claude Code: the request failed."""
    error: Raw = NOTHING
    """Why it failed, if there is no message."""


class Compaction(Struct, gc=False, rename="camel"):
    """Why a conversation was compacted, and how long it was."""

    trigger: str | None = None
    pre_tokens: int | None = None


class StreamCompaction(Struct, gc=False):
    """The same, as stream-json spells it."""

    trigger: str | None = None
    pre_tokens: int | None = None


COMPACTION: Final = "compact_boundary"
"""The subtype of the system record with which a compacted conversation continues."""


FAILED_REQUESTS: Final = frozenset(("api_error", "error"))
"""The subtypes of system records about failed requests."""


class System(Event, tag="system"):
    """A notice of Claude Code."""

    subtype: str | None = None
    duration_ms: float | None = None
    content: Raw = NOTHING
    level: str | None = None
    error: Raw = NOTHING
    """Why a request failed."""
    model: str | None = None
    """In stream-json: the model at the beginning of the session."""
    compact_metadata: Compaction | None = None
    stream_compaction: StreamCompaction | None = field(default=None, name="compact_metadata")
    logical_parent: str | None = field(default=None, name="logicalParentUuid")
    """The event that a compacted conversation continues; a compaction has no `parentUuid`."""
    hooks: Raw = field(default=NOTHING, name="hookInfos")
    """The hooks that ran when the model stopped."""
    hook_errors: Raw = NOTHING
    hook_context: Raw = field(default=NOTHING, name="hookAdditionalContext")
    """What hooks said to the model."""
    stop_reason: str | None = None
    """Why a hook ended the turn."""
    prevented_continuation: bool | None = None
    has_output: bool | None = None


class ProgressData(Struct, gc=False, rename="camel"):
    """What a running tool reports; the type determines which fields are set."""

    type: str | None = None
    full_output: str | None = None
    hook_name: str | None = None
    query: str | None = None
    result_count: int | float | str | None = None
    task_description: str | None = None
    agent_id: str | None = None
    message: Raw = NOTHING
    """A record of a sub-agent."""


class Progress(Event, tag="progress"):
    """Progress of a running tool."""

    data: ProgressData | None = None
    parent_call: str | None = field(default=None, name="parentToolUseID")


class AttachmentData(Struct, gc=False, rename="camel"):
    """What was attached; `prompt` is what a person typed while the model worked."""

    type: str | None = None
    prompt: Content = None
    is_meta: bool | None = None
    filename: str | None = None
    display_path: str | None = None
    """A file or directory, relative to the session's working directory."""
    path: str | None = None
    content: Raw = NOTHING
    snippet: Raw = NOTHING
    files: Raw = NOTHING
    """Files with their diagnostics."""
    hook_name: str | None = None
    call_id: str | None = field(default=None, name="toolUseID")
    """The tool call that a hook ran for."""
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
"""The type of an attachment about a file that was changed outside the session."""


class Attachment(Event, tag="attachment"):
    """Context for the model."""

    attachment: AttachmentData | None = None


CONVERSATION: Final = (User, Assistant, System, Progress, Attachment)
"""The records that belong to the main conversation or to a sub-agent's."""


class HiddenRecord(Event):
    """A record of a known type that is never on the screen: titles, state, links, file history, costs."""


class Title(HiddenRecord):
    """A name of the session."""

    title: str | None = None


class Metadata(HiddenRecord, tag="metadata"):
    """Metadata/message dialect: the first line."""

    model: str | None = None


class FileSnapshot(HiddenRecord, tag="file-history-snapshot"):
    """The files that Claude Code tracks, and the copies that it made of them."""

    snapshot: Raw = NOTHING


class FileBackup(HiddenRecord, tag="file-history-delta"):
    """A copy of one file, made before a change."""

    path: str | None = field(default=None, name="trackingPath")
    backup: Raw = NOTHING


class PermissionMode(HiddenRecord, tag="permission-mode"):
    """What tools are allowed to do from here on."""

    mode: str | None = field(default=None, name="permissionMode")


class PullRequest(HiddenRecord, tag="pr-link"):
    """A pull request of the session; written again with every push."""

    number: int | None = field(default=None, name="prNumber")
    url: str | None = field(default=None, name="prUrl")
    repository: str | None = field(default=None, name="prRepository")


class QueueOperation(HiddenRecord, tag="queue-operation"):
    """A prompt that was typed while the model worked enters the queue, or leaves it."""

    operation: str | None = None
    content: Raw = NOTHING


class UsageLine(HiddenRecord, tag="usage", rename=None):
    """Metadata/message dialect: the tokens of a response."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_tokens: int | None = None
    cache_read_tokens: int | None = None


class UnknownRecord(Event, tag="?"):
    """A record of an unknown type."""

    kind: str = field(default="?", name=UNKNOWN_NAME)  # type: ignore[misc]  # the one event with a type of its own


class Malformed(Event, tag="(malformed)"):
    """A line, or a part of one, that could not be read."""

    offset: int = 0
    reason: str = ""


class TooLong(Malformed, tag="(too long)"):
    """A line that is too long to decode."""

    size: int = 0


class Blank(Event, tag="(blank)"):
    """An empty line."""


# --- records of other dialects, which `dialects` translates into those above --------------------


class LegacyMessage(Event, tag="message", rename=None):
    """Metadata/message dialect: a message of a person or of the model."""

    role: str | None = None
    content: Content = None


class LineMessage(Struct, gc=False):
    """The message of a tool call or tool result on a line of its own."""

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
    """Transcript dialect: a tool result on a line of its own."""

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
name_kinds(Event)

AnyEvent: Final[Any] = Union[RECORDS + (UnknownRecord,)]  # noqa: UP007
"""Every record that a file can hold, distinguished by its `type`."""

decode: Final = msgspec.json.Decoder(AnyEvent).decode
"""Decodes one line into its event; raises `DECODE_ERRORS` on anything that does not fit exactly."""
