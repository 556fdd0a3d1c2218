"""Exact searches: what is found in session files, compared with a plain look at every decoded text."""

from __future__ import annotations

import gc
import io
import json
import marshal
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from claude_session_player import errors
from claude_session_player.errors import BadQuery
from claude_session_player.format import line_reader
from claude_session_player.format.events import Event, Progress
from claude_session_player.format.line_reader import read_lines
from claude_session_player.linking.agent_records import reported_events
from claude_session_player.linking.prompts import with_queued_prompts
from claude_session_player.parser import decode_lines
from claude_session_player.search import patterns, raw_lines, scan
from claude_session_player.search.hits import FoundText
from claude_session_player.search.patterns import ScanPattern, compile_pattern, line_filter
from claude_session_player.search.raw_lines import LineBuffer, LineNumbers
from claude_session_player.search.scan import FileScanner, ScanReport, scan_files
from claude_session_player.search.texts import EventText, event_texts, structured_texts
from claude_session_player.store import SessionFile, StoreWalk, session_file_at
from claude_session_player.util import workers
from claude_session_player.util.text import strip_escapes
from tests import cases, corpus
from tests.builder import SessionBuilder, call, text, thought, timestamp

NAME = "11111111-2222-4333-8444-555555555555"
Found = list[tuple[int, str]]


# --- a plain look at every text, for comparison ---------------------------------------------------


def decoded(file: SessionFile) -> Iterator[Event]:
    """Every event of a file, decoded line by line, with queued prompts where the model received them."""
    with open(file.path, "rb") as source:
        lines = list(read_lines(source))
    events = [event for number, line in enumerate(lines) for event in decode_lines([line], number, 0)]
    return with_queued_prompts(events, is_agent=file.is_agent)


def searchable(file: SessionFile, agents: Sequence[str] = ()) -> list[tuple[int, list[EventText], list[EventText]]]:
    """For every event, its line, its texts, and the texts that count if none of these matches."""
    lines = [b"", *Path(file.path).read_bytes().split(b"\n")]
    found = []
    for event in decoded(file):
        if not isinstance(event, Progress):
            found.append((event.line, event_texts(event, lines[event.line]), structured_texts(event)))
        elif event.data is not None and event.data.agent_id not in agents:
            inner = bytes(event.data.message)
            texts = [each for reported in reported_events(event) for each in event_texts(reported, inner)]
            found.append((event.line, texts, []))
    return found


def plain_scan(texts: list[tuple[int, list[EventText], list[EventText]]], matches: Callable[[str], object]) -> Found:
    """The lines and fields of the texts that match, in the order of the file."""

    def matching(some: list[EventText]) -> list[EventText]:
        return [each for each in some if any(matches(part) or matches(strip_escapes(part)) for part in each.parts)]

    found = []
    for line, usual, structured in texts:
        found += [(line, each.field) for each in matching(usual) or matching(structured)]
    return sorted(found)


def places(found: Sequence[FoundText]) -> Found:
    return sorted((each.line, each.field) for each in found)


# --- sessions ---------------------------------------------------------------------------------------


def write(folder: Path, session: SessionBuilder | bytes, name: str = NAME) -> SessionFile:
    """Write a session into a store."""
    path = folder / "projects" / "-home-ada-engine" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(session if isinstance(session, bytes) else session.data())
    return session_file_at(str(path))


def run_scan(file: SessionFile, text: str, *, is_regex: bool = False, **options: Any) -> ScanReport:
    return scan_files([file], compile_pattern(text, is_regex=is_regex), **options)


def prompt_line(content: bytes) -> bytes:
    """A prompt, with its text already encoded."""
    return b'{"type":"user","timestamp":"2026-01-17T20:00:00.000Z","message":{"role":"user","content":%s}}\n' % content


NEEDLE = 'a/b "c"\\d\te\r\n<é→😀> it\'s & ~\b\f'


def escaped(character: str, upper: bool = False) -> str:
    units = character.encode("utf-16-be").hex(":", 2).split(":")
    return "".join("\\u" + (unit.upper() if upper else unit) for unit in units)


SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def spelled(words: str, spell: Callable[[str], str]) -> bytes:
    return b'"' + "".join(map(spell, words)).encode() + b'"'


WRITERS: dict[str, Callable[[str], bytes]] = {
    "as it is": lambda words: json.dumps(words, ensure_ascii=False).encode(),
    "only ASCII": lambda words: json.dumps(words).encode(),
    "capital digits": lambda words: spelled(words, lambda c: SHORT.get(c) or (c if c.isascii() else escaped(c, True))),
    "escaped slashes": lambda words: json.dumps(words).replace("/", "\\/").encode(),
    "for HTML": lambda words: spelled(words, lambda c: escaped(c) if c in "<>&'\"" else json.dumps(c)[1:-1]),
    "all escaped": lambda words: spelled(words, escaped),
    "all escaped, in capitals": lambda words: spelled(words, lambda c: escaped(c, True)),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("is_regex", [False, True])
@pytest.mark.parametrize("needle", [NEEDLE, "→😀", "é", "a/b", '"c"', "\\d", "e\r\n<", "it's", "s & ~", "/", "\b\f"])
def test_every_spelling_of_json_is_found(tmp_path: Path, writer: str, is_regex: bool, needle: str) -> None:
    words = f"before {NEEDLE} after"
    assert json.loads(WRITERS[writer](words)) == words
    data = prompt_line(b'"nothing"') + prompt_line(WRITERS[writer](words)) + prompt_line(b'"nothing"')
    report = run_scan(write(tmp_path, data), re.escape(needle) if is_regex else needle, is_regex=is_regex)
    assert places(report.found) == [(2, "prompt")]


PIECES = st.sampled_from(
    [
        "a",
        "b",
        " ",
        "e",
        ", ",
        ":",
        "{",
        "[1]",
        "/",
        '"',
        "\\",
        "\n",
        "\r\n",
        "\t",
        "\x1b[31m",
        "\x1b]8;;u\x07",
        "\x9b1m",
    ]
    + ["é", "→", "😀", "�", "\x7f", "\x85", "<", "'", "7", "1.5", "true", "\x00", "u0041", "\\u0041", "ſ", "K"]
)


def texts_of(pieces: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.lists(st.sampled_from(pieces), min_size=1, max_size=12).map("".join), min_size=1, max_size=6)


TEXTS = st.lists(PIECES, min_size=1, max_size=5).flatmap(texts_of)
"""Few kinds of characters at a time: else almost every line would have an escape of some kind, and be decoded."""
NEEDLES = st.tuples(st.integers(0, 5), st.integers(0, 30), st.integers(1, 9), st.booleans())
"""Which part of which text, and whether as a terminal shows it."""


def as_is(character: str) -> str:
    return character


WAYS: dict[str, Callable[[str], str]] = {
    "as it is": as_is,
    "escaped": escaped,
    "in capitals": lambda character: escaped(character, True),
    "in both": lambda character: escaped(character).swapcase().replace("\\U", "\\u"),
}
STYLES = st.fixed_dictionaries(
    {
        "letter": st.sampled_from(["as it is"] * 6 + ["escaped"]),
        "slash": st.sampled_from(["as it is", "\\/"]),
        "wide": st.sampled_from(list(WAYS)),
        "control": st.sampled_from(list(WAYS)),
        "chance": st.sampled_from([0.0, 0.0, 0.1]),
    }
)
"""How a writer spells characters of each kind, and how often it does otherwise."""


def spelling(style: dict[str, Any], chance: Random) -> Callable[[str], str]:
    def spell(character: str) -> str:
        if chance.random() < style["chance"]:
            return WAYS[chance.choice(("escaped", "in capitals", "in both"))](character)
        if character in SHORT:
            return SHORT[character]
        if character == "/":
            return "\\/" if style["slash"] == "\\/" else "/"
        kind = "letter" if " " <= character <= "~" else "control" if character < "\xa0" else "wide"
        return WAYS[style[kind]](character)

    return spell


@given(
    texts=TEXTS,
    place=NEEDLES,
    style=STYLES,
    chance=st.randoms(use_true_random=False),
    portion=st.integers(1, 300),
    is_regex=st.booleans(),
)
def test_a_scan_finds_what_a_look_at_every_text_finds(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    place: tuple[int, int, int, bool],
    style: dict[str, Any],
    chance: Random,
    portion: int,
    is_regex: bool,
) -> None:
    index, start, size, is_stripped = place
    chosen = texts[index % len(texts)]
    chosen = strip_escapes(chosen) if is_stripped else chosen
    needle = chosen[start % (len(chosen) or 1) :][:size] or "a"
    data = b"".join(prompt_line(spelled(words, spelling(style, chance))) for words in texts)
    file = write(tmp_path_factory.getbasetemp(), data, "property")
    expected = plain_scan(searchable(file), lambda part: needle in part)
    with patch.object(raw_lines, "PORTION", portion):
        pattern = compile_pattern(re.escape(needle) if is_regex else needle, is_regex=is_regex)
        assert places(FileScanner(pattern).scan(file).found) == expected


REGEXES = [
    "a+b?",
    "(?:a|b), e",
    "^a",
    "b$",
    "[é→]",
    "(a)(b)? {1,2}",
    "(?i)A",
    "(?i:E) ",
    "(?s)a.b",
    "a(?=b)",
    "(?<!a)b",
    "a{2}",
]


@given(TEXTS, STYLES, st.sampled_from(REGEXES), st.integers(20, 300))
def test_a_scan_for_a_regular_expression_finds_what_a_look_at_every_text_finds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], style: dict[str, Any], regex: str, portion: int
) -> None:
    data = b"".join(prompt_line(spelled(words, spelling(style, Random(7)))) for words in texts)
    file = write(tmp_path_factory.getbasetemp(), data, "property")
    expected = plain_scan(searchable(file), re.compile(regex, re.MULTILINE).search)
    with patch.object(raw_lines, "PORTION", portion):
        assert places(FileScanner(compile_pattern(regex, is_regex=True)).scan(file).found) == expected


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        ("plain", ["plain"]),
        ("a(b(?:cd))e", ["abcde"]),
        ("ab*cd", ["a", "cd"]),
        ("(?:ab)+c", ["ab", "c"]),
        ("(?:ab)*c", ["c"]),
        ("(?:ab|cd)e", ["e"]),
        ("abc|abd", ["ab"]),
        ("(?i)abc", []),
        ("(?i:abc)d", ["d"]),
        ("(?x) a b # c", ["ab"]),
        ("a(?!b)c", ["a", "c"]),
        (r"(a)\1b", ["a", "b"]),
        (r"(?>ab)c", ["c"]),
        (r"\bword\b", ["word"]),
        ("(x)?(?(1)y|z)", []),
        (".*", []),
    ],
)
def test_mandatory_texts_of_a_regular_expression_are_in_all_that_it_matches(regex: str, expected: list[str]) -> None:
    assert patterns.mandatory_texts(regex) == expected


def test_every_regular_expression_is_tried_without_private_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "import_module", lambda name: __import__("no_such_module"))
    assert line_filter(ScanPattern("abc", is_regex=True)) is None


@pytest.mark.parametrize(
    ("pattern", "is_regex", "message", "details"),
    [
        ("", False, "the text to search for is empty", ()),
        ("", True, "the regular expression is empty", ()),
        ("a(b", True, "invalid regular expression: missing ), unterminated subpattern", ("a(b", " ^")),
        ("a\nbc[", True, "invalid regular expression: unterminated character set", ("bc[", "  ^")),
        ("a{1}{2}", True, "invalid regular expression: multiple repeat", ("a{1}{2}", "    ^")),
    ],
)
def test_an_invalid_pattern_is_refused_with_the_place(
    pattern: str, is_regex: bool, message: str, details: tuple[str, ...]
) -> None:
    with pytest.raises(BadQuery) as raised:
        compile_pattern(pattern, is_regex=is_regex)
    assert (str(raised.value), raised.value.details) == (message, details)


@pytest.mark.parametrize("pattern", ["(" * 5000 + ")" * 5000, "a{9999999999}"])
def test_an_expression_that_is_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(BadQuery, match="invalid regular expression"):
        compile_pattern(pattern, is_regex=True)


def test_a_warning_about_an_expression_is_not_printed(recwarn: pytest.WarningsRecorder) -> None:
    compile_pattern("[[a]", is_regex=True)
    assert not recwarn.list


# --- what is found ------------------------------------------------------------------------------------


def test_a_hit_tells_the_event_and_the_call(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("Start").response(call("Read", "t1", file_path="/src/kettle.py"))
    file = write(tmp_path, session.result("t1", "one\nthe kettle boils\n"))
    [found] = run_scan(file, "kettle boils").found
    assert (found.name, found.line, found.field, found.time) == (file.name, 3, "result", timestamp(3))
    assert (found.tool, found.path) == ("Read", "/src/kettle.py")
    assert found.uuid == "00000000-0000-4000-8000-000000000003"
    assert found.copy_key
    assert found.snippet == ("one the kettle boils", ((8, 20),))


def test_fields_are_those_of_the_texts(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("a kettle").response(thought("kettle?"), text("kettle!"))
    session.response(call("Bash", "t1", command="kettle --boil")).result("t1", "kettle: done")
    session.attachment("file", filename="/kettle.txt", content="x").line({"type": "summary", "summary": "On kettles"})
    found = run_scan(write(tmp_path, session), "kettle").found
    fields = ["prompt", "thinking", "response", "tool", "result", "file", "summary"]
    assert [(each.line, each.field) for each in found] == list(enumerate(fields, 1))
    assert [each.tool for each in found] == ["", "", "", "Bash", "Bash", "", ""]
    assert found[-1].time == timestamp(6)  # the last one before a record without a time
    assert run_scan(write(tmp_path, session), "Kettle").found == []


def test_what_a_result_has_twice_is_found_once(tmp_path: Path) -> None:
    both = {"stdout": "the kettle boils", "stderr": ""}
    session = (
        SessionBuilder().response(call("Bash", "t1", command="x")).result("t1", "the kettle boils", toolUseResult=both)
    )
    session.response(call("Edit", "t2", file_path="/a.py")).result(
        "t2", "edited", toolUseResult={"originalFile": "kettle = 1"}
    )
    found = run_scan(write(tmp_path, session), "kettle").found
    assert [(each.line, each.tool, each.path) for each in found] == [(2, "Bash", ""), (4, "Edit", "/a.py")]


def test_a_text_that_matches_often_is_found_once_with_some_places(tmp_path: Path) -> None:
    [found] = run_scan(write(tmp_path, SessionBuilder().prompt("tea " * 500)), "tea").found
    assert 1 < len(found.snippet.spans) <= patterns.MOST_SPANS


@pytest.mark.parametrize("distance", [0, 1, 5])
@pytest.mark.parametrize("count", [1, 12])
def test_a_call_is_found_however_far_away(tmp_path: Path, distance: int, count: int) -> None:
    session, later = SessionBuilder(), SessionBuilder()
    for number in range(count):
        session.response(call("Read", f"t{number}", file_path=f"/{number}.py"))
    for _ in range(distance):
        session.prompt("x" * raw_lines.PORTION)
    for number in range(count):
        session.progress("bash_progress", f"t{number}", fullOutput="…")
        session.result(f"t{number}", "found")
    later.lines = session.lines[::-1]  # results before their calls
    for written in (session, later):
        found = run_scan(write(tmp_path, written), "found").found
        assert {(each.tool, each.path) for each in found} == {("Read", f"/{number}.py") for number in range(count)}


def test_a_result_without_a_call_has_no_tool(tmp_path: Path) -> None:
    session = SessionBuilder().result("t1", "found").result('"odd id"', "found")
    assert [each.tool for each in run_scan(write(tmp_path, session), "found").found] == ["", ""]


@pytest.mark.parametrize("sequence", ["\x1b[31m", "\x1b[0m", "\x9b1m", "\x1b]8;;https://example.org\x1b\\", "\x1b(B"])
@pytest.mark.parametrize("encode", [lambda words: json.dumps(words).encode(), lambda words: spelled(words, str)])
@pytest.mark.parametrize("is_regex", [False, True])
def test_terminal_escapes_do_not_hide_a_text(
    tmp_path: Path, sequence: str, encode: Callable[[str], bytes], is_regex: bool
) -> None:
    if "\\" in sequence and b"\\u" not in encode("\x1b"):
        return  # a backslash cannot be left as it is
    data = prompt_line(b'"x"') + prompt_line(encode(f"{sequence}3 fai{sequence}led{sequence}, 2 passed"))
    [found] = run_scan(write(tmp_path, data), "3 failed, 2 passed", is_regex=is_regex).found
    assert (found.line, found.snippet) == (2, ("3 failed, 2 passed", ((0, 18),)))


def test_escape_sequences_themselves_are_found(tmp_path: Path) -> None:
    file = write(tmp_path, SessionBuilder().prompt("\x1b[31mred"))
    assert places(run_scan(file, "\x1b[31m").found) == [(1, "prompt")]


def test_line_ends_of_an_expression_are_those_of_lines(tmp_path: Path) -> None:
    session = SessionBuilder().prompt("one\ntwo\nthree").prompt("one\r\ntwo\r\n").prompt("two plus")
    assert places(run_scan(write(tmp_path, session), "^two$", is_regex=True).found) == [(1, "prompt"), (2, "prompt")]


def test_an_expression_may_match_nothing_at_all(tmp_path: Path) -> None:
    [found] = run_scan(write(tmp_path, SessionBuilder().prompt("tea")), "x*", is_regex=True).found
    assert found.snippet == ("tea", ())


def test_pictures_are_not_searched_but_counted(tmp_path: Path) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 50}
    session = SessionBuilder().prompt([{"type": "image", "source": source}, text("a picture")])
    session.response(call("Read", "t1", file_path="/a.png")).result("t1", [{"type": "image", "source": source}])
    file = write(tmp_path, session)
    report = run_scan(file, "iVBORw0KGgo")
    assert (report.found, report.binary) == ([], 2)
    assert run_scan(file, "iVBOR|a picture", is_regex=True).binary == 0
    assert places(run_scan(file, "a picture").found) == [(1, "prompt")]


def test_ids_times_and_directories_are_not_searched(tmp_path: Path) -> None:
    file = write(tmp_path, SessionBuilder().prompt("tea"))
    report = run_scan(file, "/home/ada/engine")
    assert (report.found, report.binary) == ([], 0)
    assert not any(run_scan(file, words).found for words in ("2026-01-17", NAME, "parentUuid", "user"))


def test_odd_files_are_searched(tmp_path: Path) -> None:
    lines = [
        line.rstrip(b"\n") for line in SessionBuilder().prompt("tea one").prompt("tea two").prompt("tea three").lines
    ]
    cut = prompt_line(b'"tea cut"')[:-9]
    data = b"\xef\xbb\xbf" + lines[0] + b"\r\n\r\n" + lines[1] + lines[2] + b"\n" + b"\0" * 500 + lines[0] + b"\n"
    data += (
        b"\n" + prompt_line(b'"tea \xff"') + prompt_line(b'"tea \\ud83d"') + b"not JSON: tea\n" + cut + b"\n" + lines[1]
    )
    file = write(tmp_path, data)
    expected = [(line, "prompt") for line in (1, 3, 3, 4, 6, 7, 10)]
    assert places(run_scan(file, "tea").found) == expected == plain_scan(searchable(file), lambda part: "tea" in part)
    assert places(run_scan(file, "tea �").found) == places(run_scan(file, "�").found) == [(6, "prompt"), (7, "prompt")]


def test_values_in_place_of_texts_are_found_as_they_are_shown(tmp_path: Path) -> None:
    value = b'{"odd" : true , "deep": [1, 2,\t{"x": "a, b: c\\n", "y": [] , "z" : null}], "n": 12345 }'
    block = b'[{"type": "tool_result", "tool_use_id": "t1", "content": %s}]' % value
    file = write(tmp_path, prompt_line(block) + prompt_line(b"12345") + prompt_line(b'[1, "two", {"text": "three"}]'))
    texts = searchable(file)
    shown = {part for _, usual, _ in texts for each in usual for part in each.parts}
    assert '{"odd":true,"deep":[1,2,{"x":"a, b: c\\n","y":[],"z":null}],"n":12345}' in shown
    for needle in {part[at : at + size] for part in shown for at in range(len(part)) for size in range(1, 9)}:
        expected = plain_scan(texts, lambda part, needle=needle: needle in part)  # type: ignore[misc]
        assert places(FileScanner(ScanPattern(needle)).scan(file).found) == expected, needle


def test_the_last_line_may_lack_its_end(tmp_path: Path) -> None:
    file = write(tmp_path, SessionBuilder().prompt("tea").data().rstrip(b"\n"))
    assert places(run_scan(file, "tea").found) == [(1, "prompt")]


def test_an_empty_file_has_nothing(tmp_path: Path) -> None:
    report = run_scan(write(tmp_path, b""), "tea")
    assert report == ScanReport([], 1, 0)


# --- prompts in the queue, sub-agents -----------------------------------------------------------------


@pytest.mark.parametrize("pattern", [("a new migration", False), ("a [n]ew migration", True), (r"\bnew\b", True)])
def test_a_prompt_in_the_queue_is_found_where_the_model_received_it(tmp_path: Path, pattern: tuple[str, bool]) -> None:
    path = cases.write(tmp_path / "queue.jsonl", cases.QUEUE)
    [found] = scan_files([session_file_at(str(path))], ScanPattern(*pattern)).found
    assert (found.line, found.field, found.time) == (5, "prompt", "2026-01-01T00:00:04.000Z")


def test_a_prompt_in_the_queue_that_another_record_holds_is_found_there(tmp_path: Path) -> None:
    records = [*cases.QUEUE[:4], cases.queue("dequeue", 4), cases.user("u2", "r1", 5, "Why not a new migration?")]
    path = cases.write(tmp_path / "queue.jsonl", records)
    assert places(run_scan(session_file_at(str(path)), "migration").found) == [(6, "prompt")]


def test_subagents_without_a_file_are_searched_in_progress_lines(tmp_path: Path) -> None:
    inner = SessionBuilder(sidechain=True).response(call("Grep", "g1", path="/src")).result("g1", "a kettle here")
    session = SessionBuilder().response(call("Task", "t1", prompt="Look"))
    for line in inner.lines:
        session.progress("agent_progress", "t1", agentId="a1", message=json.loads(line))
    session.progress("bash_progress", "t1", fullOutput="a kettle here")
    file = write(tmp_path, session)
    [found] = run_scan(file, "kettle").found
    assert (found.line, found.field, found.tool, found.path) == (3, "result", "Grep", "/src")
    assert run_scan(file, "kettle", agents_with_files=["a1"]).found == []
    agent = session_file_at(str(inner.write(Path(file.home, NAME, "subagents", "agent-a1.jsonl"))))
    report = scan_files([file, agent], compile_pattern("kettle"))
    assert [(each.name, each.line) for each in report.found] == [(agent.name, 2)]


# --- large tool results -------------------------------------------------------------------------------


def persisted(path: str, preview: str = "") -> str:
    return f"<persisted-output>\nToo large. Full output saved to: {path}\n\nPreview:\n{preview}\n</persisted-output>"


@pytest.fixture
def with_outputs(tmp_path: Path) -> SessionFile:
    """A session with large tool results: its own, a sub-agent's, and one that nothing refers to."""
    session = (
        SessionBuilder().prompt("x").response(call("Bash", "t1", command="make")).result("t1", persisted("/old/b1.txt"))
    )
    file = write(tmp_path, session)
    beside = Path(file.own_dir)
    agent = (
        SessionBuilder(sidechain=True).response(call("Grep", "t2", path="/src")).result("t2", persisted("/old/b2.txt"))
    )
    agent.write(beside / "subagents" / "agent-a1.jsonl")
    (beside / "tool-results").mkdir()
    for number in (1, 2, 3):
        (beside / "tool-results" / f"b{number}.txt").write_text(f'line\n\x1b[1mket\x1b[0mtle "{number}"\n' + "x" * 5000)
    return file


@pytest.mark.parametrize(("pattern", "is_regex"), [('kettle "', False), ('kettle "\\d"', True), ("(?i)KETTLE", True)])
def test_large_tool_results_are_found_at_the_lines_that_refer_to_them(
    with_outputs: SessionFile, pattern: str, is_regex: bool
) -> None:
    file = with_outputs
    agent = os.path.join(file.own_dir, "subagents", "agent-a1.jsonl")
    stray = os.path.join(file.own_dir, "tool-results", "b3.txt")
    found = run_scan(file, pattern, is_regex=is_regex).found
    assert {(each.name, each.line, each.field, each.tool, each.path) for each in found} == {
        (file.name, 3, "result", "Bash", ""),
        (agent, 2, "result", "Grep", "/src"),
        (file.name, 0, "result", "", stray),
    }
    assert all("kettle" in each.snippet.text for each in found)


def test_a_large_tool_result_is_found_once_if_its_beginning_matches_too(tmp_path: Path) -> None:
    file = write(tmp_path, SessionBuilder().result("t1", persisted("/b1.txt", "the kettle")))
    (Path(file.own_dir) / "tool-results").mkdir(parents=True)
    (Path(file.own_dir) / "tool-results" / "b1.txt").write_text("the kettle boils")
    assert places(run_scan(file, "kettle").found) == [(1, "result")]


@pytest.mark.parametrize(("pattern", "is_regex"), [("été kettle", False), ("[é]té", True), ('ke"', False)])
def test_files_about_workflow_runs_are_searched(tmp_path: Path, pattern: str, is_regex: bool) -> None:
    file = write(tmp_path, SessionBuilder().prompt("x"))
    folder = Path(file.own_dir) / "workflows"
    folder.mkdir(parents=True)
    (folder / "wf_1.json").write_text(json.dumps({"id": "été", "phases": [{"title": 'a "fake" été kettle'}]}, indent=1))
    (folder / "wf_2.json").write_text("{} not JSON")
    [found] = run_scan(file, pattern, is_regex=is_regex).found
    assert (found.name, found.line, found.field, found.tool) == (file.name, 1, "result", "Workflow")
    assert found.path == str(folder / "wf_1.json")
    assert found.time


def test_links_and_binary_files_among_tool_results_are_not_searched(with_outputs: SessionFile, tmp_path: Path) -> None:
    folder = Path(with_outputs.own_dir) / "tool-results"
    (tmp_path / "elsewhere.txt").write_text("secret")
    (folder / "b4.txt").symlink_to(tmp_path / "elsewhere.txt")
    (folder / "b5.bin").write_bytes(b"\0secret")
    report = run_scan(with_outputs, "secret")
    assert (report.found, report.binary, report.problems) == ([], 1, ())


# --- what cannot be searched --------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_searched(tmp_path: Path) -> None:
    gone = write(tmp_path, SessionBuilder().prompt("tea"), "gone")
    os.unlink(gone.path)
    file = write(tmp_path, SessionBuilder().prompt("tea"))
    report = scan_files([gone, file], compile_pattern("tea"))
    assert [each.name for each in report.found] == [file.name]
    assert report.problems == ((gone.name, "No such file or directory"),)
    assert (report.files, report.bytes_read) == (2, file.stamp.size)


def test_a_line_that_is_too_long_is_reported_and_the_others_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SessionBuilder().prompt("tea").prompt("tea " * 500).prompt("tea").prompt("tea " * 500)
    file = write(tmp_path, session.data().rstrip(b"\n"))
    monkeypatch.setattr(line_reader, "LONGEST", 1000)
    for pattern in (ScanPattern("tea"), ScanPattern("t.a", is_regex=True)):
        report = scan_files([file], pattern)
        assert places(report.found) == [(1, "prompt"), (3, "prompt")]
        assert [(name, reason[:27]) for name, reason in report.problems] == [
            (file.name, "line 2 was not searched: 2."),
            (file.name, "line 4 was not searched: 2."),
        ]
        assert report.bytes_read == file.stamp.size
    assert scan_files([file], ScanPattern("coffee")).problems == ()  # their bytes say that they do not match


def test_a_line_that_is_too_large_to_decode_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, SessionBuilder().prompt("tea").prompt("tea " * 5000))
    monkeypatch.setattr(line_reader, "HEAVIEST", 50_000)
    report = run_scan(file, "tea")
    assert places(report.found) == [(1, "prompt")]
    assert [problem.reason for problem in report.problems] == [
        "line 2 was not searched: 19.9 KB is too much for one line"
    ]


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="the system has no holes in files, or does not tell them")
def test_holes_in_a_file_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, SessionBuilder().prompt("tea"))
    line = Path(file.path).read_bytes()
    with open(file.path, "r+b") as hole:
        hole.seek(1 << 40)
        hole.write(b"\n" + line)
    monkeypatch.setattr(line_reader, "LONGEST", 1 << 20)
    report = run_scan(file, "tea")
    assert places(report.found) == [(1, "prompt"), (3, "prompt")]
    assert [problem.reason for problem in report.problems] == [
        "line 2 was not searched: 1.0 TB is too much for one line"
    ]
    assert run_scan(file, "coffee") == ScanReport([], 1, (1 << 40) + 1 + len(line))


HARD = r"(?:x+x+)+y"


def test_an_expression_that_takes_too_long_is_ended_and_the_other_files_are_searched(tmp_path: Path) -> None:
    hard = write(tmp_path, SessionBuilder().prompt("xxy").prompt("x" * 5000 + " y").prompt("xxy"), "hard")
    file = write(tmp_path, SessionBuilder().prompt("xxy"))
    before = signal.getsignal(signal.SIGVTALRM)
    report = scan_files([hard, file], compile_pattern(HARD, is_regex=True), seconds=0.1)
    assert [(each.name, each.line) for each in report.found] == [(hard.name, 1), (file.name, 1)]
    reason = "the regular expression took more than 0.1 s: the rest was not searched"
    assert report.problems == ((hard.name, reason),)
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)


def test_an_expression_is_ended_outside_of_the_main_thread_too(tmp_path: Path) -> None:
    hard = write(tmp_path, SessionBuilder().prompt("x" * 5000 + " y"), "hard")
    file = write(tmp_path, SessionBuilder().prompt("xxy"))
    reports: list[ScanReport] = []
    pattern = compile_pattern(HARD, is_regex=True)
    thread = threading.Thread(target=lambda: reports.append(scan_files([hard, file], pattern, seconds=0.1)))
    thread.start()
    thread.join(60)
    [report] = reports
    assert [each.name for each in report.found] == [file.name]
    assert [problem.path for problem in report.problems] == [hard.name]


# --- in several processes -----------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[SessionFile]:
    """Some sessions, each in a portion of its own, and a system with three cores."""
    for number in range(9):
        session = SessionBuilder().prompt(f"tea {number}").response(text("x" * 3000))
        write(tmp_path, session, f"session-{number}")
    monkeypatch.setattr(scan, "_PORTION_BYTES", 1)
    monkeypatch.setattr(scan, "_HELPER_BYTES", 1)
    monkeypatch.setattr(workers, "_cores", lambda: 3)
    return list(StoreWalk().store(str(tmp_path)))


def test_helpers_find_what_this_process_finds(store: list[SessionFile], monkeypatch: pytest.MonkeyPatch) -> None:
    gone = store[4]
    os.unlink(gone.path)
    with monkeypatch.context() as patched:
        patched.setattr(scan, "helper_count", lambda *_, **__: 0)
        expected = scan_files(store, compile_pattern("tea"))
    assert [(each.name, each.line) for each in expected.found] == [(file.name, 1) for file in store if file is not gone]
    assert scan_files(store, compile_pattern("tea")) == expected
    pattern = compile_pattern("t[e]a", is_regex=True)
    with monkeypatch.context() as patched:
        patched.setattr(patterns.MatchingTime, "is_possible", lambda: False)
        patched.setattr(workers, "_take", lambda _: pytest.fail("this process worked, too"))
        assert scan_files(store, pattern) == expected


@pytest.mark.parametrize("failure", ["no module", "no program", "no results"])
def test_what_a_helper_leaves_behind_is_searched_here(
    store: list[SessionFile], monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    if failure == "no module":
        monkeypatch.setattr(workers, "_WORKER", "no_such_module")
    elif failure == "no program":
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
    else:
        monkeypatch.setattr(workers, "_WORKER", "os, sys; sys.exit(os.read(3, 2)) #")
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    report = scan_files(store, compile_pattern("tea"))
    assert [each.name for each in report.found] == [file.name for file in store]
    if descriptors:
        time.sleep(0.1)  # the thread that writes to the helper closes its pipe
        assert len(os.listdir("/proc/self/fd")) == descriptors


def test_helpers_end_if_the_search_is_interrupted(store: list[SessionFile], monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    spawn = os.posix_spawn

    def note(*arguments: Any, **options: Any) -> int:
        started.append(spawn(*arguments, **options))
        return started[-1]

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "posix_spawn", note)
    with pytest.raises(KeyboardInterrupt):
        scan_files(store, compile_pattern("tea"), progress=interrupt)
    assert len(started) == 2
    for process in started:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_progress_ascends(store: list[SessionFile]) -> None:
    seen: list[tuple[int, int]] = []
    scan_files(store, compile_pattern("tea"), progress=lambda done, total: seen.append((done, total)))
    total = sum(file.stamp.size for file in store)
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)


def test_a_helper_does_its_share(store: list[SessionFile]) -> None:
    rows = [[scan._to_row(file)] for file in store]
    task = workers.SharedTask("claude_session_player.search.scan", "start_scanning", (("tea", False), [], 5.0))
    pipes = [os.pipe() for _ in range(3)]
    (numbers, pen), (task_end, task_pen), (results, result_end) = pipes
    os.write(pen, b"\0\1\0\3")
    os.close(pen)
    workers._write_all(task_pen, marshal.dumps((*task, rows)))
    with patch.object(os, "_exit") as leave, patch.object(signal, "signal"), patch.object(gc, "disable"):
        workers.help_out(numbers, task_end, result_end)
    leave.assert_called_once_with(0)
    with open(results, "rb") as file:
        found = marshal.load(file)
    os.close(numbers)
    assert {number: result[0][0][0][:2] for number, result in found.items()} == {
        number: (store[number].name, 1) for number in (1, 3)
    }


def test_what_no_line_may_match_is_searched_without_decoders() -> None:
    code = "import sys; from claude_session_player.search.scan import scan_files\n"
    code += "from claude_session_player.search.patterns import compile_pattern\n"
    code += f"from claude_session_player.store import session_file_at\nfile = session_file_at({errors.__file__!r})\n"
    code += "assert scan_files([file], compile_pattern('zyzzyva'[::-1])).files == 1\n"
    code += (
        "print([name for name in ('msgspec', 'pickle', 'subprocess', 'tantivy', 'threading') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


# --- lines in a buffer --------------------------------------------------------------------------------


@given(
    st.lists(
        st.sampled_from([b"needle", b"nee", b"dle", b"\n", b"x" * 9, b"\\u0041", b"\0" * 40, b"\\u00e9"]), max_size=40
    ),
    st.integers(1, 64),
    st.integers(20, 200),
)
def test_lines_that_may_match_are_found_with_their_numbers(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], portion: int, longest: int
) -> None:
    data = b"".join(pieces)
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(data)
    lines = io.BytesIO(data).readlines()
    expected = [
        number
        for number, line in enumerate(lines, 1)
        if (b"needle" in line or b"\\u0041" in line) and len(line.rstrip(b"\n")) <= longest
    ]
    too_long = [number for number, line in enumerate(lines, 1) if len(line.rstrip(b"\n")) > longest]
    filter = line_filter(ScanPattern("needle"))
    assert filter is not None
    with patch.object(raw_lines, "PORTION", portion), patch.object(line_reader, "LONGEST", longest):
        buffer = LineBuffer()
        with io.FileIO(path) as source:
            start, is_end = buffer.skip(source, filter)
            if is_end:
                assert (start, expected) == (len(data), [])
                return
            numbers = LineNumbers(source)
            assert all(number >= numbers.number_at(start) for number in expected)
            found, skipped = [], []
            for each in buffer.portions(source):
                if each.is_too_long:
                    skipped.append(numbers.number_at(each.offset) if each.offset >= start else 0)
                    continue
                for span in buffer.candidates(filter, each.size):
                    found.append(numbers.number_at(each.offset + span[0]))
                    assert buffer.line(span) == lines[found[-1] - 1]
    assert found == expected
    assert [number for number in skipped if number] == [
        number for number in too_long if number >= (skipped or [0])[-1]
    ] or skipped


# --- real sessions ------------------------------------------------------------------------------------


def in_lines(found: Sequence[FoundText]) -> Found:
    """What was found in the session files themselves."""
    return places([each for each in found if each.line and "/workflows/wf_" not in each.path])


@pytest.mark.skipif(not corpus.session_files(), reason=f"there are no real sessions at {corpus.ROOT}")
def test_scans_of_real_sessions_find_what_a_look_at_every_text_finds() -> None:
    chance = random.Random(1)
    for path in corpus.session_files():
        file = session_file_at(str(path))
        texts = searchable(file)
        parts = [part for _, usual, structured in texts for each in (*usual, *structured) for part in each.parts]
        for part in chance.sample(parts, min(5, len(parts))):
            at = chance.randrange(len(part))
            needle = part[at : at + chance.choice((3, 12, 40))]
            expected = plain_scan(texts, lambda part, needle=needle: needle in part)  # type: ignore[misc]
            assert expected, (path, needle)
            for pattern in (ScanPattern(needle), ScanPattern(re.escape(needle), is_regex=True)):
                assert in_lines(FileScanner(pattern).scan(file).found) == expected, (path, pattern)
        for regex in chance.sample((r"\bdef \w+\(", r"(?i)error: ", r"^\s*import ", r"[äöüé→✓]", r"\d{3} passed"), 2):
            expected = plain_scan(texts, re.compile(regex, re.MULTILINE).search)
            found = FileScanner(ScanPattern(regex, is_regex=True)).scan(file).found
            assert in_lines(found) == expected, (path, regex)
