"""The account of lines: the counts add up, and every place of trouble is named."""

from __future__ import annotations

from hypothesis import given, strategies as st

from claude_session_player import replay
from claude_session_player.line_audit import (
    BLANK,
    MALFORMED,
    MERGED,
    SHOWN,
    LineAudit,
    LineIssue,
    LineOutcome,
    LineStatus,
)
from tests.builder import SessionBuilder, call, text


def test_each_fate_is_counted_and_the_counts_add_up() -> None:
    session = SessionBuilder().prompt("Hi").prompt("x", isMeta=True).response(call("Bash", "a")).result("a")
    session.line({"type": "hologram"}).line({"type": "mode"}).raw(b"oops\n").raw(b"\n")
    account = replay(session.lines).account
    assert {fate.name: account.total(fate) for fate in LineStatus} == {
        "SHOWN": 2,
        "MERGED": 1,
        "HIDDEN": 3,
        "UNKNOWN": 1,
        "MALFORMED": 1,
    }
    assert account.lines == 8
    assert account.by_rule(LineStatus.HIDDEN) == {"blank line": 1, "isMeta": 1, "mode": 1}


def test_a_glued_line_counts_once_as_its_most_visible_record() -> None:
    glued = b'{"type":"mode"}{"type":"user","message":{"content":"Hi"}}{"type":"hologram"} oops'
    account = replay([glued]).account
    assert (account.lines, account.total(LineStatus.SHOWN)) == (1, 1)
    assert account.unknown_events == {"hologram": 1}
    assert account.issues == [LineIssue(1, 77, "no JSON value here")]
    assert not account.flawless


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from((SHOWN, MERGED, BLANK, MALFORMED)))), st.integers(0, 9))
def test_many_records_are_booked_as_each_by_itself(steps: list[tuple[int, LineOutcome]], at: int) -> None:
    line, booked = 1, []
    for step, outcome in steps:  # glued records share a line, those of others are left out
        line += step
        booked.append((line, outcome))
    one_by_one, together = LineAudit(), LineAudit()
    for line, outcome in booked:
        one_by_one.add(line, outcome)
    for some in (booked[:at], booked[at:]):
        if some:
            together.add_all([line for line, _ in some], [outcome for _, outcome in some])
    assert together == one_by_one


def test_unknown_types_are_counted_with_their_first_line() -> None:
    session = SessionBuilder().prompt("Hi").line({"type": "hologram"}).line({"type": "hologram"})
    account = replay(session.lines).account
    assert (account.unknown_events, account.first_seen) == ({"hologram": 2}, {"hologram": 2})


def test_a_session_is_known_by_its_records() -> None:
    assert replay([b'{"type":"mode","mode":"normal"}']).account.is_session
    assert not replay([b'{"type":"todo","id":"1"}']).account.is_session
    assert not replay([b'{"type":"started","key":"k"}', b'{"type":"result","key":"k"}']).account.is_session
    assert not replay([b"", b"\n"]).account.is_session


def test_a_result_that_moved_to_its_call_was_merged() -> None:
    account = replay(SessionBuilder().result("a").result("a").response(call("Bash", "a")).lines).account
    assert (account.total(LineStatus.SHOWN), account.total(LineStatus.MERGED)) == (1, 2)


def test_sidechain_lines_are_hidden_by_the_rule_of_that_name() -> None:
    side = SessionBuilder(sidechain=True).prompt("x").response(text("y"))
    account = replay([b'{"type":"user","message":{"content":"Hi"}}', *side.lines]).account
    assert account.by_rule(LineStatus.HIDDEN) == {"sidechain": 2}
