"""Sorts raw lines by what may have to be masked in them, so that most are never decoded.

A line without any keyword is copied as it is. One with nothing but values that are known, home directories above all,
each with clear borders, is masked as bytes. Everything else is decoded. What the decoded lane would do is the truth:
a property compares both.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.redact.gate import Gate

_CLEAR_BEFORE: Final = frozenset(b"\" '(=:,;[<>`|\n")
"""Bytes in front of a value that are certainly no part of a word, nor of an escape."""
_CLEAR_BEHIND: Final = frozenset(b"/\" ')\\,;:]>`|\r\n")


IMAGE_SIGNS: Final = ('"base64"', ";base64,", '"blob"', '"mimetype"', '"image"', '"audio"')
"""In lower case: every line that holds a file in base64 has one of them."""
_PLAIN: Final = re.compile(r"[/\w.-]+", re.ASCII)
_LIST: Final = re.compile(rb'\["(?:[^"\\]|\\.){0,200}"\s?,\s?"')
_BETWEEN_WORDS: Final = re.compile(rb'(?<!\\)",\s?"')
_MOST_FOR_A_TABLE: Final = 16 << 10
"""Bytes of patterns: the automaton that is fastest takes longer to build than it saves with more of them."""


PLAIN: Final = 0
"""Nothing in a line can be masked."""
KNOWN: Final = 1
"""Nothing but known values, with clear borders, can be."""
NAMED: Final = 2
"""A line has to be decoded, because names or images may be in it, but no rule finds a secret in it."""
DECODED: Final = 3
"""A line has to be decoded, and rules may find something in it."""


class LineSieve:
    """Looks for keywords and known values in lines, all in one pass."""

    def __init__(self, keywords: Iterable[bytes], values: Iterable[bytes], gate: Gate | None = None) -> None:
        """`keywords` are in lower case, `values` as they are written; what the gate lets through is decoded, too."""
        from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

        self._gate = gate
        self._values = list(dict.fromkeys(values))
        patterns = list(dict.fromkeys((*(value.lower() for value in self._values), *keywords)))
        self._known = len({value.lower() for value in self._values})
        is_small = sum(map(len, patterns)) <= _MOST_FOR_A_TABLE
        implementation = Implementation.DFA if is_small else Implementation.ContiguousNFA
        automaton = BytesAhoCorasick(patterns, matchkind=MatchKind.LeftmostLongest, implementation=implementation)
        self._find = automaton.find_matches_as_indexes

    def kinds(self, lines: Sequence[bytes]) -> bytearray:
        """What each of some lines needs: `PLAIN`, `KNOWN`, `NAMED` or `DECODED`.

        >>> sieve = LineSieve([b"key", b"/home/"], [b"/home/ada"])
        >>> lines = [b"plain\\n", b"a Key\\n", b"/home/bob\\n", b'"/home/ada/tea"\\n', b"a/home/ada\\n"]
        >>> list(sieve.kinds(lines))
        [0, 2, 2, 1, 2]
        """
        data = b"".join(lines)
        ends = list(accumulate(map(bytes.__len__, lines)))
        result = bytearray(len(lines))
        if self._gate is not None:
            for number in (*self._gate.admitted(data, ends), *self._lists(self._gate, lines, data, ends)):
                result[number] = DECODED
        number = 0
        for pattern, start, end in self._find(data.lower()):
            while start >= ends[number]:
                number += 1
            if result[number] < NAMED:
                result[number] = KNOWN if self._is_known(data, pattern, start, end) else NAMED
        return result

    @staticmethod
    def _lists(gate: Gate, lines: Sequence[bytes], data: bytes, ends: Sequence[int]) -> Iterator[int]:
        """The numbers of lines with lists of words in which rules may find something when the words are joined."""
        last = -1
        for match in _LIST.finditer(data):
            number = bisect_right(ends, match.start())
            if number != last:
                last = number
                if gate.admits(_BETWEEN_WORDS.sub(b" ", lines[number])):
                    yield number

    def _is_known(self, data: bytes, pattern: int, start: int, end: int) -> bool:
        """True for a known value with clear borders."""
        return (
            pattern < self._known
            and data[start:end] in self._values
            and (not start or data[start - 1] in _CLEAR_BEFORE)
            and (end == len(data) or data[end] in _CLEAR_BEHIND)
        )


def is_plain(value: str) -> bool:
    """True for a value that JSON writes as it is."""
    return _PLAIN.fullmatch(value) is not None


def json_bytes(word: str) -> bytes:
    r"""A keyword in lower case, as it stands in a line of JSON.

    >>> json_bytes("Drwx") == b"drwx"
    True
    """
    if word in IMAGE_SIGNS:
        return word.encode()
    return json.dumps(word.lower(), ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
