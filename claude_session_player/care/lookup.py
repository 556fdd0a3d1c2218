"""References to archived sessions: the words by which people name one, and the one that they mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from claude_session_player.care.manifest import ARCHIVE
from claude_session_player.care.vault import Archived, Vault, read
from claude_session_player.errors import Ambiguous, BadArchive, CannotRead, NoSuchSession
from claude_session_player.names import PROGRAM
from claude_session_player.store.record import shown
from claude_session_player.store.refs import SHORTEST
from claude_session_player.text import cut

_MANY: Final = 10
_TITLE: Final = 60


def newest(archives: Sequence[Archived]) -> list[Archived]:
    """Of each session the newest archive, in the given order."""
    last = {archived.manifest.main: archived for archived in archives}
    return [archived for archived in archives if last[archived.manifest.main] is archived]


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
    for trouble in vault.troubles:
        if len(ref) >= SHORTEST and os.path.basename(trouble.path).startswith(ref):
            raise BadArchive(f"{shown(trouble.path)}: {trouble.reason}")
    raise NoSuchSession(
        f"there is no session {ref!r} in the archive {shown(vault.folder)}: see '{PROGRAM} archive list'"
    )


def at(path: str) -> Archived:
    """The archive in a file. Raises `CannotRead` or `BadArchive`."""
    try:
        return read(os.path.abspath(path))
    except OSError as error:
        raise CannotRead(f"{shown(path)}: {error.strerror or error}") from error


def _rules(ref: str) -> Iterator[Callable[[Archived], bool]]:
    """From the strictest to the loosest."""
    word = " ".join(ref.split()).casefold()
    yield lambda archived: ref in (archived.manifest.id, shown(archived.manifest.id))
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
        *(f"{shown(m.path)}  {cut(m.manifest.title or '(no title)', _TITLE)}" for m in matches[:_MANY]),
        *([f"… and {len(matches) - _MANY} more"] if len(matches) > _MANY else []),
    )
