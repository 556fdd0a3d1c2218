"""Stand-in, replaced by the branch of its own."""

from __future__ import annotations

from typing import NamedTuple

from claude_session_player.redact.rule import Find, Rule


class OwnRules(NamedTuple):
    """Rules of a user."""

    rules: tuple[Rule, ...] = ()

    def allows(self, find: Find) -> bool:
        return False
