"""What is counted in one pass over a session file.

Most lines are only skimmed: a small struct without texts and outputs is enough, and Python does little for each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, Final

from claude_session_player.content import said_in
from claude_session_player.conversation.branches import ABSENT, PLAIN, SIDE, TOOL, Branches, Row
from claude_session_player.conversation.copies import Copies
from claude_session_player.events import (
    COMPACTION,
    QUEUED,
    REFUSALS,
    AnyBlock,
    Assistant,
    Attachment,
    CallLine,
    Event,
    LegacyMessage,
    ResultLine,
    ServerToolUse,
    System,
    ToolResult,
    ToolUse,
    Turn,
    User,
    tag_of,
)
from claude_session_player.glances import Skim, SkimmedBlock, directory_of, places_of_subagents, skim
from claude_session_player.insight.file_paths import absolute, file_key, is_absolute
from claude_session_player.normalized import human_prompt
from claude_session_player.parser import decode_lines
from claude_session_player.tools import TOOLS, Touch, touched_file

READ: Final = "read"
CHANGED: Final = "changed"
_FILE_TOOLS: Final = {
    name: READ if tool.touch is Touch.READ else CHANGED for name, tool in TOOLS.items() if tool.touch is not None
}
"""What becomes of the file that a tool is asked for."""
UNNAMED: Final = "unnamed"
"""A tool or a sub-agent of which the kind is not known."""

_API_ERROR: Final = "api_error"
_TOOL_RESULT: Final = tag_of(ToolResult)
_CALLS: Final = frozenset((tag_of(ToolUse), tag_of(ServerToolUse)))
_UUID: Final = attrgetter("uuid")
_PARENT: Final = attrgetter("parent_uuid")
_TIME: Final = attrgetter("timestamp")
_VERSION: Final = attrgetter("version")
_TYPE: Final = attrgetter("type")
_PARENTS: Final = 1
"""The column of the parents."""
_CLOSER: Final = -2
"""Instead of a role in the tree: the line is worth a closer look."""


class Tally:
    """What was counted so far. Lines come in batches, in the order of the file."""

    def __init__(self, *, skips_sidechains: bool = False) -> None:
        self.times: list[str] = []
        self.versions: dict[str, None] = {}
        self.prompts = 0
        self.errors = 0
        self.compactions = 0
        self.tools: list[str] = []
        self.branches = Branches()
        self._columns: list[list[Any]] = [[], [], [], []]
        """Rows of the tree: uuids, parents, lines, roles."""
        self._files: dict[str, tuple[str, str, str | None]] = {}
        """Of each call that asks for a file: what becomes of the file, its path, and what that is relative to."""
        self._batch: Sequence[bytes] = ()
        self._at = 0
        """Where in the batch the line is that is being counted."""
        self._cwd: str | None = None
        """The directory of the last line before the batch that told one."""
        self._seen: set[str | None] = set()
        self._prompts = Copies()
        self._odd = Copies()
        """Lines that are no plain records."""
        self._calls: set[str] = set()
        self._failed: set[str] = set()
        self._line = 0
        self._skips_sidechains = skips_sidechains

    def count_files(self, fate: str) -> int:
        """How many files were read, or changed; a call that failed did neither."""
        spelled = {(path, cwd) for what, path, cwd in self._files.values() if what == fate}
        return len({file_key(absolute(path, cwd)) for path, cwd in spelled})

    def count_forks(self) -> int:
        """How often the conversation went back. Where no line has two children, no tree is needed to tell."""
        parents = self._columns[_PARENTS]
        if len(set(parents) - {None}) + parents.count(None) < len(parents):
            self.branches.grow(zip(*self._columns, strict=True))
        return len(self.branches.forks)

    def _add(self, *columns: Iterable[Any]) -> None:
        """Rows of the tree, column by column: they are many, and seldom needed."""
        for column, more in zip(self._columns, columns, strict=False):
            column.extend(more)

    def take(self, lines: Sequence[bytes]) -> None:
        """Take in some lines."""
        self._batch, start = lines, self._line
        try:
            self._take_skims(list(map(skim, lines)), lines, start)
        except REFUSALS:
            for line in lines:
                self._take_odd(line, start)
        self._at = len(lines)
        self._cwd = self._directory()

    def _take_odd(self, line: bytes, start: int) -> None:
        """A line from a place where some line is no plain record."""
        try:
            self._take_skims((skim(line),), (line,), start)
        except REFUSALS:
            self._at = self._line - start
            events = decode_lines((line,), self._line, 0)
            self._note(events)
            fresh = [one for one in events if not self._odd.has(one.uuid, one.timestamp, said_in(one))]
            self._add(*zip(*self._take_events(fresh), strict=True))
            self._line += 1

    def _take_skims(self, skims: Sequence[Skim], lines: Sequence[bytes], start: int) -> None:
        """Lines of a batch that begins behind the line `start`."""
        self._note(skims)
        before = self._line
        uuids, parents, roles = list(map(_UUID, skims)), list(map(_PARENT, skims)), [PLAIN] * len(skims)
        sides, absent = places_of_subagents(skims), self._copies(uuids)
        if sides and self._skips_sidechains:
            absent = {*absent, *sides}
        for number, look in enumerate(map(_LOOKS.get, map(_TYPE, skims))):
            if look is not None and number not in absent:
                self._at = before - start + number
                role = look(self, skims[number])
                if role == _CLOSER:
                    parents[number], role = self._look_closer(lines[number], before + number)
                roles[number] = role
        for number in sides:
            roles[number] |= SIDE
        for number in absent:
            parents[number], roles[number] = None, ABSENT
        self._add(uuids, parents, range(before + 1, before + 1 + len(skims)), roles)
        self._line += len(lines)

    def _copies(self, uuids: Sequence[str | None]) -> Collection[int]:
        """The positions of those that were there before: the same uuid is one event."""
        seen, fresh = self._seen, set(uuids)
        fresh.discard(None)
        if len(fresh) + uuids.count(None) == len(uuids) and seen.isdisjoint(fresh):
            seen |= fresh
            return ()
        found = set()
        for number, uuid in enumerate(uuids):
            if uuid is not None and uuid in seen:
                found.add(number)
            seen.add(uuid)
        return found

    def _look_closer(self, line: bytes, before: int) -> tuple[str | None, int]:
        """Take in the event of a line; gives its parent and its role in the tree."""
        for _, parent, _, role in self._take_events(decode_lines((line,), before, 0)):
            return parent, role
        return None, ABSENT

    def _note(self, lines: Sequence[Skim] | Sequence[Event]) -> None:
        """What most lines have."""
        self.times += filter(None, map(_TIME, lines))
        self.versions |= dict.fromkeys(filter(None, map(_VERSION, lines)))

    def _take_events(self, events: Iterable[Event]) -> list[Row]:
        rows = []
        for event in events:
            if self._skips_sidechains and (event.is_sidechain or event.agent_call):
                continue
            is_prompt = human_prompt(event) is not None
            self.prompts += is_prompt and not self._prompts.has(event.uuid, event.timestamp, said_in(event))
            if (taker := _TAKERS.get(type(event))) is not None:
                taker(self, event)
            rows.append(self.branches.row(event, is_prompt=is_prompt))
        return rows

    def count_call(self, block: SkimmedBlock | ToolUse, path: str | None) -> None:
        """A call of a tool, and the file that it asks for; a call that was written anew is the same."""
        if block.id is not None:
            if block.id in self._calls:
                return
            self._calls.add(block.id)
        name = block.name or UNNAMED
        self.tools.append(name)
        if path and name in _FILE_TOOLS:
            self._files[block.id or path] = _FILE_TOOLS[name], path, None if is_absolute(path) else self._directory()

    def _directory(self) -> str | None:
        """The directory that the session is in: the last one that was told."""
        for line in reversed(self._batch[: self._at + 1]):
            with suppress(*REFUSALS):
                if cwd := directory_of(line).cwd:
                    return cwd
        return self._cwd

    def count_error(self, call: str | None) -> None:
        """A result that is an error."""
        if call is not None:
            if call in self._failed:
                return
            self._failed.add(call)
        self.errors += 1
        self._files.pop(call or "", None)


# --- skimmed: the role of a line in the tree, or that it is worth a closer look ------------------------


def _skim_answer(tally: Tally, seen: Skim) -> int:
    message = seen.message
    if message is None or seen.is_api_error:
        return _CLOSER
    if type(content := message.content) is list:
        for block in content:
            if block.name is not None and block.type in _CALLS:
                asked = block.input
                tally.count_call(block, (asked.file_path or asked.notebook_path) if asked else None)
    return tally.branches.response_role(seen.request_id or message.id)


def _skim_user(tally: Tally, seen: Skim) -> int:
    """Nine lines of ten are results of tools."""
    blocks = seen.message.content if seen.message is not None else None
    if type(blocks) is not list or len(blocks) != 1 or blocks[0].type != _TOOL_RESULT:
        return _CLOSER
    if blocks[0].is_error:
        tally.count_error(blocks[0].tool_use_id)
    return TOOL


def _skim_attachment(tally: Tally, seen: Skim) -> int:
    return _CLOSER if seen.attachment is not None and seen.attachment.type == QUEUED else PLAIN


def _skim_remark(tally: Tally, seen: Skim) -> int:
    tally.errors += seen.subtype == _API_ERROR
    return _CLOSER if seen.subtype == COMPACTION else PLAIN


def _look_closer(tally: Tally, seen: Skim) -> int:
    return _CLOSER


_LOOKS: Final[dict[str | None, Callable[[Tally, Skim], int]]] = {
    tag_of(Assistant): _skim_answer,
    tag_of(User): _skim_user,
    tag_of(Attachment): _skim_attachment,
    tag_of(System): _skim_remark,
    **{tag_of(kind): _look_closer for kind in (LegacyMessage, CallLine, ResultLine)},
}


# --- one event at a time --------------------------------------------------------------------------


def _take_answer(tally: Tally, event: Assistant) -> None:
    tally.errors += event.is_api_error is True
    for block in _blocks(event):
        if isinstance(block, ToolUse):
            touched = touched_file(block.name, block.input)
            tally.count_call(block, touched[1] if touched else None)


def _take_user(tally: Tally, event: User) -> None:
    for block in _blocks(event):
        if type(block) is ToolResult and block.is_error:
            tally.count_error(block.tool_use_id)


def _take_remark(tally: Tally, event: System) -> None:
    tally.compactions += event.subtype == COMPACTION
    tally.errors += event.subtype == _API_ERROR


_TAKERS: Final[dict[type[Event], Callable[[Tally, Any], None]]] = {
    Assistant: _take_answer,
    User: _take_user,
    System: _take_remark,
}


def _blocks(event: Turn) -> list[AnyBlock]:
    said = event.said
    return said if isinstance(said, list) else []
