"""Tells lines of session files that may hold a secret from those that cannot, by their bytes alone."""

from __future__ import annotations

import json
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.redact.gate import Gate


class SecretLineFilter:
    """Lets through what the rules, or values that are known, may be found in."""

    def __init__(self, gate: Gate, values: Iterable[str]) -> None:
        from ahocorasick_rs import BytesAhoCorasick

        self._gate = gate
        words = {raw.encode("utf-8", "surrogatepass") for value in values for raw in raw_spellings(value)}
        self._find = BytesAhoCorasick(words).find_matches_as_indexes if words else None

    def admitted(self, lines: Sequence[bytes]) -> set[int]:
        """The numbers of the lines that may hold a secret, counted from 0."""
        data = b"".join(lines)
        ends = list(accumulate(map(bytes.__len__, lines)))
        found = self._gate.admitted(data, ends)
        if self._find is not None:
            found.update(bisect_right(ends, start) for _, start, _ in self._find(data))
        return found


def raw_spellings(text: str) -> Iterator[str]:
    """How a text can stand in a line, in JSON or damaged, apart from escapes that JSON does not need.

    >>> sorted(set(raw_spellings('a"/b')))
    ['a"/b', 'a"\\\\/b', 'a\\\\"/b', 'a\\\\"\\\\/b']
    """
    for spelling in (text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]):
        yield spelling
        yield spelling.replace("/", "\\/")
