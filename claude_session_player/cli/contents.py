"""The content of a file as a session knew it, in words and as JSON data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from claude_session_player.humanize import many
from claude_session_player.insight.partial import Partial, Stretch
from claude_session_player.insight.rebuilt import Note, Reason, Rebuilt
from claude_session_player.insight.touched import TouchedFile
from claude_session_player.names import PROGRAM
from claude_session_player.text import ELLIPSIS, printable
from claude_session_player.text import display_path as spelled

_MOST: Final = 5
_REASONS: Final = {
    Reason.OUTSIDE: "it was changed outside of the session's tools before line {line}",
    Reason.UNPLACED: "what the {tool} of line {line} changed cannot be told",
    Reason.UNANSWERED: "the {tool} of line {line} has no result: whether it was done is not known",
}


def agents_of(file: TouchedFile, known: Partial) -> list[str]:
    """The sub-agents that changed a file, or, where the session knows nothing of it, that touched it."""
    return [agent for agent, touches in file.by.items() if agent is not None and (touches.changes or not known.lines)]


def shown(known: Partial) -> str:
    """The text as it is known; a line in place of each stretch that is not."""
    if known.complete:
        return known.text
    marks = {stretch.first: f"{ELLIPSIS} {_unknown(stretch)} {ELLIPSIS}" for stretch in known.unknown()}
    runs = {start: "\n".join(run) for start, run in known.runs()}
    pieces = marks | runs
    text = "\n".join(pieces[at] for at in sorted(pieces))
    return text if known.total in known.lines else f"{text}\n"


def remarks(told: Rebuilt, agents: list[str]) -> Iterator[str]:
    """What has to be said beside the content, a line each."""
    known = told.known
    if known.lines and not known.complete:
        of_all = f" of {known.total}" if known.total is not None else ""
        lines = "line is" if len(known.lines) == 1 else "lines are"
        gaps = [_unknown(stretch) for stretch in known.unknown()]
        more = [f"{ELLIPSIS} and {many(len(gaps) - _MOST, 'more gap')}"] if len(gaps) > _MOST else []
        yield f"{len(known.lines)}{of_all} {lines} known; {'; '.join(gaps[:_MOST] + more)}"
    for note in told.notes:
        yield _said(note)
    for agent in agents:
        id = printable(spelled(agent))
        did = "changed it, too" if known.lines else "touched it"
        yield f"sub-agent {id} {did}: see '{PROGRAM} files {id} {printable(told.path)}'"


def _said(note: Note) -> str:
    return _REASONS[note.reason].format(line=note.line, tool=printable(note.tool))


def _unknown(stretch: Stretch) -> str:
    first, last = stretch
    if last is None:
        return f"what comes behind line {first - 1} is not known" if first > 1 else "nothing else is known"
    return f"line {first} is not known" if first == last else f"lines {first}–{last} are not known"


def content_record(told: Rebuilt, at: int | None, agents: list[str]) -> dict[str, Any]:
    """The content as JSON data."""
    known = told.known
    return {
        "path": told.path,
        "at": at,
        "complete": known.complete,
        "lines": known.total,
        "lines_known": len(known.lines),
        "unknown": [list(stretch) for stretch in known.unknown()],
        "content": known.text if known.complete else None,
        "parts": [] if known.complete else [{"line": at, "text": "\n".join(run)} for at, run in known.runs()],
        "sources": [source._asdict() for source in told.sources],
        "notes": [{"line": note.line, "reason": note.reason.value, "tool": note.tool} for note in told.notes],
        "agents": agents,
    }
