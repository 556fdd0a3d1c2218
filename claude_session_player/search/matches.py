"""Decodes lines that may match, and decides on the decoded texts whether they do.

Separate from `scan`, because most files have no such line: the decoders are imported only if one has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.format.events import Attachment, Event, Progress, QueueOperation, TooLong
from claude_session_player.format.line_reader import bounded_lines
from claude_session_player.linking.agent_records import reported_events
from claude_session_player.linking.prompts import with_queued_prompts
from claude_session_player.parser import decode_lines, read_events
from claude_session_player.search.fields import RESULT, TOOL
from claude_session_player.search.hits import FoundText
from claude_session_player.search.patterns import TextMatch
from claude_session_player.search.raw_lines import LineBuffer, LineNumbers
from claude_session_player.search.snippets import make_snippet
from claude_session_player.search.texts import EventText, event_texts, structured_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from io import FileIO

    from claude_session_player.search.patterns import PatternMatcher
    from claude_session_player.search.raw_lines import LineSpan, Portion
    from claude_session_player.store import SessionFile

_CALL: Final = b'tool_use"'
"""Ends the type of every block, and of every record, that is a tool call."""
_FEW_CALLS: Final = 8
"""Up to this many calls are looked for by their ids; for more, all calls of the file are decoded."""
_ID: Final = re.compile(r"[\w.:-]+", re.ASCII)
_TIMESTAMP: Final = b'"timestamp"'
_TIME: Final = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT[\w:.+-]+)"')

PlacedText = tuple[Event, EventText]


class _EventMatch(NamedTuple):
    event: Event
    text: EventText
    match: TextMatch


def _not_repeated(event: Event, texts: Sequence[PlacedText]) -> list[PlacedText]:
    """What a tool recorded beside its output, without what it repeats of it, which is most of it."""
    found = structured_texts(event)
    searched = {part for _, text in texts for part in text.parts} if found else ()
    kept = ((text, [part for part in text.parts if part not in searched]) for text in found)
    return [(event, text._replace(parts=parts)) for text, parts in kept if parts]


class FileMatches:
    """What matches in one session file. Portions of the file are passed in its order."""

    def __init__(
        self,
        file: SessionFile,
        source: FileIO,
        buffer: LineBuffer,
        matcher: PatternMatcher,
        agents: Collection[str],
        limit: AbstractContextManager[None],
    ) -> None:
        """`agents` are the sub-agents with a file of their own: what progress records report of them does not count."""
        self.found: list[FoundText] = []
        self.too_long: list[tuple[int, int]] = []
        """The numbers of the lines that are too large to decode, and their sizes."""
        self.binary = 0
        """The number of lines in which only data in base64 matches."""
        self._file = file
        self._source = source
        self._buffer = buffer
        self._matcher = matcher
        self._agents = agents
        self._limit = limit
        self._numbers = LineNumbers(source)
        self._calls: dict[str, tuple[str, str]] = {}
        """The tools and paths of calls, by id."""
        self._open_calls: list[tuple[int, str]] = []
        """Results that were found, by index, and the ids of their calls, which are not known yet."""
        self._has_queue = False

    def add_lines(self, portion: Portion, spans: Sequence[LineSpan]) -> None:
        """Look at some lines of a portion. Raises `TimeLimitReached` and `OSError`."""
        lines = bounded_lines([self._buffer.line(span) for span in spans])
        decoded = []
        for event in decode_lines(lines, 0, 0):
            at = event.line - 1
            decoded.append((event, lines[at], spans[at][0], self._texts(event, lines[at])))
            self._has_queue = self._has_queue or type(event) is QueueOperation
        with self._limit:
            for event, line, start, texts in decoded:
                if type(event) is TooLong:
                    self.too_long.append((self._numbers.number_at(portion.offset + start), event.size))
                    continue
                matching = self._matching(texts) or self._matching(_not_repeated(event, texts))
                for found in matching:
                    number = self._numbers.number_at(portion.offset + start)
                    self._add(found, number, found.event.timestamp or self._time_before(start), start)
                if not matching and self._matcher.is_in_base64(line):
                    self.binary += 1

    def add_queued_prompts(self) -> None:
        """Add prompts that are only in the queue, at the lines where the model received them.

        Which ones that are depends on the whole file; it is read again if a line of the queue may match. Raises
        `TimeLimitReached` and `CannotRead`.
        """
        if not self._has_queue:
            return
        lines: set[int] = set()

        def note_queue(events: Iterable[Event]) -> Iterator[Event]:
            for event in events:
                if type(event) is QueueOperation:
                    lines.add(event.line)
                yield event

        events = with_queued_prompts(note_queue(read_events(self._file.path)), is_agent=self._file.is_agent)
        prompts = [event for event in events if type(event) is Attachment and event.line in lines and not event.uuid]
        with self._limit:
            for prompt in prompts:
                for found in self._matching(self._texts(prompt, b"")):
                    self._add(found, prompt.line, prompt.timestamp, 0)

    def find_calls(self) -> None:
        """Look in the whole file for the calls of results that were found before their calls. Raises `OSError`."""
        missing = {id for _, id in self._open_calls if _ID.fullmatch(id)} - self._calls.keys()
        marks = [id.encode() for id in missing] if len(missing) <= _FEW_CALLS else [_CALL]
        for portion in self._buffer.portions(self._source) if missing else ():
            for mark in marks:
                self._note_calls(self._buffer.lines_with(mark, portion.size))
            if missing <= self._calls.keys():
                break
        for index, id in self._open_calls:
            if id in self._calls:
                tool, path = self._calls[id]
                self.found[index] = self.found[index]._replace(tool=tool, path=path)

    def add_first_mention(self, name: str) -> None:
        """Add the first result that contains the name of a file, without a snippet. Raises `OSError`."""
        for portion in self._buffer.portions(self._source):
            for span in sorted(self._buffer.lines_with(name.encode(errors="replace"), portion.size)):
                line = self._buffer.line(span)
                for event in decode_lines(bounded_lines([line]), 0, 0):
                    for inner, text in self._texts(event, line):
                        if text.field == RESULT and name in text.text:
                            number = self._numbers.number_at(portion.offset + span[0])
                            self._add(_EventMatch(inner, text, TextMatch("", [])), number, inner.timestamp, span[0])
                            return

    # --- texts ----------------------------------------------------------------------------------

    def _texts(self, event: Event, line: bytes) -> list[PlacedText]:
        """The texts of an event; of a sub-agent's progress, those of the events that it reports."""
        if type(event) is Progress:
            found = list(self._reported_texts(event))
        else:
            found = [(event, text) for text in event_texts(event, line)]
        for _, text in found:
            if text.field == TOOL and text.call:
                self._calls[text.call] = (text.tool, text.path)
        return found

    def _reported_texts(self, event: Progress) -> Iterator[PlacedText]:
        if event.data is not None and event.data.agent_id not in self._agents:
            line = bytes(event.data.message)
            for inner in reported_events(event):
                yield from ((inner, text) for text in event_texts(inner, line))

    def _matching(self, texts: Iterable[PlacedText]) -> list[_EventMatch]:
        found = ((event, text, self._matcher.find_first(text.parts)) for event, text in texts)
        return [_EventMatch(event, text, match) for event, text, match in found if match is not None]

    def _add(self, found: _EventMatch, number: int, time: str | None, start: int) -> None:
        """Add a match in a line that begins at `start` in the buffer."""
        event, text, match = found
        if text.field == RESULT and text.call and not text.tool and not self._knows_call(text.call, start):
            self._open_calls.append((len(self.found), text.call))
        tool, path = self._calls.get(text.call, (text.tool, text.path)) if text.call else (text.tool, text.path)
        name, uuid, snippet = self._file.name, event.uuid, make_snippet(*match)
        self.found.append(FoundText(name, number, text.field, time, uuid, tool, path, text.copy_key, snippet))

    def _time_before(self, start: int) -> str | None:
        """The last time before a line, as far as it is in the buffer."""
        data = self._buffer.data
        at = data.rfind(_TIMESTAMP, 0, start)
        match = _TIME.match(data, at) if at >= 0 else None
        return match[1].decode() if match is not None else None

    # --- calls ----------------------------------------------------------------------------------

    def _knows_call(self, id: str, start: int) -> bool:
        """True if a call is known, or in the buffer before a line: there are most calls of results."""
        if id not in self._calls and _ID.fullmatch(id):
            for span in self._buffer.lines_with(id.encode(), start):
                self._note_calls([span])
                if id in self._calls:
                    break
        return id in self._calls

    def _note_calls(self, spans: Iterable[LineSpan]) -> None:
        lines = bounded_lines([line for span in spans if _CALL in (line := self._buffer.line(span))])
        for event in decode_lines(lines, 0, 0):
            self._texts(event, lines[event.line - 1])
