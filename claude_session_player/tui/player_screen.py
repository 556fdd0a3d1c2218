"""The player: plays one recording on the whole terminal, and says what its keys do."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import DescendantFocus
from textual.strip import Strip
from textual.widgets import Input

from claude_session_player.errors import SessionError
from claude_session_player.export.element_rows import draw_element
from claude_session_player.models import ScreenElement, ToolCall, View
from claude_session_player.player import Destination, Playback, Timing, element_details
from claude_session_player.store import POLLING_NOTICE
from claude_session_player.tools import AGENTS
from claude_session_player.tui import jobs
from claude_session_player.tui.copying import copy_element
from claude_session_player.tui.footer import FooterState, footer_keys
from claude_session_player.tui.jobs import FilesWritten, FramesChanged, SubagentReady, TitleReady
from claude_session_player.tui.keys import MOTION_KEYS, PLAYER_KEYS, bindings
from claude_session_player.tui.left_position import PositionKeeper
from claude_session_player.tui.played_costs import CostCurveReady, PlayedCosts
from claude_session_player.tui.player_search import HitLines, SearchBar
from claude_session_player.tui.views import ViewScreen
from claude_session_player.tui.widgets.chapters import ChapterList
from claude_session_player.tui.widgets.element_view import ElementView, element_name, speaker_colour
from claude_session_player.tui.widgets.header import Header, HeaderFacts
from claude_session_player.tui.widgets.key_bar import KeyBar
from claude_session_player.tui.widgets.rows import to_strips
from claude_session_player.tui.widgets.running import SubagentBar
from claude_session_player.tui.widgets.screen_pane import ScreenPane
from claude_session_player.tui.widgets.side_pane import SIDE_WIDTH, SidePane
from claude_session_player.tui.widgets.status import TextLine, status_text
from claude_session_player.tui.widgets.timeline import LEGEND, TimelineBar
from claude_session_player.tui.widgets.timeline_place import place_words
from claude_session_player.util.times import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text
    from textual.worker import WorkType

    from claude_session_player.player import PositionStore, Recording

_STATUS_SECONDS: Final = 1.0
"""Seconds between two looks at the clock of a followed session: time alone makes it idle."""
_COST_SECONDS: Final = 15.0
"""Seconds between two looks at what the sub-agents of a followed session cost."""
_DEFAULT_TIMING: Final = Timing()
_TINY, _LOW, _HIGH = 6, 14, 30
"""A terminal with fewer rows shows less around what is played; one with many has lines around the session."""


class PlayerScreen(ViewScreen):
    """Plays one recording; a sub-agent is played by another screen over this one."""

    CSS = """
    PlayerScreen #session { height: 1fr; }
    PlayerScreen ScreenPane { max-width: 111; }
    PlayerScreen.-wide ScreenPane { width: 111; }
    PlayerScreen.-high #session { border-top: solid ansi_bright_black; border-bottom: solid ansi_bright_black; }
    PlayerScreen #session { border-subtitle-color: ansi_bright_black; }
    PlayerScreen.-low KeyBar, PlayerScreen.-tiny KeyBar { display: none; }
    PlayerScreen.-low SubagentBar { display: none; }
    PlayerScreen.-tiny TimelineBar, PlayerScreen.-tiny #title { display: none; }
    """
    KEYS: ClassVar = (*PLAYER_KEYS, *MOTION_KEYS)
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
        starts_paused: bool = False,
    ) -> None:
        """Shows the rich view unless given another. With `has_list`, a list is below it. Raises `CannotRead`."""
        super().__init__(view := view or View.rich())
        self._make_nested = partial(PlayerScreen, clock=clock, wall=wall, timing=timing, is_followed=is_followed)
        self.playback = Playback(recording, view, clock, timing, is_followed=is_followed)
        self.player = self.playback.player
        self._frames_source = self.playback.frame_index
        """The frame index that is shown."""
        self._is_polled = False
        """True if the system reports no file changes."""
        self._callers = callers
        self._starts_paused = starts_paused
        self._can_go_back = has_list or bool(callers)
        self.costs = PlayedCosts(self.playback)
        self._position = PositionKeeper(self.playback)
        self._titles = (*callers, recording.title)
        """The callers, and what is played here."""
        self.header = Header(HeaderFacts(recording.title, callers, recording.location))
        self.pane = ScreenPane(view, self._detail_rows)
        self.pane.is_unfolded = view.briefs and view.result_lines is None
        self._session = Horizontal(id="session")
        self._element_view = ElementView(self._detail_rows)
        self.side = SidePane(("Chapters", ChapterList()), ("Element", self._element_view), hint="o next · ⇧↑ ⇧↓ scroll")
        self._subagents = SubagentBar(os.path.abspath(recording.path or ""), wall)
        self._timeline = TimelineBar(self.player)
        self._place_words: Callable[[int], Text] | None = None
        """What the timeline is pointed at."""
        self._status = TextLine("status")
        self.search_bar = SearchBar(self.playback, hits)
        self.pane.needles = self.search_bar.needles
        self._keys = KeyBar(())
        if start is not None:
            self.playback.go_to(start)

    def use_positions(
        self, positions: PositionStore, *, continues: bool = False, mentions: bool = True, option: str = ""
    ) -> None:
        """Remember where the session is left; with `continues`, begin where it was left the last time.

        With `mentions`, the player says at the beginning where it was left, and which `option` continues there.
        """
        self._position = PositionKeeper(self.playback, positions, mentions=mentions, option=option)
        if continues:
            self._go_to_left_position()

    # --- what is shown ----------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """The header, the session and the pane beside it, its sub-agents, the timeline, the status, and the keys."""
        yield self.header
        with self._session:
            yield self.pane
            yield self.side
        yield from (self._subagents, self._timeline, self._status, self.search_bar, self._keys)

    def on_mount(self) -> None:
        """Build the first frames before anything is drawn, so that the screen does not start empty."""
        self.run_worker(self._describe, thread=True, group="title", exit_on_error=False)
        with suppress(SessionError):  # the job that builds the rest reports it
            self.playback.read_more()
        if not (self._starts_paused or self.player.is_live or self.search_bar.awaits_hit):
            self.player.play()
        if self.playback.is_followed:
            self._subagents.read()
            self.set_interval(_STATUS_SECONDS, self._show_running)
            self.set_interval(_COST_SECONDS, partial(self.costs.count_outdated, self))
        self.show_frame()
        self._say(self._position.greeting)
        self.build_frames()

    def on_resize(self) -> None:
        """In a small terminal, the session's screen gets the space; in a large one, it keeps a readable width."""
        self.header.fit(self.size)
        self.side.fit(self.size.width)
        self.set_class(self.size.width >= SIDE_WIDTH, "-wide")
        self.set_class(self.size.height >= _HIGH, "-high")
        self.set_class(self.size.height < _TINY, "-tiny")
        self.set_class(self.size.height < _LOW, "-low")
        self.show_chapters()

    def on_unmount(self) -> None:
        """Remember the position, and close the file."""
        self._position.remember()
        self.playback.close()

    def _describe(self) -> None:
        """Runs in a thread."""
        jobs.describe_recording(self.playback.recording, self.post_message)

    @on(TitleReady)
    def _show_better_title(self, event: TitleReady) -> None:
        self._titles = (*self._callers, event.title)
        self.header.show(self.header.facts._replace(title=event.title, project=event.place))

    def show_frame(self) -> None:
        """Show the current frame, and wait for the next one."""
        try:
            self.pane.show(self.playback.elements())
        except SessionError as error:
            self.notify(str(error), severity="error")
        index = self.playback.frame_index
        self._timeline.show(index.frames, index.links.spans, index.links.changes)
        self._show_cursor()
        self.follow_chapters()
        self.show_status()
        self.wait()

    def show_status(self) -> None:
        """Show the state of the player, or what the timeline is pointed at, and the keys that matter now."""
        self._show_keys()
        self.show_facts()
        playback = self.playback
        status = partial(
            status_text,
            self.player,
            playback.frame,
            playback.frame_index.line_count,
            playback.lasted,
            live_word=playback.live_state(self._subagents.status()) or "",
            flags=self._flags(),
        )
        self._status.show(self._place_words or (lambda width: status(width=width)))

    def show_facts(self) -> None:
        """Show in the header what is known at this frame: model, git branch, context and cost."""
        progress, costs = self.playback.frame_index.progress, self.costs
        facts = progress.at(self.playback.line)
        self.header.show(
            self.header.facts._replace(
                git_branch=facts.git_branch or "",
                model=facts.model or "",
                context_tokens=facts.context,
                context_window=progress.contexts.window(facts.model) if costs.is_price_list_loaded else None,
                cost=costs.so_far,
            )
        )

    def _say(self, words: str) -> None:
        if words:
            self.notify(words)

    def _flags(self) -> str:
        """What is switched on, and the state of the search."""
        view = self.playback.frame_index.view
        flags = {
            "highlights": self.player.has_highlights_only,
            "screen": not view.briefs,
            "history": view.history and not view.briefs,
            "since compaction": view.briefs and not view.history,
            "thinking": self.pane.view.thinking,
            "polling": self._is_polled,
        }
        malformed = len(self.playback.frame_index.audit.issues)
        names = [*([f"{malformed} malformed"] if malformed else ()), *(name for name, is_on in flags.items() if is_on)]
        return " ".join(filter(None, (self.pending_keys, *names, self.search_bar.status())))

    def _detail_rows(self, element: ScreenElement, width: int) -> list[Strip]:
        """The rows of an unfolded element."""
        from claude_session_player.tui.widgets.parts import details_rows

        head = to_strips(draw_element(element, replace(self.pane.view, thinking=True), width, is_folded=False))
        try:
            details = element_details(self.playback.frame_index, element, self.playback.recording.resolve)
        except SessionError:  # the file cannot be read any more: show what is on the screen
            return head
        return head if details is None else details_rows(head, details, width)

    # --- frames -----------------------------------------------------------------------------------------

    def build_frames(self) -> None:
        """Build the frames of the present view, behind the screen."""
        self._name_place()
        build = jobs.follow_frames if self.playback.is_followed else jobs.build_frames
        work: WorkType[None] = partial(build, self.playback, self.post_message)  # a coroutine might never be awaited
        self.run_worker(work, exclusive=True, group="frames")

    @on(FramesChanged)
    def _show_new_frames(self, event: FramesChanged) -> None:
        self.search_bar.update_frames()
        if self._frames_source is not self.playback.frame_index:  # nothing of the old frames is left to read
            self._frames_source = self.playback.frame_index
            self.pane.go_to_end()
            self._name_place()
        self.show_frame()
        self.restore_scrolling()
        self.show_chapters()
        self._say(self._position.take_arrival())
        if self.playback.is_complete:
            self.costs.count_new(self)
        if event.notice:
            self.notify(event.notice, severity="warning")

    @on(CostCurveReady)
    def _show_costs(self, event: CostCurveReady) -> None:
        if self.costs.take(event):
            self.show_chapters()
        self.show_status()

    @on(FilesWritten)
    def _update_running(self, event: FilesWritten) -> None:
        self._subagents.read(event.changes.files)
        own = {os.path.abspath(self.playback.recording.path or "")}
        self.costs.files_written(is_own=event.changes.files == own)
        if event.changes.is_polled and not self._is_polled:
            self._is_polled = True
            self.notify(POLLING_NOTICE, severity="warning")
        self._show_running()

    def _show_running(self) -> None:
        self._subagents.show()
        self.show_status()

    # --- keys: the timeline -----------------------------------------------------------------------------

    @on(TimelineBar.Sought)
    def _seek_on_timeline(self, event: TimelineBar.Sought) -> None:
        self.player.seek_fraction(event.fraction)
        self.show_here()

    @on(TimelineBar.Chosen)
    def _seek_frame(self, event: TimelineBar.Chosen) -> None:
        self.player.seek(event.frame)
        self.show_here()

    @on(TimelineBar.Turned)
    def _step_on_timeline(self, event: TimelineBar.Turned) -> None:
        self.action_step(event.frames)

    @on(TimelineBar.Probed)
    def _name_place(self) -> None:
        """Name what is at the place now: since it was pointed at, other frames may have come there."""
        place, index = self._timeline.place, self.playback.frame_index
        is_there = place is not None and place.frame < min(self.player.count, len(index.frames))
        self._place_words = place_words(self.player, index, place) if place and is_there else None
        self.show_status()

    def action_probe(self) -> None:
        """Move over the timeline with the keys, or leave it."""
        self.set_focus(self.pane if self._timeline.has_focus else self._timeline)

    # --- where it was left, and what is searched for ------------------------------------------------------

    def action_continue_here(self) -> None:
        """Continue where the session was left the last time."""
        if self._position.left is None:
            self.notify("No position of this session is remembered.")
            return
        self._go_to_left_position()
        self.app.clear_notifications()
        self.leave_scrolled_line()
        self.show_frame()
        self._say(self._position.take_arrival())

    def _go_to_left_position(self) -> None:
        """In the view in which the session was left, as far as the frames are loaded."""
        if self._position.left is not None:
            self.show_view(self._position.left.view)
            self._position.continue_playback()

    @on(SearchBar.Changed)
    def _show_search(self) -> None:
        """Highlight the words, and show what keys do now."""
        if self.focused is None:
            self.set_focus(self.pane)
        self.pane.needles = self.search_bar.needles
        self.pane.redraw()
        self.show_status()

    @on(ScreenPane.CursorMoved)
    def _show_cursor(self) -> None:
        """Say where the cursor is, and show its element beside the session."""
        pane, element = self.pane, self.pane.element
        is_at_end = pane.is_at_end and pane.cursor == len(pane.elements) - 1
        place = "" if is_at_end else f"{pane.cursor + 1} of {len(pane.elements)}"
        if place != self._session.border_subtitle:
            self._session.border_subtitle = place
        if self.side.shown is self._element_view and element is not None:
            self._element_view.show(element)
            self.side.entitle(element_name(element), speaker_colour(element))

    @on(DescendantFocus)
    @on(ScreenPane.CursorMoved)
    def _show_keys(self) -> None:
        """Show the keys that matter now."""
        player, pane, element = self.player, self.pane, self.pane.element
        self._keys.show(
            footer_keys(
                FooterState(
                    is_typing=isinstance(self.focused, Input),
                    is_on_timeline=self._timeline.has_focus,
                    has_search=bool(self.search_bar.words),
                    is_playing=player.is_playing,
                    is_live=player.is_live,
                    is_at_end=player.is_at_end,
                    is_scrolled=not pane.is_at_end,
                    is_on_agent=isinstance(element, ToolCall) and element.tool_name in AGENTS,
                    is_on_folded=pane.is_cursor_folded,
                    is_on_unfolded=pane.is_cursor_unfolded,
                    can_go_back=self._can_go_back,
                )
            )
        )

    @on(ChapterList.Chosen)
    def _leave_chapters(self) -> None:
        """Give the keys back to the session."""
        self.set_focus(self.pane)

    # --- keys: what is shown ----------------------------------------------------------------------------

    def action_cursor(self, step: int) -> None:
        """Move the cursor."""
        self.pane.move(step)

    def action_page(self, direction: int) -> None:
        """Scroll the session's screen."""
        self.pane.scroll_page(direction)

    def action_unfold(self) -> None:
        """Unfold or fold the element at the cursor."""
        self.player.pause()
        self.pane.toggle_element()
        self.show_status()

    def action_fold_all(self, is_unfolded: bool) -> None:
        """Unfold all elements, or fold them."""
        self.pane.fold_all(is_unfolded)
        self.show_status()

    def action_side(self) -> None:
        """Show something else beside the session, or nothing."""
        if self.size.width < SIDE_WIDTH:
            self.notify(f"The side pane needs {SIDE_WIDTH} columns.")
            return
        self.side.show_next()
        self.show_chapters()
        self._show_cursor()

    def action_scroll_side(self, direction: int) -> None:
        """Scroll the element beside the session."""
        self._element_view.step(direction)

    def action_copy(self) -> None:
        """Copy the element at the cursor."""
        element = self.pane.element
        if element is None:
            return
        try:
            self.notify(copy_element(self.app, self.playback, element))
        except SessionError as error:
            self.notify(str(error), severity="error")

    def action_help(self) -> None:
        """Show all keys."""
        from claude_session_player.tui.help_screen import HelpScreen

        self.app.push_screen(HelpScreen("Player keys", (*PLAYER_KEYS, *MOTION_KEYS), LEGEND))

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
        is_paused = not (self.player.is_playing or self.player.is_live)
        nested = partial(self._make_nested, callers=self._titles, starts_paused=is_paused)
        self.player.pause()
        try:
            self.app.push_screen(nested(event.recording, self.shown_view))
        except SessionError as error:
            self.notify(str(error), severity="error")
