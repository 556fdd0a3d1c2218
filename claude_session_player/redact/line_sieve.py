"""Sorts raw lines by what may have to be masked in them, so that most are never decoded.

A line without any keyword is copied as it is. One with nothing but values that are known, home directories above all,
each with clear borders, is masked as bytes. Everything else is decoded. What the decoded lane would do is the truth:
a property compares both.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from claude_session_player.redact.cleaning import LINE_SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLEAR_BEFORE: Final = frozenset(b"\" '(=:,;[<>`|")
"""Bytes in front of a value that are certainly no part of a word, nor of an escape."""
_CLEAR_BEHIND: Final = frozenset(b"/\" ')\\,;:]>`|")


IMAGE_SIGNS: Final = ('"base64"', ";base64,")
_PLAIN: Final = re.compile(r"[/\w.-]+", re.ASCII)
_MOST_FOR_A_TABLE: Final = 16 << 10
"""Bytes of patterns: the automaton that is fastest takes longer to build than it saves with more of them."""


PLAIN: Final = 0
"""Nothing in a line can be masked."""
KNOWN: Final = 1
"""Nothing but known values, with clear borders, can be."""
DECODED: Final = 2
"""A line has to be decoded to be known."""


class LineSieve:
    """Looks for keywords and known values in lines, all in one pass."""

    def __init__(self, keywords: Iterable[bytes], values: Iterable[bytes]) -> None:
        """`keywords` are in lower case, `values` as they are written."""
        from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

        self._values = list(dict.fromkeys(values))
        patterns = list(dict.fromkeys((*(value.lower() for value in self._values), *keywords)))
        self._known = len({value.lower() for value in self._values})
        is_small = sum(map(len, patterns)) <= _MOST_FOR_A_TABLE
        implementation = Implementation.DFA if is_small else Implementation.ContiguousNFA
        automaton = BytesAhoCorasick(patterns, matchkind=MatchKind.LeftmostLongest, implementation=implementation)
        self._find = automaton.find_matches_as_indexes

    def kind(self, line: bytes) -> int:
        """What a line needs: `PLAIN`, `KNOWN` or `DECODED`.

        >>> sieve = LineSieve([b"key", b"/home/"], [b"/home/ada"])
        >>> [sieve.kind(line) for line in (b"plain", b"a Key", b"/home/bob", b'"/home/ada/tea"', b"a/home/ada")]
        [0, 2, 2, 1, 2]
        """
        found = self._find(line.lower())
        if not found:
            return PLAIN
        for number, start, end in found:
            if (
                number >= self._known
                or line[start:end] not in self._values
                or (start and line[start - 1] not in _CLEAR_BEFORE)
                or (end < len(line) and line[end] not in _CLEAR_BEHIND)
            ):
                return DECODED
        return KNOWN


def is_plain(value: str) -> bool:
    """True for a value that JSON writes as it is."""
    return _PLAIN.fullmatch(value) is not None


def json_bytes(word: str) -> bytes:
    r"""A keyword in lower case, as it stands in a line of JSON.

    >>> json_bytes('"d"'), json_bytes("c:\\users"), json_bytes("\\u")
    (b'\\"d\\"', b'c:\\\\users', b'\\u')
    """
    if word in LINE_SIGNS or word in IMAGE_SIGNS:
        return word.encode()
    return json.dumps(word.lower(), ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
