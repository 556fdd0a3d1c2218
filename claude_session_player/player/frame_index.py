"""The frame index of a session: a frame for each line that changes the screen, and fast access to any screen.

The index is built from a byte source, some bytes at a time. Now and then it keeps a keyframe, a copy of the screen that
shares its elements with the others. Any screen is rendered from the keyframe before it and the lines in between.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from enum import IntFlag
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.format.events import Assistant, Event
from claude_session_player.format.line_reader import (
    LongLine,
    bounded_line,
    bounded_lines,
    bounded_read_size,
    is_too_long,
    split_lines,
)
from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    Note,
    ScreenElement,
    ScreenState,
    SystemOutput,
    ToolCall,
    UserMessage,
    View,
)
from claude_session_player.parser import decode_lines, gc_paused, is_whole_record, is_worth_decoding
from claude_session_player.player.frame_links import FrameLinks
from claude_session_player.player.progress import ProgressLog
from claude_session_player.renderer import render
from claude_session_player.tools import AGENTS, FileTouch, touched_file
from claude_session_player.util.times import to_epoch

if TYPE_CHECKING:
    from claude_session_player.line_audit import LineAudit
    from claude_session_player.player.recording import ByteSource

READ_SIZE: Final = 1 << 18
"""Bytes that are read at a time, unless a line is longer."""
KEYFRAME_SPACING: Final = 1000
"""Lines between two keyframes, initially."""
_MAX_KEYFRAMES: Final = 64
"""When there are more keyframes, every other one is dropped."""
_RECENT_SPACING: Final = 50
"""Lines between two screens that are kept while many lines are rendered, for steps backwards."""
_MOST_RECENT_SPACING: Final = 5


_TOOL_ERROR: Final = "<tool_use_error>"
"""How a result begins that says that the tool did nothing."""
_CHANGES: Final = (FileTouch.WRITE, FileTouch.EDIT)


class FrameMark(IntFlag):
    """What a frame shows that a person may look for."""

    NONE = 0
    PROMPT = 1
    ERROR = 2
    COMPACTION = 4
    AGENT = 8
    EDIT = 16
    """A tool has changed a file."""
    RESPONSE = 32
    """The model has answered with text."""


class Frame(NamedTuple):
    """The change of the screen by one line."""

    line: int
    time: float | None
    """The time of the line, in seconds since 1970."""
    size: int
    """The number of new characters."""
    marks: FrameMark


class _Keyframe(NamedTuple):
    lines: int
    """The number of lines that were rendered on this screen."""
    screen: ScreenState


class FrameIndex:
    """The frames of a session so far, and any of its screens.

    Frames are numbered from 0; the screen of frame -1 is empty.
    """

    def __init__(self, source: ByteSource, view: View | None = None) -> None:
        self.source = source
        self.view = view or View()
        self.frames: list[Frame] = []
        self.links = FrameLinks()
        """The sub-agents that ran, and the calls of the frames that show results."""
        self.lines_decoded = 0
        """How many lines were decoded so far, for the index or for a screen."""
        self.progress = ProgressLog(is_subagent=self.view.sidechains)
        """What is known at each indexed line."""
        self._offsets = array("Q", [0])
        """The offset of each line, and that of the next one."""
        self._unterminated = 0
        """The number of bytes after the last complete line that were read already."""
        self._tried = 0
        """That number when they were last tried as a record."""
        self._awaits_newline = False
        """True if the last line was added without its line end."""
        self._newest = ScreenState(self.view)
        self._spacing = KEYFRAME_SPACING
        self._keyframes = [_Keyframe(0, ScreenState(self.view))]
        self._recent: list[_Keyframe] = []
        self._current = _Keyframe(0, ScreenState(self.view))

    @property
    def line_count(self) -> int:
        """How many lines are indexed."""
        return len(self._offsets) - 1

    @property
    def size(self) -> int:
        """How many bytes are indexed."""
        return self._offsets[-1]

    @property
    def bytes_seen(self) -> int:
        """How many bytes were read, including those of an incomplete last line."""
        return self.size + self._unterminated

    @property
    def audit(self) -> LineAudit:
        """What became of each indexed line."""
        return self._newest.account

    @property
    def keyframe_count(self) -> int:
        """How many keyframes are kept."""
        return len(self._keyframes)

    # --- building the index ---------------------------------------------------------------------------

    def read_more(self, size: int = READ_SIZE) -> bool:
        """Add the complete lines among the next `size` bytes; false if there is nothing to read now."""
        seen = self._unterminated
        if is_too_long(seen):
            return self._skip_long_line(size)
        size = bounded_read_size(size)
        data = self.source.read(self.size + seen, size)
        end = data.rfind(b"\n") + 1
        if not end:
            self._unterminated += len(data)
            if len(data) < size and data.rstrip().endswith(b"}") and is_worth_decoding(self._unterminated, self._tried):
                self._add_unterminated_record()
            return bool(data)
        if is_too_long(seen + (first := data.find(b"\n"))):
            self._add_long_line(seen + first + 1, is_complete=True)
            return True
        data = self.source.read(self.size, seen) + data[:end] if seen else data[:end]
        self._unterminated = self._tried = 0
        self._add_lines(split_lines(self._drop_late_newline(data)))
        return True

    def _skip_long_line(self, size: int) -> bool:
        """Look for the end of a line that does not fit into memory; true if there may be more of it."""
        start = self.source.next_data(self.bytes_seen)
        data = self.source.read(start, size)
        end = data.find(b"\n") + 1
        has_more, self._unterminated = start + len(data) > self.bytes_seen, start + (end or len(data)) - self.size
        if end:
            self._add_long_line(self._unterminated, is_complete=True)
        return has_more

    def _add_long_line(self, size: int, *, is_complete: bool) -> None:
        self._unterminated, self._awaits_newline = 0, False
        self._add_lines([LongLine(size, is_complete=is_complete)])

    def _add_unterminated_record(self) -> None:
        """Add a last line without a line end, if it is a complete record."""
        line = bounded_line(self.source.read(self.size, self._unterminated))
        self._tried = self._unterminated
        if is_whole_record(line):
            self._unterminated = self._tried = 0
            self._add_lines([line])
            self._awaits_newline = True

    def _drop_late_newline(self, data: bytes) -> bytes:
        """The appended data without the line end of a line that was already added."""
        if self._awaits_newline:
            self._awaits_newline = False
            newline = len(data) - len(data.removeprefix(b"\r").removeprefix(b"\n"))
            self._offsets[-1] += newline
            return data[newline:]
        return data

    def finish(self) -> None:
        """Add everything that is left, including a last line without a line end."""
        while self.read_more():
            pass
        if is_too_long(self._unterminated):
            self._add_long_line(self._unterminated, is_complete=False)
        elif line := self.source.read(self.size, self._unterminated):
            self._unterminated = 0
            self._add_lines([bounded_line(line)])

    def _add_lines(self, lines: list[bytes]) -> None:
        offset = self.size
        events = iter(self._decode(lines, self.line_count, offset))
        event = next(events, None)
        with gc_paused():
            for number, line in enumerate(lines, self.line_count + 1):
                changes: list[RecordChange] = []
                time = None
                while event is not None and event.line == number:
                    own_time = to_epoch(event.timestamp)
                    time = own_time if time is None else time
                    self.progress.times.add(number, own_time)
                    change = apply_record(self._newest, event)
                    self.links.note(self._newest, event, self.frames)
                    self.progress.add(event)
                    changes.append(change.without_error() if self.progress.repeats_failure else change)
                    if change.marks & _LOGGED or self.progress.first_line is None:
                        self._log_elements(event)
                    event = next(events, None)
                offset += len(line)
                self._offsets.append(offset)
                self._add_frame(number, time, changes)

    def _log_elements(self, event: Event) -> None:
        """Note the prompts and edits that the last record has put on the screen."""
        state, line = self._newest, event.line
        for element in (*state.elements[state.settled :], *(state.elements[position] for position in state.touched)):
            if not isinstance(element, Note) or element.is_error:
                self.progress.begin(line)
            if isinstance(element, UserMessage):  # what it replaces was on the screen already, from the queue
                self.progress.prompt_log.add(event, element.text, replaces=bool(state.removed))
            elif isinstance(element, ToolCall) and (path := changed_file(element)) and _is_edit_done(element, line):
                self.progress.add_edit(line, path)

    def _add_frame(self, line: int, time: float | None, changes: list[RecordChange]) -> None:
        if (frame := build_frame(line, time, changes)) is not None:
            self.frames.append(frame)
            if frame.marks & FrameMark.ERROR:
                self.progress.add_error(line)
        if line - self._keyframes[-1].lines >= self._spacing:
            self._keyframes.append(_Keyframe(line, self._newest.copy()))
            if len(self._keyframes) > _MAX_KEYFRAMES:
                self._keyframes = self._keyframes[::2]
                self._spacing *= 2

    # --- reading the index ----------------------------------------------------------------------------

    def screen(self, frame: int) -> ScreenState:
        """The screen at a frame. It is valid until the next call, and must not be changed.

        Elements that do not change are the same objects on every screen.
        """
        wanted = self.frames[frame].line if frame >= 0 else 0
        lines, state = self._nearest_screen(wanted)
        step = max(_RECENT_SPACING, (wanted - lines) // _MOST_RECENT_SPACING)
        if wanted - lines > step:
            self._recent = []
        while lines < wanted:
            until = min(lines + step, wanted)
            for event in self._decode(self._read(lines + 1, until), lines, self._offsets[lines]):
                render(state, event)
            lines = until
            if lines < wanted:
                self._recent.append(_Keyframe(lines, state.copy()))
        state.seal()
        self._current = _Keyframe(lines, state)
        return state

    def events_on(self, line: int) -> list[Event]:
        """The events on a line; none if it is not indexed."""
        if line > self.line_count:
            return []
        return self._decode(self._read(line, line), line - 1, self._offsets[line - 1])

    def frame_at_line(self, line: int) -> int:
        """The last frame up to a line; the first one if there is none."""
        return max(bisect_right(self.frames, line, key=lambda frame: frame.line) - 1, 0)

    def lines_before(self, offset: int) -> int:
        """How many lines end at or before an offset in the file."""
        return bisect_right(self._offsets, offset) - 1

    def _nearest_screen(self, wanted: int) -> _Keyframe:
        """The nearest available screen at or before a line, as one that may be rendered on."""
        if self._recent and not self._recent[0].lines <= wanted <= self._recent[-1].lines + _RECENT_SPACING * 2:
            self._recent = []
        found = max(
            _last_before(self._keyframes, wanted),
            _last_before(self._recent, wanted),
            key=lambda keyframe: keyframe.lines,
        )
        if found.lines <= self._current.lines <= wanted:
            return self._current
        return _Keyframe(found.lines, found.screen.copy())

    def _read(self, first: int, last: int) -> list[bytes]:
        start = self._offsets[first - 1]
        ends = self._offsets[first : last + 1]
        starts = (start, *ends[:-1])
        if is_too_long(self._offsets[last] - start):
            return [self._read_line(one, end - one) for one, end in zip(starts, ends, strict=True)]
        data = self.source.read(start, self._offsets[last] - start)
        return bounded_lines([data[one - start : end - start] for one, end in zip(starts, ends, strict=True)])

    def _read_line(self, start: int, size: int) -> bytes:
        return (
            LongLine(size, is_complete=True) if is_too_long(size - 1) else bounded_line(self.source.read(start, size))
        )

    def _decode(self, lines: list[bytes], before: int, offset: int) -> list[Event]:
        self.lines_decoded += len(lines)
        return decode_lines(self.source.original_lines(lines, offset), before, offset)


class RecordChange(NamedTuple):
    """The change of the screen by one record."""

    is_visible: bool
    size: int
    marks: FrameMark

    def without_error(self) -> RecordChange:
        """The change by a record that only says again that a call has failed."""
        return self._replace(marks=self.marks & ~FrameMark.ERROR)


def build_frame(line: int, time: float | None, changes: list[RecordChange]) -> Frame | None:
    """The frame of a line, from the changes by each of its records; `None` if none is visible."""
    if not any(change.is_visible for change in changes):
        return None
    marks = FrameMark.NONE
    for change in changes:
        marks |= change.marks
    return Frame(line, time, sum(change.size for change in changes), marks)


def apply_record(state: ScreenState, event: Event) -> RecordChange:
    """Render a record on the screen."""
    render(state, event)
    elements = state.elements
    new = elements[state.settled :]
    touched = [elements[position] for position in state.touched]
    is_visible = bool(new or touched or state.removed or state.cleared)
    marks = FrameMark.COMPACTION if state.cleared else FrameMark.NONE
    for element in new:
        marks |= _mark(element)
    if any(isinstance(element, ToolCall) and _is_edit_done(element, event.line) for element in touched):
        marks |= FrameMark.EDIT
    if any(isinstance(element, ToolCall) and _is_failure(element, event.line) for element in touched):
        marks |= FrameMark.ERROR
    if _has_failed(event):
        marks = (marks | FrameMark.ERROR) & ~FrameMark.RESPONSE
    return RecordChange(is_visible, sum(map(_size, (*new, *touched))), marks)


def _has_failed(event: Event) -> bool:
    """True for a message that Claude Code wrote in place of a response, because the request failed."""
    return isinstance(event, Assistant) and event.is_api_error is True


def _mark(element: ScreenElement) -> FrameMark:
    match element:
        case UserMessage():
            return FrameMark.PROMPT
        case CompactionRule():
            return FrameMark.COMPACTION
        case SystemOutput(is_error=True) | Note(is_error=True):
            return FrameMark.ERROR
        case ToolCall():
            agent = FrameMark.AGENT if element.tool_name in AGENTS else FrameMark.NONE
            edit = FrameMark.EDIT if _is_edit_done(element, element.result_line) else FrameMark.NONE
            return agent | edit | (FrameMark.ERROR if element.is_error else FrameMark.NONE)
        case AssistantText():
            return FrameMark.RESPONSE
    return FrameMark.NONE


def changed_file(call: ToolCall) -> str | None:
    """The file that a call is to change; `None` for other calls."""
    touched = touched_file(call.tool_name, call.input)
    return touched[1] if touched is not None and touched[0] in _CHANGES else None


def _is_edit_done(call: ToolCall, line: int | None) -> bool:
    """True if a line has the result of a call that has changed a file."""
    is_result = call.result is not None and (call.result_line == line)
    return (
        is_result
        and not call.is_error
        and not (call.result or "").startswith(_TOOL_ERROR)
        and changed_file(call) is not None
    )


def _is_failure(call: ToolCall, line: int) -> bool:
    """True if a line has the result of a call that has failed; what hooks say later is no further error."""
    return call.is_error and call.result_line == line


def _size(element: ScreenElement) -> int:
    if isinstance(element, ToolCall):
        return len(element.label) if element.result is None else len(element.result)
    return len(getattr(element, "text", ""))


def _last_before(keyframes: list[_Keyframe], wanted: int) -> _Keyframe:
    place = bisect_right(keyframes, wanted, key=lambda keyframe: keyframe.lines)
    return keyframes[place - 1] if place else _NO_KEYFRAME


_LOGGED: Final = FrameMark.PROMPT | FrameMark.EDIT
"""Frames with texts that the progress log keeps."""
_NO_KEYFRAME: Final = _Keyframe(-1, ScreenState())
