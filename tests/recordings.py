"""Recordings, played on the screen of a terminal emulator."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any, NamedTuple

import pyte

from claude_session_player.export import asciicast
from claude_session_player.export.asciicast import WRAP_OFF, WRAP_ON, RecordingSetup
from claude_session_player.export.terminal_rows import folded_rows
from claude_session_player.formatter import gap_between
from claude_session_player.models import ScreenState, View
from claude_session_player.parser import Source
from claude_session_player.playback import start_replay


class Cast(NamedTuple):
    """A recording: its header, and its events."""

    header: dict[str, Any]
    events: list[tuple[float, str, str]]

    def of(self, kind: str) -> list[tuple[float, str]]:
        """Time and data of the events of a kind."""
        return [(time, data) for time, code, data in self.events if code == kind]


def cast_of(text: str) -> Cast:
    """A recording, read as strictly as its rules are."""
    assert text.endswith("\n")
    header, *events = (json.loads(line) for line in text.splitlines())
    for time, code, data in events:
        assert isinstance(time, float)
        assert time >= 0
        assert code in ("o", "m", "x")
        assert isinstance(data, str)
    return Cast(header, [tuple(event) for event in events])


def recorded(source: Source, how: RecordingSetup | None = None, view: View | None = None) -> Cast:
    """The recording of a session."""
    state, events = start_replay(source, view)
    file = StringIO()
    asciicast.write_asciicast(events, state, file, how or RecordingSetup())
    return cast_of(file.getvalue())


class Terminal:
    """A terminal of some size, and what was shown on it."""

    def __init__(self, width: int, height: int) -> None:
        self.screen = pyte.HistoryScreen(width, height, history=100_000)
        self._stream = pyte.Stream(self.screen)

    def write(self, text: str) -> None:
        """Show something."""
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
        """What left the screen at its top."""
        columns = range(self.screen.columns)
        return ["".join(row[x].data for x in columns).rstrip() for row in self.screen.history.top]


def played(cast: Cast, until: float = float("inf")) -> Terminal:
    """A terminal on which a recording of version 2 was played, up to a moment; without the line break in the end."""
    terminal = Terminal(cast.header["width"], cast.header["height"])
    for time, data in cast.of("o"):
        if time <= until:
            terminal.write(data.removesuffix("\r\n" + WRAP_ON))
    return terminal


def all_rows(state: ScreenState, width: int) -> list[str]:
    """The whole screen, laid out anew."""
    rows: list[str] = []
    for number, element in enumerate(state.elements):
        if number:
            rows += [""] * (gap_between(state.elements[number - 1], element).count("\n") - 1)
        rows += folded_rows(element, state.view, width)
    return rows


def expected(state: ScreenState, width: int, height: int) -> Terminal:
    """A terminal that shows the end of a screen."""
    terminal = Terminal(width, height)
    terminal.write(WRAP_OFF + "\r\n".join(all_rows(state, width)[-height:]))
    return terminal
