"""The rich view: what happened in a session, told by its tools rather than by their output."""

from __future__ import annotations

import json
from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from claude_session_player import tools
from claude_session_player.export.drawing import row_text, row_width
from claude_session_player.export.element_rows import blank_rows, draw_element
from claude_session_player.export.part_rows import DiffLine, number_lines
from claude_session_player.format.content import Diff
from claude_session_player.formatter import element_text
from claude_session_player.line_audit import LineStatus
from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    Note,
    PeerMessage,
    ScreenElement,
    ScreenState,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
    View,
)
from claude_session_player.playback import replay
from claude_session_player.tools import TOOLS
from tests.builder import SessionBuilder, call, text, thought
from tests.players import PATCH

WIDTH = 60


def shown(session: SessionBuilder, width: int = WIDTH, *, is_folded: bool = True) -> list[str]:
    """The rows of the rich view of a session."""
    return rows_of(replay(session.lines, View.rich()), width, is_folded=is_folded)


def rows_of(state: ScreenState, width: int = WIDTH, *, is_folded: bool = True) -> list[str]:
    rows: list[str] = []
    for number, element in enumerate(state.elements):
        if number:
            rows += [""] * blank_rows(state.elements[number - 1], element, state.view)
        rows += [row_text(row).rstrip() for row in draw_element(element, state.view, width, is_folded=is_folded)]
    return rows


def called(tool: str, given: dict[str, Any], reply: Any, *, error: bool | None = None, **extra: Any) -> list[str]:
    """The rows of one call with its result."""
    return shown(SessionBuilder().response(call(tool, "c", **given)).result("c", reply, error=error, **extra))


# --- tools ------------------------------------------------------------------------------------------


def test_an_edit_is_a_diff_with_line_numbers() -> None:
    assert called("Edit", {"file_path": "/home/ada/timer.py"}, "The file has been updated.", toolUseResult=PATCH) == [
        "● Edit  timer.py  +1  −2",
        "    4   import time",
        "    5 - def steep(minutes):",
        "    6 -     time.sleep(minutes)",
        "    5 + def steep(minutes, sleep):",
    ]


def test_a_long_edit_shows_twelve_lines_and_how_many_more_there_are() -> None:
    lines = [f"+line {number}" for number in range(50)]
    patch = {"structuredPatch": [{"oldStart": 1, "newStart": 1, "lines": lines}]}
    rows = called("Edit", {"file_path": "a.txt"}, "ok", toolUseResult=patch)
    assert rows[0] == "● Edit  a.txt  +50"
    assert (len(rows), rows[-2], rows[-1]) == (14, "    12 + line 11", "    +38 lines")


@given(st.text("a\tあ", max_size=60), st.integers(0, 2000), st.integers(0, 2000), st.integers(24, 200))
@example("\t" * 20, 20, 20, 80)
def test_the_change_in_a_long_line_is_in_sight(start: str, before: int, after: int, width: int) -> None:
    words = [f"{start}{'a' * before}{change}{'b' * after}" for change in "✂✔"]
    patch = {"structuredPatch": [{"oldStart": 1, "newStart": 1, "lines": [f"-{words[0]}", f"+{words[1]}"]}]}
    session = SessionBuilder().response(call("Edit", "c", file_path="a.txt")).result("c", "ok", toolUseResult=patch)
    _, removed, added = shown(session, width)
    assert ("✂" in removed, "✔" in added) == (True, True), (removed, added)


def test_a_long_line_whose_tabs_became_spaces_is_shown_from_its_beginning() -> None:
    lines = ["-\t" + "long " * 30, "+    " + "long " * 30]
    patch = {"structuredPatch": [{"oldStart": 1, "newStart": 1, "lines": lines}]}
    rows = called("Edit", {"file_path": "a.txt"}, "ok", toolUseResult=patch)[1:]
    assert [row.startswith(f"    1 {sign}     long long") for sign, row in zip("-+", rows, strict=True)] == [True, True]


def test_nothing_in_code_is_underlined() -> None:
    """Names of modules would look like links."""
    session = SessionBuilder().response(
        call("Write", "w", file_path="a.py", content="import os.path\nfrom re import sub\n")
    )
    session.response(text("```py\nimport os.path\n```"))
    state = replay(session.lines, View.rich())
    segments = [segment for one in state.elements for row in draw_element(one, state.view, WIDTH) for segment in row]
    assert [segment.text for segment in segments].count("path") == 2
    assert not [segment for segment in segments if segment.style and segment.style.underline]


def test_lines_that_replace_each_other_are_cut_at_the_same_place() -> None:
    start = "It boils on the stove. " * 4
    patch = {"structuredPatch": [{"oldStart": 1, "newStart": 1, "lines": [f"-{start}No.", f"+{start}Yes.", "+More."]}]}
    assert called("Edit", {"file_path": "a.txt"}, "ok", toolUseResult=patch)[1:] == [
        "    1 - …ils on the stove. No.",
        "    1 + …ils on the stove. Yes.",
        "    2 + More.",
    ]


def test_a_new_file_has_line_numbers_from_one() -> None:
    rows = called("Write", {"file_path": "a.txt", "content": "one\ntwo\n"}, "File created successfully")
    assert rows == ["● Write  a.txt  +2", "    1 + one", "    2 + two"]


def test_a_command_shows_the_first_lines_of_its_output() -> None:
    given = {"command": "pytest", "description": "Run the tests"}
    output = "\n".join(f"test {number}" for number in range(9))
    assert called("Bash", given, output) == [
        "● Bash  Run the tests",
        "    $ pytest",
        "  └ test 0",
        "    test 1",
        "    test 2",
        "    test 3",
        "    test 4",
        "    +4 lines",
    ]


def test_a_command_that_failed_shows_the_last_lines_and_its_exit_code() -> None:
    output = "Exit code 2\n" + "\n".join(f"line {number}" for number in range(9))
    assert called("Bash", {"command": "make"}, output, error=True) == [
        "✗ Bash  exit code 2",
        "    $ make",
        "  ✗ +4 lines",
        "    line 4",
        "    line 5",
        "    line 6",
        "    line 7",
        "    line 8",
    ]


def test_an_error_of_one_line_takes_up_to_three_rows() -> None:
    why = "Permission to use the kettle was refused, because nobody has filled it with water."
    assert called("Bash", {"command": "boil"}, why, error=True)[2:] == [
        "  ✗ Permission to use the kettle was refused, because nobody",
        "    has filled it with water.",
    ]
    rows = called("Bash", {"command": "boil"}, why * 9, error=True)
    assert (len(rows), rows[-1][-1]) == (5, "…")


def test_one_more_line_is_shown_rather_than_counted() -> None:
    assert called("Bash", {"command": "ls"}, "\n".join("abcdef"))[-1] == "    f"


def test_reading_searching_and_listing_are_counts() -> None:
    found = {"mode": "files_with_matches", "numFiles": 12, "filenames": []}
    content = {"mode": "content", "numFiles": 0, "numLines": 34, "filenames": []}
    assert called("Read", {"file_path": "/a/cup.py"}, "1\n2\n3") == ["● Read  cup.py  3 lines"]
    assert called("Grep", {"pattern": "TODO"}, "Found 12 files\na", toolUseResult=found) == ["● Grep  TODO  12 files"]
    assert called("Grep", {"pattern": "TODO", "path": "src"}, "a:1", toolUseResult=content) == [
        "● Grep  TODO  in src  34 lines"
    ]
    assert called("Glob", {"pattern": "*.py"}, "No files found") == ["● Glob  *.py  nothing found"]
    assert called("Glob", {"pattern": "*.py"}, "a.py\nb.py") == ["● Glob  *.py  2 lines"]


def test_a_search_that_failed_says_why() -> None:
    rows = called("Grep", {"pattern": "TODO"}, "<tool_use_error>Path does not exist: src</tool_use_error>", error=True)
    assert rows == ["✗ Grep  TODO", "  ✗ Path does not exist: src"]


def test_a_todo_list_is_shown_as_it_stands() -> None:
    todos = [
        {"content": "Boil water", "status": "completed"},
        {"content": "Steep the tea", "status": "in_progress"},
        {"content": "Drink it", "status": "pending"},
    ]
    assert called("TodoWrite", {"todos": todos}, "Todos have been modified") == [
        "● TodoWrite",
        "    ☑ Boil water",
        "    ☐ Steep the tea (in progress)",
        "    ☐ Drink it",
    ]


def test_a_long_todo_list_begins_where_work_is_done() -> None:
    todos = [{"content": f"task {number}", "status": "completed" if number < 30 else "pending"} for number in range(40)]
    rows = called("TodoWrite", {"todos": todos}, "ok")
    assert rows[1:3] == ["    +28 items", "    ☑ task 28"]
    assert rows[-1] == "    ☐ task 39"
    todos[10]["status"] = "pending"
    rows = called("TodoWrite", {"todos": todos}, "ok")
    assert (rows[1], rows[2], rows[-1]) == ("    +8 items", "    ☑ task 8", "    +20 items")


def test_a_change_of_a_task_shows_the_whole_list() -> None:
    session = SessionBuilder()
    for number, subject in enumerate(("Boil water", "Steep the tea"), 1):
        session.response(call("TaskCreate", f"c{number}", subject=subject))
        session.result(f"c{number}", f"Task #{number} created successfully: {subject}")
    session.response(call("TaskUpdate", "u", taskId="1", status="completed")).result("u", "Updated task #1 status")
    assert shown(session)[-3:] == ["● TaskUpdate", "    ☑ #1 Boil water", "    ☐ #2 Steep the tea"]


def test_a_deleted_task_is_no_longer_listed() -> None:
    session = SessionBuilder().response(call("TaskCreate", "c", subject="Boil water")).result("c", "Task #1 created")
    session.response(call("TaskCreate", "d", subject="Steep")).result("d", "Task #2 created")
    session.response(call("TaskUpdate", "u", taskId="1", status="deleted")).result("u", "Updated task #1 status")
    assert shown(session)[-2:] == ["● TaskUpdate", "    ☐ #2 Steep"]


def agent_progress(name: str, **given: Any) -> dict[str, Any]:
    return {"message": {"type": "assistant", "message": {"content": [call(name, "inner", **given)]}}, "agentId": "a1"}


def test_a_running_sub_agent_says_what_it_does_and_how_much_it_did() -> None:
    session = SessionBuilder().response(call("Agent", "a", description="Find the temperature", subagent_type="Explore"))
    session.progress("agent_progress", "a", **agent_progress("Grep", pattern="degrees"))
    session.progress("agent_progress", "a", **agent_progress("Read", file_path="/tea/kinds.md"))
    assert shown(session) == ["● Agent  Explore: Find the temperature", "  └ 2 tools · Read kinds.md"]


def test_a_finished_sub_agent_says_what_it_came_to_and_how_its_response_begins() -> None:
    totals = {"content": [text("Between 70 and 80 degrees.")], "totalToolUseCount": 12, "totalTokens": 34_500}
    rows = called(
        "Task",
        {"description": "Find the temperature", "prompt": "How hot?"},
        [text("Between 70 and 80 degrees."), text("agentId: a7ea (internal)")],
        toolUseResult=totals | {"totalDurationMs": 125_000},
    )
    assert rows[0] == "● Task  Find the temperature  12 tools, 34.5 k tokens, 2m 5s"
    assert rows[1:] == ["    How hot?", "  └ Between 70 and 80 degrees."]


def test_a_tool_that_took_long_says_how_long() -> None:
    session = SessionBuilder().response(call("Bash", "b", command="sleep 90"))
    session.result("b", "done", timestamp="2026-01-17T20:33:29.197Z")
    assert shown(session)[0] == "● Bash  1m 30s"


def test_a_tool_of_an_mcp_server_is_named_for_people() -> None:
    assert called("mcp__kettle__boil", {"litres": 2}, '{"ok": true}') == [
        "● kettle: boil",
        '    {"litres":2}',
        '  └ {"ok": true}',
    ]


def test_calls_that_take_one_row_stay_together() -> None:
    session = SessionBuilder().prompt("Look.")
    session.response(call("Read", "r", file_path="a.py")).result("r", "1")
    session.response(call("Grep", "g", pattern="tea")).result("g", "No matches found")
    session.response(text("Nothing."))
    assert shown(session) == [
        "❯ Look.",
        "",
        "● Read  a.py  1 line",
        "● Grep  tea  nothing found",
        "",
        "● Nothing.",
    ]


@pytest.mark.parametrize("tool", [*TOOLS, "Unheard"])
@given(st.dictionaries(st.sampled_from(["file_path", "todos", "command", "edits", "x"]), st.text() | st.integers()))
def test_any_input_of_any_tool_is_drawn(tool: str, given: dict[str, Any]) -> None:
    state = replay(SessionBuilder().response(call(tool, "c", **given)).result("c", "ok").lines, View.rich())
    assert all(row_width(row) <= WIDTH for row in draw_element(state.elements[0], state.view, WIDTH))


# --- hooks, failures, prompts -----------------------------------------------------------------------


def hook(kind: str, name: str, id: str | None = None, **said: Any) -> dict[str, Any]:
    return {"kind": kind, "hookName": name, "hookEvent": name.partition(":")[0], "toolUseID": id, **said}


def test_hooks_that_let_everything_go_on_and_say_nothing_are_hidden_by_a_rule() -> None:
    session = SessionBuilder().attachment(**hook("hook_success", "SessionStart:clear", content=""))
    session.response(call("Read", "r", file_path="a.py"))
    session.attachment(**hook("hook_success", "PreToolUse:Read", "r", content=" \n"))
    session.attachment(**hook("hook_success", "PostToolUse:Read", "r", stdout="{}")).result("r", "1")
    session.attachment(**hook("hook_success", "Stop"))
    assert shown(session) == ["● Read  a.py  1 line  3s"]
    account = replay(session.lines, View.rich()).account
    assert account.by_rule(LineStatus.HIDDEN) == {"attachment hook_success": 4}


def test_what_a_hook_says_is_a_dim_note_below_its_call() -> None:
    session = SessionBuilder().response(call("Read", "r", file_path="a.py")).result("r", "1")
    session.attachment(**hook("hook_success", "PostToolUse:Read", "r", content="formatted"))
    assert shown(session) == ["● Read  a.py  1 line", "  ┆ PostToolUse:Read hook: formatted"]


def test_a_blocked_hook_is_in_sight() -> None:
    session = SessionBuilder().prompt("Go.")
    session.attachment(**hook("hook_blocking_error", "Stop", blockingError={"blockingError": "tests fail"}))
    assert shown(session) == ["❯ Go.", "", "✗ Stop hook blocked: tests fail"]


def test_a_long_notice_takes_two_rows_until_it_is_unfolded() -> None:
    session = SessionBuilder()
    session.attachment(**hook("hook_success", "SessionStart", content="word " * 100))
    rows = shown(session)
    assert len(rows) == 2
    assert rows[-1].endswith(" …")
    assert len(shown(session, is_folded=False)) > 5


def test_hooks_that_say_the_same_in_a_row_are_told_once() -> None:
    session = SessionBuilder()
    for _ in range(3):
        session.attachment(**hook("hook_success", "Stop", content="ran"))
    assert shown(session) == ["┆ Stop hook: ran"]


def test_failed_requests_are_in_sight() -> None:
    session = SessionBuilder().prompt("Go.")
    session.system("api_error", error={"message": "Overloaded"}, level="error")
    session.response(text("API Error: Overloaded"), isApiErrorMessage=True)
    assert shown(session) == ["❯ Go.", "", "✗ Request failed: Overloaded", "", "✗ API Error: Overloaded"]


def test_a_prompt_typed_mid_turn_is_shown() -> None:
    session = SessionBuilder().prompt("Go.").response(call("Read", "r", file_path="a.py"))
    session.line({"type": "queue-operation", "operation": "enqueue", "content": "And hurry."})
    session.line({"type": "queue-operation", "operation": "remove"})
    assert shown(session.result("r", "1"))[-1] == "❯ And hurry."


def test_what_claude_code_sent_itself_is_no_prompt_of_a_person() -> None:
    state = replay(SessionBuilder().prompt("Keep going.", promptSource="system").lines, View.rich())
    (element,) = state.elements
    assert isinstance(element, PeerMessage)
    assert rows_of(state) == ["◂ Claude Code", "▎ Keep going."]


@given(st.text("ab -", min_size=1, max_size=300), st.integers(20, 90))
def test_a_long_line_of_code_in_a_response_goes_on_below(code: str, width: int) -> None:
    code = f"{code.strip()}x"
    rows = shown(SessionBuilder().response(text(f"Run this:\n\n```sh\n{code}\n```")), width)
    assert max(map(len, rows)) <= width
    assert "".join(rows[2:]).replace(" ", "") == code.replace(" ", "")


def test_a_long_prompt_is_folded() -> None:
    session = SessionBuilder().prompt("\n".join(f"line {number}" for number in range(100)))
    rows = shown(session)
    assert (rows[0], rows[1], rows[-1]) == ("❯ line 0", "▎ line 1", "▎ +76 lines")
    assert len(shown(session, is_folded=False)) == 100


def test_a_compaction_is_a_line_across_and_hides_nothing() -> None:
    rows = shown(SessionBuilder().prompt("Before.").compaction().prompt("After."))
    assert rows[0] == "❯ Before."
    assert rows[2] == "── compacted (auto, 168 k tokens) ".ljust(WIDTH, "─")
    assert rows[4] == "❯ After."


def test_the_summary_of_a_compaction_takes_two_rows_until_it_is_unfolded() -> None:
    summary = "This session is being continued.\n\n" + "\n".join(f"{number}. Step" for number in range(9))
    session = SessionBuilder().prompt("Go").compaction().prompt(summary, isCompactSummary=True)
    assert shown(session)[3:] == ["", "┆ Summary: This session is being continued.", "   …"]
    assert shown(session, is_folded=False)[-1] == "  8. Step"
    assert "Summary" not in replay(session.lines).to_markdown()
    (note,) = (element for element in replay(session.lines, View.rich()).elements if isinstance(element, Note))
    assert (note.text, element_text(note, View())) == (summary, f"✱ Summary: {summary}")


def test_thinking_is_one_row_until_it_is_unfolded() -> None:
    state = replay(SessionBuilder().response(thought("It must be the unit.")).lines, View(thinking=True).as_rich())
    folded = View.rich()
    assert [row_text(row) for row in draw_element(state.elements[0], folded, WIDTH)] == ["✱ Thinking…"]
    unfolded = draw_element(state.elements[0], folded, WIDTH, is_folded=False)
    assert [row_text(row) for row in unfolded] == ["✱ Thinking…", "  It must be the unit."]


def test_a_result_before_its_call_is_told_by_its_tool() -> None:
    session = SessionBuilder().result("r", "1\n2").response(call("Read", "r", file_path="a.py"))
    assert shown(session) == ["● Read  a.py  2 lines"]


# --- all elements -----------------------------------------------------------------------------------

ODD = st.text(st.characters(codec="utf-8") | st.sampled_from("\x1b\r\n\t\x9b‮茶😀\u200d\ufe0f❤"), max_size=200)
PATCH_LINES = st.lists(
    st.tuples(st.sampled_from(" +-"), st.text(st.characters(codec="utf-8", exclude_characters="\n")))
)


@st.composite
def tool_calls(draw: st.DrawFn) -> ToolCall:
    """A call of any tool, as the renderer makes it of a session."""
    tool = draw(st.sampled_from([*TOOLS, "mcp__a__b", ""]))
    given = draw(st.dictionaries(st.sampled_from(["file_path", "command", "pattern", "plan", "description"]), ODD))
    session = SessionBuilder().response(call(tool, "c", **given))
    if draw(st.booleans()):
        lines = [sign + line for sign, line in draw(PATCH_LINES)]
        patch = {"structuredPatch": [{"oldStart": 1, "newStart": 1, "lines": lines}]}
        session.result("c", draw(ODD), error=draw(st.booleans()), toolUseResult=patch)
    element = replay(session.lines, View.rich()).elements[0]
    assert isinstance(element, ToolCall)
    return element


elements: st.SearchStrategy[ScreenElement] = st.one_of(
    st.builds(UserMessage, ODD),
    st.builds(AssistantText, ODD, st.booleans()),
    st.builds(ThinkingIndicator, ODD),
    st.builds(SystemOutput, ODD),
    st.builds(Note, ODD, st.booleans()),
    st.builds(TurnDuration, st.integers(0, 10**9)),
    st.builds(CompactionRule, ODD, st.none() | st.integers(0, 10**7)),
    tool_calls(),
)


@given(elements, st.integers(8, 120), st.booleans())
def test_no_element_is_wider_than_the_terminal_or_commands_it(
    element: ScreenElement, width: int, is_folded: bool
) -> None:
    for row in draw_element(element, View.rich(), width, is_folded=is_folded):
        assert row_width(row) <= width
        assert not set(row_text(row)) & set("\x1b\x9b\r\n\x07‮")


@given(PATCH_LINES, st.integers(1, 1000), st.integers(1, 1000))
def test_line_numbers_of_a_diff_count_each_side(lines: list[tuple[str, str]], old: int, new: int) -> None:
    body = "".join(f"\n{sign}{line}" for sign, line in lines)
    numbered = number_lines(Diff(f"@@ -{old},1 +{new},1 @@{body}"))[1:]
    before = [line.number for line in numbered if line.sign == "-"]
    after = [line.number for line in numbered if line.sign != "-"]
    assert after == list(range(new, new + len(after)))
    assert before == sorted(before, key=lambda number: number or 0)
    assert [(line.sign, line.text) for line in numbered] == lines


def test_notes_between_the_lines_of_a_diff_are_whole_and_have_no_number() -> None:
    assert number_lines(Diff("+a\n\\ No newline at end of file\n+b\n… 3 more lines", 4)) == [
        DiffLine("+", "a", 4),
        DiffLine("@", "\\ No newline at end of file"),
        DiffLine("+", "b", 5),
        DiffLine("@", "… 3 more lines"),
    ]


def test_a_diff_without_known_places_has_no_numbers() -> None:
    assert number_lines(Diff("@@ 4 unchanged lines @@\n+a")) == [
        DiffLine("@", "@@ 4 unchanged lines @@"),
        DiffLine("+", "a"),
    ]


def test_the_input_of_a_call_is_looked_at_once_however_often_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, call_parts = [], tools.call_parts

    def counted(*given: Any) -> Any:
        looked.append(given)
        return call_parts(*given)

    monkeypatch.setattr(tools, "call_parts", counted)
    session = SessionBuilder().prompt("Go").response(call("Edit", "c", file_path="a", old_string="1", new_string="2"))
    state = replay(session.lines, View.rich())
    facts = [astuple(element) for element in state.elements]
    for _ in range(3):
        rows_of(state)
    assert len(looked) == 1
    assert [astuple(element) for element in state.elements] == facts, "drawing changed an element"


def test_the_rich_view_keeps_little_of_a_large_result() -> None:
    large = "x" * 50 + "\n"
    state = replay(
        SessionBuilder().response(call("Bash", "b", command="cat")).result("b", large * 100_000).lines, View.rich()
    )
    element = state.elements[0]
    assert isinstance(element, ToolCall)
    assert len(json.dumps(repr(element))) < 5_000


def test_the_result_of_a_tool_on_the_server_belongs_to_its_call() -> None:
    session = SessionBuilder().response({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}})
    found = [{"type": "web_search_result", "title": "Tea", "url": "https://example.org/tea"}]
    session.response({"type": "web_search_tool_result", "tool_use_id": "s", "content": found})
    session.response({"type": "advisor_tool_result", "tool_use_id": "unknown", "content": {}})
    assert shown(session)[:3] == ["● web_search", '    {"q":1}', "  └ Tea  https://example.org/tea"]
    assert "advisor_tool_result" in shown(session)[-2]
