"""Structs for what stays raw in an event: tool results, and what Claude Code records beside them.

Like `events`, this module knows the keys of the files. Its decoders raise `DECODE_ERRORS` on data that does not fit.
"""

from __future__ import annotations

from typing import Any, Final, Union

import msgspec
from msgspec import Raw, Struct, field

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import DECODE_ERRORS, NOTHING, Usage


class ResultPart(Struct, gc=False):
    """A part of a tool result. Its text can be huge, and stays raw."""

    type: str | None = None
    text: Raw = NOTHING
    source: Raw = NOTHING
    """Of a picture or a document."""
    tool_name: str | None = None
    """Of a reference to a tool."""


class MediaSource(Struct, gc=False):
    """A picture or a document: its data in base64, or its URL."""

    type: str | None = None
    media_type: str | None = None
    data: Raw = NOTHING
    url: str | None = None


class PatchResult(Struct, gc=False, rename="camel"):
    """The structured result of an edit."""

    structured_patch: list[Hunk]


class QuestionAnswers(Struct, gc=False):
    """What a person chose: an answer for each question."""

    answers: dict[str, Any]


class CreatedTask(Struct, gc=False):
    """A new task of the task list."""

    id: Any = None


class TaskResult(Struct, gc=False):
    """The structured result of adding a task to the list."""

    task: CreatedTask


class WorkflowStarted(Struct, gc=False, rename="camel"):
    """The structured result of a call that started a workflow."""

    run_id: str | None = None


class AgentResult(Struct, gc=False):
    """The structured result of a sub-agent."""

    content: list[Raw]


class AgentTotals(Struct, gc=False, rename="camel"):
    """What a sub-agent's work came to, as its structured result says."""

    tool_uses: float | None = field(default=None, name="totalToolUseCount")
    tokens: float | None = field(default=None, name="totalTokens")
    milliseconds: float | None = field(default=None, name="totalDurationMs")
    is_background: bool = field(default=False, name="isAsync")


class UsageStep(Usage, gc=False):
    """The tokens of one of the requests that made a response."""

    type: str | None = None


class SearchTotals(Struct, gc=False):
    """What a search found, as its structured result says."""

    mode: str | None = None
    files: int | None = field(default=None, name="numFiles")
    lines: int | None = field(default=None, name="numLines")
    matches: int | None = field(default=None, name="numMatches")


class AgentIdentity(Struct, gc=False, rename="camel"):
    """The sub-agent that a structured result names."""

    agent_id: str | None = None


class AgentLaunch(Struct, gc=False, rename="camel"):
    """What a structured result says about how a sub-agent runs; each field stays raw, because it may be anything."""

    is_async: Raw = NOTHING
    status: Raw = NOTHING

    @property
    def is_in_background(self) -> bool:
        """True if the sub-agent was only started, and works on while the session continues."""
        return bytes(self.is_async) == b"true" or bytes(self.status) in _LAUNCHED


_LAUNCHED: Final = (b'"async_launched"', b'"remote_launched"', b'"teammate_spawned"')


class WrappedOutput(Struct, gc=False):
    """Transcript dialect: output in an object; its key depends on the tool."""

    output: Raw = NOTHING
    stdout: Raw = NOTHING
    content: Raw = NOTHING
    text: Raw = NOTHING


class FileResult(Struct, gc=False, rename="camel"):
    """The structured result of a file tool; each field stays raw, because it may be anything."""

    type: Raw = NOTHING
    file: Raw = NOTHING
    content: Raw = NOTHING
    old_string: Raw = NOTHING
    new_string: Raw = NOTHING
    replace_all: Raw = NOTHING
    edits: Raw = NOTHING
    original_file: Raw = NOTHING
    original_of_many: Raw = field(default=NOTHING, name="originalFileContents")
    """The original file, as MultiEdit calls it."""
    structured_patch: Raw = NOTHING


class FilePart(Struct, gc=False, rename="camel"):
    """Some lines of a file, without line numbers. The empty line after a final line break counts as a line."""

    content: str
    start_line: int
    total_lines: int


class AttachedFile(Struct, gc=False):
    """A file in an attachment."""

    file: Raw = NOTHING


class Hunk(Struct, gc=False, rename="camel"):
    """A changed part of a file; each line begins with a space, a minus or a plus.

    Each tab at the beginning of a line is written as two spaces.
    """

    old_start: int
    new_start: int
    lines: list[str]


class Replacement(Struct, gc=False):
    """What an edit replaces: a text that occurs once, or every occurrence."""

    old: str = field(name="old_string")
    new: str = field(name="new_string")
    everywhere: bool = field(default=False, name="replace_all")


class FileInput(Struct, gc=False):
    """The input of a tool that reads or changes a file; the tool determines which fields are set."""

    content: Any = None
    edits: Any = None
    offset: Any = None
    limit: Any = None


class BackupList(Struct, gc=False, rename="camel"):
    """The copy of each tracked file."""

    tracked_file_backups: dict[str, Raw]


class Backup(Struct, gc=False, rename="camel"):
    """A copy of a file; without a name, the file did not exist."""

    name: str | None = field(default=None, name="backupFileName")
    time: str | None = field(default=None, name="backupTime")
    folder: str | None = field(default=None, name="realParentDir")


class HookRun(Struct, gc=False):
    """A hook that ran."""

    command: str | None = None


class DiagnosedFile(Struct, gc=False, rename="camel"):
    """A file and its diagnostics."""

    uri: str | None = None
    file_path: str | None = None
    diagnostics: Any = None


decode_text: Final = msgspec.json.Decoder(str).decode
decode_file_result: Final = msgspec.json.Decoder(FileResult).decode
decode_file_part: Final = msgspec.json.Decoder(FilePart).decode
decode_attached_file: Final = msgspec.json.Decoder(AttachedFile).decode
decode_hunks: Final = msgspec.json.Decoder(list[Hunk]).decode
decode_replacements: Final = msgspec.json.Decoder(list[Replacement]).decode
decode_backup_list: Final = msgspec.json.Decoder(BackupList).decode
decode_backup: Final = msgspec.json.Decoder(Backup).decode
decode_result: Final = msgspec.json.Decoder(Union[str, list[ResultPart], None]).decode  # noqa: UP007
decode_result_part: Final = msgspec.json.Decoder(ResultPart).decode
decode_agent_result: Final = msgspec.json.Decoder(AgentResult).decode
decode_agent_totals: Final = msgspec.json.Decoder(AgentTotals).decode
decode_search_totals: Final = msgspec.json.Decoder(SearchTotals).decode
decode_agent_identity: Final = msgspec.json.Decoder(AgentIdentity).decode
decode_agent_launch: Final = msgspec.json.Decoder(AgentLaunch).decode
decode_media_source: Final = msgspec.json.Decoder(MediaSource).decode
decode_patch_result: Final = msgspec.json.Decoder(PatchResult).decode
decode_question_answers: Final = msgspec.json.Decoder(QuestionAnswers).decode
decode_task_result: Final = msgspec.json.Decoder(TaskResult).decode
decode_workflow_started: Final = msgspec.json.Decoder(WorkflowStarted).decode
decode_wrapped_output: Final = msgspec.json.Decoder(WrappedOutput).decode
_decode_hook_runs: Final = msgspec.json.Decoder(list[HookRun]).decode
_decode_diagnosed_files: Final = msgspec.json.Decoder(list[DiagnosedFile]).decode

_REASON_KEYS: Final = ("blockingError", "message", "error", "stderr", "msg", "command")
"""The keys under which an object says why a hook failed, the best first."""


def parse_file_input(value: Any) -> FileInput:
    """The input of a call that concerns a file; empty if it is not an object."""
    return msgspec.convert(value, FileInput) if isinstance(value, dict) else FileInput()


def parse_usage_steps(value: Any) -> list[UsageStep]:
    """The requests that made a response; none if they are invalid."""
    try:
        return msgspec.convert(value, list[UsageStep]) if value else []
    except msgspec.ValidationError:
        return []


def parse_replacements(value: Any) -> list[Replacement] | None:
    """The replacements in a call's input, one or a list; `None` if they are invalid."""
    try:
        edits = value if isinstance(value, list) else [value]
        return msgspec.convert(edits, list[Replacement])
    except msgspec.ValidationError:
        return None


def hook_reason(raw: Raw | bytes) -> str:
    """Why a hook failed, or what it says: a text, an object that holds one, or a list of these.

    >>> hook_reason(b'{"blockingError": "lint failed", "command": "lint.sh"}'), hook_reason(b'["one", "two"]')
    ('lint failed', 'one; two')
    """
    return _reason(lenient_json.load_raw(raw))


def _reason(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(filter(None, map(_reason, value)))
    if isinstance(value, dict):
        found = (value[key] for key in _REASON_KEYS if value.get(key))
        return _reason(next(found, lenient_json.compact(value) if value else None))
    return "" if value is None else str(value)


def hook_commands(raw: Raw) -> list[str]:
    """The commands of the hooks that ran."""
    try:
        return [run.command for run in _decode_hook_runs(raw) if run.command]
    except DECODE_ERRORS:
        return []


def diagnosed_files(raw: Raw) -> list[tuple[str, int]]:
    """The files with diagnostics, and how many each has.

    >>> diagnosed_files(Raw(b'[{"uri": "file:///src/a.py", "diagnostics": [{"message": "unused"}]}]'))
    [('/src/a.py', 1)]
    """
    try:
        files = _decode_diagnosed_files(raw)
    except DECODE_ERRORS:
        return []
    named = ((file.file_path or file.uri or "", file.diagnostics) for file in files)
    return [(path.removeprefix("file://"), len(found)) for path, found in named if isinstance(found, list) and found]
