"""The rebuilt content of files of real sessions, compared with what they read and edited next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from claude_session_player import Store
from claude_session_player.cli.files import content_record, touched_file_record
from claude_session_player.files.activity import CompletedCall, FileCalls, count_touches, touched_files
from claude_session_player.files.rebuild import FileRebuilder, rebuild_file
from claude_session_player.files.snapshots import PartialText, decode_raw, lines_from_read, structured_result
from claude_session_player.format.events import Event
from claude_session_player.format.results import decode_text
from claude_session_player.parser import read_events
from claude_session_player.store.filters import Filter
from claude_session_player.tools import FileTouch
from tests import corpus
from tests.test_cli_store import SCHEMA

pytestmark = pytest.mark.skipif(not corpus.session_files(), reason=f"there are no real sessions at {corpus.ROOT}")


def whole_content(call: CompletedCall) -> PartialText | None:
    """The whole file, if a result shows it: a read of all lines, or the original of an edit."""
    if call.call.touch is FileTouch.READ:
        part = lines_from_read(call.call.input, call.result, call.structured)
        return part if part.complete else None
    details = structured_result(call.structured)
    text = decode_raw(decode_text, details.original_file) or decode_raw(decode_text, details.original_of_many)
    return PartialText.whole(text) if text is not None else None


def rebuilt_and_shown(path: Path) -> Iterator[tuple[PartialText, PartialText]]:
    """The rebuilt content of each changed file beside its true content, wherever a result shows that."""
    events: list[Event] = list(read_events(path))
    known = {file: FileRebuilder(file) for file in count_touches(events)}
    calls, changed = FileCalls(), set[str]()
    for event in events:
        for call in calls.take(event):
            if isinstance(call, CompletedCall) and not call.failed:
                shown = whole_content(call)
                if shown is not None and call.call.path in changed:
                    yield known[call.call.path].known, shown
                if call.call.touch is not FileTouch.READ:
                    changed.add(call.call.path)
        for rebuilder in known.values():
            rebuilder.take(event)


def test_what_is_rebuilt_after_edits_is_what_is_read_next() -> None:
    """The few that differ were changed by formatters, users and git between the edit and the read."""
    found: Counter[tuple[bool, bool]] = Counter()
    for path in corpus.session_files():
        for known, shown in rebuilt_and_shown(path):
            if known.lines:
                found[known.complete, not known.contradicts(shown)] += 1
    assert found[True, True] >= 250
    assert found[True, False] <= 0.04 * found[True, True]
    assert found[False, False] == 0


def test_records_of_real_files_match_the_schema() -> None:
    root = corpus.STORE
    if not root.is_dir():
        pytest.skip("there is no real store")
    files = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/touched_file"})
    contents = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/file_content"})
    for session in Store.open(root, cache=None).sessions(Filter(include_subagents=True)):
        events = list(session.events())
        for file in touched_files(session):
            files.validate(touched_file_record(file))
            contents.validate(content_record(rebuild_file(events, file.path), None, []))
