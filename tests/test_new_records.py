"""A record type that is new: it is told generically everywhere, and two files give it words of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Union

import msgspec
import pytest

from claude_session_player import parser
from claude_session_player.flat_events import count_flat_events, flatten_event
from claude_session_player.format.blocks import name_kinds
from claude_session_player.format.events import RECORDS, TITLE_KEYS, Event, HiddenRecord, UnknownRecord
from claude_session_player.line_audit import LineStatus
from claude_session_player.linking.notices import NoticeRule
from claude_session_player.linking.titles import TITLE_PRECEDENCE
from claude_session_player.models import ScreenState
from claude_session_player.playback import replay
from claude_session_player.renderer import render
from claude_session_player.transcript import builder
from tests.builder import SessionBuilder, text
from tests.conversations import entry_lines, markdown, walk
from tests.program import PATIENCE


class Moved(Event, tag="moved"):
    """A record type as the next release may bring it: all that `events.py` would have to say."""

    place: str | None = None


class Silent(HiddenRecord, tag="silent"):
    """One that nobody needs to see."""


name_kinds(Event)  # as `events.py` does behind its last class

union: Any = Union[(*RECORDS, Moved, Silent, UnknownRecord)]
decode = msgspec.json.Decoder(union).decode
"""Decodes lines as if both types were in `RECORDS`."""

ROOT = Path(__file__).parents[1]
PROGRAM = """
import sys
from claude_session_player import cli, parser
from tests.test_new_records import decode
parser.decode = decode
sys.exit(cli.run(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def _decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "decode", decode)


def session() -> SessionBuilder:
    moved = {"type": "moved", "uuid": "m", "timestamp": "2026-01-17T20:32:10Z", "place": "/new"}
    return SessionBuilder().prompt("Go").line(moved).line({"type": "silent"}).response(text("Done"))


def test_a_new_record_is_told_generically() -> None:
    told = markdown(session())
    assert "**Note** (2026-01-17 20:32:10) Record `moved` (line 2)\n" in told
    assert "silent" not in told
    account = walk(session())[0].main.account
    assert account.by_rule(LineStatus.HIDDEN) == {"silent": 1}
    assert account.flawless


def test_a_copy_of_a_new_record_is_told_once() -> None:
    twice = session()
    twice.raw(twice.lines[1])
    assert list(entry_lines(walk(twice)[1])).count("record: Record") == 1


def test_a_description_is_all_that_a_new_record_needs_to_have_words(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = NoticeRule(lambda remarks, event: f"Moved to {event.place}", lambda event: True)
    silent = NoticeRule(lambda remarks, event: "Silence")
    monkeypatch.setattr(builder, "RECORDS", {Moved: moved, Silent: silent})
    assert "**Note** (2026-01-17 20:32:10) Moved to /new\n" in markdown(session())
    assert "note: Silence" in list(entry_lines(walk(session())[1]))


def test_a_new_record_is_not_on_the_screen_but_in_the_account_of_lines() -> None:
    state = replay(session().lines)
    assert state.to_markdown() == "❯ Go\n\n● Done"
    assert state.account.by_rule(LineStatus.HIDDEN) == {"moved": 1, "silent": 1}
    assert render(ScreenState(), Moved(place="/new")).elements == []


def test_a_new_record_is_one_fact() -> None:
    event = Moved(line=2, place="/new")
    assert [fact["type"] for fact in flatten_event(event)] == ["moved"]
    assert count_flat_events(event) == 1


@pytest.mark.parametrize("command", ["show", "get", "account", "replay", "summary", "verify"])
def test_commands_take_a_new_record(command: str, tmp_path: Path) -> None:
    path = session().write(tmp_path / "session.jsonl")
    arguments = [sys.executable, "-c", PROGRAM, command, str(path)]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    assert ("moved" in done.stdout) == (command in ("show", "get", "account"))


def test_a_block_of_a_type_without_a_method_is_told_as_a_block() -> None:
    assert builder._BLOCKS[type("New", (), {})] is builder.TranscriptBuilder._block


def test_every_record_type_that_names_a_session_has_a_place_in_the_precedence() -> None:
    assert sorted(TITLE_PRECEDENCE) == sorted(TITLE_KEYS)
