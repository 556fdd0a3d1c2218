"""Patterns of exact searches: a text or a regular expression, and what the bytes of a line must hold for a match.

JSON spells a text in many ways, so bytes only decide which lines are decoded; see `LineFilter`. Whether a text matches
is decided on the decoded text.
"""

from __future__ import annotations

import re
import signal
import warnings
from contextlib import AbstractContextManager
from importlib import import_module
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.errors import BadQuery
from claude_session_player.util.text import strip_escapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.search.snippets import Span

MOST_SPANS: Final = 20
"""The number of matches within a text whose places are of interest: a snippet shows no more."""
_FLAGS: Final = re.MULTILINE
_RUN: Final = re.compile(r'(?:[^\x00-\x1f"\\\[\]{}:,\x7f-\x9f\ufffd\ud800-\udfff]++|[:,](?= ))++')
"""Characters that JSON holds side by side, as they are or as escapes that `LineFilter` knows.

A value that is no text, where a text is expected, becomes compact JSON: its brackets, commas and colons may stand apart
in the file, but a comma or a colon before a space is part of a string. (A number there is found only as the file spells
it: `1.50`, and not `1.5`.) `\ufffd` may stand for bytes that are not UTF-8.
"""
_ESCAPE_MARK: Final = b"\\u"
_LATIN_MARK: Final = b"\\u00"
_RAW_MARKS: Final = (b"\x1b", b"\xc2\x9b")
"""Characters that begin the escape sequences of terminals, as some writers leave them in JSON."""


class ScanPattern(NamedTuple):
    """What to look for in the texts of sessions. Capitals count, unless a regular expression says otherwise."""

    text: str
    is_regex: bool = False


def compile_pattern(text: str, *, is_regex: bool = False) -> ScanPattern:
    """A pattern that can be searched for. Raises `BadQuery`.

    >>> compile_pattern("a(", is_regex=True)
    Traceback (most recent call last):
    ...
    claude_session_player.errors.BadQuery: invalid regular expression: missing ), unterminated subpattern
    """
    if not text:
        raise BadQuery("the regular expression is empty" if is_regex else "the text to search for is empty")
    if is_regex:
        _compile_regex(text)
    return ScanPattern(text, is_regex)


def _compile_regex(text: str) -> re.Pattern[str]:
    """A regular expression in which `^` and `$` are the ends of lines. Raises `BadQuery`."""
    try:
        with warnings.catch_warnings():  # of expressions that later versions of Python may read in another way
            warnings.simplefilter("ignore")
            return re.compile(text, _FLAGS)
    except re.error as error:
        line = text.split("\n")[(error.lineno or 1) - 1]
        caret = " " * ((error.colno or 1) - 1) + "^"
        details = (line, caret) if error.pos is not None else (text,)
        raise BadQuery(f"invalid regular expression: {error.msg}", *details) from error
    except (RecursionError, OverflowError) as error:
        raise BadQuery(f"invalid regular expression: {error}", text) from error


class LineFilter(NamedTuple):
    """What the bytes of a line must hold for one of its texts to match.

    That is `needle` and all of `others`; or an escape, which may spell a character of them, or begin an escape sequence
    of a terminal in their midst. Such lines are decoded, whatever else they hold.
    """

    needle: bytes
    others: tuple[bytes, ...]
    marks: tuple[bytes, ...]
    """Each of these escapes begins with one of these."""
    escapes: re.Pattern[bytes]

    def admits_text(self, data: bytes) -> bool:
        """True if the bytes of a text that is not JSON may match."""
        return any(mark in data for mark in _RAW_MARKS) or self._is_in(data)

    def admits_json(self, data: bytes) -> bool:
        """True if a text in a JSON value may match."""
        return self._is_in(data) or self.escapes.search(data) is not None

    def _is_in(self, data: bytes) -> bool:
        return all(run in data for run in (self.needle, *self.others))


def line_filter(pattern: ScanPattern) -> LineFilter | None:
    """The filter for a pattern; `None` if any line may match.

    >>> line_filter(ScanPattern("3 failed, 2 passed")).needle
    b'3 failed, 2 passed'
    >>> filter = line_filter(ScanPattern(r"\\[(INFO|WARN)\\] took \\d+ seconds", is_regex=True))
    >>> filter.needle, filter.others
    (b'seconds', (b'took',))
    """
    texts = mandatory_texts(pattern.text) if pattern.is_regex else [pattern.text]
    found = (run.strip(" ") for text in texts for run in _RUN.findall(text))  # what begins with a space is found slowly
    runs = list(dict.fromkeys(filter(None, found)))
    if not runs:
        return None
    needle, *others = sorted((run.encode() for run in runs), key=len, reverse=True)
    used = set("".join(runs))
    units = sorted({_first_unit(character) for character in used if not character.isascii()})
    choices = [b"00(?:[0-7]|9[bB])", *(b"(?i:%s)" % unit for unit in units)]
    escapes = [rb"\\u(?:%s)" % b"|".join(choices), *_RAW_MARKS]
    marks = [_ESCAPE_MARK if units else _LATIN_MARK, *_RAW_MARKS]
    if "/" in used:
        escapes.append(rb"\\/")
        marks.append(b"\\/")
    return LineFilter(needle, tuple(others), tuple(marks), re.compile(b"|".join(escapes)))


def _first_unit(character: str) -> bytes:
    """The digits of the first escape that spells a character."""
    return character.encode("utf-16-be")[:2].hex().encode()


def mandatory_texts(regex: str) -> list[str]:
    """Texts that are in everything a regular expression matches, as far as they are easy to tell.

    >>> mandatory_texts("(un)?see(n|ing) +\\\\d+ times"), mandatory_texts("(?i)seen"), mandatory_texts("seen|heard")
    (['see', ' ', ' times'], [], [])
    """
    try:
        parsed = import_module("re._parser").parse(regex, _FLAGS)
    except ImportError:  # it is private to this version of Python
        return []
    if parsed.state.flags & re.IGNORECASE:
        return []
    groups = groupby(_literals(parsed), key=bool)
    return ["".join(characters) for is_text, characters in groups if is_text]


def _literals(parsed: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    """The characters that every match has, one after the other; empty strings separate those that need not touch."""
    for operation, value in parsed:
        match str(operation):
            case "LITERAL":
                yield chr(value)
            case "SUBPATTERN" if not value[1] & re.IGNORECASE:
                yield from _literals(value[3])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if value[0] > 0:
                yield ""
                yield from _literals(value[2])
                yield ""
            case _:
                yield ""


class TextMatch(NamedTuple):
    """A text that matches, and where."""

    text: str
    """Without escape sequences, and with plain line ends, if only then it matches."""
    spans: list[Span]


class PatternMatcher:
    """Finds a pattern in decoded texts."""

    def __init__(self, pattern: ScanPattern) -> None:
        self.pattern = pattern
        self.filter = line_filter(pattern)
        self._regex = _compile_regex(pattern.text) if pattern.is_regex else None

    def find(self, text: str) -> TextMatch | None:
        """Where a text matches, as it is or as a terminal shows it."""
        if spans := self._spans(text):
            return TextMatch(text, spans)
        stripped = strip_escapes(text)
        if stripped is not text and (spans := self._spans(stripped)):
            return TextMatch(stripped, spans)
        return None

    def find_first(self, parts: Sequence[str]) -> TextMatch | None:
        """The same for the first of some texts that matches."""
        return next((found for part in parts if (found := self.find(part)) is not None), None)

    def is_in_base64(self, line: bytes) -> bool:
        """True if data in base64 contains the text. Regular expressions are not tried: anything may match there."""
        text = self.pattern.text
        if self._regex is not None or b"base64" not in line or not re.fullmatch(_BASE64_TEXT, text):
            return False
        needle = text.encode()
        return any(needle in data[0] for data in re.finditer(_BASE64_DATA, line))

    def _spans(self, text: str) -> list[Span]:
        if self._regex is not None:
            return [match.span() for match in islice(self._regex.finditer(text), MOST_SPANS)]
        wanted = self.pattern.text
        spans: list[Span] = []
        at = text.find(wanted)
        while at >= 0 and len(spans) < MOST_SPANS:
            end = at + len(wanted)
            spans.append((at, end))
            at = text.find(wanted, end)
        return spans


_BASE64_TEXT: Final = r"[A-Za-z0-9+/=]+"
_BASE64_DATA: Final = rb"[A-Za-z0-9+/=]{128,}"


TIME_LIMIT: Final = 5.0
"""How many seconds a regular expression may take on one file."""


class TimeLimitReached(Exception):
    """A regular expression took too long."""


class MatchingTime(AbstractContextManager[None]):
    """The time that a regular expression may take on one file; raises `TimeLimitReached` at its end.

    A signal ends the match, so it works only where `is_possible` is true. Processor time counts: that does not depend
    on what else the system does.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._before: Any = None

    @staticmethod
    def is_possible() -> bool:
        """True in the main thread of a process, on systems with interval timers."""
        import threading

        return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._left <= 0:
            raise TimeLimitReached
        self._before = signal.signal(signal.SIGVTALRM, self._end_match)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._left)

    def __exit__(self, *exception: object) -> None:
        try:
            self._left = signal.setitimer(signal.ITIMER_VIRTUAL, 0)[0]
        finally:
            signal.signal(signal.SIGVTALRM, self._before)

    def _end_match(self, *_: object) -> None:
        raise TimeLimitReached
