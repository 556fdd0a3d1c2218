"""Recordings, played back on a terminal emulator."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any, NamedTuple

import pyte

from claude_session_player.export import asciicast
from claude_session_player.export.asciicast import WRAP_OFF, WRAP_ON, RecordingSetup
from claude_session_player.export.element_rows import blank_rows, draw_element
from claude_session_player.export.terminal import encode_segments, folded_rows
from claude_session_player.models import ScreenState, View
from claude_session_player.parser import Source
from claude_session_player.playback import start_replay


class Recording(NamedTuple):
    """The header and the events of a recording."""

    header: dict[str, Any]
    events: list[tuple[float, str, str]]

    def of(self, kind: str) -> list[tuple[float, str]]:
        """The time and data of all events of a kind."""
        return [(time, data) for time, code, data in self.events if code == kind]


def parse_recording(text: str) -> Recording:
    """Parse a recording, checking the rules of the format."""
    assert text.endswith("\n")
    header, *events = (json.loads(line) for line in text.splitlines())
    for time, code, data in events:
        assert isinstance(time, float)
        assert time >= 0
        assert code in ("o", "m", "x")
        assert isinstance(data, str)
    return Recording(header, [tuple(event) for event in events])


def record(source: Source, setup: RecordingSetup | None = None, view: View | None = None) -> Recording:
    """Record a session."""
    state, events = start_replay(source, view)
    file = StringIO()
    asciicast.write_asciicast(events, state, file, setup or RecordingSetup())
    return parse_recording(file.getvalue())


class Terminal:
    """A terminal emulator of some size."""

    def __init__(self, width: int, height: int) -> None:
        self.screen = pyte.HistoryScreen(width, height, history=100_000)
        self._stream = pyte.Stream(self.screen)

    def write(self, text: str) -> None:
        """Feed output to the terminal."""
        self._stream.feed(text)

    @property
    def rows(self) -> list[str]:
        """The text of each row."""
        return [row.rstrip() for row in self.screen.display]

    @property
    def cells(self) -> list[list[tuple[Any, ...]]]:
        """Each cell with its colours."""
        rows = self.screen.buffer
        return [[tuple(rows[y][x]) for x in range(self.screen.columns)] for y in range(self.screen.lines)]

    @property
    def scrolled_away(self) -> list[str]:
        """The rows that left the screen at its top."""
        columns = range(self.screen.columns)
        return ["".join(row[x].data for x in columns).rstrip() for row in self.screen.history.top]


def play_back(recording: Recording, until: float = float("inf")) -> Terminal:
    """Play a recording of version 2 up to a moment, without its final line break."""
    terminal = Terminal(recording.header["width"], recording.header["height"])
    for time, data in recording.of("o"):
        if time <= until:
            terminal.write(data.removesuffix("\r\n" + WRAP_ON))
    return terminal


def all_rows(state: ScreenState, width: int) -> list[str]:
    """The rows of the whole screen, laid out from scratch."""
    rows: list[str] = []
    view = state.view
    for number, element in enumerate(state.elements):
        if number:
            rows += [""] * blank_rows(state.elements[number - 1], element, view)
        rows += (
            map(encode_segments, draw_element(element, view, width))
            if view.briefs
            else folded_rows(element, view, width)
        )
    return rows


def expected_terminal(state: ScreenState, width: int, height: int) -> Terminal:
    """A terminal that shows the last rows of a screen."""
    terminal = Terminal(width, height)
    terminal.write(WRAP_OFF + "\r\n".join(all_rows(state, width)[-height:]))
    return terminal
