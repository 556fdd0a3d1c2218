"""The player and odd sessions, odd terminals, odd keys."""

from __future__ import annotations

import base64
import random
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from claude_session_player.models import View
from claude_session_player.player.frame_index import Frame, FrameMark
from claude_session_player.player.frame_links import AgentSpan
from claude_session_player.player.player import Player
from claude_session_player.tui.keys import PLAYER_KEYS
from claude_session_player.tui.player import PlayerScreen
from claude_session_player.tui.widgets.timeline import TimelineBar
from tests.builder import SessionBuilder, call, text
from tests.players import followed, keys, played, player, recording, screen_of, teapot
from tests.screens import run, text_of, until


def test_a_session_with_nothing_to_show_is_an_empty_screen() -> None:
    shown = played(keys("space", "right", "end", "enter", "y", "t"), recording(SessionBuilder()))
    assert "0:00 / 0:00" in shown


def test_a_session_of_one_line_can_be_played() -> None:
    assert "❯ Hi" in played(keys("space", "right", "left", "h"), recording(SessionBuilder().prompt("Hi")))


def test_the_status_line_says_how_many_lines_are_malformed() -> None:
    session = SessionBuilder().prompt("Hi")
    assert "malformed" not in played(keys(), recording(session))
    session.lines.insert(0, b'{"type": "user", "mess')
    session.lines[0] += b"\n"
    session.lines.append(b"no JSON\n")
    assert "2 malformed" in played(keys(), recording(session))


def test_a_session_without_times_is_paced() -> None:
    session = SessionBuilder()
    for word in ("one", "two", "three"):
        session.line({"type": "user", "message": {"content": word}})
    assert "▶ paced 1×  0:00 / 0:00" in played(keys(), recording(session))


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (8, 3), (300, 100)])
def test_any_size_of_a_terminal_will_do(size: tuple[int, int]) -> None:
    played(keys("end", "enter", "question_mark", "escape", "space"), size=size)


def test_on_a_tiny_terminal_what_is_played_has_the_room() -> None:
    shown = played(keys("end"), size=(20, 5)).split("\n")
    assert any("You are welcome" in line for line in shown)


def test_a_terminal_may_be_resized_while_it_plays() -> None:
    async def resize(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        await pilot.press("end")
        for size in ((40, 10), (20, 5), (100, 30)):
            await pilot.resize_terminal(*size)

    assert "● You are welcome." in played(resize)


def test_an_element_of_5_megabytes_is_shown_by_its_beginning() -> None:
    session = SessionBuilder().prompt("x " * 2_500_000).response(text("Long. " * 900_000))
    assert "more characters" in played(keys("end"), recording(session))


def test_a_result_of_5_megabytes_can_be_unfolded() -> None:
    session = SessionBuilder().response(call("Bash", command="yes")).result("toolu_1", "y\n" * 2_500_000)
    shown = played(keys("end", "enter"), recording(session))
    assert "● Bash(yes)" in shown


def test_signs_that_a_terminal_would_obey_are_not_sent_to_it() -> None:
    session = SessionBuilder().prompt("a\x1b[2Jb\x07c\x9bd").response(text("e\x1b]0;title\x07f\x08g"))
    odd = replace(recording(session), title="a title\x1b[2J", location="/home/\x07")
    shown = played(keys("end"), odd)
    assert not any(sign in shown for sign in "\x1b\x07\x08\x9b")


def png(width: int, height: int) -> str:
    """A red picture in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\xff\0\0" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()


def picture_of(data: str, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def test_not_even_the_type_of_a_picture_is_obeyed_by_a_terminal() -> None:
    session = SessionBuilder().prompt([picture_of("", "image\x1b]0;title\x07")])
    assert "\x1b" not in played(keys("enter"), recording(session))


def test_a_picture_is_drawn_where_the_element_is_unfolded() -> None:
    session = SessionBuilder().prompt([{"type": "text", "text": "Look:"}, picture_of(png(8, 8))])
    shown = played(keys("enter"), recording(session))
    assert "▀" * 8 in shown
    assert "[image image/png]" in shown


@pytest.mark.parametrize("data", ["", "no base64 at all!", base64.b64encode(b"no picture").decode(), png(8, 8)[:60]])
def test_a_picture_that_is_damaged_is_only_named(data: str) -> None:
    shown = played(keys("enter"), recording(SessionBuilder().prompt([picture_of(data)])))
    assert "[image image/png] (cannot be shown)" in shown
    assert "▀" not in shown


def test_without_colours_a_picture_is_only_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = played(keys("enter"), recording(SessionBuilder().prompt([picture_of(png(8, 8))])))
    assert "▀" not in shown


@pytest.mark.parametrize("seed", range(3))
def test_whatever_keys_are_pressed_the_player_goes_on(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))  # `T` remembers a theme
    chance = random.Random(seed)
    names = [name for key in PLAYER_KEYS for names in key.keys for name in names.split(",") if name != "q"]
    names += ["escape", "5", "percent_sign", "backspace", "tab"]
    app, clock = player()

    async def script(pilot: Pilot[Any]) -> None:
        for _ in range(120):
            await pilot.press(chance.choice(names))
            clock.now += chance.choice((0.0, 0.1, 3.0))
            if chance.random() < 0.05:
                await pilot.resize_terminal(chance.choice((1, 20, 80)), chance.choice((1, 5, 24)))
        assert app.is_running

    run(app, script)


def test_a_key_that_comes_before_a_screen_is_built_does_nothing() -> None:
    app, _ = player()

    async def script(pilot: Pilot[Any]) -> None:
        opened = app.push_screen(PlayerScreen(recording()))
        assert not app.screen.is_mounted
        assert not await app.run_action("unfold", default_namespace=app.screen)
        await opened
        assert await app.run_action("unfold", default_namespace=app.screen)

    run(app, script)


@pytest.mark.parametrize(("colours", "theme"), [("0;15", "ansi-light"), ("15;0", "ansi-dark")])
def test_the_theme_follows_the_terminal(monkeypatch: pytest.MonkeyPatch, colours: str, theme: str) -> None:
    monkeypatch.setenv("COLORFGBG", colours)
    app, _ = player()
    assert app.theme == theme


# --- the timeline, while what is played changes ---------------------------------------------------------


def team() -> SessionBuilder:
    """A teapot whose rich view has more frames and lanes than the screen of the specification."""
    session = teapot().response(*(call("Task", f"a{n}", description=f"Look {n}") for n in range(5)))
    session.attachment("hook_success", hookName="PostToolUse", toolUseID="b", stdout="Well done.")
    for number in range(30):
        session.response(text(f"Step {number}")).compaction()
    return session.result("a0").result("a1").prompt("Go on")


@pytest.mark.parametrize("key", ["v", "h"])
@pytest.mark.parametrize("row", [0, 1])
def test_a_place_on_the_timeline_does_not_outlive_its_frames(key: str, row: int) -> None:
    app, _ = player(recording(team()), view=View.rich())

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(app)
        await until(pilot, lambda: screen.playback.is_complete)
        bar = screen.query_one(TimelineBar)
        bar._point((bar.size.width - 1, row), None)
        await screen.run_action("view" if key == "v" else "history")
        bar._point((bar.size.width // 2, row), None)
        await pilot.pause()
        await until(pilot, lambda: screen.playback.is_complete)
        await pilot.pause()
        assert bar.place is not None
        assert screen._place_words is not None

    run(app, script)


def test_a_place_on_the_timeline_is_named_anew_when_a_followed_file_is_truncated(tmp_path: Path) -> None:
    path = team().write(tmp_path / "s.jsonl")

    async def script(pilot: Pilot[Any]) -> None:
        screen = screen_of(pilot.app)  # type: ignore[arg-type]
        await until(pilot, lambda: screen.playback.is_complete)
        await pilot.hover(TimelineBar, offset=(79, 0))
        await until(pilot, lambda: "Go on" in text_of(pilot.app))
        path.write_bytes(SessionBuilder().prompt("Fresh water").data())
        await until(pilot, lambda: 'prompt "Fresh water"' in text_of(pilot.app))

    followed(path, script)


def test_the_timeline_draws_the_frames_of_the_player_and_no_others() -> None:
    fresh = Player(lambda: 0.0)
    bar = TimelineBar(fresh)
    long, short = ([Frame(n + 1, float(n), 9, FrameMark.PROMPT) for n in range(count)] for count in (500, 3))
    fresh.load(long)
    bar.show(long, [AgentSpan(200, "Explore", "Look", end=400)])
    assert bar._drawn(80).lanes
    fresh.restart()
    assert max(bar._drawn(80).frames) == -1
    fresh.load(short)
    assert max(bar._drawn(80).frames) == 2
    assert not bar._drawn(80).lanes


def test_highlights_of_other_frames_have_other_times() -> None:
    fresh = Player(lambda: 0.0)
    for size in (9000, 90_000):
        fresh.restart()
        fresh.load([Frame(n + 1, None, size * (n % 7), FrameMark.RESPONSE) for n in range(200)])
        fresh.set_highlights(True)
        assert fresh.starts[-1] == pytest.approx(180.0)
        shown = list(fresh.starts)
    assert shown == [start * fresh._scale for start in fresh._starts[fresh.pace]]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_done_in_the_rich_view_the_player_goes_on(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    chance = random.Random(seed)
    app, clock = player(recording(team()), view=View.rich())
    names = ["v", "h", "m", "tab", "e", "E", "o", "c", "escape", "R", "p", "r", "space", "left", "right", "home", "end"]
    names += ["shift+left", "shift+right", "up", "enter", "right_square_bracket", "a", "d", "question_mark"]

    async def script(pilot: Pilot[Any]) -> None:
        for _ in range(100):
            await pilot.press(chance.choice(names))
            clock.now += chance.choice((0.0, 0.1, 3.0))
            if chance.random() < 0.05:
                await pilot.resize_terminal(chance.choice((1, 20, 80, 170)), chance.choice((1, 5, 16, 40)))
            if chance.random() < 0.6 and isinstance(app.screen, PlayerScreen):
                bar = app.screen.query_one(TimelineBar)
                x, y = chance.randrange(max(bar.size.width, 1)), chance.randrange(max(bar.size.height, 1))
                kind = chance.choice((events.MouseMove, events.MouseMove, events.MouseScrollDown, events.MouseDown))
                bar.post_message(kind(bar, x, y, 0, 0, 0, False, False, False))
        assert app.is_running

    run(app, script)
