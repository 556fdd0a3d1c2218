"""One archive as a file: a tar, compressed with zstandard, whose first member is the manifest.

    tar --zstd -xf 1f2e3d4c.tar.zst

opens it without this program. Whatever the size of a session, memory stays the same.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from claude_session_player.care.bundles import FILE, FOLDER, LINK, Bundle, Item, Progress, Refused
from claude_session_player.care.manifest import Entry, Manifest, decode, encode
from claude_session_player.errors import BadArchive, SessionError
from claude_session_player.store.record import shown

if TYPE_CHECKING:
    import tarfile

MANIFEST: Final = "manifest.json"
FILES: Final = "files/"
LEVEL: Final = 9
_CHUNK: Final = 1 << 18
_RECORD: Final = 1 << 17
_LARGEST_MANIFEST: Final = 64 << 20
_SIP: Final = 1 << 11
"""So few bytes are decompressed at once that even those made to explode fit into memory."""
_HEADERS: Final = 8 * 512
"""More than the headers of a member with a name of usual length take."""
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
        while data := file.read(_CHUNK):
            sums.update(data)
            _tell(progress, len(data))
    if sums.size != item.size:
        raise Changed(f"{shown(item.path)} changed while it was read")
    return sums


def pack(path: str, manifest: Manifest, bundle: Bundle, progress: Progress | None = None) -> None:
    """Write an archive to a new file, durably. Raises `Changed`, `Refused`, or `OSError` where it cannot be written."""
    import tarfile

    import zstandard

    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        with (
            compressor.stream_writer(file, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", bufsize=_RECORD, **_TAR) as tar,  # type: ignore[call-overload]
        ):
            data = encode(manifest)
            tar.addfile(_member(MANIFEST, tarfile.REGTYPE, len(data)), io.BytesIO(data))
            for item, entry in zip(bundle.items, manifest.entries, strict=True):
                _add(tar, bundle, item, entry, progress)
        file.flush()
        os.fsync(file.fileno())


_TAR: Final = {"format": 1, "encoding": "utf-8", "errors": "surrogateescape"}
"""GNU's format, which keeps names of any bytes and any length."""


class Unpacker:
    """An archive that is read once from its beginning to its end; everything is checked against its manifest."""

    def __init__(self, tar: tarfile.TarFile, stream: _Bounded) -> None:
        self._tar = tar
        self._stream = stream
        self.manifest = self._manifest()

    def contents(self) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """Each entry with its bytes, in the order of the manifest; they are sound when all were taken."""
        self._stream.allow(self.manifest)
        for entry in self.manifest.entries:
            member = self._tar.next()
            if member is None or not _is_same(member, entry):
                raise BadArchive(f"it does not hold {shown(entry.path)!r} as its manifest says")
            pieces = self._pieces(member, entry)
            yield entry, pieces
            for _ in pieces:  # what nobody wanted is checked all the same
                pass
        if (more := self._tar.next()) is not None:
            raise BadArchive(f"it holds {shown(more.name)!r}, which its manifest does not name")
        self._stream.drain()

    def _pieces(self, member: tarfile.TarInfo, entry: Entry) -> Iterator[bytes]:
        if entry.kind != FILE:
            return
        sums = Checksums()
        content = self._tar.extractfile(member)
        assert content is not None
        while data := content.read(_CHUNK):
            sums.update(data)
            yield data
        if (sums.size, sums.whole) != (entry.size, entry.sha256):
            raise BadArchive(f"{shown(entry.path)!r} is damaged: its checksum is another one")

    def _manifest(self) -> Manifest:
        member = self._tar.next()
        if member is None or member.name != MANIFEST or not member.isreg() or member.size > _LARGEST_MANIFEST:
            raise BadArchive("it has no manifest")
        content = self._tar.extractfile(member)
        assert content is not None
        return decode(content.read())


@contextmanager
def unpacking(path: str) -> Iterator[Unpacker]:
    """An archive, open to be read. Raises `BadArchive`, also while it is read, or `OSError`."""
    import tarfile

    import zstandard

    try:
        with open(path, "rb") as file:
            stream = _Bounded(file)
            with tarfile.open(fileobj=stream, mode="r|", bufsize=_RECORD, **_TAR) as tar:  # type: ignore[call-overload]
                yield Unpacker(tar, stream)
    except (tarfile.TarError, zstandard.ZstdError, EOFError, UnicodeError, OverflowError) as error:
        raise BadArchive(f"{shown(path)} is damaged, or no archive of a session: {error}") from error
    except BadArchive as error:
        raise BadArchive(f"{shown(path)}: {error}") from error


def read_manifest(path: str) -> Manifest:
    """The manifest of an archive; only its beginning is read. Raises `BadArchive` or `OSError`."""
    with unpacking(path) as archive:
        return archive.manifest


def check(path: str, progress: Progress | None = None) -> Manifest:
    """Read every byte of an archive. Raises `BadArchive` or `OSError`."""
    with unpacking(path) as archive:
        for _, pieces in archive.contents():
            for piece in pieces:
                _tell(progress, len(piece))
        return archive.manifest


class _Bounded:
    """The bytes of a zstandard file, no more than there may be of them."""

    def __init__(self, file: BinaryIO) -> None:
        import zstandard

        self._file = file
        self._decompressor = zstandard.ZstdDecompressor().decompressobj()
        self._ready = bytearray()
        self._left = _LARGEST_MANIFEST + _HEADERS

    def allow(self, manifest: Manifest) -> None:
        """From now on there may be as many bytes as the manifest says, and what surrounds them."""
        names = sum(len(os.fsencode(entry.path + entry.target)) for entry in manifest.entries)
        self._left = manifest.size + names + _HEADERS * len(manifest.entries) + 4 * _RECORD

    def read(self, size: int) -> bytes:
        """The next bytes; fewer only at the end."""
        while len(self._ready) < size and not self._decompressor.eof:
            if not (packed := self._file.read(_SIP)):
                raise BadArchive("it is cut off: the end is missing")
            self._ready += self._decompressor.decompress(packed)
        data = bytes(self._ready[:size])
        del self._ready[:size]
        self._left -= len(data)
        if self._left < 0:
            raise BadArchive("it holds more than its manifest says")
        return data

    def drain(self) -> None:
        """Read what is left, so that the checksum of the whole is looked at."""
        while self.read(_CHUNK):
            pass
        if self._decompressor.unused_data or self._file.read(1):
            raise BadArchive("there is something behind its end")


class _Reading:
    """A file of a bundle that is read. What is wrong with it is no fault of the archive: raises `Refused`."""

    def __init__(self, file: BinaryIO, item: Item) -> None:
        self._file = file
        self._item = item

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise Refused(f"{shown(self._item.path)}: {error.strerror or error}") from error


@contextmanager
def _reading(bundle: Bundle, item: Item) -> Iterator[_Reading]:
    """A file of a bundle, if it is still the same one. Raises `Changed` or `Refused`."""
    try:
        handle = os.open(bundle.place(item), _OPEN)
    except OSError as error:
        raise Refused(f"{shown(item.path)}: {error.strerror or error}") from error
    with open(handle, "rb", buffering=0) as file:
        status = os.fstat(handle)
        now = (status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
        if now != (item.size, item.mtime_ns, item.inode, item.device):
            raise Changed(f"{shown(item.path)} changed since it was looked at")
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
        if not data and size:
            raise Changed(f"{shown(self._item.path)} changed while it was read")
        self.sums.update(data)
        _tell(self._progress, len(data))
        return data


def _add(tar: tarfile.TarFile, bundle: Bundle, item: Item, entry: Entry, progress: Progress | None) -> None:
    info = _member(FILES + entry.path, _types()[entry.kind], entry.size)
    info.mtime, info.mode, info.linkname = entry.mtime_ns // 10**9, entry.mode, entry.target
    if entry.kind != FILE:
        tar.addfile(info)
        return
    with _reading(bundle, item) as file:
        copied = _Copied(file, item, progress)
        tar.addfile(info, copied)  # type: ignore[arg-type]
    if copied.sums.whole != entry.sha256:
        raise Changed(f"{shown(item.path)} changed while it was read")


def _member(name: str, type: bytes, size: int) -> tarfile.TarInfo:
    import tarfile

    info = tarfile.TarInfo(name)
    info.type, info.size = type, size
    return info


def _types() -> dict[str, bytes]:
    import tarfile

    return {FILE: tarfile.REGTYPE, FOLDER: tarfile.DIRTYPE, LINK: tarfile.SYMTYPE}


def _is_same(member: tarfile.TarInfo, entry: Entry) -> bool:
    told = (member.name, member.type, member.size, member.linkname)
    return told == (FILES + entry.path, _types()[entry.kind], entry.size, entry.target)


def _tell(progress: Progress | None, count: int) -> None:
    if progress is not None:
        progress(count)
