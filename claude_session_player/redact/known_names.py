"""Names that a session gave away somewhere, looked for everywhere in it."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.redact.common_names import GENERIC_HOSTS, is_generic_user, is_page, is_word
from claude_session_player.redact.rule import Find, Rule
from claude_session_player.redact.sightings import (
    HOME,
    HOST,
    OWNER,
    PERSON,
    USER,
    begins_word,
    ends_word,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Fact(NamedTuple):
    """What a session says about people and machines: a name of a kind."""

    rule: Rule
    value: str


class KnownName(NamedTuple):
    """A text that is masked where it stands as a word, if its place meets a condition."""

    folded: str
    """In lower case, as it is looked for."""
    rule: Rule
    value: str
    is_meant: Callable[[str, int, int], bool]
    """True if what stands in a text between two places is this name."""

    def find(self, text: str, start: int, end: int) -> Find | None:
        """The name at a place of a text, if it is one there."""
        if begins_word(text, start) and ends_word(text, end) and self.is_meant(text, start, end):
            return Find(start, end, self.rule, self.value)
        return None


_FOLDER_BEFORE: Final = re.compile(r"(?:users|home)(?:\\{1,16}/?|/{1,2}|%(?:25){0,2}(?:2F|5C)|-)\Z", re.IGNORECASE)
_OWNED_BEFORE: Final = re.compile(
    r"(?:\b(?:su|sudo|chown|usermod|passwd|id)\s(?:-\w{1,9}\s){0,3}|(?:user|owner)[=:]\s?)\Z"
)
_HOST_AFTER: Final = re.compile(r"@[A-Za-z0-9-]{2,63}(?:[:\s.]|\Z)")
_HOST_BEFORE: Final = re.compile(r"(?:\w@|\bhost(?:name)?[=: ]{1,2}|\bssh )\Z", re.IGNORECASE)
_SITE_BEFORE: Final = re.compile(
    r"(?:(?:github|gitlab)(?:usercontent)?\.com(?:[/:]|%2F)|bitbucket\.org[/:]|/(?:repos|orgs)/|\bfrom )\Z",
    re.IGNORECASE,
)
_REPOSITORY_AFTER: Final = re.compile(r"(?:/|%2[Ff])([\w.-]{1,100}+)")
_OWNER_AFTER: Final = re.compile(r"/|%2F|[\s\"'\\)>]|\Z", re.IGNORECASE)


def known_names(facts: Iterable[Fact], homes: Iterable[str] = ()) -> Iterator[KnownName]:
    """What is looked for after these facts were learned; the same for the same facts, however they came."""
    owners: dict[str, set[str]] = {}
    for rule, value in facts:
        if rule is OWNER:
            owner, _, repository = value.partition("/")
            owners.setdefault(owner, set()).add(repository)
        elif rule is USER:
            yield from _user(value)
        elif rule is HOST:
            yield from _host(value)
        elif rule is PERSON:
            yield from _person(value)
        else:
            yield KnownName(value.lower(), rule, value, _anywhere)
    for owner, repositories in owners.items():
        yield KnownName(owner, OWNER, owner, partial(_is_owner, frozenset(repositories)))
    for home in homes:
        yield KnownName(home.lower(), HOME, home, _is_home)


def _anywhere(text: str, start: int, end: int) -> bool:
    return True


def _user(name: str) -> Iterator[KnownName]:
    is_meant = partial(_is_user_here, name) if is_word(name) else partial(_is_user, name)
    yield KnownName(name.lower(), USER, name.lower(), is_meant)
    if is_page(name):
        yield KnownName(f"/home/{name.lower()}", HOME, f"/home/{name}", _is_home)
    encoded = re.sub(r"[^A-Za-z0-9]", "-", name).lower()
    if encoded != name.lower():
        yield KnownName(encoded, USER, name.lower(), _is_in_folder)


def _is_user(name: str, text: str, start: int, end: int) -> bool:
    found = text[start:end]
    return found in (name, name.lower()) or _is_in_folder(text, start, end)


def _is_user_here(name: str, text: str, start: int, end: int) -> bool:
    if _is_in_folder(text, start, end):
        return True
    before = text[max(0, start - 24) : start]
    return text[start:end] == name and bool(_OWNED_BEFORE.search(before) or _HOST_AFTER.match(text, end))


def _is_in_folder(text: str, start: int, end: int) -> bool:
    after = text[end : end + 1]
    if after in ("_", ".") and text[end + 1 : end + 2].isalnum():
        return False
    return _FOLDER_BEFORE.search(text[max(0, start - 24) : start]) is not None


def _host(name: str) -> Iterator[KnownName]:
    label = name.partition(".")[0]
    for spelling in {name, label}:
        folded = spelling.lower()
        if spelling == label and (folded in GENERIC_HOSTS or label.isdigit()):
            continue
        is_plain = is_word(spelling) or (spelling != name and spelling.isalpha() and "." in name)
        yield KnownName(folded, HOST, label.lower(), _is_host_here if is_plain else partial(_is_host, spelling))


def _is_host(name: str, text: str, start: int, end: int) -> bool:
    return not name.isalpha() or text[start:end] in (name, name.lower())


def _is_host_here(text: str, start: int, end: int) -> bool:
    return _HOST_BEFORE.search(text[max(0, start - 12) : start]) is not None


def _person(name: str) -> Iterator[KnownName]:
    if " " in name or not name.isascii():
        yield KnownName(name.lower(), PERSON, name.lower(), _anywhere)
    elif not is_word(name) and not is_generic_user(name):
        yield KnownName(name.lower(), PERSON, name.lower(), partial(_is_host, name))


def _is_owner(repositories: frozenset[str], text: str, start: int, end: int) -> bool:
    if (after := _REPOSITORY_AFTER.match(text, end)) and after[1].lower().removesuffix(".git").rstrip(
        "."
    ) in repositories:
        return True
    before = text[max(0, start - 32) : start]
    return (
        _SITE_BEFORE.search(before) is not None
        and _OWNER_AFTER.match(text, end) is not None
        and (not before.lower().endswith("from ") or text[end : end + 1] == "/")
    ) or text[end : end + 10].lower() == ".github.io"


def _is_home(text: str, start: int, end: int) -> bool:
    after, before = text[end : end + 1], text[start - 1 : start]
    goes_on = after in ("-", "_") or (after == "." and text[end + 1 : end + 2].isalnum())
    return not goes_on and (not before or before not in "._-~/\\" or text.startswith("://", max(0, start - 3)))
