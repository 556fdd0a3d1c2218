"""What another user writes to a session is not lost: nobody sees which files his processes have open; a lease does."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_session_player.archive import locks, removal
from claude_session_player.archive.locks import HAS_LEASES, Leases
from claude_session_player.archive.removal import Removal, remove_sessions
from claude_session_player.archive.session_files import SessionFiles, describe_change
from tests import agreement
from tests.archives import seen
from tests.hostile.effort import pick
from tests.interrupted_removals import fine, session_files
from tests.stores import ONE, TWO, StoreBuilder, settle
from tests.users import ADA, BOB, Writer, csp_as, give, needs_users, shared_folder

pytestmark = pytest.mark.skipif(not HAS_LEASES, reason="this system has no leases")
ATTEMPTS = pick(2, 20)
LINES = 50

_OPENER = """
import os, sys
try:
    os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK)
except BlockingIOError:
    print("has to wait")
"""


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """A store with one of everything, which nobody works with."""
    builder = StoreBuilder(tmp_path / "store")
    builder.every_layout()
    settle(builder.root)
    return builder


@pytest.fixture
def shared() -> Iterator[StoreBuilder]:
    """A store of one user in which another one may write to the session files."""
    with shared_folder() as folder:
        builder = StoreBuilder(folder / "store")
        builder.session(ONE)
        builder.agent(place="subagents")
        builder.session(TWO, "Stop it")
        give(folder, ADA)
        for path in builder.root.rglob("*.jsonl"):
            path.chmod(0o666)
        settle(builder.root)
        yield builder


def clean(builder: StoreBuilder, *options: str) -> subprocess.CompletedProcess[bytes]:
    where: list[str | Path] = ["--root", builder.root, "--archive", builder.root.parent / "archive", "--no-cache"]
    return csp_as(ADA, "clean", "--older-than", "1d", "--apply", *options, *where)


@needs_users
@pytest.mark.parametrize("options", [(), ("--delete", "--yes")])
@pytest.mark.parametrize("name", [f"{ONE}.jsonl", f"{ONE}/subagents/agent-a5b6c7d8.jsonl"])
@pytest.mark.parametrize("attempt", range(ATTEMPTS))
def test_nothing_is_lost_that_another_user_writes_after_a_clean_up(
    shared: StoreBuilder, name: str, options: tuple[str, ...], attempt: int
) -> None:
    path = shared.home() / name
    writer = Writer(BOB, path)
    try:
        done = clean(shared, *options)
        for number in range(LINES):
            writer.write(f'{{"line": {number}}}')
    finally:
        writer.end()
    assert path.read_text().count('{"line": ') == LINES
    assert "in use: open for writing by a process that cannot be seen" in done.stderr.decode()
    assert (done.returncode, (shared.home() / f"{TWO}.jsonl").exists()) == (1, False)


@needs_users
def test_it_is_told_how_many_processes_cannot_be_seen(shared: StoreBuilder) -> None:
    planned = csp_as(ADA, "clean", "--older-than", "1d", "--root", shared.root, "--no-cache")
    assert b"could not be inspected; --apply takes a lease" in planned.stderr
    done = clean(shared)
    assert b"could not be inspected; leases confirm that none of them" in done.stderr
    assert done.returncode == 0


@needs_users
def test_a_session_with_a_file_of_somebody_else_is_left_alone(shared: StoreBuilder) -> None:
    path = shared.home() / f"{TWO}.jsonl"
    os.chown(path, BOB, BOB)
    done = clean(shared)
    assert (done.returncode, path.exists()) == (1, True)
    assert b"one of its files belongs to another user" in done.stderr


def test_a_lease_is_refused_for_a_writer_and_not_for_a_reader(builder: StoreBuilder) -> None:
    found = session_files(builder, ONE)
    path = builder.home() / ONE / "tool-results" / "toolu_9.txt"
    with path.open("rb"), Leases(found) as held:
        assert (held.refusal, held.missing, held.are_broken) == (None, 0, False)
    with path.open("ab"), Leases(found) as held:
        assert held.refusal == "in use: open for writing by a process that cannot be seen"


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN])
def test_whoever_opens_a_file_for_writing_breaks_the_lease_and_nothing_else(
    builder: StoreBuilder, handler: signal.Handlers
) -> None:
    before = signal.signal(signal.SIGIO, handler)
    try:
        with Leases(session_files(builder, ONE)) as held:
            path = builder.home() / f"{ONE}.jsonl"
            opener = subprocess.run([sys.executable, "-c", _OPENER, str(path)], capture_output=True, check=True)
            assert (opener.stdout, held.are_broken) == (b"has to wait\n", True)
    finally:
        signal.signal(signal.SIGIO, before)


def test_a_session_stays_that_somebody_opens_for_writing_at_the_last_moment(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = seen(builder.root)

    def opened_meanwhile(inside: SessionFiles) -> str | None:
        (path,) = builder.root.rglob(f".removing-{ONE}/**/{ONE}.jsonl")
        subprocess.run([sys.executable, "-c", _OPENER, str(path)], capture_output=True, check=True)
        return describe_change(inside)

    monkeypatch.setattr(removal, "describe_change", opened_meanwhile)
    assert list(remove_sessions([Removal(session_files(builder, ONE))], fine, lambda _: None)) == [
        "in use: a process is just opening it for writing"
    ]
    assert seen(builder.root) == before


def test_more_files_than_leases_are_held_are_all_asked_for(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_MAX_HELD", 2)
    path = builder.home() / ONE / "tool-results" / "toolu_9.txt"
    with path.open("ab"), Leases(session_files(builder, ONE)) as held:
        assert held.refusal is not None
    with Leases(session_files(builder, ONE)) as held:
        assert (held.refusal, held.missing) == (None, 0)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP])
def test_where_no_lease_can_be_had_a_session_is_removed_and_its_files_are_counted(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    real = fcntl.fcntl

    def refuse(handle: int, command: int, *argument: int) -> object:
        if command == fcntl.F_SETLEASE:
            raise OSError(number, os.strerror(number))
        return real(handle, command, *argument)

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    found, missing = session_files(builder, ONE), list[int]()
    assert list(remove_sessions([Removal(found)], fine, lambda _: None, missing.append)) == [None]
    assert missing == [len(found.files)]


def test_a_lease_is_taken_on_the_file_of_the_plan_and_on_no_other(builder: StoreBuilder) -> None:
    found = session_files(builder, ONE)
    path = builder.home() / f"{ONE}.jsonl"
    shutil.copy2(path, builder.root / "copy")
    (builder.root / "copy").rename(path)
    with Leases(found) as held:
        assert (held.refusal or "").endswith(f"{ONE}.jsonl has changed")


def test_it_is_said_where_no_lease_was_granted(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "HAS_LEASES", False)
    options = ["--root", str(builder.root), "--archive", str(builder.root.parent / "archive"), "--no-cache"]
    code, _, talk = agreement.csp("clean", "--older-than", "1d", "--apply", *options)
    assert code == 0
    assert re.search(r"no lease was granted on \d+ removed files", talk)
