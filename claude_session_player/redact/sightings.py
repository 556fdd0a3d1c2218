"""Where a text itself says that something is the name of a person, of a machine, of an account."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.redact.rule import Kind, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

_NEVER: Final = r"(?!)"
"""These rules are found by `Identity`: what they look for depends on the rest of the session."""


def _rule(name: str, kind: Kind, mask: str) -> Rule:
    return Rule(name=name, kind=kind, pattern=_NEVER, keywords=(), mask=mask)


HOME: Final = _rule("home-directory", Kind.HOME, "~")
EMAIL: Final = _rule("email", Kind.EMAIL, "person-{n}@example.com")
PERSON: Final = _rule("person", Kind.PERSON, "person-{n}")
OWNER: Final = _rule("repository-owner", Kind.REPOSITORY, "owner-{n}")
HOST: Final = _rule("host", Kind.HOST, "host-{n}")
USER: Final = _rule("user", Kind.USER, "user-{n}")
GROUP: Final = _rule("user-group", Kind.USER, "group-{n}")
IP: Final = _rule("private-ip", Kind.ADDRESS, "ip-{n}")
MAC: Final = _rule("mac-address", Kind.ADDRESS, "mac-{n}")
ACCOUNT: Final = _rule("account", Kind.ACCOUNT, "account-{n}")
ORGANIZATION: Final = _rule("organization", Kind.ACCOUNT, "organization-{n}")
CLOUD_SESSION: Final = _rule("cloud-session", Kind.ACCOUNT, "cloud-session-{n}")
ENVIRONMENT: Final = _rule("cloud-environment", Kind.ACCOUNT, "environment-{n}")

IDENTITY_RULES: Final = (
    *(HOME, EMAIL, PERSON, OWNER, HOST, USER, GROUP, IP, MAC),
    *(ACCOUNT, ORGANIZATION, CLOUD_SESSION, ENVIRONMENT),
)
"""What is masked of identity. Of two that find the same text, the earlier one masks it."""


class Sighting(NamedTuple):
    """A part of a text that its surroundings show to be part of an identity."""

    start: int
    end: int
    rule: Rule
    value: str
    """The name itself: the user of a home directory; for an owner, `owner/repository`."""
    is_learned: bool = True
    """True if the name is masked elsewhere in the session, too."""


if TYPE_CHECKING:
    Detector: TypeAlias = Callable[[str, int, int], Iterator[Sighting]]
    """Looks around an anchor in a text: its start and end."""

_ESCAPE_BEFORE: Final = re.compile(
    r"(?:\\[nrtbfv]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\[[0-9;]{0,8}[a-zA-Z])\Z"
)
_LONGEST_ESCAPE: Final = 11


def is_alnum(char: str) -> bool:
    """True for ASCII letters and digits: in "alice가", the name ends before the letter of another script."""
    return char.isascii() and char.isalnum()


def begins_word(text: str, start: int) -> bool:
    r"""True if no word goes on at a place: after a sign, or after an escaped one, as in `\nalice` and `%2Falice`.

    >>> begins_word("x alice", 2), begins_word("malice", 1), begins_word(r"x\nalice", 3), begins_word("%2Falice", 3)
    (True, False, True, True)
    """
    if start == 0 or not is_alnum(text[start - 1]):
        return True
    return _ESCAPE_BEFORE.search(text[max(0, start - _LONGEST_ESCAPE) : start]) is not None


def ends_word(text: str, end: int) -> bool:
    """True if no word goes on after a place."""
    return end == len(text) or not is_alnum(text[end])


def word_start(text: str, start: int, end: int) -> int:
    r"""Where a run of letters begins, without what is left of an escape before it.

    >>> text = r"x\nalice@"
    >>> text[word_start(text, 2, 8):8]
    'alice'
    """
    if start == 0:
        return start
    before = text[start - 1]
    if before == "\\" and text[start] in "nrtbfv" and end - start > 1:
        return start + 1
    if before == "%" and re.fullmatch(r"[0-9a-fA-F]{2}", text[start : start + 2]):
        return min(start + 2, end)
    if before in "[;" and (code := re.compile(r"[0-9]{0,4}m").match(text, start, end)):
        return code.end()
    return start
