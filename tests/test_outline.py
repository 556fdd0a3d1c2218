"""The structure of a session: forks, segments, sub-agents and workflows, each on a line of its own."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.cells import cell_len

from claude_session_player import Filter, Store
from claude_session_player.export.outline import draw_outline, encode_outline
from claude_session_player.transcript.chains import relatives_of
from claude_session_player.transcript.outline import Node, NodeKind, build_outline
from tests import corpus
from tests.builder import SessionBuilder, call, text, uuid_of
from tests.program import csp, on_terminal
from tests.stores import ONE, TWO, StoreBuilder
from tests.test_cli_store import SCHEMA

CONTRACT = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/outline"})


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


def put(builder: StoreBuilder, session: SessionBuilder, id: str = ONE) -> Path:
    return session.write(builder.home() / f"{id}.jsonl")


def lines(builder: StoreBuilder, ref: str = ONE, *, prompts: bool = False, width: int | None = None) -> list[str]:
    root = build_outline(builder.open().resolve(ref), with_prompts=prompts).root
    CONTRACT.validate(json.loads(encode_outline(root)))
    return list(draw_outline(root, UTC, width))


def talk(id: str = ONE) -> SessionBuilder:
    return SessionBuilder(session_id=id).prompt("Make tea").response(text("Done."))


def test_a_plain_session_is_one_segment(builder: StoreBuilder) -> None:
    put(builder, talk().prompt("More").response(text("Here.")))
    assert lines(builder) == [
        "1f2e3d4c  Make tea  /home/ada/engine  4 events",
        "└─ line 1  01-17 20:31  ❯ Make tea  2 prompts, 2 responses",
    ]


def test_branches_that_were_left_behind_stand_below_the_fork_and_the_live_one_goes_on(builder: StoreBuilder) -> None:
    session = talk().prompt("With milk").response(text("Milk."))
    put(builder, session.back_to(2).prompt("With lemon").response(text("Lemon.")))
    assert lines(builder) == [
        "1f2e3d4c  Make tea  /home/ada/engine  6 events, 2 branches",
        "├─ line 1  01-17 20:31  ❯ Make tea  1 prompt, 1 response",
        "├─ fork at line 2",
        "│  └─ branch 1  line 3  01-17 20:32  ❯ With milk  2 lines",
        "└─ branch 2 ● live  line 5  01-17 20:32  ❯ With lemon  2 lines",
    ]


def test_a_branch_that_parted_again_holds_its_own_branches(builder: StoreBuilder) -> None:
    session = talk().prompt("With milk").response(text("Milk.")).prompt("Cold").response(text("Cold."))
    session.back_to(4).prompt("Warm").response(text("Warm.")).back_to(2).prompt("With lemon").response(text("Lemon."))
    put(builder, session)
    assert lines(builder)[2:] == [
        "├─ fork at line 2",
        "│  └─ line 3  01-17 20:32  ❯ With milk",
        "│     └─ fork at line 4",
        "│        ├─ branch 1  line 5  01-17 20:32  ❯ Cold  2 lines",
        "│        └─ branch 2  line 7  01-17 20:32  ❯ Warm  2 lines",
        "└─ branch 3 ● live  line 9  01-17 20:32  ❯ With lemon  2 lines",
    ]


def test_parallel_tools_are_no_forks(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Look").response(call("Read", "a"), call("Read", "b"))
    put(builder, session.back_to(2).result("a").back_to(3).result("b").response(text("Seen.")))
    assert not any("fork" in line for line in lines(builder))


def test_a_compaction_parts_two_segments(builder: StoreBuilder) -> None:
    session = (
        talk()
        .back_to(None)
        .system(
            "compact_boundary", logicalParentUuid=uuid_of(2), compactMetadata={"trigger": "auto", "preTokens": 155000}
        )
    )
    put(builder, session.response(text("On and on.")))
    assert lines(builder)[2:] == [
        "├─ compacted at line 3 (auto, 155,000 tokens)",
        "└─ line 4  01-17 20:32  (continued)  1 response",
    ]


def test_prompts_come_a_line_each_where_they_are_wanted(builder: StoreBuilder) -> None:
    put(builder, talk().prompt("More"))
    assert lines(builder, prompts=True)[2:] == [
        "   ├─ line 1  01-17 20:31  ❯ Make tea",
        "   └─ line 3  01-17 20:32  ❯ More",
    ]


def test_a_segment_is_called_by_the_first_prompt_that_says_anything(builder: StoreBuilder) -> None:
    put(builder, SessionBuilder(session_id=ONE).prompt("<command-name>/clear</command-name>").prompt("Make tea"))
    assert "❯ Make tea" in lines(builder)[1]


def test_subagents_stand_where_they_were_called_and_nested_ones_below_their_callers(builder: StoreBuilder) -> None:
    builder.every_layout()
    builder.meta(builder.agent("deep0001", place="subagents", task="Deeper"), parentAgentId="nest0001")
    builder.agent("lost0001", place="subagents", task="Nobody asked for this")
    assert lines(builder)[1:] == [
        "├─ line 1  01-17 20:31  ❯ Start the engine  1 prompt, 3 responses",
        "│  ├─ sub-agent flat0001  Explore  Look  2 events",
        "│  └─ sub-agent nest0001  Plan  Dig  2 events",
        "│     └─ sub-agent deep0001  Deeper  2 events",
        "├─ workflow wf_1  1 sub-agent, completed",
        "│  └─ sub-agent work0001  Look around  2 events",
        "└─ sub-agent lost0001  Nobody asked for this  2 events, no matching call",
    ]
    assert lines(builder, TWO)[2:] == ["   └─ sub-agent 00000000  Explore  Ask  2 events"]


def test_subagents_of_a_branch_stand_below_it(builder: StoreBuilder) -> None:
    session = talk().prompt("Ask").response(call("Task", "t1", prompt="Look around", subagent_type="Explore"))
    put(builder, session.back_to(2).prompt("Do not ask"))
    builder.agent("aa11", place="subagents")
    assert lines(builder)[2:5] == [
        "├─ fork at line 2",
        "│  └─ branch 1  line 3  01-17 20:32  ❯ Ask  2 lines",
        "│     └─ sub-agent aa11  Explore  Look around  2 events",
    ]


def related(builder: StoreBuilder, ref: str) -> list[str]:
    store = builder.open()
    session = store.resolve(ref)
    root = build_outline(session, relatives_of(session, store)).root
    CONTRACT.validate(json.loads(encode_outline(root)))
    return list(draw_outline(root, UTC))


def test_a_session_names_what_it_continues_and_what_continues_it(builder: StoreBuilder) -> None:
    put(builder, talk(ONE))
    put(builder, talk(TWO).prompt("More"), TWO)
    assert related(builder, TWO)[1] == "├─ resumed from 1f2e3d4c  Make tea  2 events in common"
    assert related(builder, ONE)[-1] == "└─ resumed as 1f2e3d4c  Make tea  2 events in common"


def test_a_copy_from_before_a_compaction_is_called_so(builder: StoreBuilder) -> None:
    put(builder, talk(ONE).prompt("More"))
    talk(ONE).write(builder.root / "pre-compact-session-histories" / f"{ONE}-2026.jsonl")
    assert related(builder, ONE)[1] == f"├─ copy from before a compaction  {ONE}-2026  2 events in common"


def test_lines_fit_the_terminal_and_keep_what_stands_at_their_end(builder: StoreBuilder) -> None:
    put(builder, SessionBuilder(session_id=ONE).prompt("차를 끓여 주세요 " * 30).response(text("Done.")))
    for line in lines(builder, width=80):
        assert cell_len(line) <= 80
    assert lines(builder, width=80)[1].endswith("…  1 prompt, 1 response")


def test_any_depth_can_be_drawn(builder: StoreBuilder) -> None:
    root = node = Node(NodeKind.SESSION, {"id": "x", "title": None, "project": None, "events": 1, "branches": 1}, [])
    for number in range(5000):
        below = Node(
            NodeKind.AGENT,
            {"id": str(number), "agent": None, "title": "T", "events": 1, "line": None, "linked": True},
            [],
        )
        node.children.append(below)
        node = below
    assert len(list(draw_outline(root, UTC, 80))) == 5001
    assert all(len(line) <= 80 for line in draw_outline(root, UTC, 80))
    assert encode_outline(root).count('"kind":"agent"') == 5000


def test_fifty_subagents_in_a_row_are_drawn_below_each_other(builder: StoreBuilder) -> None:
    put(builder, talk())
    for number in range(50):
        caller = {"parentAgentId": f"a{number - 1:03}"} if number else {}
        builder.meta(builder.agent(f"a{number:03}", place="subagents", task=f"Task {number}"), **caller)
    assert len(lines(builder)) == 52
    (value,) = json.loads(csp("tree", ONE, "--json", "--root", builder.root).stdout)["children"][1:]
    for number in range(50):
        assert value["id"] == f"a{number:03}"
        (value,) = value["children"] or [None]


def test_a_hundred_rewinds_are_no_hundred_levels(builder: StoreBuilder) -> None:
    session = talk()
    for number in range(100):
        session.back_to(2).prompt(f"Try {number}").response(text("No."))
    put(builder, session)
    drawing = lines(builder)
    assert len(drawing) == 103
    assert max(line.index("─") for line in drawing[1:]) == 4


# --- what is wrong ----------------------------------------------------------------------------------


def problems(builder: StoreBuilder, ref: str = ONE) -> list[str]:
    done = csp("tree", ref, "--strict", "--root", builder.root)
    assert done.stdout
    found = done.stderr.decode().splitlines()
    assert done.returncode == (1 if found else 0)
    return found


def test_strict_finds_nothing_wrong_with_a_sound_session(builder: StoreBuilder) -> None:
    builder.every_layout()
    assert problems(builder) == []


def test_strict_names_each_thing_that_is_wrong_with_the_lines(builder: StoreBuilder) -> None:
    session = talk()
    session.prompt("Again", uuid=uuid_of(1))
    session.prompt("Lost", parentUuid="nobody")
    session.back_to(None).prompt("Anew")
    session.prompt("Round", parentUuid=uuid_of(6))
    put(builder, session)
    assert problems(builder) == [
        "line 3: has the uuid of line 1",
        "line 4: parent nobody is not in the file",
        "line 5: has no parent, but is not the first line",
        "line 6: is its own ancestor",
    ]


def test_strict_names_subagents_that_are_their_own_ancestors(builder: StoreBuilder) -> None:
    put(builder, talk())
    builder.meta(builder.agent("aa11", place="subagents"), parentAgentId="bb22", agentType="Plan")
    builder.meta(builder.agent("bb22", place="subagents"), parentAgentId="aa11", agentType="Plan")
    builder.meta(builder.agent("cc33", place="subagents"), parentAgentId="cc33", agentType="Plan")
    assert problems(builder) == ["agent aa11: is its own ancestor", "agent cc33: is its own ancestor"]


def test_strict_names_a_subagent_without_a_session_and_draws_it(builder: StoreBuilder) -> None:
    builder.agent("aa11", place="subagents")
    assert problems(builder, "aa11") == [f"agent aa11: its session {ONE} is not there"]


def test_strict_names_a_subagent_without_a_call(builder: StoreBuilder) -> None:
    put(builder, talk())
    builder.agent("aa11", place="subagents")
    assert problems(builder) == ["agent aa11: no call of it was found"]


def test_nothing_is_said_without_strict(builder: StoreBuilder) -> None:
    put(builder, talk().prompt("Lost", parentUuid="nobody"))
    done = csp("tree", ONE, "--root", builder.root)
    assert (done.returncode, done.stderr) == (0, b"")


# --- as a person meets it ---------------------------------------------------------------------------


def test_a_tree_on_a_terminal_fits_it(builder: StoreBuilder) -> None:
    put(builder, talk().prompt("word " * 100))
    screen = on_terminal("tree", ONE, "--root", str(builder.root))
    assert all(cell_len(line) <= 80 for line in screen.splitlines())


def test_a_file_outside_of_stores_has_a_tree(tmp_path: Path) -> None:
    path = talk().write(tmp_path / "alone.jsonl")
    done = csp("tree", path)
    assert done.stdout.decode().splitlines()[0].startswith("alone  Make tea")
    assert done.returncode == 0


@pytest.mark.parametrize(("content", "code"), [(b"", 4), (b"hello\n", 4), (b'{"type":"mode"}\n', 0)])
def test_files_without_a_conversation_are_no_traceback(tmp_path: Path, content: bytes, code: int) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    for command in ("tree", "summary"):
        done = csp(command, path)
        assert done.returncode == code
        assert len(done.stderr.splitlines()) == (1 if code else 0)


@pytest.mark.skipif(not corpus.STORE.is_dir(), reason=f"there is no real store at {corpus.ROOT}")
def test_every_real_session_has_a_tree(tmp_path: Path) -> None:
    store = Store.open(corpus.STORE, cache=str(tmp_path))
    for session in store.sessions(Filter(include_subagents=True)):
        root = build_outline(session).root
        CONTRACT.validate(json.loads(encode_outline(root)))
        drawing = list(draw_outline(root, UTC, 80))
        assert all(cell_len(line) <= 80 for line in drawing)
        assert sum(" ● live" in line for line in drawing) == (root.facts["branches"] > 1)
        assert _agents(root) == session.subagent_count


def _agents(root: Node) -> int:
    waiting: list[Any] = [root]
    count = 0
    while waiting:
        node = waiting.pop()
        count += node.kind == "agent"
        waiting += node.children
    return count
