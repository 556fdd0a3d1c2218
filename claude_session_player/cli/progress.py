"""The progress bar of long reads, on stderr."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn


def started(what: str, total: int) -> Progress:
    """A bar that is shown until it is stopped, and then vanishes; it has one task."""
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task("", total=total)
    progress.start()
    return progress
