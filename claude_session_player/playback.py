"""Replays a session, or its beginning, to a screen."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

from claude_session_player.format.events import CONVERSATION, Event
from claude_session_player.models import ScreenState, View
from claude_session_player.parser import Source, gc_paused, is_subagent_file, only_sidechains, read_events
from claude_session_player.renderer import render
from claude_session_player.util.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def replay(
    source: Source, view: View | None = None, *, until: int | None = None, at: datetime | None = None
) -> ScreenState:
    """The screen after a whole session, after line `until`, or at the moment `at`.

    The source is a path or an iterable of lines. Replay stops at the first line with a time after `at`, because the
    order of a session is that of its lines. A time without a zone is UTC.

    >>> lines = [b'{"type":"user","message":{"content":"Hi"}}', b'{"type":"assistant","message":{"content":"Hello"}}']
    >>> print(replay(lines).to_markdown())
    ❯ Hi
    <BLANKLINE>
    ● Hello
    >>> replay(lines, until=1).to_markdown()
    '❯ Hi'
    """
    state, events = start_replay(source, view)
    if until is not None:
        events = _through(events, until)
    if at is not None:
        events = _before(events, at)
    with gc_paused():
        for event in events:
            render(state, event)
    return state


def start_replay(source: Source, view: View | None = None) -> tuple[ScreenState, Iterator[Event]]:
    """An empty screen with the view that suits the file, and the events to render."""
    view = view or View()
    if view.sidechains:
        subagent, events = True, read_events(source)
    elif isinstance(source, str | os.PathLike):
        subagent, events = is_subagent_file(source), read_events(source)
    else:
        subagent, events = _peek_sidechains(read_events(source))
    return ScreenState(view.of_subagent() if subagent else view), events


def _peek_sidechains(events: Iterator[Event]) -> tuple[bool, Iterator[Event]]:
    """Whether all lines are sidechain lines, and all events again."""
    seen: list[Event] = []

    def remembered() -> Iterator[Event]:
        for event in events:
            seen.append(event)
            yield event

    is_subagent = only_sidechains(remembered())
    return is_subagent, chain(seen, events)


def _through(events: Iterable[Event], last: int) -> Iterator[Event]:
    for event in events:
        if event.line > last:
            return
        yield event


def _before(events: Iterable[Event], moment: datetime) -> Iterator[Event]:
    """The events before the first with a later time."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    for event in events:
        if event.timestamp is not None and isinstance(event, CONVERSATION):
            try:
                if parse_time(event.timestamp) > moment:
                    return
            except (ValueError, OverflowError):
                pass  # an invalid time does not stop the replay
        yield event
