"""Any input: nothing raises, and every line is accounted for."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from claude_session_player import ScreenState, View, read_events, render, replay
from claude_session_player.format.events import QUIET_TYPES, TITLE_KEYS
from claude_session_player.line_audit import LineAudit, LineStatus

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)

blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "server_tool_use", "x", 3])},
    optional={
        "text": any_json,
        "thinking": any_json,
        "id": st.sampled_from(["a", "b", 1, None]),
        "tool_use_id": st.sampled_from(["a", "b", 1, None]),
        "name": st.sampled_from(["Bash", "Task", "Read", 7, None]),
        "input": st.dictionaries(st.sampled_from(["command", "file_path", "description"]), any_json) | any_json,
        "content": any_json | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": any_json})),
        "is_error": any_json,
    },
)

records = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["user", "assistant", "system", "progress", "attachment", "message", "tool_use", "tool_result", "result"]
            + [*QUIET_TYPES, *TITLE_KEYS, "metadata", "usage", "file-history-snapshot", "file-history-delta", "x"]
        )
    },
    optional={
        "message": any_json
        | st.fixed_dictionaries(
            {"content": st.lists(blocks, max_size=3) | any_json},
            optional={
                "id": st.sampled_from(["m1", "m2", 3]),
                "model": st.sampled_from(["claude-x", "<synthetic>", 4]),
                "usage": any_json | st.fixed_dictionaries({}, optional={"output_tokens": st.integers(0, 9)}),
            },
        ),
        "content": any_json | st.lists(blocks, max_size=2),
        "subtype": st.sampled_from(["turn_duration", "compact_boundary", "init", 5]),
        "durationMs": any_json,
        "compactMetadata": any_json,
        "data": any_json | st.fixed_dictionaries({"type": st.sampled_from(["bash_progress", "query_update", "x"])}),
        "parentToolUseID": st.sampled_from(["a", "b", None, 4]),
        "attachment": any_json | st.fixed_dictionaries({"type": st.just("queued_command"), "prompt": any_json}),
        "isSidechain": any_json,
        "isMeta": any_json,
        "requestId": any_json,
        "timestamp": any_json,
        "toolUseResult": any_json,
        "sourceToolAssistantUUID": any_json,
        "parent_tool_use_id": any_json,
        "uuid": any_json,
        "parentUuid": any_json,
        "sessionId": st.sampled_from(["s", "t", 1, None]),
        "cwd": st.sampled_from(["/a", "/b", 1, None]),
        "gitBranch": any_json,
        "version": any_json,
        "model": st.sampled_from(["claude-x", "y", 1, None]),
        "origin": any_json,
        "promptSource": any_json,
        "customTitle": any_json,
        "summary": any_json,
        "input_tokens": st.integers(0, 9) | any_json,
        "role": st.sampled_from(["user", "assistant", "tool", 1]),
        "tool": any_json,
        "tool_name": st.sampled_from(["Bash", "Read", 3, None]),
        "tool_input": any_json,
        "tool_output": any_json,
        "duration_ms": any_json,
    },
)

views = st.builds(View, result_lines=st.none() | st.integers(1, 6), thinking=st.booleans(), history=st.booleans())


def adds_up(account: LineAudit, lines: int) -> bool:
    """True where every line is counted exactly once."""
    return account.lines == lines == sum(account.total(fate) for fate in LineStatus)


@given(st.lists(any_json | records, max_size=8), views)
def test_render_on_any_json_value_never_raises_and_accounts_for_it(values: list[Any], view: View) -> None:
    state = ScreenState(view)
    for value in values:
        assert render(state, value) is state
    state.to_markdown().encode()
    assert adds_up(state.account, len(values))


@given(st.lists(st.binary(max_size=60) | records.map(lambda r: json.dumps(r).encode()), max_size=6))
def test_read_events_on_any_bytes_never_raises_and_accounts_for_every_line(chunks: list[bytes]) -> None:
    lines = b"\n".join(chunks).split(b"\n")
    assert {event.line for event in read_events(lines)} == set(range(1, len(lines) + 1))
    assert adds_up(replay(lines).account, len(lines))


@given(st.lists(records, max_size=8), st.data())
def test_a_damaged_session_never_raises(session: list[Any], data: st.DataObject) -> None:
    whole = b"\n".join(json.dumps(record).encode() for record in session)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    damage = data.draw(st.binary(max_size=8))
    lines = (whole[:start] + damage + whole[end:]).split(b"\n")
    state = replay(lines)
    state.to_markdown().encode()
    assert adds_up(state.account, len(lines))


@given(st.lists(records, max_size=8))
def test_lines_and_parsed_lines_give_the_same_screen(session: list[Any]) -> None:
    lines = [json.dumps(record).encode() for record in session]
    state = ScreenState(replay(lines).view)
    for line in lines:
        render(state, json.loads(line))
    assert state.to_markdown() == replay(lines).to_markdown()
