"""Whether a record of a session has what the specification asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_TYPES: Final = ("user", "assistant", "summary")


def validate_event(event: Mapping[str, Any]) -> tuple[bool, str]:
    """True and "Valid", or false and the first thing that is missing.

    >>> validate_event({"type": "summary", "timestamp": "2026-01-17T21:00:00.000Z", "summary": "Tea was made."})
    (True, 'Valid')
    >>> validate_event({"type": "progress"})
    (False, 'Invalid type: progress')
    """
    if not _has(event, "type"):
        return False, "Missing 'type' field"
    kind = event["type"]
    if kind not in _TYPES:
        return False, f"Invalid type: {kind}"
    for path in (("timestamp",), *_NEEDED[kind]):
        *above, key = path
        place = event[above[0]] if above else event
        if not _has(place, key):
            return False, f"Missing '{key}' field"
    return True, "Valid"


_NEEDED: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "user": (("message",), ("message", "content")),
    "assistant": (("message",), ("message", "content")),
    "summary": (("summary",),),
}


def _has(value: Any, key: str) -> bool:
    return isinstance(value, Mapping) and key in value
