"""What a frame is, in one line: it is read from the frame's own line and that of its call, never from a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.format.blocks import ToolUse
from claude_session_player.formatter import activity_text, note_text, turn_duration
from claude_session_player.linking.agent_records import to_agent_call
from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    Note,
    PeerMessage,
    ScreenElement,
    ScreenState,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
    View,
)
from claude_session_player.player.frame_index import FrameMark
from claude_session_player.renderer import render
from claude_session_player.tools import AGENTS
from claude_session_player.util.text import to_title

if TYPE_CHECKING:
    from claude_session_player.player.frame_index import FrameIndex

_VIEW: Final = View(result_lines=4, history=True, sidechains=True, queued=True, notices=True)
_RANKS: Final = (FrameMark.COMPACTION, FrameMark.PROMPT, FrameMark.ERROR, FrameMark.AGENT, FrameMark.NONE)
"""What names a frame that is several things; the first of these."""
_WORDS: Final = {
    FrameMark.COMPACTION: "compaction",
    FrameMark.PROMPT: "prompt",
    FrameMark.ERROR: "error",
    FrameMark.AGENT: "sub-agent",
}


class FrameName(NamedTuple):
    """What a frame is."""

    mark: FrameMark
    """One of the marks, or none for what is not marked."""
    words: str
    """One line; it may be long."""


def describe_frame(frame_index: FrameIndex, frame: int) -> FrameName:
    """What a frame is. Decodes at most two lines. Raises `CannotRead`."""
    shown = frame_index.frames[frame]
    call_line = frame_index.links.call_line(frame)
    state = ScreenState(_VIEW)
    for line in dict.fromkeys((call_line or shown.line, shown.line)):
        for event in frame_index.events_on(line):
            render(state, event)
    names = [name for element in state.elements if (name := _name(element, shown.line)) is not None]
    marked = next((mark for mark in _RANKS if mark & shown.marks), FrameMark.NONE)
    found = next((name for mark in _RANKS for name in names if name.mark is mark), None)
    if found is None:  # a prompt from the queue, for example, is told by another line
        return FrameName(marked, _WORDS.get(marked, ""))
    if frame_index.links.is_launch(frame):
        agent = found.words.partition(":")[0].removesuffix(" finished")
        return FrameName(found.mark, f"{agent} works in the background")
    return found if found.mark else FrameName(marked, found.words)


def _name(element: ScreenElement, line: int) -> FrameName | None:
    """What an element is on a line: a call or its result; `None` if it has nothing to do with that line."""
    if isinstance(element, ToolCall):
        return _call_name(element, line)
    return _element_name(element) if element.line == line else None


def _element_name(element: ScreenElement) -> FrameName:
    match element:
        case UserMessage():
            return FrameName(FrameMark.PROMPT, f'prompt "{to_title(element.text)}"')
        case PeerMessage():
            return FrameName(FrameMark.NONE, f"message from {to_title(element.sender)}")
        case AssistantText():
            error = FrameMark.ERROR if element.is_error else FrameMark.NONE
            return FrameName(error, f"response: {to_title(element.text)}")
        case ThinkingIndicator():
            return FrameName(FrameMark.NONE, "thinking")
        case TurnDuration():
            return FrameName(FrameMark.NONE, f"end of a turn of {turn_duration(element.duration_ms)}")
        case CompactionRule():
            trigger = f" ({element.trigger})" if element.trigger else ""
            return FrameName(FrameMark.COMPACTION, f"compaction{trigger}")
        case Note(is_error=is_error):
            return FrameName(FrameMark.ERROR if is_error else FrameMark.NONE, to_title(note_text(element)))
        case SystemOutput(is_error=is_error):
            return FrameName(FrameMark.ERROR if is_error else FrameMark.NONE, to_title(element.text) or "output")
    raise AssertionError(element)


def _call_name(call: ToolCall, line: int) -> FrameName | None:
    name = _tool_name(call)
    is_agent = call.tool_name in AGENTS
    label = to_title(call.label)
    if call.result is not None and call.result_line == line:
        text = to_title(call.result)
        if call.is_error:
            return FrameName(FrameMark.ERROR, f"{name} failed: {text}" if text else f"{name} failed")
        return FrameName(FrameMark.NONE, _joined(f"{name} finished" if is_agent else f"{name} result", text))
    if call.hooks:
        return FrameName(FrameMark.NONE, f"{name}: {to_title(call.hooks[-1])}")
    if call.activity is not None:
        return FrameName(FrameMark.NONE, _joined(name, to_title(activity_text(call.activity, None))))
    return (
        FrameName(FrameMark.AGENT if is_agent else FrameMark.NONE, _joined(name, label)) if call.line == line else None
    )


def _tool_name(call: ToolCall) -> str:
    """The name of a tool, or the type of the sub-agent that it starts."""
    if call.tool_name not in AGENTS:
        return to_title(call.tool_name) or "tool"
    return to_agent_call(ToolUse(name=call.tool_name, id=call.id, input=call.input)).agent or call.tool_name


def _joined(subject: str, detail: str) -> str:
    return f"{subject}: {detail}" if detail else subject
