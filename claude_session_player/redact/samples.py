"""Samples of rules: templates that stand for many texts, so that no source file holds what looks like a key."""

from __future__ import annotations

import base64
import random
import re
import string
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_ALPHABETS: Final = {
    "a": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
    "t": string.ascii_lowercase + "234567",
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": string.digits,
    "p": string.ascii_letters + string.digits + "!%^*+~.-_",
}
"""Characters by the letter in a template, see `expand`."""
_FIELD: Final = re.compile(r"\{([a-zA-Z]|uuid|json64|lines64)(\d*)\}")
_LINE: Final = 64


def expand(template: str, seed: int = 0) -> str:
    """A text of a template: `{a20}` becomes 20 random letters and digits, `{uuid}` a uuid.

    The same seed gives the same text. Letters stand for alphabets: a (letters, digits), l (lower case), u (upper case),
    w (also _ and -), b (also + and /), t (base32), h and H (hexadecimal), d (digits), p (as in passwords).
    `{json64N}` is a JSON object in base64 for URLs, as in a JWT; `{lines64N}` is N lines of base64, as in a PEM.
    Other braces stay.

    >>> expand("x-{d3}-{h4}", 1) == expand("x-{d3}-{h4}", 1) != expand("x-{d3}-{h4}", 2)
    True
    >>> expand('{"a": {}}')
    '{"a": {}}'
    """
    source = random.Random(f"{seed}:{template}")
    return _FIELD.sub(lambda match: _value(source, match[1], int(match[2] or 0)), template)


def _value(source: random.Random, name: str, size: int) -> str:
    make = _SHAPES.get(name)
    return (
        make(source, size) if make else _word(source, _ALPHABETS[name], size) if name in _ALPHABETS else f"{{{name}}}"
    )


def _word(source: random.Random, alphabet: str, size: int) -> str:
    """A random word; from four characters on with a digit and a letter, as far as the alphabet has both."""
    letters = [source.choice(alphabet) for _ in range(size)]
    if size >= 4:
        for place, kind in ((1, string.digits), (size - 2, string.ascii_letters)):
            if choices := [char for char in alphabet if char in kind]:
                letters[place] = source.choice(choices)
    for end in {0, size - 1}:  # a password that ends in a dot would be found without it
        if letters and not letters[end].isalnum():
            letters[end] = source.choice([char for char in alphabet if char.isalnum()])
    return "".join(letters)


def _uuid(source: random.Random, size: int) -> str:
    return "-".join(_word(source, _ALPHABETS["h"], part) for part in (8, 4, 4, 4, 12))


def _json64(source: random.Random, size: int) -> str:
    data = f'{{"{_word(source, string.ascii_lowercase, 3)}":"{_word(source, _ALPHABETS["a"], max(size, 8))}"}}'
    return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")


def _lines64(source: random.Random, size: int) -> str:
    return "\n".join(_word(source, _ALPHABETS["b"], _LINE) for _ in range(size or 1))


_SHAPES: Final[dict[str, Callable[[random.Random, int], str]]] = {"uuid": _uuid, "json64": _json64, "lines64": _lines64}
