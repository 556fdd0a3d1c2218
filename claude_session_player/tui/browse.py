"""The window in which sessions are found: a table, words to filter it, and a look at the session under the cursor."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Final

from rich.console import RenderableType
from textual import events as textual_events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus
from textual.screen import Screen
from textual.widgets import Input, Static
from textual.worker import Worker, WorkerCancelled, get_current_worker

from claude_session_player.errors import SessionError
from claude_session_player.store import Filter, default_roots
from claude_session_player.tui import jobs, listing, player
from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.jobs import ExportDone, JobFailed, SessionsArrived, StoreOpener, SummaryReady
from claude_session_player.tui.keys import HelpScreen, KeyBar
from claude_session_player.tui.listing import (
    ListFilter,
    ProjectRow,
    SessionRow,
    list_projects,
    resume_command,
    row_position,
    session_row,
    with_use,
)
from claude_session_player.tui.popups import ExportPopup, ExportTarget, ProjectPopup, default_export_dir
from claude_session_player.tui.widgets.preview import REST, PreviewPane
from claude_session_player.tui.widgets.rows import DrawnMarkdown
from claude_session_player.tui.widgets.table import FILTER_KEYS, KEYS, FilterInput, RowTable, SessionTable
from claude_session_player.tui.widgets.text import SaidLine, TextPopup
from claude_session_player.util.text import printable
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

_EVERYTHING: Final = Filter(include_subagents=True)


class BrowseScreen(Screen[None]):
    """The sessions of some stores."""

    DEFAULT_CSS = """
    BrowseScreen {
        #top { height: 1; }
        FilterInput { width: 1fr; }
        #status { width: auto; max-width: 70%; padding: 0 0 0 2; text-style: dim; }
        #middle { height: 1fr; }
        PreviewPane { height: 40%; border-top: solid ansi_bright_black; }
        &.-wide #middle { layout: horizontal; }
        &.-wide #table { width: 3fr; margin: 0 1 0 0; }
        &.-wide PreviewPane { width: 2fr; height: 1fr; border-top: none; border-left: solid ansi_bright_black; }
        &.-wide PreviewPane { padding: 0 0 0 1; }
        &.-wide #about { height: 3; }
        &.-low PreviewPane, &.-tiny PreviewPane, &.-tiny KeyBar { display: none; }
        &.-slim #status { display: none; }
    }
    """
    # Textual does not declare these as what they are: variables of the class.
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (50, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (14, "-low"), (18, "-high")]  # noqa: RUF012

    def __init__(self, shelf: StoreOpener, words: str, clock: Callable[[], datetime], rest: float) -> None:
        super().__init__()
        self._shelf = shelf
        self._clock = clock
        self._rest = rest
        self._choice = ListFilter(words)
        self._entries: list[SessionRow] = []
        """All that is known, in the wanted order."""
        self._waiting: int | None = None
        self._export_folder = ""
        """Where the last export went: the next one is proposed to go there, too."""

    def compose(self) -> ComposeResult:
        """Words on top, then the table, beside it or below it a look at one session."""
        yield SaidLine()
        with Horizontal(id="top"):
            yield FilterInput(self._choice.words)
            yield Static(id="status", markup=False)
        with Vertical(id="middle"):
            yield SessionTable(self._clock)
            yield PreviewPane(self._rest)
        yield KeyBar(KEYS, FILTER_KEYS)

    def on_mount(self) -> None:
        """Begin to read."""
        self.set_focus(self._table)
        self.action_reload()

    @property
    def _table(self) -> SessionTable:
        return self.query_one(SessionTable)

    @property
    def _said(self) -> SaidLine:
        return self.query_one(SaidLine)

    # --- the table ------------------------------------------------------------------------------

    @work(thread=True, exclusive=True, group="reading")
    def _read(self) -> None:
        """Look at the stores. Whether sessions are in use is asked last: their files are opened for it."""
        worker = get_current_worker()
        entries: list[SessionRow] = []
        try:
            with self._shelf.opened(partial(_go_on, worker)) as store:
                for look in store.snapshots(_EVERYTHING):
                    entries = [session_row(session) for session in look.sessions]
                    if worker.is_cancelled:
                        return
                    self.post_message(SessionsArrived(entries, look.waiting))
            self.post_message(SessionsArrived([with_use(entry) for entry in entries], 0))
        except (SessionError, OSError) as error:
            self.post_message(JobFailed(str(error)))

    @on(SessionsArrived)
    def _take(self, message: SessionsArrived) -> None:
        self._entries = self._choice.sort(message.entries)
        self._waiting = message.waiting
        self._show()

    @on(JobFailed)
    def _complain(self, message: JobFailed) -> None:
        self._said.say(message.reason, is_whole=True)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._said.be_silent()  # who types wants to see it
        self._choice = self._choice._replace(words=event.value)
        self._show()

    def _show(self) -> None:
        """Show what is wanted of what is known. The cursor stays on its session; at the top it stays there."""
        table = self._table
        rows = self._choice.select(self._entries)
        total = len(self._choice.wider().select(self._entries))
        key = table.current.key if table.current and table.cursor else None
        table.show(rows, row_position(rows, key, table.cursor))
        self.query_one("#status", Static).update(listing.list_status(self._choice, len(rows), total, self._waiting))

    def _change(self, choice: ListFilter) -> None:
        """Want something else."""
        if (choice.order, choice.is_reversed) != (self._choice.order, self._choice.is_reversed):
            self._entries = choice.sort(self._entries)
        self._choice = choice
        self.query_one(FilterInput).value = choice.words
        self._show()

    @on(RowTable.Moved)
    def _show_preview(self) -> None:
        self.query_one(PreviewPane).show(self._table.current, listing.empty_reason(self._choice, self._waiting))

    @on(DescendantFocus)
    def _show_keys(self) -> None:
        is_typing = isinstance(self.focused, FilterInput)
        self.query_one(KeyBar).show(FILTER_KEYS if is_typing else KEYS)

    # --- keys -----------------------------------------------------------------------------------

    def on_key(self, event: textual_events.Key) -> None:
        """A click beside everything, or a terminal that says it is in the background, leaves no widget for keys."""
        if self.focused is None:
            self.set_focus(self._table)
            if self._table.has_focus:
                event.stop()
                self.app.simulate_key(event.key)

    @on(RowTable.Chosen)
    def _choose(self) -> None:
        self.action_play(False)

    def action_play(self, live: bool) -> None:
        """Play a session, or follow it. Keys are those of the table afterwards: whoever plays has found a session."""
        if entry := self._table.current:
            self.set_focus(self._table)
            try:
                player.open_player(self.app, entry.session, live=live, open_store=self._shelf.open)
            except SessionError as error:
                self._said.say(str(error))

    def action_summary(self) -> None:
        """Show what a session comes to."""
        if entry := self._table.current:
            popup = TextPopup("Summary", "reading…")
            self.app.push_screen(popup)
            self._summarize(entry, popup)

    @work(thread=True, exclusive=True, group="summary")
    def _summarize(self, entry: SessionRow, popup: TextPopup) -> None:
        text: RenderableType
        try:
            text = DrawnMarkdown(jobs.summary_text(self._shelf, entry.session.file))
        except (SessionError, OSError) as error:
            text = printable(str(error))
        self.post_message(SummaryReady(popup, text))

    @on(SummaryReady)
    def _show_summary(self, message: SummaryReady) -> None:
        if message.popup.is_attached:
            message.popup.tell(message.text)

    def action_export(self) -> None:
        """Ask where a session shall be written to, and write it."""
        if entry := self._table.current:
            folder = self._export_folder or default_export_dir(self._shelf.roots or default_roots())
            self.app.push_screen(ExportPopup(entry.session.id, folder), partial(self._export_to, entry))

    def _export_to(self, entry: SessionRow, target: ExportTarget | None) -> None:
        if target is not None:
            self._export(entry, target)

    @work(thread=True, group="export")
    def _export(self, entry: SessionRow, target: ExportTarget) -> None:
        try:
            jobs.write_export(entry.session, target)
        except SessionError as error:
            self.post_message(JobFailed(str(error)))
        else:
            self.post_message(ExportDone(target))

    @on(ExportDone)
    def _tell_export(self, message: ExportDone) -> None:
        self._export_folder = os.path.dirname(message.target.path)
        self._said.say(f"written to {message.target.path}", is_whole=True)

    def action_copy(self) -> None:
        """Copy the command that goes on with a session."""
        if entry := self._table.current:
            command = resume_command(entry.session)
            if not command.isprintable():  # a shell would obey what is pasted, quoted or not
                self._said.say("not copied: the name of the directory has control characters in it")
                return
            self.app.copy_to_clipboard(command)
            self._said.say(f"copied: {command}")

    def action_filter(self) -> None:
        """Let words be typed."""
        self.set_focus(self.query_one(FilterInput))

    def action_table(self) -> None:
        """Go back to the table."""
        self.set_focus(self._table)

    def action_widen(self) -> None:
        """Leave nothing out."""
        self._change(self._choice.wider())
        self.set_focus(self._table)

    def action_sort(self) -> None:
        """Sort by what comes next."""
        self._change(self._choice.next_order())

    def action_reverse(self) -> None:
        """Turn the order around."""
        self._change(self._choice._replace(is_reversed=not self._choice.is_reversed))

    def action_subagents(self) -> None:
        """Show sub-agents as well, or no longer."""
        self._change(self._choice._replace(with_subagents=not self._choice.with_subagents))

    def action_projects(self) -> None:
        """Choose a project, or all of them."""
        projects = list_projects(self._entries)
        everything = ProjectRow("all projects", sum(project.sessions for project in projects), "")
        names = [None, *(project.name for project in projects)]
        cursor = names.index(self._choice.project) if self._choice.project in names else 0

        def choose(project: ProjectRow | None) -> None:
            if project is not None:
                self._change(self._choice._replace(project=None if project is everything else project.name))

        self.app.push_screen(ProjectPopup([everything, *projects], cursor, self._clock()), choose)

    def action_reload(self) -> None:
        """Read the stores again."""
        self.query_one(PreviewPane).forget()
        self._read()

    def action_help(self) -> None:
        """Tell what the keys do."""
        keys = dict.fromkeys((*KEYS, *FILTER_KEYS))  # some are in both
        self.app.push_screen(HelpScreen("Keys of the list", tuple(keys), listing.NOTES))


def _go_on(worker: Worker[None], done: int, total: int) -> None:
    """Told after every file that was read: whoever wants to leave does not wait for the rest."""
    if worker.is_cancelled:
        raise WorkerCancelled


class BrowseApp(TerminalApp[None]):
    """Finds sessions; what is done with one of them opens over it."""

    def __init__(
        self, shelf: StoreOpener, words: str = "", *, clock: Callable[[], datetime] = local_now, rest: float = REST
    ) -> None:
        super().__init__()
        self._first = BrowseScreen(shelf, words, clock, rest)

    def get_default_screen(self) -> Screen[None]:
        """The list of sessions is below everything else."""
        return self._first
