"""A format is a module and a row of the table; nothing else knows about it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, TextIO

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static

from claude_session_player.errors import BadFilter
from claude_session_player.export import (
    Format,
    OutputKind,
    available_formats,
    format_named,
    formats,
    register,
    registry,
)
from claude_session_player.models import ScreenState
from claude_session_player.tui.jobs import write_export
from claude_session_player.tui.popups import ExportPopup, ExportTarget
from tests import screens
from tests.builder import SessionBuilder, text
from tests.stores import ONE, StoreBuilder

SHARING = (Path(__file__).parents[1] / "docs" / "sharing.md").read_text(encoding="utf-8")
DUMMY = """
from claude_session_player.export import Format, OutputKind, TranscriptWriter, register


def write_screen(state, file):
    file.write(f"{len(state.elements)} elements\\n")


def write_recording(events, state, file, setup):
    file.write(f"{sum(1 for _ in events)} events, {setup.width} columns\\n")


def items(entries, style):
    return (placed.entry.kind.value for placed in entries)


TRANSCRIPT = TranscriptWriter(items, lambda kinds: (f"<{kind}>" for kind in kinds))

register(Format("dummy", ".dum", "dummy: how many elements", OutputKind.SCREEN, "dummy:write_screen"))
register(Format("reel", ".reel", "reel: how many events", OutputKind.RECORDING, "dummy:write_recording"))
register(Format("kinds", ".kinds", "kinds: what kind each entry is", OutputKind.TRANSCRIPT, "dummy:TRANSCRIPT"))
"""


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return SessionBuilder().prompt("Hi").response(text("Ho")).write(tmp_path / "s.jsonl")


def run(folder: Path, *arguments: str | Path) -> tuple[str, int]:
    """What the program prints, and its exit code, where the module of a new format was imported before."""
    (folder / "dummy.py").write_text(DUMMY)
    code = "import sys, dummy\nfrom claude_session_player.cli import run\nsys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={"HOME": str(folder), "PYTHONPATH": f"{folder}:{Path(__file__).parents[1]}", "COLUMNS": "200"},
        check=False,
    )
    return done.stdout + done.stderr, done.returncode


@pytest.mark.parametrize(
    ("command", "format", "printed"),
    [
        ("replay", "dummy", "2 elements\n"),
        ("demo", "dummy", "elements\n"),
        ("export", "dummy", "2 elements\n"),
        ("export", "reel", "2 events, 80 columns\n"),
        ("show", "kinds", "<prompt><answer>"),
    ],
)
def test_a_new_format_is_offered_and_written_by_every_command(
    session: Path, tmp_path: Path, command: str, format: str, printed: str
) -> None:
    output, code = run(tmp_path, command, "--help")
    assert code == 0
    assert f"{format}: " in " ".join(output.split())
    ref = [] if command == "demo" else [session]
    output, code = run(tmp_path, command, *ref, "--format", format)
    assert code == 0
    assert printed in output


def test_the_options_of_a_recording_are_those_of_a_new_one_too(session: Path, tmp_path: Path) -> None:
    assert run(tmp_path, "export", session, "--format", "reel", "--width", "40")[0].startswith("2 events, 40 columns\n")
    told, code = run(tmp_path, "export", session, "--width", "40")
    assert (code, "--width applies to asciicast, svg, gif, mp4, reel only, not to markdown" in told) == (2, True)


def write_count(state: ScreenState, file: TextIO) -> None:
    file.write(f"{len(state.elements)} elements")


def test_a_new_format_is_offered_by_the_popup_and_written_by_browse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StoreBuilder(tmp_path / "store")
    store.session()
    monkeypatch.setattr(registry, "_FORMATS", [*registry._FORMATS])
    monkeypatch.setattr(registry, "which", lambda name: None)
    dummy = Format("dummy", ".dum", "dummy: how many elements", OutputKind.SCREEN, f"{__name__}:write_count")
    register(dummy)

    app: App[Any] = App()

    async def look(pilot: Pilot[Any]) -> None:
        popup = ExportPopup("1f2e", "")
        await app.push_screen(popup)
        await pilot.press(*["down"] * available_formats().index(dummy))
        shown = str(popup.query_one("#formats", Static).render())
        assert shown.splitlines()[0].split() == ["markdown", "json", "jsonl", "text", "asciicast", "svg", "[dummy]"]
        assert popup.query_one(Input).value == name

    name = "1f2e.dum"
    screens.run(app, look)
    write_export(store.open().resolve(ONE), ExportTarget(str(tmp_path / name), dummy))
    assert (tmp_path / name).read_text() == "2 elements"


@pytest.mark.parametrize(
    ("installed", "videos"),
    [((), []), (("agg",), ["gif"]), (("ffmpeg",), ["gif", "mp4"]), (("agg", "ffmpeg"), ["gif", "mp4"])],
)
def test_a_format_is_available_where_a_program_for_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, installed: tuple[str, ...], videos: list[str]
) -> None:
    monkeypatch.setattr(registry, "which", lambda name: f"/bin/{name}" if name in installed else None)
    others = [format.name for format in formats(OutputKind.SCREEN, OutputKind.RECORDING, OutputKind.PICTURE)]
    assert [format.name for format in available_formats()] == others + videos
    gif = format_named("gif", OutputKind.VIDEO)
    assert gif.program == (f"/bin/{installed[0]}" if installed else None)


def test_browse_exports_what_came_before_compactions_too(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    SessionBuilder(session_id=ONE).prompt("Hi").compaction().prompt("Ho").write(store.home() / f"{ONE}.jsonl")
    write_export(
        store.open().resolve(ONE), ExportTarget(str(tmp_path / "a.md"), format_named("markdown", OutputKind.SCREEN))
    )
    assert "❯ Hi" in (tmp_path / "a.md").read_text()


def test_every_format_can_be_loaded_and_has_a_suffix_and_help() -> None:
    for format in formats(*OutputKind):
        assert callable(format.load()) or format.writes is OutputKind.TRANSCRIPT
        assert format.suffix.startswith(".")
        assert format.help.startswith(format.name)


def test_an_unknown_format_is_named_in_the_error() -> None:
    with pytest.raises(BadFilter, match="unknown format 'pdf'; choose from markdown, json, jsonl, text"):
        format_named("pdf", OutputKind.SCREEN)


def test_a_name_is_registered_once_for_each_kind_of_output() -> None:
    with pytest.raises(ValueError, match="screen format named 'text' is already registered"):
        register(format_named("text", OutputKind.SCREEN))


@pytest.mark.parametrize("name", sorted({format.name for format in formats(*OutputKind)}))
def test_every_format_is_documented(name: str) -> None:
    assert f"`{name}`" in SHARING
