"""What the threads behind a list of sessions have to tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rich.console import RenderableType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from claude_session_player.store.layout import Stamp
from claude_session_player.tui.export_popup import Target
from claude_session_player.tui.listing import Entry
from claude_session_player.tui.text_popup import TextPopup


@dataclass
class Arrived(Message):
    """All sessions that are known by now, and how many files are still to be read."""

    entries: list[Entry]
    waiting: int


@dataclass
class Failed(Message):
    """Something that was asked for cannot be done."""

    reason: str


class Glance(NamedTuple):
    """Which session is looked at, in which state, and how large the look is."""

    key: str
    stamp: Stamp
    size: Size


@dataclass
class Previewed(Message):
    """The last rows of a session's screen."""

    glance: Glance
    rows: list[Strip]


@dataclass
class Summarized(Message):
    """What a window waits for."""

    popup: TextPopup
    text: RenderableType


@dataclass
class Exported(Message):
    """A session was written into a file."""

    target: Target
