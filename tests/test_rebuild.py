"""The content of a file as a session knew it: never more than the truth, and as much of it as can be told."""

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
from tests.file_histories import PATH, Life, can_edit, hunks
from tests.test_file_activity import JSON

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def of(life: Life | SessionBuilder, at: int | None = None, **given: Any) -> RebuiltFile:
    session = life.session if isinstance(life, Life) else life
    return rebuild_file(read_events(session.lines), PATH, at, **given)


def reasons(told: RebuiltFile) -> list[tuple[int, GapReason]]:
    return [(note.line, note.reason) for note in told.notes]


# --- any life ---------------------------------------------------------------------------------------

LINES = st.sampled_from(["", "a", "b", "  a", "\ta", "\t\tb", " c", "a b", "x", "y", "\t", "  ", "“a”", '"a"'])
TEXTS = st.lists(LINES, max_size=14).map("\n".join)
WORDS = st.lists(LINES, min_size=1, max_size=3).map("\n".join) | st.sampled_from(["a", "b", "\n", "\n\t", "a\n"])


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.data())
def test_what_is_claimed_is_true_at_every_line_and_everything_is_known_after_a_write(text: str, data: Any) -> None:
    life, rebuilder, done = Life(text), FileRebuilder(PATH), 0
    for kind in data.draw(st.lists(st.sampled_from(["write", "read", "part", "part", *["edit"] * 4]), max_size=9)):
        before = life.text
        live(life, kind, data)
        for event, truth in zip(read_events(life.session.lines[done:]), (before, life.text), strict=False):
            rebuilder.take(event)
            lines = truth.split("\n")
            assert {number: lines[number - 1] for number in rebuilder.known.lines} == rebuilder.known.lines
            assert rebuilder.known.total in (None, len(lines))
        done = len(life.session.lines)
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


def live(life: Life, kind: str, data: Any) -> None:
    """Let something happen to a file."""
    total, bare = len(life.text.split("\n")), data.draw(st.booleans())
    if kind == "write":
        life.write(data.draw(TEXTS), bare=bare)
    elif kind == "read":
        life.read(bare=bare)
    elif kind == "part":
        start = data.draw(st.integers(1, total))
        life.read(start, data.draw(st.integers(1, total - start + 1)), bare=bare)
    else:
        first = data.draw(st.integers(0, len(life.text)))
        old = data.draw(WORDS | st.integers(first, len(life.text)).map(lambda last: life.text[first:last]))
        spaced = old.replace("\t", "  ") if "\t" in old else old.replace("  ", "\t")
        new, everywhere = data.draw(WORDS | st.sampled_from(["", spaced, f"x\n{spaced}"])), data.draw(st.booleans())
        if can_edit(life.text, old, everywhere) and old != new:
            original = data.draw(st.sampled_from([True, False, False]))
            life.edit(old, new, everywhere, original=original, patch=data.draw(st.booleans()))


@given(JSON, JSON, st.sampled_from(["Read", "Write", "Edit", "MultiEdit", "NotebookEdit"]), st.data())
def test_inputs_and_results_of_any_shape_are_taken(content: Any, told: Any, name: str, data: Any) -> None:
    keys = ["file", "content", "oldString", "newString", "edits", "originalFile", "structuredPatch", "backupFileName"]
    asked = data.draw(st.dictionaries(st.sampled_from(["content", "old_string", "new_string", "edits"]), JSON))
    told = data.draw(st.just(told) | st.dictionaries(st.sampled_from(keys), JSON))
    life = Life().write(TEN)
    life.session.response(call(name, "t", **{**asked, "file_path": PATH, "notebook_path": PATH}))
    life.session.result("t", content, toolUseResult=told).attachment("file", filename=PATH, content=told)
    life.session.attachment("edited_text_file", filename=PATH, snippet=content)
    life.session.line({"type": "file-history-snapshot", "snapshot": told})
    life.session.line({"type": "file-history-delta", "trackingPath": PATH, "backup": told})
    assert of(life, backup=lambda name: "x").path == PATH


# --- what is told -----------------------------------------------------------------------------------


def test_a_line_of_the_session_shows_the_file_as_it_was_then() -> None:
    life = Life().write("one\n").edit("one", "two").edit("two", "three")
    assert [of(life, at).known.text for at in (2, 3, 4, 5, 6)] == ["one\n", "one\n", "two\n", "two\n", "three\n"]
    assert of(life, 1).known.lines == {}


def test_a_write_is_taken_as_it_was_carried_out() -> None:
    session = SessionBuilder().response(call("Write", "t", file_path=PATH, content="asked"))
    session.result("t", "ok", toolUseResult={"type": "create", "content": "changed by a person"})
    assert of(session).known.text == "changed by a person"


def test_a_failed_call_changes_nothing() -> None:
    life = Life().write("one\n").write("two\n", error=True)
    assert of(life).known.text == "one\n"


def test_a_call_without_a_result_is_named_and_changes_nothing() -> None:
    life = Life().write("one\n")
    life.session.response(call("Write", "t", file_path=PATH, content="two\n"))
    told = of(life)
    assert (told.known.text, reasons(told)) == ("one\n", [(3, GapReason.UNANSWERED)])


def test_a_result_may_stand_before_its_call() -> None:
    session = SessionBuilder().result("t", "ok").response(call("Write", "t", file_path=PATH, content="one"))
    assert (of(session, 1).known.lines, of(session).known.text) == ({}, "one")


@pytest.mark.parametrize("bare", [True, False])
def test_parts_that_were_read_are_known_with_their_gaps(bare: bool) -> None:
    life = Life(TEN).read(2, 2, bare=bare).read(6, 1, bare=bare)
    known = of(life).known
    assert known.lines == {2: "line 2", 3: "line 3", 6: "line 6"}
    assert [tuple(gap) for gap in known.unknown()] == [(1, 1), (4, 5), (7, None if bare else 11)]


def test_a_read_of_all_lines_without_its_structure_is_complete_unless_it_is_as_long_as_a_read_can_be() -> None:
    assert of(Life(TEN).read(bare=True)).known == PartialText.whole(TEN)
    long = "\n".join(map(str, range(2000)))
    assert of(Life(long).read(bare=True)).known.total is None


def test_lines_that_look_like_reminders_belong_to_the_file() -> None:
    life = Life("a\n<system-reminder>\nb\n</system-reminder>\n").read(bare=True)
    assert of(life).known.text == life.text


def test_a_line_that_the_model_saw_in_part_is_not_known() -> None:
    life = Life(f"a\n{'x' * 2000}... [truncated]\nb").read(bare=True)
    assert of(life).known.lines == {1: "a", 3: "b"}


def test_who_asks_for_line_0_is_given_line_1() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH, offset=0, limit=2))
    session.result("t", "0\ta\n1\tb")
    assert of(session).known.lines == {1: "a", 2: "b"}
    session.response(call("Read", "u", file_path=PATH, offset=0, limit=2))
    file = {"content": "a\nb", "numLines": 2, "startLine": 0, "totalLines": 3}
    session.result("u", "0\ta\n1\tb", toolUseResult={"type": "text", "file": file})
    assert of(session).known == PartialText({1: "a", 2: "b"}, 3)


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({"type": "file_unchanged", "file": {"filePath": PATH}}, "File unchanged since last read"),
        ({"type": "image", "file": {"base64": "…"}}, [{"type": "image"}]),
        ({"type": "notebook", "file": {"cells": []}}, "<cell>"),
        (None, "Wasted call - file unchanged"),
    ],
)
def test_a_read_that_shows_no_lines_changes_nothing(told: Any, shown: Any) -> None:
    life = Life().write("one\n")
    life.session.response(call("Read", "t", file_path=PATH)).result("t", shown, toolUseResult=told)
    assert of(life).known.text == "one\n"


def test_an_empty_file_is_known_to_be_empty() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH))
    file = {"content": "", "numLines": 0, "startLine": 1, "totalLines": 0}
    told = of(session.result("t", "empty", toolUseResult={"type": "text", "file": file}))
    assert told.known == PartialText.whole("")


def test_a_read_that_contradicts_is_right_and_tells_that_somebody_changed_the_file() -> None:
    life = Life(TEN).read().change_outside(TEN.replace("2", "two")).read(1, 3)
    told = of(life)
    assert told.known.lines == {1: "line 1", 2: "line two", 3: "line 3"}
    assert reasons(told) == [(4, GapReason.OUTSIDE)]


def test_a_line_behind_the_end_contradicts() -> None:
    life = Life("one\n").read().change_outside(TEN).read(7, 1, bare=True)
    told = of(life)
    assert (told.known.lines, reasons(told)) == ({7: "line 7"}, [(4, GapReason.OUTSIDE)])


def test_a_read_behind_the_end_shows_nothing() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH, offset=50))
    file = {"content": "", "numLines": 1, "startLine": 50, "totalLines": 10}
    assert of(session.result("t", "shorter", toolUseResult={"type": "text", "file": file})).known.lines == {}


def test_what_stands_behind_numbered_lines_may_belong_to_the_last_of_them() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH)).result("t", "     1→a\n     2→b\nand more")
    assert of(session).known == PartialText({1: "a"})


def test_structure_speaks_for_a_result_only_where_the_line_has_one() -> None:
    session = SessionBuilder().response(call("Write", "t", file_path=PATH, content="asked"))
    results = [{"type": "tool_result", "tool_use_id": id, "content": "ok"} for id in ("u", "t")]
    session.prompt(results, toolUseResult={"type": "create", "content": "another's"})
    assert of(session).known.text == "asked"


def test_an_original_that_contradicts_is_right() -> None:
    life = Life("one\ntwo\n").read().change_outside("1\ntwo\n").edit("two", "2")
    told = of(life)
    assert (told.known.text, reasons(told)) == ("1\n2\n", [(4, GapReason.OUTSIDE)])


def test_hunks_that_contradict_leave_what_they_show() -> None:
    life = Life(TEN).read().change_outside(TEN.replace("line", "row")).edit("row 5", "row five", original=False)
    told = of(life)
    assert told.known.lines == {n: "row five" if n == 5 else f"row {n}" for n in range(2, 9)}
    assert reasons(told) == [(4, GapReason.OUTSIDE)]


def test_an_edit_of_words_that_are_not_there_leaves_nothing() -> None:
    life = Life("one\n").read().change_outside("two\n").edit("two", "three", original=False, patch=False)
    told = of(life)
    assert (told.known.lines, reasons(told)) == ({}, [(4, GapReason.OUTSIDE)])


def test_an_edit_without_a_place_costs_only_what_it_may_have_changed() -> None:
    life = Life(TEN).read(1, 4, bare=True).edit("line 7\nline 8", "one\ntwo\nthree", original=False, patch=False)
    told = of(life)
    assert told.known == PartialText({1: "line 1", 2: "line 2", 3: "line 3"})
    assert reasons(told) == [(4, GapReason.UNPLACED)]
    life.read()
    assert reasons(of(life)) == []


def test_words_that_were_read_tell_where_an_edit_took_place() -> None:
    life = Life(TEN).read(4, 3).edit("line 5\n", "five\nand a half\n", original=False, patch=False)
    assert of(life).known == PartialText({4: "line 4", 5: "five", 6: "and a half", 7: "line 6"}, 12)


def test_quotation_marks_that_only_look_alike_are_not_passed_over() -> None:
    life = Life("“a”\nb\nc\nd\n").read(1, 2, bare=True)
    life.session.response(call("Edit", "t", file_path=PATH, old_string='"a"', new_string="x")).result("t", "ok")
    assert of(life).known.lines == {}
    life = Life("“a”\nb\nc\nd\n").read(1, 2, bare=True)
    asked = {"old_string": '"a"', "new_string": "x", "replace_all": True}
    life.session.response(call("Edit", "t", file_path=PATH, **asked)).result("t", "ok")
    assert of(life).known.lines == {2: "b"}


def test_tabs_that_a_hunk_shows_as_spaces_are_not_claimed() -> None:
    life = Life("a\n\tb\n\tc\nd\n").edit("c", "x", original=False)
    assert of(life).known.lines == {1: "a", 4: "d"}
    life = Life("a\n\tb\n\tc\nd\n").edit("\tc", "\tx\n\ty", original=False)
    assert of(life).known.lines == {1: "a", 3: "\tx", 4: "\ty", 5: "d"}


def test_a_change_of_tabs_to_spaces_that_no_hunk_shows_is_not_passed_over() -> None:
    life = Life("a\n\tb\n\tc\nd\n\te\n").read(1, 2).edit("\tb\n\tc\nd", "  b\n  c\nx", original=False)
    assert of(life).known.lines == {}
    life = Life("z\n\ta\nq\n\ta\nr\ns\n").read(1, 2).edit("\ta\nq\n\ta\nr", "\ta\nq\n  a\nx", original=False)
    assert of(life).known.lines == {}
    life = Life("a\n\tb\n\tc\nd\n\te\n").read().edit("\tb\n\tc\nd", "  b\n  c\nx", original=False)
    assert of(life).known.text == life.text


def test_hunks_tell_of_a_line_break_at_the_end_that_came_or_went() -> None:
    assert of(Life("a\nb").edit("b", "b\n", original=False)).known == PartialText.whole("a\nb\n")
    assert of(Life("a\nb\n").edit("b\n", "b", original=False)).known == PartialText.whole("a\nb")


def test_words_at_the_end_of_a_file_have_no_line_break_to_take_along() -> None:
    life = Life("a\nb\nc").read(2, 2).edit("c", "", original=False, patch=False)
    assert of(life).known == PartialText({2: "b", 3: ""}, 3)


def test_words_that_should_occur_once_and_do_not_leave_nothing() -> None:
    life = Life("a\na\n").read()
    life.session.response(call("Edit", "t", file_path=PATH, old_string="a", new_string="x")).result("t", "ok")
    told = of(life)
    assert (told.known.lines, reasons(told)) == ({}, [(4, GapReason.OUTSIDE)])


@pytest.mark.parametrize(
    "patch", [[], [{"oldStart": "x"}], {"a": 1}, [{"oldStart": -5, "newStart": 1, "lines": ["-x"]}]]
)
def test_hunks_of_a_wrong_shape_are_passed_over(patch: Any) -> None:
    life = Life("one\ntwo\n").read()
    life.session.response(call("Edit", "t", file_path=PATH, old_string="one", new_string="1"))
    life.session.result("t", "ok", toolUseResult={"structuredPatch": patch, "originalFile": 7})
    assert of(life).known.text == "1\ntwo\n"


def test_hunks_that_do_not_fit_to_each_other_are_passed_over() -> None:
    life = Life(TEN).read(1, 1)
    patch = hunks(TEN, TEN.replace("line 5", "five"))
    patch[0]["newStart"] = 7
    life.session.response(call("Edit", "t", file_path=PATH, old_string="line 5", new_string="five"))
    life.session.result("t", "ok", toolUseResult={"structuredPatch": patch})
    assert of(life).known.lines == {1: "line 1"}


def test_the_lines_around_an_edit_that_older_versions_show_are_known() -> None:
    shown = "The file has been updated. Here's the result of running `cat -n` on a snippet:\n     4→four\n     5→five\n"
    session = SessionBuilder().response(call("Edit", "t", file_path=PATH, old_string="5", new_string="five"))
    assert of(session.result("t", shown)).known.lines == {4: "four", 5: "five"}


def test_many_edits_at_once_are_one_after_the_other() -> None:
    edits = [{"old_string": "one", "new_string": "two"}, {"old_string": "two", "new_string": "x", "replace_all": True}]
    life = Life("one two\n").read()
    life.session.response(call("MultiEdit", "t", file_path=PATH, edits=edits)).result("t", "ok")
    assert of(life).known.text == "x x\n"
    life.session.response(call("MultiEdit", "u", file_path=PATH, edits="?"))
    told = {"edits": [{"old_string": "b", "new_string": "c"}], "originalFileContents": "a\nb"}
    assert of(life.session.result("u", "ok", toolUseResult=told)).known.text == "a\nc"


def test_an_edit_of_nothing_makes_a_file() -> None:
    session = SessionBuilder().response(call("Edit", "t", file_path=PATH, old_string="", new_string="a\nb\n"))
    assert of(session.result("t", "ok")).known.text == "a\nb\n"


def test_what_an_edit_of_a_notebook_does_is_not_told() -> None:
    life = Life().write("{}")
    life.session.response(call("NotebookEdit", "t", notebook_path=PATH, new_source="x")).result("t", "ok")
    told = of(life)
    assert (told.known.lines, reasons(told)) == ({}, [(4, GapReason.UNPLACED)])


def test_a_large_original_is_no_trouble() -> None:
    life = Life("".join(f"{n}\n" for n in range(200_000))).edit("\n77\n", "\nx\n")
    assert of(life).known.text == life.text


def test_line_numbers_beyond_all_bounds_are_no_trouble() -> None:
    session = SessionBuilder().response(call("Read", "t", file_path=PATH))
    file = {"content": "a", "numLines": 1, "startLine": 10**12, "totalLines": 10**13}
    known = of(session.result("t", "", toolUseResult={"type": "text", "file": file})).known
    assert known.lines == {10**12: "a"}
    assert known.unknown()[0] == (1, 10**12 - 1)


def test_files_that_a_person_attached_are_known() -> None:
    file = {"filePath": PATH, "content": "a\nb\n", "numLines": 3, "startLine": 1, "totalLines": 3}
    session = SessionBuilder().attachment("file", filename="kettle.py", content={"type": "text", "file": file})
    told = of(session)
    assert (told.known.text, [tuple(source) for source in told.sources]) == ("a\nb\n", [(1, "attachment")])


def test_of_a_file_that_somebody_changed_the_shown_lines_are_known() -> None:
    life = Life(TEN).read()
    life.session.attachment(
        "edited_text_file", filename=PATH, snippet="4\tfour\n5\tfive\n...\n8\t8\n9\tcu\n\n... [2 lines"
    )
    told = of(life)
    assert told.known == PartialText({4: "four", 5: "five", 8: "8"})
    assert reasons(told) == [(3, GapReason.OUTSIDE)]


def test_a_compaction_changes_nothing() -> None:
    life = Life().write("one\n")
    life.session.compaction()
    assert of(life).known.text == "one\n"


def test_the_sources_begin_with_the_last_one_that_told_everything() -> None:
    life = Life(TEN).read(1, 2).read(3, 2)
    assert [tuple(source) for source in of(life).sources] == [(2, "Read"), (4, "Read")]
    life.read().edit("line 5", "5", original=False)
    assert [tuple(source) for source in of(life).sources] == [(6, "Read"), (8, "Edit")]


# --- file history -----------------------------------------------------------------------------------


def snapshot(path: str, time: str, name: str | None = "abc@v1") -> dict[str, Any]:
    backup = {"backupFileName": name, "version": 1, "backupTime": time}
    return {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"trackedFileBackups": {path: backup}}}


@pytest.mark.parametrize("path", [PATH, "kettle.py", "./src/../kettle.py"])
def test_a_copy_in_the_file_history_tells_everything(path: str) -> None:
    life = Life(TEN).read(1, 2)
    life.session.line(snapshot(path, timestamp(3)))
    told = of(life, backup={"abc@v1": TEN}.get)
    assert (told.known, [tuple(source) for source in told.sources]) == (PartialText.whole(TEN), [(3, "file-history")])


def test_a_copy_of_the_newer_kind_names_the_directory() -> None:
    backup = {"backupFileName": "abc@v1", "backupTime": timestamp(5), "realParentDir": "/home/ada/engine"}
    session = SessionBuilder(cwd="/somewhere").prompt("Go")
    session.line({"type": "file-history-delta", "trackingPath": "../x/kettle.py", "backup": backup})
    assert of(session, backup={"abc@v1": "old\n"}.get).known.text == "old\n"


def test_a_copy_that_is_older_than_what_is_known_changes_nothing() -> None:
    life = Life("old\n").edit("old", "new")
    life.session.line(snapshot(PATH, timestamp(1)))
    assert of(life, backup={"abc@v1": "old\n"}.get).known.text == "new\n"


def test_a_copy_that_is_not_there_changes_nothing() -> None:
    life = Life(TEN).read(1, 2)
    for name in ("gone@v1", None):
        life.session.line(snapshot(PATH, timestamp(9), name))
    assert len(of(life, backup={"abc@v1": TEN}.get).known.lines) == 2
    assert len(of(life).known.lines) == 2


def test_only_copies_of_the_wanted_file_are_read() -> None:
    asked: list[str] = []
    life = Life().write("one\n")
    life.session.line(snapshot("/other", timestamp(9))).line(snapshot(PATH, timestamp(1), "old@v1"))
    of(life, backup=lambda name: asked.append(name))
    assert asked == []
