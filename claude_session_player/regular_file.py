"""Opens files of a store, which anybody may have replaced by something else.

A pipe would keep whoever opens or reads it waiting for ever, and a device may do anything. What a path is can change
between a look at it and its opening, so that the open file is asked.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import Final

NOT_REGULAR: Final = "not a regular file"
LARGEST: Final = 256 << 20
"""The most bytes of a file that is read whole: such files are small, and this fits into memory several times."""
_TOO_LARGE: Final = f"larger than {LARGEST >> 20} MB"
_FLAGS: Final[int] = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_LEASE_SECONDS: Final = 2.0
"""How long a file is waited for whose lease somebody has to give back first."""
_STEP: Final = 0.01


def only_regular(path: str, flags: int) -> int:
    """An `opener` for `open()` that never waits: raises `OSError` for everything but a regular file.

    >>> open("/dev/null", opener=only_regular)
    Traceback (most recent call last):
        ...
    OSError: [Errno 22] not a regular file: '/dev/null'
    """
    handle = _opened(path, flags | _FLAGS)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISREG(mode):
            return handle
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise OSError(errno.EINVAL, NOT_REGULAR, path)
    except BaseException:
        os.close(handle)
        raise


def only_small(path: str, flags: int) -> int:
    """The same for files that are read whole: raises `OSError` for one that is larger than they ever are."""
    handle = only_regular(path, flags)
    if os.fstat(handle).st_size > LARGEST:
        os.close(handle)
        raise OSError(errno.EFBIG, _TOO_LARGE, path)
    return handle


def _opened(path: str, flags: int) -> int:
    """Nothing is waited for but a lease: who does not wait is told to try again."""
    until = 0.0
    while True:
        try:
            return os.open(path, flags, 0o666)
        except BlockingIOError:
            now = time.monotonic()
            until = until or now + _LEASE_SECONDS
            if now >= until:
                raise
            time.sleep(_STEP)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a socket, or a pipe from which nobody reads
                raise OSError(errno.EINVAL, NOT_REGULAR, path) from error
            raise
