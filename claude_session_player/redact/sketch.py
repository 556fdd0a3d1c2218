"""Sketches of patterns: coarser ones that match in every line of JSON in which the pattern finds anything.

One automaton over all sketches tells in one pass that nothing is in a line, whatever the number of rules. Sketches are
made from the patterns themselves: without what is looked at beside a match, with short repetitions, and with all
spellings of characters that JSON escapes.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from enum import Enum
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

SKETCHES_PATH: Final = os.path.join(os.path.dirname(__file__), os.pardir, "data", "sketches.json")
_parser: Final[Any] = import_module("re._parser")
_LONGEST_FOLDED: Final = 7
"""The same for sketches that begin in upper or lower case: names of providers, and then `key` or `token`."""
_MOST_REPEATS: Final = 12
_COUNTED: Final = 4
"""Repetitions that count for the length of a sketch: what is behind them may tell more."""
_SHORTEST_WORD: Final = 2
_ENOUGH: Final = 4
"""Characters: what may be anything is left out behind them."""
_WORD: Final = re.compile(r"[\w.-]+")
_INNERMOST: Final = re.compile(r"\(\?:([^()]*)\)")
_MOST_WORDS: Final = 100
_COMMON: Final = frozenset(
    (
        *("test_", "live_", "token", "token-", "access_token", "secret-token", "discord", "echo", "printf", "name"),
        *("ion_", "cal_", "lip_", "nfo_", "sdk-", "key-", "key_", "api-", "API-", "auth", "_auth", "-pass", "_PASS"),
        *("_PAT", "TOKEN", "machine", "digest", "curl", "authorization", "password", "secret", "Bearer", "bearer"),
    )
)
"""Words and ends of words that texts and code have."""
_LONGEST: Final = 12
"""Characters: what follows them tells lines no further apart."""
_CLASS: Final = re.compile(r"(?<!\\)[\[*+{?.](?!i?:)")
ANY: Final = r"(?:[^\\]|\\+.)"


class Sketch(NamedTuple):
    """A sketch in two parts, so that those that end alike can share their end."""

    head: str
    rest: str


def sketch(pattern: str) -> Sketch:
    """The sketch of a pattern; those of the built-in rules are in a file: making them takes a tenth of a second."""
    known = _known_sketches().get(pattern)
    return make_sketch(pattern) if known is None else Sketch(*known)


@lru_cache(maxsize=1)
def _known_sketches() -> dict[str, tuple[str, str]]:
    with open(SKETCHES_PATH, encoding="utf-8") as file:
        known: dict[str, tuple[str, str]] = json.load(file)
    return known


@lru_cache(maxsize=4096)
def make_sketch(pattern: str) -> Sketch:
    r"""The sketch of a pattern, in the language of RE2, for bytes of UTF-8.

    >>> make_sketch(r"(?<![a-z])ab?c{8,40}+")
    Sketch(head='a', rest='b?c{8,}')
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of a user's own rules were reported when they were read
        parsed = _parser.parse(pattern)
    ignores_case = bool(parsed.state.flags & re.IGNORECASE)
    parts = [text for text, _ in _limited(_from_literal(parsed), ignores_case)]
    ends = next((number for number, text in enumerate(parts) if _CLASS.search(text)), len(parts))
    head, rest = "".join(parts[:ends]), "".join(parts[ends:])
    return Sketch(f"(?i:{head})", f"(?i:{rest})" if rest else "") if ignores_case else Sketch(head, rest)


def union(patterns: Iterable[str]) -> str:
    """One pattern of RE2 that matches where a sketch of any of these patterns does."""
    heads: dict[str, list[str]] = {}
    for pattern in dict.fromkeys(patterns):
        head, rest = sketch(pattern)
        heads.setdefault(rest, []).append(head)
    return "|".join(f"(?:{'|'.join(dict.fromkeys(some))}){rest}" for rest, some in heads.items())


class SketchKind(Enum):
    """Sketches that share an automaton: those of different kinds would multiply its states."""

    PREFIX = "begins with a rare word, which is enough"
    COUNTED = "begins with a short or common word"
    FOLDED = "its first word may be in upper or lower case"
    PARTLY_FOLDED = "what follows its first word may be"


def sketch_kind(pattern: str) -> SketchKind:
    """The kind of the sketch of a pattern."""
    head, rest = sketch(pattern)
    if "(?i" in head:
        return SketchKind.FOLDED
    if "(?i" in rest:
        return SketchKind.PARTLY_FOLDED
    return SketchKind.PREFIX if all(map(_is_rare, _words_of(head))) else SketchKind.COUNTED


def prefixes(patterns: Iterable[str]) -> str:
    """One pattern of RE2 for the words with which patterns begin."""
    return "|".join(dict.fromkeys(sketch(pattern).head for pattern in patterns))


def _words_of(head: str) -> list[str]:
    """The words that the beginning of a sketch stands for.

    >>> _words_of("gl(?:pat|d(?:t|x))-")
    ['glpat-', 'gldt-', 'gldx-']
    """
    words = [head]
    while len(words) < _MOST_WORDS and any("(?:" in word for word in words):
        words = list(dict.fromkeys(choice for word in words for choice in _first_choice(word)))
    return [word.replace("\\.", ".") for word in words]


def _first_choice(word: str) -> list[str]:
    """A word with each of the choices of its first group without groups in it."""
    match = _INNERMOST.search(word)
    if match is None:
        return [word]
    return [word[: match.start()] + choice + word[match.end() :] for choice in match[1].split("|")]


def _is_rare(word: str) -> bool:
    """True for a word that hardly any text has."""
    return len(word) >= _ENOUGH and _WORD.fullmatch(word) is not None and word not in _COMMON


def _from_literal(items: Any) -> list[Any]:
    """A sequence without what comes before its first fixed word: what may be there tells lines no apart."""
    listed: list[Any] = list(items)
    for number, (name, value) in enumerate(listed):
        if _word_length(listed[number:]) >= _SHORTEST_WORD:
            if str(name) == "BRANCH":
                branches = [_from_literal(branch) for branch in value[1]]
                return [*_narrow_end(listed[:number]), (name, (value[0], branches)), *listed[number + 1 :]]
            if str(name) == "SUBPATTERN":
                return [(name, (*value[:3], _from_literal(value[3]))), *listed[number + 1 :]]
            return [*_narrow_end(listed[:number]), *listed[number:]]
    return listed


def _narrow_end(before: list[Any]) -> list[Any]:
    """The last ones of some parts that are fixed characters, or sets of a few."""
    start = len(before)
    while start and _is_narrow(before[start - 1]):
        start -= 1
    return before[start:]


def _is_narrow(part: Any) -> bool:
    name, value = str(part[0]), part[1]
    return name == "LITERAL" or (name == "IN" and all(str(kind) == "LITERAL" for kind, _ in value))


def _word_length(items: Any) -> int:
    """How many fixed characters a sequence begins with; of a group, how many follow each other in each branch."""
    length = 0
    for name, value in items:
        match str(name):
            case "LITERAL":
                length += 1
            case "SUBPATTERN" if not length:
                return _longest_word(value[3])
            case "BRANCH" if not length:
                return min(map(_longest_word, value[1]))
            case _:
                break
    return length


def _longest_word(items: Any) -> int:
    listed = list(items)
    return max((_word_length(listed[number:]) for number in range(len(listed))), default=0)


def _limited(items: Any, ignores_case: bool) -> list[tuple[str, int]]:
    """Sketches of the parts of a sequence, with their least lengths, until there are enough characters."""
    parts: list[tuple[str, int]] = []
    length = 0
    for item in items:
        inner = _inner_parts(item, ignores_case)
        if length >= _ENOUGH and any(ANY in text for text, _ in inner):
            break
        parts += inner
        length += sum(least for _, least in inner)
        if length >= (_LONGEST_FOLDED if parts[0][0].startswith("(?i") else _LONGEST):
            break
    return parts


def _inner_parts(item: Any, ignores_case: bool) -> list[tuple[str, int]]:
    """The parts of a group that is a sequence; of anything else, itself."""
    name, value = str(item[0]), item[1]
    if name != "SUBPATTERN":
        return [_part(item, ignores_case)]
    parts = [part for inner in value[3] for part in _inner_parts(inner, ignores_case)]
    return [(f"(?i:{text})", least) for text, least in parts] if value[1] & re.IGNORECASE else parts


def _sequence(items: Any, ignores_case: bool) -> tuple[str, int]:
    parts = [_part(item, ignores_case) for item in items]
    return "".join(text for text, _ in parts), sum(least for _, least in parts)


def _part(item: Any, ignores_case: bool) -> tuple[str, int]:
    """The sketch of a part of a pattern, and how many characters it matches at least."""
    name, value = str(item[0]), item[1]
    match name:
        case "LITERAL":
            return _literal(value), 1
        case "ANY":
            return ANY, 1
        case "NOT_LITERAL":
            return _set([("NEGATE", None), ("LITERAL", value)]), 1
        case "IN":
            return _set(value), 1
        case "AT" | "ASSERT" | "ASSERT_NOT" | "GROUPREF":
            return "", 0
        case "BRANCH":
            branches = [_sequence(branch, ignores_case) for branch in value[1]]
            if not any(text for text, _ in branches):
                return "", 0
            return f"(?:{'|'.join(text for text, _ in branches)})", min(least for _, least in branches)
        case "SUBPATTERN":
            on, inner = value[1], value[3]
            text, least = _sequence(inner, ignores_case)
            return (f"(?i:{text})" if on & re.IGNORECASE else f"(?:{text})"), least
        case "ATOMIC_GROUP":
            text, least = _sequence(value, ignores_case)
            return f"(?:{text})", least
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return _repeated(value, ignores_case)
    return f"{ANY}*", 0


def _repeated(value: tuple[int, Any, Any], ignores_case: bool) -> tuple[str, int]:
    low, high, inner = value
    if _is_wide(inner) and high > _MOST_REPEATS:
        return f"{ANY}*", 0
    text, least = _sequence(inner, ignores_case)
    if not text:
        return "", 0
    group = text if _is_one(text) else f"(?:{text})"
    most = min(low, _MOST_REPEATS) if least else 0
    if low > most or high is _parser.MAXREPEAT or high > _MOST_REPEATS:
        return (f"{group}*" if not most else f"{group}{{{most},}}"), least * min(most, _COUNTED)
    if (low, high) == (0, 1):
        return f"{group}?", 0
    return f"{group}{{{low},{high}}}" if low != high else (f"{group}{{{low}}}" if low != 1 else group), least * low


def _is_wide(items: Any) -> bool:
    """True for a set of nearly all characters, blanks among them."""
    listed = list(items)
    if len(listed) != 1 or str(listed[0][0]) != "IN":
        return False
    chars = _chars(listed[0][1])
    return ord(" ") in chars and sum(code < 128 for code in chars) > 100


def _is_one(text: str) -> bool:
    return len(text) == 1 or re.fullmatch(r"\\.|\[[^\]]*\]|\(\?:[^()]*\)", text) is not None


def _literal(code: int) -> str:
    char = chr(code)
    if char in "\n\r\t\f\v":
        return rf"(?:{re.escape(char)}|\\+[nrtfb])"
    if char == '"':
        return r'(?:\\*")'
    if char == "\\":
        return r"\\+"
    if code > 127:
        return r"[\x80-\xff]+"
    return char if char.isalnum() or char in "_-@%&:;<>=!'`~, #" else re.escape(char)


def _chars(items: Any) -> frozenset[int]:
    """The characters of a set."""
    negated = str(items[0][0]) == "NEGATE"
    chars: set[int] = set()
    for kind, value in items[negated:]:
        match str(kind):
            case "LITERAL":
                chars |= {value}
            case "RANGE":
                chars |= set(range(value[0], min(value[1], _WIDEST) + 1))
            case "CATEGORY":
                chars |= _CATEGORIES.get(str(value), _EVERY)
    if negated:
        return _EVERY - chars
    return frozenset(chars)


def _set(items: Any) -> str:
    """A set of characters, and the escapes of those that JSON has to escape."""
    chars = _chars(items)
    pieces = _ranges(code for code in sorted(chars) if code < 128 and code != ord("\\"))
    pieces += r"\x80-\xff" if any(code > 127 for code in chars) else ""
    alternatives = [f"[{pieces}]"] if pieces else []
    if ord("\\") in chars:
        alternatives.append(r"\\+")
    if ord('"') in chars:
        alternatives.append(r'\\*"')
    if not _BREAKS.isdisjoint(chars):
        alternatives.append(r"\\+[nrtfb]")
    return alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"


_WIDEST: Final = 0x2100
_EVERY: Final = frozenset(range(_WIDEST))
_BREAKS: Final = frozenset(map(ord, "\n\r\t\f\b"))
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": frozenset(map(ord, "0123456789")),
    "CATEGORY_SPACE": frozenset(code for code in _EVERY if chr(code).isspace()),
    "CATEGORY_WORD": frozenset(code for code in _EVERY if chr(code).isalnum() or code == ord("_")),
}


def _ranges(codes: Iterable[int]) -> str:
    """Characters in ascending order as they are written in a set."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(_in_set(low) + ("" if low == high else f"-{_in_set(high)}") for low, high in runs)


def _in_set(code: int) -> str:
    return chr(code) if chr(code).isalnum() else f"\\x{code:02x}"
