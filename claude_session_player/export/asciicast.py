"""What a terminal shows of a screen, and what is to be written to it when the screen changes.

The terminal shows the last rows of the screen. New rows are written below, so that it scrolls as it always does; where
something changes above, only what is visible of it is written anew. Where the cursor goes is said relative to the last
row, so that a larger terminal shows the same. No more rows are kept than fit on the terminal.
"""

from __future__ import annotations

import json
from collections import deque
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from claude_session_player.export.terminal_rows import folded_rows
from claude_session_player.formatter import gap_between
from claude_session_player.models import ScreenState, UserMessage
from claude_session_player.player import Frame, FrameMark, Timing, fit_timing, stream_frames
from claude_session_player.util.text import escape_controls, printable, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.format.events import Event

WRAP_OFF: Final = "\x1b[?7l"
"""Before updates: no row goes over into the next one, whatever the terminal thinks of a sign's width."""
WRAP_ON: Final = "\x1b[?7h"
"""Behind updates: rows do so again, so that a player that is stopped leaves the terminal as it was."""
_CLEAR: Final = "\x1b[2J\x1b[H"
_ERASE_BELOW: Final = "\x1b[J"
_ERASE_ROW: Final = "\x1b[2K"
_BREAK: Final = "\r\n"


class _Block(NamedTuple):
    """The rows of one element, and the blank ones before it."""

    rows: list[str]
    """The last of them, as many as fit on the terminal."""
    height: int
    """How many there are."""


class TerminalScreen:
    """A terminal of some size that shows a screen; `update` is to be called after every `render`."""

    def __init__(self, state: ScreenState, width: int, height: int) -> None:
        self.rows: list[str] = []
        """What the terminal shows."""
        self.laid_out = 0
        """How many rows were laid out so far."""
        self.state = state
        self._width = width
        self._height = height
        self._blocks: deque[_Block] = deque()
        """The last elements, as many as are visible."""
        self._total = 0
        """The rows of these elements."""

    def update(self) -> str:
        """What is to be written so that the terminal shows what the last `render` changed."""
        state = self.state
        if state.cleared:
            self.rows, self._total = [], 0
            self._blocks.clear()
            return _CLEAR + self._append()
        if state.removed:
            return self._rebuild() + self._append()
        return self._change() + self._append() if state.touched else self._append()

    def _append(self) -> str:
        """Show new elements below all others."""
        if self.state.settled == len(self.state.elements):
            return ""
        new: list[str] = []
        for position in range(self.state.settled, len(self.state.elements)):
            rows = self._lay_out(position)
            new += rows
            self._blocks.append(self._block(rows))
            self._total += len(rows)
        written = _BREAK.join(chain([""] if self.rows else [], new))
        self.rows = [*self.rows, *new][-self._height :]
        self._forget()
        return written

    def _change(self) -> str:
        """Show what became of elements that are visible; what stands below them moves."""
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
        """Show the end of the screen, whatever was visible before."""
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
        """Let the terminal show these rows where it shows others now; those that do not fit scroll away."""
        written = _in_place(self.rows, rows) if len(rows) == len(self.rows) else _from_difference(self.rows, rows)
        self.rows = rows[-self._height :]
        self._forget()
        return written

    def _forget(self) -> None:
        """Let go of what is no longer visible."""
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


def _in_place(before: Sequence[str], after: Sequence[str]) -> str:
    """Write the rows that are other ones than before; the cursor stands on the last row, before and afterwards."""
    written = []
    cursor = last = len(before) - 1
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            written.append(f"{_move(number - cursor)}{_ERASE_ROW}{new}")
            cursor = number
    return "".join(written) + (_move(last - cursor) if cursor != last else "")


def _from_difference(before: Sequence[str], after: Sequence[str]) -> str:
    """Write all rows from the first one on that is another one than before."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    if same == len(before):
        return _BREAK * bool(before) + _BREAK.join(after[same:])
    start = min(same, max(len(after) - 1, 0))
    return _move(start - len(before) + 1) + _ERASE_BELOW + _BREAK.join(after[start:])


def _move(rows: int) -> str:
    """Go to the beginning of a row, so many rows below this one."""
    return f"\x1b[{-rows}A\r" if rows < 0 else f"\x1b[{rows}B\r" if rows else "\r"


WIDTH: Final = 80
HEIGHT: Final = 24
_TERM: Final = "xterm-256color"
_LABEL: Final = 60
_GLANCE: Final = 1000
"""Signs of a prompt that are looked at for its first words."""
_DIGITS: Final = 6
"""Times are exact to a microsecond."""

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode


class RecordingSetup(NamedTuple):
    """How a session is recorded."""

    timing: Timing = Timing()
    width: int = WIDTH
    height: int = HEIGHT
    version: int = 2


class _Cue(NamedTuple):
    """What happens at a moment of the recording: something is written, or a marker is set."""

    moment: float
    kind: str
    data: str


class _Version(NamedTuple):
    header: Callable[[RecordingSetup], dict[str, Any]]
    time: Callable[[float, float], float]
    """The time of an event, by its moment and that of the event before."""
    ending: tuple[tuple[str, str], ...] = ()
    """Kind and data of events that end a recording."""


VERSIONS: Final = {
    2: _Version(
        lambda how: {"version": 2, "width": how.width, "height": how.height, "env": {"TERM": _TERM}},
        lambda moment, before: moment,
    ),
    3: _Version(
        lambda how: {"version": 3, "term": {"cols": how.width, "rows": how.height, "type": _TERM}},
        lambda moment, before: round(moment - before, _DIGITS),
        ending=(("x", "0"),),
    ),
}


def write_asciicast(events: Iterable[Event], state: ScreenState, file: TextIO, how: RecordingSetup) -> None:
    """Write a recording while the events are read; `state` is the empty screen that they fill."""
    version = VERSIONS[how.version]
    picture = TerminalScreen(state, how.width, how.height)
    drawn: list[str] = []
    events, timing = fit_timing(events, how.timing)
    frames = timing.timed(stream_frames(events, state, lambda: drawn.append(picture.update())), lambda frame: frame)
    first = next(frames, None)
    begun = {} if first is None or first[1].time is None else {"timestamp": int(first[1].time)}
    file.write(escape_controls(_encode(version.header(how) | begun)) + "\n")
    before = 0.0
    for cue in _cues(chain([first] if first else [], frames), state, drawn, version):
        file.write(f"[{_encode(version.time(cue.moment, before))}, {_encode(cue.kind)}, ")
        file.write(escape_controls(_encode(cue.data)))  # in a list it would be copied once more
        file.write("]\n")
        before = cue.moment


def _cues(
    frames: Iterable[tuple[float, Frame]], state: ScreenState, drawn: list[str], version: _Version
) -> Iterator[_Cue]:
    """What happens when. All that is drawn at one moment is written at once; a marker stands behind its prompt."""
    elapsed = moment = 0.0
    written: list[str] = []
    for wait, frame in frames:
        elapsed += wait
        if round(elapsed, _DIGITS) != moment:
            yield from _output(moment, written)
            moment = round(elapsed, _DIGITS)
        written += drawn
        drawn.clear()
        for label in _labels(state, frame):
            yield from _output(moment, written)
            yield _Cue(moment, "m", label)
    written += [*drawn, "\r\n"]
    yield from _output(moment, written)
    yield from (_Cue(moment, kind, data) for kind, data in version.ending)


def _output(moment: float, written: list[str]) -> Iterator[_Cue]:
    """What was written since the last time, if anything was."""
    data = "".join((WRAP_OFF, *written, WRAP_ON)) if any(written) else ""
    written.clear()  # it may be large: nothing is held twice
    if data:
        yield _Cue(moment, "o", data)


def _labels(state: ScreenState, frame: Frame) -> list[str]:
    """The first words of what people asked for in this frame."""
    if not frame.marks & FrameMark.PROMPT:
        return []
    new = takewhile(lambda element: element.line == frame.line, reversed(state.elements))
    prompts = [element.text for element in new if isinstance(element, UserMessage)]
    return [printable(truncate(" ".join(text[:_GLANCE].split()), _LABEL)) for text in reversed(prompts)]
