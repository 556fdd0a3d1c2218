"""How fast a pattern is on the worst texts that can be made for it: one that takes far longer than linear time is slow.

The texts grow from a single character, in small steps, and by a single character as soon as the time for each character
grows, too. So a pattern that takes exponential time is caught before it hangs. Long texts double their size.
"""

from __future__ import annotations

import os
import re
import time
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

WHEN_LOADED: Final = 64 << 10
"""Characters of the longest text that is tried whenever a rule is loaded."""
BUILT_IN: Final = 8 << 10
"""Built-in rules: tests try them on more."""
WHEN_CHECKED: Final = 1 << 20
"""Characters of the longest text that is tried by `redact check`."""
_SHORTEST: Final = 16
"""Characters of the first texts, which are the easiest to read in a message."""
_STEP: Final = 4
_MIDDLE: Final = 256
"""Characters up to which texts grow by steps."""
_SHORT: Final = 1024
"""Characters up to which all texts grow; after that, only those that took longest do."""
_MOST_LONG: Final = 3
_FLOOR: Final = 0.05
_PER_CHARACTER: Final = 3e-6
"""Seconds: a search may take the floor and as much for each character. A linear one takes a hundredth of that."""
_NO_TIME: Final = 10e-6
"""Seconds: if each character doubles the time, this is still less than a second after sixteen of them."""
_STEADY: Final = 1.5
_CLOCK: Final[Callable[[], float]] = time.thread_time if os.name == "posix" else time.perf_counter
"""The time of this thread alone, where it is exact: a busy machine makes no pattern slow."""

_USUAL: Final = "a0A _-./=:\"'\n@+,"
"""Characters that patterns are often about."""
_ENDS: Final = ("!", "\n!")
"""What most patterns do not expect, so that they try all else before they give up."""
_WORD: Final = re.compile(r"[^\s()\[\]{}|*+?.^$\\]{2,}")
"""What stands in a pattern for itself."""
_ESCAPE: Final = re.compile(r"\\[A-Za-z]|\?P?<?\w*>?|\{[\d,]*\}")
_BREAK: Final = re.compile(r"[^A-Za-z0-9]+")
_PIECE: Final = re.compile(r"[A-Za-z0-9]{1,20}[^A-Za-z0-9]")
_MOST_CHARACTERS: Final = 18
_MOST_IN_PAIRS: Final = 6
_MOST_WORDS: Final = 4
_SHOWN: Final = 5
_LONGEST_SAMPLE: Final = 256


class SlowText(NamedTuple):
    """A text on which a pattern takes far too long."""

    text: str
    seconds: float

    def __str__(self) -> str:
        return f"{shortened(self.text)} ({len(self.text):,} characters) takes {self.seconds:.2g} s"


class PatternSpeed(NamedTuple):
    """How long a pattern took on the worst texts."""

    seconds: float
    """For the longest text that was tried."""
    slow: SlowText | None
    """The first text on which it was far too slow, if there is one."""


class _Family(NamedTuple):
    """Texts of any length: a prefix, a unit that is repeated, and an end."""

    prefix: str
    unit: str
    end: str

    def text(self, size: int) -> str:
        """The text with this many characters between prefix and end."""
        repeated = self.unit * (size // len(self.unit) + 1)
        return self.prefix + repeated[:size] + self.end


def measure_pattern(
    pattern: re.Pattern[str],
    *,
    samples: Iterable[str] = (),
    keywords: Iterable[str] = (),
    longest: int = WHEN_LOADED,
    matches_whole: bool = False,
    clock: Callable[[], float] = _CLOCK,
) -> PatternSpeed:
    """Search hostile texts of up to `longest` characters, made from a pattern, its keywords and its samples.

    With `matches_whole`, they are not searched, but compared with the pattern as a whole.

    >>> str(measure_pattern(re.compile("(a+)+$")).slow).partition(" (")[0]
    "'aaaaa…a!'"
    >>> measure_pattern(re.compile("tea_[a-z0-9]{20,40}"), keywords=["tea_"]).slow is None
    True
    """
    search = _Search(pattern, clock, matches_whole=matches_whole)
    parts = _parts(pattern.pattern, [sample[:_LONGEST_SAMPLE] for sample in samples], list(keywords))
    try:
        for unit in parts.characters:
            search.grow(_Family("", unit, _ENDS[0]), 1, _SHORTEST)
        for text in (*parts.prefixes, *parts.units, *parts.samples):
            search.grow_prefix(text, (*_ENDS, *parts.characters, text[-1]))
        took = [(search.grow(family, 1, min(_SHORT, longest)), family) for family in _families(parts)]
        took.sort(key=lambda one: one[0], reverse=True)
        if longest <= _SHORT:
            return PatternSpeed(took[0][0], None)
        return PatternSpeed(max(search.grow(family, _SHORT, longest) for _, family in took[:_MOST_LONG]), None)
    except _TooSlow as error:
        return PatternSpeed(error.slow.seconds, error.slow)


class _TooSlow(Exception):
    """A text takes too long."""

    def __init__(self, slow: SlowText) -> None:
        super().__init__(str(slow))
        self.slow = slow


class _Search:
    """Searches texts that grow, until one takes too long, which raises `_TooSlow`."""

    def __init__(self, pattern: re.Pattern[str], clock: Callable[[], float], *, matches_whole: bool) -> None:
        self._pattern = pattern
        self._matches_whole = matches_whole
        self._clock = clock

    def grow(self, family: _Family, size: int, longest: int) -> float:
        """Search texts of a family of more and more characters; gives the seconds for the last one."""
        before = 0.0
        while True:
            seconds = self._try(family.text(size))
            if size >= longest:
                return seconds
            is_steady = seconds < _NO_TIME or seconds / size <= _STEADY * before
            before = seconds / size
            size = min(longest, _next_size(size, is_steady=is_steady))

    def grow_prefix(self, text: str, ends: Iterable[str]) -> None:
        """Search the beginnings of a text, each followed by what may make the pattern fail at that place.

        Where it fails decides how long it takes, so none of the other texts would show it in time.
        """
        ends = _distinct(ends)
        size = 1
        while True:
            slowest = max(self._try(text[:size] + end) for end in ends)
            if size >= len(text):
                return
            is_fast = slowest < _NO_TIME + size * _PER_CHARACTER / 50
            size = min(len(text), size + (_STEP if is_fast else 1))

    def _try(self, text: str) -> float:
        seconds = self._seconds(text)
        if seconds > _limit(text):
            seconds = min(seconds, self._seconds(text))
        if seconds > _limit(text):
            raise _TooSlow(SlowText(text, seconds))
        return seconds

    def _seconds(self, text: str) -> float:
        start = self._clock()
        if self._matches_whole:
            self._pattern.fullmatch(text)
        else:
            for _ in self._pattern.finditer(text):
                pass
        return self._clock() - start


def _next_size(size: int, *, is_steady: bool) -> int:
    """The size of the next text: steps are small at first, because time may grow exponentially from any size on."""
    if size >= _MIDDLE:
        return 2 * size if is_steady else size * 6 // 5
    return size + (min(size, _STEP if size < _MIDDLE // 4 else 4 * _STEP) if is_steady else 1)


def _limit(text: str) -> float:
    return _FLOOR + len(text) * _PER_CHARACTER


class _Parts(NamedTuple):
    """What hostile texts are made of."""

    characters: list[str]
    pairs: list[str]
    units: list[str]
    """Words of the pattern, and pieces of the samples."""
    prefixes: list[str]
    samples: list[str]


def _parts(pattern: str, samples: Sequence[str], keywords: Sequence[str]) -> _Parts:
    samples = _distinct(samples)[:_MOST_WORDS]
    literal = _ESCAPE.sub(" ", pattern)
    words = _distinct((*keywords, *(word for word in _WORD.findall(literal) if not word.isdigit())))
    characters = _distinct((*_alphanumeric(literal), *_alphanumeric("".join(samples))[:3], *_USUAL, *_marks(samples)))
    pieces = _distinct(piece for sample in samples for piece in _PIECE.findall(sample))
    return _Parts(
        characters[:_MOST_CHARACTERS],
        ["".join(pair) for pair in combinations(characters[:_MOST_IN_PAIRS], 2)],
        [*words[: 2 * _MOST_WORDS], *pieces[:_MOST_WORDS]],
        _distinct((*_prefixes(samples, keywords), *words))[:_MOST_WORDS],
        samples,
    )


def _families(parts: _Parts) -> Iterator[_Family]:
    """Texts that are hard for a pattern, the simplest first."""
    for unit in parts.characters:
        for end in _ENDS:
            yield _Family("", unit, end)
    for unit in _distinct((*parts.prefixes, *parts.units, *parts.pairs)):
        yield _Family("", unit, _ENDS[0])
    for sample in parts.samples:
        yield _Family("", sample, _ENDS[1])
        yield _Family("", sample[: 2 * len(sample) // 3] or sample, _ENDS[0])
        yield _Family(sample, parts.characters[0], _ENDS[1])
    for number, prefix in enumerate(parts.prefixes):
        characters = parts.characters if number < _MOST_WORDS // 2 else parts.characters[:_MOST_IN_PAIRS]
        for unit in (*characters, *parts.pairs[:_MOST_WORDS], *parts.units[-_MOST_WORDS:]):
            yield _Family(prefix, unit, _ENDS[1])


def _prefixes(samples: Iterable[str], keywords: Iterable[str]) -> Iterator[str]:
    """Texts after which the variable part of a match may begin."""
    for sample in samples:
        for keyword in keywords:
            if (at := sample.lower().find(keyword)) >= 0:
                yield sample[: at + len(keyword)]
        for match in list(_BREAK.finditer(sample))[:2]:
            yield sample[: match.end()]


def _alphanumeric(text: str) -> list[str]:
    """The first letters and digits of a text, each once."""
    return _distinct(char for char in text if char.isalnum())[: _MOST_CHARACTERS // 3]


def _marks(samples: Iterable[str]) -> list[str]:
    return _distinct(char for sample in samples for char in sample if not char.isalnum())


def _distinct(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]


def shortened(text: str) -> str:
    """A text in quotes, without its middle.

    >>> shortened("a" * 30 + "!"), shortened("a b")
    ("'aaaaa…a!'", "'a b'")
    """
    return repr(text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]}…{text[-2:]}")
