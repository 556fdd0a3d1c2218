"""Conversations for tests: told from built sessions, with sub-agents that are built, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from claude_session_player.export.transcript import Style, blocks, document
from claude_session_player.linking.agent_records import task_of
from claude_session_player.parser import read_events
from claude_session_player.transcript.builder import Telling
from claude_session_player.transcript.filters import Choice
from claude_session_player.transcript.subagents import Actor, Cast
from claude_session_player.transcript.walk import Told, Walk
from tests.builder import SessionBuilder


def walk(session: SessionBuilder, *actors: Actor, is_agent: bool = False) -> tuple[Walk, list[Told]]:
    """A walk through a built session, and all that was told on it."""
    walk = Walk(Telling(Cast(actors), is_agent=is_agent))
    return walk, list(walk.told(read_events(session.lines)))


def markdown(session: SessionBuilder, *actors: Actor, choice: Choice | None = None, style: Style | None = None) -> str:
    """A built session as markdown."""
    told: Iterable[Told] = walk(session, *actors)[1]
    return "".join(document(blocks((choice or Choice()).of(told), style or Style())))


def actor(id: str, session: SessionBuilder, *, task: str | None = None, **more: str | None) -> Actor:
    """A sub-agent that says what a built session says."""
    return Actor(id, lambda: read_events(session.lines), task=task_of(task), **more)  # type: ignore[arg-type]


def agent(task: str, *answers: str) -> SessionBuilder:
    """A sub-agent's session: its task, and what it answers."""
    from tests.builder import text

    session = SessionBuilder(sidechain=True).prompt(task)
    for answer in answers:
        session.response(text(answer))
    return session


def said(told: Iterable[Told]) -> Iterator[str]:
    """Who said something, and what."""
    for one in told:
        yield f"{'> ' * one.depth}{one.entry.kind.value}: {one.entry.text}"
