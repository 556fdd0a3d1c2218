"""A session is taken out of a store in one step, and nothing is lost on the way."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from claude_session_player.archive.directories import OpenDirectory, open_below
from claude_session_player.archive.removal import FinishedRemoval, InUseCheck, Removal, finish_pending, remove_sessions
from claude_session_player.archive.session_files import SessionFiles
from claude_session_player.archive.trash import RemovalLog, TrashDir, TrashInfo, claim_trash_dir
from tests.archives import litter, seen
from tests.interrupted_removals import fine, interrupted, session_files
from tests.stores import ONE, TWO, StoreBuilder, settle


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """A store with one of everything."""
    builder = StoreBuilder(tmp_path / "store")
    builder.every_layout()
    settle(builder.root)
    return builder


def finished(builder: StoreBuilder) -> list[FinishedRemoval]:
    return list(finish_pending([str(builder.root)], lambda _: None))


def nowhere(_: TrashInfo) -> None:
    """Where nothing is logged."""


def removed(
    found: SessionFiles, check: InUseCheck = fine, log: RemovalLog = nowhere, archive: str | None = None
) -> str:
    """Why a session stays."""
    (reason,) = remove_sessions([Removal(found, archive)], check, log)
    return reason or ""


def test_a_removal_leaves_nothing_behind_and_is_logged_once(builder: StoreBuilder) -> None:
    notes: list[TrashInfo] = []
    found = session_files(builder, ONE)
    assert removed(found, log=notes.append, archive="/archive/1.tar.zst") == ""
    assert [(note.id, note.archive, note.size) for note in notes] == [(ONE, "/archive/1.tar.zst", found.size)]
    assert notes[0].path == str(builder.home() / f"{ONE}.jsonl")
    assert not any(os.path.lexists(found.path_of(item)) for item in found.items)
    assert (litter(builder.root), finished(builder)) == ([], [])


def test_what_speaks_against_it_is_asked_when_nobody_can_find_the_session_any_more(builder: StoreBuilder) -> None:
    before = seen(builder.root)

    def object_to(moved: Sequence[SessionFiles]) -> list[str]:
        assert not (builder.home() / f"{ONE}.jsonl").exists()
        assert all(os.path.exists(one.path_of(item)) for one in moved for item in one.items)
        return ["in use"]

    assert removed(session_files(builder, ONE), object_to) == "in use"
    assert seen(builder.root) == before


def test_a_session_that_somebody_still_writes_to_is_put_back_with_what_was_written(builder: StoreBuilder) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    found = session_files(builder, ONE)
    with path.open("ab") as writer:
        writer.write(b"more\n")
        writer.flush()
        before = seen(builder.root)
        assert "has changed" in removed(found)
    assert seen(builder.root) == before


def test_what_was_not_decided_is_put_back(builder: StoreBuilder) -> None:
    before = seen(builder.root)
    interrupted(builder, ONE, is_gone=False)
    assert not (builder.home() / f"{ONE}.jsonl").exists()
    assert [(one.info.id, one.is_gone, one.reason) for one in finished(builder)] == [(ONE, False, None)]
    assert seen(builder.root) == before


def test_what_was_decided_is_completed(builder: StoreBuilder) -> None:
    others = seen(builder.root).keys() - {item.path for item in session_files(builder, ONE).items}
    interrupted(builder, ONE, is_gone=True)
    assert [(one.info.id, one.is_gone, one.reason) for one in finished(builder)] == [(ONE, True, None)]
    assert seen(builder.root).keys() == others


def test_a_session_is_put_back_also_where_that_was_interrupted(builder: StoreBuilder) -> None:
    before = seen(builder.root)
    bin = interrupted(builder, TWO, is_gone=False)
    (moved,) = bin.rglob(f"{TWO}.jsonl")
    os.link(moved, builder.home() / f"{TWO}.jsonl")
    assert [one.reason for one in finished(builder)] == [None]
    assert seen(builder.root) == before


def test_nothing_new_is_overwritten_by_what_is_put_back(builder: StoreBuilder) -> None:
    bin = interrupted(builder, TWO, is_gone=False)
    new = builder.home() / f"{TWO}.jsonl"
    new.write_text("somebody went on")
    (one,) = finished(builder)
    assert f"{new} exists again with other content" in (one.reason or "")
    assert new.read_text() == "somebody went on"
    assert list(bin.rglob(f"{TWO}.jsonl"))


def test_what_somebody_else_removes_right_now_is_left_to_him(builder: StoreBuilder) -> None:
    bin = interrupted(builder, ONE, is_gone=True)
    with OpenDirectory.at(str(bin.parent)) as home, TrashDir(home, bin.name) as opened, claim_trash_dir(opened):
        assert finished(builder) == []
        assert bin.exists()
    assert len(finished(builder)) == 1


@pytest.mark.parametrize("note", [None, "", '{"id": "1f'])
def test_a_bin_into_which_nothing_was_moved_vanishes(builder: StoreBuilder, note: str | None) -> None:
    before = seen(builder.root)
    bin = builder.home() / f".removing-{ONE}"
    bin.mkdir()
    if note is not None:
        (bin / "session.json").write_text(note)
    assert finished(builder) == []
    assert seen(builder.root) == before


@pytest.mark.parametrize("main", ["../../x.jsonl", "/etc/x.jsonl", "projects/-other/x.jsonl", "x.jsonl", 5, None])
def test_a_hidden_directory_that_is_no_bin_of_ours_stays(builder: StoreBuilder, main: object) -> None:
    for mark in (".removing-", ".removed-"):
        foreign = builder.home() / f"{mark}x"
        (foreign / "content").mkdir(parents=True)
        (foreign / "content" / "dear").write_text("dear")
        note = {"id": "x", "title": None, "root": "/", "main": main, "size": 0, "archive": None}
        (foreign / "session.json").write_text(json.dumps(note))
    before = seen(builder.root)
    assert finished(builder) == []
    assert seen(builder.root) == before


def test_a_session_that_cannot_be_moved_stays(builder: StoreBuilder) -> None:
    (builder.home() / f".removing-{ONE}").mkdir()
    before = seen(builder.root)
    assert "File exists" in removed(session_files(builder, ONE))
    assert seen(builder.root) == before


@pytest.mark.parametrize("is_gone", [False, True])
def test_names_that_are_no_text_survive(builder: StoreBuilder, is_gone: bool) -> None:
    id = os.fsdecode(b"s\xff \n\xe2")
    builder.session("x").rename(builder.home() / f"{id}.jsonl")
    (builder.home() / id).mkdir()
    (builder.home() / id / os.fsdecode(b"\xfe")).write_text("strange")
    settle(builder.root)
    before = seen(builder.root)
    named = {os.fsencode(item.path).decode("utf-8", "backslashreplace") for item in session_files(builder, id).items}
    interrupted(builder, id, is_gone=is_gone)
    assert [(one.info.id, one.reason) for one in finished(builder)] == [(id, None)]
    assert seen(builder.root) == {path: what for path, what in before.items() if not is_gone or path not in named}


def test_a_session_that_is_gone_but_cannot_be_deleted_is_told_so(builder: StoreBuilder) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere")

    with patch.object(OpenDirectory, "remove_tree", fail):
        assert "it was removed, but not all" in removed(session_files(builder, TWO))
    assert not (builder.home() / f"{TWO}.jsonl").exists()
    assert [(one.info.id, one.is_gone, one.reason) for one in finished(builder)] == [(TWO, True, None)]
    assert litter(builder.root) == []


def test_a_bin_that_cannot_be_described_is_not_left_behind(builder: StoreBuilder) -> None:
    before = seen(builder.root)
    found, full = session_files(builder, TWO), OSError(28, "No space left on device")
    with patch.object(os, "fsync", side_effect=full):
        assert "No space left" in removed(found)
    assert seen(builder.root) == before


# --- several at once ------------------------------------------------------------------------------


def test_several_are_moved_before_any_is_decided_on_and_outcomes_are_in_order(builder: StoreBuilder) -> None:
    before, looks = seen(builder.root), []

    def object_to_the_second(moved: Sequence[SessionFiles]) -> list[str | None]:
        looks.append([one.id for one in moved])
        return [None, "in use"]

    blocked = builder.root / "transcripts" / ".removing-ses_0001"
    blocked.mkdir()
    leaving = [Removal(session_files(builder, id)) for id in ("ses_0001", TWO, ONE)]
    reasons = list(remove_sessions(leaving, object_to_the_second, nowhere))
    blocked.rmdir()
    assert looks == [[TWO, ONE]]
    assert ("File exists" in str(reasons[0]), reasons[1:]) == (True, [None, "in use"])
    main = str((builder.home() / f"{TWO}.jsonl").relative_to(builder.root))
    assert seen(builder.root) == {path: what for path, what in before.items() if path != main}


def test_what_was_not_decided_on_is_put_back_when_nobody_asks_any_more(builder: StoreBuilder) -> None:
    main = str((builder.home() / f"{TWO}.jsonl").relative_to(builder.root))
    before = seen(builder.root)
    removing = remove_sessions(
        [Removal(session_files(builder, TWO)), Removal(session_files(builder, ONE))], fine, nowhere
    )
    assert next(removing) is None
    assert not (builder.home() / f"{ONE}.jsonl").exists()
    removing.close()
    assert seen(builder.root) == {path: what for path, what in before.items() if path != main}


def test_what_was_not_decided_on_is_put_back_when_something_breaks(builder: StoreBuilder) -> None:
    before = seen(builder.root)

    def interrupt(_: Sequence[SessionFiles]) -> list[None]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(
            remove_sessions(
                [Removal(session_files(builder, ONE)), Removal(session_files(builder, TWO))], interrupt, nowhere
            )
        )
    assert seen(builder.root) == before


def test_it_is_told_where_a_session_is_that_stays_and_cannot_be_put_back(builder: StoreBuilder) -> None:
    new = builder.home() / f"{TWO}.jsonl"

    def write_again(_: Sequence[SessionFiles]) -> list[str]:
        new.write_text("somebody went on")
        return ["in use"]

    reason = removed(session_files(builder, TWO), write_again)
    assert reason.startswith(f"in use; {new} exists again with other content; the previous content is in ")
    assert new.read_text() == "somebody went on"


# --- what was restored meanwhile, and what was renamed --------------------------------------------


def copied_back(builder: StoreBuilder, bin: Path) -> Path:
    """Put a copy of what is in a bin where it was, as `restore` does; gives the home."""
    home = builder.home()
    shutil.copytree(bin / "content" / "projects" / home.name, home, symlinks=True, dirs_exist_ok=True)
    return home


def test_a_session_that_was_restored_meanwhile_is_as_good_as_put_back(builder: StoreBuilder) -> None:
    (builder.home() / ONE / "link").symlink_to("tool-results")
    before = seen(builder.root)
    copied_back(builder, interrupted(builder, ONE, is_gone=False))
    assert [one.reason for one in finished(builder)] == [None]
    assert seen(builder.root) == before


@pytest.mark.parametrize("name", [f"{ONE}.jsonl", f"{ONE}/tool-results/toolu_9.txt"])
def test_a_session_that_was_restored_and_went_on_stays_in_its_bin_too(builder: StoreBuilder, name: str) -> None:
    bin = interrupted(builder, ONE, is_gone=False)
    home = copied_back(builder, bin)
    with (home / name).open("a") as file:
        file.write("more")
    (one,) = finished(builder)
    assert f"{home / name.split('/')[0]} exists again with other content; the previous content is in {bin}" in (
        one.reason or ""
    )
    assert (home / name).read_text().endswith("more")
    (left,) = bin.rglob(Path(name).name)
    assert not left.read_text().endswith("more")


def test_a_link_or_an_empty_directory_in_the_place_of_something_is_not_replaced(builder: StoreBuilder) -> None:
    bin = interrupted(builder, ONE, is_gone=False)
    own = builder.home() / ONE
    own.mkdir()
    (one,) = finished(builder)
    assert f"{own} exists again with other content" in (one.reason or "")
    assert (list(own.iterdir()), len(list(bin.rglob("toolu_9.txt")))) == ([], 1)
    own.rmdir()
    own.symlink_to("nowhere")
    assert f"{own} exists again with other content" in (finished(builder)[0].reason or "")
    assert (own.is_symlink(), len(list(bin.rglob("toolu_9.txt")))) == (True, 1)


def test_the_own_file_of_a_session_is_put_back_last(builder: StoreBuilder) -> None:
    before = seen(builder.root)
    interrupted(builder, ONE, is_gone=False)
    (builder.home() / "agent-flat0001.jsonl").write_text("something new")
    assert "agent-flat0001.jsonl exists again with other content" in (finished(builder)[0].reason or "")
    assert not (builder.home() / f"{ONE}.jsonl").exists()
    (builder.home() / "agent-flat0001.jsonl").unlink()
    assert [one.reason for one in finished(builder)] == [None]
    assert seen(builder.root) == before


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_removal_is_finished_also_where_the_project_was_renamed(builder: StoreBuilder, is_gone: bool) -> None:
    home, renamed = builder.home(), builder.home().with_name("-home-ada-motor")
    main = seen(home)[f"{TWO}.jsonl"]
    interrupted(builder, TWO, is_gone=is_gone)
    home.rename(renamed)
    assert [(one.info.id, one.is_gone, one.reason) for one in finished(builder)] == [(TWO, is_gone, None)]
    assert seen(renamed).get(f"{TWO}.jsonl") == (None if is_gone else main)
    assert litter(builder.root) == []


# --- locks ----------------------------------------------------------------------------------------


def without_locks(number: int) -> Any:
    """A file system on which no file can be locked."""
    return patch.object(fcntl, "flock", side_effect=OSError(number, os.strerror(number)))


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.EINVAL])
def test_a_file_system_without_locks_is_one_on_which_nothing_is_locked(builder: StoreBuilder, number: int) -> None:
    interrupted(builder, TWO, is_gone=True)
    with without_locks(number):
        assert [one.reason for one in finished(builder)] == [None]
        assert removed(session_files(builder, ONE)) == ""
    assert litter(builder.root) == []


def test_a_lock_that_fails_is_told_and_leaves_no_bin(builder: StoreBuilder) -> None:
    before = seen(builder.root)
    with without_locks(errno.EIO):
        assert "Input/output error" in removed(session_files(builder, ONE))
    assert seen(builder.root) == before
    interrupted(builder, ONE, is_gone=False)
    with without_locks(errno.EIO):
        assert ["Input/output error" in str(one.reason) for one in finished(builder)] == [True]
    assert [one.reason for one in finished(builder)] == [None]
    assert seen(builder.root) == before


def test_everything_on_the_way_into_a_bin_is_on_disk_before_it_is_decided_on(builder: StoreBuilder) -> None:
    synced: list[str] = []
    with patch.object(OpenDirectory, "sync", lambda folder: synced.append(folder.path)):
        removed(session_files(builder, TWO), lambda _: ["stay"])
    bin = str(builder.home() / f".removing-{TWO}")
    way = [bin, f"{bin}/content", f"{bin}/content/projects", f"{bin}/content/projects/{builder.home().name}"]
    assert synced[1:6] == [*way, str(builder.home())]


def test_a_session_behind_a_link_within_the_store_is_put_back(builder: StoreBuilder) -> None:
    home = builder.home()
    elsewhere = builder.root / "elsewhere"
    home.rename(elsewhere)
    home.symlink_to(elsewhere)
    before = seen(elsewhere)
    interrupted(builder, ONE, is_gone=False)
    assert seen(elsewhere) != before
    assert [one.reason for one in finished(builder)] == [None]
    assert seen(elsewhere) == before


def test_hidden_files_of_the_system_in_a_bin_hide_no_session(builder: StoreBuilder) -> None:
    bin = interrupted(builder, ONE, is_gone=False)
    (bin / "content" / ".DS_Store").write_text("")
    finished(builder)
    assert (builder.home() / f"{ONE}.jsonl").exists()


# --- trees of directories -------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 40, 1500])
def test_a_tree_is_removed_however_deep_it_is_and_no_link_is_followed(tmp_path: Path, depth: int) -> None:
    (tmp_path / "dear").mkdir()
    (tmp_path / "dear" / "file").write_text("dear")
    with OpenDirectory.at(str(tmp_path)) as top:
        here = top.descend(["tree"], make=True)
        for _ in range(depth):
            os.symlink(tmp_path / "dear", "link", dir_fd=here.handle)
            os.close(here.open_file("file", os.O_WRONLY | os.O_CREAT))
            here.make_dir("side")
            here.make_dir("d")
            with here as above:
                here = above.enter("d")
        here.close()
        top.remove_tree("tree")
        top.remove_tree("nothing")
        assert top.names() == ["dear"]
    assert (tmp_path / "dear" / "file").read_text() == "dear"


def test_a_file_that_was_replaced_since_the_plan_is_not_even_moved(builder: StoreBuilder) -> None:
    found = session_files(builder, ONE)
    path = builder.home() / f"{ONE}.jsonl"
    shutil.copy2(path, builder.root / "copy")
    (builder.root / "copy").rename(path)
    asked: list[Sequence[SessionFiles]] = []

    def check(moved: Sequence[SessionFiles]) -> list[None]:
        asked.append(moved)
        return fine(moved)

    assert removed(found, check).endswith(f"{ONE}.jsonl has changed")
    assert asked == [[]]


def test_a_bin_that_was_taken_away_meanwhile_is_not_emptied(builder: StoreBuilder) -> None:
    aside = builder.root / "aside"

    def take_away(moved: Sequence[SessionFiles]) -> list[None]:
        (one,) = moved
        bin = Path(one.root).parent
        bin.rename(aside)
        shutil.copytree(aside, bin, copy_function=os.link)  # the same files in other directories
        return fine(moved)

    (found,) = (one for one in [session_files(builder, TWO)] if all(item.kind == "file" for item in one.items))
    assert "was moved away" in removed(found, take_away)
    assert (builder.home() / f"{TWO}.jsonl").exists()


@pytest.mark.parametrize("is_new", [True, False])
def test_what_is_written_when_all_is_decided_is_not_deleted(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    """Whoever has a directory of a session open finds its files also in a bin of the second kind."""
    own = builder.home() / ONE
    (own / "tool-results").mkdir(exist_ok=True)
    (own / "tool-results" / "r1.txt").write_text("old\n")
    settle(builder.root)
    handle = os.open(own / "tool-results", os.O_RDONLY)
    rename = TrashDir.rename

    def late(self: TrashDir, name: str) -> None:
        rename(self, name)
        if self.is_gone:
            flags = os.O_WRONLY | os.O_NONBLOCK | (os.O_CREAT if is_new else 0)
            command = "import os, sys; os.open(sys.argv[1], int(sys.argv[2]), 0o600, dir_fd=int(sys.argv[3]))"
            words = ["new.txt" if is_new else "r1.txt", str(flags), str(handle)]
            subprocess.run([sys.executable, "-c", command, *words], pass_fds=[handle], check=False, capture_output=True)

    monkeypatch.setattr(TrashDir, "rename", late)
    reason = removed(session_files(builder, ONE))
    os.close(handle)
    assert ("is new" if is_new else "a process is just opening it for writing") in reason
    assert (own / "tool-results" / "r1.txt").read_text() == "old\n"
    assert (own / "tool-results" / "new.txt").exists() == is_new


def test_what_cannot_be_taken_back_when_all_is_decided_is_not_deleted(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = TrashDir.rename

    def late(self: TrashDir, name: str) -> None:
        if self.is_gone:
            raise OSError(errno.EIO, "Input/output error", self.path)
        rename(self, name)
        (inside,) = builder.home().rglob(f"{name}/content/**/{ONE}/subagents")
        (inside / "new.txt").write_text("new\n")

    monkeypatch.setattr(TrashDir, "rename", late)
    assert "be neither deleted nor moved back" in removed(session_files(builder, ONE))
    assert list(builder.home().rglob(f".removed-{ONE}/content/**/{ONE}.jsonl"))


def test_a_directory_that_leads_out_of_the_store_is_not_opened(builder: StoreBuilder, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (builder.root / "projects" / "-out").symlink_to(tmp_path / "outside")
    with pytest.raises(NotADirectoryError, match="leads out of the store"):
        open_below(str(builder.root), str(builder.root / "projects" / "-out"))
