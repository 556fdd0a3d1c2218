"""The screen as JSON lines: one element a line, with all its facts and the number of its source line."""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from datetime import UTC
from enum import Enum
from typing import Any, TextIO

from claude_session_player import rawjson
from claude_session_player.humanize import shown_time
from claude_session_player.models import Activity, ScreenElement, ScreenState

_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def write_elements(state: ScreenState, file: TextIO) -> None:
    """Write one JSON object a line."""
    for element in state.elements:
        file.write(rawjson.compact(facts(element)) + "\n")


def facts(element: ScreenElement) -> dict[str, Any]:
    """Everything that an element knows; `time` is in UTC, and `timestamp` as the file has it.

    >>> from claude_session_player.models import UserMessage
    >>> facts(UserMessage("Hi", line=3))["kind"], facts(UserMessage("Hi", line=3))["time"]
    ('user_message', 'Unknown time')
    """
    kind = _INNER_CAPITAL.sub("_", type(element).__name__).lower()
    known = {field.name: _plain(getattr(element, field.name)) for field in fields(element)}
    return {"kind": kind, "line": known.pop("line"), "time": shown_time(element.timestamp, UTC), **known}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return asdict(value) if isinstance(value, Activity) else value
