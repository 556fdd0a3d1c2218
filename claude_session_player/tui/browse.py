"""The list of sessions: a table, a filter, and a preview of the session under the cursor."""

from __future__ import annotations

import os
from contextlib import closing
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
from claude_session_player.tui.keys import BROWSE_KEYS, FILTER_KEYS, KeyBar
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
from claude_session_player.tui.popups import (
    ExportPopup,
    ExportTarget,
    HelpScreen,
    ProjectPopup,
    TextPopup,
    default_export_dir,
)
from claude_session_player.tui.widgets.preview import REST_SECONDS, PreviewPane
from claude_session_player.tui.widgets.rows import DrawnMarkdown
from claude_session_player.tui.widgets.table import FilterInput, RowTable, SessionTable
from claude_session_player.util.text import printable
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

_EVERYTHING: Final = Filter(include_subagents=True)
_PATH_SECONDS: Final = 8.0
"""Seconds for which a notification with a path is shown."""


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
    # Textual does not declare these as class variables.
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (50, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (14, "-low"), (18, "-high")]  # noqa: RUF012

    def __init__(self, opener: StoreOpener, words: str, clock: Callable[[], datetime], rest: float) -> None:
        super().__init__()
        self._opener = opener
        self._clock = clock
        self._rest = rest
        self._filter = ListFilter(words)
        self._rows: list[SessionRow] = []
        """All sessions known so far, in the wanted order."""
        self._waiting: int | None = None
        """How many files are still to be read; `None` before that is known."""
        self._export_dir = ""
        """The directory of the last export, proposed for the next one."""

    def compose(self) -> ComposeResult:
        """The filter on top, then the table, and the preview beside it or below it."""
        with Horizontal(id="top"):
            yield FilterInput(self._filter.words)
            yield Static(id="status", markup=False)
        with Vertical(id="middle"):
            yield SessionTable(self._clock)
            yield PreviewPane(self._rest)
        yield KeyBar(BROWSE_KEYS, FILTER_KEYS)

    def on_mount(self) -> None:
        """Start to read the stores."""
        self.set_focus(self._table)
        self.action_reload()

    @property
    def _table(self) -> SessionTable:
        return self.query_one(SessionTable)

    # --- the table ------------------------------------------------------------------------------

    @work(thread=True, exclusive=True, group="reading")
    def _read(self) -> None:
        """Read the stores. Whether sessions are in use is found out last, because that opens their files."""
        worker = get_current_worker()
        rows: list[SessionRow] = []
        try:
            with closing(self._opener.open(partial(_check_cancelled, worker))) as store:
                for snapshot in store.snapshots(_EVERYTHING):
                    rows = [session_row(session) for session in snapshot.sessions]
                    if worker.is_cancelled:
                        return
                    self.post_message(SessionsArrived(rows, snapshot.waiting))
            self.post_message(SessionsArrived([with_use(row) for row in rows], 0))
        except (SessionError, OSError) as error:
            self.post_message(JobFailed(str(error)))

    @on(SessionsArrived)
    def _take_sessions(self, message: SessionsArrived) -> None:
        self._rows = self._filter.sort(message.rows)
        self._waiting = message.waiting
        self._show()

    @on(JobFailed)
    def _show_failure(self, message: JobFailed) -> None:
        self.notify(message.reason, severity="error", timeout=_PATH_SECONDS)

    @on(Input.Changed)
    def _filter_by_words(self, event: Input.Changed) -> None:
        self._filter = self._filter._replace(words=event.value)
        self._show()

    def _show(self) -> None:
        """Show the sessions that the filter lets through. The cursor stays on its session, or at the top."""
        table = self._table
        rows = self._filter.select(self._rows)
        total = len(self._filter.wider().select(self._rows))
        key = table.current.key if table.current and table.cursor else None
        table.show(rows, row_position(rows, key, table.cursor))
        self.query_one("#status", Static).update(listing.list_status(self._filter, len(rows), total, self._waiting))

    def _change(self, wanted: ListFilter) -> None:
        """Apply another filter or order."""
        if (wanted.order, wanted.is_reversed) != (self._filter.order, self._filter.is_reversed):
            self._rows = wanted.sort(self._rows)
        self._filter = wanted
        self.query_one(FilterInput).value = wanted.words
        self._show()

    @on(RowTable.Moved)
    def _show_preview(self) -> None:
        self.query_one(PreviewPane).show(self._table.current, listing.empty_reason(self._filter, self._waiting))

    @on(DescendantFocus)
    def _show_keys(self) -> None:
        is_typing = isinstance(self.focused, FilterInput)
        self.query_one(KeyBar).show(FILTER_KEYS if is_typing else BROWSE_KEYS)

    # --- keys -----------------------------------------------------------------------------------

    def on_key(self, event: textual_events.Key) -> None:
        """Give the focus back to the table: a click elsewhere, or a terminal in the background, takes it away."""
        if self.focused is None:
            self.set_focus(self._table)
            if self._table.has_focus:
                event.stop()
                self.app.simulate_key(event.key)

    @on(RowTable.Chosen)
    def _play_chosen(self) -> None:
        self.action_play(False)

    def action_play(self, live: bool) -> None:
        """Play the session, or follow it. The table has the focus afterwards: the session has been found."""
        if row := self._table.current:
            self.set_focus(self._table)
            try:
                player.open_player(self.app, row.session, live=live, open_store=self._opener.open)
            except SessionError as error:
                self.notify(str(error), severity="error")

    def action_summary(self) -> None:
        """Show duration, tool use, files, tokens and cost of the session."""
        if row := self._table.current:
            popup = TextPopup("Summary", "reading…")
            self.app.push_screen(popup)
            self._summarize(row, popup)

    @work(thread=True, exclusive=True, group="summary")
    def _summarize(self, row: SessionRow, popup: TextPopup) -> None:
        text: RenderableType
        try:
            text = DrawnMarkdown(jobs.summary_text(self._opener, row.session.file))
        except (SessionError, OSError) as error:
            text = printable(str(error))
        self.post_message(SummaryReady(popup, text))

    @on(SummaryReady)
    def _show_summary(self, message: SummaryReady) -> None:
        if message.popup.is_attached:
            message.popup.show(message.text)

    def action_export(self) -> None:
        """Ask for a file, and export the session to it."""
        if row := self._table.current:
            folder = self._export_dir or default_export_dir(self._opener.roots or default_roots())
            self.app.push_screen(ExportPopup(row.session.id, folder), partial(self._export_to, row))

    def _export_to(self, row: SessionRow, target: ExportTarget | None) -> None:
        if target is not None:
            self._export(row, target)

    @work(thread=True, group="export")
    def _export(self, row: SessionRow, target: ExportTarget) -> None:
        try:
            jobs.write_export(row.session, target)
        except SessionError as error:
            self.post_message(JobFailed(str(error)))
        else:
            self.post_message(ExportDone(target))

    @on(ExportDone)
    def _report_export(self, message: ExportDone) -> None:
        self._export_dir = os.path.dirname(message.target.path)
        self.notify(f"Exported to {message.target.path}", timeout=_PATH_SECONDS)

    def action_copy(self) -> None:
        """Copy the command that resumes the session."""
        if row := self._table.current:
            command = resume_command(row.session)
            if not command.isprintable():  # quoting does not stop a shell from obeying pasted control characters
                self.notify("Not copied: the directory name contains control characters.", severity="error")
                return
            self.app.copy_to_clipboard(command)
            self.notify(f"Copied: {command}")

    def action_filter(self) -> None:
        """Let the filter be typed."""
        self.set_focus(self.query_one(FilterInput))

    def action_table(self) -> None:
        """Return to the table."""
        self.set_focus(self._table)

    def action_widen(self) -> None:
        """Clear the filter."""
        self._change(self._filter.wider())
        self.set_focus(self._table)

    def action_sort(self) -> None:
        """Use the next sort order."""
        self._change(self._filter.next_order())

    def action_reverse(self) -> None:
        """Reverse the order."""
        self._change(self._filter._replace(is_reversed=not self._filter.is_reversed))

    def action_subagents(self) -> None:
        """Show or hide sub-agents."""
        self._change(self._filter._replace(with_subagents=not self._filter.with_subagents))

    def action_projects(self) -> None:
        """Choose a project, or all of them."""
        projects = list_projects(self._rows)
        everything = ProjectRow("all projects", sum(project.sessions for project in projects), "")
        names = [None, *(project.name for project in projects)]
        cursor = names.index(self._filter.project) if self._filter.project in names else 0

        def choose(project: ProjectRow | None) -> None:
            if project is not None:
                self._change(self._filter._replace(project=None if project is everything else project.name))

        self.app.push_screen(ProjectPopup([everything, *projects], cursor, self._clock()), choose)

    def action_reload(self) -> None:
        """Read the stores again."""
        self.query_one(PreviewPane).forget()
        self._read()

    def action_help(self) -> None:
        """Show all keys."""
        keys = dict.fromkeys((*BROWSE_KEYS, *FILTER_KEYS))  # some are in both
        self.app.push_screen(HelpScreen("List keys", tuple(keys), listing.NOTES))


def _check_cancelled(worker: Worker[None], done: int, total: int) -> None:
    """Called after every file that was read, so that quitting does not wait for the rest."""
    if worker.is_cancelled:
        raise WorkerCancelled


class BrowseApp(TerminalApp[None]):
    """Lists sessions; whatever is done with one of them opens over the list."""

    def __init__(
        self,
        opener: StoreOpener,
        words: str = "",
        *,
        clock: Callable[[], datetime] = local_now,
        rest: float = REST_SECONDS,
    ) -> None:
        super().__init__()
        self._first = BrowseScreen(opener, words, clock, rest)

    def get_default_screen(self) -> Screen[None]:
        """The list of sessions is below everything else."""
        return self._first
