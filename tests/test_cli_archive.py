"""`archive` and `restore` on the command line: what people and scripts see."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from claude_session_player.archive.archive_dir import ArchiveDir
from claude_session_player.archive.manifest import encode_manifest
from tests.archives import described, forged, seen
from tests.program import PROGRAM, csp, on_terminal
from tests.stores import ONE, THREE, TWO, StoreBuilder

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    store = StoreBuilder(tmp_path / "store")
    store.session()
    store.session(TWO, "Oil it", cwd="/home/ada/kettle")
    return store


@pytest.fixture
def to(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def archive(store: StoreBuilder, to: Path, *more: str | Path) -> subprocess.CompletedProcess[bytes]:
    return csp("archive", *more, "--root", store.root, "--archive", to)


def records(done: subprocess.CompletedProcess[bytes], kind: str) -> list[dict[str, Any]]:
    """What a command printed as JSON, each as the schema says."""
    values: list[dict[str, Any]] = json.loads(done.stdout)
    for value in values:
        jsonschema.validate(value, {**SCHEMA, "$ref": f"#/$defs/{kind}"})
        assert set(value) == set(SCHEMA["$defs"][kind]["required"])
    return values


def test_what_was_done_is_told_in_a_line_each_and_a_sum(store: StoreBuilder, to: Path) -> None:
    lines = archive(store, to, "--all").stdout.decode().splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith("2 sessions: 2 new; ")
    again = archive(store, to, "--all")
    assert again.stdout.decode().startswith("2 sessions: 2 unchanged; ")
    assert (again.returncode, again.stderr) == (0, b"")


def test_only_sessions_that_fit_are_archived(store: StoreBuilder, to: Path) -> None:
    assert [r["id"] for r in records(archive(store, to, "--project", "kettle", "--json"), "archiving")] == [TWO]
    assert [r["id"] for r in records(archive(store, to, ONE[:13], "--json"), "archiving")] == [ONE]
    assert records(archive(store, to, "--to", "2020", "--json"), "archiving") == []


def test_a_sub_agent_is_archived_with_its_session(store: StoreBuilder, to: Path) -> None:
    store.agent("flat0001")
    (record,) = records(archive(store, to, "flat0001", ONE, "--json"), "archiving")
    assert (record["id"], record["files"]) == (ONE, 2)


def test_orphans_are_archived_with_everything(store: StoreBuilder, to: Path) -> None:
    store.agent("flat0001", THREE)
    done = records(archive(store, to, "--all", "--json"), "archiving")
    assert {record["id"]: record["kind"] for record in done} == {ONE: "session", TWO: "session", THREE: "subagent"}


@pytest.mark.parametrize("more", [[], ["--limit", "1"], ["--sort", "size"]])
def test_it_has_to_be_said_which_sessions(store: StoreBuilder, to: Path, more: list[str]) -> None:
    done = archive(store, to, *more)
    assert done.returncode == 2
    assert b"--all" in done.stderr
    assert not to.exists()


def test_some_and_all_at_once_is_too_much(store: StoreBuilder, to: Path) -> None:
    assert archive(store, to, "--all", ONE).returncode == 2
    assert not to.exists()


def test_what_of_the_store_cannot_be_read_is_not_all_of_it(store: StoreBuilder, to: Path) -> None:
    (store.home() / f"{THREE}.jsonl").symlink_to("nowhere")
    done = archive(store, to, "--all")
    assert THREE in done.stderr.decode()
    assert done.returncode == 1
    assert len(list(ArchiveDir(to).archive_paths())) == 2


def test_damaged_archives_are_replaced_where_all_is_checked(store: StoreBuilder, to: Path) -> None:
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "large").write_bytes(os.urandom(1 << 20))
    archive(store, to, "--all")
    damaged = Path(next(path for path in ArchiveDir(to).archive_paths() if ONE in path))
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    done = csp("archive", "verify", "--archive", to)
    assert done.returncode == 1
    assert b"archive --all --check" in done.stderr
    assert done.stderr.decode().count(str(damaged)) == 1
    statuses = {r["id"]: r["status"] for r in records(archive(store, to, "--all", "--check", "--json"), "archiving")}
    assert statuses == {ONE: "grown", TWO: "unchanged"}
    assert csp("archive", "verify", "--archive", to).returncode == 0


def test_other_versions_can_be_reached(store: StoreBuilder, to: Path, tmp_path: Path) -> None:
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "only-before").write_text("x")
    archive(store, to, "--all")
    assert b"versions" not in csp("archive", "list", "--archive", to).stderr
    (store.home() / ONE / "only-before").unlink()
    store.session(prompt="Begin anew")
    archive(store, to, "--all")
    assert b"several versions: --json" in csp("archive", "list", "--archive", to).stderr
    older = next(path for path in ArchiveDir(to).archive_paths() if path.endswith(f"{ONE}.tar.zst"))
    for number, refs in enumerate((["--all"], [ONE])):
        done = csp("restore", *refs, "--archive", to, "--root", tmp_path / str(number))
        assert f"another version with 2 other files: restore {older}" in done.stderr.decode()
        assert done.returncode == 0
    done = csp("restore", older, "--root", tmp_path / "older")
    assert b"another version" not in done.stderr
    assert (tmp_path / "older" / "projects" / store.home().name / ONE / "only-before").exists()


def test_a_file_is_no_directory_of_archives(store: StoreBuilder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for done in (archive(store, tmp_path / "file", "--all"), csp("archive", "list", "--archive", tmp_path / "file")):
        assert b"is not a directory" in done.stderr
        assert done.returncode in (3, 5)


def test_what_cannot_be_kept_is_named_and_the_rest_is_done(store: StoreBuilder, to: Path) -> None:
    (store.home() / ONE).mkdir()
    os.mkfifo(store.home() / ONE / "pipe")
    done = archive(store, to, "--all", "--json")
    assert done.returncode == 1
    assert f"skipped {ONE}" in done.stderr.decode()
    assert {record["status"] for record in records(done, "archiving")} == {"new", "skipped"}


def test_an_archive_inside_of_the_store_is_refused(store: StoreBuilder) -> None:
    before = seen(store.root)
    done = archive(store, store.root / "archive", "--all")
    assert done.returncode == 5
    assert b"inside of the store" in done.stderr
    assert seen(store.root) == before


def test_a_second_archiver_is_sent_away(store: StoreBuilder, to: Path) -> None:
    to.mkdir()
    with (to / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = archive(store, to, "--all")
    assert done.returncode == 5
    assert b"try again" in done.stderr
    assert done.stdout == b""


def test_without_a_directory_it_is_the_platforms(store: StoreBuilder, tmp_path: Path) -> None:
    done = csp("archive", "--all", "--root", store.root, "--json", XDG_DATA_HOME=str(tmp_path / "data"))
    place = tmp_path / "data" / "claude-session-player" / "archive"
    assert all(record["archive"].startswith(str(place)) for record in records(done, "archiving"))
    assert len(records(csp("archive", "list", "--json", XDG_DATA_HOME=str(tmp_path / "data")), "archived")) == 2


def test_the_archive_is_listed(store: StoreBuilder, to: Path) -> None:
    archive(store, to, "--all")
    listed = records(csp("archive", "list", "--archive", to, "--json"), "archived")
    assert {record["title"] for record in listed} == {"Start the engine", "Oil it"}
    assert b"Oil it" in csp("archive", "list", "--archive", to).stdout


@pytest.mark.parametrize("command", [["archive", "list"], ["archive", "verify"], ["restore", "--all"]])
def test_an_archive_that_is_not_there_is_said_and_an_empty_one_is_fine(tmp_path: Path, command: list[str]) -> None:
    named = csp(*command, "--archive", tmp_path / "none")
    assert (named.returncode, named.stdout) == (3, b"")
    assert b"no such archive" in named.stderr
    assert csp(*command, "--archive", tmp_path).returncode == 0
    assert csp(*command, XDG_DATA_HOME=str(tmp_path / "data")).returncode == 0


def test_the_manifest_is_as_the_schema_says(store: StoreBuilder, to: Path) -> None:
    (store.home() / ONE).mkdir()
    (store.home() / ONE / "a").write_text("x")
    archive(store, to, ONE)
    manifest = json.loads(encode_manifest(ArchiveDir(to).archives()[0].manifest))
    jsonschema.validate(manifest, {**SCHEMA, "$ref": "#/$defs/manifest"})
    assert list(manifest) == SCHEMA["$defs"]["manifest"]["required"]
    assert [entry["kind"] for entry in manifest["entries"]] == ["file", "folder", "file"]


def test_damage_is_found_and_named(store: StoreBuilder, to: Path) -> None:
    archive(store, to, "--all")
    sound = csp("archive", "verify", "--archive", to)
    assert (sound.returncode, sound.stdout) == (0, b"2 archives: all sound\n")
    damaged = Path(next(path for path in ArchiveDir(to).archive_paths() if ONE in path))
    damaged.write_bytes(damaged.read_bytes()[:-30])
    done = csp("archive", "verify", "--archive", to, "--json")
    assert done.returncode == 1
    assert str(damaged) in done.stderr.decode()
    assert [r["archive"] for r in records(done, "checked_archive") if not r["sound"]] == [str(damaged)]
    assert csp("archive", "verify", ONE[:13], "--archive", to).returncode == 10
    assert csp("archive", "verify", damaged).returncode == 10
    assert csp("archive", "verify", TWO, "--archive", to).returncode == 0
    assert csp("archive", "verify", "nowhere", "--archive", to).returncode == 7


def test_sessions_come_back_by_id_title_path_or_all_at_once(store: StoreBuilder, to: Path, tmp_path: Path) -> None:
    archive(store, to, "--all")
    path = next(path for path in ArchiveDir(to).archive_paths() if ONE in path)
    for number, refs in enumerate(([ONE], [ONE[:13]], ["start the engine"], [path], [ONE, TWO], ["--all"])):
        root = tmp_path / f"target{number}"
        done = csp("restore", *refs, "--archive", to, "--root", root, "--json")
        assert done.returncode == 0, done.stderr
        assert {record["status"] for record in records(done, "restoring")} == {"restored"}
        assert (root / "projects" / store.home().name / f"{ONE}.jsonl").exists()


def test_a_session_that_is_there_with_other_content_is_named(store: StoreBuilder, to: Path) -> None:
    archive(store, to, "--all")
    main = store.session(prompt="Mine")
    before = main.read_bytes()
    done = csp("restore", "--all", "--archive", to, "--root", store.root, "--json")
    assert done.returncode == 1
    assert main.read_bytes() == before
    assert f"skipped {ONE}" in done.stderr.decode()
    assert {record["status"] for record in records(done, "restoring")} == {"present", "skipped"}


def test_a_forged_archive_is_refused_with_its_own_exit_code(tmp_path: Path) -> None:
    evil = forged(tmp_path / "evil.tar.zst", [described("../evil", b"x")], [("files/../evil", b"x")])
    done = csp("restore", evil, "--root", tmp_path / "target")
    assert done.returncode == 10
    assert b"outside of the sessions" in done.stderr
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("refs", [[], ["x", "--all"]])
def test_restore_has_to_know_which_sessions(refs: list[str]) -> None:
    done = csp("restore", *refs)
    assert done.returncode == 2
    assert b"--all" in done.stderr


def test_a_reference_that_fits_several_lists_them(store: StoreBuilder, to: Path) -> None:
    archive(store, to, "--all")
    done = csp("restore", "1f2e", "--archive", to)
    assert done.returncode == 8
    assert ONE in done.stderr.decode()


def test_sessions_that_claude_code_would_delete_again_are_pointed_out(
    store: StoreBuilder, to: Path, tmp_path: Path
) -> None:
    os.utime(store.home() / f"{ONE}.jsonl", (10**9, 10**9))
    archive(store, to, "--all")
    done = csp("restore", "--all", "--archive", to, "--root", tmp_path / "target")
    assert b"cleanupPeriodDays" in done.stderr
    assert done.returncode == 0


def test_the_output_ends_where_nobody_reads_it(store: StoreBuilder, to: Path) -> None:
    command = " ".join([*PROGRAM, "archive", "--all", "--root", str(store.root), "--archive", str(to)])
    done = subprocess.run(["sh", "-c", f"{command} | true"], capture_output=True, check=False)
    assert done.stderr == b""
    assert len(list(ArchiveDir(to).archive_paths())) == 2


def test_a_shell_completes_ids_of_the_archive(store: StoreBuilder, to: Path) -> None:
    archive(store, to, "--all")
    for command in (f"csp restore --archive {to} 1f2e", f"csp archive verify --archive {to} 1f2e"):
        count = str(len(command.split()) - 1)
        asked = {"_CSP_COMPLETE": "bash_complete", "COMP_WORDS": command, "COMP_CWORD": count}
        assert sorted(csp(environment=asked).stdout.decode().split()) == [f"plain,{ONE}", f"plain,{TWO}"]


def test_a_terminal_shows_a_table(store: StoreBuilder, to: Path) -> None:
    shown = on_terminal("archive", "--all", "--root", store.root, "--archive", to)
    assert "TITLE" in shown
    assert "2 new" in shown
    assert all(len(line) <= 200 for line in shown.splitlines())


def test_of_several_versions_the_one_archived_last_comes_back_and_a_damaged_one_is_named(
    store: StoreBuilder, to: Path, tmp_path: Path
) -> None:
    path = store.session()
    archive(store, to, ONE)
    path.write_bytes(b'{"type":"mode","mode":"plan"}\n')
    archive(store, to, ONE)
    second = Path(next(one for one in ArchiveDir(to).archive_paths() if f"{ONE}.2" in one))
    assert csp("restore", ONE, "--archive", to, "--root", tmp_path / "new").returncode == 0
    assert (tmp_path / "new" / path.relative_to(store.root)).read_bytes() == path.read_bytes()
    second.write_bytes(b"oops" + second.read_bytes()[4:])
    done = csp("restore", ONE, "--archive", to, "--root", tmp_path / "old")
    assert done.returncode == 1
    assert str(second) in done.stderr.decode()


def test_a_session_of_two_stores_comes_back_to_each_as_it_was_there(
    store: StoreBuilder, to: Path, tmp_path: Path
) -> None:
    other = StoreBuilder(tmp_path / "other")
    mine, theirs = store.session(), other.session(prompt="Stop the engine")
    contents = mine.read_bytes(), theirs.read_bytes()
    archive(store, to, ONE)
    archive(other, to, ONE)
    for path, one, content in ((mine, store, contents[0]), (theirs, other, contents[1])):
        path.unlink()
        assert csp("restore", ONE, "--archive", to, "--root", one.root).returncode == 0
        assert path.read_bytes() == content


def test_what_can_be_removed_can_be_put_back(store: StoreBuilder, to: Path) -> None:
    long = store.home() / f"{'x' * 245}.jsonl"
    store.session().rename(long)
    for path in store.root.rglob("*.jsonl"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    before = seen(store.root)
    csp("clean", "--older-than", "1d", "--apply", "--root", store.root, "--archive", to)
    assert csp("restore", "--all", "--archive", to, "--root", store.root).returncode == 0
    assert seen(store.root) == before


def test_what_is_no_file_hinders_no_other_archive(store: StoreBuilder, to: Path) -> None:
    archive(store, to, "--all")
    folder = to / store.home().name
    os.mkfifo(folder / "pipe.tar.zst")
    (folder / "link.tar.zst").symlink_to("nowhere")
    assert len(json.loads(csp("archive", "list", "--json", "--archive", to).stdout)) == 2
    checked = csp("archive", "verify", "--archive", to)
    assert (checked.returncode, checked.stdout) == (1, b"2 archives: all sound\n")
    assert checked.stderr.count(b"not a regular file") == 2


def test_an_archive_that_was_renamed_is_found_by_its_session(store: StoreBuilder, to: Path, tmp_path: Path) -> None:
    archive(store, to, ONE)
    (path,) = map(Path, ArchiveDir(to).archive_paths())
    path.rename(path.with_name("renamed.tar.zst"))
    done = csp("restore", ONE, "--archive", to, "--root", tmp_path / "new")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"1 session: 1 restored")
