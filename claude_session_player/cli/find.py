"""`find`: search everything that sessions contain, and open what was found."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from claude_session_player.cli._options import (
    SESSIONS_SHOWN,
    archive_options,
    collect_options,
    examples,
    json_options,
    redaction_options,
    search_filter_options,
    utc_option,
)
from claude_session_player.cli._output import (
    LINES,
    encode_json,
    note,
    note_omitted,
    print_encoded,
    print_object,
    print_pieces,
    print_records,
    print_text,
    say,
    stdout,
)
from claude_session_player.search import HITS_SHOWN, ORDERS, SearchOptions
from claude_session_player.store import Filter
from claude_session_player.util import humanize
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import base_name, display_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.cli._hits import HitPrinter
    from claude_session_player.cli._options import Redaction, StoreOptions
    from claude_session_player.cli._output import JsonForm
    from claude_session_player.search import Hits, SearchReport, SessionHits
    from claude_session_player.store import Session, Store

_Row = TypeVar("_Row")
GROUPINGS: Final = ("session", "project", "tool", "day", "file")
SESSION, PROJECT, TOOL, DAY, FILE = GROUPINGS


# --- options ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FindOptions:
    """What is searched for, and what is printed of it."""

    words: tuple[str, ...]
    queries: tuple[str, ...]
    exact: str | None
    regex: str | None
    case: bool
    sort: str
    all_hits: bool
    play: int | None
    show: int | None
    count: bool
    by: str | None
    ids: bool
    no_update: bool
    no_index: bool

    @property
    def all_queries(self) -> list[str]:
        """The words of the command line as one query, and the others."""
        own = " ".join(self.words).replace(_MARK, "")
        return [own, *self.queries] if self.words else list(self.queries)

    @property
    def is_counting(self) -> bool:
        """True if only numbers are printed."""
        return self.count or self.by is not None


_NUMBER: Final = click.IntRange(min=1)
find_options = collect_options(
    "options",
    FindOptions,
    FindOptions.__annotations__,
    (
        click.argument("words", nargs=-1, metavar="[QUERY]..."),
        click.option(
            "--query",
            "queries",
            multiple=True,
            metavar="TEXT",
            help="Only sessions that match this query as well; repeatable.",
        ),
        click.option(
            "--exact", metavar="TEXT", help="Search for exactly this text, with its punctuation and capitals."
        ),
        click.option("--regex", metavar="RE", help="Search for a Python regular expression."),
        click.option("--case", is_flag=True, help="Distinguish capitals in QUERY. Default: ignore case."),
        click.option(
            "--sort",
            type=click.Choice(ORDERS),
            default=ORDERS[0],
            show_default=True,
            help="Sort sessions, and the hits of each, by relevance or by the time of the hits.",
        ),
        click.option(
            "--all-hits", is_flag=True, help=f"Print all hits of each session. Default: the best {HITS_SHOWN}."
        ),
        click.option("--play", type=_NUMBER, metavar="[N]", help="Play session N from its best hit on. Default: 1."),
        click.option("--show", type=_NUMBER, metavar="[N]", help="Print session N from its best hit on. Default: 1."),
        click.option("--count", is_flag=True, help="Print only how many hits and sessions there are."),
        click.option("--by", type=click.Choice(GROUPINGS), help="Count hits by session, project, tool, day or file."),
        click.option("--ids", is_flag=True, help="Print only the ids of sessions, one per line."),
        click.option("--no-update", is_flag=True, help="Use the search index as it is, even if it is out of date."),
        click.option("--no-index", is_flag=True, help="Read all files instead of using the search index."),
    ),
)

_MARK: Final = "\0"
"""Begins a word that click must not take for an option; no argument of a process can contain it."""
_OPENERS: Final = ("--play", "--show")
_EXCLUDED_WORD: Final = re.compile(r"-(?!-|h\Z|n\d*\Z|\Z)")


class _QueryCommand(click.Command):
    """Lets a query have words like `-tea`, and lets `--play` and `--show` do without a number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, list(self._prepare(args)))
        except click.NoSuchOption as error:
            near = f" (did you mean {' or '.join(error.possibilities)}?)" if error.possibilities else ""
            message = f"there is no option {error.option_name}{near}: to search for it, write -- before the query"
            raise click.UsageError(message, ctx) from error

    def _prepare(self, args: Sequence[str]) -> Iterator[str]:
        options = [param for param in self.params if isinstance(param, click.Option) and not param.is_flag]
        with_value = {name for option in options for name in option.opts}
        is_value = False
        for number, word in enumerate(args):
            if word == "--":
                yield from args[number:]
                return
            if is_value or word not in with_value:
                yield word if is_value or not _EXCLUDED_WORD.match(word) else _MARK + word
                is_value = False
            else:
                is_value = word not in _OPENERS or "".join(args[number + 1 : number + 2]).isdecimal()
                yield word if is_value else f"{word}=1"


# --- the command --------------------------------------------------------------------------------------


@click.command(
    cls=_QueryCommand,
    epilog=examples(
        ("find login bug", "both words in one text"),
        ("find 'cmd:pytest error:yes' --sort newest", "the last failed test runs"),
        ("find --exact 'x->next' --by project", "how often, in which project"),
        ("find kettle --play", "play the best hit"),
    ),
)
@find_options
@search_filter_options
@json_options
@redaction_options(default=False)
@utc_option
@archive_options
def command(
    options: FindOptions, filter: Filter, form: JsonForm | None, stores: StoreOptions, redaction: Redaction
) -> int:
    """Search prompts, responses, tool calls and results.

    QUERY is one or more words that a text must contain, in any order; 'help query' explains phrases, fields like
    tool:Bash, and how to exclude words. Thinking, titles, summaries, attached files and sub-agents are searched, too.

    Sessions are numbered, the best first; --play N and --show N open number N at its best hit. The first search of a
    store builds the search index, and later ones read only what is new. --exact and --regex need no index: they read
    the files. The exit code is 0 even if nothing matches. 'search' is another name for this command.
    """
    _refuse_combinations(options, form)
    if options.play and redaction.is_on:
        raise click.UsageError("--play and --redact are mutually exclusive: use --show")
    wanted = SearchOptions(
        filter=filter._replace(limit=None, offset=0),
        order=options.sort,
        has_case=options.case,
        updates=not options.no_update,
        uses_index=not options.no_index,
        all_matches=options.is_counting or options.ids or options.all_hits or filter.limit == 0,
    )
    with stores.open() as store:
        hits = _search(store, options, wanted)
        for problem in hits.report.problems:
            store.note(problem)
        ids = [file.id for file in store.last_files()]
        if redaction.is_on and hits and not options.show:
            hits = _search_copies(hits, options, wanted, filter, redaction, store)
            filter = filter._replace(offset=0)
            stores = replace(stores, roots=tuple(map(redaction.masked, stores.roots)))
    if not hits and not form and not options.count:
        _explain_nothing(filter, () if redaction.is_on else hits.suggestions)
    elif (number := options.play or options.show) is not None:
        return _open_session("play" if options.play else "show", hits, number, stores, redaction.hand_over())
    elif options.is_counting:
        _print_counts(hits, options.by, filter, form, ids)
    elif options.ids:
        print_pieces(f"{display_path(group.session.id)}\n" for group in _page(list(hits), filter, None))
    elif form:
        groups = _page(list(hits), filter)
        print_encoded((_record(group, options) for group in groups), form)
        note_omitted(len(hits) - len(groups) - filter.offset, "session", reason="; use -n 0 for all")
    else:
        from claude_session_player.cli._hits import HitPrinter

        _print_hits(hits, filter, options, HitPrinter(stores, ids, redaction))
    _note_omissions(hits)
    return 0


def _explain_nothing(filter: Filter, suggestions: Iterable[str]) -> None:
    """Say that nothing matches, and what would have."""
    say("No sessions match this query" + (" and these filters." if filter.is_narrow else "."))
    for suggestion in suggestions:
        say(printable(suggestion))


def _refuse_combinations(options: FindOptions, form: JsonForm | None) -> None:
    """Raise if options contradict each other, or if there is nothing to search for."""
    scans = [name for name, text in (("--exact", options.exact), ("--regex", options.regex)) if text is not None]
    queries = [name for name, texts in (("--query", options.queries), ("QUERY", options.words)) if texts]
    if not scans and not queries:
        raise click.UsageError("there is no query: write words, or use --exact TEXT or --regex RE")
    outputs = (
        ("--play", options.play),
        ("--show", options.show),
        ("--ids", options.ids),
        ("--by" if options.by else "--count", options.is_counting),
        ("--jsonl" if form == LINES else "--json", form and not options.is_counting),
    )
    for given in (scans + queries if scans else [], [name for name, is_given in outputs if is_given]):
        if len(given) > 1:
            raise click.UsageError(f"{given[0]} and {given[1]} are mutually exclusive")


def _search(store: Store, options: FindOptions, wanted: SearchOptions) -> Hits:
    if options.regex is not None:
        return store.scan(options.regex, is_regex=True, options=wanted)
    if options.exact is not None:
        return store.scan(options.exact, options=wanted)
    return store.search(*options.all_queries, options=wanted)


def _search_copies(
    hits: Hits, options: FindOptions, wanted: SearchOptions, filter: Filter, redaction: Redaction, store: Store
) -> Hits:
    """Search again in redacted copies of the sessions that are shown: only what they still say is found."""
    groups = list(hits) if options.is_counting or options.ids else _page(list(hits), filter)
    copies = redaction.copies_of([group.session for group in groups], store)
    return _search(copies, options, wanted._replace(uses_index=False, filter=Filter()))


def _page(rows: list[_Row], filter: Filter, default: int | None = SESSIONS_SHOWN) -> list[_Row]:
    """The rows that `--limit` and `--offset` select."""
    limit = default if filter.limit is None else filter.limit or None
    return rows[filter.offset : None if limit is None else filter.offset + limit]


def _open_session(name: str, hits: Hits, number: int, stores: StoreOptions, more: Sequence[str]) -> int:
    """Run `play` or `show` from the best hit of a session on; returns its exit code."""
    from claude_session_player.cli import play, show
    from claude_session_player.cli._hits import hit_to_open, start_words

    if number > len(hits):
        raise click.UsageError(f"--{name} {number}: only {humanize.plural(len(hits), 'session')} found")
    hit = hit_to_open(hits[number - 1])
    command = play.command if name == "play" else show.command
    ref = hit.session.id if stores.is_archive else hit.session.path  # a path is never ambiguous
    words = [ref, *start_words(hit), *stores.words, *(["--no-cache"] if stores.no_cache else []), *more]
    with command.make_context(name, words, parent=click.get_current_context()) as context:
        code = command.invoke(context)
    return code if isinstance(code, int) else 0


# --- as JSON ------------------------------------------------------------------------------------------


def _record(group: SessionHits, options: FindOptions) -> str:
    """The record of a session with its hits, as JSON."""
    hits = list(group) if options.all_hits else group.best()
    found = {"hit_count": group.count, "match_reasons": [hit.record for hit in hits]}
    return f"{group.session.json[:-1]},{encode_json(found)[1:]}"


# --- numbers ------------------------------------------------------------------------------------------


class HitGroup(NamedTuple):
    """How many hits have something in common."""

    name: str | None
    """The name of the session's file, the project, the tool, the day or the file; `None` for hits without one."""
    hits: int
    sessions: int
    session: Session
    """The best session."""


def _print_counts(hits: Hits, by: str | None, filter: Filter, form: JsonForm | None, ids: Sequence[str]) -> None:
    if by is None:
        if form:
            print_object({"hits": hits.total, "sessions": len(hits)})
        else:
            print_text(_count_words(hits))
        return
    every = count_hits(hits, by)
    groups = _page(every[::-1], filter, None)[::-1] if by == DAY else _page(every, filter, None)
    if form:
        print_records((_group_record(by, group) for group in groups), form)
        return
    if groups:
        _print_groups(by, groups, ids)
    if left := len(every) - len(groups):
        print_text(f"… and {left} more")
    _say_summary(hits)


def count_hits(hits: Iterable[SessionHits], by: str) -> list[HitGroup]:
    """The hits in groups: days in their order, everything else by the number of hits."""
    groups: dict[str | None, HitGroup] = {}
    for found in hits:
        for name, number in Counter(_group_names(found, by)).items():
            known = groups.get(name, HitGroup(name, 0, 0, found.session))
            groups[name] = known._replace(hits=known.hits + number, sessions=known.sessions + 1)
    if by == DAY:
        return sorted(groups.values(), key=lambda group: group.name or "")
    return sorted(groups.values(), key=lambda group: (-group.hits, group.name or ""))


def _group_names(found: SessionHits, by: str) -> Iterable[str | None]:
    """The name of the group of each hit."""
    session = found.session
    if by == SESSION:
        return [session.file.name] * found.count
    if by == PROJECT:
        return [session.project] * found.count
    if by == DAY:
        return [_day(match.seconds) for match in found.matches]
    return [(hit.tool if by == TOOL else hit.path) or None for hit in found]


def _day(seconds: int) -> str | None:
    return humanize.day_of(datetime.fromtimestamp(seconds, UTC).isoformat()) if seconds else None


def _group_record(by: str, group: HitGroup) -> dict[str, Any]:
    name = None if group.name is None else display_path(group.name)
    numbers = {"hits": group.hits, "sessions": group.sessions}
    if by != SESSION:
        return {by: name, **numbers}
    session = group.session
    project = None if session.project is None else display_path(session.project)
    return {by: display_path(session.id), "title": session.title, "project": project, "path": name, **numbers}


_BAR_WIDTH: Final = 12


def _print_groups(by: str, groups: Sequence[HitGroup], ids: Sequence[str]) -> None:
    from claude_session_player.cli._tables import Column, print_table, short_ids

    most = max(group.hits for group in groups)
    sessions = [group.session for group in groups]
    further: list[Column] = []
    if by == SESSION:
        names = [
            Column("SESSION", short_ids([session.id for session in sessions], ids), 11, style="cyan"),
            Column("TITLE", [session.title or "(no title)" for session in sessions], 8, 20),
            Column("PROJECT", [base_name(session.project or "") for session in sessions], 5, 12, style="green"),
        ]
    else:
        cells = [display_path(group.name) if group.name else f"(no {by})" for group in groups]
        counts = [str(group.sessions) for group in groups]
        names = [Column(by.upper(), cells, 11, 20, style="green", keeps_end=by in (PROJECT, FILE))]
        further = [Column("SESSIONS", counts, 6, right=True)]
    hits = [str(group.hits) for group in groups]
    bars = [humanize.share_bar(group.hits / most, _BAR_WIDTH) for group in groups]
    print_table((*names, Column("HITS", hits, 10, right=True), *further, Column("", bars, 4, style="cyan")))


# --- for people ---------------------------------------------------------------------------------------


def _print_hits(hits: Hits, filter: Filter, options: FindOptions, printer: HitPrinter) -> None:
    groups = _page(list(hits), filter)
    for number, group in enumerate(groups, filter.offset + 1):
        printer.print(number, group, list(group) if options.all_hits else group.best())
    _say_summary(hits, "" if len(groups) == len(hits) else f" ({len(groups)} shown; use -n 0 for all)")


def _say_summary(hits: Hits, shown: str = "") -> None:
    """Say how much was found, and how."""
    if is_terminal(stdout()):
        print_text("")
    say(f"{_count_words(hits)}{shown}; {_lane_words(hits.report)}")


def _count_words(hits: Hits) -> str:
    return f"{humanize.plural(hits.total, 'hit')} in {humanize.plural(len(hits), 'session')}"


def _lane_words(report: SearchReport) -> str:
    """What answered."""
    files = humanize.plural(report.files, "file")
    if report.lane == "index":
        return f"index, {files}"
    return f"{report.lane} scan, {files}, {humanize.size(report.bytes_read)}"


def _note_omissions(hits: Hits) -> None:
    """Say what was left out, and why the index was not used as usual."""
    report = hits.report
    if report.is_limited:
        note(f"there are more than {hits.total:,} hits; the best are shown: use --all-hits for all")
    if report.reason:
        files = humanize.plural(report.read, "file was read instead", "files were read instead")
        read = f", so {files}" if report.read else ""
        note(printable(f"the index could not be updated ({display_path(report.reason)}){read}"))
    if report.stale:
        files = humanize.plural(report.stale, "file has", "files have")
        note(f"{files} changed since the last update, and what is new was not searched (--no-update)")
    if report.binary:
        texts = humanize.plural(report.binary, "text was", "texts were")
        note(f"{texts} left out: only images, or other data in base64, match")
