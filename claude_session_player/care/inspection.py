"""One session file, looked at from its first byte to its last: what is wrong in it, and what it needs beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO, Final, NamedTuple

from claude_session_player.care import findings as kinds
from claude_session_player.care.findings import Finding
from claude_session_player.care.lines import Checked, look_at_all, look_closely
from claude_session_player.care.threads import Place, Threads
from claude_session_player.content import result_text
from claude_session_player.events import ToolResult, User
from claude_session_player.line_reader import read_batches
from claude_session_player.parser import decode_lines
from claude_session_player.regular_file import only_regular
from claude_session_player.store.outputs import persisted_name

_BUFFER: Final = 1 << 18
_PERSISTED: Final = b"<persisted-output>"


class Job(NamedTuple):
    """A file to inspect."""

    path: str
    size: int


class Needed(NamedTuple):
    """Something outside of the file that a record of it names."""

    name: str
    place: Place


class Inspection(NamedTuple):
    """What a look at a file found."""

    path: str
    findings: tuple[Finding, ...] = ()
    tail: Finding | None = None
    """A last line that is cut short, and may still be written."""
    session_id: str | None = None
    """The session that the first record names."""
    cwds: tuple[Needed, ...] = ()
    """The working directories, each where it first occurs."""
    outputs: tuple[Needed, ...] = ()
    """The outputs of tools that were too large for the file."""
    trouble: str | None = None
    """Why the file could not be read to its end."""
    bytes_read: int = 0
    records: int = 0

    @property
    def is_empty(self) -> bool:
        """True where there is nothing but blank lines."""
        return not (self.records or self.findings or self.tail or self.trouble)


def inspect(job: Job) -> Inspection:
    """Look at a file. Nothing is raised: where it cannot be read, `trouble` says why."""
    inspector = _Inspector(job.path)
    trouble = None
    try:
        with open(job.path, "rb", buffering=_BUFFER, opener=only_regular) as file:
            inspector.read(file)
    except OSError as error:
        trouble = error.strerror or str(error)
    return inspector.report(trouble)


class _Inspector:
    def __init__(self, path: str) -> None:
        self._path = path
        self._findings: list[Finding] = []
        self._tail: Finding | None = None
        self._threads = Threads()
        self._session_id: str | None = None
        self._cwds: dict[str, Place] = {}
        self._outputs: list[Needed] = []
        self._records = 0
        self._line = self._offset = 0
        """The number of the last line, and where the next one begins."""

    def read(self, file: BinaryIO) -> None:
        """All lines, some at a time, so that memory does not depend on their number."""
        for lines in read_batches(file):
            if (records := look_at_all(lines)) is None:
                for line in lines:
                    self._take_closely(line)
            else:
                for record, line in zip(records, lines, strict=True):
                    self._line += 1
                    self._take(record)
                    self._take_outputs((record,), line)
                    self._offset += len(line)

    def _take(self, record: Checked) -> None:
        self._records += 1
        self._threads.add(record, self._line, self._offset)
        if (cwd := record.cwd) is not None and cwd not in self._cwds:
            self._cwds[cwd] = Place(self._line, self._offset)
        if self._session_id is None:
            self._session_id = record.session_id

    def _take_outputs(self, records: Sequence[Checked], line: bytes) -> None:
        """The outputs that a line refers to, with all of its records: it may have many."""
        if any(record.type == "user" for record in records) and _PERSISTED in line:
            self._outputs += (Needed(name, Place(self._line, self._offset)) for name in _persisted(line))

    def _take_closely(self, line: bytes) -> None:
        self._line += 1
        seen = look_closely(line)
        for record in seen.records:
            self._take(record)
        self._take_outputs(seen.records, line)
        for kind, at, detail in seen.flaws:
            finding = Finding(kind, self._path, self._line, self._offset + at, detail)
            if kind is kinds.CUT and not line.endswith(b"\n"):
                self._tail = finding
            else:
                self._findings.append(finding)
        self._offset += len(line)

    def report(self, trouble: str | None) -> Inspection:
        """All that was found, in the order of the file."""
        loose = self._threads.loose_ends()
        found = self._findings + [Finding(kind, self._path, *place, detail) for kind, place, detail in loose]
        return Inspection(
            self._path,
            tuple(sorted(found, key=lambda finding: finding.offset or 0)),
            self._tail,
            self._session_id,
            tuple(Needed(cwd, place) for cwd, place in self._cwds.items()),
            tuple(self._outputs),
            trouble,
            self._offset,
            self._records,
        )


def _persisted(line: bytes) -> list[str]:
    """The names of the outputs that the results on a line refer to."""
    events = (event for event in decode_lines((line,), 0, 0) if isinstance(event, User))
    contents = (event.message.content for event in events if event.message is not None)
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    results = (result_text(block, None)[0] for block in blocks if isinstance(block, ToolResult))
    return [name for text in results if (name := persisted_name(text)) is not None]
