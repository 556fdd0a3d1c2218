"""Pictures that mean harm: every format that Pillow can write; damaged, lying and oversized ones of the four types."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any, Final

from PIL import Image

MAGIC: Final = b"\x89PNG\r\n\x1a\n"
SHOWN: Final = frozenset(("PNG", "JPEG", "GIF", "WEBP"))
"""What Pillow calls the types that are shown."""
ODD_PICTURES_SHOWN: Final = frozenset(
    (
        *("gif-frames", "jpeg-as-mpo", "jpeg-exif", "jpeg-exif-pieces"),
        *("png-frames", "png-profiles", "png-texts", "webp-frames"),
    )
)
"""Odd pictures of which the first frame is shown nevertheless."""

POSTSCRIPT: Final = b"""%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 8 8
%%EndComments
(obeyed) print
showpage
"""


def block(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    """A picture as sessions hold it."""
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()},
    }


def saved(format: str, image: Image.Image | None = None, **options: Any) -> bytes:
    """A picture as Pillow writes it."""
    stream = BytesIO()
    (image or Image.new("RGB", (16, 16), "red")).save(stream, format, **options)
    return stream.getvalue()


def every_format() -> dict[str, bytes]:
    """One picture of every format that Pillow can write here."""
    Image.init()
    written = {}
    for format in sorted(Image.SAVE):
        for mode in ("RGB", "L", "1", "P", "RGBA"):
            try:
                written[format] = saved(format, Image.new(mode, (16, 16)))
            except Exception:  # another mode, or no encoder here
                continue
            break
    return written


def png(width: int, height: int, data: bytes, *chunks: bytes) -> bytes:
    """A PNG with any size in its header, and any chunks before its data."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"".join((MAGIC, header, *chunks, png_chunk(b"IDAT", zlib.compress(data)), png_chunk(b"IEND", b"")))


def png_chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk with its checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _jpeg_note(marker: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def _jpeg_with(*notes: bytes) -> bytes:
    plain = saved("JPEG")
    return plain[:2] + b"".join(notes) + plain[2:]


def _jpeg_of_scans(count: int) -> bytes:
    """A progressive JPEG in which the last scan comes again and again, each time over all points."""
    whole = saved("JPEG", Image.new("L", (5000, 5000)), progressive=True)
    last = whole.rindex(b"\xff\xda")
    return whole[:last] + whole[last:-2] * count + whole[-2:]


def _gif(width: int, height: int, extensions: bytes = b"", flags: int = 0) -> bytes:
    control = b"!\xf9\x04" + bytes((flags, 0, 0, 0, 0))
    descriptor = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x44\x01\x00;"
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + extensions + control + descriptor


def _webp(width: int, height: int) -> bytes:
    """Only a header, with a canvas of this size, and a frame without data."""
    size = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body = b"VP8X" + struct.pack("<I", 10) + b"\2\0\0\0" + size
    body += b"ANIM" + struct.pack("<IIH", 6, 0, 0)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body + saved("WEBP")[12:]


def _frames(format: str, count: int) -> bytes:
    colours = [Image.new("RGB", (16, 16), (number % 256, 0, 255 - number % 256)) for number in range(count)]
    return saved(format, colours[0], save_all=True, append_images=colours[1:])


def _profiles(count: int) -> bytes:
    """A PNG with colour profiles of 1 MB, each compressed to 1 KB."""
    profile = png_chunk(b"iCCP", b"p\0\0" + zlib.compress(bytes(1_000_000)))
    return png(16, 16, bytes(49 * 16), profile * count)


def _exif_pieces(count: int) -> bytes:
    """A JPEG with 1 MB of Exif data, and thousands of pieces of one byte behind it."""
    large = _jpeg_note(0xE1, b"Exif\0\0" + bytes(65_000)) * 16
    return _jpeg_with(large, _jpeg_note(0xE1, b"Exif\0\0-") * count)


ODD_PICTURES: Final[dict[str, Callable[[], bytes]]] = {
    "nothing": lambda: b"",
    "postscript": lambda: POSTSCRIPT,
    "postscript-dos": lambda: (
        struct.pack("<IIIIIIIH", 0xC6D3D0C5, 32, len(POSTSCRIPT), 0, 0, 0, 0, 0xFFFF) + POSTSCRIPT
    ),
    "postscript-behind-png": lambda: MAGIC + POSTSCRIPT,
    "photoshop": lambda: b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", 3, 8, 8, 8, 3) + bytes(14),
    "fits": lambda: b"SIMPLE  =                    T".ljust(80) + b"END".ljust(2800),
    "svg": lambda: b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "html": lambda: b"<html><script>alert(1)</script></html>",
    "html-in-gif": lambda: b"GIF89a/*" + b"<script>alert(1)</script>" * 9,
    "shell": lambda: b"#!/bin/sh\ntouch obeyed\n",
    "png-signature": lambda: MAGIC,
    "png-cut": lambda: saved("PNG")[:50],
    "png-size-0": lambda: png(0, 0, b""),
    "png-size-giant": lambda: png(2**31 - 1, 2**31 - 1, b""),
    "png-bomb": lambda: png(100_000, 100_000, bytes(1_000_000)),
    "png-bomb-below-limits": lambda: png(9_000, 9_000, bytes(27_001 * 9_000)),
    "png-profiles": lambda: _profiles(100),
    "png-frames": lambda: _frames("PNG", 50),
    "png-texts": lambda: png(
        16, 16, bytes(49 * 16), png_chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(900_000))) * 100
    ),
    "png-length": lambda: MAGIC + b"\xff\xff\xff\xffIHDR",
    "jpeg-signature": lambda: b"\xff\xd8\xff",
    "jpeg-cut": lambda: saved("JPEG")[:200],
    "jpeg-cut-in-scan": lambda: saved("JPEG", Image.effect_noise((64, 64), 90))[:-200],
    "jpeg-progressive-cut": lambda: saved("JPEG", Image.effect_noise((64, 64), 90), progressive=True)[:-200],
    "jpeg-scans": lambda: _jpeg_of_scans(2_000),
    "jpeg-exif": lambda: _jpeg_with(_jpeg_note(0xE1, b"Exif\0\0II*\0" + bytes(200))),
    "jpeg-exif-pieces": lambda: _exif_pieces(3_000),
    "jpeg-as-mpo": lambda: _frames("MPO", 2),
    "jpeg-frames": lambda: _jpeg_with(_jpeg_note(0xC0, struct.pack(">BHHB", 8, 9, 9, 1) + b"\1\x11\0")),
    "jpeg-size-giant": lambda: saved("JPEG").replace(struct.pack(">HH", 16, 16), b"\xff\xff\xff\xff", 1),
    "jpeg-size-0": lambda: saved("JPEG").replace(struct.pack(">HH", 16, 16), b"\0\0\0\0", 1),
    "jpeg-junk": lambda: b"\xff\xd8\xff" + bytes(range(256)) * 99,
    "gif-signature": lambda: b"GIF89a",
    "gif-cut": lambda: saved("GIF")[:20],
    "gif-size-giant": lambda: _gif(65_535, 65_535),
    "gif-disposed": lambda: _gif(13_000, 13_000, flags=0b1000),
    "gif-comments": lambda: _gif(16, 16, b"!\xfe\x01-\x00" * 100_000),
    "gif-frames": lambda: _frames("GIF", 300),
    "webp-signature": lambda: b"RIFF\0\0\0\0WEBPVP8X",
    "webp-cut": lambda: saved("WEBP")[:30],
    "webp-size-giant": lambda: _webp(16_383, 16_383),
    "webp-frames": lambda: _frames("WEBP", 50),
}
