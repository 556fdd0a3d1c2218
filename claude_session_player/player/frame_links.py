"""What frames have to do with each other: the call of a frame that shows a result, and the spans of sub-agents.

It is noted while the frame index is built, from what each record changed on the screen.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claude_session_player.format.blocks import Text, ToolResult, ToolUse, raw_as_text
from claude_session_player.format.content import message_content
from claude_session_player.format.events import Attachment, Event, Progress, QueueOperation, User
from claude_session_player.format.prompts import parse_notification
from claude_session_player.linking.agent_records import named_agents, runs_in_background, to_agent_call
from claude_session_player.models import ScreenState, ToolCall
from claude_session_player.tools import AGENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claude_session_player.player.frame_index import Frame


@dataclass(slots=True)
class AgentSpan:
    """The frames during which a sub-agent worked."""

    start: int
    """The frame of its call."""
    agent: str
    """The type of the sub-agent, or the tool that started it."""
    task: str
    """What it was asked for, in a few words."""
    end: int | None = None
    """The frame of its result, or of the notification that it has ended; `None` if neither has come."""
    last_sign: int | None = None
    """The frame at which it last reported progress."""
    is_background: bool = False
    """True if the session continued without waiting for its result."""


class FrameLinks:
    """The calls of frames with results, and the spans of sub-agents; memory grows with the number of tool calls."""

    def __init__(self) -> None:
        self.spans: list[AgentSpan] = []
        """In the order of their calls; those of tools that turned out to start sub-agents follow with their results."""
        self.changes = 0
        """How often the spans have changed."""
        self._open: dict[int, AgentSpan] = {}
        """The spans whose call has no result, by the serial number of the call."""
        self._closed: set[int] = set()
        """The serial numbers of calls of sub-agents that have a result; another one begins no second span."""
        self._background: dict[str, AgentSpan] = {}
        """The spans of sub-agents in the background that have not ended, by their ids and those of their calls."""
        self._call_lines: dict[int, int] = {}
        self._launches: set[int] = set()

    def call_line(self, frame: int) -> int | None:
        """The line of the call whose result or progress a frame shows."""
        return self._call_lines.get(frame)

    def is_launch(self, frame: int) -> bool:
        """True for a result that only says that a sub-agent was started."""
        return frame in self._launches

    def note(self, state: ScreenState, event: Event, frames: Sequence[Frame]) -> None:
        """Note what a record has changed on the screen; `frames` are those before its line."""
        number = len(frames)
        for position in range(state.settled, len(state.elements)):
            element = state.elements[position]
            if isinstance(element, ToolCall) and element.tool_name in AGENTS and element.result is None:
                self._open[state.serial(position)] = self._begin(element, number)
        for position in state.touched:
            element = state.elements[position]
            if isinstance(element, ToolCall):
                self._call_lines[number] = element.line
                self._note_call(state.serial(position), element, event, frames)
        if isinstance(event, Progress) and (span := self._background.get(event.parent_call or "")):
            span.last_sign = number
        elif self._background and isinstance(event, User | Attachment | QueueOperation):
            for text in _texts(event):
                self._note_notification(text, number)

    def _begin(self, call: ToolCall, frame: int) -> AgentSpan:
        asked = to_agent_call(ToolUse(name=call.tool_name, id=call.id, input=call.input))
        span = AgentSpan(frame, asked.agent or call.tool_name, asked.description or call.label)
        self.spans.append(span)
        self.changes += 1
        return span

    def _note_call(self, serial: int, call: ToolCall, event: Event, frames: Sequence[Frame]) -> None:
        """Note the progress or the result of a call."""
        span = self._open.get(serial)
        if call.result is None or call.result_line != event.line:
            if span is not None and isinstance(event, Progress):
                span.last_sign = len(frames)
            return
        if not isinstance(event, User) or serial in self._closed:
            return
        result = _result_of(call, event)
        agents = (
            []
            if result is None
            else named_agents(event.tool_use_result, result, is_agent_tool=call.tool_name in AGENTS)
        )
        if span is None and agents:
            span = self._begin(call, _frame_of(call.line, frames))
        if span is None:
            return
        self._open.pop(serial, None)
        self._closed.add(serial)
        self.changes += 1
        if result is not None and runs_in_background(event.tool_use_result, result):
            span.is_background, span.last_sign = True, None
            self._launches.add(len(frames))
            self._background |= dict.fromkeys((name for name in (call.id, *(id for id, _ in agents)) if name), span)
        else:
            span.end = len(frames)

    def _note_notification(self, text: str, frame: int) -> None:
        notification = parse_notification(text)
        if notification is None:
            return
        span = self._background.get(notification.task or "") or self._background.get(notification.call or "")
        if span is not None:
            span.end = frame
            self.changes += 1
            self._background = {key: other for key, other in self._background.items() if other is not span}


def _frame_of(line: int, frames: Sequence[Frame]) -> int:
    """The last frame up to a line."""
    return max(bisect_right(frames, line, key=lambda frame: frame.line) - 1, 0)


def _result_of(call: ToolCall, event: User) -> ToolResult | None:
    """The result of a call in a record."""
    content = message_content(event)
    results = [block for block in content if isinstance(block, ToolResult)] if isinstance(content, list) else []
    return next((result for result in results if len(results) == 1 or result.tool_use_id == call.id), None)


def _texts(event: Event) -> Iterator[str]:
    """The texts of a message, typed or queued."""
    content = raw_as_text(event.content) if isinstance(event, QueueOperation) else message_content(event)
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Text) and block.text:
            yield block.text
