"""What a session has cost until each of its lines.

A response of the session counts from its own line on, one of a sub-agent from the line that has the result of its call.
At the end it is what the statistics give for the session.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from claude_session_player.stats import Prices, cost_responses, response_cost, token_count
from claude_session_player.store import LINE_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.player.frame_index import Frame, FrameIndex
    from claude_session_player.player.progress import ProgressLog
    from claude_session_player.player.recording import Recording
    from claude_session_player.stats import ResponseCost
    from claude_session_player.store import Session


class CostStep(NamedTuple):
    """From this line on, the session has cost so much more."""

    line: int
    cost: Decimal | None
    """In US dollars; `None` for tokens without a known price."""


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
        known: Decimal | None = None
        for line, cost in sorted(steps, key=lambda step: step.line):
            known = known if cost is None else (known or Decimal()) + cost
            self._lines.append(line)
            self._costs.append(known)

    def at(self, line: int) -> Decimal | None:
        """The cost until a line, without unknown prices; `None` if tokens were used and none has a known price."""
        place = bisect_right(self._lines, line)
        return self._costs[place - 1] if place else Decimal()

    @property
    def total(self) -> Decimal | None:
        """The cost of the whole session."""
        return self._costs[-1] if self._costs else Decimal()


class CostCounter:
    """Counts the cost of a recording, again and again while it grows. It may be used in any one thread at a time."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._prices: Prices | None = None
        self._counted: tuple[Session, list[ResponseCost]] | None = None
        """The session as the store knew it, with its responses and those of its sub-agents."""

    def count(self, index: FrameIndex, *, look_up: bool = True) -> CostCurve:
        """The cost until each line that is indexed now.

        Without `look_up`, sub-agents are as they were the last time. Raises `SessionError` or `OSError`.
        """
        if self._prices is None:
            self._prices = Prices.load()
        if look_up:
            session = self._recording.find_session()
            self._counted = None if session is None else (session, cost_responses(session, self._prices))
        own = list(own_steps(index.progress, self._prices))
        if self._counted is None:
            return CostCurve(own)
        session, responses = self._counted
        return CostCurve([*own, *_other_steps(index, session, responses, self._prices)])


def own_steps(log: ProgressLog, prices: Prices) -> Iterator[CostStep]:
    """The cost that each line of the session's own file adds."""
    costs: dict[str, Decimal | None] = {}
    for line, key, tokens, model, time in tuple(log.responses):  # another thread may add some
        count = token_count(tokens)
        cost = response_cost(prices, model, count, time)
        if count.total:
            before = costs.get(key)
            yield CostStep(line, cost if cost is None or before is None else cost - before)
        costs[key] = cost


def _other_steps(
    index: FrameIndex, session: Session, responses: Sequence[ResponseCost], prices: Prices
) -> Iterator[CostStep]:
    """What sub-agents cost, and what their files add to responses that are also in the session's own file."""
    log, prefix = index.progress, f"{session.file.name} "
    own = {response.key: response for response in tuple(log.responses)}
    places: dict[str, int] = {}
    for key, part, tokens, cost in responses:
        if not tokens.total:
            continue
        known = own.get(key.removeprefix(prefix) if LINE_KEY in key else key)
        if known is not None:
            before = response_cost(prices, known.model, token_count(known.tokens), known.time)
            if cost is not None and cost != before:
                yield CostStep(known.line, cost - (before or 0))
        elif part.path != session.path:
            if part.path not in places:
                places[part.path] = _line_of(index, session, part)
            yield CostStep(places[part.path], cost)


def _line_of(index: FrameIndex, session: Session, part: Session) -> int:
    """The line that has the result of a sub-agent; of one without a result, the first line after its end."""
    log = index.progress
    while part.parent_agent_id and (caller := _caller(session, part)) is not None:
        part = caller
    line = log.result_lines.get(part.call_id or "")
    return _line_after(index.frames, part) if line is None else line


def _caller(session: Session, part: Session) -> Session | None:
    callers = (other for other in session.parts[1:] if other.id == part.parent_agent_id)
    return next(callers, None)


def _line_after(frames: Sequence[Frame], part: Session) -> int:
    from claude_session_player.util.times import to_epoch

    ended = to_epoch(part.ended_at)
    times = [frame.time or 0.0 for frame in frames]
    place = len(frames) if ended is None else bisect_left(times, ended)
    return frames[min(place, len(frames) - 1)].line if frames else 0
