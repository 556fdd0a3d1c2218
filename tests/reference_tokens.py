"""The plain reference for token counts: every line of every file with `json.loads`, and one dictionary."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from claude_session_player.stats.tokens import TokenCount


def reference_count(paths: Iterable[Path]) -> TokenCount:
    """The largest of each number for every pair of ids, over all files; what has no id counts by itself."""
    most: dict[Any, list[int]] = {}
    for path in paths:
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            record = _reported(record) or record if isinstance(record, dict) else {}
            message = record.get("message")
            if not isinstance(message, dict) or record.get("type") != "assistant":
                continue
            usage = message.get("usage")
            if message.get("model") == "<synthetic>" or not isinstance(usage, dict):
                continue
            ids = (message.get("id") or None, record.get("requestId") or None)
            key = ids if any(ids) else record.get("uuid") or (path, number)
            found = [_number(usage.get(name)) for name in _NAMES]
            found.append(_number((usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens")))
            most[key] = [max(pair) for pair in zip(found, most.get(key, found), strict=True)]
    responses = [
        TokenCount(input, output, max(written - hour, 0), hour, read)
        for input, output, read, written, hour in most.values()
    ]
    return TokenCount(*map(sum, zip(TokenCount(), *responses, strict=True)))


def _reported(record: dict[str, Any]) -> Any:
    """The record that a sub-agent reports in a line of progress."""
    data = record.get("data")
    inner = data.get("message") if record.get("type") == "progress" and isinstance(data, dict) else None
    return inner if isinstance(inner, dict) and isinstance(data, dict) and data.get("agentId") else None


_NAMES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _number(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value <= 1 << 53 else 0
