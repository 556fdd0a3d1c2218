"""From what a command was asked for to the one who tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from itertools import chain
from typing import Final

import click

from claude_session_player.cli.refs import Source
from claude_session_player.cli.source import check_file, check_head
from claude_session_player.conversation.cast import Actor, Cast, actor_of, all_subagents
from claude_session_player.conversation.entries import Kind
from claude_session_player.conversation.marks import Reading
from claude_session_player.conversation.telling import Telling
from claude_session_player.conversation.walk import Told, Walk
from claude_session_player.events import Event
from claude_session_player.line_reader import split_lines
from claude_session_player.parser import decode_lines, is_subagent_file, only_sidechains, read_events
from claude_session_player.store.store import Store

AT_ONCE: Final = 16 << 20
"""A larger session is told while it is read, without a look at all of it before."""
_MOST_UNKNOWN: Final = 10_000
"""So many records of unknown types at the beginning of a file are kept in mind until one of a known type comes."""


def teller(source: Source, cast: Cast, known: Set[str | None] = frozenset()) -> Telling:
    """Who tells a session; events that are known are not told again."""
    return Telling(cast, is_agent=_is_agent(source), known=known)


def cast_of(store: Store, sources: Iterable[Source]) -> Cast:
    """The sub-agents of some sessions, linked to their calls; of those with one id, the first."""
    actors: dict[str, list[Actor]] = {}
    is_linked = False
    for source in sources:
        if source.found is None or source.inline is not None:
            continue
        is_linked = True
        own: dict[str, list[Actor]] = {}
        for agent in all_subagents(store.of(source.found)):
            own.setdefault(agent.id, []).append(actor_of(agent))
        actors = own | actors
    return Cast(chain.from_iterable(actors.values()), is_linked=is_linked)


def events_of(source: Source) -> Iterator[Event]:
    """The events of what was asked for; raises where it is no session file."""
    if source.inline is not None:
        return iter(source.inline.events())
    if source.path is None:
        check_head(source.head, source.name)
        return read_events(source.lines)
    check_file(source.path, source.name)
    return read_events(source.path)


def of_session(walk: Walk, events: Iterable[Event]) -> Iterator[Told]:
    """All that is told on a walk; nothing where the file holds only records of unknown types, and so is no session."""
    told = walk.told(events)
    unknown: list[Told] = []
    for one in told:
        if one.entry.kind is not Kind.RECORD:
            return chain(unknown, (one,), told)
        if len(unknown) < _MOST_UNKNOWN:
            unknown.append(one)
    return iter(unknown if walk.main.account.is_session else ())


def on_branch(source: Source, number: int) -> Callable[[int], bool]:
    """Tells which lines belong to a branch. The whole file is read for that."""
    if source.path is None:
        raise click.UsageError("--branch needs a file: standard input can be read only once")
    reading = Reading(skips_sidechains=not _is_agent(source))
    reading.read(events_of(source))
    branches = reading.branches
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
    return [Source(found.name, found.path, found) for found in earlier]


def _is_agent(source: Source) -> bool:
    """True for a sub-agent; standard input is one where its first line is."""
    if source.inline is not None:
        return True
    if source.path is not None:
        return is_subagent_file(source.path)
    return only_sidechains(decode_lines(split_lines(source.head)[:1], 0, 0))
