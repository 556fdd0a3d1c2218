"""Reading one archive: everything that comes out of it is what its manifest says, or nothing of it is used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from claude_session_player.care.bundles import FILE, Progress
from claude_session_player.care.manifest import Entry, Manifest, decode
from claude_session_player.care.packing import CHUNK, FILES, MANIFEST, RECORD, TAR, Checksums, tell, types
from claude_session_player.errors import BadArchive
from claude_session_player.store.record import shown

if TYPE_CHECKING:
    import tarfile

_SMALL_RECORD: Final = 1 << 13
_LARGEST_MANIFEST: Final = 64 << 20
_SIP: Final = 1 << 11
"""So few bytes are decompressed at once that even those made to explode fit into memory."""
_HEADERS: Final = 8 * 512
"""More than the headers of a member with a name of usual length take."""


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
        while data := content.read(CHUNK):
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
def unpacking(path: str, record: int = RECORD) -> Iterator[Unpacker]:
    """An archive, open to be read so many bytes at once. Raises `BadArchive`, also while it is read, or `OSError`."""
    import tarfile

    import zstandard

    try:
        with open(path, "rb") as file:
            stream = _Bounded(file)
            with tarfile.open(fileobj=stream, mode="r|", bufsize=record, **TAR) as tar:  # type: ignore[call-overload]
                yield Unpacker(tar, stream)
    except (tarfile.TarError, zstandard.ZstdError, EOFError, UnicodeError, OverflowError) as error:
        raise BadArchive(f"{shown(path)} is damaged, or no archive of a session: {error}") from error
    except BadArchive as error:
        raise BadArchive(f"{shown(path)}: {error}") from error


def read_manifest(path: str) -> Manifest:
    """The manifest of an archive; only its beginning is read. Raises `BadArchive` or `OSError`."""
    with unpacking(path, _SMALL_RECORD) as archive:
        return archive.manifest


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
        self._left = _LARGEST_MANIFEST + _HEADERS

    def allow(self, manifest: Manifest) -> None:
        """From now on there may be as many bytes as the manifest says, and what surrounds them."""
        names = sum(len(os.fsencode(entry.path + entry.target)) for entry in manifest.entries)
        self._left = manifest.size + names + _HEADERS * len(manifest.entries) + 4 * RECORD

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
        if self._decompressor.unused_data or self._file.read(1):
            raise BadArchive("there is something behind its end")


def _is_same(member: tarfile.TarInfo, entry: Entry) -> bool:
    told = (member.name, member.type, member.size, member.linkname)
    return told == (FILES + entry.path, types()[entry.kind], entry.size, entry.target)
