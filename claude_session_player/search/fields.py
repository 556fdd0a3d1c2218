"""The fields of texts: their names, which a query can use, and what a hit in each of them is worth.

A module of its own, because a search with an index that is up to date needs no decoders.
"""

from __future__ import annotations

from typing import Final

PROMPT: Final = "prompt"
RESPONSE: Final = "response"
THINKING: Final = "thinking"
TOOL: Final = "tool"
RESULT: Final = "result"
TITLE: Final = "title"
SUMMARY: Final = "summary"
FILE: Final = "file"
FIELDS: Final = (PROMPT, RESPONSE, THINKING, TOOL, RESULT, TITLE, SUMMARY, FILE)
"""What a text is: typed by a person, written by the model, given to a tool, returned by one, a title, a summary of the
session, or anything else that the model saw: attached files, output of hooks, reminders."""

WEIGHTS: Final = {TITLE: 12, PROMPT: 8, SUMMARY: 5, RESPONSE: 4, TOOL: 2.5, THINKING: 2, RESULT: 1, FILE: 0.4}
"""What a hit in each field says about its session."""
_BONUS_DAYS: Final = {TITLE: 720, PROMPT: 360, SUMMARY: 240, RESPONSE: 180, TOOL: 90, THINKING: 60, RESULT: 30, FILE: 0}
"""How many days more recent a text of each field counts, so that the best texts are looked at first."""
CODES: Final = {field: code for code, field in enumerate(FIELDS)}
_CODE_BITS: Final = 4
_MAX_SECONDS: Final = 1 << 40
_DAY: Final = 86_400


def to_rank(field: str, seconds: int) -> int:
    """What the order of documents depends on: newer ones are better, and those of some fields."""
    seconds = min(max(seconds, 0), _MAX_SECONDS)
    return (seconds + _BONUS_DAYS[field] * _DAY) << _CODE_BITS | CODES[field]


def from_rank(rank: int) -> tuple[str, int]:
    """The field and the time of a document, in seconds.

    >>> from_rank(to_rank("prompt", 1_768_000_000))
    ('prompt', 1768000000)
    """
    field = FIELDS[rank & ((1 << _CODE_BITS) - 1)]
    return field, (rank >> _CODE_BITS) - _BONUS_DAYS[field] * _DAY
