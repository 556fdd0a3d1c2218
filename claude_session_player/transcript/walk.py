"""A conversation from its beginning to its end, with the sub-agents where they were called."""

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
    """An entry, and how many sub-agents deep it stands.

    A call with sub-agents comes twice: before them, and behind them, as their end.
    """

    depth: int
    entry: Entry
    actor: Subagent | None = None
    """The sub-agent whose entry it is."""
    is_end: bool = False
    actor_follows: bool = False
    """True for a call whose sub-agents come next."""


class TranscriptWalk:
    """One walk through a conversation. What was found on the way is known afterwards."""

    def __init__(
        self,
        telling: TranscriptBuilder,
        *,
        depth: int | None = None,
        is_last: bool = True,
        notes_problems: bool = False,
    ) -> None:
        """At most `depth` sub-agents deep. Those of whom no call is known come in the end, if it is the last walk."""
        self.main = telling
        self.unlinked: list[Subagent] = []
        """Sub-agents of which no call is known."""
        self.problems: list[tuple[Subagent | None, TreeProblem]] = []
        """What is wrong with the lines, where that is noted, in the order in which the conversations ended."""
        self.not_entered = 0
        """How many sub-agents are too deep to be told; those that they called are not counted."""
        self._is_last = is_last
        self._notes_problems = notes_problems
        self._cast: SubagentFinder = telling.cast
        self._depth = depth

    def told(self, events: Iterable[Event]) -> Iterator[PlacedEntry]:
        """Every entry of the session and of its sub-agents, however deep, in the order of the telling.

        An own stack instead of recursion, so that no depth is too deep.
        """
        stack = [_Level(self.main, self.main.entries(events))]
        while stack:
            level = stack[-1]
            depth = len(stack) - 1
            if level.actors:
                actor = level.actors.popleft()
                if level.with_heads:
                    yield PlacedEntry(depth, Entry(EntryKind.AGENT, body=actor), level.actor)
                telling = TranscriptBuilder(self._cast, is_agent=True)
                stack.append(_Level(telling, telling.entries(actor.events()), actor))
                continue
            if level.call is not None:
                yield PlacedEntry(depth, level.call, level.actor, is_end=True)
                level.call = None
            for entry in level.entries:
                if type(entry) is TranscriptCall and entry.actors:
                    yield self._begin(level, entry, depth)
                    if level.actors:
                        break
                else:
                    yield PlacedEntry(depth, entry, level.actor)
            if level.actors:
                continue
            if (left := self._left(level)) is not None:
                self.unlinked.append(left)
                if self._enters(depth):
                    if not level.has_ended:
                        yield PlacedEntry(depth, Entry(EntryKind.SECTION, text=UNLINKED), level.actor)
                    level.actors, level.with_heads, level.has_ended = deque((left,)), True, True
                else:
                    self.not_entered += 1
            else:
                stack.pop()
                if self._notes_problems:
                    self.problems += [(level.actor, problem) for problem in sorted(_problems(level.telling))]

    def _begin(self, level: _Level, call: TranscriptCall, depth: int) -> PlacedEntry:
        """A call, behind which come the sub-agents that it started."""
        if not self._enters(depth):
            self.not_entered += len(call.actors)
            self._cast.dismiss(call.actors)
            return PlacedEntry(depth, call, level.actor)
        level.call, level.actors, level.with_heads = call, deque(call.actors), len(call.actors) > 1
        return PlacedEntry(depth, call, level.actor, actor_follows=True)

    def _left(self, level: _Level) -> Subagent | None:
        if level.actor is not None:
            return self._cast.left(level.actor.id)
        return self._cast.left() if self._is_last else None

    def _enters(self, depth: int) -> bool:
        return self._depth is None or depth < self._depth


def _problems(telling: TranscriptBuilder) -> Iterator[TreeProblem]:
    account = telling.account
    yield from telling.lazy_tree.tree.problems
    yield from (TreeProblem(issue.line, issue.reason) for issue in account.issues)
    yield from (TreeProblem(account.first_seen[name], f"unknown record {name!r}") for name in account.unknown_events)
    yield from (TreeProblem(line, f"unknown block {name!r}") for name, line in telling.odd_blocks.items())


class _Level:
    """A conversation that is being told, and the sub-agents that come before it goes on."""

    def __init__(self, telling: TranscriptBuilder, entries: Iterator[Entry], actor: Subagent | None = None) -> None:
        self.telling = telling
        self.entries = entries
        self.actor = actor
        self.actors: deque[Subagent] = deque()
        self.call: TranscriptCall | None = None
        self.with_heads = False
        self.has_ended = False


_BEGINNINGS = (EntryKind.PROMPT, EntryKind.TASK)


@dataclass
class ConversationTurn:
    """What a person, or whoever called a sub-agent, said, and everything until they said something else.

    The first turn of a conversation may have no prompt.
    """

    prompt: Entry | None = None
    entries: list[Entry] = field(default_factory=list)
    """All that follows the prompt."""
    agents: dict[int, list[Conversation]] = field(default_factory=dict)
    """The sub-agents that the calls among the entries started, by the position of the call."""

    @property
    def calls(self) -> list[TranscriptCall]:
        """The calls of tools."""
        return [entry for entry in self.entries if isinstance(entry, TranscriptCall) and entry.kind is EntryKind.CALL]


@dataclass
class Conversation:
    """What was said in a session or by a sub-agent."""

    id: str
    agent: str | None = None
    """The type of a sub-agent."""
    title: str | None = None
    turns: list[ConversationTurn] = field(default_factory=list)
    unlinked: list[Conversation] = field(default_factory=list)
    """Sub-agents of which no call is known."""
    tree: ConversationTree = field(default_factory=ConversationTree, repr=False)
    problems: list[TreeProblem] = field(default_factory=list)
    """What is wrong with the lines of the file."""

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
        cast: SubagentFinder | None = None,
        *,
        id: str = "",
        is_agent: bool = False,
        known: Set[str | None] = frozenset(),
    ) -> Conversation:
        """The conversation that some events hold, with the sub-agents of a cast, and without events that are known."""
        telling = TranscriptBuilder(cast or SubagentFinder(), is_agent=is_agent, known=known)
        walk = TranscriptWalk(telling, notes_problems=True)
        main = cls(id)
        open_ones = [main]
        for told in walk.told(events):
            del open_ones[told.depth + 1 :]
            if told.depth == len(open_ones):
                open_ones.append(open_ones[-1]._begun(told.actor))
            if not told.is_end and told.entry.kind not in (EntryKind.AGENT, EntryKind.SECTION):
                open_ones[-1]._take(told.entry)
        main.tree = telling.lazy_tree.tree
        main.problems = [problem for actor, problem in walk.problems if actor is None]
        return main

    def _take(self, entry: Entry) -> None:
        if entry.kind in _BEGINNINGS:
            self.turns.append(ConversationTurn(entry))
        else:
            if not self.turns:
                self.turns.append(ConversationTurn())
            self.turns[-1].entries.append(entry)

    def _begun(self, actor: Subagent | None) -> Conversation:
        """The conversation of a sub-agent, put where it was called."""
        assert actor is not None
        child = Conversation(actor.id, actor.kind, actor.title)
        entries = self.turns[-1].entries if self.turns else []
        caller = entries[-1] if entries else None
        if isinstance(caller, TranscriptCall) and any(one is actor for one in caller.actors):
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
        """The sub-agents that were called here, and those of which no call is known."""
        called = [child for turn in self.turns for children in turn.agents.values() for child in children]
        return called + self.unlinked
