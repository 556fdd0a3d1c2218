"""A session as it unfolded, for asciinema and its players: asciicast, version 2 or 3.

A first line says how large the terminal is; each other one is an event: a time, a kind, and what is written to the
terminal. Prompts are markers, which players can jump to. In version 2, times are counted from the beginning; in version
3, from the event before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, takewhile
from typing import Any, Final, NamedTuple, TextIO

from claude_session_player.events import Event
from claude_session_player.export.picture import BEGIN, END, Picture
from claude_session_player.models import ScreenState, UserMessage
from claude_session_player.play.film import Frame, Mark
from claude_session_player.play.forward import Timing, fitted, unfold
from claude_session_player.text import cut, escape_controls, printable

WIDTH: Final = 80
HEIGHT: Final = 24
_TERM: Final = "xterm-256color"
_LABEL: Final = 60
_GLANCE: Final = 1000
"""Signs of a prompt that are looked at for its first words."""
_DIGITS: Final = 6
"""Times are exact to a microsecond."""

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode


class Setup(NamedTuple):
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
    header: Callable[[Setup], dict[str, Any]]
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


def write_asciicast(events: Iterable[Event], state: ScreenState, file: TextIO, how: Setup) -> None:
    """Write a recording while the events are read; `state` is the empty screen that they fill."""
    version = VERSIONS[how.version]
    picture = Picture(state, how.width, how.height)
    drawn: list[str] = []
    events, timing = fitted(events, how.timing)
    frames = timing.timed(unfold(events, state, lambda: drawn.append(picture.update())), lambda frame: frame)
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
    data = "".join((BEGIN, *written, END)) if any(written) else ""
    written.clear()  # it may be large: nothing is held twice
    if data:
        yield _Cue(moment, "o", data)


def _labels(state: ScreenState, frame: Frame) -> list[str]:
    """The first words of what people asked for in this frame."""
    if not frame.marks & Mark.PROMPT:
        return []
    new = takewhile(lambda element: element.line == frame.line, reversed(state.elements))
    prompts = [element.text for element in new if isinstance(element, UserMessage)]
    return [printable(cut(" ".join(text[:_GLANCE].split()), _LABEL)) for text in reversed(prompts)]
