"""What the threads behind a list of sessions have to tell."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text
from textual.message import Message

from claude_session_player.tui.export_popup import Target
from claude_session_player.tui.listing import Entry
from claude_session_player.tui.popups import TextPopup


@dataclass
class Arrived(Message):
    """All sessions that are known by now, and how many files are still to be read."""

    entries: list[Entry]
    waiting: int


@dataclass
class Failed(Message):
    """Something that was asked for cannot be done."""

    reason: str


@dataclass
class Previewed(Message):
    """The last screen of a session."""

    entry: Entry
    text: Text


@dataclass
class Summarized(Message):
    """What a window waits for."""

    popup: TextPopup
    text: str


@dataclass
class Exported(Message):
    """A session was written into a file."""

    target: Target
