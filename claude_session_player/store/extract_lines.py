"""What each kind of line adds to the facts of a file: prompts, responses, tokens, times, sub-agents.

Most lines are peeked at through a partial record. The tables `PEEKS` and `HANDLERS` say which of them are decoded in
full, and what an event adds.
"""

from __future__ import annotations

import re
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from claude_session_player.format.blocks import Message, ToolResult, ToolUse, Usage, type_tag
from claude_session_player.format.events import (
    QUEUED,
    TITLES,
    Assistant,
    Attachment,
    Blank,
    CallLine,
    Event,
    LegacyMessage,
    Malformed,
    Metadata,
    Progress,
    QueueOperation,
    ResultLine,
    System,
    Title,
    TooLong,
    UsageLine,
    User,
)
from claude_session_player.format.partial_records import (
    IndexAgentResult,
    IndexBlock,
    IndexInput,
    IndexMessage,
    IndexRecord,
)
from claude_session_player.linking.agent_records import (
    AGENT_PROGRESS,
    has_prompt,
    named_agents,
    task_digest,
    to_agent_call,
)
from claude_session_player.linking.copies import response_id
from claude_session_player.linking.prompts import human_prompt
from claude_session_player.linking.titles import note_prompt, note_title
from claude_session_player.store.facts import LINE_KEY, ConversationFacts, Response, TokenCounts, TokenTotals
from claude_session_player.tools import AGENTS
from claude_session_player.util.times import normalize_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.store.extract import FileExtractor

_TOOL_RESULT: Final = type_tag(ToolResult)
_MENTION: Final = b"agentId:"
"""What a result holds that names a sub-agent in its text."""


# --- peeks: add what a partial record has, and return whether the line has to be decoded in full ------


def _peek_response(extractor: FileExtractor, record: IndexRecord, line: bytes) -> bool:
    message, request, conversation = record.message, record.request_id, extractor.main
    if extractor.queue.taken and extractor.owns(record):
        extractor.settle_queue()
    if conversation.has_repeat:
        extractor.look_for_copies(message.id if message is not None else None, request)
    if message is None or not (message.id or request):
        return True
    blocks = message.content
    is_decoded = type(blocks) is list and (len(blocks) != 1 or _may_start_agent(blocks[0]))
    if not is_decoded and conversation.last != (message.id, request, message.model, message.usage):  # most are equal
        extractor.response_ids[response_id(message.id, request) or ""] = None
        conversation.add_response(message, request, record.timestamp, with_model=extractor.owns(record))
    return is_decoded


def _may_start_agent(block: IndexBlock) -> bool:
    """True for a call of a tool that starts sub-agents, or that is given a prompt."""
    input = block.input
    return block.name in AGENTS or (type(input) is IndexInput and len(input.prompt) > 0)


def _peek_user(extractor: FileExtractor, record: IndexRecord, line: bytes) -> bool:
    """Nine lines of ten are tool results; few of them name a sub-agent."""
    blocks = record.message.content if record.message is not None else None
    if type(blocks) is not list or len(blocks) != 1 or blocks[0].type != _TOOL_RESULT:
        return True
    result = record.tool_use_result
    if type(result) is IndexAgentResult:
        return result.agent_id is not None or blocks[0].tool_use_id in extractor.call_ids
    return _MENTION in line


def _peek_attachment(extractor: FileExtractor, record: IndexRecord, line: bytes) -> bool:
    return record.attachment is not None and record.attachment.type == QUEUED


def peek_progress(extractor: FileExtractor, record: IndexRecord, line: bytes) -> bool:
    """True if a sub-agent reports."""
    return record.data is not None and record.data.type == AGENT_PROGRESS


def _peek_system(extractor: FileExtractor, record: IndexRecord, line: bytes) -> bool:
    return record.model is not None


def _decode_always(extractor: FileExtractor, record: IndexRecord, line: bytes) -> bool:
    return True


PEEKS: Final[dict[str | None, Callable[[FileExtractor, IndexRecord, bytes], bool]]] = {
    type_tag(Assistant): _peek_response,
    type_tag(User): _peek_user,
    type_tag(Attachment): _peek_attachment,
    type_tag(System): _peek_system,
    type_tag(Progress): peek_progress,
    **{type_tag(kind): _decode_always for kind in (*TITLES, Metadata, UsageLine, LegacyMessage, CallLine, ResultLine)},
    type_tag(QueueOperation): _decode_always,
}


# --- handlers: what a decoded event adds ----------------------------------------------------------


def _add_user(extractor: FileExtractor, event: User) -> None:
    content = event.message_content
    if type(content) is list:
        extractor.main.events += max(len(content) - 1, 0)
        for block in content:
            if type(block) is ToolResult and block.tool_use_id:
                is_agent_tool = block.tool_use_id in extractor.call_ids
                for naming in named_agents(event.tool_use_result, block, is_agent_tool=is_agent_tool):
                    extractor.add_naming(block.tool_use_id, naming)


def _add_assistant(extractor: FileExtractor, event: Assistant) -> None:
    content = event.message_content
    if type(content) is list:
        extractor.main.events += max(len(content) - 1, 0)
        for block in content:
            if type(block) is ToolUse and (block.name in AGENTS or has_prompt(block)):
                extractor.calls.append(to_agent_call(block))
                if block.name in AGENTS:
                    extractor.call_ids[block.id or ""] = None
    if extractor.owns(event):
        extractor.settle_queue()
    message_id = event.message.id if event.message is not None else None
    if extractor.main.has_repeat:
        extractor.look_for_copies(message_id, event.request_id)
    extractor.response_ids[response_id(message_id, event.request_id) or ""] = None
    if event.message is not None:
        is_own, place = extractor.owns(event), line_key(event)
        extractor.main.add_response(event.message, event.request_id, event.timestamp, place, with_model=is_own)


def _add_progress(extractor: FileExtractor, event: Progress) -> None:
    if event.data is not None and event.data.agent_id:
        extractor.add_report(event, event.data.agent_id)


def _add_title(extractor: FileExtractor, event: Title) -> None:
    note_title(extractor.titles, event.kind, event.title)


def _add_queue(extractor: FileExtractor, event: QueueOperation) -> None:
    extractor.queue.operate(event)


def _add_model(extractor: FileExtractor, event: System | Metadata) -> None:
    if event.model:
        extractor.main.use_model(event.model)


def _add_usage(extractor: FileExtractor, event: UsageLine) -> None:
    tokens = (
        event.input_tokens or 0,
        event.output_tokens or 0,
        event.cache_creation_tokens or 0,
        event.cache_read_tokens or 0,
        0,
    )
    model = next(reversed(extractor.main.models), None)
    extractor.main.add_tokens(line_key(event), tokens, model, event.timestamp)


def _add_malformed(extractor: FileExtractor, event: Malformed) -> None:
    extractor.malformed += 1


def _add_blank(extractor: FileExtractor, event: Blank) -> None:
    extractor.main.events -= 1


HANDLERS: Final[dict[type[Event], Callable[[FileExtractor, Any], None]]] = {
    User: _add_user,
    Assistant: _add_assistant,
    Progress: _add_progress,
    QueueOperation: _add_queue,
    System: _add_model,
    Metadata: _add_model,
    UsageLine: _add_usage,
    Malformed: _add_malformed,
    TooLong: _add_malformed,
    Blank: _add_blank,
    **dict.fromkeys(TITLES, _add_title),
}


def line_key(event: Event) -> str:
    """What identifies a line: in copies of a file as well, if it has a uuid."""
    return f"\0uuid {event.uuid}" if event.uuid else f"{LINE_KEY}{event.line}"


_SYNTHETIC: Final = "<synthetic>"
_PROVIDERS: Final = {"msg_bdrk_": "bedrock", "msg_vrtx_": "vertex"}
"""The beginning of a response's id says which provider served it."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_TIME_LENGTH: Final = 24
_MAX_TOKENS: Final = 1 << 53
_NO_TOKENS: Final = (0, 0, 0, 0, 0)


ResponseLine = tuple[str | None, str | None, str | None, Usage]
"""What a line says of its response: the ids of message and request, the model, the tokens."""


class ConversationExtractor(Struct):
    """The conversation of a file, or of a sub-agent inside it, as it is extracted. See `ConversationFacts`."""

    events: int = 0
    first_prompt: str | None = None
    last_prompt: str | None = None
    topic: str | None = None
    first_line: int = 0
    last_line: int = 0
    topic_line: int = 0
    task: str | None = None
    models: dict[str, None] = {}
    """The last one used comes last."""
    provider: str | None = None
    started: str | None = None
    ended: str | None = None
    responses: dict[str, Response] = {}
    last: ResponseLine | None = None
    """The last line of a response that counted: an equal one adds nothing."""
    times: list[str] = []
    """Those that `started` and `ended` do not include yet: comparing many at once takes less time."""
    lines: list[list[int]] = []
    prompts: dict[str, dict[str, None]] = {}
    """The uuids and times of each prompt, by its checksum."""
    has_repeat: bool = False
    """True if a prompt since the last response equals an earlier one: it may be a copy."""

    def add_user(self, event: User | Attachment) -> str | None:
        """Add a line in the user's role; returns the prompt if a person typed one. The first and the last are kept."""
        if self.task is None and isinstance(event, User):
            self.task = task_digest(event.message_content)
        prompt = human_prompt(event)
        if prompt is not None and not self._is_copy(event, prompt):
            note_prompt(self, prompt, event.line)
        return prompt

    def _is_copy(self, event: User | Attachment, prompt: str) -> bool:
        """True for a prompt that was there before, at the same time or under the same uuid."""
        checksum = task_digest(prompt) or ""
        places = dict.fromkeys(filter(None, (event.uuid, event.timestamp)))
        known = self.prompts.setdefault(checksum, places)
        if known is not places:
            if event.uuid and not known.keys().isdisjoint(places):
                return True
            self.has_repeat = True
            known |= places
        return False

    def add_response(
        self,
        message: Message | IndexMessage,
        request: str | None,
        time: str | None,
        place: str = "",
        *,
        with_model: bool = True,
    ) -> None:
        """Add the model and the tokens of a response; each of its lines repeats them, or has more.

        A response is identified by the ids of message and request; a line without any is a response of its own, which
        `place` identifies.
        """
        if (model := message.model) == _SYNTHETIC:
            return
        if model and with_model and (self.provider is None or next(reversed(self.models), None) != model):
            self.use_model(model)
            self.provider = self.provider or _provider(message.id, model)
        usage = message.usage
        if usage is None:
            return
        self.add_tokens(response_key(message.id, request, place), _token_counts(usage), model, time)
        if with_model:
            self.last = message.id, request, model, usage

    def add_tokens(self, key: str, tokens: TokenCounts, model: str | None, time: str | None) -> None:
        """Add the tokens of a line: the largest of a response's lines count, and absurd ones count as none."""
        before = self.responses.get(key)
        if before is None:
            is_sound = max(tokens) <= _MAX_TOKENS and min(tokens) >= 0
            self.responses[key] = (tokens if is_sound else _largest(_NO_TOKENS, tokens), model, time)
        elif before[0] != tokens:
            self.responses[key] = (_largest(before[0], tokens), before[1] or model, before[2] or time)

    def use_model(self, model: str) -> None:
        """Note the model that responds from now on."""
        self.models.pop(model, None)
        self.models[model] = None

    def include_times(self, times: list[str]) -> None:
        """Let the conversation span these times. Most are in the same notation and can be compared as text."""
        if not times:
            return
        is_uniform = set(map(len, times)) == {_TIME_LENGTH} and "".join(times).count("Z") == len(times)
        first, last = min(times), max(times)
        if not (is_uniform and _is_time(first) and (last == first or _is_time(last))):
            known = [time for time in map(normalize_time, times) if time]
            if not known:
                return
            first, last = min(known), max(known)
        self.started = first if self.started is None else min(first, self.started)
        self.ended = last if self.ended is None else max(last, self.ended)

    def settle_times(self) -> None:
        """Let the conversation span the times that were only collected."""
        self.include_times(self.times)
        self.times = []

    def merge(self, other: ConversationExtractor) -> None:
        """Add the prompts and models of a later conversation; its times and tokens are counted already."""
        if self.first_prompt is None:
            self.first_prompt, self.first_line = other.first_prompt, other.first_line
        if other.last_prompt is not None:
            self.last_prompt, self.last_line = other.last_prompt, other.last_line
        if self.topic is None:
            self.topic, self.topic_line = other.topic, other.topic_line
        self.task = self.task or other.task
        for model in other.models:
            self.use_model(model)
        self.provider = other.provider or self.provider

    def usage(self) -> TokenTotals:
        """The tokens of all responses."""
        if not self.responses:
            return TokenTotals()
        columns = zip(_NO_TOKENS, *(tokens for tokens, _, _ in self.responses.values()), strict=True)
        return TokenTotals(*(sum(column) for column in islice(columns, len(TokenTotals._fields))))

    def facts(self) -> ConversationFacts:
        """What was said, and when."""
        self.settle_times()
        return ConversationFacts(
            self.events,
            self.first_prompt,
            self.last_prompt if self.last_prompt != self.first_prompt else None,
            self.topic,
            self.task,
            tuple(self.models),
            self.provider,
            self.started,
            self.ended,
            self.usage(),
        )


def response_key(message_id: str | None, request: str | None, place: str = "") -> str:
    """What identifies a response."""
    return f"{message_id or ''} {request or ''}" if message_id or request else place


def _token_counts(usage: Usage) -> TokenCounts:
    """The tokens that a line names. A missing sum of cache writes is computed from its parts."""
    written, parts = usage.cache_creation_input_tokens, usage.cache_creation
    one_hour = parts.one_hour or 0 if parts is not None else 0
    if written is None and parts is not None:
        written = one_hour + (parts.five_minutes or 0)
    read = usage.cache_read_input_tokens
    return usage.input_tokens or 0, usage.output_tokens or 0, written or 0, read or 0, one_hour


def sound_token_counts(usage: Usage) -> TokenCounts:
    """The tokens that a line names, of which absurd ones count as none."""
    return _largest(_NO_TOKENS, _token_counts(usage))


def _largest(before: TokenCounts, tokens: TokenCounts) -> TokenCounts:
    sound = (number if 0 <= number <= _MAX_TOKENS else 0 for number in tokens)
    a, b, c, d, e = map(max, before, sound)
    return a, b, c, d, e


def _provider(message_id: str | None, model: str) -> str | None:
    anthropic = "anthropic" if "claude" in model else None
    return _PROVIDERS.get((message_id or "")[:9], anthropic)


def _is_time(text: str) -> bool:
    try:
        return _TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    except ValueError:
        return False
