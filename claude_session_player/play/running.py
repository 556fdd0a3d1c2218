"""The sessions that run now, with the sub-agents that are at work for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from claude_session_player.play.activity import Phase, Status
from claude_session_player.play.glimpse import Glimpse, LookUp
from claude_session_player.store.layout import SUFFIX, found_at
from claude_session_player.store.locate import PROJECTS
from claude_session_player.store.watch import Folder

RECENT_SECONDS: Final = 30 * 60
"""What was written to in this time is taken as running."""
_WORKING: Final = (Phase.THINKING, Phase.RUNNING)


class Row(NamedTuple):
    """A session, or a sub-agent below it, and what it does."""

    glimpse: Glimpse
    status: Status
    is_subagent: bool = False

    def belongs_to(self, path: str) -> bool:
        """True for the session in a file, and for each of its sub-agents."""
        name = os.path.basename(path).removesuffix(SUFFIX)
        return self.glimpse.found.path == path or (self.is_subagent and self.glimpse.session_id == name)


class Board:
    """What runs in some stores. It is told which files have changed, and reads what was appended to them."""

    def __init__(self, roots: Sequence[str], *, in_use: Iterable[str] = (), look_up: LookUp | None = None) -> None:
        """Files that are `in_use` are shown however old they are. What their ends do not tell is looked up."""
        self._look_up = look_up
        self.folders = tuple(Folder(os.path.join(root, PROJECTS), is_deep=True) for root in roots)
        self._in_use = frozenset(in_use)
        self._sessions: dict[str, Glimpse] = {}
        self._agents: dict[str, Glimpse] = {}

    def notice(self, files: Iterable[str], now: float) -> None:
        """Look at files that may have changed; what is old and was not shown so far stays away."""
        stamps = [(_written(path), path) for path in files]
        for written, path in sorted(stamps, reverse=True):
            known = self._sessions.get(path) or self._agents.get(path)
            if known is None and (written > now - RECENT_SECONDS or path in self._in_use):
                known = self._add(path)
            if known is not None:
                self._catch_up(known)

    def rows(self, now: float) -> list[Row]:
        """Every session, those first that are not idle, each with the sub-agents that are at work for it.

        What nobody has written to for long, or uses, is not among them any more until somebody does.
        """
        self._forget(now)
        agents: dict[str | None, list[Glimpse]] = {}
        for agent in self._agents.values():
            agents.setdefault(agent.session_id, []).append(agent)
        families = [
            list(_family(glimpse, agents.get(glimpse.found.id, []), now)) for glimpse in self._sessions.values()
        ]
        families.sort(key=lambda family: family[0].status.phase is Phase.IDLE)
        return [row for family in families for row in family]

    def _forget(self, now: float) -> None:
        """Let go of what is old; a session stays for as long as one of its sub-agents does."""
        since = now - RECENT_SECONDS
        self._agents = {path: agent for path, agent in self._agents.items() if self._is_kept(agent, since)}
        busy = {agent.session_id for agent in self._agents.values()}
        self._sessions = {
            path: session
            for path, session in self._sessions.items()
            if session.found.id in busy or self._is_kept(session, since)
        }

    def _is_kept(self, glimpse: Glimpse, since: float) -> bool:
        return glimpse.found.path in self._in_use or (glimpse.written or 0.0) > since

    def _add(self, path: str) -> Glimpse | None:
        try:
            glimpse = Glimpse(found_at(path), self._look_up)
        except OSError:
            return None
        if not glimpse.found.is_agent:
            self._sessions[path] = glimpse
            return glimpse
        self._agents[path] = glimpse
        main = os.path.join(glimpse.found.home, f"{glimpse.found.parent}{SUFFIX}")
        if glimpse.found.parent and main not in self._sessions and os.path.isfile(main) and (head := self._add(main)):
            self._catch_up(head)
        return glimpse

    def _catch_up(self, glimpse: Glimpse) -> None:
        try:
            glimpse.catch_up()
        except OSError:
            glimpse.tail.written = None
        if glimpse.written is None:
            self._sessions.pop(glimpse.found.path, None)
            self._agents.pop(glimpse.found.path, None)


def _family(session: Glimpse, agents: Sequence[Glimpse], now: float) -> Iterator[Row]:
    written = max((agent.written for agent in agents if agent.written is not None), default=None)
    yield Row(session, session.status(now, written))
    for agent in agents:
        status = agent.status(now)
        if status.phase in _WORKING:
            yield Row(agent, status, is_subagent=True)


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
