"""Integrity: what is wrong with some sessions of a store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from claude_session_player.care import findings as kinds
from claude_session_player.care.findings import Finding
from claude_session_player.care.inspection import Inspection, Job
from claude_session_player.care.locks import Evidence, Look
from claude_session_player.care.surroundings import look_around
from claude_session_player.store.layout import Found
from claude_session_player.store.library import Progress
from claude_session_player.store.reading import Purpose, read_all
from claude_session_player.store.store import Store

_INSPECT: Final[Purpose[Job, Inspection]] = Purpose("claude_session_player.care.inspection", "inspect")


class Report(NamedTuple):
    """What was looked at, and what was found, file by file."""

    files: int
    bytes: int
    findings: tuple[Finding, ...]


def verify(store: Store, files: Sequence[Found], progress: Progress | None = None) -> Report:
    """Everything that is wrong with some files of a store, or beside it: each is read once, from end to end."""
    done, total = 0, sum(found.stamp.size for found in files)
    inspections: dict[str, Inspection] = {}
    for inspection in read_all([Job(found.path, found.stamp.size) for found in files], _INSPECT):
        inspections[inspection.path] = inspection
        done += inspection.bytes_read
        if progress is not None:
            progress(done, total)
    look, now = Look(found.path for found in files), time.time()
    findings = [
        finding for found in files for finding in _of_file(found, inspections[found.path], look.at([found.path]), now)
    ]
    findings += _unlinked(store, files, inspections)
    order = {found.path: number for number, found in enumerate(files)}
    findings.sort(key=lambda finding: order[finding.path])
    return Report(len(files), done, tuple(findings))


def _of_file(found: Found, inspection: Inspection, signs: Sequence[Evidence], now: float) -> Iterator[Finding]:
    """What is wrong with a file; the signs tell that it is in use."""
    if inspection.trouble is not None:
        yield Finding(kinds.UNREADABLE, found.path, detail=inspection.trouble)
    for finding in inspection.findings:
        if not (signs and finding.kind is kinds.NO_RESULT):  # it may still come
            yield finding
    if inspection.tail is not None and not signs:  # the rest of the line may still be written
        yield inspection.tail
    yield from look_around(found, inspection, now)
    if signs:
        yield Finding(kinds.IN_USE, found.path, detail=", ".join(dict.fromkeys(sign.words for sign in signs)))


def _unlinked(store: Store, files: Sequence[Found], inspections: dict[str, Inspection]) -> Iterator[Finding]:
    """The sub-agents that no call leads to. Only they and their sessions are asked about their calls."""
    agents = [found for found in files if found.is_agent]
    parents = {(found.home, found.parent or inspections[found.path].session_id) for found in agents}
    related = [found for found in files if found.is_agent or (found.home, found.id) in parents]
    for session in store.sessions_in(related) if agents else ():
        if not session.is_subagent or session.is_helper or session.found.workflow is not None:
            continue
        if not session.has_parent:
            yield Finding(kinds.UNLINKED, session.path, detail=f"its session {session.parent_id} is not there")
        elif session.call_id is None:
            yield Finding(kinds.UNLINKED, session.path, detail=f"no call of session {session.parent_id} is its own")
