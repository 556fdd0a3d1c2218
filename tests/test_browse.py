"""The window in which sessions are found, run without a terminal."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from textual.events import MouseScrollDown, MouseScrollUp
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widget import Widget

from claude_session_player.store.index import StoreIndex
from claude_session_player.store.session import Session
from claude_session_player.tui import jobs, player
from claude_session_player.tui.browse import BrowseApp
from claude_session_player.tui.browse_search import QueryInput
from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.tui.player import PlayerScreen
from claude_session_player.tui.popups import TextPopup
from claude_session_player.tui.widgets import preview
from claude_session_player.tui.widgets.preview import Preview, PreviewPane, PreviewPart, RowsView
from tests.browsing import KETTLE, NOW, browse, kettles, settled, table, titles
from tests.builder import SessionBuilder, text
from tests.players import notice
from tests.screens import LARGE, SMALL, check_picture, drawn_in, each_shade, each_size, run, text_of, until
from tests.stores import ONE, THREE, TWO, StoreBuilder, settle
from tests.test_snapshots import opened_files


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreBuilder:
    builder = kettles(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(builder.root))
    return builder


# --- how it looks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_sessions_stand_in_a_table_with_the_screen_of_one_of_them(builder: StoreBuilder, size: tuple[int, int]) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "❯ Oil" in text_of(app))
        check_picture(app, "browse")

    browse(builder, script, size)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_title_has_room_and_two_sessions_of_one_day_do_not_look_alike(
    builder: StoreBuilder, size: tuple[int, int]
) -> None:
    title = "Forty characters are enough for a title"
    for number, hour in enumerate((9, 14)):
        session = SessionBuilder(session_id=f"b0000000-000{number}-4000-8000-000000000004")
        session.prompt(f"{title}{'!.'[number]}", timestamp=f"2026-01-18T{hour:02}:29:59.000Z")
        session.write(builder.home() / f"{session.session_id}.jsonl")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        assert f"01-18 14:29  {title}." in text_of(app)
        assert f"01-18 09:29  {title}!" in text_of(app)

    browse(builder, script, size)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_typing_filters_the_table(builder: StoreBuilder, size: tuple[int, int]) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("/", *"engine st")
        await until(pilot, lambda: "It runs." in text_of(app))
        assert titles(app) == ["Start the engine"]
        check_picture(app, "browse-filter")

    browse(builder, script, size)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_all_keys_are_told_in_the_help(builder: StoreBuilder, size: tuple[int, int]) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "❯ Oil" in text_of(app))
        await pilot.press("?")
        await until(pilot, lambda: "List keys" in text_of(app))
        check_picture(app, "browse-help")

    browse(builder, script, size)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_summary_is_what_the_summary_command_prints(builder: StoreBuilder, size: tuple[int, int]) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("i")
        await until(pilot, lambda: f"Session {THREE} (7 events)" in text_of(app))
        app.screen.query_one("#box").scroll_home(animate=False)
        await until(pilot, lambda: "• Errors: 1" in text_of(app))
        await pilot.press("escape")
        assert not isinstance(app.screen, TextPopup)

    browse(builder, script, size)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_summary_stands_in_a_window_of_its_own(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    summary = "Session 1f2e (6 events)\n- Duration: 5 seconds\n- Title: Oil \\[the] \\*\\*wheels\\*\\*\n- Cost: $0.02"
    monkeypatch.setattr(jobs, "summary_text", lambda opener, file: summary)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "❯ Oil" in text_of(app))
        await pilot.press("i")
        await until(pilot, lambda: "$0.02" in text_of(app))
        assert " • Title: Oil [the] **wheels**" in text_of(app)
        check_picture(app, "browse-summary")

    browse(builder, script, size)


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (40, 10)])
def test_a_tiny_terminal_is_survived(builder: StoreBuilder, size: tuple[int, int]) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "up", "s", "/", "o", "escape", "?", "escape", "p", "escape", "e", "escape", "end")
        await pilot.resize_terminal(*LARGE)
        await until(pilot, lambda: "Boil water" in text_of(app))

    browse(builder, script, size)


def test_an_empty_store_says_that_it_is_empty(tmp_path: Path) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "No sessions in this store." in text_of(app))
        assert "0 sessions" in text_of(app)
        await pilot.press("enter", "f", "i", "e", "y", "down", "end", "p", "enter", "s", "S")
        assert len(app.screen_stack) == 1

    browse(StoreBuilder(tmp_path / "store"), script)


def test_a_session_in_use_has_a_mark(builder: StoreBuilder) -> None:
    os.utime(builder.home() / f"{ONE}.jsonl")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "●" in text_of(app).splitlines()[3])

    browse(builder, script, (80, 10))


def test_a_terminal_without_colours_is_enough(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "❯ Oil" in text_of(app))
        await pilot.press("p", "down", "escape", "/", "x")
        await until(pilot, lambda: "No sessions match this filter" in text_of(app))

    browse(builder, script)


# --- what arrives -----------------------------------------------------------------------------------


def test_the_first_paint_opens_no_session_file(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = str(builder.root.parent / "cache")
    builder.open(Path(cache)).sessions()
    os.utime(builder.home() / f"{ONE}.jsonl")
    seen = threading.Event()
    monkeypatch.setattr(StoreIndex, "_extract", lambda *_: iter(()) if seen.wait() else None)
    app = BrowseApp(StoreOpener((str(builder.root),), cache), clock=lambda: NOW, rest=1000)

    async def script(pilot: Pilot[Any]) -> None:
        try:
            await until(pilot, lambda: "Boil water" in text_of(app))
            assert "…" in text_of(app).splitlines()[3]
            assert "1 file to read" in text_of(app)
            assert opened == []
        finally:
            seen.set()

    with opened_files() as opened:
        run(app, script)


def test_a_screen_is_read_only_where_the_cursor_rests(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def look(session: Session, size: Size, part: PreviewPart, *, is_rich: bool) -> Preview:
        looks.append(session.id)
        return Preview([])

    monkeypatch.setattr(preview, "preview_of", look)
    app = BrowseApp(StoreOpener((str(builder.root),), None), clock=lambda: NOW, rest=1000)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "Boil water" in text_of(app))
        await pilot.press("down", "down")
        assert looks == []
        app.screen.query_one(PreviewPane).read()
        await settled(pilot)

    run(app, script)
    assert looks == [TWO]


def test_reloading_keeps_the_cursor_on_its_session(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("end")
        builder.session("b0000000-0004-4000-8000-000000000004", "Newest", days=1)
        await pilot.press("r")
        await until(pilot, lambda: "Newest" in text_of(app))
        assert titles(app)[0] == "Newest"
        assert table(app).current is not None
        assert table(app).current.session.id == TWO  # type: ignore[union-attr]

    browse(builder, script)


def test_a_store_that_is_gone_when_it_is_read_again_is_told(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        builder.root.rename(builder.root.with_name("elsewhere"))
        await pilot.press("r")
        await until(pilot, lambda: "there is no such directory" in notice(app))

    browse(builder, script, LARGE)


# --- keys ---------------------------------------------------------------------------------------------


def test_words_of_the_command_line_filter_from_the_beginning(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        assert titles(app) == ["Boil water"]
        await pilot.press("escape")
        assert len(titles(app)) == 3

    browse(builder, script, words="BOIL kettle")


def test_the_arrows_lead_from_the_words_to_the_table_and_escape_clears_them(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("/", "q")
        assert app.screen.query_one(QueryInput).has_focus
        assert "to the table" in text_of(app)
        await pilot.press("down")
        assert table(app).has_focus
        assert "to the table" not in text_of(app)
        await pilot.press("escape")
        assert len(titles(app)) == 3

    browse(builder, script)


def test_sorting_goes_through_the_orders_and_says_which(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        assert titles(app) == ["Oil [the] wheels", "Start the engine", "Boil water"]
        await pilot.press("s", "s", "s", "s", "S")
        await pilot.pause()
        assert "by size ↑" in text_of(app)
        assert titles(app)[-1] == "Oil [the] wheels"

    browse(builder, script)


def test_a_project_is_chosen_from_a_table(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("p", "down", "down")
        await pilot.pause()
        assert KETTLE in text_of(app)
        await pilot.press("enter")
        await pilot.pause()
        assert titles(app) == ["Boil water"]
        assert "1 of 3 sessions · kettle" in text_of(app)
        await pilot.press("p", "home", "enter")
        assert len(titles(app)) == 3

    browse(builder, script)


def test_a_long_path_of_a_project_loses_its_middle(builder: StoreBuilder) -> None:
    path = f"/home/ada/{'deep/' * 20}teapot"
    builder.session("d0000000-0001-4000-8000-000000000006", "Make tea", cwd=path, days=3)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        assert re.search(r"· /home/ada/deep/\S*…\S*/teapot$", text_of(app), re.MULTILINE)
        await pilot.press("p")
        await until(pilot, lambda: re.search(r"/home/ada/deep/\S*…\S*/teapot +1", text_of(app)) is not None)
        await pilot.click("#box", offset=(5, 3))
        await pilot.click("#box", offset=(5, 3), times=2)
        await until(pilot, lambda: "1 of 4 sessions · teapot" in text_of(app))

    browse(builder, script)


def test_subagents_are_shown_when_they_are_wanted(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("a")
        await pilot.pause()
        assert "↳ Look around" in text_of(app)
        await pilot.press("a")
        await pilot.pause()
        assert "↳ Look around" not in text_of(app)

    browse(builder, script)


@pytest.mark.parametrize(("key", "live"), [("enter", False), ("f", True)])
def test_keys_play_and_follow_the_session_under_the_cursor(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch, key: str, live: bool
) -> None:
    played: list[tuple[str, bool]] = []
    monkeypatch.setattr(
        player, "open_player", lambda app, session, *, live, open_store, hits: played.append((session.id, live))
    )

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("down", key)

    browse(builder, script)
    assert played == [(ONE, live)]


def test_enter_plays_the_first_session_that_the_words_find(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[str] = []
    monkeypatch.setattr(
        player, "open_player", lambda app, session, *, live, open_store, hits: played.append(session.id)
    )

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("/", *"boil", "enter")

    browse(builder, script)
    assert played == [TWO]


def test_q_quits_also_after_a_session_was_played_from_the_words(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("slash", "k", "enter")
        await until(pilot, lambda: isinstance(app.screen, PlayerScreen))
        await pilot.press("escape")
        await until(pilot, lambda: table(app).has_focus)
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)

    browse(builder, script)


def test_the_player_opens_over_the_list_and_leads_back_to_it(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, PlayerScreen))
        await pilot.press("end")
        await until(pilot, lambda: "It runs." in text_of(app))
        assert "Esc back" in text_of(app)
        await pilot.press("escape")
        await until(pilot, lambda: "3 sessions" in text_of(app))
        assert table(app).has_focus

    browse(builder, script)


@pytest.mark.parametrize("key", ["enter", "f", "i", "p", "question_mark"])
def test_q_quits_from_every_window_over_the_list(builder: StoreBuilder, key: str) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press(key)
        await until(pilot, lambda: len(app.screen_stack) == 2)
        assert "q quit" in text_of(app) or isinstance(app.screen, PlayerScreen)  # its footer names what matters more
        await pilot.press("q")
        await until(pilot, lambda: app._exit)

    browse(builder, script)


def test_a_session_that_is_gone_is_not_played(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        (builder.home() / f"{THREE}.jsonl").unlink()
        await pilot.press("enter")
        await until(pilot, lambda: "no longer exists" in notice(app))
        await pilot.press("i")
        await until(pilot, lambda: "No such" in text_of(app))

    browse(builder, script, LARGE)


def test_a_command_that_a_shell_would_obey_when_it_is_pasted_is_not_copied(builder: StoreBuilder) -> None:
    builder.session(THREE, "Pull the lever", cwd="/tmp/\x1b[201~\rtouch x\r", days=9)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("y")
        assert not app.clipboard
        assert "Not copied" in notice(app)

    browse(builder, script)


def test_the_command_that_goes_on_is_copied_and_shown(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("y")
        assert app.clipboard == f"cd /home/ada/engine && claude --resume {THREE}"
        assert notice(app) == f"Copied: {app.clipboard}"

    browse(builder, script)


def test_the_command_that_is_copied_names_the_store_if_it_is_another(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("y")
        assert app.clipboard == f"cd /home/ada/engine && CLAUDE_CONFIG_DIR={builder.root} claude --resume {THREE}"

    browse(builder, script)


@pytest.mark.parametrize("size", [SMALL, LARGE, (20, 5)])
def test_a_notification_leaves_the_filter_visible_and_disappears(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setattr(BrowseApp, "NOTIFICATION_TIMEOUT", 0.3)
    app = BrowseApp(StoreOpener((str(builder.root),), None), clock=lambda: NOW, rest=1000)

    async def body() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await until(pilot, lambda: "Boil water" in text_of(app))
            await settled(pilot)
            before = text_of(app)
            app.notify("[red]kettle[/red] \x1b[2J", severity="error")
            await until(pilot, lambda: "[red]kettle" in text_of(app))
            assert "\x1b" not in text_of(app)
            assert text_of(app).splitlines()[0] == before.splitlines()[0]
            await until(pilot, lambda: text_of(app) == before)

    asyncio.run(body())


def test_a_notification_replaces_the_one_before(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("y", "down", "y")
        await until(pilot, lambda: ONE in notice(app))
        assert notice(app).count("Copied: ") == 1

    browse(builder, script)


def test_a_notification_ends_with_the_list_or_the_player_that_it_is_about(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("x")
        assert notice(app) == "Nothing is folded here."
        await pilot.press("down", "J")
        assert notice(app), "it can be read while the cursor is moved"
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, PlayerScreen) and app.screen.is_mounted)
        assert not notice(app)
        app.notify("Steam!", severity="error")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, PlayerScreen))
        assert not notice(app)

    browse(builder, script)


# --- folded sessions --------------------------------------------------------------------------------


def with_reviews(builder: StoreBuilder, count: int = 3) -> StoreBuilder:
    """The store with some headless runs of one prompt, later than everything else."""
    for number in range(count):
        session = SessionBuilder(session_id=f"c0000000-000{number}-4000-8000-000000000005")
        time = f"2026-01-18T0{number}:00:00.000Z"
        session.prompt("Review this pull request", timestamp=time, entrypoint="sdk-cli")
        session.write(builder.home() / f"{session.session_id}.jsonl")
    settle(builder.root)
    return builder


@each_size
@each_shade
def test_headless_runs_are_one_row_and_columns_are_chosen_by_what_fits(
    builder: StoreBuilder, shade: str, size: tuple[int, int]
) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "3 × Review this" in text_of(app))
        assert "6 sessions" in text_of(app)
        check_picture(app, f"browse-{shade}")

    with drawn_in(shade):
        browse(with_reviews(builder), script, size)


def test_x_unfolds_the_group_and_folds_it_again_from_any_of_its_sessions(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        assert "Enter unfold" in text_of(app)
        await pilot.press("x")
        await pilot.pause()
        assert len(table(app).rows) == 7
        assert "▾ 3 × Review this" in text_of(app)
        assert "Enter fold" in text_of(app)
        await pilot.press("down", "down", "x")
        await pilot.pause()
        assert len(table(app).rows) == 4
        assert table(app).cursor == 0
        await pilot.press("down", "x")
        assert "Nothing is folded here." in notice(app)

    browse(with_reviews(builder), script)


def test_all_groups_are_unfolded_and_the_cursor_stays_on_its_session(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("end", "X")
        await pilot.pause()
        assert (len(table(app).rows), titles(app)[table(app).cursor]) == (7, "Boil water")
        await pilot.press("home", "down", "down", "X")
        await pilot.pause()
        assert (len(table(app).rows), table(app).cursor) == (4, 0)

    browse(with_reviews(builder), script)


def test_enter_unfolds_a_group_and_f_follows_its_latest_session(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[tuple[str, bool]] = []
    monkeypatch.setattr(
        player, "open_player", lambda app, session, *, live, open_store, hits: played.append((session.id[:13], live))
    )

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("f", "enter")
        assert len(table(app).rows) == 7
        await pilot.press("down", "down", "enter")

    browse(with_reviews(builder), script)
    assert played == [("c0000000-0002", True), ("c0000000-0001", False)]


def test_a_search_finds_folded_sessions_and_b_leads_from_the_hit_to_the_end_and_back(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+f", *"review")
        await until(pilot, lambda: "· 3 sessions" in text_of(app))
        assert len(table(app).rows) == 3
        await until(pilot, lambda: "▌❯ Review" in text_of(app))
        await pilot.press("down", "b")
        await until(pilot, lambda: "▌❯ Review" not in text_of(app))
        await pilot.press("b")
        await until(pilot, lambda: "· end ·" in text_of(app))
        await pilot.press("b")
        await until(pilot, lambda: "▌❯ Review" in text_of(app))

    browse(with_reviews(builder), script)


# --- the preview --------------------------------------------------------------------------------------


def test_the_preview_begins_with_the_first_prompt_and_b_shows_the_end(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "❯ Oil" in text_of(app))
        assert "missing" not in text_of(app)
        await pilot.press("b")
        await until(pilot, lambda: "missing" in text_of(app))
        assert "❯ Oil" not in text_of(app)
        assert "· end ·" in text_of(app)
        await pilot.press("b")
        await until(pilot, lambda: "❯ Oil" in text_of(app))

    browse(builder, script)


def test_keys_and_the_wheel_scroll_the_preview_and_leave_the_cursor(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "❯ Oil" in text_of(app))
        await pilot.press("J")
        await until(pilot, lambda: "❯ Oil" not in text_of(app))
        await pilot.press("shift+up")
        await until(pilot, lambda: "❯ Oil" in text_of(app))
        rows = app.screen.query_one(RowsView)
        for _ in range(9):
            rows.post_message(wheel(rows, MouseScrollDown))
        await until(pilot, lambda: "missing" in text_of(app))
        rows.post_message(wheel(rows, MouseScrollUp))
        await until(pilot, lambda: "missing" not in text_of(app))
        assert table(app).cursor == 0

    browse(builder, script)


# --- the mouse ----------------------------------------------------------------------------------------


def wheel(widget: Widget, kind: type[MouseScrollDown | MouseScrollUp]) -> MouseScrollDown | MouseScrollUp:
    """A step of the wheel over a widget."""
    return kind(widget, 1, 1, 0, 1, 0, False, False, False)


def test_a_click_selects_and_a_double_click_plays(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []
    monkeypatch.setattr(
        player, "open_player", lambda app, session, *, live, open_store, hits: played.append(session.id)
    )

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.click("#table", offset=(20, 3))
        assert (table(app).cursor, played) == (2, [])
        await pilot.click("#table", offset=(20, 2), times=2)
        await pilot.pause()
        assert (table(app).cursor, played) == (1, [ONE])

    browse(builder, script)


def test_a_click_on_a_heading_sorts_by_it_and_another_one_reverses(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        heading = text_of(app).splitlines()[1]
        await pilot.click("#table", offset=(heading.index("COST"), 0))
        await pilot.pause()
        assert "by cost" in text_of(app)
        assert "COST↓" in text_of(app)
        assert titles(app)[0] == "Oil [the] wheels"
        await pilot.click("#table", offset=(heading.index("COST"), 0))
        await pilot.pause()
        assert "COST↑" in text_of(app)
        assert titles(app)[-1] == "Oil [the] wheels"
        await pilot.click("#table", offset=(heading.index("TITLE"), 0))
        await pilot.pause()
        assert titles(app) == ["Boil water", "Oil [the] wheels", "Start the engine"]

    browse(builder, script)


def test_the_wheel_scrolls_the_table_and_leaves_the_cursor(builder: StoreBuilder) -> None:
    for number in range(40):
        builder.session(f"d0000000-00{number:02}-4000-8000-000000000006", f"Step {number}", days=2)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        top = table(app).scroll_offset.y
        table(app).post_message(wheel(table(app), MouseScrollDown))
        await until(pilot, lambda: table(app).scroll_offset.y > top)
        assert table(app).cursor == 0

    browse(builder, script)


def test_a_click_on_the_preview_leaves_the_keys_to_the_table(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "❯ Oil" in text_of(app))
        await pilot.click(RowsView)
        await pilot.press("down")
        await pilot.pause()
        assert table(app).cursor == 1
        assert table(app).has_focus

    browse(builder, script)


def test_a_session_that_waits_says_so(builder: StoreBuilder) -> None:
    session = (
        SessionBuilder(session_id=ONE, start=datetime.now(UTC)).prompt("Start the engine").response(text("It runs."))
    )
    session.system("turn_duration", durationMs=1).write(builder.home() / f"{ONE}.jsonl")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "STATE" in text_of(app))
        assert "waiting" in next(line for line in text_of(app).splitlines() if "Start the engine" in line)

    browse(builder, script, (160, 20))
