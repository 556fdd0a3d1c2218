"""References to archived sessions: the words by which people name one, and the one that they mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from claude_session_player.care.manifest import ARCHIVE
from claude_session_player.care.vault import Archived, Vault, read
from claude_session_player.errors import Ambiguous, BadArchive, CannotRead, NoSuchSession
from claude_session_player.names import PROGRAM
from claude_session_player.store.layout import Trouble
from claude_session_player.store.refs import SHORTEST
from claude_session_player.text import cut, display_path

_MANY: Final = 10
_TITLE: Final = 60


def newest(archives: Sequence[Archived]) -> list[Archived]:
    """Of each session the version that was archived last and has its own file, else the last; in the given order."""
    in_time = sorted(archives, key=lambda archived: (has_main(archived), archived.manifest.archived_at))
    last = {archived.manifest.main: archived for archived in in_time}
    return [archived for archived in archives if last[archived.manifest.main] is archived]


def has_main(archived: Archived) -> bool:
    """True where the session's own file is in its archive; sub-agents may have been all that was left."""
    return any(entry.path == archived.manifest.main for entry in archived.manifest.entries)


def others(chosen: Sequence[Archived], archives: Iterable[Archived]) -> list[tuple[Archived, int]]:
    """Other versions of chosen sessions that have files which these have not, or not so; with how many."""
    paths = {archived.path for archived in chosen}
    had: dict[str, set[tuple[str, str]]] = {}
    for archived in chosen:
        had.setdefault(archived.manifest.main, set()).update(_states(archived))
    counted = [
        (other, len(_states(other) - had[other.manifest.main]))
        for other in archives
        if other.manifest.main in had and other.path not in paths
    ]
    return [(other, count) for other, count in counted if count]


def _states(archived: Archived) -> set[tuple[str, str]]:
    return {(entry.path, entry.sha256) for entry in archived.manifest.files}


def find(vault: Vault, ref: str) -> Archived:
    """The archive that is meant by a path, an id or its beginning, or a title: of several versions the newest.

    Raises `NoSuchSession`, `Ambiguous`, `CannotRead`, or `BadArchive` where the one that is meant is damaged.
    """
    if ref.endswith(ARCHIVE):
        return at(ref)
    archives = newest(vault.everything())
    for rule in _rules(ref):
        if matches := [archived for archived in archives if rule(archived)]:
            return _only(ref, matches)
    if (damage := damaged(vault.troubles, ref)) is not None:
        raise damage
    raise NoSuchSession(
        f"there is no session {ref!r} in the archive {display_path(vault.folder)}: see '{PROGRAM} archive list'"
    )


def damaged(troubles: Iterable[Trouble], ref: str) -> BadArchive | None:
    """What is to be said where a reference means an archive that could not be read."""
    for trouble in troubles:
        if len(ref) >= SHORTEST and os.path.basename(trouble.path).startswith(ref):
            return BadArchive(f"{display_path(trouble.path)}: {trouble.reason}")
    return None


def at(path: str) -> Archived:
    """The archive in a file. Raises `CannotRead` or `BadArchive`."""
    try:
        return read(os.path.abspath(path))
    except OSError as error:
        raise CannotRead(f"{display_path(path)}: {error.strerror or error}") from error


def _rules(ref: str) -> Iterator[Callable[[Archived], bool]]:
    """From the strictest to the loosest."""
    word = " ".join(ref.split()).casefold()
    yield lambda archived: ref in (archived.manifest.id, display_path(archived.manifest.id))
    if len(ref) >= SHORTEST:
        yield lambda archived: archived.manifest.id.casefold().startswith(ref.casefold())
    yield lambda archived: (archived.manifest.title or "").casefold() == word
    if len(word) >= SHORTEST:
        yield lambda archived: (archived.manifest.title or "").casefold().startswith(word)


def _only(ref: str, matches: Sequence[Archived]) -> Archived:
    if len(matches) == 1:
        return matches[0]
    raise Ambiguous(
        f"{ref!r} fits {len(matches)} archived sessions: name one by its id, or by the path of its archive",
        *(f"{display_path(m.path)}  {cut(m.manifest.title or '(no title)', _TITLE)}" for m in matches[:_MANY]),
        *([f"… and {len(matches) - _MANY} more"] if len(matches) > _MANY else []),
    )
