"""The progress bar of long reads, on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as ProgressBar


def started(what: str, total: int) -> ProgressBar:
    """A bar that is shown until it is stopped, and then vanishes; it has one task."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as ProgressBar

    from claude_session_player.terminal_guard import console

    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    progress = ProgressBar(*columns, console=console(sys.stderr), transient=True)
    progress.add_task("", total=total)
    progress.start()
    return progress
