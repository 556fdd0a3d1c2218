"""Lines are read within bounds of memory, and however they are read, they are those of plain splitting."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings, strategies as st

from claude_session_player.format import line_reader
from claude_session_player.format.line_reader import (
    LongLine,
    complete_line,
    find_line,
    read_batches,
    read_lines,
    read_portions,
    rest_of_line,
    split_lines,
)

LONGEST = 60
HEAVIEST = 30_000


def plain_lines(data: bytes) -> list[bytes]:
    """Lines with their line feeds, and nothing else."""
    return [line for line in data.replace(b"\n", b"\n\0\1").split(b"\0\1") if line]


def bounded(line: bytes) -> tuple[int, bool]:
    """What remains of a line: its length, and whether it is kept."""
    return len(line), not isinstance(line, LongLine)


lines = st.lists(st.binary(max_size=90).map(lambda data: data.replace(b"\n", b"")), max_size=8)
files = st.tuples(lines, st.booleans()).map(lambda parts: b"\n".join(parts[0]) + b"\n" * parts[1])


@settings(max_examples=200)
@given(files, st.integers(1, 90))
def test_lines_are_those_of_plain_splitting_however_they_are_read(data: bytes, batch: int) -> None:
    expected = [(len(line), len(line.rstrip(b"\n")) <= LONGEST) for line in plain_lines(data)]
    with patch.multiple(line_reader, LONGEST=LONGEST, _BATCH=batch, _PORTION=7):
        assert list(map(bounded, read_lines(io.BytesIO(data)))) == expected
        whole = [line for line in read_lines(io.BytesIO(data)) if not isinstance(line, LongLine)]
    assert whole == [line for line in plain_lines(data) if len(line.rstrip(b"\n")) <= LONGEST]
    assert split_lines(data) == plain_lines(data)


@settings(max_examples=50)
@given(files, st.integers(1, 90))
def test_batches_of_a_file_hold_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, batch: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "session.jsonl"
    path.write_bytes(data)
    with patch.multiple(line_reader, LONGEST=LONGEST, _BATCH=batch, _PORTION=7), path.open("rb") as file:
        read = [line for some in read_batches(file) for line in some]
        assert list(map(bounded, read)) == list(map(bounded, read_lines(io.BytesIO(data))))


@given(files, st.integers(1, 10), st.integers(1, 9))
def test_a_line_is_found_by_its_number(data: bytes, number: int, portion: int) -> None:
    expected = plain_lines(data)
    with patch.object(line_reader, "_PORTION", portion):
        file = io.BytesIO(data)
        missing = find_line(file, number)
        complete = data.count(b"\n")
        assert missing == max(number - 1 - complete, 0)
        if number <= len(expected):
            assert b"".join(rest_of_line(file)) == expected[number - 1]
        assert b"".join(read_portions(io.BytesIO(data))) == data


@given(files, st.integers(0, 20))
def test_a_line_is_completed_from_its_start(data: bytes, size: int) -> None:
    file = io.BytesIO(data)
    start = file.readline(size) if size else b""
    with patch.multiple(line_reader, LONGEST=LONGEST):
        line = complete_line(start, file)
    expected = plain_lines(data)[0] if start else b""
    assert bounded(line) == (len(expected), len(expected.rstrip(b"\n")) <= LONGEST)


texts = st.text(alphabet='a\nż\\" ', max_size=30)
records = st.recursive(
    st.one_of(texts, st.integers(0, 9), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=300)
@given(st.dictionaries(texts, records, max_size=6), st.booleans(), st.integers(0, HEAVIEST))
@example({"": [], "\\": []}, False, 2620)
def test_a_line_is_kept_if_its_decoded_form_fits_into_memory(record: Any, ascii: bool, most: int) -> None:
    line = json.dumps(record, ensure_ascii=ascii, separators=(",", ":")).encode()
    with patch.multiple(line_reader, HEAVIEST=most):
        kept = bounded(line_reader.bounded_line(line))[1]
    weight = sum(map(_memory_of, _tokens(line)))
    assert kept or weight > most
    assert not kept or weight <= most or len(line) * line_reader._MOST_FOR_A_BYTE <= most


def _memory_of(token: bytes) -> int:
    """The bytes that a string or an item takes: copies of its characters, rows of text, objects."""
    if not token.startswith(b'"'):
        return 640
    width = 1 if token.isascii() and b"\\u" not in token else 4
    return len(token) * 4 * width + token.count(b"\\n") * 160 + 80


def _tokens(line: bytes) -> list[bytes]:
    """Every string of a line, and every character before an item; byte by byte."""
    found, at = [], 0
    while at < len(line):
        if line[at : at + 1] == b'"':
            end = at + 1
            while line[end : end + 1] != b'"':
                end += 2 if line[end : end + 1] == b"\\" else 1
            found.append(line[at : end + 1])
            at = end
        elif line[at : at + 1] in (b"{", b"[", b","):
            found.append(line[at : at + 1])
        at += 1
    return found


def test_a_long_line_says_how_long_it_is(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b'{"type":"user"}\n' + b"x" * 100 + b"\n")
    with patch.multiple(line_reader, LONGEST=LONGEST), path.open("rb") as file:
        short, long = (line for some in read_batches(file) for line in some)
    assert short == b'{"type":"user"}\n'
    assert (type(long), len(long)) == (LongLine, 101)
