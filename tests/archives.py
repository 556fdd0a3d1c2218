"""Archives for tests: what is on disk, and sessions put into an archive and taken out again."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from claude_session_player import Filter
from claude_session_player.care.archive import Outcome, apply, plan
from claude_session_player.care.bundles import Bundle, bundles_of
from claude_session_player.care.vault import Vault
from tests.stores import StoreBuilder

Seen = dict[str, tuple[object, ...]]


def bundles(store: StoreBuilder) -> list[Bundle]:
    """The bundle of every session of a store, orphans included."""
    found = store.open()
    return bundles_of(found.sessions(Filter(include_orphans=True)), found.roots).bundles


def archived(store: StoreBuilder, vault: Vault) -> list[Outcome]:
    """Put every session of a store into an archive."""
    with vault.locked():
        return list(apply(vault, plan(vault, bundles(store))))


def seen(folder: Path) -> Seen:
    """Everything below a directory, byte for byte, with the times of files."""
    everything: Seen = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        name = os.fsencode(path.relative_to(folder)).decode("utf-8", "backslashreplace")
        if stat.S_ISLNK(status.st_mode):
            everything[name] = ("link", os.readlink(path))
        elif stat.S_ISDIR(status.st_mode):
            everything[name] = ("folder",)
        elif stat.S_ISREG(status.st_mode):
            everything[name] = ("file", path.read_bytes(), status.st_mtime_ns)
    return everything


def litter(folder: Path) -> list[str]:
    """What a command should not leave behind in an archive or a store."""
    marks = (".partial", ".restoring-", ".removing-", ".removed-")
    return [str(path) for path in folder.rglob("*") if any(mark in path.name for mark in marks)]
