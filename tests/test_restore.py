"""Restoring: byte for byte, nothing is overwritten, and no archive can do harm."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from claude_session_player.archive import directories, locks
from claude_session_player.archive.archive_dir import ArchiveDir
from claude_session_player.archive.directories import OpenDirectory
from claude_session_player.archive.restore import (
    PRESENT,
    RESTORED,
    SKIPPED,
    STAGING_PREFIX,
    is_due_for_cleanup,
    plan_restore,
    restore_session,
    restore_sessions,
)
from claude_session_player.archive.session_files import SESSION_OVERHEAD, SessionRefused
from claude_session_player.errors import BadArchive, CannotWrite, NoStore
from claude_session_player.util.text import display_path
from tests.archives import all_session_files, archived, described, forged, litter, seen
from tests.stores import ONE, THREE, StoreBuilder

MAIN = f"projects/-p/{ONE}.jsonl"


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


@pytest.fixture
def archive_dir(tmp_path: Path) -> ArchiveDir:
    return ArchiveDir(tmp_path / "archive")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target"


def restored(archive_dir: ArchiveDir, target: Path) -> list[str]:
    return [outcome.status for outcome in restore_sessions(plan_restore(archive_dir.archives(), str(target)))]


def assert_same(target: Path, store: StoreBuilder) -> None:
    """In the target is what belongs to sessions of the store, and nothing else but the directories above it."""
    names = {display_path(item.path) for session in all_session_files(store) for item in session.items}
    there = seen(target)
    assert {name for name, what in there.items() if what != ("folder",)} <= names <= there.keys()
    before = seen(store.root)
    assert {name: there[name] for name in names} == {name: before[name] for name in names}


def test_everything_comes_back_byte_for_byte_with_its_times(
    store: StoreBuilder, archive_dir: ArchiveDir, target: Path
) -> None:
    store.every_layout()
    store.agent("orphan01", THREE, place="subagents")
    own = store.home() / ONE
    (own / "empty").mkdir()
    (own / "tool-results" / "mcp-server-tool-1700000000000.bin").write_bytes(b"\0\xff")
    os.utime(own / "empty", ns=(1, 1_234_567_890_123_456_789))
    os.utime(own, ns=(1, 1_134_567_890_123_456_789))
    archived(store, archive_dir)
    assert set(restored(archive_dir, target)) == {RESTORED}
    assert_same(target, store)
    for folder in (f"projects/{store.home().name}/{ONE}", f"projects/{store.home().name}/{ONE}/empty"):
        assert (target / folder).stat().st_mtime_ns == (store.root / folder).stat().st_mtime_ns
    assert not litter(target)


def test_what_is_there_already_is_left_alone(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.every_layout()
    archived(store, archive_dir)
    before = seen(store.root)
    assert set(restored(archive_dir, store.root)) == {PRESENT}
    assert seen(store.root) == before


def test_what_is_missing_of_a_session_comes_back(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.every_layout()
    archived(store, archive_dir)
    before = seen(store.root)
    (store.home() / ONE / "tool-results" / "toolu_9.txt").unlink()
    (store.home() / "agent-flat0001.jsonl").unlink()
    assert restored(archive_dir, store.root).count(RESTORED) == 1
    assert seen(store.root) == before


@pytest.mark.parametrize("other", ["content", "folder", "link"])
def test_nothing_is_overwritten_and_nothing_of_such_a_session_is_written(
    store: StoreBuilder, archive_dir: ArchiveDir, target: Path, other: str
) -> None:
    store.session()
    store.agent()
    archived(store, archive_dir)
    in_the_way = target / "projects" / store.home().name / f"agent-{'a5b6c7d8'}.jsonl"
    in_the_way.parent.mkdir(parents=True)
    if other == "content":
        in_the_way.write_text("other")
    elif other == "folder":
        in_the_way.mkdir()
    else:
        in_the_way.symlink_to(store.home() / in_the_way.name)
    before = seen(target)
    (outcome,) = restore_sessions(plan_restore(archive_dir.archives(), str(target)))
    assert outcome.status == SKIPPED
    assert "is not overwritten" in str(outcome.error)
    assert seen(target) == before


def test_a_file_that_appears_meanwhile_is_not_overwritten(
    store: StoreBuilder, archive_dir: ArchiveDir, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.session()
    archived(store, archive_dir)
    main = target / "projects" / store.home().name / f"{ONE}.jsonl"
    real = os.link

    def meanwhile(*arguments: Any, **named: Any) -> None:
        main.write_text("mine")
        real(*arguments, **named)

    monkeypatch.setattr(os, "link", meanwhile)
    assert restored(archive_dir, target) == [SKIPPED]
    assert main.read_text() == "mine"
    assert not litter(target)


def test_a_file_system_without_links_will_do(
    store: StoreBuilder, archive_dir: ArchiveDir, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*arguments: Any, **named: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    store.session()
    archived(store, archive_dir)
    monkeypatch.setattr(os, "link", no_links)
    assert restored(archive_dir, target) == [RESTORED]
    assert_same(target, store)


def test_a_project_that_leads_out_of_the_store_is_refused(
    store: StoreBuilder, archive_dir: ArchiveDir, target: Path, tmp_path: Path
) -> None:
    store.session()
    archived(store, archive_dir)
    (tmp_path / "elsewhere").mkdir()
    (target / "projects").mkdir(parents=True)
    (target / "projects" / store.home().name).symlink_to(tmp_path / "elsewhere")
    assert restored(archive_dir, target) == [SKIPPED]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_of_several_stores_a_session_goes_to_its_own(
    store: StoreBuilder, archive_dir: ArchiveDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.session()
    archived(store, archive_dir)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{tmp_path}/other,{store.root}")
    assert [step.root for step in plan_restore(archive_dir.archives())] == [str(store.root)]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{tmp_path}/other,{tmp_path}/another")
    with pytest.raises(NoStore, match="--root"):
        plan_restore(archive_dir.archives())
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    assert [step.root for step in plan_restore(archive_dir.archives())] == [os.path.expanduser("~/.claude")]


def test_a_session_is_restored_by_one_at_a_time(store: StoreBuilder, archive_dir: ArchiveDir, target: Path) -> None:
    store.session()
    store.session(THREE)
    archived(store, archive_dir)
    staging = target / "projects" / store.home().name / f"{STAGING_PREFIX}{ONE}"
    staging.mkdir(parents=True)
    (staging / "0").write_text("of somebody else")
    handle = os.open(staging, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    outcomes = {
        outcome.archived.manifest.id: outcome
        for outcome in restore_sessions(plan_restore(archive_dir.archives(), str(target)))
    }
    assert outcomes[THREE].status == RESTORED
    assert "is restoring it" in str(outcomes[ONE].error)
    assert (staging / "0").read_text() == "of somebody else"
    os.close(handle)
    assert sorted(restored(archive_dir, target)) == [PRESENT, RESTORED]
    assert not litter(target)


def test_what_a_killed_run_left_behind_is_taken_away(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    store.session()
    archived(store, archive_dir)
    (store.home() / f"{STAGING_PREFIX}{ONE}").mkdir()
    (store.home() / f"{STAGING_PREFIX}{ONE}" / "0").write_text("half")
    assert restored(archive_dir, store.root) == [PRESENT]
    assert not litter(store.root)


def test_a_directory_that_was_taken_away_meanwhile_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "place"

    def meanwhile(handle: int) -> None:
        place.rmdir()
        place.mkdir()

    monkeypatch.setattr(locks, "lock_handle", meanwhile)
    with pytest.raises(BlockingIOError), OpenDirectory.at(str(tmp_path)) as home, locks.reserve_dir(home, "place"):
        pass
    assert place.exists()


def test_directories_get_their_permissions_back(store: StoreBuilder, archive_dir: ArchiveDir, target: Path) -> None:
    store.session()
    own = store.home() / ONE
    own.mkdir()
    for name, mode in (("open", 0o755), ("closed", 0o500)):
        (own / name).mkdir()
        (own / name).chmod(mode)
    archived(store, archive_dir)
    restored(archive_dir, target)
    there = target / "projects" / store.home().name / ONE
    assert [stat.S_IMODE((there / name).stat().st_mode) for name in ("open", "closed")] == [0o755, 0o700]


def test_a_file_is_on_disk_with_its_time_and_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[int, int, int]] = []
    real = os.fsync

    def noted(handle: int) -> None:
        status = os.fstat(handle)
        synced.append((status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode)))
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    with OpenDirectory.at(str(tmp_path)) as folder:
        directories.write_new_file(folder, "x", [b"ab", b"c"], 10**18, 0o640)
    assert synced == [(3, 10**18, 0o640)]
    assert (tmp_path / "x").stat().st_mtime_ns == 10**18


def test_each_session_counts_in_the_progress_however_small_it_is(
    store: StoreBuilder, archive_dir: ArchiveDir, target: Path
) -> None:
    main = store.session()
    archived(store, archive_dir)
    told: list[int] = []
    list(restore_sessions(plan_restore(archive_dir.archives(), str(target)), told.append))
    assert sum(told) == main.stat().st_size + SESSION_OVERHEAD


def test_a_session_that_claude_code_will_delete_again_is_known(
    store: StoreBuilder, archive_dir: ArchiveDir, target: Path
) -> None:
    main = store.session()
    os.utime(main, (10**9, 10**9))
    archived(store, archive_dir)
    manifest = archive_dir.archives()[0].manifest
    assert is_due_for_cleanup(manifest, str(target))
    target.mkdir()
    (target / "settings.json").write_text('{"cleanupPeriodDays": 99999}')
    assert not is_due_for_cleanup(manifest, str(target))


# --- archives that are not what they should be ----------------------------------------------------


def refused(path: Path, target: Path, error: type[Exception] = BadArchive) -> str:
    with pytest.raises(error) as caught:
        restore_session(str(path), str(target))
    assert not target.exists() or not [one for one in target.rglob("*") if not one.is_dir()]
    assert not litter(target)
    return str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../x.jsonl",
        "projects/../../x",
        "projects/-p/../../../x",
        "projects//x.jsonl",
        "projects/./x/y",
        f"projects/-p/{ONE}/..",
        "projects\\-p\\x",
        f"projects/-p/{ONE}/C:x",
        f"projects/-p/{ONE}/nul\0",
        "settings.json",
        "projects/settings.json",
        "memories/x.json",
        "",
        "projects/-p/other.jsonl",
        "projects/-p/todo.jsonl",
        "projects/-q/agent-x.jsonl",
    ],
)
def test_a_path_that_belongs_to_no_session_is_refused(tmp_path: Path, target: Path, path: str) -> None:
    entries = [described(MAIN, b"{}"), described(path, b"evil")]
    forgery = forged(tmp_path / "a" / "x.tar.zst", entries, [(f"files/{MAIN}", b"{}"), (f"files/{path}", b"evil")])
    refused(forgery, target)


@pytest.mark.parametrize(
    "main", [f"../{ONE}.jsonl", f"{ONE}.jsonl", f"projects/-p/deep/{ONE}.jsonl", "projects/-p/9999.jsonl"]
)
def test_a_session_where_none_belongs_is_refused(tmp_path: Path, target: Path, main: str) -> None:
    forgery = forged(tmp_path / "x.tar.zst", [described(main, b"{}")], [(f"files/{main}", b"{}")], main=main)
    refused(forgery, target)


@pytest.mark.parametrize("name", ["memory", "todo.jsonl", ONE, f"{ONE}.json", "journal.jsonl"])
def test_a_session_in_a_file_that_cannot_be_one_is_refused(tmp_path: Path, target: Path, name: str) -> None:
    main, id = f"projects/-p/{name}", name.removesuffix(".jsonl")
    forgery = forged(tmp_path / "x.tar.zst", [described(main, b"{}")], [(f"files/{main}", b"{}")], main=main, id=id)
    assert "where none belongs" in refused(forgery, target)


def test_no_archive_brings_memories_along(tmp_path: Path, target: Path) -> None:
    main, memory = "projects/-p/memory.jsonl", "projects/-p/memory/MEMORY.md"
    folder = described("projects/-p/memory", kind="folder", sha256="")
    entries = [described(main, b"{}"), folder, described(memory, b"evil")]
    members = [(f"files/{main}", b"{}"), (f"files/{memory}", b"evil")]
    forgery = forged(tmp_path / "x.tar.zst", entries, members, main=main, id="memory")
    assert "is not a file of the session" in refused(forgery, target)


def test_a_member_that_the_manifest_does_not_name_is_refused(tmp_path: Path, target: Path) -> None:
    members = [(f"files/{MAIN}", b"{}"), ("files/../../evil", b"x")]
    assert "does not name" in refused(forged(tmp_path / "x.tar.zst", [described(MAIN, b"{}")], members), target)


def test_a_path_that_is_named_twice_is_refused(tmp_path: Path, target: Path) -> None:
    entries = [described(MAIN, b"{}"), described(MAIN, b"{}")]
    assert "twice" in refused(forged(tmp_path / "x.tar.zst", entries, [(f"files/{MAIN}", b"{}")] * 2), target)


def test_other_bytes_than_the_manifest_says_are_refused(tmp_path: Path, target: Path) -> None:
    forgery = forged(tmp_path / "x.tar.zst", [described(MAIN, b"{}")], [(f"files/{MAIN}", b"[]")])
    assert "checksum" in refused(forgery, target)
    refused(forged(tmp_path / "y.tar.zst", [described(MAIN, b"{}")], [(f"files/{MAIN}", b"{}{}")]), target)
    refused(forged(tmp_path / "z.tar.zst", [described(MAIN, b"{}")], []), target)


@pytest.mark.parametrize("to", ["/etc/passwd", "../../../../etc/passwd", "..", "", "subagents"])
def test_a_link_is_refused_wherever_it_leads(tmp_path: Path, target: Path, to: str) -> None:
    folder = described(f"projects/-p/{ONE}", kind="folder", sha256="")
    link = described(f"projects/-p/{ONE}/link", kind="link", sha256="", target=to)
    assert "symbolic link" in refused(forged(tmp_path / "x.tar.zst", [folder, link], []), target)


def test_a_link_that_is_the_parent_of_a_file_is_refused(tmp_path: Path, target: Path) -> None:
    folder = described(f"projects/-p/{ONE}", kind="folder", sha256="")
    link = described(f"projects/-p/{ONE}/a", kind="link", sha256="", target="b")
    inside = described(f"projects/-p/{ONE}/a/evil", b"x")
    refused(forged(tmp_path / "x.tar.zst", [folder, link, inside], []), target)


def test_more_bytes_than_the_manifest_says_are_never_unpacked(tmp_path: Path, target: Path) -> None:
    bomb = [(f"files/{MAIN}", b"{}"), ("files/zeros", bytes(64 << 20))]
    refused(forged(tmp_path / "x.tar.zst", [described(MAIN, b"{}")], bomb), target)


def test_an_archive_of_a_newer_version_says_so(tmp_path: Path, target: Path) -> None:
    assert "newer version" in refused(forged(tmp_path / "x.tar.zst", [], [], format=2), target)


@pytest.mark.parametrize("data", [b"", b"hello", b"\x28\xb5\x2f\xfd", bytes(1000)])
def test_what_is_no_archive_is_refused(tmp_path: Path, target: Path, data: bytes) -> None:
    (tmp_path / "x.tar.zst").write_bytes(data)
    refused(tmp_path / "x.tar.zst", target)


def test_permissions_come_back_without_special_bits(tmp_path: Path, target: Path) -> None:
    refused(forged(tmp_path / "x.tar.zst", [described(MAIN, b"{}", mode=0o4755)], [(f"files/{MAIN}", b"{}")]), target)
    restore_session(
        str(forged(tmp_path / "y.tar.zst", [described(MAIN, b"{}")], [(f"files/{MAIN}", b"{}")])), str(target)
    )
    assert stat.S_IMODE((target / MAIN).stat().st_mode) == 0o600


def test_a_store_that_cannot_be_written_to_is_said(
    store: StoreBuilder, archive_dir: ArchiveDir, tmp_path: Path
) -> None:
    store.session()
    archived(store, archive_dir)
    (tmp_path / "file").write_text("x")
    with pytest.raises((CannotWrite, SessionRefused)):
        restore_session(next(archive_dir.archive_paths()), str(tmp_path / "file"))


def test_a_directory_that_is_there_already_keeps_its_mode(
    store: StoreBuilder, archive_dir: ArchiveDir, target: Path
) -> None:
    store.session(ONE)
    store.agent(place="subagents")
    (store.home() / ONE).chmod(0o755)
    archived(store, archive_dir)
    own = target / "projects" / store.home().name / ONE
    own.mkdir(parents=True, mode=0o700)
    assert restored(archive_dir, target) == [RESTORED]
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
