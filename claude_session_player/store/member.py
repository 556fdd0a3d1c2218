"""A session file and what the catalogue knows of it."""

from __future__ import annotations

from claude_session_player.store.catalogue import Row
from claude_session_player.store.facts import Facts, decode_facts
from claude_session_player.store.layout import Found


class Member:
    """A session file with its row of the catalogue. Its facts are decoded when somebody asks for them."""

    __slots__ = ("_facts", "found", "row")

    def __init__(self, found: Found, row: Row) -> None:
        self.found = found
        self.row = row
        self._facts: Facts | None = None

    @property
    def facts(self) -> Facts:
        """All that is known of the file."""
        if self._facts is None:
            self._facts = decode_facts(self.row.facts)
        return self._facts

    @property
    def session_id(self) -> str | None:
        """The session that the file belongs to: by its directory, else by what its lines say."""
        if not self.found.is_agent:
            return self.found.id
        return self.found.parent or self.facts.session_id
