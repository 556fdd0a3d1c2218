"""`follow`: what happens now, in one session or in all that run."""

from __future__ import annotations

import gc
import os
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final

import click

from claude_session_player.cli.refs import complete_ref, find_source
from claude_session_player.cli.report import warn
from claude_session_player.cli.source import check_file
from claude_session_player.cli.stores import opened, store_options, utc_option
from claude_session_player.cli.terminal import is_terminal
from claude_session_player.errors import CannotRead, NoSuchSession
from claude_session_player.store.refs import refusal
from claude_session_player.times import wall_clock
from claude_session_player.view import View

if TYPE_CHECKING:
    from claude_session_player.store.layout import Found
    from claude_session_player.store.store import Store

_AROUND: Final = 3
"""Lines of a screen that are left free when the past is shown."""
_USED_SECONDS: Final = 24 * 60 * 60
"""Older files are not looked at to find out who uses them."""


@click.command()
@click.argument("ref", required=False, shell_complete=complete_ref)
@click.option("--all", "everything", is_flag=True, help="Show every session that runs, and what it does.")
@click.option("--plain", is_flag=True, help="Print what happens line by line; this is so where stdout is no terminal.")
@click.option(
    "--lines",
    type=click.IntRange(min=0),
    metavar="N",
    help="How many lines of what is there are printed first. Default: about a screen.",
)
@click.option("--history", is_flag=True, help="Keep what came before compactions.")
@click.option("--thinking", is_flag=True, help="Show the thoughts.")
@utc_option
@store_options
def command(
    ref: str | None,
    everything: bool,
    plain: bool,
    lines: int | None,
    history: bool,
    thinking: bool,
    **where: Any,
) -> int:
    """Show what happens in a session, as it happens; without REF, in the one that was written to last.

    New sub-agents appear when they start. A file that is cut off or replaced is shown anew, one that is deleted may
    come back. The system reports what changes. Where it cannot, which is said, or where WATCHFILES_FORCE_POLLING is set
    because the files lie on a server, they are checked twice a second.

    With --all, every session is shown that was written to in the last half hour, or that some process has open or
    locked: whether it thinks, runs a tool, waits for the person or is idle, and how this is known. With --plain there
    is a line for each change of this.

    REF is a session file, an id or at least 4 characters of its beginning, latest, latest:2, a title in quotes, or a
    breadcrumb file. It ends with Ctrl-C.
    """
    if ref is not None and everything:
        raise click.UsageError("--all follows every session, and REF names one: one of them is too much")
    gc.enable()  # this may run for days
    if everything:
        return _follow_all(plain=plain or not is_terminal(), **where)
    found = _written_last(**where) if ref is None else _found(ref, **where)
    view = View(history=history, thinking=thinking).with_queue()
    if not plain and is_terminal():
        return _play(found, view, **where)
    from claude_session_player.cli.following import follow_session

    shown = max(get_terminal_size().lines - _AROUND, 1) if lines is None else lines
    return follow_session(found, view, shown)


def _play(found: Found, view: View, roots: tuple[str, ...], no_cache: bool) -> int:
    """The session in the player's window."""
    from functools import partial

    from claude_session_player.play.forward import Timing
    from claude_session_player.play.recording import of_found
    from claude_session_player.store.store import Store
    from claude_session_player.tui.player_app import run_player

    open_store = partial(Store.open, *roots, cache=_cache(no_cache), required=False)
    code, account = run_player(of_found(found, open_store), view, Timing(), is_followed=True)
    warn(account)
    return code


def _follow_all(roots: tuple[str, ...], no_cache: bool, *, plain: bool) -> int:
    with opened(roots, no_cache) as store:
        roots, in_use = store.roots, _in_use(store)
    from claude_session_player.tui.shelf import Shelf

    shelf = Shelf(roots, _cache(no_cache))
    if plain:
        from claude_session_player.cli.following import follow_all

        return follow_all(roots, in_use, shelf.session)
    from claude_session_player.tui.running import RunningApp

    app = RunningApp(shelf, in_use)
    app.run()
    return app.return_code or 0


def _cache(no_cache: bool) -> str | None:
    from claude_session_player.store.store import DEFAULT_CACHE

    return None if no_cache else DEFAULT_CACHE


def _in_use(store: Store) -> list[str]:
    """The files that some process has open for writing, or locked."""
    from claude_session_player.store.inuse import LOCKED, WRITING, InUse

    since = (wall_clock() - _USED_SECONDS) * 1_000_000_000
    paths = [file.path for file in store.files() if file.stamp.mtime_ns > since]
    return [sign.path for sign in InUse().uses(paths) if sign.how in (LOCKED, WRITING)]


def _written_last(**where: Any) -> Found:
    """The session that was written to last, itself or by a sub-agent of it."""
    from claude_session_player.store.layout import SESSION, SUBAGENT

    with opened(**where) as store:
        files = [file for file in store.files() if file.kind in (SESSION, SUBAGENT)]
        if not files:
            raise NoSuchSession(f"there is no session in {', '.join(store.roots)}")
        last = max(files, key=lambda file: file.stamp.mtime_ns)
        return store.of(last).head.found if last.is_agent else last


def _found(ref: str, **where: Any) -> Found:
    """What a reference means, where it is a file that can grow."""
    from claude_session_player.store.layout import found_at

    source = find_source(ref, **where)
    if source.inline is not None:
        raise CannotRead(f"{ref} is a sub-agent inside of {source.name}: follow that file instead")
    if source.path is None:
        raise CannotRead("standard input cannot be followed: name a session, or its file")
    if os.path.isdir(source.path):
        raise CannotRead(refusal(source.path))
    try:
        found = source.found or found_at(os.path.abspath(source.path))
    except OSError as error:
        raise CannotRead(f"{source.name}: {error.strerror or error}") from error
    if found.stamp.size:  # a session that has just begun may be empty
        check_file(found.path, source.name)
    return found
