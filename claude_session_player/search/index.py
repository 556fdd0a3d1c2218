"""The search index of a store: a directory in the platform's cache, with documents and a list of indexed files.

It is a convenience and never the truth: it may be deleted, damaged, locked, full or of another version at any time.
What it cannot answer for is read from the files again. Documents are committed before the list of files is, so that a
file that is listed as up to date is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
import time
from typing import TYPE_CHECKING, Final, NamedTuple

import tantivy

from claude_session_player.errors import SessionError
from claude_session_player.search.documents import is_tantivy_error, open_index, schema, to_place
from claude_session_player.search.indexed_files import IndexedFile, IndexedFiles
from claude_session_player.util.dirs import cache_dir, distrust_reason, is_unusable_database

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from claude_session_player.search.file_reader import ReadResult
    from claude_session_player.store import Progress, SessionFile

SEARCH_VERSION: Final = 3
"""Goes up whenever documents, or the rules that yield them, change."""
_FOLDER: Final = f"search-{SEARCH_VERSION}"
_LARGE: Final = 32 << 20
"""From this many bytes on, two threads index them."""
_LARGE_HEAP: Final = 120_000_000
_SMALL_HEAP: Final = 30_000_000
_COMMIT_SECONDS: Final = 10.0
"""How much work is lost if the process is killed."""
_LOCK_SECONDS: Final = 2.0
_NAME_LENGTH: Final = 16
_LEAST_FREE: Final = 1 << 20


class IndexProblem(Exception):
    """Why documents cannot be written: the index is locked by another process, the disk is full, and so on."""


class IndexStatus(NamedTuple):
    """What is known of the index of a store, without opening its session files."""

    root: str
    path: str
    files: int
    documents: int
    size: int
    """In bytes, on disk."""
    updated_at: float | None
    """When it was last updated, in seconds; `None` if there is no index."""


class Coverage(NamedTuple):
    """Which files the index answers for."""

    current: dict[int, str]
    """The names of the files that are up to date, by their numbers."""
    missing: list[SessionFile]
    """Files that have to be read."""
    reason: str = ""
    """Why files are missing; empty if there are none, or if no update was wanted."""


class SearchIndex:
    """The index of the sessions below one directory. Nothing here raises on a damaged index: it is built again."""

    def __init__(self, root: str, cache: str | None = None) -> None:
        """`cache` is the directory of all caches; the platform's unless it is given."""
        cache = cache_dir() if cache is None else cache
        self.root = root
        self.path = os.path.join(cache, _FOLDER, _folder_name(root)) if cache is not None else None
        self.refusal: str | None = None
        """Why the existing index is not used, if other users may have written to it."""
        self._indexed: IndexedFiles | None = None
        self._searcher: tantivy.Searcher | None = None

    # --- reading --------------------------------------------------------------------------------

    @property
    def searcher(self) -> tantivy.Searcher | None:
        """Searches the documents as they were last committed; `None` if there is no usable index."""
        if self._searcher is None and self._is_trusted() and os.path.exists(self._documents):
            indexed = self._open_indexed()
            if indexed is not None and indexed.has_documents(self._documents):
                self._searcher = self._open_searcher()
        return self._searcher

    def _open_searcher(self) -> tantivy.Searcher | None:
        try:
            index = tantivy.Index.open(self._documents)
            return index.searcher() if index.schema == schema() else None
        except BaseException as error:
            if not is_tantivy_error(error):
                raise
            return None

    def coverage(self, files: Sequence[SessionFile]) -> Coverage:
        """Which of some files are up to date in the index."""
        known = self._known()
        current: dict[int, str] = {}
        missing = []
        for file in files:
            row = known.get(file.name)
            if row is not None and row.version == file.version:
                current[row.number] = file.name
            else:
                missing.append(file)
        return Coverage(current, missing)

    def status(self) -> IndexStatus | None:
        """The size of the index, and when it was updated; `None` if there is none."""
        if self.path is None or (searcher := self.searcher) is None:
            return None
        known = self._known()
        entries = [os.path.join(folder, name) for folder, _, names in os.walk(self.path) for name in names]
        sizes = 0
        for path in entries:
            with contextlib.suppress(OSError):
                sizes += os.path.getsize(path)
        indexed = self._open_indexed()
        updated = indexed.updated_at if indexed is not None else None
        return IndexStatus(self.root, self.path, len(known), searcher.num_docs, sizes, updated)

    def drop(self) -> bool:
        """Delete the index; false if there was none, or if it could not be deleted."""
        self.close()
        if not self.is_there:
            return False
        shutil.rmtree(str(self.path), ignore_errors=True)
        return not self.is_there

    @property
    def is_there(self) -> bool:
        """True if there is an index, usable or not."""
        return self.path is not None and os.path.isdir(self.path)

    def close(self) -> None:
        """Close the list of files; the next question opens it again."""
        if self._indexed is not None:
            self._indexed.close()
        self._indexed = self._searcher = None

    # --- writing --------------------------------------------------------------------------------

    def update(
        self,
        files: Sequence[SessionFile],
        *,
        is_gone: Callable[[str], bool] = lambda name: True,
        unpack: Callable[[SessionFile], SessionFile] = lambda file: file,
        on_read: Callable[[SessionFile, ReadResult], None] | None = None,
        progress: Progress | None = None,
    ) -> Coverage:
        """Bring the index up to date: only what is new in files is read. What cannot be indexed is still missing then.

        `is_gone` says of an indexed file that is not among these whether it may be forgotten, `unpack` makes a file
        readable, and `on_read` is told what was read of each file. An interruption keeps what is done.
        """
        coverage = self.coverage(files)
        gone = [name for name in self._known().keys() - {file.name for file in files} if is_gone(name)]
        if not coverage.missing and not gone:
            return coverage
        try:
            with self._writing(sum(file.stamp.size for file in coverage.missing)) as update:
                missing = self.coverage(files).missing  # another process may have read some of them meanwhile
                update.forget(gone)
                update.read(missing, _agents_of(files), unpack, on_read, progress)
        except IndexProblem as problem:
            return self.coverage(files)._replace(reason=str(problem))
        finally:
            self._searcher = None
        return self.coverage(files)

    @contextlib.contextmanager
    def _writing(self, size: int) -> Iterator[_Update]:
        """An update that is committed at the end; also if it is interrupted. Raises `IndexProblem`."""
        if self.path is None:
            raise IndexProblem("there is no cache directory")
        if not self._is_trusted():
            raise IndexProblem(str(self.refusal))
        writer = None
        try:
            indexed, writer = self._open_writer(size)
            update = _Update(indexed, writer, self._documents)
            try:
                yield update
            except KeyboardInterrupt:
                update.commit()
                writer.wait_merging_threads()
                update.note_documents()
                raise
            update.commit()
            writer.wait_merging_threads()
            update.note_documents()
        except (KeyboardInterrupt, SystemExit, GeneratorExit, IndexProblem):
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and not is_tantivy_error(error):
                raise
            if isinstance(error, sqlite3.DatabaseError) and not is_unusable_database(error):
                self.drop()  # the list of files is damaged: the next update builds the index anew
            raise IndexProblem(_reason(error, self.path)) from error
        finally:
            del writer
            _make_private(self.path)

    def _open_writer(self, size: int) -> tuple[IndexedFiles, tantivy.IndexWriter]:
        """The list of files, and the writer of documents; a damaged or outdated index is deleted first."""
        assert self.path is not None
        until = time.monotonic() + _LOCK_SECONDS
        heap, threads = (_LARGE_HEAP, 2) if size >= _LARGE else (_SMALL_HEAP, 1)
        for is_last in (False, True):
            if not os.path.isdir(self._documents):
                _remove_older_versions(os.path.dirname(os.path.dirname(self.path)))
                os.makedirs(self._documents, mode=0o700, exist_ok=True)
            indexed = self._open_indexed()
            try:
                index = open_index(self._documents)
                while True:
                    try:
                        writer = index.writer(heap, threads)
                        break
                    except ValueError as error:
                        if "LockBusy" not in str(error):
                            raise IndexProblem(f"its directory cannot be written to: {self.path}") from error
                        if time.monotonic() >= until:
                            raise IndexProblem("another process is updating the index") from error
                        time.sleep(0.05)
                if indexed is None:
                    raise IndexProblem("the list of indexed files cannot be opened")
                if not (is_last or indexed.is_new or indexed.has_documents(self._documents)):
                    raise ValueError("the documents are damaged")
                return indexed, writer
            except BaseException as error:
                if is_last or isinstance(error, IndexProblem) or not is_tantivy_error(error):
                    raise
                self.drop()
        raise AssertionError

    def _known(self) -> dict[str, IndexedFile]:
        indexed = self._open_indexed() if self.searcher is not None else None
        return indexed.files() if indexed is not None else {}

    def _open_indexed(self) -> IndexedFiles | None:
        if self._indexed is None and self.path is not None and self._is_trusted() and os.path.isdir(self.path):
            self._indexed = IndexedFiles.open(os.path.join(self.path, "files.sqlite"), self.root)
        return self._indexed

    @property
    def _documents(self) -> str:
        return os.path.join(self.path or "", "documents")

    def _is_trusted(self) -> bool:
        if self.path is None:
            return False
        above = os.path.dirname(os.path.dirname(self.path))
        reasons = (
            distrust_reason(os.path.join(folder, "x")) for folder in (above, os.path.dirname(self.path), self.path)
        )
        self.refusal = next(filter(None, reasons), None)
        return self.refusal is None


class _Update:
    """Reads files into the index, and commits what was read from time to time."""

    def __init__(self, indexed: IndexedFiles, writer: tantivy.IndexWriter, documents: str) -> None:
        self._indexed = indexed
        self._writer = writer
        self._documents = documents
        self._read: list[IndexedFile] = []
        self._gone: list[str] = []
        self._committed = time.monotonic()

    def add(self, document: tantivy.Document) -> None:
        """Add a document."""
        self._writer.add_document(document)

    def forget_lines(self, file: int, *lines: tuple[int, int]) -> None:
        """Forget the documents of some lines of a file."""
        for first, last in lines:
            self._writer.delete_documents_by_query(
                tantivy.Query.range_query(
                    schema(), "place", tantivy.FieldType.Unsigned, to_place(file, first), to_place(file, last)
                )
            )

    def forget_file(self, file: int) -> None:
        """Forget the documents of a file."""
        self._writer.delete_documents_by_query(tantivy.Query.term_query(schema(), "file", file))

    def forget(self, names: Sequence[str]) -> None:
        """Forget files that are gone."""
        known = self._indexed.files()
        self._gone += [name for name in names if name in known]
        for name in self._gone:
            self.forget_file(known[name].number)

    def read(
        self,
        files: Sequence[SessionFile],
        agents: Collection[str],
        unpack: Callable[[SessionFile], SessionFile],
        on_read: Callable[[SessionFile, ReadResult], None] | None,
        progress: Progress | None,
    ) -> None:
        """Add the documents of files, the last written first."""
        from claude_session_player.search.file_reader import FileReader, decode_state, encode_state

        known = self._indexed.files()
        states = self._indexed.states([file.name for file in files if file.name in known])
        self._indexed.add_names([file.name for file in files if file.name not in known])
        numbers = self._indexed.files()
        done, total = 0, sum(file.stamp.size for file in files)
        for file in sorted(files, key=lambda file: file.stamp.mtime_ns, reverse=True):
            number = numbers[file.name].number
            state = states.get(file.name)
            try:
                reader = FileReader(unpack(file), number, self, agents)
                result = reader.read(decode_state(state) if state else None, is_known=file.name in known)
            except (OSError, SessionError):  # it cannot be read: whoever needs it says so
                continue
            self._read.append(IndexedFile(file.name, number, file.version, encode_state(result.state)))
            if on_read is not None:
                on_read(file, result)
            done += file.stamp.size
            if progress is not None:
                progress(done, total)
            if time.monotonic() - self._committed >= _COMMIT_SECONDS:
                self.commit()

    def commit(self) -> None:
        """Commit the documents, and then note which files are up to date."""
        self._writer.commit()
        self.note_documents()
        self._committed = time.monotonic()

    def note_documents(self) -> None:
        """Note which files are up to date, and what the files of the documents look like now."""
        self._indexed.keep(self._read, self._gone, self._documents)
        self._read, self._gone = [], []


def _agents_of(files: Sequence[SessionFile]) -> set[str]:
    return {file.id for file in files if file.is_agent}


def _folder_name(root: str) -> str:
    return hashlib.blake2b(os.fsencode(root), digest_size=_NAME_LENGTH // 2).hexdigest()


def _remove_older_versions(cache: str) -> None:
    """Delete search indexes of earlier versions of the program, which nothing else would."""
    for version in range(1, SEARCH_VERSION):
        shutil.rmtree(os.path.join(cache, f"search-{version}"), ignore_errors=True)


def _make_private(folder: str) -> None:
    """Let no other user read the index, although none can enter its directory anyway."""
    for place, _, names in os.walk(folder):
        for path, mode in ((place, 0o700), *((os.path.join(place, name), 0o600) for name in names)):
            with contextlib.suppress(OSError):
                if os.stat(path).st_mode & 0o777 != mode:
                    os.chmod(path, mode)


def _reason(error: BaseException, folder: str) -> str:
    """Why documents could not be written; tantivy does not say that a disk is full, so its free space is asked for."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(folder).free < _LEAST_FREE:
            return "the disk is full"
    return " ".join(str(error).split()) or type(error).__name__
