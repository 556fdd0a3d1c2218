"""Tokens: how texts become words, for documents and queries alike.

A word is a run of letters and digits, in lower case. So `parse_line`, `src/app.py` and `--no-cache` are several words
next to each other, and are found whole as a phrase. Other forms of a text are indexed in addition: the parts of words
like `parseLine`, any two neighbours of Chinese, Japanese or Korean characters, and texts with accents without them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final

import tantivy

TOKENIZER: Final = "words"
_CJK: Final = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
_CJK_RUN: Final = re.compile(f"[{_CJK}]+")
_WORD: Final = re.compile(rf"[^\W_{_CJK}]+")
_WORDS_BEFORE: Final = re.compile(rf"[^\W_{_CJK}]+\Z")
_LONGEST_WORD: Final = 100
_MARKS: Final = (b"\xcc", b"\xcd", b"\xe1", b"\xe3\x82\x99", b"\xe3\x82\x9a")
"""How accents that follow their letter begin in UTF-8, and the parts of Korean syllables."""
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")
_HUMPS: Final = (b"aA", b"AAa")
"""What the shape of a word with inner parts has: `parseLine`, `HTTPServer`."""


_LOWER: Final = b"abcdefghijklmnopqrstuvwxyz0123456789"
_UPPER: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SHAPES: Final = bytes(ord("a" if code in _LOWER else "A" if code in _UPPER else " ") for code in range(256))
"""Maps bytes to `a` for small letters and digits, `A` for capitals, and spaces."""
_CJK_LEADS: Final = bytes(code in (0xE1, *range(0xE3, 0xEE), 0xEF, 0xF0) for code in range(256))
"""Maps the first bytes of Chinese, Japanese and Korean characters in UTF-8, and of a few others, to 1."""
_ACCENT_LEADS: Final = bytes(code in (*range(0xC3, 0xCA), 0xE1) for code in range(256))
"""The same for Latin letters with accents."""


@cache
def analyzer() -> tantivy.TextAnalyzer:
    """Splits a text into words, in lower case."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase()).build()


def prepare(text: str) -> tuple[str, list[str]]:
    """A text as it is indexed, and other forms of it: the words inside longer words, and the text without accents.

    Accents that follow their letter become part of it, and what cannot be encoded is replaced.

    >>> prepare("parseLine parseLine plain"), prepare("数据库x")
    (('parseLine parseLine plain', ['parse Line']), ('数据库x', ['数据 据库 库', 'x']))
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:  # lone surrogates
        data = text.encode(errors="replace")
        text = data.decode()
    inner = []
    if not text.isascii():
        if any(mark in data for mark in _MARKS):
            text = unicodedata.normalize("NFC", text)
            data = text.encode()
        if 1 in data.translate(_CJK_LEADS):
            inner = cjk_words(text)
        if 1 in data.translate(_ACCENT_LEADS):
            inner.append(fold(text))
    shape = data.translate(_SHAPES)
    found = set()
    for hump in _HUMPS:
        at = shape.find(hump)
        while at >= 0:
            start = shape.rfind(b" ", 0, at) + 1
            end = shape.find(b" ", at)
            end = end if end >= 0 else len(shape)
            found.add(data[start:end])
            at = shape.find(hump, end)
    inner += map(_split, found)
    return text, inner


def words_of(text: str) -> list[str]:
    """The words of a text, in order.

    >>> words_of("Café: parse_line(src/app.py) --no-cache")
    ['café', 'parse', 'line', 'src', 'app', 'py', 'no', 'cache']
    """
    return analyzer().analyze(prepare(text)[0])


@lru_cache(maxsize=1 << 16)
def _split(word: bytes) -> str:
    return " ".join(_PARTS.findall(word.decode()))


def cjk_words(text: str) -> list[str]:
    """The words inside words with Chinese, Japanese or Korean characters: neighbours in pairs, and what is beside them.

    The last character of a run stands alone as well, so that a single character can be found.
    """
    found: dict[str, None] = {}
    for match in _CJK_RUN.finditer(text):
        run, start, end = match[0], match.start(), match.end()
        found[" ".join([*(run[at : at + 2] for at in range(len(run) - 1)), run[-1]])] = None
        if text[start - 1 : start].isalnum():
            found[_WORDS_BEFORE.search(text, max(start - _LONGEST_WORD, 0), start)[0]] = None  # type: ignore[index]
        if text[end : end + 1].isalnum():
            found[_WORD.match(text, end)[0]] = None  # type: ignore[index]
    return list(found)


def split_cjk(text: str) -> list[tuple[str, bool]]:
    """A query word as pieces, each either Chinese, Japanese or Korean, or not.

    >>> split_cjk("abc数据"), split_cjk("abc")
    ([('abc', False), ('数据', True)], [('abc', False)])
    """
    pieces: list[tuple[str, bool]] = []
    at = 0
    for match in _CJK_RUN.finditer(text):
        if match.start() > at:
            pieces.append((text[at : match.start()], False))
        pieces.append((match[0], True))
        at = match.end()
    if at < len(text):
        pieces.append((text[at:], False))
    return pieces


class _FoldedLetters(dict[int, int | str]):
    """Each letter in lower case and without accents, if that is one character; else itself."""

    def __missing__(self, code: int) -> int | str:
        letter = unicodedata.normalize("NFD", chr(code))[0].lower()
        self[code] = letter if len(letter) == 1 else code
        return self[code]


_FOLDED: Final = _FoldedLetters()


def fold(text: str) -> str:
    """A text in lower case and without accents, each character at its place.

    >>> fold("Ça fait Épic")
    'ca fait epic'
    """
    return text.lower() if text.isascii() else text.translate(_FOLDED)
