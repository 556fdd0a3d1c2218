"""The console script on macOS and Windows: each place that depends on the system, with another system injected."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.driver import Driver
from textual.pilot import Pilot

from claude_session_player.format import line_reader
from claude_session_player.stats import prices
from claude_session_player.tui import app as tui_app
from claude_session_player.tui.app import TerminalApp
from claude_session_player.util import dirs, workers
from tests.builder import SessionBuilder
from tests.other_systems import SYSTEMS
from tests.program import PATIENCE, csp, run_on_terminal
from tests.screens import run
from tests.stores import ONE, TWO, StoreBuilder, settle

ROOT = Path(__file__).parents[1]
CACHES = {"macos": "home/Library/Caches/claude-session-player", "windows": "local/claude-session-player/Cache"}
DATA = {"macos": "home/Library/Application Support/claude-session-player", "windows": "local/claude-session-player"}

on_each = pytest.mark.parametrize("system", SYSTEMS)


def places(folder: Path) -> dict[str, str]:
    """Variables of somebody whose directories are all below this one."""
    unset = dict.fromkeys((name for name in os.environ if name.startswith("XDG_")), "")
    return {**unset, "HOME": str(folder / "home"), "LOCALAPPDATA": str(folder / "local")}


def csp_on(system: str, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run the program as another system would."""
    done = csp(*arguments, system=system, environment=places(folder))
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    store = StoreBuilder(tmp_path / "store")
    store.every_layout()
    settle(store.root)
    return store


# --- the console script -----------------------------------------------------------------------------


@on_each
@pytest.mark.parametrize(
    "words",
    [("list", "--json"), ("show", ONE), ("replay", ONE), ("stats", "--json"), ("verify", "--all")],
    ids=lambda words: words[0],
)
def test_what_is_read_is_the_same_on_every_system(
    store: StoreBuilder, tmp_path: Path, system: str, words: tuple[str, ...]
) -> None:
    done = csp_on(system, tmp_path, *words, "--root", store.root)
    here = csp(*words, "--root", store.root, "--no-cache")
    assert (done.returncode, done.stdout) == (here.returncode, here.stdout)


@on_each
def test_the_index_is_kept_where_the_system_keeps_caches(store: StoreBuilder, tmp_path: Path, system: str) -> None:
    for _ in range(2):  # the second time, it is read
        assert csp_on(system, tmp_path, "list", "--root", store.root).returncode == 0
    assert list((tmp_path / CACHES[system]).glob("*.sqlite"))


@on_each
def test_archives_are_kept_where_the_system_keeps_data_and_lead_back(
    store: StoreBuilder, tmp_path: Path, system: str
) -> None:
    before = {path: path.read_bytes() for path in store.home().rglob(f"*{ONE}*/**/*.jsonl")}
    before |= {path: path.read_bytes() for path in (store.home() / f"{id}.jsonl" for id in (ONE, TWO))}
    where = ("--root", store.root)
    assert csp_on(system, tmp_path, "archive", "--all", *where).returncode == 0
    assert list((tmp_path / DATA[system] / "archive").rglob("*.tar.zst"))
    cleaned = csp_on(system, tmp_path, "clean", "--older-than", "1d", "--apply", *where)
    assert b"no lease was granted" in cleaned.stderr
    assert not any(path.exists() for path in before)
    assert csp_on(system, tmp_path, "restore", "--all", *where).returncode == 0
    assert {path: path.read_bytes() for path in before} == before


@on_each
def test_prices_are_read_from_where_the_system_keeps_settings(store: StoreBuilder, tmp_path: Path, system: str) -> None:
    folder = tmp_path / DATA[system]
    folder.mkdir(parents=True)
    (folder / "prices.json").write_text("[]")
    done = csp_on(system, tmp_path, "stats", "--root", store.root)
    assert str(folder / "prices.json") in done.stderr.decode()


@on_each
def test_what_cannot_be_known_of_locks_is_said(store: StoreBuilder, tmp_path: Path, system: str) -> None:
    done = csp_on(system, tmp_path, "locks", "--json", "--root", store.root)
    has_locks = system == "macos"
    assert json.loads(done.stdout)["ways"] == {
        "lock": has_locks,
        "lock_holder": False,
        "open": False,
        "written": True,
    }
    assert csp_on(system, tmp_path, "locks", "--root", store.root).stderr.count(b"note: ") >= 1 + (not has_locks)


@on_each
def test_a_session_that_was_just_written_is_in_use_on_every_system(
    store: StoreBuilder, tmp_path: Path, system: str
) -> None:
    os.utime(store.home() / f"{ONE}.jsonl")
    assert csp_on(system, tmp_path, "locks", ONE, "--root", store.root).returncode == 9


@on_each
def test_a_damaged_session_is_repaired_on_every_system(tmp_path: Path, system: str) -> None:
    path = SessionBuilder().prompt("Hello").raw(b"{broken\n").prompt("Again").write(tmp_path / "s.jsonl")
    assert csp_on(system, tmp_path, "repair", path, "-o", tmp_path / "copy.jsonl").returncode == 0
    assert csp("verify", tmp_path / "copy.jsonl").returncode == 0


@pytest.mark.parametrize(("system", "has_colours"), [("macos", True), ("windows", False)])
def test_colours_are_for_terminals_that_understand_them(
    store: StoreBuilder, tmp_path: Path, system: str, has_colours: bool
) -> None:
    ran = run_on_terminal("list", "--root", store.root, system=system, **places(tmp_path))
    assert b"Start the engine" in ran.output
    assert (b"\x1b[" in ran.output) == has_colours


def test_what_another_system_lacks_is_missing_where_it_is_injected(tmp_path: Path) -> None:
    code = "import tests.other_systems as o, sys, os\nwith o._seen_as(o.SYSTEMS['windows']):\n    import this_os"
    (tmp_path / "this_os.py").write_text("import os, sys\nprint(os.name, sys.platform)\nos.pread\n")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(tmp_path)))},
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.stdout == b"nt win32\n"
    assert b"module 'os' has no attribute 'pread' on this system" in done.stderr


# --- single places ----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError, RuntimeError, KeyError])
def test_a_system_without_directories_for_programs_has_neither_index_nor_prices(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise error("there is none")

    monkeypatch.setattr(dirs, "_IS_LINUX", False)
    monkeypatch.setattr("platformdirs.user_cache_dir", fail)
    monkeypatch.setattr("platformdirs.user_config_dir", fail)
    assert dirs.cache_dir() is None
    assert prices.user_prices_path() is None


@pytest.mark.parametrize("cores", [3, None])
def test_where_the_system_tells_no_affinity_all_cores_are_counted(
    monkeypatch: pytest.MonkeyPatch, cores: int | None
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert workers._cores() == (cores or 1)


def test_where_holes_cannot_be_skipped_they_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "hole"
    with path.open("wb") as file:
        file.truncate(1 << 20)
    monkeypatch.delattr(os, "SEEK_DATA", raising=False)
    with path.open("rb") as file:
        assert line_reader.next_data_offset(file.fileno(), 5) == 5


@pytest.mark.parametrize("has_pread", [True, False])
def test_bytes_are_copied_without_a_change_of_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_pread: bool
) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    if not has_pread:
        monkeypatch.delattr(os, "pread", raising=False)
    with (tmp_path / "file").open("rb") as file:
        file.seek(7)
        assert b"".join(line_reader.copy_bytes(file, 2, 4)) == b"2345"
        assert file.read() == b"789"


# --- full-screen programs ---------------------------------------------------------------------------


def test_a_terminal_of_windows_has_textuals_own_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    class WindowsDriver(Driver):
        """Stands for Textual's own."""

    monkeypatch.setattr(App, "get_driver_class", lambda self: WindowsDriver)
    assert TerminalApp[None]().get_driver_class() is WindowsDriver


def test_a_window_needs_no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no SIGCONT, and its event loop handles no signals."""

    def refuse(*_: object) -> None:
        raise NotImplementedError

    monkeypatch.delattr(signal, "SIGCONT", raising=False)
    monkeypatch.setattr(tui_app, "_ENDINGS", (signal.SIGINT, signal.SIGTERM))
    app = TerminalApp[None]()

    async def script(pilot: Pilot[Any]) -> None:
        assert app.is_running
        await pilot.press("ctrl+c")

    monkeypatch.setattr(asyncio.SelectorEventLoop, "add_signal_handler", refuse)
    run(app, script)
    assert app.return_code == 128 + signal.SIGINT
