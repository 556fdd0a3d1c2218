"""Where a session was left, and continuing there."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from claude_session_player.models import View
from claude_session_player.player.frame_index import READ_SIZE
from claude_session_player.player.playback import Playback
from claude_session_player.player.positions import LeftPosition, PositionStore
from claude_session_player.player.stream import Timing
from claude_session_player.player.timeline import LinePosition
from claude_session_player.tui.left_position import PositionKeeper
from claude_session_player.tui.player import PlayerApp, PlayerScreen
from tests.builder import SessionBuilder, text
from tests.players import Clock, notice, of_file, screen_of, teapot
from tests.program import csp
from tests.screens import run, until
from tests.stores import ONE, StoreBuilder


@pytest.fixture
def positions(tmp_path: Path) -> PositionStore:
    return PositionStore(str(tmp_path / "data" / "positions.json"))


HERE = LeftPosition(4, 40)


def test_a_position_is_remembered_until_it_is_forgotten(positions: PositionStore, tmp_path: Path) -> None:
    one, two = str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl")
    assert positions.find(one) is None
    positions.remember(one, HERE)
    positions.remember(two, LeftPosition(7, 70, "screen", True))
    assert (positions.find(one), positions.find(two)) == (HERE, (7, 70, "screen", True))
    positions.forget(one)
    assert (positions.find(one), positions.find(two)) == (None, (7, 70, "screen", True))


def test_a_link_to_a_session_is_the_same_session(positions: PositionStore, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    (tmp_path / "link").symlink_to(tmp_path / "s.jsonl")
    positions.remember(str(tmp_path / "link"), HERE)
    assert positions.find(str(tmp_path / "s.jsonl")) == HERE


def test_only_a_thousand_positions_are_kept_and_the_latest_of_all(positions: PositionStore, tmp_path: Path) -> None:
    path = tmp_path / "data" / "positions.json"
    path.parent.mkdir()
    path.write_text(json.dumps({f"/{number}": [1, 1, ""] for number in range(1000)}))
    positions.remember("/0", HERE)
    positions.remember("/new", HERE)
    known = json.loads(path.read_text())
    assert len(known) == 1000
    assert "/1" not in known
    assert list(known)[-2:] == [os.path.realpath("/0"), os.path.realpath("/new")]


def test_no_more_is_written_than_is_read_again(positions: PositionStore, tmp_path: Path) -> None:
    path = tmp_path / "data" / "positions.json"
    path.parent.mkdir()
    long = {f"/{number}/{'é' * 2000}": list(HERE) for number in range(90)}
    path.write_text(json.dumps(long, ensure_ascii=False))
    assert path.stat().st_size < 1 << 19
    positions.remember("/s", HERE)
    assert 1 << 19 < path.stat().st_size <= 1 << 20
    assert positions.find("/s") == positions.find(list(long)[-1]) == HERE
    assert positions.find(next(iter(long))) is None


def test_the_file_is_private_and_written_as_a_whole(positions: PositionStore, tmp_path: Path) -> None:
    positions.remember("/s", HERE)
    path = tmp_path / "data" / "positions.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("data", ["", "[]", "{", '{"/s": 1}', '{"/s": [0, 0, ""]}', '{"/s": ["a", 1, ""]}', "[" * 9999])
def test_a_damaged_file_is_as_none(data: str, positions: PositionStore, tmp_path: Path) -> None:
    path = tmp_path / "data" / "positions.json"
    path.parent.mkdir()
    path.write_text(data)
    assert positions.find("/s") is None
    positions.remember("/s", HERE)
    assert positions.find("/s") == HERE


def test_a_directory_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    positions = PositionStore(str(tmp_path / "data" / "positions.json"))
    positions.remember("/s", HERE)
    assert positions.find("/s") is None


def test_nothing_is_written_below_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store" / "data" / "positions.json"
    positions = PositionStore(str(path), forbidden=[str(tmp_path / "store")])
    positions.remember("/s", HERE)
    assert not path.parent.exists()


# --- in the player --------------------------------------------------------------------------------------


def player_of(path: Path, positions: PositionStore, **options: Any) -> PlayerApp:
    def make() -> PlayerScreen:
        screen = PlayerScreen(of_file(str(path)), clock=Clock())
        screen.use_positions(positions, **options)
        return screen

    return PlayerApp(make)


def session_of(tmp_path: Path, session: SessionBuilder | None = None) -> Path:
    return (session or teapot()).write(tmp_path / "tea.jsonl")


def leave(path: Path, positions: PositionStore, *names: str, **options: Any) -> tuple[int, str]:
    """Open the player, press keys, and leave it; gives the line and the notification."""
    app = player_of(path, positions, **options)
    found: list[tuple[int, str]] = []

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: screen_of(app).playback.is_complete)
        screen_of(app).player.pause()
        for name in names:
            await pilot.press(name)
        await pilot.pause()
        frame = screen_of(app).playback.frame
        found.append((frame.line if frame else 0, notice(app)))

    run(app, script)
    return found[0]


def test_the_player_continues_where_it_was_left(positions: PositionStore, tmp_path: Path) -> None:
    path = session_of(tmp_path)
    line, _ = leave(path, positions, "right", "right", "right")
    again, said = leave(path, positions, continues=True)
    assert again == line > 1
    assert said.startswith(f"Continued at line {line}, ")
    assert said.endswith("%; Home goes to the beginning.")


def test_without_the_option_it_begins_anew_and_says_how_to_continue(positions: PositionStore, tmp_path: Path) -> None:
    path = session_of(tmp_path)
    line, said = leave(path, positions, "right", "right")
    assert said == ""
    begun, said = leave(path, positions, option="--resume-here")
    assert begun == 1
    assert f"line {line}, " in said
    assert said.endswith("press R to continue there, or use --resume-here.")
    assert leave(path, positions)[1].endswith("press R to continue there.")
    assert leave(path, positions, "R")[0] == line


def test_opening_a_session_without_moving_keeps_the_position(positions: PositionStore, tmp_path: Path) -> None:
    path = session_of(tmp_path)
    line, _ = leave(path, positions, "right", "right")
    leave(path, positions)
    assert leave(path, positions, continues=True)[0] == line


def test_highlights_are_continued_as_highlights(positions: PositionStore, tmp_path: Path) -> None:
    path = session_of(tmp_path)
    leave(path, positions, "m", "right", "right")
    app = player_of(path, positions, continues=True)

    async def script(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        assert screen_of(app).player.has_highlights_only

    run(app, script)


def test_the_view_is_continued_too_and_highlights_in_it(positions: PositionStore, tmp_path: Path) -> None:
    path = session_of(tmp_path)
    leave(path, positions, "v", "m", "right", "right")
    left = positions.find(str(path))
    assert left is not None
    assert (left.view, left.highlights) == ("screen", True)
    app = player_of(path, positions, continues=True)

    async def script(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: screen_of(app).playback.is_complete)
        screen = screen_of(app)
        assert screen.view_name == "screen"
        assert screen.pane.view.briefs is False
        assert screen.player.has_highlights_only
        assert screen.playback.frame is not None
        assert screen.playback.frame.line == left.line

    run(app, script)
    assert leave(path, positions, "R")[0] == left.line


def test_at_the_end_there_is_nothing_to_continue(positions: PositionStore, tmp_path: Path) -> None:
    path = session_of(tmp_path)
    leave(path, positions, "right", "right")
    leave(path, positions, "end")
    assert positions.find(str(path)) is None
    assert "No position" in leave(path, positions, "R")[1]


def test_a_session_that_shrank_is_continued_at_its_last_line(positions: PositionStore, tmp_path: Path) -> None:
    path = session_of(tmp_path)
    leave(path, positions, "end", "left")
    session_of(tmp_path, SessionBuilder().prompt("a").response(text("b")))
    line, said = leave(path, positions, continues=True)
    assert (line, said) == (2, "Continued at line 2, 100%; Home goes to the beginning.")


def test_what_is_loaded_on_the_way_to_a_place_is_not_where_it_was_left(
    positions: PositionStore, tmp_path: Path
) -> None:
    session = SessionBuilder()
    for _ in range(8):
        session.prompt("tea " * (READ_SIZE // 8))
    path = session_of(tmp_path, session)
    playback = Playback(of_file(str(path)), View.rich(), lambda: 0.0, Timing())
    playback.go_to(LinePosition(7))
    playback.finish()
    keeper = PositionKeeper(playback, positions)
    keeper.remember()
    playback.set_view(View())
    while playback.player.position < 1:
        playback.read_more()
    assert playback.line < 7
    keeper.remember()
    left = positions.find(str(path))
    assert left is not None
    assert left.line == 7


# --- on the command line ----------------------------------------------------------------------------------


def test_play_as_text_continues_where_the_player_was_left(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE).prompt("Make tea").prompt("Wash up").response(text("Done."))
    path = session.write(builder.home() / f"{ONE}.jsonl")
    done = csp("play", "--plain", "--resume-here", path, "--idle", "0")
    assert done.returncode == 0
    assert b"Make tea" in done.stdout
    assert b"no position of this session is remembered" in done.stderr
    PositionStore.of_user(str(path)).remember(str(path), LeftPosition(3, 66))
    done = csp("play", "--plain", "--resume-here", path, "--idle", "0")
    assert b"Continued at line 3, 66%." in done.stderr
    assert b"Done." in done.stdout


def test_resuming_needs_a_file_and_no_other_place(tmp_path: Path) -> None:
    path = session_of(tmp_path)
    done = csp("play", "--resume-here", "-", stdin=path.read_bytes())
    assert (done.returncode, b"needs a session file" in done.stderr) == (2, True)
    done = csp("play", "--resume-here", "--from", "50%", path)
    assert (done.returncode, b"mutually exclusive" in done.stderr) == (2, True)
