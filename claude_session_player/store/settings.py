"""The settings of a store, with secrets masked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from claude_session_player.store.documents import document
from claude_session_player.store.layout import Trouble
from claude_session_player.store.record import shown

MASK: Final = "********"
_NAMES: Final = ("settings.json", "settings.local.json")
_SECRET_KEY: Final = re.compile(
    r"(?i:token|secret|passw|pwd|passphrase|credential|cookie|bearer|header|signature|dsn|private|api_?key)"
    r"|(?i:auth(?!or))|[kK]eys?$|KEYS?$"
)
_SECRET_NUMBER: Final = re.compile(r"(?i)secret|passw|pwd|passphrase|\bpin$")
_SECRETS: Final = (
    re.compile(r"\b(?:sk|pk|rk)-[\w-]{8,}"),  # API keys
    re.compile(r"\b(?:gh[a-z]|github_pat|glpat|xox[a-z]|npm|pypi|hf|AIza|ya29|dop_v1|shp\w\w)[_-]?[\w.-]{16,}"),
    re.compile(r"\bA[KS]IA[A-Z0-9]{12,}\b"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"),  # JSON web tokens
    re.compile(r"(?i)(?<=bearer )\S+|(?<=basic )[A-Za-z0-9+/=]{8,}"),
    re.compile(r"(?<=://)[^\s/@]+(?=@)"),  # user and password in an address
    re.compile(r"(?i)(?<=[?&])(?:[\w-]*(?:key|token|secret|password|sig)[\w-]*=)[^&\s]+"),
    re.compile(r"(?i)\b[\w-]*(?:key|token|secret|password|passwd)[\w-]*\s*[=:]\s*\S+"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", re.DOTALL),
    re.compile(r"\b(?=[A-Za-z0-9+/_-]*\d)(?=[A-Za-z0-9+/_-]*[A-Za-z])[A-Za-z0-9+_-]{32,}={0,2}"),  # long random words
)


class Settings(NamedTuple):
    """One settings file."""

    path: str
    settings: Any


def settings_of(roots: Sequence[str], troubles: list[Trouble]) -> list[Settings]:
    """The settings files of some stores, with secrets masked."""
    paths = [os.path.join(root, name) for root in roots for name in _NAMES]
    read = ((path, document(path, troubles)) for path in paths if os.path.lexists(path))
    return [Settings(shown(path), masked(value)) for path, value in read if value is not None]


def masked(value: Any, key: str = "") -> Any:
    """A copy without secrets: what stands under a key that names one, and what looks like one anywhere.

    >>> masked({"env": {"API_KEY": "hunter2"}, "max_tokens": 4096, "hook": "curl -H 'Authorization: Bearer abc'"})
    {'env': {'API_KEY': '********'}, 'max_tokens': 4096, 'hook': "curl -H 'Authorization: Bearer ********"}
    """
    if isinstance(value, dict):
        return {name: masked(item, name if _SECRET_KEY.search(name) else key) for name, item in value.items()}
    if isinstance(value, list):
        return [masked(item, key) for item in value]
    if isinstance(value, str):
        return MASK if key and value else _without_secrets(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return MASK if is_number and _SECRET_NUMBER.search(key) else value


def _without_secrets(text: str) -> str:
    for secret in _SECRETS:
        text = secret.sub(MASK, text)
    return text
