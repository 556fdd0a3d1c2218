"""The keys that move a playback in time, and the timer that shows each frame when it is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.screen import Screen
from textual.timer import Timer

from claude_session_player.player import SPEEDS, Pace, Playback
from claude_session_player.tui.app import ClosedOnce

if TYPE_CHECKING:
    from claude_session_player.player import Player
    from claude_session_player.tui.played_costs import PlayedCosts
    from claude_session_player.tui.player_search import SearchBar
    from claude_session_player.tui.widgets.screen_pane import ScreenPane

_SHORTEST_WAIT: Final = 1 / 30
"""Seconds between two drawn frames, at least."""


class PlaybackScreen(ClosedOnce, Screen[None]):
    """A screen that plays a recording. The subclass has the widgets, and shows frames and the status on them."""

    playback: Playback
    player: Player
    pane: ScreenPane
    search_bar: SearchBar
    costs: PlayedCosts

    def __init__(self) -> None:
        super().__init__()
        self._timer: Timer | None = None
        """Wakes the player for the next frame."""

    def show_frame(self) -> None:
        """Show the current frame, and wait for the next one."""
        raise NotImplementedError

    def show_status(self) -> None:
        """Show the state of the player."""
        raise NotImplementedError

    # --- time -------------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Wake up when the next frame is due."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        due = self.player.seconds_to_next()
        if due is not None:
            self._timer = self.set_timer(max(due, _SHORTEST_WAIT), self.tick)

    def tick(self) -> None:
        """Look at the clock, and show the frame that is due."""
        if self.player.tick():
            self.show_frame()
        else:
            self.show_status()
            self.wait()

    def show_here(self) -> None:
        """The viewer chose this frame: wait for no other position, and show the end of its screen."""
        self.playback.forget_destination()
        self.search_bar.stop_waiting()
        self.app.clear_notifications()
        self.leave_scrolled_line()
        self.show_frame()

    def leave_scrolled_line(self) -> None:
        """Show the end of the current frame, not what the view was scrolled back to."""
        self.pane.go_to_end()

    # --- keys: time -------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause, or go on. A pause leaves the view where it is; going on catches up with the current frame."""
        is_running = self.player.is_playing or self.player.is_live
        self.player.toggle()
        if is_running:
            self.show_frame()
        else:
            self.show_here()

    def action_step(self, frames: int) -> None:
        """Go some frames forwards or backwards."""
        self.player.step(frames)
        self.show_here()

    def action_speed(self, number: int) -> None:
        """Play at one of the speeds."""
        self.player.set_speed(SPEEDS[number])
        self.show_frame()

    def action_faster(self, steps: int) -> None:
        """Play faster, or slower."""
        self.player.change_speed(steps)
        self.show_frame()

    def action_real_time(self) -> None:
        """Keep idle gaps at full length, or shorten them."""
        self._toggle_pace(Pace.REAL)

    def action_paced(self) -> None:
        """Time frames by the length of their text, or by their timestamps."""
        self._toggle_pace(Pace.PACED)

    def _toggle_pace(self, pace: Pace) -> None:
        self.player.set_pace(Pace.CAPPED if self.player.pace is pace else pace)
        self.show_frame()

    def action_home(self) -> None:
        """Go to the first frame."""
        self.player.seek(0)
        self.show_here()

    def action_end(self) -> None:
        """After scrolling, catch up with the current frame; otherwise go to the last frame.

        The last frame of a followed session is the current one.
        """
        if self.pane.is_at_end or self.playback.is_followed:
            self.player.end()
        self.show_here()
