"""The player: plays one recording on the whole terminal, and says what its keys do."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import on
from textual.app import App, ComposeResult
from textual.events import DescendantFocus
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer

from claude_session_player.errors import CannotRead, SessionError
from claude_session_player.formatter import element_text
from claude_session_player.models import ScreenElement, ToolCall, View
from claude_session_player.player import (
    SPEEDS,
    Destination,
    Pace,
    Playback,
    Timing,
    call_details,
    element_details,
    parse_position,
)
from claude_session_player.store import POLLING_NOTICE
from claude_session_player.tui import jobs
from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.jobs import FilesWritten, FramesChanged, SubagentReady, TitleReady
from claude_session_player.tui.keys import PLAYER_KEYS, PROMPT_KEYS, KeyBar, bindings, footer_keys
from claude_session_player.tui.player_search import HitLines, SearchBar
from claude_session_player.tui.popups import HelpScreen
from claude_session_player.tui.widgets.rows import element_rows
from claude_session_player.tui.widgets.running import SubagentBar
from claude_session_player.tui.widgets.screen_pane import ScreenPane
from claude_session_player.tui.widgets.status import TextLine, status_text, title_text
from claude_session_player.tui.widgets.timeline import LEGEND, TimelineBar
from claude_session_player.util.humanize import plural
from claude_session_player.util.times import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.line_audit import LineAudit
    from claude_session_player.player import Recording
    from claude_session_player.store import Session, Store

_SHORTEST_WAIT: Final = 1 / 30
"""Seconds between two drawn frames, at least."""
_STATUS_SECONDS: Final = 1.0
"""Seconds between two looks at the clock of a followed session: time alone makes it idle."""
_DEFAULT_TIMING: Final = Timing()
_TINY, _LOW = 6, 14
"""A terminal with fewer rows shows less around what is played."""
_PROMPT_ACTIONS: Final = ("goto", "search")


class PlayerScreen(Screen[None]):
    """Plays one recording; a sub-agent is played by another screen over this one."""

    CSS = """
    PlayerScreen.-low KeyBar, PlayerScreen.-tiny KeyBar { display: none; }
    PlayerScreen.-low SubagentBar { display: none; }
    PlayerScreen.-tiny TimelineBar, PlayerScreen.-tiny #title { display: none; }
    """
    BINDINGS: ClassVar = bindings(PLAYER_KEYS)

    def __init__(
        self,
        recording: Recording,
        view: View | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = wall_clock,
        timing: Timing = _DEFAULT_TIMING,
        start: Destination | None = None,
        callers: tuple[str, ...] = (),
        is_followed: bool = False,
        has_list: bool = False,
        hits: HitLines | None = None,
    ) -> None:
        """With `has_list`, there is a list of sessions below this screen. Raises `CannotRead`."""
        super().__init__()
        self._view = (view or View()).with_queue()
        self._make_nested = partial(
            PlayerScreen, view=self._view, clock=clock, wall=wall, timing=timing, is_followed=is_followed
        )
        self.playback = Playback(recording, self._view, clock, timing, is_followed=is_followed)
        self.player = self.playback.player
        self._frames_source = self.playback.frame_index
        """The frame index that is shown."""
        self._is_polled = False
        """True if the system reports no file changes."""
        self._callers = callers
        self._can_go_back = has_list or bool(callers)
        self._titles = (*callers, recording.title)
        """The callers, and what is played here."""
        self._timer: Timer | None = None
        """Wakes the player for the next frame."""
        self._title = TextLine("title")
        self.pane = ScreenPane(self._view, self._detail_rows)
        self._subagents = SubagentBar(os.path.abspath(recording.path or ""), wall)
        self._timeline = TimelineBar(self.player)
        self._status = TextLine("status")
        self.search_bar = SearchBar(self.playback, hits)
        self.pane.needles = self.search_bar.needles
        self._keys = KeyBar(*(footer_keys(has_search=has, can_go_back=self._can_go_back) for has in (False, True)))
        if start is not None:
            self.playback.go_to(start)

    # --- what is shown ----------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """The title, the session's screen, its sub-agents, the timeline, the status, the search bar and the keys."""
        yield from (self._title, self.pane, self._subagents, self._timeline, self._status, self.search_bar, self._keys)

    def on_mount(self) -> None:
        """Build the first frames before anything is drawn, so that the screen does not start empty."""
        recording = self.playback.recording
        self._show_title(recording.title, recording.location)
        self.run_worker(self._describe, thread=True, group="title", exit_on_error=False)
        with suppress(SessionError):  # the job that builds the rest reports it
            self.playback.read_more()
        if not self.player.is_live:
            self.player.play()
        if self.playback.is_followed:
            self._subagents.read()
            self.set_interval(_STATUS_SECONDS, self._show_running)
        self._show_frame()
        self._build_frames()

    def on_resize(self) -> None:
        """In a small terminal, the session's screen gets the space."""
        self.set_class(self.size.height < _TINY, "-tiny")
        self.set_class(self.size.height < _LOW, "-low")

    def on_unmount(self) -> None:
        """Close the file."""
        self.playback.close()

    def _describe(self) -> None:
        """Runs in a thread."""
        jobs.describe_recording(self.playback.recording, self.post_message)

    @on(TitleReady)
    def _show_better_title(self, event: TitleReady) -> None:
        self._show_title(event.title, event.place)

    def _show_title(self, title: str, place: str) -> None:
        self._titles = (*self._callers, title)
        self._title.show(title_text(self._titles, place))

    def _show_frame(self) -> None:
        """Show the current frame, and wait for the next one."""
        try:
            self.pane.show(self.playback.elements())
        except SessionError as error:
            self.notify(str(error), severity="error")
        self._timeline.show(self.playback.frame_index.frames)
        self._show_status()
        self._wait()

    def _show_status(self) -> None:
        playback = self.playback
        self._status.show(
            status_text(
                self.player,
                playback.frame,
                playback.frame_index.line_count,
                live_word=playback.live_state(self._subagents.status()) or "",
                flags=self._flags(),
            )
        )

    def _flags(self) -> str:
        """What is switched on, and the state of the search."""
        history, thinking = self.playback.frame_index.view.history, self.pane.view.thinking
        flags = {"history": history, "thinking": thinking, "polling": self._is_polled}
        return " ".join(filter(None, (*(name for name, is_on in flags.items() if is_on), self.search_bar.status())))

    def _detail_rows(self, element: ScreenElement, width: int) -> list[Strip]:
        """The rows of an expanded element."""
        from claude_session_player.tui.widgets.parts import details_rows

        head = element_rows(element, replace(self.pane.view, thinking=True), width)
        try:
            details = element_details(self.playback.frame_index, element, self.playback.recording.resolve)
        except SessionError:  # the file cannot be read any more: show what is on the screen
            return head
        return head if details is None else details_rows(head, details, width)

    # --- time and frames --------------------------------------------------------------------------------

    def _wait(self) -> None:
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
            self._show_frame()
        else:
            self._show_status()
            self._wait()

    def _build_frames(self) -> None:
        build = jobs.follow_frames if self.playback.is_followed else jobs.build_frames
        self.run_worker(build(self.playback, self.post_message), exclusive=True, group="frames")

    @on(FramesChanged)
    def _show_new_frames(self, event: FramesChanged) -> None:
        self.search_bar.update_frames()
        if self._frames_source is not self.playback.frame_index:  # nothing of the old frames is left to read
            self._frames_source = self.playback.frame_index
            self.pane.go_to_end()
        self._show_frame()
        if event.notice:
            self.notify(event.notice, severity="warning")

    @on(FilesWritten)
    def _update_running(self, event: FilesWritten) -> None:
        self._subagents.read(event.changes.files)
        if event.changes.is_polled and not self._is_polled:
            self._is_polled = True
            self.notify(POLLING_NOTICE, severity="warning")
        self._show_running()

    def _show_running(self) -> None:
        self._subagents.show()
        self._show_status()

    def _show_here(self) -> None:
        """The viewer chose this frame: wait for no other position, and show the end of its screen."""
        self.playback.forget_destination()
        self.search_bar.stop_waiting()
        self.app.clear_notifications()
        self.pane.go_to_end()
        self._show_frame()

    # --- keys: time -------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause, or resume. A pause leaves the view where it is; resuming catches up with the current frame."""
        is_running = self.player.is_playing or self.player.is_live
        self.player.toggle()
        if is_running:
            self._show_frame()
        else:
            self._show_here()

    def action_step(self, frames: int) -> None:
        """Go some frames forwards or backwards."""
        self.player.step(frames)
        self._show_here()

    def action_chapter(self, direction: int) -> None:
        """Go to the next prompt, or to the previous one."""
        self._show_here()
        if not self.player.chapter(direction):
            self.notify("No later prompt." if direction > 0 else "No earlier prompt.")
        self._show_frame()

    def action_speed(self, number: int) -> None:
        """Play at one of the speeds."""
        self.player.set_speed(SPEEDS[number])
        self._show_frame()

    def action_faster(self, steps: int) -> None:
        """Play faster, or slower."""
        self.player.change_speed(steps)
        self._show_frame()

    def action_real_time(self) -> None:
        """Keep idle gaps at full length, or shorten them."""
        self._toggle_pace(Pace.REAL)

    def action_paced(self) -> None:
        """Time frames by the length of their text, or by their timestamps."""
        self._toggle_pace(Pace.PACED)

    def _toggle_pace(self, pace: Pace) -> None:
        self.player.set_pace(Pace.CAPPED if self.player.pace is pace else pace)
        self._show_frame()

    def action_home(self) -> None:
        """Go to the first frame."""
        self.player.seek(0)
        self._show_here()

    def action_end(self) -> None:
        """After scrolling, catch up with the current frame; otherwise go to the last frame.

        The last frame of a followed session is the current one.
        """
        if self.pane.is_at_end or self.playback.is_followed:
            self.player.end()
        self._show_here()

    @on(TimelineBar.Sought)
    def _seek_on_timeline(self, event: TimelineBar.Sought) -> None:
        self.player.seek_fraction(event.fraction)
        self._show_here()

    def action_history(self) -> None:
        """Include messages from before compactions, or leave them out."""
        self.pane.go_to_end()
        self.playback.set_history(not self.playback.frame_index.view.history)
        self.search_bar.end()
        self._build_frames()

    # --- keys: positions and search ---------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, `/` and `g` are ordinary letters."""
        return not (action in _PROMPT_ACTIONS and self.search_bar.is_typing)

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
            self.pane.go_to_end()
        except SessionError as error:
            self.notify(str(error), severity="error")
        self._show_frame()

    @on(SearchBar.Changed)
    def _show_search(self) -> None:
        """Highlight the words, and show what keys do now."""
        if self.focused is None:
            self.set_focus(self.pane)
        self.pane.needles = self.search_bar.needles
        self.pane.redraw()
        self._show_keys()
        self._show_status()

    @on(DescendantFocus)
    def _show_keys(self) -> None:
        keys = footer_keys(has_search=bool(self.search_bar.words), can_go_back=self._can_go_back)
        self._keys.show(PROMPT_KEYS if self.search_bar.is_typing else keys)

    @on(SearchBar.MatchReached)
    def _show_match(self) -> None:
        """Put the cursor on the matching element, expanded if the match is truncated otherwise."""
        self.pane.go_to_end()
        self._show_frame()
        number = self.pane.find_line(self.playback.frame.line if self.playback.frame else 0)
        if number is not None:
            shown = element_text(self.pane.elements[number], self.pane.view).lower()
            if not any(needle.lower() in shown for needle in self.search_bar.needles):
                self.pane.expand_element(number)
            self.pane.move_to(number)

    # --- keys: what is shown ----------------------------------------------------------------------------

    def action_thinking(self) -> None:
        """Show or hide thinking."""
        self.pane.view = replace(self.pane.view, thinking=not self.pane.view.thinking)
        self.pane.redraw(is_stale=True)
        self._show_status()

    def action_cursor(self, step: int) -> None:
        """Move the cursor."""
        self.pane.move(step)

    def action_page(self, direction: int) -> None:
        """Scroll the session's screen."""
        self.pane.scroll_page(direction)

    def action_expand(self) -> None:
        """Expand or collapse the element at the cursor."""
        self.player.pause()
        self.pane.toggle_element()
        self._show_status()

    def action_copy(self) -> None:
        """Copy the element at the cursor."""
        element = self.pane.element
        if element is None:
            return
        text = element_text(element, View.full(thinking=True))
        if isinstance(element, ToolCall) and (reply := call_details(self.playback.frame_index, element).reply()):
            text = reply.text
        self.app.copy_to_clipboard(text)
        self.notify(f"Copied {plural(len(text), 'character')}.")

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen("Player keys", PLAYER_KEYS, LEGEND))

    def action_back(self) -> None:
        """End the search; without one, go back to the caller of this sub-agent or to the list of sessions."""
        if self.search_bar.words:
            self.search_bar.end()
        elif self._can_go_back:
            self.dismiss()
        else:
            self.notify("Nothing to go back to; press q to quit.")

    # --- keys: sub-agents -------------------------------------------------------------------------------

    def action_agent(self) -> None:
        """Open the sub-agent of a call, or go back to the caller of this one."""
        if calls := self._nearby_calls():
            find = partial(jobs.find_subagent, self.playback.recording, calls, self.post_message)
            self.run_worker(find, thread=True, exclusive=True, group="agents")
        else:
            self._leave_subagent()

    def _leave_subagent(self) -> None:
        if self._callers:
            self.dismiss()
        else:
            self.notify("No sub-agent call at the cursor or above it.")

    def _nearby_calls(self) -> list[ToolCall]:
        """The call at the cursor and, in a session that has no caller, those above it, the nearest first."""
        cursor = self.pane.cursor
        near = self.pane.elements[cursor if self._callers else 0 : cursor + 1]
        return [element for element in reversed(near) if isinstance(element, ToolCall)]

    @on(SubagentReady)
    def _open_subagent(self, event: SubagentReady) -> None:
        if not self.is_current:  # the key was pressed twice, and the first time has opened it
            return
        if event.recording is None:
            if event.reason:
                self.notify(event.reason, severity="warning")
            else:
                self._leave_subagent()
            return
        self.player.pause()
        try:
            self.app.push_screen(self._make_nested(event.recording, callers=self._titles))
        except SessionError as error:
            self.notify(str(error), severity="error")


class PlayerApp(TerminalApp[None]):
    """Shows one player."""

    def __init__(self, make_screen: Callable[[], PlayerScreen]) -> None:
        """Raises `CannotRead`, before the terminal is taken over."""
        super().__init__()
        self._first = make_screen()

    @property
    def account(self) -> LineAudit:
        """What became of the lines that were read."""
        return self._first.playback.frame_index.audit

    def on_mount(self) -> None:
        """Show the player."""
        self.push_screen(self._first)


def run_player(
    recording: Recording, view: View, timing: Timing, start: Destination | None = None, *, is_followed: bool = False
) -> tuple[int, LineAudit]:
    """Play a recording on the whole terminal; gives the exit code and the line audit. Raises `CannotRead`."""
    app = PlayerApp(partial(PlayerScreen, recording, view, timing=timing, start=start, is_followed=is_followed))
    app.run()
    return app.return_code or 0, app.account


def open_player(
    app: App[Any], session: Session, *, live: bool, open_store: Callable[[], Store], hits: HitLines | None = None
) -> None:
    """Play or follow a session over the present screen, from a hit on if there are any. Raises `SessionError`."""
    if not os.path.exists(session.path):
        raise CannotRead("The session file no longer exists.")
    from claude_session_player.player import recording_of_session

    recording = recording_of_session(session, open_store)
    follow = live and not session.is_inline
    start = parse_position(str(hits.start)) if hits else None
    app.push_screen(PlayerScreen(recording, start=start, is_followed=follow, has_list=True, hits=hits))
