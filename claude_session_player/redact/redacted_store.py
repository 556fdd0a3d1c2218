"""Redacted copies of sessions as a store: everything that is read of a session is read from its copy.

What leaves the house is made from a copy, so that no way out has to be guarded by itself: titles, markers of
recordings, diffs, rebuilt files and whatever comes later hold what the copy holds.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.errors import CannotRead
from claude_session_player.redact.session_copy import SourceFile, copy_redacted, learn_file
from claude_session_player.store import (
    FILE_HISTORY_DIR,
    HISTORIES_DIR,
    MAX_DEPTH,
    META_SUFFIX,
    PROJECTS_DIR,
    SESSION_SUFFIX,
    TRANSCRIPTS_DIR,
    InUse,
    KnownFiles,
    SessionFile,
    SessionKind,
    Store,
    StoreIndex,
    encode_project_path,
    session_file_at,
)
from claude_session_player.util.fsutil import describe_os_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.redact.redactor import Redactor
    from claude_session_player.store import Session, UseEvidence

_DIRS: Final = {SessionKind.TRANSCRIPT: TRANSCRIPTS_DIR, SessionKind.PRE_COMPACT: HISTORIES_DIR}


class _Home(NamedTuple):
    """Where the files of a session are, where their copies are, and what the place is called."""

    original: str
    copy: str
    name: str


class RedactedStore(Store):
    """Copies of sessions in a directory, made when they are asked for. The directory has to be deleted by its owner."""

    def __init__(self, directory: str, redactor: Redactor, progress: Callable[[int], None] | None = None) -> None:
        self._index_of_copies = _CopyIndex()
        super().__init__((directory,), self._index_of_copies)
        self._directory = directory
        self._redactor = redactor
        self._progress = progress
        self._homes: dict[str, _Home] = {}
        self._in_use: dict[str, bool] = {}
        self.unread: list[str] = []
        """Lines and files that could not be read, and are in no copy."""

    def learn_all(self, sessions: Iterable[Session]) -> None:
        """Learn what several sessions say: what one says is masked in all others, whichever is copied first.

        What cannot be read is told when it is copied.
        """
        for head in {session.head.path: session.head for session in sessions}.values():
            if head.path not in self._homes:
                for path in dict.fromkeys(session_paths(head)):
                    with suppress(OSError, CannotRead):
                        learn_file(_source(path, head), self._redactor)

    def copy_of(self, session: Session) -> Session:
        """The redacted copy of a session, with everything beside it. Raises `CannotRead`."""
        head = session.head
        home = self._homes.get(head.path) or self._copy(head)
        file = session.file
        copied = self.session_of(self.file_at(_moved(file.path, home, self._redactor)))
        if not session.is_inline:
            return copied
        return next(child for child in copied.inline_subagents if child.id == session.id)

    def copy_of_file(self, path: str, name: str) -> SessionFile:
        """The redacted copy of a file alone, as it is by its path; nothing of what is beside it."""
        home = _Home(os.path.dirname(path), os.path.join(self._directory, "files"), os.path.dirname(name))
        self._redactor.learn(os.path.abspath(path))
        source = SourceFile(path, os.path.basename(path))
        try:
            copy_redacted([source], self._redactor, lambda one: _moved(one.path, home, self._redactor), self._progress)
        except OSError as error:
            raise CannotRead(describe_os_error(error, name)) from error
        copy = session_file_at(_moved(path, home, self._redactor))
        return copy._replace(label=self._redactor.masked(name), is_copy=True)

    def file_at(self, path: str | os.PathLike[str]) -> SessionFile:
        """What a copy is by its path."""
        return self._index_of_copies.labelled(super().file_at(path))

    def look_for_use(self) -> InUse:
        """A copy is in use if its original is."""
        return _UseOfOriginals(self._in_use)

    def _copy(self, head: Session) -> _Home:
        file = head.file
        folder = _DIRS.get(SessionKind(file.kind)) or os.path.join(PROJECTS_DIR, str(len(self._homes)))
        home = _Home(file.home, os.path.join(self._directory, folder), file.name_of(file.home))
        self._redactor.learn(home.name)
        sources = [_source(path, head) for path in dict.fromkeys(session_paths(head))]
        backups = {source.path: target for source, target in self._backups(head)}
        sources += [
            SourceFile(path, head.id, os.path.relpath(target, self._directory)) for path, target in backups.items()
        ]

        def target_of(source: SourceFile) -> str:
            return backups.get(source.path) or _moved(source.path, home, self._redactor)

        try:
            self.unread += copy_redacted(sources, self._redactor, target_of, self._progress).unread
        except OSError as error:
            raise CannotRead(describe_os_error(error, head.path)) from error
        if folder.startswith(PROJECTS_DIR):
            home = self._named(head, home)
        self._homes[head.path] = home
        self._index_of_copies.homes.append(home._replace(name=self._redactor.masked(home.name)))
        for part in (head, *head.parts):
            self._in_use[_moved(part.path, home, self._redactor)] = head.tree.in_use(part.file)
        return home

    def _named(self, head: Session, home: _Home) -> _Home:
        """Give the directory of a project the name of its masked path, which is known only now."""
        project = self._redactor.masked(head.project or "")
        name = encode_project_path(project) if project else self._redactor.masked(os.path.basename(home.original))
        copy = os.path.join(self._directory, PROJECTS_DIR, name)
        if os.path.lexists(copy):  # another session of the same project
            copy = os.path.join(self._directory, PROJECTS_DIR, f"{name}-{len(self._homes)}")
        os.rename(home.copy, copy)
        return home._replace(copy=copy)

    def _backups(self, head: Session) -> Iterator[tuple[SourceFile, str]]:
        """The copies of files that Claude Code made before it changed them, and where theirs are."""
        above = os.path.dirname(os.path.dirname(head.file.home))
        for path in files_below(os.path.join(above, FILE_HISTORY_DIR, head.session_id or head.id)):
            relative = os.path.relpath(path, above)
            yield SourceFile(path, head.id, relative), os.path.join(self._directory, relative)


def _source(path: str, head: Session) -> SourceFile:
    return SourceFile(path, head.id, "" if path == head.path else os.path.relpath(path, head.file.home))


def session_paths(head: Session) -> Iterator[str]:
    """The regular files of a session: its own first, then sub-agents and their descriptions, then outputs."""
    yield head.path
    for file in head.files:
        if file.path != head.path:
            yield file.path
        if file.meta is not None:
            yield file.meta.path
        elif os.path.isfile(meta := file.path.removesuffix(SESSION_SUFFIX) + META_SUFFIX):
            yield meta
    if not head.file.is_agent and head.path.endswith(SESSION_SUFFIX):
        yield from files_below(head.file.own_dir)


def files_below(folder: str, depth: int = 0) -> Iterator[str]:
    """The regular files in a directory and below it, by name; links are not followed."""
    try:
        with os.scandir(folder) as entries:
            by_name = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in by_name:
        if entry.is_dir(follow_symlinks=False):
            if depth < MAX_DEPTH:
                yield from files_below(entry.path, depth + 1)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def _moved(path: str, home: _Home, redactor: Redactor) -> str:
    """Where the copy of a file is: its directories and its name are masked as well."""
    relative = os.path.relpath(path, home.original)
    return os.path.join(home.copy, *(redactor.masked(part) for part in relative.split(os.sep)))


class _CopyIndex(StoreIndex):
    """What is known of copies; they are called what their originals are called, as far as that may be said."""

    def __init__(self) -> None:
        super().__init__(None)
        self.homes: list[_Home] = []

    def files(self, roots: Sequence[str]) -> list[SessionFile]:
        return [self.labelled(file) for file in super().files(roots)]

    def lookup(self, files: Sequence[SessionFile]) -> KnownFiles:
        return super().lookup([self.labelled(file) for file in files])

    def labelled(self, file: SessionFile) -> SessionFile:
        """A copy with the masked name of its original."""
        if file.label:
            return file
        for home in self.homes:
            if file.path.startswith(os.path.join(home.copy, "")):
                return file._replace(label=home.name + file.path.removeprefix(home.copy), is_copy=True)
        return file


class _UseOfOriginals(InUse):
    """Whether the originals of copies were in use when they were found."""

    def __init__(self, known: dict[str, bool]) -> None:
        super().__init__((), now=0)
        self._known = known

    def __call__(self, file: SessionFile) -> bool:
        return self._known.get(file.path, False)

    def evidence(self, paths: Iterable[str]) -> list[UseEvidence]:
        return []

    def renew(self) -> InUse:
        return self
