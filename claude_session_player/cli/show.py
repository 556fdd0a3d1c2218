"""`show`: the conversation of a session, with its sub-agents where they were called."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, timedelta
from functools import wraps
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from claude_session_player.cli._options import archive_options, load_prices, open_store, utc_option
from claude_session_player.cli._output import (
    name_problems,
    note,
    note_not_shown,
    print_pages,
    print_pieces,
    say,
    warn_line_issues,
)
from claude_session_player.cli._refs import (
    STANDARD_INPUT,
    SessionSource,
    check_file,
    check_head,
    complete_ref,
    needs_store,
    require_session,
    source_in,
)
from claude_session_player.cli._screen import format_option
from claude_session_player.errors import BadFilter
from claude_session_player.export import OutputKind, TranscriptWriter, format_named, formats
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
    MarkedConversation,
    PlacedEntry,
    Subagent,
    SubagentFinder,
    TranscriptBuilder,
    TranscriptWalk,
    all_subagents,
    subagent_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence, Set

    from claude_session_player.format.events import Event
    from claude_session_player.store import Store

AT_ONCE: Final = 16 << 20
"""A larger session is told while it is read, without a look at all of it before."""
_MOST_UNKNOWN: Final = 10_000
"""So many records of unknown types at the beginning of a file are kept in mind until one of a known type comes."""


def transcript_builder(
    source: SessionSource, cast: SubagentFinder, known: Set[str | None] = frozenset()
) -> TranscriptBuilder:
    """Who tells a session; events that are known are not told again."""
    return TranscriptBuilder(cast, is_agent=_is_agent(source), known=known)


def subagents_of_sources(store: Store, sources: Iterable[SessionSource]) -> SubagentFinder:
    """The sub-agents of some sessions, linked to their calls; of those with one id, the first."""
    actors: dict[str, list[Subagent]] = {}
    is_linked = False
    for source in sources:
        if source.found is None or source.inline is not None:
            continue
        is_linked = True
        own: dict[str, list[Subagent]] = {}
        for agent in all_subagents(store.session_of(source.found)):
            own.setdefault(agent.id, []).append(subagent_of(agent))
        actors = own | actors
    return SubagentFinder(chain.from_iterable(actors.values()), is_linked=is_linked)


def events_of(source: SessionSource) -> Iterator[Event]:
    """The events of what was asked for; raises where it is no session file."""
    if source.inline is not None:
        return iter(source.inline.events())
    if source.path is None:
        check_head(source.head, source.name)
        return read_events(source.lines)
    check_file(source.path, source.name)
    return read_events(source.path)


def walk_session(walk: TranscriptWalk, events: Iterable[Event]) -> Iterator[PlacedEntry]:
    """All that is told on a walk; nothing where the file holds only records of unknown types, and so is no session."""
    told = walk.entries(events)
    unknown: list[PlacedEntry] = []
    for one in told:
        if one.entry.kind is not EntryKind.RECORD:
            return chain(unknown, (one,), told)
        if len(unknown) < _MOST_UNKNOWN:
            unknown.append(one)
    return iter(unknown if walk.main.account.is_session else ())


def on_branch(source: SessionSource, number: int) -> Callable[[int], bool]:
    """Tells which lines belong to a branch. The whole file is read for that."""
    if source.path is None:
        raise click.UsageError("--branch needs a file: standard input can be read only once")
    reading = MarkedConversation(skips_sidechains=not _is_agent(source))
    reading.read(events_of(source))
    tree = reading.tree
    many = len(tree.branches())
    if number > many:
        raise click.UsageError(f"--branch {number}: there {'is 1 branch' if many == 1 else f'are {many} branches'}")
    return lambda line: tree.is_on(number, line)


def chain_sources(store: Store, source: SessionSource) -> list[SessionSource]:
    """The sessions that this one continues, the oldest first, and this one."""
    if source.found is None or source.inline is not None:
        raise click.UsageError("--chain needs a session that has a file of its own")
    from claude_session_player.transcript import chain_of

    earlier = [session.file for session in chain_of(store.session_of(source.found), store)]
    return [SessionSource(found.name, found.path, found) for found in earlier]


def _is_agent(source: SessionSource) -> bool:
    """True for a sub-agent; standard input is one where its first line is."""
    if source.inline is not None:
        return True
    if source.path is not None:
        return is_subagent_file(source.path)
    return only_sidechains(decode_lines(split_lines(source.head)[:1], 0, 0))


_R = TypeVar("_R")
_WORDS: Final = ",".join(CATEGORIES)


def _words(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    words = [word.strip() for value in values for word in value.split(",") if word.strip()]
    for word in words:
        if word not in CATEGORIES:
            raise click.BadParameter(f"{word!r} is none of {', '.join(CATEGORIES)}")
    return frozenset(words)


def _start(ctx: click.Context, param: click.Parameter, value: str | None) -> Bound | None:
    return None if value is None else _bounds(value)[0]


def _end(ctx: click.Context, param: click.Parameter, value: str | None) -> Bound | None:
    return None if value is None else _bounds(value)[1]


def _bounds(value: str) -> tuple[Bound, Bound]:
    """A line, or the first and the last moment of a time; of a day, all of it is included."""
    if value.strip().isdecimal():
        return int(value), int(value)
    try:
        start, end = (moment.astimezone(UTC) for moment in parse_date_span(value))
    except BadFilter as error:
        raise click.BadParameter(
            f"{value!r} is no line number and no time: write 120, 2026-01-17, today or '2026-01-17 20:31:59'"
        ) from error
    return start, end if start == end else end - timedelta(microseconds=1)


_OPTIONS: Final = (
    click.option("--only", multiple=True, callback=_words, metavar="KINDS", help=f"Only these: {_WORDS}."),
    click.option("--hide", multiple=True, callback=_words, metavar="KINDS", help="All but these; the same words."),
    click.option("--tool", metavar="NAME", help="Only calls of this tool; mcp__* stands for all that begin so."),
    click.option("--from", "start", callback=_start, metavar="N|TIME", help="From this line of the file, or time."),
    click.option("--to", "end", callback=_end, metavar="N|TIME", help="Up to this line, or time, included."),
)
_NAMES: Final = ("only", "hide", "tool", "start", "end")


def choice_options(function: Callable[..., _R]) -> Callable[..., _R]:
    """The options as one parameter: `choice`, a `EntryFilter`."""

    @wraps(function)
    def with_choice(**given: Any) -> _R:
        chosen = {name: given.pop(name) for name in _NAMES}
        return function(choice=EntryFilter(**chosen), **given)

    for option in reversed(_OPTIONS):
        with_choice = option(with_choice)
    return with_choice


_T = TypeVar("_T")

FOUND_TROUBLE: Final = 1
_PAGE_SIZE: Final = 50


@click.command()
@click.argument("ref", shell_complete=complete_ref)
@choice_options
@click.option("--depth", type=click.IntRange(min=0), metavar="N", help="Sub-agents at most N deep; 0 for none.")
@click.option(
    "--branch", type=click.IntRange(min=1), metavar="N", help="Only this branch; 'tree' tells which there are."
)
@click.option("--chain", is_flag=True, help="Begin with the sessions that this one continues.")
@click.option("--page", type=click.IntRange(min=1), metavar="N", help="Only this page.")
@click.option("--page-size", type=click.IntRange(min=1), metavar="M", help=f"Entries of a page: {_PAGE_SIZE}.")
@click.option("--pager", is_flag=True, help="Look at it in a pager ($PAGER).")
@click.option("--lines", "with_lines", is_flag=True, help="Say on which line of its file each entry stands.")
@click.option("--full", is_flag=True, help="Leave nothing out: whole outputs, also large ones kept beside the session.")
@click.option("--assets", metavar="DIR", help="Write pictures into this directory, and link them.")
@click.option("--summary/--no-summary", default=None, help="A summary first. Default: yes, up to 16 MB.")
@format_option("markdown", formats(OutputKind.TRANSCRIPT))
@click.option("--strict", is_flag=True, help="Name everything that is wrong with the files, and exit with 1.")
@utc_option
@archive_options
def command(
    ref: str,
    choice: EntryFilter,
    strict: bool,
    roots: tuple[str, ...],
    no_cache: bool,
    archived: bool,
    archive: str | None,
    **how: Any,
) -> int:
    """Tell the conversation of a session as markdown.

    Who said what and when, thoughts, calls of tools with their results, and each sub-agent where it was called, one
    block quote deeper. REF is a session file, or - for standard input, or it names a session of the store: an id or
    at least 4 characters of its beginning, a sub-agent's id, latest, latest:2, a title in quotes, a breadcrumb file.
    Times are local, unless with --utc; the first line names their zone. Long outputs are cut, unless with --full.
    """
    if how["chain"] and (archived or archive is not None):
        raise click.UsageError("--chain looks for other sessions in a store: restore this one first")
    required = ref != STANDARD_INPUT and needs_store(ref)
    with open_store(roots, no_cache, required, archived, archive) as store:
        show = _Show(store, source_in(store, ref), choice, no_cache=no_cache, **how)
        show.print()
    return show.verdict(strict)


class _Show:
    """One run of the command: what is read, what of it is wanted, and how it is written."""

    def __init__(
        self,
        store: Store,
        source: SessionSource,
        choice: EntryFilter,
        *,
        page: int | None,
        page_size: int | None,
        **how: Any,
    ) -> None:
        self._store = store
        self._source = source
        branch = how["branch"]
        self._choice = choice if branch is None else replace(choice, is_on_branch=on_branch(source, branch))
        self._page = (page or 1, page_size or _PAGE_SIZE) if page or page_size else None
        self._how = how
        self._sources = chain_sources(store, source) if how["chain"] else [source]
        self._style = _style(self._sources, how)
        self._writer: TranscriptWriter = format_named(how["format"], OutputKind.TRANSCRIPT).load()
        self._walks: list[TranscriptWalk] = []
        self._printed = self._passed = 0
        """How many entries were printed, and how many could have been."""
        self._unwanted = 0
        """How many entries do not match the filters."""

    def print(self) -> None:
        """Write the conversation to stdout while it is read."""
        if self._writer.is_document and self._how["pager"]:
            print_pages(self._text())
        else:
            print_pieces(self._text())

    def verdict(self, strict: bool) -> int:
        """Say in the end what is to be said, and give the exit code."""
        for walk in self._walks:
            if not self._printed:
                require_session(walk.main.account, self._source.name)
            warn_line_issues(walk.main.account, tells_unknown=True)
        if not self._printed:
            say(self._nothing)
        self._note_left_out()
        return FOUND_TROUBLE if strict and self._count_problems() else 0

    @property
    def _nothing(self) -> str:
        if self._page is not None and self._passed:
            pages = -(-self._passed // self._page[1])
            return f"there is no page {self._page[0]}: there {'is 1 page' if pages == 1 else f'are {pages} pages'}"
        if self._choice.is_everything:
            return f"{self._source.name} has nothing to tell: no prompts, no answers (see --full)"
        return f"nothing in {self._source.name} fits these choices"

    def _count_problems(self) -> int:
        """Name what is wrong with the files, all of it, whatever was chosen; a stream can be read only once."""
        walks = self._walks if self._source.path is None else list(self._whole_walks())
        return sum([name_problems(walk.problems, walk.unlinked) for walk in walks])

    def _whole_walks(self) -> Iterator[TranscriptWalk]:
        cast = subagents_of_sources(self._store, self._sources)
        for source in self._sources:
            walk = TranscriptWalk(
                transcript_builder(source, cast), is_last=source is self._sources[-1], notes_problems=True
            )
            for _ in walk.entries(events_of(source)):
                pass
            yield walk

    @property
    def _is_part(self) -> bool:
        return not self._choice.is_everything or self._page is not None

    def _note_left_out(self) -> None:
        """Say how much of the conversation is not in the output."""
        page, end = self._page, self._choice.end
        if page is not None and self._passed > page[0] * page[1]:
            note(f"more entries follow; use --page {page[0] + 1}")
        elif page is None and self._printed:
            stretch = f"up to line {end}" if isinstance(end, int) else ""
            note_not_shown(self._unwanted, "entry", stretch, " because of these filters")
        deeper = sum(walk.not_entered for walk in self._walks)
        note_not_shown(deeper, "sub-agent", f"deeper than --depth {self._how['depth']}")

    def _text(self) -> Iterator[str]:
        writer = self._writer
        if writer.is_document:
            yield from self._summary()
        is_begin = self._page is None or self._page[0] == 1  # pages together are one transcript
        join = writer.join_first if is_begin and writer.join_first is not None else writer.join
        yield from join(self._paged(writer.items(self._told(), self._style)))
        if writer.is_document and self._style.is_full and not self._is_part:
            yield from (omitted_lines_section(walk.main.account) for walk in self._walks)

    def _paged(self, things: Iterator[_T]) -> Iterator[_T]:
        number, size = self._page or (1, sys.maxsize)
        for thing in things:
            self._passed += 1
            if self._passed > number * size:
                return
            if self._passed > (number - 1) * size:
                self._printed += 1
                yield thing

    def _told(self) -> Iterator[PlacedEntry]:
        sources, cast = self._sources, subagents_of_sources(self._store, self._sources)
        known: set[str | None] = set()
        for source in sources:
            telling = transcript_builder(source, cast, known)
            is_stream = source.path is None
            walk = TranscriptWalk(
                telling, depth=self._how["depth"], is_last=source is sources[-1], notes_problems=is_stream
            )
            self._walks.append(walk)
            if len(sources) > 1:
                yield PlacedEntry(
                    0, Entry(EntryKind.SECTION, text=f"Session {source.found.id if source.found else source.name}")
                )
            yield from self._chosen(walk_session(walk, events_of(source)))
            if len(sources) > 1:
                known.update(telling.lazy_tree.tree.uuids)

    def _chosen(self, told: Iterator[PlacedEntry]) -> Iterator[PlacedEntry]:
        """The wanted entries; the others are counted."""
        if self._choice.is_everything:
            yield from told
            return
        for one in self._choice.apply(self._counted(told)):
            self._unwanted -= self._is_entry(one)
            yield one

    def _counted(self, told: Iterator[PlacedEntry]) -> Iterator[PlacedEntry]:
        for one in told:
            yield one
            self._unwanted += self._is_entry(one)  # not where this one ended the stretch

    def _is_entry(self, told: PlacedEntry) -> bool:
        """True for an entry that is written where nothing is filtered."""
        entry = told.entry
        return not told.is_end and entry.kind not in HEADS and (self._style.is_full or not entry.full_only)

    def _summary(self) -> Iterator[str]:
        """What the session comes to, before it is told; where that takes long, only on demand."""
        wanted, found = self._how["summary"], self._source.found
        if found is None or self._source.inline is not None or wanted is False:
            return
        if wanted or (not self._is_part and found.stamp.size <= AT_ONCE):
            from claude_session_player.export.summary import facts_markdown
            from claude_session_player.stats import summarize

            session = self._store.session_of(found)
            if session.facts.is_session:
                summary = summarize(session, load_prices())
                yield f"{facts_markdown(summary)}\n\n---\n\n"


def _style(sources: Sequence[SessionSource], how: dict[str, Any]) -> TranscriptStyle:
    more: dict[str, Any] = {"with_lines": how["with_lines"]}
    if how["assets"] is not None:
        more["save"] = AssetDir(how["assets"]).save
    if not how["full"]:
        return TranscriptStyle(**more)
    more["resolve"] = output_resolver([source.found for source in sources if source.found is not None], is_once=True)
    return TranscriptStyle.full(**more)
