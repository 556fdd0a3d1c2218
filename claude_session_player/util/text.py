"""Functions for plain text: cleaning, cutting, joining, indenting."""

from __future__ import annotations

import os
import re
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

ELLIPSIS: Final = "…"


class Cut(Enum):
    """How a text was shortened."""

    NONE = "none"
    LINES = "lines"
    WIDTH = "width"


TITLE_LENGTH: Final = 200
_PORTION: Final = 1 << 20

ESCAPE_SEQUENCE: Final = (  # compiled at first use: most commands start faster without
    r"\x9b[0-?]*[ -/]*[@-~]|"  # CSI in one character
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, hyperlinks
    r"|[PX^_][^\x1b]*\x1b\\"  # device control, application and privacy strings
    r"|[ -/]*[0-~]"  # two-character sequences
    r"|)"  # an escape character without a sequence
)
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal executes instead of showing it: control characters other than tab and line feed, characters that
change the direction of text; and lone surrogates, which cannot be encoded."""
_JSON_ESCAPES: Final = {
    code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Those of them that JSON may contain unescaped."""
_RAW_IN_JSON: Final = re.compile(f"[{''.join(map(chr, _JSON_ESCAPES))}]")
_LINE_BREAK: Final = r"\r\n|\r|\n"


def strip_escapes(text: str) -> str:
    """Remove ANSI escape sequences and turn CRLF into LF.

    >>> strip_escapes("\\x1b[31mred\\x1b[0m\\r\\nplain")
    'red\\nplain'
    """
    if "\x1b" in text or "\x9b" in text:
        text = re.sub(ESCAPE_SEQUENCE, "", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text


def drop_overwritten(text: str) -> str:
    """Keep what a terminal shows of lines with lone carriage returns: the last part that is not empty.

    >>> drop_overwritten("10%\\r50%\\r100%\\ndone\\r")
    '100%\\ndone'
    """
    if "\r" not in text:
        return text
    return "\n".join([line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")])


def trim_breaks(text: str) -> str:
    """Drop leading and trailing line breaks, and nothing else.

    >>> trim_breaks("\\n  two\\nlines \\n\\n")
    '  two\\nlines '
    """
    return text.strip("\r\n")


def remove_blocks(text: str, *tags: str) -> str:
    """Remove every block from an opening tag to its closing tag; a tag without an end stays.

    >>> remove_blocks("a<x>noise</x>b<x>c", "x", "y")
    'ab<x>c'
    """
    for tag in tags:
        opening, closing = f"<{tag}>", f"</{tag}>"
        kept, at = [], 0
        while (start := text.find(opening, at)) >= 0 and (end := text.find(closing, start)) >= 0:
            kept.append(text[at:start])
            at = end + len(closing)
        if kept:
            text = "".join(kept) + text[at:]
    return text


def one_line(text: str) -> str:
    """Turn every line break into a space.

    >>> one_line("a\\nb\\r\\nc")
    'a b c'
    """
    if "\n" in text or "\r" in text:
        return re.sub(_LINE_BREAK, " ", text)
    return text


def printable(text: str) -> str:
    """The text with every character replaced that is not printable.

    >>> printable("a\\x1b[2Jb\\n")
    'a�[2Jb�'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else "�" for c in text)


def mark_controls(text: str) -> str:
    """The text with a mark for every character that a terminal would execute; line feeds and tabs stay.

    >>> mark_controls("a\\x1b[2Jb\\r\\n\\u202ec")
    'a�[2Jb\\n�c'
    """
    if _CONTROLS.search(text) is None:
        return text
    return _CONTROLS.sub("�", text.replace("\r\n", "\n"))


def escape_controls(json: str) -> str:
    """JSON with an escape for every character that a terminal would execute; its value is the same.

    >>> escape_controls('"a\\x9bb"')
    '"a\\\\u009bb"'
    """
    if (json.isascii() and "\x7f" not in json) or _RAW_IN_JSON.search(json) is None:
        return json
    return json.translate(_JSON_ESCAPES)


def truncate(text: str, width: int | None) -> str:
    """Keep the first `width` characters and mark the loss; `None` cuts nothing.

    >>> truncate("abcdef", 3), truncate("abc", 3), truncate("abcdef", None)
    ('abc…', 'abc', 'abcdef')
    """
    if width is None or len(text) <= width:
        return text
    return text[:width] + ELLIPSIS


def to_title(text: str) -> str:
    """The beginning of a text on one line.

    >>> to_title("Fix\\n  the kettle"), len(to_title("x" * 999))
    ('Fix the kettle', 201)
    """
    return truncate(" ".join(text[: 4 * TITLE_LENGTH].split()), TITLE_LENGTH)


def hanging_indent(first: str, text: str, indent: str, last: str = "") -> Iterable[str]:
    """The pieces of a text with `first` before it, `indent` before each further line, and `last` after it.

    They are not joined here: with one character beyond Latin-1 in it, a long text takes up to four times the memory.

    >>> print("".join(hanging_indent("● ", "one\\ntwo", "  ")))
    ● one
      two
    """
    if len(text) <= _PORTION:
        return first, text.replace("\n", "\n" + indent), last
    portions = (text[start : start + _PORTION] for start in range(0, len(text), _PORTION))
    return chain((first,), (portion.replace("\n", "\n" + indent) for portion in portions), (last,))


def base_name(path: str) -> str:
    """The last part of a path, of any operating system.

    >>> base_name("/a/b.py"), base_name("C:\\\\a\\\\b.py"), base_name("b.py"), base_name("/a/dir/")
    ('b.py', 'b.py', 'b.py', 'dir')
    """
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def last_line(text: str) -> str:
    """The last line that is not blank, without trailing white space; empty if there is none.

    >>> last_line("one\\ntwo  \\n\\n")
    'two'
    """
    return text.rstrip().rpartition("\n")[2]


def display_path(path: str) -> str:
    """A path as text that can be encoded: bytes that are not UTF-8 are escaped.

    So are lone surrogates, which file names cannot have, but texts of a session can.

    >>> display_path("caf\\u00e9 \\udcff"), display_path("\\ud800")
    ('café \\\\xff', '\\\\ud800')
    """
    if path.isascii():
        return path
    try:
        return os.fsencode(path).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return path.encode("utf-8", "backslashreplace").decode()
