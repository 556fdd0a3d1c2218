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
from claude_session_player.player.frame_index import PORTION, FrameIndex
from claude_session_player.player.recording import FileSource
from claude_session_player.player.stream import AppendedText, TextPiece
from claude_session_player.store import AGENT_PREFIX, SESSION_SUFFIX, SessionFile, StoreWalk, session_file_at

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from claude_session_player.line_audit import LineAudit

_SAMPLE: Final = 64
"""Bytes before the end of what was read that are compared: they change when somebody writes a file anew."""


class FileChange(Enum):
    """What has happened to a file since the last look."""

    NOTHING = "nothing"
    GREW = "it grew"
    SHORTENED = "it was cut off and is read anew"
    REPLACED = "another file took its place and is read anew"
    DELETED = "it was deleted"

    @property
    def is_new_film(self) -> bool:
        """True where the film that was is over, and another one begins."""
        return self in (FileChange.SHORTENED, FileChange.REPLACED)


class FollowedFile:
    """A session file and its film. When the file is deleted, the film stays as it was."""

    def __init__(self, path: str, view: View | None = None, opener: Callable[[str], FileSource] = FileSource) -> None:
        """Takes in nothing yet. Raises `CannotRead`."""
        self.path = path
        self.is_deleted = False
        self._view = view or View()
        self._open = opener
        self._tape = opener(path)
        self.film = self._new_film()

    def catch_up(self, portion: int | None = None) -> FileChange:
        """Take in what was appended, and say what has happened; with `portion`, only about so many bytes of it.

        While it says that the file grew, there may be more. Raises `CannotRead` where the file may not be read any
        more.
        """
        news = self._fate()
        has_grown = self._develop(portion)
        return FileChange.GREW if news is FileChange.NOTHING and has_grown else news

    def film_anew(self, view: View) -> None:
        """Begin another film of the same file, for another view."""
        self._view = view
        self.film = self._new_film()

    def close(self) -> None:
        """Let go of the file."""
        self._tape.close()

    def _fate(self) -> FileChange:
        """What has become of the file and of its name; begins a new film where that is needed."""
        try:
            status = os.stat(self.path)
            news = self._compared(status)
            if news.is_new_film:
                before, self._tape = self._tape, self._open(self.path)
                before.close()
                self.film = self._new_film()
        except (OSError, CannotRead) as error:
            if os.path.lexists(self.path):
                if isinstance(error, CannotRead):  # which names the file already
                    raise
                raise CannotRead(f"{self.path}: {error.strerror or error}") from error
            was_deleted, self.is_deleted = self.is_deleted, True
            return FileChange.NOTHING if was_deleted else FileChange.DELETED
        self.is_deleted = False
        return news

    def _compared(self, there: os.stat_result) -> FileChange:
        own = self._tape.status()
        if (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino):
            return FileChange.REPLACED
        return (
            FileChange.NOTHING
            if own.st_size >= self.film.seen and self._read_sample() == self._sample
            else FileChange.SHORTENED
        )

    def _develop(self, portion: int | None) -> bool:
        """Take in what was appended; true where there are more lines, or may be."""
        lines, seen, has_more = self.film.lines, self.film.seen, False
        if portion is None:
            while self.film.develop(PORTION):
                pass
        else:
            has_more = self.film.develop(portion)
        if self.film.seen != seen:
            self._sample = self._read_sample()
        return has_more or self.film.lines != lines

    def _read_sample(self) -> bytes:
        """The end of what was looked at, as it stands in the file now: a line without an end may be taken back."""
        start = max(self.film.seen - _SAMPLE, 0)
        return self._tape.read(start, self.film.seen - start)

    def _new_film(self) -> FrameIndex:
        self._sample = b""
        return FrameIndex(self._tape, self._view.of_subagent() if is_subagent_file(self.path) else self._view)


_MOST: Final = 32
"""Sub-agents that are followed at a time: each of them holds a file open, and its film."""


class FollowedText(NamedTuple):
    """What is new in one file."""

    news: FileChange
    pieces: list[TextPiece]
    agent: str = ""
    """How the sub-agent is called whose file it is; empty for the session itself."""
    task: str | None = None
    """What a sub-agent is for that has just started, as far as its prompt does not say so; `None` for all others."""
    problem: str = ""
    """Why the file of a sub-agent cannot be read; it is told once."""


class _Part:
    """One file, and how much of it was told."""

    def __init__(self, path: str, view: View, name: str = "") -> None:
        """Raises `CannotRead`."""
        self.name = name
        self.followed = FollowedFile(path, view)
        self._restart()

    def _restart(self) -> None:
        self.appended = AppendedText(self.followed.film.view)
        self._told = 0

    def begin(self, size: int | None = None) -> list[TextPiece]:
        """What is on the screen now, or was when the file had so many bytes: all of it is told with this."""
        self.followed.catch_up()
        film = self.followed.film
        lines = film.lines if size is None else film.lines_before(size)
        self._told = sum(frame.line <= lines for frame in film.frames)
        return self.appended.after(film.screen(self._told - 1))

    def catch_up(self) -> tuple[FileChange, list[TextPiece]]:
        """What happened, and what there is to tell of it."""
        news = self.followed.catch_up()
        if news.is_new_film:
            self._restart()
        film = self.followed.film
        new = range(self._told, len(film.frames))
        self._told = len(film.frames)
        return news, [piece for frame in new for piece in self.appended.after(film.screen(frame))]


class FollowedGroup:
    """A session and its sub-agents. It is told which files have changed, and tells what is new in them."""

    def __init__(self, found: SessionFile, view: View) -> None:
        """Raises `CannotRead`."""
        self._found = found
        self._view = view
        self._past = {one.path: one.stamp.size for one in StoreWalk().relatives(found) if one.is_agent}
        """Sub-agents that are not followed now, and how much of their files was there before, or is told."""
        self._parts = {found.path: _Part(found.path, view)}
        """What is followed; who spoke last is last."""
        self._names: dict[str, str] = {}
        """How each sub-agent is called, also those that are followed no more."""
        self._given: set[str] = set()
        """All these names."""
        self._let_go: dict[str, tuple[str, LineAudit]] = {}
        """Of sub-agents that were silent for too long: their names, and what became of their lines."""
        self._strangers: set[str] = set()
        """Files of sub-agents of other sessions."""
        self._refused: set[str] = set()
        """Files of which it was told that they cannot be read."""

    def begin(self) -> list[TextPiece]:
        """What is on the screen of the session now."""
        return self._parts[self._found.path].begin()

    def notice(self, files: Collection[str]) -> Iterator[FollowedText]:
        """What is new in files that may have changed. Raises `CannotRead`."""
        for path in self._in_order(files):
            part, task = self._parts.get(path), None
            if part is None and self._may_be_ours(path):
                try:
                    part, task = self._join(path)
                except (OSError, CannotRead) as error:
                    yield from self._refusal(path, error)
            if part is None:
                continue
            news, pieces = part.catch_up()
            if pieces or task is not None:
                self._let_speak(path, part)
            if pieces or task is not None or news not in (FileChange.NOTHING, FileChange.GREW):
                yield FollowedText(news, pieces, part.name, task)

    def accounts(self) -> Iterator[tuple[str, LineAudit]]:
        """What became of the lines of each file that is or was followed, and the name of its sub-agent."""
        held = {path: (part.name, part.followed.film.account) for path, part in self._parts.items()}
        return iter((self._let_go | held).values())

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
        is_below = folder == self._found.home or folder.startswith(self._found.own_dir + os.sep)
        if self._found.is_agent or not is_below or not name.startswith(AGENT_PREFIX) or path in self._strangers:
            return False
        return _size(path) != self._past.get(path)

    def _join(self, path: str) -> tuple[_Part | None, str | None]:
        """A sub-agent that is not followed; and what it is for, where it has just started. Raises `OSError`, too."""
        glimpse = SessionPeek(session_file_at(path))
        glimpse.catch_up()
        if glimpse.session_id != self._found.id:
            if glimpse.session_id is not None:
                self._strangers.add(path)
            return None, None
        self._make_room()
        part = _Part(path, self._view, self._name(glimpse))
        is_new = path not in self._past
        if not is_new:
            part.begin(self._past[path])
            part.appended.interrupt()  # whatever was told of it, something else stands below that
        self._parts[path] = part
        self._past.pop(path, None)
        self._refused.discard(path)
        return part, glimpse.description if is_new else None

    def _make_room(self) -> None:
        """Let go of the sub-agent that was silent for longest, where there are too many."""
        agents = [path for path in self._parts if path != self._found.path]
        for path in agents[: max(len(agents) - _MOST + 1, 0)]:
            part = self._parts.pop(path)
            self._let_go[path] = part.name, part.followed.film.account
            self._past[path] = part.followed.film.size
            part.followed.close()

    def _refusal(self, path: str, error: OSError | CannotRead) -> Iterator[FollowedText]:
        """Tells once that a file cannot be read; of one that is gone again there is nothing to tell."""
        if path in self._refused or not os.path.lexists(path):
            return
        self._refused.add(path)
        name = os.path.basename(path).removeprefix(AGENT_PREFIX).removesuffix(SESSION_SUFFIX)
        yield FollowedText(FileChange.NOTHING, [], name, problem=getattr(error, "strerror", None) or str(error))

    def _name(self, glimpse: SessionPeek) -> str:
        """The kind of a sub-agent; with its id, where another one is called like that."""
        path, name = glimpse.found.path, glimpse.agent or glimpse.found.id
        if path not in self._names:
            self._names[path] = f"{name} {glimpse.found.id}" if name in self._given else name
            self._given.add(self._names[path])
        return self._names[path]

    def _let_speak(self, path: str, speaker: _Part) -> None:
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
