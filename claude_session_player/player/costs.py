"""What a session has cost until each of its lines.

A response of the session counts from its own line on, one of a sub-agent from the line that has the result of its call.
At the end it is what the statistics give for the session.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from claude_session_player.stats import Prices, cost_responses, response_cost, token_count
from claude_session_player.store import LINE_KEY
from claude_session_player.util.times import to_epoch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claude_session_player.player.frame_index import FrameIndex
    from claude_session_player.player.progress import ProgressLog
    from claude_session_player.player.recording import Recording
    from claude_session_player.stats import ResponseCost
    from claude_session_player.store import Session


class CostStep(NamedTuple):
    """From this line on, the session has cost so much more."""

    line: int
    cost: Decimal | None
    """In US dollars; `None` for tokens without a known price."""
    unpriced: int = 0
    """How many more responses have no known price; fewer if one of them proves to have a price."""


class CostCurve:
    """The cost until each line.

    >>> curve = CostCurve([CostStep(7, None), CostStep(3, Decimal("0.5"))])
    >>> curve.at(2), curve.at(3), curve.at(9)
    (Decimal('0'), Decimal('0.5'), Decimal('0.5'))
    >>> CostCurve([CostStep(7, None)]).at(7) is None
    True
    """

    def __init__(self, steps: Iterable[CostStep]) -> None:
        """The steps come in any order."""
        self._lines: list[int] = []
        self._costs: list[Decimal | None] = []
        self._unpriced = array("q")
        known: Decimal | None = None
        unpriced = 0
        for line, cost, more in sorted(steps, key=lambda step: step.line):
            known = known if cost is None else (known or Decimal()) + cost
            unpriced += more
            self._lines.append(line)
            self._costs.append(known)
            self._unpriced.append(unpriced)

    def at(self, line: int) -> Decimal | None:
        """The cost until a line, without unknown prices; `None` if tokens were used and none has a known price."""
        place = bisect_right(self._lines, line)
        return self._costs[place - 1] if place else Decimal()

    def until(self, line: int | None) -> tuple[Decimal | None, int]:
        """The cost until a line, or of everything, and the number of responses in it that have no known price."""
        place = len(self._lines) if line is None else bisect_right(self._lines, line)
        return (self._costs[place - 1], self._unpriced[place - 1]) if place else (Decimal(), 0)

    @property
    def total(self) -> Decimal | None:
        """The cost of the whole session."""
        return self._costs[-1] if self._costs else Decimal()


class _Origin(NamedTuple):
    """Where a sub-agent belongs in its session."""

    call: str | None
    """The call in the session's own file that led to it."""
    ended: float | None


class _Counted(NamedTuple):
    """A session as the store knew it."""

    path: str
    name: str
    responses: list[ResponseCost]
    """Those of the session and of its sub-agents."""
    origins: dict[str, _Origin]
    """By the path of a sub-agent's file."""


class CostCounter:
    """Counts the cost of a recording, again and again while it grows; one thread after the other may use it."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._prices: Prices | None = None
        self._counted: _Counted | None = None
        self._lock = Lock()

    def count(self, index: FrameIndex, *, look_up: bool = True) -> CostCurve:
        """The cost until each line that is indexed now.

        Without `look_up`, sub-agents are as they were the last time. Raises `SessionError` or `OSError`.
        """
        with self._lock:
            if self._prices is None:
                self._prices = Prices.load()
            if look_up:
                session = self._recording.find_session()
                self._counted = None if session is None else _look_at(session, self._prices)
            steps = list(own_steps(index.progress, self._prices))
            if self._counted is not None:
                steps += _other_steps(index, self._counted, self._prices)
            return CostCurve(steps)


def _look_at(session: Session, prices: Prices) -> _Counted:
    parts = {part.id: part for part in session.parts[1:]}
    origins = {part.path: _Origin(_first_call(part, parts), to_epoch(part.ended_at)) for part in parts.values()}
    return _Counted(session.path, session.file.name, cost_responses(session, prices), origins)


def _first_call(part: Session, parts: dict[str, Session]) -> str | None:
    """The call in the session itself that led to a sub-agent, perhaps by way of others."""
    for _ in parts:
        if (caller := parts.get(part.parent_agent_id or "")) is None:
            break
        part = caller
    return part.call_id


def own_steps(log: ProgressLog, prices: Prices) -> Iterator[CostStep]:
    """The cost that each line of the session's own file adds."""
    costs: dict[str, Decimal | None] = {}
    unpriced: set[str] = set()
    for line, key, tokens, model, time in tuple(log.responses):  # another thread may add some
        count = token_count(tokens)
        cost = response_cost(prices, model, count, time)
        if count.total:
            before = costs.get(key)
            more = (cost is None) - (key in unpriced)
            (unpriced.add if cost is None else unpriced.discard)(key)
            yield CostStep(line, cost if cost is None or before is None else cost - before, more)
        costs[key] = cost


def _other_steps(index: FrameIndex, counted: _Counted, prices: Prices) -> Iterator[CostStep]:
    """What sub-agents cost, and what their files add to responses that are also in the session's own file."""
    prefix = f"{counted.name} "
    own = {response.key: response for response in tuple(index.progress.responses)}
    lines = {path: _line_of(index, origin) for path, origin in counted.origins.items()}
    for key, part, tokens, cost in counted.responses:
        if not tokens.total:
            continue
        known = own.get(key.removeprefix(prefix) if LINE_KEY in key else key)
        if known is not None:
            count = token_count(known.tokens)
            before = response_cost(prices, known.model, count, known.time)
            if cost is not None and cost != before:
                yield CostStep(known.line, cost - (before or 0), -(before is None and count.total > 0))
        elif part.path != counted.path:
            yield CostStep(lines[part.path], cost, int(cost is None))


def _line_of(index: FrameIndex, origin: _Origin) -> int:
    """The line that has the result of a sub-agent; of one without a result, the first line after its end."""
    line = index.progress.result_lines.get(origin.call or "")
    if line is not None or not index.frames:
        return line or 0
    frames = tuple(index.frames)
    place = len(frames) if origin.ended is None else bisect_left([frame.time or 0.0 for frame in frames], origin.ended)
    return frames[min(place, len(frames) - 1)].line
