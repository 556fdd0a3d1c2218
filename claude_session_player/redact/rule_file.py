"""Reads a file of rules of a user's own, in TOML, and says what is wrong with it, where, and what to do."""

from __future__ import annotations

import re
import warnings
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from claude_session_player.errors import BadRules, CannotRead
from claude_session_player.redact.rule import Group, Kind, Rule
from claude_session_player.redact.scanner import folded_keyword
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

LARGEST: Final = 1 << 20
"""Bytes of a file of rules."""
_LARGEST_ENTROPY: Final = 6.0
_NAME: Final = re.compile(r"(?=.{2,41}\Z)[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
"""What `masks` recognizes in a mask."""
_TOP: Final = ("rule", "allow")
_REQUIRED: Final = ("name", "pattern", "matches")
_RULE: Final = (*_REQUIRED, "keywords", "entropy", "ignores")
_ALLOW: Final = ("values", "patterns", "rules")
_RESERVED: Final = frozenset(
    ("secret", "known-value", "image", *(kind.word for kind in Kind), *(group.value for group in Group))
)
"""Words in masks, and words for `--keep`."""
_TOML_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_HEADER: Final = re.compile(r"\s*\[(\[?)\s*[\"']?(rule|allow)[\"']?\s*\]")
_PROBES: Final = ("tea", "Tr0ub4dor&3x", "a1B2" * 10, "/home/tea", "tea@kettle.dev")
"""Values of several kinds: a pattern that allows all of them allows everything."""


class FileRule(NamedTuple):
    """A rule, and where it stands."""

    rule: Rule
    place: str
    """File, line and name, as a message begins."""


class RuleFile(NamedTuple):
    """What a file of rules says."""

    path: str
    rules: tuple[FileRule, ...] = ()
    values: frozenset[str] = frozenset()
    """Values that are never masked."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """Patterns of such values."""
    switched_off: frozenset[str] = frozenset()
    """Names of built-in rules that are not used."""


def read_rule_file(path: str) -> RuleFile:
    """The rules of a file; their samples are not tried. Raises `BadRules`, or `CannotRead`."""
    text = _read(path)
    return _Reader(path, text).rule_file(_parse(path, text))


def builtin_rules() -> tuple[Rule, ...]:
    """The rules that the program comes with."""
    from claude_session_player.redact.identity import IDENTITY_RULES
    from claude_session_player.redact.rules import SECRET_RULES

    return (*SECRET_RULES, *IDENTITY_RULES)


@cache
def _builtin_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule.name for rule in builtin_rules()))


def _read(path: str) -> str:
    name = display_path(path)
    try:
        with open(path, "rb", opener=regular_opener) as file:
            data = file.read(LARGEST + 1)
    except IsADirectoryError:
        raise BadRules(f"{name} is a directory: name a file of rules in it") from None
    except (OSError, ValueError) as error:
        raise CannotRead(f"{name}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > LARGEST:
        raise BadRules(f"{name} is larger than {LARGEST >> 20} MB: it cannot be a file of rules")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadRules(f"{name}, line {line}: not UTF-8: save the file in that encoding") from None


def _parse(path: str, text: str) -> dict[str, Any]:
    import tomllib

    name = display_path(path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _TOML_PLACE.search(message)
        reason = message[: place.start()] if place else message
        lines = text.count("\n") + (not text.endswith("\n"))
        where = f"line {place[1]}, column {place[2]}" if place and place[1] else f"line {lines}, the end"
        raise BadRules(f"{name}, {where}: not valid TOML: {reason}") from None
    except (ValueError, RecursionError):
        raise BadRules(f"{name}: not valid TOML: a number that is too long, or too many nested arrays") from None


class _Reader:
    """Turns the data of one file into rules."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._lines = text.split("\n")
        self._headers = [(number, match) for number, line in enumerate(self._lines) if (match := _HEADER.match(line))]
        self._rules = 0

    def rule_file(self, data: Mapping[str, Any]) -> RuleFile:
        """What the data says. Raises `BadRules`."""
        self._check_keys(
            data, _TOP, lambda key: self._place(), "write rules as [[rule]], and what is never masked as [allow]"
        )
        tables = data.get("rule", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._fail(self._place("rule"), "rule is not a list of tables: begin each rule with [[rule]]")
        self._rules = len(tables)
        rules: list[FileRule] = []
        for number, table in enumerate(tables):
            rules.append(self._rule(number, table, {one.rule.name: one.place for one in rules}))
        allow = data.get("allow", {})
        if not isinstance(allow, dict):
            self._fail(self._place("allow"), "allow is not a table: begin it with [allow]")
        return self._allow(allow)._replace(rules=tuple(rules))

    def _rule(self, number: int, table: Mapping[str, Any], others: Mapping[str, str]) -> FileRule:
        place = self._rule_place(number, table)
        self._check_keys(table, _RULE, lambda key: self._rule_place(number, table, key), f"use {', '.join(_RULE)}")
        for key in _REQUIRED:
            if key not in table:
                self._fail(place, f"no {key}: {_EXAMPLES[key]}")
        name = self._name(self._rule_place(number, table, "name"), table["name"], others)
        pattern = self._pattern(self._rule_place(number, table, "pattern"), "pattern", table["pattern"])
        keywords = self._texts(self._rule_place(number, table, "keywords"), table, "keywords")
        matches = self._texts(self._rule_place(number, table, "matches"), table, "matches")
        if not matches:
            self._fail(self._rule_place(number, table, "matches"), f"no matches: {_EXAMPLES['matches']}")
        return FileRule(
            Rule(
                name=name,
                kind=Kind.CUSTOM,
                pattern=pattern.pattern,
                keywords=tuple(dict.fromkeys(map(folded_keyword, keywords))),
                samples=matches,
                others=self._texts(self._rule_place(number, table, "ignores"), table, "ignores"),
                entropy=self._entropy(self._rule_place(number, table, "entropy"), table.get("entropy", 0.0)),
            ),
            place,
        )

    def _allow(self, table: Mapping[str, Any]) -> RuleFile:
        self._check_keys(table, _ALLOW, lambda key: self._place("allow", key), f"use {', '.join(_ALLOW)}")
        values = self._texts(self._place("allow", "values"), table, "values")
        place = self._place("allow", "patterns")
        patterns = [self._pattern(place, "patterns", one) for one in self._texts(place, table, "patterns")]
        for number, pattern in enumerate(patterns, start=1):
            self._check_allowing(place, number, pattern)
        place = self._place("allow", "rules")
        names = self._texts(place, table, "rules")
        for name in names:
            if name not in _builtin_names():
                self._fail(place, f"rules: there is no built-in rule {_quoted(name)}{_meant(name, _builtin_names())}")
        return RuleFile(self._path, (), frozenset(values), tuple(patterns), frozenset(names))

    def _check_allowing(self, place: str, number: int, pattern: re.Pattern[str]) -> None:
        from claude_session_player.redact.pattern_speed import measure_pattern

        if (slow := measure_pattern(pattern, matches_whole=True).slow) is not None:
            self._fail(place, f"pattern {number} is too slow: {slow}; give repetitions a maximum, like {{1,200}}")
        if all(pattern.fullmatch(probe) for probe in _PROBES):
            self._fail(place, f"pattern {number} allows every value: write a narrower one, or use --no-redact")

    # --- values ---------------------------------------------------------------------------------

    def _name(self, place: str, name: Any, others: Mapping[str, str]) -> str:
        if not isinstance(name, str):
            self._fail(place, f"name is {_type(name)}: {_EXAMPLES['name']}")
        if not _NAME.fullmatch(name):
            advice = "use 2 to 41 lower case letters and digits, with single dashes between them"
            self._fail(place, f"the name {_quoted(name)} cannot be a mask: {advice}")
        if name in _builtin_names() or name in _RESERVED:
            self._fail(place, f"the name {name} has another meaning already: choose another")
        if name in others:
            self._fail(place, f"the name is not unique, see {others[name]}: choose another")
        return name

    def _pattern(self, place: str, key: str, pattern: Any) -> re.Pattern[str]:
        if not isinstance(pattern, str):
            self._fail(place, f"{key} is {_type(pattern)}: {_EXAMPLES['pattern']}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled = re.compile(pattern)
                matches_nothing = compiled.search("") is not None
        except re.error as error:
            at = f"at character {error.pos + 1}: " if error.pos is not None else ""
            self._fail(place, f"{key} is not a regular expression of Python: {at}{error.msg}")
        except (OverflowError, RecursionError, ValueError) as error:
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            self._fail(place, f"{key} is not a regular expression of Python: {reason}")
        if matches_nothing:
            self._fail(place, f"{key} matches the empty text, and so everywhere: ask for at least one character")
        return compiled

    def _entropy(self, place: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._fail(place, f"entropy is {_type(value)}: write bits per character, like 3.0")
        if not 0 <= value <= _LARGEST_ENTROPY:
            self._fail(place, f"entropy is not between 0 and {_LARGEST_ENTROPY:g}: write bits per character, like 3.0")
        return float(value)

    def _texts(self, place: str, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        values = table.get(key, [])
        if not isinstance(values, list):
            self._fail(place, f'{key} is {_type(values)}: write a list of texts, like {key} = ["…"]')
        for number, value in enumerate(values, start=1):
            if not isinstance(value, str):
                self._fail(place, f"{key}: number {number} is {_type(value)}: write it as text in quotes")
            if not value:
                self._fail(place, f"{key}: number {number} is empty: leave it out")
        return tuple(values)

    # --- places ---------------------------------------------------------------------------------

    def _check_keys(
        self, table: Mapping[str, Any], known: Sequence[str], place_of: Callable[[str], str], advice: str
    ) -> None:
        for key in table:
            if key not in known:
                self._fail(place_of(key), f"unknown key {_quoted(key)}{_meant(key, known) or f': {advice}'}")

    def _place(self, section: str = "", key: str = "") -> str:
        """Where a table of the file stands, or a key in it."""
        headers = [number for number, match in self._headers if match[2] == section]
        return self._at_line(self._line_of(headers[0], key) if section and headers else None)

    def _rule_place(self, number: int, table: Mapping[str, Any], key: str = "name") -> str:
        name = table.get("name")
        known = name if isinstance(name, str) and _NAME.fullmatch(name) else f"number {number + 1}"
        headers = [line for line, match in self._headers if match[1] and match[2] == "rule"]
        # tables that are written in another way have no headers, and their lines are not known
        line = self._line_of(headers[number], key) if len(headers) == self._rules else None
        return f"{self._at_line(line)}, rule {known}"

    def _line_of(self, header: int, key: str) -> int:
        """The line of a key below a header, or else that of the header."""
        assignment = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
        following = min((number for number, _ in self._headers if number > header), default=len(self._lines))
        lines = range(header + 1, following) if key else ()
        return next((number for number in lines if assignment.match(self._lines[number])), header)

    def _at_line(self, line: int | None) -> str:
        name = display_path(self._path)
        return name if line is None else f"{name}, line {line + 1}"

    def _fail(self, place: str, reason: str) -> NoReturn:
        raise BadRules(f"{place}: {reason}")


_EXAMPLES: Final = {
    "name": 'write the word of the mask, like name = "tea-token"',
    "pattern": "write a regular expression, like pattern = 'tea_[a-z0-9]{20,40}'",
    "matches": 'write at least one text in which it finds something, like matches = ["TEA_KEY=tea_{l20}"]',
}
_TYPES: Final = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


def _type(value: object) -> str:
    return _TYPES.get(type(value), "a date or a time")


def _quoted(name: str) -> str:
    return repr(name if len(name) <= 40 else f"{name[:40]}…")


def _meant(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    return f": did you mean {near[0]}?" if near else ""
