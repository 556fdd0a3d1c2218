"""A session that can be played: what it is called, where its bytes come from, and which sub-agents it called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from claude_session_player.parser import is_subagent_file, only_sidechains, read_events
from claude_session_player.play.tape import FileTape, MemoryTape, Tape
from claude_session_player.store.layout import Found
from claude_session_player.store.outputs import resolver
from claude_session_player.store.session import Session
from claude_session_player.store.store import Store

_LARGE: Final = 64 << 20
"""A larger file is not read for its title: somebody would have to wait for that when they leave."""

Agents = dict[str, list["Recording"]]
"""Sub-agents, by the call that they come from."""


def _no_agents() -> Agents:
    return {}


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Recording:
    """What is played. Nothing of it is opened before it is asked for."""

    title: str
    place: str
    """Where it was: the project, or the file."""
    tape: Callable[[], Tape]
    """Raises `CannotRead`."""
    is_subagent: bool = False
    path: str | None = None
    """The file that holds it, where there is one that can be watched."""
    agents: Callable[[], Agents] = _no_agents
    """The sub-agents as they are known now; this may take a moment."""
    resolve: Callable[[str], str] = str
    """Gives a result with the whole output that it refers to."""
    describe: Callable[[], tuple[str, str] | None] = _nothing
    """A better title and place, where finding them takes a moment."""


def of_lines(lines: Iterable[bytes], name: str) -> Recording:
    """Lines that come from anywhere. They are read to their end."""
    kept = list(lines)
    return Recording(name, "", partial(MemoryTape, kept), only_sidechains(read_events(kept)))


def of_found(found: Found, open_store: Callable[[], Store]) -> Recording:
    """A file of which the place is known. Its title is not: to find it, all of it would have to be read."""
    return Recording(
        found.id,
        found.name,
        partial(FileTape, found.path),
        found.is_agent or is_subagent_file(found.path),
        found.path,
        partial(_agents, found, open_store),
        resolver([found]),
        partial(_described, found, open_store),
    )


def of_session(session: Session, open_store: Callable[[], Store]) -> Recording:
    """A session, or a sub-agent, of which a store knows."""
    is_inline = session.is_inline
    return Recording(
        session.title or session.id,
        session.project or session.found.name,
        partial(_inline_tape, session) if is_inline else partial(FileTape, session.path),
        session.is_subagent or is_subagent_file(session.path),
        None if is_inline else session.path,
        _no_agents if is_inline else partial(_agents, session.found, open_store),
        resolver([session.found]),
    )


def _inline_tape(session: Session) -> Tape:
    return MemoryTape(session.lines())


def _described(found: Found, open_store: Callable[[], Store]) -> tuple[str, str] | None:
    if found.stamp.size > _LARGE:
        return None
    session = open_store().of(found)
    return session.title or session.id, session.project or found.name


def _agents(found: Found, open_store: Callable[[], Store]) -> Agents:
    """The sub-agents of a session, and all below them, by their calls. The store is opened for this, in any thread."""
    session = open_store().of(found)
    agents: Agents = {}
    below = [*session.subagents, *session.parts[1:]]
    for agent in {agent.id: agent for agent in below}.values():
        if agent.call_id:
            agents.setdefault(agent.call_id, []).append(of_session(agent, open_store))
    return agents
