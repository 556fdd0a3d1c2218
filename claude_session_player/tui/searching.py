"""Going to a place, and searching: what is asked for is typed into a line below the timeline."""

from __future__ import annotations

from textual import on
from textual.message import Message

from claude_session_player.errors import SessionError
from claude_session_player.formatter import element_text
from claude_session_player.play.destination import BRIEFLY, destination
from claude_session_player.play.search import Search
from claude_session_player.tui.player_window import PlayerWindow
from claude_session_player.tui.workers import search_through

_GO, _FIND = "go", "find"
_ASKING = ("goto", "search")


class SearchingWindow(PlayerWindow):
    """A window in which places can be found."""

    class Found(Message):
        """A search went on."""

    search: Search | None = None
    _is_asking = False

    def flags(self) -> list[str]:
        """What is switched on, and which hit of how many this is."""
        if self.search is None:
            return super().flags()
        number = self.search.number(self.player.position) or "-"
        more = "" if self.search.is_over else "…"
        return [*super().flags(), f"/{self.search.words} {number}/{len(self.search.hits)}{more}"]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is asked, `/` and `g` are letters like all others."""
        return not (self._is_asking and action in _ASKING)

    def forget_search(self) -> None:
        """Look for nothing any more."""
        self.search, self.pane.needle = None, ""
        self.pane.redraw()
        self.show_status()

    async def action_goto(self) -> None:
        """Ask where to go."""
        await self._ask(_GO, BRIEFLY)

    async def action_search(self) -> None:
        """Ask what to look for."""
        await self._ask(_FIND, "search", self.search.words if self.search else "")

    async def _ask(self, about: str, hint: str, text: str = "") -> None:
        """What is typed next, however fast, is typed into the question."""
        from claude_session_player.tui.question import Question

        self._is_asking = True
        question = Question(about, hint, text)
        await self.mount(question, after=self._status)
        self.set_focus(question)

    def on_question_answered(self, event: Message) -> None:
        """Somebody answered, or gave up."""
        from claude_session_player.tui.question import Question

        assert isinstance(event, Question.Answered)
        self._is_asking = False
        self.hush()
        self.query(Question).remove()
        self.pane.focus()
        if event.text.strip():
            {_GO: self._go, _FIND: self._find}[event.about](event.text)

    def _go(self, text: str) -> None:
        try:
            self.projection.go(destination(text))
        except SessionError as error:
            self.say(str(error))
        self.show_frame()

    def _find(self, words: str) -> None:
        self.search = Search(self.projection.film, words)
        self.pane.needle = words
        self.player.pause()
        search = self.search
        work = search_through(search, lambda: self.search is search, self._tell_hits)
        self.run_worker(work, exclusive=True, group="search")

    def _tell_hits(self, words: str) -> None:
        self.post_message(self.Found())

    @on(Found)
    def _show_hits(self) -> None:
        search = self.search
        if search is None:
            return
        is_at_hit = search.number(self.player.position) is not None
        if not is_at_hit and (search.is_over or search.has_after(self.player.position)):
            self.action_hit(1)
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
            self.say(f"{search.words!r} is nowhere")
            return
        self.player.pause()
        self.player.seek(frame)
        self.show_frame()
        self._point_at_hit(search)

    def _point_at_hit(self, search: Search) -> None:
        """Put the cursor on the element that has the hit, with all that it has where else nothing would be seen."""
        line = self.projection.film.frames[self.player.position].line
        elements = self.projection.elements()
        for number in range(len(elements) - 1, -1, -1):
            element = elements[number]
            if line in (element.line, getattr(element, "result_line", None)):
                if search.words.lower() not in element_text(element, self.pane.view).lower():
                    self.pane.unfold(number)
                self.pane.stand(number)
                return
