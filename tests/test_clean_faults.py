"""`clean` loses nothing: killed at any moment, on a full disk, without the right to write."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_session_player.archive.archive_dir import ArchiveDir
from claude_session_player.archive.session_files import SessionFiles
from claude_session_player.archive.trash import REMOVED_PREFIX, REMOVING_PREFIX
from tests.archives import Seen, all_session_files, contents, litter, seen
from tests.disks import disk, read_only
from tests.faults import Scenario, survives
from tests.interrupted_removals import interrupted
from tests.program import csp
from tests.stores import ONE, TWO, Opened, StoreBuilder, settle

STORE, ARCHIVE = "store", "archive"
STAYS = "5d1f0c3a-0001"
NEW = "somebody went on\n"

Command = Callable[[Path], list[str | Path]]


def build(world: Path) -> StoreBuilder:
    """A store with a session that has everything, three that have only a file, and one that is too young."""
    builder = StoreBuilder(world / STORE)
    builder.every_layout()
    builder.session(STAYS, "Stay here", days=400)
    settle(builder.root)
    return builder


def whole(world: Path) -> None:
    build(world)


def begun(world: Path) -> None:
    """A store from which two sessions were being removed: one was decided on, one was not."""
    builder = build(world)
    csp(*clean(world), "--title", "no such title")
    interrupted(builder, TWO, is_gone=False)
    interrupted(builder, ONE, is_gone=True)


def blocked(world: Path) -> None:
    """The same, and something new is in the place of the one that was not decided on."""
    begun(world)
    main = Opened(world / STORE).home() / f"{TWO}.jsonl"
    main.write_text(NEW)
    os.utime(main, (1_700_000_000, 1_700_000_000))


def recover(world: Path) -> list[str | Path]:
    return ["clean", "--recover", "--no-cache", "--root", world / STORE, "--archive", world / ARCHIVE]


def clean(world: Path) -> list[str | Path]:
    options = ["--before", "2026-06-01", "--apply", "--no-cache"]
    return ["clean", *options, "--root", world / STORE, "--archive", world / ARCHIVE]


def delete(world: Path) -> list[str | Path]:
    return [*clean(world), "--delete", "--yes"]


def origin(before: Path) -> tuple[Seen, list[SessionFiles]]:
    """The store as it was before anything was done to it, and the sessions in it."""
    place = before.parent / "origin"
    if not place.exists():
        build(place)
    return seen(place / STORE), all_session_files(Opened(place / STORE))


def part(store: Seen, one: SessionFiles) -> Seen:
    """What a store shows of a session."""
    return {item.path: store[item.path] for item in one.items if item.path in store}


def undecided(store: Seen, one: SessionFiles) -> Seen:
    """What will be put back of a session."""
    content = f"{one.main.rpartition('/')[0]}/{REMOVING_PREFIX}{one.id}/content/"
    return part({path.removeprefix(content): what for path, what in store.items() if path.startswith(content)}, one)


def is_decided(world: Path, store: Seen, one: SessionFiles) -> bool:
    """True where there is a sign that a session was meant to be gone: its bin, or, when that is empty, the log."""
    log = world / ARCHIVE / "log.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    is_logged = any(json.loads(line)["id"] == one.id for line in lines)
    return is_logged or f"{one.main.rpartition('/')[0]}/{REMOVED_PREFIX}{one.id}" in store


def is_archived(world: Path, one: SessionFiles, before: Seen) -> bool:
    """True where every byte of a session is in the archive."""
    newest = ArchiveDir(world / ARCHIVE).newest(one.main)
    files = {path: what[1] for path, what in part(before, one).items() if what[0] == "file"}
    return newest is not None and contents(newest.path) == files


def check_kept(world: Path, before: Path) -> None:
    """Each session is whole in the store, or whole in the archive."""
    was, sessions = origin(before)
    now = seen(world / STORE)
    for one in sessions:
        assert part(now, one) == part(was, one) or is_archived(world, one, was), one.id


def check_all_or_nothing(world: Path, before: Path) -> None:
    """Each session is whole in the store, is about to be put back, or was decided to be gone."""
    was, sessions = origin(before)
    now = seen(world / STORE)
    for one in sessions:
        left = part(now, one)
        is_whole = left | undecided(now, one) == part(was, one)
        assert is_whole or (left == {} and is_decided(world, now, one)), one.id
        assert left or one.id != STAYS


def check_gone(world: Path, before: Path) -> None:
    """What was asked for is removed, and nothing else."""
    was, sessions = origin(before)
    named = {item.path for one in sessions if one.id != STAYS for item in one.items}
    assert seen(world / STORE) == {path: what for path, what in was.items() if path not in named}
    assert litter(world) == []


def check_all_archived(world: Path, before: Path) -> None:
    check_gone(world, before)
    check_kept(world, before)


def check_finished(world: Path, before: Path) -> None:
    """What was put back is archived before it is removed."""
    check_gone(world, before)
    was, sessions = origin(before)
    assert all(is_archived(world, one, was) for one in sessions if one.id == TWO)


def check_waiting(world: Path, before: Path) -> None:
    """What waits is in its bin, at its place or in the archive; what is new stays."""
    was, sessions = origin(before)
    now = seen(world / STORE)
    for one in sessions:
        left = part(now, one) | undecided(now, one)
        is_kept = left == part(was, one) or (one.id == TWO and is_archived(world, one, was))
        assert is_kept or (one.id == ONE and is_decided(world, now, one)), one.id
    assert not is_blocked(before) or now[_main_of(sessions, TWO)][1] == NEW.encode()


def check_recovered(world: Path, before: Path) -> None:
    """What was decided is gone; what was not is at its place, or in the archive where something new is there."""
    was, sessions = origin(before)
    now = seen(world / STORE)
    assert litter(world) == []
    check_waiting(world, before)
    gone = {item.path for one in sessions if one.id == ONE for item in one.items}
    assert now.keys() == was.keys() - gone
    assert is_blocked(before) == any(is_archived(world, one, was) for one in sessions if one.id == TWO)


def is_blocked(before: Path) -> bool:
    return (Opened(before / STORE).home() / f"{TWO}.jsonl").exists()


def _main_of(sessions: list[SessionFiles], id: str) -> str:
    return next(one.main for one in sessions if one.id == id)


SCENARIOS = {
    "clean a store": Scenario(whole, clean, check_kept, check_all_archived),
    "delete sessions": Scenario(whole, delete, check_all_or_nothing, check_gone),
    "finish what was begun": Scenario(begun, clean, check_all_or_nothing, check_finished),
    "recover what was begun": Scenario(begun, recover, check_waiting, check_recovered),
    "recover what cannot go back": Scenario(blocked, recover, check_waiting, check_recovered),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_any_moment_nothing_is_lost_and_the_same_command_finishes(name: str, tmp_path: Path) -> None:
    survives(SCENARIOS[name], tmp_path)


# --- disks ----------------------------------------------------------------------------------------


def test_on_a_full_disk_what_cannot_be_archived_stays(tmp_path: Path) -> None:
    builder = build(tmp_path)
    (builder.home() / ONE / "tool-results" / "noise").write_bytes(random.Random(1).randbytes(200_000))
    settle(builder.root)
    before, sessions = seen(builder.root), all_session_files(builder)
    with disk(tmp_path / ARCHIVE, "64k"):
        done = csp(*clean(tmp_path))
        assert (done.returncode, done.stderr.decode().count("\n")) == (5, 1)
        assert b"No space left on device" in done.stderr
        now = seen(builder.root)
        assert all(part(now, one) == part(before, one) or is_archived(tmp_path, one, before) for one in sessions)
        assert f"{builder.home().relative_to(builder.root)}/{ONE}.jsonl" in now
        assert litter(tmp_path) == []


@pytest.mark.parametrize("command", [clean, delete])
def test_where_the_archive_is_read_only_everything_stays(tmp_path: Path, command: Command) -> None:
    before = seen(build(tmp_path).root)
    with disk(tmp_path / ARCHIVE), read_only(tmp_path / ARCHIVE):
        done = csp(*command(tmp_path))
    assert (done.returncode, done.stderr.decode().count("\n")) == (5, 1)
    assert b"Read-only file system" in done.stderr
    assert seen(tmp_path / STORE) == before


def test_where_the_store_is_read_only_every_session_is_skipped_and_named(tmp_path: Path) -> None:
    with disk(tmp_path / STORE):
        before = seen(build(tmp_path).root)
        with read_only(tmp_path / STORE):
            done = csp(*clean(tmp_path))
        assert seen(tmp_path / STORE) == before
    told = done.stderr.decode()
    assert (done.returncode, told.count("\n"), told.count("skipped ")) == (1, 4, 4)
    assert told.count("Read-only file system") == 4
    assert f"{tmp_path / STORE / 'transcripts'}: Read-only file system" in told
    assert REMOVING_PREFIX not in told
