"""From what a command was asked for to the one who tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

import click

from claude_session_player.cli.refs import Source
from claude_session_player.cli.source import check_file, check_head
from claude_session_player.conversation.branches import Branches
from claude_session_player.conversation.cast import Cast, actor_of
from claude_session_player.conversation.telling import Telling
from claude_session_player.events import Event
from claude_session_player.parser import is_subagent_file, read_events
from claude_session_player.store.store import Store


def teller(store: Store, source: Source, known: Set[str | None] = frozenset()) -> Telling:
    """Who tells a session, with its sub-agents at hand; events that are known are not told again."""
    agents = store.agents_of(source.found) if source.found is not None and source.inline is None else []
    return Telling(Cast(map(actor_of, agents)), is_agent=_is_agent(source), known=known)


def events_of(source: Source) -> Iterator[Event]:
    """The events of what was asked for; raises where it is no session file."""
    if source.inline is not None:
        return iter(source.inline.events())
    if source.path is None:
        check_head(source.head, source.name)
        return read_events(source.lines)
    check_file(source.path)
    return read_events(source.path)


def on_branch(source: Source, number: int) -> Callable[[int], bool]:
    """Tells which lines belong to a branch. The whole file is read for that."""
    if source.path is None:
        raise click.UsageError("--branch needs a file: standard input can be read only once")
    branches = Branches()
    for event in events_of(source):
        branches.add(event)
    many = len(branches.paths())
    if number > many:
        raise click.UsageError(f"--branch {number}: there {'is 1 branch' if many == 1 else f'are {many} branches'}")
    return lambda line: branches.is_on(number, line)


def chain_sources(store: Store, source: Source) -> list[Source]:
    """The sessions that this one continues, the oldest first, and this one."""
    if source.found is None or source.inline is not None:
        raise click.UsageError("--chain needs a session that has a file of its own")
    from claude_session_player.conversation.chains import chain_of

    earlier = [session.found for session in chain_of(store.of(source.found), store)]
    return [Source(found.path, found.path, found) for found in earlier]


def _is_agent(source: Source) -> bool:
    if source.inline is not None:
        return True
    return source.path is not None and is_subagent_file(source.path)
