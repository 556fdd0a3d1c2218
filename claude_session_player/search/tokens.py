"""Tokens: how texts become words, for documents and queries alike.

A word is a run of letters and digits; case and accents do not count. So `parse_line`, `src/app.py` and `--no-cache` are
several words next to each other, and are found whole as a phrase. Words inside a longer one are indexed in addition:
the parts of `parseLine`, and any two neighbours of Chinese, Japanese or Korean characters.
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
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")
_ACCENTED: Final = re.compile("[\u00c0-\u024f\u1e00-\u1fff]")
_HUMPS: Final = (b"aA", b"AAa")
"""What the shape of a word with inner parts has: `parseLine`, `HTTPServer`."""


_LOWER: Final = b"abcdefghijklmnopqrstuvwxyz0123456789"
_UPPER: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SHAPES: Final = bytes(ord("a" if code in _LOWER else "A" if code in _UPPER else " ") for code in range(256))
"""Maps bytes to `a` for small letters and digits, `A` for capitals, and spaces."""
_CJK_LEAD: Final = b"\1"
_MARK: Final = b"\2"
_LEADS: Final = bytes(
    1 if code in (0xE1, *range(0xE3, 0xEE), 0xEF, 0xF0) else 2 if code in (0xCC, 0xCD) else 0 for code in range(256)
)
"""Maps the first bytes of Chinese, Japanese and Korean characters in UTF-8, and of a few others, to 1; and those of
accents that follow their letter to 2."""
_FOUR_BYTES: Final = 0xF0
_CJK_MARKS: Final = (b"\xe1\x84", b"\xe1\x85", b"\xe3\x82\x99", b"\xe3\x82\x9a")
"""How the parts of Korean syllables, and the voice marks of Japanese letters, begin in UTF-8."""
_LONG_WORD: Final = 100
BREAK: Final = " \u2d63 "
"""Stands between inner words that do not follow each other in the text: a letter that hardly any text has."""


@cache
def analyzer() -> tantivy.TextAnalyzer:
    """Splits a text into words, in lower case and without accents."""
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return words.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold()).build()


def prepare(text: str) -> tuple[str, str]:
    """A text as it is indexed, and another with the words inside its longer words, each once.

    Accents that follow their letter become part of it, and what cannot be encoded is replaced.

    >>> prepare("parseLine parseLine plain")
    ('parseLine parseLine plain', 'parse Line')
    >>> prepare("数据库x")[1].split(BREAK)
    ['数据 据库 库', 'x']
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:  # lone surrogates
        data = text.encode(errors="replace")
        text = data.decode()
    shape, inner = data.translate(_SHAPES), ""
    if not text.isascii():
        leads = data.translate(_LEADS)
        if _MARK in leads or (_CJK_LEAD in leads and any(mark in data for mark in _CJK_MARKS)):
            text = unicodedata.normalize("NFC", text)
            data = text.encode()
            shape, leads = data.translate(_SHAPES), data.translate(_LEADS)
        if _CJK_LEAD in leads:
            inner = _cjk_words(data, shape, leads)
    found: dict[bytes, None] = {}
    for hump in _HUMPS:
        at = shape.find(hump)
        while at >= 0:
            end = _word_end(shape, at)
            found[data[shape.rfind(b" ", 0, at) + 1 : end]] = None
            at = shape.find(hump, end)
    if found:
        inner = BREAK.join((*filter(None, (inner,)), *(_split(w) if len(w) < _LONG_WORD else _parts(w) for w in found)))
    return text, inner


def _word_end(shape: bytes, at: int) -> int:
    end = shape.find(b" ", at)
    return end if end >= 0 else len(shape)


def words_of(text: str) -> list[str]:
    """The words of a text, in order.

    >>> words_of("Café: parse_line(src/app.py) --no-cache")
    ['cafe', 'parse', 'line', 'src', 'app', 'py', 'no', 'cache']
    """
    return analyzer().analyze(prepare(text)[0])


def _parts(word: bytes) -> str:
    return " ".join(_PARTS.findall(word.decode()))


_split: Final = lru_cache(maxsize=1 << 16)(_parts)


def _cjk_words(data: bytes, shape: bytes, leads: bytes) -> str:
    """The words inside words with Chinese, Japanese or Korean characters: neighbours in pairs, and what is beside them.

    The last character of a run stands alone as well, so that a single character can be found. Searching bytes for the
    few that begin such characters takes a tenth of the time of a regular expression.
    """
    found: dict[str, None] = {}
    start = leads.find(_CJK_LEAD)
    while start >= 0:
        end = start
        while leads[end : end + 1] == _CJK_LEAD:
            end += 4 if data[end] == _FOUR_BYTES else 3
        for run in _CJK_RUN.findall(data[start:end].decode()):
            found[" ".join([*(run[at : at + 2] for at in range(len(run) - 1)), run[-1]])] = None
            found[data[shape.rfind(b" ", 0, start) + 1 : start].decode()] = None
            found[data[end : _word_end(shape, end)].decode()] = None
        start = leads.find(_CJK_LEAD, end)
    found.pop("", None)
    return BREAK.join(found)


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
    if text.isascii():
        return text.lower()
    lowered = text.lower()
    is_plain = len(lowered) == len(text) and not _ACCENTED.search(lowered)  # usually, and in half the time
    return lowered if is_plain else text.translate(_FOLDED)
