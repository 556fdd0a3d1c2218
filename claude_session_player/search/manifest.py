"""The list of indexed files: which version of each is in the search index, and what is needed to read on."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.util.dirs import create_private_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_VERSION: Final = 1
_WAIT_SECONDS: Final = 5
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS files (
    name BLOB PRIMARY KEY, number INTEGER NOT NULL UNIQUE, version TEXT NOT NULL, lines INTEGER NOT NULL, state BLOB
);
CREATE TABLE IF NOT EXISTS info (key TEXT PRIMARY KEY, value TEXT)
"""
_NEXT_NUMBER: Final = "next number"
_UPDATED_AT: Final = "updated at"
_ROOT: Final = "root"


class IndexedFile(NamedTuple):
    """A file in the search index."""

    name: str
    number: int
    """Identifies the file in documents; a number is never given twice."""
    version: str
    """See `SessionFile.version`; empty while the file is being read."""
    lines: int = 0
    state: bytes = b""


class Manifest:
    """The list itself. Its methods raise `sqlite3.Error` if the file is damaged, locked or full."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, path: str, root: str) -> Manifest | None:
        """The list in a file, created if there is none; `None` if that is impossible. A damaged one is deleted."""
        for _ in range(2):
            try:
                create_private_file(path)
                return cls(_connect(path, root))
            except (sqlite3.Error, UnicodeError) as error:
                if "locked" in str(error):
                    return None
                for name in (path, f"{path}-journal"):
                    with contextlib.suppress(OSError):
                        os.remove(name)
            except OSError:
                return None
        return None

    @property
    def is_empty(self) -> bool:
        """True if no file is listed as up to date."""
        return not any(file.version for file in self.files().values())

    @property
    def updated_at(self) -> float | None:
        """When the index was last updated, in seconds."""
        found = self._info(_UPDATED_AT)
        return float(found) if found else None

    def files(self) -> dict[str, IndexedFile]:
        """All files, by name, without their states."""
        try:
            rows = self._connection.execute("SELECT name, number, version, lines FROM files").fetchall()
        except sqlite3.Error:
            return {}
        return {os.fsdecode(name): IndexedFile(os.fsdecode(name), *rest) for name, *rest in rows}

    def states(self, names: Iterable[str]) -> dict[str, bytes]:
        """What is needed to read on in some files."""
        found = {}
        for name in names:
            row = self._connection.execute("SELECT state FROM files WHERE name = ?", (os.fsencode(name),)).fetchone()
            if row is not None and row[0]:
                found[name] = row[0]
        return found

    def add_names(self, names: Sequence[str]) -> None:
        """List files that will be read, each with a number of its own."""
        if not names:
            return
        with self._connection:
            first = int(self._info(_NEXT_NUMBER) or 1)
            rows = [(os.fsencode(name), number) for number, name in enumerate(names, first)]
            self._connection.executemany("INSERT INTO files VALUES (?, ?, '', 0, NULL)", rows)
            self._note(_NEXT_NUMBER, str(first + len(names)))

    def keep(self, files: Sequence[IndexedFile], gone: Iterable[str]) -> None:
        """Note which files are up to date, and forget those that are gone."""
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
                [(os.fsencode(file.name), *file[1:]) for file in files],
            )
            self._connection.executemany("DELETE FROM files WHERE name = ?", [(os.fsencode(name),) for name in gone])
            self._note(_UPDATED_AT, str(time.time()))

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
