"""Patterns that take far longer than linear time are refused, with a text that shows it, and without hanging."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player.redact.pattern_speed import (
    WHEN_CHECKED,
    WHEN_LOADED,
    PatternSpeed,
    SlowText,
    measure_pattern,
    shortened,
)

EXPONENTIAL = [
    r"(a+)+$",
    r"(x|x)*y",
    r"(.*)*$",
    r"(.*)*x",
    r"(\w+\s?)+$",
    r"(a|aa)+$",
    r"(\d+)*\.",
    r"tea_(a+)+$",
    r"key=(?P<secret>(?:[a-z0-9]+-?)+)!",
    r"([A-Z]{2,}\d*)+#",
    r"(?:[a-z]{8}|[a-z]{8})*!",
    r"[a-z]{20}(?:[a-z]+)+$",
    r"tea_[a-z0-9]{40}(?:[a-z0-9]+)+!",
    r"([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+",
]
POLYNOMIAL = [r"x*y", r"\w+@", r"\s*tea\s*=\s*x", r"tea=.*secret", r"key.*token.*secret"]
LINEAR = [
    r"tea_[a-z0-9]{20,40}",
    r"sk-ant-(?:api|admin)\d\d-[A-Za-z0-9_-]{40,200}+",
    r"(?i)\btea[_-]?key\s{0,5}[:=]\s{0,5}[\"']?(?P<secret>[^\s\"']{8,200})",
    r"-----BEGIN TEA-----[A-Za-z0-9+/=\s]{0,5000}+-----END TEA-----",
    r"\b\w{1,64}@tea",
]


class Ticks:
    """A clock that counts what a pattern is asked, as if each search took the time that `cost` says for its text."""

    def __init__(self, cost: Callable[[int], float]) -> None:
        self._cost = cost
        self._now = 0.0
        self.sizes: list[int] = []

    def clock(self) -> float:
        """The time now."""
        return self._now

    def finditer(self, text: str) -> list[str]:
        """Find nothing, and let time pass."""
        self.sizes.append(len(text))
        self._now += self._cost(len(text))
        return []

    pattern = "tea"


def measure(cost: Callable[[int], float], longest: int = WHEN_LOADED) -> tuple[PatternSpeed, list[int]]:
    ticks = Ticks(cost)
    return measure_pattern(ticks, longest=longest, clock=ticks.clock), ticks.sizes  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_an_exponential_pattern_is_caught_on_a_short_text_before_it_hangs(pattern: str) -> None:
    start = time.thread_time()
    slow = measure_pattern(re.compile(pattern)).slow
    assert slow is not None
    assert len(slow.text) < 400
    assert time.thread_time() - start < 20, "about one second where nothing else runs"


@pytest.mark.parametrize("pattern", POLYNOMIAL)
def test_a_polynomial_pattern_is_caught_when_it_is_loaded(pattern: str) -> None:
    slow = measure_pattern(re.compile(pattern)).slow
    assert slow is not None
    assert len(slow.text) <= WHEN_LOADED + 10


@pytest.mark.parametrize("pattern", LINEAR)
def test_a_linear_pattern_is_fast_on_a_megabyte(pattern: str) -> None:
    speed = measure_pattern(re.compile(pattern), keywords=["tea"], longest=WHEN_CHECKED)
    assert speed.slow is None
    assert speed.seconds < 1


def test_a_sample_shows_what_the_pattern_alone_does_not() -> None:
    pattern = re.compile(r"<(?:\w\w\w,)+(?:\w+,)+>")
    assert measure_pattern(pattern, samples=["<tea,pot,>"]).slow is not None


@pytest.mark.parametrize(
    ("pattern", "sample"),
    [
        (r"^:(µ+)+;$", ":" + "µ" * 60 + "!"),
        (r"^:(µ+)+$", ":" + "µ" * 60),
        (r"^TEA_KEY=tea_(?:[a-z0-9]+)+$", "TEA_KEY=tea_" + "9x" * 30),
        (r"(?:[a-z0-9!\n]+)+$", "TEA_KEY=tea_" + "9x" * 30),
    ],
)
def test_a_sample_on_which_a_pattern_would_hang_is_tried_from_its_beginning_on(pattern: str, sample: str) -> None:
    slow = measure_pattern(re.compile(pattern), samples=[sample]).slow
    assert slow is not None
    assert len(slow.text) < 60


def test_texts_are_longer_by_a_fifth_once_time_grows_faster_than_they_do() -> None:
    speed, sizes = measure(lambda size: 1e-8 * 2.0**size)
    assert speed.slow is not None
    assert max(sizes) < 30
    slow_steps = [(a, b) for a, b in pairwise(sizes) if a < b and 1e-8 * 2.0**a > 1e-4]
    assert slow_steps
    assert all(b <= max(a + 1, a * 1.3) for a, b in slow_steps)


@pytest.mark.parametrize("power", [2, 3, 4])
def test_time_that_grows_with_a_power_is_too_slow_without_long_waits(power: int) -> None:
    ticks = Ticks(lambda size: 2e-9 * size**power)
    assert measure_pattern(ticks, clock=ticks.clock).slow is not None  # type: ignore[arg-type]
    assert ticks.clock() < 10


def test_linear_time_is_measured_up_to_the_limit_on_few_texts() -> None:
    speed, sizes = measure(lambda size: 1e-8 * size)
    assert speed.slow is None
    assert speed.seconds == pytest.approx(1e-8 * WHEN_LOADED, rel=0.01)
    assert sum(size > WHEN_LOADED for size in sizes) == 3
    assert sum(sizes) < 20 * WHEN_LOADED, "a rule must not take long to load"


def test_a_pattern_that_is_slow_on_a_megabyte_only_is_caught_when_it_is_checked() -> None:
    def cost(size: int) -> float:
        return 2e-11 * size**2

    assert measure(cost, WHEN_LOADED)[0].slow is None
    slow = measure(cost, WHEN_CHECKED)[0].slow
    assert slow is not None
    assert len(slow.text) > 2 * WHEN_LOADED


def test_a_single_delay_makes_no_pattern_slow() -> None:
    delays = iter([5.0])
    speed, _ = measure(lambda size: next(delays, 0.0) if size > 500 else 0.0)
    assert speed.slow is None


def test_a_text_that_matches_as_a_whole_is_not_searched() -> None:
    pattern = re.compile(r"\w+@tea")
    assert measure_pattern(pattern).slow is not None
    assert measure_pattern(pattern, matches_whole=True).slow is None


def test_a_slow_text_is_shown_by_its_ends() -> None:
    assert str(SlowText("a" * 27 + "!", 0.4)) == "'aaaaa…a!' (28 characters) takes 0.4 s"
    assert str(SlowText("a" * 1999 + "\n!", 1.23456)) == "'aaaaa…\\n!' (2,001 characters) takes 1.2 s"


@given(st.text())
def test_a_shortened_text_is_one_short_line(text: str) -> None:
    assert len(shortened(text).splitlines()) == 1
    assert len(shortened(text)) <= 10 * 10 + 2


@settings(max_examples=20)
@given(st.lists(st.text(max_size=30), max_size=3), st.lists(st.text(max_size=8), max_size=3))
def test_any_samples_and_keywords_can_be_tried(samples: list[str], keywords: list[str]) -> None:
    assert measure_pattern(re.compile("tea_[a-z]{20}"), samples=samples, keywords=keywords, longest=2000).slow is None
