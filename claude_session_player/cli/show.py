"""`show`: print the transcript of a session, with sub-agents where they were called."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

import click

from claude_session_player.cli._options import (
    STRICT_HELP,
    archive_options,
    collect_options,
    examples,
    format_option,
    pager_option,
    redaction_options,
    utc_option,
)
from claude_session_player.cli._output import (
    can_draw,
    has_colours,
    note,
    note_omitted,
    print_drawn,
    print_pages,
    print_pieces,
    report_problems,
    say,
    warn_line_issues,
)
from claude_session_player.cli._refs import (
    STANDARD_INPUT,
    SessionSource,
    check_file,
    check_head,
    needs_store,
    ref_argument,
    require_session,
    source_in,
)
from claude_session_player.errors import BadFilter
from claude_session_player.export.registry import OutputKind, TranscriptWriter, format_named, formats
from claude_session_player.export.transcript import AssetDir, TranscriptStyle, omitted_lines_section
from claude_session_player.format.line_reader import split_lines
from claude_session_player.parser import decode_lines, is_subagent_file, only_sidechains, read_events
from claude_session_player.store import output_resolver, parse_date_span
from claude_session_player.transcript import (
    CATEGORIES,
    HEADS,
    Bound,
    Entry,
    EntryFilter,
    EntryKind,
    PlacedEntry,
    Subagent,
    SubagentFinder,
    TranscriptBuilder,
    TranscriptWalk,
    all_subagents,
    subagent_of,
)
from claude_session_player.util.humanize import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.cli._options import Redaction, StoreOptions
    from claude_session_player.format.events import Event
    from claude_session_player.store import Store

_T = TypeVar("_T")
FOUND_PROBLEMS: Final = 1
_DEFAULT: Final = "markdown"
_DRAWN: Final = "text"
"""The format on a terminal."""
_PAGE_SIZE: Final = 50
_ONLY_HELP: Final = f"Only these kinds: {', '.join(CATEGORIES)}."
_SUMMARY_LIMIT: Final = 16 << 20
"""Bytes: a larger session is printed while it is read, without a summary first, which needs all of it."""
_MOST_UNKNOWN: Final = 10_000
"""How many records of unknown types are held back at the start of a file, until one of a known type follows."""


# --- options ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShowOptions:
    """What is read besides the session itself, and how the transcript is written."""

    depth: int | None
    fork: int | None
    chain: bool
    page: int | None
    page_size: int | None
    pager: bool | None
    line_numbers: bool
    full: bool
    assets: str | None
    summary: bool | None
    format: str | None
    strict: bool


def _categories(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    for word in words:
        if word not in CATEGORIES:
            raise click.BadParameter(f"{word!r} is not one of {', '.join(CATEGORIES)}")
    return frozenset(words)


def _start(ctx: click.Context, param: click.Parameter, value: str | None) -> Bound | None:
    return None if value is None else _bounds(value)[0]


def _end(ctx: click.Context, param: click.Parameter, value: str | None) -> Bound | None:
    return None if value is None else _bounds(value)[1]


def _bounds(value: str) -> tuple[Bound, Bound]:
    """A line, or the first and the last moment of a time; a day is included as a whole."""
    if value.strip().isdecimal():
        return int(value), int(value)
    try:
        start, end = (moment.astimezone(UTC) for moment in parse_date_span(value))
    except BadFilter as error:
        example = "write 120, 2026-01-17, today or '2026-01-17 20:31:59'"
        raise click.BadParameter(f"{value!r} is neither a line number nor a time: {example}") from error
    return start, end if start == end else end - timedelta(microseconds=1)


entry_filter_options = collect_options(
    "entries",
    EntryFilter,
    ("only", "hide", "tool", "start", "end"),
    (
        click.option(
            "--only",
            multiple=True,
            callback=_categories,
            metavar="KINDS",
            help=f"Only these kinds: {', '.join(CATEGORIES)}.",
        ),
        click.option(
            "--hide", multiple=True, callback=_categories, metavar="KINDS", help="Everything but these kinds."
        ),
        click.option("--tool", metavar="NAME", help="Only this tool; wildcards allowed, e.g. 'mcp__*'."),
        click.option("--from", "start", callback=_start, metavar="N|WHEN", help="Start at this line or time."),
        click.option("--to", "end", callback=_end, metavar="N|WHEN", help="End after this line or time."),
    ),
)
show_options = collect_options(
    "options",
    ShowOptions,
    ShowOptions.__annotations__,
    (
        click.option(
            "--depth", type=click.IntRange(min=0), metavar="N", help="Show sub-agents N levels deep. Default: all."
        ),
        click.option(
            "--fork",
            type=click.IntRange(min=1),
            metavar="N",
            help="Only branch N of a conversation that forks; 'tree' shows the numbers.",
        ),
        click.option("--chain", is_flag=True, help="Start with the sessions that this one continues."),
        click.option("--page", type=click.IntRange(min=1), metavar="N", help="Only page N. Default: everything."),
        click.option(
            "--page-size", type=click.IntRange(min=1), metavar="N", help=f"Entries per page. Default: {_PAGE_SIZE}."
        ),
        pager_option,
        click.option("--line-numbers", is_flag=True, help="Print the line of its file with each entry."),
        click.option(
            "--full", is_flag=True, help="Do not truncate anything, and include outputs stored next to the session."
        ),
        click.option("--assets", metavar="DIR", help="Save images in this directory, and link to them."),
        click.option(
            "--summary/--no-summary", default=None, help="Print a summary first. Default: up to 16 MB, unless filtered."
        ),
        format_option(None, formats(OutputKind.TRANSCRIPT), "text on a terminal, else markdown"),
        click.option("--strict", is_flag=True, help=STRICT_HELP),
    ),
)


@click.command(
    epilog=examples(
        ("show latest", "the last active session"),
        ("show 1f2e --only prompts,assistant", "the conversation without tools"),
        ("show 1f2e --tool Bash --from 40", "shell commands from line 40 on"),
    )
)
@ref_argument
@entry_filter_options
@show_options
@redaction_options(default=False)
@utc_option
@archive_options
def command(ref: str, entries: EntryFilter, options: ShowOptions, stores: StoreOptions, redaction: Redaction) -> int:
    """Print the transcript of a session.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. The transcript has prompts, responses,
    thinking and tool calls with their results, in order; each sub-agent is quoted where it was called. Long outputs are
    truncated unless --full is given. On a terminal it is drawn, and shown in a pager; otherwise it is markdown.
    """
    if options.chain and stores.is_archive:
        raise click.UsageError("--chain looks for other sessions in a store: restore this one first")
    with stores.open(required=ref != STANDARD_INPUT and needs_store(ref)) as store:
        source = source_in(store, ref)
        sources = _chain_sources(store, source) if options.chain else [source]
        sources = redaction.sources(sources, store)
        printer = _TranscriptPrinter(redaction.store(store), sources, entries, options)
        printer.print()
    return printer.report()


# --- reading ------------------------------------------------------------------------------------------


def events_of(source: SessionSource) -> Iterator[Event]:
    """The events of a source; raises if it is no session file."""
    if source.inline is not None:
        return iter(source.inline.events())
    if source.path is None:
        check_head(source.head, source.name)
        return read_events(source.lines)
    check_file(source.path, source.name)
    return read_events(source.path)


def _subagents_of(store: Store, sources: Iterable[SessionSource]) -> SubagentFinder:
    """The sub-agents of some sessions, linked to their calls; of those with one id, the first."""
    agents: dict[str, list[Subagent]] = {}
    is_linked = False
    for source in sources:
        if source.found is None or source.inline is not None:
            continue
        is_linked = True
        own: dict[str, list[Subagent]] = {}
        for agent in all_subagents(store.session_of(source.found)):
            own.setdefault(agent.id, []).append(subagent_of(agent))
        agents = own | agents
    return SubagentFinder(chain.from_iterable(agents.values()), is_linked=is_linked)


def _walk_session(walk: TranscriptWalk, events: Iterable[Event]) -> Iterator[PlacedEntry]:
    """The entries of a walk; none for a file with nothing but records of unknown types, which is no session."""
    entries = walk.entries(events)
    unknown: list[PlacedEntry] = []
    for one in entries:
        if one.entry.kind is not EntryKind.RECORD:
            return chain(unknown, (one,), entries)
        if len(unknown) < _MOST_UNKNOWN:
            unknown.append(one)
    return iter(unknown if walk.main.account.is_session else ())


def _branch_test(source: SessionSource, number: int) -> Callable[[int], bool]:
    """A function that tests whether a line is on a branch of the conversation. The whole file is read for it."""
    from claude_session_player.transcript import MarkedConversation

    if source.path is None:
        raise click.UsageError("--fork needs a file: standard input can be read only once")
    conversation = MarkedConversation(skips_sidechains=not _is_subagent(source))
    conversation.read(events_of(source))
    tree = conversation.tree
    count = len(tree.branches())
    if number > count:
        have = plural(count, "branch", "branches")
        raise click.UsageError(f"--fork {number} does not exist: the conversation has {have}; 'tree' shows them")
    return lambda line: tree.is_on(number, line)


def _chain_sources(store: Store, source: SessionSource) -> list[SessionSource]:
    """The sessions that this one continues, oldest first, and this one."""
    from claude_session_player.transcript import chain_of

    if source.found is None or source.inline is not None:
        raise click.UsageError("--chain needs a session with its own file")
    files = [session.file for session in chain_of(store.session_of(source.found), store)]
    return [SessionSource(file.name, file.path, file) for file in files]


def _is_subagent(source: SessionSource) -> bool:
    """True for a sub-agent; standard input is one if its first line is."""
    if source.inline is not None:
        return True
    if source.path is not None:
        return is_subagent_file(source.path)
    return only_sidechains(decode_lines(split_lines(source.head)[:1], 0, 0))


# --- printing -----------------------------------------------------------------------------------------


class _TranscriptPrinter:
    """One run of the command: what is read, which entries are printed, and how."""

    def __init__(
        self, store: Store, sources: Sequence[SessionSource], entries: EntryFilter, options: ShowOptions
    ) -> None:
        self._store = store
        self._sources = sources
        self._source = source = sources[-1]
        self._options = options
        fork, page, page_size = options.fork, options.page, options.page_size
        self._filter = entries if fork is None else replace(entries, is_on_branch=_branch_test(source, fork))
        self._page = (page or 1, page_size or _PAGE_SIZE) if page or page_size else None
        draws = can_draw()
        format = options.format or (_DRAWN if draws else _DEFAULT)
        self._style = _style(self._sources, options, is_drawn=format == _DRAWN)
        self._is_drawn = draws and format == _DRAWN
        self._is_paged = (self._is_drawn and options.format is None) if options.pager is None else options.pager
        self._writer: TranscriptWriter = format_named(format, OutputKind.TRANSCRIPT).load()
        self._walks: list[TranscriptWalk] = []
        self._printed = self._available = 0
        """How many entries were printed, and how many could have been."""
        self._filtered_out = 0
        """How many entries do not match the filters."""

    def print(self) -> None:
        """Write the transcript to stdout while the session is read."""
        if self._writer.is_document and self._is_paged:
            print_pages(self._text(), is_drawn=self._is_drawn)
        elif self._is_drawn:
            print_drawn(self._text())
        else:
            print_pieces(self._text())

    def report(self) -> int:
        """Print notes and warnings after the transcript; returns the exit code."""
        for walk in self._walks:
            if not self._printed:
                require_session(walk.main.account, self._source.name)
            warn_line_issues(walk.main.account, shows_unknown=True)
        if not self._printed:
            say(self._explain_nothing())
        self._note_omissions()
        return FOUND_PROBLEMS if self._options.strict and self._report_problems() else 0

    def _explain_nothing(self) -> str:
        if self._page is not None and self._available:
            pages = -(-self._available // self._page[1])
            return f"There is no page {self._page[0]}: the transcript has {plural(pages, 'page')}."
        if self._filter.is_everything:
            return f"{self._source.name} has no prompts and no responses; --full shows its other records."
        return f"No entries of {self._source.name} match these filters."

    def _report_problems(self) -> int:
        """Name everything that is wrong with the files, whatever the filters; a stream can be read only once."""
        walks = self._walks if self._source.path is None else list(self._whole_walks())
        return sum([report_problems(walk.problems, walk.unlinked) for walk in walks])

    def _whole_walks(self) -> Iterator[TranscriptWalk]:
        subagents = _subagents_of(self._store, self._sources)
        for source in self._sources:
            builder = TranscriptBuilder(subagents, is_agent=_is_subagent(source))
            walk = TranscriptWalk(builder, is_last=source is self._sources[-1], notes_problems=True)
            for _ in walk.entries(events_of(source)):
                pass
            yield walk

    @property
    def _is_part(self) -> bool:
        return not self._filter.is_everything or self._page is not None

    def _note_omissions(self) -> None:
        """Say how much of the transcript is not in the output."""
        page, end = self._page, self._filter.end
        if page is not None and self._available > page[0] * page[1]:
            note(f"more entries follow; use --page {page[0] + 1}")
        elif page is None and self._printed:
            extent = f"up to line {end}" if isinstance(end, int) else ""
            note_omitted(self._filtered_out, "entry", extent, " because of these filters")
        deeper = sum(walk.not_entered for walk in self._walks)
        note_omitted(deeper, "sub-agent", f"deeper than --depth {self._options.depth}")

    def _text(self) -> Iterator[str]:
        writer = self._writer
        if writer.is_document:
            yield from self._summary()
        is_beginning = self._page is None or self._page[0] == 1  # pages together are one transcript
        join = writer.join_first if is_beginning and writer.join_first is not None else writer.join
        yield from join(self._on_page(writer.items(self._entries(), self._style)))
        if writer.is_document and self._style.is_full and not self._is_part:
            yield from (self._beside(omitted_lines_section(walk.main.account)) for walk in self._walks)

    def _beside(self, markdown: str) -> str:
        """Text beside the entries in the format of the transcript."""
        convert = self._writer.from_markdown
        return markdown if convert is None or not markdown else convert(markdown, self._style)

    def _on_page(self, items: Iterator[_T]) -> Iterator[_T]:
        number, size = self._page or (1, sys.maxsize)
        for item in items:
            self._available += 1
            if self._available > number * size:
                return
            if self._available > (number - 1) * size:
                self._printed += 1
                yield item

    def _entries(self) -> Iterator[PlacedEntry]:
        sources, subagents = self._sources, _subagents_of(self._store, self._sources)
        known: set[str | None] = set()  # records that a session repeats from one that it continues
        for source in sources:
            builder = TranscriptBuilder(subagents, is_agent=_is_subagent(source), known=known)
            is_stream, is_last = source.path is None, source is sources[-1]
            walk = TranscriptWalk(builder, depth=self._options.depth, is_last=is_last, notes_problems=is_stream)
            self._walks.append(walk)
            if len(sources) > 1:
                heading = f"Session {source.found.id if source.found else source.name}"
                yield PlacedEntry(0, Entry(EntryKind.SECTION, text=heading))
            yield from self._matching(_walk_session(walk, events_of(source)))
            if len(sources) > 1:
                known.update(builder.lazy_tree.tree.uuids)

    def _matching(self, entries: Iterator[PlacedEntry]) -> Iterator[PlacedEntry]:
        """The entries that match the filters; the others are counted."""
        if self._filter.is_everything:
            yield from entries
            return
        for one in self._filter.apply(self._counted(entries)):
            self._filtered_out -= self._is_counted(one)
            yield one

    def _counted(self, entries: Iterator[PlacedEntry]) -> Iterator[PlacedEntry]:
        for one in entries:
            yield one
            self._filtered_out += self._is_counted(one)  # not reached if this one is past the end of the range

    def _is_counted(self, placed: PlacedEntry) -> bool:
        """True for an entry that is printed without filters."""
        entry = placed.entry
        return not placed.is_end and entry.kind not in HEADS and (self._style.is_full or not entry.full_only)

    def _summary(self) -> Iterator[str]:
        """A summary of the session; of a large one only on demand, because all of it has to be read first."""
        is_requested, found = self._options.summary, self._source.found
        if found is None or self._source.inline is not None or is_requested is False:
            return
        if is_requested or (not self._is_part and found.stamp.size <= _SUMMARY_LIMIT):
            from claude_session_player.export.summary import facts_markdown
            from claude_session_player.stats import Prices, summarize

            session = self._store.session_of(found)
            if session.facts.is_session:
                yield self._beside(f"{facts_markdown(summarize(session, Prices.load()))}\n\n---\n\n")


def _style(sources: Sequence[SessionSource], options: ShowOptions, *, is_drawn: bool) -> TranscriptStyle:
    style = TranscriptStyle.full() if options.full else TranscriptStyle()
    if is_drawn:
        from shutil import get_terminal_size

        style = replace(style, columns=get_terminal_size().columns, has_colours=has_colours())
    style = replace(style, with_lines=options.line_numbers)
    if options.assets is not None:
        style = replace(style, save=AssetDir(options.assets).save)
    if options.full:
        files = [source.found for source in sources if source.found is not None]
        style = replace(style, resolve=output_resolver(files, is_once=True))
    return style
