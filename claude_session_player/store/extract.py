"""What the catalogue wants to know of a session file, gathered line by line.

A digest can be set aside and taken up again when the file has grown, so that only the new bytes are read. A last
line without a line end may still be being written: it counts, but it is read again next time.
"""

from __future__ import annotations

import io
import zlib
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec
from msgspec import Struct, field

from claude_session_player.flat_events import count_flat_events
from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import DECODE_ERRORS, Message, ToolResult, type_tag
from claude_session_player.format.events import (
    CONVERSATION,
    RECORDS,
    Assistant,
    Attachment,
    Envelope,
    Event,
    Progress,
    User,
)
from claude_session_player.format.line_reader import read_batches
from claude_session_player.format.partial_records import (
    IndexMessage,
    IndexRecord,
    decode_index_record,
    subagent_positions,
)
from claude_session_player.linking.agent_records import reported_events
from claude_session_player.linking.copies import drop_copies, response_id
from claude_session_player.linking.prompts import PromptQueue, to_attachment, with_queued_prompts
from claude_session_player.linking.subagents import BY_PROGRESS, AgentCall, Naming, helper_kind
from claude_session_player.parser import decode_lines, read_events
from claude_session_player.store.extract_lines import (
    LOOKS,
    TAKERS,
    ConversationExtractor,
    line_key,
    look_at_progress,
    response_key,
)
from claude_session_player.store.extras import read_document
from claude_session_player.store.facts import ConversationFacts, FileFacts, InlineSubagent, encode_responses
from claude_session_player.store.index import IndexRow
from claude_session_player.store.layout import ReadProblem, SessionFile
from claude_session_player.store.record import file_record
from claude_session_player.store.workers import ExtractJob, ExtractResult
from claude_session_player.util.fsutil import regular_opener

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BUFFER: Final = 1 << 20
_SAMPLES: Final = 8
_SAMPLE: Final = 4096
_TOOL_RESULT: Final = type_tag(ToolResult)
_USER: Final = type_tag(User)
_ASSISTANT: Final = type_tag(Assistant)
_CONVERSATION: Final = frozenset(type_tag(kind) for kind in CONVERSATION)
_RECORDS: Final = frozenset(type_tag(kind) for kind in RECORDS) - {"todo", "result"}
"""What makes a file a session; a list of todos is none, nor is the journal of a workflow."""
_TYPE: Final = attrgetter("type")
_CWD: Final = attrgetter("cwd")
_BRANCH: Final = attrgetter("git_branch")
_VERSION: Final = attrgetter("version")
_TIME: Final = attrgetter("timestamp")
_HEAD: Final = 20
"""Among so many lines the id of the session is found, if anywhere."""


class FileExtractor(Struct):
    """A file up to `offset`: its facts so far, and what is needed to go on. See `FileFacts`."""

    is_agent: bool
    offset: int = 0
    lines: int = 0
    fingerprint: int = 0
    session_id: str | None = None
    cwds: dict[str, None] = {}
    branches: dict[str, None] = {}
    version: str | None = None
    titles: dict[str, str] = {}
    malformed: int = 0
    calls: list[AgentCall] = []
    """The calls of tools that start sub-agents."""
    call_ids: dict[str, None] = {}
    """Their ids; like all keys here, they stay in their order when they are set aside."""
    namings: dict[str, dict[str, int]] = {}
    """The sub-agents that results and progress name, with the best evidence, by the ids of the calls."""
    queue: PromptQueue = field(default_factory=PromptQueue)
    is_session: bool = False
    answers: dict[str, None] = {}
    """The ids of all responses."""
    has_copies: bool = False
    """True where a prompt may stand there twice, because a conversation was written anew."""
    main: ConversationExtractor = field(default_factory=ConversationExtractor)
    has_main_line: bool = False
    inline: dict[str, ConversationExtractor] = {}
    roots: dict[str, str] = {}
    """Of each line of an inline sub-agent, by its uuid, the uuid of the sub-agent's first line."""
    speakers: dict[str, str] = {}
    """Of each response of an inline sub-agent, the sub-agent."""
    reported: dict[str, ConversationExtractor] = {}
    """What is known of sub-agents from the progress that they report, by id."""
    reported_for: dict[str, str] = {}
    """The call for which each of them reports."""

    def read(self, file: BinaryIO) -> bytes:
        """Take in all lines that are complete; gives the rest."""
        rest = b""
        for lines in read_batches(file):
            rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
            self.take(lines)
            if rest:
                break
        for voice in (*self.inline.values(), *self.reported.values()):
            voice.settle_times()
        return rest

    def take(self, lines: Sequence[bytes]) -> None:
        """Take in some lines. Most are only glanced at."""
        try:
            glances = list(map(decode_index_record, lines))
        except DECODE_ERRORS:
            for line in lines:
                self._take_odd(line)
        else:
            self._take_glances(glances, lines)

    def _take_odd(self, line: bytes) -> None:
        """A line from a place where some line is no plain record."""
        if line.isspace():  # there may be millions of them
            self.lines += 1
            self.offset += len(line)
            return
        try:
            seen = decode_index_record(line)
        except DECODE_ERRORS:
            events = decode_lines((line,), self.lines, self.offset)
            self.lines += 1
            self.offset += len(line)
            self._take_envelopes(events)
            if self.session_id is None and self.lines <= _HEAD:
                self._find_session((line,))
            for event in events:
                self.main.events += 1
                self._take_event(event)
        else:
            self._take_glances((seen,), (line,))

    def _take_glances(self, glances: Sequence[IndexRecord], lines: Sequence[bytes]) -> None:
        before = self.lines
        self.lines += len(lines)
        self.offset += sum(map(len, lines))
        self.main.events += len(lines)
        self._take_envelopes(glances)
        if self.session_id is None and before < _HEAD:
            self._find_session(lines[: _HEAD - before])
        inline = set() if self.is_agent else set(subagent_positions(glances))
        for number, look in enumerate(map(LOOKS.get, map(_TYPE, glances))):
            if (look is not None and look(self, glances[number], lines[number])) or (inline and number in inline):
                is_report = look is look_at_progress and number not in inline
                if is_report and self._glance_at_report(glances[number], before + number + 1):
                    continue
                for event in decode_lines((lines[number],), before + number, 0):
                    self._take_event(event)

    def _take_event(self, event: Event) -> None:
        taker = TAKERS.get(type(event))
        if taker is not None:
            taker(self, event)
        if not self.owns(event):
            self._take_inline(event)
        elif isinstance(event, User | Attachment) and not _is_result(event):
            prompt = self.main.hear(event)
            if self.queue.waiting or self.queue.taken:
                self.queue.note(prompt)

    def _find_session(self, lines: Sequence[bytes]) -> None:
        events = (event for line in lines for event in decode_lines((line,), 0, 0))
        self.session_id = next((event.session_id for event in events if event.session_id), None)

    def note_agent(self, call: str | None, naming: Naming) -> None:
        """A call is answered by a sub-agent, or the sub-agent is at work."""
        if call:
            agent, evidence = naming
            namings = self.namings.setdefault(call, {})
            namings[agent] = min(evidence, namings.get(agent, evidence))

    def settle_queue(self) -> None:
        """The model answers: what was taken up from the queue before, and stands nowhere else, are prompts."""
        for prompt in self.queue.settle():
            self.main.hear(to_attachment(prompt))

    def look_for_copies(self, message_id: str | None, request: str | None) -> None:
        """The model answers a prompt that says what another one said: both are copies where the answer is known."""
        self.main.repeats = False
        self.has_copies = self.has_copies or (response_id(message_id, request) or "") in self.answers

    def owns(self, event: Envelope) -> bool:
        """True for a line of the file's own conversation."""
        return self.is_agent or not (event.is_sidechain or event.agent_call)

    def facts(self, meta: dict[str, Any]) -> FileFacts:
        """All facts. What was said in a file of nothing but sidechain lines is what the file says."""
        inline = self.inline
        if inline and not self.has_main_line:
            for voice in inline.values():
                self.main.merge(voice)
            inline = {}
        self.settle_queue()
        agents = [InlineSubagent(root, _stretches(voice), voice.speech()) for root, voice in inline.items()]
        agents += [
            InlineSubagent(id, _stretches(voice), voice.speech(), self.reported_for[id])
            for id, voice in self.reported.items()
        ]
        return FileFacts(
            self.main.speech(),
            self.session_id,
            tuple(self.cwds),
            tuple(self.branches),
            self.version,
            self.titles,
            self.malformed,
            self._agent_calls(),
            tuple(agents),
            self.is_session,
            meta,
        )

    def _agent_calls(self) -> tuple[AgentCall, ...]:
        """The calls of all tools that started sub-agents, those first that do nothing else."""
        named = {call: tuple(namings.items()) for call, namings in self.namings.items()}
        known = [call._replace(named=named.pop(call.id or "", ())) for call in self.calls]
        return tuple(known + [AgentCall(id, named=namings) for id, namings in named.items()])

    def responses(self, place: str) -> bytes:
        """Every response, encoded. In a file of nothing but sidechain lines all are the file's own."""
        return encode_responses(place, self.main.responses, self.speakers if self.has_main_line else {})

    def _take_envelopes(self, events: Sequence[Event] | Sequence[IndexRecord]) -> None:
        """What most lines repeat: only changes are looked at one by one."""
        self.cwds |= _changes(list(map(_CWD, events)), self.cwds)
        self.branches |= _changes(list(map(_BRANCH, events)), self.branches)
        last = next(filter(None, map(_BRANCH, reversed(events))), None)
        if last and next(reversed(self.branches)) != last:
            del self.branches[last]
            self.branches[last] = None
        self.version = next(filter(None, map(_VERSION, reversed(events))), self.version)
        self.main.widen(list(filter(None, map(_TIME, events))))
        if not self.has_main_line:
            self.has_main_line = any(event.kind in _CONVERSATION and self.owns(event) for event in events)
        if not self.is_session:
            self.is_session = any(event.kind in _RECORDS for event in events)

    def _take_inline(self, event: Event) -> None:
        """A line of a sub-agent inside of its parent's file belongs to its call, or to the root of its chain."""
        root = event.agent_call or self.roots.get(event.parent_uuid or "") or event.uuid
        if root is None:
            return
        if event.uuid:
            self.roots[event.uuid] = root
        voice = self.inline.setdefault(root, ConversationExtractor())
        voice.events += count_flat_events(event)
        _add_line(voice, event.line)
        if event.timestamp:
            voice.times.append(event.timestamp)
        if isinstance(event, User | Attachment):
            voice.hear(event)
        elif isinstance(event, Assistant) and event.message is not None:
            voice.answer(event.message, event.request_id, event.timestamp, line_key(event))
            self.speakers[response_key(event.message.id, event.request_id, line_key(event))] = root

    def _glance_at_report(self, seen: IndexRecord, number: int) -> bool:
        """Take in what a sub-agent reports, unless it is a prompt, or something odd: that is worth a closer look."""
        data, call = seen.data, seen.parent_call
        said = data.message if data is not None else None
        agent = data.agent_id or "" if data is not None else ""
        if said is None or said.message is None or not agent or not call:
            return False
        blocks, is_answer = said.message.content, said.type == _ASSISTANT
        is_result = type(blocks) is list and all(block.type == _TOOL_RESULT for block in blocks)
        if not is_answer and not (said.type == _USER and blocks and is_result):
            return False
        time = said.timestamp or seen.timestamp
        self._note_report(agent, call, number, time, (len(blocks) or 1) if type(blocks) is list else 1)
        if is_answer:
            self._count_reported(agent, said.message, said.request_id, time)
        return True

    def _note_report(self, agent: str, call: str, line: int, time: str | None, events: int) -> ConversationExtractor:
        """A sub-agent reports something for a call, on this line."""
        voice = self.reported.get(agent)
        if voice is None or self.reported_for[agent] != call:
            self.note_agent(call, (agent, BY_PROGRESS))
        if voice is None:
            voice = self.reported[agent] = ConversationExtractor()
            self.reported_for[agent] = call
        _add_line(voice, line)
        voice.events += events
        if time:
            voice.times.append(time)
        return voice

    def _count_reported(
        self, agent: str, message: Message | IndexMessage, request: str | None, time: str | None
    ) -> None:
        """The tokens of a response that a sub-agent reports; where it has a file, the same response stands there."""
        if message.id or request:
            voice, key = self.reported[agent], response_key(message.id, request)
            voice.answer(message, request, time)
            if key in voice.responses:
                self.main.count(key, *voice.responses[key])
            self.speakers.setdefault(key, agent)

    def take_report(self, event: Progress, agent: str) -> None:
        """A sub-agent reports its progress: what it says is known from this line, even where it has no file."""
        call = event.parent_call or ""
        self.note_agent(call, (agent, BY_PROGRESS))
        for one in reported_events(event):
            voice = self._note_report(agent, call, event.line, one.timestamp, count_flat_events(one))
            if isinstance(one, User):
                voice.hear(one)
            elif isinstance(one, Assistant) and one.message is not None:
                self._count_reported(agent, one.message, one.request_id, one.timestamp)


def _changes(values: list[str | None], known: dict[str, None]) -> dict[str, None]:
    """The values that may be others than the last known one; none where all are that one, as most of the time."""
    if known and values.count(next(reversed(known))) + values.count(None) == len(values):
        return {}
    return dict.fromkeys(filter(None, values))


def _add_line(voice: ConversationExtractor, line: int) -> None:
    if voice.lines and voice.lines[-1][1] >= line - 1:
        voice.lines[-1][1] = line
    else:
        voice.lines.append([line, line])


def _stretches(voice: ConversationExtractor) -> tuple[tuple[int, int], ...]:
    return tuple((first, last) for first, last in voice.lines)


def extract_file(job: ExtractJob) -> ExtractResult:
    """Digest a file; where an earlier digest is at hand and still true, only what was added since then."""
    found = job.found
    troubles: list[ReadProblem] = []
    try:
        meta = _description(found, troubles)
        with _open(found.path) as raw:
            digest = _resumed(raw, job) or FileExtractor(found.is_agent)
            raw.seek(digest.offset)
            file = io.BufferedReader(raw, min(_BUFFER, job.size + io.DEFAULT_BUFFER_SIZE))
            rest = digest.read(file)
            file.detach()
            digest.fingerprint = _fingerprint(raw, digest.offset) if job.is_kept else 0
        state = msgspec.msgpack.encode(digest) if job.is_kept or rest else b""
        if rest:
            digest = msgspec.msgpack.decode(state, type=FileExtractor)
            digest.take([rest])
        responses = digest.responses(found.name)
        facts = digest.facts(meta)
        if digest.has_copies:
            facts = facts._replace(speech=_without_copies(found, facts.speech))
        row = _row(found, facts)
    except Exception as error:  # whatever is wrong with one file, the others are listed
        reason = error.strerror if isinstance(error, OSError) else None
        trouble = ReadProblem(found.name, reason or f"{type(error).__name__}: {error}")
        return ExtractResult(found.name, None, b"", b"", (*troubles, trouble))
    return ExtractResult(found.name, row, state, responses, tuple(troubles))


def _without_copies(found: SessionFile, speech: ConversationFacts) -> ConversationFacts:
    """What was said in a file in which prompts stand twice: the owner of that rule looks at every event."""
    voice = ConversationExtractor()
    for event in drop_copies(with_queued_prompts(read_events(found.path))):
        if isinstance(event, User | Attachment) and (found.is_agent or not (event.is_sidechain or event.agent_call)):
            voice.hear(event)
    told = voice.speech()
    return speech._replace(first_prompt=told.first_prompt, last_prompt=told.last_prompt, topic=told.topic)


def _row(found: SessionFile, facts: FileFacts) -> IndexRow:
    record = file_record(found, facts)
    speech = facts.speech
    reported = [inline.id for inline in facts.inline if inline.is_reported]
    return IndexRow(
        found.version,
        lenient_json.dump(facts),
        lenient_json.compact(record),
        speech.started,
        speech.ended,
        len(facts.inline) - len(reported),
        lenient_json.compact(reported) if reported else "",
        int(found.is_agent and helper_kind(found.id, speech.first_prompt) is not None),
        record["project"],
    )


def _resumed(raw: io.FileIO, job: ExtractJob) -> FileExtractor | None:
    """An earlier digest, where all that it has seen is still there."""
    if job.state is None:
        return None
    try:
        known = msgspec.msgpack.decode(job.state, type=FileExtractor)
    except msgspec.DecodeError:
        return None
    is_true = known.is_agent == job.found.is_agent and known.fingerprint == _fingerprint(raw, known.offset)
    return known if is_true else None


def _fingerprint(raw: io.FileIO, size: int) -> int:
    """A checksum of the first `size` bytes: of all of them, or of samples spread over them where they are many."""
    if size <= _SAMPLES * _SAMPLE:
        starts = [0]
        length = size
    else:
        starts = [(size - _SAMPLE) * number // (_SAMPLES - 1) for number in range(_SAMPLES)]
        length = _SAMPLE
    checksum = size
    for start in starts:
        raw.seek(start)
        checksum = zlib.crc32(raw.read(length), checksum)
    return checksum


def _description(found: SessionFile, troubles: list[ReadProblem]) -> dict[str, Any]:
    """What the file beside a sub-agent's says about it."""
    told = read_document(found.meta.path, troubles) if found.meta else None
    if isinstance(told, dict):
        return told
    if found.meta and told is not None:
        troubles.append(ReadProblem(found.meta.path, "not a JSON object"))
    return {}


def _is_result(event: User | Attachment) -> bool:
    """True for a line that holds nothing but results of tools."""
    content = event.message_content if isinstance(event, User) else None
    return type(content) is list and bool(content) and all(type(block) is ToolResult for block in content)


_open: Final[Callable[[str], io.FileIO]] = partial(io.FileIO, opener=regular_opener)
