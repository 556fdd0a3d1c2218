"""The player's window. It shows what a projection says, and hands keys and time over to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from claude_session_player.errors import SessionError
from claude_session_player.formatter import element_text
from claude_session_player.models import ScreenElement, ToolCall
from claude_session_player.play.destination import HOW, Destination, destination
from claude_session_player.play.details import call_of, details_of
from claude_session_player.play.player import Pace
from claude_session_player.play.projection import Projection
from claude_session_player.play.recording import Agents, Recording
from claude_session_player.play.search import Search
from claude_session_player.play.timeline import IDLE, SPEEDS
from claude_session_player.tools import AGENTS
from claude_session_player.tui.keys import HelpScreen, KeyBar, bindings
from claude_session_player.tui.pane import ScreenPane
from claude_session_player.tui.player_keys import KEYS
from claude_session_player.tui.rows import element_rows
from claude_session_player.tui.status import status_text
from claude_session_player.tui.timeline_bar import LEGEND, TimelineBar
from claude_session_player.view import View

_FASTEST: Final = 1 / 30
"""Seconds between two pictures, at least."""
_MESSAGE_SECONDS: Final = 4.0
_TINY, _LOW = 6, 14
"""A window of fewer rows has less around what is played."""
_GO, _FIND = "go", "find"


class TextLine(Widget):
    """One line of text."""

    DEFAULT_CSS = "TextLine { height: 1; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = Text()

    def show(self, text: Text) -> None:
        """Show this text."""
        self._text = text
        self.refresh()

    def render(self) -> Text:
        """The text."""
        return self._text


class PlayerScreen(Screen[None]):
    """Plays one recording; sub-agents are played by another one above it."""

    CSS = """
    PlayerScreen.-low KeyBar, PlayerScreen.-tiny KeyBar { display: none; }
    PlayerScreen.-tiny TimelineBar, PlayerScreen.-tiny #title { display: none; }
    """
    BINDINGS: ClassVar = bindings(KEYS)

    class Developed(Message):
        """More of the film is there."""

    class Found(Message):
        """A search went on."""

    class AgentsKnown(Message):
        """Which sub-agents there are, for a call that somebody wants to step into."""

        def __init__(self, call: str | None, agents: Agents | SessionError) -> None:
            super().__init__()
            self.call = call
            self.agents = agents

    def __init__(
        self,
        recording: Recording,
        view: View | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        idle: float | None = IDLE,
        start: Destination | None = None,
        callers: tuple[str, ...] = (),
    ) -> None:
        """Raises `CannotRead`."""
        super().__init__()
        self._view = view or View()
        self._how: dict[str, object] = {"clock": clock, "idle": idle}
        self._projection = Projection(recording, self._view, clock, idle=idle)
        self.player = self._projection.player
        self._callers = callers
        self._search: Search | None = None
        self._message = ""
        self._timer: Timer | None = None
        if start is not None:
            self._projection.go(start)

    # --- what is shown --------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """The title, what is played, the timeline, a line about it, and the keys."""
        self._title = TextLine("title")
        self._pane = ScreenPane(self._view, self._details)
        self._bar = TimelineBar(self.player)
        self._status = TextLine("status")
        yield from (self._title, self._pane, self._bar, self._status, KeyBar(KEYS))

    def on_mount(self) -> None:
        """The first portion is there at once, so that there is something to be seen."""
        recording = self._projection.recording
        title = Text(" › ".join((*self._callers, recording.title)), "bold", no_wrap=True, overflow="ellipsis")
        self._title.show(title.append(f"  {recording.place}", style="not bold dim"))
        self._projection.develop()
        self.player.play()
        self._show()
        self._develop()

    def on_resize(self) -> None:
        """Where there is little room, what is played has it."""
        self.set_class(self.size.height < _TINY, "-tiny")
        self.set_class(self.size.height < _LOW, "-low")

    def on_unmount(self) -> None:
        """Let go of the file."""
        self._projection.film.tape.close()

    def _show(self) -> None:
        """Show the frame at which the player is, and wait for the next one."""
        self._pane.show(self._projection.elements())
        self._bar.show(self._projection.film.frames)
        self._show_status()
        self._wait()

    def _show_status(self) -> None:
        names = {
            "history": self._projection.has_history,
            "thinking": self._pane.view.thinking,
            self._hits(): self._search is not None,
        }
        flags = " ".join(name for name, is_on in names.items() if is_on)
        film = self._projection.film
        self._status.show(
            status_text(self.player, self._projection.frame, film.lines, flags=flags, message=self._message)
        )

    def _hits(self) -> str:
        if self._search is None:
            return ""
        number = self._search.number(self.player.position)
        return f"/{self._search.words} {number or '-'}/{len(self._search.hits)}{'' if self._search.is_over else '…'}"

    def say(self, message: str) -> None:
        """Say something in the line below the timeline, for a while."""
        self._message = message
        self._show_status()
        self.set_timer(_MESSAGE_SECONDS, self._say_no_more)

    def _say_no_more(self) -> None:
        self._message = ""
        self._show_status()

    def _details(self, element: ScreenElement, width: int) -> list[Strip]:
        from claude_session_player.tui.parts import details_rows

        head = element_rows(element, replace(self._pane.view, thinking=True), width)
        details = details_of(self._projection.film, element, self._projection.recording.resolve)
        return head if details is None else details_rows(head, details, width)

    # --- time -----------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Be woken when the next frame is due."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        due = self.player.due()
        if due is not None:
            self._timer = self.set_timer(max(due, _FASTEST), self.tick)

    def tick(self) -> None:
        """Look at the clock."""
        if self.player.tick():
            self._show()
        else:
            self._show_status()
            self._wait()

    # --- the film -------------------------------------------------------------------------------------

    def _develop(self) -> None:
        self.run_worker(self._developing(), exclusive=True, group="film")

    async def _developing(self) -> None:
        """Take in the whole film, portion by portion, and let everything else happen in between."""
        projection, film = self._projection, self._projection.film
        while projection.film is film and projection.develop():
            self.post_message(self.Developed())
            await asyncio.sleep(0)
        if projection.film is film:
            projection.finish()
            self.post_message(self.Developed())

    def on_player_screen_developed(self) -> None:
        """There is more to be seen."""
        self._show()

    # --- keys: time -----------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause, or go on."""
        self.player.toggle()
        self._show()

    def action_step(self, frames: int) -> None:
        """Go some frames forwards or backwards."""
        self.player.step(frames)
        self._show()

    def action_chapter(self, direction: int) -> None:
        """Go to the next prompt, or to the one before."""
        if not self.player.chapter(direction):
            self.say("there is no prompt further on" if direction > 0 else "this is the first prompt")
        self._show()

    def action_speed(self, number: int) -> None:
        """Play at one of the speeds."""
        self.player.set_speed(SPEEDS[number])
        self._show()

    def action_faster(self, steps: int) -> None:
        """Play faster, or slower."""
        self.player.change_speed(steps)
        self._show()

    def action_real_time(self) -> None:
        """With all pauses, or without."""
        self._toggle_pace(Pace.REAL)

    def action_paced(self) -> None:
        """As long as the text needs, or as it was."""
        self._toggle_pace(Pace.PACED)

    def _toggle_pace(self, pace: Pace) -> None:
        self.player.set_pace(Pace.CAPPED if self.player.pace is pace else pace)
        self._show()

    def action_home(self) -> None:
        """Go to the first frame."""
        self.player.seek(0)
        self._show()

    def action_end(self) -> None:
        """Go to the last frame."""
        self.player.end()
        self._show()

    @on(TimelineBar.Sought)
    def _seek_on_timeline(self, event: TimelineBar.Sought) -> None:
        self.player.seek_fraction(event.fraction)
        self._show()

    def action_history(self) -> None:
        """Keep what was before a compaction, or not."""
        self._projection.keep_history(not self._projection.has_history)
        self._search = None
        self._develop()

    # --- keys: what is shown --------------------------------------------------------------------------

    def action_thinking(self) -> None:
        """Show thoughts, or not."""
        self._pane.view = replace(self._pane.view, thinking=not self._pane.view.thinking)
        self._pane.redraw(anew=True)
        self._show_status()

    def action_cursor(self, step: int) -> None:
        """Move the cursor."""
        self._pane.move(step)

    def action_page(self, direction: int) -> None:
        """Scroll what is shown."""
        self._pane.scroll_page(direction)

    def action_expand(self) -> None:
        """All of the element at the cursor, or no longer."""
        self.player.pause()
        self._pane.fold()
        self._show_status()

    def action_copy(self) -> None:
        """Copy the element at the cursor."""
        element = self._pane.element
        if element is None:
            return
        text = element_text(element, View.full(thinking=True))
        if isinstance(element, ToolCall) and (reply := call_of(self._projection.film, element).reply()):
            text = reply.text
        self.app.copy_to_clipboard(text)
        self.say(f"copied {len(text):,} characters")

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen("Keys of the player", KEYS, LEGEND))

    def action_leave(self) -> None:
        """Go back to where the player was called from; that may be the shell."""
        self.dismiss()

    # --- keys: going to a place, and searching ----------------------------------------------------------

    def action_goto(self) -> None:
        """Ask where to go."""
        self._ask(_GO, f"go to {HOW}")

    def action_search(self) -> None:
        """Ask what to look for."""
        self._ask(_FIND, "search", self._search.words if self._search else "")

    def _ask(self, about: str, hint: str, text: str = "") -> None:
        from claude_session_player.tui.question import Question

        question = Question(about, hint, text)
        self.mount(question, after=self._status)
        question.focus()

    def on_question_answered(self, event: Message) -> None:
        """Somebody answered, or gave up."""
        from claude_session_player.tui.question import Question

        assert isinstance(event, Question.Answered)
        self.query(Question).remove()
        self._pane.focus()
        if event.text.strip():
            {_GO: self._go, _FIND: self._find}[event.about](event.text)

    def _go(self, text: str) -> None:
        try:
            self._projection.go(destination(text))
        except SessionError as error:
            self.say(str(error))
        self._show()

    def _find(self, words: str) -> None:
        self._search = Search(self._projection.film, words)
        self._pane.needle = words
        self.player.pause()
        self.run_worker(self._searching(self._search), exclusive=True, group="search")

    async def _searching(self, search: Search) -> None:
        """Look through the whole film, and go to the first hit as soon as there is one."""
        is_shown = False
        while self._search is search and not search.is_over:
            search.go_on()
            if not is_shown and (search.after(self.player.position - 1) or 0) >= self.player.position and search.hits:
                is_shown = True
                self.post_message(self.Found())
            await asyncio.sleep(0)
        self.post_message(self.Found())

    def on_player_screen_found(self) -> None:
        """There are hits, or there are none."""
        if self._search is None:
            return
        if self._search.number(self.player.position) is None:
            self.action_hit(1)
        self._pane.redraw()
        self._show_status()

    def action_hit(self, direction: int) -> None:
        """Go to the next hit, or to the one before."""
        search = self._search
        if search is None:
            self.say("search first, with /")
            return
        frame = search.after(self.player.position) if direction > 0 else search.before(self.player.position)
        if frame is None:
            self.say(f"{search.words!r} is nowhere")
            return
        self.player.pause()
        self.player.seek(frame)
        self._show()
        self._point_at_hit(search)

    def _point_at_hit(self, search: Search) -> None:
        """Put the cursor on the element that has the hit, with all that it has where else nothing would be seen."""
        line = self._projection.film.frames[self.player.position].line
        elements = self._projection.elements()
        for number in range(len(elements) - 1, -1, -1):
            element = elements[number]
            if line in (element.line, getattr(element, "result_line", None)):
                if search.words.lower() not in element_text(element, self._pane.view).lower():
                    self._pane.unfold(number)
                self._pane.stand(number)
                return

    # --- keys: sub-agents -------------------------------------------------------------------------------

    def action_agent(self) -> None:
        """Step into the sub-agent of a call, or back to whoever called this one."""
        call = self._agent_call()
        if call is None and self._callers:
            self.dismiss()
        elif call is None:
            self.say("there is no call of a sub-agent here")
        else:
            self.run_worker(lambda: self._look_for_agents(call.id), thread=True, exclusive=True, group="agents")

    def _agent_call(self) -> ToolCall | None:
        """The call of a sub-agent at the cursor, or, where nobody called this session, the last one before it."""
        elements = self._projection.elements()
        at = self._pane.cursor
        for number in range(at, -1, -1):
            element = elements[number]
            if isinstance(element, ToolCall) and element.tool_name in AGENTS:
                return element
            if self._callers:
                return None
        return None

    def _look_for_agents(self, call: str | None) -> None:
        """In a thread: nothing here touches a widget."""
        try:
            agents: Agents | SessionError = self._projection.recording.agents()
        except SessionError as error:
            agents = error
        self.post_message(self.AgentsKnown(call, agents))

    def on_player_screen_agents_known(self, event: AgentsKnown) -> None:
        """Step into the sub-agent, where there is one."""
        if isinstance(event.agents, SessionError):
            self.say(str(event.agents))
            return
        found = event.agents.get(event.call or "")
        if not found:
            self.say("of this sub-agent, nothing but its answer is known")
            return
        self.player.pause()
        callers = (*self._callers, self._projection.recording.title)
        try:
            self.app.push_screen(PlayerScreen(found[0], self._view, callers=callers, **self._how))  # type: ignore[arg-type]
        except SessionError as error:
            self.say(str(error))
