"""Real session files, where they are at hand: in the folder that SESSION_CORPUS names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(os.environ.get("SESSION_CORPUS", Path(__file__).parents[2] / "shared" / "corpus"))
STORE = ROOT / "claude-home"
"""A whole store."""

_OTHER_FILES = (".json", ".tsv", ".md", ".txt")


def session_files() -> list[Path]:
    """Every session file of the corpus; none where there is no corpus."""
    return sorted(_walk()) if ROOT.is_dir() else []


def _walk() -> Iterator[Path]:
    for folder, _, names in os.walk(ROOT):
        yield from (Path(folder, name) for name in names if not name.endswith(_OTHER_FILES))
