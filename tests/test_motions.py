"""Motions of two keys in the player: to errors, edits, sub-agents and prompts."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from claude_session_player.models import AssistantText, ToolCall, UserMessage
from claude_session_player.player.frame_index import FrameMark
from claude_session_player.tui.player_screen import PlayerScreen
from tests.builder import SessionBuilder, call as call_of
from tests.players import keys, notice, played, player, recording, screen_of
from tests.screens import run, text_of, until as until_true
from tests.test_frame_index import build_index, call, lines_of, prompt, result


def after(*names: str) -> tuple[PlayerScreen, str]:
    """The player and its notification after some keys, from the first frame on."""
    app, _ = player()
    found: list[tuple[PlayerScreen, str]] = []

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        await pilot.press("space", "home")
        for name in names:
            await pilot.press(name)
            await pilot.pause()
        found.append((screen_of(app), notice(app)))

    run(app, script)
    return found[0]


NEXT, BEFORE = "right_square_bracket", "left_square_bracket"


@pytest.mark.parametrize(
    ("key", "mark"),
    [("e", FrameMark.ERROR), ("d", FrameMark.EDIT), ("a", FrameMark.AGENT), ("p", FrameMark.PROMPT)],
)
def test_a_motion_goes_to_the_next_and_to_the_previous_frame_with_a_mark(key: str, mark: FrameMark) -> None:
    screen, said = after(NEXT, key)
    frame = screen.playback.frame
    assert frame is not None
    assert (mark in frame.marks, frame.line > 1, said) == (True, True, "")
    back, said = after("end", BEFORE, key)
    assert back.playback.frame is not None
    assert (mark in back.playback.frame.marks, said) == (True, "")


def test_a_motion_shows_the_head_of_an_element_that_is_higher_than_the_terminal() -> None:
    session = SessionBuilder().prompt("Go").response(call_of("Write", "w", file_path="tea.py", content="x = 1\n" * 40))
    session.result("w", "File created")
    app, _ = player(recording(session))

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.press("space", "home", "e", NEXT, "d")
        await until_true(pilot, lambda: "● Write(tea.py)" in text_of(app))
        assert "  1 + x = 1" in text_of(app)

    run(app, script, (60, 16))


def test_a_motion_puts_the_cursor_on_the_element() -> None:
    error, _ = after(NEXT, "e")
    edit, _ = after(NEXT, "d")
    assert isinstance(error.pane.element, ToolCall)
    assert error.pane.element.is_error
    assert isinstance(edit.pane.element, ToolCall)
    assert edit.pane.element.tool_name == "Edit"
    assert isinstance(after(NEXT, "p")[0].pane.element, UserMessage)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("end", NEXT, "e"), "No later error."),
        ((BEFORE, "e"), "No earlier error."),
        (("end", NEXT, "d"), "No later edit."),
        (("end", NEXT, "a"), "No later sub-agent."),
        ((BEFORE, "p"), "No earlier prompt."),
    ],
)
def test_where_there_is_nothing_to_go_to_the_player_stays_and_says_so(keys: tuple[str, ...], said: str) -> None:
    screen, notice = after(*keys)
    assert notice == said
    assert screen.player.position == (screen.player.count - 1 if "end" in keys else 0)


@pytest.mark.parametrize("key", ["escape", "x", "slash", "g", "p", "space"])
def test_the_second_key_does_nothing_else(key: str) -> None:
    screen, _ = after(NEXT, key)
    assert screen.pending_keys == ""
    assert not screen.search_bar.is_typing
    assert not screen.player.is_playing
    assert screen.player.pace.value != "paced"
    assert screen.player.position == (9 + 1 if key == "p" else 0) or key == "p"


def test_the_first_key_is_shown_until_the_second() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        await pilot.press(NEXT)
        await until_true(pilot, lambda: "]…" in text_of(app))
        await pilot.press("escape")
        await until_true(pilot, lambda: "]…" not in text_of(app))
        await pilot.press(BEFORE)
        await until_true(pilot, lambda: "[…" in text_of(app))

    run(app, script, (120, 24))


@pytest.mark.parametrize("names", [("shift+right",), (NEXT, "p"), (NEXT, "e"), ("end", "shift+right")])
def test_a_motion_makes_one_screen(names: tuple[str, ...]) -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        await until_true(pilot, lambda: screen.playback.is_complete)
        await pilot.press("space", "home", *names[:-1])
        made: list[int] = []
        elements = screen.playback.elements
        screen.playback.elements = lambda: made.append(0) or elements()  # type: ignore[func-returns-value, method-assign]
        await pilot.press(names[-1])
        await pilot.pause()
        assert len(made) == 1

    run(app, script)


@pytest.mark.parametrize(
    "typed",
    [
        (NEXT, "e"),
        ("m", NEXT, "e"),
        ("plus", NEXT, "e"),
        ("space", NEXT, "e"),
        (NEXT, "e", "plus", NEXT, "p", "m"),
        ("end", BEFORE, "d", "m", "plus"),
        ("plus", NEXT, "x", "m"),
    ],
)
def test_keys_that_arrive_at_once_do_what_they_do_one_by_one(typed: tuple[str, ...]) -> None:
    """Over a slow connection, several keys come in one read."""
    screens: list[tuple[int, bool, bool, float, str]] = []

    async def script(pilot: Pilot[Any]) -> None:
        screen = pilot.app.screen
        assert isinstance(screen, PlayerScreen)
        await until_true(pilot, lambda: screen.playback.is_complete)
        await pilot.press("space", "home")
        for name in typed:
            pilot.app.simulate_key(name)
            if not screens:
                await pilot.pause()
        await pilot.pause()
        await pilot.pause()
        player = screen.player
        screens.append(
            (screen.playback.line, player.is_playing, player.has_highlights_only, player.speed, screen.pending_keys)
        )

    for _ in range(2):
        run(player()[0], script)
    assert screens[0] == screens[1]
    assert screens[0][0] > 1 or "x" in typed


def test_a_motion_that_is_not_finished_does_not_wait_behind_a_search() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        for name in (NEXT, "slash", "e"):
            app.simulate_key(name)
        await until_true(pilot, lambda: screen.search_bar.is_typing)
        await pilot.pause()
        assert screen.pending_keys == ""

    run(app, script)


def test_both_keys_to_a_prompt_do_the_same() -> None:
    (first, _), (second, _) = after("up", "shift+right"), after("up", NEXT, "p")
    assert first.player.position == second.player.position > 0
    assert isinstance(first.pane.element, UserMessage)
    assert first.pane.cursor == second.pane.cursor
    assert after("end", "shift+right")[1] == "No later prompt."


def test_brackets_are_ordinary_letters_in_a_search() -> None:
    shown = played(keys("slash", NEXT, "e", BEFORE))
    assert "]e[" in shown


def test_y_copies_and_the_help_has_the_motions() -> None:
    assert "Copied" in played(keys("y"))
    assert "next or previous: e error" in played(keys("question_mark"), size=(120, 50))


# --- marks ----------------------------------------------------------------------------------------------


def edit(id: str) -> dict[str, Any]:
    made = call(id, "Edit")
    made["message"]["content"][0]["input"] = {"file_path": "/tea.py"}
    return made


def test_an_edit_is_where_its_result_says_that_it_was_made() -> None:
    index = build_index(lines_of(prompt("a"), edit("1"), edit("2"), result("1"), result("2", is_error=True)))
    assert [frame.marks & FrameMark.EDIT for frame in index.frames] == [0, 0, 0, FrameMark.EDIT, 0]
    assert [(one.line, one.path) for one in index.progress.edits] == [(4, "/tea.py")]


def test_an_edit_whose_result_came_first_is_where_its_call_is() -> None:
    index = build_index(lines_of(result("1"), edit("1")))
    assert [bool(frame.marks & FrameMark.EDIT) for frame in index.frames] == [False, True]


def test_text_of_the_model_is_a_response_unless_the_request_failed() -> None:
    answer: dict[str, Any] = {"type": "assistant", "message": {"content": "Hi"}}
    index = build_index(lines_of(answer, {**answer, "isApiErrorMessage": True}))
    assert [frame.marks for frame in index.frames] == [FrameMark.RESPONSE, FrameMark.ERROR]
    assert isinstance(index.screen(0).elements[0], AssistantText)
