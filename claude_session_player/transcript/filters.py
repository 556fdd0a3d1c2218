"""Selects entries of a transcript: by category, tool, range or branch."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from claude_session_player.transcript.entries import Entry, EntryKind, TranscriptCall
from claude_session_player.util.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.transcript.walk import PlacedEntry

Bound = int | datetime
"""A line of the file, or a time."""

_CALLS: Final = (EntryKind.CALL, EntryKind.RESULT)
HEADS: Final = (EntryKind.AGENT, EntryKind.SECTION)
"""Headings of sub-agents and sections, which are not entries themselves."""

CATEGORIES: Final[dict[str, Callable[[PlacedEntry], bool]]] = {
    "user": lambda placed: (
        placed.entry.kind in (EntryKind.PROMPT, EntryKind.TASK, EntryKind.MESSAGE, EntryKind.OUTPUT, EntryKind.INJECTED)
    ),
    "assistant": lambda placed: placed.entry.kind is EntryKind.RESPONSE,
    "tools": lambda placed: placed.entry.kind in _CALLS,
    "errors": lambda placed: (
        placed.entry.kind is EntryKind.ERROR or (isinstance(placed.entry, TranscriptCall) and placed.entry.is_error)
    ),
    "thinking": lambda placed: placed.entry.kind is EntryKind.THINKING,
    "subagents": lambda placed: (
        placed.depth > 0 or (isinstance(placed.entry, TranscriptCall) and placed.entry.is_agent)
    ),
    "prompts": lambda placed: placed.entry.kind is EntryKind.PROMPT,
    "notes": lambda placed: placed.entry.kind in (EntryKind.NOTE, EntryKind.RECORD),
}
"""The categories by which entries are selected or left out."""


@dataclass(frozen=True)
class EntryFilter:
    """Which entries are selected; by default all of them."""

    only: frozenset[str] = frozenset()
    hide: frozenset[str] = frozenset()
    tool: str | None = None
    """A tool's name, or a pattern with wildcards."""
    start: Bound | None = None
    end: Bound | None = None
    is_on_branch: Callable[[int], bool] | None = None
    """True for the lines of the selected branch."""

    @property
    def is_everything(self) -> bool:
        """True if it leaves nothing out."""
        return self == EntryFilter()

    def apply(self, entries: Iterable[PlacedEntry]) -> Iterator[PlacedEntry]:
        """The selected entries. Those of a sub-agent come with the calls that lead to it."""
        if self.is_everything:
            yield from entries
            return
        heads: list[PlacedEntry] = []
        open_calls: list[bool] = []
        """For each call whose end has not come yet: whether it is selected."""
        selected = _Range(self)
        for placed in entries:
            if selected.is_over(placed):
                return
            while heads and heads[-1].depth >= placed.depth and not _leads(heads[-1], placed):
                heads.pop()
            if placed.is_end:
                if open_calls.pop():
                    yield placed
                continue
            is_wanted = selected.has(placed) and self._wants(placed)
            if placed.subagents_follow:
                open_calls.append(is_wanted)
            if is_wanted:
                yield from heads
                heads.clear()
                yield placed
            elif placed.subagents_follow or placed.entry.kind in HEADS:
                heads.append(placed)

    def _wants(self, placed: PlacedEntry) -> bool:
        entry = placed.entry
        if entry.kind in HEADS:
            return False
        if self.tool is not None and not (entry.kind in _CALLS and _matches_tool(entry, self.tool)):
            return False
        if self.only and not any(CATEGORIES[word](placed) for word in self.only):
            return False
        return not any(CATEGORIES[word](placed) for word in self.hide)


class _Range:
    """The part of a conversation between two bounds; a sub-agent belongs to its call."""

    def __init__(self, choice: EntryFilter) -> None:
        self._choice = choice
        self._time: datetime | None = None
        self._is_inside = True

    def has(self, placed: PlacedEntry) -> bool:
        """True if an entry is in the range. One without a time has the time of the one before."""
        if placed.depth == 0 and not placed.is_end and placed.entry.line:
            self._is_inside = self._contains(placed.entry)
        return self._is_inside

    def _contains(self, entry: Entry) -> bool:
        choice = self._choice
        if choice.is_on_branch is not None and not choice.is_on_branch(entry.line):
            return False
        if entry.timestamp:
            with contextlib.suppress(ValueError, OverflowError):
                self._time = parse_time(entry.timestamp)
        return self._is_behind(choice.start, entry, False) and not self._is_behind(choice.end, entry, True)

    def _is_behind(self, bound: Bound | None, entry: Entry, strictly: bool) -> bool:
        if bound is None:
            return not strictly
        if isinstance(bound, int):
            return entry.line > bound if strictly else entry.line >= bound
        if self._time is None:
            return False
        return self._time > bound if strictly else self._time >= bound

    def is_over(self, placed: PlacedEntry) -> bool:
        """True if nothing in the range can follow. Times sometimes go backwards, line numbers do not."""
        end = self._choice.end
        return isinstance(end, int) and placed.depth == 0 and not placed.is_end and placed.entry.line > end


def _leads(head: PlacedEntry, placed: PlacedEntry) -> bool:
    """True if an entry of the same depth belongs to a heading."""
    return head.entry.kind is EntryKind.SECTION and placed.entry.kind is EntryKind.AGENT and head.depth == placed.depth


def _matches_tool(entry: Entry, pattern: str) -> bool:
    name = entry.name if isinstance(entry, TranscriptCall) else ""
    return fnmatchcase(name.casefold(), pattern.casefold())
