"""The index: what is known of the session files of stores, kept in SQLite in the platform's cache directory.

It is a convenience and never the truth. It may be deleted, damaged, locked or of another version at any time: whatever
it lacks, or has wrong, is extracted from the files again. An index that other users may have written to is neither
trusted nor touched. The database raises no error, and any thread may use it.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.store.facts import Extraction, ExtractJob, FileFacts
from claude_session_player.store.layout import FileStamp, ReadProblem, SessionFile, StoreWalk
from claude_session_player.util.dirs import cache_dir, create_private_file, distrust_reason, is_unusable_database

if TYPE_CHECKING:
    import sqlite3

DEFAULT_CACHE: Final = "(in the platform's cache directory)"
INDEX_VERSION: Final = 7
"""Goes up whenever the facts of a file, or the rules that yield them, change."""

_SAVE_SECONDS: Final = 0.2
_WAIT_SECONDS: Final = 2
_MAX_VALUES: Final = 500
"""How many paths are passed to one query."""
_CHECKSUM_SIZE: Final = 4
_PAGE_SIZE: Final = 1 << 15
"""Large, because the rows are: writing them takes two thirds of the time."""
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, stamp TEXT, facts BLOB, record TEXT,
    started TEXT, ended TEXT, inline INTEGER, reported TEXT, helper INTEGER, project TEXT, checksum INTEGER
);
CREATE TABLE IF NOT EXISTS states (path BLOB PRIMARY KEY, state BLOB);
CREATE TABLE IF NOT EXISTS responses (path BLOB PRIMARY KEY, responses BLOB)
"""
_TABLES: Final = ("files", "states", "responses")
_SELECT_FILES: Final = (
    "SELECT path, stamp, facts, record, started, ended, inline, reported, helper, project, checksum FROM files WHERE "
)

Progress = Callable[[int, int], None]
"""Called with the number of bytes of session files that are read, and of those to read."""

KnownFiles = dict[str, tuple[SessionFile, FileFacts]]
"""Session files with their facts, by name."""


class StoreIndex:
    """The facts of session files: from the database if they are up to date, else extracted from the files.

    What could not be read is added to `problems`. With `None` for the cache directory, nothing is remembered.
    """

    def __init__(self, cache: str | None = None, progress: Progress | None = None) -> None:
        self.problems: list[ReadProblem] = []
        self.has_removals = False
        """True if sessions were seen that are being removed, or whose removal was interrupted."""
        self.last_files: list[SessionFile] | None = None
        """The files that the last walk through whole stores met."""
        self.offered: dict[str, tuple[FileStamp, bytes]] = {}
        """The end of files that others have just read, with the stamp that the file had then."""
        self._noted: set[ReadProblem] = set()
        self._database = IndexDatabase(cache_dir() if cache == DEFAULT_CACHE else cache)
        self.progress = progress

    @property
    def refusal(self) -> str | None:
        """Why the database is not used; see `IndexDatabase.refusal`."""
        return self._database.refusal

    @property
    def is_kept(self) -> bool:
        """True if anything can be remembered."""
        return self._database.is_kept

    def without_database(self) -> StoreIndex:
        """An index that knows nothing yet, and remembers nothing."""
        return StoreIndex(None, self.progress)

    def files(self, roots: Sequence[str]) -> list[SessionFile]:
        """Every session file of some stores; none is opened."""
        walk = StoreWalk()
        files = [file for root in roots for file in walk.store(root)]
        self.has_removals = bool(walk.removals)
        self.note(walk.problems)
        self.last_files = files
        return files

    def everything(self, roots: Sequence[str]) -> KnownFiles:
        """Every session file of some stores that can be read."""
        files = self.files(roots)
        known = self._rows(roots)
        result = self._complete(files, known)
        self._forget(known.keys() - {file.name for file in files})
        return result

    def snapshots(self, roots: Sequence[str], seconds: float) -> Iterator[tuple[KnownFiles, int]]:
        """What is known of some stores while their files are read, and how many are still to be read.

        The first snapshot opens no file: it is what the database knows, even of files that have changed. Then new and
        changed files are read, the last written first, with a snapshot every few seconds and one at the end.
        """
        files = self.files(roots)
        known = self._rows(roots)
        result = {file.name: (file, known[file.name]) for file in files if file.name in known}
        stale = {file.name: file for file in files if not _is_current(file, known.get(file.name))}
        yield result, len(stale)
        self._forget(known.keys() - {file.name for file in files})
        last, waiting = time.monotonic(), len(stale)
        newest_first = sorted(stale.values(), key=lambda file: file.stamp.mtime_ns, reverse=True)
        for path, facts, _ in self._extract(newest_first, known):
            waiting -= 1
            result.pop(path, None)  # facts of a file that cannot be read any more are of no use
            if facts is not None:
                result[path] = stale[path], facts
            if not waiting or time.monotonic() - last >= seconds:
                yield result, waiting
                last = time.monotonic()

    def lookup(self, files: Sequence[SessionFile]) -> KnownFiles:
        """These files, as far as they can be read."""
        return self._complete(files, self._database.find([file.name for file in files]))

    def relatives(self, file: SessionFile) -> KnownFiles:
        """A session file and those that may belong to the same session."""
        walk = StoreWalk()
        files = list(walk.relatives(file))
        self.note(walk.problems)
        return self.lookup(files)

    def load_responses(self, files: Sequence[tuple[SessionFile, FileFacts]]) -> None:
        """Fill in the responses of some files: from the database if it has them, else from the files."""
        found = self._database.responses({file.name: facts.stamp for file, facts in files})
        if lost := [file for file, _ in files if file.name not in found]:
            found |= {path: facts.responses or b"" for path, facts, _ in self._extract(lost, {}) if facts is not None}
        for file, facts in files:
            facts.responses = found.get(file.name, b"")

    def note(self, problems: Iterable[ReadProblem]) -> None:
        """Remember what could not be read, each problem once."""
        new = [problem for problem in dict.fromkeys(problems) if problem not in self._noted]
        self._noted.update(new)
        self.problems += new

    def close(self) -> None:
        """Close the database; it is opened again when it is needed."""
        self._database.close()

    def _rows(self, roots: Sequence[str]) -> dict[str, FileFacts]:
        return {path: facts for root in roots for path, facts in self._database.below(root).items()}

    def _complete(self, files: Sequence[SessionFile], known: Mapping[str, FileFacts]) -> KnownFiles:
        """All of these files that can be read, extracted if what is known of them is out of date."""
        result: KnownFiles = {}
        stale: dict[str, SessionFile] = {}
        for file in files:
            facts = known.get(file.name)
            if facts is not None and facts.stamp == file.version:
                result[file.name] = file, facts
            else:
                stale[file.name] = file
        if stale:
            extracted = {path: facts for path, facts, _ in self._extract(list(stale.values()), known)}
            result |= {name: (file, facts) for name, file in stale.items() if (facts := extracted.get(name))}
        return result

    def _forget(self, gone: Iterable[str]) -> None:
        """Forget files that are gone; those in a directory that cannot be read may still be there."""
        hidden = tuple(os.path.join(problem.path, "") for problem in self.problems)
        self._database.forget(path for path in gone if not f"{path}{os.sep}".startswith(hidden))

    def _extract(self, files: Sequence[SessionFile], known: Mapping[str, FileFacts]) -> Iterator[Extraction]:
        """Extract the facts of files and remember them; in any order."""
        grown = [file.name for file in files if file.name in known and _has_grown(file, known[file.name])]
        states = self._database.states(grown)
        jobs = [self._job(file, known.get(file.name), states.get(file.name)) for file in files]
        sizes = {job.file.name: job.size for job in jobs}
        done, total = 0, sum(sizes.values())
        new: dict[str, FileFacts] = {}
        saved = time.monotonic()
        for extraction in self._run(jobs):
            path, facts, problems = extraction
            self.note(problems)
            if facts is not None and problems:  # a file with problems is read, and reported, again
                facts.state = b""
            elif facts is not None:
                new[path] = facts
            if time.monotonic() - saved >= _SAVE_SECONDS:  # an interruption loses no more than this
                self._save(new)
                saved = time.monotonic()
            done += sizes[path]
            if self.progress is not None:
                self.progress(done, total)
            yield extraction
        self._save(new)

    def _save(self, new: dict[str, FileFacts]) -> None:
        self._database.keep(new)
        for facts in new.values():
            facts.state = b""  # large, and not needed any more
        new.clear()

    def _job(self, file: SessionFile, facts: FileFacts | None, state: bytes | None) -> ExtractJob:
        seen = int(facts.stamp.split()[0]) if facts and state is not None else 0
        stamp, end = self.offered.pop(file.name, (None, None))
        end = end if stamp == file.stamp and state is not None else None
        return ExtractJob(file, state, max(file.stamp.size - seen, 0), self._database.is_kept, end)

    def _run(self, jobs: Sequence[ExtractJob]) -> Iterator[Extraction]:
        """The extractions of all jobs, in any order."""
        if not jobs:
            return iter(())
        from claude_session_player.util.workers import WorkerTask, run_jobs

        task: WorkerTask[ExtractJob, Extraction] = WorkerTask("claude_session_player.store.extract", "extract_file")
        return run_jobs(jobs, task)


def _is_current(file: SessionFile, facts: FileFacts | None) -> bool:
    return facts is not None and facts.stamp == file.version


def _has_grown(file: SessionFile, facts: FileFacts) -> bool:
    """True if the file is still the same one and longer, or if only its `.meta.json` file changed."""
    size, mtime, inode = map(int, facts.stamp.split()[:3])
    is_same = (size, mtime) == (file.stamp.size, file.stamp.mtime_ns)
    return inode == file.stamp.inode and (is_same or size < file.stamp.size)


class IndexDatabase:
    """The database in a directory; without a directory it is empty and keeps nothing."""

    def __init__(self, folder: str | None) -> None:
        self.path = os.path.join(folder, f"index-{INDEX_VERSION}.sqlite") if folder is not None else None
        self._connection: sqlite3.Connection | None = None
        self._given_up = folder is None
        self.refusal: str | None = None
        """Why the existing database is not used, if other users may have written to it."""
        self._lock = Lock()
        """Held by the thread that uses the connection."""

    @property
    def is_kept(self) -> bool:
        """True if anything can be remembered."""
        return not self._given_up

    def below(self, root: str) -> dict[str, FileFacts]:
        """The facts of all files below a directory."""
        start = os.fsencode(os.path.join(root, ""))
        return self._facts("path >= ? AND path < ?", (start, start[:-1] + bytes([start[-1] + 1])))

    def find(self, paths: Sequence[str]) -> dict[str, FileFacts]:
        """The facts of these files, as far as they are known."""
        known: dict[str, FileFacts] = {}
        for some in _chunks(paths):
            known |= self._facts(f"path IN ({_placeholders(some)})", some)
        return known

    def states(self, paths: Sequence[str]) -> dict[str, bytes]:
        """What earlier extractions of these files left behind."""
        found: dict[str, bytes] = {}
        for some in _chunks(paths):
            query = f"SELECT path, state FROM states WHERE path IN ({_placeholders(some)})"
            for path, state in self._read(query, some):
                if isinstance(path, bytes) and (content := _without_checksum(state)) is not None:
                    found[os.fsdecode(path)] = content
        return found

    def responses(self, stamps: Mapping[str, str]) -> dict[str, bytes]:
        """The responses of these files, as far as they are those of the versions that the stamps name."""
        found: dict[str, bytes] = {}
        for some in _chunks(list(stamps)):
            query = f"SELECT path, responses FROM responses WHERE path IN ({_placeholders(some)})"
            for path, data in self._read(query, some):
                if not isinstance(path, bytes) or (name := os.fsdecode(path)) not in stamps:
                    continue
                if (content := _without_checksum(data, stamps[name])) is not None:
                    found[name] = content
        return found

    def keep(self, files: Mapping[str, FileFacts]) -> None:
        """Remember files with their facts, responses and states."""
        if not files:
            return
        rows, states, responses = [], [], []
        for name, facts in files.items():
            path = os.fsencode(name)
            rows.append((path, *facts.columns, _row_checksum(path, facts)))
            states.append((path, _with_checksum(facts.state)))
            responses.append((path, _with_checksum(facts.responses or b"", facts.stamp)))
        self._write(
            ("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows),
            ("INSERT OR REPLACE INTO states VALUES (?, ?)", states),
            ("INSERT OR REPLACE INTO responses VALUES (?, ?)", responses),
        )

    def forget(self, paths: Iterable[str]) -> None:
        """Forget files."""
        if gone := [(os.fsencode(path),) for path in paths]:
            self._write(*((f"DELETE FROM {table} WHERE path = ?", gone) for table in _TABLES))

    def close(self) -> None:
        """Close the connection; the next query opens it again."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
            self._connection = None

    def _facts(self, condition: str, values: Sequence[bytes]) -> dict[str, FileFacts]:
        known = {}
        for path, *columns, checksum in self._read(_SELECT_FILES + condition, values):
            facts = FileFacts(*columns)
            if _has_sound_types(path, facts) and _row_checksum(path, facts) == checksum:
                known[os.fsdecode(path)] = facts
        return known

    def _read(self, query: str, values: Sequence[bytes]) -> list[Any]:
        import sqlite3

        with self._lock:
            if (connection := self._open()) is None:
                return []
            try:
                return connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                self._recover(error)
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
                self._recover(error)

    def _open(self) -> sqlite3.Connection | None:
        if self._connection is not None or self._given_up or self.path is None:
            return self._connection
        import sqlite3

        if (refusal := distrust_reason(self.path)) is not None:
            self.refusal, self._given_up = refusal, True
            return None
        for _ in range(2):
            try:
                self._connection = _connect(self.path)
                return self._connection
            except (sqlite3.Error, UnicodeError) as error:
                self._recover(error)
                if not self.is_kept:  # waiting for a lock once is enough
                    return None
            except OSError:
                break
        self._given_up = True
        return None

    def _recover(self, error: Exception) -> None:
        """Do without a database that is locked, read-only or queried wrongly; remove one that is damaged."""
        import sqlite3

        self._disconnect()
        if isinstance(error, sqlite3.ProgrammingError) or is_unusable_database(error):
            self._given_up = True
        elif self.path is not None and not self._given_up:
            _remove(self.path)


def _connect(path: str) -> sqlite3.Connection:
    """The database, created if there is none. Raises `OSError` or `sqlite3.Error`."""
    import sqlite3

    create_private_file(path)
    connection = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False)  # the lock sees to it
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, INDEX_VERSION):
            raise sqlite3.DatabaseError("of another version")
        connection.execute("PRAGMA synchronous = OFF")  # what is lost is extracted again
        if version == 0:
            connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
            with connection:
                connection.executescript(_SCHEMA)
                connection.execute(f"PRAGMA user_version = {INDEX_VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def _remove(path: str) -> None:
    for name in (path, f"{path}-journal", f"{path}-wal", f"{path}-shm"):
        with contextlib.suppress(OSError):
            os.remove(name)


def _row_checksum(path: bytes, facts: FileFacts) -> int:
    counted = f"{facts.inline_count}|{facts.reported}|{facts.is_helper}"
    rest = f"{facts.stamp}|{facts.started}|{facts.ended}|{counted}|{facts.project}|{facts.record}"
    return zlib.crc32(rest.encode(), zlib.crc32(facts.encoded, zlib.crc32(path)))


def _has_sound_types(path: object, facts: FileFacts) -> bool:
    """True if a row has the types that it should have; a damaged file may hold any."""
    return type(path) is bytes and type(facts.encoded) is bytes and type(facts.record) is str


def _with_checksum(content: bytes, stamp: str = "") -> bytes:
    return _checksum(content, stamp) + content


def _without_checksum(data: object, stamp: str = "") -> bytes | None:
    if not isinstance(data, bytes):
        return None
    content = data[_CHECKSUM_SIZE:]
    return content if _checksum(content, stamp) == data[:_CHECKSUM_SIZE] else None


def _checksum(content: bytes, stamp: str) -> bytes:
    return zlib.crc32(content, zlib.crc32(stamp.encode())).to_bytes(_CHECKSUM_SIZE, "big")


def _chunks(paths: Sequence[str]) -> Iterator[list[bytes]]:
    """Paths in numbers that one query can take."""
    for start in range(0, len(paths), _MAX_VALUES):
        yield [os.fsencode(path) for path in paths[start : start + _MAX_VALUES]]


def _placeholders(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
