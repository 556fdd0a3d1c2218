"""Integrity: what is wrong with some sessions of a store."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from claude_session_player.care import findings as kinds
from claude_session_player.care.findings import Finding
from claude_session_player.care.inspection import Inspection, Job
from claude_session_player.care.leftovers import pending
from claude_session_player.care.surroundings import look_around
from claude_session_player.store.inuse import InUse
from claude_session_player.store.layout import SUFFIX, Found
from claude_session_player.store.library import Progress
from claude_session_player.store.reading import Purpose, read_all
from claude_session_player.store.store import Store
from claude_session_player.text import cut
from claude_session_player.times import wall_clock

_INSPECT: Final[Purpose[Job, Inspection]] = Purpose("claude_session_player.care.inspection", "inspect")


class Report(NamedTuple):
    """What was looked at, and what was found, file by file."""

    files: int
    bytes: int
    findings: tuple[Finding, ...]


def verify(store: Store, files: Sequence[Found], progress: Progress | None = None, *, is_all: bool = False) -> Report:
    """Everything that is wrong with some files of a store, or beside it: each is read once, from end to end.

    With `is_all` they are all of the store: sessions that wait there for the end of their removal are found, too.
    """
    done, total = 0, sum(found.stamp.size for found in files)
    inspections: dict[str, Inspection] = {}
    for inspection in read_all([Job(found.path, found.stamp.size) for found in files], _INSPECT):
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
        findings += look_around(found, inspection, now)
        if words := list(dict.fromkeys(sign.words for sign in signs[found.path])):
            findings.append(Finding(kinds.IN_USE, found.path, detail=", ".join(words)))
    findings += _unlinked(store, files, inspections)
    findings += _interrupted(store, {found.id for found in files}, is_all)
    order = {found.path: number for number, found in enumerate(files)}
    findings.sort(key=lambda finding: order.get(finding.path, len(order)))
    return Report(len(files), done, tuple(findings))


def _inside(found: Found, inspection: Inspection, is_used: bool) -> Iterator[Finding]:
    """What is wrong in a file; while its session is in use, a result or the rest of the last line may still come."""
    if inspection.trouble is not None:
        yield Finding(kinds.UNREADABLE, found.path, detail=inspection.trouble)
    for finding in inspection.findings:
        if not (is_used and finding.kind is kinds.NO_RESULT):
            yield finding
    if inspection.tail is not None and not is_used:
        yield inspection.tail


def _session(found: Found, inspections: Mapping[str, Inspection]) -> tuple[str, str | None]:
    """The session that a file belongs to: its home, and its id."""
    return found.home, found.parent or inspections[found.path].session_id if found.is_agent else found.id


def _interrupted(store: Store, ids: Container[str], is_all: bool) -> Iterator[Finding]:
    """The sessions whose removal was interrupted, of which nothing can be seen: of the store, or with these ids."""
    for waiting in pending(store.roots):
        note = waiting.note
        if is_all or (note is not None and note.id in ids):
            unknown = waiting.reason or "it does not say which one"
            detail = unknown if note is None else f"{note.id} ({cut(note.title or 'no title', 60)})"
            yield Finding(kinds.INTERRUPTED, waiting.path, detail=detail)


def _unlinked(store: Store, files: Sequence[Found], inspections: Mapping[str, Inspection]) -> Iterator[Finding]:
    """The sub-agents that no call leads to. Only they and their sessions are asked about their calls."""
    agents = {found.path: found for found in files if found.is_agent}
    parents = {_session(found, inspections) for found in agents.values()}
    related = {found.path: found for found in files if found.is_agent or (found.home, found.id) in parents}
    related |= {found.path: found for found in _families_beside(store, agents.values(), inspections, related)}
    for session in store.sessions_in(list(related.values())) if agents else ():
        if session.path not in agents or session.is_helper or session.found.workflow is not None:
            continue
        if not session.has_parent:
            yield Finding(kinds.UNLINKED, session.path, detail=f"its session {session.parent_id} is not there")
        elif session.call_id is None:
            yield Finding(kinds.UNLINKED, session.path, detail=f"no call of session {session.parent_id} is its own")


def _families_beside(
    store: Store, agents: Iterable[Found], inspections: Mapping[str, Inspection], known: Container[str]
) -> Iterator[Found]:
    """The files of sessions that are not checked themselves, while sub-agents of them are: they hold the calls."""
    asked = set()
    for agent in agents:
        home, id = _session(agent, inspections)
        main = os.path.join(home, f"{id}{SUFFIX}")
        if main not in asked and main not in known and os.path.isfile(main):
            asked.add(main)
            yield from store.of(agent).files
