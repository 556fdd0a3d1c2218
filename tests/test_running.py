"""The sessions that run now, by the ends of their files."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from claude_session_player.live.attention import WaitingSessions
from claude_session_player.live.running import (
    HEAD_SIZE,
    TAIL_SIZE,
    FileTail,
    RunningSession,
    RunningSessions,
    SessionPeek,
)
from claude_session_player.live.status import Phase
from claude_session_player.store.layout import session_file_at
from claude_session_player.store.watch import watched_files
from claude_session_player.util.times import to_epoch
from tests.builder import SessionBuilder, call, text, timestamp
from tests.stores import AGENT, ENGINE, ONE, THREE, TWO, StoreBuilder

NOW = (to_epoch(timestamp(1)) or 0) + 60
"""A minute after the sessions of the builder begin."""


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


def append(path: Path, data: bytes, seconds_ago: float = 0) -> None:
    with path.open("ab") as file:
        file.write(data)
    os.utime(path, (NOW - seconds_ago, NOW - seconds_ago))


def add(store: StoreBuilder, session: SessionBuilder, seconds_ago: float = 0) -> Path:
    path = session.write(store.home(session.cwd) / f"{session.session_id}.jsonl")
    append(path, b"", seconds_ago)
    session.flush()
    return path


def rows(board: RunningSessions) -> list[RunningSession]:
    board.update([file for folder in board.directories for file in watched_files(folder)], NOW)
    return board.rows(NOW)


def told(found: list[RunningSession]) -> list[tuple[str, str]]:
    return [(row.peek.title, row.status.phase.value) for row in found]


# --- the end of a file ------------------------------------------------------------------------------


def test_of_a_short_file_every_line_is_read_and_then_only_what_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo\nthr")
    tail = FileTail(str(path))
    assert tail.read_lines() == [b"one\n", b"two\n"]
    append(path, b"ee\nfour\n")
    assert tail.read_lines() == [b"three\n", b"four\n"]
    assert tail.read_lines() == []
    assert tail.bytes_read == path.stat().st_size


def test_of_a_long_file_only_the_beginning_and_the_end_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"".join(b"%099d\n" % number for number in range(100_000)))
    tail = FileTail(str(path))
    lines = tail.read_lines()
    assert lines[0] == b"%099d\n" % 0
    assert lines[-1] == b"%099d\n" % 99_999
    assert all(len(line) == 100 for line in lines)
    assert tail.bytes_read == HEAD_SIZE + TAIL_SIZE
    append(path, b"more\n")
    assert tail.read_lines() == [b"more\n"]
    assert tail.bytes_read == HEAD_SIZE + TAIL_SIZE + len(b"more\n")


def test_a_last_line_that_is_longer_than_the_end_is_read_whole(tmp_path: Path) -> None:
    path, long = tmp_path / "file", b"x" * (TAIL_SIZE + 1000) + b"\n"
    path.write_bytes(b"a\n" * HEAD_SIZE + long)
    assert FileTail(str(path)).read_lines()[-1] == long


def test_a_file_that_is_cut_off_or_replaced_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo\n")
    tail = FileTail(str(path))
    tail.read_lines()
    path.write_bytes(b"1\n")
    assert (tail.read_lines(), tail.is_restarted) == ([b"1\n"], True)
    (tmp_path / "other").write_bytes(b"another\n")
    os.replace(tmp_path / "other", path)
    assert (tail.read_lines(), tail.is_restarted) == ([b"another\n"], True)
    path.unlink()
    assert (tail.read_lines(), tail.written_at) == ([], None)


# --- one session -------------------------------------------------------------------------------------


def test_a_glimpse_knows_the_title_the_project_and_the_last_words(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("/clear").prompt("Start the engine").response(text("It\nruns."))
    path = add(store, session)
    glimpse = SessionPeek(session_file_at(str(path)))
    glimpse.catch_up()
    assert (glimpse.title, glimpse.project, glimpse.last_text) == ("Start the engine", ENGINE, "It runs.")
    append(path, session.line({"type": "ai-title", "aiTitle": "Engine"}).prompt("And now?").flush())
    glimpse.catch_up()
    assert (glimpse.title, glimpse.last_text) == ("Engine", "And now?")
    append(path, session.line({"type": "custom-title", "customTitle": "Mine"}).flush())
    append(path, session.line({"type": "ai-title", "aiTitle": "Other"}).flush())
    glimpse.catch_up()
    assert glimpse.title == "Mine"


def test_a_glimpse_of_a_file_that_was_replaced_forgets_the_one_before(store: StoreBuilder) -> None:
    path = add(store, SessionBuilder(session_id=ONE).prompt("Start").response(call("Bash", "a")))
    glimpse = SessionPeek(session_file_at(str(path)))
    glimpse.catch_up()
    assert glimpse.status(NOW).phase is Phase.RUNNING
    path.write_bytes(SessionBuilder(session_id=ONE).prompt("Else").data())
    glimpse.catch_up()
    assert (glimpse.title, glimpse.status(NOW).phase) == ("Else", Phase.THINKING)


# --- all of them --------------------------------------------------------------------------------------


def test_sessions_that_were_written_to_lately_are_shown_the_idle_ones_last(store: StoreBuilder) -> None:
    old = SessionBuilder(session_id=THREE).prompt("Old")
    idle = SessionBuilder(session_id=TWO).prompt("Idle")
    idle.start -= timedelta(minutes=20)
    idle.lines.clear()
    add(store, old, seconds_ago=31 * 60)
    add(store, idle.prompt("Idle"), seconds_ago=20 * 60)
    add(store, SessionBuilder(session_id=ONE).prompt("New"), seconds_ago=30)
    assert told(rows(RunningSessions([str(store.root)]))) == [("New", "thinking"), ("Idle", "idle")]


def test_an_old_session_is_shown_where_somebody_uses_it_or_as_soon_as_it_is_written_to(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Old")
    path = add(store, session, seconds_ago=99_999)
    assert told(rows(RunningSessions([str(store.root)], in_use=[str(path)]))) == [("Old", "thinking")]
    board = RunningSessions([str(store.root)])
    assert rows(board) == []
    append(path, session.response(text("It runs.")).flush(), seconds_ago=1)
    board.update([str(path)], NOW)
    assert told(board.rows(NOW)) == [("Old", "waiting for the person")]


def test_a_restored_session_is_not_shown_though_its_file_is_new_unless_somebody_uses_it(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE)
    session.start -= timedelta(days=90)
    path = add(store, session.prompt("Old").response(text("It runs.")))
    assert rows(RunningSessions([str(store.root)])) == []
    assert told(rows(RunningSessions([str(store.root)], in_use=[str(path)]))) == [("Old", "idle")]


def test_a_session_that_ended_does_not_wait(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Start").response(text("It runs."))
    path = add(store, session)
    board, waiting = RunningSessions([str(store.root)]), WaitingSessions()
    waiting.update(rows(board))
    append(path, session.prompt("<command-name>/exit</command-name>").flush())
    board.update([str(path)], NOW)
    assert told(board.rows(NOW)) == [("Start", "idle")]
    assert not waiting.update(board.rows(NOW))
    assert waiting.title == ""


def test_a_session_leaves_the_board_half_an_hour_after_it_was_written_to_last(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Start").response(text("It runs."))
    path = add(store, session)
    used = add(store, SessionBuilder(session_id=TWO).prompt("In use"))
    board = RunningSessions([str(store.root)], in_use=[str(used)])
    assert len(rows(board)) == 2
    later = NOW + 30 * 60
    assert len(board.rows(later - 1)) == 2
    assert told(board.rows(later)) == [("In use", "idle")]
    append(path, session.prompt("Go on").flush(), seconds_ago=-30 * 60)
    board.update([str(path)], later)
    assert ("Start", "thinking") in told(board.rows(later))


def test_a_session_stays_on_the_board_while_a_sub_agent_of_it_writes(store: StoreBuilder) -> None:
    path = add(store, SessionBuilder(session_id=ONE).prompt("Start").response(call("Task", "a")))
    agent = SessionBuilder(session_id=ONE, sidechain=True).prompt("Look around")
    file = agent.write(store.home() / ONE / "subagents" / f"agent-{AGENT}.jsonl")
    append(file, b"", seconds_ago=-20 * 60)
    board = RunningSessions([str(store.root)])
    board.update([str(path), str(file)], NOW)
    assert len(board.rows(NOW + 40 * 60)) == 1
    assert board.rows(NOW + 50 * 60) == []


def test_sub_agents_stand_below_their_session_for_as_long_as_they_work(store: StoreBuilder) -> None:
    main = SessionBuilder(session_id=ONE).prompt("Start").response(call("Task", "a", prompt="Look around"))
    path = add(store, main, seconds_ago=99_999)
    agent = SessionBuilder(session_id=ONE, sidechain=True).prompt("Look around").response(call("Grep", "g"))
    file = agent.write(store.home() / ONE / "subagents" / f"agent-{AGENT}.jsonl")
    store.meta(file, agentType="Explore", description="Look")
    append(file, b"")
    agent.flush()
    board = RunningSessions([str(store.root)])
    found = rows(board)
    assert told(found) == [("Start", "running a tool"), ("Look", "running a tool")]
    assert (found[1].is_subagent, found[1].peek.agent) == (True, "Explore")
    append(file, agent.result("g").response(text("Nothing there.")).flush())
    board.update([str(file)], NOW)
    assert told(board.rows(NOW)) == [("Start", "running a tool")]
    path.unlink()
    board.update([str(path)], NOW)
    assert board.rows(NOW) == []


def test_a_flat_sub_agent_finds_its_session_by_its_lines(store: StoreBuilder) -> None:
    add(store, SessionBuilder(session_id=ONE).prompt("Start").response(call("Task", "a")))
    agent = SessionBuilder(session_id=ONE, sidechain=True).prompt("Look around")
    append(agent.write(store.home() / f"agent-{AGENT}.jsonl"), b"")
    assert told(rows(RunningSessions([str(store.root)]))) == [("Start", "running a tool"), ("Look around", "thinking")]


def test_a_board_reads_no_more_than_is_appended(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Start")
    for _ in range(50):
        session.response(text("x" * 100_000))
    path = add(store, session)
    board = RunningSessions([str(store.root)])
    (row,) = rows(board)
    before = row.peek.tail.bytes_read
    assert before == HEAD_SIZE + TAIL_SIZE
    appended = 0
    for number in range(100):
        data = session.prompt(f"More {number}").flush()
        append(path, data)
        appended += len(data)
        board.update([str(path)], NOW)
    assert row.peek.tail.bytes_read - before == appended
