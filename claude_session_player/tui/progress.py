"""What a played session has cost so far, and where a person left it: looked up behind the player, and told to it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message
from textual.worker import get_current_worker

from claude_session_player.errors import SessionError
from claude_session_player.player import LeftPosition, PositionStore, line_position
from claude_session_player.tui.playback_screen import PlaybackScreen
from claude_session_player.tui.widgets.timeline import fraction_of
from claude_session_player.util.humanize import cost_so_far

if TYPE_CHECKING:
    from claude_session_player.player import CostCounter, CostCurve, LineFacts, ProgressLog
    from claude_session_player.tui.widgets.header import Header


@dataclass
class CostCurveReady(Message, bubble=False):
    """The cost until each line of the log of an index."""

    log: ProgressLog
    costs: CostCurve | None
    """`None` if they cannot be counted."""


class ProgressScreen(PlaybackScreen):
    """A player that knows the facts of each line, the cost so far, and where the session was left."""

    header: Header

    def __init__(self) -> None:
        super().__init__()
        self.costs: CostCurve | None = None
        """The cost until each line; `None` until it is known."""
        self.are_windows_listed = False
        """True once the list of prices is loaded, which also has the windows of models."""
        self.agents_changed = False
        """True if files of sub-agents were written to since they were counted."""
        self._cost_counter: CostCounter | None = None
        self._positions: PositionStore | None = None
        self._left: LeftPosition | None = None
        """Where the session was left the last time."""
        self._mentions_left = False
        self._option = ""
        """The option of the command that continues there; empty if the player was not opened by one."""
        self._is_continuing = False
        """True until the position is reached at which the session is continued."""

    # --- what is known here -------------------------------------------------------------------------------

    @property
    def facts(self) -> LineFacts:
        """Model, git branch, context and tokens at the current frame."""
        return self.playback.frame_index.progress.at(self._line)

    @property
    def cost(self) -> str:
        """The cost until the current frame; empty if it is not known yet, or nothing was used."""
        return "" if self.costs is None else cost_so_far(*self.costs.until(self._last_line))

    def show_facts(self) -> None:
        """Show in the header what is known at this frame."""
        facts, contexts = self.facts, self.playback.frame_index.progress.contexts
        self.header.show(
            self.header.facts._replace(
                git_branch=facts.git_branch or "",
                model=facts.model or "",
                context_tokens=facts.context,
                context_window=contexts.window(facts.model) if self.are_windows_listed else None,
                cost=self.cost,
            )
        )

    @property
    def _line(self) -> int:
        return self.playback.frame.line if self.playback.frame else 0

    @property
    def _last_line(self) -> int:
        """The line before the next frame: what the lines in between cost belongs to this frame."""
        index, position = self.playback.frame_index, self.player.position
        return index.line_count if self.player.is_at_end else index.frames[position + 1].line - 1

    # --- cost ---------------------------------------------------------------------------------------------

    def count_costs(self, *, look_up: bool = True) -> None:
        """Count the cost of what is indexed, in a thread; without `look_up`, sub-agents stay as they were."""
        index = self.playback.frame_index

        def count() -> None:
            from claude_session_player.player import CostCounter  # what it needs of prices takes time to load
            from claude_session_player.stats import context_window

            worker, is_first = get_current_worker(), self._cost_counter is None
            self._cost_counter = counter = self._cost_counter or CostCounter(self.playback.recording)
            costs: CostCurve | None = None
            with suppress(SessionError, OSError):  # then the cost is unknown
                costs = counter.count(index, look_up=look_up or is_first)
            context_window(None)  # it loads the list
            if not worker.is_cancelled:
                self.post_message(CostCurveReady(index.progress, costs))

        self.run_worker(count, thread=True, exclusive=True, group="costs", exit_on_error=False)

    @on(CostCurveReady)
    def _take_costs(self, event: CostCurveReady) -> None:
        self.are_windows_listed = True
        if event.costs is not None and event.log is self.playback.frame_index.progress:
            self.costs = event.costs
            self.show_chapters()
        self.show_status()

    def look_up_costs_again(self) -> None:
        """Count the cost of sub-agents that were written to; called now and then while a session is followed."""
        if self.agents_changed and self.playback.is_complete:
            self.agents_changed = False
            self.count_costs()

    def show_chapters(self) -> None:
        """Show what is new in the lists of chapters."""
        raise NotImplementedError

    # --- where the session was left -----------------------------------------------------------------------

    @property
    def view_name(self) -> str:
        """The name of the view that is shown."""
        raise NotImplementedError

    def show_view(self, name: str) -> None:
        """Show the view with this name; an unknown name changes nothing."""
        raise NotImplementedError

    def use_positions(
        self, positions: PositionStore, *, continues: bool = False, mentions: bool = True, option: str = ""
    ) -> None:
        """Remember where the session is left; with `continues`, begin where it was left the last time.

        With `mentions`, the player says at the beginning where it was left, and which `option` continues there.
        """
        path = self.playback.recording.path
        if path is None or self.playback.is_followed:
            return
        self._positions, self._left = positions, positions.find(os.path.abspath(path))
        self._mentions_left, self._option = mentions, option
        if continues:
            self._continue()

    def mention_left_position(self) -> None:
        """Say where the session was left, if it begins anew."""
        if self._mentions_left and self._left is not None and not self._is_continuing:
            where = f"line {self._left.line}, {self._left.percent}%"
            option = f", or use {self._option}" if self._option else ""
            self.notify(f"You left this session at {where}: press R to continue there{option}.")

    def action_continue_here(self) -> None:
        """Continue where the session was left the last time."""
        if self._left is None:
            self.notify("No position of this session is remembered.")
            return
        self._continue()
        self.show_here_once_loaded()

    def _continue(self) -> None:
        if self._left is not None:
            self._is_continuing = True
            self.show_view(self._left.view)
            self.player.set_highlights(self._left.highlights)
            self.playback.go_to(line_position(self._left.line))

    def show_here_once_loaded(self) -> None:
        """Show the frame at which the session is continued, as far as it is loaded."""
        self.app.clear_notifications()
        self.pane.go_to_end()
        self.show_frame()
        self.mention_arrival()

    def mention_arrival(self) -> None:
        """Say that the session is continued, once the frames are loaded that far."""
        if not self._is_continuing or self._left is None or not self.playback.has_arrived:
            return
        self._is_continuing = False
        percent = self._left.percent if self._line == self._left.line else round(fraction_of(self.player) * 100)
        self.notify(f"Continued at line {self._line}, {percent}%; Home goes to the beginning.")

    def remember_position(self) -> None:
        """Remember where the session is left; at its end there is nothing to continue, and at its beginning nothing."""
        path = self.playback.recording.path
        if self._positions is None or path is None or self.player.position <= 0 or self._is_continuing:
            return
        if self.player.is_at_end and self.playback.is_complete:
            self._positions.forget(os.path.abspath(path))
            return
        percent, highlights = round(fraction_of(self.player) * 100), self.player.has_highlights_only
        self._positions.remember(os.path.abspath(path), LeftPosition(self._line, percent, self.view_name, highlights))
