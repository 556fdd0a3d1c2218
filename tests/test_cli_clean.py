"""`clean` on the command line: the plan, the confirmation, and what is said."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from claude_session_player.archive.directories import OpenDirectory
from claude_session_player.archive.trash import TrashDir, claim_trash_dir
from tests.archives import contents, litter, seen
from tests.interrupted_removals import interrupted
from tests.program import csp, told_on_terminal
from tests.stores import ONE, THREE, TWO, StoreBuilder, settle

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """A store with three sessions of which two are from the same day."""
    builder = StoreBuilder(tmp_path / "store")
    builder.session(ONE)
    builder.session(TWO, "Stop it", days=10)
    builder.session(THREE, "Boil water", cwd="/home/ada/kettle")
    settle(builder.root)
    return builder


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def clean(builder: StoreBuilder, archive: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command; how many processes of others there are is not the same everywhere, and left out."""
    done = csp("clean", *arguments, "--root", builder.root, "--archive", archive, "--no-cache")
    done.stderr = re.sub(rb"note: \d+ process(es)? of other users could not be inspected; .*\n", b"", done.stderr)
    return done


def told_as_json(builder: StoreBuilder, archive: Path, *arguments: str) -> dict[str, Any]:
    """What the command prints as JSON, as the schema says."""
    told: dict[str, Any] = json.loads(clean(builder, archive, *arguments, "--json").stdout)
    jsonschema.validate(told, {**SCHEMA, "$ref": "#/$defs/cleaning"})
    return told


def names(builder: StoreBuilder) -> set[str]:
    """The sessions that are there."""
    return {path.stem for path in builder.root.rglob("*.jsonl")}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--apply"],
        ["--project", "", "--older-than", "1d", "--apply"],
        ["--sort", "size", "--limit", "1", "--apply"],
    ],
)
def test_it_needs_a_filter(builder: StoreBuilder, archive: Path, arguments: list[str]) -> None:
    done = clean(builder, archive, *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert re.match(rb"claude-session-player: (no filter given|the project filter is empty)", done.stderr)
    assert names(builder) == {ONE, TWO, THREE}


def test_it_prints_the_plan_and_does_nothing(builder: StoreBuilder, archive: Path) -> None:
    before = seen(builder.root)
    done = clean(builder, archive, "--older-than", "2026-01-20", "--project", "kettle")
    heading, row, total = done.stdout.decode().splitlines()
    assert heading.split() == ["ID", "LAST", "ACTIVE", "TITLE", "PROJECT", "FILES", "SIZE"]
    assert "Boil water" in row
    assert total.startswith("1 session, 1 file, ")
    assert total.endswith(": older than 2026-01-20 00:00, project contains 'kettle'")
    assert done.stderr.decode() == f"Nothing was changed: --apply moves them to the archive {archive}.\n"
    assert (done.returncode, seen(builder.root), archive.exists()) == (0, before, False)


def test_it_archives_and_removes(builder: StoreBuilder, archive: Path) -> None:
    done = clean(builder, archive, "--older-than", "2026-01-20", "--apply")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines()[-1].startswith("archived and removed 2 sessions, 2 files, ")
    assert names(builder) == {TWO}
    assert {path.name for path in archive.rglob("*.tar.zst")} == {f"{ONE}.tar.zst", f"{THREE}.tar.zst"}
    again = clean(builder, archive, "--older-than", "2026-01-20", "--apply")
    assert (again.returncode, again.stdout) == (0, b"")
    assert again.stderr == b"No sessions match these filters.\n"


def test_json_tells_the_plan_and_what_became_of_it(builder: StoreBuilder, archive: Path) -> None:
    arguments = ("--title", "stop", "--larger-than", "10")
    told = told_as_json(builder, archive, *arguments)
    size = (builder.home() / f"{TWO}.jsonl").stat().st_size
    assert (told["applied"], told["skipped"]) == (False, [])
    assert told["totals"] == {"sessions": 1, "files": 1, "size": size}
    (session,) = told["sessions"]
    assert (session["id"], session["size"], session["path"]) == (TWO, size, str(builder.home() / f"{TWO}.jsonl"))
    assert session["reasons"] == [{"rule": "larger_than", "value": 10}, {"rule": "title", "value": "stop"}]
    told = told_as_json(builder, archive, *arguments, "--apply")
    assert (told["applied"], told["finished"]) == (True, [])
    assert Path(told["sessions"][0]["archive"]).is_file()
    assert names(builder) == {ONE, THREE}


def test_a_session_in_use_is_named_and_the_exit_code_says_so(builder: StoreBuilder, archive: Path) -> None:
    os.utime(builder.home() / f"{TWO}.jsonl")
    shown = clean(builder, archive, "--older-than", "2027")
    assert shown.returncode == 0
    done = clean(builder, archive, "--older-than", "2027", "--apply")
    assert done.returncode == 1
    for stderr in (shown.stderr, done.stderr):
        assert f"skipped {TWO} (Stop it): in use: written in the last minute" in stderr.decode()
    told = told_as_json(builder, archive, "--older-than", "2027", "--apply")
    assert [(one["id"], one["reason"]) for one in told["skipped"]] == [(TWO, "in use: written in the last minute")]
    assert names(builder) == {TWO}


def test_it_is_said_where_all_that_could_be_removed_is_skipped(builder: StoreBuilder, archive: Path) -> None:
    os.utime(builder.home() / f"{TWO}.jsonl")
    one = clean(builder, archive, "--title", "stop")
    assert one.stderr.startswith(b"Nothing can be removed now: the matching session is skipped.\nskipped ")
    os.utime(builder.home() / f"{ONE}.jsonl")
    two = clean(builder, archive, "--project", "engine", "--apply")
    assert two.stderr.startswith(b"Nothing can be removed now: the 2 matching sessions are skipped.\nskipped ")


def test_what_cannot_be_read_is_not_all_that_was_asked_for(builder: StoreBuilder, archive: Path) -> None:
    (builder.home() / "a9b8c7d6-0004-4000-8000-000000000004.jsonl").symlink_to("nowhere")
    assert clean(builder, archive, "--title", "stop").returncode == 0
    done = clean(builder, archive, "--title", "stop", "--apply")
    assert (done.returncode, b"could not be read" in done.stderr, names(builder) & {TWO}) == (1, True, set())


def test_before_says_that_it_means_the_last_activity(builder: StoreBuilder, archive: Path) -> None:
    done = clean(builder, archive, "--before", "2026-01-19")
    assert done.stdout.decode().splitlines()[-1].endswith(": last active before 2026-01-20 00:00")


def test_delete_is_refused_where_nobody_can_be_asked(builder: StoreBuilder, archive: Path) -> None:
    done = clean(builder, archive, "--older-than", "2027", "--apply", "--delete")
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1
    assert b"add --yes" in done.stderr
    assert names(builder) == {ONE, TWO, THREE}


def test_delete_without_apply_shows_the_plan(builder: StoreBuilder, archive: Path) -> None:
    done = clean(builder, archive, "--older-than", "2027", "--delete", "--yes")
    assert (done.returncode, done.stderr) == (0, b"Nothing was changed: --apply --delete deletes them.\n")
    assert names(builder) == {ONE, TWO, THREE}


def test_delete_with_yes_keeps_no_archive(builder: StoreBuilder, archive: Path) -> None:
    done = clean(builder, archive, "--older-than", "2027", "--apply", "--delete", "--yes")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines()[-1].startswith("deleted 3 sessions, ")
    assert names(builder) == set()
    assert [path.name for path in archive.iterdir() if not path.name.startswith(".")] == ["log.jsonl"]


@pytest.mark.parametrize(
    ("typed", "code", "left"),
    [("delete 2 sessions\n", 0, {TWO}), ("yes\n", 1, {ONE, TWO, THREE}), ("\x04", 1, {ONE, TWO, THREE})],
)
def test_delete_asks_for_what_is_going_to_happen(
    builder: StoreBuilder, archive: Path, typed: str, code: int, left: set[str]
) -> None:
    arguments = ("clean", "--older-than", "2026-01-20", "--root", builder.root, "--archive", archive, "--no-cache")
    told, ended = told_on_terminal(*arguments, "--apply", "--delete", typed=typed)
    assert "To continue, type\n'delete 2 sessions':\n" in told
    assert (ended, names(builder)) == (code, left)
    assert ("nothing was deleted" in told) == (code == 1)


def test_an_archive_inside_of_the_store_is_refused(builder: StoreBuilder) -> None:
    done = clean(builder, builder.root / "archive", "--older-than", "2027", "--apply")
    assert (done.returncode, done.stdout) == (5, b"")
    assert b"is inside of the store" in done.stderr
    assert names(builder) == {ONE, TWO, THREE}


def test_an_archive_that_cannot_be_written_is_one_line(builder: StoreBuilder, archive: Path) -> None:
    archive.write_text("a file")
    done = clean(builder, archive, "--older-than", "2027", "--apply")
    assert (done.returncode, done.stdout) == (5, b"")
    assert done.stderr.decode().count("\n") == 1
    assert names(builder) == {ONE, TWO, THREE}


def test_a_store_without_sessions_has_nothing_to_clean_up(tmp_path: Path, archive: Path) -> None:
    done = clean(StoreBuilder(tmp_path / "empty"), archive, "--empty", "--apply")
    assert (done.returncode, done.stdout) == (0, b"")


def test_an_interrupted_removal_is_finished_whatever_is_asked_for(builder: StoreBuilder, archive: Path) -> None:
    interrupted(builder, ONE, is_gone=True)
    interrupted(builder, THREE, is_gone=False)
    assert told_as_json(builder, archive, "--title", "no such title")["finished"] == []
    done = clean(builder, archive, "--title", "no such title", "--apply")
    told = done.stderr.decode()
    assert f"finished the removal of {ONE} (Start the engine): a run was interrupted\n" in told
    assert f"put back {THREE} (Boil water): a run was interrupted\n" in told
    assert (done.returncode, names(builder), litter(builder.root)) == (0, {TWO, THREE}, [])


def test_the_plan_says_that_a_removal_was_interrupted(builder: StoreBuilder, archive: Path) -> None:
    interrupted(builder, ONE, is_gone=False)
    done = clean(builder, archive, "--title", "stop")
    assert f"the removal of {ONE} (Start the engine) was interrupted: --apply finishes it" in done.stderr.decode()
    assert names(builder) == {ONE, TWO, THREE}


def test_json_tells_what_was_finished(builder: StoreBuilder, archive: Path) -> None:
    interrupted(builder, ONE, is_gone=True)
    told = told_as_json(builder, archive, "--title", "no such title", "--apply")
    assert [(one["id"], one["is_gone"], one["reason"]) for one in told["finished"]] == [(ONE, True, None)]


# --- what an interrupted run left behind ----------------------------------------------------------


def test_a_session_that_waits_in_a_hidden_directory_is_told_by_list_and_verify(builder: StoreBuilder) -> None:
    bin = interrupted(builder, ONE, is_gone=False)
    interrupted(builder, THREE, is_gone=True)
    where = ("--root", builder.root, "--no-cache")
    wait = "note: 2 sessions are held by an interrupted removal"
    note = f"{wait}: run 'claude-session-player clean --recover'\n"
    for listed in (csp("list", *where), csp("list", "--json", *where)):
        assert (listed.returncode, listed.stderr.decode()) == (0, note)
    checked = csp("verify", "--all", "--json", *where)
    findings = [one for one in json.loads(checked.stdout) if one["kind"] == "interrupted-removal"]
    assert [(one["path"], one["detail"]) for one in findings][:1] == [(str(bin), f"{ONE} (Start the engine)")]
    assert (checked.returncode, len(findings)) == (1, 2)
    assert "clean --recover" in findings[0]["advice"]


def test_who_asks_for_a_session_that_waits_is_told_how_to_get_it_back(builder: StoreBuilder) -> None:
    interrupted(builder, ONE, is_gone=False)
    asked = csp("show", ONE, "--root", builder.root, "--no-cache")
    assert asked.returncode == 7
    assert b"'claude-session-player clean --recover' puts them back" in asked.stderr


def test_a_session_that_is_being_removed_right_now_is_not_told(builder: StoreBuilder) -> None:
    bin = interrupted(builder, ONE, is_gone=False)
    with OpenDirectory.at(str(bin.parent)) as home, TrashDir(home, bin.name) as opened, claim_trash_dir(opened):
        listed = csp("list", "--root", builder.root, "--no-cache")
    assert (listed.returncode, listed.stderr) == (0, b"")


def test_recover_puts_back_what_waits_and_completes_what_was_decided(builder: StoreBuilder, archive: Path) -> None:
    before = seen(builder.home())
    interrupted(builder, ONE, is_gone=False)
    interrupted(builder, THREE, is_gone=True)
    done = clean(builder, archive, "--recover")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [
        f"put back {ONE} (Start the engine): {builder.home() / f'{ONE}.jsonl'}",
        f"completed the removal of {THREE} (Boil water), which had been decided",
    ]
    assert seen(builder.home()) == before
    assert (names(builder), litter(builder.root)) == ({ONE, TWO}, [])
    again = clean(builder, archive, "--recover")
    assert (again.returncode, again.stderr) == (0, b"Nothing to recover: no removal was interrupted.\n")


def test_recover_archives_what_cannot_go_back_because_something_new_is_there(
    builder: StoreBuilder, archive: Path, tmp_path: Path
) -> None:
    old = (builder.home() / f"{ONE}.jsonl").read_bytes()
    interrupted(builder, ONE, is_gone=False)
    new = builder.session(ONE, "Something new")
    settle(builder.root)
    for _ in range(2):  # without it, every run says the same again
        stuck = clean(builder, archive, "--title", "no such title", "--apply")
        assert (stuck.returncode, b"'claude-session-player clean --recover' moves it" in stuck.stderr) == (1, True)
    told = told_as_json(builder, archive, "--recover")
    (one,) = told["finished"]
    assert (one["id"], one["is_gone"], one["reason"]) == (ONE, False, None)
    assert list(contents(one["archive"]).values()) == [old]
    assert (b"Something new" in new.read_bytes(), litter(builder.root)) == (True, [])
    assert clean(builder, archive, "--title", "no such title", "--apply").returncode == 0
    assert csp("restore", one["archive"], "--root", tmp_path / "elsewhere", "--archive", archive).returncode == 0
    (restored,) = (tmp_path / "elsewhere").rglob(f"{ONE}.jsonl")
    assert restored.read_bytes() == old
    log = [json.loads(line) for line in (archive / "log.jsonl").read_text().splitlines()]
    assert [(line["id"], line["action"], line["archive"]) for line in log] == [(ONE, "removed", one["archive"])]


def test_recover_leaves_alone_what_does_not_say_which_session_it_is(builder: StoreBuilder, archive: Path) -> None:
    bin = interrupted(builder, ONE, is_gone=False)
    (bin / "session.json").write_text("{")
    before = seen(builder.root)
    done = clean(builder, archive, "--recover")
    assert f"skipped {bin}: it does not say which session it holds" in done.stderr.decode()
    assert (done.returncode, seen(builder.root)) == (1, before)
    assert b"1 session is held by an interrupted removal" in csp("list", "--root", builder.root, "--no-cache").stderr


@pytest.mark.parametrize("more", [("--apply",), ("--older-than", "1d"), ("--delete", "--yes"), ("--title", "x")])
def test_recover_takes_no_other_options(builder: StoreBuilder, archive: Path, more: tuple[str, ...]) -> None:
    done = clean(builder, archive, "--recover", *more)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert names(builder) == {ONE, TWO, THREE}


def test_restore_brings_back_what_was_cleaned_up(tmp_path: Path, archive: Path) -> None:
    builder = StoreBuilder(tmp_path / "full")
    builder.every_layout()
    settle(builder.root)
    before = seen(builder.root)
    assert clean(builder, archive, "--before", "2027", "--apply").returncode == 0
    assert seen(builder.root) != before
    assert csp("restore", "--all", "--archive", archive, "--root", builder.root).returncode == 0
    assert seen(builder.root) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_where_the_log_cannot_be_written_it_is_not_said_that_there_was_nothing(
    builder: StoreBuilder, archive: Path
) -> None:
    archive.mkdir()
    (archive / "log.jsonl").symlink_to("/dev/full")
    done = clean(builder, archive, "--older-than", "1d", "--apply")
    assert done.returncode == 5
    assert b"log.jsonl" in done.stderr
    assert b"No sessions match" not in done.stderr


@pytest.mark.parametrize(("more", "is_large"), [(0, False), (1, True)])
def test_ten_megabytes_are_the_same_for_verify_and_clean(
    builder: StoreBuilder, archive: Path, more: int, is_large: bool
) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    path.write_bytes(path.read_bytes().ljust(10 * 1024 * 1024 + more - 1) + b"\n")
    settle(builder.root)
    found = csp("verify", ONE, "--root", builder.root, "--no-cache", "--json").stdout.decode()
    assert ("too-large" in found) == is_large
    told = clean(builder, archive, "--larger-than", "10MB").stdout.decode()
    assert ("larger than 10 MB" in told) == is_large
