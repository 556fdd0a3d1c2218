"""The summary of a session in the store, as its lines give it."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from claude_session_player import Filter, read_events
from tests.builder import START, SessionBuilder, text
from tests.stores import ENGINE, ONE, TWO, StoreBuilder, only


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


def test_the_working_directory_may_come_late(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE)
    for number in range(6):
        session.line({"type": "mode", "mode": str(number)})
    session.prompt("Hi").write(builder.home() / f"{ONE}.jsonl")
    assert only(builder.open())["project"] == ENGINE


def test_a_summary_holds_what_the_lines_say(builder: StoreBuilder) -> None:
    path = builder.session()
    summary = only(builder.open())
    assert summary == {
        "platform": "claude",
        "id": ONE,
        "kind": "session",
        "path": str(path),
        "project": ENGINE,
        "cwd": ENGINE,
        "created_at": "2026-01-17T20:31:59.197Z",
        "updated_at": "2026-01-17T20:32:00.197Z",
        "duration_seconds": 1.0,
        "provider": "anthropic",
        "model": "claude-opus-4-5-20251101",
        "models": ["claude-opus-4-5-20251101"],
        "version": "2.1.29",
        "entrypoint": "cli",
        "git_branch": "main",
        "title": "Start the engine",
        "first_user_message": "Start the engine",
        "last_user_message": "Start the engine",
        "usage": {
            "input_tokens": 4,
            "output_tokens": 12,
            "cache_creation_input_tokens": 1830,
            "cache_read_input_tokens": 41216,
        },
        "parent_id": None,
        "parent_agent_id": None,
        "agent": None,
        "workflow": None,
        "subagent_count": 0,
        "size": path.stat().st_size,
        "events": 2,
        "event_count": 2,
        "malformed": 0,
        "in_use": True,
        "detail_hint": f"claude-session-player get {ONE}",
    }


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([{"type": "summary", "summary": "S"}], "S"),
        ([{"type": "agent-name", "agentName": "N"}, {"type": "summary", "summary": "S"}], "N"),
        ([{"type": "ai-title", "aiTitle": "A"}, {"type": "agent-name", "agentName": "N"}], "A"),
        ([{"type": "custom-title", "customTitle": "C"}, {"type": "ai-title", "aiTitle": "A"}], "C"),
        ([{"type": "ai-title", "aiTitle": "A"}, {"type": "ai-title", "aiTitle": "B\n b"}], "B b"),
        ([{"type": "custom-title", "customTitle": " "}], "Start the engine"),
    ],
)
def test_the_best_title_wins_and_among_equals_the_last(
    builder: StoreBuilder, records: list[dict[str, str]], title: str
) -> None:
    path = builder.session()
    extra = SessionBuilder()
    for record in records:
        extra.line(record)
    path.write_bytes(path.read_bytes() + extra.data())
    assert only(builder.open())["title"] == title


def test_a_bare_command_is_a_title_only_where_there_is_nothing_else(builder: StoreBuilder) -> None:
    clear = "<command-name>/clear</command-name><command-args></command-args>"
    session = SessionBuilder(session_id=ONE).prompt(clear)
    session.write(builder.home() / f"{ONE}.jsonl")
    assert only(builder.open())["title"] == "/clear"
    session.prompt("<bash-input>ls</bash-input>").prompt("Mend it").write(builder.home() / f"{ONE}.jsonl")
    summary = only(builder.open())
    assert (summary["title"], summary["first_user_message"], summary["last_user_message"]) == (
        "Mend it",
        "/clear",
        "Mend it",
    )


def test_only_people_have_prompts(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE)
    session.prompt("By the harness", isMeta=True).prompt("A peer", origin={"kind": "peer"})
    session.prompt("<system-reminder>x</system-reminder>").prompt("Of a skill", sourceToolUseID="toolu_1")
    session.prompt("Notice", promptSource="system").prompt("<teammate-message>hello</teammate-message>")
    session.prompt("By a person", origin={"kind": "human"}).result("toolu_1", "output")
    session.attachment("queued_command", prompt="Typed meanwhile")
    session.attachment("queued_command", prompt="Injected", isMeta=True)
    session.write(builder.home() / f"{ONE}.jsonl")
    summary = only(builder.open())
    assert (summary["first_user_message"], summary["last_user_message"]) == ("By a person", "Typed meanwhile")


def test_a_long_prompt_is_cut(builder: StoreBuilder) -> None:
    builder.session(prompt="x" * 5000)
    summary = only(builder.open())
    assert summary["first_user_message"] == "x" * 2000 + "…"
    assert summary["title"] == "x" * 200 + "…"


def test_tokens_are_counted_once_for_each_response(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Hi")
    session.response(text("a"), text("b"), text("c"), request="r1").result("t").block(text("d"), request="r1")
    session.response(text("e"), request="r2").write(builder.home() / f"{ONE}.jsonl")
    usage = only(builder.open())["usage"]
    assert isinstance(usage, dict)
    assert (usage["input_tokens"], usage["output_tokens"]) == (8, 24)


def test_the_largest_usage_of_a_response_counts_and_synthetic_answers_do_not(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE)
    for tokens, model in ((5, "claude-x"), (9, "claude-x"), (7, "claude-x"), (1000, "<synthetic>")):
        message = {"id": "m1", "model": model, "content": [], "usage": {"input_tokens": 1, "output_tokens": tokens}}
        session.line({"type": "assistant", "requestId": "r1", "message": message})
    session.write(builder.home() / f"{ONE}.jsonl")
    summary = only(builder.open())
    assert isinstance(summary["usage"], dict)
    assert (summary["usage"]["output_tokens"], summary["models"]) == (9, ["claude-x"])


def test_the_same_message_of_another_request_is_another_response(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE)
    for request in ("r1", "r1", "r2"):
        message = {"id": "m1", "model": "claude-x", "content": [text("a")], "usage": {"output_tokens": 5}}
        session.line({"type": "assistant", "requestId": request, "message": message})
    session.write(builder.home() / f"{ONE}.jsonl")
    usage = only(builder.open())["usage"]
    assert isinstance(usage, dict)
    assert usage["output_tokens"] == 10


@pytest.mark.parametrize(
    ("message", "model", "provider"),
    [("msg_01", "claude-x", "anthropic"), ("msg_bdrk_1", "claude-x", "bedrock"), ("msg_01", "glm-4.6", None)],
)
def test_the_provider_is_known_by_the_response(
    builder: StoreBuilder, message: str, model: str, provider: str | None
) -> None:
    session = SessionBuilder().line({"type": "assistant", "message": {"id": message, "model": model, "content": "Hi"}})
    session.write(builder.home() / f"{ONE}.jsonl")
    assert only(builder.open())["provider"] == provider


def test_times_may_go_backwards_and_be_nonsense(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE)
    for time in ("2026-01-17T20:00:00.000Z", "2026-01-17T19:00:00.000Z", "yesterday", "9999-99-99T99:99:99.999Z"):
        session.prompt("Hi", timestamp=time)
    session.prompt("Hi", timestamp="2026-01-17T23:30:00+01:00").write(builder.home() / f"{ONE}.jsonl")
    summary = only(builder.open())
    assert (summary["created_at"], summary["updated_at"]) == ("2026-01-17T19:00:00.000Z", "2026-01-17T22:30:00.000Z")


def test_a_file_without_times_is_as_old_as_its_last_change(builder: StoreBuilder) -> None:
    path = SessionBuilder().line({"type": "user", "message": {"content": "Hi"}}).write(builder.home() / "x.jsonl")
    os.utime(path, (0, 86400))
    summary = only(builder.open())
    assert (summary["created_at"], summary["updated_at"]) == (None, "1970-01-02T00:00:00.000Z")
    assert summary["in_use"] is False


@pytest.mark.parametrize("data", [b"", b"\n\n", b'{"type":"summary","summary":"S"}', b"\0\0\0", b"no json"])
def test_files_with_nothing_in_them_are_listed(builder: StoreBuilder, data: bytes) -> None:
    builder.home().mkdir()
    (builder.home() / f"{ONE}.jsonl").write_bytes(data)
    assert only(builder.open())["id"] == ONE


def test_the_other_dialects_are_understood(builder: StoreBuilder) -> None:
    session = SessionBuilder().line(
        {"type": "metadata", "cwd": "/home/ada/engine", "model": "claude-3-5-sonnet-20241022", "session_id": "x"}
    )
    session.line({"type": "message", "role": "user", "content": "Hello", "timestamp": "2025-01-23T10:30:01Z"})
    session.line({"type": "usage", "input_tokens": 12, "output_tokens": 5, "timestamp": "2025-01-23T10:30:06Z"})
    session.write(builder.home() / "abcdef1234567890ABCDEF1234.jsonl")
    summary = only(builder.open())
    assert (summary["model"], summary["first_user_message"]) == ("claude-3-5-sonnet-20241022", "Hello")
    assert isinstance(summary["usage"], dict)
    assert (summary["usage"]["input_tokens"], summary["cwd"]) == (12, "/home/ada/engine")


def test_a_session_written_to_just_now_or_locked_is_in_use(builder: StoreBuilder) -> None:
    import fcntl

    path = builder.session()
    hour_ago = path.stat().st_mtime - 3600
    os.utime(path, (hour_ago, hour_ago))
    assert only(builder.open())["in_use"] is False
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert only(builder.open())["in_use"] is True


def test_numbers_beyond_reason_count_as_nothing(builder: StoreBuilder) -> None:
    usage = {"input_tokens": 10**30, "output_tokens": 5, "cache_read_input_tokens": -7}
    session = SessionBuilder().line({"type": "assistant", "message": {"id": "m", "content": "Hi", "usage": usage}})
    session.line({"type": "usage", "input_tokens": 10**25, "output_tokens": 1}).write(builder.home() / f"{ONE}.jsonl")
    counted = only(builder.open())["usage"]
    assert isinstance(counted, dict)
    assert list(counted.values()) == [0, 6, 0, 0]


def test_what_a_subagent_does_is_the_sessions_activity(builder: StoreBuilder) -> None:
    quiet, busy = builder.session(ONE), builder.session(TWO, days=-1)
    agent = SessionBuilder(session_id=TWO, sidechain=True, start=START + timedelta(days=3)).prompt("Work")
    path = agent.write(builder.home() / TWO / "subagents" / "agent-a1.jsonl")
    for old in (quiet, busy):
        os.utime(old, (0, 0))
    latest, other = builder.open().sessions()
    assert (latest.id, latest.in_use, other.in_use) == (TWO, True, False)
    assert latest.updated_at == agent_time(path)
    assert latest.summary.duration_seconds == 1.0  # that of its own conversation


def agent_time(path: Path) -> str:
    """The latest time in a file."""
    return max(str(event.timestamp) for event in read_events(path))


def test_a_file_from_the_future_counts_as_in_use(builder: StoreBuilder) -> None:
    path = builder.session()
    os.utime(path, (4e9, 4e9))
    assert only(builder.open())["in_use"] is True


def test_every_git_branch_of_a_session_matches_and_the_last_is_listed(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE, branch="feature-x").prompt("Begin")
    session.branch = "main"
    session.prompt("Middle")
    session.branch = "feature-x"
    session.prompt("End").write(builder.home() / f"{ONE}.jsonl")
    assert only(builder.open())["git_branch"] == "feature-x"
    for branch in ("main", "feature-x"):
        assert len(builder.open().sessions(Filter(branch=branch))) == 1


@pytest.mark.parametrize(
    ("entrypoints", "is_headless"),
    [
        (["cli"], False),
        (["sdk-cli"], True),
        (["sdk-py", "sdk-ts"], True),
        (["mcp", "claude-code-github-action"], True),
        (["sdk-cli", "cli"], False),
        (["claude-vscode"], False),
        ([None], False),
    ],
)
def test_a_session_is_headless_if_no_person_ever_sat_at_it(
    builder: StoreBuilder, entrypoints: list[str | None], is_headless: bool
) -> None:
    session = SessionBuilder(session_id=ONE)
    for entrypoint in entrypoints:
        session.prompt("Start the engine", entrypoint=entrypoint)
    session.write(builder.home() / f"{ONE}.jsonl")
    (known,) = builder.open().sessions()
    assert known.is_headless == is_headless
    assert known.summary.entrypoint == entrypoints[0]
    assert known.facts.entrypoints == tuple(filter(None, entrypoints))
