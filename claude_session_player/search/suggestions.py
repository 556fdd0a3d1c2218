"""What would have matched, if nothing does: a word of the index with nearly the same spelling, or fewer words."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from claude_session_player.search.query import format_query, plain_words, without_word
from claude_session_player.search.tokens import words_of
from claude_session_player.util.humanize import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import tantivy

    from claude_session_player.search.query import Node

_PREFIXES: Final = (2, 1)
"""How many letters at the beginning of a word are assumed to be right, first more, then fewer."""
_MIN_LENGTH: Final = 4
_LENGTH_DIFFERENCE: Final = 2
_CUTOFF: Final = 0.75
_MOST_TERMS: Final = 20_000


def suggest(node: Node, searchers: Sequence[tantivy.Searcher], count_sessions: Callable[[str], int]) -> tuple[str, ...]:
    """Sentences about what would have matched; `count_sessions` returns how many sessions match a query."""
    words = plain_words(node)
    counts = {word: _count(word, searchers) for word in words}
    nearest = [nearest_term(word, searchers) for word in words if not counts[word]]
    sentences = [f'Did you mean "{near}"?' for near in nearest if near]
    if len(words) > 1:
        rarest = min(words, key=lambda word: counts[word])
        rest = without_word(node, rarest)
        if rest is not None and (found := count_sessions(format_query(rest))):
            verb = "matches" if found == 1 else "match"
            sentences.append(f'Without "{rarest}", {plural(found, "session")} {verb}.')
    return tuple(sentences)


def nearest_term(word: str, searchers: Iterable[tantivy.Searcher]) -> str | None:
    """The indexed word that is spelled most like another one; of equals, the most frequent."""
    tokens = words_of(word)
    if len(tokens) != 1 or len(tokens[0]) < _MIN_LENGTH:
        return None
    token, matcher = tokens[0], SequenceMatcher(None, "", tokens[0])
    for length in _PREFIXES:
        best: tuple[float, int, str] | None = None
        for term, count in _terms(token[:length], searchers):
            if abs(len(term) - len(token)) > _LENGTH_DIFFERENCE or term == token:
                continue
            matcher.set_seq1(term)
            if matcher.real_quick_ratio() >= _CUTOFF and matcher.quick_ratio() >= _CUTOFF:
                ratio = matcher.ratio()
                if ratio >= _CUTOFF and (best is None or (ratio, count) > best[:2]):
                    best = ratio, count, term
        if best is not None:
            return best[2]
    return None


def _terms(prefix: str, searchers: Iterable[tantivy.Searcher]) -> Iterable[tuple[str, int]]:
    for searcher in searchers:
        yield from searcher.terms_with_prefix("text", prefix, limit=_MOST_TERMS)


def _count(word: str, searchers: Iterable[tantivy.Searcher]) -> int:
    """How many documents have a word, or the rarest word of a phrase."""
    tokens = words_of(word)
    places = [(searcher, field) for searcher in searchers for field in ("text", "inner")]
    return min((sum(searcher.doc_freq(field, token) for searcher, field in places) for token in tokens), default=0)
