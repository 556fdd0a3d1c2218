"""The facts of one session file, as the catalogue keeps them: tuples, which are made fast and stay as they are."""

import json
from typing import Any, NamedTuple

from claude_session_player.linking.subagents import AgentCall


class Tokens(NamedTuple):
    """How many tokens responses took, each response counted once."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


Counted = tuple[int, int, int, int, int]
"""The tokens of one response: the four of `Tokens`, and of those written into the cache, those that stay an hour."""

Response = tuple[Counted, str | None, str | None]
"""A response: its tokens, its model, its time. A plain tuple, because one is made for every answer of a file."""


class Speech(NamedTuple):
    """What was said in one conversation, and when: in a session, or by a sub-agent inside of its file."""

    events: int = 0
    first_prompt: str | None = None
    last_prompt: str | None = None
    """`None` where the first is the last."""
    topic: str | None = None
    """The beginning of the first prompt that is more than a bare command."""
    task: str | None = None
    """The digest of the first text in a user's place: for a sub-agent, its task."""
    models: tuple[str, ...] = ()
    """In the order of their last use."""
    provider: str | None = None
    started: str | None = None
    ended: str | None = None
    usage: Tokens = Tokens()


class Inline(NamedTuple):
    """A sub-agent whose lines stand inside of its parent's file."""

    id: str
    lines: tuple[tuple[int, int], ...]
    """The first and last line of every stretch."""
    speech: Speech
    call: str | None = None
    """The call for which it reports its progress; `None` where its lines are a conversation in the file."""

    @property
    def is_reported(self) -> bool:
        """True for a sub-agent that is known from lines of progress; it may have a file of its own as well."""
        return self.call is not None


class Facts(NamedTuple):
    """All that is known of a session file."""

    speech: Speech
    session_id: str | None
    cwds: tuple[str, ...]
    """In the order of their first appearance."""
    branches: tuple[str, ...]
    """In the order of their first appearance, but the last one stands last."""
    version: str | None
    titles: dict[str, str]
    """By the type of the record that gave the title."""
    malformed: int
    calls: tuple[AgentCall, ...]
    """The calls that started sub-agents, or may have started them."""
    inline: tuple[Inline, ...]
    is_session: bool
    """True where at least one line is a record of a session."""
    meta: dict[str, Any]
    """What the file beside a sub-agent's says about it."""


def decode_facts(data: bytes) -> Facts:
    """The facts of their JSON form."""
    speech, session_id, cwds, branches, version, titles, malformed, calls, inline, is_session, meta = json.loads(data)
    return Facts(
        Speech(*speech),
        session_id,
        tuple(cwds),
        tuple(branches),
        version,
        titles,
        malformed,
        tuple(AgentCall(id, kind, about, task, tuple(map(tuple, named))) for id, kind, about, task, named in calls),
        tuple(Inline(id, tuple(lines), Speech(*said), call) for id, lines, said, call in inline),
        is_session,
        meta,
    )
