"""Which records are copies of earlier ones: they are one event, and the first one counts.

A resumed or forked session keeps the uuids of what it copies. Some programs rewrite a conversation that they resume,
with other uuids and times, and sometimes a record for each block: those are recognised by the ids of calls and
messages. A prompt has no such id; it is a copy if the response after it is a copy that followed the same prompt.

Claude Code 2.1.232 records `/compact` as it was typed, and again in tags when it was run, with another uuid and time.
Both have the same `promptId`.

Copies are rare, so records are compared a batch at a time. `_mark_each` compares them one by one: the reference that a
property in tests/test_copies.py holds against the batches.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from itertools import chain, islice, repeat
from typing import Any, Final

from msgspec import Raw

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import (
    AnyBlock,
    Document,
    Image,
    RedactedThinking,
    ServerToolUse,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from claude_session_player.format.content import join_texts, message_content
from claude_session_player.format.events import COMPACTION, QUEUED, Assistant, Attachment, Event, System, User
from claude_session_player.linking.prompts import TypedCommands, is_injected

_BATCH: Final = 200
"""The number of records that are compared together; usually none of them is a copy."""
_SAMPLE: Final = 64
"""The number of bytes at both ends by which a long output is compared with others of the same call."""
_end_at: Final = struct.Struct(f"{_SAMPLE}s").unpack_from
_NO_PROMPTS: Final[list[str]] = []
_COMMAND_STARTS: Final = ("/", "<")

Keys = tuple[int, ...]
"""Hashes that identify a block: a block that shares any of them is a copy."""


class CopyDetector:
    """Takes the records of a file in order, and says which are copies; `known` are uuids of other sessions' events."""

    def __init__(self, known: Set[str | None] = frozenset()) -> None:
        self._known = known
        self._seen: set[int] = set()
        self._uuids: set[str | None] = set()
        self._prompts: set[str] = set()
        """All prompts; few of them occur twice."""
        self._recent_prompts: list[str] = []
        """The prompts since the last response."""
        self._prompts_before: dict[str, list[str]] = {}
        """The prompts before each response, since the one before it."""
        self._typed = TypedCommands()

    def mark(self, events: Iterable[Event]) -> Iterator[tuple[Event, bool]]:
        """Each event, and whether it is a copy."""
        for batch, marks in self.batches(events):
            yield from zip(batch, marks or repeat(False), strict=False)

    def find_repeats(self, events: Iterable[Event]) -> Iterator[Event]:
        """Those of some later records that repeat earlier ones by themselves, whatever follows. They are not added."""
        seen: set[int] = set()
        typed = self._typed.copy()
        for event in events:
            keys = _keys(event)
            if typed.is_run(event) or all(not (self._seen.isdisjoint(one) and seen.isdisjoint(one)) for one in keys):
                yield event
            seen.update(chain.from_iterable(keys))

    def batches(self, events: Iterable[Event]) -> Iterator[tuple[list[Event], list[bool] | None]]:
        """The events in batches, and which of them are copies; `None` if none of them is."""
        coming, marked = iter(events), deque[tuple[Event, bool]]()
        while (batch := list(islice(coming, max(_BATCH - len(marked), 0)))) or marked:
            is_new = not batch or self._add_if_new(batch)
            if is_new and not marked:
                yield batch, None
                continue
            marked += zip(batch, repeat(False), strict=False) if is_new else self._mark_each(batch, coming)
            part = [marked.popleft() for _ in range(min(_BATCH, len(marked)))]
            yield [event for event, _ in part], [is_copy for _, is_copy in part]

    def _add_if_new(self, batch: Sequence[Event]) -> bool:
        """Add a batch of records, if each of them is certainly new; else add none, and return False."""
        if self._known:
            return False
        keys: list[int] = []
        prompts: list[str] = []
        uuids: list[str] = []
        recent, before = self._recent_prompts.copy(), dict[str, list[str]]()
        for event in batch:
            kind = type(event)
            if kind is Assistant or kind is User:
                message, response = event.message, None  # type: ignore[attr-defined]
                content = event.content if message is None else message.content  # type: ignore[attr-defined]
                if kind is Assistant:
                    response = (None if message is None else message.id) or event.request_id  # type: ignore[attr-defined]
                    if response:
                        before.setdefault(response, recent or _NO_PROMPTS)
                    if recent:
                        recent = []
                if type(content) is not list or len(content) != 1:
                    keys += chain.from_iterable(_keys(event))
                else:  # almost always: what `_keys` does, in less time
                    block = content[0]
                    block_type = type(block)
                    if block_type is ToolUse and block.id:
                        keys.append(call_key(block))
                    elif block_type is ToolResult and block.tool_use_id:
                        keys.append(hash((block.tool_use_id, _sample(block.content))))
                        continue
                    else:
                        keys += _KEYS.get(block_type, _type_keys)(block, _origin(event), response)
                if kind is User and (text := _typed_text(event)) is not None:
                    prompts.append(text)
                    recent.append(text)
            elif kind is Attachment:
                attached = event.attachment  # type: ignore[attr-defined]
                is_typed = attached is not None and attached.type == QUEUED  # few are
                if is_typed and (text := _typed_text(event)) is not None:
                    prompts.append(text)
                    recent.append(text)
                    keys += chain.from_iterable(_keys(event))
                elif event.uuid is not None:
                    uuids.append(event.uuid)
            elif kind is System:
                keys += _notice_keys(event)  # type: ignore[arg-type]
        added: tuple[tuple[list[Any], set[Any], set[Any]], ...] = (
            (keys, set(keys), self._seen),
            (prompts, set(prompts), self._prompts),
            (uuids, set(uuids), self._uuids),
        )
        if any(len(new) != len(unique) or not unique.isdisjoint(earlier) for new, unique, earlier in added):
            return False
        if any(text[:1] in _COMMAND_STARTS for text in prompts) and not self._add_commands(batch):
            return False
        for _, unique, earlier in added:
            earlier |= unique
        self._recent_prompts = recent
        for response, prompts in before.items():
            self._prompts_before.setdefault(response, prompts)
        return True

    def _add_commands(self, batch: Sequence[Event]) -> bool:
        """Add the commands of a batch, unless one of them is a copy: then none, and return False."""
        typed = self._typed.copy()
        if any(typed.is_run(event) for event in batch):
            return False
        self._typed = typed
        return True

    def _mark_each(self, batch: Iterable[Event], coming: Iterator[Event]) -> Iterator[tuple[Event, bool]]:
        """The events of a batch one by one, and those after it that had to be read ahead.

        After a prompt that occurs twice, events up to the next response are read ahead.
        """
        waiting = iter(batch)
        everything, ahead = chain(waiting, coming), deque[Event]()
        for event in waiting:
            yield event, self._is_copy(event, everything, ahead)
            while ahead:
                later = ahead.popleft()
                yield later, self._is_copy(later, everything, ahead)

    def _is_copy(self, event: Event, coming: Iterator[Event], ahead: deque[Event]) -> bool:
        kind = type(event)
        if kind is Assistant:
            return self._add_response(event)  # type: ignore[arg-type]
        if kind is User or kind is Attachment:
            text = _typed_text(event)
            if text is not None:
                return self._add_prompt(event, text, coming, ahead)
            return self._add_blocks(event) if kind is User else self._add_uuid(event)
        return kind is System and self._add_notice(event)  # type: ignore[arg-type]

    def _add_response(self, event: Assistant) -> bool:
        is_copy = self._add_blocks(event)
        if (response := _response(event)) is not None:
            self._prompts_before.setdefault(response, self._recent_prompts)
        self._recent_prompts = []
        return is_copy

    def _add_prompt(self, event: Event, prompt: str, coming: Iterator[Event], ahead: deque[Event]) -> bool:
        is_run = self._typed.is_run(event)
        is_copy = self._add_blocks(event) or is_run
        if not is_copy and prompt in self._prompts:
            is_copy = self._leads_to_copy(prompt, coming, ahead)
        self._prompts.add(prompt)
        self._recent_prompts.append(prompt)
        return is_copy

    def _leads_to_copy(self, prompt: str, coming: Iterator[Event], ahead: deque[Event]) -> bool:
        """True if the next response is a copy, and its original followed the same prompts."""
        response = ahead[-1] if ahead and type(ahead[-1]) is Assistant else None  # nothing after it was read ahead
        while response is None and (event := next(coming, None)) is not None:
            ahead.append(event)
            response = event if type(event) is Assistant else None
        if response is None or (id := _response(response)) is None:
            return False
        before, prompts = self._prompts_before.get(id, []), [prompt]
        for event in ahead:
            if event is response or len(prompts) > len(before):
                break
            if (text := _typed_text(event)) is not None:
                prompts.append(text)
        if before[-len(prompts) :] != prompts:
            return False
        return self._is_known(response) or all(not self._seen.isdisjoint(keys) for keys in _keys(response))

    def _add_notice(self, event: System) -> bool:
        keys = _notice_keys(event)
        if self._is_known(event) or not self._seen.isdisjoint(keys):
            return True
        self._seen.update(keys)
        return False

    def _add_blocks(self, event: Event) -> bool:
        """Add the blocks of a record; True if all of them are copies."""
        if self._is_known(event):
            return True
        seen, is_copy = self._seen, True
        for keys in _keys(event):
            if seen.isdisjoint(keys):
                is_copy = False
            seen.update(keys)
        return is_copy

    def _add_uuid(self, event: Event) -> bool:
        """Add a record without content; True if its uuid is known."""
        uuid = event.uuid
        if uuid is None or (uuid not in self._uuids and not self._is_known(event)):
            self._uuids.add(uuid)
            return False
        return True

    def _is_known(self, event: Event) -> bool:
        return bool(self._known) and event.uuid is not None and event.uuid in self._known


def _typed_text(event: Event) -> str | None:
    """The text of a record that may be a person's prompt; whether it is one does not matter here."""
    if type(event) is User:
        said = None if is_injected(event) else event.message_content
    else:
        attached = event.attachment if type(event) is Attachment else None
        said = attached.prompt if attached is not None and attached.type == QUEUED else None
    if isinstance(said, list):
        return join_texts(said) if said and not any(type(block) is ToolResult for block in said) else None
    return said or None


def drop_copies(events: Iterable[Event]) -> Iterator[Event]:
    """The events without copies."""
    return (event for event, is_copy in CopyDetector().mark(events) if not is_copy)


def response_id(message_id: str | None, request_id: str | None) -> str | None:
    """The id by which copies of a response are recognised: that of the message, else that of the request."""
    return message_id or request_id or None


def _response(event: Assistant) -> str | None:
    return response_id(event.message.id if event.message is not None else None, event.request_id)


def _keys(event: Event) -> Sequence[Keys]:
    """The keys of each block of a record; none for a block that is always new."""
    content, uuid, origin = message_content(event), event.uuid, _origin(event)
    response = _response(event) if type(event) is Assistant else None
    if type(content) is list:
        if len(content) == 1:  # almost always
            return (_KEYS.get(type(content[0]), _type_keys)(content[0], origin, response),)
        if content:
            return [_KEYS.get(type(block), _type_keys)(block, origin, response) for block in content]
    elif content:
        return (_text_keys(Text(content), origin, response),)  # type: ignore[arg-type]
    return ((hash((uuid, None)),),) if uuid is not None else ((),)


def _notice_keys(event: System) -> list[int]:
    if event.uuid is None:
        return []
    content = event.subtype, bytes(event.content), bytes(event.error)
    keys = [hash((event.uuid, content))]
    if event.timestamp and (event.content or event.error or event.subtype == COMPACTION):
        keys.append(hash((event.timestamp, content)))
    return keys


def _origin(event: Event) -> _Origin:
    uuid, time = event.uuid, event.timestamp
    return () if uuid is None else (time, uuid) if time else (uuid,)


_Origin = tuple[Hashable, ...]
"""The time and the uuid of a record: a copy shares one of them. A record without uuid is always new."""


def _text_keys(block: Text, origin: _Origin, response: str | None) -> Keys:
    text = block.text
    if response is None or not text or text.isspace():
        return tuple([hash((one, text)) for one in origin])
    return (hash((response, text)), hash((origin[0], text))) if origin else (hash((response, text)),)


def _thinking_keys(block: Thinking, origin: _Origin, response: str | None) -> Keys:
    thinking = _sample(block.thinking)
    if response is None or len(block.thinking) <= len('""'):
        return tuple([hash((one, thinking)) for one in origin])
    return (hash((response, thinking)), hash((origin[0], thinking))) if origin else (hash((response, thinking)),)


def call_key(block: ToolUse) -> int:
    """The key of a call with an id; it includes the input, because some providers reuse an id for another call."""
    given, sizes = block.input, 0
    if type(given) is dict:
        for value in given.values():
            if type(value) is str:
                sizes = hash((sizes, len(value)))  # a number of constant size, however many values there are
    return hash((block.id, block.name, sizes))


def _call_keys(block: ToolUse, origin: _Origin, response: str | None) -> Keys:
    if block.id:
        return (call_key(block),)
    given = lenient_json.compact(block.input)
    return tuple(hash((one, block.name, given)) for one in origin)


def _result_keys(block: ToolResult, origin: _Origin, response: str | None) -> Keys:
    if block.tool_use_id:
        return (hash((block.tool_use_id, _sample(block.content))),)
    return tuple(hash((one, _sample(block.content))) for one in origin)


def _picture_keys(block: Image | Document, origin: _Origin, response: str | None) -> Keys:
    return tuple(hash((one, _sample(block.source))) for one in origin)


def _unknown_keys(block: UnknownBlock, origin: _Origin, response: str | None) -> Keys:
    body = lenient_json.compact(block.body)
    return tuple(hash((one, block.kind, body)) for one in origin)


def _type_keys(block: AnyBlock, origin: _Origin, response: str | None) -> Keys:
    return tuple(hash((one, block.kind)) for one in origin)


def _sample(raw: Raw) -> Hashable:
    size = len(raw)
    return bytes(raw) if size <= 2 * _SAMPLE else (size, _end_at(raw), _end_at(raw, size - _SAMPLE))


_KEYS: Final[dict[type[AnyBlock], Callable[[Any, _Origin, str | None], Keys]]] = {
    Text: _text_keys,
    Thinking: _thinking_keys,
    RedactedThinking: _type_keys,
    ToolUse: _call_keys,
    ServerToolUse: _call_keys,
    ToolResult: _result_keys,
    Image: _picture_keys,
    Document: _picture_keys,
    UnknownBlock: _unknown_keys,
}
"""What identifies a block, by its type."""
