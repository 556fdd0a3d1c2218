"""Archiving: what is kept, what is kept again, and that nothing is ever lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from claude_session_player.care import archive, packing
from claude_session_player.care.archive import CHANGED, GROWN, NEW, SKIPPED, UNCHANGED
from claude_session_player.care.unpacking import check, read_manifest
from claude_session_player.care.vault import Vault
from claude_session_player.errors import BadArchive, CannotWrite
from tests.archives import archived, bundles, litter, seen
from tests.stores import ONE, StoreBuilder, touch


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "archive")


def statuses(store: StoreBuilder, vault: Vault) -> list[str]:
    return [outcome.status for outcome in archived(store, vault)]


def only_archive(vault: Vault) -> str:
    (path,) = vault.files()
    return path


def test_every_kind_of_session_is_kept_where_it_is_looked_for(store: StoreBuilder, vault: Vault) -> None:
    store.every_layout()
    before = seen(store.root)
    assert set(statuses(store, vault)) == {NEW}
    places = {os.path.relpath(path, vault.folder) for path in vault.files()}
    home = store.home().name
    assert f"{home}/{ONE}.tar.zst" in places
    assert "transcripts/ses_0001.tar.zst" in places
    assert f"pre-compact-session-histories/{ONE}-2026-01-17.tar.zst" in places
    assert seen(store.root) == before


@pytest.mark.skipif(shutil.which("tar") is None or shutil.which("zstd") is None, reason="needs tar and zstd")
def test_an_archive_can_be_opened_without_this_program(store: StoreBuilder, vault: Vault, tmp_path: Path) -> None:
    store.session()
    archived(store, vault)
    subprocess.run(["tar", "--zstd", "-xf", only_archive(vault), "-C", tmp_path], check=True)
    copy = tmp_path / "files" / "projects" / store.home().name / f"{ONE}.jsonl"
    assert copy.read_bytes() == (store.home() / f"{ONE}.jsonl").read_bytes()
    assert b'"format": 1' in (tmp_path / "manifest.json").read_bytes()


def test_what_did_not_change_is_not_even_read(
    store: StoreBuilder, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.every_layout()
    archived(store, vault)
    monkeypatch.setattr(archive, "checksums_of", None)
    assert set(statuses(store, vault)) == {UNCHANGED}


def test_a_session_that_grew_replaces_its_archive(store: StoreBuilder, vault: Vault) -> None:
    main = store.session()
    archived(store, vault)
    with main.open("ab") as file:
        file.write(b'{"type": "mode"}\n')
    store.agent(place="subagents")
    assert statuses(store, vault) == [GROWN]
    assert check(only_archive(vault)).entries[0].size == main.stat().st_size


def test_a_session_that_lost_something_is_kept_in_both_versions(store: StoreBuilder, vault: Vault) -> None:
    main = store.session()
    archived(store, vault)
    main.write_bytes(main.read_bytes()[:-20] + b"something else")
    assert statuses(store, vault) == [CHANGED]
    assert statuses(store, vault) == [UNCHANGED]
    names = sorted(os.path.basename(path) for path in vault.files())
    assert names == [f"{ONE}.2.tar.zst", f"{ONE}.tar.zst"]
    newest = vault.newest(bundles(store)[0].main)
    assert newest is not None
    assert newest.version == 2


def test_half_of_an_archived_session_needs_no_archive(store: StoreBuilder, vault: Vault) -> None:
    store.session()
    agent = store.agent()
    archived(store, vault)
    agent.unlink()
    assert statuses(store, vault) == [UNCHANGED]


def test_a_new_time_alone_makes_no_second_version(store: StoreBuilder, vault: Vault) -> None:
    touch(store.session())
    archived(store, vault)
    touch(store.home() / f"{ONE}.jsonl")
    archived(store, vault)
    assert statuses(store, vault) == [UNCHANGED]
    assert len(list(vault.files())) == 1


def test_keeping_finds_a_damaged_archive_and_makes_it_anew(store: StoreBuilder, vault: Vault) -> None:
    store.session()
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "large").write_bytes(os.urandom(1 << 20))
    archived(store, vault)
    path = Path(only_archive(vault))
    damaged = bytearray(path.read_bytes())
    damaged[-20] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(BadArchive):
        check(str(path))
    (bundle,) = bundles(store)
    with vault.locked():
        assert archive.keep(vault, bundle).status == GROWN
    check(only_archive(vault))


def test_an_unreadable_archive_is_left_alone_and_named(store: StoreBuilder, vault: Vault) -> None:
    store.session()
    archived(store, vault)
    path = Path(only_archive(vault))
    path.write_bytes(b"no archive")
    assert statuses(store, vault) == [NEW]
    assert path.read_bytes() == b"no archive"
    assert [trouble.path for trouble in vault.troubles] == [str(path)]


@pytest.mark.parametrize("moment", ["pack", "check"])
def test_a_session_that_changes_while_it_is_archived_is_skipped_and_named(
    store: StoreBuilder, vault: Vault, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    main = store.session()
    real = getattr(archive, moment)

    def meanwhile(*arguments: Any) -> Any:
        with main.open("ab") as file:
            file.write(b"{}\n")
        return real(*arguments)

    monkeypatch.setattr(archive, moment, meanwhile)
    (outcome,) = archived(store, vault)
    assert outcome.status == SKIPPED
    assert "change" in (outcome.reason or "")
    assert not list(vault.files())
    assert not litter(Path(vault.folder))


def test_a_file_that_is_rewritten_without_a_trace_is_noticed(
    store: StoreBuilder, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = store.session()
    real = packing._reading

    def meanwhile(*arguments: Any) -> Any:
        if list(Path(vault.folder).rglob("*.partial")):
            status = main.stat()
            main.write_bytes(b"x" * status.st_size)
            os.utime(main, ns=(status.st_atime_ns, status.st_mtime_ns))
        return real(*arguments)

    monkeypatch.setattr(packing, "_reading", meanwhile)
    assert [outcome.status for outcome in archived(store, vault)] == [SKIPPED]


def test_a_session_that_cannot_be_put_back_everywhere_is_not_kept(store: StoreBuilder, vault: Vault) -> None:
    store.session()
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "back\\slash").write_text("x")
    (outcome,) = archived(store, vault)
    assert outcome.status == SKIPPED


def test_only_one_writes_to_an_archive_at_a_time(vault: Vault) -> None:
    with vault.locked(), pytest.raises(CannotWrite, match="another"), Vault(vault.folder).locked():
        pass


def test_what_a_killed_run_left_behind_is_taken_away(store: StoreBuilder, vault: Vault) -> None:
    store.session()
    archived(store, vault)
    left = Path(only_archive(vault) + ".partial")
    left.write_bytes(b"half")
    archived(store, vault)
    assert not left.exists()


def test_an_archive_inside_of_a_store_is_refused(store: StoreBuilder, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(store.root)
    for folder in (store.root, store.root / "archive", link / "archive"):
        with pytest.raises(CannotWrite, match="inside of the store"):
            Vault(folder).refuse_inside([str(store.root)])
    Vault(tmp_path / "store-archive").refuse_inside([str(store.root)])


def test_only_the_beginning_of_an_archive_is_read_for_its_manifest(store: StoreBuilder, vault: Vault) -> None:
    store.session()
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "large").write_bytes(os.urandom(1 << 20))
    archived(store, vault)
    path = Path(only_archive(vault))
    path.write_bytes(path.read_bytes()[: 300 << 10])
    assert read_manifest(str(path)).id == ONE
    with pytest.raises(BadArchive, match="cut off"):
        check(str(path))
