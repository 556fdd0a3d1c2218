"""What stands in place of masked texts: words that read well, and stay the same for the same text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from claude_session_player.redact.rule import Rule

_TAG: Final = re.compile(r"\[([a-z][a-z0-9-]{0,40})-\d{1,7}\]")
"""What reads like a mask in brackets; `[node-1]` in a log is none."""
_REMOVED: Final = re.compile(r"\[(?:image|file|known value) removed\]")
_IDENTITY: Final = re.compile(
    r"(?<![\w-])(?:user|host|person|owner|group|account|organization|ip|mac|environment|cloud-session)-\d{1,7}"
    r"(?:@example\.com)?(?![\w-])"
)
_BETWEEN: Final = re.compile(r"[^\w]*")
"""What may stand between masks; no part of a secret is left if nothing else does."""
_FOLDED: Final = ("email", "host", "user")
"""Kinds whose values are the same in upper and lower case."""


@cache
def builtin_names() -> frozenset[str]:
    """The names that masks in brackets can have without rules of a user's own."""
    from claude_session_player.redact.identity import IDENTITY_RULES
    from claude_session_player.redact.rules import SECRET_RULES

    return frozenset((*(rule.name for rule in (*SECRET_RULES, *IDENTITY_RULES)), "secret", "known-value"))


def without_tags(text: str) -> str:
    """A text without what reads like masks: what is left is judged by itself.

    >>> without_tags("[node-1]Tr0ub4dor&3"), without_tags("[password-1]"), without_tags("a[0]")
    ('Tr0ub4dor&3', '', 'a[0]')
    """
    return _TAG.sub("", text) if "[" in text else text


def is_masked(text: str, names: frozenset[str]) -> bool:
    """True for a text that is made of masks, whose names are given, and of nothing else that could be secret.

    >>> names = frozenset(["token", "password"])
    >>> [is_masked(text, names) for text in ("[token-1]", "user-1:[password-2]", "[token-1]x7Kq", "[node-1]", "--")]
    [True, True, False, False, False]
    """
    left, count = _REMOVED.subn("", text)
    left = _TAG.sub(lambda match: "" if match[1] in names else match[0], left)
    left = _IDENTITY.sub("", left)
    return (count > 0 or len(left) < len(text)) and _BETWEEN.fullmatch(left) is not None


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
