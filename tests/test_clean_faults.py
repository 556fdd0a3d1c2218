"""Killed at any moment, on a full disk, or without the right to write: nothing is lost, and the next run finishes."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

from claude_session_player.care.bundles import Bundle
from claude_session_player.care.vault import Vault
from tests.archives import Seen, bundles, litter, seen
from tests.bins import bundle
from tests.disks import disk, read_only
from tests.kills import killed, operations
from tests.program import csp
from tests.stores import ONE, StoreBuilder, settle
from tests.test_clean_properties import contents

KILLS = int(os.environ.get("KILLS", "4"))
DELETE = ("--delete", "--yes")


def build(place: Path) -> StoreBuilder:
    """A store with a session that has everything, two that have only a file, and one that stays."""
    builder = StoreBuilder(place / "store")
    builder.every_layout()
    builder.session("5d1f0c3a-0001", "Stay here", days=400)
    settle(builder.root)
    return builder


def clean(place: Path, *more: str) -> tuple[str | Path, ...]:
    store, archive = place / "store", place / "archive"
    return ("clean", "--before", "2026-06-01", "--apply", "--no-cache", "--root", store, "--to", archive, *more)


def moments(place: Path, *more: str) -> Iterator[int]:
    """Some of the moments at which a run can be killed, and the last."""
    build(place)
    count = operations(place, *clean(place, *more))
    assert count > 50
    chosen = range(1, count + 1)
    yield from chosen if count <= KILLS else sorted(random.Random(count).sample(chosen, KILLS))


def part(before: Seen, one: Bundle) -> Seen:
    """What a store has of a session."""
    return {item.path: before[item.path] for item in one.items if item.path in before}


def archived(place: Path, one: Bundle) -> dict[str, bytes]:
    newest = Vault(place / "archive").newest(one.main)
    return contents(newest.path) if newest else {}


def check_whole(place: Path, before: Seen, all_bundles: list[Bundle]) -> None:
    """Each session is in the store as it was, or all of it is in the archive."""
    now = seen(place / "store")
    for one in all_bundles:
        files = {path: what[1] for path, what in part(before, one).items() if what[0] == "file"}
        assert part(now, one) == part(before, one) or archived(place, one) == files, (place.name, one.id)


def check_next_run(place: Path, before: Seen, all_bundles: list[Bundle], *more: str) -> None:
    """The same command again does what was left, and touches nothing else."""
    done = csp(*clean(place, *more))
    assert done.returncode == 0, done.stderr.decode()
    named = {item.path for one in all_bundles if one.title != "Stay here" for item in one.items}
    assert seen(place / "store") == {path: what for path, what in before.items() if path not in named}
    assert litter(place) == []


def killed_twice(place: Path, at: int, *more: str) -> None:
    """Kill a run, and the one that should finish its work, too."""
    assert killed(place, at, *clean(place, *more))
    killed(place, random.Random(at).randint(1, 40), *clean(place, *more))


def test_killed_at_any_moment_each_session_is_whole_in_the_store_or_in_the_archive(tmp_path: Path) -> None:
    for at in moments(tmp_path / "count"):
        place = tmp_path / str(at)
        builder = build(place)
        before, all_bundles = seen(builder.root), bundles(builder)
        killed_twice(place, at)
        check_whole(place, before, all_bundles)
        check_next_run(place, before, all_bundles)


def test_a_killed_deletion_is_finished_or_taken_back(tmp_path: Path) -> None:
    for at in moments(tmp_path / "count", *DELETE):
        place = tmp_path / str(at)
        builder = build(place)
        before, all_bundles = seen(builder.root), bundles(builder)
        killed_twice(place, at, *DELETE)
        assert csp("clean", "--title", "none", "--apply", "--root", builder.root, "--to", place / "a").returncode == 0
        now = seen(builder.root)
        for one in all_bundles:
            assert part(now, one) in ({}, part(before, one)), (at, one.id)
        assert litter(place) == []
        check_next_run(place, before, all_bundles, *DELETE)


def check_nothing_happened(place: Path, before: Seen, code: int, *more: str) -> str:
    """A run that can do nothing says why in one line a session, and leaves everything as it is; gives what it says."""
    done = csp(*clean(place, *more))
    assert done.returncode == code
    assert seen(place / "store") == before
    assert litter(place) == []
    assert b"Traceback" not in done.stderr
    return done.stderr.decode()


def test_on_a_full_disk_what_cannot_be_archived_stays(tmp_path: Path) -> None:
    builder = build(tmp_path)
    (builder.home() / ONE / "tool-results" / "noise").write_bytes(random.Random(1).randbytes(200_000))
    settle(builder.root)
    before, all_bundles = seen(builder.root), bundles(builder)
    with disk(tmp_path / "archive", "64k"):
        done = csp(*clean(tmp_path))
        assert (done.returncode, done.stderr.decode().count("\n")) == (5, 1)
        assert b"No space left on device" in done.stderr
        check_whole(tmp_path, before, all_bundles)
        assert part(seen(builder.root), bundle(builder, ONE)) == part(before, bundle(builder, ONE))
        assert litter(tmp_path) == []


def test_where_the_archive_is_read_only_everything_stays(tmp_path: Path) -> None:
    before = seen(build(tmp_path).root)
    with disk(tmp_path / "archive"), read_only(tmp_path / "archive"):
        for more in ((), DELETE):
            told = check_nothing_happened(tmp_path, before, 5, *more)
            assert told.count("\n") == 1
            assert "Read-only file system" in told


def test_where_the_store_is_read_only_every_session_is_skipped_and_named(tmp_path: Path) -> None:
    with disk(tmp_path / "store"):
        before = seen(build(tmp_path).root)
        with read_only(tmp_path / "store"):
            told = check_nothing_happened(tmp_path, before, 1)
    assert told.count("\n") == told.count("skipped ") == 4
    assert "Read-only file system" in told
