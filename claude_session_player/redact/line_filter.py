"""Tells lines of session files that may hold a secret from those that cannot, by their bytes alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claude_session_player.redact.gate import Gate


class SecretLineFilter:
    """Lets through what the rules, or values that are known, may be found in."""

    def __init__(self, gate: Gate, values: Iterable[str]) -> None:
        from ahocorasick_rs import BytesAhoCorasick

        self._gate = gate
        words = {raw.encode("utf-8", "surrogatepass") for value in values for raw in raw_spellings(value)}
        self._find = BytesAhoCorasick(words).find_matches_as_indexes if words else None

    def admits(self, line: bytes) -> bool:
        """True if a line may hold a secret."""
        return self._gate.admits(line) or (self._find is not None and bool(self._find(line)))


def raw_spellings(text: str) -> Iterator[str]:
    """How a text can stand in a line, in JSON or damaged, apart from escapes that JSON does not need.

    >>> sorted(set(raw_spellings('a"/b')))
    ['a"/b', 'a"\\\\/b', 'a\\\\"/b', 'a\\\\"\\\\/b']
    """
    for spelling in (text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]):
        yield spelling
        yield spelling.replace("/", "\\/")
