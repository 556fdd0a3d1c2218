"""The chapters of a session: a list of its prompts with what followed each, to go to any of them."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from claude_session_player.player import Chapter
from claude_session_player.tui.app import ClosedOnce
from claude_session_player.tui.widgets.table import RowTable
from claude_session_player.util.humanize import UNKNOWN_TIME, cost_so_far, short_duration, transcript_time
from claude_session_player.util.tables import TableColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDE: Final = 64
"""From this width on, there is a column for each number."""
_HERE: Final = "▶"
_BEGINNING: Final = "(before the first prompt)"
_COLUMNS: Final[Sequence[TableColumn]] = (
    TableColumn("", 1, 9, "bold green"),
    TableColumn("TIME", 5, 8, "dim"),
    TableColumn("PROMPT", 11, 10, grows=True),
    TableColumn("", 6, 7, "dim", most=8),
)
_WIDE_COLUMNS: Final[Sequence[TableColumn]] = (
    *_COLUMNS[:3],
    TableColumn("LASTED", 7, 5, is_right=True),
    TableColumn("COST", 7, 4, "green", is_right=True),
    TableColumn("ERRORS", 6, 7, "red", is_right=True),
    TableColumn("FILES", 5, 6, "yellow", is_right=True),
)


class ChapterTable(RowTable[Chapter]):
    """A line for each chapter; the one that is played is marked."""

    columns: Sequence[TableColumn] = _COLUMNS
    can_focus = False

    def __init__(self) -> None:
        super().__init__()
        self.here: Chapter | None = None
        """The chapter that is played."""

    def cells(self, row: Chapter) -> Sequence[str]:
        """The text for each column."""
        mark = _HERE if row is self.here else ""
        first = (mark, _time_of_day(row.time), row.prompt or _BEGINNING)
        if self.columns is _COLUMNS:
            return (*first, _badges(row))
        cost = cost_so_far(row.cost, row.unpriced)
        return (*first, short_duration(row.seconds), cost, str(row.errors or ""), str(len(row.files) or ""))

    def on_resize(self) -> None:
        """Choose the columns that fit."""
        self.columns = _WIDE_COLUMNS if self.size.width >= _WIDE else _COLUMNS
        super().on_resize()

    def on_click(self, event: events.Click) -> None:
        """A click chooses a chapter."""
        number = event.y - 1 + self.scroll_offset.y
        if event.y > 0 and number < len(self.rows):
            self.cursor = number
            self.post_message(self.Chosen())


class ChapterList(Vertical):
    """The chapters, and over the player a line to type a filter, with those that match; posts `Chosen`.

    Beside the session there is no such line: what is typed there drives the player.
    """

    DEFAULT_CSS = """
    ChapterList { height: 1fr; width: 1fr; }
    ChapterList > Input { color: ansi_default; background: ansi_default; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "move", show=False),
        Binding("down", "move(1)", "move", show=False),
        Binding("pageup", "page(-1)", "move", show=False),
        Binding("pagedown", "page(1)", "move", show=False),
        Binding("enter", "choose", "go there", show=False),
        Binding("escape", "clear", "clear", show=False),
    ]

    class Chosen(Message):
        """Go to this frame."""

        def __init__(self, frame: int) -> None:
            super().__init__()
            self.frame = frame

    class Left(Message):
        """Esc was pressed without a filter."""

    def __init__(self, chapters: Sequence[Chapter] = (), position: int = 0, *, has_filter: bool = False) -> None:
        super().__init__()
        self._chapters = chapters
        self._position = position
        self._is_following = True
        """True while the cursor is on the chapter that is played; false once a person has moved it elsewhere."""
        self._table = ChapterTable()
        self._line = Input(placeholder="type to filter", compact=True)
        self._line.cursor_blink = False
        self._line.display = has_filter

    def compose(self) -> ComposeResult:
        """The filter above the chapters."""
        yield from (self._line, self._table)

    def on_mount(self) -> None:
        """Show the chapters, with the cursor on the one that is played."""
        self._fill(self._here())

    def show(self, chapters: Sequence[Chapter], position: int) -> None:
        """Show these chapters while a frame is played; the cursor stays on its chapter, or goes with the player."""
        self._chapters, self._position = chapters, position
        self._fill(self._wanted())

    def follow(self, position: int) -> None:
        """Mark the chapter of a frame; the cursor goes with it, unless a person has moved it elsewhere."""
        self._position = position
        here = self._here()
        if here is self._table.here:
            return
        self._table.here = here
        if self._is_following and here in self._table.rows:
            self._table.cursor = self._table.rows.index(here)
        self._note_cursor()
        self._table.refresh()

    def focus_filter(self) -> None:
        """Let a person type a filter."""
        self._line.focus()

    def _wanted(self) -> Chapter | None:
        """Where the cursor belongs."""
        return self._here() if self._is_following else self._table.current or self._here()

    def _note_cursor(self) -> None:
        """The cursor follows the player from the chapter that is played on, and from nowhere else."""
        if self._table.here in self._table.rows:
            self._is_following = self._table.current is self._table.here

    def _here(self) -> Chapter | None:
        place = bisect_right(self._chapters, self._position, key=lambda chapter: chapter.frame)
        return self._chapters[place - 1] if place else None

    def _fill(self, at: Chapter | None) -> None:
        """Show the chapters that match the filter, with the cursor on one of them, or else on the next one."""
        words = self._line.value.lower().split()
        rows = [chapter for chapter in self._chapters if _matches(chapter, words)]
        frame = at.frame if at is not None else 0
        number = next((number for number, row in enumerate(rows) if row.frame >= frame), max(len(rows) - 1, 0))
        self._table.here = self._here()
        self._table.without_rows = "No chapter matches this filter." if self._chapters else "No prompts yet."
        self._table.show(rows, number)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(self._wanted())

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._table.action_move(rows)
        self._note_cursor()

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self._table.action_page(pages)
        self._note_cursor()

    def action_clear(self) -> None:
        """Clear the filter, or leave the list."""
        if self._line.value:
            self._line.value = ""
        else:
            self.post_message(self.Left())

    @on(Input.Submitted)
    @on(RowTable.Chosen)
    def _choose(self, event: Message) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        """Go to the chapter at the cursor, which follows the player from there on."""
        if (chapter := self._table.current) is not None:
            self._is_following = True
            self.post_message(self.Chosen(chapter.frame))


class ChaptersPopup(ClosedOnce, ModalScreen[int | None]):
    """The chapters over the player; gives the frame to go to, or none."""

    DEFAULT_CSS = """
    ChaptersPopup { align: center middle; background: transparent; }
    ChaptersPopup > #box {
        width: 100; max-width: 100%; height: auto; max-height: 100%;
        border: round ansi_cyan; background: ansi_default; padding: 0 1;
    }
    """

    def __init__(self, chapters: Sequence[Chapter], position: int) -> None:
        super().__init__()
        self.chapters = ChapterList(chapters, position, has_filter=True)
        self.chapters.styles.height = min(max(len(chapters), 1), 40) + 2

    def compose(self) -> ComposeResult:
        """The list in a box."""
        with Vertical(id="box") as box:
            box.border_title, box.border_subtitle = "Chapters", "Enter go there · type to filter · Esc back"
            yield self.chapters

    def on_mount(self) -> None:
        """Whatever is typed is the filter."""
        self.chapters.focus_filter()

    @on(ChapterList.Chosen)
    def _go(self, event: ChapterList.Chosen) -> None:
        event.stop()
        self.dismiss(event.frame)

    @on(ChapterList.Left)
    def _leave(self, event: ChapterList.Left) -> None:
        event.stop()
        self.dismiss(None)


def _time_of_day(seconds: float | None) -> str:
    if seconds is None:
        return ""
    moment = transcript_time(datetime.fromtimestamp(seconds, UTC).isoformat())
    return "" if moment == UNKNOWN_TIME else moment[11:16]


def _badges(chapter: Chapter) -> str:
    errors = f"✗{chapter.errors}" if chapter.errors else ""
    files = f"±{len(chapter.files)}" if chapter.files else ""
    return " ".join(filter(None, (errors, files)))


def _matches(chapter: Chapter, words: Sequence[str]) -> bool:
    text = " ".join((chapter.prompt, *chapter.files)).lower()
    return all(word in text for word in words)
