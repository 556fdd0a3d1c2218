"""What stands in place of masked texts: words that read well, and stay the same for the same text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from claude_session_player.redact.rule import Rule

MASK: Final = re.compile(r"\[[a-z][a-z0-9-]{1,40}-\d{1,7}\]|\[(?:image|file|known value) removed\]")
"""A mask in brackets."""
_FOLDED: Final = ("email", "host", "user")
"""Kinds whose values are the same in upper and lower case."""


class MaskTable:
    """Numbers the values of each name in the order in which they are found."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._counts: dict[str, int] = {}
        self.masks: dict[tuple[str, str], str] = {}

    def mask(self, rule: Rule, value: str) -> str:
        """The mask of a value.

        >>> from claude_session_player.redact.rule import Kind, Rule
        >>> rule, table = Rule(name="x-key", kind=Kind.API_KEY, pattern="x", keywords=("x",)), MaskTable()
        >>> [table.mask(rule, value) for value in ("one", "two", "one")]
        ['[x-key-1]', '[x-key-2]', '[x-key-1]']
        """
        key = (rule.mask, value) if rule.mask != "[{name}-{n}]" else (rule.name, value)
        known = self.masks.get(key)
        if known is None:
            folded = (key[0], value.casefold() if rule.kind.word in _FOLDED else value)
            number = self._numbers.get(folded)
            if number is None:
                number = self._counts[key[0]] = self._counts.get(key[0], 0) + 1
                self._numbers[folded] = number
            known = self.masks[key] = rule.mask.format(name=rule.name, n=number)
        return known
