"""A recording that is being played: its film, the player, and a place that somebody wants to see before it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from claude_session_player.models import ScreenElement
from claude_session_player.play.destination import Destination, Elapsed, Line, Moment, Part
from claude_session_player.play.film import Film, Frame
from claude_session_player.play.player import Pace, Player
from claude_session_player.play.recording import Recording
from claude_session_player.play.timeline import IDLE
from claude_session_player.view import View


class Projection:
    """Film and player together. The film is developed by whoever owns this, while it is played already."""

    def __init__(
        self, recording: Recording, view: View, clock: Callable[[], float], *, idle: float | None = IDLE
    ) -> None:
        """Raises `CannotRead`."""
        self.recording = recording
        self.player = Player(clock, idle=idle)
        self.player.is_growing = True
        view = view.of_subagent() if recording.is_subagent else view
        self.film = Film(recording.tape(), replace(view, thinking=True))
        self._wanted: Destination | None = None

    @property
    def frame(self) -> Frame | None:
        """The frame that is shown."""
        return self.film.frames[self.player.position] if self.player.position >= 0 else None

    @property
    def has_history(self) -> bool:
        """True where compactions do not empty the screen."""
        return self.film.view.history

    def elements(self) -> list[ScreenElement]:
        """What is on the screen now; it is another list when this is asked for again."""
        return self.film.screen(self.player.position).elements

    def develop(self) -> bool:
        """Take in a portion of the film; false where there is no more, for now."""
        has_more = self.film.develop()
        self._take_in()
        return has_more

    def finish(self) -> None:
        """The film is complete: what is there is all."""
        self.film.finish()
        self.player.is_growing = self.player.is_live = False
        self._take_in()

    def go(self, where: Destination) -> None:
        """Go to a place; where the film is not developed so far, as soon as it is."""
        self._wanted = where
        self._arrive()

    def keep_history(self, is_kept: bool) -> None:
        """Develop the film anew, with or without what was before compactions; the place in it stays the same."""
        line = self.frame.line if self.frame else 0
        self.film = Film(self.film.tape, replace(self.film.view, history=is_kept))
        self.player.restart()
        self.player.is_growing = True
        self._wanted = Line(line)

    def _take_in(self) -> None:
        is_new = not self.player.count
        self.player.load(self.film.frames)
        if is_new and self.player.count and not self.player.has_times and self.player.pace is Pace.CAPPED:
            self.player.set_pace(Pace.PACED)  # without times, everything would appear at once
        self._arrive()

    def _arrive(self) -> None:
        """Go where somebody wants to be, as far as that is possible."""
        if self._wanted is None or not self.player.count:
            return
        self._seek(self._wanted)
        if not self.player.is_growing or (isinstance(self._wanted, Line) and self.film.lines > self._wanted.number):
            self._wanted = None

    def _seek(self, where: Destination) -> None:
        match where:
            case Line(number):
                self.player.seek(self.film.frame_of(number))
            case Part(fraction):
                self.player.seek_fraction(fraction)
            case Elapsed(seconds):
                self.player.seek_elapsed(seconds)
            case Moment(seconds):
                self.player.seek_time(seconds)
