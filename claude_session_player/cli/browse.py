"""`browse`: find a session in a full-screen table."""

from __future__ import annotations

import click

from claude_session_player.cli._options import store_options, utc_option
from claude_session_player.errors import NoStore
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.terminal import is_terminal


@click.command()
@click.argument("words", nargs=-1)
@utc_option
@store_options
def command(words: tuple[str, ...], roots: tuple[str, ...], no_cache: bool) -> int:
    """Find a session in a table that fills the terminal; the command without arguments does the same.

    WORDS filter the table from the beginning: each has to be in the title, the project, the id, the branch or the
    first prompt of a session. The keys are shown below the table, and all of them with '?'.
    """
    if not is_terminal():
        raise click.UsageError("browse needs a terminal: use 'list' to print the sessions")
    return browse(words, roots, no_cache)


def browse(words: tuple[str, ...] = (), roots: tuple[str, ...] = (), no_cache: bool = False) -> int:
    """Fill the terminal until somebody leaves; gives the exit code. Raises `NoStore`."""
    import gc

    from claude_session_player.store import DEFAULT_CACHE, Store

    cache = None if no_cache else DEFAULT_CACHE
    require_store(roots)
    Store.open(*roots, cache=cache)  # what is wrong with the stores is said before the terminal is taken

    from claude_session_player.tui.browse import BrowseApp
    from claude_session_player.tui.jobs import StoreOpener

    gc.enable()  # this goes on for long
    app = BrowseApp(StoreOpener(roots, cache), " ".join(words))
    app.run()
    return app.return_code or 0


def require_store(roots: tuple[str, ...] = ()) -> None:
    """Raise `NoStore` where there is none, with what a newcomer can do without one."""
    from claude_session_player.store import find_stores

    try:
        find_stores(roots)
    except NoStore as error:
        if roots:
            raise
        raise NoStore(str(error), f"to see how it works without one: {PROGRAM} demo --play") from None
