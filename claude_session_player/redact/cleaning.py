"""Texts without what may hide a secret in them: colour codes, invisible characters, escapes of JSON, URLs and HTML.

A cleaned text knows where each of its characters stood, so that what is found in it can be masked in the original.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.util.text import ESCAPE_SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from claude_session_player.redact.rule import Find

_INVISIBLE: Final = "\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_DISGUISE: Final = re.compile(
    f"(?P<dropped>{ESCAPE_SEQUENCE}|[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f{_INVISIBLE}]"
    r"|\\{1,8}(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,20}[A-Za-z])"
    r"|(?P<json>\\{1,64}(?:u[0-9a-fA-F]{4}|/))"
    r"|(?P<space>\\{1,64}[nrt])"
    r"|(?P<quote>\\{1,64}\")"
    r"|(?P<url>%[2-7][0-9a-fA-F]|%0[9aAdD])"
    r"|(?P<html>&(?:\#[0-9]{2,5}|\#x[0-9a-fA-F]{2,4}|amp|lt|gt|quot|apos);)"
)


class CleanedText(NamedTuple):
    """A text without disguises, and the places where they stood."""

    text: str
    starts: list[int]
    """Where parts of the cleaned text begin: the first one at 0."""
    places: list[int]
    """Where these parts begin in the original."""
    sizes: list[int]
    """How long they are in the original."""

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original that a span of the cleaned text came from.

        >>> clean_text("k\\x1b[1mey").original_span(0, 3)
        (0, 7)
        """
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        return self._place(first, start), self._place(last, end - 1) + self._width(last)

    def originals(self, finds: Iterable[Find]) -> list[Find]:
        """What was found in the cleaned text, at its places in the original."""
        spans = [(find, self.original_span(find.start, find.end)) for find in finds]
        return [find._replace(start=start, end=end) for find, (start, end) in spans]

    def _is_replaced(self, part: int) -> bool:
        following = self.starts[part + 1] if part + 1 < len(self.starts) else len(self.text)
        return self.sizes[part] != following - self.starts[part]

    def _place(self, part: int, at: int) -> int:
        return self.places[part] + (0 if self._is_replaced(part) else at - self.starts[part])

    def _width(self, part: int) -> int:
        return self.sizes[part] if self._is_replaced(part) else 1


def clean_text(text: str) -> CleanedText | None:
    """The text without disguises, and with white space and quotes for their escapes; `None` if it has none.

    >>> clean_text("sk\\x1b[31m-ant").text, clean_text("\\\\u0073k%2Dant&#45;").text, clean_text("plain")
    ('sk-ant', 'sk-ant-', None)
    """
    pieces: list[str] = []
    starts: list[int] = []
    places: list[int] = []
    sizes: list[int] = []
    length = at = 0

    def add(piece: str, place: int, size: int) -> None:
        nonlocal length
        if piece:
            pieces.append(piece)
            starts.append(length)
            places.append(place)
            sizes.append(size)
            length += len(piece)

    for match in _DISGUISE.finditer(text):
        start, end = match.span()
        add(text[at:start], at, start - at)
        add(_MEANINGS[str(match.lastgroup)](match[0]), start, end - start)
        at = end
    if not at:
        return None
    add(text[at:], at, len(text) - at)
    return CleanedText("".join(pieces), starts, places, sizes)


def _json_meaning(escape: str) -> str:
    return chr(int(escape[-4:], 16)) if "u" in escape else "/"


def _visible(text: str) -> str:
    return "" if re.fullmatch(f"[{_INVISIBLE}]", text) else text


_MEANINGS: Final[dict[str, Callable[[str], str]]] = {
    "dropped": lambda sequence: "",
    "space": lambda escape: {"n": "\n", "r": "\r", "t": "\t"}[escape[-1]],
    "quote": lambda escape: '"',
    "json": lambda escape: _visible(_json_meaning(escape)),
    "url": lambda escape: chr(int(escape[1:], 16)),
    "html": html.unescape,
}
