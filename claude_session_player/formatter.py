"""Formats elements as the markdown of the specification's screen."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    Note,
    PeerMessage,
    ScreenElement,
    ScreenState,
    SystemOutput,
    ThinkingIndicator,
    ToolActivity,
    ToolCall,
    TurnDuration,
    UserMessage,
    View,
)
from claude_session_player.util.text import ELLIPSIS, Cut, hanging_indent, one_line, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TextIO

PROMPT: Final = "❯"
RESPONSE: Final = "● "
STATUS: Final = "✱ "
RESULT: Final = "  └ "
FAILURE: Final = "  ✗ "
MORE: Final = RESULT + ELLIPSIS
INDENT: Final = "  "
RESULT_INDENT: Final = "    "
NO_OUTPUT: Final = "(no output)"

_FEW: Final = 32
"""Up to this many removed elements are deleted one by one; for more, all behind the first are formatted again."""

_ENDS: Final = {Cut.NONE: "", Cut.LINES: f"\n{MORE}", Cut.WIDTH: ELLIPSIS}
"""How a shortened text ends."""

_ACTIVITIES: Final = {
    "bash": "{}",
    "agent": "Agent: working…",
    "hook": "Hook: {}",
    "query": "Searching: {}",
    "results": "{} results",
    "waiting": "Waiting: {}",
}


def to_markdown(elements: Iterable[ScreenElement], view: View) -> str:
    """The whole screen, without a final line break."""
    return "".join(markdown_pieces(elements, view))


def markdown_pieces(elements: Iterable[ScreenElement], view: View) -> Iterator[str]:
    """The screen in pieces, so that it can be written without joining them."""
    return chain.from_iterable(_pieces_by_element(elements, view))


def _pieces_by_element(elements: Iterable[ScreenElement], view: View) -> Iterator[Iterable[str]]:
    previous: ScreenElement | None = None
    for element in elements:
        if previous is not None:
            yield gap_between(previous, element)
        yield _FORMATS[type(element)](element, view)
        previous = element


def element_text(element: ScreenElement, view: View) -> str:
    """One element as the screen shows it."""
    return "".join(_FORMATS[type(element)](element, view))


def gap_between(previous: ScreenElement, element: ScreenElement) -> str:
    """The gap between two neighbours: a blank line, or just a line break within one response."""
    return "\n" if element.request_id and element.request_id == previous.request_id else "\n\n"


def activity_text(activity: ToolActivity, width: int | None) -> str:
    """What a running tool reports, as the screen shows it."""
    if activity.kind == "bash":
        return truncate(activity.detail, width) or "running…"
    return _ACTIVITIES[activity.kind].format(one_line(activity.detail) or ELLIPSIS)


def note_text(note: Note) -> str:
    """A notice in words.

    >>> note_text(Note("The bell rings.", is_summary=True)), note_text(Note("Plan mode on"))
    ('Summary: The bell rings.', 'Plan mode on')
    """
    return f"Summary: {note.text}" if note.is_summary else note.text


def _user(element: UserMessage | PeerMessage, view: View) -> Iterable[str]:
    return hanging_indent(f"{PROMPT} ", element.text, INDENT) if element.text else PROMPT


def _response(element: AssistantText, view: View) -> Iterable[str]:
    return hanging_indent(RESPONSE, element.text, INDENT)


def _thinking(element: ThinkingIndicator, view: View) -> Iterable[str]:
    head = f"{STATUS}Thinking…"
    return hanging_indent(f"{head}\n{INDENT}", element.text, INDENT) if view.thinking and element.text else (head,)


def _duration(element: TurnDuration, view: View) -> Iterable[str]:
    return (f"{STATUS}Crunched for {turn_duration(element.duration_ms)}",)


def _output(element: SystemOutput, view: View) -> Iterable[str]:
    return element.text or _no_output(element.cut), _ENDS[element.cut]


def _no_output(cut: Cut) -> str:
    """What an empty text is shown as. One that was cut is not empty: it begins with blank lines."""
    return NO_OUTPUT if cut is Cut.NONE else ""


def _note(element: Note, view: View) -> Iterable[str]:
    return STATUS, note_text(element)


def _compaction(element: CompactionRule, view: View) -> Iterable[str]:
    tokens = None if element.pre_tokens is None else f"{element.pre_tokens} tokens"
    details = ", ".join(part for part in (element.trigger, tokens) if part)
    return (f"── compacted ({details}) ──" if details else "── compacted ──",)


def _label(text: str, width: int | None) -> str:
    if "\n" in text or "\r" in text:
        text = one_line(text)
    if width is not None and len(text) > width:
        text = truncate(text, width)
    return text or ELLIPSIS


_tool_name = lru_cache(maxsize=256)(_label)  # there are few names, and each is shown often


def _call(element: ToolCall, view: View) -> Iterable[str]:
    width = view.label_width
    head = f"{RESPONSE}{_tool_name(element.tool_name, width)}({_label(element.label, width)})"
    if element.result is not None:
        mark = FAILURE if element.is_error else RESULT
        return hanging_indent(
            f"{head}\n{mark}", element.result or _no_output(element.cut), RESULT_INDENT, _ENDS[element.cut]
        )
    if element.activity is not None:
        return head, "\n", RESULT, activity_text(element.activity, view.progress_width)
    return (head,)


_FORMATS: Final[dict[type, Callable[[Any, View], Iterable[str]]]] = {
    UserMessage: _user,
    PeerMessage: _user,
    AssistantText: _response,
    ToolCall: _call,
    ThinkingIndicator: _thinking,
    TurnDuration: _duration,
    SystemOutput: _output,
    Note: _note,
    CompactionRule: _compaction,
}


class MarkdownWindow:
    """The screen's text by element, formatted again only where the last `render` changed something.

    >>> from claude_session_player import render
    >>> window = MarkdownWindow(ScreenState())
    >>> _ = render(window.state, {"type": "user", "message": {"content": "Hello"}})
    >>> list(window.update()), window.text()
    ([0], '❯ Hello')
    """

    def __init__(self, state: ScreenState) -> None:
        self.state = state
        self.parts = [self._draw(i) for i in range(len(state.elements))]
        """For each element, the gap before it and its text."""

    def text(self) -> str:
        """The whole screen; always the same as `state.to_markdown()`."""
        return "".join(self.parts)

    def update(self) -> Sequence[int]:
        """Apply what the last `render` changed; returns the positions that were formatted again."""
        state, parts = self.state, self.parts
        redrawn: Sequence[int] = state.touched
        if state.cleared:
            parts.clear()
        elif state.removed:
            redrawn = [*redrawn, *self._remove(state.removed)]
        for position in redrawn:
            parts[position] = self._draw(position)
        if len(parts) == len(state.elements):
            return redrawn
        added = range(len(parts), len(state.elements))
        for position in added:
            parts.append(self._draw(position))
        return (*redrawn, *added)

    def _remove(self, removed: Sequence[int]) -> list[int]:
        """Delete the text of removed elements; returns the positions behind them, whose gaps may have changed."""
        parts = self.parts
        if len(removed) > _FEW:
            del parts[min(removed) :]
            return []
        stale: list[int] = []
        for position in removed:
            del parts[position]
            stale = [place - (place > position) for place in stale if place != position] + [position]
        return [place for place in stale if place < len(parts)]

    def _draw(self, position: int) -> str:
        elements = self.state.elements
        element = elements[position]
        text = "".join(_FORMATS[type(element)](element, self.state.view))
        return gap_between(elements[position - 1], element) + text if position else text


def write_markdown(state: ScreenState, file: TextIO) -> None:
    """Write the text of `to_markdown`, with a final line break unless the screen is empty."""
    file.writelines(markdown_pieces(state.elements, state.view))
    if state.elements:
        file.write("\n")


def turn_duration(milliseconds: int) -> str:
    """How long a turn took, as on the screen: whole seconds, rounded down; with minutes from 60 seconds on.

    >>> turn_duration(59_999), turn_duration(60_000), turn_duration(7_384_000)
    ('59s', '1m 0s', '123m 4s')
    """
    minutes, seconds = divmod(milliseconds // 1000, 60)
    return f"{minutes}m {seconds}s" if minutes else f"{seconds}s"
