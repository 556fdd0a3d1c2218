"""What an interrupted removal left behind comes back, or goes into the archive, and nothing of it is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from claude_session_player.archive import removal
from claude_session_player.archive.directories import OpenDirectory
from claude_session_player.archive.locks import HAS_LEASES
from claude_session_player.archive.removal import ArchiveFallback, FinishedRemoval, finish_pending
from claude_session_player.archive.session_files import SessionFiles, session_files_below
from claude_session_player.archive.trash import TrashDir, read_trash_info
from tests.archives import litter, seen
from tests.interrupted_removals import Killed, fine, interrupted
from tests.program import csp
from tests.stores import ONE, StoreBuilder, settle
from tests.users import ADA, csp_as, give, needs_users, shared_folder

needs_leases = pytest.mark.skipif(not HAS_LEASES, reason="this system has no leases")


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """A store with one of everything."""
    builder = StoreBuilder(tmp_path / "store")
    builder.every_layout()
    settle(builder.root)
    return builder


class Archive:
    """Stands for an archive: it remembers what was read for it."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.contents: dict[str, bytes] = {}
        self._then = then

    def keep(self, session: SessionFiles) -> str:
        """Read everything, and then let something happen."""
        self.contents = {item.path: Path(session.path_of(item)).read_bytes() for item in session.files}
        self._then()
        return "/archive/1.tar.zst"


def recovered(builder: StoreBuilder, archive: Archive | None = None) -> FinishedRemoval:
    keep = ArchiveFallback((archive or Archive()).keep, fine)
    (one,) = finish_pending([str(builder.root)], lambda _: None, keep)
    return one


def blocked(builder: StoreBuilder) -> Path:
    """The session's own file in a bin that cannot go back: something new is in its place."""
    bin = interrupted(builder, ONE, is_gone=False)
    builder.session(ONE, "Something new")
    settle(builder.root)
    return next(bin.rglob(f"{ONE}.jsonl"))


@needs_leases
def test_recover_leaves_alone_what_a_process_writes_to_that_cannot_be_seen(builder: StoreBuilder) -> None:
    waiting = blocked(builder)
    with waiting.open("ab") as writer:
        assert recovered(builder).reason == "in use: open for writing by a process that cannot be seen"
        writer.write(b"later\n")
    assert waiting.read_bytes().endswith(b"later\n")


def test_recover_asks_whether_a_session_is_in_use(builder: StoreBuilder, tmp_path: Path) -> None:
    waiting = blocked(builder)
    with waiting.open("ab"):
        done = csp("clean", "--recover", "--root", builder.root, "--archive", tmp_path / "archive")
    assert (done.returncode, waiting.exists()) == (1, True)
    assert b"in use: open for writing by " in done.stderr


def test_recover_deletes_nothing_that_changed_while_it_was_archived(builder: StoreBuilder) -> None:
    waiting = blocked(builder)

    def write() -> None:
        with waiting.open("ab") as file:
            file.write(b"later\n")

    assert "has changed" in (recovered(builder, Archive(write)).reason or "")
    assert waiting.read_bytes().endswith(b"later\n")


def test_recover_deletes_only_what_it_has_archived_where_directories_are_swapped(
    builder: StoreBuilder, tmp_path: Path
) -> None:
    precious = blocked(builder).read_bytes()
    outside = tmp_path / "outside"
    shutil.copytree(builder.home(), outside)
    for path in outside.rglob("*.jsonl"):
        path.write_bytes(b"somebody else's\n")

    def swap(*arguments: Any, **options: Any) -> SessionFiles:
        builder.home().rename(tmp_path / "aside")
        builder.home().symlink_to(outside)
        return session_files_below(*arguments, **options)

    archive = Archive()
    with patch.object(removal, "session_files_below", swap):
        assert "was moved away" in (recovered(builder, archive).reason or "")
    kept = {path.read_bytes() for path in (tmp_path / "aside").rglob("*.jsonl")}
    assert (precious in kept, archive.contents) == (True, {})


def test_recover_says_where_a_session_is_kept_before_it_is_gone(builder: StoreBuilder) -> None:
    blocked(builder)

    def kill(*_: object) -> None:
        raise Killed

    with patch.object(removal, "delete_trashed", kill), pytest.raises(Killed):
        recovered(builder)
    with OpenDirectory.at(str(builder.home())) as home, TrashDir(home, f".removed-{ONE}") as bin:
        note = read_trash_info(bin)
    assert note is not None
    assert note.archive == "/archive/1.tar.zst"


def test_nothing_goes_back_where_one_file_cannot(builder: StoreBuilder) -> None:
    blocked(builder)
    before = seen(builder.root)
    (one,) = finish_pending([str(builder.root)], lambda _: None)
    assert "exists again with other content" in (one.reason or "")
    assert seen(builder.root) == before


def test_what_goes_back_replaces_nothing_that_comes_in_the_last_moment(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(builder, ONE, is_gone=False)
    target = builder.home() / f"{ONE}.jsonl"
    for method in ("link", "move"):
        original = getattr(OpenDirectory, method)

        def late(self: OpenDirectory, *arguments: Any, original: Any = original) -> None:
            target.write_bytes(b"new\n")
            original(self, *arguments)

        monkeypatch.setattr(OpenDirectory, method, late)
    (one,) = finish_pending([str(builder.root)], lambda _: None)
    assert "exists again with other content" in (one.reason or "")
    assert target.read_bytes() == b"new\n"


@needs_leases
def test_a_copy_in_a_bin_stays_while_somebody_writes_to_it(builder: StoreBuilder) -> None:
    bin = interrupted(builder, ONE, is_gone=False)
    waiting = next(bin.rglob(f"{ONE}.jsonl"))
    shutil.copy2(waiting, builder.home())
    with waiting.open("ab") as writer:
        assert "in use" in (recovered(builder).reason or "")
        assert waiting.exists()
        writer.write(b"")
    assert recovered(builder).reason is None
    assert litter(builder.root) == []


def test_one_file_with_two_names_goes_back_while_somebody_writes_to_it(builder: StoreBuilder) -> None:
    bin = interrupted(builder, ONE, is_gone=False)
    target = builder.home() / f"{ONE}.jsonl"
    os.link(next(bin.rglob(f"{ONE}.jsonl")), target)
    with target.open("ab") as writer:
        assert recovered(builder).reason is None
        writer.write(b"later\n")
    assert target.read_bytes().endswith(b"later\n")
    assert litter(builder.root) == []


@needs_users
@pytest.mark.parametrize("unreadable", ["", "session.json", "content"])
def test_what_waits_and_cannot_be_read_is_not_denied(unreadable: str) -> None:
    with shared_folder() as folder:
        builder = StoreBuilder(folder / "store")
        builder.session(ONE)
        settle(builder.root)
        bin = interrupted(builder, ONE, is_gone=False)
        give(folder, ADA)
        (bin / unreadable).chmod(0)
        options = ("--root", builder.root, "--no-cache")
        done = csp_as(ADA, "clean", "--recover", "--archive", folder / "archive", *options)
        assert (done.returncode, done.stdout) == (1, b"")
        assert f"skipped {bin}: Permission denied" in done.stderr.decode()
        assert b"1 session is held by an interrupted removal" in csp_as(ADA, "list", *options).stderr
        plan = csp_as(ADA, "clean", "--empty", "--archive", folder / "archive", *options)
        assert f"{bin} was left by an interrupted run: see --recover" in plan.stderr.decode()
        applied = csp_as(ADA, "clean", "--empty", "--apply", "--archive", folder / "archive", *options)
        assert b"1 session is held by an interrupted removal" in applied.stderr
        assert csp_as(ADA, "verify", "--all", *options).returncode == 1


@needs_users
@pytest.mark.parametrize("unreadable", ["projects", "projects/-home-ada-engine"])
def test_where_sessions_may_wait_and_cannot_be_seen_that_is_said(unreadable: str) -> None:
    with shared_folder() as folder:
        builder = StoreBuilder(folder / "store")
        builder.session(ONE)
        give(folder, ADA)
        (builder.root / unreadable).chmod(0)
        done = csp_as(ADA, "clean", "--recover", "--archive", folder / "archive", "--root", builder.root, "--no-cache")
        assert done.returncode == 1
        assert f"{builder.root / unreadable}: Permission denied" in done.stderr.decode()
        assert b"Nothing to recover" not in done.stderr
