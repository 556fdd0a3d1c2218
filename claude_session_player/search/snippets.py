"""Snippets: the part of a long text around what was found, on one line, with the places of what was found in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.util.text import ELLIPSIS, strip_escapes

if TYPE_CHECKING:
    from collections.abc import Sequence

Span = tuple[int, int]
"""Where something begins in a text, and where it ends."""

SNIPPET_WIDTH: Final = 160
_BEFORE: Final = 40
"""The number of characters before the first match, if there are as many."""
_MOST_SPANS: Final = 20
_WORD_SEARCH: Final = 12
"""How far the beginning of a snippet may move to begin with a word."""


class Snippet(NamedTuple):
    """A part of a text on one line, and the spans of the matches in it."""

    text: str
    spans: tuple[Span, ...] = ()


def make_snippet(text: str, spans: Sequence[Span], width: int = SNIPPET_WIDTH) -> Snippet:
    """The part of a text around its first matches; white space becomes single spaces, escape sequences are removed.

    >>> make_snippet("one\\n   two three", [(7, 10)])
    Snippet(text='one two three', spans=((4, 7),))
    >>> make_snippet("a" * 300 + " needle " + "b" * 300, [(301, 307)], width=30).text
    '…aaaaaaaaaaaaaaaaaaa needle bbb…'
    """
    first = spans[0] if spans else (0, 0)
    start = max(first[0] - min(_BEFORE, 2 * width // 3), 0)
    end = min(max(start + width, min(first[1], first[0] + width)), len(text))
    start = _word_start(text, start, first[0])
    pieces, marks, length = [], [], 0
    if start > 0:
        pieces.append(ELLIPSIS)
        length = 1
    at = start
    for span_start, span_end in spans[:_MOST_SPANS]:
        if span_start < at or span_start >= end:
            continue
        before = _flatten(text[at:span_start], is_start=not length)
        found = _flatten(text[span_start : min(span_end, end)], is_start=not (length or before))
        marks.append((length + len(before), length + len(before) + len(found)))
        pieces += (before, found)
        length += len(before) + len(found)
        at = min(span_end, end)
    pieces.append(_flatten(text[at:end], is_start=not length).rstrip())
    if end < len(text.rstrip()):
        pieces.append(ELLIPSIS)
    return Snippet("".join(pieces), tuple(mark for mark in marks if mark[1] > mark[0]))


def _word_start(text: str, start: int, latest: int) -> int:
    """The beginning of a word near a place, so that a snippet does not begin in the middle of one."""
    if start == 0:
        return 0
    blank = text.find(" ", start, min(start + _WORD_SEARCH, latest))
    return blank + 1 if blank >= 0 else start


def _flatten(text: str, *, is_start: bool) -> str:
    flat = " ".join(strip_escapes(text).split()) if text else ""
    if not flat:
        return " " if text and not is_start else ""
    before = " " if text[0].isspace() and not is_start else ""
    return f"{before}{flat}{' ' if text[-1].isspace() else ''}"
