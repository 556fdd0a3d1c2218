"""Jobs that are done aside: the same result, whoever does them, and whatever becomes of whoever does."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from claude_session_player import summarize
from claude_session_player.errors import CannotRead
from claude_session_player.insight import aside as module
from claude_session_player.insight import summary
from claude_session_player.insight.aside import aside
from claude_session_player.insight.counts import counts_of_file
from tests.builder import SessionBuilder, call, text
from tests.stores import ONE, StoreBuilder

forks = pytest.mark.skipif(sys.platform != "linux", reason="forks are safe on Linux only")


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 2)


@forks
def test_a_job_is_done_in_another_process() -> None:
    with aside(os.getpid) as answer:
        assert answer() != os.getpid()


def test_a_short_job_is_done_here() -> None:
    with aside(os.getpid, is_long=False) as answer:
        assert answer() == os.getpid()


def test_on_a_single_core_a_job_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 1)
    with aside(os.getpid) as answer:
        assert answer() == os.getpid()


def test_beside_other_threads_a_job_is_done_here() -> None:
    is_over = threading.Event()
    thread = threading.Thread(target=is_over.wait)
    thread.start()
    try:
        with aside(os.getpid) as answer:
            assert answer() == os.getpid()
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("broken", ["fork", "pipe"])
def test_where_no_process_can_be_had_a_job_is_done_here(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def refuse() -> None:
        raise OSError("too many")

    monkeypatch.setattr(os, broken, refuse)
    with aside(os.getpid) as answer:
        assert answer() == os.getpid()


def test_a_job_that_came_to_nothing_is_done_here() -> None:
    here = os.getpid()

    def die_elsewhere() -> str:
        if os.getpid() != here:
            os._exit(1)
        return "done"

    with aside(die_elsewhere) as answer:
        assert answer() == "done"


def test_what_goes_wrong_is_raised_where_the_result_is_asked_for(tmp_path: Path) -> None:
    with aside(lambda: counts_of_file(str(tmp_path / "none.jsonl"))) as answer, pytest.raises(CannotRead):
        answer()


def test_what_nobody_waits_for_is_given_up() -> None:
    start = time.monotonic()
    with pytest.raises(KeyError), aside(lambda: time.sleep(60)):
        raise KeyError
    assert time.monotonic() - start < 30
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("has_inline_agent", [False, True])
def test_a_summary_is_the_same_whoever_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_inline_agent: bool
) -> None:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE).prompt("Make tea").response(call("Read", "a", file_path="/tea.md"))
    session.result("a", "Leaves", error=True).response(text("There is none."))
    if has_inline_agent:
        session.prompt("Look around", isSidechain=True).response(text("Nothing."), isSidechain=True)
    session.write(builder.home() / f"{ONE}.jsonl")
    plain = summarize(builder.open().resolve(ONE))
    monkeypatch.setattr(summary, "_LARGE", 0)
    store = builder.open()
    file = store.files()[0]
    with summary.counting(file) as counted:
        assert summarize(store.of(file), counted=counted) == plain
    assert plain.user_messages == 1
