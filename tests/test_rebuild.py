"""The rebuilt content of a file: never wrong, and as complete as the session allows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player.files.edits import apply_edit
from claude_session_player.files.rebuild import FileRebuilder, GapReason, RebuiltFile, rebuild_file
from claude_session_player.files.snapshots import PartialText
from claude_session_player.format.results import Hunk, Replacement
from claude_session_player.parser import read_events
from tests.builder import SessionBuilder, call, timestamp
from tests.simulated_file import PATH, SimulatedFile, can_edit, hunks
from tests.test_file_activity import JSON

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def rebuild(file: SimulatedFile | SessionBuilder, at: int | None = None, **given: Any) -> RebuiltFile:
    session = file.session if isinstance(file, SimulatedFile) else file
    return rebuild_file(read_events(session.lines), PATH, at, **given)


def reasons(rebuilt: RebuiltFile) -> list[tuple[int, GapReason]]:
    return [(note.line, note.reason) for note in rebuilt.notes]


# --- any sequence of reads, writes and edits ----------------------------------------------------------

LINES = st.sampled_from(["", "a", "b", "  a", "\ta", "\t\tb", " c", "a b", "x", "y", "\t", "  ", "“a”", '"a"'])
TEXTS = st.lists(LINES, max_size=14).map("\n".join)
WORDS = st.lists(LINES, min_size=1, max_size=3).map("\n".join) | st.sampled_from(["a", "b", "\n", "\n\t", "a\n"])


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.data())
def test_known_lines_are_true_at_every_line_and_complete_after_a_write(text: str, data: Any) -> None:
    file, rebuilder, done = SimulatedFile(text), FileRebuilder(PATH), 0
    for kind in data.draw(st.lists(st.sampled_from(["write", "read", "part", "part", *["edit"] * 4]), max_size=9)):
        before = file.text
        act_on(file, kind, data)
        for event, truth in zip(read_events(file.session.lines[done:]), (before, file.text), strict=False):
            rebuilder.take(event)
            lines = truth.split("\n")
            assert {number: lines[number - 1] for number in rebuilder.known.lines} == rebuilder.known.lines
            assert rebuilder.known.total in (None, len(lines))
        done = len(file.session.lines)
        assert rebuilder.known.complete or kind not in ("write", "read")
        assert not [note for note in rebuilder.result().notes if note.reason is GapReason.OUTSIDE]


@given(TEXTS, TEXTS, WORDS, WORDS, st.booleans(), st.booleans())
def test_a_whole_text_behaves_like_its_lines(
    text: str, other: str, old: str, new: str, everywhere: bool, with_hunks: bool
) -> None:
    """A text kept as a whole is faster than the plain form, a dictionary of lines; both give the same."""
    whole, lines = PartialText.whole(text), dict(enumerate(text.split("\n"), 1))
    plain = PartialText(lines, len(lines))
    assert (whole, whole.text, whole.complete, whole.is_empty) == (plain, plain.text, plain.complete, plain.is_empty)
    assert (whole.unknown(), list(whole.runs())) == (plain.unknown(), list(plain.runs()))
    for known in (PartialText.whole(other), PartialText({2: "a"}), PartialText({1: "b"}, 3)):
        assert whole.contradicts(known) == plain.contradicts(known)
        assert known.contradicts(whole) == known.contradicts(plain)
        assert whole.merge(known) == plain.merge(known)
        assert known.merge(whole) == known.merge(plain)
    assert whole.splice(2, 1, ["x", None]) == plain.splice(2, 1, ["x", None])
    edit = [Replacement(old, new, everywhere)]
    changed = hunks(text, text.replace(old, new)) if with_hunks else []
    places = [Hunk(hunk["oldStart"], hunk["newStart"], hunk["lines"]) for hunk in changed]
    assert apply_edit(whole, edit, places) == apply_edit(plain, edit, places)


def act_on(file: SimulatedFile, kind: str, data: Any) -> None:
    """Read, write or edit a file in some way."""
    total, bare = len(file.text.split("\n")), data.draw(st.booleans())
    if kind == "write":
        file.write(data.draw(TEXTS), bare=bare)
    elif kind == "read":
        file.read(bare=bare)
    elif kind == "part":
        start = data.draw(st.integers(1, total))
        file.read(start, data.draw(st.integers(1, total - start + 1)), bare=bare)
    else:
        first = data.draw(st.integers(0, len(file.text)))
        old = data.draw(WORDS | st.integers(first, len(file.text)).map(lambda last: file.text[first:last]))
        spaced = old.replace("\t", "  ") if "\t" in old else old.replace("  ", "\t")
        new, everywhere = data.draw(WORDS | st.sampled_from(["", spaced, f"x\n{spaced}"])), data.draw(st.booleans())
        if can_edit(file.text, old, everywhere) and old != new:
            original = data.draw(st.sampled_from([True, False, False]))
            file.edit(old, new, everywhere, original=original, patch=data.draw(st.booleans()))


@given(JSON, JSON, st.sampled_from(["Read", "Write", "Edit", "MultiEdit", "NotebookEdit"]), st.data())
def test_inputs_and_results_of_any_shape_are_taken(content: Any, structured: Any, name: str, data: Any) -> None:
    keys = ["file", "content", "oldString", "newString", "edits", "originalFile", "structuredPatch", "backupFileName"]
    asked = data.draw(st.dictionaries(st.sampled_from(["content", "old_string", "new_string", "edits"]), JSON))
    structured = data.draw(st.just(structured) | st.dictionaries(st.sampled_from(keys), JSON))
    file = SimulatedFile().write(TEN)
    file.session.response(call(name, "t", **{**asked, "file_path": PATH, "notebook_path": PATH}))
    file.session.result("t", content, toolUseResult=structured).attachment("file", filename=PATH, content=structured)
    file.session.attachment("edited_text_file", filename=PATH, snippet=content)
    file.session.line({"type": "file-history-snapshot", "snapshot": structured})
    file.session.line({"type": "file-history-delta", "trackingPath": PATH, "backup": structured})
    assert rebuild(file, backup=lambda name: "x").path == PATH


# --- tool results -----------------------------------------------------------------------------------


def test_a_line_of_the_session_shows_the_file_as_it_was_then() -> None:
    file = SimulatedFile().write("one\n").edit("one", "two").edit("two", "three")
    assert [rebuild(file, at).known.text for at in (2, 3, 4, 5, 6)] == ["one\n", "one\n", "two\n", "two\n", "three\n"]
    assert rebuild(file, 1).known.lines == {}


def test_a_write_is_taken_as_it_was_carried_out() -> None:
    session = SessionBuilder().response(call("Write", "t", file_path=PATH, content="asked"))
    session.result("t", "ok", toolUseResult={"type": "create", "content": "changed by a person"})
    assert rebuild(session).known.text == "changed by a person"


def test_a_failed_call_changes_nothing() -> None:
    file = SimulatedFile().write("one\n").write("two\n", error=True)
    assert rebuild(file).known.text == "one\n"


def test_a_call_without_a_result_is_noted_and_changes_nothing() -> None:
    file = SimulatedFile().write("one\n")
    file.session.response(call("Write", "t", file_path=PATH, content="two\n"))
    rebuilt = rebuild(file)
    assert (rebuilt.known.text, reasons(rebuilt)) == ("one\n", [(3, GapReason.UNANSWERED)])


def test_a_result_may_stand_before_its_call() -> None:
    session = SessionBuilder().result("t", "ok").response(call("Write", "t", file_path=PATH, content="one"))
    assert (rebuild(session, 1).known.lines, rebuild(session).known.text) == ({}, "one")


@pytest.mark.parametrize("bare", [True, False])
def test_parts_that_were_read_are_known_with_their_gaps(bare: bool) -> None:
    file = SimulatedFile(TEN).read(2, 2, bare=bare).read(6, 1, bare=bare)
    known = rebuild(file).known
    assert known.lines == {2: "line 2", 3: "line 3", 6: "line 6"}
    assert [tuple(gap) for gap in known.unknown()] == [(1, 1), (4, 5), (7, None if bare else 11)]


def test_a_read_of_all_lines_without_its_structure_is_complete_unless_it_is_as_long_as_a_read_can_be() -> None:
    assert rebuild(SimulatedFile(TEN).read(bare=True)).known == PartialText.whole(TEN)
    long = "\n".join(map(str, range(2000)))
    assert rebuild(SimulatedFile(long).read(bare=True)).known.total is None


def test_lines_that_look_like_reminders_belong_to_the_file() -> None:
    file = SimulatedFile("a\n<system-reminder>\nb\n</system-reminder>\n").read(bare=True)
    assert rebuild(file).known.text == file.text


def test_a_line_that_the_model_saw_in_part_is_not_known() -> None:
    file = SimulatedFile(f"a\n{'x' * 2000}... [truncated]\nb").read(bare=True)
    assert rebuild(file).known.lines == {1: "a", 3: "b"}


def test_a_read_of_line_0_shows_line_1() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH, offset=0, limit=2))
    session.result("t", "0\ta\n1\tb")
    assert rebuild(session).known.lines == {1: "a", 2: "b"}
    session.response(call("Read", "u", file_path=PATH, offset=0, limit=2))
    file = {"content": "a\nb", "numLines": 2, "startLine": 0, "totalLines": 3}
    session.result("u", "0\ta\n1\tb", toolUseResult={"type": "text", "file": file})
    assert rebuild(session).known == PartialText({1: "a", 2: "b"}, 3)


@pytest.mark.parametrize(
    ("structured", "shown"),
    [
        ({"type": "file_unchanged", "file": {"filePath": PATH}}, "File unchanged since last read"),
        ({"type": "image", "file": {"base64": "…"}}, [{"type": "image"}]),
        ({"type": "notebook", "file": {"cells": []}}, "<cell>"),
        (None, "Wasted call - file unchanged"),
    ],
)
def test_a_read_that_shows_no_lines_changes_nothing(structured: Any, shown: Any) -> None:
    file = SimulatedFile().write("one\n")
    file.session.response(call("Read", "t", file_path=PATH)).result("t", shown, toolUseResult=structured)
    assert rebuild(file).known.text == "one\n"


def test_an_empty_file_is_known_to_be_empty() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH))
    file = {"content": "", "numLines": 0, "startLine": 1, "totalLines": 0}
    rebuilt = rebuild(session.result("t", "empty", toolUseResult={"type": "text", "file": file}))
    assert rebuilt.known == PartialText.whole("")


def test_a_read_that_contradicts_is_right_and_notes_a_change_outside() -> None:
    file = SimulatedFile(TEN).read().change_outside(TEN.replace("2", "two")).read(1, 3)
    rebuilt = rebuild(file)
    assert rebuilt.known.lines == {1: "line 1", 2: "line two", 3: "line 3"}
    assert reasons(rebuilt) == [(4, GapReason.OUTSIDE)]


def test_a_line_after_the_end_contradicts() -> None:
    file = SimulatedFile("one\n").read().change_outside(TEN).read(7, 1, bare=True)
    rebuilt = rebuild(file)
    assert (rebuilt.known.lines, reasons(rebuilt)) == ({7: "line 7"}, [(4, GapReason.OUTSIDE)])


def test_a_read_after_the_end_shows_nothing() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH, offset=50))
    file = {"content": "", "numLines": 1, "startLine": 50, "totalLines": 10}
    assert rebuild(session.result("t", "shorter", toolUseResult={"type": "text", "file": file})).known.lines == {}


def test_text_after_numbered_lines_may_belong_to_the_last_of_them() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH)).result("t", "     1→a\n     2→b\nand more")
    assert rebuild(session).known == PartialText({1: "a"})


def test_a_structured_result_counts_only_if_its_line_has_one_result() -> None:
    session = SessionBuilder().response(call("Write", "t", file_path=PATH, content="asked"))
    results = [{"type": "tool_result", "tool_use_id": id, "content": "ok"} for id in ("u", "t")]
    session.prompt(results, toolUseResult={"type": "create", "content": "another's"})
    assert rebuild(session).known.text == "asked"


def test_an_original_that_contradicts_is_right() -> None:
    file = SimulatedFile("one\ntwo\n").read().change_outside("1\ntwo\n").edit("two", "2")
    rebuilt = rebuild(file)
    assert (rebuilt.known.text, reasons(rebuilt)) == ("1\n2\n", [(4, GapReason.OUTSIDE)])


def test_after_contradicting_hunks_only_their_lines_are_known() -> None:
    file = (
        SimulatedFile(TEN).read().change_outside(TEN.replace("line", "row")).edit("row 5", "row five", original=False)
    )
    rebuilt = rebuild(file)
    assert rebuilt.known.lines == {n: "row five" if n == 5 else f"row {n}" for n in range(2, 9)}
    assert reasons(rebuilt) == [(4, GapReason.OUTSIDE)]


def test_after_an_edit_of_a_missing_string_nothing_is_known() -> None:
    file = SimulatedFile("one\n").read().change_outside("two\n").edit("two", "three", original=False, patch=False)
    rebuilt = rebuild(file)
    assert (rebuilt.known.lines, reasons(rebuilt)) == ({}, [(4, GapReason.OUTSIDE)])


def test_an_edit_without_a_place_hides_only_lines_that_it_may_have_changed() -> None:
    file = (
        SimulatedFile(TEN).read(1, 4, bare=True).edit("line 7\nline 8", "one\ntwo\nthree", original=False, patch=False)
    )
    rebuilt = rebuild(file)
    assert rebuilt.known == PartialText({1: "line 1", 2: "line 2", 3: "line 3"})
    assert reasons(rebuilt) == [(4, GapReason.UNPLACED)]
    file.read()
    assert reasons(rebuild(file)) == []


def test_a_string_in_known_lines_gives_the_place_of_an_edit() -> None:
    file = SimulatedFile(TEN).read(4, 3).edit("line 5\n", "five\nand a half\n", original=False, patch=False)
    assert rebuild(file).known == PartialText({4: "line 4", 5: "five", 6: "and a half", 7: "line 6"}, 12)


def test_curly_and_straight_quotation_marks_count_as_the_same() -> None:
    file = SimulatedFile("“a”\nb\nc\nd\n").read(1, 2, bare=True)
    file.session.response(call("Edit", "t", file_path=PATH, old_string='"a"', new_string="x")).result("t", "ok")
    assert rebuild(file).known.lines == {}
    file = SimulatedFile("“a”\nb\nc\nd\n").read(1, 2, bare=True)
    asked = {"old_string": '"a"', "new_string": "x", "replace_all": True}
    file.session.response(call("Edit", "t", file_path=PATH, **asked)).result("t", "ok")
    assert rebuild(file).known.lines == {2: "b"}


def test_lines_whose_tabs_a_hunk_shows_as_spaces_are_unknown() -> None:
    file = SimulatedFile("a\n\tb\n\tc\nd\n").edit("c", "x", original=False)
    assert rebuild(file).known.lines == {1: "a", 4: "d"}
    file = SimulatedFile("a\n\tb\n\tc\nd\n").edit("\tc", "\tx\n\ty", original=False)
    assert rebuild(file).known.lines == {1: "a", 3: "\tx", 4: "\ty", 5: "d"}


def test_a_change_of_tabs_to_spaces_that_no_hunk_shows_is_noticed() -> None:
    file = SimulatedFile("a\n\tb\n\tc\nd\n\te\n").read(1, 2).edit("\tb\n\tc\nd", "  b\n  c\nx", original=False)
    assert rebuild(file).known.lines == {}
    file = SimulatedFile("z\n\ta\nq\n\ta\nr\ns\n").read(1, 2).edit("\ta\nq\n\ta\nr", "\ta\nq\n  a\nx", original=False)
    assert rebuild(file).known.lines == {}
    file = SimulatedFile("a\n\tb\n\tc\nd\n\te\n").read().edit("\tb\n\tc\nd", "  b\n  c\nx", original=False)
    assert rebuild(file).known.text == file.text


def test_hunks_show_an_added_or_removed_final_line_break() -> None:
    assert rebuild(SimulatedFile("a\nb").edit("b", "b\n", original=False)).known == PartialText.whole("a\nb\n")
    assert rebuild(SimulatedFile("a\nb\n").edit("b\n", "b", original=False)).known == PartialText.whole("a\nb")


def test_a_string_at_the_end_of_a_file_has_no_line_break_to_remove() -> None:
    file = SimulatedFile("a\nb\nc").read(2, 2).edit("c", "", original=False, patch=False)
    assert rebuild(file).known == PartialText({2: "b", 3: ""}, 3)


def test_after_an_edit_of_a_repeated_string_nothing_is_known() -> None:
    file = SimulatedFile("a\na\n").read()
    file.session.response(call("Edit", "t", file_path=PATH, old_string="a", new_string="x")).result("t", "ok")
    rebuilt = rebuild(file)
    assert (rebuilt.known.lines, reasons(rebuilt)) == ({}, [(4, GapReason.OUTSIDE)])


@pytest.mark.parametrize(
    "patch", [[], [{"oldStart": "x"}], {"a": 1}, [{"oldStart": -5, "newStart": 1, "lines": ["-x"]}]]
)
def test_invalid_hunks_are_ignored(patch: Any) -> None:
    file = SimulatedFile("one\ntwo\n").read()
    file.session.response(call("Edit", "t", file_path=PATH, old_string="one", new_string="1"))
    file.session.result("t", "ok", toolUseResult={"structuredPatch": patch, "originalFile": 7})
    assert rebuild(file).known.text == "1\ntwo\n"


def test_inconsistent_hunks_are_ignored() -> None:
    file = SimulatedFile(TEN).read(1, 1)
    patch = hunks(TEN, TEN.replace("line 5", "five"))
    patch[0]["newStart"] = 7
    file.session.response(call("Edit", "t", file_path=PATH, old_string="line 5", new_string="five"))
    file.session.result("t", "ok", toolUseResult={"structuredPatch": patch})
    assert rebuild(file).known.lines == {1: "line 1"}


def test_the_lines_around_an_edit_that_older_versions_show_are_known() -> None:
    shown = "The file has been updated. Here's the result of running `cat -n` on a snippet:\n     4→four\n     5→five\n"
    session = SessionBuilder().response(call("Edit", "t", file_path=PATH, old_string="5", new_string="five"))
    assert rebuild(session.result("t", shown)).known.lines == {4: "four", 5: "five"}


def test_several_edits_in_one_call_are_applied_in_order() -> None:
    edits = [{"old_string": "one", "new_string": "two"}, {"old_string": "two", "new_string": "x", "replace_all": True}]
    file = SimulatedFile("one two\n").read()
    file.session.response(call("MultiEdit", "t", file_path=PATH, edits=edits)).result("t", "ok")
    assert rebuild(file).known.text == "x x\n"
    file.session.response(call("MultiEdit", "u", file_path=PATH, edits="?"))
    structured = {"edits": [{"old_string": "b", "new_string": "c"}], "originalFileContents": "a\nb"}
    assert rebuild(file.session.result("u", "ok", toolUseResult=structured)).known.text == "a\nc"


def test_an_edit_of_an_empty_string_creates_a_file() -> None:
    session = SessionBuilder().response(call("Edit", "t", file_path=PATH, old_string="", new_string="a\nb\n"))
    assert rebuild(session.result("t", "ok")).known.text == "a\nb\n"


def test_after_an_edit_of_a_notebook_nothing_is_known() -> None:
    file = SimulatedFile().write("{}")
    file.session.response(call("NotebookEdit", "t", notebook_path=PATH, new_source="x")).result("t", "ok")
    rebuilt = rebuild(file)
    assert (rebuilt.known.lines, reasons(rebuilt)) == ({}, [(4, GapReason.UNPLACED)])


def test_a_large_original_is_handled() -> None:
    file = SimulatedFile("".join(f"{n}\n" for n in range(200_000))).edit("\n77\n", "\nx\n")
    assert rebuild(file).known.text == file.text


def test_huge_line_numbers_are_handled() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH))
    file = {"content": "a", "numLines": 1, "startLine": 10**12, "totalLines": 10**13}
    known = rebuild(session.result("t", "", toolUseResult={"type": "text", "file": file})).known
    assert known.lines == {10**12: "a"}
    assert known.unknown()[0] == (1, 10**12 - 1)


def test_attached_files_are_known() -> None:
    file = {"filePath": PATH, "content": "a\nb\n", "numLines": 3, "startLine": 1, "totalLines": 3}
    session = SessionBuilder().attachment("file", filename="kettle.py", content={"type": "text", "file": file})
    rebuilt = rebuild(session)
    assert (rebuilt.known.text, [tuple(source) for source in rebuilt.sources]) == ("a\nb\n", [(1, "attachment")])


def test_the_shown_lines_of_a_file_changed_outside_are_known() -> None:
    file = SimulatedFile(TEN).read()
    file.session.attachment(
        "edited_text_file", filename=PATH, snippet="4\tfour\n5\tfive\n...\n8\t8\n9\tcu\n\n... [2 lines"
    )
    rebuilt = rebuild(file)
    assert rebuilt.known == PartialText({4: "four", 5: "five", 8: "8"})
    assert reasons(rebuilt) == [(3, GapReason.OUTSIDE)]


def test_a_compaction_changes_nothing() -> None:
    file = SimulatedFile().write("one\n")
    file.session.compaction()
    assert rebuild(file).known.text == "one\n"


def test_the_sources_start_with_the_last_whole_content() -> None:
    file = SimulatedFile(TEN).read(1, 2).read(3, 2)
    assert [tuple(source) for source in rebuild(file).sources] == [(2, "Read"), (4, "Read")]
    file.read().edit("line 5", "5", original=False)
    assert [tuple(source) for source in rebuild(file).sources] == [(6, "Read"), (8, "Edit")]


# --- file history -----------------------------------------------------------------------------------


def snapshot(path: str, time: str, name: str | None = "abc@v1") -> dict[str, Any]:
    backup = {"backupFileName": name, "version": 1, "backupTime": time}
    return {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"trackedFileBackups": {path: backup}}}


@pytest.mark.parametrize("path", [PATH, "kettle.py", "./src/../kettle.py"])
def test_a_backup_gives_the_whole_content(path: str) -> None:
    file = SimulatedFile(TEN).read(1, 2)
    file.session.line(snapshot(path, timestamp(3)))
    rebuilt = rebuild(file, backup={"abc@v1": TEN}.get)
    assert (rebuilt.known, [tuple(source) for source in rebuilt.sources]) == (
        PartialText.whole(TEN),
        [(3, "file-history")],
    )


def test_a_backup_of_the_newer_kind_names_its_directory() -> None:
    backup = {"backupFileName": "abc@v1", "backupTime": timestamp(5), "realParentDir": "/home/ada/engine"}
    session = SessionBuilder(cwd="/somewhere").prompt("Go")
    session.line({"type": "file-history-delta", "trackingPath": "../x/kettle.py", "backup": backup})
    assert rebuild(session, backup={"abc@v1": "old\n"}.get).known.text == "old\n"


def test_a_backup_older_than_the_known_content_changes_nothing() -> None:
    file = SimulatedFile("old\n").edit("old", "new")
    file.session.line(snapshot(PATH, timestamp(1)))
    assert rebuild(file, backup={"abc@v1": "old\n"}.get).known.text == "new\n"


def test_a_missing_backup_changes_nothing() -> None:
    file = SimulatedFile(TEN).read(1, 2)
    for name in ("gone@v1", None):
        file.session.line(snapshot(PATH, timestamp(9), name))
    assert len(rebuild(file, backup={"abc@v1": TEN}.get).known.lines) == 2
    assert len(rebuild(file).known.lines) == 2


def test_only_backups_of_the_wanted_file_are_read() -> None:
    asked: list[str] = []
    file = SimulatedFile().write("one\n")
    file.session.line(snapshot("/other", timestamp(9))).line(snapshot(PATH, timestamp(1), "old@v1"))
    rebuild(file, backup=lambda name: asked.append(name))
    assert asked == []
