"""Compiles a query into a query of tantivy, and into a pattern that finds its words in a text."""

from __future__ import annotations

import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

import tantivy

from claude_session_player.search.documents import LAST_LINE, from_place, schema
from claude_session_player.search.fields import CODES
from claude_session_player.search.query import AllOf, AnyOf, Condition, Node, Not, Phrase, Word
from claude_session_player.search.tokens import BREAK, fold, prepare, split_cjk, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from claude_session_player.search.snippets import Span

_MUST, _SHOULD, _MUST_NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot
_EVERYTHING: Final = tantivy.Query.all_query
_LAST_SECOND: Final = 1 << 40
_TEXT_FIELDS: Final = ("text", "inner")
_MOST_MATCHES: Final = 500
_SEARCHED: Final = 400_000
"""The number of characters of a text in which words are marked."""
_SHORT: Final = 600
_TRIES: Final = 16
"""How many places of each spelling of a word are looked at in a long text."""


def compile_query(node: Node, places_of: Callable[[Condition], Iterable[Span]]) -> tantivy.Query:
    """The query of tantivy; `places_of` returns the first and last places of the sessions that meet a condition."""
    match node:
        case Word(text, is_prefix):
            return _word_query(text, _TEXT_FIELDS, is_prefix=is_prefix)
        case Phrase(text):
            return _word_query(text, _TEXT_FIELDS)
        case Condition():
            return _condition_query(node, places_of)
        case Not(inner):
            return _all([], [compile_query(inner, places_of)])
        case AllOf(nodes):
            some = [one for one in nodes if not _is_empty(one)]
            wanted = [compile_query(one, places_of) for one in some if not isinstance(one, Not)]
            return _all(wanted, [compile_query(one.node, places_of) for one in some if isinstance(one, Not)])
        case AnyOf(nodes):
            return _any([compile_query(one, places_of) for one in nodes if not _is_empty(one)] or [_EVERYTHING()])


def _is_empty(node: Node) -> bool:
    """True for punctuation, which is not indexed; it neither selects nor excludes anything."""
    match node:
        case Word(text) | Phrase(text):
            return not words_of(text)
        case Not(inner):
            return _is_empty(inner)
        case AllOf(nodes) | AnyOf(nodes):
            return all(map(_is_empty, nodes))
    return False


def _all(wanted: Sequence[tantivy.Query], unwanted: Sequence[tantivy.Query]) -> tantivy.Query:
    if len(wanted) == 1 and not unwanted:
        return wanted[0]
    wanted = wanted or [tantivy.Query.all_query()]
    return tantivy.Query.boolean_query([*((_MUST, one) for one in wanted), *((_MUST_NOT, one) for one in unwanted)])


def _any(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    return queries[0] if len(queries) == 1 else tantivy.Query.boolean_query([(_SHOULD, one) for one in queries])


# --- words ----------------------------------------------------------------------------------------


def _word_query(text: str, fields: Sequence[str], *, is_prefix: bool = False) -> tantivy.Query:
    """Documents with a word, or with several that follow each other; a text without any matches everything."""
    queries = []
    pieces = split_cjk(text)
    for number, (piece, is_cjk) in enumerate(pieces):
        if is_cjk:
            queries.append(_cjk_query(piece))
            continue
        ends_open = is_prefix and number == len(pieces) - 1
        # What touches such a character is one word with it for the analyzer: no phrase can be relied on.
        for part in [piece] if len(pieces) == 1 else words_of(piece):
            options = [_sequence_query(words, field, is_prefix=ends_open) for words in _forms(part) for field in fields]
            if options:
                queries.append(_any(options))
    return _all(queries, [])


def _forms(text: str) -> list[list[str]]:
    """The ways in which a word may be indexed: as it is, and as its parts.

    >>> _forms("parseLine"), _forms("café")
    ([['parseline'], ['parse', 'line']], [['cafe']])
    """
    forms = [words_of(text)]
    if " " not in text.strip():
        forms.append([word for word in words_of(prepare(text)[1]) if word != BREAK.strip()])
    unique: list[list[str]] = []
    for form in forms:
        if form and form not in unique:
            unique.append(form)
    return unique


def _sequence_query(words: Sequence[str], field: str, *, is_prefix: bool) -> tantivy.Query:
    """Documents with words next to each other in a field."""
    if len(words) == 1:
        if is_prefix:
            return tantivy.Query.regex_query(schema(), field, re.escape(words[0]) + ".*")
        return tantivy.Query.term_query(schema(), field, words[0])
    if is_prefix:  # a phrase prefix query would stop at 50 continuations
        patterns: list[str | tuple[int, str]] = [*map(re.escape, words[:-1]), re.escape(words[-1]) + ".*"]
        return tantivy.Query.regex_phrase_query(schema(), field, patterns)
    return tantivy.Query.phrase_query(schema(), field, list(words))


def _cjk_query(run: str) -> tantivy.Query:
    """Documents with a run of Chinese, Japanese or Korean characters."""
    if len(run) == 1:
        return tantivy.Query.regex_query(schema(), "inner", f"{run}.?")
    return _sequence_query([run[at : at + 2] for at in range(len(run) - 1)], "inner", is_prefix=False)


# --- conditions -----------------------------------------------------------------------------------


def _condition_query(condition: Condition, places_of: Callable[[Condition], Iterable[Span]]) -> tantivy.Query:
    value = condition.value
    match condition.field:
        case "in":
            return tantivy.Query.term_query(schema(), "field", CODES[value])
        case "error":
            return tantivy.Query.term_query(schema(), "error", int(value == "yes"))
        case "tool":
            name = value.lower()
            if condition.is_prefix:
                return tantivy.Query.regex_query(schema(), "tool", re.escape(name) + ".*")
            return tantivy.Query.term_query(schema(), "tool", name)
        case "path":
            return _word_query(value, ("path",), is_prefix=condition.is_prefix)
        case "cmd":
            return _word_query(value, ("command",), is_prefix=condition.is_prefix)
        case "since" | "before":
            assert condition.moment is not None
            return _time_query(condition.moment, is_since=condition.field == "since")
    return _places_query(places_of(condition))


def _places_query(places: Iterable[Span]) -> tantivy.Query:
    """Documents of whole files, or of some lines of files."""
    whole, queries = [], []
    for first, last in places:
        (file, start), (_, end) = from_place(first), from_place(last)
        if (start, end) == (0, LAST_LINE):
            whole.append(file)
        else:
            queries.append(tantivy.Query.range_query(schema(), "place", tantivy.FieldType.Unsigned, first, last))
    if whole:
        queries.append(tantivy.Query.term_set_query(schema(), "file", whole))
    return _any(queries) if queries else tantivy.Query.empty_query()


def _time_query(moment: datetime, *, is_since: bool) -> tantivy.Query:
    """Documents from a time on, or before it."""
    seconds = max(math.ceil(moment.timestamp()), 0)
    low, high = (seconds, _LAST_SECOND) if is_since else (0, max(seconds - 1, 0))
    return tantivy.Query.range_query(schema(), "seconds", tantivy.FieldType.Unsigned, low, high)


# --- marks ----------------------------------------------------------------------------------------


class WordMarker:
    """Finds the words of a query in a text."""

    def __init__(self, node: Node) -> None:
        wanted = _wanted(node)
        patterns = dict.fromkeys(pattern for one in wanted for pattern in _patterns(one))
        self._terms = [re.compile(one) for one in patterns]
        self._node = node
        words = dict.fromkeys(word for one in wanted for word in words_of(one.text)[:1])
        self._spellings = [tuple(dict.fromkeys((word, word.capitalize(), word.upper()))) for word in words]

    def spans(self, text: str) -> list[Span]:
        """Where words of the query are, in the order of the text, beginning where most of them are close together."""
        if len(text) > _SHORT and (at := self._likely_place(text)) is not None:
            start = max(at - _SHORT // 4, 0)
            if spans := self._spans_in(text, start, start + _SHORT):
                return spans
        return self._spans_in(text, 0, _SEARCHED)

    def has_case(self, text: str) -> bool:
        """True if a text matches with the capitals of the query; words without capitals match in any case."""
        return _has_case(self._node, text)

    def _likely_place(self, text: str) -> int | None:
        """Where most words are close together in one of their usual spellings: folding a long text takes far longer."""
        found = []
        for number, spellings in enumerate(self._spellings):
            at, spelling = next(((at, one) for one in spellings if (at := text.find(one)) >= 0), (-1, ""))
            places: list[tuple[int, int, int]] = []
            while at >= 0 and len(places) < _TRIES:
                places.append((at, at + len(spelling), number))
                at = text.find(spelling, at + len(spelling))
            found += [place for place in places if _is_whole(text, *place[:2])] or places
        found.sort()
        return found[_densest(found)][0] if found else None

    def _spans_in(self, text: str, start: int, end: int) -> list[Span]:
        folded = fold(text[start:end])
        found = []
        for number, term in enumerate(self._terms):
            places = [match.span() for match in islice(term.finditer(folded), _MOST_MATCHES)]
            places = [place for place in places if _is_whole(folded, *place)] or places
            found += [(start + first, start + last, number) for first, last in places]
        found.sort()
        return _without_overlaps(found[_densest(found) :])


def _has_case(node: Node, text: str) -> bool:
    match node:
        case Word(words) | Phrase(words) if words != words.lower():
            body = r"[\W_]{1,40}".join(map(re.escape, _LETTERS.findall(words)))
            end = "" if isinstance(node, Word) and node.is_prefix else r"(?![a-z0-9])"
            return re.search(rf"(?:(?<![^\W_])|(?<=[a-z0-9])(?=[A-Z])){body}{end}", text) is not None
        case AllOf(nodes):
            return all(_has_case(one, text) for one in nodes)
        case AnyOf(nodes):
            return any(_has_case(one, text) for one in nodes)
    return True  # conditions, excluded words, and words without capitals were decided by the index


_LETTERS: Final = re.compile(r"[^\W_]+")
_WINDOW: Final = 120


def _densest(found: Sequence[tuple[int, int, int]]) -> int:
    """The position of the match after which the most different words follow within a window."""
    best, most = 0, 0
    for position, (start, _, _) in enumerate(found):
        words = set()
        for later, _, number in found[position : position + 50]:
            if later - start > _WINDOW:
                break
            words.add(number)
        if len(words) > most:
            best, most = position, len(words)
    return best


def _is_whole(text: str, start: int, end: int) -> bool:
    """True if a part of a text is not inside a longer word."""
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def _without_overlaps(found: Iterable[tuple[int, int, int]]) -> list[Span]:
    spans: list[Span] = []
    for start, end, _ in found:
        if not spans or start >= spans[-1][1]:
            spans.append((start, end))
    return spans


def _wanted(node: Node) -> list[Word | Phrase]:
    """The words and phrases of a query that are not excluded."""
    match node:
        case Word() | Phrase():
            return [node]
        case AllOf(nodes) | AnyOf(nodes):
            return [one for each in nodes for one in _wanted(each)]
        case Condition(field, value) if field in ("cmd", "path"):
            return [Phrase(value)]
    return []


def _patterns(wanted: Word | Phrase) -> list[str]:
    """Patterns for a word in a folded text: whole, and inside a longer one."""
    is_prefix = isinstance(wanted, Word) and wanted.is_prefix
    found = []
    for piece, is_cjk in split_cjk(wanted.text):
        if is_cjk:
            found.append(re.escape(piece))
            continue
        words = words_of(fold(piece))
        if words:
            body = r"[\W_]{1,40}".join(map(re.escape, words))
            end = r"[^\W_]*" if is_prefix else ""
            found.append(rf"{body}{end}")
    return found
