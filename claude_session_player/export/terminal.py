"""The screen in colour, for a terminal; without colour it is the markdown to the letter."""

from __future__ import annotations

from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from claude_session_player.formatter import element_text, gap
from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    ScreenElement,
    ScreenState,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
)
from claude_session_player.text import CONTROLS
from claude_session_player.view import View

_MARK: Final = {UserMessage: "bold cyan", AssistantText: "bold"}
_BODY: Final = {
    UserMessage: "bold",
    ThinkingIndicator: "italic magenta",
    TurnDuration: "dim",
    SystemOutput: "dim",
    CompactionRule: "yellow",
}


def write(state: ScreenState, file: TextIO) -> None:
    """Write the screen with the colours that the file's terminal has; none for a pipe or with NO_COLOR."""
    console = Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)
    if not console.color_system or console.no_color:
        from claude_session_player.export import markdown

        return markdown.write(state, file)
    previous: ScreenElement | None = None
    for element in state.elements:
        if previous is not None:
            console.print(gap(previous, element), end="")
        console.print(styled(element, state.view), end="")
        previous = element
    if previous is not None:
        console.print()
    return None


def styled(element: ScreenElement, view: View) -> Text:
    """One element with its colours; what a terminal would obey, not show, is taken out."""
    plain = CONTROLS.sub("", element_text(element, view).replace("\r", " "))
    text = Text(plain, style=_BODY.get(type(element), ""))
    if isinstance(element, ToolCall):
        _style_call(text, element)
    elif mark := _MARK.get(type(element)):
        text.stylize(mark, 0, 1)
    return text


def _style_call(text: Text, call: ToolCall) -> None:
    head = text.plain.partition("\n")[0]
    pending = call.result is None
    text.stylize("yellow" if pending else "red" if call.is_error else "green", 0, 1)
    text.stylize("bold", 2, head.index("(") if "(" in head else len(head))
    text.stylize("red" if call.is_error else "dim", len(head), len(text))
