"""Start-up stays light: what a command does not need is not loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.program import not_measured

HEAVY = {
    "rich",
    "textual",
    "watchfiles",
    "tantivy",
    "starlette",
    "uvicorn",
    "jinja2",
    "pygments",
    "sqlite3",
    "asyncio",
    "zstandard",
    "tarfile",
    "tempfile",
    "difflib",
    "re2",
    "ahocorasick_rs",
}
pytestmark = not_measured
DEMO = Path(__file__).parents[1] / "claude_session_player" / "data" / "demo.jsonl"


def modules_after(code: str) -> set[str]:
    """The top-level modules that are loaded after some code ran in a process of its own."""
    report = f"{code}\nimport sys; print('\\n' + ' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_package_loads_no_library() -> None:
    assert not modules_after("import claude_session_player") & (HEAVY | {"msgspec", "click"})


def test_the_version_is_printed_without_any_library() -> None:
    code = "import sys; sys.argv[1:] = ['--version']\nfrom claude_session_player.cli import main\n"
    code += "try: main()\nexcept SystemExit: pass"
    assert not modules_after(code) & (HEAVY | {"msgspec", "click"})


@pytest.mark.parametrize("format", ["markdown", "json"])
def test_replay_loads_nothing_heavy(format: str) -> None:
    code = f"from claude_session_player.cli import run; run(['replay', '--format', {format!r}, {str(DEMO)!r}])"
    assert not modules_after(code) & HEAVY


@pytest.mark.parametrize("command", [["export", "--no-redact"], ["play", "--idle", "0"]])
def test_what_goes_to_a_pipe_loads_nothing_heavy(command: list[str]) -> None:
    code = f"from claude_session_player.cli import run; run([*{command!r}, {str(DEMO)!r}])"
    assert not modules_after(code) & HEAVY


@pytest.mark.parametrize("command", [["stats", "--json"], ["summary", str(DEMO)], ["get", str(DEMO), "--json"]])
def test_numbers_of_sessions_load_nothing_heavy(command: list[str], tmp_path: Path) -> None:
    store = DEMO.parents[2] / "tests" / "fixtures" / "store"
    code = f"import os; os.environ['XDG_CACHE_HOME'] = {str(tmp_path)!r}\n"
    code += f"from claude_session_player.cli import run; run([*{command!r}, '--root', {str(store)!r}])"
    assert not modules_after(code) & (HEAVY - {"sqlite3"})


def test_the_library_is_loaded_by_its_first_use() -> None:
    assert "msgspec" in modules_after("from claude_session_player import replay")


@pytest.mark.parametrize("command", [["list", "--json"], ["get", "5d1f", "--no-events", "--json"]])
def test_what_is_known_is_told_without_the_decoder(command: list[str], tmp_path: Path) -> None:
    store = DEMO.parents[2] / "tests" / "fixtures" / "store"
    code = f"import os; os.environ['XDG_CACHE_HOME'] = {str(tmp_path)!r}\n"
    code += f"from claude_session_player.cli import run; run([*{command!r}, '--root', {str(store)!r}])"
    assert "msgspec" in modules_after(code)
    assert not modules_after(code) & (HEAVY - {"sqlite3"} | {"msgspec", "platformdirs", "subprocess"})


@pytest.mark.parametrize("command", [["replay"], ["show"], ["export", "--no-redact"], ["summary"], ["tree"], ["files"]])
def test_nothing_of_redaction_is_loaded_by_commands_that_do_not_redact(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "claude_session_player", *command, DEMO],
        capture_output=True,
        text=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "claude_session_player.cli._options" in loaded
    assert not {name for name in loaded if "redact" in name or "re2" in name}
