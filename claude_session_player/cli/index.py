"""`index`: show, update, rebuild and delete the search index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from claude_session_player.cli._options import examples, index_options, json_options, utc_option
from claude_session_player.cli._output import print_records, print_text, say, warn
from claude_session_player.errors import CannotWrite
from claude_session_player.util import humanize
from claude_session_player.util.text import display_path, printable
from claude_session_player.util.times import format_time, local_now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.cli._output import JsonForm
    from claude_session_player.search import IndexStatus, SearchIndex
    from claude_session_player.store import SessionFile, Store

_DEFAULT: Final = "status"
_HELP: Final = ("--help", "-h")
_NOT_ALL: Final = 1
"""The exit code if files could not be indexed."""
_NAME_WIDTH: Final = 10


class _Commands(click.Group):
    """Without a command, options are those of `status`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which people need them."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `status` if no command is named."""
        if not args or (args[0].startswith("-") and args[0] not in _HELP):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_Commands,
    subcommand_metavar="[status|update|rebuild|drop] [ARGS]...",
    epilog=examples(
        ("index", "short for: csp index status"),
        ("index update", "for a scheduled job: later searches are fast"),
        ("index drop", "free the space; the next search builds it again"),
    ),
)
def command() -> None:
    """Show, update or delete the search index.

    'find' builds and updates the search index by itself. It is in the platform's cache directory, only you can read it,
    and it may be deleted at any time: it holds nothing but copies of what sessions say.
    """


class _IndexedStore(NamedTuple):
    """What the search index has of a store, and what it lacks."""

    root: str
    search_index: SearchIndex
    files: list[SessionFile]
    stale: list[SessionFile]
    """Files that are new, or have changed since they were indexed."""
    status: IndexStatus | None

    @property
    def size(self) -> int:
        """The size of the session files, in bytes."""
        return sum(file.stamp.size for file in self.files)


def _indexed_stores(store: Store) -> list[_IndexedStore]:
    """What is indexed of each store; no session file is opened."""
    from claude_session_player.search import SearchIndex
    from claude_session_player.store import workflow_files

    files = store.files()
    every = [*files, *(run for file in files for run in workflow_files(file))]
    found = []
    for root in store.roots:
        index = SearchIndex(root)
        files = [file for file in every if file.name.startswith(os.path.join(root, ""))]
        missing = index.coverage(files).missing
        found.append(_IndexedStore(display_path(root), index, files, missing, index.status()))
        index.close()
    return found


# --- status -------------------------------------------------------------------------------------------


@command.command("status", epilog=examples(("index status --json", "for scripts")))
@json_options
@utc_option
@index_options
def status(form: JsonForm | None, stores: StoreOptions) -> None:
    """Show where the search index is, and how complete."""
    with stores.open() as store:
        indexed = _indexed_stores(store)
    if form:
        print_records(map(_record, indexed), form)
        return
    for number, one in enumerate(indexed):
        rows = [f"{name:<{_NAME_WIDTH}} {printable(value)}" for name, value in _facts(one)]
        print_text("\n".join(["", *rows] if number else rows))


def _record(one: _IndexedStore) -> dict[str, Any]:
    path, status = one.search_index.path, one.status
    return {
        "root": one.root,
        "path": display_path(path) if path is not None else None,
        "files": status.files if status else 0,
        "documents": status.documents if status else 0,
        "size": status.size if status else 0,
        "store_files": len(one.files),
        "store_size": one.size,
        "stale_files": len(one.stale),
        "updated_at": _updated_at(status),
    }


def _updated_at(status: IndexStatus | None) -> str | None:
    from datetime import UTC, datetime

    if status is None or status.updated_at is None:
        return None
    return format_time(datetime.fromtimestamp(status.updated_at, UTC))


def _facts(one: _IndexedStore) -> Iterator[tuple[str, str]]:
    status = one.status
    yield "store", one.root
    if status is None:
        refusal = one.search_index.refusal or ("" if one.search_index.path else "there is no cache directory")
        yield "index", f"not used: {display_path(refusal)}" if refusal else "none: the next search builds it"
        yield "sessions", f"{humanize.plural(len(one.files), 'file')}, {humanize.size(one.size)}"
        return
    yield "index", display_path(status.path)
    yield "files", f"{status.files:,}"
    yield "documents", f"{status.documents:,}"
    yield (
        "size",
        humanize.size(status.size)
        + (f" ({status.size / one.size:.0%} of {humanize.size(one.size)})" if one.size else ""),
    )
    stale = len(one.stale)
    yield "stale", f"{humanize.plural(stale, 'file')}: the next search reads what is new" if stale else "none"
    if (time := _updated_at(status)) is not None:
        now = local_now()
        yield "updated", humanize.local_time(time, now) + humanize.in_brackets(humanize.ago(time, now))


# --- changes ------------------------------------------------------------------------------------------


@command.command("update")
@index_options
def update(stores: StoreOptions) -> int:
    """Bring the search index up to date.

    Only what is new in session files is read. The exit code is 1 if a file could not be indexed.
    """
    return _update(stores)


@command.command("rebuild")
@index_options
def rebuild(stores: StoreOptions) -> int:
    """Delete the search index, and build it again."""
    return _update(stores, is_new=True)


@command.command("drop")
@index_options
def drop(stores: StoreOptions) -> None:
    """Delete the search index; the next search builds it again."""
    with stores.open() as store:
        _drop(store)


def _drop(store: Store) -> None:
    for one in _indexed_stores(store):
        index = one.search_index
        if not index.is_there:
            say(printable(f"There is no search index of {one.root}."))
        elif not index.drop():
            raise CannotWrite(f"{display_path(str(index.path))}: the search index could not be deleted")
        else:
            freed = f": {humanize.size(one.status.size)} freed" if one.status else ""
            say(printable(f"Deleted the search index of {one.root}{freed}."))


def _update(stores: StoreOptions, *, is_new: bool = False) -> int:
    from claude_session_player.search import StoreSearch

    with stores.open_with_progress(title="indexing sessions") as (store, progress):
        if is_new and any(one.search_index.is_there for one in _indexed_stores(store)):
            _drop(store)
        before = _indexed_stores(store)
        search = StoreSearch(store, progress=progress)
        search.update_index()
        after = _indexed_stores(store)
    for old, new in zip(before, after, strict=True):
        _report(old, new, search.reason)
    return _NOT_ALL if any(one.stale for one in after) else 0


def _report(before: _IndexedStore, after: _IndexedStore, reason: str) -> None:
    """Say what an update did."""
    stale = {file.name for file in after.stale}
    indexed = [file for file in before.stale if file.name not in stale]
    if (status := after.status) is not None:
        parts = (humanize.plural(status.files, "file"), humanize.plural(status.documents, "document"))
        has = f"{', '.join(parts)}, {humanize.size(status.size)}"
        if indexed:
            size = humanize.size(sum(file.stamp.size for file in indexed))
            files = humanize.plural(len(indexed), "file")
            say(printable(f"Indexed {files} ({size}) of {after.root}. The search index has {has}."))
        elif not stale:
            say(printable(f"The search index of {after.root} is up to date: {has}."))
    if stale:
        files = humanize.plural(len(stale), "file is", "files are")
        because = display_path(reason) or f"cannot be read, such as {display_path(after.stale[0].name)}"
        warn(printable(f"{after.root}: {files} not indexed: {because}"))
