"""Writing one archive: a tar, compressed with zstandard, whose first member is the manifest.

    tar --zstd -xf 1f2e3d4c.tar.zst

opens it without this program. Whatever the size of a session, memory stays the same.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from claude_session_player.care.bundles import FILE, FOLDER, Bundle, Item, Progress, Refused
from claude_session_player.care.manifest import Entry, Manifest, encode
from claude_session_player.errors import SessionError
from claude_session_player.text import display_path

if TYPE_CHECKING:
    import tarfile

MANIFEST: Final = "manifest.json"
FILES: Final = "files/"
LEVEL: Final = 9
CHUNK: Final = 1 << 18
RECORD: Final = 1 << 17
TAR: Final = {"format": 1, "encoding": "utf-8", "errors": "surrogateescape"}
"""GNU's format, which keeps names of any bytes and any length."""
_TYPES: Final = {FILE: b"0", FOLDER: b"5"}
"""What a tar calls the kinds of items."""
_SKIPPED: Final = struct.pack("<I", 0x184D2A50)
_OPEN: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class Changed(SessionError):
    """A session that changed while it was read: it is left for another time."""


class Checksums:
    """The SHA-256 of a file that is read, and of its beginning up to a mark."""

    def __init__(self, mark: int | None = None) -> None:
        self.size = 0
        self.at_mark: str | None = None
        self._mark = mark
        self._hash = hashlib.sha256()

    def update(self, data: bytes) -> None:
        """Take the next bytes of the file."""
        if self._mark is not None and self.size <= self._mark <= self.size + len(data):
            beginning = self._hash.copy()
            beginning.update(data[: self._mark - self.size])
            self.at_mark = beginning.hexdigest()
            self._mark = None
        self._hash.update(data)
        self.size += len(data)

    @property
    def whole(self) -> str:
        """The checksum of all bytes so far."""
        return self._hash.hexdigest()


def checksums_of(bundle: Bundle, item: Item, mark: int | None = None, progress: Progress | None = None) -> Checksums:
    """Read a file of a bundle, as it was when the bundle was made. Raises `Changed` or `Refused`."""
    sums = Checksums(mark)
    sums.update(b"")
    with _reading(bundle, item) as file:
        while data := file.read(CHUNK):
            sums.update(data)
            tell(progress, len(data))
    if sums.size != item.size:
        raise Changed(f"{display_path(item.path)} changed while it was read")
    return sums


def pack(path: str, manifest: Manifest, bundle: Bundle, progress: Progress | None = None) -> None:
    """Write an archive to a new file, durably. Raises `Changed`, `Refused`, or `OSError` where it cannot be written."""
    import tarfile

    import zstandard

    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        with (
            compressor.stream_writer(file, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", bufsize=RECORD, **TAR) as tar,  # type: ignore[call-overload]
        ):
            data = encode(manifest)
            tar.addfile(_member(MANIFEST, _TYPES[FILE], len(data)), io.BytesIO(data))
            for item, entry in zip(bundle.items, manifest.entries, strict=True):
                _add(tar, bundle, item, entry, progress)
        file.write(trailer(file.tell()))
        file.flush()
        os.fsync(file.fileno())


def trailer(size: int) -> bytes:
    """What ends an archive: a frame that zstandard skips, which says how many bytes come before it.

    Where an archive was cut off, it is missing; that is seen without unpacking anything.
    """
    return _SKIPPED + struct.pack("<IQ", 8, size)


class _Reading:
    """A file of a bundle that is read. What is wrong with it is no fault of the archive: raises `Refused`."""

    def __init__(self, file: BinaryIO, item: Item) -> None:
        self._file = file
        self._item = item

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise Refused(f"{display_path(self._item.path)}: {error.strerror or error}") from error


@contextmanager
def _reading(bundle: Bundle, item: Item) -> Iterator[_Reading]:
    """A file of a bundle, if it is still the same one. Raises `Changed` or `Refused`."""
    try:
        handle = os.open(bundle.place(item), _OPEN)
    except OSError as error:
        raise Refused(f"{display_path(item.path)}: {error.strerror or error}") from error
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        now = (status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
        if now != (item.size, item.mtime_ns, item.inode, item.device):
            raise Changed(f"{display_path(item.path)} changed since it was looked at")
        yield _Reading(file, item)


class _Copied:
    """A file that is put into an archive, with its checksum."""

    def __init__(self, file: _Reading, item: Item, progress: Progress | None) -> None:
        self.sums = Checksums()
        self._file = file
        self._item = item
        self._progress = progress

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise Changed(f"{display_path(self._item.path)} changed while it was read")
        self.sums.update(data)
        tell(self._progress, len(data))
        return data


def _add(tar: tarfile.TarFile, bundle: Bundle, item: Item, entry: Entry, progress: Progress | None) -> None:
    info = _member(FILES + entry.path, _TYPES[entry.kind], entry.size)
    info.mtime, info.mode = entry.mtime_ns // 10**9, entry.mode
    if entry.kind != FILE:
        tar.addfile(info)
        return
    with _reading(bundle, item) as file:
        copied = _Copied(file, item, progress)
        tar.addfile(info, copied)  # type: ignore[arg-type]
    if copied.sums.whole != entry.sha256:
        raise Changed(f"{display_path(item.path)} changed while it was read")


def _member(name: str, type: bytes, size: int) -> tarfile.TarInfo:
    import tarfile

    info = tarfile.TarInfo(name)
    info.type, info.size = type, size
    return info


def tell(progress: Progress | None, count: int) -> None:
    """Say to whoever wants to know that so many bytes more are done."""
    if progress is not None:
        progress(count)
