"""The status of a session, by its latest events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from claude_session_player.live.status import Phase, SessionActivity, SessionStatus, phase_word
from claude_session_player.parser import read_events
from claude_session_player.util.times import to_epoch
from tests.builder import SessionBuilder, call, text, thought, timestamp

Build = Callable[[SessionBuilder], object]

THINKING, RUNNING, WAITING, IDLE = Phase.THINKING, Phase.RUNNING, Phase.WAITING, Phase.IDLE


def status(session: SessionBuilder, seconds: float = 12, *, is_subagent: bool = False) -> SessionStatus:
    """What goes on some seconds after the last line."""
    activity = SessionActivity(is_subagent=is_subagent)
    activity.take(read_events(session.lines))
    return activity.status((to_epoch(timestamp(len(session.lines))) or 0) + seconds)


def stopped(session: SessionBuilder, reason: str) -> SessionBuilder:
    """The last line with the reason for which the model stopped."""
    session.lines[-1] = session.lines[-1].replace(b'"stop_reason":null', f'"stop_reason":"{reason}"'.encode())
    return session


STATES: list[tuple[Phase, str, Build]] = [
    (IDLE, "no prompt yet", lambda s: s),
    (THINKING, "prompt 12s ago, no response yet", lambda s: s.prompt("Start")),
    (THINKING, "last thinking 12s ago", lambda s: s.prompt("Start").response(thought())),
    (
        RUNNING,
        "no result for 12s; running, or waiting for permission",
        lambda s: s.prompt("Start").response(text("I look."), call("Bash", "a", command="ls")),
    ),
    (
        RUNNING,
        "no result for 13s",
        lambda s: s.response(call("Bash", "a")).progress("bash_progress", "a", fullOutput="1 %"),
    ),
    (RUNNING, "no result for 12s", lambda s: s.response(call("Task", "a", prompt="Look"))),
    (
        RUNNING,
        "no result for 13s; running, or waiting for permission",
        lambda s: s.response(call("Read", "a"), call("Bash", "b")),
    ),
    (
        RUNNING,
        "no result for 13s; running, or waiting for permission",
        lambda s: s.response(call("Read", "a"), call("Bash", "b")).result("a"),
    ),
    (
        THINKING,
        "last tool result 12s ago, no response yet",
        lambda s: s.response(call("Bash", "a")).result("a"),
    ),
    (WAITING, "last response 12s ago, without a tool call", lambda s: s.prompt("Start").response(text("It runs."))),
    (WAITING, "turn ended 12s ago", lambda s: s.response(text("Yes.")).system("turn_duration", durationMs=1)),
    (WAITING, "no answer for 12s", lambda s: s.response(call("AskUserQuestion", "a"))),
    (WAITING, "no answer for 12s", lambda s: s.response(call("ExitPlanMode", "a"))),
    (
        WAITING,
        "interrupted 12s ago",
        lambda s: s.response(call("Bash", "a")).prompt([text("[Request interrupted by user for tool use]")]),
    ),
    (
        WAITING,
        "last command 12s ago",
        lambda s: s.prompt("<command-name>/model</command-name>").prompt(
            "<local-command-stdout></local-command-stdout>"
        ),
    ),
    (IDLE, "ended 12s ago", lambda s: s.response(text("Yes.")).prompt("<command-name>/exit</command-name>")),
    (
        IDLE,
        "ended 12s ago",
        lambda s: s.prompt("<command-name>/quit</command-name>").prompt(
            "<local-command-stdout>See ya!</local-command-stdout>"
        ),
    ),
    (
        IDLE,
        "ended 12s ago",
        lambda s: s.system("local_command", content="<command-name>/exit</command-name>").system(
            "local_command", content="<local-command-stdout>Bye!</local-command-stdout>"
        ),
    ),
    (
        WAITING,
        "last command 12s ago",
        lambda s: s.prompt("<command-name>/exit</command-name>").prompt("<bash-input>ls</bash-input>"),
    ),
    (
        THINKING,
        "prompt 12s ago, no response yet",
        lambda s: s.prompt("<command-name>/exit</command-name>").prompt("I am back"),
    ),
    (
        WAITING,
        "last command 12s ago",
        lambda s: s.response(text("Yes.")).compaction(trigger="manual"),
    ),
    (THINKING, "compacted 12s ago, continuing", lambda s: s.response(call("Bash", "a")).compaction()),
    (THINKING, "request failed 12s ago, being retried", lambda s: s.prompt("Start").system("api_error")),
    (
        WAITING,
        "last request failed 12s ago",
        lambda s: s.prompt("Start").response(text("API Error: 500"), isApiErrorMessage=True),
    ),
    (
        THINKING,
        "prompt 12s ago, no response yet",
        lambda s: s.prompt("<task-notification><summary>Done</summary></task-notification>"),
    ),
    (
        THINKING,
        "prompt 12s ago, no response yet",
        lambda s: s.response(text("Yes.")).attachment("queued_command", prompt="And now?"),
    ),
    (
        WAITING,
        "last response 13s ago, without a tool call",
        lambda s: s.response(text("Yes.")).prompt("Base directory for this skill", isMeta=True),
    ),
]


@pytest.mark.parametrize(("phase", "how", "build"), STATES, ids=[f"{p.value}: {how}" for p, how, _ in STATES])
def test_the_last_events_tell_what_goes_on(phase: Phase, how: str, build: Build) -> None:
    session = SessionBuilder()
    build(session)
    found = status(session)
    assert (found.phase, found.reason) == (phase, how)


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([call("Bash", "a", command="mix test", description="Run the tests")], "Bash: mix test"),
        ([call("Bash", "a", command="make \\\n  all")], "Bash: make \\ all"),
        ([call("Read", "a", file_path="/home/ada/gauge.py")], "Read: gauge.py"),
        (
            [call("Agent", "a", description="Find the gauge", prompt="Look for the gauge.\nSay where it is.")],
            "Agent: Find the gauge — Look for the gauge. Say where it is.",
        ),
        ([call("mcp__kettle__boil", "a", litres=2)], "mcp__kettle__boil"),
        ([call("", "a")], "a tool"),
        (
            [call("Read", "a", file_path="/a"), call("Bash", "b", command="ls"), call("Read", "c", file_path="/c")],
            "3 calls: Read ×2 · Bash: ls",
        ),
        (
            [call("Bash", "a", command="ls"), call("AskUserQuestion", "b", questions=[{"question": "Tea?"}])],
            "AskUserQuestion: Tea?",
        ),
    ],
)
def test_what_runs_is_named_by_the_calls_without_a_result(calls: list[dict[str, Any]], words: str) -> None:
    assert status(SessionBuilder().response(*calls)).running == words


def test_nothing_runs_once_every_call_has_its_result() -> None:
    assert status(SessionBuilder().response(call("Bash", "a", command="ls")).result("a")).running == ""


def test_an_answer_that_may_go_on_is_no_end_yet() -> None:
    session = SessionBuilder().response(text("I look."))
    assert status(session, 3).phase is THINKING
    assert status(session, 9).phase is WAITING
    assert status(stopped(session, "end_turn"), 1).phase is WAITING


def test_an_answer_that_says_that_a_call_follows_is_never_the_last() -> None:
    session = stopped(SessionBuilder().response(text("I look.")), "tool_use")
    found = status(session, 60)
    assert (found.phase, found.reason) == (THINKING, "response 1m ago, a tool call follows")


def test_after_ten_minutes_without_a_word_a_session_is_idle() -> None:
    session = SessionBuilder().response(call("Bash", "a"))
    assert status(session, 599).phase is RUNNING
    found = status(session, 600)
    assert found.phase is IDLE
    assert found.reason.startswith("nothing written for 10m; no result for 10m")


def test_a_file_that_is_written_to_is_not_idle_whatever_its_times_say() -> None:
    activity = SessionActivity()
    activity.take(read_events(SessionBuilder().prompt("Start").lines))
    now = (to_epoch(timestamp(1)) or 0) + 5000
    assert activity.status(now).phase is IDLE
    assert activity.status(now, written_at=now - 1).phase is THINKING


def test_a_file_that_was_written_to_a_day_after_its_last_event_is_a_copy_and_as_old_as_the_event() -> None:
    activity = SessionActivity()
    activity.take(read_events(SessionBuilder().prompt("Start").lines))
    event, day = to_epoch(timestamp(1)) or 0, 24 * 60 * 60
    found = activity.status(event + day + 1, written_at=event + day)
    assert (found.phase, found.reason) == (IDLE, "nothing written for 1d; prompt 1d ago, no response yet")
    assert activity.status(event + day, written_at=event + day - 1).phase is THINKING
    assert activity.status(event + day + 1, written_at=event + day, agents_active_at=event + day).phase is THINKING


def test_a_result_that_comes_before_its_call_closes_it() -> None:
    assert status(SessionBuilder().result("a").response(call("Bash", "a"))).calls == ()


def test_calls_that_were_never_answered_are_forgotten_when_the_model_speaks_again() -> None:
    session = SessionBuilder().response(call("Bash", "a")).response(call("Read", "b"))
    assert [call.name for call in status(session).calls] == ["Read"]


def test_a_result_before_its_call_answers_it_even_behind_a_prompt() -> None:
    session = SessionBuilder().result("a").prompt("Again").response(call("Bash", "a"))
    assert status(session).calls == ()


def test_a_call_of_which_the_response_is_not_known_stays_open_when_the_model_speaks() -> None:
    session = SessionBuilder().line({"type": "tool_use", "tool_name": "Bash", "tool_input": {}}).response(text("So."))
    assert [call.name for call in status(session).calls] == ["Bash"]


def test_the_latest_time_counts_though_an_earlier_one_comes_behind_it() -> None:
    session = SessionBuilder().prompt("Start", timestamp=timestamp(1000)).system("note")
    assert status(session, 1100).phase is THINKING


def test_a_hook_that_tells_of_itself_is_no_sign_that_the_tool_runs() -> None:
    session = SessionBuilder().response(call("Bash", "a")).progress("hook_progress", "a")
    assert status(session).reason.endswith("running, or waiting for permission")


def test_what_the_harness_says_in_the_persons_place_is_no_prompt() -> None:
    session = SessionBuilder().response(call("Bash", "a"))
    session.prompt("<system-reminder>Be careful.</system-reminder>")
    assert status(session).phase is RUNNING


def test_what_the_harness_has_queued_is_no_prompt() -> None:
    session = SessionBuilder().response(text("Yes.")).attachment("queued_command", prompt="Go on", isMeta=True)
    assert status(session).phase is WAITING


def test_calls_without_an_id_are_closed_in_their_order() -> None:
    session = SessionBuilder()
    for name in ("Bash", "Read"):
        session.line({"type": "tool_use", "tool_name": name, "tool_input": {}})
    session.line({"type": "tool_result", "tool_name": "Bash", "tool_output": "x"})
    assert [call.name for call in status(session).calls] == ["Read"]


def test_a_sub_agent_inside_of_a_session_does_not_count_but_in_its_own_file() -> None:
    session = SessionBuilder().response(call("Task", "a"))
    session.sidechain = True
    session.prompt("Look").response(text("Nothing."))
    assert status(session).phase is RUNNING
    assert status(session, is_subagent=True).phase is WAITING


def test_times_that_are_missing_do_no_harm() -> None:
    activity = SessionActivity()
    activity.take(read_events([b'{"type":"user","message":{"content":"Hi"}}']))
    assert activity.status(0.0).reason == "prompt at an unknown time, no response yet"


def test_several_sessions_wait_and_one_waits() -> None:
    assert [phase_word(WAITING), phase_word(WAITING, 2), phase_word(RUNNING, 2)] == [
        "waits for you",
        "wait for you",
        "running",
    ]
