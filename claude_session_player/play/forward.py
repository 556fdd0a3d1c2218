"""A session that unfolds once, from its beginning to its end, while it is read: no more of it is kept than its screen.

The frames are those of a `Film`. Whoever wants to go back needs a film.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby, islice, tee
from typing import Final, NamedTuple, TypeVar

from claude_session_player.events import Event
from claude_session_player.models import ScreenState
from claude_session_player.play.film import Change, Frame, framed, shown
from claude_session_player.play.timeline import IDLE, Pace, at_speed, capped, delays, paced
from claude_session_player.times import epoch

_T = TypeVar("_T")

_LOOKED_AT: Final = 1000
"""How many records are looked at for a time, before a session counts as one without."""


class Timing(NamedTuple):
    """How long frames are waited for."""

    pace: Pace = Pace.CAPPED
    idle: float | None = IDLE
    """The longest pause, in the session's own time; `None` keeps all of them."""
    speed: float = 1.0

    def waits(self, frames: Iterable[Frame]) -> Iterator[float]:
        """How long each frame is waited for."""
        return at_speed(self._at_normal_speed(frames), self.speed)

    def timed(self, items: Iterable[_T], frame_of: Callable[[_T], Frame]) -> Iterator[tuple[float, _T]]:
        """Things that appear with a frame, each with the time that it is waited for; one is asked for at a time."""
        ahead, items = tee(items)
        return zip(self.waits(map(frame_of, ahead)), items, strict=True)

    def _at_normal_speed(self, frames: Iterable[Frame]) -> Iterator[float]:
        if self.pace is Pace.PACED:
            return paced(frame.size for frame in frames)
        own = delays(frame.time for frame in frames)
        return own if self.pace is Pace.REAL else capped(own, self.idle)


def fitted(events: Iterable[Event], timing: Timing) -> tuple[Iterator[Event], Timing]:
    """The same events, and a timing that suits them: where none has a time, and pauses are wanted, frames are paced."""
    head = list(islice(events := iter(events), _LOOKED_AT))
    if timing.idle != 0 and all(epoch(event.timestamp) is None for event in head):
        timing = timing._replace(pace=Pace.PACED)
    return chain(head, events), timing


def unfold(events: Iterable[Event], state: ScreenState, each: Callable[[], object] = lambda: None) -> Iterator[Frame]:
    """Let a session change a screen, line by line; gives each frame, when it has appeared there.

    `each` is called after every record, for those who look at `state.changes`.

    >>> from claude_session_player.parser import parse_object
    >>> state = ScreenState()
    >>> for frame in unfold([parse_object({"type": "user", "message": {"content": "Hi"}})], state):
    ...     print(frame.size, state.to_markdown())
    2 ❯ Hi
    """
    for line, records in groupby(events, key=lambda event: event.line):
        changes: list[Change] = []
        time = None
        for event in records:
            time = epoch(event.timestamp) if time is None else time
            changes.append(shown(state, event))
            each()
        if (frame := framed(line, time, changes)) is not None:
            yield frame
