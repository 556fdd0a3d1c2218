"""Keys that go to what a person looks for: errors, edits, sub-agents, prompts, positions, matches and chapters."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events, on
from textual.widgets import Input

from claude_session_player.errors import SessionError
from claude_session_player.player import FrameMark, list_chapters, parse_position
from claude_session_player.tui.jobs import FramesChanged
from claude_session_player.tui.keys import MOTION, MOTION_KEYS, bindings
from claude_session_player.tui.playback_screen import PlaybackScreen
from claude_session_player.tui.player_search import SearchBar
from claude_session_player.tui.widgets.chapters import ChapterList, ChaptersPopup

_MARKS: Final = {"e": FrameMark.ERROR, "d": FrameMark.EDIT, "a": FrameMark.AGENT, "p": FrameMark.PROMPT}
"""What the second key of a motion goes to."""
_NAMES: Final = dict(MOTION.second_keys)
_DIRECTIONS: Final = dict(zip(MOTION.keys, (1, -1), strict=True))
_FIRST_LABELS: Final = dict(zip((1, -1), MOTION.label.split(" "), strict=True))
_PRIORITY_ACTIONS: Final = ("goto", "search")
"""Actions of keys that are handled first; they are ordinary letters where something is typed."""


class MotionScreen(PlaybackScreen):
    """A player with motions of two keys, positions, matches, chapters, and highlights."""

    BINDINGS: ClassVar = bindings(MOTION_KEYS)

    def __init__(self) -> None:
        super().__init__()
        self._motion: int | None = None
        """The direction of a motion whose second key is awaited."""

    # --- motions ------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, or the second key of a motion is awaited, these keys are ordinary ones."""
        is_taken = self._motion is not None or isinstance(self.focused, Input)
        return not (action in _PRIORITY_ACTIONS and is_taken)

    def action_motion(self, direction: int, second: str = "") -> None:
        """Go where the second key of a motion leads; without one, wait for it."""
        if second:
            self._go_to_mark(_MARKS[second], _NAMES[second], direction)
        else:
            self._motion = direction
            self.show_status()

    def on_key(self, event: events.Key) -> None:
        """Both keys of a motion; any other second key cancels it.

        They come here one after the other, after those that were pressed before. Bindings would not do: those with
        priority overtake earlier keys, the others may be looked up after the second key was here. What the motion does
        is done by the application, for the same reason: it does what the keys around the motion are bound to.
        """
        direction, self._motion = self._motion, None
        if direction is None and event.key not in _DIRECTIONS:
            return
        event.stop()
        event.prevent_default()
        if direction is None:
            if not isinstance(self.focused, Input):  # it would be there if the key opened it that was pressed next
                self.action_motion(_DIRECTIONS[event.key])
        else:
            self.show_status()
            if event.key in _MARKS:
                self.app.call_later(self.action_motion, direction, event.key)

    def _go_to_mark(self, mark: FrameMark, name: str, direction: int) -> None:
        """Go to the next or previous frame with a mark, and put the cursor on what it shows."""
        is_found = self.player.go_to_mark(mark, direction)
        self.show_here()
        if not is_found:
            where = " in highlights" if self.player.has_highlights_only else ""
            self.notify(f"No {'later' if direction > 0 else 'earlier'} {name}{where}.")
            return
        number = self.pane.find_line(self.playback.line)
        if number is not None:
            self.pane.move_to_head(number)

    def action_chapter(self, direction: int) -> None:
        """Go to the next prompt, or to the previous one."""
        self.action_motion(direction, "p")

    @property
    def pending_keys(self) -> str:
        """The first key of a motion whose second key is awaited; for the status line."""
        return f"{_FIRST_LABELS[self._motion]}…" if self._motion is not None else ""

    # --- positions and matches ------------------------------------------------------------------------------

    def action_goto(self) -> None:
        """Ask for a position."""
        self.search_bar.ask_position()

    def action_search(self) -> None:
        """Ask for search words."""
        self.search_bar.ask_words()

    def action_match(self, direction: int) -> None:
        """Go to the next match, or to the previous one."""
        self.search_bar.go_to_match(direction)

    @on(SearchBar.PositionEntered)
    def _go_to_position(self, event: SearchBar.PositionEntered) -> None:
        self.app.clear_notifications()
        try:
            self.playback.go_to(parse_position(event.text))
            self.leave_scrolled_line()
        except SessionError as error:
            self.notify(str(error), severity="error")
        self.show_frame()
        self._say_overshoot()

    @on(FramesChanged)
    def _say_overshoot(self) -> None:
        """Say that the position is beyond the end, once that is known."""
        if (overshoot := self.playback.take_overshoot()) is not None:
            words = overshoot.notice(self.player.speed)
            self.notify(f"{words[0].upper()}{words[1:]}.", severity="warning")

    @on(SearchBar.MatchReached)
    def _show_match(self) -> None:
        """Put the cursor on the matching element, unfolded if the match is truncated otherwise."""
        self.leave_scrolled_line()
        self.show_frame()
        number = self.pane.find_line(self.playback.line)
        if number is not None:
            if not self.pane.has_match(number):
                self.pane.unfold_element(number)
            if not (self.search_bar.words or self.pane.has_match(number)):
                self.notify("The match is in a part of this record that is not shown.")
            self.pane.move_to_match(number)

    # --- highlights ---------------------------------------------------------------------------------------

    def action_highlights(self) -> None:
        """Play only prompts, responses, edits and errors, or everything; the position stays the same."""
        line = self.pane.scrolled_line
        self.player.set_highlights(not self.player.has_highlights_only)
        self.pane.go_to_end()
        self.show_frame()
        if line is not None:
            self.pane.scroll_to_line(line)

    # --- chapters -----------------------------------------------------------------------------------------

    def action_chapters(self) -> None:
        """Open the list of chapters."""
        popup = ChaptersPopup(list_chapters(self.playback.frame_index, self.costs.curve), self.player.position)
        self.app.push_screen(popup, self._go_to_chapter)

    def _go_to_chapter(self, frame: int | None) -> None:
        if frame is not None:
            self.player.seek(frame)
            self.show_here()

    @on(ChapterList.Chosen)
    def _take_chapter(self, event: ChapterList.Chosen) -> None:
        event.stop()
        self._go_to_chapter(event.frame)

    def show_chapters(self) -> None:
        """Show what is new in the lists of chapters that are in view."""
        if lists := self._chapter_lists():
            chapters = list_chapters(self.playback.frame_index, self.costs.curve)
            for one in lists:
                one.show(chapters, self.player.position)

    def follow_chapters(self) -> None:
        """Mark the chapter that is played in the lists of chapters."""
        for one in self._chapter_lists():
            one.follow(self.player.position)

    def _chapter_lists(self) -> list[ChapterList]:
        """The list beside the session and the one over it, as far as they are in view."""
        over = self.app.screen
        beside = (one for one in self.query(ChapterList) if all(node.display for node in one.ancestors_with_self))
        return [*beside, *([over.chapters] if isinstance(over, ChaptersPopup) else [])]
