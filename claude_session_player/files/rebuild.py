"""What a session knew of a file's content at some line: rebuilt from reads, writes, edits and file history.

Only what follows from the session is claimed. What a shell command did to a file is not seen; when a later read shows
another content than the one that was known, the read is right.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import takewhile
from typing import Any, Final, NamedTuple

from claude_session_player.files.activity import AnsweredCall, FileCalls, absolute_path, file_key
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
    Hunk,
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
"""The text of a copy in the file history, by its name; `None` where there is none."""


class GapReason(Enum):
    """Why something is not known, or not what it was."""

    OUTSIDE = "changed_outside"
    UNPLACED = "edit_not_placed"
    UNANSWERED = "no_result"


class ContentNote(NamedTuple):
    """Something to know about a file: what, and the line where it showed."""

    line: int
    reason: GapReason
    tool: str


class ContentSource(NamedTuple):
    """Where a part of the content is from."""

    line: int
    tool: str


class RebuiltFile(NamedTuple):
    """What was known of a file."""

    path: str
    known: PartialText
    sources: tuple[ContentSource, ...]
    """In the order of the file, from the last one on that told everything."""
    notes: tuple[ContentNote, ...]


def rebuild_file(
    events: Iterable[Event], path: str, at: int | None = None, backup: BackupReader | None = None
) -> RebuiltFile:
    """What was known of the file at an absolute path after the line `at`; without one, at the end."""
    rebuilder = FileRebuilder(path, backup)
    fresh = drop_copies(events)
    for event in fresh if at is None else takewhile(lambda event: event.line <= at, fresh):
        rebuilder.take(event)
    return rebuilder.result()


class FileRebuilder:
    """Takes events in the order of the file, and keeps what is known of one file."""

    def __init__(self, path: str, backup: BackupReader | None = None) -> None:
        self.path = path
        self._key = file_key(path)
        self.known = NOTHING_KNOWN
        self._sources: list[ContentSource] = []
        self._notes: list[ContentNote] = []
        self._unplaced: list[ContentNote] = []
        """Of edits whose places are not known, since the file was last known anew."""
        self._backup = backup
        self._learned: str | None = None
        """When the session last learned something of the file."""
        self._answers = FileCalls()

    def take(self, event: Event) -> None:
        """Learn what one event tells of the file."""
        for answer in self._answers.take(event):
            if isinstance(answer, AnsweredCall) and self._is_meant(answer.call.path) and not answer.failed:
                self._learned = max(filter(None, (self._learned, normalize_time(answer.time))), default=None)
                _EFFECTS[answer.call.touch](self, answer)
        if isinstance(event, Attachment) and event.attachment is not None:
            self._attached(event, event.attachment)
        elif isinstance(event, FileSnapshot | FileBackup) and self._backup is not None:
            for spelled, copy in _copies(event):
                self._copied(event.line, spelled, copy)

    def result(self) -> RebuiltFile:
        """What is known now."""
        missing = (c for c in self._answers.unanswered() if self._is_meant(c.path) and c.touch is not FileTouch.READ)
        told = sorted(self._notes + self._unplaced, key=lambda note: note.line)
        notes = told + [ContentNote(call.line, GapReason.UNANSWERED, call.tool) for call in missing]
        return RebuiltFile(self.path, self.known, tuple(self._sources), tuple(notes))

    def _is_meant(self, path: str) -> bool:
        return path == self.path or file_key(path) == self._key

    # --- what is learned ------------------------------------------------------------------------

    def _learn(self, part: PartialText, line: int, tool: str) -> None:
        """The file holds these lines at this moment."""
        if part.is_empty:
            return
        if self.known.contradicts(part):
            self._notes.append(ContentNote(line, GapReason.OUTSIDE, tool))
            self._forget()
        self._know(self.known.joined(part), line, tool, anew=part.complete)

    def _know(self, known: PartialText, line: int, tool: str, anew: bool) -> None:
        if anew:
            self._forget()
        self.known = known
        if (source := ContentSource(line, tool)) not in self._sources[-1:]:
            self._sources.append(source)

    def _forget(self) -> None:
        """Nothing that was known before is needed any more."""
        self.known = NOTHING_KNOWN
        self._sources.clear()
        self._unplaced.clear()

    def _read(self, answer: AnsweredCall) -> None:
        self._learn(lines_from_read(answer.call.input, answer.result, answer.structured), answer.line, answer.call.tool)

    def _write(self, answer: AnsweredCall) -> None:
        told = decode_raw(decode_text, structured_result(answer.structured).content)
        content = parse_file_input(answer.call.input).content if told is None else told
        if isinstance(content, str):
            self._know(PartialText.whole(content), answer.line, answer.call.tool, anew=True)
        else:
            self._forget()
            self._unplaced.append(ContentNote(answer.line, GapReason.UNPLACED, answer.call.tool))

    def _edit(self, answer: AnsweredCall) -> None:
        line, tool = answer.line, answer.call.tool
        told = structured_result(answer.structured)
        original = decode_raw(decode_text, told.original_file)
        original = decode_raw(decode_text, told.original_of_many) if original is None else original
        if original is not None:
            self._learn(PartialText.whole(original), line, tool)
        hunks = _hunks(told)
        after, contradicted, unplaced = apply_edit(self.known, _replacements(answer, told), hunks)
        if contradicted:
            self._notes.append(ContentNote(line, GapReason.OUTSIDE, tool))
            self._forget()
        if unplaced:
            self._unplaced.append(ContentNote(line, GapReason.UNPLACED, tool))
        if not after.is_empty:
            self._know(after, line, tool, anew=original is not None)
        else:
            self.known = after
            self._sources.clear()
        if original is None and not hunks:
            self._learn(lines_from_edit(answer.result), line, tool)

    def _attached(self, event: Event, attached: AttachmentData) -> None:
        if attached.filename is None or not self._is_meant(self._answers.absolute(attached.filename)):
            return
        self._learned = max(filter(None, (self._learned, normalize_time(event.timestamp))), default=None)
        if attached.type == FILE_ATTACHED:
            file = decode_raw(decode_attached_file, attached.content)
            part = decode_raw(decode_file_part, file.file) if file else None
            self._learn(lines_of_part(part) if part else NOTHING_KNOWN, event.line, ATTACHMENT)
        elif attached.type == FILE_CHANGED:
            self._notes.append(ContentNote(event.line, GapReason.OUTSIDE, ATTACHMENT))
            self._forget()
            self._learn(lines_from_snippet(decode_raw(decode_text, attached.snippet) or ""), event.line, ATTACHMENT)

    def _copied(self, line: int, spelled: str, copy: Backup) -> None:
        """A copy that was made of the file; an older one than what is known tells nothing."""
        time = normalize_time(copy.time)
        if not copy.name or time is None or time <= (self._learned or "") or self._backup is None:
            return
        home = copy.folder or self._answers.home
        name = os.path.basename(spelled) if copy.folder else spelled
        if self._is_meant(absolute_path(name, home)) and (text := self._backup(copy.name)) is not None:
            self._learned = time
            self._learn(PartialText.whole(text), line, HISTORY)


_EFFECTS: Final[dict[FileTouch, Callable[[FileRebuilder, AnsweredCall], None]]] = {
    FileTouch.READ: FileRebuilder._read,
    FileTouch.WRITE: FileRebuilder._write,
    FileTouch.EDIT: FileRebuilder._edit,
}


def _copies(event: FileSnapshot | FileBackup) -> Iterator[tuple[str, Backup]]:
    """The copies that a record tells of, with the paths of the files as they are spelled there."""
    if isinstance(event, FileBackup):
        told = {event.path or "": event.backup}
    else:
        listed = decode_raw(decode_backup_list, event.snapshot)
        told = listed.tracked_file_backups if listed else {}
    for path, raw in told.items():
        if (copy := decode_raw(decode_backup, raw)) is not None:
            yield path, copy


def _hunks(told: FileResult) -> list[Hunk]:
    return decode_raw(decode_hunks, told.structured_patch) or []


def _replacements(answer: AnsweredCall, told: FileResult) -> list[Replacement]:
    """What was replaced: as the result tells it, else as the call asked for it."""
    old, new = decode_raw(decode_text, told.old_string), decode_raw(decode_text, told.new_string)
    if old is not None and new is not None:
        return [Replacement(old, new, bytes(told.replace_all) == b"true")]
    if told.edits and (listed := decode_raw(decode_replacements, told.edits)):
        return listed
    asked: Any = parse_file_input(answer.call.input).edits
    return parse_replacements(answer.call.input if asked is None else asked) or []
