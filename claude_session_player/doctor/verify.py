"""Verifies session files: their content, their names and locations, and what else is on disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive import pending_removals
from claude_session_player.doctor import findings as kinds
from claude_session_player.doctor.checks import CheckJob, Inspection
from claude_session_player.doctor.findings import Finding, FindingKind
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

LARGE_SESSION: Final = 10 << 20
"""Bytes above which a session is better not resumed."""
OLD_SECONDS: Final = 24 * 60 * 60

_NANOSECONDS: Final = 1_000_000_000
SessionKey = tuple[str, str | None]
"""The directory and the id of a session."""


def check_location(found: SessionFile, inspection: Inspection, now: float) -> Iterator[Finding]:
    """What is wrong with a file apart from its content; `now` is in seconds since 1970."""
    path = found.path
    if found.kind == SessionKind.SESSION:
        yield from _check_names(found, inspection)
        if found.stamp.size > LARGE_SESSION:
            yield Finding(kinds.TOO_LARGE, path, detail=size(found.stamp.size))
        age = now - found.stamp.mtime_ns / _NANOSECONDS
        if age > OLD_SECONDS:
            yield Finding(kinds.OLD, path, detail=f"{plural(int(age // OLD_SECONDS), 'day')} ago")
    if inspection.is_empty:
        yield Finding(kinds.EMPTY, path)
    directory = os.path.join(found.home, found.parent or _session_id(found, inspection), TOOL_RESULTS_DIR)
    for name, location in inspection.outputs:
        if not os.path.isfile(os.path.join(directory, name)):
            yield Finding(kinds.MISSING_OUTPUT, path, *location, os.path.join(TOOL_RESULTS_DIR, name))


def _check_names(found: SessionFile, inspection: Inspection) -> Iterator[Finding]:
    """Check the names of a session file and its project directory; outside of a store they have no meaning."""
    if os.path.basename(os.path.dirname(found.home)) != PROJECTS_DIR:
        return
    if not is_session_id(found.id):
        yield Finding(kinds.BAD_ID, found.path, detail=truncate(found.id, 60))
    cwds = inspection.cwds
    if cwds and match_spelling(found.project or "", (cwd.name for cwd in cwds)) is None:
        yield Finding(kinds.WRONG_PROJECT, found.path, *cwds[0].location, f"its working directory is {cwds[0].name}")


def _session_id(found: SessionFile, inspection: Inspection) -> str:
    return (inspection.session_id or found.id) if found.is_agent else found.id


_INSPECT_TASK: Final[WorkerTask[CheckJob, Inspection]] = WorkerTask(
    "claude_session_player.doctor.checks", "inspect_file"
)


class KindTotal(NamedTuple):
    """How often a kind of finding occurs."""

    kind: FindingKind
    findings: int
    sessions: int
    """In how many sessions, each with its sub-agents."""
    example: Finding
    """The first of them."""


class VerifyReport(NamedTuple):
    """What was read, and the findings, file by file."""

    files: int
    bytes: int
    findings: tuple[Finding, ...]
    totals: tuple[KindTotal, ...] = ()
    """The kinds of the findings, the most severe and the most frequent first."""


def verify_files(
    store: Store, files: Sequence[SessionFile], progress: Progress | None = None, *, is_all: bool = False
) -> VerifyReport:
    """Everything that is wrong with some session files; each is read once, from beginning to end.

    With `is_all` they are all files of the store, and all interrupted removals are reported as well.
    """
    inspections = _inspect_files(files, progress)
    in_use = InUse(store.roots)
    evidence = {found.path: in_use.uses([found.path]) for found in files}
    used = {_session_key(found, inspections) for found in files if evidence[found.path]}
    now = wall_clock()
    findings: list[Finding] = []
    for found in files:
        inspection = inspections[found.path]
        findings += _content_findings(found, inspection, is_used=_session_key(found, inspections) in used)
        findings += check_location(found, inspection, now)
        if words := list(dict.fromkeys(sign.words for sign in evidence[found.path])):
            findings.append(Finding(kinds.IN_USE, found.path, detail=", ".join(words)))
    findings += _unlinked_subagents(store, files, inspections)
    findings += _interrupted_removals(store, {found.id for found in files}, is_all)
    order = {found.path: number for number, found in enumerate(files)}
    findings.sort(key=lambda finding: order.get(finding.path, len(order)))
    bytes_read = sum(inspection.bytes_read for inspection in inspections.values())
    keys = {found.path: _session_key(found, inspections) for found in files}
    return VerifyReport(len(files), bytes_read, tuple(findings), tuple(_totals(findings, keys)))


def _totals(findings: Iterable[Finding], keys: Mapping[str, SessionKey]) -> list[KindTotal]:
    by_kind: dict[FindingKind, list[Finding]] = {}
    for finding in findings:
        by_kind.setdefault(finding.kind, []).append(finding)
    totals = [
        KindTotal(kind, len(alike), len({keys.get(one.path, (one.path, None)) for one in alike}), alike[0])
        for kind, alike in by_kind.items()
    ]
    return sorted(totals, key=lambda total: (-total.kind.severity, -total.findings, total.kind.name))


def _inspect_files(files: Sequence[SessionFile], progress: Progress | None) -> dict[str, Inspection]:
    """Check the content of all files, in several processes; by path."""
    done, total = 0, sum(found.stamp.size for found in files)
    inspections: dict[str, Inspection] = {}
    for inspection in run_jobs([CheckJob(found.path, found.stamp.size) for found in files], _INSPECT_TASK):
        inspections[inspection.path] = inspection
        done += inspection.bytes_read
        if progress is not None:
            progress(done, total)
    return inspections


def _content_findings(found: SessionFile, inspection: Inspection, is_used: bool) -> Iterator[Finding]:
    """The findings in a file; while its session is in use, missing results and an incomplete last line are normal."""
    if inspection.problem is not None:
        yield Finding(kinds.UNREADABLE, found.path, detail=inspection.problem)
    for finding in inspection.findings:
        if not (is_used and finding.kind is kinds.CALL_WITHOUT_RESULT):
            yield finding
    if inspection.tail is not None and not is_used:
        yield inspection.tail


def _session_key(found: SessionFile, inspections: Mapping[str, Inspection]) -> SessionKey:
    """The session that a file belongs to: its directory and its id."""
    return found.home, found.parent or inspections[found.path].session_id if found.is_agent else found.id


def _interrupted_removals(store: Store, ids: Container[str], is_all: bool) -> Iterator[Finding]:
    """The interrupted removals in a store, which no list shows: all of them, or those of sessions with these ids."""
    for pending in pending_removals(store.roots):
        info = pending.info
        if is_all or (info is not None and info.id in ids):
            unknown = pending.reason or "the session is unknown"
            detail = unknown if info is None else f"{info.id} ({truncate(info.title or 'no title', 60)})"
            yield Finding(kinds.INTERRUPTED_REMOVAL, pending.path, detail=detail)


def _unlinked_subagents(
    store: Store, files: Sequence[SessionFile], inspections: Mapping[str, Inspection]
) -> Iterator[Finding]:
    """The sub-agents without a tool call. Only they and their sessions are searched for calls."""
    agents = {found.path: found for found in files if found.is_agent}
    parents = {_session_key(found, inspections) for found in agents.values()}
    related = {found.path: found for found in files if found.is_agent or (found.home, found.id) in parents}
    related |= {found.path: found for found in _parent_files(store, agents.values(), inspections, related)}
    for session in store.sessions_in(list(related.values())) if agents else ():
        if session.path not in agents or session.is_helper or session.file.workflow is not None:
            continue
        if not session.has_parent:
            yield Finding(kinds.UNLINKED_SUBAGENT, session.path, detail=f"its session {session.parent_id} is missing")
        elif session.call_id is None:
            detail = f"session {session.parent_id} has no call that started it"
            yield Finding(kinds.UNLINKED_SUBAGENT, session.path, detail=detail)


def _parent_files(
    store: Store, agents: Iterable[SessionFile], inspections: Mapping[str, Inspection], known: Container[str]
) -> Iterator[SessionFile]:
    """The files of sessions that are not verified themselves, but whose sub-agents are: they have the calls."""
    seen = set()
    for agent in agents:
        home, id = _session_key(agent, inspections)
        main = os.path.join(home, f"{id}{SESSION_SUFFIX}")
        if main not in seen and main not in known and os.path.isfile(main):
            seen.add(main)
            yield from store.session_of(agent).files
