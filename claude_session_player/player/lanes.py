"""Lanes: sub-agents that work at the same time, side by side."""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claude_session_player.player.frame_links import AgentSpan


class LaneSpan(NamedTuple):
    """A sub-agent on its lane, from the frame of its call to that of its end."""

    start: int
    end: int
    lane: int
    agent: str
    task: str
    has_ended: bool
    """False if nothing says when it ended."""

    @property
    def name(self) -> str:
        """The sub-agent and its task."""
        return f"{self.agent}: {self.task}" if self.task else self.agent


def lanes(spans: Sequence[tuple[int, int]]) -> list[int]:
    """The lane of each span, from its first to its last frame; no two on a lane overlap, and no lane is superfluous.

    >>> lanes([(0, 5), (1, 3), (2, 9), (4, 6)]), lanes([(0, 1), (2, 3)]), lanes([])
    ([0, 1, 2, 1], [0, 0], [])
    """
    found = [0] * len(spans)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for number in sorted(range(len(spans)), key=lambda number: (spans[number][0], number)):
        start, end = spans[number]
        while busy and busy[0][0] < start:
            heappush(free, heappop(busy)[1])
        lane = found[number] = heappop(free) if free else len(busy)
        heappush(busy, (end, lane))
    return found


def lane_spans(spans: Iterable[AgentSpan], count: int, prompts: Sequence[int]) -> list[LaneSpan]:
    """The sub-agents among the first `count` frames on their lanes, in the order of their calls.

    A call without a result was interrupted, at the latest by the next prompt. Of a sub-agent in the background,
    nothing is known after its last sign of life, and without one it works to the end.
    """
    shown = sorted((span for span in spans if span.start < count), key=lambda span: span.start)
    ends = [min(_end(span, count, prompts), count - 1) for span in shown]
    numbers = lanes([(span.start, end) for span, end in zip(shown, ends, strict=True)])
    return [
        LaneSpan(span.start, end, lane, span.agent, span.task, span.end is not None)
        for span, end, lane in zip(shown, ends, numbers, strict=True)
    ]


def _end(span: AgentSpan, count: int, prompts: Sequence[int]) -> int:
    if span.end is not None:
        return max(span.end, span.start)
    if span.is_background:
        return count if span.last_sign is None else span.last_sign
    following = bisect_right(prompts, max(span.start, span.last_sign or 0))
    return prompts[following] - 1 if following < len(prompts) else count
