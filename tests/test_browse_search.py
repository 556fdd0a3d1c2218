"""Searching everything from the list of sessions, as a query is typed, with a real index in a directory of the test."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from bench.key_to_paint import measure_key_to_paint
from claude_session_player import search as search_package
from claude_session_player.search import ORDERS, Hits, SearchOptions, StoreSearch
from claude_session_player.tui import browse_search, jobs
from claude_session_player.tui.browse import BrowseApp
from claude_session_player.tui.browse_search import QueryBar, QueryInput
from claude_session_player.tui.hit_list import HitKey, HitList, HitText
from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.tui.player import PlayerScreen
from tests.browsing import KETTLE, NOW, browse, kettles, settled, table, titles
from tests.builder import SessionBuilder, call, text
from tests.players import notice
from tests.screens import LARGE, SMALL, check_picture, run, text_of, until, until_shown
from tests.stores import AGENT, THREE, TWO, StoreBuilder, settle

FOUR = "b0000000-0004-4000-8000-000000000004"
WHEELS, ENGINE, WATER, POUR = "Oil [the] wheels", "Start the engine", "Boil water", "Pour water"


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return kettles(tmp_path)


def bar(app: BrowseApp) -> QueryBar:
    return app.screen_stack[0].query_one(QueryBar)


def snippets(app: BrowseApp) -> list[str | None]:
    """The texts of the hits that are shown, with their sources."""
    hits = table(app).hits
    assert hits is not None
    texts = [hits.text(position) for position in range(len(hits))]
    return [text and f"{text.source}: {text.text}" for text in texts]


def with_another(builder: StoreBuilder) -> StoreBuilder:
    """The same store with a second session about water, in another project."""
    builder.session(FOUR, POUR, days=-40)
    settle(builder.root)
    return builder


async def search(app: BrowseApp, pilot: Pilot[Any], query: str) -> None:
    """Search everything, and wait for the answer and for the preview of its first hit."""
    await pilot.press("ctrl+f", *query)
    await answered(app, pilot)


async def answered(app: BrowseApp, pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: not bar(app).is_waiting)
    await settled(pilot)


async def in_player(app: BrowseApp, pilot: Pilot[Any]) -> PlayerScreen:
    await until(pilot, lambda: isinstance(app.screen, PlayerScreen) and app.screen.playback.is_complete)
    assert isinstance(app.screen, PlayerScreen)
    app.screen.player.pause()
    return app.screen


# --- how it looks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_found_sessions_show_their_best_hit_and_the_preview_opens_there(
    builder: StoreBuilder, size: tuple[int, int]
) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "look")
        await until(pilot, lambda: "▌" in text_of(app))
        check_picture(app, "browse-search")

    browse(builder, script, size)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_hits_are_stepped_through_with_the_table_in_focus(builder: StoreBuilder, size: tuple[int, int]) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel")
        await pilot.press("escape", "n", "n")
        await until(pilot, lambda: all(words in text_of(app) for words in ("▌● Bash", "Bash: ls wheels")))
        check_picture(app, "browse-hits")

    browse(builder, script, size)


def test_the_command_that_plays_the_shown_hit_is_copied(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel")
        await pilot.press("escape", "n", "y")
        words = app.clipboard.split()
        assert words[:2] == ["csp", "play"]
        assert words[3] == "--from"
        assert words[5:] == ["--root", str(builder.root)]
        assert notice(app) == f"Copied: {app.clipboard}"

    browse(builder, script)


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (10, 30), (40, 10), (200, 60)])
def test_a_search_fits_into_any_terminal(builder: StoreBuilder, size: tuple[int, int]) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel OR look")
        await pilot.press("escape", "n", "n", "n", "n", "N", "end", "home", "pagedown", "s", "?", "escape")
        await answered(app, pilot)
        await pilot.resize_terminal(*SMALL)
        await until_shown(pilot, "Search everything: wheel OR look")
        assert titles(app) == [WHEELS, ENGINE]

    browse(builder, script, size)


@pytest.mark.parametrize(("width", "label"), [(80, "Search everything: wheel"), (49, "Search: wheel"), (19, "wheel")])
def test_a_narrow_line_says_in_fewer_words_what_it_does(builder: StoreBuilder, width: int, label: str) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel")
        assert text_of(app).splitlines()[0].startswith(label)

    browse(builder, script, (width, 24))


def test_a_terminal_without_colours_shows_hits(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "rear")
        await until_shown(pilot, "The rear wheel is missing.")

    browse(builder, script)


def test_control_characters_and_wide_characters_of_a_hit_are_drawn_safely(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=THREE).prompt("Kettle \x1b[2J 茶茶茶茶 " * 9 + "steam")
    session.write(builder.home() / f"{THREE}.jsonl")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "steam")
        assert "\x1b" not in text_of(app)
        assert "steam" in text_of(app).splitlines()[3]

    browse(builder, script)


# --- what is searched ---------------------------------------------------------------------------------


def test_the_filter_says_that_it_filters_titles_and_the_search_that_it_searches_everything(
    builder: StoreBuilder,
) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        assert "/ filter titles · ^F search everything" in text_of(app)
        await pilot.press("/")
        await until_shown(pilot, "Filter titles: / again to search everything")
        await pilot.press(*"missing")
        await until_shown(pilot, "No sessions match this filter")
        await pilot.press("ctrl+f")
        await answered(app, pilot)
        assert "Search everything: missing" in text_of(app)
        assert titles(app) == [WHEELS]

    browse(builder, script, LARGE)


def test_an_unfinished_word_finds_what_begins_so(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "missi")
        assert snippets(app) == ["response: The rear wheel is *missing*."]
        await pilot.press("space")
        await answered(app, pilot)
        assert titles(app) == []
        await until_shown(pilot, "No hits; press Esc to clear the search.")

    browse(builder, script)


def test_two_slashes_search_and_a_slash_in_a_word_does_not(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("/", "o", "/")
        assert (bar(app).is_search, bar(app).words) == (False, "o/")
        await pilot.press("escape", "/", "/", *"rear")
        await answered(app, pilot)
        assert (bar(app).is_search, titles(app)) == (True, [WHEELS])
        await pilot.press(*["backspace"] * 4, "/")
        assert (bar(app).is_search, bar(app).words) == (True, "/")

    browse(builder, script)


def test_slash_returns_from_what_was_found_to_filtering_titles_by_the_same_words(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "engine")
        await pilot.press("escape", "slash")
        await until_shown(pilot, "Filter titles: engine")
        await settled(pilot)
        assert titles(app) == [WHEELS, ENGINE]  # the project of both
        assert table(app).hits is None

    browse(builder, script)


def test_escape_returns_to_the_table_first_and_clears_the_search_then(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "boil")
        assert "↑ ↓ Esc to the table" in text_of(app)
        await pilot.press("escape")
        assert table(app).has_focus
        assert titles(app) == [WATER]
        await until_shown(pilot, "n N next hit")
        await pilot.press("escape")
        await settled(pilot)
        assert titles(app) == [WHEELS, ENGINE, WATER]
        assert table(app).current.session.id == TWO  # type: ignore[union-attr]
        assert "/ filter titles" in text_of(app)
        assert "n N next hit" not in text_of(app)

    browse(builder, script)


def test_escape_leaves_a_search_without_words_at_once(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "")
        assert len(titles(app)) == 3
        await pilot.press("escape")
        assert not bar(app).is_search
        assert table(app).has_focus

    browse(builder, script)


def test_a_query_that_is_not_valid_yet_leaves_the_hits_and_says_why(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel ")
        await pilot.press(*'"rear wh')
        await answered(app, pilot)
        assert "the quote is not closed" in text_of(app)
        assert titles(app) == [WHEELS]
        assert notice(app) == ""
        await pilot.press(*'eel"')
        await answered(app, pilot)
        assert "the quote is not closed" not in text_of(app)
        assert "hit 1 of 1" in text_of(app)

    browse(builder, script)


def test_a_project_narrows_the_search(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "water")
        assert set(titles(app)) == {WATER, POUR}
        await pilot.press("escape", "p", "down", "down")
        await until_shown(pilot, KETTLE)
        await pilot.press("enter")
        await answered(app, pilot)
        assert titles(app) == [WATER]
        assert "hit 1 of 1 · 1 session · kettle" in text_of(app)
        await pilot.press("escape")
        await settled(pilot)
        assert len(titles(app)) == 4

    browse(with_another(builder), script)


def test_sessions_of_an_unknown_project_are_searched(builder: StoreBuilder) -> None:
    (builder.root / "projects" / "gone").mkdir()
    session = SessionBuilder(session_id=AGENT, cwd="").prompt("Where am I, engine?")
    session.write(builder.root / "projects" / "gone" / f"{AGENT}.jsonl")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "engine")
        await pilot.press("escape", "p")
        await until_shown(pilot, "(gone)")
        await pilot.press("down", "down", "enter")
        await answered(app, pilot)
        assert titles(app) == ["Where am I, engine?"]
        assert "· (gone)" in text_of(app)

    browse(builder, script)


def test_what_is_found_comes_in_the_order_of_the_search(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "water")
        await pilot.press("escape", "s")
        await answered(app, pilot)
        assert "by newest" in text_of(app)
        assert titles(app) == [WATER, POUR]
        await pilot.press("s")
        await answered(app, pilot)
        assert titles(app) == [POUR, WATER]
        await pilot.press("S", "a")
        assert titles(app) == [POUR, WATER]

    browse(with_another(builder), script)
    assert browse_search._ORDERS == ORDERS


def test_reloading_searches_what_was_written_meanwhile_and_keeps_the_hit(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel")
        await pilot.press("escape", "n")
        builder.session(FOUR, "Steer the wheel", days=-300)
        await pilot.press("r")
        await until(pilot, lambda: len(titles(app)) == 2)
        assert "hit 2 of 3 · 2 sessions" in text_of(app)
        assert table(app).cursor == 0

    browse(builder, script)


# --- stepping and playing -----------------------------------------------------------------------------


def test_n_goes_through_the_hits_of_a_session_and_on_to_the_next_one(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel* OR water")
        await pilot.press("escape")
        order = titles(app)
        seen = []
        for _ in range(5):
            await settled(pilot)
            status = text_of(app).splitlines()[0].split("  ")[-1].strip()
            seen.append((table(app).cursor, status.partition(" ·")[0], snippets(app)[table(app).cursor]))
            await pilot.press("n")
        assert "No more hits." in notice(app)
        assert order == [WHEELS, WATER, POUR]
        assert seen == [
            (0, "hit 1 of 3", "prompt: Oil [the] wheels"),
            (0, "hit 2 of 3", "response: The rear wheel is *missing*."),
            (0, "hit 3 of 3", "Bash: ls wheels"),
            (1, "hit 1 of 1", "prompt: Boil water"),
            (2, "hit 1 of 1", "prompt: Pour water"),
        ]
        await pilot.press("N", "N")
        await settled(pilot)
        assert table(app).cursor == 0
        assert "hit 3 of 3" in text_of(app)
        await pilot.press("N", "N", "N")
        assert "No earlier hits." in notice(app)

    browse(with_another(builder), script, LARGE)


def test_the_first_hit_is_under_the_cursor_wherever_it_was_in_the_list(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("end")
        await search(app, pilot, "wheel* OR water")
        assert table(app).cursor == 0
        await pilot.press("escape", "end", "ctrl+f", "backspace")
        await answered(app, pilot)
        assert table(app).cursor == 0

    browse(with_another(builder), script)


def test_n_says_so_if_nothing_is_searched_for(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("n")
        assert "press ctrl+f first" in notice(app)

    browse(builder, script)


def test_the_preview_follows_the_hit(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel")
        await until_shown(pilot, "▌❯ Oil [the] wheels")
        await pilot.press("escape", "n")
        await until_shown(pilot, "▌● The rear wheel is missing.")

    browse(builder, script)


def test_enter_plays_from_the_hit_and_n_goes_on_in_the_player(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel")
        await pilot.press("escape", "n", "n", "enter")
        screen = await in_player(app, pilot)
        assert screen.playback.frame is not None
        assert screen.playback.frame.line == 3
        await pilot.pause()
        assert "hit 2/3" in text_of(app)
        lines = []
        for key in ("n", "n", "N"):
            await pilot.press(key)
            await pilot.pause()
            lines.append(screen.playback.frame.line)
        assert lines == [7, 1, 7]
        await pilot.press("escape")
        await until(pilot, lambda: table(app).has_focus)
        assert "hit 3 of 3" in text_of(app)

    browse(builder, script)


def test_enter_while_typing_plays_what_the_whole_query_finds(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer = threading.Event()
    usual = StoreSearch.search

    def wait(self: StoreSearch, queries: Sequence[str], options: SearchOptions) -> Hits:
        may_answer.wait()
        return usual(self, queries, options)

    monkeypatch.setattr(StoreSearch, "search", wait)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+f", *"water", "enter")
        assert len(app.screen_stack) == 1
        may_answer.set()
        screen = await in_player(app, pilot)
        assert screen.playback.recording.title == WATER

    browse(builder, script)


def test_a_hit_in_a_sub_agent_is_shown_with_its_session_and_played_in_the_sub_agent(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "nothing")
        assert titles(app) == [ENGINE]
        assert snippets(app) == ["↳ response: Nothing there."]
        await until_shown(pilot, "▌● Nothing there.")
        assert AGENT in text_of(app)
        await pilot.press("enter")
        screen = await in_player(app, pilot)
        assert screen.playback.recording.is_subagent
        assert screen.playback.frame is not None
        assert screen.playback.frame.line == 2

    browse(builder, script)


def test_follow_and_export_are_about_the_session_of_the_hit(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "nothing")
        await pilot.press("escape", "f")
        await until(pilot, lambda: isinstance(app.screen, PlayerScreen))
        assert app.screen.playback.is_followed  # type: ignore[attr-defined]
        assert app.screen.playback.recording.title == ENGINE  # type: ignore[attr-defined]

    browse(builder, script)


def test_a_session_that_is_gone_since_is_said_to_be_gone(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+f")
        await settled(pilot)
        (builder.home() / f"{THREE}.jsonl").unlink()
        await pilot.press(*"wheel")
        await answered(app, pilot)
        await until_shown(pilot, "Cannot read the session")
        await pilot.press("enter")
        await until(pilot, lambda: "no longer exists" in notice(app))

    browse(builder, script, LARGE)


# --- what takes long ----------------------------------------------------------------------------------


def many(tmp_path: Path, count: int = 60) -> StoreBuilder:
    """A store with as many sessions about a kettle."""
    builder = StoreBuilder(tmp_path / "store")
    for number in range(count):
        builder.session(f"b0000000-0000-4000-8000-{number:012}", f"Kettle {number}", days=-number)
    settle(builder.root)
    return builder


def test_only_texts_in_view_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[HitKey] = []
    usual = HitList._load

    def load(self: HitList, position: int, number: int) -> HitText:
        loaded.append((position, number))
        return usual(self, position, number)

    monkeypatch.setattr(HitList, "_load", load)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+f")
        await settled(pilot)
        loaded.clear()
        await pilot.press("k", "e")
        await answered(app, pilot)
        in_view = len(table(app).visible_rows)
        assert len({key for key in loaded if key[0] > in_view}) == 0
        await pilot.press("escape", "end")
        await settled(pilot)
        assert snippets(app)[-1] == "prompt: Kettle 59"
        assert max(len(loaded), 1) <= 4 * in_view + 4
        assert snippets(app)[30] is None
        table(app).scroll_to(y=60, animate=False)
        await until(pilot, lambda: snippets(app)[30] is not None)

    browse(many(tmp_path), script)


def test_rows_of_two_lines_are_moved_through_and_clicked(tmp_path: Path) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "kettle")
        await pilot.press("escape")
        await pilot.click("#table", offset=(20, 6))
        assert table(app).cursor == 2
        await pilot.press("pagedown")
        await settled(pilot)
        lines = text_of(app).splitlines()
        assert table(app).cursor == 2 + (table(app).size.height - 2) // 2
        assert any("prompt: Kettle 7" in line for line in lines)
        await pilot.press("end", "home")
        await settled(pilot)
        assert "Kettle 0" in text_of(app).splitlines()[2]

    browse(many(tmp_path), script)


def test_older_answers_are_dropped(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    shown: list[str] = []
    may_answer = threading.Event()
    usual = StoreSearch.search

    def wait(self: StoreSearch, queries: Sequence[str], options: SearchOptions) -> Hits:
        asked.extend(queries)
        may_answer.wait()
        return usual(self, queries, options)

    monkeypatch.setattr(StoreSearch, "search", wait)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        show = table(app).show_sessions

        def note(rows: Any, cursor: int, hits: HitList | None = None) -> None:
            shown.extend([hits.request.query] if hits is not None else [])
            show(rows, cursor, hits)

        monkeypatch.setattr(table(app), "show_sessions", note)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: bar(app)._search is not None)
        await pilot.press(*"water")
        await until_shown(pilot, "searching…")
        may_answer.set()
        await answered(app, pilot)

    browse(builder, script)
    assert asked == ["w", "water*"]
    assert set(shown) == {"water*"}


def test_the_progress_of_the_index_is_shown(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = threading.Event()
    usual = StoreSearch.refresh

    def refresh(self: StoreSearch) -> None:
        assert self._progress is not None
        self._progress(45, 100)
        may_end.wait()
        usual(self)

    monkeypatch.setattr(jobs, "_REPORT_SECONDS", 0.0)
    monkeypatch.setattr(StoreSearch, "refresh", refresh)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+f", *"wheel")
        await until_shown(pilot, "indexing… 45 %")
        assert len(titles(app)) == 3
        await pilot.press("escape", "r")
        may_end.set()
        await answered(app, pilot)
        assert "indexing" not in text_of(app)
        assert titles(app) == [WHEELS]

    browse(builder, script)


def test_quitting_does_not_wait_for_the_index_and_keeps_what_is_indexed(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    begun = threading.Event()

    def refresh(self: StoreSearch) -> None:
        assert self._progress is not None
        begun.set()
        try:
            while True:
                self._progress(1, 2)
        except KeyboardInterrupt:
            ended.set()
            raise

    monkeypatch.setattr(StoreSearch, "refresh", refresh)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+f")
        await until(pilot, begun.is_set)

    browse(builder, script)
    assert ended.wait(10)


# --- what goes wrong ------------------------------------------------------------------------------------


def test_without_the_library_the_window_says_so_and_goes_on_filtering(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("claude_session_player.search.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in list(vars(search_package)):
        if name in search_package.__dir__():
            monkeypatch.delattr(search_package, name)
    monkeypatch.setitem(sys.modules, "tantivy", None)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+f", *"boil")
        await until(pilot, lambda: "Searching needs tantivy" in notice(app))
        await until_shown(pilot, "Filter titles: boil")
        await settled(pilot)
        assert titles(app) == [WATER]
        await pilot.press("escape", "n", "down")
        assert len(titles(app)) == 3

    browse(builder, script)


def test_a_store_without_sessions_is_searched(tmp_path: Path) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "kettle")
        await until_shown(pilot, "no hits")
        await pilot.press("escape", "n", "N", "enter", "f", "i", "escape", "v", "e", "y", "s", "end")
        await answered(app, pilot)
        assert len(app.screen_stack) == 1
        await pilot.press("escape")
        await until_shown(pilot, "No sessions in this store.")

    browse(StoreBuilder(tmp_path / "store"), script)


@pytest.mark.parametrize("kind", ["a file", "none"])
def test_without_a_usable_cache_the_files_are_searched_and_the_window_says_that_it_is_slow(
    builder: StoreBuilder, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "file").touch()
    cache = str(tmp_path / "file") if kind == "a file" else None
    app = BrowseApp(StoreOpener((str(builder.root),), cache), clock=lambda: NOW, rest=0.001)

    async def script(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, WATER)
        await search(app, pilot, "missing")
        assert titles(app) == [WHEELS]
        await until(pilot, lambda: "without an index, which is slow" in notice(app))

    run(app, script, LARGE)


def test_a_store_that_is_gone_is_told_and_the_last_hits_stay(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel")
        await pilot.press("escape")
        builder.root.rename(builder.root.with_name("elsewhere"))
        await pilot.press("r")
        await until(pilot, lambda: "there is no such directory" in notice(app))
        await settled(pilot)
        assert titles(app) == [WHEELS]

    browse(builder, script, LARGE)


def test_an_index_that_is_deleted_meanwhile_does_not_end_the_program(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: StoreSearch, queries: Sequence[str], options: SearchOptions) -> Hits:
        raise ValueError("the segment is gone: search again")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel")
        monkeypatch.setattr(StoreSearch, "search", fail)
        await pilot.press("s")
        await answered(app, pilot)
        assert titles(app) == [WHEELS]
        assert "the segment is gone" in text_of(app)

    browse(builder, script)


def test_the_list_opens_without_the_library_of_the_search() -> None:
    code = "import claude_session_player.tui.browse, sys; print('tantivy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_time_from_a_key_to_the_painted_result_can_be_measured(builder: StoreBuilder) -> None:
    seconds = measure_key_to_paint(str(builder.root), 'wheel "rear')
    assert len(seconds) == len('wheel "rear')
    assert all(second > 0 for second in seconds)


def test_words_are_typed_in_one_line(builder: StoreBuilder) -> None:
    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "wheel")
        assert app.screen.query_one(QueryInput).value == "wheel"
        await pilot.press("left", "ctrl+f", "x")
        assert app.screen.query_one(QueryInput).value == "wheexl"

    browse(builder, script)


def test_a_truncated_result_is_shown_below_its_call(builder: StoreBuilder) -> None:
    session = SessionBuilder(session_id=THREE).prompt("Count").response(call("Bash", "t", command="seq"))
    session.result("t", "\n".join(f"number {number}" for number in range(40)) + "\nneedle").response(text("Done."))
    session.write(builder.home() / f"{THREE}.jsonl")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await search(app, pilot, "needle")
        await until(pilot, lambda: any(line.startswith("▌") and "needle" in line for line in text_of(app).splitlines()))
        await pilot.press("enter")
        await in_player(app, pilot)
        await pilot.press("n")
        await until(pilot, lambda: any("needle" in line for line in text_of(app).splitlines()[1:-4]))

    browse(builder, script)
