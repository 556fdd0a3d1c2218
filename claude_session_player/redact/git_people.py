"""People and owners of repositories: in e-mail addresses, in what git says about commits, in URLs of remotes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claude_session_player.redact.common_names import (
    EXTENSIONS,
    SERVICE_MAILBOXES,
    is_generic_user,
    is_mask,
)
from claude_session_player.redact.machines import is_login
from claude_session_player.redact.sightings import EMAIL, OWNER, PERSON, Sighting, word_start

if TYPE_CHECKING:
    from collections.abc import Iterator

EMAIL_ANCHORS: Final = ("@", "%40")
GIT_NAME_ANCHORS: Final = ("user.name", "author_name", "committer_name", "git user:")
REMOTE_ANCHORS: Final = (
    *("git@", "(fetch)", "(push)", "[remote ", "remote add ", "remote set-url ", "/pull/new/"),
    *("to https://", "from https://", "to ssh://", "from ssh://", "to github.com:", "from github.com:"),
)

_LOCAL_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")
_DOMAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}+)(?:\.[A-Za-z0-9-]{1,63}+){1,8}+")
_LONGEST_LOCAL: Final = 64
_RESERVED: Final = re.compile(
    r"(?:.*\.)?(?:example\.(?:com|org|net|edu)|example|test|invalid|localhost|local\.test)|(?:your|my)?(?:domain|email)\.com|test\.com"
)
_IN_URL: Final = re.compile(r"://[^\s/@:\"'<>]{0,100}:[^\s/@\"'<>]{0,200}\Z")
"""The beginning of a URL with a password: what follows its `@` is a machine."""
_NAME_BEFORE: Final = re.compile(
    r"(?:^|[\n\"'`(,\[]|(?<![\w-])(?=(?:author|commit|committer|tagger|[a-z-]{4,20}-by):\s))(?P<intro>\s{0,8}[A-Za-z][A-Za-z-]{1,30}\s?:\s{0,8}|\s{0,8}(?:author|committer|tagger)\s)?"
    r"\s{0,8}(?P<name>[^\n\"'`<>@:;,()\[\]{}|/\\=*]{2,60})\s\Z",
    re.IGNORECASE,
)
_NAME_FIELD_BEFORE: Final = re.compile(
    r"\bname\\{0,8}[\"']?\s?[:=]\s?\\{0,8}[\"'](?P<name>[^\"'\\\n@]{2,60})\\{0,8}[\"'],"
    r"\s{0,12}\\{0,8}[\"']?e-?mail\\{0,8}[\"']?\s?[:=]\s?\\{0,8}[\"']\Z",
    re.IGNORECASE,
)
_INTRO: Final = re.compile(r"(?:author|commit|committer|tagger|[a-z-]+-by|from)\b", re.IGNORECASE)
_NO_PERSON: Final = re.compile(
    r"claude|.*\bbot\b|.*\[bot|github|gitlab|your\b|test\b|john doe|jane doe|name\b|user\b|example|full name|first name"
    r"|anthropic|copilot|cursor|dependabot|renovate|unknown|none\b|null\b|root\b|author\b|no author|not committed yet",
    re.IGNORECASE,
)
_VALUE: Final = (
    r"""(?:\\{0,8}"(?P<double>[^"\\\n]{1,60})\\{0,8}"|'(?P<single>[^'\n]{1,60})'|"""
    r"""(?P<plain>[^\s"'\\$<({\[;|&][^\s"'\\;|&]{1,60}))"""
)
_NEAR: Final = 300
_FULL_NAME: Final = re.compile(
    r"(?<![\w'-])(?=(?P<name>(?P<first>[A-Z][a-zÀ-ɏ][a-zÀ-ɏ-]{0,20}) (?P<last>[A-ZÀ-Þ][A-Za-zÀ-ɏ'-]{1,30}))(?![\w-]))"
)
"""Two words with capital letters; every one of three is asked."""
_NO_GIVEN_NAMES: Final = frozenset(
    [
        "contact",
        "ask",
        "mail",
        "email",
        "by",
        "from",
        "author",
        "the",
        "see",
        "please",
        "cc",
        "to",
        "dear",
        "hello",
        "hi",
        "thanks",
        "team",
        "support",
        "service",
        "services",
        "sales",
        "security",
        "group",
        "help",
        "desk",
        "questions",
        "info",
        "press",
        "office",
        "admin",
        "our",
        "your",
        "this",
        "that",
        "new",
        "open",
        "source",
        "project",
        "write",
    ]
)
"""Words with a capital letter that stand beside an address, and are no names."""
_SET_NAME: Final = re.compile(rf"user\.name(?:\s{{1,3}}|=){_VALUE}", re.IGNORECASE)
_SET_BEFORE: Final = re.compile(r"\bconfig\b[^\n]{0,60}\Z|(?:-c\s{0,2}[\"']?)\Z", re.IGNORECASE)
_LISTED_NAME: Final = re.compile(r"user\.name=(?P<plain>[^\s\"'\\=$<({\[][^\n\"'\\]{1,60})(?:\n|\\n|\Z)", re.IGNORECASE)
_ENV_NAME: Final = re.compile(rf"(?:author|committer)_name=\s{{0,2}}{_VALUE}", re.IGNORECASE)
_GIT_USER: Final = re.compile(r"git user:[ \t]{1,4}(?P<plain>[^\s\"'\\][^\n\"'\\]{1,60})", re.IGNORECASE)

_URL: Final = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[\w.+-]{1,64}+(?::[^@\s/]{1,200}+)?@)?[\w.-]{3,100}+(?::\d{1,5}/|:/{0,1}|/)"
    r"(?P<owner>[A-Za-z0-9][\w.-]{0,62}+)/(?P<repository>[\w.-]{1,100}+)"
)
_REMOTE_LINE: Final = re.compile(r"[\s\\]t?(?P<url>\S{8,300})\s\Z")
_REMOTE_SECTION: Final = re.compile(r'\[remote \\{0,8}"[^"\n]{1,60}"\](?:\s|\\[nrt]){1,40}url\s?=\s?', re.IGNORECASE)
_REMOTE_COMMAND: Final = re.compile(
    r"remote (?:add|set-url)(?:\s--?\w+)*\s{1,3}[\w./-]{1,60}\s{1,3}[\"'\\]{0,3}", re.IGNORECASE
)
_PUSHED: Final = re.compile(r"(?:to|from)\s", re.IGNORECASE)
_PUSHED_BEFORE: Final = re.compile(r"(?:\A|\n|\\n)\s{0,4}\Z")


def emails(text: str, start: int, end: int) -> Iterator[Sighting]:
    """The address around a sign, and the name before an address in angle brackets."""
    domain = _DOMAIN.match(text, end)
    if not domain or (local_start := _local_start(text, start)) == start:
        return
    local, host = text[local_start:start].lower(), _without_file(domain[0])
    if not host or local in SERVICE_MAILBOXES or "noreply" in local.replace("-", ""):
        return
    if _IN_URL.search(text[max(0, local_start - 300) : local_start]) or is_login(text, local_start, end + len(host)):
        return
    is_reserved = _RESERVED.fullmatch(host.lower()) is not None
    if not is_reserved:
        stop = end + len(host)
        yield Sighting(local_start, stop, EMAIL, f"{local}@{host.lower()}", is_learned=False)
    if not is_mask(local):
        named = list(_name_of(text, local_start, is_certain=not is_reserved))
        yield from named
        if not named and not is_reserved:
            yield from _own_name(text, local_start, local)


def _name_of(text: str, address: int, *, is_certain: bool) -> Iterator[Sighting]:
    """The name that stands before an e-mail address: in brackets, or as a field."""
    if text[address - 1 : address] == "<":
        yield from _name_before(text, address - 1, is_certain=is_certain)
        return
    first = max(0, address - 110)
    match = _NAME_FIELD_BEFORE.search(text[first:address])
    if match and is_person(match["name"]):
        yield Sighting(first + match.start("name"), first + match.end("name"), PERSON, match["name"])


def _own_name(text: str, address: int, local: str) -> Iterator[Sighting]:
    """A name near an address that has the same letters: `Al Smith` and `al.smith@`, `alsmith@`, `asmith@`.

    And a name directly before an address in brackets, as far as the address begins like it.
    """
    first = max(0, address - _NEAR)
    for match in _FULL_NAME.finditer(text, first, address + _NEAR):
        given, family = match["first"].lower(), match["last"].lower()
        spellings = (f"{given}.{family}", f"{given}_{family}", f"{given}-{family}", given + family, given[0] + family)
        is_before = text[match.end("name") : address].lstrip(" ") in ("<", "(")
        is_alike = local in spellings or (is_before and (text[address - 1] == "<" or local[0] in (given[0], family[0])))
        if is_alike and is_person(match["name"]) and given not in _NO_GIVEN_NAMES and family not in _NO_GIVEN_NAMES:
            yield Sighting(*match.span("name"), PERSON, match["name"])


def _local_start(text: str, at: int) -> int:
    first = at
    floor = max(0, at - _LONGEST_LOCAL)
    while first > floor and text[first - 1] in _LOCAL_CHARS:
        first -= 1
    while first < at and text[first] in ".-+":
        first += 1
    return word_start(text, first, at) if first < at else at


def _without_file(domain: str) -> str:
    """The domain, up to the last part that can be a top-level one; nothing for versions and names of files."""
    parts = domain.rstrip("-").split(".")
    while len(parts) > 1 and not (parts[-1].isalpha() and len(parts[-1]) > 1 and parts[-1].lower() not in EXTENSIONS):
        if not parts[-1].isdigit() and parts[-1].lower() in EXTENSIONS:
            return ""
        parts.pop()
    return ".".join(parts) if len(parts) > 1 and not parts[0].isdigit() else ""


def _name_before(text: str, bracket: int, *, is_certain: bool) -> Iterator[Sighting]:
    line = text[max(0, bracket - 100) : bracket].replace("\\n", " \n")
    match = _NAME_BEFORE.search(line)
    if not match:
        return
    name = match["name"].strip()
    words = name.split(" ")
    is_commit = match["intro"] is not None and _INTRO.match(match["intro"].strip()) is not None
    is_name = is_certain and 2 <= len(words) <= 4 and all(word[:1].isupper() for word in words)
    if (is_commit or is_name) and is_person(name):
        end = bracket - 1
        while text[end - 1].isspace():
            end -= 1
        yield Sighting(end - len(name), end, PERSON, name)


def is_person(name: str) -> bool:
    """True if a git author may be a person."""
    return (
        len(name) > 1
        and len(name.split()) <= 6
        and any(char.isalpha() for char in name)
        and not is_mask(name)
        and not _NO_PERSON.match(name)
    )


def git_names(text: str, start: int, end: int) -> Iterator[Sighting]:
    """The name that a command or a setting of git gives."""
    anchor = text[start:end].lower()
    if anchor == "user.name":
        before = text[max(0, start - 70) : start]
        match = _SET_NAME.match(text, start) if _SET_BEFORE.search(before) else None
        if not match and _PUSHED_BEFORE.search(before):
            match = _LISTED_NAME.match(text, start)
    else:
        match = (_GIT_USER if anchor == "git user:" else _ENV_NAME).match(text, start)
    if not match:
        return
    group = match.lastgroup or 0
    name = match[group].rstrip()
    if is_person(name) and not name.startswith("-"):
        yield Sighting(match.start(group), match.start(group) + len(name), PERSON, name)


def remotes(text: str, start: int, end: int) -> Iterator[Sighting]:
    """The owner and the repository of a remote of git."""
    anchor = text[start:end].lower()
    at = start
    if anchor in ("(fetch)", "(push)"):
        line = _REMOTE_LINE.search(text[max(0, start - 320) : start])
        at = start - len(line["url"]) - 1 if line else -1
    elif anchor == "[remote ":
        section = _REMOTE_SECTION.match(text, start)
        at = section.end() if section else -1
    elif anchor.startswith("remote "):
        command = _REMOTE_COMMAND.match(text, start)
        at = command.end() if command else -1
    elif anchor.startswith(("to ", "from ")):
        pushed = _PUSHED.match(text, start)
        at = pushed.end() if pushed and _PUSHED_BEFORE.search(text[max(0, start - 8) : start]) else -1
    elif anchor == "/pull/new/":
        at = _url_start(text, start)
    if at >= 0:
        yield from remote_url(text, at)


def _url_start(text: str, end: int) -> int:
    first = text.rfind("https://", max(0, end - 200), end)
    return first if first >= 0 and not any(char.isspace() for char in text[first:end]) else -1


def remote_url(text: str, at: int = 0) -> Iterator[Sighting]:
    """The owner and the repository in a URL, or in `git@github.com:alice/project.git`."""
    if match := _URL.match(text, at):
        yield from _owned(match["owner"], match["repository"], match.start("owner"))


def repository(text: str) -> Iterator[Sighting]:
    """The owner and the repository in `alice/project`."""
    owner, slash, name = text.partition("/")
    if slash and name and re.fullmatch(r"[\w.-]{1,63}", owner) and re.fullmatch(r"[\w.-]{1,100}", name):
        yield from _owned(owner, name, 0)


def _owned(owner: str, name: str, start: int) -> Iterator[Sighting]:
    name = name.removesuffix(".git").rstrip(".")
    if name and not is_generic_owner(owner):
        yield Sighting(start, start + len(owner), OWNER, f"{owner}/{name}".lower())


def is_generic_owner(owner: str) -> bool:
    """True for placeholders such as `your-org`."""
    folded = owner.lower()
    return is_generic_user(owner) or folded in (
        "org",
        "orgs",
        "your-org",
        "acme",
        "my-org",
        "myorg",
        "your_org",
        "repos",
    )
