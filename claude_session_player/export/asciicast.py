"""Recordings of sessions in the asciicast format: the output that makes a terminal show each change of the screen.

The terminal shows the last rows of the screen. New rows are appended, so that it scrolls as usual; for a change above,
only the visible rows are rewritten. The cursor moves relative to the last row, so that a larger terminal shows the
same. Only as many rows are kept as fit on the terminal.
"""

from __future__ import annotations

import json
from collections import deque
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from claude_session_player.export.terminal import folded_rows
from claude_session_player.formatter import gap_between
from claude_session_player.models import ScreenState, UserMessage
from claude_session_player.player import Frame, FrameMark, Timing, fit_timing, stream_frames
from claude_session_player.util.text import escape_controls, printable, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.format.events import Event

WRAP_OFF: Final = "\x1b[?7l"
"""Before updates: no row wraps into the next, whatever width the terminal gives to a character."""
WRAP_ON: Final = "\x1b[?7h"
"""After updates: rows wrap again, so that a stopped player leaves the terminal as it was."""
_CLEAR: Final = "\x1b[2J\x1b[H"
_ERASE_BELOW: Final = "\x1b[J"
_ERASE_ROW: Final = "\x1b[2K"
_LINE_BREAK: Final = "\r\n"


class _Block(NamedTuple):
    """The rows of one element, with the blank rows before it."""

    rows: list[str]
    """The last rows, as many as fit on the terminal."""
    height: int
    """The number of all rows."""


class TerminalScreen:
    """The rows that a terminal shows of a screen; `update` has to be called after every `render`."""

    def __init__(self, state: ScreenState, width: int, height: int) -> None:
        self.rows: list[str] = []
        """The visible rows."""
        self.laid_out = 0
        """The number of rows laid out so far, for tests."""
        self.state = state
        self._width = width
        self._height = height
        self._blocks: deque[_Block] = deque()
        """The visible elements."""
        self._total = 0
        """The number of rows of these elements."""

    def update(self) -> str:
        """The output that makes the terminal show what the last `render` changed."""
        state = self.state
        if state.cleared:
            self.rows, self._total = [], 0
            self._blocks.clear()
            return _CLEAR + self._append()
        if state.removed:
            return self._rebuild() + self._append()
        return self._change() + self._append() if state.touched else self._append()

    def _append(self) -> str:
        """Show new elements below the others."""
        if self.state.settled == len(self.state.elements):
            return ""
        new: list[str] = []
        for position in range(self.state.settled, len(self.state.elements)):
            rows = self._lay_out(position)
            new += rows
            self._blocks.append(self._block(rows))
            self._total += len(rows)
        written = _LINE_BREAK.join(chain([""] if self.rows else [], new))
        self.rows = [*self.rows, *new][-self._height :]
        self._drop_hidden()
        return written

    def _change(self) -> str:
        """Show changed elements that are visible, and move the rows below them."""
        first = self.state.settled - len(self._blocks)
        above = self._total - len(self.rows)
        for position in self.state.touched:
            if first <= position < self.state.settled:
                self._total -= self._blocks[position - first].height
                rows = self._lay_out(position)
                self._total += len(rows)
                self._blocks[position - first] = _Block(rows, len(rows))
        known = list(chain.from_iterable(block.rows for block in self._blocks))
        if self._total - above < len(self.rows):
            return self._rebuild()
        return self._show(known[len(known) - (self._total - above) :])

    def _rebuild(self) -> str:
        """Show the end of the screen, laid out from scratch."""
        self._blocks.clear()
        self._total = 0
        position = self.state.settled
        while position and self._total < self._height:
            position -= 1
            rows = self._lay_out(position)
            self._blocks.appendleft(self._block(rows))
            self._total += len(rows)
        known = list(chain.from_iterable(block.rows for block in self._blocks))
        return self._show(known[-self._height :])

    def _show(self, rows: list[str]) -> str:
        """Replace the visible rows; rows that do not fit scroll away."""
        written = _rewrite_rows(self.rows, rows) if len(rows) == len(self.rows) else _rewrite_end(self.rows, rows)
        self.rows = rows[-self._height :]
        self._drop_hidden()
        return written

    def _drop_hidden(self) -> None:
        """Drop what is no longer visible."""
        while self._blocks and self._total - self._blocks[0].height >= self._height:
            self._total -= self._blocks.popleft().height
        if self._blocks and len(self._blocks[0].rows) > self._height:
            self._blocks[0] = self._block(self._blocks[0].rows)

    def _block(self, rows: list[str]) -> _Block:
        return _Block(rows[-self._height :], len(rows))

    def _lay_out(self, position: int) -> list[str]:
        elements = self.state.elements
        element = elements[position]
        blank = gap_between(elements[position - 1], element).count("\n") - 1 if position else 0
        rows = [""] * blank + folded_rows(element, self.state.view, self._width)
        self.laid_out += len(rows)
        return rows


def _rewrite_rows(before: Sequence[str], after: Sequence[str]) -> str:
    """Rewrite the rows that differ; the cursor is on the last row before and after."""
    output = []
    cursor = last = len(before) - 1
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            output.append(f"{_move(number - cursor)}{_ERASE_ROW}{new}")
            cursor = number
    return "".join(output) + (_move(last - cursor) if cursor != last else "")


def _rewrite_end(before: Sequence[str], after: Sequence[str]) -> str:
    """Rewrite all rows from the first one that differs."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    if same == len(before):
        return _LINE_BREAK * bool(before) + _LINE_BREAK.join(after[same:])
    start = min(same, max(len(after) - 1, 0))
    return _move(start - len(before) + 1) + _ERASE_BELOW + _LINE_BREAK.join(after[start:])


def _move(rows: int) -> str:
    """Move to the start of a row, given relative to the current one."""
    return f"\x1b[{-rows}A\r" if rows < 0 else f"\x1b[{rows}B\r" if rows else "\r"


WIDTH: Final = 80
HEIGHT: Final = 24
_TERM: Final = "xterm-256color"
_MAX_LABEL: Final = 60
_LABEL_SOURCE: Final = 1000
"""How many characters of a prompt its label is made from."""
_DIGITS: Final = 6
"""Times are rounded to microseconds."""

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode


class RecordingSetup(NamedTuple):
    """The timing, terminal size and format version of a recording."""

    timing: Timing = Timing()
    width: int = WIDTH
    height: int = HEIGHT
    version: int = 2


class _CastEvent(NamedTuple):
    """An event of a recording: output, a marker, or its end."""

    moment: float
    kind: str
    data: str


class _Version(NamedTuple):
    header: Callable[[RecordingSetup], dict[str, Any]]
    time: Callable[[float, float], float]
    """From the moment of an event and that of the previous one to its time."""
    ending: tuple[tuple[str, str], ...] = ()
    """The kind and data of the events that end a recording."""


VERSIONS: Final = {
    2: _Version(
        lambda setup: {"version": 2, "width": setup.width, "height": setup.height, "env": {"TERM": _TERM}},
        lambda moment, before: moment,
    ),
    3: _Version(
        lambda setup: {"version": 3, "term": {"cols": setup.width, "rows": setup.height, "type": _TERM}},
        lambda moment, before: round(moment - before, _DIGITS),
        ending=(("x", "0"),),
    ),
}


def write_asciicast(events: Iterable[Event], state: ScreenState, file: TextIO, setup: RecordingSetup) -> None:
    """Write a recording while events are read; `state` is the empty screen that they fill."""
    version = VERSIONS[setup.version]
    screen = TerminalScreen(state, setup.width, setup.height)
    updates: list[str] = []
    events, timing = fit_timing(events, setup.timing)
    frames = timing.with_delays(
        stream_frames(events, state, lambda: updates.append(screen.update())), lambda frame: frame
    )
    first = next(frames, None)
    start = {} if first is None or first[1].time is None else {"timestamp": int(first[1].time)}
    file.write(escape_controls(_encode(version.header(setup) | start)) + "\n")
    before = 0.0
    for event in _cast_events(chain([first] if first else [], frames), state, updates, version):
        file.write(f"[{_encode(version.time(event.moment, before))}, {_encode(event.kind)}, ")
        file.write(escape_controls(_encode(event.data)))  # written by itself: joining would copy it once more
        file.write("]\n")
        before = event.moment


def _cast_events(
    frames: Iterable[tuple[float, Frame]], state: ScreenState, updates: list[str], version: _Version
) -> Iterator[_CastEvent]:
    """The events of a recording: one output for each moment, and a marker after each prompt."""
    elapsed = moment = 0.0
    output: list[str] = []
    for wait, frame in frames:
        elapsed += wait
        if round(elapsed, _DIGITS) != moment:
            yield from _take_output(moment, output)
            moment = round(elapsed, _DIGITS)
        output += updates
        updates.clear()
        for label in _labels(state, frame):
            yield from _take_output(moment, output)
            yield _CastEvent(moment, "m", label)
    output += [*updates, "\r\n"]
    yield from _take_output(moment, output)
    yield from (_CastEvent(moment, kind, data) for kind, data in version.ending)


def _take_output(moment: float, output: list[str]) -> Iterator[_CastEvent]:
    """The output since the last event, if there is any."""
    data = "".join((WRAP_OFF, *output, WRAP_ON)) if any(output) else ""
    output.clear()  # it may be large, and must not be held twice
    if data:
        yield _CastEvent(moment, "o", data)


def _labels(state: ScreenState, frame: Frame) -> list[str]:
    """The first words of each prompt in this frame."""
    if not frame.marks & FrameMark.PROMPT:
        return []
    new = takewhile(lambda element: element.line == frame.line, reversed(state.elements))
    prompts = [element.text for element in new if isinstance(element, UserMessage)]
    return [printable(truncate(" ".join(text[:_LABEL_SOURCE].split()), _MAX_LABEL)) for text in reversed(prompts)]
