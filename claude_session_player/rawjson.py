"""JSON as it is found: glued, cut, too deep, in the wrong encoding. Nothing here raises on data.

The fast way through a file never comes here; a line does when the strict decoder refuses it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from claude_session_player.text import ELLIPSIS

MAX_DEPTH: Final = 100
"""Deeper nesting is replaced by `…`: the decoders recurse, and no session means anything there."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_PADDING = re.compile(r"[\s\ufeff\0]*")
_RECORD_START = re.compile(r'\{"(?:parentUuid|type|uuid|sessionId|isSidechain)":')
_MAX_DIGITS: Final = 300


@dataclass(frozen=True, slots=True)
class Damage:
    """A stretch of text that is no JSON."""

    reason: str


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_lenient = json.JSONDecoder(strict=False, parse_int=_number)


def decode_text(data: bytes) -> str:
    """Text of any bytes; a byte that is no UTF-8 becomes a lone surrogate, so that offsets stay true."""
    return data.decode("utf-8", "surrogateescape")


def encoded_length(text: str) -> int:
    """The number of bytes that `decode_text` made this text of."""
    return len(text.encode("utf-8", "surrogateescape"))


def values(text: str) -> Iterator[tuple[int, Any]]:
    """Each JSON value of a line with its position; a stretch that is no JSON comes as `Damage`.

    >>> [value for _, value in values('{"a":1}{"b":2}')]
    [{'a': 1}, {'b': 2}]
    >>> list(values('{"a":1} oops'))[1]
    (8, Damage(reason='no JSON value here'))
    """
    at, end = 0, len(text)
    while (at := _skip(text, at)) < end:
        try:
            value, after = _lenient.raw_decode(text, at)
        except json.JSONDecodeError as error:
            yield at, Damage(_reason(error, end))
            resumed = _next_record(text, at)
            if resumed is None:
                return
            yield resumed
            return
        except RecursionError:
            text = text[:at] + prune(text[at:])
            end = len(text)
            continue
        yield at, value
        at = after


def load(raw: msgspec.Raw | bytes) -> Any:
    """The value of a piece of JSON that was set aside while decoding; `None` where it is empty or broken."""
    if not (data := bytes(raw)):
        return None
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = next(iter(values(decode_text(data))), (0, None))[1]
        return None if isinstance(value, Damage) else msgspec.json.decode(dump(value))


def dump(value: Any) -> bytes:
    """Compact JSON of any value; what UTF-8 or JSON cannot hold is replaced.

    >>> dump({"broken": "\\ud83d", 1: float("nan")})
    b'{"broken":"\\xef\\xbf\\xbd","1":null}'
    """
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return msgspec.json.encode(_plain(value, MAX_DEPTH))


def compact(value: Any) -> str:
    """Compact JSON of any value, as text."""
    return dump(value).decode()


def _plain(value: Any, depth: int) -> Any:
    """A copy that JSON can hold: no lone surrogates, no odd keys, not too deep."""
    if isinstance(value, str):
        return _SURROGATE.sub("�", value)
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
    kept: list[str] = []
    depth, since = 0, 0
    for token in _TOKEN.finditer(text):
        match token[0][0]:
            case "[" | "{":
                depth += 1
                if depth == MAX_DEPTH:
                    kept.append(text[since : token.start()] + f'"{ELLIPSIS}"')
            case "]" | "}":
                if depth == MAX_DEPTH:
                    since = token.end()
                depth = max(depth - 1, 0)
    if depth < MAX_DEPTH:
        kept.append(text[since:])
    return "".join(kept)


def _skip(text: str, at: int) -> int:
    """The position of the next character that is not white space, a byte order mark or a NUL."""
    match = _PADDING.match(text, at)
    return match.end() if match else at


def _reason(error: json.JSONDecodeError, end: int) -> str:
    if error.msg.startswith("Unterminated string") or error.pos >= end:
        return "cut short: the JSON ends in the middle"
    if error.msg == "Expecting value":
        return "no JSON value here"
    return f"not JSON: {error.msg[0].lower()}{error.msg[1:]} at character {error.pos + 1}"


def _next_record(text: str, at: int) -> tuple[int, Any] | None:
    """The whole record at the end of a line whose beginning was cut off by a crash."""
    for start in _RECORD_START.finditer(text, at + 1):
        try:
            value, after = _lenient.raw_decode(text, start.start())
        except (json.JSONDecodeError, RecursionError):
            continue
        if _skip(text, after) == len(text) and "type" in value and "sessionId" in value:
            return start.start(), value
    return None
