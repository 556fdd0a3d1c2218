"""The parts of a call, and of what came back, as rows: changes in colour, code, lists, pictures."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from claude_session_player import rawjson
from claude_session_player.humanize import many
from claude_session_player.parts import Checklist, Code, Data, Diff, Part, Picture, Prose
from claude_session_player.play.details import Details
from claude_session_player.text import file_name, harmless
from claude_session_player.tui.pictures import Allowance, picture_rows
from claude_session_player.tui.rows import MOST_DRAWN, drawn, indented
from claude_session_player.tui.theme import code_theme

_MOST, _MOST_LINES = 200_000, 3000
"""Characters and lines of a part that are shown: a hundred screens."""
_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}
_DONE, _OPEN = "☑ ", "☐ "
_INDENT: Final = "    "


def details_rows(head: list[Strip], details: Details, width: int) -> list[Strip]:
    """An element with everything that is known of it: its first row, what was given, and what came back."""
    rows = head[:1]
    inner, allowance = width - len(_INDENT), Allowance()
    about = " ".join(filter(None, (details.words, details.name)))
    if about:
        rows += indented(drawn(Text(_plain(about), style="dim"), inner), _INDENT)
    for part in details.given:
        rows += indented(part_rows(part, inner, details.name, allowance), _INDENT)
    if details.outcome:
        rows += indented(drawn(Text(details.outcome, style="dim"), inner), "  └ ", Style(dim=True))
    mark, style = ("  ✗ ", Style(color="red")) if details.is_error else ("  └ ", Style(dim=True))
    for part in details.returned:
        rows += indented(part_rows(part, inner, details.name, allowance), mark, style)
        mark = _INDENT
    return rows


def part_rows(part: Part, width: int, name: str = "", allowance: Allowance | None = None) -> list[Strip]:
    """One part in rows of this width; `name` is the file that it is about, `allowance` bounds its pictures."""
    if isinstance(part, Picture):
        return picture_rows(part, width, allowance)
    return drawn(_DRAWINGS[type(part)](part, name), width)


def _prose(part: Prose, name: str) -> RenderableType:
    if len(part.text) > MOST_DRAWN:
        return Text(_cut(part.text))
    from rich.markdown import Markdown

    return Markdown(_plain(part.text), code_theme=code_theme(), hyperlinks=False)


def _code(part: Code, name: str) -> RenderableType:
    language = part.language or os.path.splitext(file_name(name))[1].lstrip(".")
    if not language or len(part.text) > MOST_DRAWN:
        return Text(_cut(part.text))
    return _highlighted(part.text, language)


def _highlighted(text: str, language: str) -> RenderableType:
    from rich.syntax import Syntax

    return Syntax(_cut(text), language, theme=code_theme(), word_wrap=True, background_color="default")


def _diff(part: Diff, name: str) -> RenderableType:
    text = Text()
    for line in _cut(part.text).split("\n"):
        text.append(line + "\n", style=_DIFF_STYLES.get(line[:1], "dim" if line.startswith(" ") else ""))
    text.right_crop()
    return text


def _checklist(part: Checklist, name: str) -> RenderableType:
    text = Text()
    for item in part.items:
        text.append(f"{_DONE if item.done else _OPEN}{_plain(item.text)}\n", style="dim" if item.done else "")
    text.right_crop()
    return text


def _data(part: Data, name: str) -> RenderableType:
    return _highlighted(rawjson.pretty(part.value), "json")


_DRAWINGS: Final[dict[type, Callable[[Any, str], RenderableType]]] = {
    Prose: _prose,
    Code: _code,
    Diff: _diff,
    Checklist: _checklist,
    Data: _data,
}


def _plain(text: str) -> str:
    return harmless(text)


def _cut(text: str) -> str:
    """A text without what a terminal would obey, and without what nobody could read here."""
    kept = "\n".join(text[:_MOST].split("\n", _MOST_LINES)[:_MOST_LINES])
    more = len(text) - len(kept)
    return f"{_plain(kept)}\n… ({many(more, 'more character')}: 'show --full' has them all)" if more else _plain(kept)
