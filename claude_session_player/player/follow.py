"""Follows session files as they grow: one file with its frame index, or a session with its sub-agents as text.

Existing sub-agents are not read before something is appended to them. Only some are followed at a time: the one that
was quiet for longest is closed, and continued where it was when something is appended to it.
"""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.errors import CannotRead
from claude_session_player.live import SessionPeek
from claude_session_player.models import View
from claude_session_player.parser import is_subagent_file
from claude_session_player.player.frame_index import READ_SIZE, FrameIndex
from claude_session_player.player.recording import FileSource
from claude_session_player.player.stream import AppendedText, TextPiece
from claude_session_player.store import AGENT_PREFIX, SESSION_SUFFIX, SessionFile, StoreWalk, session_file_at

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from claude_session_player.line_audit import LineAudit

_SAMPLE_SIZE: Final = 64
"""Bytes at the end of what was read that are compared: they change if the file is written again."""


class FileChange(Enum):
    """What has happened to a file since the last check."""

    NOTHING = "nothing"
    GREW = "it grew"
    SHORTENED = "it was truncated and is read from the beginning"
    REPLACED = "it was replaced by another file, which is read from the beginning"
    DELETED = "it was deleted"

    @property
    def needs_new_index(self) -> bool:
        """True if the previous frames are no longer valid."""
        return self in (FileChange.SHORTENED, FileChange.REPLACED)


class FollowedFile:
    """A session file and its frame index, which stays as it is if the file is deleted."""

    def __init__(self, path: str, view: View | None = None, opener: Callable[[str], FileSource] = FileSource) -> None:
        """Opens the file, but reads nothing yet. Raises `CannotRead`."""
        self.path = path
        self.is_deleted = False
        self._view = view or View()
        self._open = opener
        self._is_subagent = is_subagent_file(path)
        """Kept, because a file that was deleted can still be read, but no longer be opened."""
        self._source = opener(path)
        self.frame_index = self._new_index()

    def catch_up(self, size: int | None = None) -> FileChange:
        """Read what was appended, with `size` only about this many bytes, and report what has happened.

        After `GREW` there may be more to read. Raises `CannotRead` if the file cannot be read any more.
        """
        change = self._check_file()
        has_grown = self._read_appended(size)
        return FileChange.GREW if change is FileChange.NOTHING and has_grown else change

    def rebuild_index(self, view: View) -> None:
        """Start a new frame index of the same file, for another view."""
        self._view = view
        self.frame_index = self._new_index()

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _check_file(self) -> FileChange:
        """What has become of the file and its path; starts a new frame index if necessary."""
        try:
            status = os.stat(self.path)
            change = self._compare(status)
            if change.needs_new_index:
                self._is_subagent = is_subagent_file(self.path)
                previous, self._source = self._source, self._open(self.path)
                previous.close()
                self.frame_index = self._new_index()
        except (OSError, CannotRead) as error:
            if os.path.lexists(self.path):
                if isinstance(error, CannotRead):  # it names the file already
                    raise
                raise CannotRead(f"{self.path}: {error.strerror or error}") from error
            was_deleted, self.is_deleted = self.is_deleted, True
            return FileChange.NOTHING if was_deleted else FileChange.DELETED
        self.is_deleted = False
        return change

    def _compare(self, status: os.stat_result) -> FileChange:
        opened = self._source.status()
        if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino):
            return FileChange.REPLACED
        if opened.st_size < self.frame_index.bytes_seen or self._read_sample() != self._sample:
            return FileChange.SHORTENED
        return FileChange.NOTHING

    def _read_appended(self, size: int | None) -> bool:
        """Read what was appended; true if there are new lines, or may be."""
        lines, seen, has_more = self.frame_index.line_count, self.frame_index.bytes_seen, False
        if size is None:
            while self.frame_index.read_more(READ_SIZE):
                pass
        else:
            has_more = self.frame_index.read_more(size)
        if self.frame_index.bytes_seen != seen:
            self._sample = self._read_sample()
        return has_more or self.frame_index.line_count != lines

    def _read_sample(self) -> bytes:
        """The end of what was read, as it is in the file now; even an incomplete line may be overwritten."""
        start = max(self.frame_index.bytes_seen - _SAMPLE_SIZE, 0)
        return self._source.read(start, self.frame_index.bytes_seen - start)

    def _new_index(self) -> FrameIndex:
        self._sample = b""
        return FrameIndex(self._source, self._view.of_subagent() if self._is_subagent else self._view)


_MAX_FOLLOWED: Final = 32
"""Sub-agents that are followed at a time: each needs an open file and a frame index."""


class FollowedText(NamedTuple):
    """The new text of one file."""

    change: FileChange
    pieces: list[TextPiece]
    agent: str = ""
    """The name of the sub-agent; empty for the session itself."""
    task: str | None = None
    """The description of a sub-agent that has just started, which may be empty; `None` for all others."""
    problem: str = ""
    """Why the file of a sub-agent cannot be read; reported once."""


class _FollowedPart:
    """One file, and how many of its frames were reported."""

    def __init__(self, path: str, view: View, name: str = "") -> None:
        """Raises `CannotRead`."""
        self.name = name
        self.followed = FollowedFile(path, view)
        self._restart()

    def _restart(self) -> None:
        self.appended = AppendedText(self.followed.frame_index.view)
        self._frames_shown = 0

    def start(self, size: int | None = None) -> list[TextPiece]:
        """The text on the screen now, or when the file had `size` bytes; only what follows is reported later."""
        self.followed.catch_up()
        frame_index = self.followed.frame_index
        lines = frame_index.line_count if size is None else frame_index.lines_before(size)
        self._frames_shown = sum(frame.line <= lines for frame in frame_index.frames)
        return self.appended.after(frame_index.screen(self._frames_shown - 1))

    def catch_up(self) -> tuple[FileChange, list[TextPiece]]:
        """What has happened to the file, and its new text."""
        change = self.followed.catch_up()
        if change.needs_new_index:
            self._restart()
        frame_index = self.followed.frame_index
        new = range(self._frames_shown, len(frame_index.frames))
        self._frames_shown = len(frame_index.frames)
        return change, [piece for frame in new for piece in self.appended.after(frame_index.screen(frame))]


class FollowedGroup:
    """A session and its sub-agents. Given the files that may have changed, it gives their new text."""

    def __init__(self, file: SessionFile, view: View) -> None:
        """Raises `CannotRead`."""
        self._file = file
        self._view = view
        self._known_sizes = {one.path: one.stamp.size for one in StoreWalk().relatives(file) if one.is_agent}
        """The sub-agents that are not followed now, and how many bytes of their files are not reported any more."""
        self._parts = {file.path: _FollowedPart(file.path, view)}
        """What is followed, in the order of the latest text."""
        self._names: dict[str, str] = {}
        """The name of each sub-agent by path, including those that are no longer followed."""
        self._used_names: set[str] = set()
        self._closed: dict[str, tuple[str, LineAudit]] = {}
        """The names and line audits of sub-agents that were closed because they were quiet for long."""
        self._unrelated: set[str] = set()
        """Files of sub-agents of other sessions."""
        self._unreadable: set[str] = set()
        """Files that were reported as unreadable."""

    def initial_text(self) -> list[TextPiece]:
        """The text on the screen of the session now."""
        return self._parts[self._file.path].start()

    def read_changes(self, files: Collection[str]) -> Iterator[FollowedText]:
        """The new text of files that may have changed. Raises `CannotRead`."""
        for path in self._in_order(files):
            part, task = self._parts.get(path), None
            if part is None and self._may_be_ours(path):
                try:
                    part, task = self._start_following(path)
                except (OSError, CannotRead) as error:
                    yield from self._report_unreadable(path, error)
            if part is None:
                continue
            change, pieces = part.catch_up()
            if pieces or task is not None:
                self._mark_latest(path, part)
            if pieces or task is not None or change not in (FileChange.NOTHING, FileChange.GREW):
                yield FollowedText(change, pieces, part.name, task)

    def audits(self) -> Iterator[tuple[str, LineAudit]]:
        """The name of the sub-agent and the line audit of each file that is or was followed."""
        followed = {path: (part.name, part.followed.frame_index.audit) for path, part in self._parts.items()}
        return iter((self._closed | followed).values())

    def close(self) -> None:
        """Close all files."""
        for part in self._parts.values():
            part.followed.close()

    def _in_order(self, files: Collection[str]) -> list[str]:
        """The files to read; the session itself comes first if a sub-agent is new, because it has the call."""
        others = sorted(path for path in files if path != self._file.path)
        has_new = any(path not in self._parts and self._may_be_ours(path) for path in others)
        return [self._file.path, *others] if has_new or self._file.path in files else others

    def _may_be_ours(self, path: str) -> bool:
        folder, name = os.path.split(path)
        is_below = folder == self._file.home or folder.startswith(self._file.own_dir + os.sep)
        if self._file.is_agent or not is_below or not name.startswith(AGENT_PREFIX) or path in self._unrelated:
            return False
        return _size(path) != self._known_sizes.get(path)

    def _start_following(self, path: str) -> tuple[_FollowedPart | None, str | None]:
        """Follow a sub-agent; gives its description, if it has just started. Raises `OSError` or `CannotRead`."""
        peek = SessionPeek(session_file_at(path))
        peek.catch_up()
        if peek.session_id != self._file.id:
            if peek.session_id is not None:
                self._unrelated.add(path)
            return None, None
        self._make_room()
        part = _FollowedPart(path, self._view, self._name(peek))
        is_new = path not in self._known_sizes
        if not is_new:
            part.start(self._known_sizes[path])
            part.appended.interrupt()  # other text has followed since its last text
        self._parts[path] = part
        self._known_sizes.pop(path, None)
        self._unreadable.discard(path)
        return part, peek.description if is_new else None

    def _make_room(self) -> None:
        """Close the sub-agents that were quiet for longest, if too many are followed."""
        agents = [path for path in self._parts if path != self._file.path]
        for path in agents[: max(len(agents) - _MAX_FOLLOWED + 1, 0)]:
            part = self._parts.pop(path)
            self._closed[path] = part.name, part.followed.frame_index.audit
            self._known_sizes[path] = part.followed.frame_index.size
            part.followed.close()

    def _report_unreadable(self, path: str, error: OSError | CannotRead) -> Iterator[FollowedText]:
        """Report once that a file cannot be read; one that no longer exists is not reported."""
        if path in self._unreadable or not os.path.lexists(path):
            return
        self._unreadable.add(path)
        name = os.path.basename(path).removeprefix(AGENT_PREFIX).removesuffix(SESSION_SUFFIX)
        yield FollowedText(FileChange.NOTHING, [], name, problem=getattr(error, "strerror", None) or str(error))

    def _name(self, peek: SessionPeek) -> str:
        """The type of a sub-agent, followed by its id if another one has the same name."""
        path, name = peek.file.path, peek.agent or peek.file.id
        if path not in self._names:
            self._names[path] = f"{name} {peek.file.id}" if name in self._used_names else name
            self._used_names.add(self._names[path])
        return self._names[path]

    def _mark_latest(self, path: str, latest: _FollowedPart) -> None:
        """Note that this part has the latest text, which interrupts that of all others."""
        self._parts[path] = self._parts.pop(path)
        for part in self._parts.values():
            if part is not latest:
                part.appended.interrupt()


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
