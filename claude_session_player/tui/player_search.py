"""Going to a place, and searching: what is asked for is typed into a line below the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.events import DescendantFocus
from textual.message import Message

from claude_session_player.errors import SessionError
from claude_session_player.formatter import element_text
from claude_session_player.player import POSITION_HINT, FrameSearch, parse_position
from claude_session_player.tui.jobs import search_frames
from claude_session_player.tui.keys import ASKING_KEYS, footer_keys
from claude_session_player.tui.player_window import PlayerWindow

if TYPE_CHECKING:
    from claude_session_player.tui.widgets.text import Question

_GO, _FIND = "go", "find"
_ASKING = ("goto", "search")


class SearchingWindow(PlayerWindow):
    """A window in which places can be found."""

    class Found(Message):
        """A search went on, and maybe something is to be said about it."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    search: FrameSearch | None = None
    _question: Question | None = None
    _is_looking = False
    """True until the first hit of a search is shown, or there is none."""

    def flags(self) -> list[str]:
        """What is switched on, and which hit of how many this is."""
        if self.search is None:
            return super().flags()
        number = self.search.number(self.player.position) or "-"
        more = "" if self.search.is_complete else "…"
        return [*super().flags(), f"/{self.search.words} {number}/{len(self.search.hits)}{more}"]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, `/` and `g` are letters like all others."""
        return not (self._is_typing and action in _ASKING)

    @property
    def _is_typing(self) -> bool:
        return self._question is not None and self.focused is self._question

    def forget_search(self) -> None:
        """Look for nothing any more."""
        self.search, self.pane.needle, self._is_looking = None, "", False
        self._show_keys()
        self.pane.redraw()
        self.show_status()

    async def action_goto(self) -> None:
        """Ask where to go."""
        await self._ask(_GO, POSITION_HINT)

    async def action_search(self) -> None:
        """Ask what to look for."""
        await self._ask(_FIND, "search", self.search.words if self.search else "")

    async def _ask(self, about: str, hint: str, text: str = "") -> None:
        """What is typed next, however fast, is typed into the question."""
        from claude_session_player.tui.widgets.text import Question

        if self._question is not None:
            await self._question.remove()
        self._question = Question(about, hint, text)
        await self.mount(self._question, after=self._status)
        self.set_focus(self._question)

    @on(DescendantFocus)
    def _show_keys(self) -> None:
        """Tell in the footer what keys do now."""
        keys = footer_keys(has_search=self.search is not None, can_go_back=self.can_go_back)
        self._keys.show(ASKING_KEYS if self._is_typing else keys)

    def on_question_answered(self, event: Message) -> None:
        """Somebody answered, or gave up."""
        from claude_session_player.tui.widgets.text import Question

        assert isinstance(event, Question.Answered)
        self.hush()
        if self._question is not None:
            self._question.remove()
        self._question = None
        self.pane.focus()
        if event.text.strip():
            {_GO: self._go, _FIND: self._find}[event.about](event.text)

    def _go(self, text: str) -> None:
        try:
            self.projection.go_to(parse_position(text))
            self.pane.go_to_end()
        except SessionError as error:
            self.say(str(error))
        self.show_frame()

    def _find(self, words: str) -> None:
        self.search = FrameSearch(self.projection.frame_index, words)
        self._show_keys()
        self.pane.needle = words
        self._is_looking = True
        self.projection.forget_destination()
        self.player.pause()
        self._go_on_searching(self.search)

    def _go_on_searching(self, search: FrameSearch) -> None:
        work = search_frames(search, lambda: self._is_wanted(search), self._tell_hits)
        self.run_worker(work, exclusive=True, group="search")

    def _is_wanted(self, search: FrameSearch) -> bool:
        return self.search is search and search.frame_index is self.projection.frame_index

    def film_has_changed(self) -> None:
        """What is new is searched, too; what was found in another film leads nowhere in this one."""
        if self.search is not None and self.search.frame_index is not self.projection.frame_index:
            self.forget_search()
        elif self.search is not None and not self.search.is_complete:
            self._go_on_searching(self.search)
        elif self._is_looking:
            self._show_hits()

    def _tell_hits(self, words: str) -> None:
        self.post_message(self.Found(words))

    @on(Found)
    def _go_to_hits(self, event: Found) -> None:
        self._show_hits()
        if event.words:
            self.say(event.words)

    def _show_hits(self) -> None:
        """Show how many hits there are, and the first of them, where none was shown."""
        search = self.search
        if search is None:
            return
        is_at_hit = search.number(self.player.position) is not None
        is_known = search.has_after(self.player.position) or (search.is_complete and self.projection.is_complete)
        if self._is_looking and not is_at_hit and is_known:
            self.action_hit(1)
        self._is_looking = self._is_looking and not is_known
        self.pane.redraw()
        self.show_status()

    def action_hit(self, direction: int) -> None:
        """Go to the next hit, or to the one before."""
        search = self.search
        self.hush()
        if search is None:
            self.say("search first, with /")
            return
        frame = search.after(self.player.position) if direction > 0 else search.before(self.player.position)
        if frame is None:
            is_all = search.is_complete and self.projection.is_complete
            self.say(f"{search.words!r} is nowhere" if is_all else f"{search.words!r} is not found so far")
            return
        self.projection.forget_destination()
        self.player.pause()
        self.player.seek(frame)
        self.pane.go_to_end()
        self.show_frame()
        self._point_at_hit(search)

    def _point_at_hit(self, search: FrameSearch) -> None:
        """Put the cursor on the element that has the hit, with all that it has where else nothing would be seen."""
        line = self.projection.frame.line if self.projection.frame else 0
        elements = self.pane.elements
        for number in range(len(elements) - 1, -1, -1):
            element = elements[number]
            if line in (element.line, getattr(element, "result_line", None)):
                if search.words.lower() not in element_text(element, self.pane.view).lower():
                    self.pane.unfold(number)
                self.pane.stand(number)
                return
