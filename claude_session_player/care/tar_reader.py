"""Reading a tar strictly: only what this program writes is understood.

That is regular files, directories and GNU's long names. Everything else that a tar can hold is refused before a byte of
it is used: sparse files, links, devices, and headers that change the meaning of other headers.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from claude_session_player.care.archive_names import LONGEST_PATH
from claude_session_player.care.bundles import FILE, FOLDER
from claude_session_player.errors import BadArchive
from claude_session_player.text import display_path

BLOCK: Final = 512
_TYPE: Final = slice(156, 157)
_KINDS: Final = {b"0": FILE, b"5": FOLDER}
_LONG_NAME: Final = b"L"
_LONGEST_NAME: Final = LONGEST_PATH + 64
"""Bytes of a member's name: that of a file, behind the directory in which an archive keeps all of them."""


class Stream(Protocol):
    """Bytes that are read once, from the beginning to the end."""

    def take(self, size: int) -> bytes:
        """Exactly so many bytes. Raises `BadArchive` where there are fewer."""
        ...


class TarMember(NamedTuple):
    """What a header says about the member that follows it."""

    name: str
    kind: str
    size: int


def next_member(stream: Stream) -> TarMember | None:
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
    take_padding(stream, size)
    return _tar_member(stream.take(BLOCK))._replace(name=name.removesuffix("/"))


def take_padding(stream: Stream, size: int) -> None:
    """Read what fills the last block of a content. Raises `BadArchive` where something hides in it."""
    if any(stream.take(-size % BLOCK)):
        raise BadArchive("there is something between its files")


def _tar_member(block: bytes, kinds: dict[bytes, str] = _KINDS) -> TarMember:
    from tarfile import TarInfo

    info = TarInfo.frombuf(block, "utf-8", "surrogateescape")
    if block[_TYPE] not in kinds:
        raise BadArchive(f"it holds {display_path(info.name)!r}, which is neither a file nor a directory")
    return TarMember(info.name, kinds[block[_TYPE]], info.size)
