"""The screen in colour, for a terminal; without colour it is the markdown to the letter."""

from __future__ import annotations

from typing import Final, TextIO

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
from claude_session_player.terminal_guard import console
from claude_session_player.text import harmless
from claude_session_player.view import View

_MARK: Final = {UserMessage: "bold cyan", AssistantText: "bold"}
_BODY: Final = {
    UserMessage: "bold",
    ThinkingIndicator: "italic magenta",
    TurnDuration: "dim",
    SystemOutput: "dim",
    CompactionRule: "yellow",
}


def write_text(state: ScreenState, file: TextIO) -> None:
    """Write the screen with the colours that the file's terminal has; none for a pipe or with NO_COLOR."""
    terminal = console(file)
    if not terminal.color_system or terminal.no_color:
        from claude_session_player.export.markdown import write_markdown

        return write_markdown(state, file)
    previous: ScreenElement | None = None
    for element in state.elements:
        if previous is not None:
            terminal.print(gap(previous, element), end="")
        terminal.print(styled(element, state.view), end="")
        previous = element
    if previous is not None:
        terminal.print()
    return None


def styled(element: ScreenElement, view: View) -> Text:
    """One element with its colours; what a terminal would obey, not show, is a mark."""
    text = Text(harmless(element_text(element, view)), style=_BODY.get(type(element), ""))
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
