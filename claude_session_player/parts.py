"""What a tool's input and result are made of, whatever the format: words, code, changes, lists, pictures, data."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct


class Prose(Struct, frozen=True, gc=False):
    """Words, as markdown."""

    text: str


class Code(Struct, frozen=True, gc=False):
    """Text in which every sign counts: a command, an output, a part of a file."""

    text: str
    language: str = ""
    lines: int | None = None
    """How many lines of it are enough, where that is not the usual number; 0 for none."""


class Diff(Struct, frozen=True, gc=False):
    """What was changed: each line begins with a space, a minus or a plus."""

    text: str


class Item(Struct, frozen=True, gc=False):
    """A line of a check list."""

    text: str
    done: bool = False


class Checklist(Struct, frozen=True, gc=False):
    """What is to be done, or to be chosen from."""

    items: tuple[Item, ...]


class Data(Struct, frozen=True, gc=False):
    """Anything that JSON can hold."""

    value: Any


class Picture(Struct, frozen=True, gc=False):
    """A picture or a document: its data in base64, or its address."""

    kind: str
    media_type: str = ""
    data: Raw = Raw()
    url: str = ""


Part = Prose | Code | Diff | Checklist | Data | Picture


class Sketch(Struct, frozen=True, gc=False):
    """How a call is told: some words, a name in which every sign counts, what was given and what came back."""

    words: str = ""
    name: str = ""
    given: tuple[Part, ...] = ()
    outcome: str = ""
    """What came back, in a few words."""
    returned: tuple[Part, ...] = ()
