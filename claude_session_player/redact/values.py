"""Values that are masked wherever they stand, however they are spelled: those that were found, or are known.

A password that one line shows behind `password =` is masked in the line that only prints it, too.
"""

from __future__ import annotations

import base64
import html
import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

from claude_session_player.redact.cleaning import clean_text
from claude_session_player.redact.rule import Find, Kind, Rule, entropy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ahocorasick_rs import AhoCorasick

SHORTEST: Final = 8
"""Characters: shorter values are masked only where their context shows what they are."""
_SURE: Final = 12
_LEAST_ENTROPY: Final = 2.5
_LONGEST: Final = 1 << 16
_PREFIX: Final = 24
"""Characters: a value that was cut off is recognized by as many at its beginning."""
_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{20,}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half of a character, which cannot be written as UTF-8, and is in no value."""
_NAMED: Final = frozenset((Kind.API_KEY, Kind.TOKEN, Kind.PRIVATE_KEY, Kind.KNOWN))


class ValueTable:
    """Values with all of their spellings, and the rules that found them."""

    def __init__(self) -> None:
        self._spellings: dict[str, tuple[Rule, str, bool]] = {}
        """By spelling: the rule, the value, and whether the spelling is only its beginning."""
        self._values: dict[str, Rule] = {}
        self._automaton: AhoCorasick | None = None
        self._patterns: list[str] = []
        self.changes = 0
        """How often anything was added."""

    def __len__(self) -> int:
        return len(self._values)

    @property
    def spellings(self) -> Iterable[str]:
        """All spellings, and the beginnings of long values."""
        return self._spellings

    def items(self) -> Iterable[tuple[str, Rule]]:
        """The values, each with its rule."""
        return self._values.items()

    def add(self, rule: Rule, value: str) -> None:
        """Mask a value everywhere from now on, if it is distinct enough."""
        value = _writable(value)
        if value in self._values or not is_distinct(rule, value):
            return
        self._add(rule, value)

    def add_known(self, rule: Rule, value: str) -> None:
        """Mask a value that a user named everywhere from now on, even a short one."""
        value = _writable(value)
        if value and value not in self._values:
            self._add(rule, value)
            words = value.split()
            for word in words if len(words) > 1 else ():
                if _is_mixed(word):
                    self.add_piece(rule, value, word)

    def _add(self, rule: Rule, value: str) -> None:
        self._values[value] = rule
        for spelling in spellings(value):
            self._spellings.setdefault(spelling, (rule, value, False))
        if rule.kind is Kind.PRIVATE_KEY:
            for line in _LINE.findall(value):
                self._spellings.setdefault(line, (rule, value, False))
        elif rule.kind in _NAMED and len(value) >= _PREFIX + SHORTEST:
            self._spellings.setdefault(value[:_PREFIX], (rule, value, True))
        self._changed()

    def add_piece(self, rule: Rule, value: str, piece: str) -> None:
        """Mask a piece of a value that is spread over several texts."""
        piece = _writable(piece)
        if len(piece) >= SHORTEST and piece not in self._spellings:
            self._spellings[piece] = (rule, value, False)
            self._changed()

    def finds(self, text: str) -> list[Find]:
        """Where the values stand in a text, from left to right.

        >>> table = ValueTable()
        >>> table.add(Rule(name="x", kind=Kind.KNOWN, pattern="", keywords=()), "s3cr3t/valu3")
        >>> [(find.start, find.end) for find in table.finds("a=s3cr3t/valu3&b=s3cr3t%2Fvalu3")]
        [(2, 14), (17, 31)]
        """
        if not self._spellings:
            return []
        found = []
        if not text.isascii():
            text = _SURROGATE.sub("?", text)
        for number, start, end in self._matcher.find_matches_as_indexes(text):
            rule, value, is_prefix = self._spellings[self._patterns[number]]
            if is_prefix:
                while end < len(text) and end - start < len(value) and text[end] == value[end - start]:
                    end += 1
            if rule.kind in _NAMED or not _is_inside_word(text, start, end):
                found.append(Find(start, end, rule, value))
        return found

    def _changed(self) -> None:
        self.changes += 1
        self._automaton = None

    @property
    def _matcher(self) -> AhoCorasick:
        if self._automaton is None:
            from ahocorasick_rs import AhoCorasick, MatchKind

            self._patterns = list(self._spellings)
            self._automaton = AhoCorasick(self._patterns, matchkind=MatchKind.LeftmostLongest)
        return self._automaton


def is_distinct(rule: Rule, value: str) -> bool:
    """True for a value that is hardly ever anything else: those of named kinds, and long or random words."""
    if len(value) < SHORTEST or len(value) > _LONGEST:
        return False
    if rule.kind in _NAMED:
        return True
    return (len(value) >= _SURE or _is_mixed(value)) and entropy(value) >= _LEAST_ENTROPY and not value.isalpha()


def _writable(value: str) -> str:
    """The longest part of a value without halves of characters."""
    return value if value.isascii() else max(_SURROGATE.split(value), key=len)


def _is_mixed(value: str) -> bool:
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


def spellings(value: str) -> Iterator[str]:
    """A value as it is, and as JSON, URLs, HTML and base64 write it, wherever it stands in them.

    >>> sorted(spellings('a"b/c d12'))[2:6]
    ['a"b/c d12', 'a%22b%2Fc%20d12', 'a%22b%2Fc+d12', 'a%22b/c%20d12']
    """
    seen = {value}
    yield value
    in_json = json.dumps(value, ensure_ascii=False)[1:-1]
    others = (
        *(in_json, json.dumps(in_json, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]),
        *(quote(value, safe=""), quote(value), quote_plus(value), in_json.replace("/", "\\/")),
        *(html.escape(value), html.escape(value, quote=False), html.escape(value).replace("&#x27;", "&#39;")),
        *_in_base64(value),
        *(cleaned.text for cleaned in (clean_text(value),) if cleaned is not None),
    )
    for other in others:
        if other not in seen and len(other) >= SHORTEST:
            seen.add(other)
            yield other


def _in_base64(value: str) -> Iterator[str]:
    """What is the same in every base64 text that contains the value, for each of the three places in it."""
    data = value.encode("utf-8", "surrogatepass")
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = (0, 2, 3)[before]
        last = len(text) if (before + len(data)) % 3 == 0 else len(text) - 1
        stable = text[first:last]
        if len(stable) >= SHORTEST:
            yield stable
            if "+" in stable or "/" in stable:
                yield stable.translate(str.maketrans("+/", "-_"))


def _is_inside_word(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return (before.isalnum() and text[start].isalnum()) or (after.isalnum() and text[end - 1].isalnum())
