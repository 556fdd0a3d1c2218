"""The player: every key and what it does. What is shown, and how, is said by the windows that it is made of."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import App
from textual.message import Message

from claude_session_player.errors import CannotRead, SessionError
from claude_session_player.formatter import element_text
from claude_session_player.models import ToolCall, View
from claude_session_player.player import SPEEDS, Destination, Pace, call_details
from claude_session_player.tools import AGENTS
from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.keys import KEYS, HelpScreen, bindings
from claude_session_player.tui.player_search import SearchingWindow
from claude_session_player.tui.widgets.timeline import LEGEND, TimelineBar
from claude_session_player.util.humanize import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.line_audit import LineAudit
    from claude_session_player.player import Recording, SubagentRecordings, Timing
    from claude_session_player.store import Session, Store


class PlayerScreen(SearchingWindow):
    """Plays one recording; sub-agents are played by another one above it."""

    BINDINGS: ClassVar = bindings(KEYS)

    class AgentsKnown(Message):
        """Which sub-agents there are, for a call that somebody wants to step into; `None` where no call has any."""

        def __init__(self, call: str | None, agents: SubagentRecordings | SessionError) -> None:
            super().__init__()
            self.call = call
            self.agents = agents

    def _go_there(self) -> None:
        """Somebody decided where to be: nothing else is waited for, and the view is at the end of this frame."""
        self.projection.forget_destination()
        self._is_looking = False
        self.hush()
        self.pane.go_to_end()
        self.show_frame()

    # --- keys: time -----------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause, or go on. A pause leaves the view where somebody reads; going on returns to what is played."""
        is_running = self.player.is_playing or self.player.is_live
        self.player.toggle()
        if is_running:
            self.hush()
            self.show_frame()
        else:
            self._go_there()

    def action_step(self, frames: int) -> None:
        """Go some frames forwards or backwards."""
        self.player.step(frames)
        self._go_there()

    def action_chapter(self, direction: int) -> None:
        """Go to the next prompt, or to the one before."""
        self._go_there()
        if not self.player.chapter(direction):
            self.say("there is no prompt further on" if direction > 0 else "this is the first prompt")
        self.show_frame()

    def action_speed(self, number: int) -> None:
        """Play at one of the speeds."""
        self.player.set_speed(SPEEDS[number])
        self.show_frame()

    def action_faster(self, steps: int) -> None:
        """Play faster, or slower."""
        self.player.change_speed(steps)
        self.show_frame()

    def action_real_time(self) -> None:
        """With all pauses, or without."""
        self._toggle_pace(Pace.REAL)

    def action_paced(self) -> None:
        """As long as the text needs, or as it was."""
        self._toggle_pace(Pace.PACED)

    def _toggle_pace(self, pace: Pace) -> None:
        self.player.set_pace(Pace.CAPPED if self.player.pace is pace else pace)
        self.show_frame()

    def action_home(self) -> None:
        """Go to the first frame."""
        self.player.seek(0)
        self._go_there()

    def action_end(self) -> None:
        """Return to what is played now, where somebody has scrolled away from it; else go to the last frame.

        The end of a session that is followed is the present, so that both are the same.
        """
        if self.pane.is_at_end or self.projection.is_followed:
            self.player.end()
        self._go_there()

    @on(TimelineBar.Sought)
    def _seek_on_timeline(self, event: TimelineBar.Sought) -> None:
        self.player.seek_fraction(event.fraction)
        self._go_there()

    def action_history(self) -> None:
        """Keep what was before a compaction, or not."""
        self.pane.go_to_end()
        self.projection.set_history(not self.projection.frame_index.view.history)
        self.forget_search()
        self.develop()

    # --- keys: what is shown --------------------------------------------------------------------------

    def action_thinking(self) -> None:
        """Show thoughts, or not."""
        self.pane.view = replace(self.pane.view, thinking=not self.pane.view.thinking)
        self.pane.redraw(anew=True)
        self.show_status()

    def action_cursor(self, step: int) -> None:
        """Move the cursor."""
        self.pane.move(step)

    def action_page(self, direction: int) -> None:
        """Scroll what is shown."""
        self.pane.scroll_page(direction)

    def action_expand(self) -> None:
        """All of the element at the cursor, or no longer."""
        self.player.pause()
        self.pane.fold()
        self.show_status()

    def action_copy(self) -> None:
        """Copy the element at the cursor."""
        element = self.pane.element
        if element is None:
            return
        text = element_text(element, View.full(thinking=True))
        if isinstance(element, ToolCall) and (reply := call_details(self.projection.frame_index, element).reply()):
            text = reply.text
        self.app.copy_to_clipboard(text)
        self.say(f"copied {plural(len(text), 'character')}")

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen("Keys of the player", KEYS, LEGEND))

    def action_back(self) -> None:
        """Look for nothing any more; else go back to whoever called this sub-agent, or to the list of sessions."""
        if self.search is not None:
            self.forget_search()
        elif self.can_go_back:
            self.dismiss()
        else:
            self.say("nothing to go back to: q quits")

    # --- keys: sub-agents -------------------------------------------------------------------------------

    def action_agent(self) -> None:
        """Step into the sub-agent of a call, or back to whoever called this one."""
        calls = self._calls()
        if calls:
            self.run_worker(lambda: self._look_for_agents(calls), thread=True, exclusive=True, group="agents")
        else:
            self._find_no_agent()

    def _find_no_agent(self) -> None:
        if self._callers:
            self.dismiss()
        else:
            self.say("there is no call of a sub-agent here")

    def _calls(self) -> list[ToolCall]:
        """The call at the cursor, and, where nobody called this session, those before it, the last one first."""
        elements, cursor = self.pane.elements, self.pane.cursor
        first = cursor if self._callers else 0
        near = elements[first : cursor + 1][::-1]
        return [element for element in near if isinstance(element, ToolCall)]

    def _look_for_agents(self, calls: list[ToolCall]) -> None:
        """In a thread: nothing here touches a widget. Any tool can start a sub-agent, so all of them are asked for."""
        try:
            agents: SubagentRecordings | SessionError = self.projection.recording.find_subagents()
        except SessionError as error:
            agents = error
        except OSError as error:
            agents = CannotRead(str(error))
        known = () if isinstance(agents, SessionError) else agents
        call = next((one for one in calls if one.id in known or one.tool_name in AGENTS), None)
        self.post_message(self.AgentsKnown(call.id or "" if call is not None else None, agents))

    @on(AgentsKnown)
    def _step_in(self, event: AgentsKnown) -> None:
        if not self.is_current:  # somebody is in there already
            return
        if isinstance(event.agents, SessionError):
            self.say(str(event.agents))
            return
        if event.call is None:
            self._find_no_agent()
            return
        found = event.agents.get(event.call)
        if not found:
            self.say("of this sub-agent, nothing but its answer is known")
            return
        self.player.pause()
        try:
            screen = PlayerScreen(
                found[0], self._view, callers=self.names, is_followed=self.projection.is_followed, **self._how
            )
        except SessionError as error:
            self.say(str(error))
            return
        self.app.push_screen(screen)


class PlayerApp(TerminalApp[None]):
    """Shows one player."""

    def __init__(self, make_screen: Callable[[], PlayerScreen]) -> None:
        """Raises `CannotRead`, before the terminal is taken."""
        super().__init__()
        self._first = make_screen()

    @property
    def account(self) -> LineAudit:
        """What became of the lines that were read."""
        return self._first.projection.frame_index.audit

    def on_mount(self) -> None:
        """Show the player."""
        self.push_screen(self._first)


def run_player(
    recording: Recording, view: View, timing: Timing, start: Destination | None = None, *, is_followed: bool = False
) -> tuple[int, LineAudit]:
    """Play a recording on the whole terminal until somebody has seen enough; gives the exit code and the account.

    Raises `CannotRead`.
    """
    app = PlayerApp(partial(PlayerScreen, recording, view, timing=timing, start=start, is_followed=is_followed))
    app.run()
    return app.return_code or 0, app.account


def open_player(app: App[Any], session: Session, *, live: bool, open_store: Callable[[], Store]) -> None:
    """Play a session, or follow it, in a window over the present one. Raises `SessionError`, also where it is gone."""
    if not os.path.exists(session.path):
        raise CannotRead("this session is no more")
    from claude_session_player.player import recording_of_session

    recording = recording_of_session(session, open_store)
    app.push_screen(PlayerScreen(recording, is_followed=live and not session.is_inline, has_list=True))
