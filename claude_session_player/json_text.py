"""JSON as text: one value, an array with a value on each line, or the lines alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from claude_session_player.text import escape_controls

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode(value: Any) -> str:
    """Compact JSON; what a file of a store holds may be anything, and then takes another way."""
    try:
        text = _encode(value)
        if not text.isascii():
            text.encode()
        return escape_controls(text)
    except (ValueError, RecursionError, TypeError):
        from claude_session_player import rawjson

        return rawjson.compact(value)


def array(texts: Iterable[str]) -> Iterator[str]:
    """An array of encoded values, in pieces, without a final line break.

    >>> "".join(array(["1", "2"])), "".join(array([]))
    ('[1,\\n 2]', '[]')
    """
    before = "["
    for text in texts:
        yield before + text
        before = ",\n "
    yield "]" if before != "[" else "[]"
