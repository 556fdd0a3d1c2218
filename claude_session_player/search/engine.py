"""Searches the sessions of a store: brings the index up to date, asks it, and reads what it cannot answer for."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import tantivy

from claude_session_player.errors import SessionError
from claude_session_player.search.compiler import WordMarker, compile_query
from claude_session_player.search.documents import from_document, from_place, open_index, schema
from claude_session_player.search.fields import from_rank
from claude_session_player.search.hits import (
    DEFAULT_OPTIONS,
    FoundText,
    Hits,
    Match,
    SearchOptions,
    SearchReport,
    loaded_text,
)
from claude_session_player.search.index import SearchIndex
from claude_session_player.search.query import Condition, Node, format_query, parse_query, plain_words, without_word
from claude_session_player.search.ranking import group_matches, select_names, select_page
from claude_session_player.search.snippets import make_snippet
from claude_session_player.search.tokens import words_of
from claude_session_player.store import WORKFLOW, workflow_files
from claude_session_player.util.humanize import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.search.file_reader import ReadResult
    from claude_session_player.store import Progress, Session, SessionFile, Store

MOST_MATCHES: Final = 1_000
"""The number of matches of a query that are ranked, unless all are wanted."""
_MEMORY_BYTES: Final = 48 << 20
"""How many bytes of session files are indexed in memory at a time."""
_MEMORY_HEAP: Final = 60_000_000
_INDEX: Final = "index"


class StoreSearch:
    """Searches a store as it was when it was last refreshed; a query takes milliseconds then."""

    def __init__(self, store: Store, *, cache: str | None = None, progress: Progress | None = None) -> None:
        """`cache` is the directory of all caches, if it is not the platform's."""
        self._store = store
        self._cache = cache
        self._progress = progress
        self._sources: list[_DocumentSource] = []
        self._missing: list[SessionFile] = []
        self._memory: _DocumentSource | None = None
        self._files: list[SessionFile] = []
        self._runs: dict[str, str] = {}
        """The names of session files, by those of files about their workflow runs."""
        self._stale = 0
        self.reason = ""
        """Why the index could not be used, or not be updated."""
        self.sessions: dict[str, Session] = {}
        """All sessions and sub-agents with files, by the names of their files."""
        self.refreshed = float("-inf")
        """When the store was last looked at, by the monotonic clock."""

    def refresh(self, *, updates: bool = True, uses_index: bool = True) -> None:
        """Look at the store again, and bring the index up to date."""
        self.update_index(updates=updates, uses_index=uses_index)
        known = self._store.sessions_in([file for file in self._files if file.kind != WORKFLOW])
        self.sessions = {session.file.name: session for session in known}
        owners = ((name, self.sessions.get(owner)) for name, owner in self._runs.items())
        self.sessions |= {name: owner for name, owner in owners if owner is not None}
        self.refreshed = time.monotonic()

    def update_index(self, *, updates: bool = True, uses_index: bool = True) -> None:
        """Bring the index up to date, without looking at sessions: nothing can be searched before `refresh`."""
        store = self._store
        self._files = list(store.files())
        self._sources, self._missing, self._memory, self._stale, self.reason = [], [], None, 0, ""
        runs = [(run, file.name) for file in self._files for run in workflow_files(file)]
        self._runs = {run.name: owner for run, owner in runs}
        self._files += (run for run, _ in runs)
        for root in store.roots:
            files = [file for file in self._files if _is_below(file, root)]
            if uses_index and store.has_cache:
                self._add_source(SearchIndex(root, self._cache), files, updates=updates)
            else:
                self._missing += files

    def _add_source(self, index: SearchIndex, files: Sequence[SessionFile], *, updates: bool) -> None:
        """Add what the index of a store has, after an update if that is wanted."""
        hidden = tuple(os.path.join(problem.path, "") for problem in self._store.problems)
        if updates:
            coverage = index.update(
                files,
                is_gone=lambda name: not f"{name}{os.sep}".startswith(hidden),
                unpack=self._store.unpacked,
                on_read=self._offer,
                progress=self._progress,
            )
            self._missing += coverage.missing
        else:
            coverage = index.coverage(files)
            self._stale += len(coverage.missing)
        self.reason = self.reason or coverage.reason or index.refusal or ""
        if (searcher := index.searcher) is not None and coverage.current:
            self._sources.append(_DocumentSource(searcher, coverage.current))
        index.close()

    def search(self, queries: Sequence[str], options: SearchOptions = DEFAULT_OPTIONS) -> Hits:
        """The sessions that match all of some queries. Raises `BadQuery`."""
        nodes = [parse_query(query) for query in queries]
        names = select_names(self.sessions.values(), options.filter)
        searches = [
            _QuerySearch(query, node, WordMarker(node), options, self.sessions, names)
            for query, node in zip(queries, nodes, strict=True)
        ]
        matches: list[Match] = []
        for source in self._sources:
            for search in searches:
                matches += search.run(source)
        for source in self._memory_sources():
            for search in searches:
                matches += search.loaded(source)
        groups = group_matches(matches, self.sessions, queries, options.order)
        report = SearchReport(
            _INDEX,
            len(self._files),
            len(self._missing),
            self._stale,
            self.reason,
            tuple(self._store.problems),
            is_limited=any(search.is_limited for search in searches),
        )
        return Hits(select_page(groups, options.filter), report, partial(self._suggest, nodes[0], options))

    def _suggest(self, node: Node, options: SearchOptions) -> tuple[str, ...]:
        def count_sessions(query: str) -> int:
            return len(self.search([query], options))

        return suggest(node, [source.searcher for source in self._sources], count_sessions)

    def _memory_sources(self) -> Iterator[_DocumentSource]:
        """What the index cannot answer for, indexed in memory, a part at a time; a single part is kept."""
        if self._memory is not None:
            yield self._memory
            return
        agents = {file.id for file in self._files if file.is_agent} if self._missing else set()
        part: list[SessionFile] = []
        size = 0
        for file in self._missing:
            part.append(file)
            size += file.stamp.size
            if size >= _MEMORY_BYTES:
                yield self._in_memory(part, agents)
                part, size = [], 0
        if part:
            last = self._in_memory(part, agents)
            if len(part) == len(self._missing):
                self._memory = last
            yield last

    def _in_memory(self, files: Sequence[SessionFile], agents: set[str]) -> _DocumentSource:
        from claude_session_player.search.file_reader import FileReader

        memory = _MemoryIndex()
        names = {}
        for number, file in enumerate(files):
            names[number] = file.name
            try:
                FileReader(self._store.unpacked(file), number, memory, agents).read(None, is_known=False)
            except (OSError, SessionError):  # the store has noted it
                continue
        return _DocumentSource(memory.searcher(), names)

    def _offer(self, file: SessionFile, result: ReadResult) -> None:
        """The index of the store needs the same bytes: let it not read them again."""
        if result.data:
            self._store.offer_bytes(file, result.offset, result.data)


class _MemoryIndex:
    """An index in memory; see `DocumentSink`."""

    def __init__(self) -> None:
        self._index = open_index()
        self._writer = self._index.writer(_MEMORY_HEAP, 1)

    def add(self, document: tantivy.Document) -> None:
        self._writer.add_document(document)

    def forget_file(self, file: int) -> None:
        self._writer.delete_documents_by_query(tantivy.Query.term_query(schema(), "file", file))

    def forget_lines(self, file: int, *lines: tuple[int, int]) -> None:
        raise AssertionError("files are read from the beginning")

    def searcher(self) -> tantivy.Searcher:
        """Searches all documents."""
        self._writer.commit()
        self._index.reload()
        return self._index.searcher()


class _DocumentSource(NamedTuple):
    """Documents that can be searched, and the names of their files by number. Documents of other files do not count."""

    searcher: tantivy.Searcher
    names: dict[int, str]


class _QuerySearch:
    """One query, asked of several sources."""

    def __init__(
        self,
        query: str,
        node: Node,
        marker: WordMarker,
        options: SearchOptions,
        sessions: dict[str, Session],
        names: set[str] | None,
    ) -> None:
        self._query = query
        self._node = node
        self._marker = marker
        self._options = options
        self._sessions = sessions
        self._names = names
        self.is_limited = False

    def run(self, source: _DocumentSource) -> list[Match]:
        """What matches in a source; texts are loaded later."""
        searcher, names = source
        compiled = compile_query(self._node, partial(self._numbers, names))
        if self._names is not None:
            wanted = [number for number, name in names.items() if name in self._names]
            restricted = tantivy.Query.term_set_query(schema(), "file", wanted)
            compiled = compiled.and_must_match(restricted) if wanted else tantivy.Query.empty_query()
        limit = max(searcher.num_docs, 1) if self._options.all_matches else MOST_MATCHES
        result = searcher.search(compiled, limit, count=False, order_by_field="rank")
        addresses = [address for _, address in result.hits]
        if not addresses:
            return []
        self.is_limited = self.is_limited or len(addresses) == MOST_MATCHES == limit
        places = searcher.fast_field_values("place", addresses)
        copies = searcher.fast_field_values("copy", addresses)
        load = partial(self._load, searcher)
        found = []
        for (rank, address), place, copy in zip(result.hits, places, copies, strict=True):
            number, line = from_place(place)  # type: ignore[arg-type]
            if (name := names.get(number)) is not None:
                field, seconds = from_rank(rank)
                found.append(Match(name, line, field, seconds, copy, self._query, address, load))  # type: ignore[arg-type]
        if self._options.has_case:
            found = [match for match in found if match.load() is not None]
        return found

    def loaded(self, source: _DocumentSource) -> list[Match]:
        """The same with all texts loaded, so that the source is not needed any more."""
        pairs = ((match, match.load()) for match in self.run(source))
        return [match._replace(address=found, loader=loaded_text) for match, found in pairs if found is not None]

    def _load(self, searcher: tantivy.Searcher, match: Match) -> FoundText | None:
        stored = from_document(searcher.doc(match.address))
        if self._options.has_case and not self._marker.has_case(stored.text):
            return None
        snippet = make_snippet(stored.text, self._marker.spans(stored.text))
        facts = (stored.time, stored.uuid, stored.tool, stored.path, match.copy_key)
        return FoundText(match.name, match.line, match.field, *facts, snippet)

    def _numbers(self, names: dict[int, str], condition: Condition) -> Iterable[int]:
        """The numbers of the files whose sessions meet a condition."""
        return [
            number
            for number, name in names.items()
            if (session := self._sessions.get(name)) is not None and _meets(session, condition)
        ]


def _meets(session: Session, condition: Condition) -> bool:
    """True if a session meets a condition; texts match anywhere and ignore case, as in filters."""
    value = condition.value.casefold()
    head = session.head
    match condition.field:
        case "session":
            return any(one.id.casefold().startswith(value) for one in (session, head))
        case "project":
            texts = [head.project, session.project, head.file.project]
        case "model":
            texts = list(session.conversation.models)
        case "git":
            texts = [*session.facts.branches, *head.facts.branches]
        case _:
            texts = [session.id, session.agent, session.description] if session.is_subagent else []
    return any(text and value in text.casefold() for text in texts)


def _is_below(file: SessionFile, root: str) -> bool:
    return file.name.startswith(os.path.join(root, ""))


# --- what would have matched ------------------------------------------------------------------------

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
    from difflib import SequenceMatcher

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
