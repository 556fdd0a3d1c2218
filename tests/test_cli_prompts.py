"""The command `prompts`, from outside."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from claude_session_player.store.session import Session
from claude_session_player.store.store import Store
from claude_session_player.transcript import all_prompts, session_prompts
from tests.builder import START, SessionBuilder, call, text
from tests.program import csp, on_terminal
from tests.stores import ONE, THREE, TWO, StoreBuilder, settle

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))
LATER = START + timedelta(days=2)


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    """Two sessions: an older one, and one two days later by a program."""
    built = StoreBuilder(tmp_path / "claude")
    first = SessionBuilder(session_id=ONE).prompt("Start the engine\nslowly").response(text("It runs."))
    first.prompt("<command-name>/compact</command-name>").prompt("Stop it")
    first.write(built.home() / f"{ONE}.jsonl")
    built.agent(place="subagents")
    second = SessionBuilder(session_id=TWO, start=LATER)
    second.prompt("Boil water", entrypoint="sdk-cli", uuid="boil").response(text("Hot.")).write(
        built.home() / f"{TWO}.jsonl"
    )
    return built


def prompts(store: StoreBuilder, *options: str) -> list[dict[str, Any]]:
    done = csp("prompts", *options, "--jsonl", "--root", str(store.root), "--no-cache")
    assert (done.returncode, done.stderr) == (0, b"")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    for record in records:
        jsonschema.validate(record, {**SCHEMA, "$ref": "#/$defs/typed_prompt"})
    return records


def texts(store: StoreBuilder, *options: str) -> list[str]:
    return [record["text"] for record in prompts(store, *options)]


def test_all_prompts_are_listed_newest_first_or_oldest_first(store: StoreBuilder) -> None:
    newest = ["Boil water", "Stop it", "/compact", "Start the engine\nslowly"]
    assert texts(store) == newest
    assert texts(store, "--reverse") == newest[::-1]
    assert texts(store, "--limit", "2") == newest[:2]
    assert texts(store, "--limit", "0") == newest


def test_a_prompt_has_its_place_and_says_what_it_is(store: StoreBuilder) -> None:
    boil, _, compact, start = prompts(store)
    assert (boil["session"], boil["line"], boil["headless"]) == (TWO, 1, True)
    assert (compact["command"], compact["headless"]) == (True, False)
    assert start == {
        "session": ONE,
        "project": "/home/ada/engine",
        "line": 1,
        "time": "2026-01-17T20:31:59.197Z",
        "text": "Start the engine\nslowly",
        "command": False,
        "queued": False,
        "headless": False,
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--no-commands", "--no-headless"), ["Stop it", "Start the engine\nslowly"]),
        (("--since", "2026-01-18"), ["Boil water"]),
        (("--to", "2026-01-18"), ["Stop it", "/compact", "Start the engine\nslowly"]),
        (("--project", "nowhere"), []),
        ((ONE, "--no-commands", "--reverse"), ["Start the engine\nslowly", "Stop it"]),
    ],
)
def test_prompts_can_be_filtered(store: StoreBuilder, options: tuple[str, ...], expected: list[str]) -> None:
    if expected:
        assert texts(store, *options) == expected
    else:
        done = csp("prompts", *options, "--root", str(store.root))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"No prompts match these filters.\n")


@pytest.mark.parametrize(
    ("record", "is_headless"),
    [
        ({"entrypoint": "cli"}, False),
        ({"entrypoint": "sdk-py"}, True),
        ({"entrypoint": "mcp"}, True),
        ({"entrypoint": "claude-code-github-action"}, True),
        ({"entrypoint": "cli", "promptSource": "sdk"}, True),
    ],
)
def test_a_prompt_is_headless_where_its_session_would_be(
    tmp_path: Path, record: dict[str, str], is_headless: bool
) -> None:
    built = StoreBuilder(tmp_path / "claude")
    SessionBuilder(session_id=ONE).prompt("Review this", **record).write(built.home() / f"{ONE}.jsonl")
    (prompt,) = prompts(built)
    assert prompt["headless"] == is_headless
    (session,) = built.open().sessions()
    assert session.is_headless == (is_headless and "promptSource" not in record)


def test_times_select_prompts_and_not_only_sessions(tmp_path: Path) -> None:
    built = StoreBuilder(tmp_path / "claude")
    session = SessionBuilder(session_id=ONE).prompt("Early").response(text("Yes."))
    session.prompt("Late", timestamp="2026-01-20T08:00:00.000Z").write(built.home() / f"{ONE}.jsonl")
    assert texts(built, "--from", "2026-01-19") == ["Late"]


def test_a_prompt_typed_mid_turn_is_listed_where_it_was_taken_up(tmp_path: Path) -> None:
    built = StoreBuilder(tmp_path / "claude")
    session = SessionBuilder(session_id=ONE).prompt("Start").response(call("Bash", "b", command="ls"))
    session.attachment("queued_command", prompt="And hurry").result("b").response(text("Done."))
    session.write(built.home() / f"{ONE}.jsonl")
    assert [(one["text"], one["queued"], one["line"]) for one in prompts(built)] == [
        ("And hurry", True, 3),
        ("Start", False, 1),
    ]


@pytest.mark.parametrize("keeps_uuids", [True, False], ids=["same uuid", "same time and text"])
def test_a_prompt_that_a_session_copied_is_listed_once(tmp_path: Path, keeps_uuids: bool) -> None:
    built = StoreBuilder(tmp_path / "claude")
    SessionBuilder(session_id=ONE).prompt("Start").response(text("It runs.")).write(built.home() / f"{ONE}.jsonl")
    again = SessionBuilder(session_id=TWO).prompt("Start", **({} if keeps_uuids else {"uuid": "another"}))
    again.response(text("It runs.")).prompt("Go on").write(built.home() / f"{TWO}.jsonl")
    other = SessionBuilder(session_id=THREE, start=LATER).prompt("Start", uuid="third").response(text("So it does."))
    other.write(built.home() / f"{THREE}.jsonl")
    assert [(one["session"], one["text"]) for one in prompts(built)] == [
        (THREE, "Start"),
        (TWO, "Go on"),
        (TWO, "Start"),
    ]


def test_a_terminal_gets_one_row_for_each_prompt_and_a_pipe_the_whole_text(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=THREE).prompt("word\n" * 100, uuid="words").response(text("Yes."))
    session.write(store.home() / f"{THREE}.jsonl")
    where = ("--root", str(store.root), "--no-cache", "--utc")
    rows = on_terminal("prompts", *where, COLUMNS="80", NO_COLOR="1").splitlines()
    assert len(rows) == 6
    assert max(map(len, rows)) <= 80
    assert rows[0] == "WHEN              SESSION         LINE  PROMPT"
    assert sum(row.startswith("2026-01-17 20:31  a9b8c7d6           1  word word") for row in rows) == 1
    wide = on_terminal("prompts", *where, COLUMNS="100", NO_COLOR="1").splitlines()
    assert wide[0] == "WHEN              SESSION        PROJECT          LINE  PROMPT"
    lines = csp("prompts", *where).stdout.decode().splitlines()
    assert (len(lines), lines[0]) == (6, wide[0])
    assert any(line.endswith(" ".join(["word"] * 100)) for line in lines)
    assert "\n\n2026-01-17 20:31  1f2e3d4c-0001  engine              1\nStart the engine\nslowly\n" in (
        csp("prompts", "--full", *where).stdout.decode()
    )


def at(day: int, hour: int = 8) -> str:
    return f"2026-01-{day:02}T{hour:02}:00:00.000Z"


@pytest.fixture
def woven(tmp_path: Path) -> StoreBuilder:
    """Two sessions that were used by turns, and an older one; some lines have no time."""
    built = StoreBuilder(tmp_path / "claude")
    one = SessionBuilder(session_id=ONE).prompt("1", timestamp=at(1)).prompt("1, then", timestamp=None)
    one.prompt("4", timestamp=at(4)).write(built.home() / f"{ONE}.jsonl")
    two = SessionBuilder(session_id=TWO).prompt("2, before", uuid="a", timestamp=None)
    two.prompt("2", uuid="b", timestamp=at(2)).prompt("3", uuid="c", timestamp=at(3))
    two.prompt("5", uuid="d", timestamp=at(5)).write(built.home() / f"{TWO}.jsonl")
    old = SessionBuilder(session_id=THREE).prompt("0", uuid="e", timestamp="2025-12-31T08:00:00.000Z")
    old.write(built.home() / f"{THREE}.jsonl")
    return built


def test_prompts_of_sessions_used_by_turns_are_in_one_order(woven: StoreBuilder) -> None:
    newest = ["5", "4", "3", "2", "2, before", "1, then", "1", "0"]
    assert texts(woven) == newest
    assert texts(woven, "--reverse") == newest[::-1]
    for limit in (1, 2, 5):
        assert texts(woven, "--limit", str(limit)) == newest[:limit]
        assert texts(woven, "--reverse", "--limit", str(limit)) == newest[::-1][:limit]


def test_the_same_copy_counts_in_both_orders(woven: StoreBuilder) -> None:
    copied = SessionBuilder(session_id=THREE).prompt("4", uuid="copy", timestamp=at(4))
    copied.prompt("6", uuid="f", timestamp=at(6)).write(woven.home() / f"{THREE}.jsonl")
    places = [(one["session"], one["text"]) for one in prompts(woven)]
    assert places[:3] == [(THREE, "6"), (TWO, "5"), (THREE, "4")]
    assert [(one["session"], one["text"]) for one in prompts(woven, "--reverse")] == places[::-1]


def test_a_session_is_read_when_it_could_hold_the_next_prompt(woven: StoreBuilder) -> None:
    read: list[str] = []

    def reading(session: Session) -> Any:
        read.append(session.id)
        return session_prompts(session)

    sessions = Store.open(str(woven.root), cache=None).sessions()
    found = all_prompts(sessions, lambda problem: None, read=reading)
    for text_, session_ids in (("5", [TWO]), ("4", [TWO, ONE]), ("3", [TWO, ONE])):
        assert next(found).text == text_
        assert read == session_ids


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_listed(store: StoreBuilder) -> None:
    opened = Store.open(str(store.root), cache=None)
    sessions = opened.sessions()
    Path(sessions[0].path).unlink()
    assert [prompt.text for prompt in all_prompts(sessions, opened.note)][:1] == ["Stop it"]
    assert [problem.path for problem in opened.problems] == [sessions[0].path]


def test_archived_prompts_are_listed(store: StoreBuilder, tmp_path: Path) -> None:
    settle(store.root)
    archive = ("--archive", str(tmp_path / "archive"))
    assert csp("archive", "add", "--all", "--root", str(store.root), *archive).returncode == 0
    done = csp("prompts", *archive, "--jsonl")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == texts(store)


def test_filters_of_sessions_do_not_go_with_one_session(store: StoreBuilder) -> None:
    done = csp("prompts", ONE, "--project", "engine", "--root", str(store.root))
    assert done.returncode == 2
    assert b"--project selects sessions: leave out REF" in done.stderr


def test_prompts_of_one_session_keep_the_order_of_its_file(tmp_path: Path) -> None:
    built = StoreBuilder(tmp_path / "claude")
    session = SessionBuilder(session_id=ONE).prompt("first", timestamp=at(3)).prompt("second", timestamp=at(2))
    session.prompt("third", timestamp=at(4)).write(built.home() / f"{ONE}.jsonl")
    assert texts(built, ONE) == ["third", "second", "first"]
    assert texts(built, ONE, "--reverse") == ["first", "second", "third"]
    assert texts(built) == ["third", "first", "second"]
