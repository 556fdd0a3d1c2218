"""Opens and writes files safely, although other programs may replace them at any time.

Opening or reading a pipe may block forever, and a device may do anything. What a path refers to can change between a
check and the opening, so the open file is checked.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

from claude_session_player.errors import AlreadyThere, CannotWrite
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator
    from types import FrameType

NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES)
"""The errors with which file systems refuse hard links."""
_SAMPLES: Final = 8
_SAMPLE_SIZE: Final = 4096


def link_into_place(source: str, target: str) -> None:
    """Make a file available at another path of the same file system. Raises `FileExistsError`: nothing is replaced."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(target):  # the best that can be done without links
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from error
        os.rename(source, target)


NOT_REGULAR: Final = "not a regular file"
LARGEST: Final = 256 << 20
"""The largest file that is read as a whole: such files are small, and this size fits into memory several times."""
_TOO_LARGE: Final = f"larger than {LARGEST >> 20} MB"
_FLAGS: Final[int] = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_LEASE_SECONDS: Final = 2.0
"""How long to wait for another process to release its lease on a file."""
_STEP: Final = 0.01


def regular_opener(path: str, flags: int) -> int:
    """An `opener` for `open()` that never blocks: raises `OSError` for anything but a regular file.

    >>> open("/dev/null", opener=regular_opener)
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


def small_opener(path: str, flags: int) -> int:
    """The same for files that are read as a whole: also raises `OSError` for one that is too large."""
    handle = regular_opener(path, flags)
    if os.fstat(handle).st_size > LARGEST:
        os.close(handle)
        raise OSError(errno.EFBIG, _TOO_LARGE, path)
    return handle


def _opened(path: str, flags: int) -> int:
    """Open without blocking, except for a short wait for a lease."""
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
            if error.errno == errno.ENXIO:  # a socket, or a pipe without a reader
                raise OSError(errno.EINVAL, NOT_REGULAR, path) from error
            raise


@contextmanager
def atomic_file(path: str, *, may_replace: bool) -> Iterator[TextIO]:
    """A file to write to. Raises `AlreadyThere` if it exists and may not be replaced, or `CannotWrite`.

    The file appears at its path when it is complete; if anything goes wrong, it does not. Pipes and devices are written
    to directly.
    """
    if _is_stream(path):
        with _open_text(path) as file:
            yield file
        return
    from tempfile import TemporaryDirectory  # takes 5 ms, which most commands can do without

    path = os.path.realpath(path) if may_replace else path
    _refuse(path, may_replace)
    try:
        folder = TemporaryDirectory(prefix=".export-", dir=os.path.dirname(os.path.abspath(path)))
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error
    with folder as name:
        part = os.path.join(name, "part")
        with _open_text(part) as file:
            yield file
        _put(part, path, may_replace)


def _is_stream(path: str) -> bool:
    """True for a pipe or a device, which cannot be overwritten."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _refuse(path: str, may_replace: bool) -> None:
    if os.path.isdir(path):
        raise CannotWrite(f"{path} is a directory: name a file")
    if not may_replace and os.path.lexists(path):
        raise AlreadyThere(f"{path} already exists")


def _open_text(path: str) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error


def _put(part: str, path: str, may_replace: bool) -> None:
    try:
        os.replace(part, path) if may_replace else link_into_place(part, path)
    except FileExistsError:
        raise AlreadyThere(f"{path} was created by another program meanwhile") from None
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror or error}") from error


def describe_os_error(error: OSError, path: str) -> str:
    """What went wrong and where; `path` is named if the error names no file."""
    return f"{display_path(error.filename or path)}: {error.strerror or error}"


def sample_checksum(raw: io.FileIO, size: int, sample: int = _SAMPLE_SIZE) -> int:
    """A checksum of the first `size` bytes: of all of them, or of samples spread over them if they are many."""
    if size <= _SAMPLES * sample:
        starts = [0]
        length = size
    else:
        starts = [(size - sample) * number // (_SAMPLES - 1) for number in range(_SAMPLES)]
        length = sample
    checksum = size
    for start in starts:
        raw.seek(start)
        checksum = zlib.crc32(raw.read(length), checksum)
    return checksum


_ENDINGS: Final = ("SIGTERM", "SIGHUP")
_SIGNALLED: Final = 128
"""Exit codes of programs that a signal ended are this and its number."""


@contextmanager
def private_directory(prefix: str | None = None, folder: str | None = None) -> Iterator[str]:
    """A directory that is removed at the end, also if this program is told to end from outside."""
    import signal
    from tempfile import TemporaryDirectory

    before: dict[int, Any] = {}
    for name in _ENDINGS:
        with suppress(AttributeError, ValueError):  # this system has no such signal; not in the main thread
            number = getattr(signal, name)
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, _leave)
    try:
        with TemporaryDirectory(prefix=prefix, dir=folder, ignore_cleanup_errors=True) as path:
            yield path
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """End this program as a shell would tell it, through everything that cleans up."""
    sys.exit(_SIGNALLED + number)
