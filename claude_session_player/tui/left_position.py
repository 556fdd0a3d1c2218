"""Where a person left the session that is played: remembered when the player closes, and continued from there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from claude_session_player.player import LeftPosition, PositionStore, line_position
from claude_session_player.tui.widgets.timeline import fraction_of

if TYPE_CHECKING:
    from claude_session_player.player import Playback


class PositionKeeper:
    """Remembers where a playback is left, and goes there again. What it has to say, its owner shows."""

    def __init__(
        self, playback: Playback, positions: PositionStore | None = None, *, mentions: bool = False, option: str = ""
    ) -> None:
        """Without positions, and for a followed session, nothing is remembered.

        With `mentions`, the greeting says where the session was left, and which `option` continues there.
        """
        path = playback.recording.path
        self._playback = playback
        self._path = os.path.abspath(path) if path is not None and not playback.is_followed else ""
        self._positions = positions if self._path else None
        self.left: LeftPosition | None = self._positions.find(self._path) if self._positions is not None else None
        """Where the session was left the last time."""
        self._mentions, self._option = mentions, option
        self._is_continuing = False
        """True until the position is reached at which the session is continued."""

    def continue_playback(self) -> None:
        """Go where the session was left, as soon as the frames are loaded that far; its view is up to the owner."""
        if self.left is not None:
            self._is_continuing = True
            self._playback.player.set_highlights(self.left.highlights)
            self._playback.go_to(line_position(self.left.line))

    @property
    def greeting(self) -> str:
        """Where the session was left, if it begins anew; empty if there is nothing to say."""
        if not self._mentions or self.left is None or self._is_continuing:
            return ""
        option = f", or use {self._option}" if self._option else ""
        return (
            f"You left this session at line {self.left.line}, {self.left.percent}%: press R to continue there{option}."
        )

    def take_arrival(self) -> str:
        """What to say when the position is reached at which the session is continued; empty before and after that."""
        playback = self._playback
        if not self._is_continuing or self.left is None or not playback.has_arrived:
            return ""
        self._is_continuing = False
        playback.take_overshoot()  # a session that has become shorter is continued at its end
        percent = self.left.percent if playback.line == self.left.line else round(fraction_of(playback.player) * 100)
        return f"Continued at line {playback.line}, {percent}%; Home goes to the beginning."

    def remember(self) -> None:
        """Remember where the session is left; at its end there is nothing to continue, and at its beginning nothing.

        On the way to another place, the present one says nothing: what was remembered before stays.
        """
        playback, player = self._playback, self._playback.player
        if self._positions is None or player.position <= 0 or self._is_continuing or not playback.has_arrived:
            return
        if player.is_at_end and playback.is_complete:
            self._positions.forget(self._path)
            return
        percent, view = round(fraction_of(player) * 100), playback.frame_index.view.name
        self._positions.remember(self._path, LeftPosition(playback.line, percent, view, player.has_highlights_only))
