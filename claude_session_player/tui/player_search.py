"""The player's search bar: a line for a position or for search words, and the search for these words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from claude_session_player.player import POSITION_HINT, FrameSearch
from claude_session_player.tui.jobs import SearchAdvanced, search_frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.player import Playback


class SearchBar(Widget):
    """Asks for a position or for words, and moves the player to the frames in which the words occur.

    It takes no space unless something is being typed. Its owner shows what `Changed` and `MatchReached` report.
    """

    DEFAULT_CSS = """
    SearchBar { height: auto; display: none; }
    SearchBar > Input { height: 1; border: none; padding: 0; background: ansi_default; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    @dataclass
    class PositionEntered(Message):
        """A position was typed."""

        text: str

    class Changed(Message):
        """The line was closed, or the search began, advanced or ended."""

    class MatchReached(Message):
        """The player is at a match."""

    def __init__(self, playback: Playback) -> None:
        super().__init__()
        self._playback = playback
        self._search: FrameSearch | None = None
        self._awaits_match = False
        """True until the first match of a search is shown, or there is none."""
        self._line = Input(compact=True)
        self._accept: Callable[[str], None] = self.start
        """What is done with the text of the line."""

    def compose(self) -> ComposeResult:
        """The line for what is typed."""
        yield self._line

    # --- the line ---------------------------------------------------------------------------------------

    @property
    def is_typing(self) -> bool:
        """True while a position or words are typed."""
        return self.is_attached and self.screen.focused is self._line

    def ask_position(self) -> None:
        """Ask for a position."""
        self._ask(self._post_position, POSITION_HINT)

    def ask_words(self) -> None:
        """Ask for words; those of the present search are proposed."""
        self._ask(self.start, "search", self.words)

    def _ask(self, accept: Callable[[str], None], hint: str, text: str = "") -> None:
        """The line has the focus at once, so that it gets whatever is typed next."""
        self._accept, self._line.placeholder, self._line.value = accept, hint, text
        self.display = True
        self.screen.set_focus(self._line)

    @on(Input.Submitted)
    def _take_answer(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_close()
        if event.value.strip():
            self._accept(event.value)

    def action_close(self) -> None:
        """Close the line. It loses the focus at once, so that the next key does not go to it."""
        self.display = False
        self.screen.set_focus(None)
        self.post_message(self.Changed())

    def _post_position(self, text: str) -> None:
        self.post_message(self.PositionEntered(text))

    # --- the search -------------------------------------------------------------------------------------

    @property
    def words(self) -> str:
        """What is searched for; empty if there is no search."""
        return self._search.words if self._search else ""

    def status(self) -> str:
        """The words, and which of how many matches is shown."""
        search = self._search
        if search is None:
            return ""
        number = search.number(self._playback.player.position) or "-"
        more = "" if search.is_complete else "…"
        return f"/{search.words} {number}/{len(search.hits)}{more}"

    def start(self, words: str) -> None:
        """Search for words, and go to their first match from here on."""
        self.app.clear_notifications()
        self._search = FrameSearch(self._playback.frame_index, words)
        self._awaits_match = True
        self._hold_player()
        self.post_message(self.Changed())
        self._search_on(self._search)

    def end(self) -> None:
        """End the search."""
        self._search, self._awaits_match = None, False
        self.post_message(self.Changed())

    def stop_waiting(self) -> None:
        """Do not go to the first match any more: the viewer went elsewhere."""
        self._awaits_match = False

    def update_frames(self) -> None:
        """Search new frames, too. The matches in replaced frames are void, so that their search ends."""
        if self._search is not None and self._search.frame_index is not self._playback.frame_index:
            self.end()
        elif self._search is not None and not self._search.is_complete:
            self._search_on(self._search)
        elif self._awaits_match:
            self._show_matches()

    def _search_on(self, search: FrameSearch) -> None:
        work = search_frames(search, lambda: self._is_current(search), self.post_message)
        self.run_worker(work, exclusive=True, group="search")

    def _is_current(self, search: FrameSearch) -> bool:
        return self._search is search and search.frame_index is self._playback.frame_index

    @on(SearchAdvanced)
    def _take_matches(self, event: SearchAdvanced) -> None:
        self._show_matches()
        if event.notice:
            self.notify(event.notice, severity="error")

    def _show_matches(self) -> None:
        """Report how many matches there are; go to the first one as soon as it is known."""
        search, position = self._search, self._playback.player.position
        if search is None:
            return
        is_known = search.has_after(position) or self._is_complete(search)
        if self._awaits_match and is_known and search.number(position) is None:
            self.go_to_match(1)
        self._awaits_match = self._awaits_match and not is_known
        self.post_message(self.Changed())

    def go_to_match(self, direction: int) -> None:
        """Go to the next match, or to the previous one."""
        search, position = self._search, self._playback.player.position
        self.app.clear_notifications()
        if search is None:
            self.notify("Nothing to search for yet; press / first.")
            return
        frame = search.after(position) if direction > 0 else search.before(position)
        if frame is None:
            so_far = "" if self._is_complete(search) else " so far"
            self.notify(f"No match for {search.words!r}{so_far}.", severity="warning")
            return
        self._hold_player()
        self._playback.player.seek(frame)
        self.post_message(self.MatchReached())

    def _is_complete(self, search: FrameSearch) -> bool:
        return search.is_complete and self._playback.is_complete

    def _hold_player(self) -> None:
        """The player stays where the search takes it."""
        self._playback.forget_destination()
        self._playback.player.pause()
