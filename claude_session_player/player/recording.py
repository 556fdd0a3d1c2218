"""Byte sources, which read a session at any offset from a file or from memory, and the recordings made of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol

from claude_session_player.errors import CannotRead
from claude_session_player.format.line_reader import LongLine, next_data_offset
from claude_session_player.parser import is_subagent_file, only_sidechains, open_session, read_events
from claude_session_player.store import output_resolver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.store import Session, SessionFile, Store


class ByteSource(Protocol):
    """Bytes that can be read at any offset."""

    def read(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from an offset on; none at the end."""
        ...

    def next_data(self, offset: int) -> int:
        """The first offset from this one on that is not in a hole of a sparse file."""
        ...

    def original_lines(self, lines: list[bytes], offset: int) -> list[bytes]:
        """The lines from an offset on, as they were given to the source: some may stand for longer ones."""
        ...

    def close(self) -> None:
        """Close the source."""
        ...


class FileSource:
    """A session file. It is kept open, so that it can be read to the end even if it is deleted."""

    def __init__(self, path: str) -> None:
        """Raises `CannotRead`."""
        self.path = path
        self._file = open_session(path, buffering=0)  # a buffer may no longer agree with the file

    def read(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from an offset on; none at the end. Raises `CannotRead`."""
        try:
            self._file.seek(offset)
            return self._file.read(size)
        except OSError as error:
            raise CannotRead(f"{self.path}: {error.strerror or error}") from error

    def next_data(self, offset: int) -> int:
        """The first offset from this one on that is not in a hole of a sparse file."""
        return next_data_offset(self._file.fileno(), offset)

    def original_lines(self, lines: list[bytes], offset: int) -> list[bytes]:
        """The same lines: a file has them in full."""
        return lines

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def status(self) -> os.stat_result:
        """The status of the open file, whatever became of its path."""
        return os.fstat(self._file.fileno())


class MemorySource:
    """Lines that can be read only once: from standard input, or of a sub-agent in its parent's file."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._long: dict[int, LongLine] = {}
        """Stand-ins for lines that are too long to be kept, by their offsets in the data."""
        self._data = b"".join(self._terminated(lines))

    def read(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from an offset on; none at the end."""
        return self._data[offset : offset + size]

    def next_data(self, offset: int) -> int:
        """The same offset: memory has no holes."""
        return offset

    def original_lines(self, lines: list[bytes], offset: int) -> list[bytes]:
        """The lines from an offset on, as they were given: some may stand for longer ones."""
        if not self._long:
            return lines
        starts = accumulate(map(len, lines), initial=offset)
        return [self._long.get(start, line) for start, line in zip(starts, lines, strict=False)]

    def _terminated(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The bytes of each line, with a line end."""
        offset = 0
        for line in lines:
            if isinstance(line, LongLine):
                self._long[offset] = line
            data = bytes(line) if line.endswith(b"\n") else bytes(line) + b"\n"
            offset += len(data)
            yield data

    def close(self) -> None:
        """Do nothing: memory need not be closed."""


_MAX_DESCRIBED_SIZE: Final = 64 << 20
"""A larger file is not read for its title: leaving the player would have to wait for that."""

SubagentRecordings = dict[str, list["Recording"]]
"""The recordings of sub-agents, by the call that started them."""


def _no_subagents() -> SubagentRecordings:
    return {}


def _no_description() -> None:
    return None


def _no_session() -> None:
    return None


@dataclass(frozen=True)
class Recording:
    """A session or sub-agent that can be played. Nothing is opened in advance."""

    title: str
    location: str
    """The project, or the file."""
    open_source: Callable[[], ByteSource]
    """Raises `CannotRead`."""
    is_subagent: bool = False
    path: str | None = None
    """The file, if there is one that can be watched."""
    find_subagents: Callable[[], SubagentRecordings] = _no_subagents
    """Gives the sub-agents that are known now; this may take a moment."""
    resolve: Callable[[str], str] = str
    """Gives the full output for a result that only refers to it."""
    describe: Callable[[], tuple[str, str] | None] = _no_description
    """Gives a better title and location; this may take a moment."""
    find_session: Callable[[], Session | None] = _no_session
    """Gives what a store knows of it; this may take a moment."""


def recording_of_lines(lines: Iterable[bytes], name: str) -> Recording:
    """A recording of lines from anywhere, which are read to the end."""
    kept = list(lines)
    return Recording(name, "", partial(MemorySource, kept), only_sidechains(read_events(kept)))


def recording_of_file(file: SessionFile, open_store: Callable[[], Store]) -> Recording:
    """A recording of a file whose title is unknown, because all of it would have to be read for that."""
    return Recording(
        file.id,
        file.name,
        partial(FileSource, file.path),
        file.is_agent or is_subagent_file(file.path),
        file.path,
        partial(_find_subagents, file, open_store),
        output_resolver([file]),
        partial(_describe, file, open_store),
        partial(_find_session, file, open_store),
    )


def recording_of_session(session: Session, open_store: Callable[[], Store]) -> Recording:
    """A recording of a session or sub-agent that is known to a store."""
    is_inline = session.is_inline
    return Recording(
        session.title or session.id,
        session.project or session.file.name,
        partial(_inline_source, session) if is_inline else partial(FileSource, session.path),
        session.is_subagent or is_subagent_file(session.path),
        None if is_inline else session.path,
        _no_subagents if is_inline else partial(_find_subagents, session.file, open_store),
        output_resolver([session.file]),
        find_session=partial(_find_session, session.file, open_store, session.id if is_inline else None),
    )


def _inline_source(session: Session) -> ByteSource:
    return MemorySource(session.lines())


def _describe(file: SessionFile, open_store: Callable[[], Store]) -> tuple[str, str] | None:
    if file.stamp.size > _MAX_DESCRIBED_SIZE:
        return None
    session = open_store().session_of(file)
    return session.title or session.id, session.project or file.name


def _find_session(file: SessionFile, open_store: Callable[[], Store], inline: str | None = None) -> Session | None:
    """The session in a file, or the sub-agent inside it with this id. Opens the store for the thread that asks."""
    session = open_store().session_of(file)
    if inline is None:
        return session
    return next((agent for agent in session.inline_subagents if agent.id == inline), None)


def _find_subagents(file: SessionFile, open_store: Callable[[], Store]) -> SubagentRecordings:
    """The sub-agents of a session at any depth, by their calls. Opens the store, so that any thread may call this."""
    session = open_store().session_of(file)
    agents: SubagentRecordings = {}
    below = [*session.subagents, *session.parts[1:]]
    for agent in {agent.id: agent for agent in below}.values():
        if agent.call_id:
            agents.setdefault(agent.call_id, []).append(recording_of_session(agent, open_store))
    return agents
