"""The catalogue: what is known of every session file, kept in SQLite in the platform's cache directory.

It is a convenience and never the truth. It may be deleted, damaged, locked or of another version at any time: what
it does not know, or knows wrongly, is read from the files again. One that somebody else may have written to is not
believed, and not touched. Nothing here raises. Any thread may ask.
"""

import contextlib
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.util.dirs import cache_dir

if TYPE_CHECKING:
    import sqlite3

VERSION: Final = 5
"""Goes up whenever the facts of a file, or the rules that give them, change."""

_WAIT_SECONDS: Final = 2
_AT_ONCE: Final = 500
_SEAL: Final = 4
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_PAGE: Final = 1 << 15
"""Large, because what is kept of a file is: it is written in two thirds of the time."""
_NOT_OURS: Final = ("locked", "readonly", "full", "unable to open")
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, stamp TEXT, facts BLOB, record TEXT,
    started TEXT, ended TEXT, inline INTEGER, reported TEXT, helper INTEGER, project TEXT, checksum INTEGER
);
CREATE TABLE IF NOT EXISTS states (path BLOB PRIMARY KEY, state BLOB);
CREATE TABLE IF NOT EXISTS responses (path BLOB PRIMARY KEY, responses BLOB)
"""


_TABLES: Final = ("files", "states", "responses")
_COLUMNS: Final = "stamp, facts, record, started, ended, inline, reported, helper, project, checksum"
_ROWS: Final = f"SELECT path, {_COLUMNS} FROM files WHERE "


class IndexRow(NamedTuple):
    """What is known of a file."""

    stamp: str
    """Which state of the file it is known of."""
    facts: bytes
    """All facts, as JSON."""
    record: str
    """What scripts get to see of them, as a JSON object."""
    started: str | None
    ended: str | None
    """The earliest and the latest time in the file."""
    inline: int
    """How many sub-agents have their conversation inside of it."""
    reported: str
    """The ids of sub-agents whose progress it reports, as a JSON array; empty where there are none."""
    helper: int
    """Whether it is a sub-agent that Claude Code started for itself."""
    project: str | None
    """The real path of the project that it belongs to."""


class IndexEntry(NamedTuple):
    """What is remembered of a file: its row, what its digest left behind, and its responses."""

    path: str
    row: IndexRow
    state: bytes
    responses: bytes


def default_index_dir() -> str | None:
    """The directory in which the catalogue is kept; `None` where the platform has no place for it."""
    return cache_dir()


class StoreIndex:
    """The catalogue in a directory; without one it knows nothing and keeps nothing."""

    def __init__(self, folder: str | None) -> None:
        self.path = os.path.join(folder, f"catalogue-{VERSION}.sqlite") if folder is not None else None
        self._connection: sqlite3.Connection | None = None
        self._given_up = folder is None
        self.refusal: str | None = None
        """Why the catalogue that is there is not used, where that is because somebody else may have written to it."""
        self._lock = Lock()
        """Held by the thread that uses the connection."""

    @property
    def is_kept(self) -> bool:
        """True where anything can be remembered."""
        return not self._given_up

    def below(self, root: str) -> dict[str, IndexRow]:
        """Everything known of the files below a directory."""
        start = os.fsencode(os.path.join(root, ""))
        return self._known("path >= ? AND path < ?", (start, start[:-1] + bytes([start[-1] + 1])))

    def of(self, paths: Sequence[str]) -> dict[str, IndexRow]:
        """What is known of these files."""
        known: dict[str, IndexRow] = {}
        for some in _portions(paths):
            known |= self._known(f"path IN ({_marks(some)})", some)
        return known

    def states(self, paths: Sequence[str]) -> dict[str, bytes]:
        """What earlier digests of these files left behind."""
        found: dict[str, bytes] = {}
        for some in _portions(paths):
            for path, state in self._read(f"SELECT path, state FROM states WHERE path IN ({_marks(some)})", some):
                if isinstance(path, bytes) and (content := _checked(state)) is not None:
                    found[os.fsdecode(path)] = content
        return found

    def responses(self, stamps: Mapping[str, str]) -> dict[str, bytes]:
        """The responses of these files, each in the state that its stamp tells."""
        found: dict[str, bytes] = {}
        for some in _portions(list(stamps)):
            query = f"SELECT path, responses FROM responses WHERE path IN ({_marks(some)})"
            for path, sealed in self._read(query, some):
                if not isinstance(path, bytes) or (name := os.fsdecode(path)) not in stamps:
                    continue
                if (content := _checked(sealed, stamps[name])) is not None:
                    found[name] = content
        return found

    def keep(self, files: Sequence[IndexEntry]) -> None:
        """Remember these files."""
        if files:
            known, states, responses = [], [], []
            for file in files:
                path = os.fsencode(file.path)
                known.append((path, *file.row, _checksum(path, file.row)))
                states.append((path, _sealed(file.state)))
                responses.append((path, _sealed(file.responses, file.row.stamp)))
            self._write(
                ("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", known),
                ("INSERT OR REPLACE INTO states VALUES (?, ?)", states),
                ("INSERT OR REPLACE INTO responses VALUES (?, ?)", responses),
            )

    def forget(self, paths: Iterable[str]) -> None:
        """Forget files that are no more."""
        if gone := [(os.fsencode(path),) for path in paths]:
            self._write(*((f"DELETE FROM {table} WHERE path = ?", gone) for table in _TABLES))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
            self._connection = None

    def _known(self, condition: str, values: Sequence[bytes]) -> dict[str, IndexRow]:
        known = {}
        for path, *told, checksum in self._read(_ROWS + condition, values):
            row = IndexRow(*told)
            if _is_sound(path, row) and _checksum(path, row) == checksum:
                known[os.fsdecode(path)] = row
        return known

    def _read(self, query: str, values: Sequence[bytes]) -> list[Any]:
        import sqlite3

        with self._lock:
            if (connection := self._open()) is None:
                return []
            try:
                return connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                self._part_with(error)
        return []

    def _write(self, *changes: tuple[str, Sequence[tuple[object, ...]]]) -> None:
        import sqlite3

        with self._lock:
            if (connection := self._open()) is None:
                return
            try:
                with connection:
                    for statement, rows in changes:
                        connection.executemany(statement, rows)
            except (sqlite3.Error, UnicodeError, OverflowError) as error:
                self._part_with(error)

    def _open(self) -> "sqlite3.Connection | None":
        if self._connection is not None or self._given_up or self.path is None:
            return self._connection
        import sqlite3

        if (refusal := _refusal(self.path)) is not None:
            self.refusal, self._given_up = refusal, True
            return None
        for _ in range(2):
            try:
                self._connection = _connected(self.path)
                return self._connection
            except (sqlite3.Error, UnicodeError) as error:
                self._part_with(error)
                if not self.is_kept:  # waiting once for whoever holds it is enough
                    return None
            except OSError:
                break
        self._given_up = True
        return None

    def _part_with(self, error: Exception) -> None:
        """Locked, read-only, or asked wrongly: do without it. Anything else: it is damaged, and made anew."""
        import sqlite3

        self._let_go()
        if isinstance(error, sqlite3.ProgrammingError) or any(word in str(error) for word in _NOT_OURS):
            self._given_up = True
        elif self.path is not None and not self._given_up:
            _remove(self.path)


def _connected(path: str) -> "sqlite3.Connection":
    """The catalogue, made where there is none. Raises `OSError` or `sqlite3.Error`."""
    import sqlite3

    _make_private(path)
    connection = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False)  # there is the lock
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError("of another version")
        connection.execute("PRAGMA synchronous = OFF")  # what is lost is read again
        if version == 0:
            connection.execute(f"PRAGMA page_size = {_PAGE}")
            with connection:
                connection.executescript(_SCHEMA)
                connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def _refusal(path: str) -> str | None:
    """Why a catalogue cannot be believed: it, or the directory that it is in, is not the user's own alone."""
    if os.name != "posix":
        return None
    for place, look in ((os.path.dirname(path), os.stat), (os.path.dirname(path), os.lstat), (path, os.lstat)):
        try:
            status = look(place)
        except OSError:  # it is not there yet, or cannot be used anyway
            continue
        is_link = stat.S_ISLNK(status.st_mode)
        if is_link and place == path:
            return f"{place} is a symbolic link: delete it"
        if status.st_uid not in (os.geteuid(), 0):
            return f"{place} belongs to another user: delete it, or keep the cache elsewhere"
        if not is_link and status.st_mode & _OTHERS_WRITE:
            return f"other users may write to {place}: take that permission away"
    return None


def _make_private(path: str) -> None:
    """It holds what people typed: nobody else may read it."""
    if os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def _remove(path: str) -> None:
    for name in (path, f"{path}-journal", f"{path}-wal", f"{path}-shm"):
        with contextlib.suppress(OSError):
            os.remove(name)


def _checksum(path: bytes, row: IndexRow) -> int:
    counted = f"{row.inline}|{row.reported}|{row.helper}"
    rest = f"{row.stamp}|{row.started}|{row.ended}|{counted}|{row.project}|{row.record}"
    return zlib.crc32(rest.encode(), zlib.crc32(row.facts, zlib.crc32(path)))


def _is_sound(path: object, row: IndexRow) -> bool:
    """True where a row has the types that it should have; a damaged file may hold any."""
    return type(path) is bytes and type(row.facts) is bytes and type(row.record) is str


def _sealed(content: bytes, stamp: str = "") -> bytes:
    return _seal(content, stamp) + content


def _checked(sealed: object, stamp: str = "") -> bytes | None:
    if not isinstance(sealed, bytes):
        return None
    content = sealed[_SEAL:]
    return content if _seal(content, stamp) == sealed[:_SEAL] else None


def _seal(content: bytes, stamp: str) -> bytes:
    return zlib.crc32(content, zlib.crc32(stamp.encode())).to_bytes(_SEAL, "big")


def _portions(paths: Sequence[str]) -> Iterator[list[bytes]]:
    """Paths in such numbers as a query can take."""
    for start in range(0, len(paths), _AT_ONCE):
        yield [os.fsencode(path) for path in paths[start : start + _AT_ONCE]]


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
