"""Markdown as a terminal shows it: nothing of its text is lost, neither tags nor the ends of lines.

`export.drawing` imports this on first use, since the libraries for markdown and code take long to load.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final

from markdown_it import MarkdownIt
from rich.markdown import CodeBlock, Heading, HorizontalRule, Markdown, TableElement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from claude_session_player.export.drawing import code_text, text_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token
    from rich.console import Console, ConsoleOptions, RenderResult

_INDENT: Final = 2
"""Columns before code."""
_LOSSY_RULES: Final = ("autolink", "image", "reference")
"""What would hide a part of the text: the brackets of `Vec<std::string>`, addresses, lines like `[INFO]: started`."""
_QUOTE_WIDTH, _ITEM_WIDTH = 4, 5
_DEEPEST: Final = 18
"""How deep blocks may be nested: the parser drops what is in more than twenty."""


class _Heading(Heading):
    """A heading where lines begin."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        yield text


class _CodeBlock(CodeBlock):
    """Code without a background and without empty rows of its own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = code_text(str(self.text).rstrip(), "" if self.lexer_name == "text" else self.lexer_name)
        indent = Segment(" " * _INDENT)
        for row in text_rows(code, options.max_width - _INDENT):  # a line that is too long goes on below itself
            yield from (indent, *row, Segment.line())


class _Rule(HorizontalRule):
    """A thin line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("─" * options.max_width, "dim")


class _Table(TableElement):
    """A table in which long words go on in the next row."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                for column in table.columns:
                    column.overflow = "fold"
            yield table


class TerminalMarkdown(Markdown):
    """Markdown in which HTML is text, and lines end where they do in the source."""

    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "hr": _Rule,
        "table_open": _Table,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = text
        self.parsed = _parser().parse(text)
        for token in self.parsed:
            for child in token.children or ():
                if child.type == "softbreak":
                    child.type = "hardbreak"

    def fits(self, width: int) -> bool:
        """True if blocks inside each other leave room for their text."""
        return _deepest_level(self.parsed) <= _DEEPEST and _widest_indent(self.parsed) <= width // 2


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(list(_LOSSY_RULES))


def _deepest_level(tokens: Sequence[Token]) -> int:
    return max((token.level for token in tokens), default=0)


def _widest_indent(tokens: Sequence[Token]) -> int:
    """How many columns stand before the text of the innermost blocks, at most."""
    widest = indent = 0
    for token in tokens:
        if token.type.startswith(("blockquote_", "list_item_")):
            indent += token.nesting * (_QUOTE_WIDTH if token.type.startswith("b") else _ITEM_WIDTH)
            widest = max(widest, indent)
    return widest
