"""Extraction: one pass over a session file that yields its facts.

An extraction can be saved and continued when the file has grown, so that only the new bytes are read. A last line
without a line end may still be being written: it counts, but is read again next time.
"""

from __future__ import annotations

import io
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
from claude_session_player.format.line_reader import read_batches, split_lines
from claude_session_player.format.partial_records import (
    IndexMessage,
    IndexRecord,
    decode_index_record,
)
from claude_session_player.linking.agent_records import reported_events
from claude_session_player.linking.copies import drop_copies, response_id
from claude_session_player.linking.prompts import PromptQueue, to_attachment, with_queued_prompts
from claude_session_player.linking.subagents import BY_PROGRESS, AgentCall, Naming, helper_kind, subagent_positions
from claude_session_player.parser import decode_lines, gc_paused, read_events
from claude_session_player.store.extract_lines import (
    HANDLERS,
    PEEKS,
    ConversationExtractor,
    peek_progress,
)
from claude_session_player.store.facts import (
    ConversationFacts,
    Extraction,
    ExtractJob,
    FileFacts,
    InlineSubagent,
    encode_responses,
    file_record,
    line_key,
    response_key,
)
from claude_session_player.store.layout import ReadProblem, SessionFile
from claude_session_player.util.fsutil import regular_opener, sample_checksum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_BUFFER: Final = 1 << 20
_TOOL_RESULT: Final = type_tag(ToolResult)
_USER: Final = type_tag(User)
_ASSISTANT: Final = type_tag(Assistant)
_CONVERSATION: Final = frozenset(type_tag(kind) for kind in CONVERSATION)
_RECORDS: Final = frozenset(type_tag(kind) for kind in RECORDS) - {"todo", "result"}
"""The records that make a file a session; todo lists and workflow journals are not sessions."""
_TYPE: Final = attrgetter("type")
_CWD: Final = attrgetter("cwd")
_BRANCH: Final = attrgetter("git_branch")
_VERSION: Final = attrgetter("version")
_ENTRYPOINT: Final = attrgetter("entrypoint")
_TIME: Final = attrgetter("timestamp")
_HEAD_LINES: Final = 20
"""The session id is looked for in this many lines."""


class FileExtractor(Struct):
    """A file up to `offset`: its facts so far, and what is needed to continue. See `FileFacts`."""

    is_agent: bool
    offset: int = 0
    lines: int = 0
    fingerprint: int = 0
    session_id: str | None = None
    cwds: dict[str, None] = {}
    branches: dict[str, None] = {}
    version: str | None = None
    entrypoints: dict[str, None] = {}
    titles: dict[str, str] = {}
    malformed: int = 0
    calls: list[AgentCall] = []
    """The calls of tools that start sub-agents."""
    call_ids: dict[str, None] = {}
    """Their ids. Dictionaries without values are ordered sets that keep their order when they are saved."""
    namings: dict[str, dict[str, int]] = {}
    """The sub-agents that results and progress name, with the best evidence, by the ids of the calls."""
    queue: PromptQueue = field(default_factory=PromptQueue)
    is_session: bool = False
    response_ids: dict[str, None] = {}
    has_copies: bool = False
    """True if prompts may be there twice, because a conversation was written again."""
    main: ConversationExtractor = field(default_factory=ConversationExtractor)
    has_main_line: bool = False
    inline: dict[str, ConversationExtractor] = {}
    roots: dict[str, str] = {}
    """The uuid of the first line of an inline sub-agent, by the uuid of each of its lines."""
    speakers: dict[str, str] = {}
    """The inline sub-agent of a response, by the response's key."""
    reported: dict[str, ConversationExtractor] = {}
    """What is known of sub-agents from the progress that they report, by id."""
    reported_for: dict[str, str] = {}
    """The call for which each of them reports."""

    def read(self, file: BinaryIO) -> bytes:
        """Add all complete lines; returns the rest."""
        return self.add_batches(read_batches(file))

    def add_batches(self, batches: Iterable[list[bytes]]) -> bytes:
        """The same for lines in batches."""
        rest = b""
        for lines in filter(None, batches):
            rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
            self.add_lines(lines)
            if rest:
                break
        for conversation in (*self.inline.values(), *self.reported.values()):
            conversation.settle_times()
        return rest

    def add_lines(self, lines: Sequence[bytes]) -> None:
        """Add some lines. Most are only decoded in part."""
        try:
            records = list(map(decode_index_record, lines))
        except DECODE_ERRORS:
            for line in lines:
                self._add_odd_line(line)
        else:
            self._add_records(records, lines)

    def _add_odd_line(self, line: bytes) -> None:
        """Add a line of a batch with a line that is not a plain record."""
        if line.isspace():  # there may be millions of them
            self.lines += 1
            self.offset += len(line)
            return
        try:
            record = decode_index_record(line)
        except DECODE_ERRORS:
            events = decode_lines((line,), self.lines, self.offset)
            self.lines += 1
            self.offset += len(line)
            self._add_envelopes(events)
            if self.session_id is None and self.lines <= _HEAD_LINES:
                self._find_session((line,))
            for event in events:
                self.main.events += 1
                self._add_event(event)
        else:
            self._add_records((record,), (line,))

    def _add_records(self, records: Sequence[IndexRecord], lines: Sequence[bytes]) -> None:
        before = self.lines
        self.lines += len(lines)
        self.offset += sum(map(len, lines))
        self.main.events += len(lines)
        self._add_envelopes(records)
        if self.session_id is None and before < _HEAD_LINES:
            self._find_session(lines[: _HEAD_LINES - before])
        inline = set() if self.is_agent else set(subagent_positions(records))
        for number, peek in enumerate(map(PEEKS.get, map(_TYPE, records))):
            if (peek is not None and peek(self, records[number], lines[number])) or (inline and number in inline):
                is_report = peek is peek_progress and number not in inline
                if is_report and self._peek_report(records[number], before + number + 1):
                    continue
                for event in decode_lines((lines[number],), before + number, 0):
                    self._add_event(event)

    def _add_event(self, event: Event) -> None:
        handler = HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)
        if not self.owns(event):
            self._add_inline(event)
        elif isinstance(event, User | Attachment) and not _is_result(event):
            prompt = self.main.add_user(event)
            if self.queue.waiting or self.queue.taken:
                self.queue.note(prompt)

    def _find_session(self, lines: Sequence[bytes]) -> None:
        events = (event for line in lines for event in decode_lines((line,), 0, 0))
        self.session_id = next((event.session_id for event in events if event.session_id), None)

    def add_naming(self, call: str | None, naming: Naming) -> None:
        """Note that a sub-agent belongs to a call."""
        if call:
            agent, evidence = naming
            namings = self.namings.setdefault(call, {})
            namings[agent] = min(evidence, namings.get(agent, evidence))

    def settle_queue(self) -> None:
        """The model responds: queued messages that were taken up before and are nowhere else are prompts."""
        for prompt in self.queue.settle():
            self.main.add_user(to_attachment(prompt))

    def look_for_copies(self, message_id: str | None, request: str | None) -> None:
        """The model responds to a repeated prompt: it is a copy if the response is known already."""
        self.main.has_repeat = False
        self.has_copies = self.has_copies or (response_id(message_id, request) or "") in self.response_ids

    def owns(self, event: Envelope) -> bool:
        """True for a line of the file's own conversation."""
        return self.is_agent or not (event.is_sidechain or event.agent_call)

    def facts(self, file: SessionFile, meta: dict[str, Any]) -> FileFacts:
        """All facts of a file. In one with nothing but sidechain lines, those are the file's own conversation."""
        inline = self.inline
        if inline and not self.has_main_line:
            for conversation in inline.values():
                self.main.merge(conversation)
            inline = {}
        self.settle_queue()
        main = self.main.facts()
        agents = [InlineSubagent(id, _ranges(one), one.facts()) for id, one in inline.items()]
        agents += [
            InlineSubagent(id, _ranges(one), one.facts(), self.reported_for[id]) for id, one in self.reported.items()
        ]
        return _to_facts(
            file,
            conversation=_without_copies(file, main) if self.has_copies else main,
            session_id=self.session_id,
            cwds=tuple(self.cwds),
            branches=tuple(self.branches),
            version=self.version,
            entrypoints=tuple(self.entrypoints),
            titles=self.titles,
            malformed=self.malformed,
            calls=self._agent_calls(),
            inline=tuple(agents),
            is_session=self.is_session,
            meta=meta,
        )

    def _agent_calls(self) -> tuple[AgentCall, ...]:
        """The calls that started sub-agents, first those of tools that do nothing else."""
        named = {call: tuple(namings.items()) for call, namings in self.namings.items()}
        known = [call._replace(named=named.pop(call.id or "", ())) for call in self.calls]
        return tuple(known + [AgentCall(id, named=namings) for id, namings in named.items()])

    def responses(self, path: str) -> bytes:
        """Every response, encoded. In a file with nothing but sidechain lines, all are the file's own."""
        return encode_responses(path, self.main.responses, self.speakers if self.has_main_line else {})

    def _add_envelopes(self, events: Sequence[Event] | Sequence[IndexRecord]) -> None:
        """Add what most lines repeat: only changes are examined one by one."""
        self.cwds |= _changes(list(map(_CWD, events)), self.cwds)
        self.branches |= _changes(list(map(_BRANCH, events)), self.branches)
        last = next(filter(None, map(_BRANCH, reversed(events))), None)
        if last and next(reversed(self.branches)) != last:
            del self.branches[last]
            self.branches[last] = None
        self.version = next(filter(None, map(_VERSION, reversed(events))), self.version)
        self.entrypoints |= _changes(list(map(_ENTRYPOINT, events)), self.entrypoints)
        self.main.include_times(list(filter(None, map(_TIME, events))))
        if not self.has_main_line:
            self.has_main_line = any(event.kind in _CONVERSATION and self.owns(event) for event in events)
        if not self.is_session:
            self.is_session = any(event.kind in _RECORDS for event in events)

    def _add_inline(self, event: Event) -> None:
        """Add a line of a sub-agent inside its parent's file: it belongs to its call, or to the root of its chain."""
        root = event.agent_call or self.roots.get(event.parent_uuid or "") or event.uuid
        if root is None:
            return
        if event.uuid:
            self.roots[event.uuid] = root
        conversation = self.inline.setdefault(root, ConversationExtractor())
        conversation.events += count_flat_events(event)
        _add_line(conversation, event.line)
        if event.timestamp:
            conversation.times.append(event.timestamp)
        if isinstance(event, User | Attachment):
            conversation.add_user(event)
        elif isinstance(event, Assistant) and event.message is not None:
            conversation.add_response(event.message, event.request_id, event.timestamp, line_key(event))
            self.speakers[response_key(event.message.id, event.request_id, line_key(event))] = root

    def _peek_report(self, record: IndexRecord, number: int) -> bool:
        """Add what a sub-agent reports; false for a prompt or something odd, which has to be decoded in full."""
        data, call = record.data, record.parent_call
        inner = data.message if data is not None else None
        agent = data.agent_id or "" if data is not None else ""
        if inner is None or inner.message is None or not agent or not call:
            return False
        blocks, is_response = inner.message.content, inner.type == _ASSISTANT
        is_result = type(blocks) is list and all(block.type == _TOOL_RESULT for block in blocks)
        if not is_response and not (inner.type == _USER and blocks and is_result):
            return False
        time = inner.timestamp or record.timestamp
        self._add_reported_line(agent, call, number, time, (len(blocks) or 1) if type(blocks) is list else 1)
        if is_response:
            self._add_reported_response(agent, inner.message, inner.request_id, time)
        return True

    def _add_reported_line(
        self, agent: str, call: str, line: int, time: str | None, events: int
    ) -> ConversationExtractor:
        """Add a line on which a sub-agent reports something for a call."""
        conversation = self.reported.get(agent)
        if conversation is None or self.reported_for[agent] != call:
            self.add_naming(call, (agent, BY_PROGRESS))
        if conversation is None:
            conversation = self.reported[agent] = ConversationExtractor()
            self.reported_for[agent] = call
        _add_line(conversation, line)
        conversation.events += events
        if time:
            conversation.times.append(time)
        return conversation

    def _add_reported_response(
        self, agent: str, message: Message | IndexMessage, request: str | None, time: str | None
    ) -> None:
        """Add the tokens of a response that a sub-agent reports; if it has a file, the same response is there."""
        if message.id or request:
            conversation, key = self.reported[agent], response_key(message.id, request)
            conversation.add_response(message, request, time)
            if key in conversation.responses:
                self.main.add_tokens(key, *conversation.responses[key])
            self.speakers.setdefault(key, agent)

    def add_report(self, event: Progress, agent: str) -> None:
        """Add what a sub-agent reports as progress: it is known from this line, even if it has no file."""
        call = event.parent_call or ""
        self.add_naming(call, (agent, BY_PROGRESS))
        for inner in reported_events(event):
            events = count_flat_events(inner)
            conversation = self._add_reported_line(agent, call, event.line, inner.timestamp, events)
            if isinstance(inner, User):
                conversation.add_user(inner)
            elif isinstance(inner, Assistant) and inner.message is not None:
                self._add_reported_response(agent, inner.message, inner.request_id, inner.timestamp)


def _changes(values: list[str | None], known: dict[str, None]) -> dict[str, None]:
    """The values that may differ from the last known one; usually none."""
    if known and values.count(next(reversed(known))) + values.count(None) == len(values):
        return {}
    return dict.fromkeys(filter(None, values))


def _add_line(conversation: ConversationExtractor, line: int) -> None:
    if conversation.lines and conversation.lines[-1][1] >= line - 1:
        conversation.lines[-1][1] = line
    else:
        conversation.lines.append([line, line])


def _ranges(conversation: ConversationExtractor) -> tuple[tuple[int, int], ...]:
    return tuple((first, last) for first, last in conversation.lines)


@gc_paused()
def extract_file(job: ExtractJob) -> Extraction:
    """The facts of a file; only what was added is read if an earlier extraction can be continued."""
    file = job.file
    problems: list[ReadProblem] = []
    try:
        meta = _read_meta(file, problems)
        with _open(file.path) as raw:
            extractor = _resume(raw, job) or FileExtractor(file.is_agent)
            rest = _read_end(extractor, job)
            if rest is None:
                raw.seek(extractor.offset)
                reader = io.BufferedReader(raw, min(_BUFFER, job.size + io.DEFAULT_BUFFER_SIZE))
                rest = extractor.read(reader)
                reader.detach()
            extractor.fingerprint = sample_checksum(raw, extractor.offset) if job.keeps_state else 0
        state = msgspec.msgpack.encode(extractor) if job.keeps_state or rest else b""
        if rest:
            extractor = msgspec.msgpack.decode(state, type=FileExtractor)
            extractor.add_lines([rest])
        responses = extractor.responses(file.name)
        facts = extractor.facts(file, meta)
        facts.responses, facts.state = responses, state
    except Exception as error:  # one bad file does not hide the others
        reason = error.strerror if isinstance(error, OSError) else None
        problem = ReadProblem(file.name, reason or f"{type(error).__name__}: {error}")
        return Extraction(file.name, None, (*problems, problem))
    return Extraction(file.name, facts, tuple(problems))


def _read_end(extractor: FileExtractor, job: ExtractJob) -> bytes | None:
    """Add the lines that were read already; returns the rest, or `None` if they do not begin where it has to go on."""
    new = job.file.stamp.size - extractor.offset
    if job.end is None or not 0 <= new <= len(job.end):
        return None
    return extractor.add_batches([split_lines(job.end[len(job.end) - new :])])


def _without_copies(file: SessionFile, main: ConversationFacts) -> ConversationFacts:
    """The conversation of a file with prompts that may be there twice: the owner of that rule sees every event."""
    conversation = ConversationExtractor()
    for event in drop_copies(with_queued_prompts(read_events(file.path))):
        if isinstance(event, User | Attachment) and (file.is_agent or not (event.is_sidechain or event.agent_call)):
            conversation.add_user(event)
    facts = conversation.facts()
    return main._replace(first_prompt=facts.first_prompt, last_prompt=facts.last_prompt, topic=facts.topic)


def _to_facts(file: SessionFile, **details: Any) -> FileFacts:
    """The facts of a file, from what was extracted: the details, encoded, and what a list needs of them."""
    facts = FileFacts(file.version, lenient_json.dump([details[name] for name in FileFacts.DETAILS]))
    for name, value in details.items():
        setattr(facts, name, value)
    record = file_record(file, facts)
    reported = [inline.id for inline in facts.inline if inline.is_reported]
    facts.record = lenient_json.compact(record)
    facts.started, facts.ended = facts.conversation.started, facts.conversation.ended
    facts.inline_count = len(facts.inline) - len(reported)
    facts.reported = lenient_json.compact(reported) if reported else ""
    facts.is_helper = int(file.is_agent and helper_kind(file.id, facts.conversation.first_prompt) is not None)
    facts.project = record["project"]
    return FileFacts(*facts.columns)  # details are not sent twice, and are those that the index would yield


def _resume(raw: io.FileIO, job: ExtractJob) -> FileExtractor | None:
    """An earlier extraction, if all that it has read is still there."""
    if job.state is None:
        return None
    try:
        known = msgspec.msgpack.decode(job.state, type=FileExtractor)
    except msgspec.DecodeError:
        return None
    is_valid = known.is_agent == job.file.is_agent and known.fingerprint == sample_checksum(raw, known.offset)
    return known if is_valid else None


def _read_meta(file: SessionFile, problems: list[ReadProblem]) -> dict[str, Any]:
    """The content of the `.meta.json` file beside a sub-agent's."""
    if file.meta is None:
        return {}
    from claude_session_player.store.extras import read_document

    value = read_document(file.meta.path, problems)
    if isinstance(value, dict):
        return value
    if value is not None:
        problems.append(ReadProblem(file.meta.path, "not a JSON object"))
    return {}


def _is_result(event: User | Attachment) -> bool:
    """True for a line with nothing but tool results."""
    content = event.message_content if isinstance(event, User) else None
    return type(content) is list and bool(content) and all(type(block) is ToolResult for block in content)


_open: Final[Callable[[str], io.FileIO]] = partial(io.FileIO, opener=regular_opener)
