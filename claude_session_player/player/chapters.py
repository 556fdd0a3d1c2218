"""Chapters: a session by its prompts, with what happened until the next one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from decimal import Decimal

    from claude_session_player.player.costs import CostCurve
    from claude_session_player.player.frame_index import Frame, FrameIndex


class Chapter(NamedTuple):
    """A prompt, and what happened until the next one."""

    prompt: str
    """Its beginning, on one line; empty for what comes before the first prompt."""
    line: int
    frame: int
    """The first frame; the chapter ends before that of the next one."""
    end: int
    """The frame after the last one."""
    time: float | None
    """The time of its first frame, in seconds since 1970."""
    seconds: float
    """Until the next prompt, or until the end."""
    errors: int
    files: tuple[str, ...]
    """The files that were changed, each once, in order."""
    cost: Decimal | None = None
    """In US dollars; `None` if it is unknown."""
    unpriced: int = 0
    """How many responses have no known price."""


def list_chapters(index: FrameIndex, costs: CostCurve | None = None) -> list[Chapter]:
    """The chapters of the frames that are indexed; every frame is in one of them, but for notices at the beginning."""
    return [_chapter(index, costs, *place) for place in _places(index)]


class _Place(NamedTuple):
    prompt: str
    frame: int
    end: int
    first: int
    """The first line."""
    after: int | None
    """The line after the last one; `None` in the last chapter."""


def _places(index: FrameIndex) -> Iterator[_Place]:
    """Where chapters begin and end. A prompt that is no frame of its own begins none."""
    if not index.frames:
        return
    starts: dict[int, str] = {}
    for prompt in index.progress.prompts:
        frame = index.frame_at_line(prompt.line)
        if index.frames[frame].line == prompt.line:
            starts.setdefault(frame, prompt.text)
    opening = () if _opens_with_prompt(index, starts) else (0,)
    frames = sorted({*opening, *starts, len(index.frames)})
    for frame, end in pairwise(frames):
        first = index.frames[frame].line if frame > frames[0] else 0
        after = index.frames[end].line if end < len(index.frames) else None
        yield _Place(starts.get(frame, ""), frame, end, first, after)


def _opens_with_prompt(index: FrameIndex, starts: Iterable[int]) -> bool:
    """True if there is nothing but notices before the first prompt."""
    first, line = min(starts, default=None), index.progress.first_line
    return first is not None and line is not None and index.frames[first].line <= line


def _chapter(
    index: FrameIndex, costs: CostCurve | None, prompt: str, frame: int, end: int, first: int, after: int | None
) -> Chapter:
    log, frames = index.progress, index.frames
    return Chapter(
        prompt,
        frames[frame].line,
        frame,
        end,
        frames[frame].time,
        _seconds(frames, frame, end),
        log.errors_in(first, after),
        tuple(log.files_in(first, after)),
        *((None, 0) if costs is None else _cost(costs, first, after)),
    )


def _seconds(frames: Sequence[Frame], frame: int, end: int) -> float:
    """From a frame to another by their times, or to the last one before it that has a time; never negative."""
    started = frames[frame].time
    times = (frames[number].time for number in range(min(end, len(frames) - 1), frame, -1))
    ended = next((time for time in times if time is not None), None)
    return 0.0 if started is None or ended is None else max(ended - started, 0.0)


def _cost(costs: CostCurve, first: int, after: int | None) -> tuple[Decimal | None, int]:
    """The cost from one line to just before another, or to the end, and the responses in it without a known price."""
    until, unpriced = costs.until(None if after is None else after - 1)
    before, unpriced_before = costs.until(first - 1)
    return None if until is None else until - (before or 0), unpriced - unpriced_before
