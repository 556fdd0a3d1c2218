"""Tells in one pass that no rule can find anything in some bytes, however many rules there are.

The bytes are a line of JSON, or a text. A gate is made of sketches of the rules' patterns, and of the signs of what may
hide a secret; whatever it lets through is looked at again by the rules themselves.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.redact.sketch import SketchKind, prefixes, sketch_kind, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MEMORY: Final = 64 << 20
"""Bytes that an automaton may take; it grows as texts are read, and begins anew when it is full."""
_LITTLE_MEMORY: Final = 4 << 20
FIELD_WORDS: Final = ("pass", "pwd", "secret", "token", "jwt", "credential", "key", "auth", "cookie")
"""Every name of a field that says that its value is secret contains one of these."""
_FIELDS: Final = rf'(?i:{"|".join(FIELD_WORDS)})[^"\\:]{{0,40}}\\*"[ \t]*:[ \t]*\\*"[^"\\]'
_NUMBERS: Final = r'(?i:passw|passp|pwd|secret)[^"\\:]{0,40}"[ \t]*:[ \t]*-?[0-9]{4}'
"""Fields in which a number is a secret, see `plausibility.is_number_secret`."""
_DISGUISES: Final = (
    r"[\x00-\x08\x0e-\x1f\x7f]",
    r"\xc2[\x9b\xad]|\xe2\x80[\x8b-\x8f]|\xe2\x81[\xa0-\xa4]|\xef\xbb\xbf",
    r"\\[ub/]",
    r"\\(?:x1[bB]|033|e\[)",
    r"%(?:[2-7][0-9a-fA-F]|0[9aAdD])",
    r"&(?:#|amp;|lt;|gt;|quot;|apos;)",
)
"""What `clean_text` changes, and how JSON writes it; apart from escapes of white space and quotes."""


class Gate:
    """Several automata: patterns that are alike share states, and others would multiply them."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """`patterns` are those of the rules."""
        self._patterns = tuple(dict.fromkeys(patterns))

    def admits(self, data: bytes) -> bool:
        """False for bytes in which no rule finds anything.

        >>> gate = Gate([r"(?<!x)key-[a-z]{3,}", r"(?i)password: (\\S+)"])
        >>> [gate.admits(data) for data in (b"key", b"key-abc", b"PASSWORD: x", b"a%2Db", b'"api_key":"x"')]
        [False, True, True, True, True]
        """
        return any(search(data) is not None for search in self._searches)

    def admitted(self, data: bytes, ends: Sequence[int]) -> set[int]:
        """The numbers of the lines that are let through, of lines that follow each other and end at `ends`.

        >>> Gate(["key-[a-z]{3,}"]).admitted(b"none;key-abc;", [5, 13])
        {1}
        """
        found = set()
        for search in self._searches:
            at = 0
            while at < len(data) and (match := search(data, at)) is not None:
                number = bisect_right(ends, match.start())
                found.add(number)
                at = ends[number]
        return found

    @cached_property
    def _searches(self) -> list[Any]:
        groups: dict[SketchKind, list[str]] = {kind: [] for kind in SketchKind}
        for pattern in self._patterns:
            groups[sketch_kind(pattern)].append(pattern)
        automata = (
            prefixes(groups[SketchKind.PREFIX]),
            union(groups[SketchKind.COUNTED]),
            "|".join(filter(None, (union(groups[SketchKind.PARTLY_FOLDED]), _FIELDS, _NUMBERS, *_DISGUISES))),
            union(groups[SketchKind.FOLDED]),
        )
        return [_search(automaton) for automaton in automata if automaton]


@lru_cache(maxsize=8)
def gate_of(patterns: tuple[str, ...]) -> Gate:
    """The gate of some patterns; making one takes a while."""
    return Gate(patterns)


def is_disguised(data: bytes) -> bool:
    """True for a text in which something may be hidden."""
    return _disguise_search()(data) is not None


@lru_cache(maxsize=1)
def _disguise_search() -> Any:
    return _search("|".join(_DISGUISES), _LITTLE_MEMORY)


@lru_cache(maxsize=2048)
def sketch_search(pattern: str) -> Any:
    """The search for the sketch of one pattern."""
    return _search(union((pattern,)), _LITTLE_MEMORY)


def _search(pattern: str, memory: int = _MEMORY) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = memory
    options.never_capture = True
    options.log_errors = False
    try:
        return re2.compile(pattern.encode(), options).search
    except re2.error:  # a rule of a user's own that is beyond it: every line is looked at then
        return re2.compile(b"", options).search
