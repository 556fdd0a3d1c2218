"""The timeline: how much happened when, marks for prompts and errors, and the current position."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from claude_session_player.player import Frame, FrameMark, column_of, histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.player import Player

_LEVELS: Final = " ▁▂▃▄▅▆▇█"
_SYMBOLS: Final = (
    (FrameMark.COMPACTION, "╪", Style(color="yellow", bold=True)),
    (FrameMark.PROMPT, "◆", Style(color="cyan", bold=True)),
    (FrameMark.ERROR, "✗", Style(color="red", bold=True)),
    (FrameMark.AGENT, "◇", Style(color="magenta", bold=True)),
)
"""The marks on the timeline; if several fall into one column, the first of these."""
_MARKED: Final = FrameMark.COMPACTION | FrameMark.PROMPT | FrameMark.ERROR | FrameMark.AGENT
_PLAYED, _LEFT = Style(color="blue"), Style(dim=True)
_HERE: Final = Segment("┃", Style(bold=True))
_GROWTH: Final = 1.01
"""By which factor a recording may grow until its columns are computed again: less than one column."""
LEGEND: Final = "Timeline: ◆ prompt  ✗ error  ╪ compaction  ◇ sub-agent; bars: activity"


class _Columns(NamedTuple):
    """What is drawn in each column, independent of the position."""

    heights: list[int]
    marks: list[FrameMark]


class TimelineBar(Widget):
    """Two rows: a histogram, and a line with marks. A click on it posts `Sought`."""

    DEFAULT_CSS = "TimelineBar { height: 2; }"

    class Sought(Message):
        """Go to this part of the recording, from 0 to 1."""

        def __init__(self, fraction: float) -> None:
            super().__init__()
            self.fraction = fraction

    def __init__(self, player: Player) -> None:
        super().__init__()
        self._player = player
        self._frames: Sequence[Frame] = ()
        self._columns: _Columns | None = None
        self._key: tuple[object, ...] = ()
        self._count = 0
        """How many frames the columns were computed for."""
        self._total = 0.0
        """The duration of these frames."""

    def show(self, frames: Sequence[Frame]) -> None:
        """Draw the timeline of these frames, and the current position."""
        self._frames = frames
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One of the two rows."""
        width = self.size.width
        if width <= 0:
            return Strip([])
        columns = self._drawn(width)
        here = column_of(*_progress(self._player), width) if self._player.count else -1
        segments = _histogram_row(columns.heights, here) if y == 0 else _marks_row(columns.marks, here)
        return Strip(segments, width)

    def on_click(self, event: events.Click) -> None:
        """A click seeks."""
        event.stop()
        self.post_message(self.Sought(event.x / max(self.size.width - 1, 1)))

    def _drawn(self, width: int) -> _Columns:
        player = self._player
        key = (width, player.pace, id(self._frames))
        if self._columns is None or self._key != key or self._is_outdated:
            self._key, self._count, self._total = key, player.count, player.total
            self._columns = columns_of(self._frames[: player.count], _moments(player), width)
        return self._columns

    @property
    def _is_outdated(self) -> bool:
        """True if the frames have changed; a few more frames of a long recording do not count."""
        player, drawn = self._player, self._count
        if player.count == drawn:
            return False
        new = self._frames[drawn : player.count]
        is_much = player.count >= drawn * _GROWTH or player.total >= self._total * _GROWTH
        return is_much or not player.is_growing or any(frame.marks & _MARKED for frame in new)


def columns_of(frames: Sequence[Frame], moments: Sequence[float], width: int) -> _Columns:
    """The activity and the marks in each column of a timeline."""
    total = moments[-1] if moments else 0.0
    marks = [FrameMark.NONE] * width
    for frame, moment in zip(frames, moments, strict=True):
        if frame.marks:
            marks[column_of(moment, total, width)] |= frame.marks
    return _Columns(histogram(moments, [_weight(frame) for frame in frames], width), marks)


def _weight(frame: Frame) -> int:
    """How much a frame counts as activity: a fixed part, and a little for its length."""
    return 10 + isqrt(frame.size)


def _moments(player: Player) -> Sequence[float]:
    """When each frame appears; if no frame takes any time, all take the same."""
    return player.starts if player.total > 0 else [float(number) for number in range(player.count)]


def _progress(player: Player) -> tuple[float, float]:
    """The position in the recording, and its duration."""
    if player.total > 0:
        return player.elapsed, player.total
    return float(max(player.position, 0)), float(max(player.count - 1, 0))


def fraction_of(player: Player) -> float:
    """The part of the recording that was played, from 0 to 1."""
    done, total = _progress(player)
    return done / total if total > 0 else 1.0 if player.count else 0.0


def _histogram_row(heights: list[int], here: int) -> list[Segment]:
    highest = max(heights, default=0) or 1
    top = len(_LEVELS) - 1
    bars = [_LEVELS[-(-height * top // highest)] for height in heights]
    return [Segment("".join(bars[: here + 1]), _PLAYED), Segment("".join(bars[here + 1 :]), _LEFT)]


def _marks_row(marks: list[FrameMark], here: int) -> list[Segment]:
    return [_HERE if column == here else _symbol(mark, column < here) for column, mark in enumerate(marks)]


def _symbol(mark: FrameMark, is_played: bool) -> Segment:
    for wanted, symbol, style in _SYMBOLS:
        if mark & wanted:
            return Segment(symbol, style)
    return Segment("━", _PLAYED) if is_played else Segment("─", _LEFT)
