"""`make play` on a fresh machine; Python and what it installs are stand-ins that do nothing but to be there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = """\
#!/bin/sh
if [ "$2" = pip ]; then
    for last; do :; done
    echo "$last" >> installed
    [ "$last" != "$CANNOT_INSTALL" ]
    exit
fi
if [ "$2" = venv ]; then
    mkdir -p .venv/bin
    cp "$0" .venv/bin/python
    printf '#!/bin/sh\\necho "$@"\\n' > .venv/bin/claude-session-player
    chmod +x .venv/bin/*
fi
"""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A directory in which nothing is set up."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def play(folder: Path, **environment: str) -> tuple[str, str]:
    """What `make play` prints, and what it says."""
    command = ["make", "--no-print-directory", "play", f"PYTHON={folder}/python"]
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | environment
    done = subprocess.run(command, cwd=folder, env=outside, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_the_first_play_says_why_it_takes_a_minute_and_the_next_says_nothing(fresh: Path) -> None:
    assert play(fresh) == ("demo\n", "Setting up .venv: this is done once, and takes about a minute.\n")
    assert play(fresh) == ("demo\n", "")


def test_play_installs_what_the_jobs_of_the_readme_need(fresh: Path) -> None:
    play(fresh)
    assert (fresh / "installed").read_text() == ".[search]\n"


def test_where_the_search_cannot_be_installed_everything_else_is(fresh: Path) -> None:
    out, err = play(fresh, CANNOT_INSTALL=".[search]")
    assert (out, (fresh / "installed").read_text()) == ("demo\n", ".[search]\n.\n")
    assert err.endswith("Without tantivy, 'find' works with --exact and --regex only.\n")
