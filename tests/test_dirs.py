"""Files of the program lie where the platform keeps such files."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from claude_session_player.util import dirs

KINDS = ("cache", "data", "config")


def own(kind: str) -> str | None:
    found: str | None = getattr(dirs, f"{kind}_dir")()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_directories_on_linux_are_those_of_platformdirs(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for value in (str(tmp_path), "", None):
        if value is None:
            monkeypatch.delenv(f"XDG_{kind.upper()}_HOME", raising=False)
        else:
            monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", value)
        assert own(kind) == getattr(platformdirs, f"user_{kind}_dir")(dirs.PROGRAM, appauthor=False)


@pytest.mark.parametrize("kind", KINDS)
def test_other_platforms_ask_platformdirs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dirs, "_IS_LINUX", False)
    monkeypatch.setattr(platformdirs, f"user_{kind}_dir", lambda name, appauthor: f"/{kind}/{name}")
    assert own(kind) == f"/{kind}/claude-session-player"


@pytest.mark.parametrize("kind", KINDS)
def test_a_platform_without_such_a_directory_has_none(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, appauthor: bool) -> str:
        raise RuntimeError("no home directory")

    monkeypatch.setattr(dirs, "_IS_LINUX", False)
    monkeypatch.setattr(platformdirs, f"user_{kind}_dir", refuse)
    assert own(kind) is None
