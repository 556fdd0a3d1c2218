"""The strings inside JSON values of any shape: what tools were given, what was attached, records of unknown types.

Like `events`, this module knows the keys of the files. It names those whose values nobody reads: ids, signatures,
types, and data in base64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw, Struct

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import DECODE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPAQUE: Final = frozenset(
    (
        *("type", "id", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "session_id", "leafUuid", "messageId"),
        *("requestId", "promptId", "agentId", "toolUseID", "toolUseId", "tool_use_id", "parentToolUseID"),
        *("sourceToolAssistantUUID", "sourceToolUseID", "signature", "encrypted_content", "hookEvent", "hookName"),
        *("timestamp", "version", "cwd", "gitBranch", "userType", "entrypoint", "slug", "media_type"),
    )
)
"""Keys with values that nobody reads or that every line repeats."""
_BASE64: Final = "base64"
_DATA: Final = "data"
_MAX_DEPTH: Final = 100


class AttachmentLine(Struct, gc=False):
    """What was attached, whatever it is."""

    attachment: Any = None


_decode_attachment_line: Final = msgspec.json.Decoder(AttachmentLine).decode


def readable_strings(value: Any, depth: int = 0) -> Iterator[str]:
    """The strings in a JSON value that a person may look for, in its order.

    >>> list(readable_strings({"command": "ls", "edits": [{"old_string": "a"}], "tool_use_id": "t1", "limit": 5}))
    ['ls', 'a']
    >>> list(readable_strings({"type": "base64", "data": "iVBORw0KGgo=", "url": "https://example.org"}))
    ['https://example.org']
    """
    if type(value) is str:
        if value:
            yield value
    elif type(value) is dict:
        is_binary = value.get("type") == _BASE64 or value.get("encoding") == _BASE64
        for key, item in value.items():
            if key not in _OPAQUE and not ((is_binary or key == _BASE64) and _is_binary(key, item)):
                if type(item) is str:  # almost always: no need for another generator
                    if item:
                        yield item
                elif depth < _MAX_DEPTH:
                    yield from readable_strings(item, depth + 1)
    elif type(value) is list and depth < _MAX_DEPTH:
        for item in value:
            yield from readable_strings(item, depth + 1)


def _is_binary(key: str, value: Any) -> bool:
    return key in (_DATA, _BASE64, "content") and type(value) is str


def raw_strings(raw: Raw | bytes) -> list[str]:
    """The same for a value that is still JSON; of one that is damaged, as much as can be read."""
    return list(readable_strings(lenient_json.load_raw(raw))) if raw else []


def attached_strings(line: bytes) -> list[str]:
    """The strings in what a line attaches.

    >>> attached_strings(b'{"type": "attachment", "attachment": {"type": "file", "filename": "a.py"}}')
    ['a.py']
    """
    try:
        return list(readable_strings(_decode_attachment_line(line).attachment))
    except DECODE_ERRORS:
        return list(readable_strings([value.get("attachment") for value in _objects(line)]))


def record_strings(line: bytes) -> list[str]:
    """The strings of a whole record; of a damaged line, those of the records that can be read."""
    try:
        return list(readable_strings(msgspec.json.decode(line)))
    except DECODE_ERRORS:
        return list(readable_strings(_objects(line)))


def _objects(line: bytes) -> list[dict[str, Any]]:
    """The JSON objects on a line that is not exactly one."""
    values = (value for _, _, value in lenient_json.json_values(lenient_json.decode_text(line)))
    return [value for value in values if isinstance(value, dict)]
