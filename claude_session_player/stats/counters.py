"""Counts of one session file: prompts, tool calls, errors, compactions, forks, files.

`EventCounter` is the plain reference and counts any session. `LineCounter` reads partial records instead of events,
which takes a third of the time, and gives up where that could change a count; a property test compares the two.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.files import TouchCounter, absolute_path, file_key, is_absolute
from claude_session_player.format.blocks import DECODE_ERRORS, AnyBlock, ServerToolUse, ToolResult, ToolUse, type_tag
from claude_session_player.format.events import (
    COMPACTION,
    FAILED_REQUESTS,
    QUEUED,
    Assistant,
    Attachment,
    Blank,
    CallLine,
    Event,
    LegacyMessage,
    MessageEvent,
    PullRequest,
    QueueOperation,
    ResultLine,
    System,
    User,
)
from claude_session_player.format.partial_records import (
    CountBlock,
    CountRecord,
    decode_count_record,
)
from claude_session_player.linking.copies import CopyDetector, call_key, response_id
from claude_session_player.linking.prompts import (
    TypedCommands,
    classify_human_prompt,
    human_prompt,
    with_queued_prompts,
)
from claude_session_player.linking.subagents import subagent_positions
from claude_session_player.parser import decode_lines
from claude_session_player.tools import TOOLS, FileTouch, touched_file
from claude_session_player.transcript import ConversationTree, LineRole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

READ: Final = "read"
CHANGED: Final = "changed"
_FILE_TOOLS: Final = {
    name: READ if tool.touch is FileTouch.READ else CHANGED for name, tool in TOOLS.items() if tool.touch is not None
}
"""What a tool does to the file that its input names."""
UNNAMED: Final = "unnamed"
"""The name of a tool, or the type of a sub-agent, that the file does not give."""

_TOOL_RESULT: Final = type_tag(ToolResult)
_CALLS: Final = frozenset((type_tag(ToolUse), type_tag(ServerToolUse)))
_UUID: Final = attrgetter("uuid")
_PARENT: Final = attrgetter("parent_uuid")
_TIME: Final = attrgetter("timestamp")
_VERSION: Final = attrgetter("version")
_TYPE: Final = attrgetter("type")
_PARENTS: Final = 1
"""The number of the column of parents."""
_DECODE: Final = -2
"""Instead of a role in the tree: the partial record is not enough, so the line has to be decoded."""


class SessionCounts:
    """The counts of a session file. Lines are counted in file order."""

    def __init__(self, *, skips_sidechains: bool = False) -> None:
        self.times: list[str] = []
        self.versions: dict[str, None] = {}
        self.prompts = 0
        self.errors = 0
        self.compactions = 0
        self.tools: list[str] = []
        self.pull_requests: dict[str, PullRequest] = {}
        """By URL: a session links a pull request again with every push."""
        self.tree = ConversationTree()
        self._files: dict[str, tuple[str, str]] = {}
        """What each tool call did to a file, and the path of the file, by the id of the call."""
        self._failed_calls: set[str] = set()
        self._skips_sidechains = skips_sidechains

    def count_files(self, action: str) -> int:
        """How many files were read, or changed; failed calls do not count."""
        paths = {path for done, path in self._files.values() if done == action}
        return len({file_key(absolute_path(path, None)) for path in paths})

    def count_forks(self) -> int:
        """How many forks the conversation has."""
        return len(self.tree.forks)

    def count_call(self, block: CountBlock | ToolUse, path: str | None) -> None:
        """Count a tool call, and the file that its input names."""
        name = block.name or UNNAMED
        self.tools.append(name)
        if path and name in _FILE_TOOLS and block.id not in self._failed_calls:
            self._files[block.id or path] = _FILE_TOOLS[name], path

    def count_error(self, call: str | None) -> None:
        """Count a tool result that is an error; several results of one call count once."""
        if call:
            if call in self._failed_calls:
                return
            self._failed_calls.add(call)
        self.errors += 1
        self._files.pop(call or "", None)

    def _collect(self, lines: Sequence[CountRecord] | Sequence[Event]) -> None:
        """Collect the times and versions, which most lines have."""
        self.times += filter(None, map(_TIME, lines))
        self.versions |= dict.fromkeys(filter(None, map(_VERSION, lines)))

    def _count_event(self, event: Event) -> None:
        if (count := _EVENT_COUNTERS.get(type(event))) is not None:
            count(self, event)


class EventCounter(SessionCounts):
    """Counts the events of any session: the reference for `LineCounter`, and the fallback where that gives up."""

    def __init__(self, *, skips_sidechains: bool = False, is_agent: bool = False) -> None:
        super().__init__(skips_sidechains=skips_sidechains)
        self._is_agent = is_agent
        self._touches = TouchCounter()
        self._calls: set[int | None] = set()

    def count_files(self, action: str) -> int:
        """How many files were read, or changed."""
        files = self._touches.files.values()
        return sum(bool(touches.reads if action == READ else touches.changes) for touches in files)

    def count_call(self, block: CountBlock | ToolUse, path: str | None) -> None:
        """Count a tool call, unless it repeats an earlier one."""
        key = call_key(block) if block.id and isinstance(block, ToolUse) else None
        if key is None or key not in self._calls:
            self._calls.add(key)
            super().count_call(block, path)

    def count_events(self, events: Iterable[Event]) -> None:
        """Count all events of a session."""
        records = (event for event in events if type(event) is not Blank)  # there may be millions, all empty
        for event, is_copy in CopyDetector().mark(with_queued_prompts(records, is_agent=self._is_agent)):
            self._collect((event,))
            if self._skips_sidechains and (event.is_sidechain or event.agent_call):
                continue
            if is_copy:
                self.tree.add_copy(event)
                continue
            self.tree.add(event)
            self.prompts += human_prompt(event) is not None
            self._count_event(event)
            self._touches.take(event)


class LineCounter(SessionCounts):
    """Counts lines by their partial records: small structs without texts, handled column by column.

    It knows no copies, no queued prompts and no working directories. Where a line may depend on them, or is not a plain
    record, it sets `needs_events`: then the counts are void, and `EventCounter` has to count instead.
    """

    def __init__(self, *, skips_sidechains: bool = False) -> None:
        super().__init__(skips_sidechains=skips_sidechains)
        self.needs_events = False
        self._columns: list[list[Any]] = [[], [], [], []]
        """The rows of the tree by column: uuids, parents, line numbers, roles."""
        self._seen: set[str | None] = set()
        self._prompt_times: set[str] = set()
        self._typed = TypedCommands()
        self._notice_times: set[str] = set()
        self._responses: set[str] = set()
        """The ids of responses before the last prompt."""
        self._new_responses: set[str] = set()
        """The ids of responses after it."""
        self.last_response: str | None = None
        """The response of the last line, unless a prompt followed it."""
        self._calls: set[str | None] = set()
        self._line = 0

    def count_lines(self, lines: Sequence[bytes]) -> None:
        """Count some lines, unless events are needed anyway."""
        if self.needs_events:
            return
        try:
            self._count_records(list(map(decode_count_record, lines)), lines)
        except DECODE_ERRORS:
            self.needs_events = True

    def count_forks(self) -> int:
        """How many forks the conversation has: none if no line has two children, and then no tree is built."""
        parents = self._columns[_PARENTS]
        if len(set(parents) - {None}) + parents.count(None) < len(parents):
            self.tree.add_rows(zip(*self._columns, strict=True))
        return len(self.tree.forks)

    def _count_records(self, records: Sequence[CountRecord], lines: Sequence[bytes]) -> None:
        self._collect(records)
        before = self._line
        uuids, parents, roles = list(map(_UUID, records)), list(map(_PARENT, records)), [LineRole.PLAIN] * len(records)
        self._check_for_copies(uuids)
        sides = subagent_positions(records)
        absent = set(sides) if self._skips_sidechains else ()
        for number, count in enumerate(map(_RECORD_COUNTERS.get, map(_TYPE, records))):
            if count is not None and number not in absent:
                role = count(self, records[number])
                if role == _DECODE:
                    parents[number], role = self._count_decoded(lines[number], before + number)
                roles[number] = role
        for number in sides:
            roles[number] |= LineRole.SIDECHAIN
        for number in absent:
            parents[number], roles[number] = None, LineRole.ABSENT
        for column, more in zip(
            self._columns, (uuids, parents, range(before + 1, before + 1 + len(records)), roles), strict=True
        ):
            column.extend(more)  # by column, because there are many rows and they are rarely needed
        self._line += len(lines)

    def _check_for_copies(self, uuids: Sequence[str | None]) -> None:
        seen, before = self._seen, len(self._seen)
        seen.update(uuids)
        seen.discard(None)
        if len(seen) - before < len(uuids) - uuids.count(None):
            self.needs_events = True

    def _count_decoded(self, line: bytes, before: int) -> tuple[str | None, int]:
        """Count the event of a line; return its parent and its role in the tree."""
        events = decode_lines((line,), before, 0)
        if len(events) != 1:
            self.needs_events = True
            return None, LineRole.ABSENT
        (event,) = events
        if isinstance(event, Assistant) and event.is_api_error:
            self._note_failed_request(event)
        said = classify_human_prompt(event)
        if said is not None:
            self._count_prompt(event)
        self._count_event(event)
        _, parent, _, role = self.tree.row(event, is_prompt=said is not None and not said.is_command)
        return parent, role

    def _count_prompt(self, event: Event) -> None:
        self.prompts += 1
        self.needs_events = self.needs_events or self._typed.is_run(event)
        self._responses |= self._new_responses
        self._new_responses = set()
        self.last_response = None
        if (time := event.timestamp) is not None:
            self.needs_events = self.needs_events or time in self._prompt_times
            self._prompt_times.add(time)

    def _note_failed_request(self, event: Assistant) -> None:
        """Note a failed request; one with the id of another response may be a copy."""
        response = response_id(event.message.id if event.message is not None else None, event.request_id)
        if response is not None:
            self.needs_events = self.needs_events or response in self._new_responses
            self.note_response(response)

    def note_notice(self, time: str | None) -> None:
        """Note a notice that counts; one with the time of another may be a copy."""
        if time is not None:
            self.needs_events = self.needs_events or time in self._notice_times
            self._notice_times.add(time)

    def note_response(self, response: str) -> None:
        """Note a line of a response, by its id; one that continues after a prompt may be a copy."""
        self.needs_events = self.needs_events or response in self._responses
        self._new_responses.add(response)
        self.last_response = response

    def count_call(self, block: CountBlock | ToolUse, path: str | None) -> None:
        """Count a tool call; one with the id of another may be a copy, one without an id is paired by its position."""
        id = block.id
        if not id or id in self._calls or (path is not None and not is_absolute(path)):
            self.needs_events = True
        self._calls.add(id)
        super().count_call(block, path)


# --- partial records: each function returns the role of its line in the tree, or `_DECODE` ------------------


def _count_response_record(counter: LineCounter, record: CountRecord) -> int:
    message = record.message
    if message is None or record.is_api_error:
        return _DECODE
    if type(content := message.content) is list:
        for block in content:
            if block.type == _TOOL_RESULT and block.is_error:
                counter.count_error(block.tool_use_id)
            elif block.type in _CALLS:
                given = block.input
                counter.count_call(block, (given.file_path or given.notebook_path) if given else None)
    if (response := message.id or record.request_id) and response != counter.last_response:  # most have several lines
        counter.note_response(response)
    return counter.tree.response_role(record.request_id or message.id)


def _count_user_record(counter: LineCounter, record: CountRecord) -> int:
    """Count a user line; nine of ten have one tool result."""
    blocks = record.message.content if record.message is not None else None
    if type(blocks) is not list or len(blocks) != 1 or blocks[0].type != _TOOL_RESULT:
        return _DECODE
    if blocks[0].is_error:
        counter.count_error(blocks[0].tool_use_id)
    return LineRole.TOOL


def _count_attachment_record(counter: LineCounter, record: CountRecord) -> int:
    return _DECODE if record.attachment is not None and record.attachment.type == QUEUED else LineRole.PLAIN


def _count_notice_record(counter: LineCounter, record: CountRecord) -> int:
    if record.subtype == COMPACTION or record.subtype in FAILED_REQUESTS:
        counter.note_notice(record.timestamp)
    counter.errors += record.subtype in FAILED_REQUESTS
    return _DECODE if record.subtype == COMPACTION else LineRole.PLAIN


def _count_queue_record(counter: LineCounter, record: CountRecord) -> int:
    """A prompt that is removed from the queue may appear nowhere else."""
    counter.needs_events = counter.needs_events or record.operation == "remove"
    return LineRole.PLAIN


def _decode_record(counter: LineCounter, record: CountRecord) -> int:
    return _DECODE


_RECORD_COUNTERS: Final[dict[str | None, Callable[[LineCounter, CountRecord], int]]] = {
    type_tag(Assistant): _count_response_record,
    type_tag(User): _count_user_record,
    type_tag(Attachment): _count_attachment_record,
    type_tag(System): _count_notice_record,
    type_tag(QueueOperation): _count_queue_record,
    **{type_tag(kind): _decode_record for kind in (LegacyMessage, CallLine, ResultLine, PullRequest)},
}


# --- events ---------------------------------------------------------------------------------------


def _count_response(counts: SessionCounts, event: Assistant) -> None:
    counts.errors += event.is_api_error is True
    _count_results(counts, event)
    for block in _blocks(event):
        if isinstance(block, ToolUse):
            touched = touched_file(block.name, block.input)
            counts.count_call(block, touched[1] if touched else None)


def _count_results(counts: SessionCounts, event: MessageEvent) -> None:
    for block in _blocks(event):
        if type(block) is ToolResult and block.is_error:
            counts.count_error(block.tool_use_id)


def _count_notice(counts: SessionCounts, event: System) -> None:
    counts.compactions += event.subtype == COMPACTION
    counts.errors += event.subtype in FAILED_REQUESTS


def _count_pull_request(counts: SessionCounts, event: PullRequest) -> None:
    if event.url:
        counts.pull_requests.setdefault(event.url, event)


_EVENT_COUNTERS: Final[dict[type[Event], Callable[[SessionCounts, Any], None]]] = {
    Assistant: _count_response,
    User: _count_results,
    System: _count_notice,
    PullRequest: _count_pull_request,
}


def _blocks(event: MessageEvent) -> list[AnyBlock]:
    said = event.message_content
    return said if isinstance(said, list) else []
