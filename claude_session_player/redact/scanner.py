"""Finds what rules mask in texts: first keywords, all in one pass, then the few rules whose keyword is there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.redact.cleaning import SIGNS, clean_text
from claude_session_player.redact.masks import MASK
from claude_session_player.redact.reach import beginnings, begins_with_keyword, reach
from claude_session_player.redact.rule import Find

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ahocorasick_rs import BytesAhoCorasick

    from claude_session_player.redact.rule import Rule

_SHORTEST: Final = 5
"""Characters: nothing shorter is a secret with its context."""
_SHORT: Final = 256
_REMEMBERED: Final = 20_000


class Scanner:
    """Applies rules to texts; of rules that find the same, the first one names it."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._order = {id(rule): number for number, rule in enumerate(self.rules)}
        by_keyword: dict[bytes, list[Rule]] = {}
        for rule in self.rules:
            for keyword in rule.keywords:
                by_keyword.setdefault(keyword.encode(), []).append(rule)
        for sign in SIGNS:
            by_keyword.setdefault(sign.encode(), [])
        self._by_keyword = list(by_keyword.items())
        self._signs = frozenset(
            number for number, (keyword, _) in enumerate(self._by_keyword) if keyword.decode() in SIGNS
        )

        self._rules_of = [tuple(self._order[id(rule)] for rule in rules) for _, rules in self._by_keyword]
        self._nothing: set[str] = set()
        """Short texts in which nothing was found."""
        self._extents: dict[int, _Extent] = {}

    @cached_property
    def _automaton(self) -> BytesAhoCorasick:
        return _automaton([keyword for keyword, _ in self._by_keyword])

    def _extent(self, number: int) -> _Extent:
        """Where a rule can find something; that takes a while to know, and most rules are never applied."""
        if (known := self._extents.get(number)) is None:
            rule = self.rules[number]
            begins = begins_with_keyword(rule.pattern, rule.keywords)
            words = frozenset[str]() if begins else beginnings(rule.pattern)
            known = self._extents[number] = _Extent(
                begins, _automaton([word.encode() for word in words]) if words else None, reach(rule.pattern)
            )
        return known

    def candidates(self, data: bytes) -> tuple[list[Rule], bool]:
        """The rules that may find something in UTF-8, in their order; and whether something may be in disguise."""
        numbers = {number for number, _, _ in self._automaton.find_matches_as_indexes(data.lower(), overlapping=True)}
        if not numbers:
            return [], False
        rules = {id(rule): rule for number in numbers for rule in self._by_keyword[number][1]}
        return sorted(rules.values(), key=lambda rule: self._order[id(rule)]), not self._signs.isdisjoint(numbers)

    def finds(self, text: str) -> list[Find]:
        """What rules find in a text, and in the same text without disguises, from left to right, without overlaps."""
        if len(text) < _SHORTEST or text in self._nothing:
            return []
        found, is_disguised = self._look(text)
        if is_disguised and (cleaned := clean_text(text)) is not None:
            for find in self.finds_as_is(cleaned.text):
                start, end = cleaned.original_span(find.start, find.end)
                found.append(Find(start, end, find.rule, find.value))
        if not found and len(text) <= _SHORT:
            if len(self._nothing) >= _REMEMBERED:
                self._nothing.clear()
            self._nothing.add(text)
        return self.merged(found, text) if found else found

    def finds_as_is(self, text: str) -> list[Find]:
        """What the rules find in a text as it is."""
        return self._look(text)[0]

    def _look(self, text: str) -> tuple[list[Find], bool]:
        """What the rules find in a text as it is, and whether something may be in disguise.

        A rule is applied only to what its matches can reach around its keywords: most texts are much longer.
        """
        data = text.encode("utf-8", "surrogatepass")
        lower = data.lower()
        hits = self._automaton.find_matches_as_indexes(lower, overlapping=True)
        if not hits:
            return [], False
        places: dict[int, list[int]] = {}
        for number, start, _ in hits:
            if number in places:
                places[number].append(start)
            else:
                places[number] = [start]
        by_rule: dict[int, list[int]] = {}
        for number, starts in places.items():
            for rule in self._rules_of[number]:
                by_rule[rule] = by_rule[rule] + starts if rule in by_rule else starts
        found: list[Find] = []
        offsets = _Offsets(data) if len(data) != len(text) else None
        for rule in sorted(by_rule):
            found += self._found_near(rule, text, lower, by_rule[rule], offsets)
        return without_masks(found, text), not self._signs.isdisjoint(places)

    def _found_near(
        self, number: int, text: str, lower: bytes, starts: list[int], offsets: _Offsets | None
    ) -> Iterator[Find]:
        """What a rule finds around its keywords, which begin at these places of the text in UTF-8 and lower case."""
        rule, size = self.rules[number], len(text)
        begins, words, width = self._extent(number)
        if words is not None:
            starts = list({start for _, start, _ in words.find_matches_as_indexes(lower, overlapping=True)})
        elif not begins and (width is None or size <= 2 * width):
            yield from rule.finds(text)
            return
        starts.sort()
        if offsets is not None:
            starts = offsets.characters(starts)
        if begins or words is not None:
            yield from rule.finds_at(text, starts)
            return
        assert width is not None
        first, end = max(starts[0] - width, 0), starts[0] + width
        for start in starts:
            if start - width > end:
                yield from rule.finds(text, first, end)
                first = start - width
            end = start + width
        yield from rule.finds(text, first, min(end, size))

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


class _Extent(NamedTuple):
    """Where matches of a rule are in a text."""

    begins: bool
    """They begin with its keywords."""
    words: BytesAhoCorasick | None
    """They begin with one of these words."""
    width: int | None
    """They extend so far from its keywords; `None` for no limit."""


def _automaton(words: list[bytes]) -> BytesAhoCorasick:
    from ahocorasick_rs import BytesAhoCorasick, Implementation

    return BytesAhoCorasick(words, implementation=Implementation.DFA)


class _Offsets:
    """Turns places in UTF-8 into places in the text."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def characters(self, places: Sequence[int]) -> list[int]:
        """The numbers of characters before some places, which are in ascending order and not within characters."""
        found = []
        at = count = 0
        for place in places:
            count += len(self._data[at:place].decode("utf-8", "surrogatepass"))
            at = place
            found.append(count)
        return found


def without_masks(found: list[Find], text: str) -> list[Find]:
    """The same finds without those in masks, which are left alone."""
    if not found or "[" not in text:
        return found
    masks = [match.span() for match in MASK.finditer(text)]
    return [find for find in found if not any(start < find.end and find.start < end for start, end in masks)]
