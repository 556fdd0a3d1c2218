"""What running sessions have cost so far: counted like in a summary, from what the index knows and what is new."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from claude_session_player.errors import BadPrices, SessionError
from claude_session_player.util.humanize import cost_so_far

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from claude_session_player.live.running import SessionLookup
    from claude_session_player.stats import Expense, Prices
    from claude_session_player.store import SessionFile

_PAUSE_SECONDS: Final = 1.0
"""A session is not counted more often than once in this time."""
_PAUSE_FACTOR: Final = 20
"""Nor for more than a twentieth of the time: without an index, whole files are read."""


class RunningCosts:
    """Says which sessions are to be counted, and counts them, which may be done in another thread.

    The index continues where it has ended before, so that only what was appended is read.
    """

    def __init__(self, look_up: SessionLookup, clock: Callable[[], float] = time.monotonic) -> None:
        self._look_up = look_up
        self._clock = clock
        self._waiting: dict[str, SessionFile] = {}
        self._not_before: dict[str, float] = {}
        self._prices: Prices | None = None
        """Loaded when the first session is counted."""
        self._has_bad_prices = False

    def due(self, grown: Iterable[SessionFile]) -> list[SessionFile]:
        """The sessions to be counted now; those that have `grown`, or one of their sub-agents, are waiting for it."""
        self._waiting |= {file.path: file for file in grown}
        now = self._clock()
        due = [file for path, file in self._waiting.items() if self._not_before.get(path, now) <= now]
        for file in due:
            del self._waiting[file.path]
            self._not_before[file.path] = math.inf  # until it is counted
        return due

    def count(self, file: SessionFile) -> Expense | None:
        """The tokens and the cost of a session and its sub-agents; `None` if it cannot be read any more.

        Raises `BadPrices` if the user's own prices are invalid: once, because then nothing is counted any more.
        """
        if self._has_bad_prices:
            return None
        from claude_session_player.stats import Prices, session_expense  # the player starts without them

        start = self._clock()
        try:
            if self._prices is None:
                self._prices = Prices.load()
            return session_expense(self._look_up(file), self._prices)
        except BadPrices:
            self._has_bad_prices = True
            raise
        except (SessionError, OSError):
            return None
        finally:
            end = self._clock()
            self._not_before[file.path] = end + max(_PAUSE_SECONDS, _PAUSE_FACTOR * (end - start))


def cost_words(expense: Expense | None) -> str:
    """A cost so far; empty if it was not counted, or nothing was used yet.

    >>> cost_words(None)
    ''
    """
    if expense is None or not expense.tokens.total:
        return ""
    return cost_so_far(expense.cost, len(expense.unpriced_models))
