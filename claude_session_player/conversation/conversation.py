"""`Conversation`: a session as a tree of turns, for those who want all of it at once."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from claude_session_player.conversation.branches import Branches, Problem
from claude_session_player.conversation.cast import Actor, Cast, cast_of
from claude_session_player.conversation.entries import Call, Entry, Kind
from claude_session_player.conversation.telling import Telling
from claude_session_player.conversation.walk import Walk
from claude_session_player.events import Event
from claude_session_player.store.session import Session

_BEGINNINGS = (Kind.PROMPT, Kind.TASK)


@dataclass
class Turn:
    """What a person, or whoever called a sub-agent, said, and everything until they said something else.

    The first turn of a conversation may have no prompt.
    """

    prompt: Entry | None = None
    entries: list[Entry] = field(default_factory=list)
    """All that follows the prompt."""
    agents: dict[int, list[Conversation]] = field(default_factory=dict)
    """The sub-agents that the calls among the entries started, by the position of the call."""

    @property
    def calls(self) -> list[Call]:
        """The calls of tools."""
        return [entry for entry in self.entries if isinstance(entry, Call) and entry.kind is Kind.CALL]


@dataclass
class Conversation:
    """What was said in a session or by a sub-agent."""

    id: str
    agent: str | None = None
    """The type of a sub-agent."""
    title: str | None = None
    turns: list[Turn] = field(default_factory=list)
    unlinked: list[Conversation] = field(default_factory=list)
    """Sub-agents of which no call is known."""
    branches: Branches = field(default_factory=Branches, repr=False)
    problems: list[Problem] = field(default_factory=list)
    """What is wrong with the lines of the file."""

    @classmethod
    def of(cls, session: Session) -> Conversation:
        """The conversation of a session, with those of its sub-agents.

        >>> from claude_session_player import Conversation, Store
        >>> store = Store.open("tests/fixtures/store", cache=None)
        >>> [turn.prompt.text for turn in Conversation.of(store.resolve("latest")).turns if turn.prompt][:1]
        ['The kettle does not whistle. Find out why.']
        """
        found = cls.from_events(session.events(), cast_of(session), id=session.id, is_agent=session.is_subagent)
        found.agent, found.title = session.agent, session.title
        return found

    @classmethod
    def from_events(
        cls,
        events: Iterable[Event],
        cast: Cast | None = None,
        *,
        id: str = "",
        is_agent: bool = False,
        known: Set[str | None] = frozenset(),
    ) -> Conversation:
        """The conversation that some events hold, with the sub-agents of a cast, and without events that are known."""
        telling = Telling(cast or Cast(), is_agent=is_agent, known=known)
        walk = Walk(telling, notes_problems=True)
        main = cls(id)
        open_ones = [main]
        for told in walk.told(events):
            del open_ones[told.depth + 1 :]
            if told.depth == len(open_ones):
                open_ones.append(open_ones[-1]._begun(told.actor))
            if not told.is_end and told.entry.kind not in (Kind.AGENT, Kind.SECTION):
                open_ones[-1]._take(told.entry)
        main.branches = telling.growth.tree
        main.problems = [problem for actor, problem in walk.problems if actor is None]
        return main

    def _take(self, entry: Entry) -> None:
        if entry.kind in _BEGINNINGS:
            self.turns.append(Turn(entry))
        else:
            if not self.turns:
                self.turns.append(Turn())
            self.turns[-1].entries.append(entry)

    def _begun(self, actor: Actor | None) -> Conversation:
        """The conversation of a sub-agent, put where it was called."""
        assert actor is not None
        child = Conversation(actor.id, actor.kind, actor.title)
        entries = self.turns[-1].entries if self.turns else []
        caller = entries[-1] if entries else None
        if isinstance(caller, Call) and any(one is actor for one in caller.actors):
            self.turns[-1].agents.setdefault(len(entries) - 1, []).append(child)
        else:
            self.unlinked.append(child)
        return child

    @property
    def prompts(self) -> list[str]:
        """What a person typed, each prompt once, in the order of the file."""
        return [turn.prompt.text for turn in self.turns if turn.prompt and turn.prompt.kind is Kind.PROMPT]

    @property
    def subagents(self) -> list[Conversation]:
        """The sub-agents that were called here, and those of which no call is known."""
        called = [child for turn in self.turns for children in turn.agents.values() for child in children]
        return called + self.unlinked
