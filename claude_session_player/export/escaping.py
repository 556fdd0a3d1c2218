"""Escape the markup in the text of a session that must not take effect in a document.

Text by the model keeps its markdown: emphasis, code, lists, tables, quotes, headings, links to pages and files. Other
text keeps emphasis, code, lists and tables, which affect only its own words. Neither keeps HTML, images, link
definitions, other links, or lines that look like entries and sections of a transcript.

Code is recognized in plain cases only, and left unchanged there; everything else counts as text. Unusual code may
therefore show an extra backslash, but no backslash is ever missing. Every step is linear in the length of the text.
"""

from __future__ import annotations

import re
from html import unescape
from io import StringIO
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FENCE: Final = re.compile(r"^([ \t]*)(`{3,}(?=[^`]*$)|~{3,})(.*)$", re.MULTILINE)
_ANY_FENCE: Final = re.compile(r"^.*(?:```|~~~)", re.MULTILINE)
_ITEM: Final = re.compile(r" {0,3}(?:[-+*]|1[.)]) {1,4}(?=\S)")
"""A line that starts a list item, whatever line comes before it."""
_ANY_ITEM: Final = re.compile(r"^[ \t>]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)", re.MULTILINE)
_INDENTED: Final = re.compile(r"(?:\A|(?<=\n\n))(?: {4}.*(?:\n|\Z))++(?=\n|\Z)")
_TABLE: Final = re.compile(r"^[ \t>]*[|:\-][|:\- \t]*$", re.MULTILINE)

_ACTIVE: Final = re.compile(r"<[A-Za-z/!?]|\](?:\(|:)|!\[")
_TOKEN: Final = re.compile(
    r"\n[ \t]*(?=\n)"  # a blank line: ends whatever was open
    r"|\\[!-/:-@\[-`{-~]"  # already escaped
    r"|`+"
    r"|<https?://[^\s<>`]*>|<(?=[A-Za-z/!?])"
    r"|\]\(|\]:|!\["
)
_RUN: Final = re.compile(r"`+")
_DEFINITION: Final = re.compile(r"^[ \t>*+\-\d.)]*\[", re.MULTILINE)
_ADDRESS: Final = re.compile(
    r"https?://|mailto:|[#/.]|[\w.~%@+,=\-]++(?=[/#?)])|(?=[\w~%@+,=\-]*+\.)[\w.~%@+,=\-]++:[\d:\-]++\)",
    re.IGNORECASE,
)
"""How the address of a web page, a file (with a suffix and perhaps a line) or a place in the text starts; no other
scheme is allowed."""
_SIMPLE_ADDRESS: Final = re.compile(r"[^\s`<>()\\\"']*\)")

_INVISIBLE: Final = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
)
"""Invisible characters, as the content of a character class."""
_INVISIBLE_LETTERS: Final = r"\u115f\u1160\u3164\uffa0"
"""Invisible characters that `\\w` matches."""
_BOLD: Final = re.compile(r"[*_]{2,}")
_TIME: Final = re.compile(r"\d{4}\D\d\d\D\d\d\D{1,3}\d\d:\d\d|Unknown\s+time", re.IGNORECASE)
_MAYBE_TIME: Final = re.compile(rf"&|\((?:[^\w(]|[_{_INVISIBLE_LETTERS}])*+[\dUu]")
_HEADING: Final = re.compile(r"(\n[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*+)(#{1,6}[ \t].*)")
_UNDERLINE: Final = re.compile(r"\n[ \t>]*(?=(?:=+|-+)[ \t]*$)", re.MULTILINE)
_MAX_TITLE_LENGTH: Final = 200
"""How many characters before an underline are searched for a title of our own sections, which are shorter."""
_SECTION: Final = re.compile(
    r"(?:^|\W)(?:Session \S+|Sub-agents without a matching call|Omitted lines)\Z", re.IGNORECASE
)

_MARKS: Final = re.compile(rf"[*_\\`~\[\]{_INVISIBLE}]")
"""Emphasis marks and invisible characters."""
_LONG: Final = 1 << 20
"""From this length on, a text is escaped in the way that needs little memory for each match."""
_MAX_FENCE_INDENT: Final = 3
"""How many columns a fence may be indented."""

_BREAK: Final = re.compile(
    r"\n[ \t]*(?=(?:-[ \t]*-[ \t]*-[- \t]*|\*[ \t]*\*[ \t]*\*[* \t]*|_[ \t]*_[ \t]*_[_ \t]*)$)", re.MULTILINE
)
_BLOCK: Final = re.compile(
    r"\n[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*+"
    r"(?=#{1,6}(?:[ \t]|$)|>|=+[ \t]*$|-+[ \t]*$|\*+[ \t]*$|_[ \t]*_[_ \t]*$)",
    re.MULTILINE,
)

_SUSPECT: Final = re.compile(r"[`*\\<\]&~_]")
_MARKUP: Final = re.compile(
    r"[`*]"
    r"|\\(?=[!-/:-@\[-`{-~]|\Z)"
    r"|<(?=[A-Za-z/!?])|\](?=\()|&(?=#?\w{1,32};)"
    r"|~(?=~)|(?<=~)~"
)
_UNDERSCORES: Final = re.compile(r"(?<!\w)_+|(?<!_)_+(?!\w)")
"""Underscores that are not inside a word."""


def escape_inline(text: str) -> str:
    """Escape all markup in a text of one line.

    >>> print(escape_inline("mcp__wiki__get my_file *stars* <b> a < b"))
    mcp__wiki__get my_file \\*stars\\* \\<b> a < b
    >>> print(escape_inline("[text](address) and [text] and __init__"))
    [text\\](address) and [text] and \\_\\_init\\_\\_
    """
    if _SUSPECT.search(text) is None:
        return text
    if "_" in text:
        return _replace(_UNDERSCORES, lambda found: "\\_" * len(found[0]), _replace(_MARKUP, _prepend_backslash, text))
    return _replace(_MARKUP, _prepend_backslash, text)


def escape_markdown(text: str) -> str:
    """Escape the markup in markdown by the model that would affect more than its own words.

    >>> print(escape_markdown("## See [the docs](https://example.org) and `<b>`, not <b> or [this](javascript:x)"))
    ## See [the docs](https://example.org) and `<b>`, not \\<b> or [this\\](javascript:x)
    >>> print(escape_markdown("**User** (2026-01-17 20:31:59)"))
    \\*\\*User\\*\\* (2026-01-17 20:31:59)
    """
    return _escape(text, by_model=True)


def escape_text(text: str) -> str:
    """Escape the markup in any other text, which also must not make headings, quotes, rules or links.

    >>> print(escape_text("# Title\\n\\n- **this** and [that](https://example.org)\\n\\n---"))
    \\# Title
    <BLANKLINE>
    - **this** and [that\\](https://example.org)
    <BLANKLINE>
    \\---
    """
    return _escape(text, by_model=False)


def has_fences(text: str) -> bool:
    """True if a text may have fenced code blocks."""
    return ("`" in text and "```" in text) or ("~" in text and "~~~" in text)  # single characters are found faster


def fenced_blocks(text: str) -> list[tuple[int, int]] | None:
    """The ranges of fenced code blocks, including their fences; `None` if only a parser could tell.

    Opening and closing fence have the same indent, and no line between them has less, so that the whole block belongs
    to the same list item or quote, if any.
    """
    blocks: list[tuple[int, int]] = []
    opening: re.Match[str] | None = None
    for found in _ANY_FENCE.finditer(text):
        line_end = _line_end(text, found.end())
        fence = _FENCE.match(text, found.start(), line_end)
        if opening is None:
            if fence is None:
                if _is_mention(text[found.start()]):
                    continue
                return None
            if "\t" in fence[1]:
                return None
            opening = fence
        elif fence is not None and fence[2].startswith(opening[2]) and not fence[3].strip():
            indent, content = fence[1], text[opening.end() : fence.start()]
            if indent != opening[1] or fence[3].strip(" \t") or not _is_indented(content, indent):
                return None
            blocks.append((opening.start(), line_end + 1))
            opening = None
    return blocks if opening is None else None


def _is_mention(first: str) -> bool:
    """True if a line that starts with this character can only mention a fence, not be one."""
    return first not in "`~ \t>-+*0123456789"


def _is_indented(text: str, indent: str) -> bool:
    return not indent or all(line.startswith(indent) or not line.strip(" \t") for line in text.split("\n"))


# --- code ---------------------------------------------------------------------------------------------


def _split_code(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text into pieces of whole lines, each with whether it is certainly code."""
    has_items = "    " not in text or _ANY_ITEM.search(text) is not None
    blocks = fenced_blocks(text) if has_fences(text) else []
    if blocks is None:
        yield text, False
        return
    position = 0
    for start, end in [*(block for block in blocks if _is_block(text, block[0])), (len(text), len(text))]:
        if has_items:  # indented lines may be a paragraph of a list item
            yield text[position:start], False
        else:
            yield from _split_indented(text[position:start])
        yield text[start:end], True
        position = end


def _split_indented(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text without lists into pieces, each with whether it is indented code."""
    position = 0
    for found in _INDENTED.finditer(text):
        yield text[position : found.start()], False
        yield found[0], True
        position = found.end()
    yield text[position:], False


def _is_block(text: str, start: int) -> bool:
    """True if a fence starts a block, and is not a deeply indented line of a paragraph."""
    if not text.startswith("    ", start) or start == 0:
        return True
    before = text[text.rfind("\n", 0, start - 1) + 1 : start - 1]
    if not before.strip(" \t"):
        return True
    item, fence = _ITEM.match(before), _FENCE.match(text, start)
    return item is not None and fence is not None and 0 <= len(fence[1]) - item.end() <= _MAX_FENCE_INDENT


# --- escaping -----------------------------------------------------------------------------------------


def _escape(text: str, by_model: bool) -> str:
    is_active = _ACTIVE.search(text) is not None
    if not is_active and _escape_lines(text, by_model) == text:
        return text
    inline = _Inline(text, by_model) if is_active else None
    pieces = []
    for piece, is_code in _split_code(text):
        if piece and not is_code:
            piece = _escape_lines(piece, by_model)
            piece = inline.escape(piece) if inline is not None else piece
        pieces.append(piece)
    return "".join(pieces)


def _escape_lines(text: str, by_model: bool) -> str:
    """Escape the markup at the start of lines."""
    text = f"\n{text}"  # searching for a line break is faster than for the start of a line
    if "**" in text or "__" in text or "*_" in text or "_*" in text:
        text = _replace(_BOLD, _EntryHeads(text).escape, text)
    if by_model:
        return _escape_titles(text)[1:]
    text = _replace(_BREAK, _append_backslash, text)
    return _replace(_BLOCK, _append_backslash, text)[1:]


def _append_backslash(found: re.Match[str]) -> str:
    return f"{found[0]}\\"


def _prepend_backslash(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _escape_titles(text: str) -> str:
    """Escape headings that look like those of our own sections."""
    if "#" in text:
        text = _replace(_HEADING, lambda found: found[1] + _escape_title(found[2]), text)
    return _replace(_UNDERLINE, _escape_underline, text)


def _escape_title(line: str) -> str:
    return f"\\{line}" if _SECTION.search(_visible_text(line).strip("# ")) else line


def _escape_underline(found: re.Match[str]) -> str:
    paragraph = found.string[max(found.start() - _MAX_TITLE_LENGTH, 0) : found.start()].rpartition("\n\n")[2]
    return f"{found[0]}\\" if _SECTION.search(_visible_text(paragraph).strip()) else found[0]


def _visible_text(text: str) -> str:
    """Roughly the text that a reader sees: without emphasis, entities and invisible characters."""
    return " ".join(_MARKS.sub("", unescape(text)).split())


class _EntryHeads:
    """Escapes bold words before a time on the same or the next line: our own entries start like that.

    Text before them may be invisible, and readers may see a line end where a parser does not.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_end = -1
        self._last = -1
        """The last position of the line before a time."""

    def escape(self, found: re.Match[str]) -> str:
        """Escape the emphasis marks of a match; matches have to come in order."""
        if found.end() > self._line_end:
            self._find_time(found.end())
        return found[0] if found.end() > self._last else "".join(f"\\{mark}" for mark in found[0])

    def _find_time(self, start: int) -> None:
        self._line_end = _line_end(self._text, start)
        rest = self._text[start : _line_end(self._text, self._line_end + 1)]
        has_time = _MAYBE_TIME.search(rest) is not None and _TIME.search(_visible_text(rest)) is not None
        self._last = start + max(rest.rfind("("), rest.rfind("&")) if has_time else -1


class _Inline:
    """Escapes markup inside lines: HTML, images, and links to addresses that are not allowed.

    Code between backticks is certain if it ends on its line, and so does all code before it in its paragraph.
    """

    def __init__(self, whole: str, by_model: bool) -> None:
        self._by_model = by_model
        self._has_definitions = _DEFINITION.search(whole) is not None
        self._has_tables = _TABLE.search(whole) is not None

    def escape(self, text: str) -> str:
        """Escape a piece of the text that has no certain code."""
        escaped = StringIO()
        written = end = line_end = code_end = 0
        is_certain = True
        while token := _TOKEN.search(text, end):
            (start, end), mark = token.span(), token[0]
            if mark[0] == "\n":
                is_certain = True
            elif mark[0] == "`" and is_certain:
                line_end = line_end if start < line_end else _line_end(text, start)
                closed = _closing(text, end, line_end, len(mark))
                is_certain = self._is_code(text[end:closed]) and not _ends_in_address(text[code_end:start])
                code_end = end = closed if is_certain else end
            elif mark == "](" and _SIMPLE_ADDRESS.match(text, end) is None:
                is_certain = False  # a backtick may be part of its title
            if self._is_harmful(mark, text, start, end):
                escaped.write(f"{text[written:start]}\\")
                written = start
        if not written and not escaped.tell():  # most texts: from Python 3.12 on, the buffer would hold a second copy
            return text
        escaped.write(text[written:])
        return escaped.getvalue()

    def _is_code(self, text: str) -> bool:
        """False if the code has no end, or if a table cell or a link definition may end inside it."""
        if not text:
            return False
        return not (self._has_tables and "|" in text) and not (self._has_definitions and "]:" in text)

    def _is_harmful(self, mark: str, text: str, start: int, end: int) -> bool:
        if mark == "](":
            return not (self._by_model and text[start - 1 : start] != "[" and _ADDRESS.match(text, end))
        if mark == "]:":
            return self._has_definitions
        return mark == "![" or (mark[0] == "<" and not (self._by_model and end - start > 1))


def _replace(pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str], text: str) -> str:
    """Like `pattern.sub`, but without keeping a string for each of perhaps millions of matches in a long text."""
    if len(text) < _LONG:
        return pattern.sub(replacement, text)
    result, position = StringIO(), 0
    for found in pattern.finditer(text):
        result.write(text[position : found.start()])
        result.write(replacement(found))
        position = found.end()
    if not result.tell() and not position:
        return text
    result.write(text[position:])
    return result.getvalue()


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def _ends_in_address(text: str) -> bool:
    """True if the text after this may be part of a bare URL."""
    word = text.rsplit(None, 1)[-1] if text.strip() and not text[-1].isspace() else ""
    return "://" in word or "www." in word


def _closing(text: str, start: int, end: int, length: int) -> int:
    """The end of code that a run of this many backticks opened, before `end`; `start` if it has none."""
    for run in _RUN.finditer(text, start, end):
        if run.end() - run.start() == length:
            return run.end()
    return start
