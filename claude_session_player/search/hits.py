"""What a search finds: texts that match, grouped by session, the best first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.search.snippets import Snippet, Span
from claude_session_player.search.texts import FILE, PROMPT, RESPONSE, RESULT, SUMMARY, THINKING, TITLE, TOOL
from claude_session_player.store import Filter
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from claude_session_player.store import ReadProblem, Session

PLATFORM: Final = "claude"
RELEVANCE: Final = "relevance"
NEWEST: Final = "newest"
OLDEST: Final = "oldest"
ORDERS: Final = (RELEVANCE, NEWEST, OLDEST)
HITS_SHOWN: Final = 3
"""The number of hits of a session that are shown unless all of them are wanted."""
_WEIGHTS: Final = {TITLE: 12, PROMPT: 8, SUMMARY: 5, RESPONSE: 4, TOOL: 2.5, THINKING: 2, RESULT: 1, FILE: 0.4}
"""What a hit in each field says about its session."""
_RECENCY_DAYS: Final = 30
_DAY: Final = 86_400


class SearchOptions(NamedTuple):
    """How to search."""

    filter: Filter = Filter()
    order: str = RELEVANCE
    has_case: bool = False
    """Whether capitals of a query count."""
    updates: bool = True
    """Whether the index is brought up to date first."""
    uses_index: bool = True
    all_matches: bool = False


DEFAULT_OPTIONS: Final = SearchOptions()


class FoundText(NamedTuple):
    """A text that matches, as either lane found it; see `EventText`."""

    name: str
    """The name of the session file; see `SessionFile.name`."""
    line: int
    field: str
    time: str | None = None
    """As the file has it."""
    uuid: str | None = None
    tool: str = ""
    path: str = ""
    """The file that a tool call concerns."""
    copy_key: int = 0
    """What copies of the text share; 0 if it has none."""
    snippet: Snippet = Snippet("")


class Match(NamedTuple):
    """A text that matches, before anything of it is loaded."""

    name: str
    line: int
    field: str
    seconds: int
    """Its time, or that of the text before it."""
    copy_key: int
    query: str
    load: Callable[[], FoundText | None]
    """Loads the text; `None` if it does not match after all."""


class Hit(NamedTuple):
    """A place in a session that matches."""

    session: Session
    """The session or sub-agent whose file holds the line."""
    query: str
    field: str
    line: int
    uuid: str | None
    time: str | None
    tool: str
    path: str
    snippet: str
    spans: tuple[Span, ...]
    """Where the words of the query are in the snippet."""
    copies: tuple[Session, ...] = ()
    """Other sessions that hold the same event."""
    name: str = ""
    """The name of the file that holds it: that of the session, or a file about a workflow run."""

    @property
    def source(self) -> str:
        """Who said it: the tool of a call or a result, else the field."""
        return self.tool or self.field

    @property
    def record(self) -> dict[str, Any]:
        """The hit as scripts see it; docs/schema.json describes it."""
        return {
            "query": self.query,
            "platform": PLATFORM,
            "session_id": self.session.id,
            "path": display_path(self.name),
            "field": self.field,
            "tool": self.tool or None,
            "file": self.path or None,
            "line": self.line,
            "uuid": self.uuid,
            "time": self.time,
            "snippet": self.snippet,
            "spans": [list(span) for span in self.spans],
            "copies": [copy.id for copy in self.copies],
        }


class SessionHits:
    """A session and what was found in it and in its sub-agents, the best first. Texts are loaded when they are used."""

    def __init__(self, session: Session, matches: Sequence[tuple[Match, Session, tuple[Session, ...]]]) -> None:
        self.session = session
        self.score = 0.0
        self._matches = matches

    def __iter__(self) -> Iterator[Hit]:
        for match, session, copies in self._matches:
            found = match.load()
            if found is not None:
                snippet, spans = found.snippet
                yield Hit(
                    session,
                    match.query,
                    found.field,
                    found.line,
                    found.uuid,
                    found.time,
                    found.tool,
                    found.path,
                    snippet,
                    spans,
                    copies,
                    found.name,
                )

    @property
    def count(self) -> int:
        """How many hits there are."""
        return len(self._matches)

    @property
    def matches(self) -> list[Match]:
        """What matched, without its text."""
        return [match for match, _, _ in self._matches]

    @property
    def newest(self) -> int:
        """The time of the newest hit, in seconds."""
        return max(match.seconds for match, _, _ in self._matches)

    @property
    def oldest(self) -> int:
        """The time of the oldest hit, in seconds."""
        return min(match.seconds for match, _, _ in self._matches)

    def best(self, number: int = HITS_SHOWN) -> list[Hit]:
        """The first hits."""
        hits = iter(self)
        return [hit for hit, _ in zip(hits, range(number), strict=False)]


class SearchReport(NamedTuple):
    """How an answer came about."""

    lane: str
    """`index`, `exact` or `regex`."""
    files: int
    """How many session files were looked at."""
    read: int = 0
    """How many of them had to be read, because the index does not know them, or knows an older version."""
    reason: str = ""
    """Why the index could not be used, or not be updated."""
    problems: tuple[ReadProblem, ...] = ()
    """What could not be read."""
    binary: int = 0
    """Texts that were left out because they are pictures, or other data in base64."""
    bytes_read: int = 0
    """How many bytes of session files an exact scan looked at."""
    is_limited: bool = False
    """True if there are more hits than were looked at; then the best of them are there."""


class Hits:
    """The sessions that match, the best first."""

    def __init__(
        self, groups: Sequence[SessionHits], report: SearchReport, suggest: Callable[[], tuple[str, ...]] = tuple
    ) -> None:
        self._groups = groups
        self._suggest = suggest
        self.report = report

    def __iter__(self) -> Iterator[SessionHits]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, number: int) -> SessionHits:
        return self._groups[number]

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Sentences about what would have matched, if nothing does."""
        return () if self._groups else self._suggest()

    @property
    def total(self) -> int:
        """The number of hits in all sessions; see `SearchReport.is_limited`."""
        return sum(group.count for group in self._groups)


def group_matches(
    matches: Sequence[Match], sessions: dict[str, Session], queries: Sequence[str], order: str = RELEVANCE
) -> list[SessionHits]:
    """Matches grouped by session; only sessions with matches for every query are there.

    Of copies in several files, that of the session that was active last counts; it names the others.
    """
    chosen = _without_copies([match for match in matches if match.name in sessions], sessions)
    groups: dict[str, list[tuple[Match, Session, tuple[Session, ...]]]] = {}
    heads: dict[str, Session] = {}
    for match, copies in chosen:
        session = sessions[match.name]
        head = session.head
        heads[head.file.name] = head
        groups.setdefault(head.file.name, []).append((match, session, copies))
    wanted = set(queries)
    found = []
    for name, members in groups.items():
        if len(wanted) > 1 and {match.query for match, _, _ in members} != wanted:
            continue
        members.sort(key=_match_order(order))
        group = SessionHits(heads[name], members)
        group.score = _score(group)
        found.append(group)
    found.sort(key=_group_order(order))
    return found


def select_names(sessions: Collection[Session], filter: Filter) -> set[str] | None:
    """The names of the files of the sessions that a filter selects, and of their sub-agents; `None` for all of them."""
    if not filter.is_narrow:
        return None
    wanted = filter._replace(limit=None, offset=0, include_subagents=False, include_orphans=True)
    heads = {session.file.name for session in wanted.apply(sessions)}
    return {session.file.name for session in sessions if session.head.file.name in heads}


def select_page(groups: Sequence[SessionHits], filter: Filter) -> Sequence[SessionHits]:
    """As many sessions as a filter wants, after those that it skips."""
    end = None if filter.limit is None else filter.offset + filter.limit
    return groups[filter.offset : end]


def _without_copies(matches: Sequence[Match], sessions: dict[str, Session]) -> list[tuple[Match, tuple[Session, ...]]]:
    """Matches without copies, each with the other sessions that hold the same event."""
    unique: dict[object, list[Match]] = {}
    for match in matches:
        key = (match.copy_key, match.query) if match.copy_key else (match.name, match.line, match.field, match.query)
        unique.setdefault(key, []).append(match)
    chosen: list[tuple[Match, tuple[Session, ...]]] = []
    for same in unique.values():
        if len(same) == 1:
            chosen.append((same[0], ()))
            continue
        best = max(same, key=lambda match: (sessions[match.name].head.updated_at, match.name, -match.line))
        own = sessions[best.name].head.file.name
        others = {sessions[match.name].head.file.name: sessions[match.name].head for match in same}
        chosen.append((best, tuple(other for name, other in others.items() if name != own)))
    return chosen


def _match_order(order: str) -> Callable[[tuple[Match, Session, tuple[Session, ...]]], Any]:
    if order == RELEVANCE:
        return lambda member: (-_WEIGHTS[member[0].field], -member[0].seconds, member[0].name, member[0].line)
    sign = -1 if order == NEWEST else 1
    return lambda member: (sign * member[0].seconds, member[0].name, sign * member[0].line)


def _group_order(order: str) -> Callable[[SessionHits], Any]:
    if order == RELEVANCE:
        return lambda group: (-group.score, -group.newest, group.session.file.name)
    if order == NEWEST:
        return lambda group: (-group.newest, group.session.file.name)
    return lambda group: (group.oldest, group.session.file.name)


def _score(group: SessionHits) -> float:
    """How well a session fits: hits in titles and prompts count most, further ones less and less, new ones a little."""
    counts: dict[str, int] = {}
    for match in group.matches:
        counts[match.field] = counts.get(match.field, 0) + 1
    fit = sum(_WEIGHTS[field] * (1 + math.log2(count)) for field, count in counts.items())
    return fit + math.log2(1 + group.newest / _DAY / _RECENCY_DAYS)
