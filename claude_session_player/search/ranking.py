"""Ranking: which sessions come first, and which hits of a session.

The order depends on nothing but the hits themselves, so that it is the same whichever lane, or part of an index, found
them: hits in titles and prompts count most, further hits less and less, and recent ones a little.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.search.fields import WEIGHTS
from claude_session_player.search.hits import NEWEST, OLDEST, RELEVANCE, Match, Member, SessionHits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from claude_session_player.store import Filter, Session

_RECENCY_WEIGHT: Final = 2
_RECENCY_DAYS: Final = 30
"""A session that is this much older than the newest gets half of that weight."""
_DAY: Final = 86_400
_FUTURE: Final = 1 << 40


def group_matches(
    matches: Iterable[Match], owners: Mapping[str, Session], queries: Sequence[str], order: str = RELEVANCE
) -> list[SessionHits]:
    """Matches grouped by session, in order; only sessions with matches for every query are there.

    `owners` are the sessions of all files, by the names of the files. Of copies in several files, that of the session
    that was active last counts; it names the others.
    """
    known = [match for match in matches if match.name in owners]
    if len(set(queries)) > 1:
        known = _of_all_queries(known, owners, set(queries))
    groups: dict[str, _Group] = {}
    group_of: dict[str, _Group] = {}
    for member in _without_copies(known, owners):
        match = member[0]
        group = group_of.get(match.name)
        if group is None:
            head = owners[match.name].head
            group = group_of[match.name] = groups.setdefault(head.file.name, _Group(head))
        group.add(member)
    newest = max((group.newest for group in groups.values()), default=0)
    for group in groups.values():
        group.rate(newest)
    ordered = sorted(groups.values(), key=_GROUP_ORDERS[order])
    return [SessionHits(group.head, owners, group.members, group.score, _MEMBER_ORDERS[order]) for group in ordered]


def _of_all_queries(matches: Sequence[Match], owners: Mapping[str, Session], queries: set[str]) -> list[Match]:
    """The matches of the sessions that match every query; copies in other sessions count for those as well."""
    heads = {name: owners[name].head.file.name for name in {match.name for match in matches}}
    found: dict[str, set[str]] = {}
    for match in matches:
        found.setdefault(heads[match.name], set()).add(match.query)
    return [match for match in matches if found[heads[match.name]] == queries]


class _Group:
    """The matches of a session, and what its place depends on."""

    __slots__ = ("counts", "head", "members", "newest", "oldest", "score")

    def __init__(self, head: Session) -> None:
        self.head = head
        self.members: list[Member] = []
        self.counts: dict[str, int] = {}
        self.newest = 0
        self.oldest = _FUTURE
        self.score = 0.0

    def add(self, member: Member) -> None:
        match = member[0]
        self.members.append(member)
        self.counts[match.field] = self.counts.get(match.field, 0) + 1
        if match.seconds > self.newest:
            self.newest = match.seconds
        if match.seconds < self.oldest:
            self.oldest = match.seconds

    def rate(self, newest: int) -> None:
        """Set the score; `newest` is the time of the newest of all hits."""
        fit = sum(WEIGHTS[field] * (1 + math.log2(count)) for field, count in self.counts.items())
        self.score = fit + _RECENCY_WEIGHT / (1 + (newest - self.newest) / _DAY / _RECENCY_DAYS)


_GROUP_ORDERS: Final[dict[str, Callable[[_Group], Any]]] = {
    RELEVANCE: lambda group: (-group.score, -group.newest, group.head.file.name),
    NEWEST: lambda group: (-group.newest, group.head.file.name),
    OLDEST: lambda group: (group.oldest, group.head.file.name),
}


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


def _without_copies(matches: Sequence[Match], owners: Mapping[str, Session]) -> list[Member]:
    """Matches without copies, each with the other sessions that hold the same event."""
    is_several = len({match.query for match in matches}) > 1
    unique: dict[object, Match] = {}
    key: object
    repeated: dict[object, list[Match]] = {}
    for match in matches:
        key = match.copy_key or (match.name, match.line, match.field)
        if is_several:
            key = key, match.query
        if (first := unique.setdefault(key, match)) is not match:
            repeated.setdefault(key, [first]).append(match)
    if not repeated:
        return [(match, ()) for match in unique.values()]
    return [_newest_of(repeated[key], owners) if key in repeated else (match, ()) for key, match in unique.items()]


def _newest_of(copies: Sequence[Match], owners: Mapping[str, Session]) -> Member:
    heads = {match.name: owners[match.name].head for match in copies}
    best = max(
        copies,
        key=lambda match: (heads[match.name].updated_at, not owners[match.name].is_subagent, match.name, -match.line),
    )
    own = heads[best.name].file.name
    others = {head.file.name: head for head in heads.values() if head.file.name != own}
    return best, tuple(others.values())


def _relevance(member: Member) -> Any:
    match = member[0]
    return -WEIGHTS[match.field], -match.seconds, match.name, match.line


def _newest(member: Member) -> Any:
    match = member[0]
    return -match.seconds, match.name, -match.line


def _oldest(member: Member) -> Any:
    match = member[0]
    return match.seconds, match.name, match.line


_MEMBER_ORDERS: Final[dict[str, Callable[[Member], Any]]] = {
    RELEVANCE: _relevance,
    NEWEST: _newest,
    OLDEST: _oldest,
}
