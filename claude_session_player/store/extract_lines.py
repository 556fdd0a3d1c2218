"""One conversation of a session file, as it is gathered: what people said, who answered, when, and for how much."""

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
from claude_session_player.store.facts import LINE, ConversationFacts, Counted, Response, TokenTotals
from claude_session_player.tools import AGENTS
from claude_session_player.util.times import normalize_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.store.extract import FileExtractor

_TOOL_RESULT: Final = type_tag(ToolResult)
_MENTION: Final = b"agentId:"
"""What a result holds that names a sub-agent in its text."""


# --- at a glance: takes in what there is, and tells whether it is worth to look closer ----------------


def _look_at_answer(digest: FileExtractor, seen: IndexRecord, line: bytes) -> bool:
    message, request, voice = seen.message, seen.request_id, digest.main
    if digest.queue.taken and digest.owns(seen):
        digest.settle_queue()
    if voice.repeats:
        digest.look_for_copies(message.id if message is not None else None, request)
    if message is None or not (message.id or request):
        return True
    blocks = message.content
    is_worth_more = type(blocks) is list and (len(blocks) != 1 or _may_start_agent(blocks[0]))
    if not is_worth_more and voice.last != (message.id, request, message.model, message.usage):  # most say the same
        digest.answers[response_id(message.id, request) or ""] = None
        voice.answer(message, request, seen.timestamp, with_model=digest.owns(seen))
    return is_worth_more


def _may_start_agent(block: IndexBlock) -> bool:
    """True for a call of a tool that starts sub-agents, or that is given a prompt."""
    given = block.input
    return block.name in AGENTS or (type(given) is IndexInput and len(given.prompt) > 0)


def _look_at_user(digest: FileExtractor, seen: IndexRecord, line: bytes) -> bool:
    """Nine lines of ten are results of tools; few of them name a sub-agent."""
    blocks = seen.message.content if seen.message is not None else None
    if type(blocks) is not list or len(blocks) != 1 or blocks[0].type != _TOOL_RESULT:
        return True
    outcome = seen.tool_use_result
    if type(outcome) is IndexAgentResult:
        return outcome.agent_id is not None or blocks[0].tool_use_id in digest.call_ids
    return _MENTION in line


def _look_at_attachment(digest: FileExtractor, seen: IndexRecord, line: bytes) -> bool:
    return seen.attachment is not None and seen.attachment.type == QUEUED


def look_at_progress(digest: FileExtractor, seen: IndexRecord, line: bytes) -> bool:
    """True where a sub-agent reports."""
    return seen.data is not None and seen.data.type == AGENT_PROGRESS


def _look_at_remark(digest: FileExtractor, seen: IndexRecord, line: bytes) -> bool:
    return seen.model is not None


def _look_closer(digest: FileExtractor, seen: IndexRecord, line: bytes) -> bool:
    return True


LOOKS: Final[dict[str | None, Callable[[FileExtractor, IndexRecord, bytes], bool]]] = {
    type_tag(Assistant): _look_at_answer,
    type_tag(User): _look_at_user,
    type_tag(Attachment): _look_at_attachment,
    type_tag(System): _look_at_remark,
    type_tag(Progress): look_at_progress,
    **{type_tag(kind): _look_closer for kind in (*TITLES, Metadata, UsageLine, LegacyMessage, CallLine, ResultLine)},
    type_tag(QueueOperation): _look_closer,
}


# --- one event at a time --------------------------------------------------------------------------


def _take_user(digest: FileExtractor, event: User) -> None:
    content = event.message_content
    if type(content) is list:
        digest.main.events += max(len(content) - 1, 0)
        for block in content:
            if type(block) is ToolResult and block.tool_use_id:
                is_agent_tool = block.tool_use_id in digest.call_ids
                for naming in named_agents(event.tool_use_result, block, is_agent_tool=is_agent_tool):
                    digest.note_agent(block.tool_use_id, naming)


def _take_assistant(digest: FileExtractor, event: Assistant) -> None:
    content = event.message_content
    if type(content) is list:
        digest.main.events += max(len(content) - 1, 0)
        for block in content:
            if type(block) is ToolUse and (block.name in AGENTS or has_prompt(block)):
                digest.calls.append(to_agent_call(block))
                if block.name in AGENTS:
                    digest.call_ids[block.id or ""] = None
    if digest.owns(event):
        digest.settle_queue()
    if digest.main.repeats:
        digest.look_for_copies(event.message.id if event.message is not None else None, event.request_id)
    digest.answers[response_id(event.message.id if event.message is not None else None, event.request_id) or ""] = None
    if event.message is not None:
        is_own, place = digest.owns(event), line_key(event)
        digest.main.answer(event.message, event.request_id, event.timestamp, place, with_model=is_own)


def _take_progress(digest: FileExtractor, event: Progress) -> None:
    if event.data is not None and event.data.agent_id:
        digest.take_report(event, event.data.agent_id)


def _take_title(digest: FileExtractor, event: Title) -> None:
    note_title(digest.titles, event.kind, event.title)


def _take_queue(digest: FileExtractor, event: QueueOperation) -> None:
    digest.queue.operate(event)


def _take_model(digest: FileExtractor, event: System | Metadata) -> None:
    if event.model:
        digest.main.use(event.model)


def _take_usage(digest: FileExtractor, event: UsageLine) -> None:
    tokens = (
        event.input_tokens or 0,
        event.output_tokens or 0,
        event.cache_creation_tokens or 0,
        event.cache_read_tokens or 0,
        0,
    )
    model = next(reversed(digest.main.models), None)
    digest.main.count(line_key(event), tokens, model, event.timestamp)


def _take_malformed(digest: FileExtractor, event: Malformed) -> None:
    digest.malformed += 1


def _take_blank(digest: FileExtractor, event: Blank) -> None:
    digest.main.events -= 1


TAKERS: Final[dict[type[Event], Callable[[FileExtractor, Any], None]]] = {
    User: _take_user,
    Assistant: _take_assistant,
    Progress: _take_progress,
    QueueOperation: _take_queue,
    System: _take_model,
    Metadata: _take_model,
    UsageLine: _take_usage,
    Malformed: _take_malformed,
    TooLong: _take_malformed,
    Blank: _take_blank,
    **dict.fromkeys(TITLES, _take_title),
}


def line_key(event: Event) -> str:
    """What a line is known by: in copies of a file too, where it has a uuid."""
    return f"\0uuid {event.uuid}" if event.uuid else f"{LINE}{event.line}"


_SYNTHETIC: Final = "<synthetic>"
_PROVIDERS: Final = {"msg_bdrk_": "bedrock", "msg_vrtx_": "vertex"}
"""The beginning of a response's id tells who served it."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_TIME_LENGTH: Final = 24
_MOST_TOKENS: Final = 1 << 53
_NONE: Final = (0, 0, 0, 0, 0)


Answer = tuple[str | None, str | None, str | None, Usage]
"""What an answer says of itself: the ids of message and request, its model, its tokens."""


class ConversationExtractor(Struct):
    """The conversation of a file, or that of a sub-agent inside of it. See `ConversationFacts`."""

    events: int = 0
    first_prompt: str | None = None
    last_prompt: str | None = None
    topic: str | None = None
    first_line: int = 0
    last_line: int = 0
    topic_line: int = 0
    task: str | None = None
    models: dict[str, None] = {}
    """The last one used stands last."""
    provider: str | None = None
    started: str | None = None
    ended: str | None = None
    responses: dict[str, Response] = {}
    last: Answer | None = None
    """The last answer that counted: one that says the same of itself need not be looked at."""
    times: list[str] = []
    """Those that `started` and `ended` do not know yet: to look at many at once takes less time."""
    lines: list[list[int]] = []
    spoken: dict[str, dict[str, None]] = {}
    """Of each prompt, by a digest of it, the uuids and times under which it stands there."""
    repeats: bool = False
    """True where a prompt since the last answer says what another one said: it may be a copy."""

    def hear(self, event: User | Attachment) -> str | None:
        """A line in a user's place; gives what a person typed there. Of that, only the first and the last are kept."""
        if self.task is None and isinstance(event, User):
            self.task = task_digest(event.message_content)
        prompt = human_prompt(event)
        if prompt is not None and not self._is_copy(event, prompt):
            note_prompt(self, prompt, event.line)
        return prompt

    def _is_copy(self, event: User | Attachment, prompt: str) -> bool:
        """True for a prompt that was there before, at the same time or under the same uuid."""
        words = task_digest(prompt) or ""
        places = dict.fromkeys(filter(None, (event.uuid, event.timestamp)))
        known = self.spoken.setdefault(words, places)
        if known is not places:
            if event.uuid and not known.keys().isdisjoint(places):
                return True
            self.repeats = True
            known |= places
        return False

    def answer(
        self,
        message: Message | IndexMessage,
        request: str | None,
        time: str | None,
        place: str = "",
        *,
        with_model: bool = True,
    ) -> None:
        """The model and the tokens of an answer; each line of a response repeats them, or has more.

        A response is known by the ids of message and request; an answer without any, by its place, is one by itself.
        """
        if (model := message.model) == _SYNTHETIC:
            return
        if model and with_model and (self.provider is None or next(reversed(self.models), None) != model):
            self.use(model)
            self.provider = self.provider or _provider(message.id, model)
        usage = message.usage
        if usage is None:
            return
        self.count(response_key(message.id, request, place), _counted(usage), model, time)
        if with_model:
            self.last = message.id, request, model, usage

    def count(self, key: str, tokens: Counted, model: str | None, time: str | None) -> None:
        """A line of a response: the most that any of its lines has is what counts. Nonsense counts as nothing."""
        before = self.responses.get(key)
        if before is None:
            is_sound = max(tokens) <= _MOST_TOKENS and min(tokens) >= 0
            self.responses[key] = (tokens if is_sound else _most(_NONE, tokens), model, time)
        elif before[0] != tokens:
            self.responses[key] = (_most(before[0], tokens), before[1] or model, before[2] or time)

    def use(self, model: str) -> None:
        """A model that answers from now on."""
        self.models.pop(model, None)
        self.models[model] = None

    def widen(self, times: list[str]) -> None:
        """Let the conversation span these times. Most are written alike, and can be compared as text."""
        if not times:
            return
        alike = set(map(len, times)) == {_TIME_LENGTH} and "".join(times).count("Z") == len(times)
        first, last = min(times), max(times)
        if not (alike and _is_time(first) and (last == first or _is_time(last))):
            known = [time for time in map(normalize_time, times) if time]
            if not known:
                return
            first, last = min(known), max(known)
        self.started = first if self.started is None else min(first, self.started)
        self.ended = last if self.ended is None else max(last, self.ended)

    def settle_times(self) -> None:
        """Let it span the times that were only set aside."""
        self.widen(self.times)
        self.times = []

    def merge(self, other: ConversationExtractor) -> None:
        """Add what was said in a conversation that came later; its times and tokens are known already."""
        if self.first_prompt is None:
            self.first_prompt, self.first_line = other.first_prompt, other.first_line
        if other.last_prompt is not None:
            self.last_prompt, self.last_line = other.last_prompt, other.last_line
        if self.topic is None:
            self.topic, self.topic_line = other.topic, other.topic_line
        self.task = self.task or other.task
        for model in other.models:
            self.use(model)
        self.provider = other.provider or self.provider

    def usage(self) -> TokenTotals:
        """The tokens of all responses."""
        if not self.responses:
            return TokenTotals()
        columns = zip(_NONE, *(tokens for tokens, _, _ in self.responses.values()), strict=True)
        return TokenTotals(*(sum(column) for column in islice(columns, len(TokenTotals._fields))))

    def speech(self) -> ConversationFacts:
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
    """What a response is known by."""
    return f"{message_id or ''} {request or ''}" if message_id or request else place


def _counted(usage: Usage) -> Counted:
    """What a line tells of its response. Where not all cache writes are told, they are the sum of their parts."""
    written, parts = usage.cache_creation_input_tokens, usage.cache_creation
    one_hour = parts.one_hour or 0 if parts is not None else 0
    if written is None and parts is not None:
        written = one_hour + (parts.five_minutes or 0)
    read = usage.cache_read_input_tokens
    return usage.input_tokens or 0, usage.output_tokens or 0, written or 0, read or 0, one_hour


def _most(before: Counted, tokens: Counted) -> Counted:
    sound = (number if 0 <= number <= _MOST_TOKENS else 0 for number in tokens)
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
