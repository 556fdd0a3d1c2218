"""A diff of two texts says what became of each line, in bounded time."""

from __future__ import annotations

import time

from hypothesis import given, strategies as st

from claude_session_player.tools import parts as module
from claude_session_player.tools.parts import ADDED, REMOVED, SAME, common_starts, diff_runs, text_diff

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "}"]), max_size=12)


@given(LINES, LINES)
def test_stretches_hold_every_line_of_both_texts_in_order(old: list[str], new: list[str]) -> None:
    found = list(diff_runs(old, new))
    assert [line for sign, lines in found if sign in (SAME, REMOVED) for line in lines] == old
    assert [line for sign, lines in found if sign in (SAME, ADDED) for line in lines] == new
    assert all(lines for _, lines in found)


@given(LINES, LINES)
def test_a_diff_shows_every_change(old: list[str], new: list[str]) -> None:
    shown = text_diff("\n".join(old), "\n".join(new)).split("\n")
    if old[-1:] == new[-1:] == [""]:  # a line break at the end of both makes no line
        old, new = old[:-1], new[:-1]
    for sign in (REMOVED, ADDED):
        wanted = [sign + line for kind, lines in diff_runs(old, new) if kind == sign for line in lines]
        if "\n".join(old) and "\n".join(new):
            assert [line for line in shown if line.startswith(sign)] == wanted


def test_two_changed_lines_of_five_are_two_out_and_two_in() -> None:
    assert text_diff("1\n2\n3\n4\n5", "1\ntwo\n3\nfour\n5") == " 1\n-2\n+two\n 3\n-4\n+four\n 5"


def test_unchanged_lines_far_from_a_change_are_left_out() -> None:
    old = [str(number) for number in range(30)]
    new = ["ten" if line == "10" else "twenty" if line == "20" else line for line in old]
    assert text_diff("\n".join(old), "\n".join(new)).split("\n") == [
        *(" 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13"),
        "@@ 3 unchanged lines @@",
        *(" 17", " 18", " 19", "-20", "+twenty", " 21", " 22", " 23"),
    ]


def test_a_text_that_appears_or_goes_is_all_in_or_all_out() -> None:
    assert text_diff("", "a\nb") == "+a\n+b"
    assert text_diff("a\nb", "") == "-a\n-b"
    assert text_diff("a", "a") == ""


def test_texts_that_take_too_long_to_compare_are_all_out_and_all_in() -> None:
    old = "\n".join(["x", *["{", "}"] * 20_000])
    new = "\n".join([*["}", "{"] * 20_000, "y"])
    started = time.process_time()
    lines = text_diff(old, new).split("\n")
    assert time.process_time() - started < 2
    assert sum(line.startswith("-") for line in lines) == 40_001


def test_the_limit_counts_what_difflib_may_have_to_look_at() -> None:
    many = ["same"] * 1000
    assert not module._is_worth_comparing(["a", *many], ["b", *many, "c"])
    assert module._is_worth_comparing([f"{n}" for n in range(1000)], [f"{n + n % 2}" for n in range(1000)])


@given(st.text("ab", max_size=9), st.text("ab", max_size=9))
def test_the_common_start_of_two_lines_is_the_longest(old: str, new: str) -> None:
    [(removed, added, same)] = common_starts([REMOVED + old, ADDED + new])
    assert (removed, added) == (0, 1)
    assert old[:same] == new[:same]
    assert same == min(len(old), len(new)) or old[same] != new[same]


def test_only_added_lines_right_behind_removed_ones_replace_them() -> None:
    lines = ["-a", "-b", "+a", "+c", "+d", " a", "+a", "-a", "@@ 3 unchanged lines @@", "+a"]
    assert [pair[:2] for pair in common_starts(lines)] == [(0, 2), (1, 3)]
