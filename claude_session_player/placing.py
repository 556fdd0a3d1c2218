"""A file comes to its place in one step, and replaces no other."""

from __future__ import annotations

import errno
import os
from typing import Final

NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES)
"""How file systems refuse hard links."""


def place(source: str, target: str) -> None:
    """Let a file be at another place in the same file system, too. Raises `FileExistsError`: nothing is replaced."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(target):  # a file system without links has no better way
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error
        os.rename(source, target)
