"""Reading one archive: everything that comes out of it is what its manifest says, or nothing of it is used.

Neither the manifest nor the tar is believed alone: reading stops at the first byte that is too many.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from claude_session_player import humanize
from claude_session_player.care.bundles import FILE, Progress
from claude_session_player.care.manifest import LARGEST, Entry, Manifest, decode
from claude_session_player.care.packing import CHUNK, FILES, MANIFEST, RECORD, Checksums, tell, trailer
from claude_session_player.care.tar_reader import TarMember, next_member, take_padding
from claude_session_player.errors import BadArchive
from claude_session_player.regular_file import only_regular
from claude_session_player.text import display_path

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

    def contents(self) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """Each entry with its bytes, in the order of the manifest; they are sound when all were taken."""
        for entry in self.manifest.entries:
            if next_member(self._stream) != TarMember(FILES + entry.path, entry.kind, entry.size):
                raise BadArchive(f"it does not hold {display_path(entry.path)!r} as its manifest says")
            pieces = self._pieces(entry)
            yield entry, pieces
            for _ in pieces:  # what nobody wanted is checked all the same
                pass
        if (more := next_member(self._stream)) is not None:
            raise BadArchive(f"it holds {display_path(more.name)!r}, which its manifest does not name")
        self._stream.finish()

    def _pieces(self, entry: Entry) -> Iterator[bytes]:
        if entry.kind != FILE:
            return
        sums = Checksums()
        while sums.size < entry.size:
            data = self._stream.take(min(CHUNK, entry.size - sums.size))
            sums.update(data)
            yield data
        if sums.whole != entry.sha256:
            raise BadArchive(f"{display_path(entry.path)!r} is damaged: its checksum is another one")
        take_padding(self._stream, entry.size)

    def _manifest(self) -> Manifest:
        packed = self._stream.packed
        member = next_member(self._stream)
        if member is None or (member.name, member.kind) != (MANIFEST, FILE) or member.size <= 0:
            raise BadArchive("it has no manifest")
        if member.size > min(LARGEST, _MANIFEST_BASE + _MANIFEST_RATIO * packed):
            raise BadArchive(f"its manifest is too large: {humanize.size(member.size)}")
        manifest = decode(self._stream.take(member.size))
        take_padding(self._stream, member.size)
        if manifest.size > packed * _DENSEST:
            told, real = humanize.size(manifest.size), humanize.size(packed)
            raise BadArchive(f"its manifest speaks of {told}, which cannot be in an archive of {real}")
        return manifest


@contextmanager
def unpacking(path: str) -> Iterator[Unpacker]:
    """An archive, open to be read. Raises `BadArchive`, also while it is read, or `OSError`."""
    import tarfile

    import zstandard

    try:
        with open(path, "rb", opener=only_regular) as file:
            yield Unpacker(_Frame(file))
    except (tarfile.TarError, zstandard.ZstdError) as error:
        raise BadArchive(f"{display_path(path)}: it is damaged, or no archive of a session") from error
    except BadArchive as error:
        raise BadArchive(f"{display_path(path)}: {error}") from error


def read_manifest(path: str) -> Manifest:
    """The manifest of an archive; only its beginning is read. Raises `BadArchive` or `OSError`."""
    with unpacking(path) as archive:
        return archive.manifest


def is_complete(path: str) -> bool:
    """True for an archive that ends as it was written: it was not cut off. Only its last bytes are read."""
    length = len(trailer(0))
    with open(path, "rb", opener=only_regular) as file:
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
        behind = self._decompressor.unused_data + self._file.read(len(trailer(0)) + 1)
        if not trailer(self.packed - len(behind)).startswith(behind):  # it may be cut, as long as no file is
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
