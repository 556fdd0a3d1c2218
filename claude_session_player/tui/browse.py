"""The list of sessions: a table, a filter, and a preview of the session under the cursor."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from rich.console import RenderableType
from textual import events as textual_events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import DescendantFocus
from textual.screen import Screen
from textual.worker import Worker, WorkerCancelled, get_current_worker

from claude_session_player.errors import SessionError
from claude_session_player.store import Filter, default_roots, resume_command
from claude_session_player.tui import jobs, listing, player
from claude_session_player.tui.app import TerminalApp
from claude_session_player.tui.browse_search import QueryBar
from claude_session_player.tui.costs import price_sessions
from claude_session_player.tui.folding import ListRow, SessionGroup, SessionRow, group_of
from claude_session_player.tui.help_screen import HelpScreen
from claude_session_player.tui.hit_list import play_command
from claude_session_player.tui.jobs import (
    CostsReady,
    ExportDone,
    JobFailed,
    SessionsArrived,
    StoreOpener,
    SummaryReady,
)
from claude_session_player.tui.keys import BROWSE_HELP, BROWSE_KEYS, list_keys
from claude_session_player.tui.listing import (
    ListFilter,
    ProjectRow,
    list_projects,
    row_position,
    session_row,
    with_use,
)
from claude_session_player.tui.player_search import HitLines
from claude_session_player.tui.popups import (
    ExportPopup,
    ExportTarget,
    ProjectPopup,
    TextPopup,
    default_export_dir,
)
from claude_session_player.tui.session_list import SessionList
from claude_session_player.tui.widgets.key_bar import KeyBar
from claude_session_player.tui.widgets.preview import REST_SECONDS, HitPreview, PreviewPane
from claude_session_player.tui.widgets.rows import DrawnMarkdown
from claude_session_player.tui.widgets.session_table import ORDER_OF_COLUMN, SessionTable
from claude_session_player.tui.widgets.table import RowTable
from claude_session_player.util.text import printable
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from claude_session_player.store import Session
    from claude_session_player.tui.hit_list import HitPlace

_EVERYTHING: Final = Filter(include_subagents=True)
_PATH_SECONDS: Final = 8.0
"""Seconds for which a notification with a path is shown."""
_SCROLLED_ROWS: Final = 5
"""How far a key scrolls the preview."""
_LIST_ACTIONS: Final = ("reverse", "subagents", "fold", "fold_all")
"""What has no meaning for sessions that a search found: they have their own order, and sub-agents belong to them."""


class BrowseScreen(Screen[None]):
    """The sessions of some stores."""

    KEYS: ClassVar = BROWSE_HELP
    DEFAULT_CSS = """
    BrowseScreen {
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
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (50, "-narrow"), (140, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (14, "-low"), (18, "-high")]  # noqa: RUF012

    def __init__(self, opener: StoreOpener, words: str, clock: Callable[[], datetime], rest: float) -> None:
        super().__init__()
        self._opener = opener
        self._clock = clock
        self._rest = rest
        self._list = SessionList(words)
        self._played_query = ""
        """The query whose best hit is played as soon as it is found."""
        self._export_dir = ""
        """The directory of the last export, proposed for the next one."""

    def compose(self) -> ComposeResult:
        """The query on top, then the table, and the preview beside it or below it."""
        yield QueryBar(self._opener, self._list.filter.words, lambda: self._table.visible_rows)
        with Vertical(id="middle"):
            yield SessionTable(self._clock, self._list.costs)
            yield PreviewPane(self._rest)
        yield KeyBar(BROWSE_KEYS)

    def on_mount(self) -> None:
        """Start to read the stores."""
        self.set_focus(self._table)
        self.action_reload()

    @property
    def _bar(self) -> QueryBar:
        return self.query_one(QueryBar)

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
            now = self._clock().timestamp()
            self.post_message(SessionsArrived([jobs.with_activity(with_use(row), now) for row in rows], 0))
        except (SessionError, OSError) as error:
            self.post_message(JobFailed(str(error)))

    @on(SessionsArrived)
    def _take_sessions(self, message: SessionsArrived) -> None:
        self._list.take(message.rows, message.waiting)
        table = self._table
        table.fit_to(message.rows)
        self._show()
        if not message.waiting:
            self._price(self._list.sessions_from(table.rows[: table.visible_rows.stop]))

    @work(thread=True, exclusive=True, group="prices")
    def _price(self, sessions: list[Session]) -> None:
        """Work out what sessions cost, those in view first. The index knows all that is needed."""
        worker = get_current_worker()
        try:
            missing = list(self._list.costs.missing(sessions))
            for costs in price_sessions(missing, lambda: not worker.is_cancelled):
                self.post_message(CostsReady(costs))
        except (SessionError, OSError) as error:
            self.post_message(JobFailed(str(error)))

    @on(CostsReady)
    def _take_costs(self, message: CostsReady) -> None:
        self._table.show_costs(self._list.take_costs(message.costs))
        if self._list.filter.order == listing.BY_COST and self._bar.hits is None:
            self._show()

    @on(JobFailed)
    def _show_failure(self, message: JobFailed) -> None:
        self.notify(message.reason, severity="error", timeout=_PATH_SECONDS)

    @on(QueryBar.Changed)
    def _apply_query(self) -> None:
        """Show what the words let through, or what they find."""
        bar = self._bar
        self._list.change(self._list.filter._replace(words="" if bar.is_search else bar.words))
        self._show()
        self._show_keys()
        if self._played_query and not bar.is_waiting:
            is_found, self._played_query = bar.words == self._played_query, ""
            if is_found and bar.is_search:
                self.action_play(False)

    def _show(self) -> None:
        """Show the sessions that the filter lets through, or that a search found.

        The cursor stays on its session, or at the top; other hits begin at the top.
        """
        table, hits = self._table, self._bar.hits
        shown, current = table.hits, table.current
        rows: list[ListRow]
        if hits is not None:
            rows = [self._list.row_of(head) for head in hits.heads]
            is_kept = shown is not None and shown.request == hits.request
        else:
            rows = self._list.select()
            is_kept = shown is not None or table.cursor > 0
        default = table.cursor if hits is shown is None else 0
        table.show_order(self._list.filter.order, is_reversed=self._list.filter.is_reversed)
        table.show_sessions(rows, row_position(rows, current.key if current and is_kept else None, default), hits)
        self._show_status()

    @on(QueryBar.Advanced)
    def _show_status(self) -> None:
        table, bar = self._table, self._bar
        if table.hits is not None:
            bar.show_status(bar.status(table.hits.status(table.cursor)))
            return
        bar.show_status(listing.join_parts(bar.status(), self._list.status))

    @on(QueryBar.TextsReady)
    def _draw_texts(self) -> None:
        self._table.refresh()

    def _change(self, wanted: ListFilter) -> None:
        """Apply another filter or order."""
        self._list.change(wanted)
        self._bar.narrow(wanted.project)
        self._show()

    @property
    def _hit(self) -> HitPlace | None:
        """The hit that is shown of the session under the cursor."""
        table = self._table
        return table.hits.place(table.cursor) if table.hits is not None and table.rows else None

    @on(RowTable.Moved)
    def _show_preview(self) -> None:
        self._show_keys()
        table, hits, place = self._table, self._table.hits, self._hit
        if hits is None:
            self.query_one(PreviewPane).show(table.current, self._list.empty_reason)
            return
        hit = HitPreview(hits.request, place, hits.loader(table.cursor)) if place is not None else None
        self.query_one(PreviewPane).show(table.current, listing.NO_HITS, hit)
        self._show_status()

    @on(RowTable.Moved)
    @on(RowTable.Scrolled)
    def _load_texts(self) -> None:
        self._bar.load_texts()

    @on(DescendantFocus)
    def _show_keys(self) -> None:
        bar, row = self._bar, self._table.current
        is_open = row.is_open if isinstance(row, SessionGroup) else None
        has_hits = self._table.hits is not None
        keys = list_keys(is_typing=bar.is_typing, is_search=bar.is_search, has_hits=has_hits, is_open=is_open)
        self.query_one(KeyBar).show(keys)

    # --- keys -----------------------------------------------------------------------------------

    def on_key(self, event: textual_events.Key) -> None:
        """Give the focus back to the table: a click elsewhere, or a terminal in the background, takes it away."""
        if self.focused is None:
            self.set_focus(self._table)
            if self._table.has_focus:
                event.stop()
                self.app.simulate_key(event.key)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Some keys work only while nothing is searched for."""
        return action not in _LIST_ACTIONS or self._bar.hits is None

    @on(RowTable.Chosen)
    def action_choose(self) -> None:
        """Play the session; unfold or fold a group."""
        if isinstance(self._table.current, SessionGroup) and not self._bar.is_waiting:
            self.set_focus(self._table)
            self.action_fold()
        else:
            self.action_play(False)

    def action_fold(self) -> None:
        """Unfold the group under the cursor, or fold the one that it is in."""
        table = self._table
        group = group_of(table.rows, table.cursor)
        if group is None:
            self.notify("Nothing is folded here.")
            return
        self._list.toggle(group)
        self._show_at(group.key)

    def action_fold_all(self) -> None:
        """Unfold all groups, or fold them if all are unfolded."""
        current, rows = self._table.current, self._table.rows
        self._list.toggle_all(rows)
        self._show_at(current.key if current else None)

    def _show_at(self, key: str | None) -> None:
        """Show other rows, with the cursor on one of them, or on the group that it is folded into."""
        self._show()
        self._table.cursor = row_position(self._table.rows, key, self._table.cursor)

    @on(RowTable.HeadingClicked)
    def _sort_by(self, message: RowTable.HeadingClicked) -> None:
        """Sort by a column, or reverse the order."""
        if self._table.hits is None and (order := ORDER_OF_COLUMN.get(message.column)):
            self._change(self._list.filter.ordered_by(order))

    def action_part(self) -> None:
        """Preview the beginning or the end."""
        self.query_one(PreviewPane).show_other_part()

    def action_view(self) -> None:
        """Preview what happened, or what the terminal showed."""
        self.query_one(PreviewPane).switch_view()

    def action_scroll(self, direction: int) -> None:
        """Scroll the preview."""
        self.query_one(PreviewPane).scroll_rows(direction * _SCROLLED_ROWS)

    def action_play(self, live: bool) -> None:
        """Play the session, or follow it; play from the hit that a search found.

        The table has the focus afterwards: the session has been found.
        """
        if self._bar.is_waiting and not live:
            self._played_query = self._bar.words
        elif row := self._table.current:
            self.set_focus(self._table)
            place = None if live else self._hit
            session = place.session if place else row.session
            try:
                player.open_player(
                    self.app, session, live=live, open_store=self._opener.open, hits=self._hit_lines(place)
                )
            except SessionError as error:
                self.notify(str(error), severity="error")

    def _hit_lines(self, place: HitPlace | None) -> HitLines | None:
        """What the player needs to know of the hits in the file that it plays."""
        hits, cursor = self._table.hits, self._table.cursor
        if hits is None or place is None or not place.line:
            return None
        return HitLines(place.line, hits.lines(cursor), hits.words(cursor))

    def action_hit(self, direction: int) -> None:
        """Show the next hit of the search, or the previous one, also if it is in another session."""
        table, hits = self._table, self._table.hits
        if hits is None:
            self.notify("Nothing to search for yet; press ctrl+f first.")
            return
        position = hits.step(table.cursor, direction) if table.rows else None
        if position is None:
            self.notify("No more hits." if direction > 0 else "No earlier hits.")
        elif position != table.cursor:
            table.cursor = position
        else:
            table.watch_cursor()

    def action_summary(self) -> None:
        """Show duration, tool use, files, tokens and cost of the session."""
        if row := self._table.current:
            popup = TextPopup("Summary", "reading…")
            self.app.push_screen(popup)
            self._summarize(row, popup)

    @work(thread=True, exclusive=True, group="summary")
    def _summarize(self, row: ListRow, popup: TextPopup) -> None:
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

    def _export_to(self, row: ListRow, target: ExportTarget | None) -> None:
        if target is not None:
            if target.notice:
                self.notify(target.notice)
            self._export(row, target)

    @work(thread=True, group="export")
    def _export(self, row: ListRow, target: ExportTarget) -> None:
        try:
            masked = jobs.write_export(row.session, target)
        except SessionError as error:
            self.post_message(JobFailed(str(error)))
        else:
            self.post_message(ExportDone(target, masked))

    @on(ExportDone)
    def _report_export(self, message: ExportDone) -> None:
        self._export_dir = os.path.dirname(message.target.path)
        self.notify(message.words, timeout=_PATH_SECONDS)

    def action_copy(self) -> None:
        """Copy the command that plays from the hit, or that resumes the session."""
        if row := self._table.current:
            place = self._hit
            command = resume_command(row.session) if place is None else play_command(place, self._opener.roots)
            if not command.isprintable():  # quoting does not stop a shell from obeying pasted control characters
                self.notify("Not copied: the directory name contains control characters.", severity="error")
                return
            self.app.copy_to_clipboard(command)
            self.notify(f"Copied: {command}")

    def action_filter(self) -> None:
        """Let the filter be typed."""
        self._bar.focus_line()
        self._bar.filter_titles()

    def action_search(self) -> None:
        """Let a query be typed that searches everything."""
        self._bar.focus_line()
        self._bar.search_everything()

    def action_table(self) -> None:
        """Return to the table."""
        self.set_focus(self._table)

    def action_widen(self) -> None:
        """Clear the filter, or the search; from a query, return to what it found first."""
        bar, self._played_query = self._bar, ""
        if not (bar.is_search and bar.is_typing and bar.words):
            bar.filter_titles("")
            self._change(self._list.filter.wider())
        self.set_focus(self._table)

    def action_sort(self) -> None:
        """Use the next sort order."""
        if self._bar.hits is not None:
            self._bar.next_order()
        else:
            self._change(self._list.filter.next_order())

    def action_reverse(self) -> None:
        """Reverse the order."""
        self._change(self._list.filter._replace(is_reversed=not self._list.filter.is_reversed))

    def action_subagents(self) -> None:
        """Show or hide sub-agents."""
        self._change(self._list.filter._replace(with_subagents=not self._list.filter.with_subagents))

    def action_projects(self) -> None:
        """Choose a project, or all of them."""
        projects = list_projects(self._list.rows)
        everything = ProjectRow("all projects", sum(project.sessions for project in projects), "")
        names = [None, *(project.name for project in projects)]
        cursor = names.index(self._list.filter.project) if self._list.filter.project in names else 0

        def choose(project: ProjectRow | None) -> None:
            if project is not None:
                self._change(self._list.filter._replace(project=None if project is everything else project.name))

        self.app.push_screen(ProjectPopup([everything, *projects], cursor, self._clock()), choose)

    def action_reload(self) -> None:
        """Read the stores again, and index them again if they are searched."""
        self.query_one(PreviewPane).forget()
        self._read()
        self._bar.update_index()

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(HelpScreen("List keys", BROWSE_HELP, listing.NOTES))


def _check_cancelled(worker: Worker[None], *_: int) -> None:
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
