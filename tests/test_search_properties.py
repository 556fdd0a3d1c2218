"""Properties of what is indexed: a file that grows yields the documents of the whole file, and a text its words."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings, strategies as st

from claude_session_player.search import file_reader
from claude_session_player.search.file_reader import FileReader, decode_state, encode_state
from claude_session_player.search.texts import EventText
from claude_session_player.search.tokens import BREAK, prepare, split_cjk, words_of
from claude_session_player.store import session_file_at
from tests.builder import SessionBuilder, call, text

WORDS = st.sampled_from(("zebra", "lion", "Feed the zebra", "naïve 数据 parseLine", ""))


class PlainSink:
    """Documents as they are, instead of an index."""

    def __init__(self) -> None:
        self.documents: list[tuple[int, EventText]] = []

    def add(self, document: Any) -> None:
        """See `DocumentSink`."""
        self.documents.append(document)

    def forget_file(self, file: int) -> None:
        """See `DocumentSink`."""
        self.documents.clear()

    def forget_lines(self, file: int, *lines: tuple[int, int]) -> None:
        """See `DocumentSink`."""
        self.documents = [one for one in self.documents if not any(first <= one[0] <= last for first, last in lines)]

    def facts(self) -> list[tuple[Any, ...]]:
        """What can be compared, in the order of lines."""
        facts = [(line, one.field, list(one.parts), one.tool, one.path, one.copy_key) for line, one in self.documents]
        return sorted(facts, key=repr)


def _to_plain(file: int, line: int, time: str | None, uuid: str | None, one: EventText, seconds: int) -> Any:
    return line, one


def _queue(operation: str, **more: str) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, "timestamp": "2026-01-17T20:32:05Z", **more}


@st.composite
def _sessions(draw: st.DrawFn) -> bytes:
    """A session with calls, results, queued prompts, titles, repetitions, and damage."""
    session = SessionBuilder()
    for number in range(draw(st.integers(1, 12))):
        words = draw(WORDS)
        match draw(st.integers(0, 9)):
            case 0 | 1:
                session.prompt(words)
            case 2:
                session.response(text(words or "x"))
            case 3:
                session.response(call("Read", f"t{number}", file_path=f"/{words}.py"))
            case 4:
                session.result(f"t{draw(st.integers(0, number))}", words)
            case 5:
                session.line(_queue("enqueue", content=words))
            case 6:
                session.line(_queue(draw(st.sampled_from(("remove", "dequeue", "popAll")))))
            case 7:
                session.line({"type": "ai-title", "aiTitle": words})
            case 8 if whole := [line for line in session.lines if b"}{" not in line]:
                again = json.loads(draw(st.sampled_from(whole)))
                session.line(again | {"uuid": f"again-{number}", "timestamp": "2026-02-01T00:00:00Z"})
            case _:
                session.raw(b'{"type":"user"}{"type":"us\n')
    data = session.data()
    return data[: draw(st.integers(len(data) // 2, len(data)))]


@settings(deadline=None, max_examples=150)
@given(_sessions(), st.lists(st.floats(0, 1), max_size=4))
def test_a_file_read_in_steps_yields_the_documents_of_the_whole_file(data: bytes, cuts: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(file_reader, "to_document", _to_plain):
        path = Path(folder, "1f2e3d4c-0001-4000-8000-000000000001.jsonl")
        grown, whole = PlainSink(), PlainSink()
        state = None
        for number, end in enumerate(sorted({int(cut * len(data)) for cut in cuts} | {len(data)})):
            path.write_bytes(data[:end])
            result = FileReader(session_file_at(str(path)), 1, grown).read(state, is_known=number > 0)
            state = decode_state(encode_state(result.state))
        FileReader(session_file_at(str(path)), 1, whole).read(None, is_known=False)

        assert grown.facts() == whole.facts()


@given(st.text(), st.text(alphabet="aAbBcC dD1é数据_", min_size=1))
def test_words_of_a_text_are_words_of_any_text_around_it(before: str, part: str) -> None:
    words = set(words_of(f"{before} {part} {before}"))

    assert set(words_of(part)) <= words


def _plain_inner_words(text: str) -> set[str]:
    """The reference: what `prepare` finds with bytes, by regular expressions."""
    found = set()
    for word in re.findall(r"[A-Za-z0-9]+", text):
        if re.search(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z0-9]", word):
            found.add(" ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]+", word)))
    for match in re.finditer(r"[数据库]+", text):
        run = match[0]
        found.add(" ".join([*(run[at : at + 2] for at in range(len(run) - 1)), run[-1]]))
        beside = (re.search(r"[A-Za-z0-9]*\Z", text[: match.start()]), re.match(r"[A-Za-z0-9]*", text[match.end() :]))
        found.update(one[0] for one in beside if one)
    return found - {""}


@given(st.text(alphabet="abAB xY1 _é数据库ñ", max_size=40))
def test_inner_words_are_those_of_the_plain_reference(given: str) -> None:
    inner = prepare(given)[1]

    assert {part for part in inner.split(BREAK) if part} == _plain_inner_words(given)
    assert "".join(piece for piece, _ in split_cjk(given)) == given
