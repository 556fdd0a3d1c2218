"""Whatever a record holds is looked at: keys, names, numbers, what lies deep, and what is no text at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from claude_session_player.redact import KnownValue, Place, Redactor
from claude_session_player.redact.records import remove_images
from claude_session_player.redact.samples import expand
from tests.redact.copies import redacted

KEY: Final = expand("ghp_{a36}", 3)


def masked(record: Any, *known: str) -> Any:
    """A record after what it says was learned."""
    redactor = Redactor(known=[KnownValue(value, value) for value in known], user="zelda")
    redactor.learn_record(record)
    return redactor.record(record)


def test_what_lies_deep_is_masked() -> None:
    record: Any = {"v": KEY}
    for _ in range(400):
        record = {"n": [record]}
    assert KEY not in json.dumps(masked(record))


def test_an_image_that_lies_deep_is_removed() -> None:
    record: Any = {"type": "base64", "data": "iVBORw0KGgoA" * 9}
    for _ in range(300):
        record = [record]
    assert remove_images(record) == 1


@pytest.mark.parametrize("name", ["zelda", "hunter2", "s3cr3t", KEY])
def test_names_of_fields_are_masked(name: str) -> None:
    assert name not in masked({"message": {"input": {name: 2}}}, "hunter2", "s3cr3t")["message"]["input"]


def test_keys_by_which_a_record_is_read_stay() -> None:
    record = {"type": "user", "message": {"content": "tea"}}
    assert masked(record, "message", "content", "type") == {"type": "user", "message": {"content": "tea"}}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("password", 98765432, "[secret-1]"),
        ("pin", 73519286, "[known-value-1]"),
        ("input_tokens", 73519286, 73519286),
        ("pin", 98765432, 98765432),
        ("token", 98765432, 98765432),
        ("pass", 98765, 98765),
        ("password", True, True),
    ],
)
def test_numbers_are_masked_where_they_are_secret(name: str, value: int, expected: object) -> None:
    assert masked({"input": {name: value}}, "73519286") == {"input": {name: expected}}


@pytest.mark.parametrize("name", ["slug", "name", "mode", "level", "version", "model", "promptSource", "agentType"])
def test_names_that_somebody_chose_hold_no_secret(name: str) -> None:
    assert masked({name: KEY, "uuid": "u-1"}) == {name: "[github-token-1]", "uuid": "u-1"}
    assert masked({name: "my-s3cr3t"}, "s3cr3t") == {name: "my-[known-value-1]"}
    assert masked({name: "zelda"}) == {name: "zelda"}


def test_names_with_the_same_mask_stay_apart() -> None:
    record = {"/home/zelda/one": 1, "/Users/zelda/one": 2}
    assert masked(record) == {"~/one": 1, "~/one (2)": 2}


def test_the_report_does_not_tell_names_that_are_secret() -> None:
    redactor = Redactor()
    redactor.learn_record({KEY: {"v": "password: Tr0ub4dor&3x"}})
    redactor.record({KEY: {"v": "password: Tr0ub4dor&3x"}}, Place(session=KEY, file=f"{KEY}.txt"))
    assert KEY not in json.dumps(redactor.report.json)
    fields = {place["field"] for one in redactor.report.json["masked"] for place in one["places"]}
    assert "[github-token-1].v" in fields


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "data": "iVBORw0KGgoA" * 9, "mimeType": "image/png"},
        {"type": "image", "data": "iVBORw0KGgoA" * 9},
        {"type": "audio", "data": "iVBORw0KGgoA" * 9, "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "tea:x", "blob": "iVBORw0KGgoA" * 9}},
    ],
)
def test_files_of_mcp_are_removed(block: dict[str, Any]) -> None:
    assert "iVBOR" not in json.dumps(masked({"content": [block]}))


LINES: Final = [
    {"input": {"password": 98765432}},
    {"input": {"pin": 73519286}},
    {"pwd": [-98765432]},
    {"type": "user", "slug": KEY},
    {"type": "user", "slug": "s3cr3t"},
    {"input": {"s3cr3t": 1}},
    {"content": [{"type": "image", "data": "iVBORw0KGgoA" * 9}]},
    {"content": {"data": "iVBORw0KGgoA" * 9, "mimeType": "image/png"}},
    {"resource": {"blob": "iVBORw0KGgoA" * 9}},
]


@pytest.mark.parametrize("line", LINES)
def test_lines_that_may_be_copied_as_bytes_are_looked_at(line: dict[str, Any], tmp_path: Path) -> None:
    path, known = tmp_path / "session.jsonl", [KnownValue("A", "73519286"), KnownValue("B", "s3cr3t")]
    path.write_text(json.dumps(line, separators=(",", ":")) + "\n", encoding="utf-8")
    fast = redacted(path, tmp_path / "fast.jsonl", Redactor(known=known, reports_places=False))
    plain = redacted(path, tmp_path / "plain.jsonl", Redactor(known=known))
    assert fast == plain != path.read_bytes()


def test_an_error_leaves_the_redactor_as_it_was() -> None:
    redactor = Redactor()
    with pytest.raises(TypeError):
        redactor.learn_record({"a": {1: 2}}, has_secrets=False)
    assert redactor.record({"v": KEY}) == {"v": "[github-token-1]"}


class Tool(msgspec.Struct):
    """An event as the parser makes them."""

    name: str
    level: str
    input: dict[str, Any]
    raw: msgspec.Raw
    words: list[str]
    uuid: str = "u-1"


def test_events_are_masked_like_records() -> None:
    raw = msgspec.Raw(json.dumps({KEY: {"password": "Tr0ub4dor&3x"}}).encode())
    tool = Tool("Bash", f"has {KEY}", {KEY: 1, "password": "Tr0ub4dor&3y", "type": f"x.{KEY}"}, raw, [KEY])
    event = Redactor().event(tool)
    assert KEY not in repr(event)
    assert "ub4dor" not in repr(event) + bytes(event.raw).decode()
    assert KEY not in bytes(event.raw).decode()
    assert (event.name, event.uuid) == ("Bash", "u-1")
    assert tool.input[KEY] == 1
