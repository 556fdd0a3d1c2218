"""The query language of the search: a text becomes a tree of nodes, and the tree a text again.

Words, phrases and values stay as they were typed; case, accents and punctuation are the matter of the search.
`help query` explains the language to people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field as attribute
from datetime import UTC
from typing import TYPE_CHECKING, Final, TypeAlias

from claude_session_player.errors import BadFilter, BadQuery
from claude_session_player.util.text import printable, truncate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

QUERY_FIELDS: Final = {
    "in": "prompt",
    "tool": "Bash",
    "path": "src/parser.py",
    "cmd": "pytest",
    "error": "yes",
    "model": "opus",
    "project": "kettle",
    "git": "main",
    "agent": "Explore",
    "since": "7d",
    "before": "2026-02",
    "session": "1f2e3d4c",
}
"""The fields, each with an example of its value."""
FIELD_VALUES: Final = {
    "in": ("prompt", "response", "thinking", "tool", "result", "title", "summary", "file"),
    "error": ("yes", "no"),
}
"""The fields that take only certain values."""
DATE_FIELDS: Final = ("since", "before")
MAX_LENGTH: Final = 2_000
MAX_TERMS: Final = 200
MAX_DEPTH: Final = 50

_AS_TEXT: Final = "put it in quotes to search for it as text"
_MIN_FIELD_LENGTH: Final = 3
_NO_VALUES: Final = tuple("/0123456789")
"""How no value of an unknown field begins: `localhost:8080`, `file:/x`."""
_QUOTED_LENGTH: Final = 40
"""How much of a value an error message repeats."""
_SHOWN_WIDTH: Final = 76
_SHOWN_BEFORE: Final = 40
"""The cells of an error's excerpt, and those of them before the place."""
_OR: Final = re.compile(r'OR(?=[\s()"]|\Z)')
_OTHER_OPERATORS: Final = {
    "AND": "all words are wanted anyway: leave out AND",
    "NOT": "write a minus before a word to exclude it, instead of NOT",
}
"""Operators of other query languages: as words, they would find nothing."""
_SPACES: Final = re.compile(r"\s*")
_QUOTED: Final = re.compile(r'"((?:[^"\\]++|\\[\s\S])*+)"(\**)')
"""Backslashes are escapes only before a quote, so that Windows paths can be typed as they are."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or the beginning of one."""

    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that follow each other."""

    text: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A field and the value that it must have, or begin with."""

    field: str
    value: str
    is_prefix: bool = False
    moment: datetime | None = attribute(default=None, compare=False)
    """The time, in UTC, that the value of a date field stood for when it was parsed; "7d" stays equal to "7d"."""


@dataclass(frozen=True, slots=True)
class Not:
    """Excludes what its node matches; that is never a `Not`."""

    node: Node


@dataclass(frozen=True, slots=True)
class AllOf:
    """Two or more nodes that must all match; none of them is an `AllOf`."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Two or more nodes of which one must match; none of them is an `AnyOf`."""

    nodes: tuple[Node, ...]


Node: TypeAlias = Word | Phrase | Condition | Not | AllOf | AnyOf


def parse_query(text: str, now: datetime | None = None) -> Node:
    """The node that a query stands for; dates are relative to `now`. Raises `BadQuery`.

    >>> parse_query("pytest -tool:Bash")
    AllOf(nodes=(Word(text='pytest', is_prefix=False), Not(node=Condition(field='tool', value='Bash', is_prefix=False, \
moment=None))))
    """
    if not (stripped := text.strip()):
        raise BadQuery("the query is empty: write a word, a phrase in quotes, or a field like tool:Bash")
    start = text.index(stripped[0])
    if len(text) > MAX_LENGTH:
        counted = f"the query has {len(text):,} characters; at most {MAX_LENGTH:,} are allowed"
        raise _bad_query(f"{counted}: use --exact for long texts", text, MAX_LENGTH)
    if set(stripped) == {"*"}:
        raise _bad_query("a query of nothing but * matches everything: write letters before it", text, start)
    if not _is_searchable(text):
        raise _bad_query("the query has no letters or digits: use --exact to search for punctuation", text, start)
    return _Parser(text, now).parse()


def plain_words(node: Node) -> tuple[str, ...]:
    """The words and phrases that are wanted, each once; none that is excluded, and no punctuation.

    >>> plain_words(parse_query('tea* "hot water" -milk (cup OR mug) => tool:Bash'))
    ('tea', 'hot water', 'cup', 'mug')
    """
    return tuple(dict.fromkeys(_wanted_texts(node)))


def without_word(node: Node, word: str) -> Node | None:
    """The query without a wanted word or phrase, wherever it occurs; `None` if nothing else is wanted.

    >>> format_query(without_word(parse_query("boil kettle -tea"), "kettle") or Word("nothing"))
    'boil -tea'
    """
    rest = _without(node, word)
    return rest if rest is not None and _is_wanted(rest) else None


def format_query(node: Node) -> str:
    """A query that parses to this node.

    >>> format_query(parse_query('a  ( b OR"c d" )-cmd:"git push" path:"x"'))
    'a (b OR "c d") -cmd:"git push" path:x'
    """
    match node:
        case Word(text, is_prefix):
            return f"{text}*" if is_prefix else text
        case Phrase(text):
            return _quote(text)
        case Condition(name, value, is_prefix):
            return f"{name}:{value if _is_bare(value) else _quote(value)}{'*' if is_prefix else ''}"
        case Not(inner):
            return f"-{format_query(inner)}" if _can_follow_minus(inner) else f"-({format_query(inner)})"
        case AllOf(nodes):
            return " ".join(f"({format_query(one)})" if isinstance(one, AnyOf) else format_query(one) for one in nodes)
        case AnyOf(nodes):
            return " OR ".join(map(format_query, nodes))


class _Parser:
    """Reads one query from its beginning to its end."""

    def __init__(self, text: str, now: datetime | None) -> None:
        self.text = text
        self.now = now
        self.at = 0
        self.depth = 0
        self.terms = 0

    def parse(self) -> Node:
        node = self._any_of()
        if self.at < len(self.text):
            raise self._unopened()
        return node

    def _any_of(self) -> Node:
        """Alternatives, up to the end or to a closing parenthesis."""
        nodes: list[Node] = []
        or_at = None
        while True:
            start = self._skip_spaces()
            nodes.append(self._all_of(or_at))
            or_at = self.at if _OR.match(self.text, self.at) else None
            if not self.depth and not _is_wanted(nodes[-1]):
                raise self._nothing_wanted(nodes[-1], start, is_side=or_at is not None or len(nodes) > 1)
            if or_at is None:
                return _join(AnyOf, nodes)
            self.at += len("OR")

    def _all_of(self, or_at: int | None) -> Node:
        """Terms up to the next `OR`, or further; `or_at` is where the last one was."""
        nodes: list[Node] = []
        while self._next() not in ("", ")") and not _OR.match(self.text, self.at):
            nodes.append(self._term())
            self._skip_spaces()
        if nodes:
            return _join(AllOf, nodes)
        if or_at is None and self._next() == ")":
            raise self._unopened()
        side, at = ("left", self.at) if or_at is None else ("right", or_at)
        advice = 'write words on both sides of it, or "OR" in quotes to search for it'
        raise self._bad(f"OR has nothing on its {side}: {advice}", at)

    def _term(self) -> Node:
        if not self._is_negation():
            return self._operand()
        self.at += 1
        node = self._operand()
        return node.node if isinstance(node, Not) else Not(node)

    def _is_negation(self) -> bool:
        """True at a minus that excludes what follows; "--no-cache", "->" and "-" alone are words."""
        behind = self.at + 1
        if self._next() != "-" or behind == len(self.text) or self.text[behind] == "-":
            return False
        return self.text[behind] in '("' or _is_searchable(self.text[behind : _word_end(self.text, behind)])

    def _operand(self) -> Node:
        if self._next() == "(":
            return self._group()
        self.terms += 1
        if self.terms > MAX_TERMS:
            advice = "use fewer, or --exact for long texts"
            raise self._bad(f"the query has more than {MAX_TERMS} words, phrases and fields: {advice}", self.at)
        return self._phrase() if self._next() == '"' else self._word_or_condition()

    def _group(self) -> Node:
        start = self.at
        if self.depth == MAX_DEPTH:
            raise self._bad(f"parentheses are nested more than {MAX_DEPTH} deep: use fewer of them", start)
        self.depth += 1
        self.at += 1
        self._skip_spaces()
        if self._next() == ")":
            raise self._bad("the parentheses are empty: write words between them, or remove them", start)
        node = self._any_of() if self._next() else None
        if node is None or not self._next():
            raise self._bad("the parenthesis is not closed: add a ), or put the text in quotes", start)
        self.depth -= 1
        self.at += 1
        return node

    def _phrase(self) -> Phrase:
        start = self.at
        text, stars = self._quoted()
        self.at -= stars  # only values may have them here
        if not text.strip():
            raise self._bad("the quotes are empty: write a phrase between them, or remove them", start)
        return Phrase(text)

    def _quoted(self) -> tuple[str, int]:
        """A text in quotes, and the number of stars behind it."""
        if (match := _QUOTED.match(self.text, self.at)) is None:
            raise self._bad('the quote is not closed: add a " at the end of the phrase', self.at)
        self.at = match.end()
        return _unescape(match[1]), len(match[2])

    def _word_or_condition(self) -> Word | Condition:
        start = self.at
        self.at = _word_end(self.text, start)
        text = self.text[start : self.at]
        if text in _OTHER_OPERATORS:
            raise self._bad(f'{_OTHER_OPERATORS[text]}, or write "{text}" in quotes to search for it', start)
        name, colon, rest = text.partition(":")
        if colon and self._is_field(name, rest, start):
            return self._condition(name, start)
        beginning = text.rstrip("*")
        is_prefix = beginning != text and _is_searchable(beginning)
        return Word(beginning if is_prefix else text, is_prefix)

    def _is_field(self, name: str, rest: str, start: int) -> bool:
        """True if a word with a colon is a field; raises `BadQuery` if it was probably meant to be one.

        Real words have colons, too: "std::path", "git://host", "10:30", "note:".
        """
        if not name.isalpha() or rest.startswith((":", "//")):
            return False
        if name in QUERY_FIELDS:
            return True
        if not rest and self._next() != '"':
            return False
        unknown = f"unknown field '{truncate(name, _QUOTED_LENGTH)}:'"
        if near := _nearest(name, QUERY_FIELDS):
            raise self._bad(f"{unknown}: did you mean '{near}:'?", start)
        if len(name) < _MIN_FIELD_LENGTH or rest.startswith(_NO_VALUES) or not (name.isascii() and name.islower()):
            return False
        raise self._bad(f"{unknown}: fields are {', '.join(f'{one}:' for one in QUERY_FIELDS)}; {_AS_TEXT}", start)

    def _condition(self, name: str, start: int) -> Condition:
        end, self.at = self.at, start + len(name) + 1
        value_at = self.at
        if self._next() == '"':
            value, stars = self._quoted()
        else:
            typed = self.text[value_at:end]
            value = typed.rstrip("*")
            stars, self.at = len(typed) - len(value), end
        if not value.strip():
            raise self._no_value(name, start)
        if name in FIELD_VALUES:
            return Condition(name, self._known_value(name, value + "*" * stars, value_at))
        if name in DATE_FIELDS:
            return Condition(name, value, moment=self._moment(value + "*" * stars, value_at))
        return Condition(name, value, stars > 0)

    def _known_value(self, name: str, value: str, at: int) -> str:
        allowed = FIELD_VALUES[name]
        if value.lower() in allowed:
            return value.lower()
        near = _nearest(value.lower(), allowed)
        hint = f"did you mean {near!r}? " if near else ""
        values = f"values are {', '.join(allowed)}; {_AS_TEXT}"
        raise self._bad(f"unknown value {truncate(value, _QUOTED_LENGTH)!r} of '{name}:': {hint}{values}", at)

    def _moment(self, value: str, at: int) -> datetime:
        from claude_session_player.store import parse_date_span

        try:
            return parse_date_span(truncate(value, _QUOTED_LENGTH), self.now).start.astimezone(UTC)
        except BadFilter as error:
            raise self._bad(str(error), at) from error

    def _no_value(self, name: str, start: int) -> BadQuery:
        if self._next() == "(":
            return self._bad(f"'{name}:' takes one value: write ({name}:… OR {name}:…)", start)
        example = f"{name}:{QUERY_FIELDS[name]}"
        return self._bad(f"'{name}:' has no value: write one directly after it, like {example}; {_AS_TEXT}", start)

    def _nothing_wanted(self, node: Node, start: int, *, is_side: bool) -> BadQuery:
        what = "one side of OR" if is_side or _contains(node, AnyOf) else "the query"
        if not _contains(node, Not):
            return self._bad(f"{what} has no letters or digits: use --exact to search for punctuation", start)
        return self._bad(f"{what} only excludes: at least one word or field must be wanted", start)

    def _unopened(self) -> BadQuery:
        return self._bad("no parenthesis is open here: remove the ), or put the text in quotes", self.at)

    def _bad(self, message: str, at: int) -> BadQuery:
        return _bad_query(message, self.text, at)

    def _next(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def _skip_spaces(self) -> int:
        spaces = _SPACES.match(self.text, self.at)
        self.at = spaces.end() if spaces else self.at
        return self.at


def _word_end(text: str, start: int) -> int:
    """Where a word ends: at white space, a quote, or a parenthesis without a counterpart in the word.

    >>> [text[: _word_end(text, 0)] for text in ("main() x", "main(a b)", 'print("x")', "f(x))", "f((x)")]
    ['main()', 'main', 'print', 'f(x)', 'f']
    """
    unclosed: list[int] = []
    end = start
    while end < len(text) and (char := text[end]) != '"' and not char.isspace():
        if char == "(":
            unclosed.append(end)
        elif char == ")":
            if not unclosed:
                break
            unclosed.pop()
        end += 1
    return unclosed[0] if unclosed else end


def _join(kind: type[AllOf | AnyOf], nodes: Iterable[Node]) -> Node:
    """Nodes as one, without a level for a single one or for one of the same kind."""
    flat: list[Node] = []
    for node in nodes:
        flat.extend(node.nodes if isinstance(node, kind) else (node,))
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def _is_searchable(text: str) -> bool:
    """True if there is a letter or a digit: nothing else is in the search index."""
    return any(map(str.isalnum, text))


def _is_wanted(node: Node) -> bool:
    """True if whatever the node matches has something in it that was searched for."""
    match node:
        case Word(text) | Phrase(text):
            return _is_searchable(text)
        case Condition():
            return True
        case Not():
            return False
        case AllOf(nodes):
            return any(map(_is_wanted, nodes))
        case AnyOf(nodes):
            return all(map(_is_wanted, nodes))


def _contains(node: Node, kind: type[Node]) -> bool:
    """True if a node of this kind is in it, outside of what is excluded."""
    return isinstance(node, kind) or (
        isinstance(node, AllOf | AnyOf) and any(_contains(inner, kind) for inner in node.nodes)
    )


def _wanted_texts(node: Node) -> Iterator[str]:
    match node:
        case Word(text) | Phrase(text) if _is_searchable(text):
            yield text
        case AllOf(nodes) | AnyOf(nodes):
            for one in nodes:
                yield from _wanted_texts(one)
        case _:
            pass


def _without(node: Node, word: str) -> Node | None:
    match node:
        case Word(text) | Phrase(text):
            return None if text == word else node
        case AllOf(nodes) | AnyOf(nodes):
            kept = [rest for one in nodes if (rest := _without(one, word)) is not None]
            return _join(type(node), kept) if kept else None
        case _:
            return node


def _can_follow_minus(node: Node) -> bool:
    """True if a minus directly before the node's text excludes exactly this node."""
    if isinstance(node, Word):
        return _is_searchable(node.text) and not node.text.startswith("-")
    return isinstance(node, Phrase | Condition)


def _is_bare(value: str) -> bool:
    """True if the value of a field needs no quotes."""
    return not value.startswith((":", "//")) and not value.endswith("*") and _word_end(value, 0) == len(value)


def _quote(text: str) -> str:
    escaped = re.sub(r'(?<!\\)(\\*+)("|\Z)', lambda match: match[1] * 2 + ('\\"' if match[2] else ""), text)
    return f'"{escaped}"'


def _unescape(text: str) -> str:
    return re.sub(r'(?<!\\)(\\++)("|\Z)', lambda match: match[1][: len(match[1]) // 2] + match[2], text)


def _nearest(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.75)), None)


def _bad_query(message: str, query: str, at: int) -> BadQuery:
    """An error with the part of the query around a place, and a caret below that place."""
    from claude_session_player.util.tables import cell_width, fit_cell  # load rich, which only mistakes need

    shown = printable("".join(" " if char.isspace() else char for char in query))
    before, after = shown[:at], shown[at:]
    if cell_width(shown) > _SHOWN_WIDTH and cell_width(before) > _SHOWN_BEFORE:
        before = fit_cell(before, _SHOWN_BEFORE, is_right=True, keeps_end=True)
    width = cell_width(before)
    return BadQuery(message, before + fit_cell(after, _SHOWN_WIDTH - width).rstrip(), " " * width + "^")
