"""The line above the list of sessions: words that filter titles, or a query that searches everything as it is typed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from claude_session_player.tui import jobs
from claude_session_player.tui.hit_list import SearchRequest
from claude_session_player.tui.jobs import IndexAdvanced, SearchAnswered, SearchOpened, TextsLoaded
from claude_session_player.tui.keys import FILTER_KEYS, bindings
from claude_session_player.tui.listing import join_parts
from claude_session_player.util.text import base_name, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.search import StoreSearch
    from claude_session_player.tui.hit_list import HitList
    from claude_session_player.tui.jobs import StoreOpener

_ORDERS: Final = ("relevance", "newest", "oldest")
"""Those of the search; the best hits come first at first."""
_SLOW_SECONDS: Final = 0.3
"""Seconds after which a search says that it is still busy; usual ones are over long before."""
_HIT_HEIGHT: Final = 2
"""How many times as high as others a row with a hit is."""
_MOST_LOADED: Final = 50
"""How many texts are loaded at a time."""
_LABELS: Final = ((50, "Filter titles: ", "Search everything: "), (20, "Filter: ", "Search: "), (0, "", ""))
"""What is done with the words, by the width of the line from which on there is room for it."""
_IDLE_HINT: Final = "/ filter titles · ^F search everything"
_FILTER_HINT: Final = "/ again to search everything"
_SEARCH_HINT: Final = 'words, "a phrase", tool:Bash, in:prompt, -without'


class QueryInput(Input):
    """Where words are typed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(FILTER_KEYS)

    class SlashTyped(Message):
        """A slash was typed before anything else."""

    def __init__(self, words: str) -> None:
        super().__init__(words, compact=True, select_on_focus=False)
        self.cursor_blink = False
        self.reports_slash = True

    def on_key(self, event: events.Key) -> None:
        """Report a slash at the beginning, if that is wanted: it is not part of the words."""
        if self.reports_slash and event.character == "/" and not self.value:
            event.stop()
            event.prevent_default()
            self.post_message(self.SlashTyped())


class QueryBar(Horizontal):
    """Filters titles, or searches everything: what is typed in this line is used at once.

    It owns the search. Its owner shows what it reports: `Changed` if other sessions may match, `Advanced` if only the
    status is another one, and `TextsReady` if there is more to draw.
    """

    DEFAULT_CSS = """
    QueryBar {
        height: 1;
        #label { width: auto; text-style: bold; }
        #label.-idle { display: none; }
        QueryInput { width: 1fr; }
        #status { width: auto; max-width: 70%; padding: 0 0 0 2; text-style: dim; }
    }
    """

    class Changed(Message):
        """Other words, another mode, or other hits."""

    class Advanced(Message):
        """The status is another one."""

    class TextsReady(Message):
        """Texts of hits are loaded."""

    def __init__(self, opener: StoreOpener, words: str, visible_rows: Callable[[], range]) -> None:
        """`visible_rows` returns the numbers of the rows of the table that are in view."""
        super().__init__(id="top")
        self._opener = opener
        self._visible_rows = visible_rows
        self._label = Static(id="label", markup=False)
        self._input = QueryInput(words)
        self._status = Static(id="status", markup=False)
        self.is_search = False
        """True if everything is searched, false if titles are filtered."""
        self.hits: HitList | None = None
        """What was found; `None` if nothing is searched for."""
        self._search: StoreSearch | None = None
        self._is_indexing = False
        self._percent: int | None = None
        """How much of what is new is indexed; `None` if there is nothing to say about that."""
        self._is_outdated = False
        """True if the stores have to be indexed again when that is done."""
        self._project: str | None = None
        self._order = _ORDERS[0]
        self._asked: tuple[StoreSearch, SearchRequest] | None = None
        """What is searched for at the moment, and in which state of the stores."""
        self._answered: SearchRequest | None = None
        """The search that was answered last."""
        self._is_warned = False
        self._notice = ""
        """What is wrong with the query, or that its search takes long."""

    def compose(self) -> ComposeResult:
        """What is typed, and the status at the right."""
        yield from (self._label, self._input, self._status)

    def on_mount(self) -> None:
        """Say what can be typed."""
        self._show_label()

    # --- the line -------------------------------------------------------------------------------

    @property
    def words(self) -> str:
        """What is typed."""
        return self._input.value

    @property
    def is_typing(self) -> bool:
        """True while the line has the focus."""
        return self.is_attached and self.screen.focused is self._input

    def filter_titles(self, words: str | None = None) -> None:
        """Filter titles, by these words if they are given."""
        if words is not None:
            self._input.value = words
            self._input.cursor_position = len(words)
        self._set_mode(is_search=False)

    def search_everything(self) -> None:
        """Search everything for what is typed."""
        self._set_mode(is_search=True)
        if self._search is None:
            self.update_index()

    def focus_line(self) -> None:
        """Let words be typed. The line has the focus at once, so that it gets whatever is typed next."""
        self.screen.set_focus(self._input)

    def narrow(self, project: str | None) -> None:
        """Search only one project, or all."""
        self._project = project
        self._ask()

    def next_order(self) -> None:
        """Let the sessions that match come in the next order."""
        self._order = _ORDERS[(_ORDERS.index(self._order) + 1) % len(_ORDERS)]
        self._ask()

    def show_status(self, text: str) -> None:
        """Show the status."""
        self._status.update(text)

    @on(QueryInput.SlashTyped)
    def _search_instead(self, event: QueryInput.SlashTyped) -> None:
        event.stop()
        self.search_everything()

    @on(Input.Changed)
    def _take_words(self, event: Input.Changed) -> None:
        event.stop()
        self._show_label()
        if self.is_search:
            self._ask()
        else:
            self.post_message(self.Changed())

    def _set_mode(self, *, is_search: bool) -> None:
        if is_search != self.is_search:
            self.is_search, self._input.reports_slash = is_search, not is_search
            self._forget_hits()
            self.post_message(self.Changed())
        self._show_label()
        self._ask()

    def on_resize(self) -> None:
        """Say it in fewer words if there is little room."""
        self._show_label()

    def on_descendant_focus(self) -> None:
        """Say what is typed."""
        self._show_label()

    def on_descendant_blur(self) -> None:
        """Say what can be typed."""
        self._show_label()

    def _show_label(self) -> None:
        """Say what is done with the words; without any, how to type them."""
        is_idle = not (self.is_search or self.is_typing or self.words)
        self._label.set_class(is_idle, "-idle")
        labels = next(labels for width, *labels in _LABELS if self.size.width >= width)
        self._label.update(labels[self.is_search])
        self._input.placeholder = _IDLE_HINT if is_idle else _SEARCH_HINT if self.is_search else _FILTER_HINT

    # --- the index ------------------------------------------------------------------------------

    def update_index(self) -> None:
        """Index what is new in the stores, if they are searched at all; what is indexed can be searched meanwhile."""
        if not self.is_search and self._search is None:
            return
        if self._is_indexing:
            self._is_outdated = True
            return
        self._is_indexing = True
        self.run_worker(self._open_search, thread=True, group="index")
        self.set_timer(_SLOW_SECONDS, self._show_start)

    def _show_start(self) -> None:
        """Say that it takes a while; what is over before that is not worth a word."""
        if self._is_indexing and self._percent is None:
            self._percent = 0
            self.post_message(self.Advanced())

    def _open_search(self) -> None:
        """Runs in a thread."""
        worker = get_current_worker()
        jobs.open_search(self._opener, lambda: not worker.is_cancelled, self.post_message)

    @on(IndexAdvanced)
    def _show_progress(self, message: IndexAdvanced) -> None:
        self._percent = message.percent
        self.post_message(self.Advanced())

    @on(SearchOpened)
    def _take_search(self, message: SearchOpened) -> None:
        is_outdated, self._is_outdated = self._is_outdated, False
        self._is_indexing, self._percent = False, None
        if message.search is not None:
            self._search, self._answered = message.search, None
            self._ask()
        else:
            self.notify(message.reason, severity="warning")
            if self._search is None:
                self.filter_titles()
        self.post_message(self.Advanced())
        if is_outdated:
            self.update_index()

    # --- the search -----------------------------------------------------------------------------

    @property
    def is_waiting(self) -> bool:
        """True if what is typed has not been searched for yet."""
        return self._request() not in (None, self._answered)

    def status(self, hits: str = "") -> str:
        """The state of the search, with what is said about the hits that are shown; empty if there is no search."""
        if not self.is_search:
            return ""
        return join_parts(
            self._notice or hits,
            printable(base_name(self._project)) if self._project and hits else "",
            f"by {self._order}" if self._order != _ORDERS[0] else "",
            "" if self._percent is None else f"indexing… {self._percent} %",
        )

    def load_texts(self) -> None:
        """Load what is in view, and not loaded yet."""
        hits = self.hits
        if hits is not None and (keys := hits.missing(self._visible_rows())[:_MOST_LOADED]):
            load = partial(jobs.load_texts, hits, keys, self.post_message)
            self.run_worker(load, thread=True, exclusive=True, group="texts")

    @on(TextsLoaded)
    def _take_texts(self, message: TextsLoaded) -> None:
        message.hits.keep(message.texts)
        self.post_message(self.TextsReady())

    def _request(self) -> SearchRequest | None:
        """What is wanted now."""
        if not self.is_search or not self.words.strip():
            return None
        return SearchRequest(self.words, self._project, self._order)

    def _ask(self) -> None:
        """Search for what is wanted now, unless a search is going on: when it is over, this is called again."""
        request = self._request()
        if request is None:
            if self.hits is not None or self._notice:
                self._forget_hits()
                self.post_message(self.Changed())
        elif self._search is not None and self._asked is None and request != self._answered:
            self._asked = self._search, request
            rows = len(self._visible_rows()) // (1 if self.hits is not None else _HIT_HEIGHT) + 1
            run = partial(jobs.run_search, self._search, request, min(rows, _MOST_LOADED), self.post_message)
            self.run_worker(run, thread=True, group="search")
            self.set_timer(_SLOW_SECONDS, partial(self._show_delay, request))

    def _show_delay(self, request: SearchRequest) -> None:
        if self._asked is not None and self._asked[1] is request:
            self._notice = "searching…"
            self.post_message(self.Advanced())

    @on(SearchAnswered)
    def _take_answer(self, message: SearchAnswered) -> None:
        """Show the answer, unless something else is wanted by now. If the query is wrong, the last hits stay."""
        asked, self._asked = self._asked, None
        if message.request != self._request() or asked != (self._search, message.request):
            self._ask()
            return
        self._answered, self._notice = message.request, message.reason
        if message.hits is not None:
            if self.hits is not None and self.hits.request == message.request:
                message.hits.take_places(self.hits)
            self.hits = message.hits
            self._warn(message.hits.report.reason or ("there is no cache" if self._opener.cache is None else ""))
        self.post_message(self.Changed())

    def _warn(self, reason: str) -> None:
        """Say once why every search reads files, and takes long."""
        if reason and not self._is_warned:
            self.notify(f"Searching without an index, which is slow: {reason}.", severity="warning")
        self._is_warned = self._is_warned or bool(reason)

    def _forget_hits(self) -> None:
        self.hits = self._answered = None
        self._notice = ""
