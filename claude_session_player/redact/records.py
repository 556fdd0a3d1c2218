"""The strings of a record of a session: which of them hold it together, which are images, and how others are replaced.

Like `format.strings`, this module knows keys of the files. What it does not know is text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
NAMES: Final = frozenset(
    (
        *("version", "userType", "entrypoint", "model", "name", "stop_reason", "service_tier", "operation", "level"),
        *("permissionMode", "hookEvent", "mode", "promptSource", "slug", "agentType", "toolName"),
    )
)
"""Those of them whose values are words that somebody chose: they tie nothing together, and may hold a secret."""
_KEYS: Final = STRUCTURE | frozenset(
    (
        *("message", "content", "text", "usage", "input", "source", "data", "cwd", "error", "event", "delta", "index"),
        *("stdout", "stderr", "file", "status", "output", "result", "summary", "title", "tag", "url", "caller"),
    )
)
"""Keys by which a record is read: they are never changed."""
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
_BINARY: Final = frozenset(("data", "content"))
_BASE64_KEYS: Final = frozenset(("base64", "blob"))
_SHORTEST_IMAGE: Final = 64
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s_-]*+={0,2}\s*+")
_DATA_URL: Final = re.compile(r"data:(?:image|application|audio|video|font)/[\w.+-]{1,80};base64,[A-Za-z0-9+/=_-]{64,}")
DATA_URL_SIGN: Final = ";base64,"
IMAGE_MARK: Final = "[image removed]"
"""In place of base64, as which it is not valid: no image is ever made of it."""

DEEPEST: Final = 200
"""Levels that are descended at once; what lies deeper waits for its turn."""


class Others(NamedTuple):
    """How values are replaced that are no free text. Each is asked with key, value and field."""

    name: Callable[[str, str, str], Any]
    """For the values of `NAMES`."""
    number: Callable[[str, int, str], Any]
    """For whole numbers."""


def transform(
    value: Any,
    change: Callable[[str, str, str], Any],
    key: str = "",
    field: str = "",
    *,
    is_free: bool = False,
    others: Others | None = None,
) -> Any:
    """The same JSON value with each text replaced by what `change(key, text, field)` returns, in place.

    >>> transform({"type": "user", "uuid": "1", "message": {"content": "a"}}, lambda key, text, field: field)
    {'type': 'user', 'uuid': '1', 'message': {'content': 'message.content'}}
    """
    walk = _Walk(change, others)
    result = walk.changed(value, key, field, is_free, 0)
    while walk.deeper:
        walk.go_on()
    return result


class _Walk:
    """One walk through a JSON value, however deep it is."""

    def __init__(self, change: Callable[[str, str, str], Any], others: Others | None) -> None:
        self._change = change
        self._others = others
        self.deeper: list[tuple[Any, str, str, bool]] = []
        """Containers too deep to descend into them at once."""

    def go_on(self) -> None:
        value, key, field, is_free = self.deeper.pop()
        self.changed(value, key, field, is_free, 0)

    def changed(self, value: Any, key: str, field: str, is_free: bool, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            if not is_structure(key, value, is_free):
                return self._change(key, value, field)
            return self._others.name(key, value, field) if self._others is not None and key in NAMES else value
        if kind is int:
            return self._others.number(key, value, field) if self._others is not None else value
        if kind is not dict and kind is not list:
            return value
        if depth > DEEPEST:
            self.deeper.append((value, key, field, is_free))
        elif kind is dict:
            self._change_dict(value, field, is_free, depth)
        else:
            for number, item in enumerate(value):
                value[number] = self.changed(item, key, f"{field}[{number}]", is_free, depth + 1)
        return value

    def _change_dict(self, value: dict[str, Any], field: str, is_free: bool, depth: int) -> None:
        change = self._change
        new_names: dict[str, str] = {}
        for name in value:
            if name not in _KEYS and (renamed := change("", name, field)) != name:
                new_names[name] = renamed
        if new_names:
            new_names = _distinct(new_names, value)
        for name, item in value.items():
            kind = type(item)
            if kind is bool or item is None or kind is float:
                continue
            inner = new_names.get(name, name) if new_names else name
            inner = f"{field}.{inner}" if field else inner
            if kind is str and name not in STRUCTURE:
                value[name] = change(name, item, inner)
            else:
                is_free_here = is_free or (name in FREE and kind is not str)
                value[name] = self.changed(item, name, inner, is_free_here, depth + 1)
        if new_names:
            items = [(new_names.get(name, name), item) for name, item in value.items()]
            value.clear()
            value.update(items)


def _distinct(new_names: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    """The same new names, none of them twice, nor like a name that stays.

    >>> _distinct({"/home/ada/x": "~/x", "/home/bob/x": "~/x"}, ["/home/ada/x", "/home/bob/x", "~/x (2)"])
    {'/home/ada/x': '~/x', '/home/bob/x': '~/x (3)'}
    """
    taken = set(names) - new_names.keys()
    result = {}
    for name, new_name in new_names.items():
        number, one = 1, new_name
        while one in taken:
            number += 1
            one = f"{new_name} ({number})"
        taken.add(one)
        result[name] = one
    return result


def is_structure(key: str, value: str, is_free: bool) -> bool:
    """True for a value that ties records together, which is not text."""
    return key in STRUCTURE and not is_free and (key in _OPAQUE or _PLAIN.fullmatch(value) is not None)


def string_lists(value: Any) -> Iterator[list[str]]:
    """The lists of several strings in a JSON value: words of a command, lines of a patch.

    >>> list(string_lists({"command": ["login", "-p", "x"], "lines": ["a"]}))
    [['login', '-p', 'x']]
    """
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if type(value) is dict:
            waiting += [item for item in value.values() if type(item) is dict or type(item) is list][::-1]
        elif type(value) is list:
            texts = [item for item in value if type(item) is str]
            if len(texts) > 1:
                yield texts
            if len(texts) < len(value):
                waiting += value[::-1]


def remove_images(value: Any) -> int:
    """Empty the base64 of images, sounds, documents and other files in a JSON value, and count them.

    >>> block = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgoA" * 9}}
    >>> remove_images(block), block
    (1, {'type': 'image', 'source': {'type': 'base64', 'data': '[image removed]'}})
    """
    removed = 0
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if type(value) is dict:
            for key, item in value.items():
                if type(item) is str:
                    if len(item) >= _SHORTEST_IMAGE and _is_image(key, item, value):
                        value[key] = IMAGE_MARK
                        removed += 1
                elif type(item) is dict or type(item) is list:
                    waiting.append(item)
        elif type(value) is list:
            waiting += value
    return removed


def _is_image(key: str, text: str, container: dict[str, Any]) -> bool:
    """True for base64 that its container says is a file: as the API writes it, or as MCP does."""
    if key not in _BASE64_KEYS and not (key in _BINARY and _is_binary(container, key)):
        return False
    return _BASE64.fullmatch(text) is not None


def _is_binary(container: dict[str, Any], key: str) -> bool:
    kind = container.get("type")
    if kind == "base64" or container.get("encoding") == "base64":
        return True
    return key == "data" and (kind in ("image", "audio") or "mimeType" in container)


def remove_data_urls(text: str) -> tuple[str, int]:
    """A text with a mark in place of images that are written into it as data.

    >>> remove_data_urls("![a](data:image/png;base64," + "A" * 80 + ")")
    ('![a]([image removed])', 1)
    """
    if DATA_URL_SIGN not in text:
        return text, 0
    return _DATA_URL.subn(IMAGE_MARK, text)
