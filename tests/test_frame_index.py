"""The frame index of a session: its frames, and any of its screens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from claude_session_player import View, render, replay
from claude_session_player.models import ScreenState, ToolCall
from claude_session_player.parser import is_subagent_file
from claude_session_player.player import frame_index as frame_index_module
from claude_session_player.player.frame_index import FrameIndex, FrameMark
from claude_session_player.player.recording import FileSource, MemorySource
from claude_session_player.util.times import to_epoch
from tests import corpus
from tests.builder import SessionBuilder, call as tool


def lines_of(*records: Any) -> list[bytes]:
    return [json.dumps(record).encode() + b"\n" for record in records]


def build_index(lines: list[bytes], view: View | None = None) -> FrameIndex:
    index = FrameIndex(MemorySource(lines), view)
    index.finish()
    return index


def prompt(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"content": text}}


def call(id: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": id, "name": name, "input": {}}]}}


def result(id: str, text: str = "done", *, is_error: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}
    return {"type": "user", "message": {"content": [block]}}


def progress(id: str, text: str) -> dict[str, Any]:
    return {"type": "progress", "parentToolUseID": id, "data": {"type": "bash_progress", "fullOutput": text}}


COMPACTED = {"type": "system", "subtype": "compact_boundary"}
QUIET = {"type": "mode", "mode": "plan"}

RECORDS = st.one_of(
    st.sampled_from("abc").map(prompt),
    st.sampled_from("123").map(call),
    st.sampled_from("123").map(result),
    st.tuples(st.sampled_from("123"), st.sampled_from("xy")).map(lambda pair: progress(*pair)),
    st.just(COMPACTED),
    st.just(QUIET),
)


def test_a_line_that_changes_nothing_is_no_frame() -> None:
    index = build_index(lines_of(prompt("a"), QUIET, call("1"), progress("1", "x"), progress("1", "x"), result("1")))
    assert [frame.line for frame in index.frames] == [1, 3, 4, 6]


def test_frames_have_marks_for_what_is_worth_to_be_seen() -> None:
    records = prompt("a"), call("1", "Task"), result("1", is_error=True), COMPACTED, prompt("b")
    marks = [frame.marks for frame in build_index(lines_of(*records)).frames]
    assert marks == [FrameMark.PROMPT, FrameMark.AGENT, FrameMark.ERROR, FrameMark.COMPACTION, FrameMark.PROMPT]


def test_a_failed_request_is_an_error() -> None:
    failed = {"type": "assistant", "isApiErrorMessage": True, "message": {"content": "API Error: 529"}}
    assert build_index(lines_of(failed)).frames[0].marks == FrameMark.ERROR


def test_two_records_on_one_line_are_one_frame() -> None:
    glued = json.dumps(prompt("a")).encode() + json.dumps(prompt("b")).encode() + b"\n"
    index = build_index([glued, *lines_of(prompt("c"))])
    assert [(frame.line, frame.size) for frame in index.frames] == [(1, 2), (2, 1)]


def test_the_screen_before_the_first_frame_is_empty() -> None:
    assert build_index(lines_of(prompt("a"))).screen(-1).elements == []
    assert build_index([]).screen(-1).elements == []


@given(st.lists(RECORDS, max_size=40), st.booleans(), st.data())
def test_any_screen_is_that_of_a_replay_up_to_its_line(records: list[Any], history: bool, data: st.DataObject) -> None:
    lines = lines_of(*records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_index_module, "KEYFRAME_SPACING", 5)
        patch.setattr(frame_index_module, "_RECENT_SPACING", 2)
        patch.setattr(frame_index_module, "_MAX_KEYFRAMES", 4)
        index = build_index(lines, View(history=history))
        for number in data.draw(st.lists(st.integers(-1, len(index.frames) - 1), max_size=8)):
            until = index.frames[number].line if number >= 0 else 0
            assert index.screen(number).to_markdown() == replay(lines, index.view, until=until).to_markdown()


def test_an_element_that_stays_as_it_is_is_the_same_object_on_every_screen() -> None:
    index = build_index(lines_of(prompt("a"), call("1"), call("2"), result("1")))
    before = list(index.screen(2).elements)
    after = index.screen(3).elements
    assert [one is other for one, other in zip(before, after, strict=True)] == [True, False, True]


def test_a_line_that_has_no_end_yet_is_taken_in_when_it_has_one(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    whole = lines_of(prompt("a"), prompt("b"))
    path.write_bytes(whole[0] + whole[1][:10])
    index = FrameIndex(FileSource(str(path)))
    while index.read_more():
        pass
    assert index.line_count == 1
    with path.open("ab") as file:
        file.write(whole[1][10:])
    while index.read_more():
        pass
    assert index.screen(1).to_markdown() == "❯ a\n\n❯ b"


def test_a_last_line_without_an_end_is_taken_in_when_the_film_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(lines_of(prompt("a"), prompt("b"))).rstrip())
    index = FrameIndex(FileSource(str(path)))
    index.finish()
    assert index.line_count == len(index.frames) == 2


@pytest.mark.parametrize("sign", ["x", "}", " "])
def test_a_line_longer_than_a_portion_is_read_at_most_twice(sign: str) -> None:
    class Counted(MemorySource):
        read_bytes = 0

        def read(self, offset: int, size: int) -> bytes:
            data = super().read(offset, size)
            self.read_bytes += len(data)
            return data

    lines = lines_of(prompt(sign * 100_000), prompt("b"))
    source = Counted(lines)
    index = FrameIndex(source)
    while index.read_more(1000):
        pass
    assert index.line_count == 2
    assert source.read_bytes <= 2 * sum(map(len, lines)) + 2000


def test_any_of_50_000_lines_is_shown_after_at_most_2_000_decoded_ones() -> None:
    builder = [prompt("a"), call("1"), progress("1", "x"), result("1"), QUIET]
    index = build_index(lines_of(*builder) * 10_000)
    assert index.line_count == 50_000
    assert index.keyframe_count <= 64
    last = len(index.frames) - 1
    for number in (last, 0, last // 2, last // 3, last // 3 - 1, last // 3 - 2, last - 1, -1):
        before = index.lines_decoded
        index.screen(number)
        assert index.lines_decoded - before <= 2000


def test_steps_backwards_decode_few_lines() -> None:
    index = build_index(lines_of(prompt("a")) * 5000)
    index.screen(4990)
    before = index.lines_decoded
    for number in range(4989, 4890, -1):
        index.screen(number)
    assert index.lines_decoded - before < 100 * 60 + 1000


def test_keyframes_are_bounded_however_long_the_session_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_index_module, "KEYFRAME_SPACING", 10)
    index = build_index(lines_of(prompt("a")) * 5000)
    assert index.keyframe_count <= 64


def test_any_line_can_be_read_again() -> None:
    index = build_index(lines_of(prompt("a"), prompt("b"), QUIET))
    assert [event.kind for number in (3, 1, 4) for event in index.events_on(number)] == ["mode", "user"]


def test_keyframes_that_are_let_go_leave_others_all_over_the_film(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_index_module, "KEYFRAME_SPACING", 10)
    index = build_index(lines_of(prompt("a")) * 5000)
    for number in (4999, 0, 700, 300, 2500, 1200, 4000):
        before = index.lines_decoded
        index.screen(number)
        assert index.lines_decoded - before <= 2 * 5000 // 64 + 10


def test_every_screen_is_right_when_keyframes_were_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_index_module, "KEYFRAME_SPACING", 2)
    monkeypatch.setattr(frame_index_module, "_MAX_KEYFRAMES", 4)
    lines = lines_of(*(prompt(str(number)) for number in range(60)))
    index = build_index(lines)
    for number in (59, 0, 58, 1, 30, 2, 31, 3):
        assert index.screen(number).to_markdown() == replay(lines, index.view, until=number + 1).to_markdown()


def test_the_time_of_a_line_is_that_of_its_first_record() -> None:
    records = [{**prompt(day), "timestamp": f"2026-01-{day}T00:00:00Z"} for day in ("17", "18")]
    index = build_index([b"".join(json.dumps(record).encode() for record in records) + b"\n"])
    assert [frame.time for frame in index.frames] == [to_epoch("2026-01-17T00:00:00Z")]


def test_a_result_is_as_long_as_what_it_says() -> None:
    index = build_index(lines_of(call("1"), result("1", "x" * 30)))
    assert [frame.size for frame in index.frames] == [0, 30]


def test_an_error_without_its_call_is_marked_as_one() -> None:
    index = build_index(lines_of(result("1", is_error=True), result("2")))
    assert [frame.marks for frame in index.frames] == [FrameMark.ERROR, FrameMark.NONE]


# --- a copy of a screen -------------------------------------------------------------------------------


def test_a_copy_of_a_screen_closes_its_own_calls_and_not_those_of_others() -> None:
    state = ScreenState()
    render(state, {"type": "tool_use", "tool_name": "Bash", "tool_input": {}})
    done = {"type": "tool_result", "tool_name": "Bash", "tool_output": "done"}
    copy = state.copy()
    for screen in (copy, state):
        render(screen, done)
        assert [type(element) for element in screen.elements] == [ToolCall]
        assert "done" in screen.to_markdown()


def test_what_is_added_to_a_sealed_screen_that_lost_an_element_is_not_sealed() -> None:
    state = ScreenState()
    render(state, result("1"))
    state.seal()
    render(state, call("1"))
    (before,) = state.elements
    render(state, progress("1", "x"))
    assert isinstance(before, ToolCall)
    assert state.mutable_call(0) is before


def test_a_line_leads_to_the_last_frame_before_it() -> None:
    index = build_index(lines_of(QUIET, prompt("a"), QUIET, prompt("b")))
    assert [index.frame_at_line(line) for line in (1, 2, 3, 4, 99)] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("path", corpus.session_files()[::16], ids=lambda path: path.name[:20])
def test_real_sessions_have_the_screens_of_their_replay(path: Path) -> None:
    view = View(sidechains=True)
    index = FrameIndex(FileSource(str(path)), view)
    index.finish()
    last = len(index.frames) - 1
    for number in {last, last // 2, last // 3, 0} - {-1}:
        until = index.frames[number].line
        assert index.screen(number).to_markdown() == replay(path, view, until=until).to_markdown()


def error_lines(index: FrameIndex) -> list[int]:
    return [frame.line for frame in index.frames if FrameMark.ERROR in frame.marks]


def test_what_a_hook_says_about_a_failed_call_is_no_further_error() -> None:
    session = SessionBuilder().response(tool("Bash", "b")).result("b", "no", error=True)
    session.attachment(
        "hook_success", hookName="PostToolUse", toolUseID="b", content="Try again.", stderr="", exitCode=0
    )
    index = build_index(session.lines, View.rich())
    assert len(index.frames) == 3
    assert error_lines(index) == [2]


def test_a_call_fails_once_however_often_the_file_says_so() -> None:
    session = SessionBuilder().response(tool("Bash", "b"))
    session.attachment("hook_blocking_error", hookName="PreToolUse", toolUseID="b", blockingError="no")
    session.result("b", "blocked", error=True).response(tool("Bash", "b")).result("b", "blocked", error=True)
    index = build_index(session.lines, View.rich())
    assert error_lines(index) == list(index.progress.error_lines) == [2]


def test_real_sessions_have_as_many_error_frames_as_logged_errors() -> None:
    for path in corpus.session_files():
        view = View.rich().of_subagent() if is_subagent_file(str(path)) else View.rich()
        index = FrameIndex(FileSource(str(path)), view)
        index.finish()
        assert error_lines(index) == sorted(set(index.progress.error_lines)), path
