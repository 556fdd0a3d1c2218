"""Which tool call a result belongs to."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from claude_session_player.models import OpenCalls

if TYPE_CHECKING:
    from collections.abc import Iterator

C = TypeVar("C")
R = TypeVar("R")


class Pairing(Generic[C, R]):
    """Pairs the tool calls of a file with their results, whichever comes first.

    A result belongs to the call whose id it names; if an id occurs twice, to the later call. A result without an id
    belongs to the oldest open call without an id of the same tool, else to the oldest open call of the record that it
    names as its source.
    """

    def __init__(self) -> None:
        self._calls: dict[str, _Call[C]] = {}
        self._nameless: OpenCalls[_Call[C]] = OpenCalls()
        """The calls without an id."""
        self._sources: dict[str, deque[_Call[C]]] = {}
        """The calls of each record, by its uuid."""
        self._not_by_source: list[_Call[C]] = []
        """Calls that are not in `_sources` yet: results that name only their source are very rare."""
        self._early: dict[str, R] = {}
        self._count = 0

    def add_call(self, call: C, id: str | None, name: str, source: str | None = None) -> R | None:
        """Add the next call, made by the record `source`; returns its result, if that came before it."""
        self._count += 1
        added = _Call(call, self._count, source)
        self._not_by_source.append(added)
        if not id:
            self._nameless.add(self._count, name, added)
            return None
        self._calls[id] = added
        if not self._early:
            return None
        early = self._early.pop(id, None)
        added.is_open = early is None
        return early

    def add_result(self, result: R, id: str | None, name: str | None = None, source: str | None = None) -> C | None:
        """Add the next result; returns its call, if that came before it. The call may have a result already."""
        if id:
            found = self._calls.get(id)
            if found is None:
                self._early[id] = result
        else:
            found = self._nameless.pop_oldest(name) or self._oldest_of(source)
        if found is None:
            return None
        found.is_open = False
        return found.call

    def call_with(self, id: str) -> C | None:
        """The last call with this id."""
        found = self._calls.get(id)
        return found.call if found is not None else None

    def unanswered(self) -> Iterator[C]:
        """The calls without a result, those with an id first."""
        yield from (call.call for call in self._calls.values() if call.is_open)
        yield from (call.call for call in self._nameless)

    def _oldest_of(self, source: str | None) -> _Call[C] | None:
        if not source:
            return None
        for call in self._not_by_source:
            if call.source:
                self._sources.setdefault(call.source, deque()).append(call)
        self._not_by_source.clear()
        calls = self._sources.get(source)
        while calls and not calls[0].is_open:
            calls.popleft()
        if not calls:
            return None
        self._nameless.discard(calls[0].number)
        return calls[0]


class _Call(Struct, Generic[C]):
    call: C
    number: int
    source: str | None
    is_open: bool = True
