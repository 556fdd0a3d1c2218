"""Reading one archive: everything that comes out of it is what its manifest says, or nothing of it is used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from claude_session_player.care.bundles import FILE, Progress
from claude_session_player.care.manifest import Entry, Manifest, decode
from claude_session_player.care.packing import CHUNK, FILES, MANIFEST, RECORD, TAR, Checksums, tell, trailer, types
from claude_session_player.errors import BadArchive
from claude_session_player.store.record import shown

if TYPE_CHECKING:
    import tarfile

_SMALL_RECORD: Final = 1 << 13
_LARGEST_MANIFEST: Final = 64 << 20
_SIP: Final = 1 << 11
"""So few bytes are decompressed at once that even those made to explode fit into memory."""
_AROUND: Final = 2 * RECORD
"""More than headers and padding take, and what is read ahead."""


class Unpacker:
    """An archive that is read once from its beginning to its end; everything is checked against its manifest."""

    def __init__(self, tar: tarfile.TarFile, stream: _Bounded) -> None:
        self._tar = tar
        self._stream = stream
        self.manifest = self._manifest()

    def contents(self) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """Each entry with its bytes, in the order of the manifest; they are sound when all were taken."""
        for entry in self.manifest.entries:
            self._stream.allow(len(os.fsencode(entry.path + entry.target)))
            member = self._tar.next()
            if member is None or not _is_same(member, entry):
                raise BadArchive(f"it does not hold {shown(entry.path)!r} as its manifest says")
            self._stream.allow(entry.size)
            pieces = self._pieces(member, entry)
            yield entry, pieces
            for _ in pieces:  # what nobody wanted is checked all the same
                pass
        self._stream.allow(0)
        if (more := self._tar.next()) is not None:
            raise BadArchive(f"it holds {shown(more.name)!r}, which its manifest does not name")
        self._stream.drain()

    def _pieces(self, member: tarfile.TarInfo, entry: Entry) -> Iterator[bytes]:
        if entry.kind != FILE:
            return
        sums = Checksums()
        content = self._tar.extractfile(member)
        assert content is not None
        while data := content.read(CHUNK):
            sums.update(data)
            yield data
        if (sums.size, sums.whole) != (entry.size, entry.sha256):
            raise BadArchive(f"{shown(entry.path)!r} is damaged: its checksum is another one")

    def _manifest(self) -> Manifest:
        member = self._tar.next()
        if member is None or member.name != MANIFEST or not member.isreg() or member.size > _LARGEST_MANIFEST:
            raise BadArchive("it has no manifest")
        self._stream.allow(member.size)
        content = self._tar.extractfile(member)
        assert content is not None
        return decode(content.read())


@contextmanager
def unpacking(path: str, record: int = RECORD) -> Iterator[Unpacker]:
    """An archive, open to be read so many bytes at once. Raises `BadArchive`, also while it is read, or `OSError`."""
    import tarfile

    import zstandard

    try:
        with open(path, "rb") as file:
            stream = _Bounded(file)
            with tarfile.open(fileobj=stream, mode="r|", bufsize=record, **TAR) as tar:  # type: ignore[call-overload]
                yield Unpacker(tar, stream)
    except (tarfile.TarError, zstandard.ZstdError, EOFError, UnicodeError, OverflowError, RecursionError) as error:
        raise BadArchive(f"{shown(path)}: it is damaged, or no archive of a session") from error
    except BadArchive as error:
        raise BadArchive(f"{shown(path)}: {error}") from error


def read_manifest(path: str) -> Manifest:
    """The manifest of an archive; only its beginning is read. Raises `BadArchive` or `OSError`."""
    with unpacking(path, _SMALL_RECORD) as archive:
        return archive.manifest


def is_complete(path: str) -> bool:
    """True for an archive that ends as it was written: it was not cut off. Only its last bytes are read."""
    length = len(trailer(0))
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END) - length
        file.seek(max(size, 0))
        return size >= 0 and file.read() == trailer(size)


def check(path: str, progress: Progress | None = None) -> Manifest:
    """Read every byte of an archive. Raises `BadArchive` or `OSError`."""
    with unpacking(path) as archive:
        for _, pieces in archive.contents():
            for piece in pieces:
                tell(progress, len(piece))
        return archive.manifest


class _Bounded:
    """The bytes of a zstandard file, no more than there may be of them."""

    def __init__(self, file: BinaryIO) -> None:
        import zstandard

        self._file = file
        self._decompressor = zstandard.ZstdDecompressor().decompressobj()
        self._ready = bytearray()
        self._left = _AROUND

    def allow(self, size: int) -> None:
        """Before the next call there may come so many bytes, and what surrounds them: no name is as long as a file."""
        self._left = size + _AROUND

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
        while self.read(CHUNK):
            pass
        behind = self._decompressor.unused_data + self._file.read(len(trailer(0)) + 1)
        size = os.fstat(self._file.fileno()).st_size
        if not trailer(size - len(behind)).startswith(behind):  # it may be cut, as long as nothing of the session is
            raise BadArchive("there is something behind its end")


def _is_same(member: tarfile.TarInfo, entry: Entry) -> bool:
    told = (member.name, member.type, member.size, member.linkname)
    return told == (FILES + entry.path, types()[entry.kind], entry.size, entry.target)
