"""The archive directory: versions of a session, sessions of several stores, and which of them is meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claude_session_player.archive import add, restore
from claude_session_player.archive.add import CHANGED, NEW, UNCHANGED
from claude_session_player.archive.archive_dir import (
    ArchiveDir,
    find_archived,
    newest_versions,
    open_archive_dir,
    other_versions,
)
from claude_session_player.errors import CannotRead, CannotWrite
from tests.archives import all_session_files, archived, described, forged, seen
from tests.stores import ONE, StoreBuilder

MAIN = "projects/-p/1f2e.jsonl"


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


@pytest.fixture
def other(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "other")


@pytest.fixture
def archive_dir(tmp_path: Path) -> ArchiveDir:
    return ArchiveDir(tmp_path / "archive")


def orphaned(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    """Two versions of a session: whole, and what is left of it after Claude Code deleted its own file."""
    main, agent = store.session(), store.agent()
    archived(store, archive_dir)
    main.unlink()
    agent.write_bytes(agent.read_bytes().replace(b"Nothing there", b"Something new"))
    assert [outcome.status for outcome in archived(store, archive_dir)] == [CHANGED]


def test_what_is_left_of_a_session_does_not_hide_the_session(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    orphaned(store, archive_dir)
    assert find_archived(archive_dir, ONE).version == 1
    assert [one.version for one in newest_versions(archive_dir.archives())] == [1]
    assert [step.archived.version for step in restore.plan_restore_all(archive_dir.archives(), "/x")] == [1]


def test_other_versions_are_known_by_the_files_that_only_they_have(
    store: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    orphaned(store, archive_dir)
    first, second = archive_dir.archives()
    assert other_versions([first], [first, second]) == [(second, 1)]
    assert other_versions([second], [first, second]) == [(first, 2)]
    assert other_versions([first, second], [first, second]) == []


def test_sessions_of_two_stores_with_the_same_path_are_kept_side_by_side(
    store: StoreBuilder, other: StoreBuilder, archive_dir: ArchiveDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.session()
    other.session(prompt="Something else")
    assert [archived(one, archive_dir)[0].status for one in (store, other)] == [NEW, NEW]
    monkeypatch.setattr(add, "compute_checksums", None)  # nor is anything read again
    for _ in range(3):
        assert [archived(one, archive_dir)[0].status for one in (store, other)] == [UNCHANGED, UNCHANGED]
    assert len(list(archive_dir.archive_paths())) == 2


def test_a_copy_that_went_on_does_not_replace_what_the_other_store_has(
    store: StoreBuilder, other: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    store.session()
    archived(store, archive_dir)
    with other.session().open("ab") as file:
        file.write(b'{"type": "mode"}\n')
    archived(other, archive_dir)
    assert sorted(one.manifest.root for one in archive_dir.archives()) == sorted([str(store.root), str(other.root)])


def test_sessions_of_two_stores_go_back_each_to_its_own(
    store: StoreBuilder, other: StoreBuilder, archive_dir: ArchiveDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one, prompt in ((store, "Start the engine"), (other, "Something else")):
        one.session(prompt=prompt)
        archived(one, archive_dir)
    before = [seen(one.root) for one in (store, other)]
    for one in (store, other):
        (one.home() / f"{ONE}.jsonl").unlink()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{store.root},{other.root}")
    outcomes = list(restore.restore_sessions(restore.plan_restore_all(archive_dir.archives())))
    assert [outcome.status for outcome in outcomes] == [restore.RESTORED] * 2
    assert [seen(one.root) for one in (store, other)] == before


def test_into_one_store_goes_what_comes_from_it(
    store: StoreBuilder, other: StoreBuilder, archive_dir: ArchiveDir
) -> None:
    store.session()
    archived(store, archive_dir)
    other.session(prompt="Something else")
    archived(other, archive_dir)
    for root, version in ((store.root, 1), (other.root, 2), ("/elsewhere", 2)):
        assert [step.archived.version for step in restore.plan_restore_all(archive_dir.archives(), str(root))] == [
            version
        ]


def test_a_version_never_takes_the_place_of_another(store: StoreBuilder, archive_dir: ArchiveDir) -> None:
    for prompt in ("One", "Two", "Three"):
        store.session(prompt=prompt)
        archived(store, archive_dir)
    main = all_session_files(store)[0].main
    os.remove(archive_dir.archive_path(main, 2))
    assert archive_dir.next_path(main) == archive_dir.archive_path(main, 4)


def test_an_archive_that_is_called_like_that_of_another_session_is_none_of_it(archive_dir: ArchiveDir) -> None:
    other = "projects/-p/1f2e.2.jsonl"
    place = Path(archive_dir.archive_path(other))
    assert str(place) == archive_dir.archive_path(MAIN, 2)
    forged(place, [described(other, b"{}")], [(f"files/{other}", b"{}")], main=other, id="1f2e.2")
    assert archive_dir.versions(MAIN) == []
    assert [one.manifest.id for one in archive_dir.versions(other)] == ["1f2e.2"]
    assert archive_dir.next_path(MAIN) == archive_dir.archive_path(MAIN, 3)


def test_a_directory_that_may_not_be_read_costs_only_itself(
    store: StoreBuilder, archive_dir: ArchiveDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.session()
    locked = os.path.join(archive_dir.path, "lost+found")
    os.makedirs(locked)
    real = os.listdir

    def listed(path: str) -> list[str]:
        if path == locked:
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "listdir", listed)
    assert [outcome.status for outcome in archived(store, archive_dir)] == [NEW]
    assert len(archive_dir.archives()) == 1
    assert [trouble.path for trouble in archive_dir.problems] == [locked]


def test_a_file_is_no_place_for_archives(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(CannotWrite, match="is not a directory"), ArchiveDir(file).lock():
        pass
    with pytest.raises(CannotRead, match="is not a directory"):
        open_archive_dir(str(file))
