"""A session that is played as text that is only ever added to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from claude_session_player.events import Event
from claude_session_player.models import ScreenState
from claude_session_player.play.appended import Appended, Piece
from claude_session_player.play.film import Frame
from claude_session_player.play.forward import Timing, fitted, unfold


class Told(NamedTuple):
    """What a frame adds to the text."""

    frame: Frame
    pieces: list[Piece]


def plain_frames(
    events: Iterable[Event], state: ScreenState, timing: Timing, start: int = 0
) -> Iterator[tuple[float, list[Piece]]]:
    """What is to be told, and how long it is waited for; `state` is the empty screen that the events fill.

    From the line `start` on: the first that is told is the whole screen as it was then. What only changes for a while,
    like the progress of a tool, is neither told nor waited for.
    """
    events, timing = fitted(events, timing)
    return ((wait, told.pieces) for wait, told in timing.timed(_told(events, state, start), lambda told: told.frame))


def _told(events: Iterable[Event], state: ScreenState, start: int) -> Iterator[Told]:
    appended = Appended(state.view)
    for frame in unfold(events, state):
        if frame.line >= start and (pieces := appended.after(state)):
            yield Told(frame, pieces)
