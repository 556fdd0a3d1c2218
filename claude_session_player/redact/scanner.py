"""Finds what rules mask in texts: first keywords, all in one pass, then the few rules whose keyword is there."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.redact.cleaning import CleanedText, clean_text
from claude_session_player.redact.gate import gate_of, is_disguised, sketch_search
from claude_session_player.redact.masks import builtin_names, is_masked
from claude_session_player.redact.rule import Find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.redact.gate import Gate
    from claude_session_player.redact.rule import Rule

SHORTEST: Final = 5
"""Characters: nothing shorter is a secret with its context."""
_SHORT: Final = 256
_REMEMBERED: Final = 20_000


def folded_keyword(keyword: str) -> str:
    """A keyword as it is looked for: without upper case, as far as ASCII has it, because bytes are compared.

    >>> folded_keyword("Tea_É")
    'tea_É'
    """
    return keyword.encode().lower().decode()


class Scan(NamedTuple):
    """What rules found in a text."""

    finds: list[Find]
    cleaned: CleanedText | None
    """The text without disguises; `None` if it has none."""


NOTHING: Final = Scan([], None)


class Scanner:
    """Applies rules to texts; of rules that find the same, the first one names it.

    Rules without keywords are applied to all texts.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._order = {id(rule): number for number, rule in enumerate(self.rules)}
        self._names = frozenset(rule.name for rule in self.rules)
        self._nothing: set[str] = set()
        """Short texts in which nothing was found."""

    @cached_property
    def gate(self) -> Gate:
        """Tells texts and lines in which the rules find nothing."""
        return gate_of(tuple(dict.fromkeys(rule.pattern for rule in self.rules)))

    @cached_property
    def _keywords(self) -> KeywordTable:
        return keyword_table(tuple(rule.keywords for rule in self.rules))

    def finds(self, text: str) -> list[Find]:
        """What rules find in a text, and in the same text without disguises, from left to right, without overlaps."""
        return self.scan(text).finds

    def scan(self, text: str) -> Scan:
        """The same, with the text without disguises if it has any."""
        if len(text) < SHORTEST or text in self._nothing:
            return NOTHING
        data = text.encode("utf-8", "replace")
        scan = self._scan(text, data) if self.gate.admits(data) else NOTHING
        if scan is NOTHING and len(text) <= _SHORT:
            if len(self._nothing) >= _REMEMBERED:
                self._nothing.clear()
            self._nothing.add(text)
        return scan

    def _scan(self, text: str, data: bytes) -> Scan:
        rules = self._candidates(data)
        found = self._found_by(rules, text)
        is_escaped = bool(rules) and "\\" in text  # as in JSON or in code: words may begin behind an escape
        cleaned = clean_text(text) if is_escaped or is_disguised(data) else None
        if cleaned is not None:
            found += cleaned.originals(self.finds_as_is(cleaned.text))
        return Scan(self.merged(found, text), cleaned) if found or cleaned is not None else NOTHING

    def finds_as_is(self, text: str) -> list[Find]:
        """What the rules find in a text as it is."""
        return self._found_by(self._candidates(text.encode("utf-8", "replace")), text)

    def _found_by(self, rules: Sequence[Rule], text: str) -> list[Find]:
        """What rules find in a text, without what is masked already."""
        found = [find for rule in rules for find in rule.finds(text)] if rules else []
        return [find for find in found if not self.is_masked(find.value)] if found else found

    def is_masked(self, value: str) -> bool:
        """True for a text that is nothing but masks."""
        return ("[" in value or "-" in value) and is_masked(value, self._all_names)

    @cached_property
    def _all_names(self) -> frozenset[str]:
        return builtin_names() | self._names

    def _candidates(self, data: bytes) -> list[Rule]:
        """The rules that may find something in a text, given in UTF-8: its keyword and its sketch are there."""
        rules = [self.rules[number] for number in self._keywords.candidates(data)]
        return [rule for rule in rules if sketch_search(rule.pattern)(data) is not None]

    def merged(self, finds: list[Find], text: str) -> list[Find]:
        """The same finds from left to right; those that overlap are one, named by the rule that comes first."""
        if len(finds) < 2:
            return finds
        finds.sort(key=lambda find: (find.start, -find.end))
        result = [finds[0]]
        for find in finds[1:]:
            last = result[-1]
            if find.start >= last.end:
                result.append(find)
                continue
            first = last if self.rank(last.rule) <= self.rank(find.rule) else find
            end = max(last.end, find.end)
            is_whole = (first.start, first.end) == (last.start, end)
            result[-1] = Find(last.start, end, first.rule, first.value if is_whole else text[last.start : end])
        return result

    def rank(self, rule: Rule) -> int:
        """The place of a rule in the order; rules from elsewhere come last."""
        return self._order.get(id(rule), len(self._order))


class KeywordTable:
    """Which rules may find something in a text, by the keywords in it."""

    def __init__(self, keywords: Sequence[tuple[str, ...]]) -> None:
        """`keywords` are those of each rule, in the order of the rules."""
        from ahocorasick_rs import BytesAhoCorasick

        self._always = [number for number, words in enumerate(keywords) if not words]
        rules_of: dict[bytes, list[int]] = {}
        for number, words in enumerate(keywords):
            for word in words:
                if not word or word != folded_keyword(word):
                    raise ValueError(f"the keyword {word!r} is empty or has upper case")
                rules_of.setdefault(word.encode(), []).append(number)
        self._rules_of = list(rules_of.values())
        self._find = BytesAhoCorasick(list(rules_of)).find_matches_as_indexes

    def candidates(self, data: bytes) -> list[int]:
        """The numbers of these rules, in their order.

        >>> KeywordTable([("key",), ("token", "key"), ()]).candidates(b"A Token")
        [1, 2]
        """
        words = {word for word, _, _ in self._find(data.lower(), overlapping=True)}
        return sorted({number for word in words for number in self._rules_of[word]}.union(self._always))


@lru_cache(maxsize=8)
def keyword_table(keywords: tuple[tuple[str, ...], ...]) -> KeywordTable:
    """The table of some keywords; making one takes a while."""
    return KeywordTable(keywords)
