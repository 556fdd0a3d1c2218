"""Every real session file at hand replays, with all lines accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_session_player import ScreenState, View, render, replay
from claude_session_player.format.events import QUIET_TYPES
from claude_session_player.formatter import MarkdownWindow
from claude_session_player.line_audit import LineStatus
from claude_session_player.parser import read_events
from claude_session_player.util.text import Cut
from tests import corpus

FILES = corpus.session_files()
pytestmark = pytest.mark.skipif(not FILES, reason=f"there is no corpus of real sessions at {corpus.ROOT}")


def name(path: Path) -> str:
    """A short name for a test's report."""
    return "/".join(path.parts[-2:])[-60:]


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_line_of_a_real_file_is_accounted_for(path: Path) -> None:
    state = replay(path)
    lines = path.read_bytes().splitlines(keepends=True)
    account = state.account
    assert account.lines == path.read_bytes().count(b"\n") + (bool(lines) and not lines[-1].endswith(b"\n"))
    assert account.lines == sum(account.total(fate) for fate in LineStatus)
    state.to_markdown().encode()


def test_real_files_hold_almost_nothing_unknown() -> None:
    unknown: dict[str, int] = {}
    lines = 0
    for path in FILES:
        account = replay(path).account
        lines += account.lines
        for kind, count in account.unknown_events.items():
            unknown[kind] = unknown.get(kind, 0) + count
    assert not set(unknown) & set(QUIET_TYPES)
    assert sum(unknown.values()) < lines / 1000, unknown


def test_a_window_shows_the_same_as_the_whole_screen_on_real_files() -> None:
    for path in FILES[::10]:
        state = ScreenState(View(history=True))
        window = MarkdownWindow(state)
        for event in read_events(path):
            render(state, event)
            window.update()
        assert window.text() == state.to_markdown()


def test_the_full_view_has_the_elements_of_the_default_one_and_cuts_none() -> None:
    for path in FILES[::10]:
        usual, full = replay(path), replay(path, View.full())
        assert [(type(e), e.line) for e in usual.elements] == [(type(e), e.line) for e in full.elements]
        assert all(getattr(e, "cut", Cut.NONE) is Cut.NONE for e in full.elements)
