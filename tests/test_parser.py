"""Bytes to events: every line is accounted for, whatever is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_session_player import read_events, replay
from claude_session_player.errors import CannotRead
from claude_session_player.format.events import Malformed
from claude_session_player.parser import is_subagent_file, only_sidechains, salvage_line
from tests.builder import SessionBuilder, text

HELLO = b'{"type":"user","message":{"content":"Hello"}}'
YES = b'{"type":"assistant","message":{"content":"Yes"}}'


def kinds(*lines: bytes) -> list[str]:
    """The kinds of the events of some lines."""
    return [event.kind for event in read_events(lines)]


def issues(*lines: bytes) -> list[tuple[int, int, str]]:
    """What could not be read: line, offset, reason."""
    return [(e.line, e.offset, e.reason) for e in read_events(lines) if isinstance(e, Malformed)]


def test_events_carry_the_number_of_their_line() -> None:
    assert [event.line for event in read_events([HELLO, b"\n", YES])] == [1, 2, 3]


def test_a_file_and_its_lines_give_the_same_events(tmp_path: Path) -> None:
    path = SessionBuilder().prompt("Hi").response(text("Ho")).raw(b"oops\n").write(tmp_path / "s.jsonl")
    from_file = [(event.kind, event.line) for event in read_events(path)]
    with path.open("rb") as file:
        assert from_file == [(event.kind, event.line) for event in read_events(file)]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"  \n"])
def test_a_line_may_end_in_any_way(end: bytes) -> None:
    assert kinds(HELLO + end) == ["user"]


def test_a_byte_order_mark_is_passed_over() -> None:
    assert kinds(b"\xef\xbb\xbf" + HELLO) == ["user"]


def test_blank_lines_are_counted_as_such() -> None:
    assert kinds(b"\n", b"  \r\n", b"") == ["(blank)"] * 3


def test_two_objects_glued_on_one_line_are_two_events() -> None:
    assert kinds(HELLO + YES, HELLO + b" " + HELLO) == ["user", "assistant", "user", "user"]


def test_a_run_of_nul_bytes_does_not_cost_the_record_behind_it() -> None:
    assert kinds(b"\0" * 500 + HELLO) == ["user"]


def test_a_line_of_nothing_but_nul_bytes_is_malformed() -> None:
    assert issues(HELLO + b"\n", b"\0" * 7 + b"\n") == [(2, len(HELLO) + 1, "only 7 NUL bytes")]


def test_a_cut_line_is_malformed_with_its_place_and_reason() -> None:
    assert issues(HELLO + b"\n", HELLO[:30]) == [(2, len(HELLO) + 1, "cut short: the JSON ends in the middle")]


def test_a_record_behind_one_that_a_crash_cut_off_is_not_lost() -> None:
    session = SessionBuilder().prompt("one").prompt("two")
    line = session.lines[0][:80] + session.lines[1]
    assert kinds(line) == ["(malformed)", "user"]
    assert replay([line]).to_markdown() == "❯ two"


def test_the_inside_of_a_cut_record_is_not_taken_for_a_record() -> None:
    inner = b'{"type":"progress","data":{"message":{"type":"user","message":{"content":"inner"}}},"x":'
    assert kinds(inner) == ["(malformed)"]


@pytest.mark.parametrize("line", [b"// a comment", b"this is no JSON", b"{broken", b'{"a":', b"nul", b"]"])
def test_what_is_no_json_is_malformed(line: bytes) -> None:
    assert kinds(line) == ["(malformed)"]


@pytest.mark.parametrize("line", [b"42", b'"text"', b"[1]", b"null", b"true", b"NaN"])
def test_a_value_that_is_no_object_is_malformed(line: bytes) -> None:
    assert issues(line) == [(1, 0, "not a JSON object")]


def test_the_offset_of_trouble_behind_a_record_counts_bytes() -> None:
    good = '{"type":"user","message":{"content":"é\udcff"}}'.encode("utf-8", "surrogateescape")
    assert issues(good + b"oops") == [(1, len(good), "no JSON value here")]


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        (b"caf\xff\xe9", "caf��"),
        (b"\\ud83d lone", "� lone"),
        (b"\\ud83d\\ude00", "😀"),
        (b"tab\there", "tab\there"),
        (b"nul\x00here", "nul\x00here"),
    ],
)
def test_damaged_text_is_shown_as_far_as_it_can_be_read(inside: bytes, shown: str) -> None:
    line = b'{"type":"user","message":{"content":"' + inside + b'"}}'
    assert replay([line]).to_markdown() == f"❯ {shown}"


def test_damaged_text_in_a_result_is_shown_as_far_as_it_can_be_read() -> None:
    block = b'{"type":"tool_result","tool_use_id":"x","content":"\\ud83d \xff"}'
    line = b'{"type":"user","message":{"content":[' + block + b"]}}"
    assert replay([line]).to_markdown() == "� �"


def test_nesting_of_ten_thousand_is_read_as_far_as_it_makes_sense() -> None:
    deep = b"[" * 10_000 + b"]" * 10_000
    line = b'{"type":"user","extra":' + deep + b',"message":{"content":"still here"}}'
    assert replay([line, HELLO]).to_markdown() == "❯ still here\n\n❯ Hello"


def test_deeply_nested_input_and_results_are_read_too() -> None:
    deep = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
    use = b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"X","input":' + deep + b"}]}}"
    out = b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":' + deep + b"}]}}"
    assert replay([use, out]).to_markdown().startswith('● X(…)\n  └ {"a":{"a":')


def test_the_offset_of_trouble_behind_deep_nesting_is_that_of_the_file() -> None:
    record = b'{"type":"user","x":' + b"[" * 5000 + b"]" * 5000 + b"}"
    assert issues(record + b" oops") == [(1, len(record) + 1, "no JSON value here")]


def test_unclosed_nesting_is_malformed() -> None:
    assert kinds(b'{"type":"user","x":' + b"[" * 10_000, HELLO) == ["(malformed)", "user"]


def test_huge_numbers_are_read() -> None:
    line = b'{"type":"system","subtype":"turn_duration","durationMs":' + b"9" * 9000 + b"}"
    assert kinds(line) == ["system"]


def test_a_line_separator_inside_text_does_not_end_a_line() -> None:
    line = '{"type":"user","message":{"content":"a\u2028b\x85c"}}'.encode()
    assert replay([line]).to_markdown() == "❯ a\u2028b\x85c"


def test_a_missing_file_raises_what_a_person_understands(tmp_path: Path) -> None:
    with pytest.raises(CannotRead, match="No such file"):
        list(read_events(tmp_path / "gone.jsonl"))


# --- whose file it is -----------------------------------------------------------------------------


def test_a_file_of_a_sub_agent_is_known_by_its_name(tmp_path: Path) -> None:
    session = SessionBuilder(sidechain=True).prompt("task").line({"type": "user", "message": {"content": "main"}})
    assert is_subagent_file(session.write(tmp_path / "agent-a1.jsonl"))
    assert not is_subagent_file(session.write(tmp_path / "other.jsonl"))


def test_a_file_of_nothing_but_sidechain_lines_is_a_sub_agents(tmp_path: Path) -> None:
    session = SessionBuilder(sidechain=True).line({"type": "summary", "summary": "x"}).prompt("task")
    path = session.write(tmp_path / "copy.jsonl")
    assert is_subagent_file(path)
    assert replay(path).to_markdown() == "❯ task"
    assert replay(session.lines).to_markdown() == "❯ task"


def test_a_file_without_conversation_is_no_sub_agents() -> None:
    assert not only_sidechains(read_events([b'{"type":"summary"}']))


def test_looking_whose_file_it_is_stops_at_the_first_main_line() -> None:
    session = SessionBuilder().prompt("main").prompt("more").prompt("and more")
    lines = iter(session.lines)
    assert not only_sidechains(read_events(lines))
    assert len(list(lines)) == 2


def test_a_line_of_very_many_values_ends_in_one_piece_and_keeps_the_record_behind_them() -> None:
    record = b'{"type":"user","uuid":"u1","message":{"role":"user","content":"Hello"}}'
    kinds = [piece.event.kind for piece in salvage_line(b"1 " * 10_005 + record)]
    assert len(kinds) == 10_002
    assert kinds[-2:] == ["(malformed)", "user"]
