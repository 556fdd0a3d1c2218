"""One conversation of a session file, as it is gathered: what people said, who answered, when, and for how much."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import islice
from typing import Final

from msgspec import Struct

from claude_session_player.events import Attachment, Message, Usage, User
from claude_session_player.glances import GlancedMessage
from claude_session_player.linking.agent_records import task_of
from claude_session_player.linking.prompts import human_prompt
from claude_session_player.linking.titles import note_prompt
from claude_session_player.store.facts import Counted, Response, Speech, Tokens
from claude_session_player.times import moment

_SYNTHETIC: Final = "<synthetic>"
_PROVIDERS: Final = {"msg_bdrk_": "bedrock", "msg_vrtx_": "vertex"}
"""The beginning of a response's id tells who served it."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_TIME_LENGTH: Final = 24
_MOST_TOKENS: Final = 1 << 53
_NONE: Final = (0, 0, 0, 0, 0)


Answer = tuple[str | None, str | None, str | None, Usage]
"""What an answer says of itself: the ids of message and request, its model, its tokens."""


class Voice(Struct):
    """The conversation of a file, or that of a sub-agent inside of it. See `Speech`."""

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
            self.task = task_of(event.said)
        prompt = human_prompt(event)
        if prompt is not None and not self._is_copy(event, prompt):
            note_prompt(self, prompt, event.line)
        return prompt

    def _is_copy(self, event: User | Attachment, prompt: str) -> bool:
        """True for a prompt that was there before, at the same time or under the same uuid."""
        words = task_of(prompt) or ""
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
        message: Message | GlancedMessage,
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
            known = [time for time in map(moment, times) if time]
            if not known:
                return
            first, last = min(known), max(known)
        self.started = first if self.started is None else min(first, self.started)
        self.ended = last if self.ended is None else max(last, self.ended)

    def settle_times(self) -> None:
        """Let it span the times that were only set aside."""
        self.widen(self.times)
        self.times = []

    def merge(self, other: Voice) -> None:
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

    def usage(self) -> Tokens:
        """The tokens of all responses."""
        if not self.responses:
            return Tokens()
        columns = zip(_NONE, *(tokens for tokens, _, _ in self.responses.values()), strict=True)
        return Tokens(*(sum(column) for column in islice(columns, len(Tokens._fields))))

    def speech(self) -> Speech:
        """What was said, and when."""
        self.settle_times()
        return Speech(
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
