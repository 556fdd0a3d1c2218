"""Adds the pages at the top of the repository to the site; MkDocs calls these functions (`hooks` in mkdocs.yml)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")

_LINK: Final = re.compile(r"\]\((?:\.\./|docs/)([\w.-]+)")  # on the site, all pages are in one directory


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages."""
    for name in PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Makes links between docs/ and the top of the repository lead to pages of the site."""
    return _LINK.sub(r"](\1", markdown)
