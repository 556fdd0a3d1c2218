"""Remarks: hooks, links, modes and files that `show` tells as one line each."""

from __future__ import annotations

from typing import Any

import pytest

from claude_session_player.export.transcript import TranscriptStyle
from claude_session_player.line_audit import LineStatus
from claude_session_player.playback import replay
from claude_session_player.transcript.entries import EntryKind
from claude_session_player.transcript.filters import EntryFilter
from tests.builder import SessionBuilder, call, text
from tests.conversations import entry_lines, markdown, walk

PR = {"type": "pr-link", "prNumber": 7, "prUrl": "https://example.com/ada/a_b/pull/7", "prRepository": "ada/a_b"}


def notes(session: SessionBuilder, *, full: bool = False) -> list[str]:
    """The remarks that are told, by default or in full."""
    told = [one.entry for one in walk(session)[1]]
    return [entry.text for entry in told if entry.kind is EntryKind.NOTE and (full or not entry.full_only)]


def attached(kind: str, **content: Any) -> SessionBuilder:
    return SessionBuilder().prompt("Go").attachment(kind, **content)


def stopped(**facts: Any) -> dict[str, Any]:
    usual = {"hookCount": 1, "hookInfos": [{"command": "lint.sh", "durationMs": 5}], "hookErrors": []}
    return usual | {"preventedContinuation": False, "stopReason": "", "hasOutput": True} | facts


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        (
            "hook_blocking_error",
            {"hookName": "PostToolUse:Edit", "blockingError": {"blockingError": "lint\nfailed", "command": "lint.sh"}},
            "PostToolUse:Edit hook blocked: lint failed",
        ),
        ("hook_blocking_error", {"hookName": "Stop", "blockingError": "no"}, "Stop hook blocked: no"),
        ("hook_blocking_error", {}, "A hook blocked"),
        (
            "hook_non_blocking_error",
            {"hookName": "Stop", "stderr": "boom\n", "stdout": "", "exitCode": 1, "command": "x"},
            "Stop hook failed (exit code 1): boom",
        ),
        ("hook_non_blocking_error", {"hookName": "Stop", "stderr": "", "exitCode": 0}, "Stop hook failed"),
        ("hook_error_during_execution", {"hookName": "Stop", "content": "timeout"}, "Stop hook failed: timeout"),
        ("hook_stopped_continuation", {"hookName": "Stop", "message": "over"}, "Stop hook stopped the turn: over"),
    ],
)
def test_blocking_and_failing_hooks_are_told_by_default(kind: str, content: dict[str, Any], words: str) -> None:
    session = attached(kind, **content)
    assert notes(session) == [words]
    assert f"**Note** (2026-01-17 20:32:00) {words}\n" in markdown(session)


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("file", {"filename": "/home/ada/a.py", "displayPath": "a.py", "content": {}}, "Attached file: a.py"),
        ("directory", {"path": "/home/ada/src", "displayPath": "src/", "content": "a"}, "Attached directory: src/"),
        ("directory", {"path": "/home/ada/src"}, "Attached directory: /home/ada/src"),
        ("edited_text_file", {"filename": "/a.py", "snippet": "1"}, "File changed outside the session: /a.py"),
        (
            "diagnostics",
            {"files": [{"uri": "file:///a.py", "diagnostics": [{"message": "x"}]}], "isNew": True},
            "1 diagnostic: /a.py (1)",
        ),
        (
            "diagnostics",
            {"files": [{"filePath": f"{n}.py", "diagnostics": [{}, {}]} for n in range(5)]},
            "10 diagnostics: 0.py (2), 1.py (2), 2.py (2), 2 more files",
        ),
        ("plan_mode", {"reminderType": "full"}, "Plan mode on"),
        ("plan_mode_exit", {}, "Plan mode off"),
    ],
)
def test_files_and_modes_are_told_only_in_full(kind: str, content: dict[str, Any], words: str) -> None:
    session = attached(kind, **content)
    assert notes(session) == []
    assert notes(session, full=True) == [words]
    assert words not in markdown(session)
    assert f"**Note** (2026-01-17 20:32:00) {words}\n" in markdown(session, style=TranscriptStyle.full())


@pytest.mark.parametrize("files", [None, "x", [], [1], [{"uri": "a"}], [{"uri": "a", "diagnostics": "words"}]])
def test_diagnostics_of_any_shape_are_no_trouble(files: Any) -> None:
    assert notes(attached("diagnostics", files=files), full=True) == []


def test_other_attachments_are_not_told() -> None:
    session = attached("hook_success", hookName="Stop", stderr="", stdout="x", exitCode=0).attachment("date")
    assert notes(session, full=True) == []
    assert walk(session)[0].main.account.by_rule(LineStatus.HIDDEN) == {
        "attachment date": 1,
        "attachment hook_success": 1,
    }


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"hookErrors": ["commit first", "commit first"]}, "Stop hook failed: commit first"),
        ({"hookErrors": [{"message": "oops"}]}, "Stop hook failed: oops"),
        ({"preventedContinuation": True, "stopReason": "enough"}, "Stop hook stopped the turn: enough"),
        ({"preventedContinuation": True}, "Stop hook stopped the turn"),
        ({"hookAdditionalContext": ["Run the tests"]}, "Stop hook: Run the tests"),
    ],
)
def test_a_summary_of_stop_hooks_with_words_is_told_by_default(facts: dict[str, Any], words: str) -> None:
    assert notes(SessionBuilder().system("stop_hook_summary", **stopped(**facts))) == [words]


def test_stop_hooks_that_merely_ran_are_told_only_in_full() -> None:
    session = SessionBuilder().system("stop_hook_summary", **stopped())
    assert (notes(session), notes(session, full=True)) == ([], ["Stop hook ran: lint.sh"])
    quiet = SessionBuilder().system("stop_hook_summary", **stopped(hasOutput=False))
    assert notes(quiet, full=True) == []


def test_a_summary_of_hooks_does_not_repeat_what_an_attachment_said() -> None:
    blocked = {"hookName": "Stop", "blockingError": {"blockingError": "commit first", "command": "x"}}
    session = SessionBuilder().prompt("Go").attachment("hook_blocking_error", **blocked)
    session.system("stop_hook_summary", **stopped(hookErrors=["commit first"]))
    assert notes(session, full=True) == ["Stop hook blocked: commit first"]
    session.system("stop_hook_summary", **stopped(hookErrors=["commit first"]))
    assert notes(session)[1:] == ["Stop hook failed: commit first"]  # the next time, nothing else says it


def test_a_pull_request_is_told_once_with_its_address() -> None:
    session = (
        SessionBuilder().prompt("Go").line(PR).line(PR).line({**PR, "prUrl": "https://example.com/8", "prNumber": 8})
    )
    session.line(PR).line({"type": "pr-link"})
    first = "Pull request #7 in ada/a_b: https://example.com/ada/a_b/pull/7"
    assert notes(session, full=True) == [first, "Pull request #8 in ada/a_b: https://example.com/8"]
    assert first in markdown(session)


def test_only_changes_of_the_permission_mode_are_told() -> None:
    session = SessionBuilder().prompt("Go", permissionMode="default").prompt("On", permissionMode="plan")
    for mode in ("plan", "plan", "acceptEdits"):
        session.line({"type": "permission-mode", "permissionMode": mode})
    session.prompt("More", permissionMode="acceptEdits")
    assert notes(session) == []
    assert notes(session, full=True) == ["Permission mode: plan", "Permission mode: acceptEdits"]
    assert list(entry_lines(walk(session)[1]))[1:3] == ["note: Permission mode: plan", "prompt: On"]


def test_plan_mode_is_told_when_it_changes_and_not_with_every_reminder() -> None:
    session = SessionBuilder()
    for kind in ("plan_mode", "plan_mode", "plan_mode_exit", "plan_mode_reentry", "plan_mode"):
        session.attachment(kind)
    assert notes(session, full=True) == ["Plan mode on", "Plan mode off", "Plan mode on"]


def test_a_copy_of_a_remark_or_of_an_unknown_record_is_told_once() -> None:
    session = attached("hook_blocking_error", hookName="Stop", blockingError="no")
    session.line({"type": "brand-new", "uuid": "one"}).line({"type": "brand-new", "uuid": "one"})
    session.raw(session.lines[1])
    assert list(entry_lines(walk(session)[1])) == [
        "prompt: Go",
        "note: Stop hook blocked: no",
        "record: Unknown record",
    ]


def test_remarks_are_neither_prompts_nor_calls_nor_errors() -> None:
    session = attached("hook_blocking_error", hookName="Stop", blockingError="no").line(PR).line({"type": "brand-new"})
    session.response(text("Done"))
    for only in ("user", "prompts", "assistant", "tools", "errors", "thinking", "subagents"):
        told = markdown(session, choice=EntryFilter(only=frozenset((only,))))
        assert "**Note**" not in told
    assert markdown(session, choice=EntryFilter(only=frozenset(("notes",)))).count("**Note**") == 3
    assert "**Note**" not in markdown(session, choice=EntryFilter(hide=frozenset(("notes",))))


def test_a_long_remark_is_cut_unless_all_is_told() -> None:
    session = attached("hook_blocking_error", hookName="Stop", blockingError="x" * 1000)
    assert "x" * 301 not in markdown(session)
    assert "x" * 1000 in markdown(session, style=TranscriptStyle.full())


def test_with_lines_the_line_is_named_once() -> None:
    session = SessionBuilder().prompt("Go").line({"type": "brand-new"})
    assert "(Unknown time) · line 2 · Unknown record `brand-new`\n" in markdown(
        session, style=TranscriptStyle(with_lines=True)
    )


def test_the_screen_shows_no_remarks() -> None:
    session = attached("hook_blocking_error", hookName="Stop", blockingError="no").line(PR).line({"type": "brand-new"})
    session.system("stop_hook_summary", **stopped(hookErrors=["no"])).attachment("file", filename="/a.py")
    session.line({"type": "permission-mode", "permissionMode": "plan"})
    assert replay(session.lines).to_markdown() == "❯ Go"


def test_text_and_results_on_one_line_are_told_in_the_order_of_the_file() -> None:
    results = [{"type": "tool_result", "tool_use_id": id, "content": f"result {id}"} for id in "ab"]
    session = SessionBuilder().prompt([text("Here are the results:"), *results])
    assert [kind.split(":")[0] for kind in entry_lines(walk(session)[1])] == ["prompt", "result", "result"]
    behind = SessionBuilder().prompt([*results, text("That was it.")])
    assert [kind.split(":")[0] for kind in entry_lines(walk(behind)[1])] == ["result", "result", "prompt"]
    assert replay(session.lines).to_markdown() == "❯ Here are the results:\n\nresult a\n\nresult b"
    assert replay(behind.lines).to_markdown() == "result a\n\nresult b\n\n❯ That was it."


def test_texts_around_a_result_are_one_prompt_where_the_first_of_them_stands() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "done"}
    session = SessionBuilder().response(call("Bash", "a")).prompt([text("one"), result, text("two")])
    assert list(entry_lines(walk(session)[1]))[1:] == ["prompt: one\ntwo"]
    assert replay(session.lines).to_markdown().endswith("└ done\n\n❯ one\n  two")
