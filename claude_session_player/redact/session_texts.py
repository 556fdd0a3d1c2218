"""Reads the files beside sessions that are text, in portions."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from claude_session_player.util.fsutil import regular_opener

if TYPE_CHECKING:
    from collections.abc import Iterator

PORTION: Final = 8 << 20
_LONGEST_KEY: Final = 64 << 10
_BEGIN: Final = b"-----BEGIN "
_END: Final = b"-----END "


def text_portions(path: str, size: int = PORTION) -> Iterator[bytes]:
    """The bytes of a file in portions of whole lines, which do not end within a key. Raises `OSError`."""
    with open(path, "rb", opener=regular_opener) as file:
        while data := file.read(size):
            data += file.readline(size)
            yield data + _rest_of_key(data, file)


def _rest_of_key(data: bytes, file: BinaryIO) -> bytes:
    start = data.rfind(_BEGIN, max(len(data) - _LONGEST_KEY, 0))
    if start < 0 or data.find(_END, start) >= 0:
        return b""
    rest: list[bytes] = []
    left = _LONGEST_KEY
    while left > 0 and (line := file.readline(left)):
        rest.append(line)
        left -= len(line)
        if _END in line:
            break
    if rest and not rest[-1].endswith(b"\n"):
        rest.append(file.readline(PORTION))
    return b"".join(rest)
