"""What a search finds: texts that match, sessions with their hits, and how the answer came about."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.search.snippets import Snippet, Span
from claude_session_player.store import Filter
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from claude_session_player.store import ReadProblem, Session

PLATFORM: Final = "claude"
RELEVANCE: Final = "relevance"
NEWEST: Final = "newest"
OLDEST: Final = "oldest"
ORDERS: Final = (RELEVANCE, NEWEST, OLDEST)
HITS_SHOWN: Final = 3
"""The number of hits of a session that are shown unless all of them are wanted."""


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
    address: Any
    """Where the loader finds it."""
    loader: Callable[[Match], FoundText | None]

    def load(self) -> FoundText | None:
        """Load the text; `None` if it does not match after all."""
        return self.loader(self)


def loaded_text(match: Match) -> FoundText | None:
    """The loader of a match whose text is loaded already."""
    found: FoundText | None = match.address
    return found


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
            "session_id": display_path(self.session.id),
            "path": display_path(self.name),
            "field": self.field,
            "tool": self.tool or None,
            "file": self.path or None,
            "line": self.line,
            "uuid": self.uuid,
            "time": self.time,
            "snippet": self.snippet,
            "spans": [list(span) for span in self.spans],
            "copies": [display_path(copy.id) for copy in self.copies],
        }


Member = tuple[Match, tuple["Session", ...]]
"""A match, and the other sessions that hold the same event."""


class SessionHits:
    """A session and what was found in it and in its sub-agents, the best first. Texts are loaded when they are used."""

    def __init__(
        self,
        session: Session,
        owners: Mapping[str, Session],
        members: list[Member],
        score: float,
        order: Callable[[Member], Any],
    ) -> None:
        """`owners` are the sessions of all files, by name; `members` are sorted when they are used."""
        self.session = session
        self.score = score
        self._owners = owners
        self._unsorted = members
        self._order = order

    @cached_property
    def _members(self) -> list[Member]:
        return sorted(self._unsorted, key=self._order)

    def __iter__(self) -> Iterator[Hit]:
        for match, copies in self._members:
            if (found := match.load()) is not None:
                yield self._to_hit(match, found, copies)

    def _to_hit(self, match: Match, found: FoundText, copies: tuple[Session, ...]) -> Hit:
        return Hit(
            session=self._owners[match.name],
            query=match.query,
            field=found.field,
            line=found.line,
            uuid=found.uuid,
            time=found.time,
            tool=found.tool,
            path=found.path,
            snippet=found.snippet.text,
            spans=found.snippet.spans,
            copies=copies,
            name=found.name,
        )

    @property
    def count(self) -> int:
        """How many hits there are."""
        return len(self._unsorted)

    @property
    def matches(self) -> list[Match]:
        """What matched, without its text."""
        return [match for match, _ in self._members]

    def best(self, number: int = HITS_SHOWN) -> list[Hit]:
        """The first hits."""
        return list(islice(self, number))


class SearchReport(NamedTuple):
    """How an answer came about."""

    lane: str
    """`index`, `exact` or `regex`."""
    files: int
    """How many session files were looked at."""
    read: int = 0
    """How many of them had to be read, because the index does not know them, or knows an older version."""
    stale: int = 0
    """How many of them have changed since they were indexed, and were not read, because no update was wanted."""
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
