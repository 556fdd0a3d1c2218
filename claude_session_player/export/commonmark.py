"""Pieces of CommonMark that stay what they are, whatever text they hold and wherever they are put."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from claude_session_player.export.escaping import escape_inline, escape_markdown, escape_text, fenced_blocks, has_fences
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import one_line, strip_escapes, truncate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_session_player.format.content import ChecklistItem

_RUN: Final = re.compile(r"`+")
_PARAGRAPH: Final = re.compile(r"[^\s#>|\-+*=<\[`~:_\d\\]")
"""How a line begins that can only be the beginning of a paragraph."""
_UNDERLINE: Final = re.compile(r"\n[=\-|: \t]+(?:\n|\Z)")
"""What would make a heading or a table of the line before it, and of the lines before that."""
_SENTINEL: Final = "END"
_LONGEST_PARSED: Final = 1 << 18
"""A parser takes up to a thousand times the length of a text in memory."""
_LONGEST_FENCED: Final = 4 << 20
"""The places of all blocks of code take up to 15 times the length of a text."""


def tidy_text(text: str) -> str:
    """A text without escape sequences, whose only line breaks are line feeds."""
    if "\r" in text or "\x1b" in text or "\x9b" in text:
        return strip_escapes(text).replace("\r", "\n")
    return text


def single_line(text: str, width: int | None = None) -> str:
    """A text on one line, at most so long.

    >>> single_line("one\\ntwo"), single_line("one two", 3)
    ('one two', 'one…')
    """
    if text.isprintable() and (width is None or len(text) <= width):
        return text
    return truncate(one_line(tidy_text(text)), width)


def code_block(text: str, language: str = "") -> str:
    """A block of code that no text can break out of.

    >>> print(code_block("ls", "bash"))
    ```bash
    ls
    ```
    """
    fence = "```"
    if "`" in text and fence in text:  # a single sign is found faster
        fence = "`" * (_longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def inline_code(text: str) -> str:
    """A name in which every sign counts, on one line.

    >>> inline_code("a`b"), inline_code(" a")
    ('`` a`b ``', '`  a `')
    """
    text = single_line(text) or " "
    if "`" not in text:
        return f"`{text}`" if text == text.strip() else f"` {text} `"
    ticks = "`" * (_longest_run(text) + 1)
    return f"{ticks} {text} {ticks}"


def inline_text(text: str, width: int | None = None) -> str:
    """A text on one line, at most so long, that is shown as it is.

    >>> inline_text("one\\ntwo"), inline_text("*one*", 4)
    ('one two', '\\\\*one…')
    """
    return escape_inline(single_line(text, width))


def safe_markdown(text: str, *, by_model: bool) -> str:
    """A text in which only harmless markdown is left; where it would, or might, swallow what follows, a block of code.

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
    is_doubtful = has_fences(text) and (len(text) > _LONGEST_FENCED or fenced_blocks(text) is None)
    if is_doubtful and len(text) > _LONGEST_PARSED:
        return code_block(text, "markdown")
    escaped = escape_markdown(text) if by_model else escape_text(text)
    return code_block(text, "markdown") if is_doubtful and not _ends(escaped) else escaped


def put_below(head: str, text: str) -> str:
    """A heading line and a text: a plain paragraph follows at once, anything else behind a blank line.

    >>> put_below("**User**", "Hello"), put_below("**User**", "- a list")
    ('**User**\\nHello', '**User**\\n\\n- a list')
    """
    if not text:
        return head
    is_plain = _PARAGRAPH.match(text) is not None
    if is_plain and "\n" in text:
        end = text.find("\n\n")
        is_plain = not _UNDERLINE.search(text, 0, end if end >= 0 else len(text))
    return f"{head}\n{text}" if is_plain else f"{head}\n\n{text}"


def task_list(items: Iterable[ChecklistItem]) -> str:
    """A list of what is done and what is not.

    >>> from claude_session_player.format.content import ChecklistItem
    >>> print(task_list([ChecklistItem("one", True), ChecklistItem("two")]))
    - [x] one
    - [ ] two
    """
    return "\n".join(f"- [{'x' if item.done else ' '}] {inline_text(item.text.strip())}" for item in items)


def block_quote(text: str, depth: int) -> str:
    """A text in so many block quotes; every line keeps its depth.

    >>> print(block_quote("one\\ntwo", 2))
    > > one
    > > two
    """
    if not depth:
        return text
    prefix = "> " * depth
    return prefix + text.replace("\n", f"\n{prefix}")


def shorten_text(text: str, lines: int | None) -> str:
    """The first lines of a text, and how many more there are.

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
    """How many backticks a text has in a row, at most."""
    return max(run.end() - run.start() for run in _RUN.finditer(text))


def _ends(text: str) -> bool:
    """True where a paragraph behind a text is one: asks a parser.

    Twice, because a tab is four columns wide at the beginning of a line, and two behind the mark of a block quote.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    for depth in (0, 1):
        tokens = parser.parse(block_quote(f"{text}\n\n{_SENTINEL}", depth))[-3 - depth :][:3]  # the others take memory
        last = [(token.type, token.level, token.content) for token in tokens]
        if last != [("paragraph_open", depth, ""), ("inline", depth + 1, _SENTINEL), ("paragraph_close", depth, "")]:
            return False
    return True
