"""Recordings of sessions in the asciicast format: the output that makes a terminal show each change of the screen."""

from __future__ import annotations

import json
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from claude_session_player.export.terminal_screen import ScreenEnd, TerminalScreen
from claude_session_player.models import ScreenState, UserMessage
from claude_session_player.player import Frame, FrameMark, Timing, fit_timing, stream_frames
from claude_session_player.util.text import escape_controls, printable, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.format.events import Event

WRAP_OFF: Final = "\x1b[?7l"
"""Before updates: no row wraps into the next, whatever width the terminal gives to a character."""
WRAP_ON: Final = "\x1b[?7h"
"""After updates: rows wrap again, so that a stopped player leaves the terminal as it was."""

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
    """The timing, the terminal and the format version of a recording, or of a picture."""

    timing: Timing = Timing()
    width: int = WIDTH
    height: int = HEIGHT
    version: int = 2
    """Of asciicast."""
    title: str = ""
    """The session's title, which pictures show."""
    warn: Callable[[str], None] | None = None
    """Takes a warning about what could not be drawn."""


OUTPUT, MARKER = "o", "m"


class CastEvent(NamedTuple):
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
    frames = _timed_frames(events, screen, setup.timing)
    first = next(frames, None)
    start = {} if first is None or first[1].time is None else {"timestamp": int(first[1].time)}
    file.write(escape_controls(_encode(version.header(setup) | start)) + "\n")
    before = 0.0
    for event in _cast_events(chain([first] if first else [], frames), screen):
        _write_event(file, version.time(event.moment, before), event.kind, event.data)
        before = event.moment
    for kind, data in version.ending:
        _write_event(file, version.time(before, before), kind, data)


def _write_event(file: TextIO, time: float, kind: str, data: str) -> None:
    file.write(f"[{_encode(time)}, {_encode(kind)}, ")
    file.write(escape_controls(_encode(data)))  # written by itself: joining would copy it once more
    file.write("]\n")


def cast_events(events: Iterable[Event], screen: TerminalScreen, timing: Timing) -> Iterator[CastEvent]:
    """The events of a recording; when an output is given, the rows of the screen are those that it leads to."""
    return _cast_events(_timed_frames(events, screen, timing), screen)


def _timed_frames(events: Iterable[Event], screen: TerminalScreen, timing: Timing) -> Iterator[tuple[float, Frame]]:
    events, timing = fit_timing(events, timing)
    return timing.with_delays(stream_frames(events, screen.state, screen.note), lambda frame: frame)


def _cast_events(frames: Iterable[tuple[float, Frame]], screen: TerminalScreen) -> Iterator[CastEvent]:
    """One output for each moment, and a marker after each prompt."""
    elapsed = moment = 0.0
    end: ScreenEnd | None = None
    for wait, frame in frames:
        elapsed += wait
        if round(elapsed, _DIGITS) != moment:
            yield from _output(moment, screen, end)
            moment, end = round(elapsed, _DIGITS), None
        end = screen.end().after(end)
        for label in _labels(screen.state, frame):
            yield from _output(moment, screen, end)
            end = None
            yield CastEvent(moment, MARKER, label)
    yield from _output(moment, screen, screen.end().after(end), "\r\n")


def _output(moment: float, screen: TerminalScreen, end: ScreenEnd | None, last: str = "") -> Iterator[CastEvent]:
    """The output that shows the end of the screen, if it changes anything."""
    data = (screen.show(end) if end is not None else "") + last
    if data:
        yield CastEvent(moment, OUTPUT, f"{WRAP_OFF}{data}{WRAP_ON}")


def _labels(state: ScreenState, frame: Frame) -> list[str]:
    """The first words of each prompt in this frame."""
    if not frame.marks & FrameMark.PROMPT:
        return []
    new = takewhile(lambda element: element.line == frame.line, reversed(state.elements))
    prompts = [element.text for element in new if isinstance(element, UserMessage)]
    return [printable(truncate(" ".join(text[:_LABEL_SOURCE].split()), _MAX_LABEL)) for text in reversed(prompts)]
