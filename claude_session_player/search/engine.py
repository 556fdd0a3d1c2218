"""Searches the sessions of a store: brings the index up to date, asks it, and reads what it cannot answer for."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import tantivy

from claude_session_player.errors import BadQuery, SessionError
from claude_session_player.search.compiler import WordMarker, compile_query
from claude_session_player.search.documents import (
    LAST_LINE,
    from_document,
    from_place,
    is_tantivy_error,
    open_index,
    schema,
    to_place,
)
from claude_session_player.search.fields import from_rank
from claude_session_player.search.hits import (
    DEFAULT_OPTIONS,
    NEWEST,
    OLDEST,
    RELEVANCE,
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
from claude_session_player.store import WORKFLOW, ReadProblem, workflow_files
from claude_session_player.util.humanize import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from claude_session_player.search.file_reader import ReadResult
    from claude_session_player.search.index import Coverage
    from claude_session_player.store import Progress, Session, SessionFile, Store

MOST_MATCHES: Final = 1_000
"""The number of matches of a query that are ranked, unless all are needed."""
_FEW_SESSIONS: Final = 20
"""If so many matches are in fewer sessions than this, all matches are looked at."""
_ORDERS: Final = {
    RELEVANCE: ("rank", tantivy.Order.Desc),
    NEWEST: ("seconds", tantivy.Order.Desc),
    OLDEST: ("seconds", tantivy.Order.Asc),
}
"""The fast field by which the best matches are taken, if there are too many."""
_AGENT: Final = "agent"
_REFUSED: Final = "invalid argument"
"""How tantivy begins to say that it does not answer a query."""
_TOO_MANY_WORDS: Final = "too many words, or too long ones, begin as the query says: change the letters before the *"
_MEMORY_BYTES: Final = 48 << 20
"""How many bytes of session files are indexed in memory at a time."""
_MEMORY_HEAP: Final = 60_000_000
_INDEX: Final = "index"
_NO_INDEX: Final = "no index"


class _Snapshot(NamedTuple):
    """A store as it was when it was last looked at. It is replaced as a whole: another thread may be searching it."""

    files: Sequence[SessionFile] = ()
    sources: Sequence[_DocumentSource] = ()
    missing: Sequence[SessionFile] = ()
    """Files that the index cannot answer for."""
    stale: int = 0
    reason: str = ""
    sessions: Mapping[str, Session] = {}
    runs: Mapping[str, str] = {}
    """The names of session files, by those of files about their workflow runs."""


class StoreSearch:
    """Searches a store as it was when it was last refreshed; a query takes milliseconds then."""

    def __init__(self, store: Store, *, cache: str | None = None, progress: Progress | None = None) -> None:
        """`cache` is the directory of all caches, if it is not the platform's."""
        self._store = store
        self._cache = cache
        self._progress = progress
        self._now = _Snapshot()
        self._memory: tuple[_Snapshot, _DocumentSource] | None = None
        """What was indexed in memory for a snapshot, if it is little."""
        self.refreshed = float("-inf")
        """When the store was last looked at, by the monotonic clock."""

    @property
    def sessions(self) -> Mapping[str, Session]:
        """All sessions and sub-agents with files, by the names of their files."""
        return self._now.sessions

    @property
    def reason(self) -> str:
        """Why the index could not be used, or not be updated."""
        return self._now.reason

    def refresh(self, *, updates: bool = True, uses_index: bool = True) -> None:
        """Look at the store again, and bring the index up to date."""
        now = self._look(updates=updates, uses_index=uses_index)
        known = self._store.sessions_in([file for file in now.files if file.kind != WORKFLOW])
        self._store.forget_offers()
        sessions = {session.file.name: session for session in known}
        owners = ((name, sessions.get(owner)) for name, owner in now.runs.items())
        self._now = now._replace(sessions=sessions | {name: owner for name, owner in owners if owner is not None})
        self.refreshed = time.monotonic()

    def update_index(self) -> None:
        """Bring the index up to date, without looking at sessions: nothing can be searched before `refresh`."""
        self._now = self._look(updates=True, uses_index=True)
        self._store.forget_offers()

    def _look(self, *, updates: bool, uses_index: bool) -> _Snapshot:
        store = self._store
        files = list(store.files())
        runs = [(run, file.name) for file in files for run in workflow_files(file)]
        files += (run for run, _ in runs)
        sources, missing, stale, reasons = [], [], 0, []
        for root in store.roots:
            own = [file for file in files if _is_below(file, root)]
            if not uses_index or not store.has_cache:
                missing += own
                continue
            index = SearchIndex(root, self._cache)
            coverage = self._update(index, own) if updates else index.coverage(own)
            missing += coverage.missing if updates else []
            stale += 0 if updates else len(coverage.missing)
            reasons += [coverage.reason, index.refusal or ""]
            if (searcher := index.searcher) is not None and coverage.current:
                sources.append(_DocumentSource(searcher, coverage.current, index))
            index.close()
        reason = next(filter(None, reasons), "")
        return _Snapshot(files, sources, missing, stale, reason, runs={run.name: owner for run, owner in runs})

    def _update(self, index: SearchIndex, files: Sequence[SessionFile]) -> Coverage:
        hidden = tuple(os.path.join(problem.path, "") for problem in self._store.problems)
        return index.update(
            files,
            is_gone=lambda name: not f"{name}{os.sep}".startswith(hidden),
            unpack=self._store.unpacked,
            on_read=self._offer,
            progress=self._progress,
        )

    def search(self, queries: Sequence[str], options: SearchOptions = DEFAULT_OPTIONS) -> Hits:
        """The sessions that match all of some queries. Raises `BadQuery`."""
        nodes = [parse_query(query) for query in queries]
        now = self._now
        names = select_names(now.sessions.values(), options.filter)
        needs_all = options.all_matches or options.has_case or len(set(queries)) > 1
        searches = [
            _QuerySearch(query, node, options, now.sessions, names, needs_all=needs_all)
            for query, node in zip(queries, nodes, strict=True)
        ]
        matches: list[Match] = []
        for source in now.sources:
            try:
                matches += [match for search in searches for match in search.run(source)]
            except BaseException as error:
                if not is_tantivy_error(error):
                    raise
                self._now = now = self._without(source, now, is_damaged=not isinstance(error, OSError))
        for source in self._memory_sources(now):
            matches += [match for search in searches for match in search.loaded(source)]
        groups = group_matches(matches, now.sessions, queries, options.order)
        is_limited = any(search.is_limited for search in searches)
        if is_limited and len(groups) < _FEW_SESSIONS:  # one session with many matches may hide the others
            return self.search(queries, options._replace(all_matches=True))
        report = SearchReport(
            _INDEX if now.sources else _NO_INDEX,
            len(now.files),
            len(now.missing),
            now.stale,
            now.reason,
            tuple(self._store.problems),
            is_limited=is_limited,
        )
        return Hits(select_page(groups, options.filter), report, partial(self._suggest, nodes[0], options))

    def _without(self, source: _DocumentSource, now: _Snapshot, *, is_damaged: bool) -> _Snapshot:
        """A store without an index that cannot be read: its files are read instead. A damaged one is deleted."""
        names = set(source.names.values())
        if is_damaged and source.search_index is not None:
            source.search_index.drop()
        return now._replace(
            sources=[one for one in now.sources if one is not source],
            missing=[*now.missing, *(file for file in now.files if file.name in names)],
            reason=now.reason or ("it was damaged" if is_damaged else "it cannot be read"),
        )

    def _suggest(self, node: Node, options: SearchOptions) -> tuple[str, ...]:
        def count_sessions(query: str) -> int:
            return len(self.search([query], options))

        return suggest(node, [source.searcher for source in self._now.sources], count_sessions)

    def _memory_sources(self, now: _Snapshot) -> Iterator[_DocumentSource]:
        """What the index cannot answer for, indexed in memory, a part at a time; a single part is kept."""
        if self._memory is not None and self._memory[0] is now:
            yield self._memory[1]
            return
        agents = {file.id for file in now.files if file.is_agent} if now.missing else set()
        part: list[SessionFile] = []
        size = 0
        for file in now.missing:
            part.append(file)
            size += file.stamp.size
            if size >= _MEMORY_BYTES:
                yield self._in_memory(part, agents)
                part, size = [], 0
        if part:
            last = self._in_memory(part, agents)
            if len(part) == len(now.missing):
                self._memory = now, last
            yield last

    def _in_memory(self, files: Sequence[SessionFile], agents: set[str]) -> _DocumentSource:
        from claude_session_player.search.file_reader import FileReader

        memory = _MemoryIndex()
        names = {}
        for number, file in enumerate(files):
            names[number] = file.name
            try:
                FileReader(self._store.unpacked(file), number, memory, agents).read(None, is_known=False)
            except (OSError, SessionError) as error:
                self._store.note(ReadProblem(file.name, getattr(error, "strerror", None) or str(error)))
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
    names: Mapping[int, str]
    search_index: SearchIndex | None = None


class _QuerySearch:
    """One query, asked of several sources."""

    def __init__(
        self,
        query: str,
        node: Node,
        options: SearchOptions,
        sessions: Mapping[str, Session],
        names: set[str] | None,
        *,
        needs_all: bool,
    ) -> None:
        self._query = query
        self._node = node
        self._marker = WordMarker(node)
        self._options = options
        self._sessions = sessions
        self._names = names
        self._needs_all = needs_all
        self.is_limited = False

    def run(self, source: _DocumentSource) -> list[Match]:
        """What matches in a source, the best first if there are too many; texts are loaded later. Raises `BadQuery`."""
        try:
            return self._run(source)
        except ValueError as error:
            if _REFUSED not in str(error):
                raise
            raise BadQuery(_TOO_MANY_WORDS) from error

    def _run(self, source: _DocumentSource) -> list[Match]:
        searcher, names, _ = source
        compiled = compile_query(self._node, partial(self._places, names))
        if self._names is not None:
            wanted = [number for number, name in names.items() if name in self._names]
            restricted = tantivy.Query.term_set_query(schema(), "file", wanted)
            compiled = compiled.and_must_match(restricted) if wanted else tantivy.Query.empty_query()
        limit = max(searcher.num_docs, 1) if self._needs_all else MOST_MATCHES
        field, order = _ORDERS[self._options.order]
        result = searcher.search(compiled, limit, count=False, order_by_field=field, order=order)
        addresses = [address for _, address in result.hits]
        if not addresses:
            return []
        self.is_limited = self.is_limited or len(addresses) == MOST_MATCHES == limit
        ranks = [rank for rank, _ in result.hits] if field == "rank" else searcher.fast_field_values("rank", addresses)
        places = searcher.fast_field_values("place", addresses)
        copies = searcher.fast_field_values("copy", addresses)
        load = partial(self._load, searcher)
        found = []
        for rank, place, copy, address in zip(ranks, places, copies, addresses, strict=True):
            number, line = from_place(place)  # type: ignore[arg-type]
            if (name := names.get(number)) is not None:
                kind, seconds = from_rank(rank)  # type: ignore[arg-type]
                found.append(Match(name, line, kind, seconds, copy, self._query, address, load))  # type: ignore[arg-type]
        if self._options.has_case:
            found = [match for match in found if match.load() is not None]
        return found

    def loaded(self, source: _DocumentSource) -> list[Match]:
        """The same with all texts loaded, so that the source is not needed any more."""
        pairs = ((match, match.load()) for match in self.run(source))
        return [match._replace(address=found, loader=loaded_text) for match, found in pairs if found is not None]

    def _load(self, searcher: tantivy.Searcher, match: Match) -> FoundText | None:
        try:
            stored = from_document(searcher.doc(match.address))
        except BaseException as error:
            if not is_tantivy_error(error):
                raise
            return FoundText(match.name, match.line, match.field, copy_key=match.copy_key)  # its place is known
        if self._options.has_case and not self._marker.has_case(stored.text):
            return None
        snippet = make_snippet(stored.text, self._marker.spans(stored.text))
        facts = (stored.time, stored.uuid, stored.tool, stored.path, match.copy_key)
        return FoundText(match.name, match.line, match.field, *facts, snippet)

    def _places(self, names: Mapping[int, str], condition: Condition) -> Iterator[tuple[int, int]]:
        """The first and the last place of the sessions that meet a condition, and of sub-agents inside their files."""
        for number, name in names.items():
            session = self._sessions.get(name)
            if session is None:
                continue
            if _meets(session, condition):
                yield to_place(number, 0), to_place(number, LAST_LINE)
            elif condition.field == _AGENT and (session.facts.inline_count or session.facts.reported):
                for agent in session.inline_subagents:
                    if _meets(agent, condition):
                        yield from (
                            (to_place(number, first), to_place(number, last)) for first, last in agent.line_ranges
                        )


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
        case _:  # agent
            texts = [session.id, session.agent, session.description] if session.is_subagent else []
    return any(text and value in text.casefold() for text in texts)


def _is_below(file: SessionFile, root: str) -> bool:
    """True for a file of a store; a redacted copy has the name of its original, which is elsewhere."""
    return (file.path if file.is_copy else file.name).startswith(os.path.join(root, ""))


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
