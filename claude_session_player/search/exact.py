"""The exact lane: looks for a text or a regular expression in the sessions of a store, without any index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.search.hits import DEFAULT_OPTIONS, Hits, Match, SearchOptions, SearchReport, loaded_text
from claude_session_player.search.patterns import compile_pattern
from claude_session_player.search.ranking import group_matches, select_names, select_page
from claude_session_player.search.scan import scan_files
from claude_session_player.util.times import to_epoch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claude_session_player.search.hits import FoundText
    from claude_session_player.search.scan import ScanReport
    from claude_session_player.store import Progress, Session, SessionFile, Store

EXACT = "exact"
REGEX = "regex"


def scan_store(
    store: Store,
    pattern: str,
    *,
    is_regex: bool = False,
    options: SearchOptions = DEFAULT_OPTIONS,
    progress: Progress | None = None,
) -> Hits:
    """The sessions in which a text, or a regular expression, is found exactly. Raises `BadQuery`."""
    compiled = compile_pattern(pattern, is_regex=is_regex)
    files = store.files()
    names = select_names(store.sessions_in(files), options.filter) if options.filter.is_narrow else None
    searched = files if names is None else [file for file in files if file.name in names]
    agents = {file.id for file in files if file.is_agent}
    reports = [
        scan_files(part, compiled, progress=progress, agents_with_files=agents) for part in _readable(store, searched)
    ]
    found = [text for report in reports for text in report.found]
    sessions = _sessions_with(store, files, {text.name for text in found})
    groups = group_matches([_to_match(text, pattern) for text in found], sessions, [pattern], options.order)
    return Hits(select_page(groups, options.filter), _to_report(store, reports, REGEX if is_regex else EXACT))


def _readable(store: Store, files: Sequence[SessionFile]) -> Iterable[Sequence[SessionFile]]:
    """The files in parts that can be read at the same time: those of an archive have to be unpacked first."""
    if not store.is_packed:
        return [files]
    return ([store.unpacked(file)] for file in files)


def _sessions_with(store: Store, files: Sequence[SessionFile], names: set[str]) -> dict[str, Session]:
    """The sessions of some files. Their relatives are looked at, too, but no other files: there may be no index."""
    homes = {(file.home, file.parent or file.id) for file in files if file.name in names}
    beside = {home for home, _ in homes}
    flat = {file.home for file in files if file.name in names and file.is_agent and file.parent is None}
    wanted = [
        file
        for file in files
        if (file.home, file.parent or file.id) in homes
        or (file.home in beside and file.is_agent and file.parent is None)
        or file.home in flat  # only the lines of such a sub-agent name its session
    ]
    return {session.file.name: session for session in store.sessions_in(wanted)}


def _to_match(text: FoundText, query: str) -> Match:
    seconds = int(to_epoch(text.time) or 0)
    return Match(text.name, text.line, text.field, seconds, text.copy_key, query, text, loaded_text)


def _to_report(store: Store, reports: Sequence[ScanReport], lane: str) -> SearchReport:
    files = sum(report.files for report in reports)
    problems = dict.fromkeys((*store.problems, *(problem for report in reports for problem in report.problems)))
    binary = sum(report.binary for report in reports)
    size = sum(report.bytes_read for report in reports)
    return SearchReport(lane, files, files, problems=tuple(problems), binary=binary, bytes_read=size)
