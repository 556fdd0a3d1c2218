"""What a rule of redaction is: which texts are masked, under which name, and how it is known to be right."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.redact.masks import without_tags

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET: Final = "secret"
"""The name of the group of a pattern that is masked; without such a group, the whole match is."""


class Group(Enum):
    """Kinds that are kept or masked together."""

    SECRETS = "secrets"
    IDENTITY = "identity"
    IMAGES = "images"


class Kind(Enum):
    """What is masked, in the words of a person."""

    API_KEY = ("api-key", "API key", "API keys", Group.SECRETS)
    TOKEN = ("token", "access token", "access tokens", Group.SECRETS)
    PASSWORD = ("password", "password", "passwords", Group.SECRETS)
    PRIVATE_KEY = ("private-key", "private key", "private keys", Group.SECRETS)
    COOKIE = ("cookie", "cookie", "cookies", Group.SECRETS)
    SECRET = ("secret", "other secret", "other secrets", Group.SECRETS)
    KNOWN = ("known", "known value", "known values", Group.SECRETS)
    CUSTOM = ("custom", "value of your own rules", "values of your own rules", Group.SECRETS)
    HOME = ("home", "home directory", "home directory", Group.IDENTITY)
    USER = ("user", "user name", "user name", Group.IDENTITY)
    PERSON = ("person", "name of a person", "name of a person", Group.IDENTITY)
    EMAIL = ("email", "e-mail address", "e-mail address", Group.IDENTITY)
    HOST = ("host", "host name", "host name", Group.IDENTITY)
    ADDRESS = ("address", "private IP address", "private IP address", Group.IDENTITY)
    REPOSITORY = ("repository", "owner of a repository", "owner of a repository", Group.IDENTITY)
    ACCOUNT = ("account", "account", "account", Group.IDENTITY)
    IMAGE = ("images", "image", "images", Group.IMAGES)

    def __init__(self, word: str, singular: str, plural: str, group: Group) -> None:
        self.word = word
        """The name for `--keep` and in reports."""
        self.singular = singular
        self.plural = plural
        self.group = group

    @property
    def is_secret(self) -> bool:
        """True for secrets, which are counted by their values; the others are counted by their occurrences."""
        return self.group is Group.SECRETS


def known_kinds() -> list[str]:
    """The words of groups and kinds, for `keep`."""
    return list(dict.fromkeys((*(group.value for group in Group), *(kind.word for kind in Kind))))


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One kind of text that is masked: a pattern, and what is known of the texts that match it."""

    name: str
    """Also the word in the mask: `[anthropic-key-1]`."""
    kind: Kind
    pattern: str
    """A regular expression of Python. The group `secret`, if there is one, is masked, else the whole match."""
    keywords: tuple[str, ...]
    """In lower case: every text that matches contains one of them, in upper or lower case."""
    samples: tuple[str, ...] = ()
    """Templates, see `redact.samples`: texts in which the pattern finds something."""
    others: tuple[str, ...] = ()
    """Templates of texts that look alike, but in which it finds nothing."""
    entropy: float = 0.0
    """Bits per character that the masked text has at least."""
    accepts: Callable[[str], bool] | None = field(default=None, compare=False)
    """A further condition on the masked text."""
    mask: str = "[{name}-{n}]"
    """How the masked text reads; `{n}` counts the values of the same name."""

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first needed."""
        return re.compile(self.pattern)

    @cached_property
    def group(self) -> int | str:
        """The group that is masked."""
        return SECRET if SECRET in self.regex.groupindex else 0

    def finds(self, text: str) -> list[Find]:
        """What the rule masks in a text.

        >>> rule = Rule(name="x", kind=Kind.TOKEN, pattern=r"key: (?P<secret>x\\w+)", keywords=("key",))
        >>> rule.finds("a key: xyz")
        [Find(start=7, end=10, rule='x', value='xyz')]
        """
        found = []
        for match in self.regex.finditer(text):
            value = match[self.group]
            if value and self.is_met_by(value):
                found.append(Find(*match.span(self.group), self, value))
        return found

    def is_met_by(self, value: str) -> bool:
        """True if a text that the pattern found meets the other conditions, whatever masks or tags stand in it."""
        if not (self.entropy or self.accepts):
            return True
        value = without_tags(value)
        if self.entropy and entropy(value) < self.entropy:
            return False
        return self.accepts is None or self.accepts(value)


class Find(NamedTuple):
    """A part of a text that is to be masked."""

    start: int
    end: int
    rule: Rule
    value: str

    def __repr__(self) -> str:
        return f"Find(start={self.start}, end={self.end}, rule={self.rule.name!r}, value={self.value!r})"


def entropy(text: str) -> float:
    """Bits per character of a text, by how often each of its characters occurs in it.

    >>> entropy("aaaa"), entropy("abab"), entropy("abcd")
    (0.0, 1.0, 2.0)
    """
    total = len(text)
    return -sum(count / total * math.log2(count / total) for count in Counter(text).values()) + 0.0
