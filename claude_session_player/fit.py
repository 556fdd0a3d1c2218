"""Bends a JSON value until it fits a type: numbers become text, unknown types become `Other`.

Every part that fits is kept. It works from the types themselves, so the event model needs no second
description for lines that are slightly off.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from claude_session_player import rawjson
from claude_session_player.events import (
    UNKNOWN_BODY,
    UNKNOWN_NAME,
    AnyEvent,
    Content,
    Event,
    LineMessage,
    Message,
    decode,
)

_UNKNOWN_TAG = "?"
_MISSING_TAG = "(no type)"


def event_of(value: Any) -> Event:
    """The event of a parsed JSON object, whatever is in it.

    >>> event_of({"type": "user", "message": {"content": 7}}).message.content
    '7'
    >>> event_of({"type": "brand-new"}).kind
    'brand-new'
    """
    data = rawjson.dump(value)
    try:
        return _decoded(data)
    except RecursionError:
        return _decoded(rawjson.prune(data.decode()).encode())


def _decoded(data: bytes) -> Event:
    try:
        event: Event = decode(data)
    except msgspec.ValidationError:
        event = decode(rawjson.dump(_fit(msgspec.json.decode(data), _type_of_events())))
    return event


def content_of(value: Any) -> Content:
    """A message's content, or a result's, whatever shape it has.

    >>> content_of([1, "two"])[1].text, content_of({"odd": True})
    ('two', '{"odd":true}')
    """
    content: Content = msgspec.json.decode(rawjson.dump(_fit(value, _type_of_content())), type=Content)
    return content


def _fit(value: Any, wanted: inspect.Type) -> Any:
    """The nearest value of the wanted type; `None` or the empty value where nothing is near."""
    match wanted:
        case inspect.UnionType():
            return _fit_union(value, wanted)
        case inspect.StructType():
            return _fit_struct(value, wanted)
        case inspect.ListType(item_type=item):
            return [_fit(element, item) for element in value] if isinstance(value, list) else []
        case inspect.StrType():
            return value if isinstance(value, str) else rawjson.compact(value)
        case inspect.BoolType():
            return value is True
        case inspect.IntType():
            return int(value) if _is_number(value) else None
        case inspect.FloatType():
            return value if _is_number(value) else None
    return value  # raw JSON takes anything


def _fit_union(value: Any, wanted: inspect.UnionType) -> Any:
    """The value for the option that suits it best; a lone block is taken as a list of one."""
    if value is None and wanted.includes_none:
        return None
    options = {type(option): option for option in wanted.types}
    if options.keys() == {inspect.StructType}:
        return _fit_tagged(value, [option for option in wanted.types if isinstance(option, inspect.StructType)])
    if blocks := options.get(inspect.ListType):
        if isinstance(value, list):
            return _fit(value, blocks)
        if isinstance(value, dict) and "type" in value:
            return _fit([value], blocks)
    order = _NUMBERS_FIRST if _is_number(value) else _TEXT_FIRST
    return _fit(value, next(options[kind] for kind in order if kind in options))


_NUMBERS_FIRST = (inspect.FloatType, inspect.IntType, inspect.StrType, inspect.BoolType, inspect.StructType)
_TEXT_FIRST = (inspect.StrType, inspect.BoolType, inspect.StructType, inspect.FloatType, inspect.IntType)


def _fit_tagged(value: Any, options: list[inspect.StructType]) -> dict[str, Any]:
    """An object for the option that its tag names; anything else is kept as an unknown one."""
    if isinstance(value, str):
        value = {"type": "text", "text": value}
    if not isinstance(value, dict):
        value = {"type": _MISSING_TAG, "value": value}
    tags = {option.tag for option in options}
    tag = value.get("type", "text" if "text" in value and "text" in tags else _MISSING_TAG)
    for option in options:
        if option.tag == tag:
            return _fit_struct(value, option)
    name = tag if isinstance(tag, str) else rawjson.compact(tag)
    unknown = next(option for option in options if option.tag == _UNKNOWN_TAG)
    return _fit_struct(value, unknown) | {UNKNOWN_NAME: name, UNKNOWN_BODY: value}


def _fit_struct(value: Any, wanted: inspect.StructType) -> dict[str, Any]:
    if not isinstance(value, dict):
        value = {"content": value} if wanted.cls in (Message, LineMessage) else {}
    fitted = {f.encode_name: _fit(value[f.encode_name], f.type) for f in wanted.fields if f.encode_name in value}
    if wanted.tag_field is not None:
        fitted[wanted.tag_field] = wanted.tag
    return {key: item for key, item in fitted.items() if item is not None}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


@cache
def _type_of_events() -> inspect.Type:
    return inspect.type_info(AnyEvent)


@cache
def _type_of_content() -> inspect.Type:
    return inspect.type_info(Content)
