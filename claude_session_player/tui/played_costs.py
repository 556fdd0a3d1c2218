"""What a played session has cost so far, counted in a thread behind the player."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message
from textual.worker import get_current_worker

from claude_session_player.errors import SessionError
from claude_session_player.util.humanize import cost_so_far

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from claude_session_player.player import CostCounter, CostCurve, Playback, ProgressLog


@dataclass
class CostCurveReady(Message, bubble=False):
    """The cost until each line of the log of an index."""

    log: ProgressLog
    curve: CostCurve | None
    """`None` if it cannot be counted."""


class PlayedCosts:
    """The cost until each line of a playback. Its owner starts the count, and hands over the message that ends it."""

    def __init__(self, playback: Playback) -> None:
        self._playback = playback
        self._counter: CostCounter | None = None
        self.curve: CostCurve | None = None
        """The cost until each line; `None` until it is known."""
        self.is_price_list_loaded = False
        """True once the list of prices is loaded, which also has the windows of models."""
        self._is_outdated = False
        """True if files of sub-agents were written to since they were counted."""

    @property
    def so_far(self) -> str:
        """The cost until the current frame; empty if it is not known yet, or nothing was used."""
        return "" if self.curve is None else cost_so_far(*self.curve.until(self._playback.last_line))

    def count(self, node: DOMNode, *, look_up: bool = True) -> None:
        """Count what is indexed in a thread of this node, which gets `CostCurveReady`.

        Without `look_up`, sub-agents that were counted before stay as they were.
        """
        index = self._playback.frame_index

        def work() -> None:
            from claude_session_player.player import CostCounter  # what it needs of prices takes time to load
            from claude_session_player.stats import context_window

            worker, is_first = get_current_worker(), self._counter is None
            self._counter = counter = self._counter or CostCounter(self._playback.recording)
            curve: CostCurve | None = None
            with suppress(SessionError, OSError):  # then the cost is unknown
                curve = counter.count(index, look_up=look_up or is_first)
            context_window(None)  # it loads the list
            if not worker.is_cancelled:
                node.post_message(CostCurveReady(index.progress, curve))

        node.run_worker(work, thread=True, exclusive=True, group="costs", exit_on_error=False)

    def count_new(self, node: DOMNode) -> None:
        """Count what was added to the index, and sub-agents only if they never were."""
        self.count(node, look_up=self.curve is None)

    def take(self, event: CostCurveReady) -> bool:
        """Take over what was counted; false if nothing was, or it belongs to another index."""
        self.is_price_list_loaded = True
        if event.curve is None or event.log is not self._playback.frame_index.progress:
            return False
        self.curve = event.curve
        return True

    def files_written(self, is_own: bool) -> None:
        """Files were written to: the session's own, or also those of sub-agents."""
        self._is_outdated = self._is_outdated or not is_own

    def count_outdated(self, node: DOMNode) -> None:
        """Count sub-agents that were written to; called now and then while a session is followed."""
        if self._is_outdated and self._playback.is_complete:
            self._is_outdated = False
            self.count(node)
