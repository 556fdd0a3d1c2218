"""Home directories in paths, in all their spellings, and in the names of project directories."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claude_session_player.redact.common_names import EXTENSIONS, is_generic_user, is_page
from claude_session_player.redact.sightings import HOME, USER, Sighting, begins_word

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH_ANCHORS: Final = tuple(
    f"{folder}{separator}" for folder in ("users", "home") for separator in ("/", "\\", "%2f", "%252f", "%5c")
)
ENCODED_ANCHORS: Final = ("users-", "home-")

_SEPARATOR: Final = r"(?:\\{1,16}/?|/|%(?:25){0,2}(?:2F|5C))"
_DRIVE: Final = r"(?:[A-Za-z](?::|%(?:25){0,2}3A))"
_BEFORE: Final = re.compile(
    rf"(?P<prefix>/System/Volumes/Data|/var|/usr|/export"
    rf"|(?P<drive>(?:{_SEPARATOR})?{_DRIVE}|/(?:mnt/|cygdrive/|host_mnt/|run/desktop/mnt/host/)?[a-z]))?"
    rf"(?P<separator>{_SEPARATOR})\Z",
    re.IGNORECASE,
)
_PATH_SIGNS: Final = frozenset("/\\CFcf")
"""Separators, and how they end in a URL."""
_REACH: Final = 64
_NAME: Final = re.compile(r"(?:[A-Za-z0-9_À-ɏ](?:[A-Za-z0-9_.À-ɏ-]|%20){0,63}+~?[0-9]?|[^\W\d_]{1,32}+)")
_SPACED_NAME: Final = re.compile(rf"[\w.-]{{1,40}}(?: [\w.-]{{1,40}}){{1,3}}(?={_SEPARATOR})")
_MAC_NAME: Final = re.compile(
    r"[A-Z][\w.-]{0,39}(?: (?!(?:Documents|Desktop|Downloads|Library|Pictures|Music|Movies|Public|Applications)\b)"
    r"[A-Z][\w.-]{0,39}){1,3}(?P<end>/|\\{0,7}[\"'`])|[\w.-]{1,40}(?:\\{1,4} [\w.-]{1,40}){1,3}(?=[/\s\"'`;]|\Z)"
)
"""A name with blanks, or with escaped ones."""
_INSIDE_PATH: Final = frozenset(".~/\\%}*_+-")
_ENCODED_BEFORE: Final = re.compile(r"(?:-mnt-[a-z]|-var|-[a-z]|[a-z]-)?-\Z", re.IGNORECASE)
_ENCODED_PLACES: Final = frozenset("/\\\"'`")
_PART: Final = re.compile(r"[A-Za-z0-9]{1,64}")


def home_in_path(text: str, start: int, end: int) -> Iterator[Sighting]:
    """The home directory around `users/` or `home/`, if the path begins with it."""
    is_users = text[start] in "uU"
    folder_end = start + (5 if is_users else 4)
    if text[start - 1 : start] not in _PATH_SIGNS:
        return
    if before := _BEFORE.search(text[max(0, start - _REACH) : start]):
        drive = before["drive"]
        first = start - len(before[0])
        if drive and not _begins_path(text, first):
            first, drive = start - len(before["separator"]), None
        is_root = _begins_path(text, first)
        is_mac = is_users and text[start:folder_end] == "Users"
        if is_root and (drive or is_mac or (not is_users and text[start:folder_end] == "home")):
            yield from _named_home(text, first, end, is_users=is_users, is_windows=bool(drive))


def _begins_path(text: str, start: int) -> bool:
    """True if a path begins here, and does not go on."""
    if start == 0:
        return True
    before = text[start - 1]
    if text.startswith("://", start - 3) and start >= 3:
        return True
    if before in _INSIDE_PATH:
        return before == "-" and text[max(0, start - 2) : start - 1] in ("", " ", "=")
    return begins_word(text, start) and (before.isascii() or not before.isalnum())


def _named_home(text: str, start: int, name_start: int, *, is_users: bool, is_windows: bool) -> Iterator[Sighting]:
    if text[name_start : name_start + 1] in ("\\", "/"):  # the anchor is one of several backslashes
        while name_start < len(text) and text[name_start] in "\\/":
            name_start += 1
    spaced = _SPACED_NAME.match(text, name_start) if is_windows else None
    if not (match := spaced or _NAME.match(text, name_start)):
        return
    name = match[0].rstrip(".-") if not spaced else match[0]
    if not is_windows and is_users and (full := _full_name(text, start, name_start)):
        yield Sighting(start, name_start + len(full), HOME, re.sub(r"\\{1,16} ", " ", full))
        return
    if is_home_user(name, is_users=is_users):
        yield Sighting(start, name_start + len(name), HOME, name)


def _full_name(text: str, start: int, name_start: int) -> str | None:
    """The name of a home directory in /Users that has a blank: one of a path that goes on, or in quotes."""
    match = _MAC_NAME.match(text, name_start)
    if not match or (match["end"] and match["end"] != "/" and text[start - 1 : start] != match["end"][-1]):
        return None
    return match[0].removesuffix(match["end"] or "")


def is_home_user(name: str, *, is_users: bool) -> bool:
    """True if the folder of this name in /home or /Users is that of a person: no service, no page of a site."""
    _, dot, extension = name.rpartition(".")
    if not is_users and is_page(name):
        return False
    return not is_generic_user(name) and not (dot and extension.lower() in EXTENSIONS)


def encoded_home(text: str, start: int, end: int) -> Iterator[Sighting]:
    """The user in `-Users-alice-work`, as far as it is certain: names with other signs are known from elsewhere."""
    before = _ENCODED_BEFORE.search(text[max(0, start - 8) : start])
    if not before:
        return
    first = start - len(before[0])
    is_place = first == 0 or text[first - 1] in _ENCODED_PLACES
    part = _PART.match(text, end)
    if is_place and part and is_home_user(part[0], is_users=text[start] in "uU") and not _is_masked_user(text, part):
        yield Sighting(*part.span(), USER, part[0], is_learned=False)


def _is_masked_user(text: str, part: re.Match[str]) -> bool:
    return part[0].lower() == "user" and text[part.end() : part.end() + 1] == "-"
