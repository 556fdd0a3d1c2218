"""Calls and results that stand on lines of their own, however they are spelled."""

from __future__ import annotations

from typing import Any

import pytest

from claude_session_player.flat_events import flatten_event
from claude_session_player.format.blocks import ToolResult
from claude_session_player.format.content import Code
from claude_session_player.format.events import User
from claude_session_player.parser import parse_object, read_events
from claude_session_player.playback import replay
from claude_session_player.player.frame_index import FrameIndex
from claude_session_player.player.recording import MemorySource
from claude_session_player.player.search import element_details
from claude_session_player.store.extract import FileExtractor
from claude_session_player.transcript.entries import TranscriptCall
from tests.builder import SessionBuilder, call, uuid_of
from tests.conversations import walk


def result_line(**record: Any) -> SessionBuilder:
    """A call of which the result is such a line, which stands behind it."""
    session = SessionBuilder().prompt("Go").response(call("Bash", "t1", command="ls"))
    return session.line({"type": "tool_result", "uuid": "r", "parentUuid": uuid_of(2), **record})


@pytest.mark.parametrize(
    "record",
    [
        {"message": {"role": "tool", "content": "hello"}},
        {"message": {"role": "tool", "content": [{"type": "text", "text": "hello"}]}},
        {"message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "hello"}]}},
        {"message": {"content": [{"type": "tool_result", "content": "hello"}]}},
        {"message": "hello"},
        {"message": {"content": "hello"}, "name": "Bash"},
        {"message": {"content": "hello"}, "tool_use_id": "t1"},
        {"message": {"content": "hello"}, "sourceToolAssistantUUID": uuid_of(2), "parentUuid": "elsewhere"},
        {"message": {"role": "tool", "content": "other"}, "output": "hello"},
        {"content": "hello"},
        {"tool_output": {"stdout": "hello"}},
    ],
)
def test_the_output_of_a_result_line_stands_under_its_call(record: dict[str, Any]) -> None:
    session = result_line(**record)
    assert replay(session.lines).to_markdown() == "❯ Go\n\n● Bash(ls)\n  └ hello"
    entry = walk(session)[1][1].entry
    assert isinstance(entry, TranscriptCall)
    reply = entry.reply()
    assert reply is not None
    assert reply.text == "hello"
    facts = [fact for event in read_events(session.lines) for fact in flatten_event(event)]
    assert facts[-1]["text"] == "hello"
    extractor = FileExtractor(is_agent=False)
    extractor.add_lines(session.lines)
    assert extractor.main.events == len(facts)


def test_the_player_finds_the_whole_result_of_a_line_that_does_not_name_its_call() -> None:
    film = FrameIndex(MemorySource(result_line(message={"content": "hello"}).lines), None)
    film.finish()
    element = replay(result_line(message={"content": "hello"}).lines).elements[-1]
    details = element_details(film, element)
    assert details is not None
    assert details.returned == (Code("hello"),)


def test_a_message_of_several_results_is_several_facts_for_all() -> None:
    results = [{"type": "tool_result", "tool_use_id": id, "content": id} for id in ("t1", "t2")]
    session = result_line(message={"content": results})
    extractor = FileExtractor(is_agent=False)
    extractor.add_lines(session.lines)
    assert extractor.main.events == sum(1 for event in read_events(session.lines) for _ in flatten_event(event)) == 4


def test_results_of_one_line_of_calls_go_to_its_calls_in_order() -> None:
    message = {"role": "assistant", "content": [call("Bash", id, command=id) for id in ("t1", "t2")]}
    session = SessionBuilder().line({"type": "assistant", "uuid": "a", "message": message})
    for number in (1, 2):
        output = {"content": f"output {number}"}
        session.line({"type": "tool_result", "uuid": f"r{number}", "parentUuid": "a", "message": output})
    assert replay(session.lines).to_markdown() == "● Bash(t1)\n  └ output 1\n\n● Bash(t2)\n  └ output 2"


def test_a_call_line_may_have_its_call_in_a_message() -> None:
    session = SessionBuilder().line({"type": "tool_use", "message": {"content": [call("Bash", "t1", command="ls")]}})
    session.line({"type": "tool_result", "tool_use_id": "t1", "message": {"content": "hello"}})
    assert replay(session.lines).to_markdown() == "● Bash(ls)\n  └ hello"


@pytest.mark.parametrize("message", [None, 7, {}, {"content": None}, {"content": [{"type": "brand-new"}]}])
def test_a_result_line_with_an_odd_message_is_a_result(message: Any) -> None:
    event = parse_object({"type": "tool_result", "tool_use_id": "t1", "message": message})
    assert isinstance(event, User)
    said = event.message_content
    assert isinstance(said, list)
    assert [type(block) for block in said] == [ToolResult]
