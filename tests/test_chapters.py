"""The chapters of a session, and the list that shows them."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

import pytest
from hypothesis import given, strategies as st
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from claude_session_player import View
from claude_session_player.format.line_reader import LongLine
from claude_session_player.player.chapters import Chapter, list_chapters
from claude_session_player.player.frame_index import FrameIndex, FrameMark
from claude_session_player.player.recording import MemorySource
from claude_session_player.player.timeline import parse_position
from claude_session_player.tui import motions
from claude_session_player.tui.jobs import FramesChanged
from claude_session_player.tui.player import PlayerScreen
from claude_session_player.tui.widgets.chapters import ChapterList, ChaptersPopup
from claude_session_player.tui.widgets.timeline import TimelineBar
from tests.builder import SessionBuilder, call, text
from tests.players import notice, played, player, recording, screen_of
from tests.screens import run, text_of, until
from tests.test_frame_index import COMPACTED, RECORDS, lines_of
from tests.zones import system_zone


def index_of(lines: list[bytes], view: View | None = None) -> FrameIndex:
    index = FrameIndex(MemorySource(lines), view)
    index.finish()
    return index


def kitchen() -> SessionBuilder:
    return (
        SessionBuilder()
        .response(text("Good morning."))
        .prompt("Make tea")
        .response(call("Write", "w", file_path="/tea.py", content="hot"))
        .result("w", "done")
        .response(call("Edit", "e", file_path="/tea.py", old_string="a", new_string="b"))
        .result("e", "done")
        .response(call("Edit", "f", file_path="/cup.py", old_string="a", new_string="b"))
        .result("f", "no such file", error=True)
        .prompt("Wash the cups")
        .response(text("They are clean."))
    )


def chapters_of(session: SessionBuilder) -> list[Chapter]:
    return list_chapters(index_of(session.lines))


def test_a_chapter_has_what_happened_until_the_next_prompt() -> None:
    opening, tea, cups = chapters_of(kitchen())
    assert (opening.prompt, opening.frame, opening.end) == ("", 0, 1)
    assert (tea.prompt, tea.line, tea.seconds, tea.errors, tea.files) == ("Make tea", 2, 7.0, 1, ("/tea.py",))
    assert (cups.prompt, cups.seconds, cups.errors, cups.files) == ("Wash the cups", 1.0, 0, ())


def test_a_session_without_frames_has_no_chapters_and_one_without_prompts_has_one() -> None:
    assert chapters_of(SessionBuilder()) == []
    assert [chapter.prompt for chapter in chapters_of(SessionBuilder().response(text("Hi")))] == [""]


FAILED = {"type": "assistant", "isApiErrorMessage": True, "message": {"content": "API Error: 529"}}


def at_times(records: list[Any], times: list[int | None]) -> list[bytes]:
    stamped = [
        {**record, **({} if time is None else {"timestamp": f"2026-01-17T20:{time:02}:00.000Z"})}
        for record, time in zip(records, times, strict=True)
    ]
    return lines_of(*stamped)


@given(
    st.lists(st.tuples(st.one_of(RECORDS, st.just(FAILED)), st.none() | st.integers(0, 59)), max_size=40),
    st.sampled_from((View(), View.rich())),
)
def test_chapters_partition_the_frames_and_their_errors_add_up(rows: list[Any], view: View) -> None:
    index = index_of(at_times([record for record, _ in rows], [time for _, time in rows]), view)
    chapters = list_chapters(index)
    covered = [frame for chapter in chapters for frame in range(chapter.frame, chapter.end)]
    assert covered == list(range(chapters[0].frame if chapters else 0, len(index.frames)))
    assert all(chapter.seconds >= 0 and chapter.frame < chapter.end for chapter in chapters)
    if chapters:
        marked = sum(FrameMark.ERROR in frame.marks for frame in index.frames)
        assert sum(chapter.errors for chapter in chapters) == len(index.progress.error_lines) == marked


def test_errors_of_notices_and_lines_that_are_too_long_count_as_the_timeline_marks_them() -> None:
    session = SessionBuilder().prompt("Go").system("informational", level="error", content="The disk is full.")
    session.system("api_error", level="error").response(call("Bash", "b")).result("b", "no", error=True)
    lines = [*session.lines, LongLine(1 << 30, is_complete=True)]
    index = index_of(lines, View.rich())
    (chapter,) = list_chapters(index)
    assert chapter.errors == sum(FrameMark.ERROR in frame.marks for frame in index.frames) == 4


def test_messages_of_other_agents_are_no_chapters() -> None:
    session = SessionBuilder().prompt("Go").prompt("Another Claude session sent a message: hello").prompt("On")
    assert [chapter.prompt for chapter in chapters_of(session)] == ["Go", "On"]


def test_a_conversation_that_was_copied_into_the_file_has_its_prompts_once() -> None:
    session = SessionBuilder()
    for _ in range(2):
        session.prompt("Go").block(text("Gone."), request="r").prompt("On")
        session.block(text("Came."), request="s")
    index = index_of(session.prompt("Go").lines)
    assert [prompt.text for prompt in index.progress.prompts] == ["Go", "On", "Go"]


def test_a_record_that_occurs_twice_is_one_prompt_also_at_the_end() -> None:
    lines = SessionBuilder().prompt("Go").response(text("Gone.")).prompt("On").lines
    assert [prompt.text for prompt in index_of([*lines, lines[-1], lines[0]]).progress.prompts] == ["Go", "On"]


def test_a_command_that_was_recorded_twice_is_one_prompt() -> None:
    session = SessionBuilder().prompt("Go").response(text("Gone.")).prompt("/compact", promptId="p1").compaction()
    session.prompt("<command-name>/compact</command-name>", promptId="p1")
    assert [prompt.text for prompt in index_of(session.lines).progress.prompts] == ["Go", "/compact"]
    session.prompt("On", promptId="p2").response(text("Came."))
    assert [prompt.text for prompt in index_of(session.lines).progress.prompts] == ["Go", "/compact", "On"]


def test_notices_before_the_first_prompt_are_no_chapter_but_an_error_is() -> None:
    def opening(session: SessionBuilder) -> list[str]:
        return [chapter.prompt for chapter in list_chapters(index_of(session.prompt("Go").lines, View.rich()))]

    hook = SessionBuilder().system("informational", level="warning", content="A hook ran.")
    assert opening(hook) == ["Go"]
    assert opening(SessionBuilder().system("informational", level="error", content="It failed.")) == ["", "Go"]
    assert opening(SessionBuilder().response(text("Good morning."))) == ["", "Go"]


def test_a_compaction_does_not_end_a_chapter() -> None:
    records = {"type": "user", "message": {"content": "a"}}, COMPACTED, FAILED
    (chapter,) = list_chapters(index_of([json.dumps(record).encode() + b"\n" for record in records]))
    assert (chapter.end, chapter.errors) == (3, 1)


# --- the list -----------------------------------------------------------------------------------------


class Beside(App[None]):
    """A list of chapters by itself."""

    ENABLE_COMMAND_PALETTE = False
    chosen: ClassVar[list[int]] = []

    def compose(self) -> ComposeResult:
        """The list alone."""
        yield ChapterList(chapters_of(kitchen()), 0)

    def on_chapter_list_chosen(self, event: ChapterList.Chosen) -> None:
        """Note what was chosen."""
        self.chosen.append(event.frame)


@pytest.mark.parametrize(("width", "shown"), [(36, "✗1 ±1"), (30, "✗1 ±1"), (80, "LASTED")])
def test_the_columns_are_those_that_fit(width: int, shown: str) -> None:
    app = Beside()

    async def look(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        seen = text_of(app)
        assert shown in seen
        assert "Make tea" in seen
        assert "COST" in seen or width < 80

    run(app, look, (width, 12))


def test_what_is_typed_filters_and_a_click_goes_there() -> None:
    app = Beside()
    app.chosen.clear()

    async def script(pilot: Pilot[Any]) -> None:
        chapters = app.query_one(ChapterList)
        chapters.focus_filter()
        await pilot.press("c", "u", "p", "s")
        await pilot.pause()
        assert "Make tea" not in text_of(app)
        assert "Wash the cups" in text_of(app)
        await pilot.press("enter")
        await pilot.press("escape")
        await pilot.pause()
        assert "Make tea" in text_of(app)
        await pilot.click("ChapterTable", offset=(3, 2))
        await pilot.pause()

    run(app, script, (60, 12))
    assert app.chosen == [8, 1]


def test_an_empty_list_says_why() -> None:
    app = Beside()

    async def script(pilot: Pilot[Any]) -> None:
        app.query_one(ChapterList).focus_filter()
        await pilot.press("x", "y")
        await until(pilot, lambda: "No chapter matches this filter." in text_of(app))

    run(app, script, (60, 12))
    empty, _ = player(recording(SessionBuilder()))

    async def open_chapters(pilot: Pilot[Any]) -> None:
        await pilot.press("c")
        await until(pilot, lambda: "No prompts yet." in text_of(empty))

    run(empty, open_chapters)


def test_the_chapter_that_is_played_is_marked_and_the_cursor_goes_with_it() -> None:
    app = Beside()

    async def script(pilot: Pilot[Any]) -> None:
        chapters = app.query_one(ChapterList)
        chapters.follow(8)
        await pilot.pause()
        (line,) = (line for line in text_of(app).splitlines() if "Wash" in line)
        assert line.startswith("▶")
        chapters.focus_filter()
        await pilot.press("up", "enter")
        await pilot.pause()

    app.chosen.clear()
    run(app, script, (60, 12))
    assert app.chosen == [1]


def test_the_cursor_follows_the_player_until_a_person_moves_it() -> None:
    app, _ = player(start=parse_position("100%"))

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        chapters = screen.query_one(ChapterList)
        table = chapters._table
        await until(pilot, lambda: screen.playback.is_complete and len(table.rows) == 2)
        await until(pilot, lambda: table.cursor == 1)
        await pilot.press("home")
        await until(pilot, lambda: table.cursor == 0)
        chapters.action_move(1)
        screen.show_chapters()
        await pilot.press("right")
        await pilot.pause()
        assert table.cursor == 1
        await pilot.press("end", "home")
        await until(pilot, lambda: table.cursor == 0)  # they met

    run(app, script, (180, 40))


def test_chapters_are_listed_only_where_they_are_in_view(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = []

    def counted(*given: Any) -> list[Chapter]:
        listed.append(given)
        return list_chapters(*given)

    monkeypatch.setattr(motions, "list_chapters", counted)
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        await until(pilot, lambda: screen.playback.is_complete and screen.costs.curve is not None)
        assert not listed
        await pilot.press("end")
        await pilot.resize_terminal(180, 40)
        await until(pilot, lambda: screen.query_one(ChapterList)._table.cursor == 1)
        assert listed
        await pilot.press("o", "o")
        listed.clear()
        screen.post_message(FramesChanged())
        await pilot.pause()
        assert not listed
        await pilot.press("o")
        assert listed

    run(app, script)


@pytest.mark.parametrize(
    ("zone", "time"), [("America/New_York", "0001-01-01T00:00:00Z"), ("Asia/Tokyo", "9999-12-31T23:59:59.999Z")]
)
def test_a_time_that_no_calendar_has_is_not_shown(zone: str, time: str) -> None:
    shown = []
    with system_zone(zone):
        session = SessionBuilder().prompt("Make tea", timestamp=time).response(text("Yes"), timestamp=time)

        async def script(pilot: Pilot[Any], screen: PlayerScreen) -> None:
            await until(pilot, lambda: screen.playback.is_complete)
            await pilot.press("home")
            await pilot.pause()
            shown.append(text_of(pilot.app))
            await pilot.hover(TimelineBar, offset=(0, 1))
            await until(pilot, lambda: 'prompt "Make tea"' in text_of(pilot.app))

        shown.append(played(script, recording(session), (180, 40)))
    for one in shown:
        rows = [row for row in one.split("\n") if "Make tea" in row or "line 1" in row]
        assert rows
        assert not any(re.search(r"\be\b|Unknown|  e  ", row) for row in rows), rows


def test_c_opens_the_chapters_and_enter_goes_to_one() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        screen = screen_of(app)
        await pilot.press("end", "c")
        await until(pilot, lambda: isinstance(app.screen, ChaptersPopup) and "Thank you." in text_of(app))
        assert "▶" in text_of(app)
        await pilot.press("b", "e", "l", "l", "enter")
        await until(pilot, lambda: app.screen is screen)
        await pilot.pause()
        assert screen.player.position == 0
        assert notice(app) == ""

    run(app, script)


def test_the_popup_shows_costs_as_soon_as_they_are_known() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        await pilot.press("c")
        await until(pilot, lambda: "$" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app._first)

    run(app, script, (120, 40))
