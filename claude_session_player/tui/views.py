"""How a session is shown: what happened, or what the terminal showed; with thinking, and with what was compacted."""

from __future__ import annotations

from dataclasses import replace

from claude_session_player.models import RICH, SCREEN, View
from claude_session_player.tui.motions import MotionScreen


class ViewScreen(MotionScreen):
    """A player whose view can be changed. All views have the limits of the one that was given."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.given_view = view
        self._scrolled_line: int | None = None
        """Where the viewer had scrolled to, until the frames of another view are there."""

    def build_frames(self) -> None:
        """Build the frames of the present view, behind the screen."""
        raise NotImplementedError

    @property
    def view_name(self) -> str:
        """The name of the view that is shown."""
        return self.playback.frame_index.view.name

    @property
    def shown_view(self) -> View:
        """The view that is shown, for another recording."""
        return replace(self.playback.frame_index.view, sidechains=False, thinking=self.pane.view.thinking)

    def show_view(self, name: str) -> None:
        """Show the view with this name; an unknown name changes nothing."""
        given = self.given_view
        if name == self.view_name:
            return
        if name == RICH:
            self.change_view(given.as_rich())
        elif name == SCREEN:
            self.change_view(given.as_screen() if given.name == RICH else given.with_queue())

    def change_view(self, view: View) -> None:
        """Show the same line in another view, whose frames are built anew."""
        if self.pane.scrolled_line is not None:  # else the view before may still wait for its frames
            self._scrolled_line = self.pane.scrolled_line
        self.pane.go_to_end()
        self.pane.view = replace(view, thinking=self.pane.view.thinking)
        self.playback.set_view(view)
        if self.is_mounted:
            self.pane.redraw(is_stale=True)
            self.search_bar.end()
            self.build_frames()

    def restore_scrolling(self) -> None:
        """Scroll back to where the viewer was in the view before, once its frames are loaded that far."""
        line, playback = self._scrolled_line, self.playback
        if line is not None and playback.has_arrived and playback.has_line(line):
            if self.pane.is_at_end:  # else the viewer has scrolled meanwhile
                self.pane.scroll_to_line(line)
            self._scrolled_line = None

    def leave_scrolled_line(self) -> None:
        """Show the end of the current frame, also if the view before was scrolled back."""
        self._scrolled_line = None
        super().leave_scrolled_line()

    # --- keys -------------------------------------------------------------------------------------------

    def action_view(self) -> None:
        """Switch between the rich view and the screen of the specification, at the same line."""
        self.show_view(SCREEN if self.view_name == RICH else RICH)
        is_rich = self.view_name == RICH
        self.notify("Showing what happened." if is_rich else "Showing what the terminal showed.")

    def action_history(self) -> None:
        """Include messages from before compactions, or leave them out."""
        view = self.playback.frame_index.view
        self.change_view(replace(view, history=not view.history))

    def action_thinking(self) -> None:
        """Show or hide thinking."""
        self.pane.view = replace(self.pane.view, thinking=not self.pane.view.thinking)
        self.pane.redraw(is_stale=True)
        self.show_status()
