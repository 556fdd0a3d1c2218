"""Tells lines of session files that may hold a secret from those that cannot, by their bytes alone.

A line is passed on if its bytes contain a keyword of a rule, as JSON spells it, or a sign of what could hide one. The
others need not be decoded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from claude_session_player.redact.cleaning import SIGNS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

NAME_WORDS: Final = ("pass", "pwd", "secret", "token", "jwt", "credential", "key", "auth", "cookie")
"""Every name of a field that says that its value is secret contains one of these, in lower case."""
_COUNTS: Final = (
    *("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    *("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "cache_deleted_input_tokens", "thinking_tokens"),
    *("totaltokens", "tokensused", "prompttokens", "max_tokens"),
)
"""Keys, in lower case, that nearly all lines have, always before a number."""
_DECOYS: Final = tuple(f'{before}"{key}":{digit}' for key in _COUNTS for before in "{," for digit in range(10))
"""Such keys as they stand in JSON, where their quotes are not escaped: they are matched first, and do not count."""
_ESCAPES: Final = ("\\u00", "\\u20", "\\ufeff", "\\/", "\\b")
"""How JSON spells characters of keywords, if it must not, and characters that hide one."""
_ENTITIES: Final = ("&#", "&amp;", "&lt;", "&gt;", "&quot;", "&apos;")
_IN_URLS: Final = tuple(f"%{first}{second}" for first in "234567" for second in "0123456789abcdef")
_VAGUE: Final = ("%", "&", "\\u", "\\/")
"""Signs that are looked for with what must follow them."""
_PORTION: Final = 4096
_TRIED: Final = 1000
_MOST_ADMITTED: Final = 0.8


class SecretLineFilter:
    """Looks for keywords, in upper or lower case, in lines of JSON."""

    def __init__(self, keywords: Iterable[str]) -> None:
        words = {spelling for keyword in (*keywords, *NAME_WORDS) for spelling in raw_spellings(keyword.lower())}
        words.update(_ESCAPES, _ENTITIES, _IN_URLS, (sign for sign in SIGNS if sign not in _VAGUE))
        if not all(map(str.isascii, words)):
            words.add("\\u")
        patterns = sorted(word.encode() for word in words)
        beginnings = {word[:end].encode() for word in words for end in range(1, len(word))}
        decoys = [decoy.encode() for decoy in _DECOYS if not _goes_on(decoy.encode(), beginnings)]
        self._count = len(patterns)
        self._overlap = max(map(len, (*patterns, *decoys))) - 1
        self._automaton = BytesAhoCorasick(
            [*patterns, *decoys],
            matchkind=MatchKind.LeftmostLongest,
            implementation=Implementation.DFA,
        )
        self._seen = self._admitted = 0
        self._is_useless = False
        """True if nearly all lines are admitted: then looking at them takes longer than it saves."""

    def admits(self, line: bytes) -> bool:
        """True if a line may hold a secret."""
        if self._is_useless:
            return True
        is_admitted = self._may_match(line.lower())
        self._seen += 1
        self._admitted += is_admitted
        self._is_useless = self._seen >= _TRIED and self._admitted > self._seen * _MOST_ADMITTED
        return is_admitted

    def _may_match(self, line: bytes) -> bool:
        size = len(line)
        if size <= _PORTION:
            return self._has_keyword(line)
        return any(
            self._has_keyword(line[start : start + _PORTION + self._overlap]) for start in range(0, size, _PORTION)
        )

    def _has_keyword(self, data: bytes) -> bool:
        count = self._count
        return any(number < count for number, _, _ in self._automaton.find_matches_as_indexes(data))


def raw_spellings(text: str) -> Iterator[str]:
    """How a text can stand in a line, in JSON or damaged, apart from escapes that JSON does not need.

    >>> sorted(set(raw_spellings('a"/b')))
    ['a"/b', 'a"\\\\/b', 'a\\\\"/b', 'a\\\\"\\\\/b']
    """
    for spelling in (text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]):
        yield spelling
        yield spelling.replace("/", "\\/")


def _goes_on(decoy: bytes, beginnings: Collection[bytes]) -> bool:
    """True if a pattern may begin within a decoy and end behind it, where it would be missed."""
    return any(decoy[start:] in beginnings for start in range(len(decoy)))
