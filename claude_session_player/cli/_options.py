"""Options that several commands share. Each group of options reaches a command as one typed object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import click
from click.core import ParameterSource

from claude_session_player.cli._output import ARRAY, LINES, reading_bar, say, warn_unreadable
from claude_session_player.errors import BadFilter, NoSuchSession
from claude_session_player.util.dirs import SHORT_PROGRAM

if TYPE_CHECKING:
    from claude_session_player.cli._refs import SessionSource
    from claude_session_player.export import Format
    from claude_session_player.models import View
    from claude_session_player.store import Progress, Session, Store

SESSIONS_SHOWN: Final = 10
"""The number of sessions that a search shows unless another is given."""
Function = Callable[..., object]
Decorator = Callable[[Function], Function]
_F = TypeVar("_F", bound=Function)


def collect_options(
    name: str, make: Callable[..., object], fields: Iterable[str], options: Sequence[Decorator]
) -> Decorator:
    """A decorator that adds options to a command and passes what `make` builds from their values as one parameter."""
    names = tuple(fields)

    def decorate(function: Function) -> Function:
        @wraps(function)
        def with_object(**given: object) -> object:
            values = {field: given.pop(field) for field in names if field in given}
            return function(**given, **{name: make(**values)})

        decorated: Function = with_object
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def is_given(ctx: click.Context, name: str | None) -> bool:
    """True for a parameter that was typed on the command line."""
    return name is not None and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


# --- which store --------------------------------------------------------------------------------------

ARCHIVE_HELP: Final = "Use the archive in this directory. Default: the one in the platform's data directory."


@dataclass(frozen=True)
class StoreOptions:
    """Where sessions are looked for: in stores, or in an archive."""

    roots: tuple[str, ...] = ()
    no_cache: bool = False
    archived: bool = False
    archive: str | None = None

    @property
    def cache(self) -> str | None:
        """The directory of the index; `None` for no index."""
        from claude_session_player.store import DEFAULT_CACHE

        return None if self.no_cache else DEFAULT_CACHE

    @property
    def is_archive(self) -> bool:
        """True where sessions are looked for in the archive."""
        return self.archived or self.archive is not None

    @property
    def words(self) -> list[str]:
        """The options that lead another command to the same sessions."""
        if self.is_archive:
            return ["--archived"] if self.archive is None else ["--archive", self.archive]
        return [word for root in self.roots for word in ("--root", root)]

    @contextmanager
    def open(self, required: bool = True) -> Iterator[Store]:
        """The stores, with a progress bar for long reads; at the end, unreadable files are named."""
        with self.open_with_progress(required) as (store, _):
            yield store

    @contextmanager
    def open_with_progress(
        self, required: bool = True, title: str = "reading sessions"
    ) -> Iterator[tuple[Store, Progress | None]]:
        """The same, and what moves the progress bar; on a terminal only."""
        store: Store | None = None
        try:
            with reading_bar(title) as progress:
                store = self._open(required, progress)
                yield store, progress
        except NoSuchSession:
            if store is not None:  # the session may be in a file that could not be read
                warn_unreadable(store.problems)
            raise
        warn_unreadable(store.problems)
        if (refusal := store.refused_index) is not None:
            from claude_session_player.util.text import display_path, printable

            say(printable(f"note: the index is not used: {display_path(refusal)}"))

    def _open(self, required: bool, progress: Progress | None) -> Store:
        from claude_session_player.store import Store

        if not self.is_archive:
            return Store.open(*self.roots, cache=self.cache, progress=progress, required=required)
        from claude_session_player.archive import ArchivedStore, open_archive_dir

        if self.roots:
            option = "--archived" if self.archived else "--archive"
            raise click.UsageError(f"{option} and --root are mutually exclusive")
        store = ArchivedStore.from_archive_dir(open_archive_dir(self.archive), self.cache, progress)
        click.get_current_context().call_on_close(store.close)  # removes what was unpacked
        return store


_ROOT: Final = click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    help="Use the Claude store in this directory; repeatable. Default: $CLAUDE_CONFIG_DIR, else ~/.claude.",
)
_NO_CACHE: Final = click.option("--no-cache", is_flag=True, help="Ignore the index and do not write it.")
_ARCHIVED: Final = click.option("--archived", is_flag=True, help="Read archived sessions instead of the store.")
_ARCHIVE: Final = click.option(
    "--archive", metavar="DIR", help="Like --archived, with the archive in this directory instead of the default one."
)


def store_options(function: Function) -> Function:
    """`--root` and `--no-cache`, as the parameter `stores`."""
    return collect_options("stores", StoreOptions, ("roots", "no_cache"), (_ROOT, _NO_CACHE))(function)


def archive_options(function: Function) -> Function:
    """The same with `--archived` and `--archive`, for commands that read archived sessions as well."""
    fields, options = StoreOptions.__annotations__, (_ARCHIVED, _ARCHIVE, _ROOT, _NO_CACHE)
    return collect_options("stores", StoreOptions, fields, options)(function)


def index_options(function: Function) -> Function:
    """The same without `--no-cache`, for commands about the search index, which is a cache."""
    options = (_ARCHIVED, _ARCHIVE, _ROOT)
    return collect_options("stores", StoreOptions, StoreOptions.__annotations__, options)(function)


def archive_dir_option(function: _F) -> _F:
    """`--archive` of commands that write to the archive or restore from it, as the parameter `archive`."""
    return click.option("--archive", metavar="DIR", help=ARCHIVE_HELP)(function)


# --- which sessions -----------------------------------------------------------------------------------

_WHEN: Final = "2026-01-17, 2026-01, today, 7d, 12h, week, … (see 'help times')"
_HEADLESS_HELP: Final = "Include runs of 'claude -p' and SDKs. Default: yes."
_FROM: Final = f"Only sessions active then or later: {_WHEN}."
_TO: Final = "Only sessions active then or earlier, including all of that day."


def _start(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    return None if value is None else _span(value)[0]


def _end(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    return None if value is None else _span(value)[1]


def _span(value: str) -> tuple[datetime, datetime]:
    from claude_session_player.store import parse_date_span

    try:
        start, end = parse_date_span(value)
        return start.astimezone(UTC), end.astimezone(UTC)
    except BadFilter as error:
        raise click.BadParameter(str(error)) from error


def _limit_option(*names: str, help: str, has_all_by_default: bool = True) -> Decorator:
    """`--limit N`, with 0 for all; where all is the default anyway, a command need not tell the two apart."""

    def all_for_zero(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
        return (value or None) if has_all_by_default else value

    return click.option(*names, type=click.IntRange(min=0), callback=all_for_zero, metavar="N", help=help)


_LIMIT: Final = _limit_option("--limit", help="At most N sessions; 0 for all. Default: all.")
_LIST_LIMIT: Final = _limit_option(
    "--limit",
    help="At most N sessions; 0 for all. Default: as many as the terminal has room for, else all.",
    has_all_by_default=False,
)


def _filter_decorator(
    from_help: str = _FROM,
    to_help: str = _TO,
    to_name: str = "--to",
    *,
    with_subagents: bool,
    limit: Decorator = _LIMIT,
    more: Sequence[Decorator] = (),
) -> Decorator:
    """The options that select sessions, as the parameter `filter`."""
    from claude_session_player.store import SORT_KEYS, Filter

    subagents = click.option("--include-subagents", is_flag=True, help="Include sub-agents that have their own files.")
    options: list[Decorator] = [
        *_conditions(from_help, to_help, to_name),
        *([subagents] if with_subagents else []),
        *more,
        click.option(
            "--sort",
            type=click.Choice(list(SORT_KEYS)),
            default="updated",
            show_default=True,
            help="Sort by this field.",
        ),
        _REVERSE,
        limit,
        _OFFSET,
    ]
    return collect_options("filter", Filter, Filter._fields, options)


_REVERSE: Final = click.option("--reverse", is_flag=True, help="Reverse the order.")
_OFFSET: Final = click.option(
    "--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N sessions. Default: 0."
)


def _conditions(from_help: str = _FROM, to_help: str = _TO, to_name: str = "--to") -> list[Decorator]:
    """The options that are conditions on a session itself."""
    return [
        click.option("--project", metavar="TEXT", help="Only sessions whose project path contains TEXT."),
        click.option("--cwd", metavar="TEXT", help="Only sessions with TEXT in the path of a working directory."),
        click.option("--from", "--since", "since", callback=_start, metavar="WHEN", help=from_help),
        click.option(to_name, "before", callback=_end, metavar="WHEN", help=to_help),
        click.option("--model", metavar="TEXT", help="Only sessions that used a model with TEXT in its name."),
        click.option("--branch", metavar="TEXT", help="Only sessions on a git branch with TEXT in its name."),
        click.option("--title", metavar="TEXT", help="Only sessions with TEXT in their title."),
    ]


headless_option: Final[Decorator] = click.option(
    "--headless/--no-headless", "include_headless", default=True, help=_HEADLESS_HELP
)


def filter_options(function: Function) -> Function:
    """The options that select sessions and sub-agents, as the parameter `filter`."""
    return _filter_decorator(with_subagents=True)(function)


def list_filter_options(function: Function) -> Function:
    """The same for a list on a terminal, where `--limit 0` is all, and no limit as many as there is room for."""
    return _filter_decorator(with_subagents=True, limit=_LIST_LIMIT, more=(headless_option,))(function)


def usage_filter_options(function: Function) -> Function:
    """The same for commands whose times select responses, not sessions."""
    from_help = f"Count only responses then or later: {_WHEN}."
    to_help = "Count only responses then or earlier, including all of that day."
    return _filter_decorator(from_help, to_help, with_subagents=True)(function)


def archive_filter_options(function: Function) -> Function:
    """The same for commands that handle whole sessions, always with their sub-agents."""
    return _filter_decorator(with_subagents=False)(function)


def clean_filter_options(function: Function) -> Function:
    """The same for the removal of sessions: `--before` spares a session that was used later, whenever it began."""
    help = "Only sessions last active then or earlier, including all of that day."
    return _filter_decorator(to_help=help, to_name="--before", with_subagents=False)(function)


def search_filter_options(function: Function) -> Function:
    """The same for a search, whose hits have an order of their own; without `--limit`, the limit is `None`."""
    from claude_session_player.store import Filter

    help = f"At most N sessions, or N rows with --by; 0 for all. Default: {SESSIONS_SHOWN}; all with --by and --ids."
    limit = _limit_option("-n", "--limit", help=help, has_all_by_default=False)
    return collect_options("filter", Filter, Filter._fields, [*_conditions(), limit, _OFFSET])(function)


def moment_filter_options(things: str, *more: Decorator) -> Decorator:
    """The same for commands about moments of sessions: times and `--limit` select these things, not sessions."""
    from claude_session_player.store import Filter

    limit = _limit_option("-n", "--limit", help=f"At most N {things}; 0 for all. Default: all.")
    from_help = f"Only {things} then or later: {_WHEN}."
    to_help = f"Only {things} then or earlier, including all of that day."
    return collect_options("filter", Filter, Filter._fields, [*_conditions(from_help, to_help), *more, _REVERSE, limit])


# --- what is shown ------------------------------------------------------------------------------------

THINKING_HELP: Final = "Show thinking. Default: hidden."
FULL_HELP: Final = "Do not truncate labels, results or sub-agent output."
HISTORY_HELP: Final = "Include messages from before compactions."


def make_view(*, history: bool, thinking: bool = False, full: bool = False) -> View:
    """The view that these options describe."""
    from claude_session_player.models import View

    return View.full(history=history, thinking=thinking) if full else View(history=history, thinking=thinking)


def _view_decorator(*history: Decorator) -> Decorator:
    thinking = click.option("--thinking", is_flag=True, help=THINKING_HELP)
    full = click.option("--full", is_flag=True, help=FULL_HELP)
    return collect_options("view", make_view, ("history", "thinking", "full"), (*history, thinking, full))


def view_options(function: Function) -> Function:
    """`--history`, `--thinking` and `--full`, as the parameter `view`."""
    return _view_decorator(click.option("--history", is_flag=True, help=HISTORY_HELP))(function)


def whole_view_options(function: Function) -> Function:
    """The same for commands that show the whole session unless told otherwise."""
    help = "Include messages from before compactions, or start after the last one. Default: --history."
    history = click.option("--history/--since-compaction", default=True, help=help)
    return _view_decorator(history)(function)


def format_option(default: str | None, formats: Iterable[Format], default_words: str = "") -> Callable[[_F], _F]:
    """`--format`, as the parameter `format`; `default_words` say what `None` stands for."""
    rows = list(formats)
    names = click.Choice([row.name for row in rows])
    help = f"Output format. {'; '.join(row.help for row in rows)}."
    shown = {"help": f"{help} Default: {default_words}."} if default is None else {"help": help, "show_default": True}
    return click.option("--format", type=names, default=default, **shown)


pager_option: Final = click.option(
    "--pager/--no-pager", default=None, help="Use a pager ($PAGER). Default: on a terminal, unless --format is given."
)
JSON_HELP: Final = "Print JSON."
STRICT_HELP: Final = "Exit with 1 if anything is wrong, and name it on stderr."


def json_options(function: _F) -> _F:
    """`--json` and `--jsonl`, as the parameter `form`."""
    array = click.option("--json", "form", flag_value=ARRAY, help=JSON_HELP)
    lines = click.option("--jsonl", "form", flag_value=LINES, help="Print JSON, one object per line.")
    return array(lines(function))


def json_option(function: _F) -> _F:
    """`--json` of a command that prints one object, as the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=JSON_HELP)(function)


def utc_option(function: _F) -> _F:
    """`--utc`: it takes effect before any typed time is read, and until the command ends."""
    return click.option(
        "--utc",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_use_utc,
        help="Show and read times in UTC. Default: local time.",
    )(function)


def _use_utc(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from claude_session_player.util.times import using_zone

        ctx.with_resource(using_zone(UTC))


# --- what is redacted ---------------------------------------------------------------------------------

_REDACTION_FIELDS: Final = ("redact", "redaction_report", "keep", "known", "rules")
_REPORT_HELP: Final = "Write what was masked where to this file, as JSON."
_KEEP_HELP: Final = "Do not mask this: identity, images, a kind like email, or what a rule finds; repeatable."
_KNOWN_HELP: Final = "Also mask the values of this file (.env, JSON, lines), or of a variable as env:NAME; repeatable."
_RULES_HELP: Final = "Use the rules of this file; repeatable. Default: redact.toml of the project and the user."


class Redaction:
    """What becomes of sessions and texts before a command prints them: nothing, unless `--redact` brings another one.

    What redacts is in a module of its own, which other commands do not load.
    """

    is_on: ClassVar[bool] = False

    @property
    def words(self) -> Sequence[str]:
        """The options that let another command redact in the same way."""
        return ()

    def hand_over(self) -> Sequence[str]:
        """The same for a command that goes on in place of this one: it also tells what was done."""
        return ()

    def store(self, store: Store) -> Store:
        """The store that sessions are read from instead of this one."""
        return store

    def session(self, session: Session) -> Session:
        """The session that is read instead of this one."""
        return session

    def sources(self, sources: list[SessionSource], store: Store) -> list[SessionSource]:
        """The same for several, each with what all of them say in mind."""
        return sources

    def learn_all(self, sessions: Sequence[Session]) -> None:
        """Learn what several sessions say before the first is read."""

    def source(self, source: SessionSource, store: Store | None = None) -> SessionSource:
        """The same for a session that was found, or is on standard input."""
        return source

    def masked(self, text: str) -> str:
        """A text that goes out beside a session."""
        return text

    def masked_messages(self) -> AbstractContextManager[None]:
        """Let what is said on stderr have masks, and what errors say."""
        return nullcontext()

    def copies_of(self, sessions: Iterable[Session], store: Store) -> Store:
        """A store with redacted copies of some sessions of a store, and of no others; only where it is on."""
        raise NotImplementedError

    def finish(self) -> int:
        """Tell what was done; the exit code is not 0 if something could not be read."""
        return 0


def redaction_options(*, default: bool | None) -> Decorator:
    """`--redact` and what belongs to it, as the parameter `redaction`; with `None`, there is no way not to redact."""
    which = "--redact" if default else "--no-redact, unless one of the next four is given"
    help = f"Mask secrets, names of people and machines, and images (see 'help redaction'). Default: {which}."
    options = (
        *([] if default is None else [click.option("--redact/--no-redact", default=default, help=help)]),
        click.option("--redaction-report", metavar="FILE", help=_REPORT_HELP),
        click.option("--keep", multiple=True, metavar="KIND", help=_KEEP_HELP),
        click.option("--known", multiple=True, metavar="FILE", help=_KNOWN_HELP),
        click.option("--rules", multiple=True, metavar="FILE", help=_RULES_HELP),
    )
    collected = collect_options("redaction", _redaction, _REDACTION_FIELDS, options)

    def decorate(function: Function) -> Function:
        @wraps(function)
        def with_end(redaction: Redaction, **given: object) -> object:
            with redaction.masked_messages():
                result = function(redaction=redaction, **given)
                return redaction.finish() or result

        return collected(with_end)

    return decorate


def _redaction(redact: bool = True, **values: Any) -> Redaction:
    ctx = click.get_current_context()
    given = [field for field in values if is_given(ctx, field)]
    if given and not redact and is_given(ctx, "redact"):
        raise click.UsageError(f"--{given[0].replace('_', '-')} needs --redact")
    if not redact and not given:
        return Redaction()
    from claude_session_player.cli._redaction import RedactionOptions

    return RedactionOptions(**values)


# --- help ---------------------------------------------------------------------------------------------


def examples(*rows: tuple[str, str]) -> str:
    """The end of a command's help: commands without the name of the program, and what each does."""
    width = max(len(words) for words, _ in rows)
    lines = (f"  {SHORT_PROGRAM} {words:<{width}}  {meaning}" for words, meaning in rows)
    return "\n".join(("\b", "Examples:", *lines))
