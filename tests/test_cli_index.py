"""`index` on the command line: the search index is shown, updated, rebuilt and deleted."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from claude_session_player.search import SearchIndex
from tests.program import csp
from tests.stores import ONE, THREE, TWO, StoreBuilder, touch

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    builder.session()
    builder.session(TWO, "Oil it", cwd="/home/ada/kettle")
    return builder


def status(*arguments: str | Path, **environment: str) -> list[dict[str, Any]]:
    """What `index status` says of each store, as the schema says."""
    done = csp("index", "status", "--json", *arguments, environment=environment)
    assert (done.stderr, done.returncode) == (b"", 0)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    for row in rows:
        jsonschema.validate(row, {**SCHEMA, "$ref": "#/$defs/index_status"})
        assert set(row) == set(SCHEMA["$defs"]["index_status"]["required"])
    return rows


def talk(command: str, builder: StoreBuilder, code: int = 0, **environment: str) -> str:
    """What a command says; it prints no data."""
    done = csp("index", command, "--root", builder.root, environment=environment)
    assert (done.stdout, done.returncode) == (b"", code), done.stderr.decode()
    return done.stderr.decode().replace(str(builder.root), "STORE")


def test_a_store_without_an_index_says_so(builder: StoreBuilder) -> None:
    (row,) = status("--root", builder.root)
    assert (row["files"], row["documents"], row["size"], row["updated_at"]) == (0, 0, 0, None)
    assert (row["store_files"], row["stale_files"]) == (2, 2)
    assert not Path(row["path"]).exists()
    shown = csp("index", "--root", builder.root).stdout.decode()
    assert re.fullmatch(
        rf"store      {builder.root}\nindex      none: the next search builds it\nsessions   2 files, [\d.]+ KB\n",
        shown,
    )


def test_a_search_builds_the_index_and_status_shows_it(builder: StoreBuilder) -> None:
    csp("find", "oil", "--root", builder.root)
    (row,) = status("--root", builder.root)
    assert (row["root"], row["files"], row["documents"], row["stale_files"]) == (str(builder.root), 2, 4, 0)
    assert row["path"] == SearchIndex(str(builder.root)).path
    assert row["store_size"] == sum(path.stat().st_size for path in builder.root.rglob("*.jsonl"))
    lines = csp("index", "status", "--root", builder.root).stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["store", "index", "files", "documents", "size", "stale", "updated"]
    assert lines[2:4] == ["files      2", "documents  4"]
    assert re.fullmatch(r"size       [\d.]+ KB \(\d+% of [\d.]+ KB\)", lines[4])
    assert lines[5] == "stale      none"
    assert lines[6].endswith(" (just now)")


def test_files_that_changed_are_stale_until_the_index_is_updated(builder: StoreBuilder) -> None:
    csp("find", "oil", "--root", builder.root)
    builder.session(THREE, "Paint it")
    touch(builder.home() / f"{ONE}.jsonl")
    assert status("--root", builder.root)[0]["stale_files"] == 2
    shown = csp("index", "--root", builder.root).stdout.decode()
    assert "stale      2 files: the next search reads what is new\n" in shown
    assert re.fullmatch(
        r"Indexed 2 files \([\d.]+ KB\) of STORE\. The search index has 3 files, 6 documents, [\d.]+ KB\.\n",
        talk("update", builder),
    )
    assert status("--root", builder.root)[0]["stale_files"] == 0


def test_an_update_without_anything_new_says_so(builder: StoreBuilder) -> None:
    talk("update", builder)
    said = talk("update", builder)
    assert said.startswith("The search index of STORE is up to date: 2 files, 4 documents, ")


def test_a_rebuilt_index_has_the_same_documents(builder: StoreBuilder) -> None:
    talk("update", builder)
    before = status("--root", builder.root)[0]
    deleted, indexed = talk("rebuild", builder).splitlines()
    assert re.fullmatch(r"Deleted the search index of STORE: [\d.]+ KB freed\.", deleted)
    assert indexed.startswith("Indexed 2 files (")
    after = status("--root", builder.root)[0]
    assert {**before, "updated_at": None, "size": 0} == {**after, "updated_at": None, "size": 0}


def test_dropping_deletes_the_index_and_the_next_search_builds_it_again(builder: StoreBuilder) -> None:
    assert talk("drop", builder) == "There is no search index of STORE.\n"
    talk("update", builder)
    path = Path(status("--root", builder.root)[0]["path"])
    assert path.is_dir()
    assert re.fullmatch(r"Deleted the search index of STORE: [\d.]+ KB freed\.\n", talk("drop", builder))
    assert not path.exists()
    assert csp("find", "oil", "--ids", "--root", builder.root).stdout.decode().split() == [TWO]
    assert path.is_dir()


def test_no_other_user_can_read_the_index(builder: StoreBuilder) -> None:
    talk("update", builder)
    path = Path(status("--root", builder.root)[0]["path"])
    modes = {stat.S_IMODE(os.stat(one).st_mode) for one in (path, *path.rglob("*"))}
    assert modes == {0o700, 0o600}


def test_every_store_has_an_index_of_its_own(builder: StoreBuilder, tmp_path: Path) -> None:
    other = StoreBuilder(tmp_path / "other")
    other.session(THREE, "Paint it")
    roots = ("--root", builder.root, "--root", other.root)
    done = csp("index", "update", *roots)
    assert done.stderr.decode().count("Indexed ") == 2
    rows = status(*roots)
    assert [(row["root"], row["files"]) for row in rows] == [(str(builder.root), 2), (str(other.root), 1)]
    assert len({row["path"] for row in rows}) == 2
    assert csp("index", *roots).stdout.decode().count("\n\nstore      ") == 1


def test_the_archive_has_an_index_of_its_own(builder: StoreBuilder, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    assert csp("archive", "--all", "--root", builder.root, "--archive", archive).returncode == 0
    assert csp("index", "update", "--archive", archive).returncode == 0
    (row,) = status("--archive", archive)
    assert (row["root"], row["files"], row["documents"]) == (str(archive), 2, 4)


def test_files_that_cannot_be_indexed_are_a_failure_with_its_reason(builder: StoreBuilder, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "claude-session-player"
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    reason = f"other users may write to {cache}: take that permission away"
    said = talk("update", builder, 1, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert f"warning: STORE: 2 files are not indexed: {reason}\n" in said
    shown = csp("index", "--root", builder.root, XDG_CACHE_HOME=str(tmp_path / "cache")).stdout.decode()
    assert f"index      not used: {reason}\n" in shown


def test_a_locked_index_is_a_failure_with_its_reason(builder: StoreBuilder) -> None:
    import tantivy

    talk("update", builder)
    (row,) = status("--root", builder.root)
    builder.session(THREE, "Paint it")
    writer = tantivy.Index.open(os.path.join(row["path"], "documents")).writer()
    said = talk("update", builder, 1)
    del writer
    assert said == "warning: STORE: 1 file is not indexed: another process is updating the index\n"


def test_an_unknown_command_is_refused(builder: StoreBuilder) -> None:
    done = csp("index", "updat")
    assert done.returncode == 2
    assert b"No such command 'updat'" in done.stderr
