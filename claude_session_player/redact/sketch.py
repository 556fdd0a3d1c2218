"""Sketches of patterns: coarser ones that match in every line of JSON in which the pattern finds anything.

One automaton over all sketches tells in one pass that nothing is in a line, whatever the number of rules. Sketches are
made from the patterns themselves: without what is looked at beside a match, with short repetitions, and with all
spellings of characters that JSON escapes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

_parser: Final[Any] = import_module("re._parser")
_MOST_REPEATS: Final = 4
_ENOUGH: Final = 4
"""Characters: what may be anything is left out behind them."""
_LONGEST: Final = 12
"""Characters: what follows them tells lines no further apart."""
ANY: Final = r"(?s:.)"
_ESCAPED: Final = r"(?:\\+(?:u[0-9A-Fa-f]{4}|.))"
"""A character that JSON escapes."""


@lru_cache(maxsize=4096)
def sketch(pattern: str) -> str:
    r"""The sketch of a pattern, in the language of RE2, for bytes of UTF-8.

    >>> sketch(r"(?<![a-z])ab?c{8,40}+")
    'ab?c{6,}'
    """
    parsed = _parser.parse(pattern)
    ignores_case = bool(parsed.state.flags & re.IGNORECASE)
    text = "".join(part for part, _ in _limited(_from_literal(parsed), ignores_case, _LONGEST))
    return f"(?i:{text})" if ignores_case else text


def _from_literal(items: Any) -> list[Any]:
    """A sequence without what comes before its first fixed character: what may be there tells lines no apart."""
    listed = list(items)
    for number, (name, value) in enumerate(listed):
        kind = str(name)
        if kind == "LITERAL":
            return listed[number:]
        if kind == "BRANCH" and all(any(map(_has_literal, branch)) for branch in value[1]):
            branches = [_from_literal(branch) for branch in value[1]]
            return [(name, (value[0], branches)), *listed[number + 1 :]]
        if kind == "SUBPATTERN" and any(map(_has_literal, value[3])):
            return [(name, (*value[:3], _from_literal(value[3]))), *listed[number + 1 :]]
    return listed


def _has_literal(item: Any) -> bool:
    """True for a part of a pattern in which every match has a fixed character."""
    name, value = str(item[0]), item[1]
    if name == "SUBPATTERN":
        return any(map(_has_literal, value[3]))
    if name == "BRANCH":
        return all(any(map(_has_literal, branch)) for branch in value[1])
    return name == "LITERAL"


def _limited(items: Any, ignores_case: bool, room: int) -> list[tuple[str, int]]:
    """Sketches of the parts of a sequence, with their least lengths, until there are enough characters."""
    parts: list[tuple[str, int]] = []
    for item in items:
        text, least = _part(item, ignores_case, room)
        if ANY in text and sum(known for _, known in parts) >= _ENOUGH:
            break
        parts.append((text, least))
        room -= least
        if room <= 0:
            break
    return parts


def _sequence(items: Any, ignores_case: bool, room: int) -> tuple[str, int]:
    parts = _limited(items, ignores_case, room)
    return "".join(text for text, _ in parts), sum(least for _, least in parts)


def _part(item: Any, ignores_case: bool, room: int) -> tuple[str, int]:
    """The sketch of a part of a pattern, and how many characters it matches at least."""
    name, value = str(item[0]), item[1]
    match name:
        case "LITERAL":
            return _literal(value), 1
        case "NOT_LITERAL" | "ANY":
            return f"(?:{_ESCAPED}|{ANY})", 1
        case "IN":
            return _set(value), 1
        case "AT" | "ASSERT" | "ASSERT_NOT" | "GROUPREF":
            return "", 0
        case "BRANCH":
            branches = [_sequence(branch, ignores_case, room) for branch in value[1]]
            if not any(text for text, _ in branches):
                return "", 0
            return f"(?:{'|'.join(text for text, _ in branches)})", min(least for _, least in branches)
        case "SUBPATTERN":
            on, inner = value[1], value[3]
            text, least = _sequence(inner, ignores_case, room)
            return (f"(?i:{text})" if on & re.IGNORECASE else f"(?:{text})"), least
        case "ATOMIC_GROUP":
            text, least = _sequence(value, ignores_case, room)
            return f"(?:{text})", least
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return _repeated(*value, ignores_case, room)
    return f"(?:{_ESCAPED}|{ANY})*", 0


def _repeated(low: int, high: Any, inner: Any, ignores_case: bool, room: int) -> tuple[str, int]:
    text, least = _sequence(inner, ignores_case, room)
    if not text:
        return "", 0
    group = text if _is_one(text) else f"(?:{text})"
    most = min(low, _MOST_REPEATS) if least else 0
    if low > most or high is _parser.MAXREPEAT or high > _MOST_REPEATS:
        return (f"{group}*" if not most else f"{group}{{{most},}}"), least * most
    if (low, high) == (0, 1):
        return f"{group}?", 0
    return f"{group}{{{low},{high}}}" if low != high else (f"{group}{{{low}}}" if low != 1 else group), least * low


def _is_one(text: str) -> bool:
    return len(text) == 1 or re.fullmatch(r"\\.|\[[^\]]*\]|\(\?:[^()]*\)", text) is not None


def _literal(code: int) -> str:
    char = chr(code)
    if char in "\n\r\t\f\v":
        return rf"(?:{re.escape(char)}|\\+[nrtfbv]|\\+u00[01][0-9A-Fa-f])"
    if char == '"':
        return r'(?:\\*")'
    if char == "\\":
        return r"\\+"
    if char == "/":
        return r"(?:\\*/)"
    if code > 127:
        return rf"(?:{re.escape(char)}|{_ESCAPED})"
    return char if char.isalnum() or char in "_-@%&:;<>=!'`~, #" else re.escape(char)


def _set(items: Any) -> str:
    """A set of characters, with the escapes of those that JSON escapes."""
    negated = bool(items) and str(items[0][0]) == "NEGATE"
    if negated:
        return f"(?:{_ESCAPED}|{ANY})"
    pieces = []
    has_space = has_escaped = False
    for kind, value in items:
        match str(kind):
            case "LITERAL":
                char = chr(value)
                has_space |= char in "\n\r\t\f\v"
                has_escaped |= char in '"\\/' or value > 127 or value < 32
                pieces.append(_in_set(value))
            case "RANGE":
                low, high = value
                has_escaped |= (
                    high > 127 or low < 32 or low <= ord("\\") <= high or low <= ord('"') <= high or low <= 47 <= high
                )
                pieces.append(f"{_in_set(low)}-{_in_set(min(high, 127))}")
            case "CATEGORY":
                word = {"CATEGORY_DIGIT": r"\d", "CATEGORY_SPACE": r"\s", "CATEGORY_WORD": r"\w"}.get(str(value))
                if word is None:
                    return f"(?:{_ESCAPED}|{ANY})"
                has_space |= word == r"\s"
                pieces.append(word)
    text = f"[{''.join(pieces)}]"
    if has_escaped:
        return f"(?:{text}|{_ESCAPED})"
    return rf"(?:{text}|\\+[nrtfbv]|\\+u00[01a][0-9A-Fa-f])" if has_space else text


def _in_set(code: int) -> str:
    char = chr(min(code, 127))
    return char if char.isalnum() else f"\\x{ord(char):02x}"
