"""Finds what rules mask in texts: first keywords, all in one pass, then the few rules whose keyword is there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.redact.cleaning import SIGNS, CleanedText, clean_text, has_escaped_space
from claude_session_player.redact.gate import gate_of
from claude_session_player.redact.masks import MASK
from claude_session_player.redact.reach import beginnings, begins_with_keyword, reach
from claude_session_player.redact.rule import Find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ahocorasick_rs import AhoCorasick, BytesAhoCorasick

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

        self._rules_of = [tuple(self._order[id(rule)] for rule in rules) for _, rules in self._by_keyword]
        self._nothing: set[str] = set()
        """Short texts in which nothing was found."""
        self._extents: dict[int, _Extent] = {}

    @cached_property
    def _words(self) -> _Words:
        return _Words(keyword.decode() for keyword, _ in self._by_keyword)

    @cached_property
    def gate(self) -> Gate:
        """Tells texts and lines in which the rules find nothing."""
        return gate_of(tuple(dict.fromkeys(rule.pattern for rule in self.rules)))

    def _extent(self, number: int) -> _Extent:
        """Where a rule can find something; that takes a while to know, and most rules are never applied."""
        if (known := self._extents.get(number)) is None:
            rule = self.rules[number]
            begins = begins_with_keyword(rule.pattern, rule.keywords)
            words = frozenset[str]() if begins else beginnings(rule.pattern)
            known = self._extents[number] = _Extent(begins, _Words(words) if words else None, reach(rule.pattern))
        return known

    def candidates(self, data: bytes) -> tuple[list[Rule], bool]:
        """The rules that may find something in UTF-8, in their order; and whether something may be in disguise."""
        numbers = {number for number, _, _ in self._words.find(data.lower())}
        if not numbers:
            return [*self._always], False
        rules = {id(rule): rule for number in numbers for rule in self._by_keyword[number][1]}
        rules |= {id(rule): rule for rule in self._always}
        return sorted(rules.values(), key=lambda rule: self._order[id(rule)]), not self._signs.isdisjoint(numbers)

    def finds(self, text: str) -> list[Find]:
        """What rules find in a text, and in the same text without disguises, from left to right, without overlaps."""
        return self.scan(text).finds

    def scan(self, text: str) -> Scan:
        """The same, with the text without disguises if it has any."""
        if len(text) < SHORTEST or text in self._nothing or not self.gate.admits(text.encode("utf-8", "replace")):
            return Scan([], None)
        found, is_disguised = self._look(text)
        cleaned = clean_text(text) if is_disguised or has_escaped_space(text) else None
        if cleaned is not None:
            found += cleaned.originals(self.finds_as_is(cleaned.text))
        elif not found and len(text) <= _SHORT:
            if len(self._nothing) >= _REMEMBERED:
                self._nothing.clear()
            self._nothing.add(text)
        return Scan(self.merged(found, text), cleaned)

    def finds_as_is(self, text: str) -> list[Find]:
        """What the rules find in a text as it is."""
        return self._look(text)[0]

    def _look(self, text: str) -> tuple[list[Find], bool]:
        """What the rules find in a text as it is, and whether something may be in disguise.

        A rule is applied only to what its matches can reach around its keywords: most texts are much longer.
        """
        lower = _lowered(text)
        hits = self._words.find(lower)
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
        found = [find for rule in self._always for find in rule.finds(text)]
        for rule in sorted(by_rule):
            found += self._found_near(rule, text, lower, by_rule[rule])
        return without_masks(found, text), not self._signs.isdisjoint(places)

    def _found_near(self, number: int, text: str, lower: bytes | str, starts: list[int]) -> Iterator[Find]:
        """What a rule finds around its keywords, which begin at these places; `lower` is the text, see `_lowered`."""
        rule, size = self.rules[number], len(text)
        begins, words, width = self._extent(number)
        if words is not None:
            starts = list({start for _, start, _ in words.find(lower)})
        elif not begins and (width is None or size <= 2 * width):
            yield from rule.finds(text)
            return
        starts.sort()
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
    words: _Words | None
    """They begin with one of these words."""
    width: int | None
    """They extend so far from its keywords; `None` for no limit."""


class _Words:
    """Finds words in lower case: in bytes, or in texts that are not ASCII, where places are those of characters."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = list(words)

    def find(self, lower: bytes | str) -> list[tuple[int, int, int]]:
        """The numbers of the words that stand in a text, with their places; they may overlap."""
        automaton: Any = self._in_bytes if isinstance(lower, bytes) else self._in_text
        found: list[tuple[int, int, int]] = automaton.find_matches_as_indexes(lower, overlapping=True)
        return found

    @cached_property
    def _in_bytes(self) -> BytesAhoCorasick:
        from ahocorasick_rs import BytesAhoCorasick, Implementation

        return BytesAhoCorasick([word.encode() for word in self._words], implementation=Implementation.DFA)

    @cached_property
    def _in_text(self) -> AhoCorasick:
        from ahocorasick_rs import AhoCorasick, Implementation

        return AhoCorasick(self._words, implementation=Implementation.DFA)


def _lowered(text: str) -> bytes | str:
    """A text whose ASCII letters are in lower case, with as many items as the text has characters."""
    data = text.encode("utf-8", "replace").lower()
    return data if len(data) == len(text) else data.decode()


def without_masks(found: list[Find], text: str) -> list[Find]:
    """The same finds without those in masks, which are left alone."""
    if not found or "[" not in text:
        return found
    masks = [match.span() for match in MASK.finditer(text)]
    return [find for find in found if not any(start < find.end and find.start < end for start, end in masks)]
