"""The window in which something is played: it shows what a projection says, and lets time pass."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer

from claude_session_player.errors import SessionError
from claude_session_player.live import RunningSessions
from claude_session_player.models import ScreenElement, View
from claude_session_player.player import Playback, Timing, element_details
from claude_session_player.store import AGENT_PREFIX, POLLING_NOTICE, FileChanges
from claude_session_player.tui import jobs
from claude_session_player.tui.keys import Key, KeyBar, footer_keys
from claude_session_player.tui.widgets.rows import element_rows
from claude_session_player.tui.widgets.screen_pane import ScreenPane
from claude_session_player.tui.widgets.status import SubagentBar, status_text
from claude_session_player.tui.widgets.text import TextLine
from claude_session_player.tui.widgets.timeline import TimelineBar
from claude_session_player.util.text import printable, truncate
from claude_session_player.util.times import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claude_session_player.player import Destination, Recording

_FASTEST: Final = 1 / 30
"""Seconds between two pictures, at least."""
_MESSAGE_SECONDS: Final = 4.0
_SECOND: Final = 1.0
_CALLER: Final = 24
"""Characters of a caller's title: what is played here is to be seen beside it."""
_USUAL: Final = Timing()
_TINY, _LOW = 6, 14
"""A window of fewer rows has less around what is played."""


class PlayerWindow(Screen[None]):
    """Shows one recording, frame by frame; what keys do is said by `PlayerScreen`."""

    CSS = """
    PlayerWindow.-low KeyBar, PlayerWindow.-tiny KeyBar { display: none; }
    PlayerWindow.-low SubagentBar { display: none; }
    PlayerWindow.-tiny TimelineBar, PlayerWindow.-tiny #title { display: none; }
    """

    class Developed(Message):
        """More of the film is there, and maybe something is to be said about it."""

        def __init__(self, words: str = "") -> None:
            super().__init__()
            self.words = words

    class Noticed(Message):
        """Session files near the one that is followed were written to."""

        def __init__(self, noticed: FileChanges) -> None:
            super().__init__()
            self.files = noticed.files
            self.is_polled = noticed.is_polled

    class Described(Message):
        """What the recording is called, and where it was."""

        def __init__(self, title: str, place: str) -> None:
            super().__init__()
            self.title = title
            self.place = place

    def __init__(
        self,
        recording: Recording,
        view: View | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = wall_clock,
        timing: Timing = _USUAL,
        start: Destination | None = None,
        callers: tuple[str, ...] = (),
        is_followed: bool = False,
        has_list: bool = False,
    ) -> None:
        """With `has_list`, there is a list of sessions below this window. Raises `CannotRead`."""
        super().__init__()
        self._view = (view or View()).with_queue()
        self._how: dict[str, Any] = {"clock": clock, "wall": wall, "timing": timing}
        self._wall = wall
        self._path = os.path.abspath(recording.path or "")
        self._board = RunningSessions((), in_use=[self._path])
        """What the session does, and its sub-agents; where it is followed."""
        self.projection = Playback(recording, self._view, clock, timing, is_followed=is_followed)
        self.player = self.projection.player
        self._film = self.projection.film
        """The film that is shown."""
        self._is_polled = False
        """True where the system does not tell what changes."""
        self._callers = callers
        self.can_go_back = has_list or bool(callers)
        """True where another window is below this one."""
        self.names = (*callers, recording.title)
        """Who called whom, down to what is played here."""
        self._message = ""
        self._timer: Timer | None = None
        self._silence: Timer | None = None
        """Takes the message away."""
        if start is not None:
            self.projection.go(start)

    # --- what is shown --------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """The title, what is played, the timeline, a line about it, and the keys."""
        self._title = TextLine("title")
        self.pane = ScreenPane(self._view, self._details)
        self._company = SubagentBar()
        self._bar = TimelineBar(self.player)
        self._status = TextLine("status")
        self._keys = KeyBar(*self._key_tables())
        yield from (self._title, self.pane, self._company, self._bar, self._status, self._keys)

    def _key_tables(self) -> list[Sequence[Key]]:
        """All that the footer may show here; it keeps the height that the longest of them needs."""
        return [footer_keys(has_search=search, can_go_back=self.can_go_back) for search in (False, True)]

    def on_mount(self) -> None:
        """The first portion is there at once, so that there is something to be seen."""
        recording = self.projection.recording
        self._show_title(recording.title, recording.place)
        self.run_worker(self._describe, thread=True, group="title", exit_on_error=False)
        with suppress(SessionError):  # whoever develops the rest will say so
            self.projection.develop()
        if not self.player.is_live:
            self.player.play()
        if self.projection.is_followed:
            self._board.notice([self._path], self._wall())
        self.show_frame()
        self.develop()
        if self.projection.is_followed:
            self.set_interval(_SECOND, self._show_company)

    def _show_title(self, title: str, place: str) -> None:
        self.names = (*self._callers, title)
        shown = (*(truncate(name, _CALLER) for name in self._callers), title)
        names = Text(printable(" › ".join(shown)), "bold", no_wrap=True, overflow="ellipsis")
        self._title.show(names.append(f"  {printable(place)}", style="not bold dim"))

    def _describe(self) -> None:
        """In a thread: nothing here touches a widget."""
        try:
            described = self.projection.recording.describe()
        except (SessionError, OSError):  # what there is will do
            return
        if described is not None:
            self.post_message(self.Described(*described))

    @on(Described)
    def _show_better_title(self, event: Described) -> None:
        self._show_title(event.title, event.place)

    def on_resize(self) -> None:
        """Where there is little room, what is played has it."""
        self.set_class(self.size.height < _TINY, "-tiny")
        self.set_class(self.size.height < _LOW, "-low")

    def on_unmount(self) -> None:
        """Let go of the file."""
        self.projection.close()

    def show_frame(self) -> None:
        """Show the frame at which the player is, and wait for the next one."""
        try:
            self.pane.show(self.projection.elements())
        except SessionError as error:
            self.say(str(error))
        self._bar.show(self.projection.film.frames)
        self.show_status()
        self._wait()

    def show_status(self) -> None:
        """Show what is true of the player now."""
        projection = self.projection
        self._status.show(
            status_text(
                self.player,
                projection.frame,
                projection.film.lines,
                live_word=projection.live_word(self._board.status(self._path, self._wall())),
                flags=" ".join(self.flags()),
                message=self._message,
            )
        )

    def flags(self) -> list[str]:
        """What is switched on."""
        names = {"history": self.projection.film.view.history, "thinking": self.pane.view.thinking}
        return [name for name, is_on in {**names, "polling": self._is_polled}.items() if is_on]

    def say(self, message: str) -> None:
        """Say something in the line below the timeline, for a while."""
        self.hush()
        self._message = printable(message)
        self.show_status()
        self._silence = self.set_timer(_MESSAGE_SECONDS, self._say_no_more)

    def hush(self) -> None:
        """Take back what was said: something else is asked for."""
        if self._silence is not None:
            self._silence.stop()
        self._message = ""

    def _say_no_more(self) -> None:
        self.hush()
        self.show_status()

    def _details(self, element: ScreenElement, width: int) -> list[Strip]:
        from claude_session_player.tui.widgets.parts import details_rows

        head = element_rows(element, replace(self.pane.view, thinking=True), width)
        try:
            details = element_details(self.projection.film, element, self.projection.recording.resolve)
        except SessionError:  # the file cannot be read any more: what is known is shown
            return head
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
            self.show_frame()
        else:
            self.show_status()
            self._wait()

    # --- the film -------------------------------------------------------------------------------------

    def develop(self) -> None:
        """Begin to take in the film."""
        projection = self.projection
        if projection.is_followed:
            work = jobs.follow_frames(projection, self._tell, self._notice)
        else:
            work = jobs.build_frames(projection, self._tell)
        self.run_worker(work, exclusive=True, group="film")

    def _tell(self, words: str) -> None:
        self.post_message(self.Developed(words))

    def film_has_changed(self) -> None:
        """More of the film is there, or another one: for those who keep something of it."""

    def _notice(self, noticed: FileChanges) -> None:
        self.post_message(self.Noticed(noticed))

    @on(Noticed)
    def _look_at_company(self, event: Noticed) -> None:
        """Files of the session, or of others, were written to: the board reads what was appended to ours."""
        agents = {path for path in event.files if os.path.basename(path).startswith(AGENT_PREFIX)}
        self._board.notice(agents | (event.files & {self._path}), self._wall())
        if event.is_polled and not self._is_polled:
            self._is_polled = True
            self.say(POLLING_NOTICE)
        self._show_company()

    def _show_company(self) -> None:
        now = self._wall()
        self._company.show([row for row in self._board.rows(now) if row.belongs_to(self._path)], now)
        self.show_status()  # time alone can make a session idle

    @on(Developed)
    def _show_more(self, event: Developed) -> None:
        self.film_has_changed()
        if self._film is not self.projection.film:  # of the film before, there is nothing to be seen any more
            self._film = self.projection.film
            self.pane.go_to_end()
        self.show_frame()
        if event.words:
            self.say(event.words)
