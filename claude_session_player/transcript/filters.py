"""What of a conversation is wanted: kinds of entries, tools, a stretch, a branch."""

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
"""A line of the file, or a moment."""

_CALLS: Final = (EntryKind.CALL, EntryKind.RESULT)
HEADS: Final = (EntryKind.AGENT, EntryKind.SECTION)
"""What announces a sub-agent or a session, and is no entry by itself."""

CATEGORIES: Final[dict[str, Callable[[PlacedEntry], bool]]] = {
    "user": lambda told: (
        told.entry.kind in (EntryKind.PROMPT, EntryKind.TASK, EntryKind.MESSAGE, EntryKind.OUTPUT, EntryKind.INJECTED)
    ),
    "assistant": lambda told: told.entry.kind is EntryKind.ANSWER,
    "tools": lambda told: told.entry.kind in _CALLS,
    "errors": lambda told: (
        told.entry.kind is EntryKind.ERROR or (isinstance(told.entry, TranscriptCall) and told.entry.is_error)
    ),
    "thinking": lambda told: told.entry.kind is EntryKind.THOUGHT,
    "subagents": lambda told: told.depth > 0 or (isinstance(told.entry, TranscriptCall) and told.entry.is_agent),
    "prompts": lambda told: told.entry.kind is EntryKind.PROMPT,
    "notes": lambda told: told.entry.kind in (EntryKind.NOTE, EntryKind.RECORD),
}
"""The words by which entries are chosen or left out."""


@dataclass(frozen=True)
class EntryFilter:
    """Which entries are wanted; by default all of them."""

    only: frozenset[str] = frozenset()
    hide: frozenset[str] = frozenset()
    tool: str | None = None
    """A tool's name, or a pattern of names."""
    start: Bound | None = None
    end: Bound | None = None
    is_on_branch: Callable[[int], bool] | None = None
    """True for the lines of the wanted branch."""

    @property
    def is_everything(self) -> bool:
        """True if nothing is left out."""
        return self == EntryFilter()

    def of(self, told: Iterable[PlacedEntry]) -> Iterator[PlacedEntry]:
        """The wanted entries. A sub-agent's come with the calls that lead to it."""
        if self.is_everything:
            yield from told
            return
        heads: list[PlacedEntry] = []
        open_calls: list[bool] = []
        """Of each call that is not at its end yet: whether it is wanted."""
        stretch = _Stretch(self)
        for one in told:
            if stretch.is_over(one):
                return
            while heads and heads[-1].depth >= one.depth and not _leads(heads[-1], one):
                heads.pop()
            if one.is_end:
                if open_calls.pop():
                    yield one
                continue
            is_wanted = stretch.has(one) and self._wants(one)
            if one.actor_follows:
                open_calls.append(is_wanted)
            if is_wanted:
                yield from heads
                heads.clear()
                yield one
            elif one.actor_follows or one.entry.kind in HEADS:
                heads.append(one)

    def _wants(self, told: PlacedEntry) -> bool:
        entry = told.entry
        if entry.kind in HEADS:
            return False
        if self.tool is not None and not (entry.kind in _CALLS and _fits(entry, self.tool)):
            return False
        if self.only and not any(CATEGORIES[word](told) for word in self.only):
            return False
        return not any(CATEGORIES[word](told) for word in self.hide)


class _Stretch:
    """The part of a conversation between two bounds; a sub-agent belongs to where it was called."""

    def __init__(self, choice: EntryFilter) -> None:
        self._choice = choice
        self._time: datetime | None = None
        self._is_inside = True

    def has(self, told: PlacedEntry) -> bool:
        """True if an entry lies in it. One without a time has the time of the one before."""
        if told.depth == 0 and not told.is_end and told.entry.line:
            self._is_inside = self._contains(told.entry)
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

    def is_over(self, told: PlacedEntry) -> bool:
        """True if nothing that is wanted can follow. Times go backwards now and then, line numbers do not."""
        end = self._choice.end
        return isinstance(end, int) and told.depth == 0 and not told.is_end and told.entry.line > end


def _leads(head: PlacedEntry, told: PlacedEntry) -> bool:
    """True if an entry of the same depth still belongs to what a head announced."""
    return head.entry.kind is EntryKind.SECTION and told.entry.kind is EntryKind.AGENT and head.depth == told.depth


def _fits(entry: Entry, pattern: str) -> bool:
    name = entry.name if isinstance(entry, TranscriptCall) else ""
    return fnmatchcase(name.casefold(), pattern.casefold())
