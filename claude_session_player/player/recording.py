"""Where the bytes of a session come from, at any place of them: a file, which may grow, or lines that are in memory."""

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
    """Bytes that can be read at any place."""

    def read(self, offset: int, size: int) -> bytes:
        """At most so many bytes from this place on; none where there are no more."""
        ...

    def after_hole(self, offset: int) -> int:
        """The next place that is not in a hole of a sparse file: this one, as a rule."""
        ...

    def as_read(self, lines: list[bytes], offset: int) -> list[bytes]:
        """The lines from a place on, as their source gave them: some may stand for longer ones."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class FileSource:
    """A session file. It is kept open, so that it can be read to its end also when somebody deletes it."""

    def __init__(self, path: str) -> None:
        """Raises `CannotRead`."""
        self.path = path
        self._file = open_session(path, buffering=0)  # what is in a buffer may be in the file no more

    def read(self, offset: int, size: int) -> bytes:
        """At most so many bytes from this place on; none where there are no more."""
        try:
            self._file.seek(offset)
            return self._file.read(size)
        except OSError as error:
            raise CannotRead(f"{self.path}: {error.strerror or error}") from error

    def after_hole(self, offset: int) -> int:
        """The next place that is not in a hole of a sparse file: this one, as a rule."""
        return next_data_offset(self._file.fileno(), offset)

    def as_read(self, lines: list[bytes], offset: int) -> list[bytes]:
        """A file holds its lines as they are."""
        return lines

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def status(self) -> os.stat_result:
        """What the system says of the file that is open here, whatever became of its name."""
        return os.fstat(self._file.fileno())


class MemorySource:
    """The lines of a session that can be read only once: standard input, or a sub-agent inside of its parent's file."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._long: dict[int, LongLine] = {}
        """Stand-ins for lines that were too long to be kept, by their places in the data."""
        self._data = b"".join(self._kept(lines))

    def read(self, offset: int, size: int) -> bytes:
        """At most so many bytes from this place on; none where there are no more."""
        return self._data[offset : offset + size]

    def after_hole(self, offset: int) -> int:
        """Memory has no holes."""
        return offset

    def as_read(self, lines: list[bytes], offset: int) -> list[bytes]:
        """The lines from a place on, as their source gave them: some may stand for longer ones."""
        if not self._long:
            return lines
        starts = accumulate(map(len, lines), initial=offset)
        return [self._long.get(start, line) for start, line in zip(starts, lines, strict=False)]

    def _kept(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The bytes of each line, with a line end."""
        place = 0
        for line in lines:
            if isinstance(line, LongLine):
                self._long[place] = line
            kept = bytes(line) if line.endswith(b"\n") else bytes(line) + b"\n"
            place += len(kept)
            yield kept

    def close(self) -> None:
        """There is nothing to let go of."""


_LARGE: Final = 64 << 20
"""A larger file is not read for its title: somebody would have to wait for that when they leave."""

Agents = dict[str, list["Recording"]]
"""Sub-agents, by the call that they come from."""


def _no_agents() -> Agents:
    return {}


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Recording:
    """What is played. Nothing of it is opened before it is asked for."""

    title: str
    place: str
    """Where it was: the project, or the file."""
    tape: Callable[[], ByteSource]
    """Raises `CannotRead`."""
    is_subagent: bool = False
    path: str | None = None
    """The file that holds it, where there is one that can be watched."""
    agents: Callable[[], Agents] = _no_agents
    """The sub-agents as they are known now; this may take a moment."""
    resolve: Callable[[str], str] = str
    """Gives a result with the whole output that it refers to."""
    describe: Callable[[], tuple[str, str] | None] = _nothing
    """A better title and place, where finding them takes a moment."""


def recording_of_lines(lines: Iterable[bytes], name: str) -> Recording:
    """Lines that come from anywhere. They are read to their end."""
    kept = list(lines)
    return Recording(name, "", partial(MemorySource, kept), only_sidechains(read_events(kept)))


def recording_of_file(found: SessionFile, open_store: Callable[[], Store]) -> Recording:
    """A file of which the place is known. Its title is not: to find it, all of it would have to be read."""
    return Recording(
        found.id,
        found.name,
        partial(FileSource, found.path),
        found.is_agent or is_subagent_file(found.path),
        found.path,
        partial(_agents, found, open_store),
        output_resolver([found]),
        partial(_described, found, open_store),
    )


def recording_of_session(session: Session, open_store: Callable[[], Store]) -> Recording:
    """A session, or a sub-agent, of which a store knows."""
    is_inline = session.is_inline
    return Recording(
        session.title or session.id,
        session.project or session.file.name,
        partial(_inline_tape, session) if is_inline else partial(FileSource, session.path),
        session.is_subagent or is_subagent_file(session.path),
        None if is_inline else session.path,
        _no_agents if is_inline else partial(_agents, session.file, open_store),
        output_resolver([session.file]),
    )


def _inline_tape(session: Session) -> ByteSource:
    return MemorySource(session.lines())


def _described(found: SessionFile, open_store: Callable[[], Store]) -> tuple[str, str] | None:
    if found.stamp.size > _LARGE:
        return None
    session = open_store().session_of(found)
    return session.title or session.id, session.project or found.name


def _agents(found: SessionFile, open_store: Callable[[], Store]) -> Agents:
    """The sub-agents of a session, and all below them, by their calls. The store is opened for this, in any thread."""
    session = open_store().session_of(found)
    agents: Agents = {}
    below = [*session.subagents, *session.parts[1:]]
    for agent in {agent.id: agent for agent in below}.values():
        if agent.call_id:
            agents.setdefault(agent.call_id, []).append(recording_of_session(agent, open_store))
    return agents
