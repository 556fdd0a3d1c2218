"""The preview of a session: facts that the table has no room for, and the beginning or end of its screen, or a hit."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.style import Style
from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from claude_session_player.export.element_rows import blank_rows
from claude_session_player.format.line_reader import find_line, read_lines, split_lines
from claude_session_player.formatter import element_text
from claude_session_player.models import ScreenElement, ScreenState, View
from claude_session_player.parser import decode_lines, gc_paused
from claude_session_player.playback import replay
from claude_session_player.renderer import render
from claude_session_player.tui import listing
from claude_session_player.tui.jobs import PreviewReady, PreviewRequest
from claude_session_player.tui.widgets.rows import element_rows, highlight_matches, text_rows
from claude_session_player.tui.widgets.screen_pane import CURSOR, NO_CURSOR, element_lines
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claude_session_player.store import Session
    from claude_session_player.tui.folding import ListRow
    from claude_session_player.tui.hit_list import HitPlace, HitText, SearchRequest

_SIZES: Final = (1 << 18, 1 << 21, 1 << 24)
"""How many bytes are read from either end of a file; more only if fewer leave the screen empty."""
_SCREENS: Final = 8
"""How many times the height of the preview is laid out, to be scrolled through."""
_BLANK: Final = Strip([])


class PreviewPart(Enum):
    """Which part of a session is previewed."""

    BEGINNING = "beginning"
    END = "end"
    HIT = "hit"


class Preview(NamedTuple):
    """Rows of a session's screen, and which of them is at the top at first."""

    rows: list[Strip]
    top: int = 0


def preview_view(part: PreviewPart, *, is_subagent: bool, is_rich: bool = True) -> View:
    """How a part of a session is shown: a hit may be in thinking, or before a compaction."""
    is_hit = part is PreviewPart.HIT
    view = View(thinking=is_hit, history=part is not PreviewPart.END, sidechains=is_subagent)
    return view.as_rich() if is_rich else view


def preview_of(
    session: Session, size: Size, part: PreviewPart = PreviewPart.BEGINNING, *, is_rich: bool = True
) -> Preview:
    """The first or the last rows of a session's screen, or why there are none."""
    is_end = part is PreviewPart.END
    try:
        screen = last_screen if is_end else first_screen
        state = screen(session.path, is_subagent=session.is_subagent, is_rich=is_rich)
    except OSError as error:
        return Preview(_error_rows(error, size))
    if not state.elements:
        return Preview(text_rows(Text("The screen is empty.", style="dim"), size.width))
    room = Size(size.width, size.height * _SCREENS)
    if is_end:
        rows = last_rows(state, room)
        return Preview(rows, max(len(rows) - size.height, 0))
    return Preview(_rows_at_start(state.elements, state.view, room)[: room.height])


def first_screen(path: str, *, is_subagent: bool = False, is_rich: bool = True) -> ScreenState:
    """The screen that the beginning of a session file leaves. Raises `OSError`."""
    view = preview_view(PreviewPart.BEGINNING, is_subagent=is_subagent, is_rich=is_rich)
    return _screen_of(_lines_at_start, path, view)


def last_screen(path: str, *, is_subagent: bool = False, is_rich: bool = True) -> ScreenState:
    """The screen that the end of a session file leaves. Raises `OSError`."""
    view = preview_view(PreviewPart.END, is_subagent=is_subagent, is_rich=is_rich)
    return _screen_of(_lines_at_end, path, view)


def _screen_of(read: Callable[[str, int], list[bytes]], path: str, view: View) -> ScreenState:
    state = ScreenState(view)
    size = os.path.getsize(path)
    for count in _SIZES:
        state = replay(read(path, count), view)
        if state.elements or count >= size:
            break
    return state


def last_rows(state: ScreenState, size: Size) -> list[Strip]:
    """The last rows of a screen, as the player shows them; only the elements in these rows are laid out."""
    return _rows_at_end(state.elements, state.view, size)


def _rows_at_end(elements: Sequence[ScreenElement], view: View, size: Size) -> list[Strip]:
    rows: list[Strip] = []
    for number in range(len(elements) - 1, -1, -1):
        if len(rows) >= size.height:
            break
        rows = [*element_rows(elements[number], view, size.width), *_gap(elements, number + 1, view), *rows]
    return rows[max(len(rows) - size.height, 0) :]


def _lines_at_start(path: str, count: int) -> list[bytes]:
    """The complete lines among the first bytes of a file; all of a short one."""
    with open(path, "rb", opener=regular_opener) as file:
        lines = split_lines(file.read(count + 1))
        is_all = file.tell() <= count
    return lines if is_all else lines[:-1]


def _lines_at_end(path: str, count: int) -> list[bytes]:
    """The complete lines among the last bytes of a file."""
    with open(path, "rb", opener=regular_opener) as file:
        start = max(file.seek(0, os.SEEK_END) - count, 0)
        file.seek(start)
        lines = split_lines(file.read(count))
    return lines[1:] if start else lines


def _error_rows(error: OSError, size: Size) -> list[Strip]:
    return text_rows(Text(f"Cannot read the session: {error.strerror or error}", style="red"), size.width)


# --- the part with a hit ----------------------------------------------------------------------------

_BEFORE, _AFTER = 1 << 17, 1 << 16
"""How many bytes are read before the line with a hit, and after it."""
_ANCHOR: Final = 3
"""The hit is in the first third of the preview, so that more follows it than precedes it."""


def preview_at(session: Session, line: int, hit: HitText, size: Size, *, is_rich: bool = True) -> Preview:
    """The part of a session's screen with a hit, which is marked; what the screen truncates of it stands below.

    Without a line, the hit is not in the session's file, and only its text is shown.
    """
    try:
        state = ScreenState()
        if line:
            state = screen_around(session.path, line, is_subagent=session.is_subagent, is_rich=is_rich)
    except OSError as error:
        return Preview(_error_rows(error, size))
    inner = Size(size.width - len(CURSOR.text), size.height * _SCREENS)
    start, end = _elements_of(state.elements, line, hit.words, state.view)
    rows = _rows_at_start(state.elements[start:end], state.view, inner)
    first = next((number for number, row in enumerate(rows) if _has_word(row.text, hit.words)), len(rows))
    if first == len(rows):
        rows += _hit_rows(hit, inner.width)
    marked = [Strip([CURSOR, *_with_words(row, hit.words)]) for row in rows]
    above = [*_rows_at_end(state.elements[:start], state.view, inner), *_gap(state.elements, start, state.view)]
    below = [*_gap(state.elements, end, state.view), *_rows_at_start(state.elements[end:], state.view, inner)]
    everything = [*map(_unmarked, above), *marked, *map(_unmarked, below)]
    top = min(len(above) + first - size.height // _ANCHOR, len(everything) - size.height)
    return Preview(everything, max(top, 0))


def screen_around(path: str, line: int, *, is_subagent: bool = False, is_rich: bool = True) -> ScreenState:
    """The screen that the lines around a line leave, with everything that can be seen of them. Raises `OSError`."""
    lines, before = _lines_around(path, line)
    for sidechains in dict.fromkeys((is_subagent, True)):  # a session's file may hold lines of sub-agents
        state = ScreenState(preview_view(PreviewPart.HIT, is_subagent=sidechains, is_rich=is_rich))
        with gc_paused():
            for event in decode_lines(lines, before, 0):
                render(state, event)
        if any(line in element_lines(element) for element in state.elements):
            break
    return state


def _lines_around(path: str, line: int) -> tuple[list[bytes], int]:
    """The complete lines around a line, and how many are before them; none if the file is too short."""
    with open(path, "rb", opener=regular_opener) as file:
        if find_line(file, line):
            return [], 0
        offset = file.tell()
        start = max(offset - _BEFORE, 0)
        file.seek(start)
        earlier = split_lines(file.read(offset - start))[1 if start else 0 :]
        own = next(read_lines(file), b"")
        later = split_lines(file.read(_AFTER))
    return [*earlier, own, *(one for one in later if one.endswith(b"\n"))], line - 1 - len(earlier)


def _elements_of(elements: Sequence[ScreenElement], line: int, words: Sequence[str], view: View) -> tuple[int, int]:
    """The range of the element that shows a line: of several the first with a word, else the last.

    The range is empty if there is none, and then lies where the line would be.
    """
    numbers = [number for number, element in enumerate(elements) if line in element_lines(element)]
    if not numbers:
        number = sum(element.line <= line for element in elements)
        return number, number
    with_words = (number for number in numbers if _has_word(element_text(elements[number], view), words))
    number = next(with_words, numbers[-1])
    return number, number + 1


def _rows_at_start(elements: Sequence[ScreenElement], view: View, size: Size) -> list[Strip]:
    """The first rows of some elements, at least as many as fit into a size, if there are so many."""
    rows: list[Strip] = []
    for number, element in enumerate(elements):
        if number:
            rows += _gap(elements, number, view)
        if len(rows) >= size.height:
            break
        rows += element_rows(element, view, size.width)
    return rows


def _gap(elements: Sequence[ScreenElement], number: int, view: View) -> list[Strip]:
    """The empty rows above an element; none at the beginning and at the end."""
    if not 0 < number < len(elements):
        return []
    return [_BLANK] * blank_rows(elements[number - 1], elements[number], view)


def _hit_rows(hit: HitText, width: int) -> list[Strip]:
    return text_rows(Text.assemble((f"{printable(hit.source)}: ", "dim"), printable(hit.text)), width)


def _with_words(row: Strip, words: Sequence[str]) -> Strip:
    for word in words:
        row = highlight_matches(row, word)
    return row


def _has_word(text: str, words: Sequence[str]) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in words)


def _unmarked(row: Strip) -> Strip:
    return Strip([NO_CURSOR, *row])


# --- the pane ---------------------------------------------------------------------------------------

REST_SECONDS: Final = 0.1
"""Seconds for which the cursor rests on a session before its file is read."""
_WHEEL_ROWS: Final = 3
"""How far a step of the wheel scrolls."""
_PLAIN: Final = Style()
"""Without colours, Textual expects every segment to have a style."""


class RowsView(Widget):
    """Rows that are laid out already, and can be scrolled."""

    DEFAULT_CSS = "RowsView { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[Strip] = ()
        self._top = 0

    def show(self, rows: Sequence[Strip], top: int = 0) -> None:
        """Show these rows, from one of them on."""
        self._rows, self._top = rows, top
        self.refresh()

    def scroll_rows(self, rows: int) -> None:
        """Scroll down, or up with a negative number."""
        self._top = max(min(self._top + rows, len(self._rows) - self.size.height), 0)
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down."""
        event.stop()
        self.scroll_rows(_WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up."""
        event.stop()
        self.scroll_rows(-_WHEEL_ROWS)

    def render_line(self, y: int) -> Strip:
        """One row."""
        number = self._top + y
        row = self._rows[number] if number < len(self._rows) else Strip([])
        return row.adjust_cell_length(self.size.width, _PLAIN).apply_style(_PLAIN)


class HitPreview(NamedTuple):
    """A hit that is to be seen: what was searched for, where the hit is, and what loads its text in a thread."""

    request: SearchRequest
    place: HitPlace
    load: Callable[[], HitText]


class PreviewPane(Vertical):
    """Shows facts about a session at once, and its screen as soon as the cursor rests on it."""

    DEFAULT_CSS = "PreviewPane #about { height: 1; text-style: bold; }"

    def __init__(self, rest: float) -> None:
        super().__init__()
        self._rest = rest
        self._part = PreviewPart.BEGINNING
        """The part of sessions without a hit."""
        self._is_rich = True
        """True if what happened is shown, false for what the terminal showed."""
        self._leaves_hit = False
        """True if that part is wanted, although there is a hit."""
        self._timer: Timer | None = None
        self._wanted: ListRow | None = None
        self._hit: HitPreview | None = None
        """The hit at which the preview opens."""
        self._placeholder = ""
        self._shown: PreviewRequest | None = None
        """The preview that is shown, or being read."""

    def compose(self) -> ComposeResult:
        """The facts, and below them the screen."""
        yield Static(id="about", markup=False)
        yield RowsView()

    def show(self, row: ListRow | None, placeholder: str, hit: HitPreview | None = None) -> None:
        """Show a session, or a placeholder if there is none; the part with a hit, if one is given."""
        if hit != self._hit:
            self._leaves_hit = False
        self._wanted, self._placeholder, self._hit = row, placeholder, hit
        self._show_about()
        self._begin()

    def show_other_part(self) -> None:
        """Show the end instead of the beginning, and then the beginning again; the hit comes before both."""
        if self._hit is not None and not self._leaves_hit:
            self._leaves_hit, self._part = True, PreviewPart.BEGINNING
        elif self._hit is not None and self._part is PreviewPart.END:
            self._leaves_hit, self._part = False, PreviewPart.BEGINNING
        else:
            self._part = PreviewPart.END if self._part is PreviewPart.BEGINNING else PreviewPart.BEGINNING
        self._show_about()
        self.read()

    def switch_view(self) -> None:
        """Show what the terminal showed instead of what happened, or the other way round."""
        self._is_rich = not self._is_rich
        self.read()

    def scroll_rows(self, rows: int) -> None:
        """Scroll the preview down, or up with a negative number."""
        self._rows.scroll_rows(rows)

    @property
    def part(self) -> PreviewPart:
        """The part that is shown."""
        return PreviewPart.HIT if self._hit is not None and not self._leaves_hit else self._part

    @property
    def _session(self) -> Session | None:
        """The session that is shown: that of the hit, which may be a sub-agent of the one under the cursor."""
        if self._hit is not None:
            return self._hit.place.session
        return self._wanted.session if self._wanted is not None else None

    def _show_about(self) -> None:
        about = self.query_one("#about", Static)
        part = "" if self.part is PreviewPart.BEGINNING else self.part.value
        session = self._session if self._wanted is not None else None
        lines = max(about.size.height - 1, 1)
        about.update(listing.session_about(session, self.size.width, lines, part) if session is not None else "")

    def forget(self) -> None:
        """Read the screen again the next time that it is wanted."""
        self._shown = None

    def on_show(self) -> None:
        """Show what was wanted while the pane was hidden."""
        self._begin()

    def on_resize(self) -> None:
        """Lay out the rows for the new width."""
        self._show_about()
        self._begin()

    def _begin(self) -> None:
        """Show a placeholder at once; read a file only when the cursor has come to rest."""
        if self._timer is not None:
            self._timer.stop()
        if self._wanted is None:
            self._shown = None
            self._rows.show(text_rows(Text(self._placeholder), self._rows.size.width))
        else:
            self._timer = self.set_timer(self._rest, self.read)

    def read(self) -> None:
        """Read the wanted screen, unless it is shown already or there is no room for it."""
        if self._wanted is None or not self._rows.size or (session := self._session) is None:
            return
        hit = self._hit if self.part is PreviewPart.HIT else None
        number = (hit.request, hit.place.number) if hit else None
        request = PreviewRequest(
            session.file.name, session.file.stamp, self._rows.size, self.part.value, number, self._is_rich
        )
        if request != self._shown:
            self._shown = request
            self._read(session, hit, request)

    @work(thread=True, exclusive=True, group="preview")
    def _read(self, session: Session, hit: HitPreview | None, request: PreviewRequest) -> None:
        if hit is None:
            preview = preview_of(session, request.size, PreviewPart(request.part), is_rich=request.is_rich)
        else:
            preview = preview_at(session, hit.place.line, hit.load(), request.size, is_rich=request.is_rich)
        if not get_current_worker().is_cancelled:
            self.post_message(PreviewReady(request, *preview))

    @on(PreviewReady)
    def _draw(self, message: PreviewReady) -> None:
        if message.request == self._shown:
            self._rows.show(message.rows, message.top)

    @property
    def _rows(self) -> RowsView:
        return self.query_one(RowsView)
