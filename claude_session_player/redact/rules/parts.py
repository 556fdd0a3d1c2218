"""Parts of patterns: where a key begins, and the names that keys without a shape are given."""

from __future__ import annotations

import re
from typing import Final

_ESCAPES: Final = (r"\\[nrtbf]", "%[0-9A-Fa-f]{2}", r"\\u[0-9A-Fa-f]{4}")
"""What ends in a letter or a digit, and is none: escapes of control characters and signs in JSON and in URLs."""
_ASSIGNED: Final = (
    r"[\w.-]{0,12}+"  # the rest of the name
    r"\\{0,3}(?:[\"'`]\]?)?[ \t]{0,3}(?:=>|:=|==|[=:,(])?[ \t]{0,3}\\{0,3}[\"'`]?"
    r"(?:(?i:bearer|basic|token) )?(?<![A-Za-z0-9])"
)
SENSITIVE: Final = "key|token|secret|auth|pass|pat|cred|pwd"
"""What the name of a secret says of it."""
HEX: Final = "[0-9a-f]"
UUID: Final = f"{HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}}"
HEX_DIGITS: Final = "0123456789abcdef"


def begins(*literals: str) -> str:
    r"""A pattern for one of these beginnings of a key, where no word goes on in front of it.

    An escape sequence in front is no word, though it ends in a letter: `\nAKIA…`, `%3DAKIA…`. The literal comes first
    in the pattern, because a search for a literal is fast.

    >>> [bool(re.search(begins("AKIA"), text)) for text in ("AKIA", "_AKIA", r"\nAKIA", "nAKIA", "%3DAKIA", "3DAKIA")]
    [True, True, True, False, True, False]
    """
    return f"(?:{'|'.join(_begin(re.escape(literal)) for literal in literals)})"


def _begin(literal: str) -> str:
    escaped = "".join(f"|(?<={escape}{literal})" for escape in _ESCAPES)
    return f"{literal}(?:(?<![A-Za-z0-9]{literal}){escaped})"


def starts() -> str:
    r"""A pattern for a place where no word goes on in front: for keys that begin with no literal.

    >>> [match.start() for match in re.finditer(starts() + "[xyz]", r"x ax \ny z=y")]
    [0, 7, 9, 11]
    """
    return rf"(?:(?<![A-Za-z0-9]){''.join(f'|(?<={escape})' for escape in _ESCAPES)})"


def named(owner: str, value: str, what: str = SENSITIVE) -> str:
    """A pattern for a value of no shape of its own, by the name that it is given: `owner`, then `what`.

    >>> pattern = named("acme", "[0-9a-f]{8}")
    >>> [bool(re.search(pattern, text)) for text in ("ACME_API_KEY=0123abcd", "acme 0123abcd", 'acmeToken: "0123abcd"')]
    [True, False, True]
    >>> re.search(pattern, "the ACME key is `0123abcd`") is None
    True
    """
    return rf"(?i:(?:{owner})[\w. -]{{0,20}}?(?:{what})){_ASSIGNED}(?P<secret>{value})(?![A-Za-z0-9_-])"


def assigned(name: str, value: str) -> str:
    """A pattern for a value that is given to exactly this name.

    >>> re.search(assigned("acme_key", "[0-9a-f]{8}"), "acme_key: 0123abcd")["secret"]
    '0123abcd'
    """
    return rf"(?i:{name}){_ASSIGNED}(?P<secret>{value})"


def is_mixed(value: str) -> bool:
    """True if a text has upper case, lower case and a digit, as random letters and digits have.

    >>> is_mixed("aB3"), is_mixed("deadbeef01"), is_mixed("someFunctionName")
    (True, False, False)
    """
    return (
        any(char.isdigit() for char in value)
        and any(char.islower() for char in value)
        and any(char.isupper() for char in value)
    )


def is_random(value: str) -> bool:
    """True for what no person made up as a placeholder.

    >>> is_random("sk-ant-api03-" + "x" * 40), is_random("sk-your-api-key-goes-here-1"), is_random("sk-9fK2")
    (False, False, True)
    """
    return _PLACEHOLDER.search(value) is None


_PLACEHOLDER: Final = re.compile(
    r"(?i)(.)\1{7}|your[_-]|[_-]here\b|placeholder|change[_-]?me|redacted|[_-]example|example[_-]|(?:insert|goes)[_-]"
)
