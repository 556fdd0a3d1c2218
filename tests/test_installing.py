"""What to type where a library is missing."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from claude_session_player.util.installing import install_command


def test_pip_installs_into_the_environment_that_runs_the_program() -> None:
    words = shlex.split(install_command("tantivy", has_pip=True))
    assert words[:-1] == [sys.executable, "-m", "pip", "install"]
    assert words[-1].startswith("tantivy>=")
    assert "'tantivy>=" in install_command("tantivy", has_pip=True), "a shell must not read > as a redirection"


def test_without_pip_uv_installs_into_it() -> None:
    words = shlex.split(install_command("tantivy", has_pip=False))
    assert words[:-1] == ["uv", "pip", "install", "--python", sys.executable]


def test_pipx_adds_to_its_own_environment(tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")
    words = shlex.split(install_command("tantivy", str(tmp_path)))
    assert words[:-1] == ["pipx", "inject", "claude-session-player"]


def test_an_unknown_library_is_installed_by_its_name() -> None:
    assert install_command("kettle", has_pip=True).endswith(" install kettle")
