"""The types of pictures that are handled, told apart by their content: a session may call anything a picture."""

from __future__ import annotations

from typing import Final, NamedTuple


class ImageType(NamedTuple):
    """A type of pictures, and how the name of such a file ends."""

    name: str
    suffix: str


PNG: Final = ImageType("PNG", ".png")
JPEG: Final = ImageType("JPEG", ".jpg")
GIF: Final = ImageType("GIF", ".gif")
WEBP: Final = ImageType("WebP", ".webp")

_SIGNATURES: Final = (
    (0, b"\x89PNG\r\n\x1a\n", PNG),
    (0, b"\xff\xd8\xff", JPEG),
    (0, b"GIF87a", GIF),
    (0, b"GIF89a", GIF),
    (8, b"WEBPVP8", WEBP),  # behind `RIFF` and a length
)


def image_type(data: bytes) -> ImageType | None:
    """The type of a picture by its first bytes; `None` for everything else.

    >>> image_type(b"GIF89a..."), image_type(b"%!PS-Adobe-3.0 EPSF-3.0")
    (ImageType(name='GIF', suffix='.gif'), None)
    """
    return next((type for at, signature, type in _SIGNATURES if data.startswith(signature, at)), None)
