"""The strings of a record of a session: which of them hold it together, which are images, and how others are replaced.

Like `format.strings`, this module knows keys of the files. What it does not know is text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STRUCTURE: Final = frozenset(
    (
        *("type", "subtype", "id", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "session_id", "leafUuid"),
        *("messageId", "requestId", "promptId", "agentId", "toolUseID", "toolUseId", "tool_use_id", "parentToolUseID"),
        *("parent_tool_use_id", "sourceToolAssistantUUID", "sourceToolUseID", "signature", "timestamp", "version"),
        *("userType", "entrypoint", "media_type", "role", "model", "name", "stop_reason", "service_tier", "operation"),
        *("permissionMode", "hookEvent", "level", "mode", "promptSource", "slug", "parentAgentId", "agentType"),
        *("parent_session_id", "toolName", "isSnapshotUpdate", "snapshotMessageId", "encrypted_content"),
    )
)
"""Keys whose values tie records together or say what they are, in a record and its message. They are never changed."""
_PLAIN: Final = re.compile(r"[\w.:+-]{0,200}")
_OPAQUE: Final = frozenset(("signature", "encrypted_content"))
"""Of these, values of any length."""
FREE: Final = frozenset(
    (
        *("input", "toolUseResult", "arguments", "tool_input", "tool_output", "data", "attachment", "fullOutput"),
        *("structuredContent", "mcpMeta", "snapshot", "hookInfos", "metadata", "env"),
    )
)
"""Keys below which tools and programs decide what keys mean."""
_BINARY: Final = frozenset(("data", "base64", "content"))
_SHORTEST_IMAGE: Final = 64
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s_-]*+={0,2}\s*+")
_DATA_URL: Final = re.compile(r"data:(?:image|application|audio|video|font)/[\w.+-]{1,80};base64,[A-Za-z0-9+/=_-]{64,}")
DATA_URL_SIGN: Final = ";base64,"
IMAGE_MARK: Final = "[image removed]"
"""In place of base64, as which it is not valid: no image is ever made of it."""

DEEPEST: Final = 200


def walk_strings(value: Any, visit: Callable[[str, str], None], key: str = "", *, is_free: bool = False) -> None:
    """Call `visit(key, text)` for each string of a record that is text, and each key of an object that may be one."""
    transform(value, lambda key, text, field: visit(key, text), key, is_free=is_free)


def transform(
    value: Any,
    change: Callable[[str, str, str], Any],
    key: str = "",
    field: str = "",
    *,
    is_free: bool = False,
    depth: int = 0,
) -> Any:
    """The same JSON value with each text replaced by what `change(key, text, field)` returns, in place.

    >>> transform({"type": "user", "uuid": "1", "message": {"content": "a"}}, lambda key, text, field: field)
    {'type': 'user', 'uuid': '1', 'message': {'content': 'message.content'}}
    """
    if type(value) is str:
        return value if is_structure(key, value, is_free) else change(key, value, field)
    if depth > DEEPEST:
        return value
    if type(value) is dict:
        new_names: dict[str, str] = {}
        for name, item in value.items():
            if type(item) is str:
                if not is_structure(name, item, is_free):
                    changed = change(name, item, f"{field}.{name}" if field else name)
                    if changed is not item:
                        value[name] = changed
            elif type(item) is dict or type(item) is list:
                inner = f"{field}.{name}" if field else name
                value[name] = transform(item, change, name, inner, is_free=is_free or name in FREE, depth=depth + 1)
            if len(name) > 7:
                renamed = change("", name, field)
                if renamed != name:
                    new_names[name] = renamed
        return {new_names.get(name, name): item for name, item in value.items()} if new_names else value
    if type(value) is list:
        for number, item in enumerate(value):
            if type(item) is str or type(item) is dict or type(item) is list:
                value[number] = transform(item, change, key, f"{field}[{number}]", is_free=is_free, depth=depth + 1)
    return value


def is_structure(key: str, value: str, is_free: bool) -> bool:
    """True for a value that ties records together, which is not text."""
    return key in STRUCTURE and not is_free and (key in _OPAQUE or _PLAIN.fullmatch(value) is not None)


def string_lists(value: Any, depth: int = 0) -> Iterator[list[str]]:
    """The lists of several strings in a JSON value: words of a command, lines of a patch.

    >>> list(string_lists({"command": ["login", "-p", "x"], "lines": ["a"]}))
    [['login', '-p', 'x']]
    """
    if depth > DEEPEST:
        return
    if type(value) is dict:
        for item in value.values():
            if type(item) is dict or type(item) is list:
                yield from string_lists(item, depth + 1)
    elif type(value) is list:
        texts = [item for item in value if type(item) is str]
        if len(texts) > 1:
            yield texts
        if len(texts) < len(value):
            for item in value:
                yield from string_lists(item, depth + 1)


def remove_images(value: Any, depth: int = 0) -> int:
    """Empty the base64 of images, documents and other files in a JSON value, and count them.

    >>> block = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgoA" * 9}}
    >>> remove_images(block), block
    (1, {'type': 'image', 'source': {'type': 'base64', 'data': '[image removed]'}})
    """
    if depth > DEEPEST:
        return 0
    removed = 0
    if type(value) is dict:
        is_binary = value.get("type") == "base64" or value.get("encoding") == "base64"
        for key, item in value.items():
            if type(item) is str:
                if len(item) >= _SHORTEST_IMAGE and _is_image(key, item, is_binary):
                    value[key] = IMAGE_MARK
                    removed += 1
            else:
                removed += remove_images(item, depth + 1)
    elif type(value) is list:
        removed = sum(remove_images(item, depth + 1) for item in value)
    return removed


def _is_image(key: str, text: str, is_binary: bool) -> bool:
    return (key == "base64" or (is_binary and key in _BINARY)) and _BASE64.fullmatch(text) is not None


def remove_data_urls(text: str) -> tuple[str, int]:
    """A text with a mark in place of images that are written into it as data.

    >>> remove_data_urls("![a](data:image/png;base64," + "A" * 80 + ")")
    ('![a]([image removed])', 1)
    """
    if DATA_URL_SIGN not in text:
        return text, 0
    return _DATA_URL.subn(IMAGE_MARK, text)
