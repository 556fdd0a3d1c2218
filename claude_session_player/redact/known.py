"""Values that are known to be secret: those of the files that a user names."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.errors import BadRules, CannotRead
from claude_session_player.util.fsutil import small_opener

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORTEST: Final = 4
"""Characters: a shorter value would be masked in the middle of words."""
_ASSIGNMENT: Final = re.compile(r"\s*(?:export\s+|set\s+)?([\w.-]{1,200})\s*[=:]\s*(.*)")
_FLAGS: Final = frozenset(("true", "false", "null", "none", "yes", "localhost"))
ENVIRONMENT: Final = "env:"
"""Begins the name of an environment variable that is named instead of a file."""


class KnownValue(NamedTuple):
    """A value that is secret, and the name that it has in its file."""

    name: str
    value: str


def read_known(source: str) -> list[KnownValue]:
    """The values of a file: of a `.env` file, of JSON, or a value on each line; or of a variable, as `env:NAME`.

    Values of fewer than four characters, numbers of one digit or two, and words like `true` are no secrets. Raises
    `CannotRead`, or `BadRules` for what has no values.
    """
    if source.startswith(ENVIRONMENT):
        name = source.removeprefix(ENVIRONMENT)
        if not (value := os.environ.get(name, "")):
            raise BadRules(f"--known {source}: the environment variable {name} is not set")
        values = [KnownValue(name, value)]
    else:
        try:
            with open(source, encoding="utf-8", errors="surrogateescape", opener=small_opener) as file:
                text = file.read()
        except OSError as error:
            raise CannotRead(f"--known {source}: {error.strerror or error}") from error
        values = list(_values(text))
    values = [one for one in values if len(one.value) >= _SHORTEST and one.value.casefold() not in _FLAGS]
    if not values:
        raise BadRules(f"--known {source}: no values of {_SHORTEST} characters or more")
    return values


def _values(text: str) -> Iterator[KnownValue]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict | list):
        yield from _strings(data)
        return
    for line in text.lstrip("\ufeff").splitlines():
        line = line.strip()
        if not line or line.startswith(("#", ";", "//", "[")):
            continue
        match = _ASSIGNMENT.fullmatch(line)
        is_assignment = match is not None and not match[2].startswith("//")
        name, value = (match[1], match[2]) if match is not None and is_assignment else ("", line)
        yield KnownValue(name, _unquoted(value) if name else value)


def _unquoted(value: str) -> str:
    """A value of a `.env` file without quotes, or without the comment behind it."""
    if len(value) > 1 and value[0] in "\"'" and (end := value.find(value[0], 1)) > 0:
        inner = value[1:end]
        return inner.replace("\\n", "\n") if value[0] == '"' else inner
    return re.sub(r"(?<!\s)\s++#.*", "", value)


def _strings(value: Any, name: str = "") -> Iterator[KnownValue]:
    if isinstance(value, str):
        yield KnownValue(name, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, name)
