"""Which files a session read, wrote and edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from claude_session_player.files.activity import (
    TouchCounter,
    TouchCounts,
    absolute_path,
    count_touches,
    find_touched_file,
    touched_files,
)
from claude_session_player.files.rebuild import rebuild_file
from claude_session_player.parser import read_events
from claude_session_player.stats.counters import CHANGED, READ, EventCounter, LineCounter, SessionCounts
from tests.builder import SessionBuilder, call, text, timestamp
from tests.stores import AGENT, ENGINE, ONE, TWO, StoreBuilder

KETTLE = f"{ENGINE}/kettle.py"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def touches_of(session: SessionBuilder) -> dict[str, TouchCounts]:
    return count_touches(read_events(session.lines))


def add_call(session: SessionBuilder, name: str, id: str, path: Any = KETTLE, *, error: bool | None = None) -> None:
    """A call of a tool with its result."""
    key = "notebook_path" if name.startswith("Notebook") else "file_path"
    session.response(call(name, id, **{key: path})).result(id, "done", error=error)


def counts(touches: TouchCounts) -> tuple[int, int, int, int]:
    return touches.reads, touches.writes, touches.edits, touches.failed


def test_calls_are_counted_by_what_they_do_to_a_file() -> None:
    session = SessionBuilder().prompt("Go")
    for number, name in enumerate(
        ("Read", "Read", "Write", "Edit", "MultiEdit", "NotebookRead", "NotebookEdit", "Bash")
    ):
        add_call(session, name, f"t{number}")
    assert {path: counts(touches) for path, touches in touches_of(session).items()} == {KETTLE: (3, 1, 3, 0)}


def test_a_failed_call_counts_as_failed_and_as_nothing_else() -> None:
    session = SessionBuilder()
    add_call(session, "Read", "t1", error=True)
    add_call(session, "Write", "t2", error=True)
    add_call(session, "Edit", "t3", error=False)
    session.response(call("Edit", "t4", file_path=KETTLE)).result(
        "t4", "<tool_use_error>Read it first</tool_use_error>"
    )
    assert counts(touches_of(session)[KETTLE]) == (0, 0, 1, 3)


def test_a_result_may_stand_before_its_call() -> None:
    session = SessionBuilder().result("t1", "no", error=True).response(call("Write", "t1", file_path=KETTLE))
    assert counts(touches_of(session)[KETTLE]) == (0, 0, 0, 1)


def test_a_call_without_a_result_did_not_fail() -> None:
    session = SessionBuilder().response(call("Write", "t1", file_path=KETTLE))
    assert counts(touches_of(session)[KETTLE]) == (0, 1, 0, 0)


def test_a_result_without_an_id_answers_the_oldest_call_of_its_tool() -> None:
    session = SessionBuilder()
    for path in ("a.py", "b.py"):
        session.line({"type": "tool_use", "tool_name": "Write", "tool_input": {"file_path": f"/{path}"}})
    session.line({"type": "tool_result", "tool_name": "Read", "tool_output": "x", "is_error": True})
    session.line({"type": "tool_result", "tool_name": "Write", "tool_output": "x", "is_error": True})
    assert {path: counts(t) for path, t in touches_of(session).items()} == {
        "/a.py": (0, 0, 0, 1),
        "/b.py": (0, 1, 0, 0),
    }


def test_spellings_of_one_path_are_one_file() -> None:
    session = SessionBuilder()
    for number, path in enumerate((KETTLE, "kettle.py", "./src/../kettle.py", f"/{KETTLE}", f"{ENGINE}//kettle.py")):
        add_call(session, "Read", f"t{number}", path)
    assert [*touches_of(session)] == [KETTLE]
    session.cwd = f"{ENGINE}/src"
    add_call(session, "Read", "t9", "../kettle.py")
    assert touches_of(session)[KETTLE].reads == 6


def test_windows_paths_are_joined_by_their_own_rules() -> None:
    session = SessionBuilder(cwd="c:\\ada")
    for number, path in enumerate(("kettle.py", "C:/ada/kettle.py", "c:\\ada\\src\\..\\kettle.py")):
        add_call(session, "Read", f"t{number}", path)
    assert {path: touches.reads for path, touches in touches_of(session).items()} == {"c:\\ada\\kettle.py": 3}


def counted(lines: list[bytes]) -> SessionCounts:
    """The counts of a summary: of lines, or of events where lines are not enough."""
    counter, reference = LineCounter(), EventCounter()
    counter.count_lines(lines)
    reference.count_events(read_events(lines))
    return reference if counter.needs_events else counter


SPELLINGS = ("c:\\ada\\kettle.py", "C:\\ada\\kettle.py", "C:/ada/kettle.py", "c:/ada/./kettle.py", "kettle.py")


@given(st.permutations(SPELLINGS))
def test_the_case_of_a_drive_and_slashes_do_not_matter_and_the_first_spelling_is_shown(paths: list[str]) -> None:
    session = SessionBuilder(cwd="C:\\ada")
    for number, path in enumerate(paths):
        add_call(session, "Read", f"t{number}", path)
        add_call(session, "Edit", f"e{number}", path, error=number == 0)
    ((shown, touches),) = touches_of(session).items()
    assert shown == absolute_path(paths[0], "C:\\ada")
    assert counts(touches) == (5, 0, 4, 1)
    counter = counted(session.lines)
    assert (counter.count_files(READ), counter.count_files(CHANGED)) == (1, 1)
    for given_path in (*SPELLINGS, "ada/kettle.py", "c:\\ada/kettle.py"):
        assert find_touched_file(given_path, [shown], "c:/ada") == shown


def test_a_windows_file_is_rebuilt_from_all_of_its_spellings() -> None:
    session = SessionBuilder(cwd="C:\\ada")
    session.response(call("Write", "t1", file_path="c:\\ada\\k.py", content="a\n")).result("t1", "File created")
    session.response(call("Edit", "t2", file_path="C:/ada/k.py", old_string="a", new_string="b")).result("t2", "ok")
    assert rebuild_file(read_events(session.lines), "C:\\ada\\k.py").known.text == "b\n"


@given(
    st.lists(
        st.tuples(st.sampled_from((None, "/a", "/b", "c:\\a")), st.sampled_from(("x", "/a/x", "../a/x", "C:/a/x")))
    )
)
def test_a_summary_counts_the_files_that_are_listed(reads: list[tuple[str | None, str]]) -> None:
    lines = []
    for number, (cwd, path) in enumerate(reads):
        block = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": path}}
        record = {"type": "assistant", "message": {"content": [block]}} | ({"cwd": cwd} if cwd else {})
        lines.append(json.dumps(record).encode() + b"\n")
    assert counted(lines).count_files(READ) == len(count_touches(read_events(lines)))


@pytest.mark.parametrize("path", [None, 7, ["a"], {"a": 1}, "", True])
def test_a_path_that_is_not_a_string_is_ignored(path: Any) -> None:
    session = SessionBuilder()
    add_call(session, "Read", "t1", path)
    assert touches_of(session) == {}


def test_the_first_and_last_time_and_line_are_known_though_times_go_backwards() -> None:
    session = SessionBuilder().prompt("Go")
    session.response(call("Read", "t1", file_path=KETTLE), timestamp=timestamp(50))
    session.response(call("Edit", "t2", file_path=KETTLE), timestamp=timestamp(10))
    session.response(call("Edit", "t3", file_path=KETTLE), timestamp="nonsense")
    touches = touches_of(session)[KETTLE]
    assert (touches.first_time, touches.last_time) == (timestamp(10), timestamp(50))
    assert (touches.first_line, touches.last_line) == (2, 4)


def test_attached_files_are_counted_separately() -> None:
    session = SessionBuilder().attachment("file", filename=KETTLE, content={"type": "text", "file": {}})
    session.attachment("edited_text_file", filename="kettle.py", snippet="1\tboil()")
    session.attachment("compact_file_reference", filename="other.py")
    session.attachment("file", filename=7)
    assert [(path, t.attached) for path, t in touches_of(session).items()] == [(KETTLE, 2), (f"{ENGINE}/7", 1)]


@pytest.mark.parametrize(
    ("structured", "content", "created"),
    [
        ({"type": "create"}, "ok", True),
        ({"type": "update"}, "File created successfully", False),
        ("File created", "File created successfully at: x", True),
        (None, "File created successfully at: x", True),
        (None, "The file has been updated", False),
        ([1], [{"type": "text", "text": "x"}], False),
    ],
)
def test_a_created_file_is_known_by_the_result(structured: Any, content: Any, created: bool) -> None:
    session = SessionBuilder().response(call("Write", "t1", file_path=KETTLE, content=""))
    session.result("t1", content, **({} if structured is None else {"toolUseResult": structured}))
    assert touches_of(session)[KETTLE].created is created


@given(JSON, JSON, JSON)
def test_inputs_and_results_of_any_shape_are_accepted(given_input: Any, content: Any, structured: Any) -> None:
    session = SessionBuilder()
    block = {"type": "tool_use", "id": "t1", "name": "Edit", "input": given_input}
    session.response(block, {**block, "id": "t2", "input": {"file_path": KETTLE}})
    session.result("t2", content, toolUseResult=structured).result("t1", content)
    assert touches_of(session)[KETTLE].edits == 1


def test_events_can_be_counted_one_by_one() -> None:
    session = SessionBuilder()
    add_call(session, "Read", "t1")
    counter = TouchCounter()
    seen = []
    for event in read_events(session.lines):
        counter.take(event)
        seen.append({path: counts(touches) for path, touches in counter.files.items()})
    assert seen == [{KETTLE: (1, 0, 0, 0)}] * 2


# --- a session and its sub-agents -------------------------------------------------------------------


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    main = SessionBuilder(session_id=ONE).prompt("Go")
    add_call(main, "Read", "t1")
    main.write(builder.home() / f"{ONE}.jsonl")
    agent = SessionBuilder(session_id=ONE, sidechain=True).prompt("Look around")
    add_call(agent, "Edit", "t1")
    add_call(agent, "Write", "t2", "tea.py")
    agent.write(builder.home() / ONE / "subagents" / f"agent-{AGENT}.jsonl")
    below = SessionBuilder(session_id=ONE, sidechain=True)
    add_call(below, "Read", "t1", "tea.py")
    below.write(builder.home() / ONE / "subagents" / f"agent-{AGENT}" / "subagents" / "agent-deep0001.jsonl")
    return builder


def test_touches_of_sub_agents_count_at_any_depth_by_agent(builder: StoreBuilder) -> None:
    files = sorted(touched_files(builder.open().resolve(ONE)), key=lambda file: file.path)
    assert {file.path: [*file.by] for file in files} == {KETTLE: [None, AGENT], f"{ENGINE}/tea.py": [AGENT, "deep0001"]}
    assert [counts(file.all) for file in files] == [(1, 0, 1, 0), (1, 1, 0, 0)]
    assert [file.by[AGENT].first_line for file in files] == [2, 4]


def test_touches_of_the_session_alone(builder: StoreBuilder) -> None:
    (file,) = touched_files(builder.open().resolve(ONE), own=True)
    assert (file.path, counts(file.all)) == (KETTLE, (1, 0, 0, 0))


def test_touches_of_a_sub_agent_alone(builder: StoreBuilder) -> None:
    files = touched_files(builder.open().resolve(AGENT))
    assert {file.path: [*file.by] for file in files} == {KETTLE: [None], f"{ENGINE}/tea.py": [None, "deep0001"]}


def test_an_inline_sub_agent_counts_once_with_its_id(builder: StoreBuilder) -> None:
    main = SessionBuilder(session_id=TWO).prompt("Go").response(call("Task", "t0", prompt="Look", description="Look"))
    main.sidechain = True
    main.prompt("Look", parentUuid=None, uuid="inline-1")
    add_call(main, "Read", "t1")
    main.sidechain = False
    main.response(text("Done"))
    add_call(main, "Read", "t2")
    main.write(builder.home() / f"{TWO}.jsonl")
    session = builder.open().resolve(TWO)
    (file,) = touched_files(session)
    assert {agent: touches.reads for agent, touches in file.by.items()} == {"inline-1": 1, None: 1}
    assert file.all.reads == 2
    (own,) = touched_files(session, own=True)
    assert own.all.reads == 1
    (inside,) = touched_files(session.subagents[0])
    assert {agent: touches.reads for agent, touches in inside.by.items()} == {None: 1}


def test_a_tool_call_without_a_name_is_no_touch() -> None:
    lines = [json.dumps({"type": "assistant", "message": {"content": [{"type": "tool_use"}]}}).encode()]
    assert count_touches(read_events(lines)) == {}
