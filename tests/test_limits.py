"""Huge input: memory grows with the screen and the longest line, not with the file; time grows with the size."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_session_player import ScreenState, render, replay
from claude_session_player.formatter import write_markdown
from tests.builder import SessionBuilder, call, text, thought

MEGABYTE = 1_000_000
PLAIN = "a line of sixty characters, as plain as the day, and so long\n"
ARROW = "a line of sixty characters, as plain as the day, and → long\n"


class Nowhere:
    """A file that forgets what is written to it."""

    def write(self, data: str) -> int:
        """Take it and forget it."""
        return len(data)

    def writelines(self, lines: Iterator[str]) -> None:
        """Take them one by one and forget them."""
        for line in lines:
            self.write(line)


def peak(path: Path) -> int:
    """The most memory that was in use while a session was replayed and written."""
    write_markdown(replay(path), Nowhere())  # type: ignore[arg-type]
    tracemalloc.start()
    try:
        write_markdown(replay(path), Nowhere())  # type: ignore[arg-type]
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


KINDS = ("output", "listed output", "prompt", "answer", "thought", "input")


@pytest.mark.parametrize(
    ("kind", "words"), [*((kind, PLAIN) for kind in KINDS), ("output", ARROW), ("listed output", ARROW)]
)
def test_one_huge_line_costs_at_most_four_times_its_size(tmp_path: Path, kind: str, words: str) -> None:
    huge = words * (8 * MEGABYTE // len(words.encode()))
    session = SessionBuilder().response(call("Bash", "a"))
    match kind:
        case "output":
            session.result("a", huge, toolUseResult={"stdout": huge})
        case "listed output":
            session.result("a", [text(huge)])
        case "prompt":
            session.prompt(huge)
        case "answer":
            session.response(text(huge))
        case "thought":
            session.response(thought(huge))
        case _:
            session.response(call("Write", "b", content=huge))
    path = session.write(tmp_path / "huge.jsonl")
    assert peak(path) < 4 * max(map(len, session.lines)) + MEGABYTE


def test_memory_does_not_grow_with_tool_output(tmp_path: Path) -> None:
    session = SessionBuilder()
    for number in range(100):
        session.response(call("Bash", f"t{number}", command="make")).result(f"t{number}", PLAIN * 3000)
    assert len(session.data()) > 18 * MEGABYTE
    assert peak(session.write(tmp_path / "long.jsonl")) < 4 * MEGABYTE


def test_thousands_of_results_before_their_calls_are_moved() -> None:
    session = SessionBuilder()
    for number in range(1500):
        session.result(f"t{number}", str(number))
    for number in range(1500):
        session.response(call("Bash", f"t{number}"))
    state = replay(session.lines)
    assert [element.result for element in state.elements] == [str(n) for n in range(1500)]  # type: ignore[union-attr]


@pytest.mark.parametrize("tag", ["<system-reminder>", "<ide_selection>", "\x1b]", "\x1bP", "<command-name>", "\x1b["])
def test_a_flood_of_unclosed_tags_is_read_in_one_go(tag: str) -> None:
    flood = (tag + "x") * 100_000
    session = SessionBuilder().prompt(flood).response(call("Bash", "a")).result("a", flood)
    assert replay(session.lines).to_markdown()


def test_a_flood_of_glued_and_broken_records_is_read_in_one_go() -> None:
    line = b'{"type":"mode"}' * 20_000 + b'{"type":' * 20_000 + b"\0" * 1_000_000 + b'{"type":"user","x":{"type":['
    account = replay([line]).account
    assert (account.lines, len(account.issues)) == (1, 1)


@pytest.mark.parametrize(
    "line", [b'{"type":' * 500 + b"[" + b"1," * 300_000, b"oops" + b'{"type":[{"a":1},' * 20_000, b"1 " * 80_000]
)
def test_a_broken_line_with_many_beginnings_is_given_up_soon(line: bytes) -> None:
    assert replay([line]).account.lines == 1


@pytest.mark.parametrize("depth", [90, 110, 500, *range(880, 1002), 5000])
def test_nesting_near_the_limit_of_the_interpreter_is_read(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    lines = [
        b'{"timestamp":5,"type":"user","message":{"content":7},"x":' + deep + b"}",
        b'{"type":"tool_result","tool_name":"x","tool_output":{"output":' + deep + b"}}",
        b'{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":'
        + deep
        + b"}}]}}",
        b'{"type":"assistant","message":{"content":[{"type":"zap","x":' + deep + b"}]}}",
    ]
    state = replay(lines)
    assert (state.account.lines, len(state.elements)) == (4, 4)


def test_a_deep_dict_is_rendered() -> None:
    deep: list[object] = []
    for depth in range(50_000):
        deep = [deep]
        if depth in range(880, 1000) or depth == 49_999:
            state = render(ScreenState(), {"type": "user", "timestamp": 5, "message": {"content": "Hi"}, "x": deep})
            assert state.to_markdown() == "❯ Hi"
