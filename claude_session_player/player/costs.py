"""What a session has cost until each of its lines.

A response of the session counts from its own line on, one of a sub-agent from the line that has the result of its call.
At the end it is what the statistics give for the session.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from decimal import Decimal
from itertools import accumulate
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

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


_NO_COST: Final = 0, None, 0
"""What the log knows of a response that it does not have."""


class CostStep(NamedTuple):
    """From this line on, the session has cost so much more."""

    line: int
    cost: Decimal | None
    """In US dollars; `None` for tokens without a known price."""
    unpriced: int = 0
    """How many more responses have no known price; fewer if one of them proves to have a price."""


class _Sums:
    """What a line and those before it cost, for each line that costs something."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.costs: list[Decimal | None] = []
        self.unpriced = array("q")
        """The number of responses that have no known price."""

    def add(self, step: CostStep) -> None:
        """Add the cost of a line that is not before the last one."""
        known = self.costs[-1] if self.costs else None
        self.unpriced.append((self.unpriced[-1] if self.unpriced else 0) + step.unpriced)
        self.costs.append(known if step.cost is None else (known or Decimal()) + step.cost)
        self.lines.append(step.line)


class CostCurve:
    """The cost until each line.

    >>> curve = CostCurve([CostStep(7, None), CostStep(3, Decimal("0.5"))])
    >>> curve.at(2), curve.at(3), curve.at(9)
    (Decimal('0'), Decimal('0.5'), Decimal('0.5'))
    >>> CostCurve([CostStep(7, None)]).at(7) is None
    True
    """

    def __init__(self, steps: Iterable[CostStep] = (), own: _Sums | None = None) -> None:
        """The steps come in any order; with `own`, they are added to sums that may grow afterwards."""
        others = _Sums()
        for step in sorted(steps, key=lambda step: step.line):
            others.add(step)
        self._parts = [(sums, len(sums.lines)) for sums in (own, others) if sums is not None]

    def at(self, line: int) -> Decimal | None:
        """The cost until a line, without unknown prices; `None` if tokens were used and none has a known price."""
        return self.until(line)[0]

    def until(self, line: int | None) -> tuple[Decimal | None, int]:
        """The cost until a line, or of everything, and the number of responses in it that have no known price."""
        places = [
            (sums, size if line is None else bisect_right(sums.lines, line, 0, size)) for sums, size in self._parts
        ]
        costs = [sums.costs[place - 1] for sums, place in places if place]
        known = [cost for cost in costs if cost is not None]
        unpriced = sum(sums.unpriced[place - 1] for sums, place in places if place)
        return (sum(known, Decimal()) if known or not costs else None), unpriced

    @property
    def total(self) -> Decimal | None:
        """The cost of the whole session."""
        return self.until(None)[0]


class _OwnCosts:
    """What the lines of a log cost, as far as they were priced."""

    def __init__(self, log: ProgressLog) -> None:
        self.log = log
        self.sums = _Sums()
        self.latest: dict[str, tuple[int, Decimal | None, int]] = {}
        """The last line of each response, what the response costs, and its tokens."""
        self._unpriced: set[str] = set()
        self._done = 0

    def price_new(self, prices: Prices) -> None:
        """Price what was added to the log."""
        new = self.log.responses[self._done :]  # another thread may add some
        self._done += len(new)
        for line, key, tokens, model, time in new:
            count = token_count(tokens)
            cost = response_cost(prices, model, count, time)
            if count.total:
                before = self.latest.get(key, _NO_COST)[1]
                more = (cost is None) - (key in self._unpriced)
                (self._unpriced.add if cost is None else self._unpriced.discard)(key)
                self.sums.add(CostStep(line, cost if cost is None or before is None else cost - before, more))
            self.latest[key] = line, cost, count.total


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
    """Those that may cost something beside the session's own lines."""
    origins: dict[str, _Origin]
    """By the path of a sub-agent's file."""


class CostCounter:
    """Counts the cost of a recording, again and again while it grows; one thread after the other may use it."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._prices: Prices | None = None
        self._counted: _Counted | None = None
        self._own: _OwnCosts | None = None
        self._lock = Lock()

    def count(self, index: FrameIndex, *, look_up: bool = True) -> CostCurve:
        """The cost until each line that is indexed now. Only lines that were added to the index since are priced.

        Without `look_up`, sub-agents are as they were the last time. Raises `SessionError` or `OSError`.
        """
        with self._lock:
            if self._prices is None:
                self._prices = Prices.load()
            if self._own is None or self._own.log is not index.progress:
                self._own = _OwnCosts(index.progress)
            own = self._own
            own.price_new(self._prices)
            if look_up:
                session = self._recording.find_session()
                self._counted = None if session is None else _look_at(session, self._prices, own)
            return CostCurve(() if self._counted is None else _other_steps(index, self._counted, own), own.sums)


def _look_at(session: Session, prices: Prices, own: _OwnCosts) -> _Counted:
    responses = [
        response
        for response in cost_responses(session, prices)
        if response.part.path != session.path
        or own.latest.get(_own_key(response, session.file.name), _NO_COST)[1] != response.cost
    ]
    parts = {part.id: part for part in session.parts[1:]}
    origins = {part.path: _Origin(_first_call(part, parts), to_epoch(part.ended_at)) for part in parts.values()}
    return _Counted(session.path, session.file.name, responses, origins)


def _first_call(part: Session, parts: dict[str, Session]) -> str | None:
    """The call in the session itself that led to a sub-agent, perhaps by way of others."""
    for _ in parts:
        if (caller := parts.get(part.parent_agent_id or "")) is None:
            break
        part = caller
    return part.call_id


def _own_key(response: ResponseCost, name: str) -> str:
    """The key of a response in the log of the session's own file."""
    return response.key.removeprefix(f"{name} ") if LINE_KEY in response.key else response.key


def _other_steps(index: FrameIndex, counted: _Counted, own: _OwnCosts) -> Iterator[CostStep]:
    """What sub-agents cost, and what their files add to responses that are also in the session's own file."""
    lines = _lines_of(index, counted.origins)
    for response in counted.responses:
        _, part, tokens, cost = response
        if not tokens.total:
            continue
        known = own.latest.get(_own_key(response, counted.name))
        if known is not None:
            line, before, count = known
            if cost is not None and cost != before:
                yield CostStep(line, cost - (before or 0), -(before is None and count > 0))
        elif part.path != counted.path:
            yield CostStep(lines[part.path], cost, int(cost is None))


def _lines_of(index: FrameIndex, origins: dict[str, _Origin]) -> dict[str, int]:
    """The line that has the result of each sub-agent; of one without a result, the first line after its end."""
    results = index.progress.result_lines
    lines = {path: results.get(origin.call or "", 0) for path, origin in origins.items()}
    without = [path for path, line in lines.items() if not line]
    frames = tuple(index.frames) if without else ()  # another thread may add some
    latest = list(accumulate((-inf if frame.time is None else frame.time for frame in frames), max))
    for path in without if frames else ():
        ended = origins[path].ended
        place = len(frames) if ended is None else bisect_left(latest, ended)
        lines[path] = frames[min(place, len(frames) - 1)].line
    return lines
