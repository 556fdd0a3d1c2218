"""Archived sessions are looked at where they are: `list`, `get`, `show` and `replay` with `--archived`."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from claude_session_player import Filter
from claude_session_player.archive import archived_store as module
from claude_session_player.archive.archive_dir import ArchiveDir
from claude_session_player.archive.archived_store import ArchivedStore
from claude_session_player.archive.pack import read_manifest
from claude_session_player.errors import BadArchive
from claude_session_player.store.layout import FileStamp, StoreWalk, session_files_among
from tests.archives import archived
from tests.program import csp
from tests.stores import AGENT, ONE, TWO, StoreBuilder


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    store = StoreBuilder(tmp_path / "store")
    store.every_layout()
    for path in store.root.rglob("*"):
        os.utime(path, (10**9, 10**9))  # nothing is in use
    return store


@pytest.fixture
def archive_dir(tmp_path: Path, store: StoreBuilder) -> ArchiveDir:
    archive_dir = ArchiveDir(tmp_path / "archive")
    archived(store, archive_dir)
    return archive_dir


def told(text: bytes, store: StoreBuilder, archive_dir: ArchiveDir) -> str:
    """An output in which neither the paths of the store nor those of the archive tell what was looked at."""
    words = text.decode().replace("get --archived ", "get ").replace(f"list{archive_dir.options}'", "list'")
    words = words.replace(f"list --root {store.root}'", "list'")
    for path in archive_dir.archive_paths():
        words = words.replace(path, "PLACE")
    return words.replace(str(store.root), "PLACE")


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "--json", "--include-subagents"],
        ["list", "--jsonl", "--title", "engine", "--sort", "size"],
        ["get", ONE, "--json"],
        ["get", ONE],
        ["get", "nest0001", "--jsonl"],
        ["get", "latest", "--no-events"],
        ["get", "ses_0001", "--json"],
        ["show", ONE, "--full"],
        ["show", TWO[:13], "--format", "json"],
        ["show", "Ask somebody"],
        ["replay", ONE, "--full"],
        ["replay", "flat0001"],
        ["replay", "latest:2"],
        ["replay", "no such session"],
        ["get", "1f2e"],
    ],
    ids=" ".join,
)
def test_what_is_archived_is_told_as_if_it_were_in_the_store(
    store: StoreBuilder, archive_dir: ArchiveDir, tmp_path: Path, arguments: list[str]
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    expected = csp(*arguments, "--root", store.root)
    shutil.rmtree(store.root)
    for _ in range(2):
        done = csp(*arguments, "--archive", archive_dir.path, TMPDIR=str(temporary))
        assert told(done.stdout, store, archive_dir) == told(expected.stdout, store, archive_dir)
        assert told(done.stderr, store, archive_dir) == told(expected.stderr, store, archive_dir)
        assert done.returncode == expected.returncode
    assert not list(temporary.iterdir())


def test_a_second_look_unpacks_nothing(
    store: StoreBuilder, archive_dir: ArchiveDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def records() -> list[Any]:
        found = ArchivedStore.from_archive_dir(archive_dir, str(tmp_path / "cache"))
        return [json.loads(session.json) for session in found.sessions(Filter(include_subagents=True))]

    first = records()
    monkeypatch.setattr(module, "_unpack_to", None)
    assert records() == first
    assert {record["detail_hint"] for record in first} >= {f"claude-session-player get --archived {ONE}"}


def test_a_session_in_an_archive_anywhere_is_named_by_its_path(
    store: StoreBuilder, archive_dir: ArchiveDir, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "copy.tar.zst"
    shutil.copy(archive_dir.archive_path(f"projects/{store.home().name}/{TWO}.jsonl"), elsewhere)
    done = csp("replay", "--archived", elsewhere)
    assert done.stdout == csp("replay", store.home() / f"{TWO}.jsonl").stdout
    assert done.returncode == 0


def test_a_damaged_archive_costs_only_itself(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    damaged = Path(archive_dir.archive_path(f"projects/{store.home().name}/{TWO}.jsonl"))
    damaged.write_bytes(damaged.read_bytes()[:-30])
    done = csp("list", "--jsonl", "--archive", archive_dir.path)
    assert TWO not in [json.loads(line)["id"] for line in done.stdout.splitlines()]
    assert len(done.stdout.splitlines()) == 3
    assert str(damaged) in done.stderr.decode()
    assert done.returncode == 0


@pytest.mark.parametrize("size", [100, -40])
@pytest.mark.parametrize("command", ["show", "get", "replay"])
def test_a_damaged_archive_is_named_to_whoever_asks_for_it(
    store: StoreBuilder, archive_dir: ArchiveDir, command: str, size: int
) -> None:
    damaged = Path(archive_dir.archive_path(f"projects/{store.home().name}/{TWO}.jsonl"))
    damaged.write_bytes(damaged.read_bytes()[:size])
    done = csp(command, TWO[:13], "--archive", archive_dir.path)
    assert done.returncode == 10
    assert done.stderr.decode().splitlines()[-1].count(str(damaged)) == 1


def test_half_of_a_damaged_archive_is_never_taken_for_the_whole(
    store: StoreBuilder, archive_dir: ArchiveDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (store.home() / TWO).mkdir()
    (store.home() / TWO / "large").write_bytes(os.urandom(1 << 20))
    archived(store, archive_dir)
    damaged = Path(archive_dir.archive_path(f"projects/{store.home().name}/{TWO}.jsonl"))
    damaged.write_bytes(damaged.read_bytes()[: 700 << 10])
    assert read_manifest(str(damaged)).id == TWO
    found = ArchivedStore.from_archive_dir(archive_dir, None)
    for _ in range(2):
        with pytest.raises(BadArchive):
            found.locate(TWO)
    assert not list(temporary.iterdir())


def test_who_looks_for_what_is_not_archived_is_told_where_to_look(archive_dir: ArchiveDir) -> None:
    done = csp("show", "zzzzzzzz", "--archive", archive_dir.path)
    assert done.returncode == 7
    assert f"see 'claude-session-player list --archive {archive_dir.path}'" in " ".join(done.stderr.decode().split())
    done = csp("restore", "zzzzzzzz", "--archive", archive_dir.path)
    assert f"archive list --archive {archive_dir.path}'" in " ".join(done.stderr.decode().split())


def test_nothing_of_what_is_archived_is_in_use(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    with (store.home() / f"{ONE}.jsonl").open("ab") as file:
        file.write(b"{}\n")
    archived(store, archive_dir)
    assert not any(session.in_use for session in ArchivedStore.from_archive_dir(archive_dir, None).sessions())


def test_the_newest_version_is_the_one_that_is_shown(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session(prompt="Begin anew")
    archived(store, archive_dir)
    (session,) = [one for one in ArchivedStore.from_archive_dir(archive_dir, None).sessions() if one.id == ONE]
    assert session.title == "Begin anew"


def test_a_store_and_the_archive_at_once_are_too_much(archive_dir: ArchiveDir, store: StoreBuilder) -> None:
    done = csp("list", "--archived", "--root", store.root)
    assert done.returncode == 2
    assert b"--root" in done.stderr


def test_a_chain_needs_a_store(archive_dir: ArchiveDir) -> None:
    done = csp("show", ONE, "--chain", "--archive", archive_dir.path)
    assert done.returncode == 2
    assert b"restore" in done.stderr


def test_an_empty_archive_is_said_and_so_is_one_that_is_not_there(tmp_path: Path) -> None:
    for arguments in (["--archive", tmp_path], ["--archived"]):
        done = csp("list", *arguments, XDG_DATA_HOME=str(tmp_path / "data"))
        assert (done.returncode, done.stdout) == (0, b"")
        assert b"No sessions in" in done.stderr
    done = csp("list", "--archive", tmp_path / "none")
    assert (done.returncode, done.stdout) == (3, b"")


def test_files_are_known_by_their_paths_as_a_walk_knows_them(store: StoreBuilder) -> None:
    store.meta(store.home() / f"agent-{AGENT}.jsonl", agentType="Explore")
    store.agent(AGENT)
    store.agent("deep0001", place="subagents/agent-nest0001/subagents/.hidden")
    store.agent("deep0002", place="subagents/agent-nest0001/subagents")
    (store.home() / ONE / "other.jsonl").write_text("{}\n")
    walked = {file.path: file._replace(device=0) for file in StoreWalk().store(str(store.root))}
    stamps = {}
    for path in store.root.rglob("*"):
        status = path.stat()
        stamps[str(path.relative_to(store.root))] = FileStamp(status.st_size, status.st_mtime_ns, status.st_ino)
    assert {file.path: file for file in session_files_among(str(store.root), stamps)} == walked
