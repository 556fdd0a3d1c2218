"""Finds what rules mask in texts: first keywords, all in one pass, then the few rules whose keyword is there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.redact.cleaning import SIGNS, CleanedText, clean_text, has_escaped_space
from claude_session_player.redact.masks import MASK
from claude_session_player.redact.rule import Find

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ahocorasick_rs import BytesAhoCorasick

    from claude_session_player.redact.rule import Rule

SHORTEST: Final = 5
"""Characters: nothing shorter is a secret with its context."""


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


class Scanner:
    """Applies rules to texts; of rules that find the same, the first one names it.

    Rules without keywords are applied to all texts.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._order = {id(rule): number for number, rule in enumerate(self.rules)}
        self._always = [rule for rule in self.rules if not rule.keywords]
        by_keyword: dict[bytes, list[Rule]] = {}
        for rule in self.rules:
            for keyword in rule.keywords:
                if not keyword or keyword != folded_keyword(keyword):
                    raise ValueError(f"rule {rule.name}: a keyword is empty or has upper case")
                by_keyword.setdefault(keyword.encode(), []).append(rule)
        for sign in SIGNS:
            by_keyword.setdefault(sign.encode(), [])
        self._by_keyword = list(by_keyword.items())
        self._signs = frozenset(
            number for number, (keyword, _) in enumerate(self._by_keyword) if keyword.decode() in SIGNS
        )

    @cached_property
    def _automaton(self) -> BytesAhoCorasick:
        from ahocorasick_rs import BytesAhoCorasick

        return BytesAhoCorasick([keyword for keyword, _ in self._by_keyword])

    def candidates(self, data: bytes) -> tuple[list[Rule], bool]:
        """The rules that may find something in UTF-8, in their order; and whether something may be in disguise."""
        numbers = {number for number, _, _ in self._automaton.find_matches_as_indexes(data.lower(), overlapping=True)}
        if not numbers:
            return [*self._always], False
        rules = {id(rule): rule for number in numbers for rule in self._by_keyword[number][1]}
        rules |= {id(rule): rule for rule in self._always}
        return sorted(rules.values(), key=lambda rule: self._order[id(rule)]), not self._signs.isdisjoint(numbers)

    def finds(self, text: str) -> list[Find]:
        """What the rules find in a text and in the same text without disguises, from left to right, without overlaps."""
        return self.scan(text).finds

    def scan(self, text: str) -> Scan:
        """The same, with the text without disguises if it has any."""
        if len(text) < SHORTEST:
            return Scan([], None)
        rules, is_disguised = self.candidates(text.encode("utf-8", "surrogatepass"))
        found = self.found_by(rules, text) if rules else []
        cleaned = clean_text(text) if is_disguised or (rules and has_escaped_space(text)) else None
        if cleaned is not None:
            found += cleaned.originals(self.finds_as_is(cleaned.text))
        return Scan(self.merged(found, text), cleaned)

    def finds_as_is(self, text: str) -> list[Find]:
        """What the rules find in a text as it is."""
        rules, _ = self.candidates(text.encode("utf-8", "surrogatepass"))
        return self.found_by(rules, text) if rules else []

    @staticmethod
    def found_by(rules: Iterable[Rule], text: str) -> list[Find]:
        """What some rules find in a text; masks are left alone."""
        found = [find for rule in rules for find in rule.finds(text)]
        if not found or "[" not in text:
            return found
        masks = [match.span() for match in MASK.finditer(text)]
        return [find for find in found if not any(start < find.end and find.start < end for start, end in masks)]

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
