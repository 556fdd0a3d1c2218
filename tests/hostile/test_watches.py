"""Following never goes blind in silence: where the system watches no more directories, it polls, and says so."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pexpect
import pytest

from claude_session_player.store.layout import session_file_at
from claude_session_player.store.watch import POLLING_NOTICE, WatchedDir, dirs_to_watch, watch_changes
from tests.builder import START, SessionBuilder
from tests.hostile.effort import sample
from tests.hostile.strace import require_strace, traced
from tests.program import PATIENCE
from tests.stores import ONE, THREE, StoreBuilder
from tests.users import ADA, give, shared_folder, without_privileges

REFUSALS = [
    ("inotify_add_watch", "error=ENOSPC"),  # max_user_watches
    ("inotify_init1", "error=EMFILE"),  # max_user_instances
    ("inotify_add_watch", "error=EACCES"),
    ("inotify_add_watch", "error=ENOMEM"),
    ("inotify_init1", "error=ENFILE"),
]


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    require_strace()
    return StoreBuilder(tmp_path / "store")


@contextmanager
def follower(
    store: StoreBuilder, calls: str, fault: str, *arguments: str, only: Sequence[Path] = ()
) -> Iterator[Output]:
    """`follow` while system calls fail; it does not outlive the test."""
    command = traced(calls, "follow", *arguments, "--no-cache", "--root", str(store.root), fault=fault, only=only)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            yield Output(process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


class Output:
    """What a program has printed so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.text = b""

    def until(self, *words: str) -> None:
        """Wait until all of them were printed."""
        assert self.process.stdout is not None
        until = time.monotonic() + PATIENCE
        while not all(word.encode() in self.text for word in words):
            ready, _, _ = select.select([self.process.stdout], [], [], until - time.monotonic())
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            assert data, self.text.decode()
            self.text += data


def append(path: Path, words: str) -> None:
    with path.open("ab") as file:
        file.write(SessionBuilder(session_id=ONE).prompt(words).flush())


@pytest.mark.parametrize(("calls", "fault"), sample(REFUSALS, 2))
def test_following_without_watches_polls_and_says_so(store: StoreBuilder, calls: str, fault: str) -> None:
    session = store.session()
    with follower(store, calls, fault) as output:
        output.until("engine", POLLING_NOTICE)
        append(session, "Later words")
        output.until("Later words")
        store.agent(place="subagents")
        output.until("a5b6c7d8")
    assert output.text.decode().count(POLLING_NOTICE) == 1
    assert b"Traceback" not in output.text


@pytest.mark.parametrize(("calls", "fault"), sample(REFUSALS, 1))
def test_following_all_without_watches_polls_and_says_so(store: StoreBuilder, calls: str, fault: str) -> None:
    days = (datetime.now(UTC) - START).days  # else they would count as restored
    session = store.session(days=days)
    with follower(store, calls, fault, "--all") as output:
        output.until("waits for you", POLLING_NOTICE)
        append(session, "Later words")
        output.until("thinking")
        store.session(THREE, days=days)
        output.until(THREE[:8])
    assert output.text.decode().count(POLLING_NOTICE) == 1
    assert b"Traceback" not in output.text


def test_following_that_runs_out_of_watches_later_polls_from_then_on(store: StoreBuilder) -> None:
    session = store.session()
    (store.home() / ONE).mkdir()
    with follower(store, "inotify_add_watch", "error=ENOSPC", only=[store.home() / ONE / "subagents"]) as output:
        output.until("engine")
        append(session, "Still watched")  # by then the watch over the directory of the session has begun, too
        output.until("Still watched")
        assert POLLING_NOTICE not in output.text.decode()
        agent = store.agent(place="subagents")
        output.until("a5b6c7d8", POLLING_NOTICE)
        append(agent, "Deep words")
        output.until("Deep words")
    assert b"Traceback" not in output.text


@pytest.mark.parametrize("arguments", [["1f2e"], ["--all"]])
def test_the_window_that_polls_says_so(store: StoreBuilder, arguments: list[str]) -> None:
    store.session()
    command = traced(
        "inotify_add_watch", "follow", *arguments, "--no-cache", "--root", str(store.root), fault="error=ENOSPC"
    )
    child: pexpect.spawn[str] = pexpect.spawn(
        command[0],
        command[1:],
        env={**os.environ, "TERM": "xterm-256color"},
        dimensions=(30, 150),
        timeout=PATIENCE,
        encoding="utf-8",
    )
    try:
        child.expect_exact(POLLING_NOTICE[:40])
        child.send("q")
        child.expect(pexpect.EOF)
        child.wait()
        assert child.exitstatus == 0
    finally:
        child.close(force=True)


def test_a_directory_above_that_is_replaced_is_watched_anew(tmp_path: Path) -> None:
    session = StoreBuilder(tmp_path / "store").session()

    async def script() -> None:
        async with aclosing(watch_changes([WatchedDir(str(session.parent))])) as stream:
            assert (await anext(stream)).files == {str(session)}
            (tmp_path / "store").rename(tmp_path / "away")  # nothing happens in the directory itself
            StoreBuilder(tmp_path / "store").session()
            assert str(session) in (await anext(stream)).files
            append(session, "Later words")
            assert str(session) in (await anext(stream)).files

    asyncio.run(asyncio.wait_for(script(), PATIENCE))


def test_a_session_in_a_directory_that_cannot_be_listed_is_followed() -> None:
    async def script(session: Path) -> None:
        async with aclosing(watch_changes(dirs_to_watch(session_file_at(str(session))))) as stream:
            for words in ("Later words", "Still later words"):
                while str(session) not in (await anext(stream)).files:
                    pass
                append(session, words)
            while str(session) not in (await anext(stream)).files:
                pass

    with shared_folder() as folder:
        session = StoreBuilder(folder).session()
        if os.geteuid() == 0:
            give(folder, ADA)
        session.parent.chmod(0o300)
        with without_privileges("watchfiles"):
            assert not os.access(session.parent, os.R_OK, effective_ids=True)
            asyncio.run(asyncio.wait_for(script(session), PATIENCE))
        session.parent.chmod(0o700)
