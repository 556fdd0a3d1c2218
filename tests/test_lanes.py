"""Lanes: which sub-agents worked at the same time, and from when to when."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from claude_session_player.models import View
from claude_session_player.player.frame_index import FrameIndex
from claude_session_player.player.frame_names import describe_frame
from claude_session_player.player.lanes import LaneSpan, lane_spans, lanes
from claude_session_player.player.player import Player
from claude_session_player.player.recording import MemorySource
from tests.builder import SessionBuilder, call, text, thought

_SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)).map(lambda pair: (pair[0], pair[0] + pair[1])))


@given(_SPANS)
def test_no_two_overlapping_spans_share_a_lane(spans: list[tuple[int, int]]) -> None:
    found = lanes(spans)
    for number, (start, end) in enumerate(spans):
        for other, (begin, stop) in enumerate(spans[:number]):
            if start <= stop and begin <= end:
                assert found[number] != found[other]


@given(_SPANS)
def test_there_are_as_many_lanes_as_spans_overlap_at_most(spans: list[tuple[int, int]]) -> None:
    overlap = max((sum(start <= at <= end for start, end in spans) for at, _ in spans), default=0)
    assert set(lanes(spans)) == set(range(overlap))


def _index(session: SessionBuilder, view: View | None = None) -> FrameIndex:
    index = FrameIndex(MemorySource(session.lines), view or View.rich())
    index.finish()
    return index


def _lanes(session: SessionBuilder) -> list[LaneSpan]:
    index = _index(session)
    player = Player(lambda: 0.0)
    player.load(index.frames)
    return lane_spans(index.links.spans, player.count, player.chapters)


def _agent(id: str, description: str, **extra: Any) -> dict[str, Any]:
    return call("Task", id, description=description, prompt=description, subagent_type="Explore", **extra)


def test_a_sub_agent_lasts_from_its_call_to_its_result() -> None:
    session = SessionBuilder().prompt("Go").response(_agent("a", "Find it")).response(text("Wait")).result("a", "Here")
    assert _lanes(session) == [LaneSpan(1, 3, 0, "Explore", "Find it", has_ended=True)]


def test_parallel_sub_agents_are_on_lanes_of_their_own() -> None:
    session = SessionBuilder().response(_agent("a", "One"), _agent("b", "Two"), _agent("c", "Three"))
    session.result("b").result("a").response(_agent("d", "Four")).result("c").result("d")
    assert [(span.task, span.lane) for span in _lanes(session)] == [("One", 0), ("Two", 1), ("Three", 2), ("Four", 0)]


def test_any_tool_whose_result_names_an_agent_is_a_sub_agent() -> None:
    session = SessionBuilder().prompt("Go").response(call("Delegate", "t", mode="plan")).response(thought())
    session.result("t", "Done", toolUseResult={"agentId": "a1"}).response(call("Read", "r")).result("r")
    assert [(span.start, span.end, span.agent) for span in _lanes(session)] == [(1, 3, "Delegate")]


def test_a_failed_read_of_a_file_that_mentions_an_agent_is_none() -> None:
    session = SessionBuilder().response(call("Read", "r", file_path="/log")).result("r", "agentId: a1", error=True)
    assert _lanes(session) == []


_LAUNCHED = {"isAsync": True, "status": "async_launched", "agentId": "a1"}


@pytest.mark.parametrize("names", ["<task-id>a1</task-id>", "<tool-use-id>t</tool-use-id>"])
@pytest.mark.parametrize("kind", ["user", "attachment", "queue-operation"])
def test_a_sub_agent_in_the_background_lasts_until_its_notification(kind: str, names: str) -> None:
    session = SessionBuilder().prompt("Go").response(_agent("t", "Dig", run_in_background=True))
    session.result("t", "Async agent launched successfully.", toolUseResult=_LAUNCHED).prompt("Meanwhile")
    notice = f"<task-notification>{names}<summary>Agent completed</summary></task-notification>"
    if kind == "user":
        session.prompt(notice)
    elif kind == "attachment":
        session.attachment("queued_command", prompt=notice)
    else:
        session.line({"type": "queue-operation", "operation": "enqueue", "content": notice})
    session.response(text("It is done")).response(text("And more"))
    (span,) = _lanes(session)
    assert (span.start, span.end, span.has_ended) == (1, 4, True)


def test_a_sub_agent_in_the_background_without_a_notification_lasts_until_its_last_sign() -> None:
    session = SessionBuilder().response(_agent("t", "Dig")).result("t", "Started", toolUseResult=_LAUNCHED)
    assert _lanes(session.response(text("One")).response(text("Two")))[0].end == 3
    session.progress("agent_progress", "t", agentId="a1").response(text("Three")).response(text("Four"))
    (span,) = _lanes(session)
    assert (span.end, span.has_ended) == (4, False)


def test_a_call_without_a_result_lasts_until_the_next_prompt() -> None:
    session = SessionBuilder().prompt("Go").response(_agent("t", "Dig")).response(text("Hm"))
    assert _lanes(session)[0].end == 2
    assert _lanes(session.prompt("Stop that").response(text("Sure")))[0].end == 2


def test_spans_are_the_same_however_the_session_is_read() -> None:
    session = SessionBuilder()
    for number in range(40):
        session.prompt("Go").response(_agent(f"t{number}", f"Task {number}")).compaction().result(f"t{number}")
    whole = _index(session)
    piecewise = FrameIndex(MemorySource(session.lines), View.rich())
    while piecewise.read_more(700):
        pass
    piecewise.finish()
    assert piecewise.links.spans == whole.links.spans
    assert len(whole.links.spans) == 40


# --- names ------------------------------------------------------------------------------------------------


def _names(session: SessionBuilder) -> list[str]:
    index = _index(session)
    return [describe_frame(index, frame).words for frame in range(len(index.frames))]


def test_frames_are_named_by_what_happens_in_them() -> None:
    session = (
        SessionBuilder()
        .prompt("Fix the bell\nplease")
        .response(thought(), text("I will"), call("Bash", "b", command="ls", description="List"))
        .result("b", "timer.py\ncup.py")
        .response(call("Read", "r", file_path="/home/ada/cup.py"))
        .result("r", "no such file", error=True)
        .response(_agent("t", "Find the temperature"))
        .result("t", "80 degrees")
        .compaction()
        .system("turn_duration", durationMs=65_000)
    )
    assert _names(session) == [
        'prompt "Fix the bell please"',
        "thinking",
        "response: I will",
        "Bash: List",
        "Bash result: timer.py cup.py",
        "Read: cup.py",
        "Read failed: no such file",
        "Explore: Find the temperature",
        "Explore finished: 80 degrees",
        "compaction (auto)",
        "end of a turn of 1m 5s",
    ]


def test_the_launch_of_a_sub_agent_is_not_called_its_end() -> None:
    session = SessionBuilder().response(_agent("t", "Dig")).result("t", "Started", toolUseResult=_LAUNCHED)
    assert _names(session) == ["Explore: Dig", "Explore works in the background"]


def test_a_frame_is_named_without_rendering_the_screen() -> None:
    session = SessionBuilder()
    for number in range(3000):
        session.response(call("Bash", f"b{number}", command="ls")).result(f"b{number}", "no", error=True)
    index = _index(session)
    before = index.lines_decoded
    assert describe_frame(index, 5999).words == "Bash failed: no"
    assert index.lines_decoded - before == 2
    assert describe_frame(index, 4000).words == "Bash: ls"
    assert index.lines_decoded - before == 3


def test_a_prompt_from_the_queue_is_named_a_prompt() -> None:
    session = SessionBuilder().prompt("Go").response(text("Yes"))
    for record in ({"operation": "enqueue", "content": "And tea"}, {"operation": "remove"}):
        session.line({"type": "queue-operation", **record})
    session.response(text("Tea, too"))
    assert "prompt" in _names(session)


def test_a_result_that_is_repeated_makes_no_second_span() -> None:
    session = SessionBuilder().prompt("Go").response(_agent("a", "Find it")).result("a", "Here")
    session.result("a", "Here", toolUseResult={"agentId": "a1"}).prompt("Bye")
    assert [(span.start, span.end) for span in _lanes(session)] == [(1, 2)]
