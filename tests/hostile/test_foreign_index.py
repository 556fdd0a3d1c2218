"""What somebody else wrote into the index removes no session, and a foreign index is not used at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claude_session_player.archive.clean import CleanRules, plan_clean
from claude_session_player.store.facts import FileFacts
from claude_session_player.store.index import IndexDatabase
from claude_session_player.util.dirs import PROGRAM
from tests.builder import SessionBuilder
from tests.program import csp
from tests.stores import ONE, TWO, StoreBuilder
from tests.users import BOB, needs_users

OLD = "2020-01-17T10:00:00.000Z"
LONG_AGO = 1_580_000_000


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """A store with a session of yesterday, nobody works with it."""
    builder = StoreBuilder(tmp_path / "store")
    yesterday = datetime.now(UTC) - timedelta(days=1)
    path = SessionBuilder(session_id=ONE, start=yesterday).prompt("Precious").write(builder.home() / f"{ONE}.jsonl")
    os.utime(path, (LONG_AGO, LONG_AGO))
    return builder


@pytest.fixture
def cache(tmp_path: Path, builder: StoreBuilder) -> Path:
    """The directory of an index that knows the store."""
    folder = tmp_path / "cache" / PROGRAM
    builder.open(folder).sessions()
    return folder


def forge(folder: Path, change: Callable[[FileFacts], None]) -> None:
    """Let the index tell something else of every file; all checksums are right."""
    database = IndexDatabase(str(folder))
    known = database.below("/")
    assert known
    for facts in known.values():
        change(facts)
    database.keep(known)
    database.close()


def aged(facts: FileFacts) -> None:
    """A file with nothing younger than 2020."""
    facts.started = facts.ended = OLD


def emptied(facts: FileFacts) -> None:
    """A file without any prompt."""
    details = json.loads(facts.encoded)
    details[0] = [None if isinstance(value, str) else value for value in details[0]]
    facts.encoded = json.dumps(details).encode()


def titled(facts: FileFacts) -> None:
    """A file with another title."""
    facts.record = facts.record.replace("Precious", "Rubbish")
    facts.encoded = facts.encoded.replace(b"Precious", b"Rubbish")


@pytest.mark.parametrize(
    ("change", "rule"),
    [(aged, ("--older-than", "30d")), (emptied, ("--empty",)), (titled, ("--title", "rubbish"))],
)
def test_a_forged_row_removes_no_session(
    builder: StoreBuilder, cache: Path, change: Callable[[FileFacts], None], rule: tuple[str, ...]
) -> None:
    forge(cache, change)
    where = ("--root", builder.root, "--archive", cache.parent / "archive")
    done = csp("clean", *rule, "--apply", "--delete", "--yes", *where, XDG_CACHE_HOME=str(cache.parent))
    assert b"No sessions match these filters." in done.stderr
    assert (builder.home() / f"{ONE}.jsonl").exists()


def test_a_forged_row_takes_no_subagent_of_another_session_along(builder: StoreBuilder, cache: Path) -> None:
    os.utime(builder.session(TWO, "Old"), (LONG_AGO, LONG_AGO))
    os.utime(builder.agent("beside01", ONE), (LONG_AGO, LONG_AGO))
    builder.open(cache).sessions()

    def swap(facts: FileFacts) -> None:
        if "beside01" in facts.record:
            facts.encoded = facts.encoded.replace(ONE.encode(), TWO.encode())

    forge(cache, swap)
    made = plan_clean(builder.open(cache), CleanRules(older_than=datetime.now(UTC) - timedelta(days=5)))
    assert [[item.path.rpartition("/")[2] for item in session.items] for session in made.sessions] == [[f"{TWO}.jsonl"]]


def open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def file_open_to_all(folder: Path) -> None:
    next(folder.iterdir()).chmod(0o666)


def file_open_to_a_group(folder: Path) -> None:
    next(folder.iterdir()).chmod(0o660)


def linked(folder: Path) -> None:
    file = next(folder.iterdir())
    file.rename(folder.parent / "elsewhere")
    file.symlink_to(folder.parent / "elsewhere")


def of_somebody_else(folder: Path) -> None:
    os.chown(next(folder.iterdir()), BOB, BOB)


def in_a_directory_of_somebody_else(folder: Path) -> None:
    os.chown(folder, BOB, BOB)


def in_a_link_of_somebody_else(folder: Path) -> None:
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")
    os.chown(folder, BOB, BOB, follow_symlinks=False)


FOREIGN = [
    open_to_all,
    file_open_to_all,
    file_open_to_a_group,
    linked,
    pytest.param(of_somebody_else, marks=needs_users),
    pytest.param(in_a_directory_of_somebody_else, marks=needs_users),
    pytest.param(in_a_link_of_somebody_else, marks=needs_users),
]


@pytest.mark.parametrize("make_foreign", FOREIGN)
def test_an_index_that_others_may_write_to_is_not_used_and_it_is_told(
    builder: StoreBuilder, cache: Path, make_foreign: Callable[[Path], None]
) -> None:
    forge(cache, titled)
    make_foreign(cache)
    before = {path: path.read_bytes() for path in cache.rglob("*")}
    done = csp("list", "--root", builder.root, XDG_CACHE_HOME=str(cache.parent))
    assert (done.returncode, b"Precious" in done.stdout) == (0, True)
    assert done.stderr.startswith(b"note: the index is not used: ")
    assert done.stderr.count(b"\n") == 1
    assert {path: path.read_bytes() for path in cache.rglob("*")} == before


def test_an_index_of_ones_own_is_used_without_a_word(builder: StoreBuilder, cache: Path) -> None:
    forge(cache, titled)
    done = csp("list", "--root", builder.root, XDG_CACHE_HOME=str(cache.parent))
    assert (b"Rubbish" in done.stdout, done.stderr) == (True, b"")
