"""Walks through a conversation from beginning to end, with each sub-agent at the place where it was called."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from claude_session_player.transcript.builder import TranscriptBuilder
from claude_session_player.transcript.entries import Entry, EntryKind, TranscriptCall
from claude_session_player.transcript.subagents import Subagent, SubagentFinder, session_subagents
from claude_session_player.transcript.tree import ConversationTree, TreeProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Set

    from claude_session_player.format.events import Event
    from claude_session_player.store import Session

UNLINKED: Final = "Sub-agents without a matching call"


class PlacedEntry(Struct, frozen=True, gc=False):
    """An entry, and its depth: the number of nested sub-agents around it.

    A call with sub-agents comes twice: before them, and after them, as their end.
    """

    depth: int
    entry: Entry
    subagent: Subagent | None = None
    """The sub-agent that the entry belongs to."""
    is_end: bool = False
    subagents_follow: bool = False
    """True for a call whose sub-agents come next."""


class TranscriptWalk:
    """One walk through a conversation; what it found on the way can be read afterwards."""

    def __init__(
        self,
        builder: TranscriptBuilder,
        *,
        depth: int | None = None,
        is_last: bool = True,
        notes_problems: bool = False,
    ) -> None:
        """Goes at most `depth` sub-agents deep; those without a matching call come last, if this is the last walk."""
        self.main = builder
        self.unlinked: list[Subagent] = []
        """Sub-agents without a matching call."""
        self.problems: list[tuple[Subagent | None, TreeProblem]] = []
        """Problems of lines, in the order in which the conversations ended; only with `notes_problems`."""
        self.not_entered = 0
        """The number of sub-agents that are too deep, without those that they called."""
        self._is_last = is_last
        self._notes_problems = notes_problems
        self._subagents: SubagentFinder = builder.subagents
        self._depth = depth

    def entries(self, events: Iterable[Event]) -> Iterator[PlacedEntry]:
        """Every entry of the session and of its sub-agents, however deep, in the order of the transcript.

        A stack instead of recursion, so that the depth has no limit.
        """
        stack = [_Level(self.main, self.main.entries(events))]
        while stack:
            level = stack[-1]
            depth = len(stack) - 1
            if level.subagents:
                subagent = level.subagents.popleft()
                if level.with_heads:
                    yield PlacedEntry(depth, Entry(EntryKind.AGENT, body=subagent), level.subagent)
                builder = TranscriptBuilder(self._subagents, is_agent=True)
                stack.append(_Level(builder, builder.entries(subagent.events()), subagent))
                continue
            if level.call is not None:
                yield PlacedEntry(depth, level.call, level.subagent, is_end=True)
                level.call = None
            for entry in level.entries:
                if type(entry) is TranscriptCall and entry.subagents:
                    yield self._begin(level, entry, depth)
                    if level.subagents:
                        break
                else:
                    yield PlacedEntry(depth, entry, level.subagent)
            if level.subagents:
                continue
            if (unlinked := self._next_unlinked(level)) is not None:
                self.unlinked.append(unlinked)
                if self._enters(depth):
                    if not level.has_ended:
                        yield PlacedEntry(depth, Entry(EntryKind.SECTION, text=UNLINKED), level.subagent)
                    level.subagents, level.with_heads, level.has_ended = deque((unlinked,)), True, True
                else:
                    self.not_entered += 1
            else:
                stack.pop()
                if self._notes_problems:
                    self.problems += [(level.subagent, problem) for problem in sorted(_problems(level.builder))]

    def _begin(self, level: _Level, call: TranscriptCall, depth: int) -> PlacedEntry:
        """A call, which is followed by the sub-agents that it started."""
        if not self._enters(depth):
            self.not_entered += len(call.subagents)
            self._subagents.discard(call.subagents)
            return PlacedEntry(depth, call, level.subagent)
        level.call, level.subagents, level.with_heads = call, deque(call.subagents), len(call.subagents) > 1
        return PlacedEntry(depth, call, level.subagent, subagents_follow=True)

    def _next_unlinked(self, level: _Level) -> Subagent | None:
        if level.subagent is not None:
            return self._subagents.take_unlinked(level.subagent.id)
        return self._subagents.take_unlinked() if self._is_last else None

    def _enters(self, depth: int) -> bool:
        return self._depth is None or depth < self._depth


def _problems(builder: TranscriptBuilder) -> Iterator[TreeProblem]:
    account = builder.account
    yield from builder.lazy_tree.tree.problems
    yield from (TreeProblem(issue.line, issue.reason) for issue in account.issues)
    yield from (TreeProblem(account.first_seen[name], f"unknown record {name!r}") for name in account.unknown_events)
    yield from (TreeProblem(line, f"unknown block {name!r}") for name, line in builder.unknown_blocks.items())


class _Level:
    """A conversation during the walk, and the sub-agents that come before its next entry."""

    def __init__(self, builder: TranscriptBuilder, entries: Iterator[Entry], subagent: Subagent | None = None) -> None:
        self.builder = builder
        self.entries = entries
        self.subagent = subagent
        self.subagents: deque[Subagent] = deque()
        self.call: TranscriptCall | None = None
        self.with_heads = False
        self.has_ended = False


_TURN_STARTS = (EntryKind.PROMPT, EntryKind.TASK)


@dataclass
class ConversationTurn:
    """A prompt of a person, or the task of a sub-agent, and everything up to the next one.

    The first turn of a conversation may have no prompt.
    """

    prompt: Entry | None = None
    entries: list[Entry] = field(default_factory=list)
    """Everything after the prompt."""
    agents: dict[int, list[Conversation]] = field(default_factory=dict)
    """The sub-agents that calls among the entries started, by the position of the call."""

    @property
    def calls(self) -> list[TranscriptCall]:
        """The tool calls."""
        return [entry for entry in self.entries if isinstance(entry, TranscriptCall) and entry.kind is EntryKind.CALL]


@dataclass
class Conversation:
    """The conversation of a session or of a sub-agent."""

    id: str
    agent: str | None = None
    """The type of a sub-agent."""
    title: str | None = None
    turns: list[ConversationTurn] = field(default_factory=list)
    unlinked: list[Conversation] = field(default_factory=list)
    """Sub-agents without a matching call."""
    tree: ConversationTree = field(default_factory=ConversationTree, repr=False)
    problems: list[TreeProblem] = field(default_factory=list)
    """Problems of the lines of the file."""

    @classmethod
    def of(cls, session: Session) -> Conversation:
        """The conversation of a session, with those of its sub-agents.

        >>> from claude_session_player import Conversation, Store
        >>> store = Store.open("tests/fixtures/store", cache=None)
        >>> [turn.prompt.text for turn in Conversation.of(store.resolve("latest")).turns if turn.prompt][:1]
        ['The kettle does not whistle. Find out why.']
        """
        found = cls.from_events(
            session.events(), session_subagents(session), id=session.id, is_agent=session.is_subagent
        )
        found.agent, found.title = session.agent, session.title
        return found

    @classmethod
    def from_events(
        cls,
        events: Iterable[Event],
        subagents: SubagentFinder | None = None,
        *,
        id: str = "",
        is_agent: bool = False,
        known: Set[str | None] = frozenset(),
    ) -> Conversation:
        """The conversation of some events with their sub-agents, without events whose uuids are known."""
        builder = TranscriptBuilder(subagents or SubagentFinder(), is_agent=is_agent, known=known)
        walk = TranscriptWalk(builder, notes_problems=True)
        main = cls(id)
        path = [main]
        for placed in walk.entries(events):
            del path[placed.depth + 1 :]
            if placed.depth == len(path):
                path.append(path[-1]._add_subagent(placed.subagent))
            if not placed.is_end and placed.entry.kind not in (EntryKind.AGENT, EntryKind.SECTION):
                path[-1]._add_entry(placed.entry)
        main.tree = builder.lazy_tree.tree
        main.problems = [problem for subagent, problem in walk.problems if subagent is None]
        return main

    def _add_entry(self, entry: Entry) -> None:
        if entry.kind in _TURN_STARTS:
            self.turns.append(ConversationTurn(entry))
        else:
            if not self.turns:
                self.turns.append(ConversationTurn())
            self.turns[-1].entries.append(entry)

    def _add_subagent(self, subagent: Subagent | None) -> Conversation:
        """Add the conversation of a sub-agent at the place where it was called."""
        assert subagent is not None
        child = Conversation(subagent.id, subagent.kind, subagent.title)
        entries = self.turns[-1].entries if self.turns else []
        caller = entries[-1] if entries else None
        if isinstance(caller, TranscriptCall) and any(one is subagent for one in caller.subagents):
            self.turns[-1].agents.setdefault(len(entries) - 1, []).append(child)
        else:
            self.unlinked.append(child)
        return child

    @property
    def prompts(self) -> list[str]:
        """What a person typed, each prompt once, in the order of the file."""
        return [turn.prompt.text for turn in self.turns if turn.prompt and turn.prompt.kind is EntryKind.PROMPT]

    @property
    def subagents(self) -> list[Conversation]:
        """The sub-agents that were called, and those without a matching call."""
        called = [child for turn in self.turns for children in turn.agents.values() for child in children]
        return called + self.unlinked
