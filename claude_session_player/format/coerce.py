"""Coerces JSON values to the types of the event model: numbers become text, unknown types become `UnknownRecord`.

Every part that fits is kept. Coercion is derived from the types themselves, so that the event model needs no second
description for lines that are slightly off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import DECODE_ERRORS, UNKNOWN_BODY, UNKNOWN_NAME, Content, Message
from claude_session_player.format.events import AnyEvent, Event, LineMessage, decode

Fitter = Callable[[Any], Any]
"""Coerces a value to one type; built once for each."""

_UNKNOWN_TAG = "?"
_MISSING_TAG = "(no type)"


def coerce_event(value: Any) -> Event:
    """The event of a parsed JSON object, whatever it contains.

    >>> coerce_event({"type": "user", "message": {"content": 7}}).message.content
    '7'
    >>> coerce_event({"type": "brand-new"}).kind
    'brand-new'
    """
    data = lenient_json.dump(value)
    try:
        return _decoded(data)
    except RecursionError:
        return _decoded(lenient_json.prune(data.decode()).encode())


def _decoded(data: bytes) -> Event:
    try:
        event: Event = decode(data)
    except msgspec.ValidationError:
        event = decode(lenient_json.dump(_fit_event()(msgspec.json.decode(data))))
    return event


def coerce_line(line: bytes) -> Event | None:
    """The event of a line that the decoder refused, if it is exactly one JSON object; else `None`.

    >>> coerce_line(b'{"type": "user", "message": {"content": 7}}').message.content, coerce_line(b'{"type": "user"} x')
    ('7', None)
    """
    try:
        value = msgspec.json.decode(line)
        event: Event = decode(lenient_json.dump(_fit_event()(value)))
    except DECODE_ERRORS:
        return None
    return event if isinstance(value, dict) else None


def coerce_content(value: Any) -> Content:
    """The content of a message or a tool result, whatever its shape.

    >>> coerce_content([1, "two"])[1].text, coerce_content({"odd": True})
    ('two', '{"odd":true}')
    """
    content: Content = msgspec.json.decode(lenient_json.dump(_fit_content()(value)), type=Content)
    return content


def _fitter(wanted: inspect.Type) -> Fitter:
    """A function that returns the nearest value of a type; `None` or an empty value if nothing is near."""
    match wanted:
        case inspect.UnionType():
            return _union_fitter(wanted)
        case inspect.StructType():
            return _struct_fitter(wanted)
        case inspect.ListType(item_type=item):
            fit = _fitter(item)
            return lambda value: [fit(element) for element in value] if isinstance(value, list) else []
        case inspect.StrType():
            return lambda value: value if isinstance(value, str) else lenient_json.compact(value)
        case inspect.BoolType():
            return lambda value: value is True
        case inspect.IntType():
            return lambda value: int(value) if _is_number(value) else None
        case inspect.FloatType():
            return lambda value: value if _is_number(value) else None
    return lambda value: value  # raw JSON takes anything


def _union_fitter(wanted: inspect.UnionType) -> Fitter:
    """Takes the option that suits a value best; a lone block becomes a list of one."""
    tagged = [option for option in wanted.types if isinstance(option, inspect.StructType)]
    if len(tagged) == len(wanted.types):
        return _tagged_fitter(tagged)
    options = {type(option): _fitter(option) for option in wanted.types}
    fit_list = options.get(inspect.ListType)
    fit_number, fit_other = (
        next((options[kind] for kind in order if kind in options), None) for order in (_NUMBERS_FIRST, _TEXT_FIRST)
    )

    def fit(value: Any) -> Any:
        if value is None and wanted.includes_none:
            return None
        if fit_list is not None and isinstance(value, list):
            return fit_list(value)
        if fit_list is not None and isinstance(value, dict) and "type" in value:
            return fit_list([value])
        suited = fit_number if _is_number(value) else fit_other
        return suited(value) if suited is not None else None

    return fit


_NUMBERS_FIRST = (inspect.FloatType, inspect.IntType, inspect.StrType, inspect.BoolType, inspect.StructType)
_TEXT_FIRST = (inspect.StrType, inspect.BoolType, inspect.StructType, inspect.FloatType, inspect.IntType)


def _tagged_fitter(options: list[inspect.StructType]) -> Fitter:
    """Takes the option that the tag of an object names; anything else is kept as unknown."""
    fitters = {option.tag: _struct_fitter(option) for option in options}

    def fit(value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            value = {"type": "text", "text": value}
        if not isinstance(value, dict):
            value = {"type": _MISSING_TAG, "value": value}
        tag = value.get("type", "text" if "text" in value and "text" in fitters else _MISSING_TAG)
        if isinstance(tag, str) and tag in fitters:
            return fitters[tag](value)
        name = tag if isinstance(tag, str) else lenient_json.compact(tag)
        return fitters[_UNKNOWN_TAG](value) | {UNKNOWN_NAME: name, UNKNOWN_BODY: value}

    return fit


def _struct_fitter(wanted: inspect.StructType) -> Callable[[Any], dict[str, Any]]:
    fields = [(field.encode_name, _fitter(field.type)) for field in wanted.fields]
    is_message = wanted.cls in (Message, LineMessage)

    def fit(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            value = {"content": value} if is_message else {}
        fitted = {name: fit_field(value[name]) for name, fit_field in fields if name in value}
        if wanted.tag_field is not None:
            fitted[wanted.tag_field] = wanted.tag
        return {key: item for key, item in fitted.items() if item is not None}

    return fit


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


@cache
def _fit_event() -> Fitter:
    return _fitter(inspect.type_info(AnyEvent))


@cache
def _fit_content() -> Fitter:
    return _fitter(inspect.type_info(Content))
