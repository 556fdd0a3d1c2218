"""The settings of a store, with secrets masked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from claude_session_player.store.documents import document
from claude_session_player.store.layout import Trouble
from claude_session_player.text import display_path

MASK: Final = "********"
_NAMES: Final = ("settings.json", "settings.local.json")
_DEEPEST: Final = 100
_WORDS: Final = r"token|secret|passw|passphrase|pwd|credential|cookie|bearer|signature|api[_-]?key|access[_-]?key|jwt"
_SECRET_KEY: Final = re.compile(
    rf"(?i:{_WORDS}|header|dsn|private[_-]?key|auth(?!or)|(?:^|_)pass$|_pat$)|(?<![a-z])[kK]eys?$|[a-z]Keys?$|_KEYS?$"
)
_NOT_SECRET: Final = re.compile(r"(?im)helper\n?\Z|^(?>.*?max).*?token|tokens?_(?:limit|count)")
_SECRET_NUMBER: Final = re.compile(r"(?i)secret|passw|pwd|passphrase|(?:^|_)pass$|(?:^|_)pin$")
_SECRET_FLAG: Final = re.compile(rf"(?i)(?=--?[\w-]*?(?:{_WORDS}|auth))-[\w-]*+|-u|--user")
# Patterns look for a word inside of a name once, where the name begins, and never give back what they took of it: else
# a long name is searched again from each of its letters.
_VALUE: Final = r"""(?:"[^"]*"|'[^']*'|[^\s"'&]+)"""
_SECRETS: Final = (
    re.compile(r"\b(?:sk|pk|rk)-[\w-]{8,}"),  # API keys
    re.compile(r"\b(?:gh[a-z]|github_pat|glpat|xox[a-z]|npm|pypi|hf|AIza|ya29|dop_v1|shp\w\w)[_-]?[\w.-]{16,}"),
    re.compile(r"\bA[KS]IA[A-Z0-9]{12,}\b"),
    re.compile(r"(?<![\w-])(?>(?P<kept>[\w-]*?)(?=\beyJ[\w-]{8}))eyJ[\w-]*+\.[\w-]+(?:\.[\w-]*)?"),  # JSON web tokens
    re.compile(r"""(?i)(?<=bearer )[^\s"']+|(?<=basic )[A-Za-z0-9+/=]{8,}"""),
    re.compile(r"(?<=://)[^\s/@]+(?=@)"),  # user and password in an address
    re.compile(rf"(?<=-u )[^\s:]+:{_VALUE}"),
    re.compile(rf"(?i)(?:(?<=\s)|^)(?=--?[\w-]*?(?:{_WORDS}))-[\w-]*+[ =]{_VALUE}"),
    re.compile(rf"(?i)(?<![\w-])(?=[\w-]*?(?:{_WORDS}))[\w-]++\s*+[=:]\s*+{_VALUE}"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", re.DOTALL),
    re.compile(r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}={0,2}"),  # long random words
)


class Settings(NamedTuple):
    """One settings file."""

    path: str
    settings: Any


def settings_of(roots: Sequence[str], troubles: list[Trouble]) -> list[Settings]:
    """The settings files of some stores, with secrets masked."""
    paths = [os.path.join(root, name) for root in roots for name in _NAMES]
    read = ((path, document(path, troubles)) for path in paths if os.path.lexists(path))
    return [Settings(display_path(path), masked(value)) for path, value in read if value is not None]


def masked(value: Any, key: str = "", depth: int = 0) -> Any:
    """A copy without secrets: what stands under a key that names one, and what looks like one anywhere.

    >>> masked({"env": {"API_KEY": "hunter2"}, "max_tokens": 4096, "hook": "curl -H 'Authorization: Bearer abc'"})
    {'env': {'API_KEY': '********'}, 'max_tokens': 4096, 'hook': "curl -H 'Authorization: Bearer ********'"}
    """
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {name: masked(item, _secret_key(name) or key, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        pairs = zip(["", *value], value, strict=False)
        return [masked(item, key or _secret_flag(before), depth + 1) for before, item in pairs]
    if isinstance(value, str):
        return MASK if key and value and not _is_plain_number(key, value) else _without_secrets(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return MASK if is_number and _SECRET_NUMBER.search(key) else value


def _secret_key(name: str) -> str:
    """The key, where it names a secret."""
    return name if _SECRET_KEY.search(name) and not _NOT_SECRET.search(name) else ""


def _secret_flag(argument: Any) -> str:
    """An argument of a command, where the next one is a secret."""
    return argument if isinstance(argument, str) and _SECRET_FLAG.fullmatch(argument) else ""


def _is_plain_number(key: str, value: str) -> bool:
    """True for a number of tokens, and not for a password of digits."""
    return value.isdigit() and len(value) < 8 and not _SECRET_NUMBER.search(key)


def _without_secrets(text: str) -> str:
    for secret in _SECRETS:
        text = secret.sub(_masked_match, text)
    return text


def _masked_match(match: re.Match[str]) -> str:
    """The mask in place of a secret, behind the part of its name that is kept."""
    return (match["kept"] if "kept" in match.re.groupindex else "") + MASK
