"""Nothing is lost: killed at any moment, on a full disk, without the right to write."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claude_session_player.archive.archive_dir import ArchiveDir
from claude_session_player.archive.pack import check_archive, read_manifest
from claude_session_player.archive.restore import restore_session
from tests.archives import Seen, all_session_files, archived, litter, seen
from tests.disks import disk, read_only
from tests.faults import Scenario, survives
from tests.program import PROGRAM, csp
from tests.stores import ONE, THREE, TWO, Opened, StoreBuilder

STORE, ARCHIVE, TARGET = "store", "archive", "target"
LARGE = 1 << 20


def build(world: Path) -> StoreBuilder:
    """A store with a session that has everything, and one that takes a while."""
    store = StoreBuilder(world / STORE)
    store.every_layout()
    store.session(THREE)
    (store.home() / THREE / "deep").mkdir(parents=True)
    (store.home() / THREE / "deep" / "large").write_bytes(os.urandom(LARGE))
    return store


def without_archive(world: Path) -> None:
    build(world)


def with_archive(world: Path) -> None:
    archived(build(world), ArchiveDir(world / ARCHIVE))


def grown(world: Path) -> None:
    """An archive, and a store in which one session grew since then, and one was written anew."""
    with_archive(world)
    store = Opened(world / STORE)
    with (store.home() / f"{ONE}.jsonl").open("ab") as file:
        file.write(b'{"type": "mode"}\n')
    store.session(TWO, "Something else")
    with (store.home() / THREE / "deep" / "large").open("ab") as file:
        file.write(os.urandom(LARGE))


def half_restored(world: Path) -> None:
    """An archive, and a store in which half of the sessions is there."""
    with_archive(world)
    (world / TARGET / "projects").mkdir(parents=True)
    for path in list(ArchiveDir(world / ARCHIVE).archive_paths())[::2]:
        restore_session(path, str(world / TARGET))


def archive(world: Path) -> list[str | Path]:
    return ["archive", "--all", "--no-cache", "--root", world / STORE, "--archive", world / ARCHIVE]


def restore(world: Path) -> list[str | Path]:
    return ["restore", "--all", "--archive", world / ARCHIVE, "--root", world / TARGET]


def kept(world: Path) -> dict[str, set[str]]:
    """The checksums of everything in the archive that is sound, by session."""
    sums: dict[str, set[str]] = {}
    for path in ArchiveDir(world / ARCHIVE).archive_paths():
        manifest = check_archive(path)
        sums.setdefault(manifest.main, set()).update(entry.path + entry.sha256 for entry in manifest.entries)
    return sums


def nothing_is_lost(world: Path, before: Path) -> None:
    """The store is as it was; every archive is whole; and none holds less than before."""
    assert seen(world / STORE) == seen(before / STORE)
    now = kept(world)
    for main, sums in kept(before).items():
        grew = ("large", f"{ONE}.jsonl")  # what these files were is the beginning of what they are
        assert {one for one in sums if not one[:-64].endswith(grew)} <= now[main]


def all_is_archived(world: Path, before: Path) -> None:
    nothing_is_lost(world, before)
    archive_dir = ArchiveDir(world / ARCHIVE)
    for session in all_session_files(Opened(world / STORE)):
        newest = archive_dir.newest(session.main)
        assert newest is not None
        sizes = {entry.path: (entry.size, entry.mtime_ns) for entry in newest.manifest.files}
        assert sizes == {item.path: (item.size, item.mtime_ns) for item in session.files}
    assert not litter(world)


def visible(world: Path) -> Seen:
    """What a store shows; hidden directories are nobody's sessions."""
    found = seen(world / TARGET)
    return {name: what for name, what in found.items() if not any(part.startswith(".r") for part in name.split("/"))}


def sessions_are_whole(world: Path, before: Path) -> None:
    """The archive is as it was, nothing is half or wrong in the store, and what can be seen as a session is whole."""
    assert seen(world / ARCHIVE) == seen(before / ARCHIVE)
    there, origin = visible(world), seen(before / STORE)
    assert {name: origin[name] for name in there if there[name] != ("folder",)} == {
        name: what for name, what in there.items() if what != ("folder",)
    }
    for path in ArchiveDir(world / ARCHIVE).archive_paths():
        manifest = read_manifest(path)
        if manifest.main in there:
            assert {entry.path for entry in manifest.entries} <= there.keys()


def all_is_restored(world: Path, before: Path) -> None:
    sessions_are_whole(world, before)
    manifests = [read_manifest(path) for path in ArchiveDir(world / ARCHIVE).archive_paths()]
    assert {entry.path for manifest in manifests for entry in manifest.entries} <= visible(world).keys()
    for manifest in manifests:
        for entry in manifest.entries:
            assert (world / TARGET / entry.path).lstat().st_mtime_ns == entry.mtime_ns or entry.kind == "link"
    assert not litter(world)


SCENARIOS = {
    "archive a store": Scenario(without_archive, archive, nothing_is_lost, all_is_archived),
    "archive it again": Scenario(grown, archive, nothing_is_lost, all_is_archived),
    "restore everything": Scenario(with_archive, restore, sessions_are_whole, all_is_restored),
    "restore the other half": Scenario(half_restored, restore, sessions_are_whole, all_is_restored),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_any_moment_nothing_is_lost_and_the_same_command_finishes(name: str, tmp_path: Path) -> None:
    survives(SCENARIOS[name], tmp_path)


# --- disks ----------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk that is full soon."""
    with disk(tmp_path / "disk", "400k") as place:
        yield place


def is_one_line(stderr: bytes) -> bool:
    """What is said last is the one line of an error."""
    return stderr.decode().splitlines()[-1].startswith("claude-session-player: ") and b"Traceback" not in stderr


def test_on_a_full_disk_nothing_half_is_archived(tmp_path: Path, small_disk: Path) -> None:
    build(tmp_path)
    before = seen(tmp_path / STORE)
    done = csp("archive", "--all", "--no-cache", "--root", tmp_path / STORE, "--archive", small_disk / ARCHIVE)
    assert done.returncode == 5
    assert is_one_line(done.stderr)
    assert seen(tmp_path / STORE) == before
    assert not litter(small_disk)
    for path in ArchiveDir(small_disk / ARCHIVE).archive_paths():
        check_archive(path)


def test_on_a_full_disk_nothing_half_is_restored(tmp_path: Path, small_disk: Path) -> None:
    with_archive(tmp_path)
    done = csp("restore", "--all", "--archive", tmp_path / ARCHIVE, "--root", small_disk / TARGET)
    assert done.returncode == 1  # what fits is restored
    assert b"not enough space" in done.stderr
    assert not litter(small_disk)
    assert not list(small_disk.rglob(f"{THREE}*"))


@pytest.mark.parametrize("command", [archive, restore])
def test_files_that_may_not_grow_are_said_in_one_line(
    tmp_path: Path, command: Callable[[Path], list[str | Path]]
) -> None:
    with_archive(tmp_path)
    if command is archive:
        shutil.rmtree(tmp_path / ARCHIVE)
    limit = 100_000
    done = subprocess.run(
        [*PROGRAM, *map(str, command(tmp_path))],
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == (5 if command is archive else 1)  # restoring goes on with what is smaller
    assert b"File too large" in done.stderr
    assert b"Traceback" not in done.stderr
    assert not litter(tmp_path)


def test_an_archive_that_cannot_be_written_to_is_said_in_one_line(tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / "file").write_text("x")
    done = csp("archive", "--all", "--root", tmp_path / STORE, "--archive", tmp_path / "file" / ARCHIVE)
    assert done.returncode == 5
    assert is_one_line(done.stderr)


def test_a_read_only_disk_is_said_in_one_line(tmp_path: Path, small_disk: Path) -> None:
    build(tmp_path)
    archived(Opened(tmp_path / STORE), ArchiveDir(tmp_path / ARCHIVE))
    commands: list[list[str | Path]] = [
        ["archive", "--all", "--root", tmp_path / STORE, "--archive", small_disk / ARCHIVE],
        ["restore", "--all", "--archive", tmp_path / ARCHIVE, "--root", small_disk / TARGET],
    ]
    with read_only(small_disk):
        runs = [csp(*arguments) for arguments in commands]
    assert [done.returncode for done in runs] == [5, 5]
    assert all(is_one_line(done.stderr) for done in runs)
