"""What is counted in one pass over a session file: prompts, calls, errors, compactions, forks, files."""

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
    subagent_positions,
)
from claude_session_player.linking.copies import CopyDetector, call_key, response_id
from claude_session_player.linking.prompts import classify_human_prompt, human_prompt, with_queued_prompts
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
"""What becomes of the file that a tool is asked for."""
UNNAMED: Final = "unnamed"
"""A tool or a sub-agent of which the kind is not known."""

_TOOL_RESULT: Final = type_tag(ToolResult)
_CALLS: Final = frozenset((type_tag(ToolUse), type_tag(ServerToolUse)))
_UUID: Final = attrgetter("uuid")
_PARENT: Final = attrgetter("parent_uuid")
_TIME: Final = attrgetter("timestamp")
_VERSION: Final = attrgetter("version")
_TYPE: Final = attrgetter("type")
_PARENTS: Final = 1
"""The column of the parents."""
_CLOSER: Final = -2
"""Instead of a role in the tree: the line is worth a closer look."""


class SessionCounts:
    """What was counted in the file of a session. Lines come in the order of the file."""

    def __init__(self, *, skips_sidechains: bool = False) -> None:
        self.times: list[str] = []
        self.versions: dict[str, None] = {}
        self.prompts = 0
        self.errors = 0
        self.compactions = 0
        self.tools: list[str] = []
        self.pull_requests: dict[str, PullRequest] = {}
        """By address: a session links the same one with every push."""
        self.branches = ConversationTree()
        self._files: dict[str, tuple[str, str]] = {}
        """Of each call that asks for a file: what becomes of the file, and its path."""
        self._failed: set[str] = set()
        self._skips_sidechains = skips_sidechains

    def count_files(self, fate: str) -> int:
        """How many files were read, or changed; a call that failed did neither."""
        spelled = {path for what, path in self._files.values() if what == fate}
        return len({file_key(absolute_path(path, None)) for path in spelled})

    def count_forks(self) -> int:
        """How often the conversation went back."""
        return len(self.branches.forks)

    def count_call(self, block: CountBlock | ToolUse, path: str | None) -> None:
        """A call of a tool, and the file that it asks for."""
        name = block.name or UNNAMED
        self.tools.append(name)
        if path and name in _FILE_TOOLS and block.id not in self._failed:
            self._files[block.id or path] = _FILE_TOOLS[name], path

    def count_error(self, call: str | None) -> None:
        """A result that is an error."""
        if call:
            if call in self._failed:
                return
            self._failed.add(call)
        self.errors += 1
        self._files.pop(call or "", None)

    def _note(self, lines: Sequence[CountRecord] | Sequence[Event]) -> None:
        """What most lines have."""
        self.times += filter(None, map(_TIME, lines))
        self.versions |= dict.fromkeys(filter(None, map(_VERSION, lines)))

    def _count_event(self, event: Event) -> None:
        if (counter := _COUNTERS.get(type(event))) is not None:
            counter(self, event)


class EventCounter(SessionCounts):
    """Counts events, for any session: the reference for `LineCounter`, and what counts where that one cannot."""

    def __init__(self, *, skips_sidechains: bool = False, is_agent: bool = False) -> None:
        super().__init__(skips_sidechains=skips_sidechains)
        self._is_agent = is_agent
        self._toucher = TouchCounter()
        self._calls: set[int | None] = set()

    def count_files(self, fate: str) -> int:
        """How many files were read, or changed."""
        touched = self._toucher.files.values()
        return sum(bool(touches.reads if fate == READ else touches.changes) for touches in touched)

    def count_call(self, block: CountBlock | ToolUse, path: str | None) -> None:
        """A call of a tool; one that was written anew is the same."""
        key = call_key(block) if block.id and isinstance(block, ToolUse) else None
        if key is None or key not in self._calls:
            self._calls.add(key)
            super().count_call(block, path)

    def read(self, events: Iterable[Event]) -> None:
        """Count all events of a session."""
        told = (event for event in events if type(event) is not Blank)  # there may be millions, and they say nothing
        spoken = with_queued_prompts(told, is_agent=self._is_agent)
        for event, is_copy in CopyDetector().mark(spoken):
            self._note((event,))
            if self._skips_sidechains and (event.is_sidechain or event.agent_call):
                continue
            if is_copy:
                self.branches.add_copy(event)
                continue
            self.branches.add(event)
            self.prompts += human_prompt(event) is not None
            self._count_event(event)
            self._toucher.take(event)


class LineCounter(SessionCounts):
    """Counts lines, most of which are only skimmed: a small struct without texts is enough, and Python does little.

    It knows neither copies nor queued prompts nor directories. Where it sees a sign of them, or a line that is no plain
    record, it `is_unsure`: then events have to be counted instead.
    """

    def __init__(self, *, skips_sidechains: bool = False) -> None:
        super().__init__(skips_sidechains=skips_sidechains)
        self.is_unsure = False
        self._columns: list[list[Any]] = [[], [], [], []]
        """Rows of the tree: uuids, parents, lines, roles."""
        self._seen: set[str | None] = set()
        self._prompt_times: set[str] = set()
        self._remark_times: set[str] = set()
        self._responses: set[str] = set()
        """Those before the last prompt."""
        self._new_responses: set[str] = set()
        self.last_response: str | None = None
        """The one that the last line belongs to, unless a prompt came behind it."""
        self._calls: set[str | None] = set()
        self._line = 0

    def take(self, lines: Sequence[bytes]) -> None:
        """Take in some lines, unless it is unsure already."""
        if self.is_unsure:
            return
        try:
            self._take_skims(list(map(decode_count_record, lines)), lines)
        except DECODE_ERRORS:
            self.is_unsure = True

    def count_forks(self) -> int:
        """How often the conversation went back. Where no line has two children, no tree is needed to tell."""
        parents = self._columns[_PARENTS]
        if len(set(parents) - {None}) + parents.count(None) < len(parents):
            self.branches.add_rows(zip(*self._columns, strict=True))
        return len(self.branches.forks)

    def _take_skims(self, skims: Sequence[CountRecord], lines: Sequence[bytes]) -> None:
        self._note(skims)
        before = self._line
        uuids, parents, roles = list(map(_UUID, skims)), list(map(_PARENT, skims)), [LineRole.PLAIN] * len(skims)
        self._look_for_copies(uuids)
        sides = subagent_positions(skims)
        absent = set(sides) if self._skips_sidechains else ()
        for number, look in enumerate(map(_LOOKS.get, map(_TYPE, skims))):
            if look is not None and number not in absent:
                role = look(self, skims[number])
                if role == _CLOSER:
                    parents[number], role = self._look_closer(lines[number], before + number)
                roles[number] = role
        for number in sides:
            roles[number] |= LineRole.SIDECHAIN
        for number in absent:
            parents[number], roles[number] = None, LineRole.ABSENT
        for column, more in zip(
            self._columns, (uuids, parents, range(before + 1, before + 1 + len(skims)), roles), strict=True
        ):
            column.extend(more)  # column by column: rows are many, and seldom needed
        self._line += len(lines)

    def _look_for_copies(self, uuids: Sequence[str | None]) -> None:
        seen, before = self._seen, len(self._seen)
        seen.update(uuids)
        seen.discard(None)
        if len(seen) - before < len(uuids) - uuids.count(None):
            self.is_unsure = True

    def _look_closer(self, line: bytes, before: int) -> tuple[str | None, int]:
        """Take in the event of a line; gives its parent and its role in the tree."""
        events = decode_lines((line,), before, 0)
        if len(events) != 1:
            self.is_unsure = True
            return None, LineRole.ABSENT
        (event,) = events
        if isinstance(event, Assistant) and event.is_api_error:
            self._note_failure(event)
        said = classify_human_prompt(event)
        if said is not None:
            self._count_prompt(event)
        self._count_event(event)
        _, parent, _, role = self.branches.row(event, is_prompt=said is not None and not said.is_command)
        return parent, role

    def _count_prompt(self, event: Event) -> None:
        self.prompts += 1
        self._responses |= self._new_responses
        self._new_responses = set()
        self.last_response = None
        if (time := event.timestamp) is not None:
            self.is_unsure = self.is_unsure or time in self._prompt_times
            self._prompt_times.add(time)

    def _note_failure(self, event: Assistant) -> None:
        """A request that failed; words for it with the id of another response may be a copy."""
        response = response_id(event.message.id if event.message is not None else None, event.request_id)
        if response is not None:
            self.is_unsure = self.is_unsure or response in self._new_responses
            self.note_response(response)

    def note_remark(self, time: str | None) -> None:
        """A remark that counts; one with the time of another may be a copy."""
        if time is not None:
            self.is_unsure = self.is_unsure or time in self._remark_times
            self._remark_times.add(time)

    def note_response(self, response: str) -> None:
        """A line of a response, by its id; one that goes on behind a prompt may be a copy."""
        self.is_unsure = self.is_unsure or response in self._responses
        self._new_responses.add(response)
        self.last_response = response

    def count_call(self, block: CountBlock | ToolUse, path: str | None) -> None:
        """A call of a tool; one with the id of another may be a copy, and one without has to be paired by its place."""
        id = block.id
        if not id or id in self._calls or (path is not None and not is_absolute(path)):
            self.is_unsure = True
        self._calls.add(id)
        super().count_call(block, path)


# --- skimmed: the role of a line in the tree, or that it is worth a closer look ------------------------


def _skim_answer(tally: LineCounter, seen: CountRecord) -> int:
    message = seen.message
    if message is None or seen.is_api_error:
        return _CLOSER
    if type(content := message.content) is list:
        for block in content:
            if block.type == _TOOL_RESULT and block.is_error:
                tally.count_error(block.tool_use_id)
            elif block.type in _CALLS:
                asked = block.input
                tally.count_call(block, (asked.file_path or asked.notebook_path) if asked else None)
    if (response := message.id or seen.request_id) and response != tally.last_response:  # most have several lines
        tally.note_response(response)
    return tally.branches.response_role(seen.request_id or message.id)


def _skim_user(tally: LineCounter, seen: CountRecord) -> int:
    """Nine lines of ten are results of tools."""
    blocks = seen.message.content if seen.message is not None else None
    if type(blocks) is not list or len(blocks) != 1 or blocks[0].type != _TOOL_RESULT:
        return _CLOSER
    if blocks[0].is_error:
        tally.count_error(blocks[0].tool_use_id)
    return LineRole.TOOL


def _skim_attachment(tally: LineCounter, seen: CountRecord) -> int:
    return _CLOSER if seen.attachment is not None and seen.attachment.type == QUEUED else LineRole.PLAIN


def _skim_remark(tally: LineCounter, seen: CountRecord) -> int:
    if seen.subtype == COMPACTION or seen.subtype in FAILED_REQUESTS:
        tally.note_remark(seen.timestamp)
    tally.errors += seen.subtype in FAILED_REQUESTS
    return _CLOSER if seen.subtype == COMPACTION else LineRole.PLAIN


def _skim_queue(tally: LineCounter, seen: CountRecord) -> int:
    """What leaves the queue may be a prompt that stands nowhere else."""
    tally.is_unsure = tally.is_unsure or seen.operation == "remove"
    return LineRole.PLAIN


def _look_closer(tally: LineCounter, seen: CountRecord) -> int:
    return _CLOSER


_LOOKS: Final[dict[str | None, Callable[[LineCounter, CountRecord], int]]] = {
    type_tag(Assistant): _skim_answer,
    type_tag(User): _skim_user,
    type_tag(Attachment): _skim_attachment,
    type_tag(System): _skim_remark,
    type_tag(QueueOperation): _skim_queue,
    **{type_tag(kind): _look_closer for kind in (LegacyMessage, CallLine, ResultLine, PullRequest)},
}


# --- one event at a time --------------------------------------------------------------------------


def _count_answer(counted: SessionCounts, event: Assistant) -> None:
    counted.errors += event.is_api_error is True
    _count_results(counted, event)
    for block in _blocks(event):
        if isinstance(block, ToolUse):
            touched = touched_file(block.name, block.input)
            counted.count_call(block, touched[1] if touched else None)


def _count_results(counted: SessionCounts, event: MessageEvent) -> None:
    for block in _blocks(event):
        if type(block) is ToolResult and block.is_error:
            counted.count_error(block.tool_use_id)


def _count_remark(counted: SessionCounts, event: System) -> None:
    counted.compactions += event.subtype == COMPACTION
    counted.errors += event.subtype in FAILED_REQUESTS


def _count_pull_request(counted: SessionCounts, event: PullRequest) -> None:
    if event.url:
        counted.pull_requests.setdefault(event.url, event)


_COUNTERS: Final[dict[type[Event], Callable[[SessionCounts, Any], None]]] = {
    Assistant: _count_answer,
    User: _count_results,
    System: _count_remark,
    PullRequest: _count_pull_request,
}


def _blocks(event: MessageEvent) -> list[AnyBlock]:
    said = event.message_content
    return said if isinstance(said, list) else []
