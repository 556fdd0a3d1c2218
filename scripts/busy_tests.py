"""Runs the tests of terminals and windows many times in a row while every core is busy: `make test-busy`.

Such tests wait for a state, never for a time: what fails here waits for a time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_BUSY: Final = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
"""Keeps a core busy, and ends with whoever started it, however that ends."""
_TESTS: Final = (
    *("test_browse*", "test_cli_browse", "test_cli_follow", "test_cli_play", "test_followed_file", "test_keys"),
    *("test_player*", "test_row_table", "test_running*", "test_screens", "test_terminal", "test_watch"),
    *("hostile/test_clocks", "hostile/test_pipes", "hostile/test_typed_bytes", "hostile/test_watches"),
)


def files() -> list[str]:
    """The tests of terminals, windows and following. Raises `FileNotFoundError` where one was renamed."""
    found: list[str] = []
    for name in _TESTS:
        paths = sorted((ROOT / "tests").glob(f"{name}.py"))
        if not paths:
            raise FileNotFoundError(f"tests/{name}.py")
        found += map(str, paths)
    return found


def main(rounds: int) -> int:
    """Stop at the first round with a failure; gives its exit code."""
    busy = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        for number in range(1, rounds + 1):
            print(f"round {number} of {rounds}", flush=True)
            command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal", *files()]
            if code := subprocess.run(command, cwd=ROOT, check=False).returncode:
                return code
    finally:
        for process in busy:
            process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
