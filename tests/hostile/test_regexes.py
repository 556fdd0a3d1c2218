"""Every regular expression of the package takes time in proportion to its text, and hardly any memory.

The texts are made from the patterns: each part that may repeat is repeated, behind what leads to it, and with an end at
which the pattern fails.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

import pytest

import claude_session_player
from tests.hostile.effort import pick, sample

_FUNCTIONS: Final = ("compile", "sub", "subn", "match", "search", "split", "findall", "finditer", "fullmatch")
_ENDS: Final = ("", "\x01", "\n", "!", "x", "é")[: pick(2, 6)]
_SIZES: Final = (1_000, 8_000, 32_000)
_SLOW: Final = 0.05
"""Seconds below which a search is fast enough, however it grows."""
_Pattern = re.Pattern[Any]


# --- all patterns ---------------------------------------------------------------------------------


def _modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(claude_session_player.__path__, "claude_session_player."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def _patterns_in(value: Any) -> Iterator[_Pattern]:
    """The patterns that a global is, or holds; a bound method of one counts as well."""
    owner = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(owner, re.Pattern):
        yield owner
    elif isinstance(value, tuple | list | set | frozenset):
        for item in value:
            yield from _patterns_in(item)
    elif isinstance(value, dict):
        yield from _patterns_in((*value.keys(), *value.values()))


def _globals() -> Iterator[tuple[Any, int, str]]:
    """Every pattern that some module keeps, and a method that is asked of it."""
    asked = _asked()
    for module in _modules():
        for name, value in list(vars(module).items()):
            for pattern in _patterns_in(value):
                bound = {value.__name__} if callable(value) else set()
                for method in bound or asked.get(name, {"search"}):
                    yield pattern.pattern, pattern.flags, method


def _asked() -> dict[str, set[str]]:
    """Which methods are asked of which names, anywhere in the package."""
    asked: dict[str, set[str]] = {}
    for module in _modules():
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _FUNCTIONS:
                asked.setdefault(node.value.id, set()).add(node.attr)
    return asked


@cache
def _tree(module: Any) -> ast.Module:
    return ast.parse(Path(module.__file__).read_text(encoding="utf-8"))


def _calls() -> Iterator[tuple[str, int, str, ast.Call]]:
    """Each call of `re`, with its module, its line and its function."""
    for module in _modules():
        for node in ast.walk(_tree(module)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method)) if method in _FUNCTIONS:
                    yield module.__name__, node.lineno, method, node


_MADE: Final = {
    "prompts._tag": (r"<command-name>(.*?)(?:</command-name>|\Z)", re.DOTALL, "search"),
    "manifest.version_of": (r"name(?:\.(\d+))?\.tar\.zst", re.DOTALL, "fullmatch"),
    "compiler._has_case": (
        r"(?:(?<![^\W_])|(?<=[a-z0-9])(?=[A-Z]))Kettle[\W_]{1,40}Whistle(?![a-z0-9])",
        0,
        "search",
    ),
    "rows._wrapped_pattern": (
        r"t(?:\n[▎▌┆ ]*+)?e(?:\n[▎▌┆ ]*+)?a\s[▎▌┆\s]*+t(?:\n[▎▌┆ ]*+)?i(?:\n[▎▌┆ ]*+)?n",
        0,
        "search",
    ),
    "accounts.is_id": (r"organisation-\d+|environment-\d+", 0, "fullmatch"),
    "rule_file._line_of": (r"\s*[\"']?name[\"']?\s*=", 0, "match"),
    "keys._has_body": (r"[A-Za-z0-9+/=]+", 0, "findall"),
    "compiler.WordMarker": (r"kettle[\W_]{1,40}whistle[^\W_]*", 0, "finditer"),
}
"""Patterns that are made when they are needed, as they are then; `test_every_pattern_is_known` asks for them."""


def _evaluated(module: str, call: ast.Call) -> tuple[Any, int] | None:
    """The pattern and the flags of a call, where they are known without running it."""
    names = vars(sys.modules[module])
    try:
        pattern = eval(compile(ast.Expression(call.args[0]), module, "eval"), names)
        rest = [argument for argument in call.args[1:] if "re." in ast.unparse(argument)]
        rest += [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
        flags = eval(compile(ast.Expression(rest[0]), module, "eval"), names) if rest else 0
    except NameError:
        return None
    return (pattern, int(flags)) if isinstance(pattern, str | bytes) else None


def _all_patterns() -> tuple[list[tuple[Any, int, str]], list[str]]:
    """Every pattern of the package, and the calls whose patterns are made of something that only a run knows."""
    found = {(pattern, flags, _kind(method)) for pattern, flags, method in _globals()}
    unknown = []
    for module, line, method, call in _calls():
        told = _evaluated(module, call)
        if told is None:
            unknown.append(f"{module.removeprefix('claude_session_player.')}:{line}: {ast.unparse(call.args[0])}")
        elif method != "compile" or not any(pattern == told[0] for pattern, *_ in found):
            found.add((told[0], re.compile(*told).flags, _kind(method)))
    for pattern, flags, method in _MADE.values():
        found.add((pattern, re.compile(pattern, flags).flags, _kind(method)))
    return sorted(found, key=repr), unknown


def _kind(method: str) -> str:
    """How a pattern is used: at the beginning of a text, for all of it, or anywhere in it."""
    return method if method in ("match", "fullmatch") else "sub"


PATTERNS, UNKNOWN = _all_patterns()


# --- hostile texts --------------------------------------------------------------------------------


def _signs(node: Any) -> list[str]:
    """Some signs that a class of signs has."""
    found: list[str] = []
    excluded = False
    for kind, value in node:
        match str(kind):
            case "NEGATE":
                excluded = True
            case "LITERAL":
                found.append(chr(value))
            case "RANGE":
                found += (chr(value[0]), chr(value[1]))
            case "CATEGORY":
                found += _CATEGORIES.get(str(value), ["x"])
    if not excluded:
        return list(dict.fromkeys(found))[:4]
    return [sign for sign in "x <[\"'\n-=1_@:`\x1b" if sign not in found][:4]


_CATEGORIES: Final = {
    "CATEGORY_DIGIT": ["1"],
    "CATEGORY_SPACE": [" ", "\n"],
    "CATEGORY_WORD": ["a", "_"],
    "CATEGORY_NOT_SPACE": ["x"],
    "CATEGORY_NOT_WORD": ["!"],
    "CATEGORY_NOT_DIGIT": ["x"],
}
_REPEATS: Final = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


def _example(parsed: Iterable[Any]) -> str:
    """A text that fits, as short as possible."""
    text = ""
    for kind, value in parsed:
        match str(kind):
            case "LITERAL":
                text += chr(value)
            case "NOT_LITERAL":
                text += "x" if value != ord("x") else "y"
            case "ANY":
                text += "x"
            case "IN":
                text += _signs(value)[0]
            case "BRANCH":
                text += _example(value[1][0])
            case "SUBPATTERN":
                text += _example(value[3])
            case "ATOMIC_GROUP":
                text += _example(value)
            case name if name in _REPEATS:
                text += _example(value[2]) * max(value[0], 0)
    return text


def _pumps(parsed: Iterable[Any], before: str = "") -> Iterator[tuple[str, str]]:
    """What leads to a part, and a text to be repeated there."""
    lead = before
    for kind, value in parsed:
        item = [(kind, value)]
        match str(kind):
            case "IN":
                yield from ((lead, sign) for sign in _signs(value))
            case "ANY":
                yield lead, "x"
            case "BRANCH":
                for branch in value[1]:
                    yield lead, _example(branch)
                    yield from _pumps(branch, lead)
            case "SUBPATTERN":
                yield lead, _example(value[3])
                yield from _pumps(value[3], lead)
            case "ATOMIC_GROUP":
                yield from _pumps(value, lead)
            case "ASSERT" | "ASSERT_NOT":
                yield lead, _example(value[1])
                yield from _pumps(value[1], lead)
            case name if name in _REPEATS:
                yield lead, _example(value[2])
                yield from _pumps(value[2], lead)
        lead += _example(item)
        yield before, lead.removeprefix(before)  # all so far, again and again


def hostile_texts(pattern: str | bytes, flags: int) -> list[tuple[str, str, str]]:
    """Beginnings, pieces to be repeated, and ends."""
    source = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    parsed = list(_parser.parse(source, flags & ~re.UNICODE if isinstance(pattern, bytes) else flags))
    whole = _example(parsed)
    pieces = dict.fromkeys((lead, piece) for lead, piece in _pumps(parsed) if piece)
    pieces |= dict.fromkeys(("", sign) for sign in (whole, whole[:-1], *whole) if sign)
    pieces |= dict.fromkeys((whole[:place], whole[place]) for place in range(len(whole)))
    signs = dict.fromkeys(piece for _, piece in pieces if len(piece) == 1)
    pieces |= dict.fromkeys(("", sign + whole[:place]) for sign in signs for place in range(2, min(len(whole), 8)))
    return [(lead, piece, end) for lead, piece in pieces for end in _ENDS]


def _seconds(pattern: _Pattern, method: str, text: Any) -> float:
    start = time.process_time()
    if method == "sub":
        pattern.sub(text[:0], text)
    else:
        getattr(pattern, method)(text)
    return time.process_time() - start


def _text(pattern: _Pattern, lead: str, piece: str, end: str, size: int) -> Any:
    text = lead + piece * (size // len(piece)) + end
    return text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")


def grows(pattern: _Pattern, method: str, lead: str, piece: str, end: str) -> str:
    """How a pattern is too slow with a text; empty where it is not."""
    for size in _SIZES:
        text = _text(pattern, lead, piece, end, size)
        if (seconds := _seconds(pattern, method, text)) > _SLOW:
            half = _text(pattern, lead, piece, end, size // 2)
            less = max(_seconds(pattern, method, half) for _ in range(2))  # the machine may be busy with something else
            return f"{lead!r} + {piece!r} * n + {end!r}: {less:.3f} s → {seconds:.3f} s" if seconds > 3 * less else ""
    return ""


def memory_for_each_sign(pattern: _Pattern, method: str, lead: str, piece: str, end: str) -> float:
    """How many bytes a search keeps for each sign of a text, to be able to go back."""
    text = _text(pattern, lead, piece, end, _SIZES[1])
    tracemalloc.start()
    try:
        getattr(pattern, "search" if method == "sub" else method)(text)
        return tracemalloc.get_traced_memory()[1] / len(text)
    finally:
        tracemalloc.stop()


# --- tests ----------------------------------------------------------------------------------------


def test_every_pattern_is_known() -> None:
    """Patterns that are made of something that only a run knows are few, and each has an example in `_MADE`."""
    assert len(PATTERNS) > 40
    assert len(UNKNOWN) == _EXPECTED_UNKNOWN, UNKNOWN


_EXPECTED_UNKNOWN: Final = 13
"""`_tag` of prompts, the names of archives, the expressions of the price list, the words of a query (twice, and once in
the rows of a window), the escapes of a text to scan for, `--regex`, which has a time limit, ids of accounts, keys in
files of rules, what is in a PEM, and the patterns of rules (twice): tests/redact/test_pattern_speed.py and the command
`redact check` try them; no session can choose them."""


@pytest.mark.parametrize(("pattern", "flags", "method"), PATTERNS, ids=[repr(one[0])[:60] for one in PATTERNS])
def test_a_pattern_takes_time_in_proportion_to_its_text(pattern: Any, flags: int, method: str) -> None:
    compiled = re.compile(pattern, flags)
    slow = (grows(compiled, method, *parts) for parts in sample(hostile_texts(pattern, flags), 40))
    assert next(filter(None, slow), "") == ""


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?i)[\w-]*(?:token|secret)[\w-]*\s*[=:]",
        r"(?s)<persisted-output>.*?saved to: ([^\n]+?)\s*\n.*?(?:</persisted-output>|\Z)",
        r"max.*tokens?",
        r"\beyJ[\w-]{8,}\.[\w-]+",
    ],
)
def test_a_pattern_that_explodes_is_found(pattern: str) -> None:
    """The texts are hostile enough for what went wrong before."""
    compiled = re.compile(pattern)
    assert any(grows(compiled, "sub", *parts) for parts in hostile_texts(pattern, compiled.flags))


@pytest.mark.parametrize(("pattern", "flags", "method"), PATTERNS, ids=[repr(one[0])[:60] for one in PATTERNS])
def test_a_pattern_keeps_no_memory_for_each_sign(pattern: Any, flags: int, method: str) -> None:
    compiled = re.compile(pattern, flags)
    for parts in sample(hostile_texts(pattern, flags), 60):  # threads of earlier tests may need memory meanwhile
        assert any(memory_for_each_sign(compiled, method, *parts) < 4 for _ in range(3)), parts


@pytest.mark.parametrize("pattern", [r"([-*_])(?:[ \t]*\1){2,}[ \t]*$", r'"[^"\\]*(?:\\.[^"\\]*)*"?'])
def test_a_pattern_that_keeps_memory_is_found(pattern: str) -> None:
    compiled = re.compile(pattern)
    assert any(memory_for_each_sign(compiled, "sub", *parts) > 4 for parts in hostile_texts(pattern, compiled.flags))
