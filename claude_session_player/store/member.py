"""A session file and what the catalogue knows of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from claude_session_player.linking.subagents import AgentCall
from claude_session_player.store.catalogue import Row
from claude_session_player.store.facts import Facts, decode_facts
from claude_session_player.store.layout import Found
from claude_session_player.store.responses import Responses, decode_responses
from claude_session_player.store.stretches import StretchReader

Recall = Callable[[Sequence["Member"]], dict[str, bytes]]
"""Fetches the responses of some files, by path."""


class Member:
    """A session file with its row of the catalogue. Facts and responses are fetched when somebody asks for them."""

    __slots__ = ("_facts", "_recall", "_responses", "found", "inline_calls", "inline_lines", "row")

    def __init__(self, found: Found, row: Row, recall: Recall, responses: bytes | None = None) -> None:
        self.found = found
        self.row = row
        self.inline_calls: dict[str, AgentCall] | None = None
        """The calls of the sub-agents inside of the file, as soon as somebody has found them."""
        self.inline_lines: StretchReader | None = None
        """Reads the lines of these sub-agents, as soon as somebody has asked for some."""
        self._facts: Facts | None = None
        self._recall = recall
        self._responses = responses

    @property
    def facts(self) -> Facts:
        """All that is known of the file."""
        if self._facts is None:
            self._facts = decode_facts(self.row.facts)
        return self._facts

    @property
    def is_stale(self) -> bool:
        """True where the file is another one since the catalogue knows it."""
        return self.row.stamp != self.found.version

    @property
    def responses(self) -> Responses:
        """The responses of the file, each once."""
        recall([self])
        return decode_responses(self._responses or b"")

    @property
    def session_id(self) -> str | None:
        """The session that the file belongs to: by its directory, else by what its lines say."""
        if not self.found.is_agent:
            return self.found.id
        return self.found.parent or self.facts.session_id


def recall(members: Sequence[Member]) -> None:
    """Let these files have their responses at hand: all at once is much faster than one by one."""
    unknown: dict[Recall, list[Member]] = {}
    for member in members:
        if member._responses is None:
            unknown.setdefault(member._recall, []).append(member)
    for fetch, some in unknown.items():
        known = fetch(some)
        for member in some:
            member._responses = known.get(member.found.name, b"")
