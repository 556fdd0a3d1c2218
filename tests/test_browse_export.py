"""Sessions that are exported from the list: into which file is asked, and said."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from claude_session_player import export
from claude_session_player.export import registry
from claude_session_player.redact.samples import expand
from claude_session_player.tui import browse as browse_module, jobs
from claude_session_player.tui.browse import BrowseApp
from claude_session_player.tui.popups import default_export_dir
from tests.browsing import browse, export_message, kettles
from tests.builder import SessionBuilder
from tests.players import notice
from tests.program import PATIENCE, csp
from tests.screens import LARGE, SMALL, check_picture, text_of, until
from tests.stores import AGENT, ONE, THREE, StoreBuilder


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return kettles(tmp_path)


@pytest.fixture(autouse=True)
def all_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program that a format needs seems to be installed."""
    monkeypatch.setattr(registry, "which", lambda name: f"/nowhere/{name}")


def test_a_video_is_offered_and_the_popup_says_that_it_takes_time(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "agg"
    program.write_text("#!/bin/sh\ntest -s session.cast && printf GIF89a > session.gif\n")
    program.chmod(0o755)
    monkeypatch.setattr(registry, "which", lambda name: str(program) if name == "agg" else None)
    begun = threading.Event()
    write = jobs.write_export

    def write_later(*arguments: Any) -> str:
        begun.wait(PATIENCE)
        return write(*arguments)

    monkeypatch.setattr(jobs, "write_export", write_later)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("e", "up")
        await until(pilot, lambda: "[gif]" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: notice(app) == "Drawing the gif; this may take minutes.")
        begun.set()
        await until(pilot, lambda: "Exported to" in notice(app))

    browse(builder, script)
    assert (tmp_path / f"{THREE}.gif").read_bytes() == b"GIF89a"


def test_a_session_is_exported_into_the_working_directory(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "e", "enter")
        await until(pilot, lambda: "Exported to" in notice(app))

    browse(builder, script)
    assert (tmp_path / f"{ONE}.md").read_text() == "❯ Start the engine\n\n● It runs.\n"


@pytest.mark.parametrize("is_masked", [True, False])
@pytest.mark.parametrize("id", [THREE, AGENT])
@pytest.mark.parametrize(
    ("format", "suffix"), [("markdown", ".md"), ("json", ".json"), ("jsonl", ".jsonl"), ("asciicast", ".cast")]
)
def test_what_is_written_is_what_export_writes(
    builder: StoreBuilder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    id: str,
    format: str,
    suffix: str,
    is_masked: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    how = "--redact" if is_masked else "--no-redact"

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("a", "e", *["down"] * [one.name for one in export.export_formats()].index(format))
        await until(pilot, lambda: f"[{format}]" in text_of(app))
        await until(pilot, lambda: "secrets and names are masked" in text_of(app))
        if not is_masked:
            await pilot.press("ctrl+r")
            await until(pilot, lambda: "as it is, with secrets and names" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: "Exported to" in notice(app))

    browse(builder, script, words=id)
    written = (tmp_path / f"{id}{suffix}").read_bytes()
    assert written == csp("export", how, id, "--format", format, "--root", builder.root).stdout
    assert len(written.splitlines()) > 1


def test_a_session_that_is_none_any_more_leaves_no_file(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        (builder.home() / f"{THREE}.jsonl").write_bytes(b"")
        await pilot.press("e", "enter")
        await until(pilot, lambda: "no longer holds a session" in notice(app))

    browse(builder, script)
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != "cache"] == before


def test_a_file_is_replaced_only_if_another_key_says_so(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = tmp_path / f"{ONE}.md"
    target.write_text("mine")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("down", "e", "enter", "enter", "enter")
        await until(pilot, lambda: "Replace it?" in export_message(app))
        assert "y replace · Esc another name" in text_of(app)
        await pilot.press("down", "escape")  # back to the path, which can be edited
        await until(pilot, lambda: "Replace it?" not in export_message(app))
        assert "[markdown]" in text_of(app)
        await pilot.press("y")
        assert app.screen.query_one("#path", Input).value == f"{target}y"
        await pilot.press("backspace", "enter")
        await until(pilot, lambda: "Replace it?" in export_message(app))
        assert target.read_text() == "mine"
        await pilot.press("y")
        await until(pilot, lambda: "Exported to" in notice(app))
        assert target.read_text().startswith("❯ Start")

    browse(builder, script)


def test_escape_leaves_the_export_and_writes_nothing(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("e", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)

    browse(builder, script)
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != "cache"] == before


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_whole_path_is_proposed_and_can_be_edited(
    builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setattr(browse_module, "default_export_dir", lambda roots: "/home/ada/exports")

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "❯ Oil" in text_of(app))
        await pilot.press("e", "down")
        await until(pilot, lambda: "[json]" in text_of(app))
        assert app.screen.query_one("#path", Input).value == f"/home/ada/exports/{THREE}.json"
        check_picture(app, "browse-export")

    browse(builder, script, size)


def test_where_a_session_was_written_to_is_said_in_full_and_proposed_the_next_time(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ("a long name of a directory " * 3).replace(" ", "-")
    folder.mkdir()

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("e", "ctrl+a", "ctrl+k", *f"~/{folder.name}/kettle.md", "enter")
        await until(pilot, lambda: "Exported to" in notice(app))
        await pilot.pause()
        assert notice(app).partition(" · ")[0] == f"Exported to {folder}/kettle.md"
        await pilot.press("e")
        await pilot.pause()
        assert app.screen.query_one("#path", Input).value == f"{folder}/{THREE}.md"

    browse(builder, script)
    assert (folder / "kettle.md").exists()


def test_an_export_is_not_proposed_to_go_into_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, home = tmp_path / "store", tmp_path / "home"
    (store / "projects").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for here, proposed in ((store, home), (store / "projects", home), (tmp_path, tmp_path)):
        monkeypatch.chdir(here)
        assert default_export_dir([str(store)]) == str(proposed)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert default_export_dir([str(store)]) == str(home)


def test_what_cannot_be_written_is_told(builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def refuse(path: str, *, may_replace: bool) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("e", "ctrl+a", "ctrl+k", "enter")
        await until(pilot, lambda: "Type the path of a file." in export_message(app))
        await pilot.press(*"no/where.md", "enter")
        await until(pilot, lambda: export_message(app) == f"No such directory: {tmp_path}/no")
        await pilot.press("ctrl+a", "ctrl+k", *"store", "enter")
        await until(pilot, lambda: "/store is a directory; add a file name." in export_message(app))
        monkeypatch.setattr(jobs, "atomic_file", refuse)
        await pilot.press("1", "enter")
        await until(pilot, lambda: "store1: No space left on device" in notice(app))

    browse(builder, script, LARGE)


def test_secrets_and_names_are_masked_and_what_was_masked_is_said(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = expand("sk-ant-api03-{w93}AA")
    four = "1f2e3d4c-0004-4000-8000-000000000004"
    session = SessionBuilder(session_id=four).prompt(f"Use {key} of ada@tea.dev in /home/ada/engine")
    (builder.home() / f"{four}.jsonl").write_bytes(b"".join(session.lines))
    monkeypatch.chdir(tmp_path)
    said: list[str] = []

    async def script(app: BrowseApp, pilot: Pilot[Any]) -> None:
        await pilot.press("e", "enter")
        await until(pilot, lambda: "redacted: " in notice(app))
        said.append(notice(app))

    browse(builder, script, words=four)
    assert (tmp_path / f"{four}.md").read_text() == "❯ Use [anthropic-key-1] of person-1@example.com in ~/engine\n"
    assert "1 API key" in said[0]
    assert key not in said[0]
