"""Integrity: what is wrong with some sessions of a store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive import pending_removals
from claude_session_player.doctor import findings as kinds
from claude_session_player.doctor.checks import CheckJob, Inspection
from claude_session_player.doctor.findings import Finding
from claude_session_player.store import (
    PROJECTS_DIR,
    SESSION_SUFFIX,
    TOOL_RESULTS_DIR,
    InUse,
    SessionFile,
    SessionKind,
    is_session_id,
    match_spelling,
)
from claude_session_player.util.humanize import plural, size
from claude_session_player.util.text import truncate
from claude_session_player.util.times import wall_clock
from claude_session_player.util.workers import WorkerTask, run_jobs

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from claude_session_player.store import Progress, Store

LARGE: Final = 10 << 20
"""A session of more bytes is better not continued."""
OLD_SECONDS: Final = 24 * 60 * 60

_BILLION: Final = 1_000_000_000


def check_location(found: SessionFile, inspection: Inspection, now: float) -> Iterator[Finding]:
    """Whatever is wrong around a file that was inspected, at a moment in seconds."""
    path = found.path
    if found.kind == SessionKind.SESSION:
        yield from _place(found, inspection)
        if found.stamp.size > LARGE:
            yield Finding(kinds.TOO_LARGE, path, detail=size(found.stamp.size))
        age = now - found.stamp.mtime_ns / _BILLION
        if age > OLD_SECONDS:
            yield Finding(kinds.OLD, path, detail=f"{plural(int(age // OLD_SECONDS), 'day')} ago")
    if inspection.is_empty:
        yield Finding(kinds.EMPTY, path)
    folder = os.path.join(found.home, found.parent or _session_id(found, inspection), TOOL_RESULTS_DIR)
    for name, place in inspection.outputs:
        if not os.path.isfile(os.path.join(folder, name)):
            yield Finding(kinds.NO_OUTPUT, path, *place, os.path.join(TOOL_RESULTS_DIR, name))


def _place(found: SessionFile, inspection: Inspection) -> Iterator[Finding]:
    """What the names of a session file and of its project directory say; elsewhere they say nothing."""
    if os.path.basename(os.path.dirname(found.home)) != PROJECTS_DIR:
        return
    if not is_session_id(found.id):
        yield Finding(kinds.BAD_ID, found.path, detail=truncate(found.id, 60))
    cwds = inspection.cwds
    if cwds and match_spelling(found.project or "", (cwd.name for cwd in cwds)) is None:
        yield Finding(kinds.WRONG_PROJECT, found.path, *cwds[0].place, f"it worked in {cwds[0].name}")


def _session_id(found: SessionFile, inspection: Inspection) -> str:
    return (inspection.session_id or found.id) if found.is_agent else found.id


_INSPECT: Final[WorkerTask[CheckJob, Inspection]] = WorkerTask("claude_session_player.doctor.checks", "inspect_file")


class VerifyReport(NamedTuple):
    """What was looked at, and what was found, file by file."""

    files: int
    bytes: int
    findings: tuple[Finding, ...]


def verify_files(
    store: Store, files: Sequence[SessionFile], progress: Progress | None = None, *, is_all: bool = False
) -> VerifyReport:
    """Everything that is wrong with some files of a store, or beside it: each is read once, from end to end.

    With `is_all` they are all of the store: sessions that wait there for the end of their removal are found, too.
    """
    done, total = 0, sum(found.stamp.size for found in files)
    inspections: dict[str, Inspection] = {}
    for inspection in run_jobs([CheckJob(found.path, found.stamp.size) for found in files], _INSPECT):
        inspections[inspection.path] = inspection
        done += inspection.bytes_read
        if progress is not None:
            progress(done, total)
    look = InUse(store.roots)
    signs = {found.path: look.uses([found.path]) for found in files}
    used = {_session(found, inspections) for found in files if signs[found.path]}
    now = wall_clock()
    findings: list[Finding] = []
    for found in files:
        inspection = inspections[found.path]
        findings += _inside(found, inspection, is_used=_session(found, inspections) in used)
        findings += check_location(found, inspection, now)
        if words := list(dict.fromkeys(sign.words for sign in signs[found.path])):
            findings.append(Finding(kinds.IN_USE, found.path, detail=", ".join(words)))
    findings += _unlinked(store, files, inspections)
    findings += _interrupted(store, {found.id for found in files}, is_all)
    order = {found.path: number for number, found in enumerate(files)}
    findings.sort(key=lambda finding: order.get(finding.path, len(order)))
    return VerifyReport(len(files), done, tuple(findings))


def _inside(found: SessionFile, inspection: Inspection, is_used: bool) -> Iterator[Finding]:
    """What is wrong in a file; while its session is in use, a result or the rest of the last line may still come."""
    if inspection.trouble is not None:
        yield Finding(kinds.UNREADABLE, found.path, detail=inspection.trouble)
    for finding in inspection.findings:
        if not (is_used and finding.kind is kinds.NO_RESULT):
            yield finding
    if inspection.tail is not None and not is_used:
        yield inspection.tail


def _session(found: SessionFile, inspections: Mapping[str, Inspection]) -> tuple[str, str | None]:
    """The session that a file belongs to: its home, and its id."""
    return found.home, found.parent or inspections[found.path].session_id if found.is_agent else found.id


def _interrupted(store: Store, ids: Container[str], is_all: bool) -> Iterator[Finding]:
    """The sessions whose removal was interrupted, of which nothing can be seen: of the store, or with these ids."""
    for waiting in pending_removals(store.roots):
        note = waiting.note
        if is_all or (note is not None and note.id in ids):
            unknown = waiting.reason or "it does not say which one"
            detail = unknown if note is None else f"{note.id} ({truncate(note.title or 'no title', 60)})"
            yield Finding(kinds.INTERRUPTED, waiting.path, detail=detail)


def _unlinked(store: Store, files: Sequence[SessionFile], inspections: Mapping[str, Inspection]) -> Iterator[Finding]:
    """The sub-agents that no call leads to. Only they and their sessions are asked about their calls."""
    agents = {found.path: found for found in files if found.is_agent}
    parents = {_session(found, inspections) for found in agents.values()}
    related = {found.path: found for found in files if found.is_agent or (found.home, found.id) in parents}
    related |= {found.path: found for found in _families_beside(store, agents.values(), inspections, related)}
    for session in store.sessions_in(list(related.values())) if agents else ():
        if session.path not in agents or session.is_helper or session.file.workflow is not None:
            continue
        if not session.has_parent:
            yield Finding(kinds.UNLINKED, session.path, detail=f"its session {session.parent_id} is not there")
        elif session.call_id is None:
            yield Finding(kinds.UNLINKED, session.path, detail=f"no call of session {session.parent_id} is its own")


def _families_beside(
    store: Store, agents: Iterable[SessionFile], inspections: Mapping[str, Inspection], known: Container[str]
) -> Iterator[SessionFile]:
    """The files of sessions that are not checked themselves, while sub-agents of them are: they hold the calls."""
    asked = set()
    for agent in agents:
        home, id = _session(agent, inspections)
        main = os.path.join(home, f"{id}{SESSION_SUFFIX}")
        if main not in asked and main not in known and os.path.isfile(main):
            asked.add(main)
            yield from store.session_of(agent).files
