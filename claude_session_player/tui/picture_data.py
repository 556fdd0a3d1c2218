"""The data of a picture without what its points do not need: no decoder sees comments, profiles, Exif or more frames.

What is left out here are the places where a small picture costs much time: thousands of compressed profiles in a PNG,
Exif data in thousands of pieces or thousands of scans in a JPEG.
"""

from __future__ import annotations

import struct
from typing import Final

_PNG_HEADER: Final = 8
_PNG_CHUNKS: Final = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"))
_JPEG_SCAN: Final = 0xDA
_JPEG_FRAMES: Final = frozenset((0xC0, 0xC1, 0xC2))
"""Baseline, extended, progressive."""
_JPEG_NEEDED: Final = _JPEG_FRAMES | {0xC4, 0xDB, 0xDD, 0xE0, 0xEE}
"""Besides frames: tables, intervals, and the two notes that tell how colours are coded."""
_JPEG_NOTES: Final = frozenset((*range(0xE0, 0xF0), 0xFE))
MOST_SCANS: Final = 32
"""Scans of a JPEG, each of which goes over the whole picture. Encoders write ten or so."""


def bare_png(data: bytes) -> bytes:
    """The chunks of a PNG that its points are made of."""
    kept, at = [data[:_PNG_HEADER]], _PNG_HEADER
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if kind in _PNG_CHUNKS:
            kept.append(data[at:end])
        if kind == b"IEND":
            break
        at = end
    return b"".join(kept)


def bare_jpeg(data: bytes) -> bytes:
    """One frame of a JPEG, its tables and its scans. Raises `ValueError` or `struct.error` for anything else."""
    kept, at, frames = [data[:2]], 2, 0
    while (marker := _marker(data, at)) != _JPEG_SCAN:
        end = at + 2 + struct.unpack_from(">H", data, at + 2)[0]
        if marker in _JPEG_NEEDED:
            frames += marker in _JPEG_FRAMES
            kept.append(data[at:end])
        elif marker not in _JPEG_NOTES:
            raise ValueError(f"marker {marker:02x} before the first scan of a JPEG")
        at = end
    scans = data[at:]
    if frames != 1 or scans.count(bytes((0xFF, _JPEG_SCAN))) > MOST_SCANS:
        raise ValueError("a JPEG without a frame, with several, or with too many scans")
    return b"".join((*kept, scans))


def _marker(data: bytes, at: int) -> int:
    first, marker = struct.unpack_from("BB", data, at)
    if first != 0xFF:
        raise ValueError("no marker where a JPEG must have one")
    return int(marker)
