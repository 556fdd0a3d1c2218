"""The timeline: how much happened when, marks, lanes of sub-agents, cuts, and the current position."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from claude_session_player.player import Frame, FrameMark, column_of, frame_in_column, lane_spans
from claude_session_player.tui.keys import TIMELINE_KEYS, bindings
from claude_session_player.tui.widgets.timeline_columns import (
    MARKS,
    MAX_LANES,
    SHOWN_MARKS,
    CutSum,
    TimelineColumns,
    columns_of,
    strongest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.player import AgentSpan, LaneSpan, Player

_LEVELS: Final = " ▁▂▃▄▅▆▇█"
SYMBOLS: Final = {
    FrameMark.COMPACTION: ("╪", Style(color="yellow", bold=True)),
    FrameMark.PROMPT: ("◆", Style(color="cyan", bold=True)),
    FrameMark.ERROR: ("✗", Style(color="red", bold=True)),
    FrameMark.AGENT: ("◇", Style(color="magenta", bold=True)),
}
_PLAYED, _LEFT = Style(color="blue"), Style(dim=True)
_CUT: Final = Style(color="yellow")
_AGENT_COLOURS: Final = ("magenta", "cyan", "green", "yellow", "blue")
_HERE: Final = ("┃", Style(bold=True))
_PROBED: Final = Style(reverse=True)
_GROWTH: Final = 1.01
"""By which factor a recording may grow until its columns are computed again: less than one column."""
_LOW, _MEDIUM = 14, 20
"""A terminal with fewer rows shows no lanes, or one."""
LEGEND: Final = "Timeline: ◆ prompt  ✗ error  ╪ compaction  ◇ sub-agent; bars: activity"

_Cell = tuple[str, Style]


class TimelinePlace(NamedTuple):
    """What is at a place of the timeline."""

    frame: int
    more: int = 0
    """How many more marked frames share the column."""
    cut: CutSum | None = None
    agents: tuple[LaneSpan, ...] = ()
    """The sub-agent on the lane that is pointed at; several, if they have no row of their own."""


class TimelineBar(Widget, can_focus=True):
    """A histogram, a row for each lane of sub-agents, and a line with marks.

    It posts where a person wants to go, and what a person points at with the mouse or the keys.
    """

    DEFAULT_CSS = "TimelineBar { height: auto; }"
    BINDINGS: ClassVar = bindings(TIMELINE_KEYS)
    FOCUS_ON_CLICK: ClassVar[bool] = False

    class Sought(Message):
        """Go to this part of the recording, from 0 to 1."""

        def __init__(self, fraction: float) -> None:
            super().__init__()
            self.fraction = fraction

    class Chosen(Message):
        """Go to this frame."""

        def __init__(self, frame: int) -> None:
            super().__init__()
            self.frame = frame

    class Turned(Message):
        """The wheel was turned: go some frames forwards or backwards."""

        def __init__(self, frames: int) -> None:
            super().__init__()
            self.frames = frames

    class Probed(Message):
        """Something else is pointed at, or nothing any more: see `place`."""

    def __init__(self, player: Player) -> None:
        super().__init__()
        self._player = player
        self._frames: Sequence[Frame] = ()
        """The frames that the spans belong to."""
        self._spans: Sequence[AgentSpan] = ()
        self._span_changes = 0
        self._columns: TimelineColumns | None = None
        self._key: tuple[object, ...] = ()
        self._drawn_frames: Sequence[Frame] = ()
        """The frames that the columns were computed for."""
        self._count = 0
        """How many of them there were."""
        self._total = 0.0
        """The duration of these frames."""
        self._pointer: tuple[int, int] | None = None
        """The column and row under the mouse."""
        self._probe: tuple[int, int] | None = None
        """The column and row that the keys point at."""
        self._held: int | None = None
        """The column at which the mouse is held, or to which it was dragged last."""
        self._is_dragged = False
        self._height = 2

    def show(self, frames: Sequence[Frame], spans: Sequence[AgentSpan] = (), span_changes: int = 0) -> None:
        """Draw the timeline of these frames and sub-agents, and the current position.

        Once the player has other frames, those are drawn, without sub-agents. `span_changes` is a number that is
        different whenever the spans are.
        """
        self._frames, self._spans, self._span_changes = frames, spans, span_changes
        self.refresh()
        if self.is_attached and self.size.width:
            self._fit(self._drawn(self.size.width))

    def _fit(self, columns: TimelineColumns) -> None:
        """Take more or fewer rows if the number of lanes has changed."""
        if 2 + len(columns.lanes) != self._height:
            self.refresh(layout=True)

    # --- drawing ----------------------------------------------------------------------------------------

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A row for the histogram, one for each lane if there is room, and one for the marks."""
        self._height = 2 + (len(self._drawn(width).lanes) if width > 0 else 0)
        return self._height

    @property
    def _max_lanes(self) -> int:
        height = self.app.size.height if self.is_attached else _MEDIUM
        return 0 if height < _LOW else 1 if height < _MEDIUM else MAX_LANES

    def render_line(self, y: int) -> Strip:
        """One row."""
        width = self.size.width
        if width <= 0:
            return Strip([])
        columns = self._drawn(width)
        here = column_of(*_progress(self._player), width) if self._player.count else -1
        if y == 0:
            cells = _histogram_cells(columns.heights, here)
        elif (lane := self._lane(y)) is not None:
            cells = _lane_cells(columns, lane, here)
        else:
            cells = _mark_cells(columns, here)
        if (pointed := self._pointed) is not None:
            sign, style = cells[pointed[0]]
            cells[pointed[0]] = sign, style + _PROBED
        pieces = groupby(cells, key=lambda cell: cell[1])
        return Strip([Segment("".join(sign for sign, _ in piece), style) for style, piece in pieces], width)

    def _drawn(self, width: int) -> TimelineColumns:
        player, width = self._player, max(width, 1)
        is_shown = self._frames is player.frames
        key = (width, player.pace, self._span_changes if is_shown else None, self._max_lanes)
        if self._columns is None or self._key != key or self._is_outdated:
            self._key, self._count, self._total = key, player.count, player.total
            self._drawn_frames = player.frames
            spans = lane_spans(self._spans if is_shown else (), player.count, player.chapters)
            frames, cuts = player.frames[: player.count], player.cuts if player.total > 0 else ()
            self._columns = columns_of(frames, _moments(player), width, cuts, spans, self._max_lanes)
        return self._columns

    @property
    def _is_outdated(self) -> bool:
        """True if the frames have changed; a few more frames of a long recording do not count."""
        player, drawn = self._player, self._count
        if player.frames is not self._drawn_frames:
            return True
        if player.count == drawn:
            return False
        new = player.frames[drawn : player.count]
        is_much = player.count >= drawn * _GROWTH or player.total >= self._total * _GROWTH
        return is_much or not player.is_growing or any(frame.marks & SHOWN_MARKS for frame in new)

    # --- what is at a place -----------------------------------------------------------------------------

    @property
    def _pointed(self) -> tuple[int, int] | None:
        """The column and row that the mouse or, before that, the keys point at."""
        place = self._probe if self._pointer is None else self._pointer
        return place if place is not None and 0 <= place[0] < self.size.width else None

    @property
    def place(self) -> TimelinePlace | None:
        """What is pointed at."""
        return None if self._pointed is None else self._place_at(*self._pointed)

    def _place_at(self, column: int, row: int) -> TimelinePlace | None:
        if not self._player.count:
            return None
        columns = self._drawn(self.size.width)
        frame = columns.frames[column]
        shown = frame if frame >= 0 else self._frame_at(column)
        place = TimelinePlace(shown, max(columns.marked[column] - 1, 0), columns.cuts.get(column))
        lane = self._lane(row)
        return place if lane is None else place._replace(agents=self._agents_at(column, lane))

    def _lane(self, row: int) -> int | None:
        """The lane that a row shows. While the terminal is resized, there may be fewer lanes than rows."""
        lanes = len(self._drawn(self.size.width).lanes)
        return row - 1 if 0 < row < self.size.height - 1 and row <= lanes else None

    def _agents_at(self, column: int, lane: int) -> tuple[LaneSpan, ...]:
        columns = self._drawn(self.size.width)
        if lane == len(columns.lanes) - 1 and column in columns.hidden:
            return tuple(columns.spans[number] for number in columns.hidden[column])
        number = columns.lanes[lane].spans[column]
        return () if number < 0 else (columns.spans[number],)

    def _frame_at(self, column: int) -> int:
        """The frame that a column stands for: at its edges the first and the last one."""
        player, width = self._player, self.size.width
        if column >= width - 1:
            return player.count - 1
        if player.total <= 0:
            return round(column / max(width - 1, 1) * (player.count - 1))
        return frame_in_column(player.starts, column, width)

    def _target(self, column: int, row: int) -> int | None:
        """The frame of a mark at a column or beside it, or of the call of the sub-agent there."""
        columns = self._drawn(self.size.width)
        if (lane := self._lane(row)) is not None:
            agents = self._agents_at(column, lane)
            return agents[0].start if agents else None
        if row == 0:
            return None
        near = [place for place in (column, column - 1, column + 1) if 0 <= place < len(columns.frames)]
        return next((columns.frames[place] for place in near if columns.frames[place] >= 0), None)

    def _go(self, column: int, row: int) -> None:
        target = self._target(column, row) if self._player.count else None
        if target is None:
            self.post_message(self.Sought(column / max(self.size.width - 1, 1)))
        else:
            self.post_message(self.Chosen(target))

    # --- the mouse --------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """A click goes to what is there; one that ends a drag does nothing more."""
        event.stop()
        if not self._is_dragged and 0 <= event.x < self.size.width:
            self._go(event.x, event.y)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """From here on, the mouse may be dragged."""
        self._held, self._is_dragged = event.x, False
        self.capture_mouse()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The mouse is dragged no more."""
        self._held = None
        self.release_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Tell what the mouse points at; while it is held, go there."""
        column = min(max(event.x, 0), self.size.width - 1)
        row = min(max(event.y, 0), self.size.height - 1)
        if self._held is not None and column != self._held:
            self._held, self._is_dragged = column, True
            self.post_message(self.Sought(column / max(self.size.width - 1, 1)))
        self._point((column, row), self._probe)

    def on_leave(self, event: events.Leave) -> None:
        """The mouse points at nothing."""
        self._point(None, self._probe)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel goes to the next frame."""
        event.stop()
        self.post_message(self.Turned(1))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel goes to the previous frame."""
        event.stop()
        self.post_message(self.Turned(-1))

    def _point(self, pointer: tuple[int, int] | None, probe: tuple[int, int] | None) -> None:
        before = self._pointed
        self._pointer, self._probe = pointer, probe
        if self._pointed != before:
            self.refresh()
            self.post_message(self.Probed())

    # --- the keys ---------------------------------------------------------------------------------------

    def on_focus(self) -> None:
        """The keys point at the current position, on the row with the marks."""
        here = column_of(*_progress(self._player), self.size.width) if self._player.count else 0
        self._point(None, (here, self.size.height - 1))

    def on_blur(self) -> None:
        """The keys point at nothing."""
        self._point(self._pointer, None)

    def action_probe_column(self, step: int) -> None:
        """Point at a column farther left or right."""
        column, row = self._probe or (0, 0)
        self._point(None, (min(max(column + step, 0), self.size.width - 1), row))

    def action_probe_mark(self, direction: int) -> None:
        """Point at the next mark or cut, or at the previous one; in a lane, at the next sub-agent."""
        column, row = self._probe or (0, 0)
        ahead = [stop for stop in self._stops(row) if (stop - column) * direction > 0]
        if ahead:
            self._point(None, (min(ahead, key=lambda stop: abs(stop - column)), row))

    def _stops(self, row: int) -> list[int]:
        """The columns where something begins on a row."""
        columns = self._drawn(self.size.width)
        if (lane := self._lane(row)) is not None:
            spans = columns.lanes[lane].spans
            return [n for n, span in enumerate(spans) if span >= 0 and (n == 0 or spans[n - 1] != span)]
        starts = {n for n in columns.cuts if columns.cuts.get(n - 1) is not columns.cuts[n]}
        return sorted(starts | {n for n, frame in enumerate(columns.frames) if frame >= 0})

    def action_probe_row(self, step: int) -> None:
        """Point at the lane above or below."""
        column, row = self._probe or (0, 0)
        self._point(None, (column, min(max(row + step, 0), self.size.height - 1)))

    def action_probe_edge(self, is_end: bool) -> None:
        """Point at the first or the last column."""
        self._point(None, (self.size.width - 1 if is_end else 0, (self._probe or (0, 0))[1]))

    def action_go(self) -> None:
        """Go to what the keys point at."""
        if self._probe is None or (place := self._place_at(*self._probe)) is None:
            return
        self.post_message(self.Chosen(place.agents[0].start if place.agents else place.frame))


def _moments(player: Player) -> Sequence[float]:
    """When each frame appears; if no frame takes any time, all take the same."""
    return player.starts if player.total > 0 else range(player.count)


def _progress(player: Player) -> tuple[float, float]:
    """The position in the recording, and its duration."""
    if player.total > 0:
        return player.elapsed, player.total
    return float(max(player.position, 0)), float(max(player.count - 1, 0))


def fraction_of(player: Player) -> float:
    """The part of the recording that was played, from 0 to 1."""
    done, total = _progress(player)
    return done / total if total > 0 else 1.0 if player.count else 0.0


def _histogram_cells(heights: list[int], here: int) -> list[_Cell]:
    highest = max(heights, default=0) or 1
    top = len(_LEVELS) - 1
    return [
        (_LEVELS[-(-height * top // highest)], _PLAYED if column <= here else _LEFT)
        for column, height in enumerate(heights)
    ]


def _lane_cells(columns: TimelineColumns, lane: int, here: int) -> list[_Cell]:
    kinds = list(dict.fromkeys(span.agent for span in columns.spans))
    styles = [Style(color=_AGENT_COLOURS[kinds.index(span.agent) % len(_AGENT_COLOURS)]) for span in columns.spans]
    row = columns.lanes[lane]
    is_last = lane == len(columns.lanes) - 1
    cells: list[_Cell] = []
    for column, (sign, number) in enumerate(zip(row.signs, row.spans, strict=True)):
        if is_last and column in columns.hidden:
            cells.append((sign, Style(bold=True)))
        else:
            style = styles[number] if number >= 0 else Style()
            cells.append((sign, style if column <= here else style + _LEFT))
    return cells


def _mark_cells(columns: TimelineColumns, here: int) -> list[_Cell]:
    return [
        _HERE if column == here else _mark_cell(mark, columns.signs.get(column), column < here)
        for column, mark in enumerate(columns.marks)
    ]


def _mark_cell(mark: FrameMark, cut: str | None, is_played: bool) -> _Cell:
    if mark:
        return SYMBOLS[MARKS[strongest(mark)]]
    if cut is not None:
        return cut, _CUT
    return ("━", _PLAYED) if is_played else ("─", _LEFT)
