"""`prompts`: what people typed, in all sessions or in one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli._options import (
    archive_options,
    collect_options,
    examples,
    headless_option,
    json_options,
    moment_filter_options,
    pager_option,
    redaction_options,
    utc_option,
)
from claude_session_player.cli._output import print_drawn, print_pages, print_pieces, print_records, say, stdout
from claude_session_player.cli._refs import complete_ref, find_session, needs_store
from claude_session_player.util.humanize import local_time
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import base_name, display_path, mark_controls, one_line, printable
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claude_session_player.cli._options import Redaction, StoreOptions
    from claude_session_player.cli._output import JsonForm
    from claude_session_player.store import Filter, Session, Store
    from claude_session_player.transcript import TypedPrompt

_SHORT_ID: Final = 8
_PROJECT_WIDTH: Final = 14
_LINE_WIDTH: Final = 5
_TIME_WIDTH: Final = 16
_MOST_ID_WIDTH: Final = 13
"""Longer ids, which are rare, move the rest of their row."""
_LEAST_WITH_PROJECT: Final = 100
"""Columns: narrower terminals do without the project."""
_NARROWEST: Final = 20


@dataclass(frozen=True)
class PromptOptions:
    """Which prompts, and how much of each."""

    full: bool
    commands: bool
    pager: bool | None


prompt_options = collect_options(
    "options",
    PromptOptions,
    PromptOptions.__annotations__,
    (
        click.option("--full", is_flag=True, help="Print whole prompts, below each other."),
        click.option("--commands/--no-commands", default=True, help="Include commands like /compact. Default: yes."),
        pager_option,
    ),
)


@click.command(
    epilog=examples(
        ("prompts --project kettle --from week", "what you asked for this week"),
        ("prompts latest --reverse --full", "one session, in order"),
        ("prompts --no-headless --jsonl", "one JSON object per prompt"),
    )
)
@click.argument("ref", required=False, shell_complete=complete_ref)
@prompt_options
@moment_filter_options("prompts", headless_option)
@json_options
@redaction_options(default=False)
@utc_option
@archive_options
def command(
    ref: str | None,
    options: PromptOptions,
    filter: Filter,
    form: JsonForm | None,
    stores: StoreOptions,
    redaction: Redaction,
) -> None:
    """List the prompts that people typed, newest first.

    Without REF, those of all sessions are listed, in one order by time. --limit 5 prints the newest five; with
    --reverse the oldest come first, and --limit 5 prints the oldest five. Those of REF are in the order of its file,
    the last first. A prompt that several sessions hold, because one continues the other, is listed once. Commands like
    /compact are prompts, too.
    """
    if ref is not None and (given := [name for name, _ in filter.conditions if name not in ("since", "before")]):
        raise click.UsageError(f"--{given[0]} selects sessions: leave out REF")
    with stores.open(required=ref is None or needs_store(ref)) as store:
        printer = _PromptPrinter(store, options)
        selected = _selected(store, ref, options, filter, redaction)
        if form:
            print_records(map(prompt_record, selected), form)
        else:
            printer.print(selected)
            if not printer.count:
                is_narrow = bool(filter.conditions) or not (options.commands and filter.include_headless)
                say("No prompts match these filters." if is_narrow else "No prompts.")


def _selected(
    store: Store, ref: str | None, options: PromptOptions, filter: Filter, redaction: Redaction
) -> Iterator[TypedPrompt]:
    """The prompts that the options select; a session is read when its prompts are needed."""
    from claude_session_player.transcript import all_prompts, session_prompts

    def read(session: Session) -> Iterable[TypedPrompt]:
        """Archived sessions are unpacked one after the other."""
        if not (store.is_packed and ref is None):
            return session_prompts(redaction.session(session))
        store.unpacked(session.file)
        return session_prompts(redaction.session(store.session_of(session.file)))

    sessions = store.sessions(filter._replace(limit=None)) if ref is None else [find_session(store, ref)]
    by_time = ref is None
    prompts = (
        prompt
        for prompt in all_prompts(sessions, store.note, newest_first=not filter.reverse, by_time=by_time, read=read)
        if (options.commands or not prompt.is_command)
        and (filter.include_headless or not prompt.is_headless)
        and filter.includes(prompt.time)
    )
    return islice(prompts, filter.limit)


def prompt_record(prompt: TypedPrompt) -> dict[str, Any]:
    """A prompt as JSON data."""
    return {
        "session": display_path(prompt.session.id),
        "project": prompt.session.project,
        "line": prompt.line,
        "time": prompt.time,
        "text": prompt.text,
        "command": prompt.is_command,
        "queued": prompt.is_queued,
        "headless": prompt.is_headless,
    }


class _PromptPrinter:
    """Prints prompts as they are found, a line for each."""

    def __init__(self, store: Store, options: PromptOptions) -> None:
        self.count = 0
        self._store = store
        self._options = options
        self._now = local_now()

    def print(self, prompts: Iterable[TypedPrompt]) -> None:
        """Print them; on a terminal through a pager."""
        from claude_session_player.cli._tables import painter

        self._paint = painter()
        self._width = get_terminal_size().columns if is_terminal(stdout()) else None
        pieces = self._whole(prompts) if self._options.full else self._lines(prompts)
        if self._options.pager is not False:
            print_pages(pieces, is_drawn=True)
        elif is_terminal(stdout()):
            print_drawn(pieces)
        else:
            print_pieces(pieces)

    def _lines(self, prompts: Iterable[TypedPrompt]) -> Iterator[str]:
        """One line each: cut to the width of a terminal, whole otherwise."""
        from claude_session_player.util.tables import cell_width, fit_cell

        for prompt in prompts:
            if not self.count:
                yield self._heading()
            self.count += 1
            head, width = self._head(prompt)
            text = printable(" ".join(one_line(prompt.text).split()))
            if self._width is not None:
                room = max(self._width - width - 2, _NARROWEST)
                text = fit_cell(text, room).rstrip() if cell_width(text) > room else text
            yield f"{head}  {self._paint(text, 'magenta' if prompt.is_command else '')}\n"

    def _heading(self) -> str:
        """The names of the columns."""
        cells = [f"{'WHEN':<{_TIME_WIDTH}}", f"{'SESSION':<{self._id_width}}", f"{'LINE':>{_LINE_WIDTH}}", "PROMPT"]
        if self._has_project:
            cells.insert(2, f"{'PROJECT':<{_PROJECT_WIDTH}}")
        return "  ".join(self._paint(cell, "bold") for cell in cells) + "\n"

    @property
    def _has_project(self) -> bool:
        return self._width is None or self._width >= _LEAST_WITH_PROJECT

    def _whole(self, prompts: Iterable[TypedPrompt]) -> Iterator[str]:
        """The whole of each prompt below its head."""
        for prompt in prompts:
            gap = "\n" if self.count else ""
            self.count += 1
            yield f"{gap}{self._head(prompt)[0]}\n{mark_controls(prompt.text)}\n"

    def _head(self, prompt: TypedPrompt) -> tuple[str, int]:
        """Where and when a prompt was typed, and the width of that."""
        from claude_session_player.util.tables import cell_width, fit_cell

        time = local_time(prompt.time, self._now)[:16] if prompt.time else ""
        cells = [(f"{time:<{_TIME_WIDTH}}", ""), (f"{self._short_id(prompt):<{self._id_width}}", "cyan")]
        if self._has_project:
            name = printable(base_name(prompt.session.project or ""))
            cells.append((fit_cell(name, _PROJECT_WIDTH) if self._width else f"{name:<{_PROJECT_WIDTH}}", "green"))
        cells.append((f"{prompt.line:>{_LINE_WIDTH}}", "dim"))
        painted = [self._paint(cell, style) for cell, style in cells]
        return "  ".join(painted), sum(cell_width(cell) + 2 for cell, _ in cells) - 2

    def _short_id(self, prompt: TypedPrompt) -> str:
        """The shortest prefix that names the session, of 8 characters at least."""
        id = prompt.session.id
        return printable(self._ids.get(id) or display_path(id[:_SHORT_ID]))

    @cached_property
    def _ids(self) -> dict[str, str]:
        """The short id of each session, once the store has listed its files."""
        from claude_session_player.cli._tables import short_ids

        known = [file.id for file in self._store.last_files()]
        return dict(zip(known, short_ids(known, ()), strict=True))

    @cached_property
    def _id_width(self) -> int:
        widest = max(map(len, self._ids.values()), default=_SHORT_ID)
        return min(max(widest, _SHORT_ID), _MOST_ID_WIDTH)
