"""What each column of the timeline holds, whatever the position: activity, marks, cuts, and lanes of sub-agents."""

from __future__ import annotations

from itertools import accumulate
from math import isqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.player import FrameMark, column_of, histogram
from claude_session_player.util.humanize import minutes_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.player import CutPause, Frame, LaneSpan

MARKS: Final = (FrameMark.COMPACTION, FrameMark.PROMPT, FrameMark.ERROR, FrameMark.AGENT)
"""The marks of the timeline; if several fall into one column, the first of these is shown."""
SHOWN_MARKS: Final = FrameMark.COMPACTION | FrameMark.PROMPT | FrameMark.ERROR | FrameMark.AGENT
_VALUES: Final = tuple(map(int, MARKS))
_SHOWN_VALUE: Final = int(SHOWN_MARKS)
MAX_LANES: Final = 3
"""The rows of sub-agents; those that find no place are counted."""
_CUT_SIGN: Final = "⋯"
_LABEL_COLUMNS: Final = 16
"""Columns of the timeline for each cut that is labelled with its length."""
_LEAST_NAMED: Final = 14
"""Columns that a sub-agent needs to be named in place."""


class CutSum(NamedTuple):
    """The pauses that are left out in a column."""

    seconds: float
    gaps: int


class LaneRow(NamedTuple):
    """One row of sub-agents: a sign for each column, and the number of the span that it belongs to, or -1."""

    signs: list[str]
    spans: list[int]


class TimelineColumns(NamedTuple):
    """What is drawn in each column, independent of the position."""

    heights: list[int]
    marks: list[FrameMark]
    frames: list[int]
    """The first frame with the mark that is shown; -1 where there is none."""
    marked: list[int]
    """How many frames of a column have a mark."""
    cuts: dict[int, CutSum]
    """The cuts at the columns that a pointer finds them in."""
    signs: dict[int, str]
    """What is drawn for cuts, where no mark is."""
    lanes: list[LaneRow]
    spans: Sequence[LaneSpan]
    hidden: dict[int, list[int]]
    """The spans without a row, at the columns of the last row where their number is shown."""


def columns_of(
    frames: Sequence[Frame],
    moments: Sequence[float],
    width: int,
    cuts: Sequence[CutPause] = (),
    spans: Sequence[LaneSpan] = (),
    max_lanes: int = MAX_LANES,
) -> TimelineColumns:
    """What each column of a timeline holds; `moments` are the times at which frames are shown."""
    total = moments[-1] if moments else 0.0
    both = int.__and__  # numbers are compared much faster than flags
    marks = [0] * width
    first = [-1] * width
    marked = [0] * width
    for number, frame in enumerate(frames):
        if mark := both(frame.marks, _SHOWN_VALUE):
            column = column_of(moments[number], total, width)
            if first[column] < 0 or strongest(mark) < strongest(marks[column]):
                first[column] = number
            marks[column] |= mark
            marked[column] += 1
    heights = histogram(moments, [_weight(frame) for frame in frames], width)
    shown = [FrameMark(mark) for mark in marks]
    found, signs = _place_cuts(cuts, moments, shown)
    rows, hidden = _lane_rows(spans, moments, width, max_lanes)
    return TimelineColumns(heights, shown, first, marked, found, signs, rows, spans, hidden)


def strongest(marks: int) -> int:
    """The place of the mark that is shown among all marks, the smaller the stronger."""
    return next((place for place, value in enumerate(_VALUES) if value & marks), len(MARKS))


def _weight(frame: Frame) -> int:
    """How much a frame counts as activity: a fixed part, and a little for its length."""
    return 10 + isqrt(frame.size)


# --- cuts -----------------------------------------------------------------------------------------------


def _place_cuts(
    cuts: Sequence[CutPause], moments: Sequence[float], marks: Sequence[FrameMark]
) -> tuple[dict[int, CutSum], dict[int, str]]:
    """The cuts by column, and their signs: the longest are labelled with their length where there is room."""
    width = len(marks)
    sums: dict[int, CutSum] = {}
    for cut in cuts:
        column = _cut_column(cut, moments, width)
        seconds, gaps = sums.get(column, (0.0, 0))
        sums[column] = CutSum(seconds + cut.seconds, gaps + 1)
    found, signs = dict(sums), dict[int, str]()
    longest = sorted(sums, key=lambda column: -sums[column].seconds)
    for number, column in enumerate(longest):
        texts = [_CUT_SIGN]
        if number < max(width // _LABEL_COLUMNS, 1):
            texts.insert(0, f"┄{minutes_duration(sums[column].seconds).replace(' ', '')}┄")
        for text in texts:
            start = _free_place(len(text), column, marks, signs)
            if start is not None:
                columns = range(start, start + len(text))
                signs |= dict(zip(columns, text, strict=True))
                found |= {place: sums[column] for place in columns if place not in sums}
                break
    return found, signs


def _cut_column(cut: CutPause, moments: Sequence[float], width: int) -> int:
    """The column in the middle of what is left of a pause."""
    before = moments[max(cut.frame - 1, 0)]
    return column_of((before + moments[cut.frame]) / 2, moments[-1], width)


def _free_place(size: int, column: int, marks: Sequence[FrameMark], signs: dict[int, str]) -> int | None:
    """Where a text of this size begins that covers a column, or is right beside it, and nothing else."""
    middle = column - size // 2
    for distance in range(size // 2 + 2):
        for start in (middle - distance, middle + distance):
            columns = range(start, start + size)
            if start >= 0 and columns.stop <= len(marks) and not any(marks[n] or n in signs for n in columns):
                return start
    return None


# --- lanes ----------------------------------------------------------------------------------------------


def _lane_rows(
    spans: Sequence[LaneSpan], moments: Sequence[float], width: int, max_lanes: int
) -> tuple[list[LaneRow], dict[int, list[int]]]:
    count = min(max((span.lane for span in spans), default=-1) + 1, max_lanes)
    rows = [LaneRow([" "] * width, [-1] * width) for _ in range(count)]
    excess: list[tuple[range, int]] = []
    total = moments[-1] if moments else 0.0
    for number, span in enumerate(spans):
        first, last = (column_of(moments[frame], total, width) for frame in (span.start, span.end))
        columns = range(first, last + 1)
        if span.lane >= max_lanes:
            excess.append((columns, number))
            continue
        row = rows[span.lane]
        row.signs[first : last + 1] = _bar(span, len(columns))
        row.spans[first : last + 1] = [number] * len(columns)
    return rows, _count_excess(excess, rows) if rows else {}


def _bar(span: LaneSpan, size: int) -> str:
    """A line that is as long as a sub-agent worked, with its task if there is room."""
    end = "╸" if span.has_ended else "╌"
    name = span.task or span.agent
    if size < _LEAST_NAMED or not name.isascii() or not name.isprintable():
        return "━" * (size - 1) + end
    room = size - 4
    shown = name if len(name) <= room else name[: room - 1] + "…"
    return f"━ {shown} ".ljust(size - 1, "━") + end


def _count_excess(excess: Sequence[tuple[range, int]], rows: Sequence[LaneRow]) -> dict[int, list[int]]:
    """Write on the last row how many more there are, at the beginning of each group; gives them by column."""
    ends = accumulate((columns.stop for columns, _ in excess), max, initial=0)
    groups: list[tuple[int, list[int]]] = []
    for (columns, number), end in zip(excess, ends, strict=False):
        if groups and columns.start < end:
            groups[-1][1].append(number)
        else:
            groups.append((columns.start, [number]))
    hidden: dict[int, list[int]] = {}
    for start, numbers in groups:
        row, text = rows[-1], f"+{len(numbers)}"
        place = max(min(start, len(row.signs) - len(text)), 0)
        for column, sign in enumerate(text[: len(row.signs)], place):
            row.signs[column] = sign
            hidden[column] = numbers
    return hidden
