"""Changes to directories that outlast a power cut."""

from __future__ import annotations

import os


def sync_folder(path: str) -> None:
    """Let what was made, renamed or removed in a directory be on disk, where the system can be asked for it."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # some network file systems do not sync directories
        pass
    finally:
        os.close(handle)


def make_folders(path: str) -> None:
    """Make a directory and those above it, as far as they are missing; what people typed is nobody else's business."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_folders(above)
    os.mkdir(path, 0o700)
    sync_folder(above)
