"""The text that each screen adds to what was written before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from claude_session_player import ScreenState, View, render
from claude_session_player.player.frame_index import FrameIndex
from claude_session_player.player.recording import FileSource, MemorySource
from claude_session_player.player.stream import AppendedText
from tests import corpus
from tests.builder import SessionBuilder, call, text, thought

FILES = corpus.session_files()


def told(session: SessionBuilder, view: View | None = None) -> str:
    """All that is told of a session, line after line."""
    film = FrameIndex(MemorySource(session.lines), view)
    film.finish()
    appended = AppendedText(film.view)
    frames = range(len(film.frames))
    return "".join(piece.lines for frame in frames for piece in appended.after(film.screen(frame)))


def test_elements_are_told_as_they_appear() -> None:
    session = SessionBuilder().prompt("Start").response(thought(), text("It runs.")).prompt("Stop")
    assert told(session) == "❯ Start\n\n✱ Thinking…\n● It runs.\n\n❯ Stop\n"


def test_a_result_stands_below_its_call_where_that_was_told_last() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="ls")).result("a", "one\ntwo").prompt("Go on")
    assert told(session) == "● Bash(ls)\n  └ one\n    two\n\n❯ Go on\n"


def test_a_result_that_comes_later_is_told_with_its_call_again() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="ls"), call("Bash", "b", command="cat"))
    session.result("a", "one").result("b", "two", error=True)
    assert told(session) == "● Bash(ls)\n● Bash(cat)\n\n● Bash(ls)\n  └ one\n\n● Bash(cat)\n  ✗ two\n"


def test_progress_is_not_told() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="ls"))
    session.progress("bash_progress", "a", fullOutput="50 %").progress("bash_progress", "a", fullOutput="60 %")
    assert told(session.result("a", "done")) == "● Bash(ls)\n  └ done\n"


def test_a_compaction_is_a_rule_and_nothing_is_taken_back() -> None:
    session = SessionBuilder().prompt("Start").compaction().compaction().prompt("Go on").compaction()
    assert told(session) == "❯ Start\n\n── compacted ──\n\n❯ Go on\n\n── compacted ──\n"
    with_history = told(session, View(history=True))
    assert with_history.count("── compacted (auto, 167503 tokens) ──") == 3


def test_a_result_before_its_call_is_told_and_moves_to_the_call_later() -> None:
    session = SessionBuilder().result("a", "early").response(call("Bash", "a", command="ls"))
    assert told(session) == "early\n\n● Bash(ls)\n  └ early\n"


def test_results_and_words_on_one_line_are_both_told() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="ls"))
    session.prompt([{"type": "tool_result", "tool_use_id": "a", "content": "one"}, text("And now?")])
    assert told(session) == "● Bash(ls)\n  └ one\n\n❯ And now?\n"


def test_after_an_interruption_a_result_is_told_with_its_call() -> None:
    appended, state = AppendedText(), ScreenState()
    for line in SessionBuilder().response(call("Bash", "a", command="ls")).lines:
        render(state, json.loads(line))
    assert [piece.text for piece in appended.after(state)] == ["● Bash(ls)"]
    appended.interrupt()
    result: Any = {"type": "tool_result", "tool_use_id": "a", "content": "one"}
    render(state, {"type": "user", "message": {"content": [result]}})
    assert [piece.lines for piece in appended.after(state)] == ["\n● Bash(ls)\n  └ one\n"]


@pytest.mark.skipif(not FILES, reason="no corpus at hand")
def test_of_real_sessions_every_prompt_and_answer_is_told_once() -> None:
    for path in FILES[::10]:
        film = FrameIndex(FileSource(str(path)), View(history=True))
        film.finish()
        if not film.frames:
            continue
        appended = AppendedText(film.view)
        pieces = [p for frame in range(len(film.frames)) for p in appended.after(film.screen(frame))]
        last = film.screen(len(film.frames) - 1).elements
        said = [element.uuid for element in last if element.uuid]
        assert set(said) <= {piece.element.uuid for piece in pieces}
