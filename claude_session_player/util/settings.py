"""What a person chose and the program remembers: the theme. A damaged file, or none, means the defaults."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Final

from claude_session_player.util.dirs import config_dir
from claude_session_player.util.fsutil import small_opener

if TYPE_CHECKING:
    from collections.abc import Iterator

TERMINAL_THEME: Final = "terminal"
"""The theme in the terminal's own colours."""
THEMES: Final = (TERMINAL_THEME, "nord", "gruvbox", "catppuccin-mocha", "solarized-light")
"""The names of all themes; the first one is the default."""
_NAME: Final = "settings.json"
_THEME: Final = "theme"


def settings_path() -> str | None:
    """The file of the settings; `None` if the platform has no directory for it."""
    directory = config_dir()
    return None if directory is None else os.path.join(directory, _NAME)


class _Chosen:
    """The theme of this run, if there is one; it holds even where nothing can be remembered."""

    theme: str | None = None


@contextlib.contextmanager
def using_theme(name: str) -> Iterator[None]:
    """Draw in this theme within the context, and remember it."""
    before, _Chosen.theme = _Chosen.theme, name
    remember_theme(name)
    try:
        yield
    finally:
        _Chosen.theme = before


def remembered_theme() -> str:
    """The theme that was chosen last, or the default."""
    name = _Chosen.theme or _read().get(_THEME)
    return name if name in THEMES else TERMINAL_THEME


def remember_theme(name: str) -> bool:
    """Remember a theme for the next time; false if it cannot be written. Other settings stay as they are."""
    path = settings_path()
    settings = _read()
    if path is None or settings.get(_THEME, TERMINAL_THEME) == name:
        return path is not None
    try:
        _write(path, {**settings, _THEME: name})
    except OSError:
        return False
    return True


def _read() -> dict[str, Any]:
    """The settings in the file; none if it cannot be read, or holds something else."""
    import json

    path = settings_path()
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8", opener=small_opener) as file:
            settings = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _write(path: str, settings: dict[str, Any]) -> None:
    """Write the file in one step; nobody else may read it."""
    import json
    import tempfile

    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=f".{_NAME}.", dir=directory)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(settings, file, indent=2)
            file.write("\n")
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
