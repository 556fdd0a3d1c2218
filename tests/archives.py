"""Archives for tests: what is on disk, and sessions put into an archive and taken out again."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import tarfile
from pathlib import Path
from typing import Any

import zstandard

from claude_session_player import Filter
from claude_session_player.archive.add import ArchiveOutcome, archive_sessions, plan_archive
from claude_session_player.archive.archive_dir import ArchiveDir
from claude_session_player.archive.pack import open_archive
from claude_session_player.archive.session_files import SessionFiles, collect_session_files
from tests.stores import ONE, StoreBuilder

Seen = dict[str, tuple[object, ...]]


def all_session_files(store: StoreBuilder) -> list[SessionFiles]:
    """The session of every session of a store, orphans included."""
    found = store.open()
    return collect_session_files(found.sessions(Filter(include_orphans=True)), found.roots).sessions


def archived(store: StoreBuilder, archive_dir: ArchiveDir) -> list[ArchiveOutcome]:
    """Put every session of a store into an archive."""
    with archive_dir.lock():
        return list(archive_sessions(archive_dir, plan_archive(archive_dir, all_session_files(store))))


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


def contents(archive: str) -> dict[str, bytes]:
    """The files of an archive, by their paths below the store."""
    with open_archive(archive) as opened:
        return {entry.path: b"".join(pieces) for entry, pieces in opened.contents() if entry.kind == "file"}


def litter(folder: Path) -> list[str]:
    """What a command should not leave behind in an archive or a store."""
    marks = (".partial", ".csp-partial", ".restore-", ".removing-", ".removed-")
    return [str(path) for path in folder.rglob("*") if any(mark in path.name for mark in marks)]


def described(path: str, content: bytes = b"", **other: Any) -> dict[str, Any]:
    """An entry of a manifest, sound unless something else is said."""
    sound = {"path": path, "kind": "file", "size": len(content), "mtime_ns": 10**18, "mode": 0o600}
    return sound | {"sha256": hashlib.sha256(content).hexdigest()} | other


def forged(path: Path, entries: list[dict[str, Any]], members: list[tuple[str, bytes]], **other: Any) -> Path:
    """An archive with any manifest and any files."""
    size = sum(entry["size"] for entry in entries if entry["kind"] == "file")
    told = {"format": 1, "program": "x", "id": ONE, "kind": "session", "main": f"projects/-p/{ONE}.jsonl", "root": "/"}
    told |= dict.fromkeys(("title", "project", "created_at", "updated_at"))
    manifest = told | {"archived_at": "2026-01-17T20:00:00.000Z", "size": size, "entries": entries} | other
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in [("manifest.json", json.dumps(manifest).encode()), *members]:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(data.getvalue()))
    return path
