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
from textual.pilot import Pilot

from claude_session_player.tui.keys import PLAYER_KEYS
from claude_session_player.tui.player import PlayerScreen
from tests.builder import SessionBuilder, call, text
from tests.players import (
    keys,
    played,
    player,
    recording,
)
from tests.screens import run


def test_a_session_with_nothing_to_show_is_an_empty_screen() -> None:
    shown = played(keys("space", "right", "end", "enter", "y", "t"), recording(SessionBuilder()))
    assert "0:00 / 0:00" in shown


def test_a_session_of_one_line_can_be_played() -> None:
    assert "❯ Hi" in played(keys("space", "right", "left", "h"), recording(SessionBuilder().prompt("Hi")))


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
