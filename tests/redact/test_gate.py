"""The gate: whatever a rule finds in a text is let through, in the text and in every line of JSON that holds it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player.redact.cleaning import clean_text
from claude_session_player.redact.gate import Gate, _search, gate_of, sketch_search
from claude_session_player.redact.line_sieve import DECODED, KNOWN, NAMED, PLAIN, LineSieve
from claude_session_player.redact.plausibility import is_secret_name
from claude_session_player.redact.rule import Rule
from claude_session_player.redact.rules import SECRET_RULES
from claude_session_player.redact.samples import expand
from claude_session_player.redact.sketch import SKETCHES_PATH
from scripts.sketches import sketches

GATE = gate_of(tuple(dict.fromkeys(rule.pattern for rule in SECRET_RULES)))
_FILLER = "lorem é ipsum "


def lines(text: str) -> list[bytes]:
    """A text in lines of JSON: as it is, in ASCII, and as JSON in a string of JSON."""
    inner = json.dumps({"text": text})
    values: list[tuple[Any, bool]] = [(text, False), (text, True), (inner, False), (json.dumps(inner), True)]
    return [json.dumps({"a": {"b": value}}, ensure_ascii=is_ascii).encode() for value, is_ascii in values]


@pytest.mark.parametrize("rule", SECRET_RULES, ids=lambda rule: rule.name)
def test_samples_are_let_through_in_every_spelling_of_json(rule: Rule) -> None:
    for number, sample in enumerate(rule.samples):
        for text in (expand(sample, number), f"{_FILLER}\n{expand(sample, number + 1)}\n{_FILLER}"):
            for data in (text.encode(), *lines(text), text.replace("/", "\\/").encode()):
                assert GATE.admits(data), data
            assert sketch_search(rule.pattern)(text.encode()) is not None


_PIECES = st.sampled_from(
    [
        *(expand(sample, 7) for rule in SECRET_RULES for sample in rule.samples),
        *("\n", "\t", '"', "\\", "/", " ", "=", ":", "é", "password", "token=", "\x1b[1m", "key", "\u200b", "%2D"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=4).map("".join), st.integers(0, 30), st.integers(0, 30))
def test_what_rules_find_is_let_through(text: str, start: int, end: int) -> None:
    text = text[start : len(text) - end]
    finds = {rule.name for rule in SECRET_RULES if rule.finds(text)}
    if finds:
        assert GATE.admits(text.encode()), finds
        assert all(map(GATE.admits, lines(text))), finds


@settings(max_examples=300)
@given(st.text(st.sampled_from('a\x1b[1m\u200b%2D&amp;#\\u0/\x08"é')))
def test_texts_in_disguise_are_let_through(text: str) -> None:
    cleaned = clean_text(text)
    if cleaned is not None and cleaned.text != re.sub(r'\\+"', '"', text):
        assert GATE.admits(text.encode())
        assert all(GATE.admits(line) for line in lines(text))


@pytest.mark.parametrize("name", ["password", "apiKey", "CLIENT_SECRET", "x-auth-token", "Authorization", "db.passwd"])
def test_fields_with_telling_names_are_let_through(name: str) -> None:
    assert is_secret_name(name)
    for line in (json.dumps({name: "x"}), json.dumps({"a": json.dumps({name: "x"})})):
        assert GATE.admits(line.encode())


def test_stored_sketches_are_those_of_the_rules() -> None:
    assert Path(SKETCHES_PATH).read_text(encoding="utf-8") == sketches(), "run: make sketches"


def test_ordinary_lines_are_not_let_through() -> None:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 41216, "service_tier": "standard"}
    line = {"type": "assistant", "uuid": "0ac0ffee", "message": {"content": "The tokens were read.", "usage": usage}}
    assert not GATE.admits(json.dumps(line, separators=(",", ":")).encode())


def test_a_sketch_that_is_beyond_the_automaton_lets_everything_through() -> None:
    assert _search("((a{999}){999}){999}")(b"anything, to be safe") is not None


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from([b"key", b"x", b"/home/ada", b"/home/bob", b'"', b"/", b"ada"]), max_size=6).map(b"".join)
)
def test_lines_are_sorted_alike_alone_and_together(line: bytes) -> None:
    sieve = LineSieve([b"/home/", b"bob"], [b"/home/ada"], Gate(["key[a-z]"]))
    before, behind = b'"/home/ada/x"\n', b"keyx\n"
    assert list(sieve.kinds([before, line + b"\n", behind])) == [KNOWN, *sieve.kinds([line + b"\n"]), DECODED]


def test_lines_need_what_stands_in_them() -> None:
    sieve = LineSieve([b"/home/"], [b"/home/ada"], Gate(["key[a-z]"]))
    rows = [b"plain\n", b'"/home/ada"\n', b"/home/bob\n", b'"/home/ada" keyx\n', b""]
    assert list(sieve.kinds(rows)) == [PLAIN, KNOWN, NAMED, DECODED, PLAIN]
