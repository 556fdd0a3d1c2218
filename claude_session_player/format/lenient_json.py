"""Reads and writes JSON that is glued, cut off, nested too deep or wrongly encoded. Nothing here raises on data.

A line comes here only when the strict decoder refuses it. Functions that need msgspec import it themselves: it takes
longer to import than Python takes to start, and commands that are answered from the index write JSON without it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.util.text import ELLIPSIS, escape_controls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from msgspec import Raw

MAX_DEPTH: Final = 100
"""Deeper nesting is replaced by `…`: the decoders recurse, and no session has meaningful data there."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*+"?|[\[{]+|[\]}]+', re.DOTALL)
_PADDING = re.compile(r"[\s\ufeff\0]*")
_WORDS: Final = ("true", "false", "null", "-1", ".1", "e+1", "e-1", "E+1", "E-1")
_CUT_WORDS: Final = frozenset(word[:end] for word in _WORDS for end in range(len(word)))
"""What is left of a word, or of the end of a number, that was cut off."""
_ESCAPE: Final = re.compile(r'"?\\?u?[0-9a-fA-F]{0,3}')
_MAX_DIGITS: Final = 300
_MAX_BITS: Final = 1000


CUT_SHORT: Final = "cut short: the JSON ends in the middle"


class Damage(NamedTuple):
    """Text that is not JSON."""

    reason: str


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_lenient = json.JSONDecoder(strict=False, parse_int=_number)


def decode_text(data: bytes) -> str:
    """Any bytes as text; a byte that is not UTF-8 becomes a lone surrogate, so that offsets stay correct."""
    return data.decode("utf-8", "surrogateescape")


def encoded_length(text: str) -> int:
    """The number of bytes that `decode_text` decoded to this text."""
    return len(text.encode("utf-8", "surrogateescape"))


def json_values(text: str) -> Iterator[tuple[int, int, Any]]:
    """Each JSON value of a line, with its start and end; the first text that is not JSON ends it, as `Damage`.

    >>> list(json_values('{"a":1}{"b":2}'))
    [(0, 7, {'a': 1}), (7, 14, {'b': 2})]
    >>> list(json_values('{"a":1} oops'))[1]
    (8, 12, Damage(reason='no JSON value here'))
    """
    at = 0
    while (at := _skip(text, at)) < len(text):
        value, after = value_at(text, at)
        yield at, after, value
        if isinstance(value, Damage):
            return
        at = after


def value_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at a position, or `Damage`, and its end."""
    try:
        return _lenient.raw_decode(text, at)
    except json.JSONDecodeError as error:
        return Damage(_reason(error)), len(text)
    except RecursionError:
        pruned, end = _pruned(text, at)
        try:
            return _lenient.raw_decode(pruned)[0], end
        except json.JSONDecodeError as error:
            return Damage(_reason(error)), len(text)


def object_at(text: str, at: int) -> tuple[dict[str, Any], int] | None:
    """The JSON object that begins at a position, and its end; `None` if there is no complete one.

    An object that is too deep for the decoder is not returned: finding its end at many positions would take too long.
    """
    try:
        value, after = _lenient.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return (value, after) if isinstance(value, dict) else None


def is_end(text: str, at: int) -> bool:
    """True if only white space follows."""
    return _skip(text, at) == len(text)


def is_value(text: str) -> bool:
    """True if a text is one JSON value.

    >>> is_value('{"a": 1}'), is_value("{a}"), is_value("[image]")
    (True, False, False)
    """
    import msgspec

    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True


def load_raw(raw: Raw | bytes) -> Any:
    """The value of JSON that a decoder left raw; `None` if it is empty or broken."""
    import msgspec

    if not (data := bytes(raw)):
        return None
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = next(iter(json_values(decode_text(data))), (0, 0, None))[2]
        return None if isinstance(value, Damage) else msgspec.json.decode(dump(value))


def dump(value: Any) -> bytes:
    """Compact JSON of any value; what UTF-8 or JSON cannot represent is replaced.

    >>> dump({"broken": "\\ud83d", 1: float("nan")})
    b'{"broken":"\\xef\\xbf\\xbd","1":null}'
    """
    import msgspec

    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return msgspec.json.encode(_plain(value, MAX_DEPTH))


def compact(value: Any) -> str:
    """Compact JSON of any value, as text for a terminal."""
    return escape_controls(dump(value).decode())


def pretty(value: Any) -> str:
    """Indented JSON of any value."""
    import msgspec

    return escape_controls(msgspec.json.format(dump(value), indent=2).decode())


def _plain(value: Any, depth: int) -> Any:
    """A copy that JSON can represent: no lone surrogates, keys that are strings, not too deep."""
    if isinstance(value, str):
        return _SURROGATE.sub("�", value)
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth == 0:
        return ELLIPSIS
    if isinstance(value, dict):
        return {_SURROGATE.sub("�", str(k)): _plain(v, depth - 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value]
    return _SURROGATE.sub("�", str(value))


def prune(text: str) -> str:
    """The same JSON with everything nested deeper than `MAX_DEPTH` replaced by `"…"`."""
    return _pruned(text, 0)[0]


def _pruned(text: str, at: int) -> tuple[str, int]:
    """The array or object that begins at a position, without what is nested too deep, and its end.

    One that is not closed extends to the end of the text. Adjacent brackets are one token: a line may have millions of
    them.
    """
    pieces: list[str] = []
    depth, since = 0, at
    for token in _TOKEN.finditer(text, at):
        start, end = token.span()
        if (sign := text[start]) in "[{":
            if depth < MAX_DEPTH <= depth + end - start:
                pieces.append(f'{text[since : start + MAX_DEPTH - depth - 1]}"{ELLIPSIS}"')
            depth += end - start
        elif sign != '"':
            if depth - end + start < MAX_DEPTH <= depth:
                since = start + depth - MAX_DEPTH + 1
            if end - start >= depth:
                pieces.append(text[since : start + depth])
                return "".join(pieces), start + depth
            depth -= end - start
    if depth < MAX_DEPTH:
        pieces.append(text[since:])
    return "".join(pieces), len(text)


def _skip(text: str, at: int) -> int:
    """The position of the next character that is not white space, a byte order mark or a NUL."""
    match = _PADDING.match(text, at)
    return match.end() if match else at


def _reason(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos :].rstrip()
    is_escape = error.msg.startswith("Invalid \\") and _ESCAPE.fullmatch(rest)
    if error.msg.startswith("Unterminated string") or is_escape or rest in _CUT_WORDS:
        return CUT_SHORT
    if error.msg == "Expecting value":
        return "no JSON value here"
    return f"not JSON: {error.msg[0].lower()}{error.msg[1:]} at character {error.pos + 1}"


_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode_json(value: Any) -> str:
    """Compact JSON of any value; values that the standard encoder refuses take the slower way of `compact`."""
    try:
        text = _encode(value)
        if not text.isascii():
            text.encode()
        return escape_controls(text)
    except (ValueError, RecursionError, TypeError):
        return compact(value)


def json_array(texts: Iterable[str]) -> Iterator[str]:
    """A JSON array of encoded values, in pieces, without a final line break.

    >>> "".join(json_array(["1", "2"])), "".join(json_array([]))
    ('[1,\\n 2]', '[]')
    """
    before = "["
    for text in texts:
        yield before + text
        before = ",\n "
    yield "]" if before != "[" else "[]"
