"""Sorts raw lines by what may have to be masked in them, so that most are never decoded.

A line without any keyword is copied as it is. One with nothing but values that are known, home directories above all,
each with clear borders, is masked as bytes. Everything else is decoded. What the decoded lane would do is the truth:
a property compares both.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.redact.cleaning import LINE_SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CLEAR_BEFORE: Final = frozenset(b"\" '(=:,;[<>`|")
"""Bytes in front of a value that are certainly no part of a word, nor of an escape."""
_CLEAR_BEHIND: Final = frozenset(b"/\" ')\\,;:]>`|")


IMAGE_SIGNS: Final = ('"base64"', ";base64,")
_PLAIN: Final = re.compile(r"[/\w.-]+", re.ASCII)


class LineHit(NamedTuple):
    """A known value in a line."""

    start: int
    end: int
    literal: bytes


class LineSieve:
    """Looks for keywords and known values in lines, all in one pass."""

    def __init__(self, keywords: Iterable[bytes], literals: Mapping[bytes, bytes]) -> None:
        """Both in lower case; `literals` maps what known values are in lower case to what they are."""
        from ahocorasick_rs import BytesAhoCorasick, MatchKind

        self._literals = literals
        self._patterns = list(dict.fromkeys((*literals, *keywords)))
        self._known = len(literals)
        self._find = BytesAhoCorasick(self._patterns, matchkind=MatchKind.LeftmostLongest).find_matches_as_indexes

    def known_hits(self, line: bytes) -> list[LineHit] | None:
        """The known values in a line; `None` for a line with anything else that has to be looked at.

        >>> sieve = LineSieve([b"key", b"/home/"], {b"/home/ada": b"/home/ada"})
        >>> [sieve.known_hits(line) for line in (b"plain", b"a key", b"/home/bob", b'"/home/ada/tea"', b"a/home/ada")]
        [[], None, None, [LineHit(start=1, end=10, literal=b'/home/ada')], None]
        """
        found = self._find(line.lower())
        if not found:
            return []
        hits = []
        for number, start, end in found:
            if number >= self._known:
                return None
            literal = self._literals[self._patterns[number]]
            if (
                line[start:end] != literal
                or (start and line[start - 1] not in _CLEAR_BEFORE)
                or (end < len(line) and line[end] not in _CLEAR_BEHIND)
            ):
                return None
            hits.append(LineHit(start, end, literal))
        return hits


def is_plain(value: str) -> bool:
    """True for a value that JSON writes as it is."""
    return _PLAIN.fullmatch(value) is not None


def json_bytes(word: str) -> bytes:
    """A keyword in lower case, as it stands in a line of JSON.

    >>> json_bytes('"d"'), json_bytes("c:\\users"), json_bytes("\\u")
    (b'\\"d\\"', b'c:\\\\users', b'\\u')
    """
    if word in LINE_SIGNS or word in IMAGE_SIGNS:
        return word.encode()
    return json.dumps(word.lower(), ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
