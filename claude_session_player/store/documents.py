"""The small JSON files of a store, read whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from claude_session_player.regular_file import only_small
from claude_session_player.store.layout import Trouble


def documents(folder: str, troubles: list[Trouble], suffix: str = ".json") -> Iterator[tuple[str, Any]]:
    """The path and the value of every JSON file of a directory; there may be no such directory."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(suffix) and not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        troubles.append(Trouble(folder, error.strerror or str(error)))
        return
    for name in names:
        path = os.path.join(folder, name)
        if (value := document(path, troubles)) is not None:
            yield path, value


def text(value: Any) -> str | None:
    """A value as text: numbers and flags are spelled out, anything larger is none.

    >>> text("a"), text(7), text([7]), text(None)
    ('a', '7', None, None)
    """
    if isinstance(value, str):
        return value
    return None if value is None or isinstance(value, dict | list) else str(value)


def document(path: str, troubles: list[Trouble]) -> Any:
    """The value of a JSON file; `None` where it cannot be read, and then there is a trouble more."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace", opener=only_small) as file:
            return json.load(file)
    except OSError as error:
        troubles.append(Trouble(path, error.strerror or str(error)))
    except (ValueError, RecursionError):
        troubles.append(Trouble(path, "not JSON"))
    return None
