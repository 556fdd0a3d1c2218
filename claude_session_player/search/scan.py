"""Exact searches: look for a text or a regular expression in the session files themselves, without an index.

Nothing is missed: a line is decoded if its bytes may hold a match in any spelling of JSON, and every text of it is
looked at. Large stores are searched by several processes.
"""

from __future__ import annotations

import io
import os
from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.errors import CannotRead, SessionError
from claude_session_player.search.patterns import (
    TIME_LIMIT,
    MatchingTime,
    PatternMatcher,
    ScanPattern,
    TimeLimitReached,
    compile_pattern,
)
from claude_session_player.search.raw_lines import LineBuffer, LineNumbers
from claude_session_player.store import (
    TOOL_RESULTS_DIR,
    FileStamp,
    ReadProblem,
    SessionFile,
    SessionKind,
    StoreWalk,
    workflow_files,
)
from claude_session_player.util.fsutil import regular_opener, small_opener
from claude_session_player.util.workers import MOST_PORTIONS, SharedTask, helper_count, share_portions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from claude_session_player.search.hits import FoundText, Hits, Match, SearchOptions, SearchReport
    from claude_session_player.search.matches import FileMatches
    from claude_session_player.search.patterns import TextMatch
    from claude_session_player.store import Progress, Session, Store

_HELPER_BYTES: Final = 24 << 20
"""The number of bytes to look at for which another process is worth starting."""
_HELPER_BYTES_DECODED: Final = 4 << 20
"""The same if every line has to be decoded."""
_PORTION_BYTES: Final = 2 << 20
_FILE_BYTES: Final = 32 << 10
"""Opening a file takes as long as looking at this many bytes."""
_SNIFFED: Final = 4096
_WORKFLOW_TOOL: Final = "Workflow"
_EXACT: Final = "exact"
_REGEX: Final = "regex"
_NO_LIMIT: Final = nullcontext()
_line: Final = attrgetter("line")


class ScanReport(NamedTuple):
    """What an exact search found, and how."""

    found: list[FoundText]
    """In the order of the files, and of their lines. A text that matches is found once, however often it matches."""
    files: int
    """How many session files were looked at."""
    bytes_read: int
    problems: tuple[ReadProblem, ...] = ()
    """Files that could not be read, lines that are too long, and files on which a regular expression took too long."""
    binary: int = 0
    """How many lines and files were left out because only their data in base64, or other binary data, has the text."""


class FileScan(NamedTuple):
    """The same for one session file and the files beside it."""

    found: list[FoundText]
    problems: list[ReadProblem]
    bytes_read: int
    binary: int


def scan_files(
    files: Sequence[SessionFile],
    pattern: ScanPattern,
    *,
    progress: Progress | None = None,
    agents_with_files: Collection[str] | None = None,
    seconds: float = TIME_LIMIT,
) -> ScanReport:
    """Every text that matches in some session files, in large tool results and in the workflow runs beside them.

    `agents_with_files` are the sub-agents that have a file of their own, by default those among `files`: what progress
    records report of others is searched, too. A regular expression may take some `seconds` for each file; there is no
    limit on systems without interval timers.
    """
    agents = {file.id for file in files if file.is_agent} if agents_with_files is None else agents_with_files
    portions = _portions(files)
    total = sum(file.stamp.size for file in files)
    setup = (tuple(pattern), list(agents), seconds)
    task = SharedTask(__name__, start_scanning.__name__, setup)
    is_limited_here = not pattern.is_regex or MatchingTime.is_possible()
    needs_decoding = PatternMatcher(pattern).filter is None
    wanted = total // (_HELPER_BYTES_DECODED if needs_decoding else _HELPER_BYTES)
    results = share_portions(
        [[_to_row(files[index]) for index in portion] for portion in portions],
        task,
        helper_count(wanted, least=0 if is_limited_here else 1),
        works_here=is_limited_here,
        on_portion=_reporter(progress, files, portions, total) if progress is not None else None,
    )
    if progress is not None:
        progress(total, total)
    scans: dict[int, Any] = {}
    for portion, rows in zip(portions, results, strict=True):
        scans.update(zip(portion, rows, strict=True))
    return _to_report([scans[index] for index in range(len(files))])


def _portions(files: Sequence[SessionFile]) -> list[list[int]]:
    """The indexes of files in portions of similar size; the largest files come first."""
    sizes = [file.stamp.size + _FILE_BYTES for file in files]
    largest = max(_PORTION_BYTES, 2 * sum(sizes) // MOST_PORTIONS)
    portions: list[list[int]] = []
    room = 0
    for index in sorted(range(len(files)), key=sizes.__getitem__, reverse=True):
        if sizes[index] > room:
            portions.append([])
            room = largest
        portions[-1].append(index)
        room -= sizes[index]
    return portions


def _reporter(
    progress: Progress, files: Sequence[SessionFile], portions: Sequence[Sequence[int]], total: int
) -> Callable[[int], None]:
    """Reports progress whenever a portion is taken: those before it are done, or nearly so."""
    before = [0]
    for portion in portions:
        before.append(before[-1] + sum(files[index].stamp.size for index in portion))
    return lambda number: progress(before[number], total)


def _to_report(scans: Iterable[Any]) -> ScanReport:
    found: list[Any] = []
    problems: list[Any] = []
    size = binary = count = 0
    for rows, noted, bytes_read, left_out in scans:
        found += rows
        problems += noted
        size += bytes_read
        binary += left_out
        count += 1
    if found:
        from claude_session_player.search.hits import FoundText
        from claude_session_player.search.snippets import Snippet

        found = [FoundText._make((*row[:-1], Snippet._make(row[-1]))) for row in found]
    return ScanReport(found, count, size, tuple(ReadProblem(*row) for row in problems), binary)


# --- in each process ----------------------------------------------------------------------------


def start_scanning(setup: tuple[tuple[str, bool], list[str], float]) -> Callable[[list[Any]], list[Any]]:
    """The function that scans a portion of files. It takes and returns plain values, for `SharedTask`."""
    pattern, agents, seconds = setup
    scanner = FileScanner(ScanPattern(*pattern), frozenset(agents), seconds)
    return lambda rows: [_to_plain(scanner.scan(_from_row(row))) for row in rows]


def _to_row(file: SessionFile) -> tuple[Any, ...]:
    """A session file as plain values, without what is not needed here."""
    return tuple(file._replace(kind=str(file.kind), stamp=tuple(file.stamp), meta=None))  # type: ignore[arg-type]


def _from_row(row: tuple[Any, ...]) -> SessionFile:
    file = SessionFile._make(row)
    return file._replace(stamp=FileStamp._make(file.stamp))


def _to_plain(scan: FileScan) -> tuple[Any, ...]:
    found = [(*text[:-1], tuple(text.snippet)) for text in scan.found]
    return found, [tuple(problem) for problem in scan.problems], scan.bytes_read, scan.binary


class FileScanner:
    """Scans one file after the other for a pattern."""

    def __init__(self, pattern: ScanPattern, agents: Collection[str] = (), seconds: float = TIME_LIMIT) -> None:
        self._matcher = PatternMatcher(pattern)
        self._agents = agents
        self._seconds = seconds
        self._is_limited = pattern.is_regex and MatchingTime.is_possible()
        self._buffer = LineBuffer()
        self._problems: list[ReadProblem] = []
        self._bytes = self._binary = 0

    def scan(self, file: SessionFile) -> FileScan:
        """What matches in a session file, and in the files beside it."""
        self._problems, self._bytes, self._binary = [], 0, 0
        limit = MatchingTime(self._seconds) if self._is_limited else _NO_LIMIT
        found: list[FoundText] = []
        try:
            with io.FileIO(file.path, opener=regular_opener) as source:
                self._scan_lines(file, source, limit, found)
            if file.kind == SessionKind.SESSION:
                self._scan_outputs(file, found, limit)
                self._scan_workflows(file, found, limit)
        except OSError as error:
            self._problems.append(ReadProblem(file.name, error.strerror or str(error)))
        except CannotRead as error:
            self._problems.append(ReadProblem(file.name, str(error).removeprefix(f"{file.path}: ")))
        except TimeLimitReached:
            reason = f"the regular expression took more than {self._seconds:g} s: the rest was not searched"
            self._problems.append(ReadProblem(file.name, reason))
        return FileScan(sorted(found, key=_line), self._problems, self._bytes, self._binary)

    def _scan_lines(
        self, file: SessionFile, source: io.FileIO, limit: AbstractContextManager[None], found: list[FoundText]
    ) -> None:
        """Add what matches in the lines of a file."""
        filter = self._matcher.filter
        start, is_end = (0, False) if filter is None else self._buffer.skip(source, filter)
        self._bytes += start
        if is_end:
            return
        matches: FileMatches | None = None
        numbers = LineNumbers(source)
        try:
            for portion in self._buffer.portions(source, start):
                self._bytes += portion.size
                if portion.is_too_long:
                    self._note_long_line(file, numbers.number_at(portion.offset), portion.size)
                elif spans := self._buffer.candidates(filter, portion.size):
                    matches = matches or self._matches(file, source, limit)
                    matches.add_lines(portion, spans)
            if matches is not None:
                matches.add_queued_prompts()
                matches.find_calls()
        finally:
            if matches is not None:
                found += matches.found
                self._binary += matches.binary
                for number, size in matches.too_long:
                    self._note_long_line(file, number, size)

    def _matches(self, file: SessionFile, source: io.FileIO, limit: AbstractContextManager[None]) -> FileMatches:
        from claude_session_player.search.matches import FileMatches  # with decoders, which take a while to import

        return FileMatches(file, source, self._buffer, self._matcher, self._agents, limit)

    def _note_long_line(self, file: SessionFile, number: int, size: int) -> None:
        from claude_session_player.util.humanize import size as to_size

        reason = f"line {number} was not searched: {to_size(size)} is too much for one line"
        self._problems.append(ReadProblem(file.name, reason))

    # --- files beside a session ---------------------------------------------------------------------

    def _read(self, file: SessionFile, path: str) -> bytes:
        """The content of a file beside a session; nothing if it cannot be read."""
        try:
            with open(path, "rb", opener=small_opener) as source:
                data = source.read()
        except OSError as error:
            self._problems.append(ReadProblem(file.name_of(path), error.strerror or str(error)))
            return b""
        self._bytes += len(data)
        return data

    def _scan_workflows(self, file: SessionFile, found: list[FoundText], limit: AbstractContextManager[None]) -> None:
        """Add what matches in files about workflow runs, as if it were in the first line of the session."""
        for run in workflow_files(file):
            data = self._read(file, run.path)
            if self._matcher.filter is not None and not self._matcher.filter.admits_json(data):
                continue
            from claude_session_player.format.strings import raw_strings

            parts = raw_strings(data)
            with limit:
                match = self._matcher.find_first(parts)
            if match is not None:
                from claude_session_player.util.times import file_time

                time = file_time(run.stamp.mtime_ns)
                found.append(_found_beside(file, run.path, match)._replace(line=1, time=time, tool=_WORKFLOW_TOOL))

    def _scan_outputs(self, file: SessionFile, found: list[FoundText], limit: AbstractContextManager[None]) -> None:
        """Add what matches in tool results with files of their own, unless the lines that refer to them match."""
        folder = os.path.join(file.own_dir, TOOL_RESULTS_DIR)
        try:
            with os.scandir(folder) as entries:
                paths = sorted(entry.path for entry in entries if entry.is_file(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._problems.append(ReadProblem(file.name_of(folder), error.strerror or str(error)))
            return
        known = {(text.name, text.line) for text in found}
        for path in paths if not os.path.islink(folder) else ():
            data = self._read(file, path)
            with limit:
                match = self._match_in_output(data)
            if match is not None:
                text = self._found_output(file, path, match)
                if not text.line or (text.name, text.line) not in known:
                    found.append(text)

    def _match_in_output(self, data: bytes) -> TextMatch | None:
        filter = self._matcher.filter
        if filter is not None and not filter.admits_text(data):
            return None
        match = self._matcher.find(data.decode("utf-8", "replace"))
        if match is not None and b"\0" in data[:_SNIFFED]:
            self._binary += 1
            return None
        return match

    def _found_output(self, file: SessionFile, path: str, match: TextMatch) -> FoundText:
        """A match in a tool result, at the line of the session, or of one of its sub-agents, that refers to it."""
        text = _found_beside(file, path, match)
        agents = [one for one in StoreWalk().relatives(file) if one.is_agent and one.parent in (None, file.id)]
        for owner in (file, *agents):
            owner = owner._replace(label=file.name_of(owner.path))
            try:
                with io.FileIO(owner.path, opener=regular_opener) as source:
                    matches = self._matches(owner, source, _NO_LIMIT)
                    matches.add_first_mention(os.path.basename(path))
                    matches.find_calls()
            except OSError:  # its own scan reports that
                continue
            if matches.found:
                return matches.found[0]._replace(snippet=text.snippet)
        return text


def _found_beside(file: SessionFile, path: str, match: TextMatch) -> FoundText:
    """A match in a file beside a session, which is not in any of its lines."""
    from claude_session_player.search.fields import RESULT
    from claude_session_player.search.hits import FoundText
    from claude_session_player.search.snippets import make_snippet

    return FoundText(file.name, 0, RESULT, path=file.name_of(path), snippet=make_snippet(*match))


# --- a whole store ----------------------------------------------------------------------------------


def scan_store(
    store: Store,
    pattern: str,
    *,
    is_regex: bool = False,
    options: SearchOptions | None = None,
    progress: Progress | None = None,
) -> Hits:
    """The sessions in which a text, or a regular expression, is found exactly. Raises `BadQuery`."""
    from claude_session_player.search.hits import DEFAULT_OPTIONS, Hits
    from claude_session_player.search.ranking import group_matches, select_names, select_page

    options = options or DEFAULT_OPTIONS
    compiled = compile_pattern(pattern, is_regex=is_regex)
    files = store.files()
    names = select_names(store.sessions_in(files), options.filter) if options.filter.is_narrow else None
    searched = files if names is None else [file for file in files if file.name in names]
    agents = {file.id for file in files if file.is_agent}
    parts = _readable_parts(store, searched)
    reports = [scan_files(part, compiled, progress=progress, agents_with_files=agents) for part in parts]
    found = [text for report in reports for text in report.found]
    sessions = _sessions_with(store, files, {text.name for text in found})
    groups = group_matches([_to_match(text, pattern) for text in found], sessions, [pattern], options.order)
    return Hits(select_page(groups, options.filter), _to_search_report(store, reports, _REGEX if is_regex else _EXACT))


def _readable_parts(store: Store, files: Sequence[SessionFile]) -> Iterable[Sequence[SessionFile]]:
    """The files in parts that can be read at the same time: those of an archive have to be unpacked first."""
    if not store.is_packed:
        return [files]
    return filter(None, ([file] if (file := _unpacked(store, packed)) else [] for packed in files))


def _unpacked(store: Store, file: SessionFile) -> SessionFile | None:
    """A file that can be read; `None`, and a problem of the store, if its archive is damaged."""
    try:
        return store.unpacked(file)
    except SessionError as error:
        store.note(ReadProblem(file.name, str(error)))
        return None


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
    from claude_session_player.search.hits import Match, loaded_text
    from claude_session_player.util.times import to_epoch

    seconds = int(to_epoch(text.time) or 0)
    return Match(text.name, text.line, text.field, seconds, text.copy_key, query, text, loaded_text)


def _to_search_report(store: Store, reports: Sequence[ScanReport], lane: str) -> SearchReport:
    from claude_session_player.search.hits import SearchReport

    files = sum(report.files for report in reports)
    problems = dict.fromkeys((*store.problems, *(problem for report in reports for problem in report.problems)))
    binary = sum(report.binary for report in reports)
    size = sum(report.bytes_read for report in reports)
    return SearchReport(lane, files, files, problems=tuple(problems), binary=binary, bytes_read=size)
