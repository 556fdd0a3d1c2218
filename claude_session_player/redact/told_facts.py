"""What whole records tell about people and machines: links to pull requests, bridges, calls that ask for a name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.redact import accounts, git_people, machines
from claude_session_player.redact.common_names import is_generic_user
from claude_session_player.redact.sightings import HOST, OWNER, PERSON, USER, Sighting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_session_player.redact.rule import Rule

_REPOSITORY_KEYS: Final = frozenset(("prRepository", "pr_repository"))
_URL_KEYS: Final = frozenset(("prUrl", "pr_url"))
_USER_KEYS: Final = frozenset(("user", "username", "userName", "USER", "LOGNAME", "USERNAME", "login"))
_HOST_KEYS: Final = frozenset(("hostname", "hostName", "HOSTNAME", "computerName", "COMPUTERNAME"))
_NAME_KEYS: Final = frozenset(("authorName", "author_name", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "fullName"))
_TELLING_KEYS: Final = _REPOSITORY_KEYS | _URL_KEYS | _USER_KEYS | _HOST_KEYS | _NAME_KEYS
_USER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{1,31}")
_HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{1,252}")

_SEPARATOR: Final = re.compile(r"&&|\|\||;|\n")
_SILENT: Final = re.compile(r"(?:cd|export|set|source|mkdir|true|sleep)\b")
_QUESTIONS: Final[tuple[tuple[re.Pattern[str], Rule], ...]] = (
    (re.compile(r"(?:hostname(?:ctl hostname)?(?: -[sfA-Z])?|uname -n|echo \"?\$\{?HOSTNAME\}?\"?)"), HOST),
    (re.compile(r"scutil --get \w+|hostnamectl --static|cat /etc/hostname"), HOST),
    (re.compile(r"whoami|id -un|logname|echo \"?\$\{?(?:USER|LOGNAME)\}?\"?"), USER),
    (re.compile(r"git config (?:--global |--local |--get )*+user\.name"), PERSON),
    (re.compile(r"gh pr (?:create|view|merge|checks)\b.*", re.DOTALL), OWNER),
    (re.compile(r"git (?:-C \S+ )?(?:remote get-url \S+|config (?:--get )?remote\.\S+\.url)"), OWNER),
)
_CREATED: Final = re.compile(r"^https://\S{1,200}/pull/\d{1,9}$", re.MULTILINE)


@lru_cache(maxsize=4096)
def is_telling(key: str) -> bool:
    """True if the key alone tells what its value is."""
    return key in _TELLING_KEYS or accounts.key_rule(key) is not None


def field_sightings(key: str, value: str) -> Iterator[Sighting]:
    """What a value is because of its key."""
    if key in _REPOSITORY_KEYS:
        yield from git_people.repository(value)
    elif key in _URL_KEYS:
        yield from git_people.remote_url(value)
    elif key in _USER_KEYS:
        if _USER.fullmatch(value) and not is_generic_user(value):
            yield Sighting(0, len(value), USER, value)
    elif key in _HOST_KEYS:
        if _HOST.fullmatch(value) and machines.is_private_host(value):
            yield Sighting(0, len(value), HOST, value)
    elif key in _NAME_KEYS:
        if len(value) <= 60 and git_people.is_person(value):
            yield Sighting(0, len(value), PERSON, value)
    else:
        yield from accounts.field_id(key, value)


def record_sightings(record: dict[str, Any]) -> Iterator[Sighting]:
    """What fields of a record are because of its type."""
    if record.get("type") in ("pr-link", "bridge-session"):
        for key, value in record.items():
            if isinstance(value, str):
                yield from field_sightings(key, value)
    for key in ("session_context", "sessionContext"):
        if isinstance(context := record.get(key), dict):
            yield from _context_sightings(context)
    if isinstance(account := record.get("oauthAccount"), dict):
        for key, value in account.items():
            if isinstance(value, str):
                yield from field_sightings("fullName" if key == "displayName" else key, value)


def _context_sightings(context: dict[str, Any]) -> Iterator[Sighting]:
    """The repositories that a session in the cloud works on."""
    waiting: list[Any] = [context]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            for key, inner in value.items():
                if not isinstance(inner, str):
                    waiting.append(inner)
                elif key == "url":
                    yield from git_people.remote_url(inner)
                elif key in ("repo", "repository"):
                    yield from git_people.repository(inner)


def questions(command: str) -> tuple[Rule | None, ...]:
    """What each part of a command that prints something asks for; nothing if no part asks for a name.

    >>> [rule and rule.name for rule in questions("cd x && hostname; date")]
    ['host', None]
    """
    if len(command) > 20_000:
        return ()
    parts = [part.strip().partition(" 2>")[0].strip() for part in _SEPARATOR.split(command)]
    parts = [part for part in parts if part and not _SILENT.match(part)]
    if command.lstrip().startswith("gh pr ") or "&& gh pr " in command:
        return (OWNER,)
    asked = tuple(next((rule for regex, rule in _QUESTIONS if regex.fullmatch(part)), None) for part in parts)
    return asked if any(asked) else ()


def answers(asked: tuple[Rule | None, ...], output: str) -> Iterator[tuple[Rule, str]]:
    """The names in what a command printed: a line for each part of it; for owners `owner/repository`."""
    if asked == (OWNER,):
        urls = _CREATED.findall(output) or ([output.strip()] if "\n" not in output.strip() else [])
        for url in urls:
            yield from ((OWNER, sighting.value) for sighting in git_people.remote_url(url))
        return
    lines = [line.strip() for line in output.strip().splitlines()]
    if len(lines) == len(asked):
        for rule, line in zip(asked, lines, strict=True):
            if rule:
                yield from _answer(rule, line)


def _answer(rule: Rule, line: str) -> Iterator[tuple[Rule, str]]:
    if rule is OWNER:
        yield from ((OWNER, sighting.value) for sighting in git_people.remote_url(line))
    elif rule is PERSON:
        if len(line) <= 60 and git_people.is_person(line):
            yield rule, line
    elif rule is HOST:
        if _HOST.fullmatch(line) and machines.is_private_host(line):
            yield rule, line
    else:
        domain, backslash, user = line.rpartition("\\")
        if backslash:
            yield from _answer(HOST, domain)
        if _USER.fullmatch(user) and not is_generic_user(user):
            yield USER, user
