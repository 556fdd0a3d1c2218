"""The running sessions of some stores, each with its status and its working sub-agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.live.peek import SessionLookup, SessionPeek
from claude_session_player.live.status import Phase, SessionStatus
from claude_session_player.store import PROJECTS, SUFFIX, WatchedDir, session_file_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RECENT_SECONDS: Final = 30 * 60
"""A session that was written to within this time counts as running."""
_WORKING: Final = (Phase.THINKING, Phase.RUNNING)


class RunningSession(NamedTuple):
    """A running session or sub-agent, and what it does."""

    peek: SessionPeek
    status: SessionStatus
    is_subagent: bool = False

    def belongs_to(self, path: str) -> bool:
        """True for the session in a file and for each of its sub-agents."""
        name = os.path.basename(path).removesuffix(SUFFIX)
        return self.peek.file.path == path or (self.is_subagent and self.peek.session_id == name)


class RunningSessions:
    """The running sessions of some stores. Given the files that may have changed, it reads what was appended."""

    def __init__(
        self, roots: Sequence[str], *, in_use: Iterable[str] = (), look_up: SessionLookup | None = None
    ) -> None:
        """Files that are `in_use` are included however old they are. For `look_up`, see `SessionPeek`."""
        self._look_up = look_up
        self.directories = tuple(WatchedDir(os.path.join(root, PROJECTS), is_deep=True) for root in roots)
        self._in_use = frozenset(in_use)
        self._sessions: dict[str, SessionPeek] = {}
        self._agents: dict[str, SessionPeek] = {}

    def update(self, files: Iterable[str], now: float) -> None:
        """Read files that may have changed; old ones that are not known yet are ignored."""
        stamps = [(_modified_at(path), path) for path in files]
        for modified_at, path in sorted(stamps, reverse=True):
            known = self._sessions.get(path) or self._agents.get(path)
            if known is None and (modified_at > now - RECENT_SECONDS or path in self._in_use):
                known = self._add(path)
            if known is not None:
                self._catch_up(known)

    def rows(self, now: float) -> list[RunningSession]:
        """Every session with its working sub-agents; sessions that are not idle come first.

        Sessions that were not written to for long and are not in use are dropped until they are written to again.
        """
        self._drop_old(now)
        agents: dict[str | None, list[SessionPeek]] = {}
        for agent in self._agents.values():
            agents.setdefault(agent.session_id, []).append(agent)
        families = [list(_family(peek, agents.get(peek.file.id, []), now)) for peek in self._sessions.values()]
        families.sort(key=lambda family: not family[0].status.is_live)
        return [row for family in families for row in family]

    def status(self, path: str, now: float) -> SessionStatus | None:
        """What the session or sub-agent in a file does; `None` if the file is unknown."""
        if (agent := self._agents.get(path)) is not None:
            return agent.status(now)
        if (session := self._sessions.get(path)) is None:
            return None
        return _status(session, [agent for agent in self._agents.values() if agent.session_id == session.file.id], now)

    def _drop_old(self, now: float) -> None:
        """Drop what is old; a session is kept as long as one of its sub-agents is."""
        since = now - RECENT_SECONDS
        self._agents = {path: agent for path, agent in self._agents.items() if self._is_kept(agent, since)}
        busy = {agent.session_id for agent in self._agents.values()}
        self._sessions = {
            path: session
            for path, session in self._sessions.items()
            if session.file.id in busy or self._is_kept(session, since)
        }

    def _is_kept(self, peek: SessionPeek, since: float) -> bool:
        return peek.file.path in self._in_use or (peek.written_at or 0.0) > since

    def _add(self, path: str) -> SessionPeek | None:
        try:
            peek = SessionPeek(session_file_at(path), self._look_up)
        except OSError:
            return None
        if not peek.file.is_agent:
            self._sessions[path] = peek
            return peek
        self._agents[path] = peek
        main = os.path.join(peek.file.home, f"{peek.file.parent}{SUFFIX}")
        if peek.file.parent and main not in self._sessions and os.path.isfile(main) and (head := self._add(main)):
            self._catch_up(head)
        return peek

    def _catch_up(self, peek: SessionPeek) -> None:
        try:
            peek.catch_up()
        except OSError:
            peek.tail.written_at = None
        if peek.written_at is None:
            self._sessions.pop(peek.file.path, None)
            self._agents.pop(peek.file.path, None)


def _family(session: SessionPeek, agents: Sequence[SessionPeek], now: float) -> Iterator[RunningSession]:
    yield RunningSession(session, _status(session, agents, now))
    for agent in agents:
        status = agent.status(now)
        if status.phase in _WORKING:
            yield RunningSession(agent, status, is_subagent=True)


def _status(session: SessionPeek, agents: Sequence[SessionPeek], now: float) -> SessionStatus:
    """What a session does; it is not idle while one of its sub-agents is written to."""
    written_at = max((agent.written_at for agent in agents if agent.written_at is not None), default=None)
    return session.status(now, written_at)


def _modified_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
