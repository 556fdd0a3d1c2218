"""Writes and reads one archive file. What is read agrees with the manifest byte for byte, or none of it is used.

Neither the manifest nor the tar is trusted alone: reading stops at the first byte that does not belong.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Protocol

from claude_session_player.archive.manifest import (
    MAX_MANIFEST_SIZE,
    MAX_PATH_BYTES,
    Manifest,
    ManifestEntry,
    decode_manifest,
    encode_manifest,
)
from claude_session_player.archive.session_files import (
    FILE,
    FOLDER,
    ByteProgress,
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

MANIFEST_NAME: Final = "manifest.json"
FILES_PREFIX: Final = "files/"
COMPRESSION_LEVEL: Final = 9
CHUNK_SIZE: Final = 1 << 18
TAR_RECORD_SIZE: Final = 1 << 17
TAR_OPTIONS: Final = {"format": 1, "encoding": "utf-8", "errors": "surrogateescape"}
"""GNU's format allows names of any bytes and any length."""
_TYPE_FLAGS: Final = {FILE: b"0", FOLDER: b"5"}
"""The tar type flag of each kind of item."""
_SKIPPABLE_FRAME: Final = struct.pack("<I", 0x184D2A50)
_OPEN_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
)


class SessionChanged(SessionError):
    """A session that changed while it was read, and is left for a later run."""


class Checksums:
    """The SHA-256 of a file while it is read, and of its beginning up to a mark."""

    def __init__(self, mark: int | None = None) -> None:
        self.size = 0
        self.at_mark: str | None = None
        self._mark = mark
        self._hash = hashlib.sha256()

    def update(self, data: bytes) -> None:
        """Add the next bytes of the file."""
        if self._mark is not None and self.size <= self._mark <= self.size + len(data):
            beginning = self._hash.copy()
            beginning.update(data[: self._mark - self.size])
            self.at_mark = beginning.hexdigest()
            self._mark = None
        self._hash.update(data)
        self.size += len(data)

    @property
    def whole(self) -> str:
        """The checksum of all bytes added so far."""
        return self._hash.hexdigest()


def compute_checksums(
    session: SessionFiles, item: SessionItem, mark: int | None = None, progress: ByteProgress | None = None
) -> Checksums:
    """Read a file of a session. Raises `SessionChanged` if it is not as it was collected, or `SessionRefused`."""
    sums = Checksums(mark)
    sums.update(b"")
    with _open_item(session, item) as file:
        while data := file.read(CHUNK_SIZE):
            sums.update(data)
            report_progress(progress, len(data))
    if sums.size != item.size:
        raise SessionChanged(f"{display_path(item.path)} changed while it was read")
    return sums


def pack_session(path: str, manifest: Manifest, session: SessionFiles, progress: ByteProgress | None = None) -> None:
    """Write an archive to a new file, durably. Raises `SessionChanged`, `SessionRefused` or `OSError`."""
    import tarfile

    import zstandard

    compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_checksum=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        with (
            compressor.stream_writer(file, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", bufsize=TAR_RECORD_SIZE, **TAR_OPTIONS) as tar,  # type: ignore[call-overload]
        ):
            data = encode_manifest(manifest)
            tar.addfile(_tar_info(MANIFEST_NAME, _TYPE_FLAGS[FILE], len(data)), io.BytesIO(data))
            for item, entry in zip(session.items, manifest.entries, strict=True):
                _add(tar, session, item, entry, progress)
        file.write(archive_trailer(file.tell()))
        file.flush()
        os.fsync(file.fileno())


def archive_trailer(size: int) -> bytes:
    """The end of an archive: a frame that zstandard skips, with the number of bytes before it.

    It is missing if the archive was truncated, which can be seen without unpacking anything.
    """
    return _SKIPPABLE_FRAME + struct.pack("<IQ", 8, size)


class _ItemReader:
    """Reads a file of a session. Raises `SessionRefused` for read errors, which are not errors of the archive."""

    def __init__(self, file: BinaryIO, item: SessionItem) -> None:
        self._file = file
        self._item = item

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise SessionRefused(f"{display_path(self._item.path)}: {error.strerror or error}") from error


@contextmanager
def _open_item(session: SessionFiles, item: SessionItem) -> Iterator[_ItemReader]:
    """Open a file of a session, if it is still the same. Raises `SessionChanged` or `SessionRefused`."""
    try:
        handle = os.open(session.path_of(item), _OPEN_FLAGS)
    except OSError as error:
        raise SessionRefused(f"{display_path(item.path)}: {error.strerror or error}") from error
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        now = (status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
        if now != (item.size, item.mtime_ns, item.inode, item.device):
            raise SessionChanged(f"{display_path(item.path)} has changed since the session was examined")
        yield _ItemReader(file, item)


class _ChecksumReader:
    """Reads a file for the archive, and computes its checksum."""

    def __init__(self, file: _ItemReader, item: SessionItem, progress: ByteProgress | None) -> None:
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
    tar: tarfile.TarFile, session: SessionFiles, item: SessionItem, entry: ManifestEntry, progress: ByteProgress | None
) -> None:
    info = _tar_info(FILES_PREFIX + entry.path, _TYPE_FLAGS[entry.kind], entry.size)
    info.mtime, info.mode = entry.mtime_ns // 10**9, entry.mode
    if entry.kind != FILE:
        tar.addfile(info)
        return
    with _open_item(session, item) as file:
        reader = _ChecksumReader(file, item, progress)
        tar.addfile(info, reader)  # type: ignore[arg-type]
    if reader.sums.whole != entry.sha256:
        raise SessionChanged(f"{display_path(item.path)} changed while it was read")


def _tar_info(name: str, type: bytes, size: int) -> tarfile.TarInfo:
    import tarfile

    info = tarfile.TarInfo(name)
    info.type, info.size = type, size
    return info


def report_progress(progress: ByteProgress | None, count: int) -> None:
    """Report that `count` more bytes are done."""
    if progress is not None:
        progress(count)


TAR_BLOCK_SIZE: Final = 512
_TYPE_FIELD: Final = slice(156, 157)
_KINDS: Final = {b"0": FILE, b"5": FOLDER}
_LONG_NAME: Final = b"L"
_MAX_MEMBER_NAME: Final = MAX_PATH_BYTES + 64
"""Bytes of a member's name: the path of a file below `FILES_PREFIX`."""


class ByteStream(Protocol):
    """Bytes that are read once, from beginning to end."""

    def take(self, size: int) -> bytes:
        """Exactly `size` bytes. Raises `BadArchive` if fewer are left."""
        ...


class TarMember(NamedTuple):
    """The header of a tar member."""

    name: str
    kind: str
    size: int


def read_member(stream: ByteStream) -> TarMember | None:
    """Read the next header; its content follows. `None` at the end. Raises `BadArchive`, or `TarError` for damage."""
    block = stream.take(TAR_BLOCK_SIZE)
    if not any(block):
        return None
    if block[_TYPE_FIELD] != _LONG_NAME:
        return _decode_header(block)
    size = _decode_header(block, {_LONG_NAME: FILE}).size
    if not 0 < size <= _MAX_MEMBER_NAME:
        raise BadArchive("it holds a name that is too long")
    name = stream.take(size).partition(b"\0")[0].decode("utf-8", "surrogateescape")
    read_padding(stream, size)
    return _decode_header(stream.take(TAR_BLOCK_SIZE))._replace(name=name.removesuffix("/"))


def read_padding(stream: ByteStream, size: int) -> None:
    """Read what fills the last block of a file. Raises `BadArchive` if it contains anything."""
    if any(stream.take(-size % TAR_BLOCK_SIZE)):
        raise BadArchive("there is data between its files")


def _decode_header(block: bytes, kinds: dict[bytes, str] = _KINDS) -> TarMember:
    from tarfile import TarInfo

    info = TarInfo.frombuf(block, "utf-8", "surrogateescape")
    if block[_TYPE_FIELD] not in kinds:
        raise BadArchive(f"it holds {display_path(info.name)!r}, which is neither a file nor a directory")
    return TarMember(info.name, kinds[block[_TYPE_FIELD]], info.size)


_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_WINDOW_SIZE: Final = 8 << 20
"""The memory that every zstandard decoder should grant a frame; this program's archives need no more."""
_INPUT_SIZE: Final = 1 << 9
"""Bytes that are decompressed at a time; they become at most 16 MB."""
_MAX_RATIO: Final = 1 << 15
"""The highest compression ratio of zstandard: four bytes can make a block of 128 kB."""
_MAX_SURPLUS: Final = 1 << 18
"""How much larger an archive may be than its content: an incomplete block, headers and checksums."""
_BLOCK_SHARE: Final = 1 << 10
"""The header of a block is smaller than this fraction of the block."""
_MANIFEST_BASE: Final = 1 << 20
_MANIFEST_RATIO: Final = 100
"""A manifest holds incompressible checksums, so that even 40 times the size of its archive would be unusual."""
_MAX_TAR_END: Final = 2 * TAR_RECORD_SIZE


class Unpacker:
    """An archive that is read once from beginning to end; everything is checked against its manifest."""

    def __init__(self, stream: _Frame) -> None:
        self._stream = stream
        self.manifest = self._read_manifest()

    def contents(self) -> Iterator[tuple[ManifestEntry, Iterator[bytes]]]:
        """Each entry with its bytes, in the order of the manifest; they are valid only once all have been read."""
        for entry in self.manifest.entries:
            if read_member(self._stream) != TarMember(FILES_PREFIX + entry.path, entry.kind, entry.size):
                raise BadArchive(f"it does not hold {display_path(entry.path)!r} as its manifest says")
            pieces = self._pieces(entry)
            yield entry, pieces
            for _ in pieces:  # what the caller did not read is checked nevertheless
                pass
        if (extra := read_member(self._stream)) is not None:
            raise BadArchive(f"it holds {display_path(extra.name)!r}, which its manifest does not name")
        self._stream.finish()

    def _pieces(self, entry: ManifestEntry) -> Iterator[bytes]:
        if entry.kind != FILE:
            return
        sums = Checksums()
        while sums.size < entry.size:
            data = self._stream.take(min(CHUNK_SIZE, entry.size - sums.size))
            sums.update(data)
            yield data
        if sums.whole != entry.sha256:
            raise BadArchive(f"{display_path(entry.path)!r} is damaged: its checksum does not match")
        read_padding(self._stream, entry.size)

    def _read_manifest(self) -> Manifest:
        archive_size = self._stream.file_size
        member = read_member(self._stream)
        if member is None or (member.name, member.kind) != (MANIFEST_NAME, FILE) or member.size <= 0:
            raise BadArchive("it has no manifest")
        if member.size > min(MAX_MANIFEST_SIZE, _MANIFEST_BASE + _MANIFEST_RATIO * archive_size):
            raise BadArchive(f"its manifest is too large: {humanize.size(member.size)}")
        manifest = decode_manifest(self._stream.take(member.size))
        read_padding(self._stream, member.size)
        if manifest.size > archive_size * _MAX_RATIO:
            claimed, real = humanize.size(manifest.size), humanize.size(archive_size)
            raise BadArchive(f"its manifest claims {claimed}, which cannot fit into an archive of {real}")
        return manifest


_NOT_AN_ARCHIVE: Final = "it is damaged, or not an archive of a session"


@contextmanager
def open_archive(path: str) -> Iterator[Unpacker]:
    """Open an archive for reading. Raises `BadArchive`, also while it is read, or `OSError`."""
    import tarfile

    import zstandard

    try:
        with open(path, "rb", opener=regular_opener) as file:
            yield Unpacker(_Frame(file))
    except (tarfile.TarError, zstandard.ZstdError) as error:
        raise BadArchive(f"{display_path(path)}: {_NOT_AN_ARCHIVE}") from error
    except BadArchive as error:
        raise BadArchive(f"{display_path(path)}: {error}") from error


def read_manifest(path: str) -> Manifest:
    """The manifest of an archive; only the beginning of the file is read. Raises `BadArchive` or `OSError`."""
    with open_archive(path) as archive:
        return archive.manifest


def is_complete_archive(path: str) -> bool:
    """True for an archive that was not truncated. Only its last bytes are read."""
    length = len(archive_trailer(0))
    with open(path, "rb", opener=regular_opener) as file:
        size = file.seek(0, os.SEEK_END) - length
        file.seek(max(size, 0))
        return size >= 0 and file.read() == archive_trailer(size)


def check_archive(path: str, progress: ByteProgress | None = None) -> Manifest:
    """Read and check every byte of an archive. Raises `BadArchive` or `OSError`."""
    with open_archive(path) as archive:
        for _, pieces in archive.contents():
            for piece in pieces:
                report_progress(progress, len(piece))
        return archive.manifest


class _Frame:
    """Decompresses a file that is one zstandard frame, never much more at a time than requested."""

    def __init__(self, file: BinaryIO) -> None:
        import zstandard

        if (beginning := file.read(len(_MAGIC))) != _MAGIC:
            raise BadArchive(_NOT_AN_ARCHIVE)
        self.file_size = os.fstat(file.fileno()).st_size
        self._file = file
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_SIZE).decompressobj()
        self._buffer = bytearray(self._decompressor.decompress(beginning))
        self._surplus = 0
        """How many more bytes were read than decompressed."""

    def take(self, size: int) -> bytes:
        """Exactly `size` bytes. Raises `BadArchive` if fewer are left."""
        data = self._take_up_to(size)
        if len(data) < size:
            raise BadArchive(_TRUNCATED)
        return data

    def finish(self) -> None:
        """Read the empty end of the tar, so that the checksum of the frame is verified, and what follows it."""
        if any(self._take_up_to(_MAX_TAR_END)) or self._take_up_to(1):
            raise BadArchive("there is data after its last file")
        rest = self._decompressor.unused_data + self._file.read(len(archive_trailer(0)) + 1)
        if not archive_trailer(self.file_size - len(rest)).startswith(rest):  # a truncated trailer harms no file
            raise BadArchive("there is data after its end")

    def _take_up_to(self, size: int) -> bytes:
        """The next bytes; fewer than `size` only at the end."""
        while len(self._buffer) < size and not self._decompressor.eof:
            if not (compressed := self._file.read(_INPUT_SIZE)):
                raise BadArchive(_TRUNCATED)
            data = self._decompressor.decompress(compressed)
            self._buffer += data
            self._surplus = max(self._surplus + len(compressed) - len(data) - len(data) // _BLOCK_SHARE, 0)
            if self._surplus > _MAX_SURPLUS:
                raise BadArchive("it is larger than its content")
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


_TRUNCATED: Final = "it is truncated: the end is missing"
