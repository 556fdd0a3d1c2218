"""Transcripts of real sessions, read back: their entries are those that JSON tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_session_player.export.json import entry_record
from claude_session_player.export.transcript import HEADINGS, TranscriptStyle, entry_blocks, join_blocks
from claude_session_player.parser import read_events
from claude_session_player.store.store import Store
from claude_session_player.transcript.builder import TranscriptBuilder
from claude_session_player.transcript.entries import EntryKind
from claude_session_player.transcript.subagents import SubagentFinder, session_subagents
from claude_session_player.transcript.walk import PlacedEntry, TranscriptWalk
from claude_session_player.util.humanize import transcript_time
from tests import corpus
from tests.hostile.effort import sample
from tests.transcripts import PARSERS, expected, forbidden, heads

FILES = corpus.session_files()
pytestmark = pytest.mark.skipif(not FILES, reason=f"there are no real sessions at {corpus.ROOT}")
STYLE = TranscriptStyle()


def compare(told: list[PlacedEntry]) -> int:
    """How many entries were compared."""
    written = "".join(join_blocks(entry_blocks(told, STYLE)))
    records = [facts for one in told if (facts := entry_record(one, STYLE)) is not None]
    named = [(facts["depth"], HEADINGS[EntryKind(facts["kind"])]) for facts in records if facts["kind"] != "result"]
    for markdown in PARSERS:
        found = heads(written, markdown)
        assert found == list(expected(told, STYLE))
        assert [(head.depth, head.who) for head in found if head.time and head.who != "Result"] == named
        assert forbidden(written, markdown) == []
    times = [transcript_time(facts["timestamp"]) for facts in records if facts["kind"] not in ("result", "agent")]
    assert [head.time for head in found if head.time and head.who not in ("Result", "Sub-agent")] == times
    return len(records)


@pytest.mark.parametrize("path", sample(FILES, 20), ids=lambda path: path.name)
def test_a_real_session_read_back_has_the_entries_of_its_json(path: Path) -> None:
    compare(list(TranscriptWalk(TranscriptBuilder(SubagentFinder(()))).entries(read_events(path))))


def test_real_sub_agents_read_back_stand_where_they_were_called() -> None:
    if not corpus.STORE.is_dir():
        pytest.skip(f"there is no store at {corpus.STORE}")
    found = [session for session in Store.open(corpus.STORE, cache=None).sessions() if session.subagents]
    counts = [
        compare(list(TranscriptWalk(TranscriptBuilder(session_subagents(session))).entries(session.events())))
        for session in sample(found, 5)
    ]
    assert sum(counts) > 100
