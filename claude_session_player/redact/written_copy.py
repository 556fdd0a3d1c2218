"""Writes a redacted copy of a session to where a user wants it: complete or not at all, and never into a store."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from claude_session_player.errors import AlreadyThere, CannotRead, CannotWrite
from claude_session_player.redact.redacted_store import session_paths
from claude_session_player.redact.session_copy import SourceFile, copy_redacted
from claude_session_player.store import META_SUFFIX, SESSION_SUFFIX, enclosing_store
from claude_session_player.util.fsutil import describe_os_error, link_into_place, private_directory
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.redact.redactor import Redactor
    from claude_session_player.store import Session


class WrittenCopy(NamedTuple):
    """What was written."""

    path: str
    """The session's own file."""
    files: int
    unread: list[str]
    """Lines and files that could not be read, and are not in the copy."""


def write_copy(
    session: Session,
    target: str,
    redactor: Redactor,
    *,
    may_replace: bool = False,
    progress: Callable[[int], None] | None = None,
) -> WrittenCopy:
    """Write a redacted copy of a session, or of a sub-agent, with everything beside it.

    A target that exists, or has no suffix, is a directory, in which the copy has the masked name of the original; any
    other is the file. Files appear only when all are complete, the session's own last; before, nothing is left of them.
    Raises `CannotRead`, `AlreadyThere` or `CannotWrite`.
    """
    own = session.file
    is_directory = os.path.isdir(target) or target.endswith(os.sep) or not os.path.splitext(target)[1]
    folder = os.path.abspath(target if is_directory else os.path.dirname(target) or os.curdir)
    redactor.learn(os.path.basename(own.path))

    def main() -> str:
        """Where the session's own file goes; a name that the user chose is kept."""
        return os.path.join(target, redactor.masked(os.path.basename(own.path))) if is_directory else target

    _refuse_places(main(), folder, session)
    if not may_replace:
        _refuse_existing((main(),))  # before anything is read; all others are looked at when they are known
    sources = list(_sources(session))
    places: dict[SourceFile, str] = {}

    def place_of(source: SourceFile) -> str:
        """The path of a copy below the directory; it is asked for when everything is learned."""
        if source not in places:
            places[source] = os.path.relpath(_place(source, own.path, main(), redactor), folder)
        return places[source]

    try:
        with _new_directories(folder), private_directory(".redact-", folder) as work:
            outcome = copy_redacted(sources, redactor, lambda source: os.path.join(work, place_of(source)), progress)
            paths = [path for path in map(place_of, sources) if os.path.lexists(os.path.join(work, path))]
            if not may_replace:
                _refuse_existing(os.path.join(folder, path) for path in paths)
            _put(work, folder, paths[::-1], may_replace=may_replace)
    except FileExistsError as error:
        raise AlreadyThere(
            f"{display_path(error.filename2 or main())} was created by another program meanwhile"
        ) from error
    except OSError as error:
        kind = CannotRead if error.filename == own.path else CannotWrite
        raise kind(describe_os_error(error, main())) from error
    return WrittenCopy(main(), len(paths), outcome.unread)


@contextmanager
def _new_directories(folder: str) -> Iterator[None]:
    """Make a directory and those above it; what was made is removed again if anything fails."""
    missing: list[str] = []
    path = folder
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        yield
    except BaseException:
        for path in missing:
            with suppress(OSError):  # it is not empty: someone else uses it
                os.rmdir(path)
        raise


def _sources(session: Session) -> Iterator[SourceFile]:
    """What is copied: everything of a session; of a sub-agent, its own file and those of the sub-agents below it."""
    if session.is_subagent:
        paths = [path for part in session.parts for path in (part.path, _description(part.path)) if path]
    else:
        paths = list(session_paths(session))
    for path in dict.fromkeys(paths):
        name = "" if path == session.path else os.path.relpath(path, session.file.home)
        yield SourceFile(path, session.id, name)


def _description(path: str) -> str | None:
    meta = path.removesuffix(SESSION_SUFFIX) + META_SUFFIX
    return meta if os.path.isfile(meta) else None


def _place(source: SourceFile, original: str, main: str, redactor: Redactor) -> str:
    """Where the copy of a file belongs: beside the session's own, in a directory that is named like it."""
    if not source.name:
        return main
    above, own_dir = os.path.dirname(original), original.removesuffix(SESSION_SUFFIX)
    if source.path.startswith(os.path.join(own_dir, "")):
        base, relative = os.path.splitext(main)[0], os.path.relpath(source.path, own_dir)
    else:
        base, relative = os.path.dirname(main), os.path.relpath(source.path, above)
    parts = [part for part in relative.split(os.sep) if part != os.pardir]
    return os.path.join(base, *map(redactor.masked, parts))


def _refuse_places(main: str, folder: str, session: Session) -> None:
    """Refuse to write over the original, or into a store."""
    if os.path.realpath(main) == os.path.realpath(session.path):
        raise CannotWrite(f"{display_path(main)} is the session itself: name another file or directory")
    place = os.path.realpath(folder)
    for root in {enclosing_store(session.file.home), enclosing_store(place)}:
        if root is not None and os.path.join(place, "").startswith(os.path.join(os.path.realpath(root), "")):
            raise CannotWrite(f"{display_path(main)} is in a Claude store: name a place outside of it")
    if os.path.isdir(main):
        raise CannotWrite(f"{display_path(main)} is a directory: name a file")


def _refuse_existing(paths: Iterable[str]) -> None:
    for path in paths:
        if os.path.lexists(path):
            raise AlreadyThere(f"{display_path(path)} already exists")


def _put(work: str, folder: str, paths: Sequence[str], *, may_replace: bool) -> None:
    """Move files into place; what was moved is removed again if one of them cannot be."""
    done: list[str] = []
    with ExitStack() as stack:
        for inner in sorted({os.path.dirname(os.path.join(folder, path)) for path in paths}):
            stack.enter_context(_new_directories(inner))
        try:
            for path in paths:
                target = os.path.join(folder, path)
                if may_replace:
                    os.replace(os.path.join(work, path), target)
                else:
                    link_into_place(os.path.join(work, path), target)
                    done.append(target)
        except BaseException:
            for target in done:
                os.unlink(target)
            raise
