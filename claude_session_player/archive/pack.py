"""Reading one archive: everything that comes out of it is what its manifest says, or nothing of it is used.

Neither the manifest nor the tar is believed alone: reading stops at the first byte that is too many.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Protocol

from claude_session_player.archive.manifest import (
    LARGEST,
    LONGEST_PATH,
    Manifest,
    ManifestEntry,
    decode_manifest,
    encode_manifest,
)
from claude_session_player.archive.session_files import (
    FILE,
    FOLDER,
    Progress,
    SessionFiles,
    SessionItem,
    SessionRefused,
)
from claude_session_player.errors import BadArchive, SessionError
from claude_session_player.util import humanize
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    import tarfile
    from collections.abc import Iterator

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


class SessionChanged(SessionError):
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


def compute_checksums(
    bundle: SessionFiles, item: SessionItem, mark: int | None = None, progress: Progress | None = None
) -> Checksums:
    """Read a file of a bundle, as it was when the bundle was made. Raises `SessionChanged` or `SessionRefused`."""
    sums = Checksums(mark)
    sums.update(b"")
    with _reading(bundle, item) as file:
        while data := file.read(CHUNK):
            sums.update(data)
            report_progress(progress, len(data))
    if sums.size != item.size:
        raise SessionChanged(f"{display_path(item.path)} changed while it was read")
    return sums


def pack_session(path: str, manifest: Manifest, bundle: SessionFiles, progress: Progress | None = None) -> None:
    """Write an archive to a new file, durably. Raises `SessionChanged`, `SessionRefused` or `OSError`."""
    import tarfile

    import zstandard

    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        with (
            compressor.stream_writer(file, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", bufsize=RECORD, **TAR) as tar,  # type: ignore[call-overload]
        ):
            data = encode_manifest(manifest)
            tar.addfile(_member(MANIFEST, _TYPES[FILE], len(data)), io.BytesIO(data))
            for item, entry in zip(bundle.items, manifest.entries, strict=True):
                _add(tar, bundle, item, entry, progress)
        file.write(archive_trailer(file.tell()))
        file.flush()
        os.fsync(file.fileno())


def archive_trailer(size: int) -> bytes:
    """What ends an archive: a frame that zstandard skips, which says how many bytes come before it.

    Where an archive was cut off, it is missing; that is seen without unpacking anything.
    """
    return _SKIPPED + struct.pack("<IQ", 8, size)


class _Reading:
    """A file of a bundle that is read. What is wrong with it is no fault of the archive: raises `SessionRefused`."""

    def __init__(self, file: BinaryIO, item: SessionItem) -> None:
        self._file = file
        self._item = item

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise SessionRefused(f"{display_path(self._item.path)}: {error.strerror or error}") from error


@contextmanager
def _reading(bundle: SessionFiles, item: SessionItem) -> Iterator[_Reading]:
    """A file of a bundle, if it is still the same one. Raises `SessionChanged` or `SessionRefused`."""
    try:
        handle = os.open(bundle.place(item), _OPEN)
    except OSError as error:
        raise SessionRefused(f"{display_path(item.path)}: {error.strerror or error}") from error
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        now = (status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
        if now != (item.size, item.mtime_ns, item.inode, item.device):
            raise SessionChanged(f"{display_path(item.path)} changed since it was looked at")
        yield _Reading(file, item)


class _Copied:
    """A file that is put into an archive, with its checksum."""

    def __init__(self, file: _Reading, item: SessionItem, progress: Progress | None) -> None:
        self.sums = Checksums()
        self._file = file
        self._item = item
        self._progress = progress

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise SessionChanged(f"{display_path(self._item.path)} changed while it was read")
        self.sums.update(data)
        report_progress(self._progress, len(data))
        return data


def _add(
    tar: tarfile.TarFile, bundle: SessionFiles, item: SessionItem, entry: ManifestEntry, progress: Progress | None
) -> None:
    info = _member(FILES + entry.path, _TYPES[entry.kind], entry.size)
    info.mtime, info.mode = entry.mtime_ns // 10**9, entry.mode
    if entry.kind != FILE:
        tar.addfile(info)
        return
    with _reading(bundle, item) as file:
        copied = _Copied(file, item, progress)
        tar.addfile(info, copied)  # type: ignore[arg-type]
    if copied.sums.whole != entry.sha256:
        raise SessionChanged(f"{display_path(item.path)} changed while it was read")


def _member(name: str, type: bytes, size: int) -> tarfile.TarInfo:
    import tarfile

    info = tarfile.TarInfo(name)
    info.type, info.size = type, size
    return info


def report_progress(progress: Progress | None, count: int) -> None:
    """Say to whoever wants to know that so many bytes more are done."""
    if progress is not None:
        progress(count)


BLOCK: Final = 512
_TYPE: Final = slice(156, 157)
_KINDS: Final = {b"0": FILE, b"5": FOLDER}
_LONG_NAME: Final = b"L"
_LONGEST_NAME: Final = LONGEST_PATH + 64
"""Bytes of a member's name: that of a file, behind the directory in which an archive keeps all of them."""


class ByteStream(Protocol):
    """Bytes that are read once, from the beginning to the end."""

    def take(self, size: int) -> bytes:
        """Exactly so many bytes. Raises `BadArchive` where there are fewer."""
        ...


class TarMember(NamedTuple):
    """What a header says about the member that follows it."""

    name: str
    kind: str
    size: int


def read_member(stream: ByteStream) -> TarMember | None:
    """The next member; its content comes next. `None` at the end. Raises `BadArchive`, or `TarError` for damage."""
    block = stream.take(BLOCK)
    if not any(block):
        return None
    if block[_TYPE] != _LONG_NAME:
        return _tar_member(block)
    size = _tar_member(block, {_LONG_NAME: FILE}).size
    if not 0 < size <= _LONGEST_NAME:
        raise BadArchive("it holds a name that is too long")
    name = stream.take(size).partition(b"\0")[0].decode("utf-8", "surrogateescape")
    read_padding(stream, size)
    return _tar_member(stream.take(BLOCK))._replace(name=name.removesuffix("/"))


def read_padding(stream: ByteStream, size: int) -> None:
    """Read what fills the last block of a content. Raises `BadArchive` where something hides in it."""
    if any(stream.take(-size % BLOCK)):
        raise BadArchive("there is something between its files")


def _tar_member(block: bytes, kinds: dict[bytes, str] = _KINDS) -> TarMember:
    from tarfile import TarInfo

    info = TarInfo.frombuf(block, "utf-8", "surrogateescape")
    if block[_TYPE] not in kinds:
        raise BadArchive(f"it holds {display_path(info.name)!r}, which is neither a file nor a directory")
    return TarMember(info.name, kinds[block[_TYPE]], info.size)


_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_WINDOW: Final = 8 << 20
"""Every reader of zstandard should grant a frame so much memory, and what this program writes needs no more."""
_SIP: Final = 1 << 9
"""Bytes that are decompressed at once. The densest become 16 MB."""
_DENSEST: Final = 1 << 15
"""How many bytes one byte of zstandard stands for at most: four make a block of 128 kB."""
_EMPTIEST: Final = 1 << 18
"""How many bytes more than it holds an archive has at most: a block that is not complete yet, headers and checksums."""
_BLOCK_SHARE: Final = 1 << 10
"""The header of a block is a smaller part of it than this."""
_MANIFEST_BASE: Final = 1 << 20
_MANIFEST_RATIO: Final = 100
"""A manifest has a checksum of each file, which no compression makes smaller: 40 times its archive is much."""
_LONGEST_END: Final = 2 * RECORD


class Unpacker:
    """An archive that is read once from its beginning to its end; everything is checked against its manifest."""

    def __init__(self, stream: _Frame) -> None:
        self._stream = stream
        self.manifest = self._manifest()

    def contents(self) -> Iterator[tuple[ManifestEntry, Iterator[bytes]]]:
        """Each entry with its bytes, in the order of the manifest; they are sound when all were taken."""
        for entry in self.manifest.entries:
            if read_member(self._stream) != TarMember(FILES + entry.path, entry.kind, entry.size):
                raise BadArchive(f"it does not hold {display_path(entry.path)!r} as its manifest says")
            pieces = self._pieces(entry)
            yield entry, pieces
            for _ in pieces:  # what nobody wanted is checked all the same
                pass
        if (more := read_member(self._stream)) is not None:
            raise BadArchive(f"it holds {display_path(more.name)!r}, which its manifest does not name")
        self._stream.finish()

    def _pieces(self, entry: ManifestEntry) -> Iterator[bytes]:
        if entry.kind != FILE:
            return
        sums = Checksums()
        while sums.size < entry.size:
            data = self._stream.take(min(CHUNK, entry.size - sums.size))
            sums.update(data)
            yield data
        if sums.whole != entry.sha256:
            raise BadArchive(f"{display_path(entry.path)!r} is damaged: its checksum is another one")
        read_padding(self._stream, entry.size)

    def _manifest(self) -> Manifest:
        packed = self._stream.packed
        member = read_member(self._stream)
        if member is None or (member.name, member.kind) != (MANIFEST, FILE) or member.size <= 0:
            raise BadArchive("it has no manifest")
        if member.size > min(LARGEST, _MANIFEST_BASE + _MANIFEST_RATIO * packed):
            raise BadArchive(f"its manifest is too large: {humanize.size(member.size)}")
        manifest = decode_manifest(self._stream.take(member.size))
        read_padding(self._stream, member.size)
        if manifest.size > packed * _DENSEST:
            told, real = humanize.size(manifest.size), humanize.size(packed)
            raise BadArchive(f"its manifest speaks of {told}, which cannot be in an archive of {real}")
        return manifest


@contextmanager
def open_archive(path: str) -> Iterator[Unpacker]:
    """An archive, open to be read. Raises `BadArchive`, also while it is read, or `OSError`."""
    import tarfile

    import zstandard

    try:
        with open(path, "rb", opener=regular_opener) as file:
            yield Unpacker(_Frame(file))
    except (tarfile.TarError, zstandard.ZstdError) as error:
        raise BadArchive(f"{display_path(path)}: it is damaged, or no archive of a session") from error
    except BadArchive as error:
        raise BadArchive(f"{display_path(path)}: {error}") from error


def read_manifest(path: str) -> Manifest:
    """The manifest of an archive; only its beginning is read. Raises `BadArchive` or `OSError`."""
    with open_archive(path) as archive:
        return archive.manifest


def is_complete_archive(path: str) -> bool:
    """True for an archive that ends as it was written: it was not cut off. Only its last bytes are read."""
    length = len(archive_trailer(0))
    with open(path, "rb", opener=regular_opener) as file:
        size = file.seek(0, os.SEEK_END) - length
        file.seek(max(size, 0))
        return size >= 0 and file.read() == archive_trailer(size)


def check_archive(path: str, progress: Progress | None = None) -> Manifest:
    """Read every byte of an archive. Raises `BadArchive` or `OSError`."""
    with open_archive(path) as archive:
        for _, pieces in archive.contents():
            for piece in pieces:
                report_progress(progress, len(piece))
        return archive.manifest


class _Frame:
    """The bytes of a file that is one frame of zstandard; never many more at once than were asked for."""

    def __init__(self, file: BinaryIO) -> None:
        import zstandard

        if (beginning := file.read(len(_MAGIC))) != _MAGIC:
            raise BadArchive("it is damaged, or no archive of a session")
        self.packed = os.fstat(file.fileno()).st_size
        self._file = file
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
        self._ready = bytearray(self._decompressor.decompress(beginning))
        self._surplus = 0
        """How many bytes more were read than came out of them."""

    def take(self, size: int) -> bytes:
        """Exactly so many bytes. Raises `BadArchive` where there are fewer."""
        data = self._up_to(size)
        if len(data) < size:
            raise BadArchive("it is cut off: the end is missing")
        return data

    def finish(self) -> None:
        """Read the empty end of the tar, so that the checksum of the whole is looked at, and what is behind it."""
        if any(self._up_to(_LONGEST_END)) or self._up_to(1):
            raise BadArchive("there is something behind its last file")
        behind = self._decompressor.unused_data + self._file.read(len(archive_trailer(0)) + 1)
        if not archive_trailer(self.packed - len(behind)).startswith(behind):  # it may be cut, as long as no file is
            raise BadArchive("there is something behind its end")

    def _up_to(self, size: int) -> bytes:
        """The next bytes; fewer only at the end."""
        while len(self._ready) < size and not self._decompressor.eof:
            if not (packed := self._file.read(_SIP)):
                raise BadArchive("it is cut off: the end is missing")
            data = self._decompressor.decompress(packed)
            self._ready += data
            self._surplus = max(self._surplus + len(packed) - len(data) - len(data) // _BLOCK_SHARE, 0)
            if self._surplus > _EMPTIEST:
                raise BadArchive("it is larger than what it holds")
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data
