"""A session as a stream: its frames with their delays, and the text that each adds, for pipes, logs and plain output.

An element is written when it appears, and a result when it arrives. Nothing that was written is taken back: where a
compaction empties the screen, the text gets a rule.
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
"""How many records are searched for a timestamp before a session counts as having none."""


class Timing(NamedTuple):
    """How the delays of frames are computed."""

    pace: Pace = Pace.CAPPED
    idle: float | None = DEFAULT_IDLE
    """The longest pause in seconds of the session's own time; `None` keeps all pauses."""
    speed: float = 1.0

    def delays(self, frames: Iterable[Frame]) -> Iterator[float]:
        """The delay before each frame."""
        return scale_delays(self._at_normal_speed(frames), self.speed)

    def with_delays(self, items: Iterable[_T], frame_of: Callable[[_T], Frame]) -> Iterator[tuple[float, _T]]:
        """Things that appear with a frame, each with the delay before it; they are consumed one at a time."""
        ahead, items = tee(items)
        return zip(self.delays(map(frame_of, ahead)), items, strict=True)

    def _at_normal_speed(self, frames: Iterable[Frame]) -> Iterator[float]:
        if self.pace is Pace.PACED:
            return pace_delays(frame.size for frame in frames)
        own = frame_delays(frame.time for frame in frames)
        return own if self.pace is Pace.REAL else cap_delays(own, self.idle)


def fit_timing(events: Iterable[Event], timing: Timing) -> tuple[Iterator[Event], Timing]:
    """The same events, and a timing that suits them: without timestamps, frames are paced unless pauses are off."""
    head = list(islice(events := iter(events), _TIMING_SAMPLE))
    if timing.idle != 0 and all(to_epoch(event.timestamp) is None for event in head):
        timing = timing._replace(pace=Pace.PACED)
    return chain(head, events), timing


def stream_frames(
    events: Iterable[Event], state: ScreenState, each: Callable[[], object] = lambda: None
) -> Iterator[Frame]:
    """Render events on a screen, line by line; gives each frame when the screen shows it.

    `each` is called after every record, for callers that need `state.changes`.

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
    """The element that it shows."""
    chunks: tuple[str, ...]
    """The text in parts, because joining them may take much memory."""
    is_apart: bool
    """True if a blank line precedes it."""
    is_result: bool = False
    """True if it is only a result, whose call is right above it."""

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.chunks)

    @property
    def lines(self) -> str:
        """The text with its line breaks, to be written after the previous piece."""
        return "".join(self.parts)

    @property
    def parts(self) -> tuple[str, ...]:
        """The text with its line breaks, in parts."""
        return ("\n", *self.chunks, "\n") if self.is_apart else (*self.chunks, "\n")


class AppendedText:
    """Gives for each screen the text that the previous ones did not have.

    >>> from claude_session_player import render
    >>> appended, state = AppendedText(), ScreenState()
    >>> _ = render(state, {"type": "user", "message": {"content": "Hello"}})
    >>> [piece.lines for piece in appended.after(state)], appended.after(state)
    (['❯ Hello\\n'], [])
    """

    def __init__(self, view: View | None = None) -> None:
        self._view = view or View()
        self._line = 0
        """The last line whose text was given."""
        self._last: ScreenElement | None = None
        """The element that was given last."""
        self._is_uninterrupted = True
        """False if other text was written since then."""
        self._open: dict[int, ToolCall] = {}
        """The calls that were given without a result, by their serial numbers."""
        self._first_serial = 0
        self._answered = 0
        """How many of the results since the screen was last emptied were processed."""

    def interrupt(self) -> None:
        """Note that other text was written, so that the next result is given together with its call."""
        self._is_uninterrupted = False

    def after(self, state: ScreenState) -> list[TextPiece]:
        """The new text of a screen that has grown by complete lines.

        The time depends only on how much is new, not on the size of the screen.
        """
        return [*self._compaction(state), *self._results(state), *self._elements(state)]

    def _compaction(self, state: ScreenState) -> Iterator[TextPiece]:
        """A rule, if everything that was given is gone from the screen."""
        elements = state.elements
        is_all_new = not elements or elements[0].line > self._line
        if self._line and is_all_new and self._last is not _RULE and not state.removed:
            self._open.clear()
            yield self._piece(_RULE)

    def _results(self, state: ScreenState) -> Iterator[TextPiece]:
        for serial in self._newly_answered(state):
            call = state.elements[state.position(serial)]
            previous = self._open.pop(serial)
            if self._is_uninterrupted and self._last is previous:
                self._last = call
                yield TextPiece(call, (element_text(call, self._view).partition("\n")[2],), False, is_result=True)
            else:  # the call is repeated, apart from the text before it
                yield self._piece(call)._replace(is_apart=True)

    def _newly_answered(self, state: ScreenState) -> list[int]:
        """The calls that were given without a result and have one now, in their original order."""
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
    """The position of the first element of a later line; elements are in the order of their lines."""
    return bisect_right(elements, line, key=lambda element: element.line)


class TimedText(NamedTuple):
    """The text that a frame adds."""

    frame: Frame
    pieces: list[TextPiece]


def text_frames(
    events: Iterable[Event], state: ScreenState, timing: Timing, start: int = 0
) -> Iterator[tuple[float, list[TextPiece]]]:
    """The delay and the text of each frame that adds text; `state` is the empty screen that the events fill.

    It begins at the line `start`, with the whole screen as it was then. Frames that only change something temporarily,
    such as the progress of a tool, add neither text nor delay.
    """
    events, timing = fit_timing(events, timing)
    timed = timing.with_delays(_timed_text(events, state, start), lambda text: text.frame)
    return ((delay, text.pieces) for delay, text in timed)


def _timed_text(events: Iterable[Event], state: ScreenState, start: int) -> Iterator[TimedText]:
    appended = AppendedText(state.view)
    for frame in stream_frames(events, state):
        if frame.line >= start and (pieces := appended.after(state)):
            yield TimedText(frame, pieces)
