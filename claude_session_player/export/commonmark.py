"""Parts of a CommonMark document that keep their structure, whatever their text and wherever they are placed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claude_session_player.export.escaping import escape_inline, escape_markdown, escape_text, fenced_blocks, has_fences
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import one_line, strip_escapes, truncate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_session_player.format.content import ChecklistItem

_BACKTICKS: Final = re.compile(r"`+")
_PARAGRAPH_START: Final = re.compile(r"[^\s#>|\-+*=<\[`~:_\d\\]")
"""The start of a line that can only start a paragraph."""
_UNDERLINE: Final = re.compile(r"\n[=\-|: \t]+(?:\n|\Z)")
"""A line that would turn the paragraph before it into a heading or a table."""
_SENTINEL: Final = "END"
_MAX_PARSED: Final = 1 << 18
"""Longer texts are not parsed: a parser needs up to a thousand times their length in memory."""
_MAX_FENCED: Final = 4 << 20
"""Longer texts are not searched for code blocks: their ranges need up to 15 times the length in memory."""


def tidy_text(text: str) -> str:
    """A text without escape sequences and with line feeds as its only line breaks."""
    if "\r" in text or "\x1b" in text or "\x9b" in text:
        return strip_escapes(text).replace("\r", "\n")
    return text


def single_line(text: str, width: int | None = None) -> str:
    """A text on one line, truncated to a width.

    >>> single_line("one\\ntwo"), single_line("one two", 3)
    ('one two', 'one…')
    """
    if text.isprintable() and (width is None or len(text) <= width):
        return text
    return truncate(one_line(tidy_text(text)), width)


def code_block(text: str, language: str = "") -> str:
    """A fenced code block that its text cannot end.

    >>> print(code_block("ls", "bash"))
    ```bash
    ls
    ```
    """
    fence = "```"
    if "`" in text and fence in text:  # a single character is found faster
        fence = "`" * (_longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def inline_code(text: str) -> str:
    """A text of one line as inline code.

    >>> inline_code("a`b"), inline_code(" a")
    ('`` a`b ``', '`  a `')
    """
    text = single_line(text) or " "
    if "`" not in text:
        return f"`{text}`" if text == text.strip() else f"` {text} `"
    ticks = "`" * (_longest_run(text) + 1)
    return f"{ticks} {text} {ticks}"


def inline_text(text: str, width: int | None = None) -> str:
    """A text on one line without markup, truncated to a width.

    >>> inline_text("one\\ntwo"), inline_text("*one*", 4)
    ('one two', '\\\\*one…')
    """
    return escape_inline(single_line(text, width))


def safe_markdown(text: str, *, by_model: bool) -> str:
    """A text with only harmless markdown; as a code block if it might otherwise include the text after it.

    >>> safe_markdown("**bold** <b>", by_model=True), safe_markdown("# One", by_model=True)
    ('**bold** \\\\<b>', '# One')
    >>> safe_markdown("# One", by_model=False)
    '\\\\# One'
    >>> print(safe_markdown("```\\nnever closed", by_model=True))
    ````markdown
    ```
    never closed
    ````
    """
    is_open_ended = has_fences(text) and (len(text) > _MAX_FENCED or fenced_blocks(text) is None)
    if is_open_ended and len(text) > _MAX_PARSED:
        return code_block(text, "markdown")
    escaped = escape_markdown(text) if by_model else escape_text(text)
    return code_block(text, "markdown") if is_open_ended and not _is_closed(escaped) else escaped


def put_below(head: str, text: str) -> str:
    """A heading line with a text below it; a blank line separates them unless the text is a plain paragraph.

    >>> put_below("**User**", "Hello"), put_below("**User**", "- a list")
    ('**User**\\nHello', '**User**\\n\\n- a list')
    """
    if not text:
        return head
    is_plain = _PARAGRAPH_START.match(text) is not None
    if is_plain and "\n" in text:
        end = text.find("\n\n")
        is_plain = not _UNDERLINE.search(text, 0, end if end >= 0 else len(text))
    return f"{head}\n{text}" if is_plain else f"{head}\n\n{text}"


def task_list(items: Iterable[ChecklistItem]) -> str:
    """A list with a checkbox for each item.

    >>> from claude_session_player.format.content import ChecklistItem
    >>> print(task_list([ChecklistItem("one", True), ChecklistItem("two")]))
    - [x] one
    - [ ] two
    """
    return "\n".join(f"- [{'x' if item.done else ' '}] {inline_text(item.text.strip())}" for item in items)


def block_quote(text: str, depth: int) -> str:
    """A text inside nested block quotes, with the marks on every line.

    >>> print(block_quote("one\\ntwo", 2))
    > > one
    > > two
    """
    if not depth:
        return text
    prefix = "> " * depth
    return prefix + text.replace("\n", f"\n{prefix}")


def shorten_text(text: str, lines: int | None) -> str:
    """The first lines of a text, and the number of further lines.

    >>> print(shorten_text("1\\n2\\n3\\n4", 2))
    1
    2
    … 2 more lines
    """
    if lines is None:
        return text
    more = text.count("\n") - lines + 1
    if more < 1:
        return text
    rest = text.split("\n", lines)[-1]
    return f"{text[: len(text) - len(rest)]}… {plural(more, 'more line')}"


def _longest_run(text: str) -> int:
    """The length of the longest run of backticks."""
    return max(run.end() - run.start() for run in _BACKTICKS.finditer(text))


def _is_closed(text: str) -> bool:
    """True if, for a parser, a paragraph after the text is separate from it.

    It is parsed twice, because a tab is four columns wide at the start of a line, but two after a quote mark.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    for depth in (0, 1):
        tokens = parser.parse(block_quote(f"{text}\n\n{_SENTINEL}", depth))[-3 - depth :][
            :3
        ]  # not all: they need memory
        last = [(token.type, token.level, token.content) for token in tokens]
        if last != [("paragraph_open", depth, ""), ("inline", depth + 1, _SENTINEL), ("paragraph_close", depth, "")]:
            return False
    return True
