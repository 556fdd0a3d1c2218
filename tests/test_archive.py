"""Archiving: what is kept, what is kept again, and that nothing is ever lost."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from claude_session_player.archive import add, pack
from claude_session_player.archive.add import CHANGED, GROWN, NEW, READS_PER_SESSION, SKIPPED, UNCHANGED
from claude_session_player.archive.archive_dir import PARTIAL_NAME, ArchiveDir
from claude_session_player.archive.pack import archive_trailer, check_archive, read_manifest
from claude_session_player.archive.session_files import SESSION_OVERHEAD
from claude_session_player.errors import BadArchive, CannotWrite, SessionError
from tests.archives import all_session_files, archived, litter, seen
from tests.stores import ONE, TWO, StoreBuilder, touch


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


@pytest.fixture
def archive_dir(tmp_path: Path) -> ArchiveDir:
    return ArchiveDir(tmp_path / "archive")


def statuses(store: StoreBuilder, archive_dir: ArchiveDir) -> list[str]:
    return [outcome.status for outcome in archived(store, archive_dir)]


def only_archive(archive_dir: ArchiveDir) -> str:
    (path,) = archive_dir.archive_paths()
    return path


def test_every_kind_of_session_is_kept_where_it_is_looked_for(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.every_layout()
    before = seen(store.root)
    assert set(statuses(store, archive_dir)) == {NEW}
    places = {os.path.relpath(path, archive_dir.path) for path in archive_dir.archive_paths()}
    home = store.home().name
    assert f"{home}/{ONE}.tar.zst" in places
    assert "transcripts/ses_0001.tar.zst" in places
    assert f"pre-compact-session-histories/{ONE}-2026-01-17.tar.zst" in places
    assert seen(store.root) == before


@pytest.mark.skipif(shutil.which("tar") is None or shutil.which("zstd") is None, reason="needs tar and zstd")
def test_an_archive_can_be_opened_without_this_program(
    store: StoreBuilder, archive_dir: ArchiveDir, tmp_path: Path
) -> None:
    store.session()
    archived(store, archive_dir)
    subprocess.run(["zstd", "--quiet", "--test", only_archive(archive_dir)], check=True)
    subprocess.run(["tar", "--zstd", "-xf", only_archive(archive_dir), "-C", tmp_path], check=True)
    copy = tmp_path / "files" / "projects" / store.home().name / f"{ONE}.jsonl"
    assert copy.read_bytes() == (store.home() / f"{ONE}.jsonl").read_bytes()
    assert b'"format": 1' in (tmp_path / "manifest.json").read_bytes()


def test_what_did_not_change_is_not_even_read(
    store: StoreBuilder, archive_dir: ArchiveDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.every_layout()
    archived(store, archive_dir)
    monkeypatch.setattr(add, "compute_checksums", None)
    assert set(statuses(store, archive_dir)) == {UNCHANGED}


def test_a_session_that_grew_replaces_its_archive(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    main = store.session()
    archived(store, archive_dir)
    with main.open("ab") as file:
        file.write(b'{"type": "mode"}\n')
    store.agent(place="subagents")
    assert statuses(store, archive_dir) == [GROWN]
    assert check_archive(only_archive(archive_dir)).entries[0].size == main.stat().st_size


def test_a_session_that_lost_something_is_kept_in_both_versions(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    main = store.session()
    archived(store, archive_dir)
    main.write_bytes(main.read_bytes()[:-20] + b"something else")
    assert statuses(store, archive_dir) == [CHANGED]
    assert statuses(store, archive_dir) == [UNCHANGED]
    names = sorted(os.path.basename(path) for path in archive_dir.archive_paths())
    assert names == [f"{ONE}.2.tar.zst", f"{ONE}.tar.zst"]
    newest = archive_dir.newest(all_session_files(store)[0].main)
    assert newest is not None
    assert newest.version == 2


def test_half_of_an_archived_session_needs_no_archive(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    agent = store.agent()
    archived(store, archive_dir)
    agent.unlink()
    assert statuses(store, archive_dir) == [UNCHANGED]


def test_a_new_time_alone_makes_no_second_version(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    touch(store.session())
    archived(store, archive_dir)
    touch(store.home() / f"{ONE}.jsonl")
    assert statuses(store, archive_dir) == [GROWN]
    assert statuses(store, archive_dir) == [UNCHANGED]
    assert len(list(archive_dir.archive_paths())) == 1


def test_a_file_of_the_same_size_and_another_time_is_not_taken_for_the_same(
    store: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    main = store.session()
    archived(store, archive_dir)
    main.write_bytes(main.read_bytes().replace(b"engine", b"ENGINE"))
    touch(main)
    assert statuses(store, archive_dir) == [CHANGED]


def test_what_is_kept_has_the_time_that_the_session_has_now(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    main = store.session()
    archived(store, archive_dir)
    touch(main, 5)
    (session,) = all_session_files(store)
    with archive_dir.lock():
        path = add.archive_session(archive_dir, session).path
    assert path is not None
    assert read_manifest(path).entries[0].mtime_ns == main.stat().st_mtime_ns


def test_an_archive_that_was_cut_off_is_written_anew(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "large").write_bytes(os.urandom(1 << 20))
    archived(store, archive_dir)
    path = Path(only_archive(archive_dir))
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) - len(archive_trailer(0)), 300 << 10):
        path.write_bytes(whole[:size])
        assert statuses(store, archive_dir) == [GROWN]
        check_archive(only_archive(archive_dir))
        assert statuses(store, archive_dir) == [UNCHANGED]


def test_damage_in_the_middle_is_found_and_mended_where_all_is_checked(
    store: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    store.session()
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "large").write_bytes(os.urandom(1 << 20))
    archived(store, archive_dir)
    path = Path(only_archive(archive_dir))
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    assert statuses(store, archive_dir) == [UNCHANGED]
    for status in (GROWN, UNCHANGED):
        with archive_dir.lock():
            steps = add.plan_archive(archive_dir, all_session_files(store), verify=True)
            assert [outcome.status for outcome in add.archive_sessions(archive_dir, steps)] == [status]
    check_archive(only_archive(archive_dir))


def test_a_name_that_is_too_long_for_an_archive_hinders_only_its_session(
    store: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    store.session()
    store.session("x" * 248)
    outcomes = {outcome.session.id: outcome for outcome in archived(store, archive_dir)}
    assert outcomes[ONE].status == NEW
    assert "would be too long" in (outcomes["x" * 248].reason or "")
    assert not litter(Path(archive_dir.path))


def test_a_name_that_only_just_fits_is_no_hindrance(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session("x" * 245)
    assert statuses(store, archive_dir) == [NEW]


def test_a_file_in_the_way_of_a_project_hinders_only_its_sessions(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    store.session(TWO, cwd="/home/ada/kettle")
    Path(archive_dir.path).mkdir()
    (Path(archive_dir.path) / store.home().name).write_text("x")
    outcomes = {outcome.session.id: outcome for outcome in archived(store, archive_dir)}
    assert outcomes[TWO].status == NEW
    assert "in the way" in (outcomes[ONE].reason or "")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_what_hinders_every_session_stops_the_whole(
    store: StoreBuilder, archive_dir: ArchiveDir, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def hindered(*arguments: Any) -> None:
        raise OSError(number, os.strerror(number))

    store.session()
    monkeypatch.setattr(add, "pack_session", hindered)
    with pytest.raises(CannotWrite):
        archived(store, archive_dir)


def test_each_session_counts_in_the_progress_however_small_it_is(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    main = store.session()
    told: list[int] = []
    with archive_dir.lock():
        list(add.archive_sessions(archive_dir, add.plan_archive(archive_dir, all_session_files(store)), told.append))
    assert sum(told) == READS_PER_SESSION * main.stat().st_size + SESSION_OVERHEAD


def test_an_archive_is_on_disk_before_it_is_in_its_place_and_its_place_afterwards(
    store: StoreBuilder, archive_dir: ArchiveDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(handle: int) -> None:
        happened.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def noted_replace(source: str, target: str) -> None:
        happened.append("replace")
        replace(source, target)

    store.session()
    archived(store, archive_dir)
    touch(store.home() / f"{ONE}.jsonl")
    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    archived(store, archive_dir)
    assert happened == ["file", "replace", "folder"]


def test_keeping_finds_a_damaged_archive_and_makes_it_anew(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "large").write_bytes(os.urandom(1 << 20))
    archived(store, archive_dir)
    path = Path(only_archive(archive_dir))
    damaged = bytearray(path.read_bytes())
    damaged[-20] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(BadArchive):
        check_archive(str(path))
    (session,) = all_session_files(store)
    with archive_dir.lock():
        assert add.archive_session(archive_dir, session).status == GROWN
    check_archive(only_archive(archive_dir))


def test_an_unreadable_archive_is_left_alone_and_named(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    archived(store, archive_dir)
    path = Path(only_archive(archive_dir))
    path.write_bytes(b"no archive")
    assert statuses(store, archive_dir) == [NEW]
    assert path.read_bytes() == b"no archive"
    assert [trouble.path for trouble in archive_dir.problems] == [str(path)]


@pytest.mark.parametrize("moment", ["pack_session", "check_archive"])
def test_a_session_that_changes_while_it_is_archived_is_skipped_and_named(
    store: StoreBuilder, archive_dir: ArchiveDir, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    main = store.session()
    real = getattr(add, moment)

    def meanwhile(*arguments: Any) -> Any:
        with main.open("ab") as file:
            file.write(b"{}\n")
        return real(*arguments)

    monkeypatch.setattr(add, moment, meanwhile)
    (outcome,) = archived(store, archive_dir)
    assert outcome.status == SKIPPED
    assert "change" in (outcome.reason or "")
    assert not list(archive_dir.archive_paths())
    assert not litter(Path(archive_dir.path))


def test_a_file_that_is_rewritten_without_a_trace_is_noticed(
    store: StoreBuilder, archive_dir: ArchiveDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = store.session()
    real = pack._open_item

    def meanwhile(*arguments: Any) -> Any:
        if list(Path(archive_dir.path).rglob(PARTIAL_NAME)):
            status = main.stat()
            main.write_bytes(b"x" * status.st_size)
            os.utime(main, ns=(status.st_atime_ns, status.st_mtime_ns))
        return real(*arguments)

    monkeypatch.setattr(pack, "_open_item", meanwhile)
    assert [outcome.status for outcome in archived(store, archive_dir)] == [SKIPPED]


@pytest.mark.parametrize("name", ["back\\slash", ".hidden", "two words", "$(id)", "caf\xe9"])
def test_a_session_that_could_not_be_restored_is_not_kept(
    store: StoreBuilder, archive_dir: ArchiveDir, name: str
) -> None:
    store.session()
    store.session(TWO)
    (store.home() / ONE).mkdir()
    (store.home() / ONE / name).write_text("x")
    outcomes = {outcome.session.id: outcome for outcome in archived(store, archive_dir)}
    assert outcomes[TWO].status == NEW
    assert outcomes[ONE].status == SKIPPED
    assert "move it away" in (outcomes[ONE].reason or "")


def test_a_session_with_a_link_is_not_kept(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "link").symlink_to("tool-results")
    (outcome,) = archived(store, archive_dir)
    assert "symbolic link" in (outcome.reason or "")


def test_a_long_title_is_kept_short(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    (session,) = all_session_files(store)
    with archive_dir.lock():
        path = add.archive_session(archive_dir, session._replace(title="x" * 10**7, project="/" * 10**7)).path
    assert path is not None
    made = read_manifest(path)
    assert len(made.title or "") == len(made.project or "") == 1001


def test_only_one_writes_to_an_archive_at_a_time(archive_dir: ArchiveDir) -> None:
    with archive_dir.lock(), pytest.raises(CannotWrite, match="another"), ArchiveDir(archive_dir.path).lock():
        pass


def test_what_a_killed_run_left_behind_is_taken_away(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    archived(store, archive_dir)
    left = Path(only_archive(archive_dir)).parent / PARTIAL_NAME
    left.write_bytes(b"half")
    archived(store, archive_dir)
    assert not left.exists()


def test_partial_files_of_others_are_left_alone(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    archived(store, archive_dir)
    mine = Path(only_archive(archive_dir) + ".partial")
    mine.write_bytes(b"a download")
    archived(store, archive_dir)
    assert mine.read_bytes() == b"a download"


def test_an_archive_inside_of_a_store_is_refused(store: StoreBuilder, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(store.root)
    for folder in (store.root, store.root / "archive", link / "archive"):
        with pytest.raises(CannotWrite, match="inside of the store"):
            ArchiveDir(folder).require_outside([str(store.root)])
        with pytest.raises(CannotWrite, match="inside of the store"):
            ArchiveDir(folder).require_outside([str(link)])
    ArchiveDir(tmp_path / "store-archive").require_outside([str(store.root)])


def test_only_the_beginning_of_an_archive_is_read_for_its_manifest(
    store: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    store.session()
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "large").write_bytes(os.urandom(1 << 20))
    archived(store, archive_dir)
    path = Path(only_archive(archive_dir))
    path.write_bytes(path.read_bytes()[: 300 << 10])
    assert read_manifest(str(path)).id == ONE
    with pytest.raises(BadArchive, match="truncated"):
        check_archive(str(path))


def test_an_archive_that_was_not_seen_is_not_overwritten(
    store: StoreBuilder, archive_dir: ArchiveDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.session()
    (outcome,) = archived(store, archive_dir)
    assert outcome.path is not None
    path.write_bytes(b"something else\n")
    before = Path(outcome.path).read_bytes()
    monkeypatch.setattr(ArchiveDir, "versions", lambda self, main: [])
    monkeypatch.setattr(ArchiveDir, "next_path", lambda self, main: outcome.path)
    with contextlib.suppress(SessionError):
        archived(store, archive_dir)
    assert Path(outcome.path).read_bytes() == before
