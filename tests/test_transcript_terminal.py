"""Transcripts that are drawn for a terminal."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest
from rich.cells import cell_len

from claude_session_player.export.registry import OutputKind, format_named
from claude_session_player.export.transcript import TranscriptStyle
from claude_session_player.parser import read_events
from claude_session_player.transcript.builder import TranscriptBuilder
from claude_session_player.transcript.subagents import Subagent, SubagentFinder
from claude_session_player.transcript.walk import TranscriptWalk
from claude_session_player.util.terminal import pager_command, write_pages
from tests.builder import SessionBuilder, call, text, thought
from tests.conversations import agent, subagent, walk
from tests.program import csp, on_terminal, told_on_terminal
from tests.stores import AGENT, ONE, StoreBuilder

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
DRAWN = format_named("text", OutputKind.TRANSCRIPT).load()


def draw(session: SessionBuilder, *agents: Subagent, columns: int = 80, colours: bool = False) -> str:
    style = TranscriptStyle(columns=columns, has_colours=colours)
    return "".join(DRAWN.join(DRAWN.items(walk(session, *agents)[1], style)))


def rows(drawn: str) -> list[str]:
    return [row.rstrip() for row in drawn.splitlines()]


def coloured(drawn: str, words: str) -> str:
    """The codes in force where some words begin."""
    before = drawn[: drawn.index(words)].rpartition("\n")[2]
    return "".join(_COLOUR.findall(before.rpartition("\x1b[0m")[2]))


def test_people_the_model_and_tools_have_marks_of_their_own_and_times_at_the_right() -> None:
    session = SessionBuilder().prompt("Start the engine").response(thought("Hm."), text("I *will*."))
    session.response(call("Read", "r", file_path="/a/b.py")).result("r", "1\n2")
    told = rows(draw(session))
    assert told[0] == f"❯ User {'─' * 53} 2026-01-17 20:31:59"
    assert told[1] == "▌ Start the engine"
    heads = [row for row in told if row[:1] in "✱●"]
    assert [head.split()[1] for head in heads if head] == ["Thinking", "Assistant", "Read"]
    assert "  I will." in told
    assert re.fullmatch(r"● Read /a/b\.py → 2 lines +20:32:\d\d", told[-1])
    assert {cell_len(row) for row in told if row.endswith(tuple("0123456789"))} == {80}


def test_markdown_of_responses_is_drawn_and_html_and_line_ends_are_kept() -> None:
    answer = "# Why\n\n- **one**\n- two\n\n```python\nx = 1\n```\nSee <b>this</b>\nand that"
    drawn = draw(SessionBuilder().prompt("Hi").response(text(answer)), colours=True)
    plain = rows(_COLOUR.sub("", drawn))
    assert [row for row in plain[4:] if row] == [
        "  Why",
        "   • one",
        "   • two",
        "    x = 1",
        "  See <b>this</b>",
        "  and that",
    ]
    assert "\x1b[1;4mWhy" in drawn
    assert "\x1b[94;49m1" in drawn


def test_a_prompt_is_drawn_as_it_was_typed() -> None:
    told = rows(draw(SessionBuilder().prompt("# no heading\n\n* no `list`\n\tindented")))
    assert told[1:] == ["▌ # no heading", "▌", "▌ * no `list`", "▌         indented"]


def test_edits_are_coloured_diffs() -> None:
    session = SessionBuilder().prompt("Hi")
    session.response(call("Edit", "e", file_path="/a.py", old_string="one\ntwo", new_string="one\nthree"))
    drawn = draw(session.result("e"), colours=True)
    assert coloured(drawn, "two") == "\x1b[31m"
    assert coloured(drawn, "+ ") == "\x1b[32m"
    assert rows(_COLOUR.sub("", drawn))[-3:] == ["    one", "  - two", "  + three"]


def test_a_recorded_change_has_line_numbers_and_says_what_is_left_out() -> None:
    lines = [f"+line {number}" for number in range(200)]
    patch = {"structuredPatch": [{"oldStart": 7, "newStart": 7, "lines": lines}]}
    session = SessionBuilder().prompt("Hi").response(call("Edit", "e", file_path="/a.py", new_string="x"))
    told = rows(draw(session.result("e", toolUseResult=patch)))
    first = next(number for number, row in enumerate(told) if row.endswith("line 0"))
    assert (told[first], told[first + 1]) == ("   7 + line 0", "   8 + line 1")
    assert told[-1].startswith("  … ")
    assert told[-1].endswith(" more lines")


def test_a_command_has_its_output_as_text_and_a_failure_is_red() -> None:
    session = (
        SessionBuilder().prompt("Hi").response(call("Bash", "b", command="make test", description="Run the tests"))
    )
    session.result("b", "*one*\n\x1b[31mtwo", error=True)
    drawn = draw(session, colours=True)
    told = rows(_COLOUR.sub("", drawn))
    assert told[3].startswith("● Bash Run the tests → failed ")
    assert told[4:] == ["  $ make test", "  └ *one*", "    two"]
    assert coloured(drawn, "● Bash") == "\x1b[1;31m"
    assert coloured(drawn, "*one*") == "\x1b[31m"


def test_sub_agents_are_indented_where_they_were_called() -> None:
    session = SessionBuilder().prompt("Hi").response(call("Task", "t", prompt="Look", description="Look around"))
    session.result("t", "agentId: a1").response(text("Done."))
    told = rows(draw(session, subagent("a1", agent("Look", "I see."), call="t")))
    assert next(row for row in told if row.startswith("│")).startswith("│ ❯ Task")
    assert "│   I see." in told
    assert "  Done." in told
    assert {cell_len(row) for row in told if row.endswith(tuple("0123456789"))} == {80}


def test_entries_of_one_row_stand_together() -> None:
    session = SessionBuilder().prompt("Hi")
    for number in range(3):
        session.response(call("Read", f"r{number}", file_path=f"/{number}.py")).result(f"r{number}", "1")
    assert [row[:6] for row in rows(draw(session))[2:]] == ["", "● Read", "● Read", "● Read"]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_row_is_wider_than_the_terminal_or_than_can_be_read(columns: int) -> None:
    session = SessionBuilder().prompt("word " * 90 + "x" * 300)
    session.response(text("many words " * 40 + "\n\n| a | b |\n|---|---|\n| " + "c " * 50 + " | d |"))
    session.response(call("Read", "r", file_path="/a" * 80)).result("r", "1")
    session.response(call("Bash", "b", command="echo " + "日本" * 60)).result("b", "y" * 300)
    assert max(map(cell_len, rows(draw(session, columns=columns)))) <= min(columns, 100)


def test_an_entry_is_drawn_when_it_is_asked_for() -> None:
    session = SessionBuilder()
    for number in range(5000):
        session.prompt(f"Prompt {number}").response(call("Bash", f"b{number}", command="ls")).result(f"b{number}")
    lines = iter(session.lines)
    entries = TranscriptWalk(TranscriptBuilder(SubagentFinder())).entries(read_events(lines))
    first = "".join(islice(DRAWN.join(DRAWN.items(entries, TranscriptStyle())), 3))
    assert "Prompt 0" in first
    assert len(list(lines)) > 14_000


# --- the command on a terminal ------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    built = StoreBuilder(tmp_path / "claude")
    main = SessionBuilder(session_id=ONE).prompt("Start the engine").response(text("I **will**."))
    main.response(call("Task", "t", prompt="Look around", subagent_type="Explore", description="Look"))
    main.result("t", f"agentId: {AGENT}").response(text("It runs.")).write(built.home() / f"{ONE}.jsonl")
    built.agent(place="subagents")
    return built


def words(store: StoreBuilder, *options: str) -> tuple[str, ...]:
    return "show", ONE, "--root", str(store.root), "--no-cache", *options


def test_a_terminal_gets_a_drawn_transcript_and_a_pipe_gets_markdown(store: StoreBuilder) -> None:
    printed = on_terminal(*words(store))
    assert "**" not in printed
    assert "\x1b[1;36m❯ User" in printed
    assert f"Session {ONE} (" in printed
    assert csp(*words(store)).stdout == csp(*words(store, "--format", "markdown", "--no-pager")).stdout
    assert b"**User**" in csp(*words(store)).stdout


@pytest.mark.parametrize(
    ("options", "environment"),
    [(("--format", "markdown"), {}), ((), {"TERM": "dumb"})],
    ids=["on request", "on a terminal without rules"],
)
def test_a_terminal_gets_markdown(store: StoreBuilder, options: tuple[str, ...], environment: dict[str, str]) -> None:
    printed = on_terminal(*words(store, *options), **environment)
    assert "**User** (" in printed
    assert "\x1b" not in printed


def test_without_colours_marks_and_rules_are_left(store: StoreBuilder) -> None:
    printed = on_terminal(*words(store), NO_COLOR="1")
    assert "❯ User ──" in printed
    assert "\x1b" not in printed


def test_a_drawn_transcript_can_be_written_to_a_file(store: StoreBuilder) -> None:
    told = csp(*words(store, "--format", "text", "--no-summary")).stdout.decode()
    assert told.startswith("All times are in UTC.\n\n❯ User ─")
    assert "\x1b" not in told


def test_a_terminal_gets_the_transcript_through_the_pager(store: StoreBuilder, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    pager = tmp_path / "pager"
    pager.write_text(f'#!/bin/sh\necho "$LESS $*" > {seen}\ncat >> {seen}\n')
    pager.chmod(0o755)
    assert told_on_terminal(*words(store), PAGER=f"{pager} -x") == ("", 0)
    told = seen.read_text()
    assert told.startswith("FRX -x\n")
    assert "\x1b[1;36m❯ User" in told
    told_on_terminal(*words(store), PAGER=str(pager), LESS="i")
    assert seen.read_text().startswith("i \n")
    seen.unlink()
    assert "❯ User" in on_terminal(*words(store, "--no-pager"), PAGER=str(pager))
    assert "**User**" in on_terminal(*words(store, "--format", "markdown"), PAGER=str(pager))
    assert not seen.exists()
    on_terminal(*words(store, "--format", "markdown", "--pager"), PAGER=str(pager))
    assert "**User**" in seen.read_text()


@pytest.mark.parametrize(("pager", "words"), [(None, ["less", "-R"]), ("less -x4", ["less", "-x4", "-R"])])
def test_less_shows_colours_whatever_its_user_told_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pager: str | None, words: list[str]
) -> None:
    less, seen = tmp_path / "less", tmp_path / "seen"
    less.write_text(f'#!/bin/sh\necho "$LESS $*" > {seen}\ncat >> {seen}\n')
    less.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("LESS", "-i")
    monkeypatch.delenv("PAGER", raising=False)
    if pager:
        monkeypatch.setenv("PAGER", pager)
    assert pager_command() == words
    write_pages(pager_command(), ["\x1b[1mbold"])
    assert seen.read_text() == f"-i {' '.join(words[1:])}\n\x1b[1mbold"


def test_a_pager_that_is_no_command_is_done_without_and_named(store: StoreBuilder) -> None:
    printed, code = told_on_terminal(*words(store), PAGER="less 'x")
    first, _, rest = printed.partition("\n")
    assert first == "warning: PAGER is not a command (no closing quotation): printed without a pager"
    assert (code, "❯ User" in rest, "Traceback" in printed) == (0, True, False)


def test_leaving_the_pager_early_ends_quietly(tmp_path: Path) -> None:
    session = SessionBuilder()
    for number in range(3000):
        session.prompt(f"Prompt {number}").response(text("word " * 50))
    path = session.write(tmp_path / "s.jsonl")
    printed, code = told_on_terminal("show", path, "--no-summary", PAGER="head -3")
    assert (code, printed.count("\n")) == (0, 3)
    assert "❯ User" in printed


def test_an_error_is_told_without_a_pager(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("no session")
    printed, code = told_on_terminal("show", tmp_path / "s.jsonl", PAGER="sed s/^/paged:/")
    assert code != 0
    assert "paged:" not in printed
    assert "Traceback" not in printed


def test_a_pager_that_is_not_installed_is_done_without(store: StoreBuilder) -> None:
    assert "❯ User" in on_terminal(*words(store), PAGER="no-such-pager -x")
