"""What is new on a screen, as text that is only ever added to: for pipes, logs, and terminals that scroll.

An element is told when it appears, and a result when it arrives. Nothing that was told is taken back: a compaction
empties the screen, but here it is a rule between what was and what comes.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain, groupby, islice, tee
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from claude_session_player.formatter import element_text, gap_between, markdown_pieces
from claude_session_player.models import CompactionRule, ScreenElement, ScreenState, ToolCall, View
from claude_session_player.player.frame_index import Frame, RecordChange, apply_record, build_frame
from claude_session_player.player.timeline import (
    DEFAULT_IDLE,
    Pace,
    cap_delays,
    frame_delays,
    pace_delays,
    scale_delays,
)
from claude_session_player.util.times import to_epoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.format.events import Event

_T = TypeVar("_T")

_TIMING_SAMPLE: Final = 1000
"""How many records are looked at for a time, before a session counts as one without."""


class Timing(NamedTuple):
    """How long frames are waited for."""

    pace: Pace = Pace.CAPPED
    idle: float | None = DEFAULT_IDLE
    """The longest pause, in the session's own time; `None` keeps all of them."""
    speed: float = 1.0

    def delays(self, frames: Iterable[Frame]) -> Iterator[float]:
        """How long each frame is waited for."""
        return scale_delays(self._at_normal_speed(frames), self.speed)

    def with_delays(self, items: Iterable[_T], frame_of: Callable[[_T], Frame]) -> Iterator[tuple[float, _T]]:
        """Things that appear with a frame, each with the time that it is waited for; one is asked for at a time."""
        ahead, items = tee(items)
        return zip(self.delays(map(frame_of, ahead)), items, strict=True)

    def _at_normal_speed(self, frames: Iterable[Frame]) -> Iterator[float]:
        if self.pace is Pace.PACED:
            return pace_delays(frame.size for frame in frames)
        own = frame_delays(frame.time for frame in frames)
        return own if self.pace is Pace.REAL else cap_delays(own, self.idle)


def fit_timing(events: Iterable[Event], timing: Timing) -> tuple[Iterator[Event], Timing]:
    """The same events, and a timing that suits them: where none has a time, and pauses are wanted, frames are paced."""
    head = list(islice(events := iter(events), _TIMING_SAMPLE))
    if timing.idle != 0 and all(to_epoch(event.timestamp) is None for event in head):
        timing = timing._replace(pace=Pace.PACED)
    return chain(head, events), timing


def stream_frames(
    events: Iterable[Event], state: ScreenState, each: Callable[[], object] = lambda: None
) -> Iterator[Frame]:
    """Let a session change a screen, line by line; gives each frame, when it has appeared there.

    `each` is called after every record, for those who look at `state.changes`.

    >>> from claude_session_player.parser import parse_object
    >>> state = ScreenState()
    >>> for frame in stream_frames([parse_object({"type": "user", "message": {"content": "Hi"}})], state):
    ...     print(frame.size, state.to_markdown())
    2 ❯ Hi
    """
    for line, records in groupby(events, key=lambda event: event.line):
        changes: list[RecordChange] = []
        time = None
        for event in records:
            time = to_epoch(event.timestamp) if time is None else time
            changes.append(apply_record(state, event))
            each()
        if (frame := build_frame(line, time, changes)) is not None:
            yield frame


class TextPiece(NamedTuple):
    """A text of one or more lines, without a final line break."""

    element: ScreenElement
    """What it tells."""
    chunks: tuple[str, ...]
    """The text in parts: all of it may be too long to be copied."""
    is_apart: bool
    """True where a blank line stands before it."""
    is_result: bool = False
    """True where it is the result alone: the head of its call stands right above it."""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.chunks)

    @property
    def lines(self) -> str:
        """The text with its line breaks, to be written behind the piece before it."""
        return "".join(self.parts)

    @property
    def parts(self) -> tuple[str, ...]:
        """The same, in parts."""
        return ("\n", *self.chunks, "\n") if self.is_apart else (*self.chunks, "\n")


class AppendedText:
    """Tells of each screen what was not told of the one before.

    >>> from claude_session_player import render
    >>> appended, state = AppendedText(), ScreenState()
    >>> _ = render(state, {"type": "user", "message": {"content": "Hello"}})
    >>> [piece.lines for piece in appended.after(state)], appended.after(state)
    (['❯ Hello\\n'], [])
    """

    def __init__(self, view: View | None = None) -> None:
        self._view = view or View()
        self._line = 0
        """The last line of which something was told."""
        self._last: ScreenElement | None = None
        """What was told last."""
        self._is_uninterrupted = True
        """False where somebody else told something since then."""
        self._open: dict[int, ToolCall] = {}
        """The calls that were told and have no result yet, by their serial numbers."""
        self._first_serial = 0
        self._answered = 0
        """How many of the answers since the screen was last emptied were looked at."""

    def interrupt(self) -> None:
        """Something else was told meanwhile: a result that comes now is told with the head of its call."""
        self._is_uninterrupted = False

    def after(self, state: ScreenState) -> list[TextPiece]:
        """What is new on a screen: asked for after a whole line, and of a screen that grows by whole lines.

        It takes no longer than what is new, however much is on the screen.
        """
        return [*self._compaction(state), *self._results(state), *self._elements(state)]

    def _compaction(self, state: ScreenState) -> Iterator[TextPiece]:
        """A rule where everything that was told is gone."""
        elements = state.elements
        is_all_new = not elements or elements[0].line > self._line
        if self._line and is_all_new and self._last is not _RULE and not state.removed:
            self._open.clear()
            yield self._piece(_RULE)

    def _results(self, state: ScreenState) -> Iterator[TextPiece]:
        for serial in self._newly_answered(state):
            call = state.elements[state.position(serial)]
            told = self._open.pop(serial)
            if self._is_uninterrupted and self._last is told:
                self._last = call
                yield TextPiece(call, (element_text(call, self._view).partition("\n")[2],), False, is_result=True)
            else:  # it begins anew, and is no part of what was told last
                yield self._piece(call)._replace(is_apart=True)

    def _newly_answered(self, state: ScreenState) -> list[int]:
        """The calls that were told without a result, and have one now, in the order in which they were told."""
        if state.first_serial != self._first_serial:
            self._first_serial, self._answered = state.first_serial, 0
            self._open.clear()
        new = state.answered[self._answered :]
        self._answered = len(state.answered)
        return sorted(self._open.keys() & new)

    def _elements(self, state: ScreenState) -> Iterator[TextPiece]:
        elements = state.elements
        start = _after_line(elements, self._line)
        for position, element in enumerate(elements[start:], start):
            yield self._piece(element)
            if isinstance(element, ToolCall) and element.result is None:
                self._open[state.serial(position)] = element
        if elements:
            self._line = max(self._line, elements[-1].line)

    def _piece(self, element: ScreenElement) -> TextPiece:
        is_apart = self._last is not None and not (self._is_uninterrupted and gap_between(self._last, element) == "\n")
        self._last, self._is_uninterrupted = element, True
        return TextPiece(element, tuple(markdown_pieces([element], self._view)), is_apart)


_RULE: Final = CompactionRule()


def _after_line(elements: list[ScreenElement], line: int) -> int:
    """The place of the first element that a later line brought; elements stand in the order of their lines."""
    return bisect_right(elements, line, key=lambda element: element.line)


class TimedText(NamedTuple):
    """What a frame adds to the text."""

    frame: Frame
    pieces: list[TextPiece]


def text_frames(
    events: Iterable[Event], state: ScreenState, timing: Timing, start: int = 0
) -> Iterator[tuple[float, list[TextPiece]]]:
    """What is to be told, and how long it is waited for; `state` is the empty screen that the events fill.

    From the line `start` on: the first that is told is the whole screen as it was then. What only changes for a while,
    like the progress of a tool, is neither told nor waited for.
    """
    events, timing = fit_timing(events, timing)
    return (
        (wait, told.pieces)
        for wait, told in timing.with_delays(_timed_text(events, state, start), lambda told: told.frame)
    )


def _timed_text(events: Iterable[Event], state: ScreenState, start: int) -> Iterator[TimedText]:
    appended = AppendedText(state.view)
    for frame in stream_frames(events, state):
        if frame.line >= start and (pieces := appended.after(state)):
            yield TimedText(frame, pieces)
