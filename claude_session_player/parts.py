"""What a tool's input and result are made of, whatever the format: words, code, changes, lists, pictures, data."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Raw


class Prose(NamedTuple):
    """Words, as markdown."""

    text: str


class Code(NamedTuple):
    """Text in which every sign counts: a command, an output, a part of a file."""

    text: str
    language: str = ""
    lines: int | None = None
    """How many lines of it are enough, where that is not the usual number; 0 for none."""


class Diff(NamedTuple):
    """What was changed: each line begins with a space, a minus or a plus."""

    text: str


class Item(NamedTuple):
    """A line of a check list."""

    text: str
    done: bool = False


class Checklist(NamedTuple):
    """What is to be done, or to be chosen from."""

    items: tuple[Item, ...]


class Data(NamedTuple):
    """Anything that JSON can hold."""

    value: Any


class Picture(NamedTuple):
    """A picture or a document: its data in base64, or its address."""

    kind: str
    media_type: str = ""
    data: Raw = Raw()
    url: str = ""


Part = Prose | Code | Diff | Checklist | Data | Picture


class Sketch(NamedTuple):
    """How a call is told: some words, a name in which every sign counts, what was given and what came back."""

    words: str = ""
    name: str = ""
    given: tuple[Part, ...] = ()
    outcome: str = ""
    """What came back, in a few words."""
    returned: tuple[Part, ...] = ()
