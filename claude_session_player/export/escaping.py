"""Escapes what CommonMark would obey in the text of a session, and nothing else.

What the model wrote keeps its markdown: emphasis, code, lists, tables, quotes, headings, links to pages and files. Any
other text keeps emphasis, code, lists and tables, which change the look of its own words alone. Neither keeps HTML,
images, definitions of links, other links, or lines that read like the entries and sections of a transcript.

Whether something is code is certain only in plain cases. What is certainly code stays as it is; all else counts as
text: odd code may show a backslash too many, but nowhere is one too few. Every step is linear in the length.
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
"""A line that begins an item of a list, whatever stands before it."""
_ANY_ITEM: Final = re.compile(r"^[ \t>]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)", re.MULTILINE)
_INDENTED: Final = re.compile(r"(?:\A|(?<=\n\n))(?: {4}.*(?:\n|\Z))++(?=\n|\Z)")
_TABLE: Final = re.compile(r"^[ \t>]*[|:\-][|:\- \t]*$", re.MULTILINE)

_ACTIVE: Final = re.compile(r"<[A-Za-z/!?]|\](?:\(|:)|!\[")
_TOKEN: Final = re.compile(
    r"\n[ \t]*(?=\n)"  # a blank line: whatever was open ends here
    r"|\\[!-/:-@\[-`{-~]"  # escaped already
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
"""How the address of a page, of a file (with a suffix, and a line) or of a place in the text begins: it has no other
scheme."""
_SIMPLE_ADDRESS: Final = re.compile(r"[^\s`<>()\\\"']*\)")

_INVISIBLE: Final = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
)
"""Signs that show nothing; as a class of characters."""
_INVISIBLE_LETTERS: Final = r"\u115f\u1160\u3164\uffa0"
"""Those of them that a pattern takes for letters."""
_BOLD: Final = re.compile(r"[*_]{2,}")
_TIME: Final = re.compile(r"\d{4}\D\d\d\D\d\d\D{1,3}\d\d:\d\d|Unknown\s+time", re.IGNORECASE)
_MAYBE_TIME: Final = re.compile(rf"&|\((?:[^\w(]|[_{_INVISIBLE_LETTERS}])*+[\dUu]")
_HEADING: Final = re.compile(r"(\n[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*+)(#{1,6}[ \t].*)")
_UNDERLINE: Final = re.compile(r"\n[ \t>]*(?=(?:=+|-+)[ \t]*$)", re.MULTILINE)
_TITLE: Final = 200
"""So many signs before an underline are looked at: our own titles of sections are shorter."""
_SECTION: Final = re.compile(
    r"(?:^|\W)(?:Session \S+|Sub-agents without a known call|Lines that are not told)\Z", re.IGNORECASE
)

_UNSEEN: Final = re.compile(rf"[*_\\`~\[\]{_INVISIBLE}]")
"""Marks of emphasis, and signs that show nothing."""
_LONG: Final = 1 << 20
"""So many signs are a text in which memory for every match counts."""
_DEEPEST_FENCE: Final = 3
"""So many columns a fence may be indented."""

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
"""Those that are not inside of a word."""


def escape_inline(text: str) -> str:
    """A text on one line, all of which is shown as it is.

    >>> print(escape_inline("mcp__wiki__get my_file *stars* <b> a < b"))
    mcp__wiki__get my_file \\*stars\\* \\<b> a < b
    >>> print(escape_inline("[text](address) and [text] and __init__"))
    [text\\](address) and [text] and \\_\\_init\\_\\_
    """
    if _SUSPECT.search(text) is None:
        return text
    if "_" in text:
        return _replaced(_UNDERSCORES, lambda found: "\\_" * len(found[0]), _replaced(_MARKUP, _after_backslash, text))
    return _replaced(_MARKUP, _after_backslash, text)


def escape_markdown(text: str) -> str:
    """Markdown of the model, without what reaches further than its own words.

    >>> print(escape_markdown("## See [the docs](https://example.org) and `<b>`, not <b> or [this](javascript:x)"))
    ## See [the docs](https://example.org) and `<b>`, not \\<b> or [this\\](javascript:x)
    >>> print(escape_markdown("**User** (2026-01-17 20:31:59)"))
    \\*\\*User\\*\\* (2026-01-17 20:31:59)
    """
    return _escape(text, by_model=True)


def escape_text(text: str) -> str:
    """A text of anybody else: it makes no headings, quotes, rules and links, either.

    >>> print(escape_text("# Title\\n\\n- **this** and [that](https://example.org)\\n\\n---"))
    \\# Title
    <BLANKLINE>
    - **this** and [that\\](https://example.org)
    <BLANKLINE>
    \\---
    """
    return _escape(text, by_model=False)


def has_fences(text: str) -> bool:
    """True where a text may hold blocks of code."""
    return ("`" in text and "```" in text) or ("~" in text and "~~~" in text)  # a single sign is found faster


def fenced_blocks(text: str) -> list[tuple[int, int]] | None:
    """Where the fenced blocks of code are, with their fences; `None` where that cannot be told without a parser.

    Opening and closing fence stand at one depth, and nothing between them stands at less: whatever they are in, they
    are in it together.
    """
    blocks: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for found in _ANY_FENCE.finditer(text):
        line_end = _line_end(text, found.end())
        fence = _FENCE.match(text, found.start(), line_end)
        if opened is None:
            if fence is None:
                if _is_mention(text[found.start()]):
                    continue
                return None
            if "\t" in fence[1]:
                return None
            opened = fence
        elif fence is not None and fence[2].startswith(opened[2]) and not fence[3].strip():
            depth = fence[1]
            if depth != opened[1] or fence[3].strip(" \t") or not _is_deep(text[opened.end() : fence.start()], depth):
                return None
            blocks.append((opened.start(), line_end + 1))
            opened = None
    return blocks if opened is None else None


def _is_mention(first: str) -> bool:
    """True where a line that begins with this sign holds no fence, but only mentions one."""
    return first not in "`~ \t>-+*0123456789"


def _is_deep(text: str, indent: str) -> bool:
    return not indent or all(line.startswith(indent) or not line.strip(" \t") for line in text.split("\n"))


# --- what is certainly code ---------------------------------------------------------------------------


def _stretches(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces of whole lines, and for each whether it is certainly code."""
    has_items = "    " not in text or _ANY_ITEM.search(text) is not None
    blocks = fenced_blocks(text) if has_fences(text) else []
    if blocks is None:
        yield text, False
        return
    at = 0
    for start, end in [*(block for block in blocks if _is_block(text, block[0])), (len(text), len(text))]:
        if has_items:  # what is indented may be a paragraph of an item
            yield text[at:start], False
        else:
            yield from _parted(text[at:start])
        yield text[start:end], True
        at = end


def _parted(text: str) -> Iterator[tuple[str, bool]]:
    """A text without lists, and for each piece of it whether it is indented as code is."""
    at = 0
    for found in _INDENTED.finditer(text):
        yield text[at : found.start()], False
        yield found[0], True
        at = found.end()
    yield text[at:], False


def _is_block(text: str, start: int) -> bool:
    """True where a fence begins a block, and is not the deeply indented line of a paragraph."""
    if not text.startswith("    ", start) or start == 0:
        return True
    before = text[text.rfind("\n", 0, start - 1) + 1 : start - 1]
    if not before.strip(" \t"):
        return True
    item, fence = _ITEM.match(before), _FENCE.match(text, start)
    return item is not None and fence is not None and 0 <= len(fence[1]) - item.end() <= _DEEPEST_FENCE


# --- escaping -----------------------------------------------------------------------------------------


def _escape(text: str, by_model: bool) -> str:
    is_active = _ACTIVE.search(text) is not None
    if not is_active and _escape_lines(text, by_model) == text:
        return text
    inline = _Inline(text, by_model) if is_active else None
    pieces = []
    for piece, is_code in _stretches(text):
        if piece and not is_code:
            piece = _escape_lines(piece, by_model)
            piece = inline.escape(piece) if inline is not None else piece
        pieces.append(piece)
    return "".join(pieces)


def _escape_lines(text: str, by_model: bool) -> str:
    """Whole lines without what is obeyed at the beginning of a line."""
    text = f"\n{text}"  # a sign to search for is found faster than the beginning of a line
    if "**" in text or "__" in text or "*_" in text or "_*" in text:
        text = _replaced(_BOLD, _Heads(text).escape, text)
    if by_model:
        return _escape_titles(text)[1:]
    text = _replaced(_BREAK, _before_backslash, text)
    return _replaced(_BLOCK, _before_backslash, text)[1:]


def _before_backslash(found: re.Match[str]) -> str:
    return f"{found[0]}\\"


def _after_backslash(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _escape_titles(text: str) -> str:
    """Without headings that read like those of our own sections."""
    if "#" in text:
        text = _replaced(_HEADING, lambda found: found[1] + _escaped_title(found[2]), text)
    return _replaced(_UNDERLINE, _escaped_underline, text)


def _escaped_title(line: str) -> str:
    return f"\\{line}" if _SECTION.search(_shown(line).strip("# ")) else line


def _escaped_underline(found: re.Match[str]) -> str:
    paragraph = found.string[max(found.start() - _TITLE, 0) : found.start()].rpartition("\n\n")[2]
    return f"{found[0]}\\" if _SECTION.search(_shown(paragraph).strip()) else found[0]


def _shown(text: str) -> str:
    """About what a reader sees of a text: without emphasis, entities, and signs that have no width."""
    return " ".join(_UNSEEN.sub("", unescape(text)).split())


class _Heads:
    """Escapes bold words with a time behind them, on their line or the next: so begin our own entries.

    Whatever stands before them may show nothing, and a line may end for a reader where it does not for a parser.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_end = -1
        self._last = -1
        """Behind this place of the line, no time follows."""

    def escape(self, found: re.Match[str]) -> str:
        """The marks of emphasis that were found; they come in their order."""
        if found.end() > self._line_end:
            self._look_at_line(found.end())
        return found[0] if found.end() > self._last else "".join(f"\\{mark}" for mark in found[0])

    def _look_at_line(self, start: int) -> None:
        self._line_end = _line_end(self._text, start)
        rest = self._text[start : _line_end(self._text, self._line_end + 1)]
        has_time = _MAYBE_TIME.search(rest) is not None and _TIME.search(_shown(rest)) is not None
        self._last = start + max(rest.rfind("("), rest.rfind("&")) if has_time else -1


class _Inline:
    """Escapes what is inside of lines: HTML, images, and links that lead nowhere good.

    Code between backticks is certain where it ends on its line, and every other one before it in its paragraph does.
    """

    def __init__(self, whole: str, by_model: bool) -> None:
        self._by_model = by_model
        self._has_definitions = _DEFINITION.search(whole) is not None
        self._has_tables = _TABLE.search(whole) is not None

    def escape(self, text: str) -> str:
        """A stretch of the whole text, of which no line is certainly code."""
        escaped = StringIO()
        at = end = line_end = seen = 0
        is_certain = True
        while token := _TOKEN.search(text, end):
            (start, end), sign = token.span(), token[0]
            if sign[0] == "\n":
                is_certain = True
            elif sign[0] == "`" and is_certain:
                line_end = line_end if start < line_end else _line_end(text, start)
                closed = _closing(text, end, line_end, len(sign))
                is_certain = self._is_code(text[end:closed]) and not _ends_in_address(text[seen:start])
                seen = end = closed if is_certain else end
            elif sign == "](" and _SIMPLE_ADDRESS.match(text, end) is None:
                is_certain = False  # a backtick may belong to its title
            if self._is_harmful(sign, text, start, end):
                escaped.write(f"{text[at:start]}\\")
                at = start
        escaped.write(text[at:])
        return escaped.getvalue()

    def _is_code(self, text: str) -> bool:
        """False where it does not end, or where a cell of a table, or a definition, may end inside of it."""
        if not text:
            return False
        return not (self._has_tables and "|" in text) and not (self._has_definitions and "]:" in text)

    def _is_harmful(self, sign: str, text: str, start: int, end: int) -> bool:
        if sign == "](":
            return not (self._by_model and text[start - 1 : start] != "[" and _ADDRESS.match(text, end))
        if sign == "]:":
            return self._has_definitions
        return sign == "![" or (sign[0] == "<" and not (self._by_model and end - start > 1))


def _replaced(pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str], text: str) -> str:
    """What `pattern.sub` gives, but without a piece in memory for every match, where there may be millions."""
    if len(text) < _LONG:
        return pattern.sub(replacement, text)
    replaced, at = StringIO(), 0
    for found in pattern.finditer(text):
        replaced.write(text[at : found.start()])
        replaced.write(replacement(found))
        at = found.end()
    replaced.write(text[at:])
    return replaced.getvalue()


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


def _ends_in_address(text: str) -> bool:
    """True where what follows may belong to a bare address."""
    word = text.rsplit(None, 1)[-1] if text.strip() and not text[-1].isspace() else ""
    return "://" in word or "www." in word


def _closing(text: str, start: int, end: int, length: int) -> int:
    """Where the code ends that as many backticks opened, before `end`; `start` where it does not."""
    for run in _RUN.finditer(text, start, end):
        if run.end() - run.start() == length:
            return run.end()
    return start
