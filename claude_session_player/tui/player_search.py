"""The player's search bar: a line for a position or for search words, and the search for these words.

Without such a search, the hits take its place with which the player was opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

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

    from textual.worker import WorkType

    from claude_session_player.player import Playback


class HitLines(NamedTuple):
    """What a search of the stores found in the file that is played."""

    start: int
    """The line at which the player begins."""
    lines: tuple[int, ...]
    """All lines with hits, in order."""
    words: tuple[str, ...]
    """The words to highlight."""


class LineSearch(FrameSearch):
    """The frames of lines that are known to match."""

    def __init__(self, playback: Playback, lines: tuple[int, ...]) -> None:
        super().__init__(playback.frame_index, "")
        self._lines = lines
        self._found = 0
        """How many of these lines have been looked up."""

    @property
    def is_complete(self) -> bool:
        """True if the frames of all lines that are indexed have been looked up."""
        return self._found == len(self._lines) or self._lines[self._found] > self.frame_index.line_count

    def search_more(self, frames: int = 0) -> None:
        """Look up all frames that exist. A line without a frame of its own counts for the frame before it."""
        while not self.is_complete:
            frame = self.frame_index.frame_at_line(self._lines[self._found])
            self._found += 1
            if self.frame_index.frames and self.number(frame) is None:
                self.hits.append(frame)


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

    def __init__(self, playback: Playback, hits: HitLines | None = None) -> None:
        super().__init__()
        self._playback = playback
        self._search: FrameSearch | None = None
        self._hit_lines = hits
        self._hits: LineSearch | None = None
        """The frames with these hits, which are stepped through unless words are searched for."""
        self.awaits_hit = hits is not None
        """True until the hit is shown with which the player was opened."""
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

    @property
    def needles(self) -> tuple[str, ...]:
        """The words to highlight: those that are searched for, or those of the hits."""
        if self._search is not None:
            return (self._search.words,)
        return self._hit_lines.words if self._hit_lines is not None else ()

    def status(self) -> str:
        """The words, and which of how many matches is shown; empty if there is nothing to step through."""
        search = self._search or self._hits
        if search is None:
            return ""
        number = search.number(self._playback.player.position) or "-"
        more = "" if search.is_complete else "…"
        name = f"/{search.words}" if search is self._search else "hit"
        return f"{name} {number}/{len(search.hits)}{more}"

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
        self._awaits_match = self.awaits_hit = False

    def update_frames(self) -> None:
        """Search new frames, too. The matches in replaced frames are void, so that their search ends."""
        self._find_hits()
        if self._search is not None and self._search.frame_index is not self._playback.frame_index:
            self.end()
        elif self._search is not None and not self._search.is_complete:
            self._search_on(self._search)
        elif self._awaits_match:
            self._show_matches()

    def _find_hits(self) -> None:
        """Look up the frames of the hits, as far as they are loaded, and report that the first one is reached."""
        if self._hit_lines is not None:
            if self._hits is None or self._hits.frame_index is not self._playback.frame_index:
                self._hits = LineSearch(self._playback, self._hit_lines.lines)
            self._hits.search_more()
            if self.awaits_hit and self._hits.number(self._playback.player.position) is not None:
                self.awaits_hit = False
                self.post_message(self.MatchReached())

    def _search_on(self, search: FrameSearch) -> None:
        work: WorkType[None] = partial(search_frames, search, lambda: self._is_current(search), self.post_message)
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
        search, position = self._search or self._hits, self._playback.player.position
        self.app.clear_notifications()
        if search is None:
            self.notify("Nothing to search for yet; press / first.")
            return
        frame = search.after(position) if direction > 0 else search.before(position)
        if frame is None:
            so_far = "" if self._is_complete(search) else " so far"
            match = f"match for {search.words!r}" if search is self._search else "hit"
            self.notify(f"No {match}{so_far}.", severity="warning")
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
