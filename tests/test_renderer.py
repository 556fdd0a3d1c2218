"""`render` by message type: every row of the specification's table, and the decisions about the screen."""

from __future__ import annotations

from typing import Any

import pytest

from claude_session_player import ScreenState, View, render
from claude_session_player.models import (
    AssistantText,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
)
from tests.builder import SessionBuilder, call, parsed, text, thought


def screen(session: SessionBuilder, **view: Any) -> str:
    """The markdown after all lines of a session."""
    return state_of(session, **view).to_markdown()


def state_of(session: SessionBuilder, **view: Any) -> ScreenState:
    """The state after all lines of a session."""
    state = ScreenState(View(**view))
    for line in parsed(session.lines):
        render(state, line)
    return state


# --- the table of message types -------------------------------------------------------------------


def test_direct_input_has_the_prompt_mark_and_an_indented_second_line() -> None:
    assert screen(SessionBuilder().prompt("one\ntwo", isMeta=False)) == "❯ one\n  two"


def test_skill_expansion_is_invisible() -> None:
    assert screen(SessionBuilder().prompt("Base directory for this skill: …", isMeta=True)) == ""


def test_tool_result_updates_its_call() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="ls")).result("a", "x.py\ny.py")
    assert screen(session) == "● Bash(ls)\n  └ x.py\n    y.py"


def test_tool_error_has_a_cross() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="ls")).result("a", "no such file", error=True)
    assert screen(session) == "● Bash(ls)\n  ✗ no such file"


def test_local_command_stdout_is_a_plain_line() -> None:
    assert screen(SessionBuilder().prompt("<local-command-stdout>Bye!</local-command-stdout>")) == "Bye!"


def test_local_command_caveat_is_invisible() -> None:
    assert screen(SessionBuilder().prompt("<local-command-caveat>…</local-command-caveat>", isMeta=True)) == ""


def test_assistant_text_has_a_bullet_an_indented_second_line_and_verbatim_markdown() -> None:
    assert screen(SessionBuilder().response(text("**one**\n- two"))) == "● **one**\n  - two"


def test_tool_use_shows_its_abbreviated_input() -> None:
    assert screen(SessionBuilder().response(call("Read", file_path="/a/README.md"))) == "● Read(README.md)"


def test_thinking_is_a_fixed_line() -> None:
    assert screen(SessionBuilder().response(thought("secret"))) == "✱ Thinking…"


def test_turn_duration_is_shown() -> None:
    assert screen(SessionBuilder().system("turn_duration", durationMs=88000)) == "✱ Crunched for 1m 28s"


def test_compact_boundary_clears_the_screen() -> None:
    assert screen(SessionBuilder().prompt("before").compaction().prompt("after")) == "❯ after"


@pytest.mark.parametrize("subtype", ["local_command", "api_error", "informational", "stop_hook_summary", None])
def test_other_system_lines_are_invisible(subtype: str | None) -> None:
    assert screen(SessionBuilder().system(subtype, content="<command-name>/model</command-name>")) == ""


@pytest.mark.parametrize("kind", ["summary", "file-history-snapshot", "queue-operation", "pr-link"])
def test_quiet_records_are_invisible(kind: str) -> None:
    state = state_of(SessionBuilder().line({"type": kind, "summary": "A summary", "content": "queued"}))
    assert state.to_markdown() == ""
    assert state.account.flawless


@pytest.mark.parametrize(
    ("kind", "tool", "data", "shown"),
    [
        ("bash_progress", "Bash", {"fullOutput": "one\ntwo\n\n"}, "two"),
        ("bash_progress", "Bash", {"fullOutput": "one\nRebasing (1/2)\rRebasing (2/2)\r\n"}, "Rebasing (2/2)"),
        ("agent_progress", "Task", {"agentId": "a1"}, "Agent: working…"),
        ("hook_progress", "Write", {"hookName": "PreToolUse:Write"}, "Hook: PreToolUse:Write"),
        ("query_update", "WebSearch", {"query": "python 3.15"}, "Searching: python 3.15"),
        ("search_results_received", "WebSearch", {"resultCount": 10}, "10 results"),
        ("waiting_for_task", "TaskOutput", {"taskDescription": "Run the tests"}, "Waiting: Run the tests"),
    ],
)
def test_progress_stands_below_its_call(kind: str, tool: str, data: dict[str, Any], shown: str) -> None:
    session = SessionBuilder().response(call(tool, "a")).progress(kind, "a", **data)
    assert screen(session) == f"● {tool}(…)\n  └ {shown}"


# --- the state ------------------------------------------------------------------------------------


def test_render_mutates_and_returns_the_same_state() -> None:
    state = ScreenState()
    assert render(state, {"type": "user", "message": {"content": "Hi"}}) is state
    assert state.elements == [UserMessage("Hi", line=1)]


def test_a_new_screen_is_empty() -> None:
    assert ScreenState().to_markdown() == ""


def test_elements_hold_facts() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="x" * 99), request="r1").result("a", "out")
    element = state_of(session).elements[0]
    assert isinstance(element, ToolCall)
    assert element.label == "x" * 99
    assert element.input == {"command": "x" * 99}
    assert (element.line, element.result_line, element.request_id) == (1, 2, "r1")
    assert (element.timestamp, element.result_timestamp) == ("2026-01-17T20:31:59.197Z", "2026-01-17T20:32:00.197Z")
    assert element.uuid == "00000000-0000-4000-8000-000000000001"


def test_the_state_knows_its_calls_and_the_current_response() -> None:
    state = state_of(SessionBuilder().prompt("Hi").response(call("Bash", "a"), request="r1"))
    assert state.tool_calls == {"a": 1}
    assert state.current_request_id == "r1"


def test_the_elements_are_those_of_the_specification() -> None:
    session = SessionBuilder().prompt("Hi").response(text("Yes"), thought()).system("turn_duration", durationMs=1)
    session.prompt("<local-command-stdout>Bye</local-command-stdout>").response(call("Bash", "a"))
    kinds = [type(element) for element in state_of(session).elements]
    assert kinds == [UserMessage, AssistantText, ThinkingIndicator, TurnDuration, SystemOutput, ToolCall]


# --- results --------------------------------------------------------------------------------------


def test_parallel_results_find_their_own_calls() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="1"), call("Bash", "b", command="2"))
    session.result("b", "second").result("a", "first")
    assert screen(session) == "● Bash(1)\n  └ first\n● Bash(2)\n  └ second"


def test_several_results_on_one_line_are_matched_one_by_one() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="1"), call("Bash", "b", command="2"))
    results = [{"type": "tool_result", "tool_use_id": i, "content": i.upper()} for i in ("a", "b")]
    assert screen(session.prompt(results)) == "● Bash(1)\n  └ A\n● Bash(2)\n  └ B"


def test_a_result_replaces_progress() -> None:
    session = SessionBuilder().response(call("Bash", "a")).progress("bash_progress", "a", fullOutput="1%")
    assert screen(session.result("a", "done")) == "● Bash(…)\n  └ done"


def test_progress_after_the_result_changes_nothing() -> None:
    session = SessionBuilder().response(call("Bash", "a")).result("a", "done")
    state = state_of(session.progress("hook_progress", "a", hookName="PostToolUse"))
    assert state.to_markdown() == "● Bash(…)\n  └ done"
    assert state.changes.changed == ()


@pytest.mark.parametrize("name", ["Task", "Agent"])
def test_a_sub_agent_shows_80_characters_of_its_structured_answer(name: str) -> None:
    answer = {"content": [{"type": "text", "text": "  one\ntwo " + "x" * 90}]}
    session = SessionBuilder().response(call(name, "a", description="Explore"))
    session.result("a", "plain", toolUseResult=answer)
    assert screen(session) == f"● {name}(Explore)\n  └ one two {'x' * 72}…"


def test_a_sub_agent_without_structured_answer_shows_its_result() -> None:
    session = SessionBuilder().response(call("Task", "a")).result("a", [text("one\ntwo")], toolUseResult="Error: x")
    assert screen(session) == "● Task(…)\n  └ one two"


def test_a_sub_agent_that_says_nothing_has_no_output() -> None:
    session = SessionBuilder().response(call("Task", "a")).result("a", " \n")
    assert screen(session) == "● Task(…)\n  └ (no output)"


@pytest.mark.parametrize("first", [{"type": "text", "text": ""}, {"type": "text", "text": None}, {"type": "image"}, 5])
def test_a_sub_agent_whose_structured_answer_is_empty_shows_its_result(first: Any) -> None:
    session = SessionBuilder().response(call("Task", "a")).result("a", "plain", toolUseResult={"content": [first]})
    assert screen(session) == "● Task(…)\n  └ plain"


def test_an_odd_second_part_does_not_spoil_a_structured_answer() -> None:
    session = (
        SessionBuilder().response(call("Task", "a")).result("a", "x", toolUseResult={"content": [text("good"), 5]})
    )
    assert screen(session) == "● Task(…)\n  └ good"


def test_results_on_one_line_do_not_share_a_structured_answer() -> None:
    session = SessionBuilder().response(call("Task", "a"), call("Task", "b"))
    results = [{"type": "tool_result", "tool_use_id": i, "content": i.upper()} for i in ("a", "b")]
    session.prompt(results, toolUseResult={"content": [text("whose?")]})
    assert screen(session) == "● Task(…)\n  └ A\n● Task(…)\n  └ B"


def test_a_result_without_its_call_is_a_plain_line_shortened_like_a_result() -> None:
    assert screen(SessionBuilder().result("gone", "1\n2\n3\n4\n5\n6")) == "1\n2\n3\n4\n  └ …"


def test_a_result_that_comes_first_moves_to_its_call() -> None:
    session = (
        SessionBuilder().result("a", "early", error=True).prompt("Hi").response(call("Bash", "a"), call("Bash", "b"))
    )
    state = state_of(session.result("b", "late"))
    assert state.to_markdown() == "❯ Hi\n\n● Bash(…)\n  ✗ early\n● Bash(…)\n  └ late"
    assert state.tool_calls == {"a": 1, "b": 2}


def test_a_sub_agents_result_that_comes_first_is_summed_up_when_it_moves() -> None:
    session = SessionBuilder().result("a", "1\n2\n3\n4\n5\n6", toolUseResult={"content": [text("all six")]})
    assert screen(session.response(call("Task", "a"))) == "● Task(…)\n  └ all six"


def test_an_early_result_that_comes_twice_stands_once() -> None:
    assert screen(SessionBuilder().result("a", "old").result("a", "new")) == "new"


def test_a_result_without_its_call_that_is_empty_says_so() -> None:
    assert screen(SessionBuilder().result("gone", "")) == "(no output)"


def test_a_call_id_that_occurs_twice_belongs_to_the_later_call() -> None:
    session = SessionBuilder().response(call("Bash", "a", command="1")).response(call("Bash", "a", command="2"))
    assert screen(session.result("a", "out")) == "● Bash(1)\n\n● Bash(2)\n  └ out"


def test_a_result_without_call_id_is_linked_by_the_source_uuid() -> None:
    session = SessionBuilder().response(call("Bash", "a"), call("Bash", "b"))
    result = {"type": "tool_result", "content": "mine"}
    session.prompt([result], sourceToolAssistantUUID="00000000-0000-4000-8000-000000000001")
    assert screen(session) == "● Bash(…)\n  └ mine\n● Bash(…)"


def test_results_without_any_id_answer_the_oldest_open_call_of_their_name() -> None:
    session = SessionBuilder().response({"type": "image"}, *(call(name, "") for name in ("Bash", "Read", "Bash")))
    for content in ("first", "second", "third"):
        session.prompt([{"type": "tool_result", "content": content, "tool_name": "Bash"}])
    session.prompt([{"type": "tool_result", "content": "fourth"}])
    assert screen(session) == (
        "● image(…)\n● Bash(…)\n  └ first\n● Read(…)\n  └ fourth\n● Bash(…)\n  └ second\n\nthird"
    )


def test_a_line_with_results_and_other_blocks_shows_both() -> None:
    session = SessionBuilder().response(call("Bash", "a"))
    session.prompt([{"type": "tool_result", "tool_use_id": "a", "content": "out"}, text("and then?")])
    state = state_of(session)
    assert state.to_markdown() == "● Bash(…)\n  └ out\n\n❯ and then?"


def test_a_shortened_result_keeps_at_least_one_line() -> None:
    session = SessionBuilder().response(call("Bash", "a")).result("a", "1\n2\n3")
    assert screen(session, result_lines=1) == "● Bash(…)\n  └ 1\n  └ …"


def test_escape_sequences_are_not_part_of_names() -> None:
    session = SessionBuilder().response(call("\x1b[31mX", "a")).progress("hook_progress", "a", hookName="\x1b[1mh")
    assert screen(session) == "● X(…)\n  └ Hook: h"


# --- progress -------------------------------------------------------------------------------------


def test_running_shell_without_output_says_so() -> None:
    session = SessionBuilder().response(call("Bash", "a")).progress("bash_progress", "a", fullOutput=" \n")
    assert screen(session) == "● Bash(…)\n  └ running…"


def test_running_shell_shows_76_characters_of_its_last_line() -> None:
    session = SessionBuilder().response(call("Bash", "a")).progress("bash_progress", "a", fullOutput="x" * 77)
    assert screen(session) == f"● Bash(…)\n  └ {'x' * 76}…"


@pytest.mark.parametrize("kind", ["bash_progress", "agent_progress", "hook_progress", "query_update"])
def test_progress_without_a_known_call_changes_nothing(kind: str) -> None:
    state = state_of(SessionBuilder().progress(kind, "gone"))
    assert state.elements == []


def test_waiting_without_a_known_call_is_a_plain_line() -> None:
    session = SessionBuilder().progress("waiting_for_task", "gone", taskDescription="Run the tests")
    assert screen(session) == "└ Waiting: Run the tests"


@pytest.mark.parametrize("kind", ["mcp_progress", "brand_new_progress"])
def test_other_kinds_of_progress_change_nothing(kind: str) -> None:
    session = SessionBuilder().response(call("mcp__x__y", "a")).progress(kind, "a", status="started")
    assert screen(session) == "● mcp__x__y(…)"


# --- answers --------------------------------------------------------------------------------------


def test_string_content_of_an_answer_is_one_text() -> None:
    session = SessionBuilder().line({"type": "assistant", "message": {"content": "Hello"}})
    assert screen(session) == "● Hello"


def test_every_block_of_an_assistant_line_is_shown_in_order() -> None:
    message = {"id": "m", "content": [thought(), text("Look:"), call("Bash", "a", command="ls")]}
    assert screen(SessionBuilder().line({"type": "assistant", "message": message})) == (
        "✱ Thinking…\n● Look:\n● Bash(ls)"
    )


@pytest.mark.parametrize(
    "block", [{"type": "thinking", "thinking": "", "signature": "x"}, {"type": "redacted_thinking", "data": "x"}]
)
def test_empty_and_redacted_thoughts_are_shown_as_thinking(block: dict[str, Any]) -> None:
    assert screen(SessionBuilder().response(block)) == "✱ Thinking…"


def test_a_server_tool_is_a_tool_call() -> None:
    block = {"type": "server_tool_use", "id": "s", "name": "WebSearch", "input": {"query": "tea"}}
    assert screen(SessionBuilder().response(block)) == "● WebSearch(tea)"


@pytest.mark.parametrize("kind", ["fallback", "web_search_tool_result", "mcp_tool_use", "image", "tool_result"])
def test_any_other_block_of_an_answer_is_shown_by_its_type(kind: str) -> None:
    state = state_of(SessionBuilder().response({"type": kind, "note": "kept"}))
    assert state.to_markdown() == f"● {kind}(…)"


def test_an_unknown_block_is_kept_whole() -> None:
    element = state_of(SessionBuilder().response({"type": "hologram", "note": "kept"})).elements[0]
    assert isinstance(element, ToolCall)
    assert element.input == {"type": "hologram", "note": "kept"}


@pytest.mark.parametrize("words", [" \n\t", "", "\x1b[0m\n"])
def test_an_answer_of_white_space_is_not_shown(words: str) -> None:
    assert screen(SessionBuilder().response(text(words))) == ""


def test_an_answer_without_blocks_is_not_shown() -> None:
    assert screen(SessionBuilder().line({"type": "assistant", "message": {"content": []}})) == ""


# --- the screen -----------------------------------------------------------------------------------


def test_blocks_of_one_response_stand_close_together() -> None:
    assert screen(SessionBuilder().response(text("a"), text("b"))) == "● a\n● b"


def test_elements_of_two_responses_have_a_blank_line_between_them() -> None:
    assert screen(SessionBuilder().response(text("a")).response(text("b"))) == "● a\n\n● b"


def test_a_response_stays_together_where_a_result_arrived_in_between() -> None:
    session = SessionBuilder().block(call("Bash", "a"), request="r").result("a").block(text("b"), request="r")
    assert screen(session) == "● Bash(…)\n  └ ok\n● b"


def test_the_message_id_groups_where_there_is_no_request_id() -> None:
    session = SessionBuilder()
    for words in ("a", "b"):
        session.line({"type": "assistant", "requestId": "", "message": {"id": "m1", "content": [text(words)]}})
    assert screen(session) == "● a\n● b"


def test_elements_without_any_id_are_not_grouped() -> None:
    session = SessionBuilder().line({"type": "assistant", "message": {"content": [text("a"), text("b")]}})
    assert screen(session) == "● a\n\n● b"


def test_a_compaction_forgets_calls_and_the_current_response_too() -> None:
    state = state_of(SessionBuilder().response(call("Bash", "a")).compaction().result("a", "late"))
    assert state.to_markdown() == "late"
    assert (state.tool_calls, state.current_request_id) == ({}, None)


def test_history_keeps_what_came_before_a_compaction_behind_a_rule() -> None:
    session = SessionBuilder().prompt("before").compaction("auto", 167503).prompt("after")
    assert screen(session, history=True) == "❯ before\n\n── compacted (auto, 167503 tokens) ──\n\n❯ after"


def test_a_compaction_without_facts_is_a_bare_rule() -> None:
    assert screen(SessionBuilder().system("compact_boundary"), history=True) == "── compacted ──"


def test_a_microcompaction_leaves_the_screen_alone() -> None:
    assert screen(SessionBuilder().prompt("Hi").system("microcompact_boundary")) == "❯ Hi"


def test_thoughts_are_shown_where_the_view_wants_them() -> None:
    assert screen(SessionBuilder().response(thought("one\ntwo")), thinking=True) == "✱ Thinking…\n  one\n  two"


def test_thoughts_are_not_kept_where_the_view_hides_them() -> None:
    assert state_of(SessionBuilder().response(thought("secret"))).elements == [
        ThinkingIndicator(
            "", line=1, timestamp="2026-01-17T20:31:59.197Z", request_id="req_0001",
            uuid="00000000-0000-4000-8000-000000000001",
        )
    ]  # fmt: skip


def test_sidechain_lines_in_a_main_file_are_hidden() -> None:
    side = SessionBuilder(sidechain=True).prompt("delegated").response(text("x")).system("turn_duration", durationMs=1)
    side.compaction().progress("waiting_for_task", None, taskDescription="x")
    side.attachment("queued_command", prompt="typed")
    state = ScreenState()
    render(state, {"type": "user", "message": {"content": "Hi"}})
    for line in parsed(side.lines):
        render(state, line)
    assert state.to_markdown() == "❯ Hi"


def test_a_stream_json_line_of_a_sub_agent_is_a_sidechain_line() -> None:
    line = {"type": "assistant", "parent_tool_use_id": "toolu_1", "message": {"content": [text("inner")]}}
    assert screen(SessionBuilder().line(line)) == ""


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(0, "0s"), (999, "0s"), (59_999, "59s"), (60_000, "1m 0s"), (7_384_000, "123m 4s"), (1500.7, "1s"), (-5, "0s")],
)
def test_durations_are_whole_seconds_rounded_down(milliseconds: float, shown: str) -> None:
    assert screen(SessionBuilder().system("turn_duration", durationMs=milliseconds)) == f"✱ Crunched for {shown}"


def test_a_turn_without_a_duration_is_not_shown() -> None:
    assert screen(SessionBuilder().system("turn_duration", durationMs="long")) == ""


def test_unknown_records_and_malformed_values_are_not_on_the_screen() -> None:
    state = ScreenState()
    lines: list[Any] = [{"type": "hologram"}, {"no": "type"}, {"type": 7}, [], "text", None, 4.5]
    for line in lines:
        render(state, line)
    assert state.elements == []
    assert dict(state.account.unknown_events) == {"hologram": 1, "(no type)": 1, "7": 1}
    assert len(state.account.issues) == 4


def test_an_unknown_record_of_a_sidechain_is_unknown_all_the_same() -> None:
    state = state_of(SessionBuilder().line({"type": "hologram", "isSidechain": True}))
    assert not state.account.flawless


def test_a_record_cannot_pass_for_another_one() -> None:
    state = ScreenState()
    for _ in range(2):
        render(state, {"type": "?", "name": "user", "(source line)": 7})
    assert (state.account.lines, dict(state.account.unknown_events)) == (2, {"?": 2})


def test_a_number_too_long_to_be_written_is_left_out() -> None:
    assert state_of(SessionBuilder()).elements == []
    state = render(ScreenState(), {"type": "system", "subtype": "turn_duration", "durationMs": 10**5000})
    assert state.account.lines == 1


def test_an_empty_content_list_says_so() -> None:
    assert screen(SessionBuilder().prompt([])) == "❯ (No content)"


@pytest.mark.parametrize("message", [{}, {"content": None}, None])
def test_missing_content_says_so(message: Any) -> None:
    assert screen(SessionBuilder().line({"type": "user", "message": message})) == "❯ (Empty)"


def test_a_block_without_a_type_that_has_text_is_a_text() -> None:
    assert screen(SessionBuilder().prompt([{"id": "1", "text": "You are an analyst"}])) == "❯ You are an analyst"


# --- numbers where text is expected -----------------------------------------------------------------


def test_values_of_the_wrong_type_are_shown_as_far_as_they_make_sense() -> None:
    session = SessionBuilder()
    session.line({"type": "user", "timestamp": 1, "message": {"content": 42}})
    session.line({"type": "user", "message": "just words"})
    session.line({"type": "user", "message": {"content": ["a string", {"type": "text", "text": 7}]}})
    session.line({"type": "assistant", "requestId": 5, "message": {"content": [{"type": "text", "text": ["x"]}]}})
    session.line(
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": 9, "name": 8, "input": "?"}]}}
    )
    session.line({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": 9, "content": 3}]}})
    session.line({"type": "user", "isMeta": "no", "message": {"content": {"type": "text", "text": "one block"}}})
    assert screen(session) == ('❯ 42\n\n❯ just words\n\n❯ a string\n  7\n\n● ["x"]\n\n● 8(…)\n  └ 3\n\n❯ one block')
