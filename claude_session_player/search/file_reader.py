"""Reads a session file into documents: all of it, or only what was appended since it was last read."""

from __future__ import annotations

import io
import os
import zlib
from collections import deque
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Protocol

import msgspec
from msgspec import Struct, field

from claude_session_player.format.blocks import ToolResult
from claude_session_player.format.events import Assistant, Attachment, Event, Progress, QueueOperation, User
from claude_session_player.format.line_reader import LongLine, read_batches
from claude_session_player.format.strings import readable_strings
from claude_session_player.linking.agent_records import reported_events
from claude_session_player.linking.copies import CopyDetector
from claude_session_player.linking.prompts import PromptQueue, TypedCommands, human_prompt, to_attachment
from claude_session_player.parser import decode_lines
from claude_session_player.search.documents import LAST_LINE, to_document
from claude_session_player.search.fields import RESULT, TOOL
from claude_session_player.search.texts import EventText, event_texts
from claude_session_player.store import WORKFLOW, output_resolver, read_document
from claude_session_player.util.fsutil import regular_opener, sample_checksum
from claude_session_player.util.times import file_time, to_epoch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import tantivy

    from claude_session_player.store import SessionFile

_BUFFER: Final = 1 << 20
_SAMPLE_SIZE: Final = 1024
"""Small, because the store's index takes samples of the same file."""
_MOST_CALLS: Final = 5_000
"""The number of calls without a result that are remembered."""
_PERSISTED: Final = "<persisted-output>"
_WORKFLOW_TOOL: Final = "Workflow"
_READ_AHEAD: Final = 16 << 20
"""The most bytes that are kept of what was read, for others that need them."""


class CallFacts(NamedTuple):
    """What a result shares with its call."""

    tool: str
    path: str
    command: str


class ReaderState(Struct):
    """How far a file has been read, and what is needed to read on."""

    offset: int = 0
    lines: int = 0
    inode: int = 0
    size: int = 0
    """What the file was when it was read: only one that has grown is read on."""
    checksum: int = 0
    """Of samples of what has been read: if it has changed, the file is another one."""
    seconds: int = 0
    """The last time in the file."""
    calls: dict[str, CallFacts] = {}
    queue: PromptQueue = field(default_factory=PromptQueue)
    tentative: list[int] = []
    """The lines of queued prompts that may still prove to be copies: their documents are written again next time."""
    prompts: set[int] = set()
    responses: set[int] = set()
    """Checksums of all prompts, and what identifies the texts of all responses."""
    typed: TypedCommands = field(default_factory=TypedCommands)
    has_repeat: bool = False
    """True if a prompt since the last response had been there before."""
    has_copies: bool = False
    """True if a conversation was written again: then the whole file is read each time, to leave out the repetition."""


class ReadResult(NamedTuple):
    """What reading a file came to."""

    state: ReaderState
    data: bytes
    """What was appended to a file that was known, if it is not much: others may need it, too."""
    offset: int
    """Where that begins in the file."""


class DocumentSink(Protocol):
    """Where documents go."""

    def add(self, document: tantivy.Document) -> None:
        """Add a document."""

    def forget_file(self, file: int) -> None:
        """Forget the documents of a file that were added before."""

    def forget_lines(self, file: int, *lines: tuple[int, int]) -> None:
        """The same for some ranges of lines."""


class FileReader:
    """Turns the lines of one file into documents."""

    def __init__(self, file: SessionFile, number: int, sink: DocumentSink, agents: Collection[str] = ()) -> None:
        """`agents` are the sub-agents with a file of their own: what progress records report of them is not needed."""
        self._file = file
        self._number = number
        self._sink = sink
        self._agents = agents
        self._resolve = output_resolver([file])

    def read(self, state: ReaderState | None, *, is_known: bool) -> ReadResult:
        """Add the documents of a file; of one that still begins as an earlier state says, only what is new.

        `is_known` is true if documents of the file may be there already. A last line without a line end counts, but is
        read again next time. Raises `OSError`.
        """
        if self._file.kind == WORKFLOW:
            return self._read_workflow(is_known=is_known)
        with io.FileIO(self._file.path, opener=regular_opener) as raw:
            status = os.fstat(raw.fileno())
            if state is None or not _can_read_on(raw, status, state):
                state = ReaderState()
            state.inode, state.size = status.st_ino, status.st_size
            if is_known and not state.lines:
                self._sink.forget_file(self._number)
            elif is_known:
                tentative = ((line, line) for line in state.tentative)
                self._sink.forget_lines(self._number, (state.lines + 1, LAST_LINE), *tentative)
            offset = state.offset
            raw.seek(offset)
            kept: list[bytes] = []
            reader = io.BufferedReader(raw, _BUFFER)
            rest = self._read_lines(reader, state, kept)
            reader.detach()
            if state.has_copies:
                self._sink.forget_file(self._number)
                return self._read_without_copies()
            state.checksum = sample_checksum(raw, state.offset, _SAMPLE_SIZE)
        self._add_tentative(state, rest)
        return ReadResult(state, b"".join(kept), offset)

    def _read_workflow(self, *, is_known: bool) -> ReadResult:
        """Add one document for a file about a workflow run; it counts as line 1 of its session."""
        if is_known:
            self._sink.forget_file(self._number)
        parts = list(readable_strings(read_document(self._file.path, [])))
        if parts:
            text = EventText(RESULT, parts, tool=_WORKFLOW_TOOL, path=self._file.path)
            seconds = self._file.stamp.mtime_ns // 1_000_000_000
            self._sink.add(to_document(self._number, 1, file_time(self._file.stamp.mtime_ns), None, text, seconds))
        return ReadResult(ReaderState(), b"", 0)

    def _read_lines(self, file: BinaryIO, state: ReaderState, kept: list[bytes]) -> bytes:
        """Add all complete lines; returns the rest. Few bytes that were appended are kept."""
        size, keeps = 0, state.offset > 0
        for lines in read_batches(file):
            size += sum(map(len, lines))
            if keeps and size <= _READ_AHEAD and not any(type(line) is LongLine for line in lines):
                kept += lines
            else:
                kept.clear()
                keeps = False
            rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
            events = decode_lines(lines, state.lines, state.offset)
            self._add_events(events, dict(enumerate(lines, state.lines + 1)), state)
            state.lines += len(lines)
            state.offset += sum(map(len, lines))
            if rest or state.has_copies:
                return rest
        return b""

    def _read_without_copies(self) -> ReadResult:
        """Read the whole file again, without what is repeated in it."""
        state = ReaderState(has_copies=True)
        held: deque[tuple[int, bytes]] = deque()
        """The lines that were read, and are still needed: the search for copies reads ahead."""

        def read() -> Iterator[Event]:
            with io.FileIO(self._file.path, opener=regular_opener) as raw:
                for lines in read_batches(io.BufferedReader(raw, _BUFFER)):
                    held.extend(enumerate(lines, state.lines + 1))
                    state.lines, before = state.lines + len(lines), state.lines
                    yield from decode_lines(lines, before, state.offset)
                    state.offset += sum(map(len, lines))

        for event, is_copy in CopyDetector().mark(read()):
            while held[0][0] < event.line:
                held.popleft()
            if not is_copy:
                self._add_events([event], dict((held[0],)), state)
        self._add_tentative(state, b"")
        return ReadResult(state, b"", 0)

    def _add_tentative(self, state: ReaderState, rest: bytes) -> None:
        """Add what may still change: a last line without its end, and queued prompts that have no response yet."""
        later = state
        if rest or state.queue.taken:
            later = msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=ReaderState)
        if rest:
            self._add_events(decode_lines((rest,), state.lines, state.offset), {state.lines + 1: rest}, later)
        state.tentative = []
        for prompt in later.queue.settle() if later.queue.taken else ():
            state.tentative.append(prompt.line)
            event = to_attachment(prompt)
            for text in event_texts(event, b""):
                self._add_found(event, text, later)

    def _add_events(self, events: Sequence[Event], lines: Mapping[int, bytes], state: ReaderState) -> None:
        if not state.seconds:  # the first texts may have no time
            times = (to_epoch(event.timestamp) for event in events if event.timestamp)
            state.seconds = int(next(filter(None, times), self._file.stamp.mtime_ns / 1e9))
        found: list[tuple[Event, EventText]] = []
        for event in self._searched(events, state):
            line = lines.get(event.line, b"")
            kind = type(event)
            if kind is Progress:
                found += self._reported(event)  # type: ignore[arg-type]
                continue
            texts = event_texts(event, line)
            if kind is Assistant and texts:
                _note_response(texts, state)
            for text in texts:
                found.append((event, text))
                if text.field == TOOL and text.call:
                    state.calls[text.call] = CallFacts(text.tool, text.path, text.command)
        if len(state.calls) > _MOST_CALLS:
            for call in list(state.calls)[: len(state.calls) - _MOST_CALLS]:
                del state.calls[call]
        for event, text in found:
            self._add_found(event, text, state)

    def _add_found(self, event: Event, text: EventText, state: ReaderState) -> None:
        if text.field == RESULT and text.call:
            call = state.calls.pop(text.call, None)
            if call is not None:
                text = EventText(RESULT, text.parts, text.origin, text.call, *call, text.is_error)
            if any(_PERSISTED in part for part in text.parts):
                text = text._replace(parts=[self._resolve(part) for part in text.parts])
        if event.timestamp:
            state.seconds = int(to_epoch(event.timestamp) or state.seconds)
        self._sink.add(to_document(self._number, event.line, event.timestamp, event.uuid, text, state.seconds))

    def _reported(self, event: Progress) -> list[tuple[Event, EventText]]:
        """What a sub-agent without a file of its own reports as progress."""
        data = event.data
        if data is None or not data.agent_id or not data.message or data.agent_id in self._agents:
            return []
        line = bytes(data.message)
        return [(inner, text) for inner in reported_events(event) for text in event_texts(inner, line)]

    def _searched(self, events: Sequence[Event], state: ReaderState) -> Iterator[Event]:
        """The events, with queued prompts where the model received them, and a look-out for repeated conversations."""
        queue = state.queue
        for event in events:
            kind = type(event)
            if kind is QueueOperation:
                queue.operate(event)  # type: ignore[arg-type]
                continue
            if kind is Assistant:
                if queue.taken and self._owns(event):
                    yield from map(to_attachment, queue.settle())
            elif (kind is User and not _is_result(event)) or kind is Attachment:
                self._note_prompt(event, state)
                if state.typed.is_run(event):
                    continue
            yield event

    def _owns(self, event: Event) -> bool:
        """True for a line of the file's own conversation."""
        return self._file.is_agent or not (event.is_sidechain or event.agent_call)

    def _note_prompt(self, event: Event, state: ReaderState) -> None:
        if (prompt := human_prompt(event)) is None:
            return
        if self._owns(event):
            state.queue.note(prompt)
        key = zlib.crc32(prompt.encode(errors="replace"))
        state.has_repeat = state.has_repeat or key in state.prompts
        state.prompts.add(key)


def _note_response(texts: Sequence[EventText], state: ReaderState) -> None:
    """A response that is known already, to a prompt that is known already: the conversation was written again."""
    keys = {text.copy_key for text in texts}
    if state.has_repeat:
        state.has_repeat = False
        state.has_copies = state.has_copies or not keys.isdisjoint(state.responses)
    state.responses |= keys


def _can_read_on(raw: io.FileIO, status: os.stat_result, state: ReaderState) -> bool:
    """True if a file has only grown since: it is the same file, it is longer, and it begins as it did.

    A file of the same length was changed in place, and samples might miss that.
    """
    if state.has_copies or status.st_ino != state.inode or status.st_size <= state.size:
        return False
    return state.checksum == sample_checksum(raw, state.offset, _SAMPLE_SIZE)


def _is_result(event: Event) -> bool:
    """True for a line with one tool result, as nine of ten are."""
    content = event.message_content  # type: ignore[attr-defined]
    return type(content) is list and len(content) == 1 and type(content[0]) is ToolResult


encode_state: Final = msgspec.msgpack.Encoder().encode


def decode_state(data: bytes) -> ReaderState | None:
    """A state that was encoded; `None` if it is damaged."""
    try:
        return msgspec.msgpack.decode(data, type=ReaderState)
    except msgspec.DecodeError:
        return None
