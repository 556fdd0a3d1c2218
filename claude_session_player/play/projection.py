"""A recording that is being played: its film, the player, and a place that somebody wants to see before it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from claude_session_player.models import ScreenElement
from claude_session_player.play.activity import Status
from claude_session_player.play.destination import Destination, Elapsed, Line, Moment, Part
from claude_session_player.play.film import PORTION, Film, Frame
from claude_session_player.play.following import Followed, News
from claude_session_player.play.forward import Timing
from claude_session_player.play.player import Player
from claude_session_player.play.recording import Recording
from claude_session_player.play.timeline import Pace
from claude_session_player.view import View

IS_LIVE, IS_IDLE, IS_DELETED = "live", "idle", "deleted"


class Projection:
    """Film and player together. The film is developed by whoever owns this, while it is played already.

    A recording that is followed begins at its end, and goes on for as long as its file grows.
    """

    def __init__(
        self,
        recording: Recording,
        view: View,
        clock: Callable[[], float],
        timing: Timing,
        *,
        is_followed: bool = False,
    ) -> None:
        """Raises `CannotRead`."""
        self.recording = recording
        self.player = Player(clock, idle=timing.idle)
        self.player.speed, self.player.pace = timing.speed, timing.pace
        self.player.is_growing = True
        self.is_over = False
        """True where the film is complete."""
        view = replace(view.of_subagent() if recording.is_subagent else view, thinking=True)
        path = recording.path if is_followed else None
        self._followed = None if path is None else Followed(path, view)
        self._film = Film(recording.tape(), view) if self._followed is None else self._followed.film
        self._wanted: Destination | None = None
        self._timing = timing
        self._is_fitted = False
        """True where it is known whether the session has times."""
        if self._followed is not None:
            self.player.end()

    @property
    def film(self) -> Film:
        """The film; another one, when the file that is followed is replaced by another."""
        return self._film if self._followed is None else self._followed.film

    @property
    def is_followed(self) -> bool:
        """True where the file may grow at any time."""
        return self._followed is not None

    def live_word(self, status: Status | None) -> str:
        """Whether the file that is followed is there and written to, by what its session does; else nothing."""
        if self._followed is None:
            return ""
        if self._followed.is_deleted:
            return IS_DELETED
        return IS_LIVE if status is not None and status.is_live else IS_IDLE

    @property
    def frame(self) -> Frame | None:
        """The frame that is shown."""
        return self.film.frames[self.player.position] if self.player.position >= 0 else None

    def elements(self) -> list[ScreenElement]:
        """What is on the screen now: to be looked at until this is asked for again, and not to be changed."""
        return self.film.screen(self.player.position).elements

    def develop(self) -> News:
        """Take in a portion of the film: as long as it grew, there may be more. Raises `CannotRead`."""
        if self._followed is not None:
            news = self._followed.catch_up(PORTION)
            if news.is_new_film:
                self.player.restart()
        else:
            news = News.GREW if self.film.develop() else News.NOTHING
        self._take_in()
        return news

    def finish(self) -> None:
        """What is there is all, unless the file is followed."""
        if self._followed is None:
            self.film.finish()
            self.player.is_growing = self.player.is_live = False
        self.is_over = True
        self._take_in()
        self.player.tick()  # at the end of a film that cannot grow, it stops

    def go(self, where: Destination) -> None:
        """Go to a place; where the film is not developed so far, as soon as it is."""
        self._wanted = where
        self._arrive()

    def stay(self) -> None:
        """Somebody went elsewhere: there is no place any more that they wait for."""
        self._wanted = None

    def keep_history(self, is_kept: bool) -> None:
        """Develop the film anew, with or without what was before compactions; the place in it stays the same."""
        line, is_live = self.frame.line if self.frame else 0, self.player.is_live
        view = replace(self.film.view, history=is_kept)
        if self._followed is not None:
            self._followed.film_anew(view)
        else:
            self._film = Film(self._film.tape, view)
        self.player.restart()
        self.player.is_growing, self.is_over = True, False
        self._wanted = None if is_live else Line(line)

    def close(self) -> None:
        """Let go of the file."""
        if self._followed is not None:
            self._followed.close()
        else:
            self._film.tape.close()

    def _take_in(self) -> None:
        self.player.load(self.film.frames)
        if self.player.count and not self._is_fitted:
            self._is_fitted = True
            if not self.player.has_times and self.player.pace is Pace.CAPPED and self._timing.idle != 0:
                self.player.set_pace(Pace.PACED)  # without times, everything would appear at once
        self._arrive()

    def _arrive(self) -> None:
        """Go where somebody wants to be, as far as that is possible."""
        if self._wanted is None or not self.player.count:
            return
        self._seek(self._wanted)
        if self.is_over or (isinstance(self._wanted, Line) and self.film.lines > self._wanted.number):
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
