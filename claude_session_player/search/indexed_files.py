"""The list of indexed files: which version of each is in the search index, and what is needed to read on."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.util.dirs import create_private_file, is_unusable_database

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_VERSION: Final = 1
_WAIT_SECONDS: Final = 5
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS files (
    name BLOB PRIMARY KEY, number INTEGER NOT NULL UNIQUE, version TEXT NOT NULL, state BLOB, checksum INTEGER
);
CREATE TABLE IF NOT EXISTS info (key TEXT PRIMARY KEY, value TEXT)
"""
_NEXT_NUMBER: Final = "next number"
_UPDATED_AT: Final = "updated at"
_ROOT: Final = "root"
_DOCUMENTS: Final = "documents"
_META: Final = "meta.json"
_CRC: Final = 4


class IndexedFile(NamedTuple):
    """A file in the search index."""

    name: str
    number: int
    """Identifies the file in documents; a number is never given twice."""
    version: str
    """See `SessionFile.version`; empty while the file is being read."""
    state: bytes = b""


class IndexedFiles:
    """The list itself. Its methods raise `sqlite3.Error` if the file is damaged, locked or full."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, path: str, root: str) -> IndexedFiles | None:
        """The list in a file, created if there is none; `None` if that is impossible. A damaged one is deleted."""
        for _ in range(2):
            try:
                create_private_file(path)
                return cls(_connect(path, root))
            except (sqlite3.Error, UnicodeError) as error:
                if is_unusable_database(error):
                    return None
                for name in (path, f"{path}-journal"):
                    with contextlib.suppress(OSError):
                        os.remove(name)
            except OSError:
                return None
        return None

    @property
    def is_new(self) -> bool:
        """True if no documents were ever noted."""
        return self._info(_DOCUMENTS) is None

    @property
    def updated_at(self) -> float | None:
        """When the index was last updated, in seconds."""
        found = self._info(_UPDATED_AT)
        return float(found) if found else None

    def files(self) -> dict[str, IndexedFile]:
        """All files, by name, without their states."""
        try:
            rows = self._connection.execute("SELECT name, number, version, checksum FROM files").fetchall()
        except sqlite3.Error:
            return {}
        found = {}
        for name, number, version, checksum in rows:
            if checksum == _checksum(name, number, version):
                found[os.fsdecode(name)] = IndexedFile(os.fsdecode(name), number, version)
        return found

    def states(self, names: Iterable[str]) -> dict[str, bytes]:
        """What is needed to read on in some files."""
        found = {}
        for name in names:
            row = self._connection.execute("SELECT state FROM files WHERE name = ?", (os.fsencode(name),)).fetchone()
            if row is not None and row[0] and zlib.crc32(row[0][_CRC:]) == int.from_bytes(row[0][:_CRC], "big"):
                found[name] = row[0][_CRC:]
        return found

    def add_names(self, names: Sequence[str]) -> None:
        """List files that will be read, each with a number of its own."""
        if not names:
            return
        with self._connection:
            first = int(self._info(_NEXT_NUMBER) or 1)
            self._put(IndexedFile(name, number, "") for number, name in enumerate(names, first))
            self._note(_NEXT_NUMBER, str(first + len(names)))

    def keep(self, files: Iterable[IndexedFile], gone: Iterable[str], documents: str) -> None:
        """Note which files are up to date, which are gone, and what the files of the documents look like."""
        with self._connection:
            self._put(files)
            self._connection.executemany("DELETE FROM files WHERE name = ?", [(os.fsencode(name),) for name in gone])
            self._note(_UPDATED_AT, str(time.time()))
            self._note(_DOCUMENTS, _stamps(documents))

    def has_documents(self, documents: str) -> bool:
        """True if no document has changed since the last files were noted: tantivy notices damage only by chance."""
        noted = self._info(_DOCUMENTS)
        if noted is None:
            return False
        before, now = json.loads(noted), json.loads(_stamps(documents))
        if now.keys() <= before.keys():
            return bool(now == before)
        # Segments were merged since: what is left of the old ones is unchanged, and others are new.
        return all(now[name] == stamp for name, stamp in before.items() if name in now and name != _META)

    def _put(self, files: Iterable[IndexedFile]) -> None:
        rows = []
        for name, number, version, state in files:
            key = os.fsencode(name)
            checked = zlib.crc32(state).to_bytes(_CRC, "big") + state if state else None
            rows.append((key, number, version, checked, _checksum(key, number, version)))
        self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _info(self, key: str) -> str | None:
        try:
            row = self._connection.execute("SELECT value FROM info WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error:
            return None
        return row[0] if row is not None else None

    def _note(self, key: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO info VALUES (?, ?)", (key, value))


def _checksum(name: bytes, number: int, version: str) -> int:
    return zlib.crc32(f"{number} {version}".encode(errors="replace"), zlib.crc32(name))


def _stamps(folder: str) -> str:
    """The size and the time of all files of a directory, as JSON."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if not name.startswith("."):
            with contextlib.suppress(OSError):  # a merge has just deleted it
                status = os.stat(os.path.join(folder, name))
                found[name] = [status.st_size, status.st_mtime_ns]
    return json.dumps(found)


def _connect(path: str, root: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError("of another version")
        connection.execute("PRAGMA synchronous = OFF")  # what is lost is read again
        if version == 0:
            with connection:
                connection.executescript(_SCHEMA)
                connection.execute("INSERT OR REPLACE INTO info VALUES (?, ?)", (_ROOT, root.encode(errors="replace")))
                connection.execute(f"PRAGMA user_version = {_VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection
