"""A session that is followed together with its sub-agents: what is new in any of their files, as text to be added.

Sub-agents that are there already are not read before they say something more. Only some are followed at a time: the one
that was silent for longest is let go, and goes on where it was when it says something more.
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
from claude_session_player.store import AGENT, SUFFIX, SessionFile, StoreWalk, session_file_at

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from claude_session_player.line_audit import LineAudit

_SAMPLE_SIZE: Final = 64
"""Bytes before the end of what was read that are compared: they change when somebody writes a file anew."""


class FileChange(Enum):
    """What has happened to a file since the last look."""

    NOTHING = "nothing"
    GREW = "it grew"
    SHORTENED = "it was cut off and is read anew"
    REPLACED = "another file took its place and is read anew"
    DELETED = "it was deleted"

    @property
    def needs_new_index(self) -> bool:
        """True where the frame_index that was is over, and another one begins."""
        return self in (FileChange.SHORTENED, FileChange.REPLACED)


class FollowedFile:
    """A session file and its frame_index. When the file is deleted, the frame_index stays as it was."""

    def __init__(self, path: str, view: View | None = None, opener: Callable[[str], FileSource] = FileSource) -> None:
        """Takes in nothing yet. Raises `CannotRead`."""
        self.path = path
        self.is_deleted = False
        self._view = view or View()
        self._open = opener
        self._source = opener(path)
        self.frame_index = self._new_index()

    def catch_up(self, size: int | None = None) -> FileChange:
        """Take in what was appended, and say what has happened; with `size`, only about so many bytes of it.

        While it says that the file grew, there may be more. Raises `CannotRead` where the file may not be read any
        more.
        """
        change = self._check_file()
        has_grown = self._read_appended(size)
        return FileChange.GREW if change is FileChange.NOTHING and has_grown else change

    def rebuild_index(self, view: View) -> None:
        """Begin another frame_index of the same file, for another view."""
        self._view = view
        self.frame_index = self._new_index()

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()

    def _check_file(self) -> FileChange:
        """What has become of the file and of its name; begins a new frame_index where that is needed."""
        try:
            status = os.stat(self.path)
            change = self._compare(status)
            if change.needs_new_index:
                before, self._source = self._source, self._open(self.path)
                before.close()
                self.frame_index = self._new_index()
        except (OSError, CannotRead) as error:
            if os.path.lexists(self.path):
                if isinstance(error, CannotRead):  # which names the file already
                    raise
                raise CannotRead(f"{self.path}: {error.strerror or error}") from error
            was_deleted, self.is_deleted = self.is_deleted, True
            return FileChange.NOTHING if was_deleted else FileChange.DELETED
        self.is_deleted = False
        return change

    def _compare(self, there: os.stat_result) -> FileChange:
        own = self._source.status()
        if (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino):
            return FileChange.REPLACED
        return (
            FileChange.NOTHING
            if own.st_size >= self.frame_index.bytes_seen and self._read_sample() == self._sample
            else FileChange.SHORTENED
        )

    def _read_appended(self, size: int | None) -> bool:
        """Take in what was appended; true where there are more lines, or may be."""
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
        """The end of what was looked at, as it stands in the file now: a line without an end may be taken back."""
        start = max(self.frame_index.bytes_seen - _SAMPLE_SIZE, 0)
        return self._source.read(start, self.frame_index.bytes_seen - start)

    def _new_index(self) -> FrameIndex:
        self._sample = b""
        return FrameIndex(self._source, self._view.of_subagent() if is_subagent_file(self.path) else self._view)


_MAX_FOLLOWED: Final = 32
"""Sub-agents that are followed at a time: each of them holds a file open, and its frame_index."""


class FollowedText(NamedTuple):
    """What is new in one file."""

    change: FileChange
    pieces: list[TextPiece]
    agent: str = ""
    """How the sub-agent is called whose file it is; empty for the session itself."""
    task: str | None = None
    """What a sub-agent is for that has just started, as far as its prompt does not say so; `None` for all others."""
    problem: str = ""
    """Why the file of a sub-agent cannot be read; it is told once."""


class _FollowedPart:
    """One file, and how much of it was told."""

    def __init__(self, path: str, view: View, name: str = "") -> None:
        """Raises `CannotRead`."""
        self.name = name
        self.followed = FollowedFile(path, view)
        self._restart()

    def _restart(self) -> None:
        self.appended = AppendedText(self.followed.frame_index.view)
        self._frames_shown = 0

    def start(self, size: int | None = None) -> list[TextPiece]:
        """What is on the screen now, or was when the file had so many bytes: all of it is told with this."""
        self.followed.catch_up()
        frame_index = self.followed.frame_index
        lines = frame_index.line_count if size is None else frame_index.lines_before(size)
        self._frames_shown = sum(frame.line <= lines for frame in frame_index.frames)
        return self.appended.after(frame_index.screen(self._frames_shown - 1))

    def catch_up(self) -> tuple[FileChange, list[TextPiece]]:
        """What happened, and what there is to tell of it."""
        change = self.followed.catch_up()
        if change.needs_new_index:
            self._restart()
        frame_index = self.followed.frame_index
        new = range(self._frames_shown, len(frame_index.frames))
        self._frames_shown = len(frame_index.frames)
        return change, [piece for frame in new for piece in self.appended.after(frame_index.screen(frame))]


class FollowedGroup:
    """A session and its sub-agents. It is told which files have changed, and tells what is new in them."""

    def __init__(self, found: SessionFile, view: View) -> None:
        """Raises `CannotRead`."""
        self._found = found
        self._view = view
        self._known_sizes = {one.path: one.stamp.size for one in StoreWalk().relatives(found) if one.is_agent}
        """Sub-agents that are not followed now, and how much of their files was there before, or is told."""
        self._parts = {found.path: _FollowedPart(found.path, view)}
        """What is followed; who spoke last is last."""
        self._names: dict[str, str] = {}
        """How each sub-agent is called, also those that are followed no more."""
        self._used_names: set[str] = set()
        """All these names."""
        self._closed: dict[str, tuple[str, LineAudit]] = {}
        """Of sub-agents that were silent for too long: their names, and what became of their lines."""
        self._unrelated: set[str] = set()
        """Files of sub-agents of other sessions."""
        self._unreadable: set[str] = set()
        """Files of which it was told that they cannot be read."""

    def initial_text(self) -> list[TextPiece]:
        """What is on the screen of the session now."""
        return self._parts[self._found.path].start()

    def read_changes(self, files: Collection[str]) -> Iterator[FollowedText]:
        """What is new in files that may have changed. Raises `CannotRead`."""
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
        """What became of the lines of each file that is or was followed, and the name of its sub-agent."""
        held = {path: (part.name, part.followed.frame_index.audit) for path, part in self._parts.items()}
        return iter((self._closed | held).values())

    def close(self) -> None:
        """Let go of all files."""
        for part in self._parts.values():
            part.followed.close()

    def _in_order(self, files: Collection[str]) -> list[str]:
        """The session itself comes first, also where nothing but a new sub-agent was noticed: its call is there."""
        others = sorted(path for path in files if path != self._found.path)
        has_new = any(path not in self._parts and self._may_be_ours(path) for path in others)
        return [self._found.path, *others] if has_new or self._found.path in files else others

    def _may_be_ours(self, path: str) -> bool:
        folder, name = os.path.split(path)
        is_below = folder == self._found.home or folder.startswith(self._found.belongings + os.sep)
        if self._found.is_agent or not is_below or not name.startswith(AGENT) or path in self._unrelated:
            return False
        return _size(path) != self._known_sizes.get(path)

    def _start_following(self, path: str) -> tuple[_FollowedPart | None, str | None]:
        """A sub-agent that is not followed; and what it is for, where it has just started. Raises `OSError`, too."""
        peek = SessionPeek(session_file_at(path))
        peek.catch_up()
        if peek.session_id != self._found.id:
            if peek.session_id is not None:
                self._unrelated.add(path)
            return None, None
        self._make_room()
        part = _FollowedPart(path, self._view, self._name(peek))
        is_new = path not in self._known_sizes
        if not is_new:
            part.start(self._known_sizes[path])
            part.appended.interrupt()  # whatever was told of it, something else stands below that
        self._parts[path] = part
        self._known_sizes.pop(path, None)
        self._unreadable.discard(path)
        return part, peek.description if is_new else None

    def _make_room(self) -> None:
        """Let go of the sub-agent that was silent for longest, where there are too many."""
        agents = [path for path in self._parts if path != self._found.path]
        for path in agents[: max(len(agents) - _MAX_FOLLOWED + 1, 0)]:
            part = self._parts.pop(path)
            self._closed[path] = part.name, part.followed.frame_index.audit
            self._known_sizes[path] = part.followed.frame_index.size
            part.followed.close()

    def _report_unreadable(self, path: str, error: OSError | CannotRead) -> Iterator[FollowedText]:
        """Tells once that a file cannot be read; of one that is gone again there is nothing to tell."""
        if path in self._unreadable or not os.path.lexists(path):
            return
        self._unreadable.add(path)
        name = os.path.basename(path).removeprefix(AGENT).removesuffix(SUFFIX)
        yield FollowedText(FileChange.NOTHING, [], name, problem=getattr(error, "strerror", None) or str(error))

    def _name(self, peek: SessionPeek) -> str:
        """The kind of a sub-agent; with its id, where another one is called like that."""
        path, name = peek.file.path, peek.agent or peek.file.id
        if path not in self._names:
            self._names[path] = f"{name} {peek.file.id}" if name in self._used_names else name
            self._used_names.add(self._names[path])
        return self._names[path]

    def _mark_latest(self, path: str, speaker: _FollowedPart) -> None:
        """What others said before is interrupted by this."""
        self._parts[path] = self._parts.pop(path)
        for part in self._parts.values():
            if part is not speaker:
                part.appended.interrupt()


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None
