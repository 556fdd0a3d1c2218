"""Which records say again what was said before: copies are one event, and the first one counts.

A resumed or forked session keeps the uuids of what it copies. Some programs write a resumed conversation anew, with
other uuids and times, and sometimes a record for each block: those are known by the ids of calls and messages. A
prompt has no such id; it is a copy where the response behind it is a copy that had the same prompt.
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
from claude_session_player.linking.prompts import is_injected

_AT_ONCE: Final = 200
"""So many records are looked at together: most of the time, none of them is a copy."""
_SAMPLE: Final = 64
"""Of a long output, so many bytes at both ends tell it from others of the same call."""
_end_at: Final = struct.Struct(f"{_SAMPLE}s").unpack_from
_NO_PROMPTS: Final[list[str]] = []

Keys = tuple[int, ...]
"""What a block is known by: a block with any of these is the same."""


class CopyDetector:
    """The records that were seen so far, in the order of the file; `known` are events of other sessions."""

    def __init__(self, known: Set[str | None] = frozenset()) -> None:
        self._known = known
        self._seen: set[int] = set()
        self._uuids: set[str | None] = set()
        self._prompts: set[str] = set()
        """All prompts; few of them occur twice."""
        self._turn: list[str] = []
        """The prompts since the last response."""
        self._before: dict[str, list[str]] = {}
        """Those before each response."""

    def mark(self, events: Iterable[Event]) -> Iterator[tuple[Event, bool]]:
        """Each event, and whether it is a copy."""
        for some, marks in self.batches(events):
            yield from zip(some, marks or repeat(False), strict=False)

    def batches(self, events: Iterable[Event]) -> Iterator[tuple[list[Event], list[bool] | None]]:
        """The events, so many at a time, and which of them are copies; `None` stands for none of them."""
        coming, marked = iter(events), deque[tuple[Event, bool]]()
        while (some := list(islice(coming, max(_AT_ONCE - len(marked), 0)))) or marked:
            is_new = not some or self._take_if_new(some)
            if is_new and not marked:
                yield some, None
                continue
            marked += zip(some, repeat(False), strict=False) if is_new else self._mark_each(some, coming)
            part = [marked.popleft() for _ in range(min(_AT_ONCE, len(marked)))]
            yield [event for event, _ in part], [is_copy for _, is_copy in part]

    def _take_if_new(self, some: Sequence[Event]) -> bool:
        """Take all of some records in one go, where each of them is new for certain; else none, and return False."""
        if self._known:
            return False
        keys: list[int] = []
        prompts: list[str] = []
        uuids: list[str] = []
        turn, before = self._turn.copy(), dict[str, list[str]]()
        for event in some:
            kind = type(event)
            if kind is Assistant or kind is User:
                message, response = event.message, None  # type: ignore[attr-defined]
                said = event.content if message is None else message.content  # type: ignore[attr-defined]
                if kind is Assistant:
                    response = (None if message is None else message.id) or event.request_id  # type: ignore[attr-defined]
                    if response:
                        before.setdefault(response, turn or _NO_PROMPTS)
                    if turn:
                        turn = []
                if type(said) is not list or len(said) != 1:
                    keys += chain.from_iterable(_keys(event))
                else:  # almost always: what `_keys` does, in less time
                    block = said[0]
                    what = type(block)
                    if what is ToolUse and block.id:
                        keys.append(call_key(block))
                    elif what is ToolResult and block.tool_use_id:
                        keys.append(hash((block.tool_use_id, _sample(block.content))))
                        continue
                    else:
                        keys += _KEYS.get(what, _of_kind)(block, _place(event), response)
                if kind is User and (words := _typed(event)) is not None:
                    prompts.append(words)
                    turn.append(words)
            elif kind is Attachment:
                attached = event.attachment  # type: ignore[attr-defined]
                is_typed = attached is not None and attached.type == QUEUED  # a few of many
                if is_typed and (words := _typed(event)) is not None:
                    prompts.append(words)
                    turn.append(words)
                    keys += chain.from_iterable(_keys(event))
                elif event.uuid is not None:
                    uuids.append(event.uuid)
            elif kind is System:
                keys += _keys_of_remark(event)  # type: ignore[arg-type]
        lots: tuple[tuple[list[Any], set[Any], set[Any]], ...] = (
            (keys, set(keys), self._seen),
            (prompts, set(prompts), self._prompts),
            (uuids, set(uuids), self._uuids),
        )
        if any(len(lot) != len(unique) or not unique.isdisjoint(earlier) for lot, unique, earlier in lots):
            return False
        for _, unique, earlier in lots:
            earlier |= unique
        self._turn = turn
        for response, prompts in before.items():
            self._before.setdefault(response, prompts)
        return True

    def _mark_each(self, some: Iterable[Event], coming: Iterator[Event]) -> Iterator[tuple[Event, bool]]:
        """Some events, one by one, and those behind them that are looked at for them.

        Behind a prompt that occurs twice, it is looked up to the response.
        """
        waiting = iter(some)
        everything, ahead = chain(waiting, coming), deque[Event]()
        for event in waiting:
            yield event, self._is_copy(event, everything, ahead)
            while ahead:
                later = ahead.popleft()
                yield later, self._is_copy(later, everything, ahead)

    def _is_copy(self, event: Event, coming: Iterator[Event], ahead: deque[Event]) -> bool:
        kind = type(event)
        if kind is Assistant:
            return self._take_response(event)  # type: ignore[arg-type]
        if kind is User or kind is Attachment:
            words = _typed(event)
            if words is not None:
                return self._take_prompt(event, words, coming, ahead)
            return self._has(event) if kind is User else self._has_uuid(event)
        return kind is System and self._take_remark(event)  # type: ignore[arg-type]

    def _take_response(self, event: Assistant) -> bool:
        is_copy = self._has(event)
        if (response := _response(event)) is not None:
            self._before.setdefault(response, self._turn)
        self._turn = []
        return is_copy

    def _take_prompt(self, event: Event, prompt: str, coming: Iterator[Event], ahead: deque[Event]) -> bool:
        is_copy = self._has(event)
        if not is_copy and prompt in self._prompts:
            is_copy = self._leads_to_copy(prompt, coming, ahead)
        self._prompts.add(prompt)
        self._turn.append(prompt)
        return is_copy

    def _leads_to_copy(self, prompt: str, coming: Iterator[Event], ahead: deque[Event]) -> bool:
        """True if the next response is a copy, and had the same prompts when it was new."""
        response = ahead[-1] if ahead and type(ahead[-1]) is Assistant else None  # no more was ever looked at
        while response is None and (event := next(coming, None)) is not None:
            ahead.append(event)
            response = event if type(event) is Assistant else None
        if response is None or (id := _response(response)) is None:
            return False
        before, prompts = self._before.get(id, []), [prompt]
        for event in ahead:
            if event is response or len(prompts) > len(before):
                break
            if (words := _typed(event)) is not None:
                prompts.append(words)
        if before[-len(prompts) :] != prompts:
            return False
        return self._is_known(response) or all(not self._seen.isdisjoint(keys) for keys in _keys(response))

    def _take_remark(self, event: System) -> bool:
        keys = _keys_of_remark(event)
        if self._is_known(event) or not self._seen.isdisjoint(keys):
            return True
        self._seen.update(keys)
        return False

    def _has(self, event: Event) -> bool:
        """True if all that a record says was said before; if not, it was from now on."""
        if self._is_known(event):
            return True
        seen, is_copy = self._seen, True
        for keys in _keys(event):
            if seen.isdisjoint(keys):
                is_copy = False
            seen.update(keys)
        return is_copy

    def _has_uuid(self, event: Event) -> bool:
        """The same of a record that says nothing, and is known by its uuid alone."""
        uuid = event.uuid
        if uuid is None or (uuid not in self._uuids and not self._is_known(event)):
            self._uuids.add(uuid)
            return False
        return True

    def _is_known(self, event: Event) -> bool:
        return bool(self._known) and event.uuid is not None and event.uuid in self._known


def _typed(event: Event) -> str | None:
    """The words of a line that may be a person's prompt: what they say is all that counts here, not what they are."""
    if type(event) is User:
        said = None if is_injected(event) else event.message_content
    else:
        attached = event.attachment if type(event) is Attachment else None
        said = attached.prompt if attached is not None and attached.type == QUEUED else None
    if isinstance(said, list):
        return join_texts(said) if said and not any(type(block) is ToolResult for block in said) else None
    return said or None


def drop_copies(events: Iterable[Event]) -> Iterator[Event]:
    """The events that are no copies."""
    return (event for event, is_copy in CopyDetector().mark(events) if not is_copy)


def response_id(message_id: str | None, request_id: str | None) -> str | None:
    """What a response is known by where it may be a copy: the message's id, else the request's."""
    return message_id or request_id or None


def _response(event: Assistant) -> str | None:
    return response_id(event.message.id if event.message is not None else None, event.request_id)


def _keys(event: Event) -> Sequence[Keys]:
    """What each block of a record is known by; nothing for one that is always new."""
    said, uuid, place = message_content(event), event.uuid, _place(event)
    response = _response(event) if type(event) is Assistant else None
    if type(said) is list:
        if len(said) == 1:  # almost always
            return (_KEYS.get(type(said[0]), _of_kind)(said[0], place, response),)
        if said:
            return [_KEYS.get(type(block), _of_kind)(block, place, response) for block in said]
    elif said:
        return (_of_text(Text(said), place, response),)  # type: ignore[arg-type]
    return ((hash((uuid, None)),),) if uuid is not None else ((),)


def _keys_of_remark(event: System) -> list[int]:
    if event.uuid is None:
        return []
    said = event.subtype, bytes(event.content), bytes(event.error)
    keys = [hash((event.uuid, said))]
    if event.timestamp and (event.content or event.error or event.subtype == COMPACTION):
        keys.append(hash((event.timestamp, said)))
    return keys


def _place(event: Event) -> _Place:
    uuid, time = event.uuid, event.timestamp
    return () if uuid is None else (time, uuid) if time else (uuid,)


_Place = tuple[Hashable, ...]
"""The time and the uuid of a record: a copy has one of them. A record without uuid is always new."""


def _of_text(block: Text, place: _Place, response: str | None) -> Keys:
    words = block.text
    if response is None or not words or words.isspace():
        return tuple([hash((one, words)) for one in place])
    return (hash((response, words)), hash((place[0], words))) if place else (hash((response, words)),)


def _of_thinking(block: Thinking, place: _Place, response: str | None) -> Keys:
    thought = _sample(block.thinking)
    if response is None or len(block.thinking) <= len('""'):
        return tuple([hash((one, thought)) for one in place])
    return (hash((response, thought)), hash((place[0], thought))) if place else (hash((response, thought)),)


def call_key(block: ToolUse) -> int:
    """What a call with an id is known by: some providers use an id again, for another call."""
    given, sizes = block.input, 0
    if type(given) is dict:
        for value in given.values():
            if type(value) is str:
                sizes = hash((sizes, len(value)))  # a number that stays small, however many there are
    return hash((block.id, block.name, sizes))


def _of_call(block: ToolUse, place: _Place, response: str | None) -> Keys:
    if block.id:
        return (call_key(block),)
    given = lenient_json.compact(block.input)
    return tuple(hash((one, block.name, given)) for one in place)


def _of_result(block: ToolResult, place: _Place, response: str | None) -> Keys:
    if block.tool_use_id:
        return (hash((block.tool_use_id, _sample(block.content))),)
    return tuple(hash((one, _sample(block.content))) for one in place)


def _of_picture(block: Image | Document, place: _Place, response: str | None) -> Keys:
    return tuple(hash((one, _sample(block.source))) for one in place)


def _of_other(block: UnknownBlock, place: _Place, response: str | None) -> Keys:
    body = lenient_json.compact(block.body)
    return tuple(hash((one, block.kind, body)) for one in place)


def _of_kind(block: AnyBlock, place: _Place, response: str | None) -> Keys:
    return tuple(hash((one, block.kind)) for one in place)


def _sample(raw: Raw) -> Hashable:
    size = len(raw)
    return bytes(raw) if size <= 2 * _SAMPLE else (size, _end_at(raw), _end_at(raw, size - _SAMPLE))


_KEYS: Final[dict[type[AnyBlock], Callable[[Any, _Place, str | None], Keys]]] = {
    Text: _of_text,
    Thinking: _of_thinking,
    RedactedThinking: _of_kind,
    ToolUse: _of_call,
    ServerToolUse: _of_call,
    ToolResult: _of_result,
    Image: _of_picture,
    Document: _of_picture,
    UnknownBlock: _of_other,
}
"""What tells a block from others."""
