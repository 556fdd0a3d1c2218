"""`browse`: find a session in a full-screen table."""

from __future__ import annotations

import click

from claude_session_player.cli._options import StoreOptions, examples, store_options, utc_option
from claude_session_player.cli._player_options import theme_option
from claude_session_player.errors import NoStore
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.terminal import is_terminal


@click.command(epilog=examples(("browse", "all sessions"), ("browse kettle whistle", "those with both words")))
@click.argument("words", nargs=-1)
@theme_option
@utc_option
@store_options
def command(words: tuple[str, ...], stores: StoreOptions) -> int:
    """Find, read and play sessions in a full-screen table.

    WORDS filter the table: each must be in the title, the project, the id, the git branch or the first prompt of a
    session. Press ? for the keys. The program without arguments does the same.
    """
    if not is_terminal():
        raise click.UsageError("browse needs a terminal: use 'list' to print the sessions")
    return browse(words, stores)


def browse(words: tuple[str, ...] = (), stores: StoreOptions | None = None) -> int:
    """Run the full-screen table until the user quits; returns the exit code. Raises `NoStore`."""
    import gc

    from claude_session_player.store import Store

    stores = stores or StoreOptions()
    require_store(stores.roots)
    Store.open(*stores.roots, cache=stores.cache)  # problems are reported before the terminal is taken over

    from claude_session_player.tui.browse import BrowseApp
    from claude_session_player.tui.jobs import StoreOpener

    gc.enable()  # this may run for long
    app = BrowseApp(StoreOpener(stores.roots, stores.cache), " ".join(words))
    app.run()
    return app.return_code or 0


def require_store(roots: tuple[str, ...] = ()) -> None:
    """Raise `NoStore` if there is none, with what a newcomer can do without one."""
    from claude_session_player.store import find_stores

    try:
        find_stores(roots)
    except NoStore as error:
        if roots:
            raise
        raise NoStore(str(error), f"to try it without one: {PROGRAM} demo --play") from None
