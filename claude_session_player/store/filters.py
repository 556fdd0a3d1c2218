"""Which sessions are wanted, and in which order."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from claude_session_player.errors import BadFilter
from claude_session_player.store.session import Session
from claude_session_player.text import display_path
from claude_session_player.times import format_time

SORTS: Final[dict[str, tuple[Callable[[Session], Any], bool]]] = {
    "updated": (lambda session: session.updated_at, True),
    "created": (lambda session: session.created_at or "", True),
    "duration": (lambda session: session.duration_seconds, True),
    "events": (lambda session: session.speech.events, True),
    "size": (lambda session: session.found.stamp.size, True),
    "tokens": (lambda session: sum(session.speech.usage), True),
    "subagents": (lambda session: session.subagent_count, True),
    "title": (lambda session: (session.title or "").casefold(), False),
    "project": (lambda session: (session.project or "").casefold(), False),
}
"""What sessions can be sorted by, and whether the largest comes first."""
_ASKS: Final = ("project", "cwd", "since", "before", "model", "branch", "title")


class Filter(NamedTuple):
    """What is wanted of a store's sessions. Words are looked for anywhere, in small and capital letters alike.

    A session is between `since` and `before` when any part of it is.
    """

    project: str | None = None
    cwd: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    model: str | None = None
    branch: str | None = None
    title: str | None = None
    include_subagents: bool = False
    sort: str = "updated"
    reverse: bool = False
    limit: int | None = None
    offset: int = 0
    include_orphans: bool = False
    """Sub-agents whose session has no file."""

    @property
    def asked(self) -> list[tuple[str, str | datetime]]:
        """What is asked of a session itself, by name; the order and the number of sessions do not count."""
        asked = [(name, getattr(self, name)) for name in _ASKS]
        return [(name, value) for name, value in asked if value is not None]

    @property
    def is_narrow(self) -> bool:
        """True where anything is asked of a session itself."""
        return bool(self.asked)

    def apply(self, sessions: Iterable[Session]) -> list[Session]:
        """The wanted sessions in the wanted order. Raises `BadFilter`."""
        if self.sort not in SORTS:
            raise BadFilter(f"{self.sort!r} is nothing to sort by: use {', '.join(SORTS)}")
        if self.offset < 0 or (self.limit is not None and self.limit < 0):
            raise BadFilter("limit and offset count sessions, and cannot be negative")
        key, largest_first = SORTS[self.sort]
        rules = list(self._rules())
        wanted = [session for session in sessions if all(rule(session) for rule in rules)]
        wanted.sort(key=lambda session: (session.id, session.path))
        wanted.sort(key=key, reverse=largest_first != self.reverse)
        end = None if self.limit is None else self.offset + self.limit
        return wanted[self.offset : end]

    def _rules(self) -> Iterator[Callable[[Session], bool]]:
        """What a session has to be; only what is asked for is looked at."""
        if not self.include_subagents:
            orphans = self.include_orphans
            yield lambda session: not session.is_subagent or (orphans and session.is_orphan)
        if (project := self.project) is not None:
            yield lambda session: _in(project, session.project, session.found.project)
        if (cwd := self.cwd) is not None:
            yield lambda session: _in(cwd, *session.facts.cwds)
        if (model := self.model) is not None:
            yield lambda session: _in(model, *session.speech.models)
        if (branch := self.branch) is not None:
            yield lambda session: _in(branch, *session.facts.branches)
        if (title := self.title) is not None:
            yield lambda session: _in(title, session.title)
        if self.since is not None:
            since = format_time(self.since)
            yield lambda session: session.updated_at >= since
        if self.before is not None:
            before = format_time(self.before)
            yield lambda session: (session.created_at or session.updated_at) < before


def _in(word: str, *texts: str | None) -> bool:
    wanted = word.casefold()
    return any(text and wanted in display_path(text).casefold() for text in texts)
