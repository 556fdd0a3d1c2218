"""The content of a file at some line of a session, rebuilt from reads, writes, edits and the file history.

Only lines that follow from the session count as known. Changes by shell commands are not seen; where a later read
contradicts the known content, the read is right.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import takewhile
from typing import Any, Final, NamedTuple

from claude_session_player.files.activity import CompletedCall, FileCalls, absolute_path, file_key
from claude_session_player.files.edits import apply_edit
from claude_session_player.files.snapshots import (
    NOTHING_KNOWN,
    PartialText,
    decode_raw,
    lines_from_edit,
    lines_from_read,
    lines_from_snippet,
    lines_of_part,
    structured_result,
)
from claude_session_player.format.events import (
    FILE_ATTACHED,
    FILE_CHANGED,
    Attachment,
    AttachmentData,
    Event,
    FileBackup,
    FileSnapshot,
)
from claude_session_player.format.results import (
    Backup,
    FileResult,
    Replacement,
    decode_attached_file,
    decode_backup,
    decode_backup_list,
    decode_file_part,
    decode_hunks,
    decode_replacements,
    decode_text,
    parse_file_input,
    parse_replacements,
)
from claude_session_player.linking.copies import drop_copies
from claude_session_player.tools import FileTouch
from claude_session_player.util.times import normalize_time

HISTORY: Final = "file-history"
ATTACHMENT: Final = "attachment"

BackupReader = Callable[[str], str | None]
"""From the name of a backup in the file history to its text; `None` if it does not exist."""


class GapReason(Enum):
    """Why content is unknown, or differs from what was known."""

    OUTSIDE = "changed_outside"
    UNPLACED = "edit_not_placed"
    UNANSWERED = "no_result"


class ContentNote(NamedTuple):
    """A reason for doubt about the content, with the line that shows it."""

    line: int
    reason: GapReason
    tool: str


class ContentSource(NamedTuple):
    """The line and the tool that a part of the content comes from."""

    line: int
    tool: str


class RebuiltFile(NamedTuple):
    """The known content of a file."""

    path: str
    known: PartialText
    sources: tuple[ContentSource, ...]
    """In file order, starting with the last source of the whole content."""
    notes: tuple[ContentNote, ...]


def rebuild_file(
    events: Iterable[Event], path: str, at: int | None = None, backup: BackupReader | None = None
) -> RebuiltFile:
    """Rebuild the file at an absolute path as of line `at` of the session, or as of its end."""
    rebuilder = FileRebuilder(path, backup)
    originals = drop_copies(events)
    for event in originals if at is None else takewhile(lambda event: event.line <= at, originals):
        rebuilder.take(event)
    return rebuilder.result()


class FileRebuilder:
    """Tracks the known content of one file, event by event in file order."""

    def __init__(self, path: str, backup: BackupReader | None = None) -> None:
        self.path = path
        self._key = file_key(path)
        self.known = NOTHING_KNOWN
        self._sources: list[ContentSource] = []
        self._notes: list[ContentNote] = []
        self._unplaced: list[ContentNote] = []
        """Notes on edits at unknown places, since the whole content was last known."""
        self._backup = backup
        self._updated: str | None = None
        """The time of the newest information about the file."""
        self._calls = FileCalls()

    def take(self, event: Event) -> None:
        """Update the known content by one event."""
        for call in self._calls.take(event):
            if isinstance(call, CompletedCall) and self._is_same_file(call.call.path) and not call.failed:
                self._note_time(call.time)
                _UPDATES[call.call.touch](self, call)
        if isinstance(event, Attachment) and event.attachment is not None:
            self._apply_attachment(event, event.attachment)
        elif isinstance(event, FileSnapshot | FileBackup) and self._backup is not None:
            for path, backup in _backups(event):
                self._apply_backup(event.line, path, backup)

    def result(self) -> RebuiltFile:
        """The content that is known now."""
        changes = (call for call in self._calls.without_result() if call.touch is not FileTouch.READ)
        notes = sorted(self._notes + self._unplaced, key=lambda note: note.line)
        notes += [
            ContentNote(call.line, GapReason.UNANSWERED, call.tool) for call in changes if self._is_same_file(call.path)
        ]
        return RebuiltFile(self.path, self.known, tuple(self._sources), tuple(notes))

    def _is_same_file(self, path: str) -> bool:
        return path == self.path or file_key(path) == self._key

    def _note_time(self, time: str | None) -> None:
        self._updated = max(filter(None, (self._updated, normalize_time(time))), default=None)

    def _observe(self, part: PartialText, line: int, tool: str) -> None:
        """Add lines that the file has at this moment."""
        if part.is_empty:
            return
        if self.known.contradicts(part):
            self._notes.append(ContentNote(line, GapReason.OUTSIDE, tool))
            self._forget()
        self._set_known(self.known.merge(part), line, tool, is_whole=part.complete)

    def _set_known(self, known: PartialText, line: int, tool: str, is_whole: bool) -> None:
        if is_whole:  # earlier sources and notes no longer matter
            self._forget()
        self.known = known
        if (source := ContentSource(line, tool)) not in self._sources[-1:]:
            self._sources.append(source)

    def _forget(self) -> None:
        """Drop what was known before."""
        self.known = NOTHING_KNOWN
        self._sources.clear()
        self._unplaced.clear()

    def _apply_read(self, call: CompletedCall) -> None:
        self._observe(lines_from_read(call.call.input, call.result, call.structured), call.line, call.call.tool)

    def _apply_write(self, call: CompletedCall) -> None:
        written = decode_raw(decode_text, structured_result(call.structured).content)
        content = parse_file_input(call.call.input).content if written is None else written
        if isinstance(content, str):
            self._set_known(PartialText.whole(content), call.line, call.call.tool, is_whole=True)
        else:
            self._forget()
            self._unplaced.append(ContentNote(call.line, GapReason.UNPLACED, call.call.tool))

    def _apply_edit(self, call: CompletedCall) -> None:
        line, tool = call.line, call.call.tool
        details = structured_result(call.structured)
        original = decode_raw(decode_text, details.original_file)
        original = decode_raw(decode_text, details.original_of_many) if original is None else original
        if original is not None:
            self._observe(PartialText.whole(original), line, tool)
        hunks = decode_raw(decode_hunks, details.structured_patch) or []
        after, contradicted, unplaced = apply_edit(self.known, _replacements(call, details), hunks)
        if contradicted:
            self._notes.append(ContentNote(line, GapReason.OUTSIDE, tool))
            self._forget()
        if unplaced:
            self._unplaced.append(ContentNote(line, GapReason.UNPLACED, tool))
        if not after.is_empty:
            self._set_known(after, line, tool, is_whole=original is not None)
        else:
            self.known = after
            self._sources.clear()
        if original is None and not hunks:
            self._observe(lines_from_edit(call.result), line, tool)

    def _apply_attachment(self, event: Event, attached: AttachmentData) -> None:
        if attached.filename is None or not self._is_same_file(self._calls.absolute(attached.filename)):
            return
        self._note_time(event.timestamp)
        if attached.type == FILE_ATTACHED:
            file = decode_raw(decode_attached_file, attached.content)
            part = decode_raw(decode_file_part, file.file) if file else None
            self._observe(lines_of_part(part) if part else NOTHING_KNOWN, event.line, ATTACHMENT)
        elif attached.type == FILE_CHANGED:
            self._notes.append(ContentNote(event.line, GapReason.OUTSIDE, ATTACHMENT))
            self._forget()
            self._observe(lines_from_snippet(decode_raw(decode_text, attached.snippet) or ""), event.line, ATTACHMENT)

    def _apply_backup(self, line: int, path: str, backup: Backup) -> None:
        """Add the content of a backup, unless it is older than what is known."""
        time = normalize_time(backup.time)
        if not backup.name or time is None or time <= (self._updated or "") or self._backup is None:
            return
        home = backup.folder or self._calls.home
        name = os.path.basename(path) if backup.folder else path
        if self._is_same_file(absolute_path(name, home)) and (text := self._backup(backup.name)) is not None:
            self._updated = time
            self._observe(PartialText.whole(text), line, HISTORY)


_UPDATES: Final[dict[FileTouch, Callable[[FileRebuilder, CompletedCall], None]]] = {
    FileTouch.READ: FileRebuilder._apply_read,
    FileTouch.WRITE: FileRebuilder._apply_write,
    FileTouch.EDIT: FileRebuilder._apply_edit,
}


def _backups(event: FileSnapshot | FileBackup) -> Iterator[tuple[str, Backup]]:
    """The backups of a record, with the paths of their files as the record spells them."""
    if isinstance(event, FileBackup):
        records = {event.path or "": event.backup}
    else:
        snapshot = decode_raw(decode_backup_list, event.snapshot)
        records = snapshot.tracked_file_backups if snapshot else {}
    for path, raw in records.items():
        if (backup := decode_raw(decode_backup, raw)) is not None:
            yield path, backup


def _replacements(call: CompletedCall, details: FileResult) -> list[Replacement]:
    """The replacements of an edit: from its structured result, or else from the input of the call."""
    old, new = decode_raw(decode_text, details.old_string), decode_raw(decode_text, details.new_string)
    if old is not None and new is not None:
        return [Replacement(old, new, bytes(details.replace_all) == b"true")]
    if details.edits and (edits := decode_raw(decode_replacements, details.edits)):
        return edits
    given: Any = parse_file_input(call.call.input).edits
    return parse_replacements(call.call.input if given is None else given) or []
