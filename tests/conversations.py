"""Conversations for tests: transcripts of built sessions with built sub-agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from claude_session_player.export.transcript import TranscriptStyle, entry_blocks, join_blocks
from claude_session_player.linking.agent_records import task_digest
from claude_session_player.parser import read_events
from claude_session_player.transcript.builder import TranscriptBuilder
from claude_session_player.transcript.filters import EntryFilter
from claude_session_player.transcript.subagents import Subagent, SubagentFinder
from claude_session_player.transcript.walk import PlacedEntry, TranscriptWalk
from tests.builder import SessionBuilder


def walk(
    session: SessionBuilder, *actors: Subagent, is_agent: bool = False
) -> tuple[TranscriptWalk, list[PlacedEntry]]:
    """A walk through a built session, and all of its entries."""
    walk = TranscriptWalk(TranscriptBuilder(SubagentFinder(actors), is_agent=is_agent))
    return walk, list(walk.entries(read_events(session.lines)))


def markdown(
    session: SessionBuilder, *actors: Subagent, choice: EntryFilter | None = None, style: TranscriptStyle | None = None
) -> str:
    """A built session as markdown."""
    told: Iterable[PlacedEntry] = walk(session, *actors)[1]
    return "".join(join_blocks(entry_blocks((choice or EntryFilter()).apply(told), style or TranscriptStyle())))


def subagent(id: str, session: SessionBuilder, *, task: str | None = None, **more: str | None) -> Subagent:
    """A sub-agent with the events of a built session."""
    return Subagent(id, lambda: read_events(session.lines), task=task_digest(task), **more)  # type: ignore[arg-type]


def agent(task: str, *answers: str) -> SessionBuilder:
    """A sub-agent's session: its task, and its responses."""
    from tests.builder import text

    session = SessionBuilder(sidechain=True).prompt(task)
    for answer in answers:
        session.response(text(answer))
    return session


def entry_lines(told: Iterable[PlacedEntry]) -> Iterator[str]:
    """The kind and text of each entry, indented by depth."""
    for one in told:
        yield f"{'> ' * one.depth}{one.entry.kind.value}: {one.entry.text}"
